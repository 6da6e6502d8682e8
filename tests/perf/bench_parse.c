// Cycles a packet of parse() alone: 16,384 frames whose headers lie in L2, in order, for each kind of
// traffic. Prints the median of 15 passes; a figure to look at, not a test.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "packet/parse.h"

#define PACKETS 16384
#define FRAME_BYTES 128 // two cache lines: 2 MB in all
#define PASSES 15

static const struct parse_conf conf = {
	.access = true,
	.core = true,
	.n_local = 2,
	.local = {{.family = 4, .gtpu = true, .v4 = RTE_BE32(0x0a000001)},
		  {.family = 4, .v4 = RTE_BE32(0x0a060001)}},
};

static const rte_be32_t ue = RTE_BE32(0x0a2d0002), server = RTE_BE32(0xc0000207);

// A user packet; gives its length. `tcp` picks the protocol.
static uint32_t user_write(uint8_t *to, bool v6, bool tcp, uint32_t n)
{
	static const uint8_t ue6[16] = {0x20, 0x01, [15] = 1}, server6[16] = {0x20, 0x01, [15] = 2};
	uint32_t payload = tcp ? 20 : 16;
	uint8_t proto = tcp ? IPPROTO_TCP : IPPROTO_UDP;
	uint32_t head = v6 ? IP6_BYTES : IP4_BYTES;

	if (v6)
		ip6_write((struct ip6_head *)to, ue6, server6, proto, 64, payload);
	else
		ip4_write((struct ip4_head *)to, ue, server, proto, payload);
	be16_put(to + head, (uint16_t)n);
	be16_put(to + head + 2, 443);
	return head + payload;
}

struct traffic {
	const char *name;
	bool tunnel;
	unsigned v6_every; // 0: none; 2: every other, at random
	unsigned tcp_every;
};

static const struct traffic traffics[] = {
	{"G-PDU, IPv4, UDP", true, 0, 0},
	{"G-PDU, IPv4, UDP or TCP", true, 0, 2},
	{"G-PDU, IPv4 or IPv6, UDP or TCP", true, 2, 2},
	{"plain, IPv4, UDP", false, 0, 0},
	{"plain, IPv4, UDP or TCP", false, 0, 2},
	{"plain, IPv6, UDP or TCP", false, 1, 2},
};

static bool one_in(unsigned every)
{
	return every && !((unsigned)rand() % every);
}

static uint32_t frame_write(uint8_t *frame, const struct traffic *t, uint32_t n)
{
	static const uint8_t mac[6] = {2};
	bool v6 = one_in(t->v6_every), tcp = one_in(t->tcp_every);
	uint16_t type = v6 && !t->tunnel ? ETH_TYPE_IP6 : ETH_TYPE_IP4;
	uint32_t at = eth_write(frame, mac, mac, 0, type);

	if (!t->tunnel)
		return at + user_write(frame + at, v6, tcp, n);
	uint8_t *gtpu = frame + at + IP4_BYTES + UDP_BYTES;
	uint32_t bytes = user_write(gtpu + 16, v6, tcp, n);
	bytes += gtpu_gpdu_write(gtpu, n, bytes, 9, false);
	udp4_write(frame + at, RTE_BE32(0x0a000009), GTPU_PORT, RTE_BE32(0x0a000001), GTPU_PORT,
		   bytes);
	((struct udp_head *)(frame + at + IP4_BYTES))->cksum = 0;
	return at + IP4_BYTES + UDP_BYTES + bytes;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void bench(const struct traffic *t)
{
	uint8_t *frames = aligned_alloc(64, PACKETS * FRAME_BYTES);
	uint16_t *lens = calloc(PACKETS, sizeof(*lens));
	struct pkt p[32];
	double cycles[PASSES];
	unsigned good = 0;

	for (uint32_t i = 0; i < PACKETS; i++)
		lens[i] = (uint16_t)frame_write(frames + i * FRAME_BYTES, t, i);
	for (unsigned pass = 0; pass < PASSES; pass++) {
		uint64_t start = rte_rdtsc();
		for (uint32_t i = 0; i < PACKETS; i++)
			good += parse(&conf, frames + i * FRAME_BYTES, lens[i], &p[i % 32]) !=
				PKT_BAD;
		cycles[pass] = (double)(rte_rdtsc() - start) / PACKETS;
	}
	qsort(cycles, PASSES, sizeof(cycles[0]), compare);
	printf("%-34s %5.1f cycles a packet (%.1f to %.1f)%s\n", t->name, cycles[PASSES / 2],
	       cycles[0], cycles[PASSES - 1],
	       good == PASSES * PACKETS ? "" : "  SOME WERE REFUSED");
	free(frames);
	free(lens);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(traffics) / sizeof(traffics[0]); i++)
		bench(&traffics[i]);
	return 0;
}
