// Node IDs, see node_id.h: the IE (TS 29.244 8.2.38), text, comparison.
//
// Any thread. The codec knows the octets; here an IE becomes a value that can be kept and compared.

#include "pfcp/node_id.h"

#include <errno.h>
#include <string.h>

int node_id_decode(const struct pfcp_ie *ie, struct node_id *ret_id, struct pfcp_fault *fault)
{
	struct node_id id = {0};
	struct pfcp_node_id read;

	if (pfcp_node_id_decode(ie, &read, fault) < 0)
		return -EINVAL;
	id.type = read.type;
	switch (read.type) {
	case PFCP_NODE_ID_IPV4:
		id.addr = addr_v4(read.v4.s_addr);
		break;
	case PFCP_NODE_ID_IPV6:
		id.addr = addr_v6(read.v6.s6_addr);
		break;
	case PFCP_NODE_ID_FQDN:
		if (pfcp_name_text(read.fqdn.data, read.fqdn.len, id.name, sizeof(id.name)) == 0 &&
		    id.name[0] != '\0')
			break;
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_INCORRECT, PFCP_IE_NODE_ID,
				"Node ID is not a domain name");
	default:
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_INCORRECT, PFCP_IE_NODE_ID,
				"Node ID of an unknown type");
	}
	// The text's bytes behind its NUL are not the name's.
	memset(id.name + strlen(id.name), 0, sizeof(id.name) - strlen(id.name));
	*ret_id = id;
	return 0;
}

void node_id_encode(struct pfcp_writer *w, const struct node_id *id)
{
	struct pfcp_node_id node = {.type = id->type};
	uint8_t labels[PFCP_NAME_MAX];
	int len;

	if (id->type == PFCP_NODE_ID_IPV4)
		node.v4.s_addr = id->addr.v4;
	if (id->type == PFCP_NODE_ID_IPV6)
		memcpy(&node.v6, id->addr.v6, sizeof(node.v6));
	if (id->type == PFCP_NODE_ID_FQDN) {
		len = pfcp_name_labels(id->name, labels, sizeof(labels));
		w->failed |= len < 0;
		node.fqdn = (struct pfcp_octets){labels, len < 0 ? 0 : (uint16_t)len};
	}
	pfcp_node_id_encode(w, &node);
}

int node_id_parse(const char *text, struct node_id *ret_id)
{
	struct node_id id = {0};
	uint8_t labels[PFCP_NAME_MAX];
	int len;

	if (addr_parse(text, &id.addr) == 0) {
		id.type = id.addr.family == ADDR_V4 ? PFCP_NODE_ID_IPV4 : PFCP_NODE_ID_IPV6;
		*ret_id = id;
		return 0;
	}
	// To labels and back, so that a name given here and the same name received are equal.
	id.type = PFCP_NODE_ID_FQDN;
	len = pfcp_name_labels(text, labels, sizeof(labels));
	if (len <= 0 || pfcp_name_text(labels, (size_t)len, id.name, sizeof(id.name)) < 0)
		return -EINVAL;
	if (id.name[0] == '\0')
		return -EINVAL;
	memset(id.name + strlen(id.name), 0, sizeof(id.name) - strlen(id.name));
	*ret_id = id;
	return 0;
}

const char *node_id_str(char buf[NODE_ID_STRLEN], const struct node_id *id)
{
	if (id->type == PFCP_NODE_ID_FQDN)
		memcpy(buf, id->name, sizeof(id->name));
	else
		addr_str(buf, &id->addr);
	return buf;
}

bool node_id_eq(const struct node_id *a, const struct node_id *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
