// The row and the batch form of redirect, and what it does (43_redirect.h).
//
// Workers run it; see service.h for what a service is.

#include "service/43_redirect.h"

#include "packet/icmp.h"
#include "packet/translate.h"

// Puts where the packets of a key go in the place of where they were sent. False where that is no address of their
// family.
static bool key_redirect(const struct pkt *p, const struct redirect *to, struct flow_key *key)
{
	uint8_t family = p->family == 4 ? PDR_V4 : PDR_V6;

	if (to->families && !(to->families & family))
		return false;
	if (to->families)
		memcpy(flow_key_remote(key, p->family),
		       p->family == 4 ? (const void *)&to->v4 : to->v6,
		       ip_address_bytes(p->family));
	if (to->port && l4_has_port(p))
		key->remote_port = to->port;
	return true;
}

// Lets answers from there find the flow. False where they find another one: from this port the user speaks to there
// without being redirected, or from elsewhere.
static bool answers_find(struct flow_table *table, uint32_t number, const struct flow_key *there)
{
	if (table->flows[number].flags & FLOW_F_NAT) // nat_out sees to it
		return true;
	if (table->flows[number].flags & FLOW_F_SECOND) {
		if (flow_key_eq(&table->cold[number].second, there))
			return true;
		flow_second_del(table, number);
	}
	return flow_second_add(table, number, there) == FLOW_MADE;
}

// What the user has to say of a packet that came from there, as if from whom he named.
static void error_away(struct pkt *p, uint8_t *user, struct flow_key there)
{
	struct translation destination = {.port = there.remote_port};
	struct pkt quoted;

	if (!icmp_quote_read(user, p, &quoted))
		return;
	destination.with_port = l4_has_port(&quoted);
	memcpy(destination.addr, flow_key_remote(&there, p->family), ip_address_bytes(p->family));
	translate_error(user, p, &quoted, TRANSLATE_DESTINATION, &destination);
}

void redirect_away(struct worker *w, struct pkt *p, const struct redirect *to)
{
	struct flow_table *table = &w->flows.table;
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	struct flow_key there = table->flows[p->flow].key;
	struct translation destination = {.with_port = l4_has_port(p)};

	if (unlikely(icmp_is_error(p))) {
		if (table->flows[p->flow].flags & FLOW_F_SECOND)
			error_away(p, user, table->cold[p->flow].second);
		return;
	}
	if (!key_redirect(p, to, &there)) {
		pkt_drop(w, p, DROP_redirect_family);
		return;
	}
	if (flow_key_eq(&there, &table->flows[p->flow].key)) // it is on its way there already
		return;
	if (!answers_find(table, p->flow, &there)) {
		pkt_drop(w, p, DROP_redirect_taken);
		return;
	}
	destination.port = there.remote_port;
	memcpy(destination.addr, flow_key_remote(&there, p->family), ip_address_bytes(p->family));
	if (!translate_packet(user, p, TRANSLATE_DESTINATION, &destination))
		pkt_drop(w, p, DROP_redirect_fragment);
}

SERVICE_RUN(redirect_run, redirect_one)

const struct service service_redirect = {
	.name = "redirect",
	.bit = SERVICE_BIT_redirect,
	.run = redirect_run,
	.after = SERVICES("flow", "pdr", "quota", "duplicate"),
	.before = SERVICES("far"),
	.for_flows = true,
	.help = "sends packets where their FAR redirects them",
};
