// The values of IEs: from octets to numbers, structs and names, with the faults of TS 29.244 7.6.7 and
// 7.6.8. See pfcp/codec.h.

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "pfcp/codec.h"
#include "pfcp/codec_layout.h"

// Names the IE in the fault's text; a vendor's has no title.
static int ie_fault(const struct pfcp_ie *ie, enum pfcp_cause cause, const char *what,
		    struct pfcp_fault *fault)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(ie->type);
	char text[sizeof(fault->text)];

	snprintf(text, sizeof(text), "%s: %s", info ? info->title : "unknown IE", what);
	return fault_ie(fault, cause, ie->type, text);
}

static int ie_fields(const struct pfcp_ie *ie, const struct pfcp_layout *layout,
		     struct pfcp_value values[PFCP_FIELDS_MAX], struct pfcp_fault *fault)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(ie->type);

	if (ie->len < info->least)
		return ie_fault(ie, PFCP_CAUSE_INVALID_LENGTH, "too short", fault);
	if (pfcp_fields_decode(layout, ie->type, pfcp_ie_members(ie), values) < 0)
		return ie_fault(ie, PFCP_CAUSE_INVALID_LENGTH, "cut off", fault);
	return 0;
}

int pfcp_ie_check(const struct pfcp_ie *ie, struct pfcp_fault *fault)
{
	const struct pfcp_layout *layout = pfcp_layout_lookup(ie->type);
	struct pfcp_value values[PFCP_FIELDS_MAX];

	return layout ? ie_fields(ie, layout, values, fault) : 0;
}

// Values and combinations of flags that 3GPP rules out (69). Each gets the struct, or the number of an
// IE that is just one; true: it is right.

static bool one_bit(uint64_t bits)
{
	return bits && !(bits & (bits - 1));
}

// "One and only one" of the actions on the packet; notification only of what is buffered (8.2.26).
static bool apply_action_is_right(const void *value)
{
	const uint64_t *actions = value;
	uint64_t action = *actions & (PFCP_APPLY_ACTION_DROP | PFCP_APPLY_ACTION_FORW |
				      PFCP_APPLY_ACTION_BUFF | PFCP_APPLY_ACTION_IPMA |
				      PFCP_APPLY_ACTION_IPMD);

	if (*actions & (PFCP_APPLY_ACTION_NOCP | PFCP_APPLY_ACTION_BDPN) &&
	    action != PFCP_APPLY_ACTION_BUFF)
		return false;
	if (*actions & (PFCP_APPLY_ACTION_FSSM | PFCP_APPLY_ACTION_MBSU))
		return action == 0 || one_bit(action);
	return one_bit(action);
}

static bool not_zero(const void *value)
{
	return *(const uint64_t *)value != 0;
}

static bool pdn_type_is_right(const void *value)
{
	uint64_t type = *(const uint64_t *)value;

	return type >= 1 && type <= 5;
}

static bool f_teid_is_right(const void *value)
{
	const struct pfcp_f_teid *f = value;

	if (f->flags & PFCP_F_TEID_CHID && !(f->flags & PFCP_F_TEID_CH))
		return false;
	return f->flags & (PFCP_F_TEID_V4 | PFCP_F_TEID_V6);
}

static bool f_seid_is_right(const void *value)
{
	const struct pfcp_f_seid *f = value;

	return f->flags & (PFCP_F_SEID_V4 | PFCP_F_SEID_V6);
}

static bool node_id_is_right(const void *value)
{
	const struct pfcp_node_id *id = value;

	return id->type <= PFCP_NODE_ID_FQDN && (id->type != PFCP_NODE_ID_FQDN || id->fqdn.len > 0);
}

static bool ue_ip_address_is_right(const void *value)
{
	const struct pfcp_ue_ip_address *a = value;
	const unsigned v4 = PFCP_UE_IP_ADDRESS_V4 | PFCP_UE_IP_ADDRESS_CHV4;
	const unsigned v6 = PFCP_UE_IP_ADDRESS_V6 | PFCP_UE_IP_ADDRESS_CHV6;
	const unsigned length = PFCP_UE_IP_ADDRESS_IPV6D | PFCP_UE_IP_ADDRESS_IP6PL;

	if ((a->flags & v4) == v4 || (a->flags & v6) == v6 || (a->flags & (v4 | v6)) == 0)
		return false;
	if ((a->flags & length) == length || (a->flags & length && !(a->flags & v6)))
		return false;
	return a->delegation_bits <= 64 && a->prefix_len <= 128;
}

static bool sdf_filter_is_right(const void *value)
{
	const struct pfcp_sdf_filter *s = value;

	return s->flags & (PFCP_SDF_FILTER_FD | PFCP_SDF_FILTER_TTC | PFCP_SDF_FILTER_SPI |
			   PFCP_SDF_FILTER_FL | PFCP_SDF_FILTER_BID);
}

static bool outer_header_creation_is_right(const void *value)
{
	const struct pfcp_outer_header_creation *o = value;
	const unsigned ip = PFCP_OUTER_HEADER_CREATION_IPV4 | PFCP_OUTER_HEADER_CREATION_IPV6;
	const unsigned bits = o->description;

	// Of a tunnel, UDP and plain IP one may be asked for; only a tunnel may have both families.
	if (!!(bits & PFCP_OHC_GTPU) + !!(bits & PFCP_OHC_UDP) + !!(bits & ip) > 1)
		return false;
	return bits != 0 && (bits & PFCP_OHC_UDP) != PFCP_OHC_UDP && (bits & ip) != ip;
}

static bool outer_header_removal_is_right(const void *value)
{
	return ((const struct pfcp_outer_header_removal *)value)->description <= 8;
}

static bool volume_is_right(const void *value)
{
	const struct pfcp_volume *v = value;

	return v->flags & (PFCP_VOLUME_THRESHOLD_TOVOL | PFCP_VOLUME_THRESHOLD_ULVOL |
			   PFCP_VOLUME_THRESHOLD_DLVOL);
}

static bool dropped_threshold_is_right(const void *value)
{
	const struct pfcp_dropped_threshold *d = value;

	return d->flags &
	       (PFCP_DROPPED_DL_TRAFFIC_THRESHOLD_DLPA | PFCP_DROPPED_DL_TRAFFIC_THRESHOLD_DLBY);
}

static bool redirect_is_right(const void *value)
{
	return ((const struct pfcp_redirect *)value)->type <= 8;
}

static bool packet_rate_is_right(const void *value)
{
	const struct pfcp_packet_rate *r = value;

	return r->flags & (PFCP_PACKET_RATE_ULPR | PFCP_PACKET_RATE_DLPR);
}

static bool remote_peer_is_right(const void *value)
{
	const struct pfcp_remote_peer *p = value;

	return p->flags & (PFCP_REMOTE_GTP_U_PEER_V4 | PFCP_REMOTE_GTP_U_PEER_V6);
}

static bool failed_rule_is_right(const void *value)
{
	return ((const struct pfcp_failed_rule *)value)->type <= RULE_SRR;
}

typedef bool ie_is_right_fn(const void *value);

static ie_is_right_fn *const ie_checks[PFCP_IE_COUNT] = {
	[PFCP_IE_CAUSE] = not_zero,
	[PFCP_IE_REPORT_TYPE] = not_zero,
	[PFCP_IE_NODE_REPORT_TYPE] = not_zero,
	[PFCP_IE_MEASUREMENT_METHOD] = not_zero,
	[PFCP_IE_MEASUREMENT_INFORMATION] = not_zero,
	[PFCP_IE_APPLY_ACTION] = apply_action_is_right,
	[PFCP_IE_PDN_TYPE] = pdn_type_is_right,
	[PFCP_IE_F_TEID] = f_teid_is_right,
	[PFCP_IE_F_SEID] = f_seid_is_right,
	[PFCP_IE_NODE_ID] = node_id_is_right,
	[PFCP_IE_UE_IP_ADDRESS] = ue_ip_address_is_right,
	[PFCP_IE_SDF_FILTER] = sdf_filter_is_right,
	[PFCP_IE_OUTER_HEADER_CREATION] = outer_header_creation_is_right,
	[PFCP_IE_OUTER_HEADER_REMOVAL] = outer_header_removal_is_right,
	[PFCP_IE_VOLUME_THRESHOLD] = volume_is_right,
	[PFCP_IE_SUBSEQUENT_VOLUME_THRESHOLD] = volume_is_right,
	[PFCP_IE_VOLUME_QUOTA] = volume_is_right,
	[PFCP_IE_SUBSEQUENT_VOLUME_QUOTA] = volume_is_right,
	[PFCP_IE_DROPPED_DL_TRAFFIC_THRESHOLD] = dropped_threshold_is_right,
	[PFCP_IE_REDIRECT_INFORMATION] = redirect_is_right,
	[PFCP_IE_PACKET_RATE] = packet_rate_is_right,
	[PFCP_IE_REMOTE_GTP_U_PEER] = remote_peer_is_right,
	[PFCP_IE_FAILED_RULE_ID] = failed_rule_is_right,
};

static int value_check(const struct pfcp_ie *ie, const void *value, struct pfcp_fault *fault)
{
	ie_is_right_fn *is_right = ie_checks[ie->type];

	if (is_right == NULL || is_right(value))
		return 0;
	return ie_fault(ie, PFCP_CAUSE_MANDATORY_INCORRECT, "not a valid value", fault);
}

int pfcp_uint_decode(const struct pfcp_ie *ie, uint64_t *ret_value, struct pfcp_fault *fault)
{
	const struct pfcp_layout *layout = pfcp_layout_lookup(ie->type);
	struct pfcp_value values[PFCP_FIELDS_MAX];
	int rc;

	assert(layout && layout->size == 0 && !pfcp_wire_is_octets(layout->fields[0].wire));
	rc = ie_fields(ie, layout, values, fault);
	if (rc < 0)
		return rc;
	rc = value_check(ie, &values[0].number, fault);
	if (rc == 0)
		*ret_value = values[0].number;
	return rc;
}

uint64_t pfcp_uint_find(struct pfcp_cursor ies, uint16_t type)
{
	struct pfcp_fault unused;
	struct pfcp_ie ie;
	uint64_t value;

	return pfcp_ie_find(ies, type, &ie) == 0 && pfcp_uint_decode(&ie, &value, &unused) == 0
		       ? value
		       : 0;
}

// Puts a value into its member.
static void member_store(void *st, const struct pfcp_field *f, const struct pfcp_value *value)
{
	uint8_t *member = (uint8_t *)st + f->offset;
	struct pfcp_octets octets = {value->data, value->len};

	if (f->wire == PFCP_WIRE_IP4 || f->wire == PFCP_WIRE_IP6) {
		memcpy(member, value->data, f->size);
	} else if (pfcp_wire_is_octets(f->wire)) {
		memcpy(member, &octets, sizeof(octets));
	} else {
		uint8_t u8 = (uint8_t)value->number;
		uint16_t u16 = (uint16_t)value->number;
		uint32_t u32 = (uint32_t)value->number;

		memcpy(member,
		       f->size == 1   ? (void *)&u8
		       : f->size == 2 ? (void *)&u16
		       : f->size == 4 ? (void *)&u32
				      : (void *)&value->number,
		       f->size);
	}
}

static int struct_decode(const struct pfcp_ie *ie, void *ret_struct, size_t size,
			 struct pfcp_fault *fault)
{
	const struct pfcp_layout *layout = pfcp_layout_lookup(ie->type);
	struct pfcp_value values[PFCP_FIELDS_MAX];
	uint8_t copy[sizeof(struct pfcp_pfd_contents)] __attribute__((aligned(8)));
	int rc;

	assert(layout && layout->size == size && size <= sizeof(copy));
	rc = ie_fields(ie, layout, values, fault);
	if (rc < 0)
		return rc;
	memset(copy, 0, size);
	for (unsigned i = 0; i < layout->count; i++)
		if (values[i].present && layout->fields[i].size)
			member_store(copy, &layout->fields[i], &values[i]);
	rc = value_check(ie, copy, fault);
	if (rc == 0)
		memcpy(ret_struct, copy, size);
	return rc;
}

#define DECODE(name, IE)                                                                           \
	int pfcp_##name##_decode(const struct pfcp_ie *ie, struct pfcp_##name *ret_##name,         \
				 struct pfcp_fault *fault)                                         \
	{                                                                                          \
		static_assert(sizeof(*ret_##name) <= sizeof(struct pfcp_pfd_contents),             \
			      "struct_decode has room for the largest");                           \
		return struct_decode(ie, ret_##name, sizeof(*ret_##name), fault);                  \
	}
#define DECODE_SHARED(name) DECODE(name, )
PFCP_TYPED(DECODE)
PFCP_TYPED_SHARED(DECODE_SHARED)

// Whether these octets are labels, each after its length, to the very end (TS 23.003 9.1). An empty label
// may close them.
static bool name_is_labels(const uint8_t *data, size_t len)
{
	size_t at = 0;

	while (at < len && data[at] != 0) {
		if (data[at] > 63 || data[at] >= len - at)
			return false;
		at += 1u + data[at];
	}
	return at == len || (at > 0 && at + 1 == len);
}

int pfcp_name_text(const uint8_t *data, size_t len, char *ret_text, size_t size)
{
	char text[PFCP_NAME_MAX];
	bool labels = name_is_labels(data, len);
	size_t next = 0; // where the next label's length stands
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		char c = (char)tolower(data[i]);

		if (labels ? i == next : c == '.') {
			next += 1u + data[i];
			if (labels && i == 0)
				continue;
			if (out == 0 || text[out - 1] == '.')
				return -EINVAL;
			c = '.';
		} else if (data[i] <= ' ' || data[i] >= 0x7f || c == '.') {
			return -EINVAL;
		}
		if (out == sizeof(text))
			return -EINVAL;
		text[out++] = c;
	}
	if (out > 0 && text[out - 1] == '.')
		out--; // the root's label or dot
	if (out >= size)
		return -EINVAL;
	memcpy(ret_text, text, out);
	ret_text[out] = '\0';
	return 0;
}

int pfcp_name_decode(const struct pfcp_ie *ie, char *ret_text, size_t size,
		     struct pfcp_fault *fault)
{
	if (pfcp_name_text(ie->data, ie->len, ret_text, size) < 0)
		return ie_fault(ie, PFCP_CAUSE_MANDATORY_INCORRECT, "not a name", fault);
	return 0;
}

// Seconds of one step, by the unit in the three high bits; those without a meaning count minutes.
static const uint32_t timer_units[8] = {2, 60, 600, 3600, 36000, 60, 60, 0};

uint32_t pfcp_timer_seconds(uint8_t octet)
{
	uint32_t unit = timer_units[octet >> 5];

	return unit ? unit * (octet & 0x1f) : PFCP_TIMER_INFINITE;
}

uint8_t pfcp_timer_octet(uint32_t seconds)
{
	for (unsigned unit = 0; unit < 5; unit++) {
		uint32_t steps = seconds / timer_units[unit] + !!(seconds % timer_units[unit]);

		if (steps <= 0x1f)
			return (uint8_t)(unit << 5 | steps);
	}
	return 7 << 5;
}
