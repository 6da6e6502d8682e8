// The golden frames (tests/golden/frames.txt) for tests of the data path: read, and a rig that takes them as its
// own. Made by scapy, with the reason why each broken one is to be dropped.

#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "../unit/pkt_check.h"
#include "rig.h"

#define GOLDEN_MAX 1024
#define GOLDEN_TEID 0x12345678u
#define GOLDEN_UE 1 // the number of the session whose address (10.45.0.2) they speak of

struct golden {
	char name[64];
	unsigned iface; // of the rig
	bool tagged;    // for a VLAN, which the rig's interfaces are not on
	char kind[32];
	char drop[32]; // of a bad one
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;
};

static inline size_t golden_unhex(const char *hex, uint8_t *to)
{
	size_t n = 0;
	unsigned byte;

	while (n < RIG_FRAME_MAX && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		to[n++] = (uint8_t)byte;
	return n;
}

// All of them; ends the process where there are none.
static inline unsigned golden_read(struct golden *ret)
{
	static char line[2 * RIG_FRAME_MAX + 512];
	const char *folder = getenv("TEST_GOLDEN");
	char path[512], iface[32];
	unsigned n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/frames.txt", folder ? folder : "tests/golden");
	file = fopen(path, "r");
	while (file && n < GOLDEN_MAX && fgets(line, sizeof(line), file)) {
		struct golden *g = &ret[n];
		char *hex = strrchr(line, ' ');

		*g = (struct golden){0};
		if (line[0] == '#' || !hex ||
		    sscanf(line, "%63s %31s %31s %31s", g->name, iface, g->kind, g->drop) != 4)
			continue;
		g->iface = iface[1] == '3' ? RIG_N3 : RIG_N6;
		g->tagged = iface[2] == 'v';
		g->bytes = golden_unhex(hex + 1, g->frame);
		if (g->bytes >= ETH_BYTES && !eth_to_many(g->frame))
			rig_mac(g->iface, g->frame);
		n += g->bytes > 0;
	}
	if (file)
		fclose(file);
	if (n < 100)
		rig_die("no golden frames (TEST_GOLDEN)");
	return n;
}

// Their local addresses become the rig's, beside its own. Before any packet.
static inline void golden_locals_add(struct rig *rig)
{
	static const unsigned of[RIG_IFACES] = {[RIG_N3] = 0, [RIG_N6] = 2}; // rows of check_ifaces

	for (unsigned w = 0; w < rig->conf.n_workers; w++)
		for (unsigned iface = 0; iface < RIG_IFACES; iface++) {
			struct parse_conf *to = &rig->control.workers[w]->parse[iface];
			const struct parse_conf *from = &check_ifaces[of[iface]].conf;

			for (unsigned i = 0; i < from->n_local && to->n_local < PARSE_LOCAL_MAX;
			     i++)
				to->local[to->n_local++] = from->local[i];
		}
}
