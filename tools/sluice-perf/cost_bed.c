// The bed of the work W: sessions with its rules, packets for them, windows over the packets (cost.h).
//
// W is a packet's whole way but the port's: parse, locate, version check, decapsulation or encapsulation with PDU
// Session Container, source check, PDR (two a direction, the first with a filter), two QERs (the session's and
// the flow's rate), a URR with a threshold, FAR, next hop, TTL, checksums, counters. The timed part is
// pipeline_batch() over 64 packets at a time. Between, untimed, each packet is checked and its bytes are put
// back; before, untimed too, the fields of its mbuf are written, as a port's receive function has just done in
// life. Its bytes are not touched then. Sessions are drawn at random, and all mbufs take their turn.

#include <stdlib.h>

#include "cost.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/tcp.h"
#include "rules/model.h"
#include "worker/profile.h"

#define PAYLOAD 64
#define THRESHOLD (1ull << 30) // bytes: far from reached in a run
#define UE_RANGE "10.32.0.0/11"
#define FILTERED_PORT 5000     // of the first PDRs' filter
#define FILTER_PORT 10000      // of their further ones, and more
#define PDR_PORT 20000         // of further PDRs' filters, and more
#define MBUF_MB(n) ((n) / 390) // with its 2 KB of room
#define SESSION_KB 1.2
#define FLOW_BYTES 264

static uint64_t seed = 1;

static uint32_t draw(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * n >> 32);
}

// --- making ----------------------------------------------------------------------------------------------

// Filters of which packets match the first, if any.
static void filters_give(struct pdr_rule *pdr, uint32_t first_port, uint32_t n)
{
	struct sdf filters[RULES_MAX_FILTERS];
	char text[64];
	const char *why;

	for (uint32_t i = 0; i < n; i++) {
		int bytes = snprintf(text, sizeof(text), "permit out 17 from any %u to assigned",
				     i == 0 ? first_port : FILTER_PORT + i);

		if (sdf_parse(text, (size_t)bytes, &filters[i], &why) != 0)
			rig_die("filter");
	}
	if (rules_pdr_filters_set(pdr, filters, n) != 0)
		rig_die("no memory for filters");
}

// One more like this, to be tried behind it, which no packet matches.
static void pdr_add(struct rules *rules, uint16_t like, uint16_t id, uint32_t n_filters)
{
	struct pdr_rule *pdr = rules_pdr_add(rules, id);

	if (!pdr)
		rig_die("no memory for rules");
	*pdr = *rules_pdr_lookup(rules, like);
	pdr->id = id;
	pdr->precedence++;
	pdr->pdi.n_filters = 0;
	pdr->pdi.filters = NULL;
	filters_give(pdr, PDR_PORT + id, n_filters);
}

// Gives each direction as many PDRs, and each but its last as many filters, as the bed is to have.
static void pdrs_more(struct rules *rules, const struct bed_conf *conf)
{
	static const uint16_t firsts[] = {1, 3}; // down, up

	for (unsigned way = 0; conf->n_pdrs && way < RTE_DIM(firsts); way++) {
		filters_give(rules_pdr_lookup(rules, firsts[way]), FILTERED_PORT, conf->n_filters);
		for (uint32_t i = 2; i < conf->n_pdrs; i++)
			pdr_add(rules, firsts[way], (uint16_t)(2 * i + 1 + way), conf->n_filters);
	}
}

// The rig's ordinary rules with two QERs on each PDR and a URR, or with what of QERs says the QFI alone.
static struct rules *rules_make(uint32_t n, const struct bed_conf *conf)
{
	struct rules *rules = rig_rules_new(n);
	struct urr_rule *urr;

	pdrs_more(rules, conf);
	if (conf->bare)
		return rules;
	urr = rules_urr_add(rules, 1);
	for (unsigned i = 0; i < rules->n_qers; i++) {
		struct qer_rule *qer = &rules->qers[i];

		qer->has_qfi = i == 0; // the flow's
		qer->has_mbr = true;
		qer->mbr_up_bps = qer->mbr_down_bps = (i + 1) * 1000000000ull;
	}
	urr->method = METHOD_VOLUM;
	urr->triggers = TRIGGER_VOLTH;
	urr->threshold = (struct urr_volumes){.flags = 1, .total = THRESHOLD};
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct pdr_rule *pdr = &rules->pdrs[i];

		pdr->n_qers = 2;
		pdr->qers[0] = 1;
		pdr->qers[1] = 2;
		pdr->urrs[pdr->n_urrs++] = 1;
	}
	return rules;
}

static uint32_t flows_room(const struct bed_conf *conf)
{
	return conf->n_flows + conf->n_flows / 16;
}

unsigned bed_memory_mb(const struct bed_conf *conf)
{
	return 400 + MBUF_MB(conf->max_mbufs) +
	       (unsigned)(conf->n_sessions * conf->n_workers * SESSION_KB / 1024) +
	       (unsigned)((uint64_t)flows_room(conf) * FLOW_BYTES * (conf->nat ? 2 : 1) >> 20);
}

static uint64_t services_of(const struct bed_conf *conf)
{
	if (!conf->n_flows)
		return 0;
	return SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle) |
	       (conf->tcp ? SERVICE_MASK(tcp_check) : 0) |
	       (conf->nat ? SERVICE_MASK(nat_in) | SERVICE_MASK(nat_out) : 0);
}

// Sessions go to the workers in turn: of two, the owner's are kept.
static void sessions_make(struct bed *b, unsigned n_workers)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_sessions * n_workers; i++) {
		struct rules *rules = rules_make(i, &b->conf);
		struct rig_session *s = &b->sessions[i];

		rig_session_add(b->rig, i, rules, s);
		rules_free(rules);
		if (i % 128 == 0)
			rig_settle(b->rig);
		n += s->slot.owner == b->owner;
	}
	if (n != b->n_sessions)
		rig_die("sessions are not shared out evenly");
	rig_resolve(b->rig);
}

static struct nat_pool_conf nat_pool = {.addrs = {.len = 24},
					.iface = RIG_N6,
					.port_low = 1024,
					.port_high = UINT16_MAX,
					.block_ports = 512,
					.blocks_per_session = NAT_BLOCKS_MAX};

struct bed *bed_new(const struct bed_conf *conf)
{
	uint32_t n_sessions = conf->n_sessions, max_mbufs = conf->max_mbufs;
	unsigned n_workers = conf->n_workers;
	struct rig_conf rig = {
		.n_workers = n_workers,
		.n_slots = n_sessions,
		.n_tunnels = 16,
		.mbufs = max_mbufs + 1024,
		.handoff_ring = 4096,
		.ue_range = UE_RANGE,
		.sample_every = conf->stats ? PROFILE_EVERY : 0,
		.memory_mb = conf->memory_mb,
		.huge = conf->huge,
		.services = services_of(conf),
		.nat = conf->nat ? &nat_pool : NULL,
		.flows = flows_room(conf),
		.flows_per_session = UINT32_MAX,
		.flow_profile = {.timeout_ms = {[FLOW_EMBRYONIC] = conf->churn ? 1 : 60000},
				 .tcp_pick_up = true},
	};
	struct bed *b = calloc(1, sizeof(*b));

	nat_pool.addrs.addr = rig_addr("198.51.100.0");
	if (!b)
		rig_die("no memory");
	b->conf = *conf;
	b->rig = rig_new(&rig);
	b->n_sessions = n_sessions;
	b->max_mbufs = max_mbufs;
	b->owner = n_workers - 1;
	b->sessions = calloc((size_t)n_sessions * n_workers, sizeof(*b->sessions));
	b->mbufs = calloc(max_mbufs, sizeof(*b->mbufs));
	b->samples = calloc(max_mbufs, sizeof(*b->samples));
	b->ifaces = calloc(max_mbufs, sizeof(*b->ifaces));
	if (!b->sessions || !b->mbufs || !b->samples || !b->ifaces)
		rig_die("no memory");
	sessions_make(b, n_workers);
	for (uint32_t i = 0; i < max_mbufs; i++)
		b->mbufs[i] = rte_pktmbuf_alloc(b->rig->pool);
	return b;
}

void bed_free(struct bed *b)
{
	const struct session_counts *ended = &b->rig->ended;
	const struct rig_usage *usage = &b->rig->usage;
	unsigned counts = !b->conf.bare; // each byte once

	for (uint32_t i = 0; i < b->max_mbufs; i++)
		rte_pktmbuf_free(b->mbufs[i]);
	for (uint32_t i = 0; i < b->n_sessions * b->rig->conf.n_workers; i++) {
		rig_session_close(b->rig, &b->sessions[i]);
		if (i % 128 == 0)
			rig_settle(b->rig);
	}
	rig_settle(b->rig);
	if (ended->up_packets != b->sent[SIDE_UP] || ended->down_packets != b->sent[SIDE_DOWN] ||
	    usage->bytes[SIDE_UP] != counts * b->sent_bytes[SIDE_UP] ||
	    usage->bytes[SIDE_DOWN] != counts * b->sent_bytes[SIDE_DOWN])
		rig_die("not every packet was counted");
	rig_free(b->rig);
	free(b->sessions);
	free(b->mbufs);
	free(b->samples);
	free(b->ifaces);
	free(b);
}

// --- packets ---------------------------------------------------------------------------------------------

static bool is_up(const struct bed *b, uint32_t i)
{
	return b->ifaces[i] == RIG_N3;
}

static const struct rig_session *draw_session(const struct bed *b, uint32_t *ret_index)
{
	do
		*ret_index = draw(b->n_sessions * b->rig->conf.n_workers);
	while (b->owner != BED_ANY && b->sessions[*ret_index].slot.owner != b->owner);
	return &b->sessions[*ret_index];
}

// Half of them UDP to the port of the first PDR's first filter; of the others half TCP. Where all are TCP none is of the
// filter, and each is an acknowledgement.
void bed_packet_make(struct bed *b, uint32_t i)
{
	struct bed_sample *sample = &b->samples[i];
	const struct rig_session *s = draw_session(b, &sample->session);
	bool filtered = !b->conf.tcp && draw(2), tcp = b->conf.tcp || (!filtered && draw(2));
	struct rig_flow flow = {
		.proto = tcp ? IPPROTO_TCP : IPPROTO_UDP,
		.ue_port = (uint16_t)(1024 + draw(60000)),
		.dn_port = filtered ? FILTERED_PORT : 443,
		.ttl = 64,
		.payload = PAYLOAD,
		.qfi = 1,
	};
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = is_up(b, i) ? rig_frame_up(b->rig, s, &flow, frame)
				   : rig_frame_down(b->rig, s, &flow, frame);

	if (tcp)
		frame[bytes - PAYLOAD - TCP_BYTES + offsetof(struct tcp_head, flags)] = TCP_ACK;
	memcpy(sample->head, frame, BED_HEAD);
	sample->bytes = (uint16_t)bytes;
	sample->user_bytes = (uint16_t)(IP4_BYTES + (tcp ? 20 : 8) + PAYLOAD);
}

void bed_fill_part(struct bed *b, enum cost_direction direction, uint32_t from, uint32_t to,
		   unsigned owner)
{
	b->owner = owner;
	for (uint32_t i = from; i < to; i++) {
		bool up = direction == COST_MIXED ? draw(2) : direction == COST_UP;

		b->ifaces[i] = up ? RIG_N3 : RIG_N6;
		bed_packet_make(b, i);
		bed_restore(b, i);
	}
}

void bed_fill(struct bed *b, enum cost_direction direction, uint32_t n_mbufs)
{
	b->n_mbufs = n_mbufs;
	bed_fill_part(b, direction, 0, n_mbufs, b->owner);
}

void bed_restore(struct bed *b, uint32_t i)
{
	memcpy((uint8_t *)b->mbufs[i]->buf_addr + RTE_PKTMBUF_HEADROOM, b->samples[i].head,
	       BED_HEAD);
}

void bed_receive(struct bed *b, uint32_t at, unsigned n)
{
	turn_reset(&b->turn);
	b->turn.n = b->turn.n_rx = n;
	memcpy(b->turn.mbufs, &b->mbufs[at], n * sizeof(b->mbufs[0]));
	memcpy(b->turn.rx, &b->ifaces[at], n);
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = b->mbufs[at + i];

		m->data_off = RTE_PKTMBUF_HEADROOM;
		m->data_len = b->samples[at + i].bytes;
		m->pkt_len = b->samples[at + i].bytes;
	}
}

void bed_frames_check(const struct worker_tx *tx, bool tunnelled)
{
	uint32_t at = ETH_BYTES + (tunnelled ? IP4_BYTES + UDP_BYTES + GTPU_BYTES + 8 : 0);

	for (unsigned i = 0; i < tx->n; i++) {
		const struct ip4_head *user = rte_pktmbuf_mtod_offset(tx->mbufs[i],
								      const struct ip4_head *, at);

		if (user->ttl != 63 || rte_be_to_cpu_16(user->total) != tx->mbufs[i]->data_len - at)
			rig_die("a packet was not worked on");
	}
}

void bed_take(struct bed *b, struct worker *w, uint32_t at, unsigned n)
{
	unsigned up = 0;

	for (uint32_t i = at; i < at + n; i++) {
		enum side side = is_up(b, i) ? SIDE_UP : SIDE_DOWN;

		up += side == SIDE_UP;
		b->sent[side]++;
		b->sent_bytes[side] += b->samples[i].user_bytes;
	}
	if (w->tx[RIG_N6].n != up || w->tx[RIG_N3].n != n - up) {
		rig_show(b->rig);
		rig_die("a packet did not come through");
	}
	bed_frames_check(&w->tx[RIG_N6], false);
	bed_frames_check(&w->tx[RIG_N3], true);
	w->tx[RIG_N3].n = w->tx[RIG_N6].n = 0;
	for (uint32_t i = at; i < at + n; i++)
		bed_restore(b, i);
	control_poll(&b->rig->control); // thresholds that were reached
}

void bed_check_meters(const struct bed *b)
{
	for (uint32_t i = 0; i < b->n_mbufs; i++) {
		struct slot slot = b->sessions[b->samples[i].session].slot;
		const struct session_table *table = &b->rig->control.workers[slot.owner]->table;
		const struct session_line *line = is_up(b, i) ? &table->up[slot.index]
							      : &table->down[slot.index];

		if ((line->tat[0] == 0 || line->tat[1] == 0) != b->conf.bare)
			rig_die("a packet was not metered, or by nothing");
	}
}

// --- windows ---------------------------------------------------------------------------------------------

void bed_sum_add(struct bed_sum *sum, uint64_t cycles, unsigned n)
{
	sum->all_cycles += cycles;
	sum->all_packets += n;
	if (cycles > (uint64_t)n * BED_CYCLES_MOST) {
		sum->interrupted++;
		return;
	}
	sum->cycles += cycles;
	sum->packets += n;
}

double bed_sum_mean(const struct bed_sum *sum)
{
	return sum->packets ? (double)sum->cycles / (double)sum->packets
			    : (double)sum->all_cycles / (double)sum->all_packets;
}

// With what a turn does to say where its time goes.
static void timed_batch(struct bed *b, struct worker *w, uint64_t start)
{
	w->turn_start = start;
	profile_begin(w);
	pipeline_batch(w, &b->turn);
	profile_end(w, BED_BATCH);
}

double bed_window(struct bed *b, struct worker *w)
{
	struct bed_sum sum = {0};

	while (sum.all_packets < b->n_mbufs || sum.all_packets < b->window_packets) {
		uint32_t at = (uint32_t)sum.all_packets % b->n_mbufs;
		uint64_t start;

		bed_receive(b, at, BED_BATCH);
		w->now += METER_UNITS_PER_SEC / 1000;
		start = rte_rdtsc_precise();
		if (b->conf.stats)
			timed_batch(b, w, start);
		else
			pipeline_batch(w, &b->turn);
		bed_sum_add(&sum, rte_rdtsc_precise() - start, BED_BATCH);
		bed_take(b, w, at, BED_BATCH);
	}
	b->interrupted += sum.interrupted;
	return bed_sum_mean(&sum);
}

static void service_add(struct cost_row *row, const char *name, uint64_t cycles, uint32_t packets)
{
	if (cycles)
		row->services[row->n_services++] = (struct cost_service){name,
									 (double)cycles / packets};
}

// One batch as a sample. What it adds is taken back if it was interrupted. Gives how many packets count.
static unsigned sample_batch(struct bed *b, struct worker *w, uint32_t at)
{
	const struct stats before = w->stats;
	struct bed_sum sum = {0};

	bed_receive(b, at, BED_BATCH);
	w->now += METER_UNITS_PER_SEC / 1000;
	w->sampling = true;
	w->stamp = rte_rdtsc_precise();
	uint64_t start = w->stamp;
	pipeline_batch(w, &b->turn);
	w->sampling = false;
	bed_sum_add(&sum, rte_rdtsc_precise() - start, BED_BATCH);
	bed_take(b, w, at, BED_BATCH);
	if (sum.interrupted) {
		memcpy(w->stats.stage_cycles, before.stage_cycles, sizeof(before.stage_cycles));
		memcpy(w->stats.service_cycles, before.service_cycles,
		       sizeof(before.service_cycles));
	}
	return (unsigned)sum.packets;
}

void bed_services(struct bed *b, struct worker *w, struct cost_row *row)
{
	const struct service_order *order = dispatch_order();
	const struct stats before = w->stats;
	uint32_t packets = 0;

	for (uint32_t at = 0; at < b->n_mbufs; at += BED_BATCH)
		packets += sample_batch(b, w, at);
	row->n_services = 0;
	if (packets == 0)
		return;
	for (unsigned i = 0; i < STAGES; i++)
		service_add(row, stage_str(i), w->stats.stage_cycles[i] - before.stage_cycles[i],
			    packets);
	for (unsigned bit = 0; bit < SERVICES_MAX; bit++)
		if (order->services[bit])
			service_add(row, order->services[bit]->name,
				    w->stats.service_cycles[bit] - before.service_cycles[bit],
				    packets);
}

void cost_work(struct bed *b, unsigned windows, struct cost_row *row)
{
	struct worker *w = b->rig->control.workers[b->owner];
	double cycles[COST_WINDOWS_MAX];
	uint64_t timed; // turns

	bed_window(b, w); // warms
	b->interrupted = 0;
	for (unsigned i = 0; i < windows; i++)
		cycles[i] = bed_window(b, w);
	row->cycles = summary_of(cycles, windows);
	timed = w->stats.counter[COUNTER_turns] - w->stats.counter[COUNTER_idle_turns];
	if (b->conf.stats && timed / PROFILE_EVERY != w->stats.sampled_turns)
		rig_die("turns were not samples as they are in the daemon");
	bed_services(b, w, row);
	row->interrupted = b->interrupted;
	bed_check_meters(b);
}
