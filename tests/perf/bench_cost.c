// What a packet costs: cycles per packet of the real turn's work, without ports, uplink and downlink.
//
// The packets of a pool of mbufs are made once, each for a session picked at random; the timed part is
// pipeline_batch() over 64 of them at a time. Between, untimed, each is checked (it was rewritten and queued
// for the right interface) and its bytes are put back as they were. Before, untimed too, the fields of its
// mbuf are written, as a port's receive function has just done in life; its bytes are not touched. Sessions
// are visited in random order, and all mbufs in turn, so that neither is in the cache when its time comes but
// by merit.
//
// With --policy each packet also has two meters, the session's and its flow's, and one usage with a threshold
// that is reached now and then.
//
//	bench_cost [--policy] [--sessions N,N…] [--mbufs N] [--windows N] [--direction up|down] [--no-huge]

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "base/rand.h"
#include "packet/ip.h"
#include "pipeline/pipeline.h"
#include "rig.h"

#define BATCH 64
#define HEAD 128 // bytes of a frame that the work may change
#define WINDOWS_MAX 99
#define WAY_UP 1
#define WAY_DOWN 2

struct sample {
	uint8_t head[HEAD];
	uint16_t bytes;
};

struct bench {
	struct rig *rig;
	unsigned n_sessions, n_mbufs, windows;
	unsigned ways; // WAY_ bits
	bool policy;
	struct rig_session *sessions;
	struct rte_mbuf **mbufs;
	struct sample *samples;
	struct turn turn;
};

static uint64_t seed = 1;

static uint32_t draw(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * n >> 32);
}

static void receive(const struct bench *b, unsigned i)
{
	struct rte_mbuf *m = b->mbufs[i];

	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->data_len = b->samples[i].bytes;
	m->pkt_len = b->samples[i].bytes;
}

static void restore(const struct bench *b, unsigned i)
{
	memcpy((uint8_t *)b->mbufs[i]->buf_addr + RTE_PKTMBUF_HEADROOM, b->samples[i].head, HEAD);
}

// Half TCP, half UDP, half of them on the first PDR, of random sessions.
static void make_packets(struct bench *b, bool up)
{
	for (unsigned i = 0; i < b->n_mbufs; i++) {
		const struct rig_session *s = &b->sessions[draw(b->n_sessions)];
		struct rig_flow flow = {
			.proto = draw(4) ? IPPROTO_UDP : IPPROTO_TCP,
			.ue_port = (uint16_t)(1024 + draw(60000)),
			.dn_port = draw(3) ? 5000 : 443,
			.ttl = 64,
			.payload = 64,
			.qfi = 1,
		};
		uint8_t frame[RIG_FRAME_MAX];
		size_t bytes = up ? rig_frame_up(b->rig, s, &flow, frame)
				  : rig_frame_down(b->rig, s, &flow, frame);

		receive(b, i);
		memcpy(rte_pktmbuf_mtod(b->mbufs[i], void *), frame, bytes);
		memcpy(b->samples[i].head, frame, HEAD);
		b->samples[i].bytes = (uint16_t)bytes;
	}
}

// Takes what the batch queued, sees that it is all there and was rewritten.
static void check_batch(struct bench *b, struct worker *w, bool up)
{
	struct worker_tx *tx = &w->tx[up ? RIG_N6 : RIG_N3];

	if (tx->n != BATCH) {
		rig_show(b->rig);
		rig_die("a packet did not come through");
	}
	for (unsigned i = 0; i < tx->n; i++) {
		uint32_t ip = up ? ETH_BYTES : ETH_BYTES + 44;
		const struct ip4_head *user = rte_pktmbuf_mtod_offset(tx->mbufs[i],
								      const struct ip4_head *, ip);

		if (user->ttl != 63)
			rig_die("a packet was not worked on");
	}
	tx->n = 0;
}

static double window(struct bench *b, bool up)
{
	struct worker *w = b->rig->control.workers[0];
	uint64_t cycles = 0;
	unsigned packets = 0;

	while (packets < 4 * b->n_mbufs || packets < 200000) {
		unsigned at = packets % b->n_mbufs;
		uint64_t start;

		turn_reset(&b->turn);
		b->turn.n = b->turn.n_rx = BATCH;
		memcpy(b->turn.mbufs, &b->mbufs[at], BATCH * sizeof(b->mbufs[0]));
		memset(b->turn.rx, up ? RIG_N3 : RIG_N6, BATCH);
		for (unsigned i = 0; i < BATCH; i++)
			receive(b, at + i);
		w->now += METER_UNITS_PER_SEC / 1000;
		start = rte_rdtsc_precise();
		pipeline_batch(w, &b->turn);
		cycles += rte_rdtsc_precise() - start;
		check_batch(b, w, up);
		for (unsigned i = 0; i < BATCH; i++)
			restore(b, at + i);
		packets += BATCH;
	}
	return (double)cycles / packets;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(struct bench *b, bool up)
{
	double results[WINDOWS_MAX];

	make_packets(b, up);
	window(b, up);
	for (unsigned i = 0; i < b->windows; i++)
		results[i] = window(b, up);
	qsort(results, b->windows, sizeof(results[0]), compare);
	printf("%-9s %9u %7u   %6.1f  %6.1f  %6.1f\n", up ? "uplink" : "downlink", b->n_sessions,
	       b->n_mbufs, results[0], results[b->windows / 2], results[b->windows - 1]);
	fflush(stdout);
}

// The rig's ordinary rules with a rate for the session and one for the flow, and a volume threshold.
static struct rules *policy_rules(uint32_t n)
{
	struct rules *rules = rig_rules_new(n);
	struct urr_rule *urr = rules_urr_add(rules, 1);

	for (uint32_t id = 3; id <= 4; id++) {
		struct qer_rule *qer = rules_qer_add(rules, id);

		qer->has_mbr = true;
		qer->mbr_up_bps = qer->mbr_down_bps = id * 1000000000ull;
	}
	urr->method = 2;
	urr->threshold = (struct urr_volumes){.flags = 1, .total = 1000000};
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct pdr_rule *pdr = &rules->pdrs[i];

		pdr->qers[pdr->n_qers++] = 3;
		pdr->qers[pdr->n_qers++] = 4;
		pdr->urrs[pdr->n_urrs++] = 1;
	}
	return rules;
}

static void run(struct bench *b, unsigned n_sessions, bool huge)
{
	struct rig_conf conf = {
		.n_workers = 1,
		.n_slots = n_sessions,
		.n_tunnels = 16,
		.mbufs = b->n_mbufs + 1024,
		.memory_mb = huge ? 900 : 1400,
		.huge = huge,
	};

	b->n_sessions = n_sessions;
	b->rig = rig_new(&conf);
	b->sessions = calloc(n_sessions, sizeof(*b->sessions));
	for (unsigned i = 0; i < n_sessions; i++) {
		struct rules *rules = b->policy ? policy_rules(i) : NULL;

		rig_session_add(b->rig, i, rules, &b->sessions[i]);
		rules_free(rules);
		if (i % 128 == 0)
			rig_settle(b->rig);
	}
	rig_resolve(b->rig);
	for (unsigned i = 0; i < b->n_mbufs; i++)
		b->mbufs[i] = rte_pktmbuf_alloc(b->rig->pool);
	if (b->ways & WAY_UP)
		measure(b, true);
	if (b->ways & WAY_DOWN)
		measure(b, false);
	for (unsigned i = 0; i < b->n_mbufs; i++)
		rte_pktmbuf_free(b->mbufs[i]);
	for (unsigned i = 0; i < n_sessions; i++)
		rig_session_close(b->rig, &b->sessions[i]);
	rig_settle(b->rig);
	free(b->sessions);
	rig_free(b->rig);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"sessions", required_argument, NULL, 's'},
		{"mbufs", required_argument, NULL, 'm'},
		{"windows", required_argument, NULL, 'w'},
		{"direction", required_argument, NULL, 'd'},
		{"no-huge", no_argument, NULL, 'n'},
		{"policy", no_argument, NULL, 'p'},
		{NULL, 0, NULL, 0},
	};
	static struct bench b = {.n_mbufs = 16384, .windows = 7, .ways = WAY_UP | WAY_DOWN};
	char *sessions = strdup("1024,65536");
	bool huge = true;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			sessions = optarg;
		else if (option == 'm')
			b.n_mbufs = (unsigned)atoi(optarg) / BATCH * BATCH;
		else if (option == 'w')
			b.windows = RTE_MIN((unsigned)atoi(optarg), (unsigned)WINDOWS_MAX);
		else if (option == 'n')
			huge = false;
		else if (option == 'p')
			b.policy = true;
		else if (option == 'd')
			b.ways = strcmp(optarg, "up") == 0 ? WAY_UP : WAY_DOWN;
		else
			return 2;
	}
	b.mbufs = calloc(b.n_mbufs, sizeof(*b.mbufs));
	b.samples = calloc(b.n_mbufs, sizeof(*b.samples));
	if (!b.mbufs || !b.samples || b.n_mbufs == 0 || b.windows == 0)
		return 2;
	printf("cycles a packet (TSC), %u windows; memory %s\n", b.windows,
	       huge ? "huge pages" : "4 KiB pages");
	printf("direction  sessions   mbufs      min  median     max\n");
	for (char *word = strtok(sessions, ","); word; word = strtok(NULL, ","))
		run(&b, (unsigned)atoi(word), huge);
	return 0;
}
