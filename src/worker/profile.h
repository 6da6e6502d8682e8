// Where a worker's time goes, in cycles of the TSC: by turn always, by stage and service for some turns.
//
// Worker; others read the counters. Each turn reads the TSC once, at its end, so that a turn lasts from the end
// of the one before. Every `sample_every`th turn that has packets is a *sample*: its packets take the bitmap form of
// their chains, and the TSC is read at each end of a stage and of a service's batch. That costs about as much
// again as such a turn's work, and, at one turn in 256, about 1 % of all packets' time
// (`sluice-perf cost --work W,W+stats`). The figures hold the readings, about 25 cycles for each 16 packets and
// service.

#pragma once

#include <rte_cycles.h>

#include "worker/worker.h"

#define PROFILE_EVERY 256 // turns, one of which is a sample

// Closes an interval that began at the last stamp, or at the turn's start.
static inline void profile_stamp(struct worker *w, uint64_t *cycles)
{
	uint64_t now = rte_rdtsc();

	*cycles += now - w->stamp;
	w->stamp = now;
}

// A turn that has packets begins: is it a sample?
static inline void profile_begin(struct worker *w)
{
	if (likely(--w->until_sample != 0))
		return;
	w->until_sample = w->sample_every;
	w->sampling = true;
	w->stamp = w->turn_start;
	w->stats.sampled_turns++;
	profile_stamp(w, &w->stats.stage_cycles[STAGE_receive]);
}

// The turn ends; it had n packets.
static inline void profile_end(struct worker *w, unsigned n)
{
	uint64_t now = rte_rdtsc();
	uint64_t cycles = now - w->turn_start;

	w->turn_start = now;
	worker_count(w, COUNTER_turns, 1);
	if (unlikely(w->sampling)) {
		w->stats.stage_cycles[STAGE_transmit] += now - w->stamp;
		w->stats.sampled_packets += n;
		w->sampling = false;
	}
	// Of those without packets, too: flows end in them, and commands are carried out.
	if (cycles > w->stats.counter[COUNTER_longest_turn])
		w->stats.counter[COUNTER_longest_turn] = cycles;
	if (n == 0) {
		worker_count(w, COUNTER_idle_turns, 1);
		worker_count(w, COUNTER_idle_cycles, cycles);
		return;
	}
	worker_count(w, COUNTER_busy_cycles, cycles);
}

// The worker has slept since its last turn.
static inline void profile_slept(struct worker *w)
{
	uint64_t now = rte_rdtsc();

	worker_count(w, COUNTER_idle_cycles, now - w->turn_start);
	w->turn_start = now;
}
