// The compiler of rules, see compile.h.
// Control thread. PDRs are put in order first; FARs, filters and tunnels then stand in the order in which
// those PDRs name them, so that what the block holds does not depend on how the SMF ordered its IEs.

#include "rules/compile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules/compile_block.h"
#include "rules/compile_far.h"
#include "rules/compile_filter.h"
#include "rules/compile_flow.h"
#include "rules/compile_policy.h"

struct build {
	const struct rules *rules;
	const struct compile_conf *conf;
	struct pfcp_fault *fault;

	// What any PDR gives as the UE's: its addresses first, then the routes behind it.
	unsigned n_ues, n_sources;
	struct prefix sources[COMPILED_MAX_SOURCES];
	bool constrained; // they are more than the line's source check holds: PDRs may differ by them

	unsigned n_pdrs, n_up;
	bool has_quota_fars;
	struct filter_list filters;
	unsigned n_alternatives; // filters, and PDRs without any
	uint8_t n_listed;        // of the filters, the last: sources
	unsigned needs_up, needs_down;
	bool any_source; // RULESET_F_ANY_SOURCE

	struct compiled c;
	struct far_build fars;

	// Of each PDR. Most sessions have few: each item is zeroed when its turn comes.
	const struct pdr_rule *order[RULES_MAX_PDRS];
	struct pdr pdrs[RULES_MAX_PDRS];
	struct filter_span spans[RULES_MAX_PDRS];
	uint16_t quota_fars[RULES_MAX_PDRS]; // + 1; 0: none
};

static int no_resources(struct build *b, const struct pdr_rule *rule, enum rule_ie ie,
			const char *text)
{
	return fault_rule(b->fault, PFCP_CAUSE_NO_RESOURCES, RULE_PDR, rule->id, (uint16_t)ie,
			  text);
}

static bool is_up(const struct pdr_rule *rule)
{
	return rule->pdi.source == IF_ACCESS;
}

// Up first, then by precedence, then by id.
static int order_cmp(const void *a, const void *b)
{
	const struct pdr_rule *x = *(const struct pdr_rule *const *)a;
	const struct pdr_rule *y = *(const struct pdr_rule *const *)b;

	if (is_up(x) != is_up(y))
		return is_up(x) ? -1 : 1;
	if (x->precedence != y->precedence)
		return x->precedence < y->precedence ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x < y ? -1 : x > y; // of one that was expanded: in their order (rules/expand.h)
}

static void order_pdrs(struct build *b)
{
	b->n_pdrs = b->rules->n_pdrs;
	for (unsigned i = 0; i < b->n_pdrs; i++) {
		b->order[i] = &b->rules->pdrs[i];
		b->n_up += is_up(b->order[i]);
	}
	qsort(b->order, b->n_pdrs, sizeof(b->order[0]), order_cmp);
}

// Leaves out those that take no packets now; their UE addresses have been taken before.
static void drop_asleep(struct build *b)
{
	unsigned n = 0, n_up = 0;

	for (unsigned i = 0; i < b->n_pdrs; i++) {
		if (b->order[i]->asleep)
			continue;
		n_up += i < b->n_up;
		b->order[n++] = b->order[i];
	}
	b->n_pdrs = n;
	b->n_up = n_up;
}

// --- the UE's addresses ----------------------------------------------------------------------------------

static int source_add(struct build *b, const struct pdr_rule *rule, const struct prefix *prefix,
		      unsigned most, enum rule_ie ie)
{
	if (prefixes_have(b->sources, b->n_sources, prefix))
		return 0;
	if (b->n_sources == most)
		return no_resources(b, rule, ie,
				    "too many UE addresses or framed routes in a session");
	b->sources[b->n_sources++] = *prefix;
	return 0;
}

static int ues_collect(struct build *b)
{
	for (unsigned i = 0; i < b->n_pdrs; i++) {
		const struct pdr_rule *rule = b->order[(b->n_up + i) % b->n_pdrs];
		struct prefix own[RULES_MAX_PDR_UES];
		unsigned n = rules_pdr_ues(rule, own);

		for (unsigned k = 0; k < n; k++) {
			if (source_add(b, rule, &own[k], RULES_MAX_UES, RULE_IE_UE_IP_ADDRESS) != 0)
				return -EINVAL;
		}
	}
	b->n_ues = b->n_sources;
	return 0;
}

static int framed_collect(struct build *b)
{
	for (unsigned i = 0; i < b->n_pdrs; i++) {
		const struct pdi *pdi = &b->order[i]->pdi;

		for (unsigned k = 0; k < pdi->n_framed; k++) {
			const struct prefix *framed = &pdi->framed[k];
			enum rule_ie ie = framed->addr.family == ADDR_V4
						  ? RULE_IE_FRAMED_ROUTE
						  : RULE_IE_FRAMED_IPV6_ROUTE;

			if (source_add(b, b->order[i], framed, b->n_ues + RULES_MAX_FRAMED, ie) !=
			    0)
				return -EINVAL;
		}
	}
	return 0;
}

// All addresses, those of down PDRs first since packets are looked up by them, and what of them stands in the
// line. Of a prefix longer than /64 nothing does: the line's check takes all of a /64.
static int sources_collect(struct build *b)
{
	unsigned n_v4 = 0, n_v6 = 0;

	if (ues_collect(b) != 0 || framed_collect(b) != 0)
		return -EINVAL;
	for (unsigned i = 0; i < b->n_ues; i++) {
		const struct prefix *ue = &b->sources[i];
		struct addr net = addr_mask(&ue->addr, 64);

		if (ue->addr.family == ADDR_V4 && n_v4++ == 0)
			b->c.ue_v4.s_addr = ue->addr.v4;
		if (ue->addr.family == ADDR_V6 && n_v6++ == 0 && ue->len <= 64)
			memcpy(&b->c.ue_v6, net.v6, sizeof(b->c.ue_v6));
		if (ue->addr.family == ADDR_V6 && ue->len != 64)
			b->constrained = true;
	}
	if (n_v4 > 1 || n_v6 > 1 || b->n_sources > b->n_ues)
		b->constrained = true;
	return 0;
}

// The prefixes that a PDR is for: all of the session for one that names none. Framed routes alone come to those
// of the UE itself, which real SMFs do not repeat in uplink PDRs (TS 29.244 5.16).
static unsigned pdr_prefixes(const struct build *b, const struct pdr_rule *rule,
			     struct prefix ret[COMPILED_MAX_SOURCES])
{
	const struct pdi *pdi = &rule->pdi;
	struct prefix own[RULES_MAX_PDR_UES];
	unsigned n_own = rules_pdr_ues(rule, own), n = 0;

	if (!pdi->has_ue_ip) {
		n = pdi->n_framed ? b->n_ues : b->n_sources;
		memcpy(ret, b->sources, n * sizeof(ret[0]));
	}
	for (unsigned i = 0; i < n_own; i++) {
		if (!prefixes_have(ret, n, &own[i]))
			ret[n++] = own[i];
	}
	for (unsigned i = 0; i < pdi->n_framed; i++) {
		if (!prefixes_have(ret, n, &pdi->framed[i]))
			ret[n++] = pdi->framed[i];
	}
	return n;
}

static bool is_framed(const struct build *b, const struct prefix *prefix)
{
	return !prefixes_have(b->sources, b->n_ues, prefix);
}

static int key_add(struct build *b, const struct pdr_rule *rule, const struct prefix *prefix,
		   uint8_t iface)
{
	struct ue_key key = {.prefix = *prefix, .iface = iface, .framed = is_framed(b, prefix)};

	for (unsigned i = 0; i < b->c.n_ue_keys; i++) {
		if (b->c.ue_keys[i].iface == iface && prefix_eq(&b->c.ue_keys[i].prefix, prefix))
			return 0;
	}
	if (b->c.n_ue_keys == COMPILED_MAX_UE_KEYS)
		return no_resources(b, rule, RULE_IE_UE_IP_ADDRESS,
				    "too many UE addresses in a session");
	b->c.ue_keys[b->c.n_ue_keys++] = key;
	return 0;
}

// Whether plain packets to what the PDR names are looked up. An address that we picked is held by that, even if
// no packet is to come to it.
static bool has_keys(const struct pdr_rule *rule)
{
	const struct ue_ip *ue = &rule->pdi.ue_ip;

	if (is_up(rule))
		return rule->pdi.has_ue_ip && (ue->choose_v4 || ue->choose_v6);
	return !rule->pdi.has_fteid;
}

// Where plain packets to the UE are looked up: at the prefixes of the down PDRs that come in no tunnel.
static int keys_collect(struct build *b)
{
	for (unsigned i = 0; i < b->n_pdrs; i++) {
		const struct pdr_rule *rule = b->order[(b->n_up + i) % b->n_pdrs];
		uint8_t iface = compile_ni_get(b->conf, rule->pdi.ni).iface;
		struct prefix prefixes[COMPILED_MAX_SOURCES];
		unsigned n;

		if (!has_keys(rule))
			continue;
		if (iface == COMPILE_IFACE_NONE)
			return fault_rule(b->fault, PFCP_CAUSE_RULE_FAILURE, RULE_PDR, rule->id,
					  RULE_IE_NETWORK_INSTANCE,
					  "network instance without an N6 interface");
		n = pdr_prefixes(b, rule, prefixes);
		for (unsigned k = 0; k < n; k++) {
			if (key_add(b, rule, &prefixes[k], iface) != 0)
				return -EINVAL;
		}
	}
	return 0;
}

// --- PDRs ------------------------------------------------------------------------------------------------

// The prefixes that the PDR's filters must say, since neither locating the session nor the source check does:
// where it is not for all that the session has. None means no constraint.
static unsigned pdr_locals(const struct build *b, const struct pdr_rule *rule,
			   struct prefix ret[COMPILED_MAX_SOURCES])
{
	bool by_tunnel_down = !is_up(rule) && rule->pdi.has_fteid;
	unsigned n;

	if (!rule->pdi.has_ue_ip && !rule->pdi.n_framed)
		return 0;
	// A tunnel leads to the session whatever the address inside.
	if (!b->constrained && !by_tunnel_down)
		return 0;
	n = pdr_prefixes(b, rule, ret);
	return n == b->n_sources && !by_tunnel_down ? 0 : n;
}

// What a PDR with too many compiled filters has too much of.
static enum rule_ie filters_ie(const struct pdr_rule *rule)
{
	return rule->pdi.app == RULES_APP_NONE ? RULE_IE_SDF_FILTER : RULE_IE_APPLICATION_ID;
}

// Adds an SDF filter, NULL: every packet, for each flow of the PDR's application if it has one.
static int pdr_filter_add(struct build *b, const struct pdr_rule *rule, const struct sdf *sdf,
			  const struct prefix *local)
{
	const struct sdf *flows = NULL;
	unsigned n_flows = 0;
	int rc = 0;

	if (rule->pdi.app == RULES_APP_NONE)
		rc = filters_add(&b->filters, sdf, NULL, local);
	else if (b->conf->app_flows)
		flows = b->conf->app_flows(b->conf->app_ctx, rule->pdi.app, &n_flows);
	for (unsigned i = 0; i < n_flows && rc == 0; i++)
		rc = filters_add(&b->filters, sdf, &flows[i], local);
	if (rc == -ENOMEM)
		return fault_cause(b->fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	if (rc != 0)
		return no_resources(b, rule, filters_ie(rule), "too many compiled filters");
	return 0;
}

static int pdr_filters(struct build *b, const struct pdr_rule *rule, struct pdr *pdr,
		       struct filter_span *span)
{
	struct prefix locals[COMPILED_MAX_SOURCES];
	unsigned n_locals = pdr_locals(b, rule, locals);
	unsigned n_sdfs = rule->pdi.n_filters;
	unsigned first = b->filters.n;

	if (n_sdfs == 0 && n_locals == 0 && rule->pdi.app == RULES_APP_NONE)
		return 0;
	for (unsigned i = 0; i < (n_sdfs ? n_sdfs : 1); i++) {
		const struct sdf *sdf =
			n_sdfs ? rules_filter_resolve(b->rules, &rule->pdi.filters[i]) : NULL;

		for (unsigned k = 0; k < (n_locals ? n_locals : 1); k++) {
			if (pdr_filter_add(b, rule, sdf, n_locals ? &locals[k] : NULL) != 0)
				return -EINVAL;
		}
	}
	*span = (struct filter_span){first, b->filters.n - first};
	// What its filters, its application and its address say excludes each other, or nothing is the
	// application's traffic.
	if (span->n == 0)
		pdr->families = 0;
	return 0;
}

// Where packets of the PDR go while a quota of it is used up: as the first of its URRs that has a FAR for that says.
static int quota_far_compile(struct build *b, const struct pdr_rule *rule, unsigned pdr,
			     unsigned *needs)
{
	for (unsigned i = 0; i < rule->n_urrs; i++) {
		const struct urr_rule *urr = rules_urr_lookup(b->rules, rule->urrs[i]);
		unsigned far;

		if (!urr->has_quota_far)
			continue;
		if (far_compile(&b->fars, rules_far_lookup(b->rules, urr->quota_far), is_up(rule),
				&far) != 0)
			return -EINVAL;
		*needs |= compile_far_needs(&b->fars.fars[far]);
		b->quota_fars[pdr] = (uint16_t)(far + 1);
		b->has_quota_fars = true;
		return 0;
	}
	return 0;
}

static int pdr_compile(struct build *b, const struct pdr_rule *rule, struct pdr *pdr)
{
	const struct far_rule *far = rules_far_lookup(b->rules, rule->far);
	bool up = is_up(rule), relays = compile_relays(rule, far);
	unsigned *needs = up ? &b->needs_up : &b->needs_down;
	struct filter_span *span;
	unsigned far_index;

	assert(!rule->pdi.has_fteid || rule->tunnel != 0);
	memset(pdr, 0, sizeof(*pdr)); // also what no field names: blocks are compared as bytes
	b->spans[pdr - b->pdrs] = (struct filter_span){0};
	b->quota_fars[pdr - b->pdrs] = 0;
	if (far_compile(&b->fars, far, up, &far_index) != 0)
		return -EINVAL;
	pdr->far = (uint16_t)far_index;
	pdr->id = rule->id;
	pdr->tunnel = rule->tunnel;
	pdr->families = compile_families(rule);
	pdr->qfis = rule->pdi.qfis ? rule->pdi.qfis : UINT64_MAX;
	// All 64 at once still need a QFI in the packet; 0 is no QoS flow's (TS 24.501 9.11.4.12).
	if (rule->pdi.qfis == UINT64_MAX)
		pdr->qfis = UINT64_MAX - 1;
	if (rule->tunnel != 0 && rule->outer_header_removal >= 0)
		pdr->flags |= PDR_F_DECAP;
	if (up && (relays || b->n_sources == 0)) // with no address there is nothing to check
		pdr->flags |= PDR_F_ANY_SOURCE;
	*needs |= compile_policy(b->rules, rule, pdr) | compile_far_needs(&b->fars.fars[far_index]);
	*needs |= pdr->flags & PDR_F_DECAP ? NEEDS_DECAP : 0;
	*needs |= up && !(pdr->flags & PDR_F_ANY_SOURCE) ? NEEDS_SOURCE_CHECK : 0;
	b->any_source |= (pdr->flags & PDR_F_ANY_SOURCE) != 0;
	if (quota_far_compile(b, rule, (unsigned)(pdr - b->pdrs), needs) != 0)
		return -EINVAL;
	span = &b->spans[pdr - b->pdrs];
	if (pdr_filters(b, rule, pdr, span) != 0)
		return -EINVAL;
	b->n_alternatives += span->n ? span->n : 1;
	if (b->n_alternatives > COMPILE_MAX_FILTERS)
		return no_resources(b, rule, filters_ie(rule), "too many compiled filters");
	return 0;
}

// Behind the filters of PDRs, for what the two addresses of the line do not say.
static int sources_list(struct build *b)
{
	for (unsigned i = 0; b->constrained && i < b->n_sources; i++) {
		if (filters_add(&b->filters, NULL, NULL, &b->sources[i]) != 0)
			return fault_cause(b->fault, PFCP_CAUSE_NO_RESOURCES,
					   "too many compiled filters in a session");
		b->n_listed++;
	}
	return 0;
}

// --- the block -------------------------------------------------------------------------------------------

static int block_of(struct build *b)
{
	unsigned needs_both = (b->needs_up | b->needs_down) & NEEDS_REDIRECT;
	uint64_t services;
	uint8_t profile = compile_flow(b->rules, b->conf, b->order, b->n_pdrs, needs_both != 0,
				       &services);
	const struct block_parts parts = {
		.chain_up = b->conf->chain(b->conf->chain_ctx, true, b->needs_up | needs_both) |
			    services,
		.chain_down = b->conf->chain(b->conf->chain_ctx, false,
					     b->needs_down | needs_both) |
			      services,
		.profile = profile,
		.has_flows = services != 0 || needs_both != 0,
		.flags = b->any_source ? RULESET_F_ANY_SOURCE : 0,
		.n_up = b->n_up,
		.n_down = b->n_pdrs - b->n_up,
		.n_fars = b->fars.n,
		.pdrs = b->pdrs,
		.spans = b->spans,
		.quota_fars = b->has_quota_fars ? b->quota_fars : NULL,
		.fars = b->fars.fars,
		.filters = b->filters.filters,
		.redirects = b->fars.redirects,
		.n_redirects = b->fars.n_redirects,
		.sources = b->n_listed ? b->filters.filters + (b->filters.n - b->n_listed) : NULL,
		.n_sources = b->n_listed,
		.walk_max = b->conf->walk_max ? b->conf->walk_max : COMPILE_WALK_MAX,
	};

	if (block_make(&parts, &b->c.rs) != 0)
		return fault_cause(b->fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	return 0;
}

static int build_run(struct build *b)
{
	order_pdrs(b);
	if (sources_collect(b) != 0 || keys_collect(b) != 0)
		return -EINVAL;
	drop_asleep(b);
	for (unsigned i = 0; i < b->n_pdrs; i++) {
		if (pdr_compile(b, b->order[i], &b->pdrs[i]) != 0)
			return -EINVAL;
	}
	if (fars_place(&b->fars, &b->c) != 0 || sources_list(b) != 0)
		return -EINVAL;
	return block_of(b);
}

int rules_compile(const struct rules *rules, const struct compile_conf *conf, struct compiled *ret,
		  struct pfcp_fault *fault)
{
	struct build b;
	int rc;

	assert(rules->n_pdrs > 0 && rules->n_pdrs <= RULES_MAX_PDRS);
	memset(&b, 0, offsetof(struct build, fars));
	b.rules = rules;
	b.conf = conf;
	b.fault = fault;
	far_build_init(&b.fars, rules, conf, fault);
	rc = build_run(&b);
	free(b.filters.filters);
	if (rc == 0)
		*ret = b.c;
	return rc;
}

void compiled_fini(struct compiled *compiled)
{
	free(compiled->rs);
	compiled->rs = NULL;
}
