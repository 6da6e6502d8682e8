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

struct handoff_run {
	struct bed *bed;
	struct worker *rx, *owner;
	uint32_t at; // of the chunk
	bool end;
	uint64_t packets;
	struct bed_sum rx_sum, owner_sum;
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
		bed_sum_add(&run->rx_sum, rte_rdtsc_precise() - start, BED_BATCH);
	}
}

// What a turn does with packets from rings, and nothing else. Gives their number.
static unsigned turn_own(struct handoff_run *run)
{
	uint64_t start, took;

	turn_reset(&run->turn);
	run->owner->now += METER_UNITS_PER_SEC / 1000;
	start = rte_rdtsc_precise();
	handoff_gather(run->owner, &run->turn);
	pipeline_batch(run->owner, &run->turn);
	took = rte_rdtsc_precise() - start;
	if (run->turn.n == 0)
		rig_die("a packet was not handed over");
	bed_sum_add(&run->owner_sum, took, run->turn.n);
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

void cost_pin(const cpu_set_t *there, unsigned n)
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

	cost_pin(((struct owner_args *)args)->there, 1);
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
	run->rx_sum = run->owner_sum = (struct bed_sum){0};
	for (run->packets = 0;
	     run->packets < run->bed->window_packets || run->packets < run->bed->n_mbufs;
	     run->packets += BED_CHUNK) {
		run->at = (uint32_t)run->packets % run->bed->n_mbufs;
		chunk_receive(run);
		sem_post(&run->go);
		sem_wait(&run->done);
	}
	run->bed->interrupted += run->rx_sum.interrupted + run->owner_sum.interrupted;
}

struct handoff_found {
	double rx[COST_WINDOWS_MAX];    // the receiver's whole cost
	double whole[COST_WINDOWS_MAX]; // the owner's
	double share[COST_WINDOWS_MAX]; // what the owner would pay anyhow
	double extra[COST_WINDOWS_MAX];
};

// Windows of the one and of the other kind by turns, so that what disturbs the machine disturbs both.
static void windows_run(struct handoff_run *run, unsigned windows, double before,
			struct handoff_found *ret)
{
	window(run); // warms
	for (unsigned i = 0; i < windows; i++) {
		ret->share[i] = bed_window(run->bed, run->owner) - before;
		window(run);
		ret->rx[i] = bed_sum_mean(&run->rx_sum);
		ret->whole[i] = bed_sum_mean(&run->owner_sum);
		ret->extra[i] = ret->whole[i] - ret->share[i];
	}
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
	static struct handoff_found found;
	double parse, locate;
	pthread_t thread;

	bed_window(b, run.owner); // warms
	bed_services(b, run.owner, &own);
	parse = part(&own, STAGE_parse);
	locate = part(&own, STAGE_locate);
	sem_init(&run.go, 0, 0);
	sem_init(&run.done, 0, 0);
	if (pthread_create(&thread, NULL, owner_main, &args) != 0)
		rig_die("no thread");
	cost_pin(cpus, 0);
	b->interrupted = 0;
	windows_run(&run, windows, parse + locate, &found);
	run.end = true;
	sem_post(&run.go);
	pthread_join(thread, NULL);
	rows[0].cycles = summary_of(found.rx, windows);
	rows[0].n_services = 2;
	rows[0].services[0] = (struct cost_service){stage_str(STAGE_parse), parse};
	rows[0].services[1] = (struct cost_service){stage_str(STAGE_locate), locate};
	rows[1].cycles = summary_of(found.extra, windows);
	rows[1].n_services = 2;
	rows[1].services[0] = (struct cost_service){"whole",
						    summary_of(found.whole, windows).median};
	rows[1].services[1] = (struct cost_service){"share",
						    summary_of(found.share, windows).median};
	rows[0].interrupted = rows[1].interrupted = b->interrupted;
	bed_check_meters(b);
}
