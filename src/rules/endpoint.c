// What PDRs get from traffic endpoints, see endpoint.h.
// Control thread. Run after every change of rules, before they are checked.

#include "rules/endpoint.h"

#include <errno.h>

static bool names(const struct pdr_rule *pdr, uint8_t id)
{
	return pdr->pdi.has_endpoint && pdr->pdi.endpoint == id;
}

const struct pdr_rule *rules_endpoint_user(const struct rules *rules, uint8_t id)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		if (names(&rules->pdrs[i], id))
			return &rules->pdrs[i];
	return NULL;
}

bool rules_endpoint_is_up(const struct rules *rules, const struct endpoint_rule *endpoint)
{
	for (unsigned i = 0; endpoint->tunnel && i < rules->n_tunnels; i++)
		if (rules->tunnels[i].number == endpoint->tunnel)
			return rules->tunnels[i].up;
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		if (names(&rules->pdrs[i], endpoint->id) && rules->pdrs[i].pdi.source == IF_ACCESS)
			return true;
	return false;
}

void rules_endpoint_users_del(struct rules *rules, uint8_t id)
{
	const struct pdr_rule *pdr;

	while ((pdr = rules_endpoint_user(rules, id)) != NULL)
		rules_pdr_del(rules, pdr->id);
	for (unsigned i = 0; i < rules->n_fars; i++)
		if (rules->fars[i].has_endpoint && rules->fars[i].endpoint == id)
			rules->fars[i].has_endpoint = false;
}

static int take_qfis(struct pdr_rule *pdr, const struct endpoint_rule *endpoint,
		     struct pfcp_fault *fault)
{
	struct pdi *pdi = &pdr->pdi;

	if (pdi->endpoint_qfis)
		pdi->qfis = 0;
	if (endpoint->pdi.qfis && pdi->qfis)
		return fault_rule(fault, PFCP_CAUSE_MANDATORY_INCORRECT, RULE_PDR, pdr->id,
				  RULE_IE_QFI, "QFIs both in a PDI and in its traffic endpoint");
	pdi->endpoint_qfis = endpoint->pdi.qfis != 0;
	if (pdi->endpoint_qfis)
		pdi->qfis = endpoint->pdi.qfis;
	return 0;
}

static int resolve(const struct rules *rules, struct pdr_rule *pdr, struct pfcp_fault *fault)
{
	const struct endpoint_rule *endpoint = rules_endpoint_lookup(rules, pdr->pdi.endpoint);
	bool up = pdr->pdi.source == IF_ACCESS;

	if (!endpoint)
		return fault_rule(fault, PFCP_CAUSE_RULE_FAILURE, RULE_PDR, pdr->id,
				  RULE_IE_TRAFFIC_ENDPOINT_ID,
				  "PDR names a traffic endpoint that does not exist");
	pdr->pdi.ni = endpoint->pdi.ni;
	pdr->pdi.has_ue_ip = endpoint->pdi.has_ue_ip;
	pdr->pdi.ue_ip = endpoint->pdi.ue_ip;
	pdr->pdi.has_fteid = endpoint->pdi.has_fteid && rules_endpoint_is_up(rules, endpoint) == up;
	pdr->pdi.fteid = pdr->pdi.has_fteid ? endpoint->pdi.fteid : (struct fteid){0};
	pdr->tunnel = pdr->pdi.has_fteid ? endpoint->tunnel : 0;
	return take_qfis(pdr, endpoint, fault);
}

int rules_endpoints_resolve(struct rules *rules, struct pfcp_fault *fault)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct pdr_rule *pdr = &rules->pdrs[i];

		if (pdr->pdi.has_endpoint && resolve(rules, pdr, fault) != 0)
			return -EINVAL;
	}
	return 0;
}
