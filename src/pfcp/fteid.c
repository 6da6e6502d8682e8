// Local F-TEIDs, see fteid.h.
//
// Number 1 is the tunnel whose TEID is the session slot's own (session/slots.h): the first from the access
// side, so that an ordinary uplink packet finds its session without a table. All others have records.

#include "pfcp/fteid.h"

#include <errno.h>
#include <string.h>

#include "rules/endpoint.h"
#include "session/locator.h"

#define NUMBER_OF_LINE 1

static uint32_t number_bit(const struct tunnel_rule *tunnel)
{
	return 1u << tunnel->number;
}

uint32_t fteid_numbers(const struct rules *rules)
{
	uint32_t numbers = 0;

	for (unsigned i = 0; i < rules->n_tunnels; i++)
		numbers |= number_bit(&rules->tunnels[i]);
	return numbers;
}

bool fteid_has_record(const struct tunnel_rule *tunnel)
{
	return tunnel->given || tunnel->number != NUMBER_OF_LINE;
}

struct tunnel fteid_record(const struct slot *slot, const struct tunnel_rule *tunnel)
{
	return (struct tunnel){
		.check = tunnel->teid,
		.slot = slot->index,
		.version = slot->version,
		.number = tunnel->number,
		.up = tunnel->up,
	};
}

uint32_t fteid_of_line(const struct rules *rules)
{
	for (unsigned i = 0; i < rules->n_tunnels; i++)
		if (rules->tunnels[i].number == NUMBER_OF_LINE)
			return rules->tunnels[i].teid;
	return 0;
}

// --- which tunnel ----------------------------------------------------------------------------------------

static int fteid_fault(const struct pdr_rule *pdr, enum pfcp_cause cause, const char *text,
		       struct pfcp_fault *fault)
{
	return fault_rule(fault, cause, RULE_PDR, pdr->id, PFCP_IE_F_TEID, text);
}

// PDRs of one tunnel may speak of it in different families, but an SMF's TEID is looked up by the addresses
// that it came with.
static bool is_same_local(const struct tunnel_rule *tunnel, const struct fteid *fteid)
{
	bool v4 = tunnel->has_v4 && fteid->has_v4 && tunnel->v4.s_addr == fteid->v4.s_addr;
	bool v6 = tunnel->has_v6 && fteid->has_v6 &&
		  memcmp(&tunnel->v6, &fteid->v6, sizeof(fteid->v6)) == 0;

	if (tunnel->given)
		return v4 == fteid->has_v4 && v6 == fteid->has_v6;
	return v4 || v6;
}

static bool is_same_tunnel(const struct tunnel_rule *tunnel, const struct fteid *fteid)
{
	if (!is_same_local(tunnel, fteid))
		return false;
	if (fteid->choose)
		return fteid->has_choose_id && tunnel->has_choose_id &&
		       tunnel->choose_id == fteid->choose_id;
	return tunnel->teid == fteid->teid;
}

static struct tunnel_rule *tunnel_lookup(const struct rules *rules, const struct fteid *fteid)
{
	for (unsigned i = 0; i < rules->n_tunnels; i++)
		if (is_same_tunnel(&rules->tunnels[i], fteid))
			return &rules->tunnels[i];
	return NULL;
}

// A tunnel leads its packets to the PDRs of one direction.
static int set_tunnel(struct pdr_rule *pdr, const struct tunnel_rule *tunnel,
		      struct pfcp_fault *fault)
{
	if (tunnel->up != (pdr->pdi.source == IF_ACCESS))
		return fteid_fault(pdr, PFCP_CAUSE_RULE_FAILURE,
				   "F-TEID of PDRs with another source interface", fault);
	pdr->tunnel = tunnel->number;
	pdr->pdi.fteid.teid = tunnel->teid;
	return 0;
}

static bool is_named(const struct rules *rules, const struct tunnel_rule *tunnel)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		if (rules->pdrs[i].tunnel == tunnel->number)
			return true;
	for (unsigned i = 0; i < rules->n_endpoints; i++)
		if (rules->endpoints[i].tunnel == tunnel->number)
			return true;
	return false;
}

// Takes out tunnels that no PDR and no traffic endpoint names; those of a CHOOSE ID only when `all`.
static void drop_unnamed(struct rules *rules, bool all)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < rules->n_tunnels; i++) {
		const struct tunnel_rule *tunnel = &rules->tunnels[i];

		if (is_named(rules, tunnel) || (tunnel->has_choose_id && !all))
			rules->tunnels[kept++] = *tunnel;
	}
	rules->n_tunnels = (uint16_t)kept;
}

// --- taking and giving back ------------------------------------------------------------------------------

static uint8_t iface_of(const struct n4_env *env, const struct fteid *fteid)
{
	uint8_t i = 0;

	while (i < env->n_ifaces && !n4_iface_is_local(&env->ifaces[i], fteid))
		i++;
	return i;
}

// The lowest number that is free; the first only for packets from the access side, which the up line serves.
static uint8_t free_number(const struct rules *rules, bool up)
{
	uint32_t used = fteid_numbers(rules);
	uint8_t number = up ? NUMBER_OF_LINE : NUMBER_OF_LINE + 1;

	while (used & 1u << number)
		number++;
	return number;
}

// The addresses of a tunnel: 1 or 2.
static unsigned tunnel_locals(const struct tunnel_rule *tunnel, struct addr ret[2])
{
	unsigned n = 0;

	if (tunnel->has_v4)
		ret[n++] = addr_v4(tunnel->v4.s_addr);
	if (tunnel->has_v6)
		ret[n++] = addr_v6(tunnel->v6.s6_addr);
	return n;
}

// Makes the TEID one that is looked up, by all of the tunnel's addresses or none.
static int locators_add(struct locator *locator, const struct tunnel_rule *tunnel,
			struct session_ref ref)
{
	struct addr locals[2];
	unsigned n = tunnel_locals(tunnel, locals);

	for (unsigned i = 0; i < n; i++) {
		int rc = locator_teid_add(locator, tunnel->teid, &locals[i], ref);

		if (rc == 0)
			continue;
		while (i-- > 0)
			locator_teid_del(locator, tunnel->teid, &locals[i]);
		return rc;
	}
	return 0;
}

static void locators_del(struct locator *locator, const struct tunnel_rule *tunnel)
{
	struct addr locals[2];
	unsigned n = tunnel_locals(tunnel, locals);

	for (unsigned i = 0; i < n; i++)
		locator_teid_del(locator, tunnel->teid, &locals[i]);
}

// A TEID that the SMF chose: it must be nobody else's. Two at different local addresses are different tunnels.
static int take_given(struct n4 *n4, const struct slot *slot, const struct pdr_rule *pdr,
		      const struct tunnel_rule *tunnel, struct pfcp_fault *fault)
{
	struct slots *slots = n4->env.slots;
	struct session_ref ref = session_ref_make(
		slot->owner, slots_tunnel_index(slots, tunnel->record), tunnel->teid);
	int rc;

	if (slots_teid_is_ours(slots, tunnel->teid))
		return fteid_fault(pdr, PFCP_CAUSE_RULE_FAILURE, "F-TEID that is in use", fault);
	if (slots_teid_reserve(slots, tunnel->teid, true) < 0)
		return fteid_fault(pdr, PFCP_CAUSE_NO_RESOURCES, "out of memory", fault);
	rc = locators_add(n4->env.locator, tunnel, ref);
	if (rc == 0)
		return 0;
	slots_teid_reserve(slots, tunnel->teid, false);
	if (rc == -EEXIST)
		return fteid_fault(pdr, PFCP_CAUSE_RULE_FAILURE, "F-TEID that is in use", fault);
	return fteid_fault(pdr, PFCP_CAUSE_NO_RESOURCES, "no room for a further F-TEID", fault);
}

static int take_teid(struct n4 *n4, const struct slot *slot, const struct pdr_rule *pdr,
		     struct tunnel_rule *tunnel, struct pfcp_fault *fault)
{
	struct slots *slots = n4->env.slots;
	uint32_t teid;

	if (!fteid_has_record(tunnel)) {
		tunnel->teid = slots_teid(slots, slot);
		return 0;
	}
	if (slots_tunnel_take(slots, slot->owner, &tunnel->record, &teid) < 0)
		return fteid_fault(pdr, PFCP_CAUSE_NO_RESOURCES, "no tunnel is free", fault);
	if (!tunnel->given) {
		tunnel->teid = teid;
		return 0;
	}
	if (take_given(n4, slot, pdr, tunnel, fault) < 0) {
		slots_tunnel_give(slots, slot->owner, tunnel->record);
		return -EINVAL;
	}
	return 0;
}

static void give_one(struct n4 *n4, const struct slot *slot, const struct tunnel_rule *tunnel)
{
	if (tunnel->given) {
		locators_del(n4->env.locator, tunnel);
		slots_teid_reserve(n4->env.slots, tunnel->teid, false);
	}
	if (fteid_has_record(tunnel))
		slots_tunnel_give(n4->env.slots, slot->owner, tunnel->record);
}

void fteid_give(struct n4 *n4, const struct slot *slot, const struct rules *rules, uint32_t numbers)
{
	for (unsigned i = 0; i < rules->n_tunnels; i++)
		if (numbers & number_bit(&rules->tunnels[i]))
			give_one(n4, slot, &rules->tunnels[i]);
}

static int take_new(struct n4 *n4, const struct slot *slot, struct rules *rules,
		    struct pdr_rule *pdr, struct fteid_change *change, struct pfcp_fault *fault)
{
	const struct fteid *fteid = &pdr->pdi.fteid;
	struct tunnel_rule tunnel = {
		.given = !fteid->choose,
		.up = pdr->pdi.source == IF_ACCESS,
		.has_choose_id = fteid->has_choose_id,
		.choose_id = fteid->choose_id,
		.iface = iface_of(&n4->env, fteid),
		.teid = fteid->teid,
		.has_v4 = fteid->has_v4,
		.has_v6 = fteid->has_v6,
		.v4 = fteid->v4,
		.v6 = fteid->v6,
	};
	struct tunnel_rule *added;

	tunnel.number = free_number(rules, tunnel.up);
	if (tunnel.number > RULES_MAX_TUNNELS)
		return fteid_fault(pdr, PFCP_CAUSE_NO_RESOURCES, "too many F-TEIDs in a session",
				   fault);
	if (take_teid(n4, slot, pdr, &tunnel, fault) < 0)
		return -EINVAL;
	added = rules_tunnel_add(rules);
	if (!added) {
		give_one(n4, slot, &tunnel);
		return fteid_fault(pdr, PFCP_CAUSE_NO_RESOURCES, "out of memory", fault);
	}
	*added = tunnel;
	change->taken |= number_bit(&tunnel);
	return set_tunnel(pdr, added, fault);
}

// A traffic endpoint has its tunnel for itself, whether PDRs name it or not; those that do get it from there.
static int assign_endpoints(struct n4 *n4, const struct slot *slot, struct rules *rules,
			    struct fteid_change *change, struct pfcp_fault *fault)
{
	for (unsigned i = 0; i < rules->n_endpoints; i++) {
		struct endpoint_rule *endpoint = &rules->endpoints[i];
		const struct pdr_rule *user = rules_endpoint_user(rules, endpoint->id);
		bool up = rules_endpoint_is_up(rules, endpoint);
		struct pdr_rule pdr = {.id = user ? user->id : 0};
		const struct tunnel_rule *tunnel;

		if (!endpoint->pdi.has_fteid || endpoint->tunnel)
			continue;
		pdr.pdi.fteid = endpoint->pdi.fteid;
		pdr.pdi.source = up ? IF_ACCESS : IF_CORE;
		tunnel = tunnel_lookup(rules, &pdr.pdi.fteid);
		if ((tunnel ? set_tunnel(&pdr, tunnel, fault)
			    : take_new(n4, slot, rules, &pdr, change, fault)) < 0)
			return -EINVAL;
		endpoint->tunnel = pdr.tunnel;
		endpoint->pdi.fteid = pdr.pdi.fteid;
	}
	return rules_endpoints_resolve(rules, fault);
}

// PDRs that name a tunnel which exists, or which a PDR before them has just got.
static int assign_known(struct rules *rules, struct pfcp_fault *fault)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct pdr_rule *pdr = &rules->pdrs[i];
		const struct tunnel_rule *tunnel;

		if (!pdr->pdi.has_fteid || pdr->tunnel)
			continue;
		tunnel = tunnel_lookup(rules, &pdr->pdi.fteid);
		if (tunnel && set_tunnel(pdr, tunnel, fault) < 0)
			return -EINVAL;
	}
	return 0;
}

static int assign_rest(struct n4 *n4, const struct slot *slot, struct rules *rules,
		       struct fteid_change *change, struct pfcp_fault *fault)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct pdr_rule *pdr = &rules->pdrs[i];
		const struct tunnel_rule *tunnel;
		int rc;

		if (!pdr->pdi.has_fteid || pdr->tunnel)
			continue;
		tunnel = tunnel_lookup(rules, &pdr->pdi.fteid);
		rc = tunnel ? set_tunnel(pdr, tunnel, fault)
			    : take_new(n4, slot, rules, pdr, change, fault);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int fteid_assign(struct n4 *n4, const struct slot *slot, struct rules *rules,
		 struct fteid_change *ret, struct pfcp_fault *fault)
{
	struct fteid_change change = {0};
	uint32_t before = fteid_numbers(rules);

	if (assign_endpoints(n4, slot, rules, &change, fault) < 0 ||
	    assign_known(rules, fault) < 0) {
		fteid_give(n4, slot, rules, change.taken);
		return -EINVAL;
	}
	drop_unnamed(rules, rules->n_tunnels == RULES_MAX_TUNNELS);
	change.dropped = before & ~fteid_numbers(rules);
	if (assign_rest(n4, slot, rules, &change, fault) < 0) {
		fteid_give(n4, slot, rules, change.taken);
		return -EINVAL;
	}
	*ret = change;
	return 0;
}
