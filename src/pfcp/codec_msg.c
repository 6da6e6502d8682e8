// Messages and the walk through their IEs (TS 29.244 7.2.2, 7.2.3, 7.6). See pfcp/codec.h.
//
// One recursion, bounded by PFCP_DEPTH_MAX, checks a message against msg.def and member.def. Any thread.

#include <stdio.h>

#include "pfcp/codec.h"
#include "pfcp/codec_layout.h"

// First octet of the header: version, two spare bits, FO, MP, S (7.2.2.1).
#define HEADER_S 0x01
#define HEADER_MP 0x02
#define HEADER_FO 0x04
#define HEADER_SPARE 0x18
#define HEADER_VERSION_SHIFT 5

#define HEADER_FIXED 4 // octets that Message Length does not count
#define HEADER_NODE 8
#define HEADER_SESSION 16

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t be24(const uint8_t *at)
{
	return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

static uint64_t be64(const uint8_t *at)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < 8; i++)
		number = number << 8 | at[i];
	return number;
}

int pfcp_msg_decode(struct pfcp_cursor *datagram, struct pfcp_msg *ret_msg)
{
	const uint8_t *at = datagram->at;
	size_t left = pfcp_cursor_left(datagram);
	size_t header, octets;

	*ret_msg = (struct pfcp_msg){0};
	if (left < HEADER_NODE)
		return -EBADMSG;
	ret_msg->version = at[0] >> HEADER_VERSION_SHIFT;
	ret_msg->type = at[1];
	ret_msg->has_seid = at[0] & HEADER_S;
	header = ret_msg->has_seid ? HEADER_SESSION : HEADER_NODE;
	if (left < header)
		return -EBADMSG;
	ret_msg->seq = be24(at + header - 4);
	if (ret_msg->version != PFCP_VERSION)
		return -EPROTONOSUPPORT;
	octets = (size_t)HEADER_FIXED + be16(at + 2);
	ret_msg->more = at[0] & HEADER_FO;
	if (at[0] & HEADER_SPARE || octets < header || octets > left ||
	    (octets < left) != ret_msg->more)
		return -EBADMSG;
	if (ret_msg->has_seid)
		ret_msg->seid = be64(at + HEADER_FIXED);
	if (ret_msg->has_seid && at[0] & HEADER_MP) {
		ret_msg->has_priority = true;
		ret_msg->priority = at[header - 1] >> 4;
	}
	ret_msg->info = pfcp_msg_info_lookup(ret_msg->type);
	if (ret_msg->info == NULL) {
		datagram->at += octets;
		return -ENOMSG;
	}
	if (ret_msg->info->session != ret_msg->has_seid)
		return -EBADMSG;
	ret_msg->ies = pfcp_cursor_of(at + header, octets - header);
	datagram->at += octets;
	return 0;
}

int pfcp_ie_next_other(struct pfcp_cursor *ies, struct pfcp_ie *ret_ie)
{
	const uint8_t *at = ies->at;
	size_t left = pfcp_cursor_left(ies);

	*ret_ie = (struct pfcp_ie){0};
	if (left == 0)
		return 0;
	if (left >= 2)
		ret_ie->type = be16(at);
	if (left < PFCP_IE_HEADER || be16(at + 2) > left - PFCP_IE_HEADER)
		return -EBADMSG;
	ret_ie->len = be16(at + 2);
	ret_ie->data = at + PFCP_IE_HEADER;
	ies->at = ret_ie->data + ret_ie->len;
	if (ret_ie->type >= PFCP_IE_VENDOR) {
		if (ret_ie->len < 2)
			return -EBADMSG;
		ret_ie->enterprise = be16(ret_ie->data);
		ret_ie->data += 2;
		ret_ie->len = (uint16_t)(ret_ie->len - 2);
	}
	return 1;
}

int pfcp_ie_find(struct pfcp_cursor ies, uint16_t type, struct pfcp_ie *ret_ie)
{
	struct pfcp_ie ie;
	int rc;

	while ((rc = pfcp_ie_next(&ies, &ie)) > 0)
		if (ie.type == type) {
			*ret_ie = ie;
			return 0;
		}
	return rc < 0 ? rc : -ENOENT;
}

// One level of the walk: a message or a group.
struct level {
	const struct pfcp_member *members;
	unsigned count;
	uint64_t seen;     // bit for each member
	uint64_t waived;   // mandatory, but may be missing here
	bool may_be_empty; // its optional members may have no octets: a removal (5.6.3)
	unsigned depth;
	uint16_t type; // of the group
};

static int ies_check(struct pfcp_msg *msg, struct pfcp_cursor ies, struct level *level,
		     struct pfcp_fault *fault);

// Whether the IE must hold all that its flags announce. What is only printed need not: no decision
// depends on it, and peers of other releases write some of these differently.
static bool ie_is_read(uint16_t type)
{
	const struct pfcp_layout *layout = pfcp_layout_lookup(type);

	return pfcp_ie_info_lookup(type)->kind != PFCP_KIND_LAYOUT || layout->size > 0;
}

static int length_fault(uint16_t type, const char *text, struct pfcp_fault *fault)
{
	return fault_ie(fault, PFCP_CAUSE_INVALID_LENGTH, type, text);
}

static int group_check(struct pfcp_msg *msg, const struct pfcp_ie *ie, const struct level *parent,
		       struct pfcp_fault *fault)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(ie->type);
	struct level level = {
		.members = info->members,
		.count = info->members_count,
		.may_be_empty = parent->may_be_empty && info->kind != PFCP_KIND_CREATE,
		.depth = parent->depth + 1,
		.type = ie->type,
	};

	if (level.depth > PFCP_DEPTH_MAX)
		return length_fault(ie->type, "groups too deep in each other", fault);
	return ies_check(msg, pfcp_ie_members(ie), &level, fault);
}

static int member_check(struct pfcp_msg *msg, const struct pfcp_ie *ie, struct level *level,
			struct pfcp_fault *fault)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(ie->type);
	const struct pfcp_member *member = level->members;
	unsigned i = 0;

	while (i < level->count && member[i].type != ie->type)
		i++;
	if (i == level->count) {
		msg->unexpected++;
		return 0;
	}
	if (level->seen & 1ull << i && !member[i].several) {
		msg->repeated++;
		return 0;
	}
	level->seen |= 1ull << i;
	if (ie->len == 0 && level->may_be_empty && member[i].presence != PFCP_MANDATORY)
		return 0;
	if (info->kind == PFCP_KIND_GROUP || info->kind == PFCP_KIND_CREATE)
		return group_check(msg, ie, level, fault);
	if (ie->len < info->least || ie_is_read(ie->type))
		return pfcp_ie_check(ie, fault);
	return 0;
}

static int missing_check(const struct level *level, struct pfcp_fault *fault)
{
	for (unsigned i = 0; i < level->count; i++) {
		char text[sizeof(fault->text)];

		if (level->members[i].presence != PFCP_MANDATORY ||
		    (level->seen | level->waived) & 1ull << i)
			continue;
		snprintf(text, sizeof(text), "%s is missing%s%s",
			 pfcp_ie_info_lookup(level->members[i].type)->title,
			 level->type ? " in " : "",
			 level->type ? pfcp_ie_info_lookup(level->type)->title : "");
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_MISSING, level->members[i].type, text);
	}
	return 0;
}

static int ies_check(struct pfcp_msg *msg, struct pfcp_cursor ies, struct level *level,
		     struct pfcp_fault *fault)
{
	struct pfcp_ie ie;
	int rc;

	while ((rc = pfcp_ie_next(&ies, &ie)) > 0) {
		if (ie.type >= PFCP_IE_VENDOR) {
			msg->vendor++;
		} else if (pfcp_ie_info_lookup(ie.type) == NULL) {
			msg->unknown++;
		} else {
			rc = member_check(msg, &ie, level, fault);
			if (rc < 0)
				return rc;
		}
	}
	if (rc < 0)
		return length_fault(ie.type ? ie.type : level->type, "runs past what encloses it",
				    fault);
	return missing_check(level, fault);
}

// Whether this is a response whose Cause refuses.
static bool msg_is_refusal(const struct pfcp_msg *msg)
{
	return !msg->info->request &&
	       pfcp_uint_find(msg->ies, PFCP_IE_CAUSE) >= PFCP_CAUSE_REJECTED;
}

int pfcp_msg_check(struct pfcp_msg *msg, struct pfcp_fault *fault)
{
	struct level level = {
		.members = msg->info->members,
		.count = msg->info->members_count,
		.may_be_empty = msg->type == PFCP_SESSION_MODIFICATION_REQUEST ||
				msg->type == PFCP_ASSOCIATION_UPDATE_REQUEST,
	};

	if (msg_is_refusal(msg))
		level.waived = UINT64_MAX;
	return ies_check(msg, msg->ies, &level, fault);
}
