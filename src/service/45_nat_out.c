// The row and the batch form of nat_out, and what it does once a flow (45_nat_out.h).
//
// Workers run it; see service.h for what a service is.

#include "service/45_nat_out.h"

#include "packet/icmp.h"

SERVICE_RUN(nat_out_run, nat_out_one)

// The remote end that the packet goes to; where it has a port, a redirection may have changed that, too.
static struct flow_key remote_of(const struct worker *w, const struct pkt *p)
{
	const struct ip4_head *ip = rte_pktmbuf_mtod_offset(p->mbuf, const struct ip4_head *,
							    p->user);
	struct flow_key remote = w->flows.table.flows[p->flow].key;

	remote.v4.remote = ip->dst;
	if (l4_has_port(p))
		remote.remote_port = p->dport;
	return remote;
}

bool nat_out_bind(struct worker *w, struct pkt *p)
{
	struct flow *flow = &w->flows.table.flows[p->flow];
	const struct far *far = ruleset_far(line_rules(w, p->line), p->pdr->far);
	struct flow_key remote;
	enum drop why = DROP_nat_unsupported;

	if (flow->flags & FLOW_F_V6) { // is not translated: its flow steps out of the way
		flow->chain &= ~(SERVICE_MASK(nat_in) | SERVICE_MASK(nat_out));
		return false;
	}
	remote = remote_of(w, p);
	if (flow->flags & FLOW_F_NAT) {
		why = nat_move(w, p->flow, &remote);
	} else {
		if (far->iface != w->nat.pools->pools[flow_profile_of(flow)].iface ||
		    !(flow->flags & FLOW_F_UP))
			return false;
		if (nat_serves(flow_key_proto(&flow->key)) &&
		    (flow->key.ue_port | flow->key.remote_port))
			why = nat_bind(w, p->flow, &remote);
	}
	if (why)
		pkt_drop(w, p, why);
	return why == DROP_NONE;
}

// Of later fragments the address alone is known, and an error goes wherever it does.
void nat_out_rare(struct worker *w, struct pkt *p)
{
	const struct flow_key *outside = &w->flows.table.cold[p->flow].second;
	const struct flow_key remote = remote_of(w, p);
	bool moved = remote.v4.remote != outside->v4.remote ||
		     (l4_has_port(p) && remote.remote_port != outside->remote_port);

	if (moved && !icmp_is_error(p) && !(p->flags & PKT_F_NO_L4) && !nat_out_bind(w, p))
		return;
	nat_rewrite(w, p, TRANSLATE_SOURCE, outside->v4.ue, outside->ue_port);
}

const struct service service_nat_out = {
	.name = "nat_out",
	.bit = SERVICE_BIT_nat_out,
	.run = nat_out_run,
	.after = SERVICES("pdr", "duplicate"),
	.before = SERVICES("far"),
	.for_flows = true,
	.gone = nat_leave,
	.help = "gives packets to the network an address and port outside",
};
