// Node IDs: the name of a PFCP entity, an IPv4 or IPv6 address or a domain name (TS 29.244 8.2.38).
//
// Values: unused bytes are zero, and domain names are in lower case without the last dot, so two are the
// same when their bytes are. Any thread.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "pfcp/codec.h"
#include "pfcp/writer.h"

#define NODE_ID_STRLEN PFCP_NAME_MAX

struct node_id {
	uint8_t type; // enum pfcp_node_id_type
	uint8_t zero[3];
	struct addr addr;         // IPv4, IPv6
	char name[PFCP_NAME_MAX]; // FQDN
};
_Static_assert(sizeof(struct node_id) == 24 + PFCP_NAME_MAX, "no hidden padding");

// From a Node ID IE. -EINVAL: 68 when it is cut off, 69 for an unknown type or what is no domain name.
int node_id_decode(const struct pfcp_ie *ie, struct node_id *ret_id, struct pfcp_fault *fault);
void node_id_encode(struct pfcp_writer *w, const struct node_id *id);

// From text: an address, or else a domain name. -EINVAL.
int node_id_parse(const char *text, struct node_id *ret_id);

const char *node_id_str(char buf[NODE_ID_STRLEN], const struct node_id *id);
bool node_id_eq(const struct node_id *a, const struct node_id *b);
