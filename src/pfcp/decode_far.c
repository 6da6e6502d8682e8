// Create and Update FAR, BAR (TS 29.244 7.5.2.3, 7.5.2.6, 7.5.4.3, 7.5.4.11), see decode.h.
// Control thread.

#include <errno.h>
#include <string.h>

#include "pfcp/decode.h"

#define DSCP_NONE 0xff

// --- FAR -------------------------------------------------------------------------------------------------

// What stands for nothing given is not always zero.
static void far_init(struct far_rule *far)
{
	far->ni = RULES_NI_NONE;
	far->dscp = DSCP_NONE;
}

// The second octet only asks for reports on what is buffered or dropped, which are not offered.
static int take_action(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct far_rule *far = rule;
	uint32_t value;

	if (decode_u32(d, ie, &value) < 0)
		return -EINVAL;
	if (value & (PFCP_APPLY_ACTION_EDRT | PFCP_APPLY_ACTION_FSSM | PFCP_APPLY_ACTION_MBSU))
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
				    "Apply Action that is not supported");
	far->action = (uint8_t)value;
	return 0;
}

static int take_bar_id(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct far_rule *far = rule;

	far->has_bar = ie->len > 0;
	return ie->len > 0 ? decode_u8(d, ie, &far->bar) : 0;
}

static int take_destination(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct far_rule *far = rule;
	uint8_t value;

	if (decode_u8(d, ie, &value) < 0)
		return -EINVAL;
	far->destination = value & 0x0f;
	return 0;
}

static int take_ni(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct far_rule *far = rule;

	return decode_network_instance(d, ie, &far->ni);
}

static void outer_header_clear(struct far_rule *far)
{
	far->ohc = 0;
	far->teid = 0;
	far->port = 0;
	far->v4 = (struct in_addr){0};
	far->v6 = (struct in6_addr){0};
}

static int take_outer_header_creation(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	const unsigned served = OHC_GTPU_UDP_V4 | OHC_GTPU_UDP_V6 | OHC_UDP_V4 | OHC_UDP_V6;
	struct far_rule *far = rule;
	struct pfcp_outer_header_creation value;

	if (ie->len == 0) {
		outer_header_clear(far);
		return 0;
	}
	if (pfcp_outer_header_creation_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	if (value.description & ~served)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
				    "Outer Header Creation that is not supported");
	outer_header_clear(far);
	far->ohc = (uint8_t)value.description;
	far->teid = value.teid;
	far->port = value.port;
	far->v4 = value.v4;
	far->v6 = value.v6;
	return 0;
}

static int take_policy(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	const struct n4_env *env = d->env;
	struct far_rule *far = rule;
	struct pfcp_forwarding_policy value;

	far->policy = 0;
	if (ie->len == 0)
		return 0;
	if (pfcp_forwarding_policy_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < env->n_policies; i++)
		if (strlen(env->policies[i].name) == value.id.len &&
		    memcmp(env->policies[i].name, value.id.data, value.id.len) == 0)
			far->policy = (uint8_t)(i + 1);
	if (far->policy == 0)
		return decode_fault(d, PFCP_CAUSE_INVALID_FORWARDING_POLICY, ie->type,
				    "forwarding policy that is not configured");
	return 0;
}

// ToS or traffic class and its mask; the DSCP is its six high bits (8.2.12).
static int take_marking(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct far_rule *far = rule;
	uint16_t value;

	far->dscp = DSCP_NONE;
	if (ie->len == 0)
		return 0;
	if (decode_u16(d, ie, &value) < 0)
		return -EINVAL;
	far->dscp = (uint8_t)(value >> 10);
	return 0;
}

// --- redirection -----------------------------------------------------------------------------------------

#define REDIRECT_V4 0x01
#define REDIRECT_V6 0x02
#define REDIRECT_PORT 0x04
#define REDIRECT_TEXT_MAX 64

// What each Redirect Address Type has (8.2.20); nothing: names, which no packet can be sent to.
static const uint8_t redirect_types[] = {
	[0] = REDIRECT_V4,
	[1] = REDIRECT_V6,
	[2] = 0, // URL
	[3] = 0, // SIP URI
	[4] = REDIRECT_V4 | REDIRECT_V6,
	[5] = REDIRECT_PORT,
	[6] = REDIRECT_V4 | REDIRECT_PORT,
	[7] = REDIRECT_V6 | REDIRECT_PORT,
	[8] = REDIRECT_V4 | REDIRECT_V6 | REDIRECT_PORT,
};

// An address in writing. Returns which of `wanted` it is, 0: none of them, or no address that a host has.
static unsigned redirect_address(const struct pfcp_octets *text, unsigned wanted,
				 struct redirect_rule *to)
{
	char buf[REDIRECT_TEXT_MAX];
	struct addr addr;

	if (text->len == 0 || text->len >= sizeof(buf))
		return 0;
	memcpy(buf, text->data, text->len);
	buf[text->len] = 0;
	if (addr_parse(buf, &addr) != 0 || addr_is_unspecified(&addr) || addr_is_multicast(&addr))
		return 0;
	if (addr.family == ADDR_V4)
		to->v4.s_addr = addr.v4;
	else
		memcpy(&to->v6, addr.v6, sizeof(to->v6));
	return wanted & (addr.family == ADDR_V4 ? REDIRECT_V4 : REDIRECT_V6);
}

static int take_redirect(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct redirect_rule to = {0};
	struct far_rule *far = rule;
	struct pfcp_redirect value;
	unsigned wanted, found = 0;

	if (ie->len == 0) {
		far->redirect = to;
		return 0;
	}
	if (pfcp_redirect_decode(ie, &value, d->fault) < 0)
		return -EINVAL;
	wanted = redirect_types[value.type];
	if (wanted == 0)
		return decode_fault(d, PFCP_CAUSE_RULE_FAILURE, ie->type,
				    "packets can be redirected to addresses and ports only");
	if (wanted & (REDIRECT_V4 | REDIRECT_V6))
		found |= redirect_address(&value.server, wanted, &to);
	if ((wanted & REDIRECT_V4) && (wanted & REDIRECT_V6))
		found |= redirect_address(&value.other_server, wanted, &to);
	if (wanted & REDIRECT_PORT && value.port != 0)
		found |= REDIRECT_PORT;
	if (found != wanted)
		return decode_fault(d, PFCP_CAUSE_MANDATORY_INCORRECT, ie->type,
				    "redirection to no address, or no port, of the type given");
	to.port = wanted & REDIRECT_PORT ? value.port : 0;
	far->redirect = to;
	return 0;
}

// --- parameters ------------------------------------------------------------------------------------------

// Where packets of the other direction come in: something to know, not something to do.
static int take_linked_endpoint(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct far_rule *far = rule;

	far->has_endpoint = ie->len > 0;
	return ie->len > 0 ? decode_u8(d, ie, &far->endpoint) : 0;
}

// SNDEM of an Update stands among these too; it changes no rule (handle_session_mod.c).
static const struct decode_row parameter_rows[] = {
	{PFCP_IE_DESTINATION_INTERFACE, true, take_destination},
	{PFCP_IE_NETWORK_INSTANCE, false, take_ni},
	{PFCP_IE_OUTER_HEADER_CREATION, false, take_outer_header_creation},
	{PFCP_IE_TRANSPORT_LEVEL_MARKING, false, take_marking},
	{PFCP_IE_FORWARDING_POLICY, false, take_policy},
	{PFCP_IE_REDIRECT_INFORMATION, false, take_redirect},
	{PFCP_IE_TRAFFIC_ENDPOINT_ID, false, take_linked_endpoint},
	{PFCP_IE_3GPP_INTERFACE_TYPE, false,
	 decode_nothing}, // says what network is behind the interface
	{PFCP_IE_PFCPSMREQ_FLAGS, false, decode_nothing},
};

// An update that gives a FAR its first parameters must say where to, as a creation must.
static int take_parameters(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct far_rule *far = rule;
	struct pfcp_ie destination;

	if (ie->len == 0) {
		far->has_parameters = false;
		far->destination = 0;
		far->ni = RULES_NI_NONE;
		far->dscp = DSCP_NONE;
		far->policy = 0;
		far->redirect = (struct redirect_rule){0};
		far->has_endpoint = false;
		outer_header_clear(far);
		return 0;
	}
	if (!far->has_parameters &&
	    pfcp_ie_find(pfcp_ie_members(ie), PFCP_IE_DESTINATION_INTERFACE, &destination) < 0)
		return decode_fault(d, PFCP_CAUSE_CONDITIONAL_MISSING,
				    PFCP_IE_DESTINATION_INTERFACE,
				    "forwarding parameters without a destination interface");
	far->has_parameters = true;
	return decode_group(d, far, ie, parameter_rows, DECODE_ROWS(parameter_rows));
}

// --- duplicating destinations ----------------------------------------------------------------------------

static const struct decode_row copy_rows[] = {
	{PFCP_IE_DESTINATION_INTERFACE, true, take_destination},
	{PFCP_IE_OUTER_HEADER_CREATION, false, take_outer_header_creation},
	{PFCP_IE_TRANSPORT_LEVEL_MARKING, false, take_marking},
	{PFCP_IE_FORWARDING_POLICY, false, take_policy},
};

static int copy_add(struct decode *d, struct far_rule *far, const struct pfcp_ie *ie)
{
	struct pfcp_ie destination;
	struct far_rule *copy;

	if (pfcp_ie_find(pfcp_ie_members(ie), PFCP_IE_DESTINATION_INTERFACE, &destination) < 0)
		return decode_fault(d, PFCP_CAUSE_CONDITIONAL_MISSING,
				    PFCP_IE_DESTINATION_INTERFACE,
				    "duplicating parameters without a destination interface");
	copy = rules_far_copy_add(far);
	if (!copy)
		return decode_fault(d, PFCP_CAUSE_NO_RESOURCES, ie->type,
				    "more duplicating destinations than a FAR may have");
	far_init(copy);
	copy->has_parameters = true;
	return decode_group(d, copy, ie, copy_rows, DECODE_ROWS(copy_rows));
}

// Nothing in an update says which destination it is of, so the first is of the first, and so on; further ones
// are new, and an empty one takes its destination away (7.5.4.3, 5.6.3).
static int take_copies(struct decode *d, void *rule, const struct pfcp_ie *first)
{
	struct pfcp_cursor ies = d->ies;
	struct far_rule *far = rule;
	struct pfcp_ie ie;
	unsigned at = 0;

	while (decode_next(&ies, first->type, &ie)) {
		if (ie.len == 0 && at == far->n_copies)
			return decode_fault(d, PFCP_CAUSE_INVALID_LENGTH, ie.type, "empty IE");
		if (ie.len == 0) {
			rules_far_copy_del(far, at);
			continue;
		}
		if ((at < far->n_copies ? decode_group(d, &far->copies[at], &ie, copy_rows,
						       DECODE_ROWS(copy_rows))
					: copy_add(d, far, &ie)) < 0)
			return -EINVAL;
		at++;
	}
	return 0;
}

// --- all of it -------------------------------------------------------------------------------------------

static const struct decode_row far_rows[] = {
	{PFCP_IE_APPLY_ACTION, true, take_action},
	{PFCP_IE_FORWARDING_PARAMETERS, false, take_parameters},
	{PFCP_IE_UPDATE_FORWARDING_PARAMETERS, false, take_parameters},
	{PFCP_IE_DUPLICATING_PARAMETERS, false, take_copies},
	{PFCP_IE_UPDATE_DUPLICATING_PARAMETERS, false, take_copies},
	{PFCP_IE_BAR_ID, false, take_bar_id},
};

int decode_far(struct decode *d, struct far_rule *far, const struct pfcp_ie *group)
{
	if (!d->update)
		far_init(far);
	return decode_group(d, far, group, far_rows, DECODE_ROWS(far_rows));
}

// --- BAR -------------------------------------------------------------------------------------------------

static int take_notification_delay(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct bar_rule *bar = rule;

	bar->ddn_delay_50ms = 0;
	return ie->len > 0 ? decode_u8(d, ie, &bar->ddn_delay_50ms) : 0;
}

static int take_suggested_packets(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct bar_rule *bar = rule;

	bar->has_suggested = ie->len > 0;
	bar->suggested_packets = 0;
	return ie->len > 0 ? decode_u16(d, ie, &bar->suggested_packets) : 0;
}

// Of a report's answer alone.
static int take_duration(struct decode *d, void *rule, const struct pfcp_ie *ie)
{
	struct bar_rule *bar = rule;
	uint8_t octet = 0;

	if (ie->len > 0 && decode_u8(d, ie, &octet) < 0)
		return -EINVAL;
	bar->duration_s = ie->len > 0 ? pfcp_timer_seconds(octet) : 0;
	bar->has_duration = bar->duration_s != 0; // 0: the timer is stopped (8.2.29)
	return 0;
}

static const struct decode_row bar_rows[] = {
	{PFCP_IE_DOWNLINK_DATA_NOTIFICATION_DELAY, false, take_notification_delay},
	{PFCP_IE_SUGGESTED_BUFFERING_PACKETS_COUNT, false, take_suggested_packets},
};

// 7.5.9.2
static const struct decode_row bar_answer_rows[] = {
	{PFCP_IE_DOWNLINK_DATA_NOTIFICATION_DELAY, false, take_notification_delay},
	{PFCP_IE_SUGGESTED_BUFFERING_PACKETS_COUNT, false, take_suggested_packets},
	{PFCP_IE_DL_BUFFERING_SUGGESTED_PACKET_COUNT, false, take_suggested_packets},
	{PFCP_IE_DL_BUFFERING_DURATION, false, take_duration},
};

int decode_bar(struct decode *d, struct bar_rule *bar, const struct pfcp_ie *group)
{
	return decode_group(d, bar, group, bar_rows, DECODE_ROWS(bar_rows));
}

int decode_bar_answer(const struct n4_env *env, struct rules *rules, const struct pfcp_ie *group,
		      struct pfcp_fault *fault)
{
	struct decode d = {.env = env,
			   .rules = rules,
			   .fault = fault,
			   .update = true,
			   .kind = RULE_BAR,
			   .id_type = PFCP_IE_BAR_ID};
	struct bar_rule *bar, updated;
	struct pfcp_ie id;

	if (pfcp_ie_find(pfcp_ie_members(group), PFCP_IE_BAR_ID, &id) < 0)
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_MISSING, PFCP_IE_BAR_ID,
				"rule without an id");
	if (decode_u32(&d, &id, &d.id) < 0)
		return -EINVAL;
	bar = rules_bar_lookup(rules, (uint8_t)d.id);
	if (!bar)
		return decode_fault(&d, PFCP_CAUSE_RULE_FAILURE, PFCP_IE_BAR_ID,
				    "no rule has this id");
	updated = *bar;
	if (decode_group(&d, &updated, group, bar_answer_rows, DECODE_ROWS(bar_answer_rows)) < 0)
		return -EINVAL;
	*bar = updated;
	return 0;
}
