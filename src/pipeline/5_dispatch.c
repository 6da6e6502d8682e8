// Dispatch: the version check, then the services of each packet's chain, lowest bit first.
//
// A group whose packets all have the ordinary chain of their direction runs the fused form (fused.h). Any
// other goes by bitmap: the packets that have the lowest bit set visit that service together. So do all packets of
// a turn that is a sample of where the time goes.

#include <errno.h>

#include "pipeline/3_locate.h"
#include "pipeline/flow_lane.h"
#include "pipeline/fused.h"
#include "pipeline/pipeline.h"
#include "service/13_reassemble.h"
#include "worker/again.h"
#include "worker/end_marker.h"
#include "worker/gtpu_answer.h"
#include "worker/profile.h"

static struct service_order order; // written once, at start, before any worker runs

static datagram_fn datagram_work;

int dispatch_init(const struct service *const services[], unsigned n, char *why, size_t why_bytes)
{
	const struct key_kind *kinds[SERVICES_MAX];
	unsigned n_kinds = 0;

	reassemble_start(datagram_work);
	if (service_order_resolve(services, n, &order, why, why_bytes) != 0)
		return -EINVAL;
	for (unsigned bit = 0; bit < SERVICES_MAX; bit++)
		if (order.services[bit] && order.services[bit]->key_kind)
			kinds[n_kinds++] = order.services[bit]->key_kind;
	return key_kinds_init(kinds, n_kinds, why, why_bytes);
}

const struct service_order *dispatch_order(void)
{
	return &order;
}

// The packets of a group that passed the check.
struct group {
	unsigned n;
	unsigned n_ends;   // End Markers, in `pkts` from its end: for after the others
	uint64_t all, any; // AND and OR of their chains
	struct pkt *pkts[GROUP];
};

static_assert(SERVICE_MASK(reassemble) >= PKT_F_FRAGMENT, "one shift makes the bit of the flag");

// The chain of a packet of its session's, with what a fragment visits besides.
static inline uint64_t enter_chain(const struct pkt *p, uint64_t chain)
{
	return chain | (p->flags & PKT_F_FRAGMENT) * (SERVICE_MASK(reassemble) / PKT_F_FRAGMENT);
}

static inline void group_add(struct group *g, struct pkt *p, uint64_t chain)
{
	p->chain = chain;
	g->all &= chain;
	g->any |= chain;
	g->pkts[g->n++] = p;
}

// The services of `bits`; others stay in the packets' chains.
__attribute__((noinline)) static void run_bitmap(struct worker *w, struct group *g, uint64_t bits)
{
	worker_count(w, COUNTER_dispatched, 1);
	for (;;) {
		struct pkt *visitors[GROUP];
		uint64_t any = 0;
		unsigned n = 0;

		for (unsigned i = 0; i < g->n; i++)
			any |= g->pkts[i]->chain & bits;
		if (any == 0)
			return;

		unsigned bit = (unsigned)__builtin_ctzll(any);

		for (unsigned i = 0; i < g->n; i++)
			if (g->pkts[i]->chain >> bit & 1) {
				g->pkts[i]->chain &= ~(1ull << bit);
				visitors[n++] = g->pkts[i];
			}
		if (unlikely(w->sampling))
			profile_stamp(w, &w->stats.stage_cycles[STAGE_dispatch]);
		order.services[bit]->run(w, visitors, n);
		if (unlikely(w->sampling)) {
			profile_stamp(w, &w->stats.service_cycles[bit]);
			w->stats.service_packets[bit] += n;
		}
	}
}

// The packet's reference leads to nothing any more. At the worker where it arrived its TEID was simply of no
// tunnel; if it was handed over, the tunnel may have gone while it was on its way. Either way its sender is
// told that there is none.
__attribute__((cold, noinline)) static void drop_stale(struct worker *w, struct pkt *p, bool up)
{
	if (!up)
		pkt_drop(w, p, DROP_stale_reference);
	else
		gtpu_drop_unknown(
			w, p, p->flags & PKT_F_HANDED ? DROP_stale_reference : DROP_unknown_teid);
}

// The down line is another session's, or is closed while packets that were held go first.
__attribute__((cold, noinline)) static void enter_closed(struct worker *w, struct pkt *p)
{
	if (!(p->flags & PKT_F_TUNNELLED))
		p->tunnel = 0;
	if (!buffer_behind(w, p))
		drop_stale(w, p, false);
}

// A packet that came by a tunnel with a record of its own: finds its session's line and direction.
__attribute__((noinline)) static bool enter_tunnel(struct worker *w, struct pkt *p)
{
	const struct session_table *table = &w->table;
	const struct tunnel *tunnel = &table->tunnels[session_ref_index(p->ref) - table->n_slots];

	if (tunnel->check != p->ref.check || table->cold[tunnel->slot].version != tunnel->version)
		return false;
	p->tunnel = tunnel->number;
	p->ref = session_ref_make(w->id, tunnel->slot, tunnel->version);
	p->line = tunnel->up ? &table->up[tunnel->slot] : &table->down[tunnel->slot];
	if (!tunnel->up)
		p->flags &= (uint8_t)~PKT_F_UP;
	return true;
}

static unsigned place_bit(const struct far *far)
{
	return 1u << (far->to == FAR_TO_LINE ? SESSION_PLACES : far->place);
}

// What came in by a tunnel has ended: so it has in each tunnel that the PDRs of that tunnel lead to, as on N9 and
// where packets are forwarded between gNBs (TS 23.501 5.8.2.9, TS 29.281 7.3.2).
__attribute__((noinline)) static void relay_end_marker(struct worker *w, struct pkt *p)
{
	const struct ruleset *rs = line_rules(w, p->line);
	bool up = p->line == &w->table.up[session_ref_index(p->ref)];
	unsigned from = up ? 0u : rs->n_up;
	unsigned to = up ? rs->n_up : rs->n_up + rs->n_down;
	unsigned told = 0;

	for (unsigned i = from; i < to; i++) {
		const struct far *far = ruleset_far(rs, rs->pdrs[i].far);

		if (rs->pdrs[i].tunnel != p->tunnel ||
		    (far->to != FAR_TO_LINE && far->to != FAR_TO_PLACE) || told & place_bit(far))
			continue;
		told |= place_bit(far);
		end_marker_send(w, leave_place(w, p, far));
	}
	pkt_consume(w, p);
}

static inline void enter_up(struct worker *w, struct group *g, struct pkt *p)
{
	const struct ruleset *rs;

	if (unlikely(!p->line)) {
		if (!enter_tunnel(w, p)) {
			drop_stale(w, p, true);
			return;
		}
		if (p->line == &w->table.down[session_ref_index(p->ref)] &&
		    p->line->check != p->ref.check) {
			enter_closed(w, p);
			return;
		}
	} else {
		if (unlikely(p->line->check != p->ref.check)) {
			drop_stale(w, p, true);
			return;
		}
		p->tunnel = 1;
	}
	rs = line_rules(w, p->line);
	if (likely(p->flags & PKT_F_UP))
		group_add(g, p, enter_chain(p, SERVICE_MASK(gtpu_decap) | rs->chain_up));
	else if (p->kind ==
		 PKT_END_MARKER) // inline: a group that a call may write to stays in memory
		g->pkts[GROUP - ++g->n_ends] = p;
	else
		group_add(g, p, enter_chain(p, SERVICE_MASK(gtpu_decap) | rs->chain_down));
}

static inline void enter_down(struct worker *w, struct group *g, struct pkt *p)
{
	if (unlikely(p->line->check != p->ref.check)) {
		enter_closed(w, p);
		return;
	}
	p->tunnel = 0;
	group_add(g, p, enter_chain(p, line_rules(w, p->line)->chain_down));
}

// --- packets of flows ------------------------------------------------------------------------------------

// Finds the flows of the packets up to number `to`, a group or less, and works on them.
__attribute__((flatten, noinline)) static void flows_work(struct worker *w, struct flow_lane *fl,
							  unsigned to)
{
	struct group g = {.all = ~0ull};

	for (; fl->n_found != to; fl->n_found++) {
		struct flow_wait *wait = flow_lane_at(fl, fl->n_found);

		flow_find(w, wait);
		if (likely(wait->p->chain != 0))
			group_add(&g, wait->p, wait->p->chain);
	}
	if (likely(fused_all(g.all, g.any, FUSED_FLOW, FUSED_FLOW_MAY))) {
		worker_count(w, COUNTER_fused, 1);
		for (unsigned i = 0; i < g.n; i++)
			fused_flow(w, g.pkts[i]);
	} else if (g.n) {
		run_bitmap(w, &g, ~0ull);
	}
}

// A group has been asked for: what was fetched with the last step can be worked on, and what was asked for before
// can be fetched.
static void flows_step(struct worker *w, struct flow_lane *fl)
{
	flows_work(w, fl, fl->n_fetched);
	flow_lane_fetch(w, fl, fl->n_before);
	fl->n_before = fl->n_asked;
}

static void flows_finish(struct worker *w, struct flow_lane *fl)
{
	while (unlikely(flow_lane_waits(fl)))
		flows_step(w, fl);
}

// Of a group in which packets look for their flows: asks for these, and works on the others.
__attribute__((flatten, noinline)) static void run_with_flows(struct worker *w,
							      struct flow_lane *fl, struct group *g,
							      bool up)
{
	struct group others = {.all = ~0ull};

	if (unlikely(g->any & (SERVICE_MASK(flow) - 1) & ~FUSED_BEFORE_FLOW))
		run_bitmap(w, g, SERVICE_MASK(flow) - 1);
	for (unsigned i = 0; i < g->n; i++) {
		struct pkt *p = g->pkts[i];

		if (!(p->chain & SERVICE_MASK(flow))) {
			if (p->chain)
				group_add(&others, p, p->chain);
			continue;
		}
		fused_before_flow(w, p);
		if (unlikely(!p->chain))
			continue;
		p->chain &= ~SERVICE_MASK(flow);
		flow_lane_ask(w, fl, p);
	}
	flows_step(w, fl);
	if (fused_all(others.all, others.any, up ? FUSED_UP : FUSED_DOWN, FUSED_MAY)) {
		for (unsigned i = 0; i < others.n; i++)
			up ? fused_up(w, others.pkts[i]) : fused_down(w, others.pkts[i]);
	} else if (others.n) {
		run_bitmap(w, &others, ~0ull);
	}
}

// --- the lanes -------------------------------------------------------------------------------------------

// Flat: the fused chain is one piece of code, without calls on the ordinary way.
__attribute__((flatten)) void dispatch_up(struct worker *w, struct lane *lane, unsigned to)
{
	while (lane->worked < to) {
		struct group g = {.all = ~0ull};
		unsigned end = RTE_MIN(lane->worked + GROUP, to);

		while (lane->worked < end)
			enter_up(w, &g, lane->ready[lane->worked++]);
		if (likely(fused_all(g.all, g.any, FUSED_UP, FUSED_MAY) && !w->sampling)) {
			worker_count(w, COUNTER_fused, 1);
			for (unsigned i = 0; i < g.n; i++)
				fused_up(w, g.pkts[i]);
		} else if (g.any & SERVICE_MASK(flow) && !w->sampling) {
			run_with_flows(w, &lane->flows, &g, true);
		} else if (g.n) {
			run_bitmap(w, &g, ~0ull);
		}
		if (unlikely(g.n_ends))
			flows_finish(w, &lane->flows);
		for (unsigned i = 1; unlikely(i <= g.n_ends); i++)
			relay_end_marker(w, g.pkts[GROUP - i]);
	}
}

__attribute__((flatten)) void dispatch_down(struct worker *w, struct lane *lane, unsigned to)
{
	while (lane->worked < to) {
		struct group g = {.all = ~0ull};
		unsigned end = RTE_MIN(lane->worked + GROUP, to);

		while (lane->worked < end)
			enter_down(w, &g, lane->ready[lane->worked++]);
		if (likely(fused_all(g.all, g.any, FUSED_DOWN, FUSED_MAY) && !w->sampling)) {
			worker_count(w, COUNTER_fused, 1);
			for (unsigned i = 0; i < g.n; i++)
				fused_down(w, g.pkts[i]);
		} else if (g.any & SERVICE_MASK(flow) && !w->sampling) {
			run_with_flows(w, &lane->flows, &g, false);
		} else if (g.n) {
			run_bitmap(w, &g, ~0ull);
		}
	}
}

void dispatch_flows(struct worker *w, struct turn *t)
{
	flows_finish(w, &t->up.flows);
	flows_finish(w, &t->down.flows);
}

// By the rules that stand now, from the PDR on. What is held again goes behind all that is.
__attribute__((noinline)) static void run_held(struct worker *w, struct pkt *pkts, unsigned n)
{
	struct group g = {.all = ~0ull};

	for (unsigned i = 0; i < n; i++) {
		uint64_t decap = pkts[i].flags & PKT_F_TUNNELLED ? SERVICE_MASK(gtpu_decap) : 0;

		group_add(&g, &pkts[i],
			  enter_chain(&pkts[i], decap | line_rules(w, pkts[i].line)->chain_down));
	}
	run_bitmap(w, &g, ~0ull);
}

void dispatch_held(struct worker *w)
{
	struct pkt pkts[GROUP];
	struct buffer *buffer;
	unsigned n;

	if (likely(TAILQ_EMPTY(&w->buffers.used)))
		return;
	buffer_sweep(w);
	for (unsigned left = BUFFER_RELEASE; left >= GROUP; left -= GROUP) {
		n = buffer_release(w, pkts, GROUP, &buffer);
		if (n == 0)
			return;
		run_held(w, pkts, n);
		buffer_release_end(w, buffer);
	}
}

// The services that look at a datagram's L4 header: up to the one that finds its PDR.
#define BY_FIRST_FRAGMENT (SERVICE_MASK(pdr) | (SERVICE_MASK(pdr) - 1))

// The first fragment visits those as if it were all of the datagram; the others have its flow, its PDR, and what is
// left of its chain, but each has addresses to be translated.
__attribute__((noinline, cold)) static void datagram_work(struct worker *w, struct rte_mbuf *list,
							  uint64_t chain)
{
	struct rte_mbuf *m = gather_next(&list);
	struct pkt first = *pkt_private(m);
	struct group g = {.all = ~0ull};
	bool of_flow = chain & SERVICE_MASK(flow), translated;

	first.flags &= (uint8_t)~PKT_F_FRAGMENT;
	group_add(&g, &first, chain);
	run_bitmap(w, &g, BY_FIRST_FRAGMENT);
	first.flags |= PKT_F_FRAGMENT;
	chain = first.chain;
	translated = chain && of_flow &&
		     (w->flows.table.flows[first.flow].chain & SERVICE_MASK(nat_in));
	if (chain)
		again_post(w, &first);
	while ((m = gather_next(&list))) {
		struct pkt p = *pkt_private(m);

		p.flow = first.flow;
		p.pdr = first.pdr;
		p.chain = chain;
		if (translated)
			nat_in_one(w, &p);
		if (p.chain)
			again_post(w, &p);
		else if (!chain)
			pkt_drop(w, &p, DROP_reassembly_refused);
	}
}

// Some of those that wait: the ones for a UE into the down lane or to their owner, the others through the rest of
// their chain. True while there are more.
static bool again_some(struct worker *w, struct turn *t)
{
	struct group g = {.all = ~0ull};
	struct pkt *p = t->pkts; // all of the turn's have ended

	t->down.n_ready = t->down.worked = 0;
	for (; p < t->pkts + GROUP && again_take(w, p); p++) {
		if (p->chain)
			group_add(&g, p, p->chain);
		else if (session_ref_owner(p->ref) == w->id)
			locate_ready(w, &t->down, p, false);
		else
			handoff_put(w, p, session_ref_owner(p->ref), false);
	}
	if (g.n)
		run_bitmap(w, &g, ~0ull);
	dispatch_down(w, &t->down, t->down.n_ready);
	flows_finish(w, &t->down.flows);
	return again_waits(w);
}

void dispatch_again(struct worker *w, struct turn *t)
{
	while (again_some(w, t))
		;
}
