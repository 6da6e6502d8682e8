// The row and the batch form of redirect_back, and what it does (25_redirect_back.h).
//
// Workers run it; see service.h for what a service is.

#include "service/25_redirect_back.h"

#include "packet/icmp.h"
#include "packet/translate.h"

// The flow may still get packets from the destination that its user named, too.
static bool is_from(const struct pkt *p, const uint8_t *user, struct flow_key there)
{
	return memcmp(ip_source_at(user, p->family), flow_key_remote(&there, p->family),
		      ip_address_bytes(p->family)) == 0 &&
	       (!l4_has_port(p) || p->sport == there.remote_port);
}

// About a packet that was redirected, as if it had gone where its user sent it. A router on the way is who it is.
static void error_back(struct pkt *p, uint8_t *user, struct flow_key there, struct flow_key named)
{
	struct translation source = {.port = named.remote_port};
	struct pkt quoted;

	if (!icmp_quote_read(user, p, &quoted) ||
	    memcmp(ip_destination_at(user + (quoted.user - p->user), p->family),
		   flow_key_remote(&there, p->family), ip_address_bytes(p->family)) != 0)
		return;
	source.with_port = l4_has_port(&quoted);
	memcpy(source.addr, flow_key_remote(&named, p->family), ip_address_bytes(p->family));
	translate_error(user, p, &quoted, TRANSLATE_SOURCE, &source);
}

void redirect_back(struct worker *w, struct pkt *p)
{
	const struct flow_table *table = &w->flows.table;
	struct flow_key named = table->flows[p->flow].key;
	uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, uint8_t *, p->user);
	struct translation source = {.port = named.remote_port, .with_port = l4_has_port(p)};

	if (unlikely(icmp_is_error(p))) {
		error_back(p, user, table->cold[p->flow].second, named);
		return;
	}
	if (!is_from(p, user, table->cold[p->flow].second))
		return;
	memcpy(source.addr, flow_key_remote(&named, p->family), ip_address_bytes(p->family));
	if (!translate_packet(user, p, TRANSLATE_SOURCE, &source))
		pkt_drop(w, p, DROP_redirect_fragment);
}

SERVICE_RUN(redirect_back_run, redirect_back_one)

const struct service service_redirect_back = {
	.name = "redirect_back",
	.bit = SERVICE_BIT_redirect_back,
	.run = redirect_back_run,
	.after = SERVICES("flow", "acl", "l4_lifecycle"),
	.before = SERVICES("pdr"),
	.for_flows = true,
	.help = "gives answers to redirected packets the source that the user knows",
};
