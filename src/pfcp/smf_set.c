// SMF sets, see smf_set.h.
//
// Control thread only.

#include "pfcp/smf_set.h"

#include <errno.h>
#include <string.h>

#include "pfcp/assoc.h"
#include "pfcp/n4_session.h"

#define SET_ID_SPARE 1 // octets before the name (8.2.131)

struct addr smf_set_addr(const struct pfcp_cp_address *address)
{
	if (address->flags & PFCP_ALTERNATIVE_SMF_IP_ADDRESS_V4)
		return addr_v4(address->v4.s_addr);
	if (address->flags & PFCP_ALTERNATIVE_SMF_IP_ADDRESS_V6)
		return addr_v6(address->v6.s6_addr);
	return (struct addr){0};
}

static int addr_add(struct smf_set *set, const struct addr *addr, struct pfcp_fault *fault)
{
	if (smf_set_has(set, addr))
		return 0;
	if (set->n_addrs == SMF_SET_ADDRS)
		return fault_ie(fault, PFCP_CAUSE_NO_RESOURCES, PFCP_IE_ALTERNATIVE_SMF_IP_ADDRESS,
				"more SMFs of a set than are kept");
	set->addrs[set->n_addrs++] = *addr;
	return 0;
}

static int addrs_add(struct smf_set *set, const struct pfcp_ie *ie, struct pfcp_fault *fault)
{
	struct pfcp_cp_address address;
	struct addr v4, v6;

	if (pfcp_cp_address_decode(ie, &address, fault) < 0)
		return -EINVAL;
	v4 = addr_v4(address.v4.s_addr);
	v6 = addr_v6(address.v6.s6_addr);
	if (address.flags & PFCP_ALTERNATIVE_SMF_IP_ADDRESS_V4 && addr_add(set, &v4, fault) < 0)
		return -EINVAL;
	if (address.flags & PFCP_ALTERNATIVE_SMF_IP_ADDRESS_V6 && addr_add(set, &v6, fault) < 0)
		return -EINVAL;
	return 0;
}

static int set_id_decode(const struct pfcp_ie *ie, char id[PFCP_NAME_MAX], struct pfcp_fault *fault)
{
	char name[PFCP_NAME_MAX];

	if (ie->len <= SET_ID_SPARE)
		return fault_ie(fault, PFCP_CAUSE_INVALID_LENGTH, ie->type,
				"SMF Set ID without a name");
	if (pfcp_name_text(ie->data + SET_ID_SPARE, ie->len - SET_ID_SPARE, name, sizeof(name)) <
		    0 ||
	    name[0] == '\0')
		return fault_ie(fault, PFCP_CAUSE_MANDATORY_INCORRECT, ie->type,
				"SMF Set ID that is no name");
	memcpy(id, name, sizeof(name));
	return 0;
}

int smf_set_decode(const struct pfcp_msg *msg, struct smf_set *set, struct pfcp_fault *fault)
{
	struct pfcp_cursor ies = msg->ies;
	struct smf_set read = *set;
	bool first = true;
	struct pfcp_ie ie;

	if (pfcp_ie_find(ies, PFCP_IE_SMF_SET_ID, &ie) == 0 &&
	    set_id_decode(&ie, read.id, fault) < 0)
		return -EINVAL;
	while (pfcp_ie_next(&ies, &ie) > 0) {
		if (ie.type != PFCP_IE_ALTERNATIVE_SMF_IP_ADDRESS)
			continue;
		if (first)
			read.n_addrs = 0;
		first = false;
		if (addrs_add(&read, &ie, fault) < 0)
			return -EINVAL;
	}
	*set = read;
	return 0;
}

bool smf_set_has(const struct smf_set *set, const struct addr *addr)
{
	for (unsigned i = 0; i < set->n_addrs; i++)
		if (addr_eq(&set->addrs[i], addr))
			return true;
	return false;
}

bool smf_set_same(const struct assoc *a, const struct assoc *b)
{
	return a == b || (a->set.id[0] && strcmp(a->set.id, b->set.id) == 0);
}

// Who asks for a session, and of whose it is.
struct speaker {
	const struct assoc *owner;
	const struct addr *from;
	bool found;
};

static bool speaker_find(void *ctx, const struct assoc *assoc)
{
	struct speaker *speaker = ctx;

	speaker->found = addr_eq(&assoc->addr.addr, speaker->from) &&
			 smf_set_same(speaker->owner, assoc);
	return !speaker->found;
}

bool smf_set_speaks(const struct n4 *n4, const struct n4_session *session, const struct addr *from)
{
	struct speaker speaker = {.owner = session->assoc, .from = from};

	if (addr_eq(from, &session->assoc->addr.addr) || addr_eq(from, session->made_by) ||
	    addr_eq(from, session->cp_addr) || smf_set_has(&session->assoc->set, from))
		return true;
	if (session->assoc->set.id[0])
		assoc_each(n4, speaker_find, &speaker);
	return speaker.found;
}
