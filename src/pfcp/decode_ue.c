// UE IP Address, its pool, and framed routes of a PDI (TS 29.244 5.16, 5.21, 8.2.62, 8.2.109, 8.2.128).
//
// Control thread only. What the SMF leaves to us is only noted here; pfcp/ue_addr.c picks it.

#include "pfcp/decode_ue.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "rules/framed.h"

// What the UE IP Address IEs of one PDI say, as they are read.
struct ue_read {
	struct ue_ip ue;
	unsigned n_more;
	struct prefix more[RULES_MAX_UES];
};

// The length of the UE's IPv6 prefix: 64 unless the IE tells; 0 of one that we pick leaves it to us. What no
// prefix can have becomes 0, which the rules' check refuses.
static uint8_t prefix_len(const struct pfcp_ue_ip_address *value)
{
	if (value->flags & PFCP_UE_IP_ADDRESS_IP6PL)
		return value->prefix_len <= 128 ? value->prefix_len : 0;
	if (value->flags & PFCP_UE_IP_ADDRESS_IPV6D)
		return value->delegation_bits < 64 ? (uint8_t)(64 - value->delegation_bits) : 0;
	return 64;
}

static int more_add(struct decode *d, struct ue_read *read, const struct prefix *prefix)
{
	if (read->n_more == RULES_MAX_UES)
		return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, PFCP_IE_UE_IP_ADDRESS,
				    "too many UE addresses in a PDR");
	read->more[read->n_more++] = (struct prefix){.addr = addr_mask(&prefix->addr, prefix->len),
						     .len = prefix->len};
	return 0;
}

static int read_v4(struct decode *d, struct ue_read *read, const struct pfcp_ue_ip_address *value)
{
	struct ue_ip *ue = &read->ue;
	struct prefix prefix = {.addr = addr_v4(value->v4.s_addr), .len = 32};

	if (ue->has_v4 || ue->choose_v4)
		return more_add(d, read, &prefix);
	ue->has_v4 = true;
	ue->v4 = value->v4;
	return 0;
}

static int read_v6(struct decode *d, struct ue_read *read, const struct pfcp_ue_ip_address *value)
{
	struct ue_ip *ue = &read->ue;
	struct prefix prefix = {.addr = addr_v6(value->v6.s6_addr), .len = prefix_len(value)};

	if (ue->has_v6 || ue->choose_v6)
		return more_add(d, read, &prefix);
	ue->has_v6 = true;
	ue->v6 = value->v6;
	ue->v6_prefix = prefix.len;
	return 0;
}

// We pick one address of a family for a PDI.
static int read_choose(struct decode *d, struct ue_read *read,
		       const struct pfcp_ue_ip_address *value)
{
	struct ue_ip *ue = &read->ue;
	bool v4 = value->flags & PFCP_UE_IP_ADDRESS_CHV4,
	     v6 = value->flags & PFCP_UE_IP_ADDRESS_CHV6;

	if ((v4 && (ue->has_v4 || ue->choose_v4)) || (v6 && (ue->has_v6 || ue->choose_v6)))
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, PFCP_IE_UE_IP_ADDRESS,
				    "an address to be picked beside another of its family");
	ue->choose_v4 |= v4;
	if (!v6)
		return 0;
	ue->choose_v6 = true;
	ue->delegated = value->flags & PFCP_UE_IP_ADDRESS_IPV6D;
	ue->v6_prefix = prefix_len(value);
	if ((ue->delegated && value->delegation_bits == 0) || ue->v6_prefix == 0)
		ue->v6_prefix = 64;
	return 0;
}

static int read_one(struct decode *d, struct ue_read *read, const struct pfcp_ie *ie)
{
	struct pfcp_ue_ip_address value;
	bool v4, v6;

	if (pfcp_ue_ip_address_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	v4 = value.flags & PFCP_UE_IP_ADDRESS_V4;
	v6 = value.flags & PFCP_UE_IP_ADDRESS_V6;
	if ((v4 && value.flags & PFCP_UE_IP_ADDRESS_CHV4) ||
	    (v6 && value.flags & PFCP_UE_IP_ADDRESS_CHV6))
		return decode_fault(d, PFCP_CAUSE_MANDATORY_INCORRECT, ie->type,
				    "an address both given and to be picked");
	read->ue.destination |= (value.flags & PFCP_UE_IP_ADDRESS_SD) != 0;
	if ((v4 && read_v4(d, read, &value) < 0) || (v6 && read_v6(d, read, &value) < 0))
		return -EINVAL;
	return read_choose(d, read, &value);
}

int decode_ue_ip(struct decode *d, void *rule, const struct pfcp_ie *first)
{
	struct pdr_rule *pdr = rule;
	struct ue_read read = {.ue = {.v6_prefix = 64, .pool = RULES_NI_NONE}};
	struct pfcp_cursor ies = d->ies;
	struct pfcp_ie ie;
	bool any = false;

	while (decode_next(&ies, first->type, &ie)) {
		if (ie.len == 0 && d->update)
			continue;
		any = true;
		if (read_one(d, &read, &ie) < 0)
			return -EINVAL;
	}
	if (any && !(read.ue.has_v4 || read.ue.has_v6 || read.ue.choose_v4 || read.ue.choose_v6))
		return decode_fault(d, PFCP_CAUSE_MANDATORY_INCORRECT, first->type,
				    "UE IP Address without an address");
	if (rules_pdr_more_set(pdr, read.more, read.n_more) < 0)
		return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, first->type, "out of memory");
	pdr->pdi.has_ue_ip = any;
	pdr->pdi.ue_ip = read.ue;
	return 0;
}

int decode_ue_pool(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct pdr_rule *pdr = rule;
	struct pfcp_pool_identity value;

	pdr->pdi.ue_ip.pool = RULES_NI_NONE;
	if (ie->len == 0)
		return 0;
	if (pfcp_pool_identity_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < d->env->n_nis; i++) {
		const char *name = d->env->nis[i].name;

		if (strlen(name) == value.id.len &&
		    strncasecmp(name, (const char *)value.id.data, value.id.len) == 0) {
			pdr->pdi.ue_ip.pool = (uint16_t)i;
			return 0;
		}
	}
	return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type, "no pool has this identity");
}

// --- framed routes ---------------------------------------------------------------------------------------

// The list of its type replaces the PDR's.
int decode_framed(struct decode *d, void *rule, const struct pfcp_ie *first)
{
	uint8_t family = first->type == PFCP_IE_FRAMED_ROUTE ? ADDR_V4 : ADDR_V6;
	struct prefix framed[RULES_MAX_FRAMED];
	struct pfcp_cursor ies = d->ies;
	struct pfcp_ie ie;
	const char *why;
	unsigned n = 0;
	int rc;

	while (decode_next(&ies, first->type, &ie)) {
		if (ie.len == 0 && d->update)
			continue;
		if (n == RULES_MAX_FRAMED)
			return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, ie.type,
					    "too many framed routes in a PDR");
		if (framed_parse((const char *)ie.data, ie.len, family, &framed[n], &why) < 0)
			return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie.type, why);
		n++;
	}
	rc = rules_pdr_framed_set(rule, family, framed, n);
	if (rc < 0)
		return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, first->type,
				    rc == -E2BIG ? "too many framed routes in a PDR"
						 : "out of memory");
	return 0;
}

// Which routing protocol is spoken with the UE: none is (RFC 2865 5.10).
int decode_framed_routing(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	uint32_t value;

	if (ie->len == 0)
		return 0;
	if (decode_u32(d, ie, &value) < 0)
		return -EINVAL;
	if (value != 0)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
				    "no routing protocol is spoken with UEs");
	return 0;
}
