// What the readers of all kinds of rules share, and the order in which a request's IEs are applied, see
// decode.h. TS 29.244 5.6.3, 7.5.2, 7.5.4.

#include "pfcp/decode.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "rules/endpoint.h"
#include "pfcp/inactivity.h"

int decode_fault(const struct decode *d, enum pfcp_cause cause, uint16_t ie, const char *text)
{
	if (d->kind < 0)
		return fault_ie(d->fault, cause, ie, text);
	return fault_rule(d->fault, cause, (enum rule_type)d->kind, d->id, ie, text);
}

int decode_nothing(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	return 0;
}

// Adds the rule to a fault of the codec's, which knows only IEs.
static int in_rule(const struct decode *d)
{
	if (!d->fault->has_rule && d->kind >= 0) {
		d->fault->has_rule = true;
		d->fault->rule_type = (uint8_t)d->kind;
		d->fault->rule_id = d->id;
	}
	return -EINVAL;
}

// What a group has of the rows: the first IE of each type.
struct group_ies {
	struct pfcp_ie first[DECODE_ROWS_MAX]; // type PFCP_IE_NONE: none
	bool cut;                              // it ends in an IE that runs past it
};

static int take_row(struct decode *d, void *rule, const struct decode_row *row,
		    const struct pfcp_ie *ie, bool cut)
{
	if (ie->type == PFCP_IE_NONE && cut)
		return decode_fault(d, PFCP_CAUSE_INVALID_LENGTH, row->type,
				    "an IE runs past what encloses it");
	if (ie->type == PFCP_IE_NONE)
		return 0;
	if (ie->len == 0 && (row->fixed || !d->update) && row->type != PFCP_IE_NETWORK_INSTANCE)
		return decode_fault(d, PFCP_CAUSE_INVALID_LENGTH, row->type, "empty IE");
	return row->take(d, rule, ie) < 0 ? in_rule(d) : 0;
}

// n: there is none.
static size_t row_of(const struct decode_row *rows, size_t n, uint16_t type)
{
	size_t i = 0;

	while (i < n && rows[i].type != type)
		i++;
	return i;
}

static bool is_member(const struct pfcp_ie_info *group, uint16_t type)
{
	for (unsigned i = 0; group && i < group->members_count; i++)
		if (group->members[i].type == type)
			return true;
	return false;
}

// What is no member of the group, or unknown, is skipped (7.6.9, 7.6.10): it asks for nothing.
static int group_read(const struct decode *d, const struct pfcp_ie *group,
		      const struct decode_row *rows, size_t n, struct group_ies *ret)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(group->type);
	struct pfcp_cursor ies = pfcp_ie_members(group);
	struct pfcp_ie ie;
	int rc;

	for (size_t i = 0; i < n; i++)
		ret->first[i].type = PFCP_IE_NONE;
	while ((rc = pfcp_ie_next(&ies, &ie)) > 0) {
		size_t i = row_of(rows, n, ie.type);

		if (i < n && ret->first[i].type == PFCP_IE_NONE)
			ret->first[i] = ie;
		if (i == n && ie.type != d->id_type && is_member(info, ie.type))
			return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie.type,
					    "the rule asks for what this UPF does not do");
	}
	ret->cut = rc < 0;
	return 0;
}

int decode_group(struct decode *d, void *rule, const struct pfcp_ie *group,
		 const struct decode_row *rows, size_t n)
{
	struct pfcp_cursor outer = d->ies;
	struct group_ies ies;
	int rc;

	assert(n <= DECODE_ROWS_MAX);
	rc = group_read(d, group, rows, n, &ies);
	d->ies = pfcp_ie_members(group);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = take_row(d, rule, &rows[i], &ies.first[i], ies.cut);
	d->ies = outer;
	return rc;
}

int decode_next(struct pfcp_cursor *ies, uint16_t type, struct pfcp_ie *ret_ie)
{
	while (pfcp_ie_next(ies, ret_ie) > 0)
		if (ret_ie->type == type)
			return 1;
	return 0;
}

int decode_u32(struct decode *d, const struct pfcp_ie *ie, uint32_t *ret_value)
{
	uint64_t value;

	if (pfcp_uint_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	*ret_value = (uint32_t)value;
	return 0;
}

int decode_u16(struct decode *d, const struct pfcp_ie *ie, uint16_t *ret_value)
{
	uint32_t value;

	if (decode_u32(d, ie, &value) < 0)
		return -EINVAL;
	*ret_value = (uint16_t)value;
	return 0;
}

int decode_u8(struct decode *d, const struct pfcp_ie *ie, uint8_t *ret_value)
{
	uint32_t value;

	if (decode_u32(d, ie, &value) < 0)
		return -EINVAL;
	*ret_value = (uint8_t)value;
	return 0;
}

int decode_ids(struct decode *d, uint16_t type, uint32_t *ret_ids, uint8_t most, uint8_t *ret_n)
{
	struct pfcp_cursor ies = d->ies;
	struct pfcp_ie ie;
	uint32_t ids[RULES_MAX_PDR_REFS];
	uint8_t n = 0;

	while (decode_next(&ies, type, &ie)) {
		if (ie.len == 0 && d->update)
			continue;
		if (n == most)
			return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, type,
					    "the rule names more rules than it may");
		if (decode_u32(d, &ie, &ids[n]) < 0)
			return -EINVAL;
		n++;
	}
	memcpy(ret_ids, ids, n * sizeof(ids[0]));
	*ret_n = n;
	return 0;
}

int decode_network_instance(struct decode *d, const struct pfcp_ie *ie, uint16_t *ret_ni)
{
	const struct n4_env *env = d->env;
	char name[PFCP_NAME_MAX];

	if (pfcp_name_decode(ie, name, sizeof(name), d->fault) < 0)
		return -EINVAL;
	if (name[0] == '\0') {
		*ret_ni = RULES_NI_NONE;
		return 0;
	}
	for (unsigned i = 0; i < env->n_nis; i++)
		if (strcasecmp(env->nis[i].name, name) == 0) {
			*ret_ni = (uint16_t)i;
			return 0;
		}
	return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
			    "network instance that is not configured");
}

// --- the rules of a request ------------------------------------------------------------------------------

// Rules that one request may create: bounds the work on it. A session has fewer (rules/check.h).
#define CREATES_MAX (4 * RULES_MAX_PDRS)

enum act { ACT_REMOVE, ACT_UPDATE, ACT_CREATE };

// Traffic endpoints are handled as rules are, but have no type of Failed Rule ID (8.2.80).
#define KIND_ENDPOINT (RULE_BAR + 1)

// What a rule IE does. Rows stand in the order in which they are applied (TS 29.244 5.2.1 leaves it to the
// UPF; removing first lets an id be used anew). A traffic endpoint goes after the PDRs that may have left it,
// since its own go with it; it is read after those that name it, since they say of which side it is.
struct step {
	uint16_t type;
	uint16_t id_type;
	int kind; // enum rule_type, or KIND_ENDPOINT
	enum act act;
};

static const struct step steps[] = {
	{PFCP_IE_REMOVE_PDR, PFCP_IE_PDR_ID, RULE_PDR, ACT_REMOVE},
	{PFCP_IE_REMOVE_FAR, PFCP_IE_FAR_ID, RULE_FAR, ACT_REMOVE},
	{PFCP_IE_REMOVE_QER, PFCP_IE_QER_ID, RULE_QER, ACT_REMOVE},
	{PFCP_IE_REMOVE_URR, PFCP_IE_URR_ID, RULE_URR, ACT_REMOVE},
	{PFCP_IE_REMOVE_BAR, PFCP_IE_BAR_ID, RULE_BAR, ACT_REMOVE},
	{PFCP_IE_UPDATE_PDR, PFCP_IE_PDR_ID, RULE_PDR, ACT_UPDATE},
	{PFCP_IE_UPDATE_FAR, PFCP_IE_FAR_ID, RULE_FAR, ACT_UPDATE},
	{PFCP_IE_UPDATE_QER, PFCP_IE_QER_ID, RULE_QER, ACT_UPDATE},
	{PFCP_IE_UPDATE_URR, PFCP_IE_URR_ID, RULE_URR, ACT_UPDATE},
	{PFCP_IE_UPDATE_BAR, PFCP_IE_BAR_ID, RULE_BAR, ACT_UPDATE},
	{PFCP_IE_REMOVE_TRAFFIC_ENDPOINT, PFCP_IE_TRAFFIC_ENDPOINT_ID, KIND_ENDPOINT, ACT_REMOVE},
	{PFCP_IE_CREATE_PDR, PFCP_IE_PDR_ID, RULE_PDR, ACT_CREATE},
	{PFCP_IE_CREATE_FAR, PFCP_IE_FAR_ID, RULE_FAR, ACT_CREATE},
	{PFCP_IE_CREATE_QER, PFCP_IE_QER_ID, RULE_QER, ACT_CREATE},
	{PFCP_IE_CREATE_URR, PFCP_IE_URR_ID, RULE_URR, ACT_CREATE},
	{PFCP_IE_CREATE_BAR, PFCP_IE_BAR_ID, RULE_BAR, ACT_CREATE},
	{PFCP_IE_UPDATE_TRAFFIC_ENDPOINT, PFCP_IE_TRAFFIC_ENDPOINT_ID, KIND_ENDPOINT, ACT_UPDATE},
	{PFCP_IE_CREATE_TRAFFIC_ENDPOINT, PFCP_IE_TRAFFIC_ENDPOINT_ID, KIND_ENDPOINT, ACT_CREATE},
};

// The kinds of rules behind one form: reading, looking up, adding and removing one by its id.
#define KIND_FUNCTIONS(kind, id_type)                                                              \
	static int kind##_read(struct decode *d, void *rule, const struct pfcp_ie *group)          \
	{                                                                                          \
		return decode_##kind(d, rule, group);                                              \
	}                                                                                          \
                                                                                                   \
	static void *kind##_lookup(const struct rules *rules, uint32_t id)                         \
	{                                                                                          \
		return rules_##kind##_lookup(rules, (id_type)id);                                  \
	}                                                                                          \
                                                                                                   \
	static void *kind##_add(struct rules *rules, uint32_t id)                                  \
	{                                                                                          \
		return rules_##kind##_add(rules, (id_type)id);                                     \
	}                                                                                          \
                                                                                                   \
	static int kind##_del(struct rules *rules, uint32_t id)                                    \
	{                                                                                          \
		return rules_##kind##_del(rules, (id_type)id);                                     \
	}

KIND_FUNCTIONS(pdr, uint16_t)
KIND_FUNCTIONS(far, uint32_t)
KIND_FUNCTIONS(qer, uint32_t)
KIND_FUNCTIONS(urr, uint32_t)
KIND_FUNCTIONS(bar, uint8_t)
KIND_FUNCTIONS(endpoint, uint8_t)

// All PDRs that refer to it are deleted with it (TS 29.244 7.5.4.1).
static int endpoint_del_all(struct rules *rules, uint32_t id)
{
	rules_endpoint_users_del(rules, (uint8_t)id);
	return endpoint_del(rules, id);
}

static const struct kind {
	int (*read)(struct decode *d, void *rule, const struct pfcp_ie *group);
	void *(*lookup)(const struct rules *rules, uint32_t id);
	void *(*add)(struct rules *rules, uint32_t id);
	int (*del)(struct rules *rules, uint32_t id);
} kinds[] = {
	[RULE_PDR] = {pdr_read, pdr_lookup, pdr_add, pdr_del},
	[RULE_FAR] = {far_read, far_lookup, far_add, far_del},
	[RULE_QER] = {qer_read, qer_lookup, qer_add, qer_del},
	[RULE_URR] = {urr_read, urr_lookup, urr_add, urr_del},
	[RULE_BAR] = {bar_read, bar_lookup, bar_add, bar_del},
	[KIND_ENDPOINT] = {endpoint_read, endpoint_lookup, endpoint_add, endpoint_del_all},
};

static int read_id(struct decode *d, const struct step *step, const struct pfcp_ie *group)
{
	struct pfcp_ie ie;

	if (pfcp_ie_find(pfcp_ie_members(group), step->id_type, &ie) < 0)
		return fault_ie(d->fault, PFCP_CAUSE_MANDATORY_MISSING, step->id_type,
				"rule without an id");
	return decode_u32(d, &ie, &d->id);
}

// Whether an IE of the same type before `group` has this id too.
static bool is_second(const struct decode *d, const struct step *step, const struct pfcp_ie *group)
{
	struct pfcp_cursor ies = d->ies;
	struct pfcp_ie other, id;
	struct pfcp_fault unused;
	uint64_t value;

	while (decode_next(&ies, step->type, &other) && other.data != group->data)
		if (pfcp_ie_find(pfcp_ie_members(&other), step->id_type, &id) == 0 &&
		    pfcp_uint_decode(&id, &value, &unused) == 0 && value == d->id)
			return true;
	return false;
}

static int take_step(struct decode *d, const struct step *step, const struct pfcp_ie *group)
{
	const struct kind *kind = &kinds[step->kind];
	void *rule;

	d->kind = step->kind == KIND_ENDPOINT ? -1 : step->kind;
	d->id_type = step->id_type;
	d->update = step->act == ACT_UPDATE;
	if (read_id(d, step, group) < 0)
		return -EINVAL;
	rule = kind->lookup(d->rules, d->id);
	if (step->act == ACT_CREATE && rule)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, step->id_type,
				    "a rule with this id exists");
	if (step->act != ACT_CREATE && !rule)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, step->id_type,
				    "no rule has this id");
	if (step->act == ACT_UPDATE && is_second(d, step, group))
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, step->id_type,
				    "the rule is updated twice");
	if (step->act == ACT_REMOVE) {
		kind->del(d->rules, d->id);
		return 0;
	}
	if (step->act == ACT_CREATE && d->n_created++ == CREATES_MAX)
		return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, step->type, "too many rules");
	if (step->act == ACT_CREATE)
		rule = kind->add(d->rules, d->id);
	if (!rule)
		return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, 0, "out of memory");
	return kind->read(d, rule, group);
}

// What sessions of other kinds are made of. It is refused, since without it the session would not be the one
// that the SMF asked for; the features behind it are not offered (pfcp/features.c).
static const uint16_t not_served[] = {
	PFCP_IE_CREATE_MAR,
	PFCP_IE_UPDATE_MAR,
	PFCP_IE_REMOVE_MAR,
	PFCP_IE_CREATE_SRR,
	PFCP_IE_UPDATE_SRR,
	PFCP_IE_REMOVE_SRR,
	PFCP_IE_CREATE_BRIDGE_INFO_FOR_TSC,
	PFCP_IE_TSC_MANAGEMENT_INFORMATION_MODIFICATION_REQUEST,
	PFCP_IE_PROVIDE_ATSSS_CONTROL_INFORMATION,
	PFCP_IE_ETHERNET_CONTEXT_INFORMATION,
	PFCP_IE_L2TP_TUNNEL_INFORMATION,
	PFCP_IE_L2TP_SESSION_INFORMATION,
	PFCP_IE_MBS_SESSION_N4MB_CONTROL_INFORMATION,
	PFCP_IE_MBS_SESSION_N4_CONTROL_INFORMATION,
};

// What the IEs of a request are, in one walk.
struct request_types {
	uint32_t steps;    // a bit for each that it has
	size_t not_served; // the first that it has; DECODE_ROWS(not_served): none
};
static_assert(DECODE_ROWS(steps) <= 32, "a bit for each step");

static struct request_types request_types_of(const struct pfcp_msg *msg)
{
	struct request_types types = {0, DECODE_ROWS(not_served)};
	struct pfcp_cursor ies = msg->ies;
	struct pfcp_ie ie;

	while (pfcp_ie_next(&ies, &ie) > 0) {
		for (size_t i = 0; i < DECODE_ROWS(steps); i++)
			types.steps |= steps[i].type == ie.type ? 1u << i : 0;
		for (size_t i = 0; i < types.not_served; i++)
			if (not_served[i] == ie.type)
				types.not_served = i;
	}
	return types;
}

int decode_rules(const struct n4_env *env, const struct pfcp_msg *msg, struct rules *rules,
		 struct pfcp_fault *fault)
{
	struct decode d = {.env = env, .rules = rules, .fault = fault, .ies = msg->ies};
	const struct request_types types = request_types_of(msg);

	if (types.not_served < DECODE_ROWS(not_served))
		return fault_ie(fault, PFCP_CAUSE_NOT_SUPPORTED, not_served[types.not_served],
				"the request asks for what this UPF does not do");
	if (inactivity_decode(msg, rules, fault) < 0)
		return -EINVAL;
	for (size_t i = 0; i < DECODE_ROWS(steps); i++) {
		struct pfcp_cursor ies = msg->ies;
		struct pfcp_ie ie;

		while (types.steps & 1u << i && decode_next(&ies, steps[i].type, &ie))
			if (take_step(&d, &steps[i], &ie) < 0)
				return -EINVAL;
	}
	return rules_endpoints_resolve(rules, fault);
}
