// Making the traffic side: sessions over N4, then ports, then packets that pass. See side.h.
// One thread.

#include "side.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOW 64
#define RATE_BPS 40000000000ull // so that no meter is what stops a packet
#define THRESHOLD_BYTES (100ull << 30)

static void sessions_make(const struct side_options *o, struct side *side)
{
	const struct n4_conf conf = {
		.smf = o->smf,
		.upf = o->upf,
		.gnb = o->gnb,
		.dnn = o->network,
		.ue_base = o->ue_base,
		.sessions = (uint32_t)(o->ues + o->more_sessions),
		.rate_bps = RATE_BPS,
		.threshold_bytes = THRESHOLD_BYTES,
		.open = true,
	};
	uint32_t failed;

	side->n4 = n4_open(&conf);
	failed = n4_run(side->n4, N4_ESTABLISH, 0, (uint32_t)o->ues, WINDOW);
	if (failed) {
		fprintf(stderr, "sluice-perf: %u of %llu sessions were refused\n", failed,
			(unsigned long long)o->ues);
		exit(1);
	}
}

void side_open(const struct side_options *o, struct side *ret)
{
	const struct traffic_conf conf = {
		.ports = {o->ports[TRAFFIC_UP], o->ports[TRAFFIC_DOWN]},
		.gnb = o->gnb,
		.n3 = o->n3,
		.dn = o->dn,
		.n6 = o->n6,
		.server = o->server,
		.ue_base = o->ue_base,
		.ues = (uint32_t)o->ues,
		.flows = (uint32_t)o->flows,
		.cpu = (unsigned)o->cpu,
		.huge = o->huge,
		.reflected = o->forwarder == SIDE_IO,
	};

	*ret = (struct side){0};
	if (!o->ports[TRAFFIC_UP] || !o->ports[TRAFFIC_DOWN]) {
		fputs("sluice-perf: --n3-port and --n6-port must be given\n", stderr);
		exit(2);
	}
	if (o->forwarder != SIDE_IO)
		sessions_make(o, ret);
	ret->traffic = traffic_new(&conf, ret->n4);
	if (!traffic_warm(ret->traffic, o->ways)) {
		fputs("sluice-perf: packets are lost even when there are few\n", stderr);
		exit(1);
	}
}

void side_close(struct side *side)
{
	traffic_free(side->traffic);
	if (side->n4)
		n4_close(side->n4);
}
