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

// A traffic endpoint has one UE address of each family at most, and says it.
static int check_ue(struct decode *d, struct pdr_rule *pdr)
{
	if (pdr->pdi.n_more == 0 && !pdr->pdi.ue_ip.choose_v4 && !pdr->pdi.ue_ip.choose_v6)
		return 0;
	rules_pdr_more_set(pdr, NULL, 0);
	return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, PFCP_IE_UE_IP_ADDRESS,
			    "several UE addresses in a traffic endpoint, or one to be picked");
}

int decode_endpoint(struct decode *d, struct endpoint_rule *endpoint, const struct pfcp_ie *group)
{
	struct pdr_rule pdr = {.pdi = endpoint->pdi, .tunnel = endpoint->tunnel};

	if (!d->update)
		pdr.pdi.ni = RULES_NI_NONE;
	pdr.pdi.source = side(d->rules, endpoint);
	if (decode_endpoint_pdi(d, &pdr, group) < 0 || check_ue(d, &pdr) < 0)
		return -EINVAL;
	if (pdr.pdi.has_fteid && !pdr.tunnel && !rules_endpoint_user(d->rules, endpoint->id))
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, PFCP_IE_F_TEID,
				    "no PDR says of which side the traffic endpoint is");
	endpoint->pdi = pdr.pdi;
	endpoint->tunnel = pdr.tunnel;
	return 0;
}
