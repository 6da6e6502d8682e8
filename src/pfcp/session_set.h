// Sets of sessions: the FQ-CSIDs and the Group ID by which an SMF names many at once (TS 29.244 8.2.43, 8.2.198,
// TS 23.007 23).
//
// Control thread only. Values: what a session was given, by its establishment and by modifications; NULL where there
// is nothing. A set that another node is in fails with that node, so its sessions end together.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pfcp/codec.h"

struct n4;
struct pfcp_writer;

#define SESSION_SET_CSIDS 16 // that a session, or a request for sets, may have
#define SESSION_SET_GROUP 64 // octets of a Group ID

// One of the sets that an FQ-CSID names.
struct csid {
	uint8_t node_type; // 0: MME, or not said
	uint8_t id_type;   // how `node` is to be read: 0 IPv4, 1 IPv6, 2 MCC, MNC and number
	uint16_t id;
	uint8_t node[16];
};

struct session_set {
	uint8_t n_csids;
	uint8_t group_len; // 0: no Group ID
	uint8_t group[SESSION_SET_GROUP];
	struct csid csids[];
};

// The sets of a session after this request; `old` may be NULL, and stays. An FQ-CSID takes the place of those of its
// node type; an empty one takes all away. 0 and *ret_set, NULL for none. -EINVAL with the fault.
int session_set_decode(const struct pfcp_msg *msg, const struct session_set *old,
		       struct session_set **ret_set, struct pfcp_fault *fault);

// All the FQ-CSIDs among the IEs, at most SESSION_SET_CSIDS. 0, or -EINVAL with the fault.
int session_set_csids(struct pfcp_cursor ies, struct csid *ret_csids, unsigned *ret_n,
		      struct pfcp_fault *fault);

// Whether a session of these sets (NULL: none) is in one of those. Ours is that of every session that has any.
bool session_set_match(const struct n4 *n4, const struct session_set *set, const struct csid *csids,
		       unsigned n);

// Our own FQ-CSID, for the answer to who gave some.
void session_set_own_encode(struct pfcp_writer *w, const struct n4 *n4);
