// PFD Management (TS 29.244 6.2.5, 7.4.3.1, 8.2.39).
//
// Control thread only. The whole request is read before anything is changed. What it gives for an application
// takes the place of all that the application had; an application without PFD Context loses its PFDs, and a
// request without any application takes those of all away. Sessions follow afterwards (pfcp/app_sessions.c).

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "packet/be.h"
#include "pfcp/assoc.h"
#include "pfcp/handle_node.h"
#include "pfcp/pfd.h"

// The reading of one request.
struct reading {
	const struct pfd_limits *limits;
	struct pfd_set *set; // of the application that is being read
	uint16_t pfd;        // number of its PFD that is being read
	struct pfcp_fault *fault;
};

static int full(struct reading *r, uint16_t ie, const char *text)
{
	return fault_ie(r->fault, PFCP_CAUSE_NO_RESOURCES, ie, text);
}

static int wrong(struct reading *r, const char *text)
{
	return fault_ie(r->fault, PFCP_CAUSE_MANDATORY_INCORRECT, PFCP_IE_PFD_CONTENTS, text);
}

static int take_value(struct reading *r, enum pfd_kind kind, const uint8_t *text, size_t len)
{
	const char *why = "";

	if (len == 0)
		return wrong(r, "an empty value in a PFD");
	if (r->set->n_values == r->limits->values)
		return full(r, PFCP_IE_PFD_CONTENTS,
			    "as many PFDs of an application as are allowed");
	switch (pfd_set_add(r->set, kind, r->pfd, text, len, &why)) {
	case 0:
		return 0;
	case -EINVAL:
		return wrong(r, why);
	case -E2BIG:
		return full(r, PFCP_IE_PFD_CONTENTS,
			    "more flow descriptions than one PDR can match");
	default:
		return full(r, 0, "out of memory");
	}
}

// A run of texts, each after its length of two octets, of these kinds by turns.
static int take_run(struct reading *r, const struct pfcp_octets *run, const enum pfd_kind kinds[2])
{
	const uint8_t *at = run->data, *end = run->data + run->len;
	unsigned n = 0;

	for (; at < end; n++) {
		size_t left = (size_t)(end - at), len = left < 2 ? 0 : be16_get(at);

		if (left < 2 + len)
			return fault_ie(r->fault, PFCP_CAUSE_INVALID_LENGTH, PFCP_IE_PFD_CONTENTS,
					"a value runs past its PFD Contents");
		// A domain name may have no protocol; nothing else may be empty.
		if ((len > 0 || kinds[n % 2] != PFD_PROTOCOL) &&
		    take_value(r, kinds[n % 2], at + 2, len) < 0)
			return -EINVAL;
		at += 2 + len;
	}
	if (n == 0)
		return wrong(r, "a list of further values without any");
	return kinds[0] != kinds[1] && n % 2 ? wrong(r, "a domain name without its protocol") : 0;
}

static int take_contents(struct reading *r, const struct pfcp_ie *ie)
{
	static const enum pfd_kind flows[2] = {PFD_FLOW, PFD_FLOW};
	static const enum pfd_kind urls[2] = {PFD_URL, PFD_URL};
	static const enum pfd_kind domains[2] = {PFD_DOMAIN, PFD_PROTOCOL};
	struct pfcp_pfd_contents c;

	if (pfcp_pfd_contents_decode(ie, &c, r->fault) < 0)
		return -EINVAL;
	if (c.flags == 0)
		return wrong(r, "PFD Contents without contents");
	if ((c.flags & PFCP_PFD_CONTENTS_DNP) && !(c.flags & PFCP_PFD_CONTENTS_DN))
		return wrong(r, "Domain Name Protocol without Domain Name");

	const struct {
		uint8_t flag;
		enum pfd_kind kind;
		const struct pfcp_octets *text;
		const enum pfd_kind *run; // several; NULL: one
	} rows[] = {
		{PFCP_PFD_CONTENTS_FD, PFD_FLOW, &c.flow, NULL},
		{PFCP_PFD_CONTENTS_AFD, PFD_FLOW, &c.more_flows, flows},
		{PFCP_PFD_CONTENTS_URL, PFD_URL, &c.url, NULL},
		{PFCP_PFD_CONTENTS_AURL, PFD_URL, &c.more_urls, urls},
		{PFCP_PFD_CONTENTS_DN, PFD_DOMAIN, &c.domain, NULL},
		{PFCP_PFD_CONTENTS_DNP, PFD_PROTOCOL, &c.protocol, NULL},
		{PFCP_PFD_CONTENTS_ADNP, PFD_DOMAIN, &c.more_domains, domains},
		{PFCP_PFD_CONTENTS_CP, PFD_CUSTOM, &c.custom, NULL},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!(c.flags & rows[i].flag))
			continue;
		if (rows[i].run ? take_run(r, rows[i].text, rows[i].run) < 0
				: take_value(r, rows[i].kind, rows[i].text->data,
					     rows[i].text->len) < 0)
			return -EINVAL;
	}
	return 0;
}

// All PFD Contents of a PFD, each of which describes it by itself.
static int take_context(struct reading *r, const struct pfcp_ie *context)
{
	struct pfcp_cursor ies = pfcp_ie_members(context);
	struct pfcp_ie ie;

	r->pfd++;
	while (pfcp_ie_next(&ies, &ie) > 0)
		if (ie.type == PFCP_IE_PFD_CONTENTS && take_contents(r, &ie) < 0)
			return -EINVAL;
	return 0;
}

// The PFDs of an application go into r->set, which stays NULL where it is to have none.
static int take_contexts(struct reading *r, const struct pfcp_ie *group)
{
	struct pfcp_cursor ies = pfcp_ie_members(group);
	struct pfcp_ie ie;

	r->set = NULL;
	r->pfd = 0;
	while (pfcp_ie_next(&ies, &ie) > 0) {
		if (ie.type != PFCP_IE_PFD_CONTEXT)
			continue;
		if (!r->set)
			r->set = pfd_set_new();
		if (!r->set)
			return full(r, 0, "out of memory");
		if (take_context(r, &ie) < 0)
			return -EINVAL;
	}
	return 0;
}

static int take_app(struct reading *r, const struct pfcp_ie *group, struct pfd_change *change)
{
	struct pfcp_ie id;

	if (pfcp_ie_find(pfcp_ie_members(group), PFCP_IE_APPLICATION_ID, &id) < 0)
		return fault_ie(r->fault, PFCP_CAUSE_MANDATORY_MISSING, PFCP_IE_APPLICATION_ID,
				"no Application ID");
	if (id.len == 0 || memchr(id.data, 0, id.len))
		return fault_ie(r->fault, PFCP_CAUSE_MANDATORY_INCORRECT, id.type,
				"an Application ID that is empty or has a NUL");
	if (id.len >= PFD_NAME_MAX)
		return full(r, id.type, "an Application ID of more than 255 octets");
	if (change->n == r->limits->apps)
		return full(r, group->type, "as many applications as are allowed");
	if (take_contexts(r, group) < 0) {
		pfd_set_free(r->set);
		return -EINVAL;
	}
	switch (pfd_change_add(change, id.data, id.len, r->set)) {
	case 0:
		return 0;
	case -EEXIST:
		return fault_ie(r->fault, PFCP_CAUSE_MANDATORY_INCORRECT, id.type,
				"an application twice in a request");
	default:
		return full(r, 0, "out of memory");
	}
}

static int take_apps(struct n4 *n4, const struct pfcp_msg *msg, struct pfd_change *change,
		     struct pfcp_fault *fault)
{
	struct reading r = {.limits = &n4->env.pfds->limits, .fault = fault};
	struct pfcp_cursor ies = msg->ies;
	struct pfcp_ie ie;

	while (pfcp_ie_next(&ies, &ie) > 0)
		if (ie.type == PFCP_IE_APPLICATION_IDS_PFDS && take_app(&r, &ie, change) < 0)
			return -EINVAL;
	change->all = change->n == 0;
	return 0;
}

// The association of the sender: that of the Node ID, if one is given, else one of its address. NULL with the
// fault.
static struct assoc *sender(struct n4 *n4, const struct n4_request *rq, struct pfcp_fault *fault)
{
	struct assoc *a;
	struct node_id id;
	struct pfcp_ie ie;
	bool only;

	if (pfcp_ie_find(rq->msg.ies, PFCP_IE_NODE_ID, &ie) < 0) {
		a = assoc_lookup_addr(n4, &rq->from.addr, &only);
	} else {
		if (node_id_decode(&ie, &id, fault) < 0)
			return NULL;
		a = assoc_lookup(n4, &id);
		if (a && !assoc_speaks(n4, a, &rq->from))
			a = NULL;
	}
	if (a && a->state != ASSOC_ENDING)
		return a;
	fault_cause(fault, PFCP_CAUSE_NO_ASSOCIATION, "no association");
	return NULL;
}

void node_pfds(struct n4 *n4, struct n4_request *rq)
{
	struct pfd_change change = {0};
	struct pfcp_fault fault = {0};
	struct assoc *a = sender(n4, rq, &fault);
	char name[NODE_ID_STRLEN];
	unsigned n;
	int rc;

	if (!a) {
		node_refuse(rq, &fault);
		return;
	}
	a->requests++;
	rq->assoc = a;
	rq->keep = true;
	xact_belongs(rq->xact, &a->xacts);
	rc = take_apps(n4, &rq->msg, &change, &fault);
	n = change.n;
	if (rc == 0)
		rc = pfd_change_apply(n4->env.pfds, &change, &a->id, &fault);
	pfd_change_fini(&change);
	if (rc < 0) {
		if (fault.cause == PFCP_CAUSE_NO_RESOURCES)
			n4_count(n4, N4_COUNT_pfds_full);
		node_refuse(rq, &fault);
		return;
	}
	log_info_limited("N4: %s changes the PFDs of %s%u applications", node_id_str(name, &a->id),
			 n ? "" : "all ", n ? n : n4->env.pfds->n_apps);
	node_accept(rq);
}
