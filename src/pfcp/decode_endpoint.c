// Create and Update Traffic Endpoint (TS 29.244 7.5.2.7, 7.5.4.13), see decode.h.
//
// Control thread. An endpoint is read as the PDI of a PDR of its side would be. Its F-TEID needs one of the PDRs
// that name it, since the endpoint itself does not say which side it is of.

#include <errno.h>

#include "pfcp/decode.h"
#include "rules/endpoint.h"

// The source interface of the endpoint's packets.
static uint8_t side(const struct rules *rules, const struct endpoint_rule *endpoint)
{
	const struct pdr_rule *user = rules_endpoint_user(rules, endpoint->id);

	if (rules_endpoint_is_up(rules, endpoint))
		return IF_ACCESS;
	return user ? user->pdi.source : IF_CORE;
}

int decode_endpoint(struct decode *d, struct endpoint_rule *endpoint, const struct pfcp_ie *group)
{
	struct pdr_rule pdr = {.pdi = endpoint->pdi, .tunnel = endpoint->tunnel};

	if (!d->update)
		pdr.pdi.ni = RULES_NI_NONE;
	pdr.pdi.source = side(d->rules, endpoint);
	if (decode_endpoint_pdi(d, &pdr, group) < 0)
		return -EINVAL;
	if (pdr.pdi.has_fteid && !pdr.tunnel && !rules_endpoint_user(d->rules, endpoint->id))
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, PFCP_IE_F_TEID,
				    "no PDR says of which side the traffic endpoint is");
	endpoint->pdi = pdr.pdi;
	endpoint->tunnel = pdr.tunnel;
	return 0;
}
