// UE addresses that the UPF picks, see ue_addr.h.
// Control thread only. What a PDR asks for is a wish here, until it is granted.

#include "pfcp/ue_addr.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "session/ue_pool.h"

// What a PDR asks for in one family.
struct wish {
	struct pdr_rule *pdr;
	uint16_t pool;
	uint8_t family, len;
};

static int wish_fault(const struct wish *wish, enum pfcp_cause cause, const char *text,
		      struct pfcp_fault *fault)
{
	return fault_rule(fault, cause, RULE_PDR, wish->pdr->id, PFCP_IE_UE_IP_ADDRESS, text);
}

static uint16_t ni_of(const struct n4_env *env, const struct pdr_rule *pdr)
{
	uint16_t ni = pdr->pdi.ni == RULES_NI_NONE ? (uint16_t)env->default_ni : pdr->pdi.ni;

	return ni < env->n_nis ? ni : RULES_NI_NONE;
}

static bool is_alike(const struct picked_ue *picked, const struct wish *wish)
{
	return picked->pool == wish->pool && picked->prefix.addr.family == wish->family &&
	       picked->prefix.len == wish->len;
}

static void grant(const struct wish *wish, const struct prefix *prefix)
{
	struct ue_ip *ue = &wish->pdr->pdi.ue_ip;

	if (wish->family == ADDR_V4) {
		ue->has_v4 = true;
		ue->v4.s_addr = prefix->addr.v4;
		return;
	}
	ue->has_v6 = true;
	ue->v6_prefix = prefix->len;
	memcpy(&ue->v6, prefix->addr.v6, sizeof(ue->v6));
}

static int pick(struct n4 *n4, struct rules *rules, const struct wish *wish,
		struct pfcp_fault *fault)
{
	struct picked_ue picked = {.pool = wish->pool, .is_new = true}, *added;

	if (!n4->env.ue_pools ||
	    !ue_pools_have(n4->env.ue_pools, wish->pool, wish->family, wish->len))
		return wish_fault(wish, PFCP_CAUSE_RULE_FAILURE,
				  "the network instance has no pool for such UE addresses", fault);
	if (ue_pools_take(n4->env.ue_pools, n4->env.locator, wish->pool, wish->family, wish->len,
			  clock_now_ns(), &picked.prefix) < 0)
		return wish_fault(wish, PFCP_CAUSE_NO_ADDRESSES, "no UE address is free", fault);
	added = rules_picked_add(rules);
	if (!added) {
		ue_pools_give(n4->env.ue_pools, picked.pool, &picked.prefix, clock_now_ns());
		return wish_fault(wish, PFCP_CAUSE_NO_RESOURCES,
				  "too many UE addresses in a session", fault);
	}
	*added = picked;
	grant(wish, &picked.prefix);
	return 0;
}

static int assign_one(struct n4 *n4, struct rules *rules, struct pdr_rule *pdr, uint8_t family,
		      struct pfcp_fault *fault)
{
	const struct ue_ip *ue = &pdr->pdi.ue_ip;
	uint16_t ni = ni_of(&n4->env, pdr);
	struct wish wish = {
		.pdr = pdr,
		.pool = ue->pool == RULES_NI_NONE ? ni : ue->pool,
		.family = family,
		.len = family == ADDR_V4 ? 32 : ue->v6_prefix,
	};

	if (family == ADDR_V4 ? !ue->choose_v4 || ue->has_v4 : !ue->choose_v6 || ue->has_v6)
		return 0;
	if (wish.pool == RULES_NI_NONE || n4->env.nis[wish.pool].iface != n4->env.nis[ni].iface)
		return wish_fault(&wish, PFCP_CAUSE_RULE_FAILURE,
				  "the network instance has no pool for such UE addresses", fault);
	for (unsigned i = 0; i < rules->n_picked; i++)
		if (is_alike(&rules->picked[i], &wish)) {
			grant(&wish, &rules->picked[i].prefix);
			return 0;
		}
	return pick(n4, rules, &wish, fault);
}

int ue_addr_assign(struct n4 *n4, struct rules *rules, struct pfcp_fault *fault)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct pdr_rule *pdr = &rules->pdrs[i];

		if (!pdr->pdi.has_ue_ip)
			continue;
		if (assign_one(n4, rules, pdr, ADDR_V4, fault) < 0 ||
		    assign_one(n4, rules, pdr, ADDR_V6, fault) < 0) {
			ue_addr_undo(n4, rules);
			return -EINVAL;
		}
	}
	return 0;
}

static void give_one(struct n4 *n4, const struct picked_ue *picked)
{
	ue_pools_give(n4->env.ue_pools, picked->pool, &picked->prefix, clock_now_ns());
}

void ue_addr_undo(struct n4 *n4, struct rules *rules)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < rules->n_picked; i++)
		if (rules->picked[i].is_new)
			give_one(n4, &rules->picked[i]);
		else
			rules->picked[kept++] = rules->picked[i];
	rules->n_picked = (uint16_t)kept;
}

// Whether any PDR has the address, also one to which the SMF gave it back as its own.
static bool is_named(const struct rules *rules, const struct picked_ue *picked)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct prefix own[RULES_MAX_PDR_UES];

		for (unsigned k = rules_pdr_ues(&rules->pdrs[i], own); k-- > 0;)
			if (prefix_contains(&picked->prefix, &own[k].addr))
				return true;
	}
	return false;
}

void ue_addr_commit(struct n4 *n4, struct rules *rules)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < rules->n_picked; i++) {
		struct picked_ue picked = rules->picked[i];

		picked.is_new = false;
		if (is_named(rules, &picked))
			rules->picked[kept++] = picked;
		else
			give_one(n4, &picked);
	}
	rules->n_picked = (uint16_t)kept;
}

void ue_addr_give(struct n4 *n4, const struct rules *rules)
{
	for (unsigned i = 0; i < rules->n_picked; i++)
		give_one(n4, &rules->picked[i]);
}
