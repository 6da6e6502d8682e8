// The tables of PFCP as data, made from ie.def, msg.def, member.def, flag.def and value.def.
//
// Constants and lookups, see pfcp/codec.h.

#include <assert.h>

#include "pfcp/codec.h"
#include "pfcp/codec_layout.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// The walker keeps a bit for each member that it saw.
#define MEMBERS(array)                                                                             \
	static_assert(COUNT(array) <= 64, "more members than bits in the walker's mask")

// The letters of member.def and msg.def.
#define M(NAME) {PFCP_IE_##NAME, PFCP_MANDATORY, false},
#define C(NAME) {PFCP_IE_##NAME, PFCP_CONDITIONAL, false},
#define O(NAME) {PFCP_IE_##NAME, PFCP_OPTIONAL, false},
#define Ms(NAME) {PFCP_IE_##NAME, PFCP_MANDATORY, true},
#define Cs(NAME) {PFCP_IE_##NAME, PFCP_CONDITIONAL, true},
#define Os(NAME) {PFCP_IE_##NAME, PFCP_OPTIONAL, true},

#define GROUP(NAME, ...)                                                                           \
	static const struct pfcp_member group_##NAME[] = {__VA_ARGS__};                            \
	MEMBERS(group_##NAME);
#include "pfcp/member.def"
#undef GROUP

#define MSG(type, NAME, title, SCOPE, DIRECTION, clause, ...)                                      \
	static const struct pfcp_member msg_##NAME[] = {__VA_ARGS__};                              \
	MEMBERS(msg_##NAME);
#include "pfcp/msg.def"
#undef MSG

#define NO_MEMBERS 0, NULL
#define MEMBERS_GROUP(NAME) COUNT(group_##NAME), group_##NAME
#define MEMBERS_CREATE(NAME) MEMBERS_GROUP(NAME)
#define MEMBERS_LAYOUT(NAME) NO_MEMBERS
#define MEMBERS_U8(NAME) NO_MEMBERS
#define MEMBERS_U16(NAME) NO_MEMBERS
#define MEMBERS_U24(NAME) NO_MEMBERS
#define MEMBERS_U32(NAME) NO_MEMBERS
#define MEMBERS_U64(NAME) NO_MEMBERS
#define MEMBERS_COUNT(NAME) NO_MEMBERS
#define MEMBERS_FLAGS(NAME) NO_MEMBERS
#define MEMBERS_FEATURES(NAME) NO_MEMBERS
#define MEMBERS_ENUM(NAME) NO_MEMBERS
#define MEMBERS_TYPE(NAME) NO_MEMBERS
#define MEMBERS_TIME(NAME) NO_MEMBERS
#define MEMBERS_TIMER(NAME) NO_MEMBERS
#define MEMBERS_NAME(NAME) NO_MEMBERS
#define MEMBERS_TEXT(NAME) NO_MEMBERS
#define MEMBERS_OCTETS(NAME) NO_MEMBERS

static const struct pfcp_ie_info ie_infos[PFCP_IE_COUNT] = {
#define IE(type, NAME, title, KIND, least, clause)                                                 \
	[type] = {title, clause, PFCP_KIND_##KIND, least, MEMBERS_##KIND(NAME)},
#include "pfcp/ie.def"
#undef IE
};

#define IS_NODE false
#define IS_SESSION true
#define IS_RESPONSE false
#define IS_REQUEST true

static const struct pfcp_msg_info msg_infos[PFCP_MSG_COUNT] = {
#define MSG(type, NAME, title, SCOPE, DIRECTION, clause, ...)                                      \
	[type] = {title, clause, IS_##SCOPE, IS_##DIRECTION, COUNT(msg_##NAME), msg_##NAME},
#include "pfcp/msg.def"
#undef MSG
};

#define FLAG(IE, octet, bit, NAME) {#NAME, ((octet)-5) * 8 + (bit)-1},
#define FLAGS(IE, ...) static const struct pfcp_flag_name flags_##IE[] = {__VA_ARGS__};
#include "pfcp/flag.def"
#undef FLAGS

static const struct pfcp_flag_names flag_names[PFCP_IE_COUNT] = {
#define FLAGS(IE, ...) [PFCP_IE_##IE] = {flags_##IE, COUNT(flags_##IE)},
#include "pfcp/flag.def"
#undef FLAGS
#undef FLAG
};

#define VALUE(number, name) {name, number},
#define VALUES(IE, mask, ...) static const struct pfcp_value_name values_##IE[] = {__VA_ARGS__};
#include "pfcp/value.def"
#undef VALUES

static const struct pfcp_value_names value_names[PFCP_IE_COUNT] = {
#define VALUES(IE, mask, ...) [PFCP_IE_##IE] = {values_##IE, COUNT(values_##IE), mask},
#include "pfcp/value.def"
#undef VALUES
#undef VALUE
};

const struct pfcp_ie_info *pfcp_ie_info_lookup(uint16_t type)
{
	if (type >= PFCP_IE_COUNT || ie_infos[type].kind == PFCP_KIND_UNKNOWN)
		return NULL;
	return &ie_infos[type];
}

const struct pfcp_msg_info *pfcp_msg_info_lookup(uint8_t type)
{
	if (type >= PFCP_MSG_COUNT || msg_infos[type].title == NULL)
		return NULL;
	return &msg_infos[type];
}

const struct pfcp_flag_names *pfcp_flag_names_get(uint16_t type)
{
	return &flag_names[type < PFCP_IE_COUNT ? type : PFCP_IE_NONE];
}

const struct pfcp_value_names *pfcp_value_names_get(uint16_t type)
{
	return &value_names[type < PFCP_IE_COUNT ? type : PFCP_IE_NONE];
}
