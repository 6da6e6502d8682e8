// Sets of sessions, see session_set.h.
//
// Control thread only.

#include "pfcp/session_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pfcp/n4.h"
#include "pfcp/writer.h"

#define NODE_TYPE_UP 5 // of an FQ-CSID: SGW-U, PGW-U, UPF
#define ID_TYPE_V4 0
#define ID_TYPE_V6 1
#define OWN_ID 1 // all our sessions fail together, so there is one set

static int csids_add(struct csid *csids, unsigned *n, const struct pfcp_fq_csid *fq,
		     struct pfcp_fault *fault)
{
	struct csid csid = {.node_type = fq->node_type, .id_type = fq->type};

	if (fq->type == ID_TYPE_V6)
		memcpy(csid.node, &fq->v6, sizeof(fq->v6));
	else
		memcpy(csid.node, &fq->v4, sizeof(fq->v4));
	for (unsigned i = 0; i < fq->count; i++) {
		if (*n == SESSION_SET_CSIDS)
			return fault_ie(fault, PFCP_CAUSE_NO_RESOURCES, PFCP_IE_FQ_CSID,
					"more session sets than are kept");
		csid.id = (uint16_t)(fq->ids.data[2 * i] << 8 | fq->ids.data[2 * i + 1]);
		csids[(*n)++] = csid;
	}
	return 0;
}

int session_set_csids(struct pfcp_cursor ies, struct csid *ret_csids, unsigned *ret_n,
		      struct pfcp_fault *fault)
{
	struct pfcp_fq_csid fq;
	struct pfcp_ie ie;

	*ret_n = 0;
	while (pfcp_ie_next(&ies, &ie) > 0)
		if (ie.type == PFCP_IE_FQ_CSID && ie.len > 0 &&
		    (pfcp_fq_csid_decode(&ie, &fq, fault) < 0 ||
		     csids_add(ret_csids, ret_n, &fq, fault) < 0))
			return -EINVAL;
	return 0;
}

static bool has_node_type(const struct csid *csids, unsigned n, uint8_t node_type)
{
	for (unsigned i = 0; i < n; i++)
		if (csids[i].node_type == node_type)
			return true;
	return false;
}

// Adds those of `old` whose node type none of the new ones has.
static int csids_keep(const struct session_set *old, struct csid *csids, unsigned *n,
		      struct pfcp_fault *fault)
{
	unsigned n_new = *n;

	for (unsigned i = 0; i < old->n_csids; i++) {
		if (has_node_type(csids, n_new, old->csids[i].node_type))
			continue;
		if (*n == SESSION_SET_CSIDS)
			return fault_ie(fault, PFCP_CAUSE_NO_RESOURCES, PFCP_IE_FQ_CSID,
					"more session sets than are kept");
		csids[(*n)++] = old->csids[i];
	}
	return 0;
}

// Whether the request has an empty FQ-CSID: all that was given before goes (5.6.3).
static bool takes_away(struct pfcp_cursor ies)
{
	struct pfcp_ie ie;

	while (pfcp_ie_next(&ies, &ie) > 0)
		if (ie.type == PFCP_IE_FQ_CSID && ie.len == 0)
			return true;
	return false;
}

static int set_make(const struct csid *csids, unsigned n, const struct pfcp_ie *group,
		    struct session_set **ret_set, struct pfcp_fault *fault)
{
	struct session_set *set;

	if (group->len > SESSION_SET_GROUP)
		return fault_ie(fault, PFCP_CAUSE_NO_RESOURCES, PFCP_IE_GROUP_ID,
				"longer Group ID than is kept");
	*ret_set = NULL;
	if (n == 0 && group->len == 0)
		return 0;
	set = calloc(1, sizeof(*set) + n * sizeof(set->csids[0]));
	if (!set)
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	set->n_csids = (uint8_t)n;
	memcpy(set->csids, csids, n * sizeof(csids[0]));
	set->group_len = (uint8_t)group->len;
	if (group->len)
		memcpy(set->group, group->data, group->len);
	*ret_set = set;
	return 0;
}

int session_set_decode(const struct pfcp_msg *msg, const struct session_set *old,
		       struct session_set **ret_set, struct pfcp_fault *fault)
{
	struct csid csids[SESSION_SET_CSIDS];
	struct pfcp_ie group = {0};
	unsigned n;

	if (session_set_csids(msg->ies, csids, &n, fault) < 0)
		return -EINVAL;
	if (old && !takes_away(msg->ies) && csids_keep(old, csids, &n, fault) < 0)
		return -EINVAL;
	if (pfcp_ie_find(msg->ies, PFCP_IE_GROUP_ID, &group) < 0) {
		group.len = old ? old->group_len : 0;
		group.data = old ? old->group : NULL;
	}
	return set_make(csids, n, &group, ret_set, fault);
}

// --- ours ------------------------------------------------------------------------------------------------

// By the address that we listen at, or else the one that is our Node ID; 0.0.0.0 where there is neither.
static struct csid own_csid(const struct n4 *n4)
{
	const struct addr *addrs[] = {&n4->conf.listen[0].addr, &n4->conf.listen[1].addr,
				      &n4->conf.node_id.addr};
	struct csid own = {.node_type = NODE_TYPE_UP, .id_type = ID_TYPE_V4, .id = OWN_ID};

	for (unsigned i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		if (addrs[i]->family == ADDR_NONE || addr_is_unspecified(addrs[i]))
			continue;
		own.id_type = addrs[i]->family == ADDR_V4 ? ID_TYPE_V4 : ID_TYPE_V6;
		memcpy(own.node, addrs[i]->v6,
		       addr_bits(addrs[i]) / 8); // v4 stands in the same bytes
		break;
	}
	return own;
}

void session_set_own_encode(struct pfcp_writer *w, const struct n4 *n4)
{
	const struct csid own = own_csid(n4);
	const uint8_t id[2] = {(uint8_t)(own.id >> 8), (uint8_t)own.id};
	struct pfcp_fq_csid fq = {.type = own.id_type,
				  .count = 1,
				  .node_type = own.node_type,
				  .ids = {id, sizeof(id)}};

	if (own.id_type == ID_TYPE_V6)
		memcpy(&fq.v6, own.node, sizeof(fq.v6));
	else
		memcpy(&fq.v4, own.node, sizeof(fq.v4));
	pfcp_fq_csid_encode(w, &fq);
}

// --- matching --------------------------------------------------------------------------------------------

// The node type came with Release 15; where one side does not say it, the node and its number decide.
static bool csid_eq(const struct csid *a, const struct csid *b)
{
	return a->id == b->id && a->id_type == b->id_type &&
	       memcmp(a->node, b->node, sizeof(a->node)) == 0 &&
	       (a->node_type == b->node_type || a->node_type == 0 || b->node_type == 0);
}

static bool csids_have(const struct csid *csids, unsigned n, const struct csid *csid)
{
	for (unsigned i = 0; i < n; i++)
		if (csid_eq(&csids[i], csid))
			return true;
	return false;
}

bool session_set_match(const struct n4 *n4, const struct session_set *set, const struct csid *csids,
		       unsigned n)
{
	struct csid own;

	if (!set)
		return false;
	for (unsigned i = 0; i < set->n_csids; i++)
		if (csids_have(csids, n, &set->csids[i]))
			return true;
	own = own_csid(n4);
	return set->n_csids > 0 && csids_have(csids, n, &own);
}
