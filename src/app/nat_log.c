// Blocks of outside ports in the log: who had which, and from when on (upf.h).
//
// Control thread. Each block is one line, since an operator who is asked who sent a packet needs all of them
// (RFC 6888 4): their number is bounded by the workers' rings, and what these did not take is told of. Times are those
// of the worker, to the second.

#include <inttypes.h>

#include "app/upf.h"
#include "base/clock.h"
#include "base/log.h"
#include "pfcp/n4_session.h"

// When it was `time` in the units of worker.now, UTC.
static const char *time_str(char buf[CLOCK_UTC_STRLEN], uint64_t time)
{
	int64_t ago = (int64_t)(clock_now_ns() * METER_UNITS_PER_NS - time);
	int64_t wall_ns = (int64_t)clock_wall_ns() - ago / (int64_t)METER_UNITS_PER_NS;

	return clock_utc_str(buf, wall_ns / (int64_t)NS_PER_SEC);
}

// Of the session; 0: it is not known, as the daemon ends.
static uint64_t seid_of(const struct upf *upf, unsigned worker, uint32_t slot)
{
	const struct n4_session *session = upf->n4 ? n4_session_at(upf->n4, worker, slot) : NULL;

	return session ? session->seid : 0;
}

static void block_log(void *ctx, unsigned worker, const struct nat_event *event)
{
	struct upf *upf = ctx;
	struct addr ue = addr_v4(event->ue), outside = addr_v4(event->outside);
	char ue_text[ADDR_STRLEN], text[ADDR_STRLEN];
	char since[CLOCK_UTC_STRLEN], until[CLOCK_UTC_STRLEN];

	upf->control.stats.counter[COUNTER_nat_blocks_logged]++;
	log_info("NAT: block %s: UE %s of %s, SEID 0x%" PRIx64
		 ", outside %s ports %u-%u, worker %u, from %s%s%s",
		 event->got ? "allocated" : "released", addr_str(ue_text, &ue),
		 upf->config.nis[event->profile].name, seid_of(upf, worker, event->slot),
		 addr_str(text, &outside), event->first, event->last, worker,
		 time_str(since, event->since), event->got ? "" : " to ",
		 event->got ? "" : time_str(until, event->now));
}

void upf_nat_log_start(struct upf *upf)
{
	upf->control.nat_block = block_log;
	upf->control.nat_block_ctx = upf;
}

void upf_nat_log_lost(struct upf *upf)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < upf->control.n_workers; i++)
		lost += stats_read(
			&upf->control.workers[i]->stats.counter[COUNTER_nat_blocks_unlogged]);
	if (lost == upf->nat_unlogged)
		return;
	log_error_limited("NAT: %" PRIu64 " lines of blocks are missing, %" PRIu64
			  " since the start: they came too fast",
			  lost - upf->nat_unlogged, lost);
	upf->nat_unlogged = lost;
}
