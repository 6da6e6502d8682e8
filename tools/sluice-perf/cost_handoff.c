// What handoff costs its two ends: worker 0 receives packets of sessions that worker 1 owns (cost.h).
//
// Each end is a thread on a CPU of its own, where there are two, so that what one writes the other fetches from
// another core's cache. They take turns: the receiver hands over a chunk of packets, then the owner works on
// them. The receiver's figure is all that it does. The owner's is what it pays above its share: its whole cost
// less what the same packets cost it after parse and locate, when it receives them itself.

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "cost.h"
#include "pipeline/4_handoff.h"

#define WINDOW_PACKETS 200000u

struct handoff_run {
	struct bed *bed;
	struct worker *rx, *owner;
	uint32_t at; // of the chunk
	bool end;
	uint64_t rx_cycles, owner_cycles, packets;
	struct turn turn; // the owner's
	sem_t go, done;
};

static void chunk_receive(struct handoff_run *run)
{
	for (uint32_t i = 0; i < BED_CHUNK; i += BED_BATCH) {
		uint64_t start;

		bed_receive(run->bed, run->at + i, BED_BATCH);
		start = rte_rdtsc_precise();
		pipeline_batch(run->rx, &run->bed->turn);
		handoff_flush(run->rx);
		run->rx_cycles += rte_rdtsc_precise() - start;
	}
}

// What a turn does with packets from rings, and nothing else. Gives their number.
static unsigned turn_own(struct handoff_run *run)
{
	uint64_t start;

	turn_reset(&run->turn);
	run->owner->now += METER_UNITS_PER_SEC / 1000;
	start = rte_rdtsc_precise();
	handoff_gather(run->owner, &run->turn);
	pipeline_batch(run->owner, &run->turn);
	run->owner_cycles += rte_rdtsc_precise() - start;
	if (run->turn.n == 0)
		rig_die("a packet was not handed over");
	return run->turn.n;
}

// Packets of one batch may have changed places: up and down take different ways to the ring.
static void chunk_own(struct handoff_run *run)
{
	for (uint32_t i = 0; i < BED_CHUNK; i += BED_BATCH) {
		for (unsigned n = 0; n < BED_BATCH;)
			n += turn_own(run);
		bed_take(run->bed, run->owner, run->at + i, BED_BATCH);
	}
}

// To the n-th of the CPUs that we may run on, if there are so many.
static void pin(const cpu_set_t *there, unsigned n)
{
	cpu_set_t one;

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, there) && n-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
		}
}

struct owner_args {
	struct handoff_run *run;
	const cpu_set_t *there;
};

static void *owner_main(void *args)
{
	struct handoff_run *run = ((struct owner_args *)args)->run;

	pin(((struct owner_args *)args)->there, 1);
	for (;;) {
		sem_wait(&run->go);
		if (run->end)
			return NULL;
		chunk_own(run);
		sem_post(&run->done);
	}
}

static void window(struct handoff_run *run)
{
	run->rx_cycles = run->owner_cycles = run->packets = 0;
	for (; run->packets < WINDOW_PACKETS || run->packets < run->bed->n_mbufs;
	     run->packets += BED_CHUNK) {
		run->at = (uint32_t)run->packets % run->bed->n_mbufs;
		chunk_receive(run);
		sem_post(&run->go);
		sem_wait(&run->done);
	}
}

static void windows_run(struct handoff_run *run, unsigned windows, struct summary *rx,
			struct summary *owner)
{
	double rx_cycles[COST_WINDOWS_MAX], owner_cycles[COST_WINDOWS_MAX];

	window(run); // warms
	for (unsigned i = 0; i < windows; i++) {
		window(run);
		rx_cycles[i] = (double)run->rx_cycles / (double)run->packets;
		owner_cycles[i] = (double)run->owner_cycles / (double)run->packets;
	}
	*rx = summary_of(rx_cycles, windows);
	*owner = summary_of(owner_cycles, windows);
}

static double part(const struct cost_row *row, enum stage stage)
{
	for (unsigned i = 0; i < row->n_services; i++)
		if (row->services[i].name == stage_str(stage))
			return row->services[i].cycles;
	return 0;
}

void cost_handoff(struct bed *b, unsigned windows, const cpu_set_t *cpus, struct cost_row rows[2])
{
	struct handoff_run run = {
		.bed = b,
		.rx = b->rig->control.workers[0],
		.owner = b->rig->control.workers[b->owner],
	};
	struct owner_args args = {&run, cpus};
	struct cost_row own = {0};
	struct summary whole;
	pthread_t thread;
	double share;

	cost_work(b, windows, &own);
	sem_init(&run.go, 0, 0);
	sem_init(&run.done, 0, 0);
	if (pthread_create(&thread, NULL, owner_main, &args) != 0)
		rig_die("no thread");
	pin(cpus, 0);
	windows_run(&run, windows, &rows[0].cycles, &whole);
	run.end = true;
	sem_post(&run.go);
	pthread_join(thread, NULL);
	share = own.cycles.median - part(&own, STAGE_parse) - part(&own, STAGE_locate);
	rows[0].n_services = 2;
	rows[0].services[0] = (struct cost_service){"parse", part(&own, STAGE_parse)};
	rows[0].services[1] = (struct cost_service){"locate", part(&own, STAGE_locate)};
	rows[1].cycles = (struct summary){whole.min - share, whole.median - share,
					  whole.max - share};
	rows[1].n_services = 2;
	rows[1].services[0] = (struct cost_service){"whole", whole.median};
	rows[1].services[1] = (struct cost_service){"share", share};
}
