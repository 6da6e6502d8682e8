// W with flows for all sessions, and its extreme: each packet finds its flow gone and makes it anew (cost.h).
//
// There are more flows than mbufs: between batches, untimed, each packet that has been worked on becomes one of
// another flow. Flows are made in one order and visited in another, random one. The beginning of each turn, where
// flows end, is timed too. With `churn` a flow's time is over before its turn comes again: one is made, used once and
// ended for each packet.

#include <stdlib.h>

#include "cost.h"
#include "packet/translate.h"
#include "session/tcp_conn.h"

// One packet of each flow, as it is received.
struct flow_set {
	struct bed_sample *samples;
	uint8_t *ifaces;
	uint8_t *wanted; // where packets are received once the flows are there
	uint32_t n, next;
};

static uint64_t seed = 1;

static uint32_t draw(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * n >> 32);
}

// Mbuf number i gets the next flow's packet.
static void set_next(struct flow_set *set, struct bed *b, uint32_t i)
{
	b->samples[i] = set->samples[set->next];
	b->ifaces[i] = set->ifaces[set->next];
	bed_restore(b, i);
	set->next = (set->next + 1) % set->n;
}

static void set_begin(struct flow_set *set, struct bed *b)
{
	set->next = 0;
	for (uint32_t i = 0; i < b->n_mbufs; i++)
		set_next(set, b, i);
}

static void set_make(struct flow_set *set, struct bed *b)
{
	set->n = b->conf.n_flows;
	set->samples = calloc(set->n, sizeof(*set->samples));
	set->ifaces = calloc(set->n, 1);
	set->wanted = calloc(set->n, 1);
	if (!set->samples || !set->ifaces || !set->wanted)
		rig_die("no memory");
	for (uint32_t i = 0; i < set->n; i++) {
		uint32_t mbuf = i % b->n_mbufs; // its interface says the direction

		set->wanted[i] = b->ifaces[mbuf];
		if (b->conf.nat) // a translated flow begins from inside
			b->ifaces[mbuf] = RIG_N3;
		bed_packet_make(b, mbuf);
		set->samples[i] = b->samples[mbuf];
		set->ifaces[i] = b->ifaces[mbuf];
		b->ifaces[mbuf] = set->wanted[i];
	}
	set_begin(set, b);
}

// The answer to an uplink packet whose flow is translated, as it comes from the network.
static void sample_turn(struct bed *b, struct bed_sample *sample)
{
	const struct rig_session *s = &b->sessions[sample->session];
	const struct flow_table *table = &b->rig->control.workers[b->owner]->flows.table;
	const uint8_t *ip = sample->head + rig_user_at(b->rig, 1), *l4 = ip + IP4_BYTES;
	struct rig_flow flow = {.proto = ip[9],
				.ue_port = be16_get(l4),
				.dn_port = be16_get(l4 + 2),
				.ttl = 64,
				.payload = (uint16_t)(be16_get(ip + 2) - IP4_BYTES -
						      (ip[9] == IPPROTO_TCP ? 20 : UDP_BYTES)),
				.qfi = 1};
	struct translation to = {.with_port = true};
	uint8_t frame[RIG_FRAME_MAX];
	const struct flow_key *second;
	struct flow_key key;
	struct pkt p = {0};
	uint32_t number;

	sample->bytes = (uint16_t)rig_frame_down(b->rig, s, &flow, frame);
	if (parse_user4(frame, ETH_BYTES, &p) != DROP_NONE)
		rig_die("not a packet");
	flow_key_of(&p, frame + ETH_BYTES, false, s->slot.index, &key);
	number = flow_lookup(table, &key, false, flow_hash(table, &key));
	if (number == 0 || !(table->flows[number].flags & FLOW_F_NAT))
		rig_die("a flow is not translated");
	second = &table->cold[number].second;
	memcpy(to.addr, &second->v4.ue, sizeof(second->v4.ue));
	to.port = second->ue_port;
	translate_packet(frame + ETH_BYTES, &p, TRANSLATE_DESTINATION, &to);
	memcpy(sample->head, frame, BED_HEAD);
}

static void set_turn(struct flow_set *set, struct bed *b)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (set->wanted[i] != set->ifaces[i]) {
			sample_turn(b, &set->samples[i]);
			set->ifaces[i] = set->wanted[i];
		}
}

static void set_shuffle(struct flow_set *set, struct bed *b)
{
	for (uint32_t i = set->n - 1; i > 0; i--) {
		uint32_t k = draw(i + 1);
		struct bed_sample sample = set->samples[i];
		uint8_t iface = set->ifaces[i];

		set->samples[i] = set->samples[k];
		set->ifaces[i] = set->ifaces[k];
		set->samples[k] = sample;
		set->ifaces[k] = iface;
	}
	set_begin(set, b);
}

// From one batch to the next: with churn so long that all flows' turns take 40 ms, four times as long as an unused one
// lives; otherwise so short that none ends.
static uint64_t step_of(const struct bed *b)
{
	return b->conf.churn ? METER_UNITS_PER_SEC / 25 * BED_BATCH / b->conf.n_flows
			     : METER_UNITS_PER_SEC / 500000;
}

static uint64_t batch(struct bed *b, struct worker *w, struct flow_set *set, uint32_t at)
{
	uint64_t start, cycles;

	bed_receive(b, at, BED_BATCH);
	w->now += step_of(b);
	start = rte_rdtsc_precise();
	flows_allow(&w->flows);
	flows_turn(w);
	pipeline_batch(w, &b->turn);
	cycles = rte_rdtsc_precise() - start;
	bed_take(b, w, at, BED_BATCH);
	for (uint32_t i = at; i < at + BED_BATCH; i++)
		set_next(set, b, i);
	return cycles;
}

struct window {
	double cycles; // a packet
	uint64_t longest;
};

static struct window window(struct bed *b, struct worker *w, struct flow_set *set)
{
	struct window ret = {0};
	struct bed_sum sum = {0};

	while (sum.all_packets < set->n || sum.all_packets < b->window_packets) {
		uint64_t one = batch(b, w, set, (uint32_t)sum.all_packets % b->n_mbufs);

		bed_sum_add(&sum, one, BED_BATCH);
		ret.longest = RTE_MAX(ret.longest, one);
	}
	b->interrupted += sum.interrupted;
	ret.cycles = bed_sum_mean(&sum);
	return ret;
}

// The packets of a flow are of one direction: what the other side would have said has been said.
static void connections_establish(struct worker *w)
{
	for (uint32_t i = 1; i <= w->flows.table.used; i++) {
		struct tcp_conn *conn = flow_record(&w->flows, SERVICE_BIT_tcp_check, i,
						    sizeof(*conn));

		conn->state = CONN_ESTABLISHED;
	}
}

void cost_flows(struct bed *b, unsigned windows, struct cost_row *row)
{
	struct worker *w = b->rig->control.workers[b->owner];
	double cycles[COST_WINDOWS_MAX], made;
	struct flow_set set;
	uint64_t flows, sent, longest = UINT64_MAX;

	set_make(&set, b);
	window(b, w, &set); // makes the flows
	if (b->conf.tcp)
		connections_establish(w);
	if (b->conf.nat)
		set_turn(&set, b);
	set_shuffle(&set, b);
	window(b, w, &set);
	b->interrupted = 0;
	flows = w->stats.counter[COUNTER_flows_made];
	sent = b->sent[SIDE_UP] + b->sent[SIDE_DOWN];
	for (unsigned i = 0; i < windows; i++) {
		struct window one = window(b, w, &set);

		cycles[i] = one.cycles;
		longest = RTE_MIN(longest, one.longest); // what interrupted one window is not ours
	}
	made = (double)(w->stats.counter[COUNTER_flows_made] - flows) /
	       (double)(b->sent[SIDE_UP] + b->sent[SIDE_DOWN] - sent);
	if (b->conf.churn ? made < 0.99 : made > 0) // few packets are of one flow by chance
		rig_die(b->conf.churn ? "a flow was there" : "a flow was gone");
	row->cycles = summary_of(cycles, windows);
	row->interrupted = b->interrupted;
	if (b->conf.churn)
		row->longest_turn_us = 1e6 * (double)longest / (double)rte_get_tsc_hz();
	bed_check_meters(b);
	free(set.samples);
	free(set.ifaces);
	free(set.wanted);
}
