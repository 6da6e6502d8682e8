// The row and the batch form of flow, and its rarer parts (15_flow.h).
//
// Workers run it; see service.h for what a service is. Most packets do not come by the batch form: the pipeline
// spreads its steps over several groups (pipeline/flow_lane.h).

#include "service/15_flow.h"

#include "packet/icmp.h"
#include "service/flow_handler.h"
#include "worker/nat_packet.h"

#define AT_ONCE 16u

static void flow_run(struct worker *w, struct pkt **pkts, unsigned n)
{
	struct flow_wait waits[AT_ONCE];

	for (unsigned from = 0; from < n; from += AT_ONCE) {
		unsigned most = RTE_MIN(n - from, AT_ONCE);

		for (unsigned i = 0; i < most; i++)
			flow_ask(w, pkts[from + i], &waits[i]);
		for (unsigned i = 0; i < most; i++)
			flow_fetch(w, &waits[i]);
		for (unsigned i = 0; i < most; i++)
			flow_find(w, &waits[i]);
	}
}

const struct service service_flow = {
	.name = "flow",
	.bit = SERVICE_BIT_flow,
	.run = flow_run,
	.after = SERVICES("gtpu_decap", "source_check"),
	.before = SERVICES("pdr"),
	.help = "finds the flow, or makes it",
};

static uint64_t services_of(const struct worker *w, const struct ruleset *rs)
{
	return (rs->chain_up | rs->chain_down) & w->flows.services;
}

// Whether a packet of no flow may begin one.
static bool may_begin(struct worker *w, struct pkt *p, const struct flow_key *key)
{
	if (icmp_is_error(p))
		return flow_case(w, p, FLOW_CASE_ICMP_ERROR, DROP_flow_icmp_error);
	if (!l4_is_known(p->proto, p->family) && key_kind_of(key) == KEY_KIND_pair)
		return flow_case(w, p, FLOW_CASE_UNKNOWN_PROTOCOL, DROP_flow_unknown_protocol);
	return true;
}

// What comes to a session whose flows are translated, and is of none of them: for an address outside a mapping says
// whose it is, and its flow gets the UE's own key. The UE's own address is not to be reached from the network.
static enum drop nat_order(const struct worker *w, const struct pkt *p, struct flow_order *order,
			   uint32_t *ret_mapping)
{
	const struct nat_pools *pools = w->nat.pools;
	struct flow_key from = order->key;
	enum drop why;

	if (!(order->chain & SERVICE_MASK(nat_in)) || order->v6 || order->up || !pools)
		return DROP_NONE;
	if (!nat_pool_has(&pools->pools[order->profile], from.v4.ue))
		return p->flags & (PKT_F_ROUTED | PKT_F_TUNNELLED) ? DROP_NONE : DROP_nat_filtered;
	why = nat_admit(w, order->slot, order->profile, &from, &order->key, ret_mapping);
	order->hash = flow_hash(&w->flows.table, &order->key);
	return why;
}

static uint32_t make(struct worker *w, struct pkt *p, const struct flow_wait *wait)
{
	static const enum drop refusals[] = {
		[FLOW_POOL_FULL] = DROP_flow_pool_full,
		[FLOW_SESSION_FULL] = DROP_flow_session_full,
		[FLOW_PROFILE_FULL] = DROP_flow_network_full,
		[FLOW_TOO_FAST] = DROP_flow_rate,
	};
	const struct ruleset *rs = line_rules(w, p->line);
	struct flow_order order = {
		.key = wait->key,
		.hash = wait->hash,
		.chain = services_of(w, rs),
		.slot = flow_key_context(&wait->key),
		.profile = rs->profile,
		.v6 = wait->v6,
		.up = p->flags & PKT_F_UP,
	};
	uint32_t number, mapping = 0;
	enum flow_made made;
	enum drop why;

	if (!may_begin(w, p, &wait->key))
		return 0;
	why = nat_order(w, p, &order, &mapping);
	if (!why) {
		made = flows_make(w, &order, &number);
		if (made > FLOW_KEY_TAKEN) {
			flow_case(w, p, FLOW_CASE_OVERFLOW, refusals[made]);
			return 0;
		}
		why = mapping ? nat_join(w, number, mapping, &order.key) : DROP_NONE;
	}
	if (!why) {
		flow_unasked_begin(w, number);
		return number;
	}
	pkt_drop(w, p, why);
	return 0;
}

uint32_t flow_make(struct worker *w, struct pkt *p, const struct flow_wait *wait)
{
	uint32_t number = make(w, p, wait);

	if (number == 0)
		key_missed_flow(w, &wait->key, wait->v6);
	return number;
}

// An error that is about no flow known is part of one of its own, of the two hosts, if that may be.
static void error_alone(struct worker *w, const struct flow_wait *wait)
{
	struct pkt *p = wait->p;
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	struct flow_wait alone = *wait;

	key_missed_flow(w, &wait->key, wait->v6);
	if (!flow_case(w, p, FLOW_CASE_ICMP_ERROR, DROP_flow_icmp_error))
		return;
	alone.error = false;
	flow_key_addresses(p, user, p->flags & PKT_F_UP, session_ref_index(p->ref), &alone.key);
	alone.hash = flow_hash(&w->flows.table, &alone.key);
	alone.entry = 0;
	flow_find(w, &alone);
}

// Its PDR is its own, which the flow neither knows nor remembers.
void flow_error(struct worker *w, const struct flow_wait *wait, uint32_t entry)
{
	struct pkt *p = wait->p;
	uint32_t number = flow_entry_number(entry);
	struct flow *flow = &w->flows.table.flows[number];
	const struct ruleset *rs = line_rules(w, p->line);

	if (entry == 0) {
		error_alone(w, wait);
		return;
	}
	if (flow->rules != ruleset_serial(rs))
		flow_rules_take(w, number, rs);
	p->flow = number;
	p->chain = (p->chain & ~w->flows.services) | (flow->chain & ~w->flows.not_of_errors);
}

void flow_rules_take(struct worker *w, uint32_t number, const struct ruleset *rs)
{
	struct flow *flow = &w->flows.table.flows[number];

	flow->rules = ruleset_serial(rs);
	flow->pdrs[0] = flow->pdrs[1] = FLOW_PDR_NONE;
	// What has stepped out of the way there may have to come in here.
	if (flow_profile_of(flow) != rs->profile) {
		flow_profile_set(w, number, rs->profile);
		flow_services_set(w, number, 0);
	}
	flow_services_set(w, number, services_of(w, rs));
}
