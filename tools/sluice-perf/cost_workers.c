// The whole work by one worker, or by two at once, each a thread on a CPU of its own that never waits (cost.h).
//
// A worker receives its own packets over and over. They are for its own sessions, as where a NIC steers them to their
// owners, or for anybody's, as where it spreads them by a hash: then half of them go to the other worker, which works
// on them beside what it receives. Timed is all of a turn but the ports: what came from the other worker, the batch,
// what goes to it. A packet's cost is the sum of its workers' times over the packets received. Between, untimed, each
// packet is checked, its bytes are put back, and it goes home to the worker that receives it.

#include <pthread.h>

#include <rte_ring.h>

#include "base/clock.h"
#include "cost.h"

#define WORKERS COST_WORKERS_MOST
#define ON_THE_WAY_MOST                                                                            \
	2048u // to the other worker, whose ring has room for more: only when that one is interrupted
#define DRAIN_NS (10 * NS_PER_SEC)

struct workers_run;

struct end {
	struct workers_run *run;
	struct worker *w;
	unsigned id;
	struct rte_ring *home[WORKERS]; // its packets, by the worker that gives them back
	unsigned turns;
	struct turn turn;
	struct bed_sum sum; // of the window
	uint64_t timed;     // packets received, of the window
	uint64_t received, random;
	uint64_t sent[SIDES], sent_bytes[SIDES];
	// Written by this end, read by the others.
	uint64_t ended __rte_cache_aligned; // packets that it has given back, ever
	bool done;                          // its part of the window
};

struct workers_run {
	struct bed *bed;
	const cpu_set_t *cpus;
	unsigned n;
	uint64_t quota; // packets that each receives in a window
	bool over;
	pthread_barrier_t barrier;
	struct end ends[WORKERS];
};

// --- packets ---------------------------------------------------------------------------------------------

// Gives a packet back. Its number in the bed stands in the mbuf, where a NIC leaves its hash.
static void packet_home(struct end *e, struct rte_mbuf *m)
{
	struct bed *b = e->run->bed;
	uint32_t i = m->hash.usr;
	enum side side = b->ifaces[i] == RIG_N3 ? SIDE_UP : SIDE_DOWN;
	struct end *home = &e->run->ends[i * e->run->n / b->n_mbufs];

	e->sent[side]++;
	e->sent_bytes[side] += b->samples[i].user_bytes;
	bed_restore(b, i);
	if (rte_ring_sp_enqueue(home->home[e->id], m) != 0)
		rig_die("a packet has no home");
}

static uint32_t draw(struct end *e, uint32_t n)
{
	e->random = e->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((e->random >> 32) * n >> 32);
}

// In an order by chance, so that ways up and down stay mixed when packets are received again.
static void frames_take(struct end *e)
{
	struct worker_tx *up = &e->w->tx[RIG_N6], *down = &e->w->tx[RIG_N3];
	uint32_t n = up->n + down->n;

	bed_frames_check(up, false);
	bed_frames_check(down, true);
	while (up->n + down->n) {
		struct worker_tx *tx = draw(e, up->n + down->n) < up->n ? up : down;

		packet_home(e, tx->mbufs[--tx->n]);
	}
	__atomic_store_n(&e->ended, e->ended + n, __ATOMIC_RELEASE);
}

// Packets of this end on their way to the others.
static uint64_t on_the_way(const struct end *e)
{
	uint64_t out = e->w->stats.counter[COUNTER_handoff_out], in = 0;

	for (unsigned i = 0; i < e->run->n; i++)
		if (i != e->id)
			in += stats_read(&e->run->ends[i].w->stats.counter[COUNTER_handoff_in]);
	return out - in; // of two workers
}

static void receive(struct end *e)
{
	const struct bed *b = e->run->bed;
	struct turn *t = &e->turn;
	unsigned n = 0;

	if (on_the_way(e) > ON_THE_WAY_MOST)
		return;
	for (unsigned i = 0; i < e->run->n; i++)
		n += rte_ring_sc_dequeue_burst(e->home[(e->turns + i) % e->run->n],
					       (void **)&t->mbufs[n], BED_BATCH - n, NULL);
	for (unsigned i = 0; i < n; i++) {
		uint32_t at = t->mbufs[i]->hash.usr;

		t->rx[i] = b->ifaces[at];
		t->mbufs[i]->data_off = RTE_PKTMBUF_HEADROOM;
		t->mbufs[i]->data_len = b->samples[at].bytes;
		t->mbufs[i]->pkt_len = b->samples[at].bytes;
	}
	t->n = t->n_rx = n;
	e->received += n;
}

static void turn_run(struct end *e, bool receiving, bool timed)
{
	uint64_t start, took;
	unsigned n_rx;

	turn_reset(&e->turn);
	e->turns++;
	if (receiving)
		receive(e);
	n_rx = e->turn.n_rx;
	e->w->now += METER_UNITS_PER_SEC / 1000;
	start = rte_rdtsc_precise();
	handoff_gather(e->w, &e->turn);
	pipeline_batch(e->w, &e->turn);
	handoff_flush(e->w);
	took = rte_rdtsc_precise() - start;
	if (timed && e->turn.n) {
		bed_sum_add(&e->sum, took, e->turn.n);
		e->timed += n_rx;
	}
	frames_take(e);
}

// --- windows ---------------------------------------------------------------------------------------------

static bool all_done(const struct workers_run *run)
{
	for (unsigned i = 0; i < run->n; i++)
		if (!__atomic_load_n(&run->ends[i].done, __ATOMIC_RELAXED))
			return false;
	return true;
}

// Until all that was received has ended somewhere.
static void drain(struct end *e)
{
	uint64_t received = 0, ended, start = clock_now_ns();

	for (unsigned i = 0; i < e->run->n; i++)
		received += e->run->ends[i].received;
	do {
		turn_run(e, false, false);
		ended = 0;
		for (unsigned i = 0; i < e->run->n; i++)
			ended += __atomic_load_n(&e->run->ends[i].ended, __ATOMIC_ACQUIRE);
		if (clock_now_ns() > start + DRAIN_NS)
			rig_die("a packet did not come through");
	} while (ended < received);
}

// An end's part of a window. It goes on after its own packets, untimed, until the other has had its.
static void window(struct end *e)
{
	pthread_barrier_wait(&e->run->barrier);
	while (e->timed < e->run->quota)
		turn_run(e, true, true);
	__atomic_store_n(&e->done, true, __ATOMIC_RELAXED);
	while (!all_done(e->run))
		turn_run(e, true, false);
	pthread_barrier_wait(&e->run->barrier);
	drain(e);
	pthread_barrier_wait(&e->run->barrier);
}

static void *end_main(void *end)
{
	struct end *e = end;

	cost_pin(e->run->cpus, e->id);
	for (;;) {
		pthread_barrier_wait(&e->run->barrier);
		if (e->run->over)
			return NULL;
		window(e);
	}
}

// Every end's window. Gives cycles a packet of all received, and the rate of all workers together, each busy with
// nothing else.
static double windows_run(struct workers_run *run, double *ret_mpps)
{
	double cycles = 0, mpps = 0;

	for (unsigned i = 0; i < run->n; i++) {
		run->ends[i].sum = (struct bed_sum){0};
		run->ends[i].timed = 0;
		run->ends[i].done = false;
	}
	pthread_barrier_wait(&run->barrier);
	window(&run->ends[0]);
	for (unsigned i = 0; i < run->n; i++) {
		const struct end *e = &run->ends[i];
		// Work on packets, its own and others', of which there are as many as are received.
		double each = bed_sum_mean(&e->sum) * (double)e->sum.all_packets / (double)e->timed;

		cycles += each / run->n;
		mpps += (double)rte_get_tsc_hz() / each / 1e6;
		run->bed->interrupted += e->sum.interrupted;
	}
	control_poll(&run->bed->rig->control);
	*ret_mpps = mpps;
	return cycles;
}

// --- the run ---------------------------------------------------------------------------------------------

static void end_make(struct workers_run *run, unsigned id)
{
	struct end *e = &run->ends[id];
	char name[RTE_RING_NAMESIZE];

	e->run = run;
	e->id = id;
	e->random = id;
	e->w = run->bed->rig->control.workers[id];
	e->w->burst =
		WORKER_BURST; // more than half of a batch, so that nothing piles up between them
	for (unsigned i = 0; i < run->n; i++) {
		snprintf(name, sizeof(name), "home%u_%u", id, i);
		e->home[i] = rte_ring_create(name, rte_align32pow2(run->bed->n_mbufs + 1),
					     SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!e->home[i])
			rig_die("no memory for rings");
	}
}

static void packets_begin(struct workers_run *run)
{
	struct bed *b = run->bed;

	for (uint32_t i = 0; i < b->n_mbufs; i++) {
		unsigned home = i * run->n / b->n_mbufs;

		b->mbufs[i]->hash.usr = i;
		rte_ring_sp_enqueue(run->ends[home].home[home], b->mbufs[i]);
	}
}

static uint64_t handed_of(const struct workers_run *run)
{
	uint64_t handed = 0;

	for (unsigned i = 0; i < run->n; i++)
		handed += run->ends[i].w->stats.counter[COUNTER_handoff_out];
	return handed;
}

static void run_end(struct workers_run *run)
{
	struct bed *b = run->bed;

	for (unsigned i = 0; i < run->n; i++) {
		for (enum side side = 0; side < SIDES; side++) {
			b->sent[side] += run->ends[i].sent[side];
			b->sent_bytes[side] += run->ends[i].sent_bytes[side];
		}
		for (unsigned k = 0; k < run->n; k++)
			rte_ring_free(run->ends[i].home[k]);
	}
	pthread_barrier_destroy(&run->barrier);
}

void cost_workers(struct bed *b, unsigned windows, const cpu_set_t *cpus, struct cost_row *row)
{
	static double cycles[COST_WINDOWS_MAX], mpps[COST_WINDOWS_MAX];
	static struct workers_run run;
	pthread_t threads[WORKERS];
	uint64_t handed, received = 0;
	double warm;

	run = (struct workers_run){.bed = b, .cpus = cpus, .n = b->rig->conf.n_workers};
	run.quota = RTE_MAX(b->window_packets, b->n_mbufs / run.n);
	pthread_barrier_init(&run.barrier, NULL, run.n);
	for (unsigned i = 0; i < run.n; i++)
		end_make(&run, i);
	packets_begin(&run);
	handed = handed_of(&run);
	for (unsigned i = 1; i < run.n; i++)
		if (pthread_create(&threads[i], NULL, end_main, &run.ends[i]) != 0)
			rig_die("no thread");
	cost_pin(cpus, 0);
	windows_run(&run, &warm);
	b->interrupted = 0;
	for (unsigned i = 0; i < windows; i++)
		cycles[i] = windows_run(&run, &mpps[i]);
	run.over = true;
	pthread_barrier_wait(&run.barrier);
	for (unsigned i = 1; i < run.n; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < run.n; i++)
		received += run.ends[i].received;
	row->workers = run.n;
	row->handed_over = (double)(handed_of(&run) - handed) / (double)received;
	row->cycles = summary_of(cycles, windows);
	row->mpps = summary_of(mpps, windows).median;
	row->interrupted = b->interrupted;
	run_end(&run);
	bed_check_meters(b);
}
