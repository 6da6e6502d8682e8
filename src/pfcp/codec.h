// Reading PFCP: messages, the IEs in them, the values of IEs (TS 29.244 7.2, 7.6, 8.1, 8.2).
//
// No heap and no state: everything points into the datagram, which must outlive it. Nothing that a peer
// sends is trusted; a read beyond the innermost enclosing IE is a fault, never an access. Any thread.
//
// The way of a datagram: pfcp_msg_decode for each message in it, pfcp_msg_check for what the tables can
// tell of it as a whole, then pfcp_ie_next or pfcp_ie_find and the decoder of each IE that is used.
// Functions return 0 or -errno; those that take a fault fill it with cause and Offending IE.

#pragma once

#include <errno.h>
#include <stddef.h>

#include "pfcp/ie.h"

#define PFCP_PORT 8805
#define PFCP_VERSION 1
#define PFCP_MSG_MAX 65535 // octets of a UDP payload and more
#define PFCP_DEPTH_MAX 8   // groups in groups; the deepest of Release 17 is 4

enum pfcp_presence {
	PFCP_OPTIONAL, // and conditional-optional
	PFCP_CONDITIONAL,
	PFCP_MANDATORY,
};

// A row of member.def.
struct pfcp_member {
	uint16_t type;
	uint8_t presence; // enum pfcp_presence
	bool several;
};

// A row of ie.def, with its members when it is a group.
struct pfcp_ie_info {
	const char *title; // 3GPP's name
	const char *clause;
	uint8_t kind; // enum pfcp_kind
	uint8_t least;
	uint8_t members_count;
	const struct pfcp_member *members;
};

// A row of msg.def.
struct pfcp_msg_info {
	const char *title;
	const char *clause;
	bool session; // has a SEID
	bool request;
	uint8_t members_count;
	const struct pfcp_member *members;
};

// NULL for what Release 17 does not know.
const struct pfcp_ie_info *pfcp_ie_info_lookup(uint16_t type);
const struct pfcp_msg_info *pfcp_msg_info_lookup(uint8_t type);

// What is left to read.
struct pfcp_cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static inline size_t pfcp_cursor_left(const struct pfcp_cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline struct pfcp_cursor pfcp_cursor_of(const void *data, size_t len)
{
	const uint8_t *at = data;

	return (struct pfcp_cursor){at, at + len};
}

struct pfcp_msg {
	uint8_t type;
	uint8_t version;
	uint8_t priority; // 0 is the highest; 0 when not given
	bool has_seid;
	bool has_priority;
	bool more;    // FO: another message follows in the datagram
	uint32_t seq; // 24 bits
	uint64_t seid;
	const struct pfcp_msg_info *info; // NULL: unknown type
	struct pfcp_cursor ies;
	// Counted by pfcp_msg_check: what it skipped (7.6.9, 7.6.10).
	uint16_t unknown;    // types without a row
	uint16_t vendor;     // enterprise IEs
	uint16_t unexpected; // known, but not in this message or group
	uint16_t repeated;   // again, where one may come
};

// One IE. For a vendor's, `data` begins after the enterprise number.
struct pfcp_ie {
	uint16_t type;
	uint16_t len;
	uint16_t enterprise;
	const uint8_t *data;
};

// Takes one message from a datagram. On success the cursor stands behind it; call again while
// ret_msg->more. Errors mean that the datagram is to be discarded (7.6.3):
//   -EBADMSG          the header lies or its S flag does not fit the type
//   -EPROTONOSUPPORT  another version: answer Version Not Supported with ret_msg->seq (7.6.2)
//   -ENOMSG           unknown message type (7.6.4); the cursor stands behind it all the same
// ret_msg is filled as far as the header could be read.
int pfcp_msg_decode(struct pfcp_cursor *datagram, struct pfcp_msg *ret_msg);

// Walks the whole message by the tables: lengths (68), mandatory IEs (66). Counts what it skips. IEs with
// a struct or a plain number must hold all the fields that their flags announce; for those that are only
// printed the least length is enough. A response that refuses needs only its Cause (7.2.3.2). An empty IE
// in an update of a session is a removal and no fault, unless it is mandatory (5.6.3).
int pfcp_msg_check(struct pfcp_msg *msg, struct pfcp_fault *fault);

#define PFCP_IE_HEADER 4

// pfcp_ie_next() for all but an IE of 3GPP's that fits.
int pfcp_ie_next_other(struct pfcp_cursor *ies, struct pfcp_ie *ret_ie);

// 1 and an IE, 0 at the end, -EBADMSG for one that does not fit; ret_ie->type then names it, or is
// PFCP_IE_NONE when even that is cut off.
static inline int pfcp_ie_next(struct pfcp_cursor *ies, struct pfcp_ie *ret_ie)
{
	const uint8_t *at = ies->at;
	size_t left = pfcp_cursor_left(ies);
	uint16_t type, len;

	if (left < PFCP_IE_HEADER)
		return pfcp_ie_next_other(ies, ret_ie);
	type = (uint16_t)(at[0] << 8 | at[1]);
	len = (uint16_t)(at[2] << 8 | at[3]);
	if (len > left - PFCP_IE_HEADER || type >= PFCP_IE_VENDOR)
		return pfcp_ie_next_other(ies, ret_ie);
	*ret_ie = (struct pfcp_ie){.type = type, .len = len, .data = at + PFCP_IE_HEADER};
	ies->at = at + PFCP_IE_HEADER + len;
	return 1;
}

// The first IE of a type among these: 0, -ENOENT, -EBADMSG.
int pfcp_ie_find(struct pfcp_cursor ies, uint16_t type, struct pfcp_ie *ret_ie);

// What is in a group.
static inline struct pfcp_cursor pfcp_ie_members(const struct pfcp_ie *ie)
{
	return pfcp_cursor_of(ie->data, ie->len);
}

static inline bool pfcp_ie_is_group(const struct pfcp_ie *ie)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(ie->type);

	return info && (info->kind == PFCP_KIND_GROUP || info->kind == PFCP_KIND_CREATE);
}

// Whether a value has all the octets that its own flags and lengths announce: 0, or -EINVAL and 68.
int pfcp_ie_check(const struct pfcp_ie *ie, struct pfcp_fault *fault);

// A number, a set of flags, an enumerated value, a time; a timer's octet as it stands. 68 when cut off,
// 69 for values that 3GPP rules out: see pfcp/codec_ie.c.
int pfcp_uint_decode(const struct pfcp_ie *ie, uint64_t *ret_value, struct pfcp_fault *fault);

// The same of the first IE of this type among these, where it says no more to be absent or bad than to be 0:
// flags, the Cause of an answer. 0 for all three.
uint64_t pfcp_uint_find(struct pfcp_cursor ies, uint16_t type);

// int pfcp_<struct>_decode(ie, ret, fault) for every struct of pfcp/ie.h: 68 when cut off, 69 when its
// flags contradict each other. The IE must be of a type that the struct belongs to.
#define PFCP_DECLARE(name, IE)                                                                     \
	int pfcp_##name##_decode(const struct pfcp_ie *ie, struct pfcp_##name *ret_##name,         \
				 struct pfcp_fault *fault);
#define PFCP_DECLARE_SHARED(name) PFCP_DECLARE(name, )
PFCP_TYPED(PFCP_DECLARE)
PFCP_TYPED_SHARED(PFCP_DECLARE_SHARED)
#undef PFCP_DECLARE
#undef PFCP_DECLARE_SHARED

// A name of up to size-1 characters (Network Instance, APN/DNN, FQDN) in its one form: lower case, labels
// joined by dots, no dot at the end. Takes labels and plain text; "" for an empty one. -EINVAL for what
// is neither, for control characters and blanks, and for names that do not fit.
#define PFCP_NAME_MAX 256 // with its NUL
int pfcp_name_text(const uint8_t *data, size_t len, char *ret_text, size_t size);
int pfcp_name_decode(const struct pfcp_ie *ie, char *ret_text, size_t size,
		     struct pfcp_fault *fault);

// Seconds of a Timer, Graceful Release Period or DL Buffering Duration octet, and the shortest octet that
// lasts at least so long (8.2.35).
uint32_t pfcp_timer_seconds(uint8_t octet);
uint8_t pfcp_timer_octet(uint32_t seconds);
