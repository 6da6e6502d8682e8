// Answers to session requests, see answer.h.
// Control thread. Refusals are logged here and nowhere else, with the words of the fault.

#include "pfcp/answer.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "pfcp/load.h"
#include "pfcp/report.h"
#include "pfcp/session_set.h"
#include "pfcp/writer.h"

// Takes an address into an F-SEID that has none of its family yet.
static void f_seid_add(struct pfcp_f_seid *f_seid, const struct addr *addr)
{
	if (addr->family == ADDR_NONE || addr_is_unspecified(addr))
		return;
	if (addr->family == ADDR_V4 && !(f_seid->flags & PFCP_F_SEID_V4)) {
		f_seid->flags |= PFCP_F_SEID_V4;
		f_seid->v4.s_addr = addr->v4;
	}
	if (addr->family == ADDR_V6 && !(f_seid->flags & PFCP_F_SEID_V6)) {
		f_seid->flags |= PFCP_F_SEID_V6;
		memcpy(&f_seid->v6, addr->v6, sizeof(f_seid->v6));
	}
}

// The address of our F-SEID: the one that was asked, and of the other family where we listen, or else the
// address that is our Node ID.
static void f_seid_encode(struct pfcp_writer *w, const struct n4_request *rq, uint64_t seid)
{
	const struct n4_conf *conf = &rq->n4->conf;
	struct pfcp_f_seid f_seid = {.seid = seid};

	f_seid_add(&f_seid, &rq->local);
	for (unsigned i = 0; i < N4_LISTEN_MAX; i++)
		f_seid_add(&f_seid, &conf->listen[i].addr);
	f_seid_add(&f_seid, &conf->node_id.addr);
	if (!f_seid.flags)
		f_seid.flags =
			PFCP_F_SEID_V4; // the wildcard: the peer knows where it sent its request to
	pfcp_f_seid_encode(w, &f_seid);
}

// Whether the request's PDI asks for this; a Create PDR that we picked something for has done so.
static bool asks_for(const struct pfcp_ie *group, uint16_t type)
{
	struct pfcp_ie ie;

	return group->type == PFCP_IE_CREATE_PDR ||
	       (pfcp_ie_find(pfcp_ie_members(group), PFCP_IE_PDI, &ie) == 0 &&
		pfcp_ie_find(pfcp_ie_members(&ie), type, &ie) == 0);
}

static struct pfcp_f_teid f_teid_of(const struct fteid *fteid)
{
	return (struct pfcp_f_teid){
		.flags = (uint8_t)((fteid->has_v4 ? PFCP_F_TEID_V4 : 0) |
				   (fteid->has_v6 ? PFCP_F_TEID_V6 : 0)),
		.teid = fteid->teid,
		.v4 = fteid->v4,
		.v6 = fteid->v6,
	};
}

static bool picked_f_teid(const struct pfcp_ie *group, const struct pdr_rule *pdr,
			  struct pfcp_f_teid *ret)
{
	const struct fteid *fteid = &pdr->pdi.fteid;

	*ret = f_teid_of(fteid);
	return pdr->pdi.has_fteid && fteid->choose && !pdr->pdi.has_endpoint &&
	       asks_for(group, PFCP_IE_F_TEID);
}

// The address alone, and the length of an IPv6 prefix that is no /64 in the form in which it was asked for.
static bool picked_ue_ip(const struct pfcp_ie *group, const struct pdr_rule *pdr,
			 struct pfcp_ue_ip_address *ret)
{
	const struct ue_ip *ue = &pdr->pdi.ue_ip;

	*ret = (struct pfcp_ue_ip_address){.v4 = ue->v4, .v6 = ue->v6};
	if (ue->choose_v4)
		ret->flags |= PFCP_UE_IP_ADDRESS_V4;
	if (ue->choose_v6)
		ret->flags |= PFCP_UE_IP_ADDRESS_V6;
	if (ue->choose_v6 && ue->v6_prefix != 64) {
		ret->flags |= ue->delegated ? PFCP_UE_IP_ADDRESS_IPV6D : PFCP_UE_IP_ADDRESS_IP6PL;
		ret->delegation_bits = (uint8_t)(64 - ue->v6_prefix);
		ret->prefix_len = ue->v6_prefix;
	}
	return pdr->pdi.has_ue_ip && (ue->choose_v4 || ue->choose_v6) &&
	       asks_for(group, PFCP_IE_UE_IP_ADDRESS);
}

// The F-TEIDs and UE addresses that we picked for the PDRs in the request's IEs of type `rule`.
static void picked_encode(struct pfcp_writer *w, const struct n4_request *rq,
			  const struct n4_session *session, uint16_t rule, uint16_t answer)
{
	struct pfcp_cursor ies = rq->msg.ies;
	struct pfcp_fault unused;
	struct pfcp_ie group, ie;

	while (pfcp_ie_next(&ies, &group) > 0) {
		struct pfcp_ue_ip_address ue_ip;
		struct pfcp_f_teid f_teid;
		const struct pdr_rule *pdr;
		bool has_f_teid, has_ue_ip;
		uint64_t id;

		if (group.type != rule ||
		    pfcp_ie_find(pfcp_ie_members(&group), PFCP_IE_PDR_ID, &ie) < 0 ||
		    pfcp_uint_decode(&ie, &id, &unused) < 0)
			continue;
		pdr = rules_pdr_lookup(session->rules, (uint16_t)id);
		if (!pdr)
			continue;
		has_f_teid = picked_f_teid(&group, pdr, &f_teid);
		has_ue_ip = picked_ue_ip(&group, pdr, &ue_ip);
		if (has_f_teid || has_ue_ip)
			pfcp_created_pdr_encode(w, answer, pdr->id, has_f_teid ? &f_teid : NULL,
						has_ue_ip ? &ue_ip : NULL);
	}
}

// The F-TEIDs that we picked for the traffic endpoints in the request's IEs of this type.
static void endpoints_encode(struct pfcp_writer *w, const struct n4_request *rq,
			     const struct n4_session *session, uint16_t type)
{
	struct pfcp_cursor ies = rq->msg.ies;
	struct pfcp_fault unused;
	struct pfcp_ie group, ie;

	while (pfcp_ie_next(&ies, &group) > 0) {
		const struct endpoint_rule *endpoint;
		struct pfcp_f_teid f_teid;
		uint64_t id;

		if (group.type != type ||
		    pfcp_ie_find(pfcp_ie_members(&group), PFCP_IE_TRAFFIC_ENDPOINT_ID, &ie) < 0 ||
		    pfcp_uint_decode(&ie, &id, &unused) < 0 ||
		    pfcp_ie_find(pfcp_ie_members(&group), PFCP_IE_F_TEID, &ie) < 0)
			continue;
		endpoint = rules_endpoint_lookup(session->rules, (uint8_t)id);
		if (!endpoint || !endpoint->pdi.has_fteid || !endpoint->pdi.fteid.choose)
			continue;
		f_teid = f_teid_of(&endpoint->pdi.fteid);
		pfcp_created_endpoint_encode(w, endpoint->id, &f_teid, NULL);
	}
}

void answer_refuse(struct n4_request *rq, uint64_t seid, const struct pfcp_fault *fault)
{
	char from[ENDPOINT_STRLEN];
	struct pfcp_writer w;

	log_info_limited("N4: %s of %s for SEID 0x%" PRIx64 " refused, cause %u: %s",
			 rq->msg.info->title, endpoint_str(from, &rq->from), rq->msg.seid,
			 fault->cause, fault->text);
	n4_answer_begin(rq, &w, seid);
	if (rq->type == PFCP_SESSION_ESTABLISHMENT_REQUEST)
		node_id_encode(&w, &rq->n4->conf.node_id);
	pfcp_fault_encode(&w, fault);
	load_encode(&w, rq->n4, rq->cp_features, rq->type == PFCP_SESSION_ESTABLISHMENT_REQUEST);
	n4_answer(rq, &w);
}

void answer_established(struct n4_request *rq, const struct n4_session *session)
{
	struct pfcp_fault accepted = {.cause = PFCP_CAUSE_ACCEPTED};
	struct pfcp_writer w;

	n4_answer_begin(rq, &w, session->cp_seid);
	node_id_encode(&w, &rq->n4->conf.node_id);
	pfcp_fault_encode(&w, &accepted);
	f_seid_encode(&w, rq, session->seid);
	if (session->set)
		session_set_own_encode(&w, rq->n4);
	picked_encode(&w, rq, session, PFCP_IE_CREATE_PDR, PFCP_IE_CREATED_PDR);
	endpoints_encode(&w, rq, session, PFCP_IE_CREATE_TRAFFIC_ENDPOINT);
	load_encode(&w, rq->n4, rq->cp_features, false);
	n4_answer(rq, &w);
}

static void usage_encode(struct pfcp_writer *w, uint16_t type, const struct usage_change *usage)
{
	for (unsigned i = 0; i < usage->n; i++)
		pfcp_usage_report_encode(w, type, &usage->reports[i]);
}

void answer_modified(struct n4_request *rq, const struct n4_session *session,
		     const struct usage_change *usage)
{
	struct pfcp_fault accepted = {.cause = PFCP_CAUSE_ACCEPTED};
	struct pfcp_writer w;

	n4_answer_begin(rq, &w, session->cp_seid);
	pfcp_fault_encode(&w, &accepted);
	picked_encode(&w, rq, session, PFCP_IE_CREATE_PDR, PFCP_IE_CREATED_PDR);
	picked_encode(&w, rq, session, PFCP_IE_UPDATE_PDR, PFCP_IE_UPDATED_PDR);
	usage_encode(&w, PFCP_IE_USAGE_REPORT_MODIFICATION, usage);
	endpoints_encode(&w, rq, session, PFCP_IE_CREATE_TRAFFIC_ENDPOINT);
	endpoints_encode(&w, rq, session, PFCP_IE_UPDATE_TRAFFIC_ENDPOINT);
	load_encode(&w, rq->n4, rq->cp_features, false);
	n4_answer(rq, &w);
}

void answer_deleted(struct n4_request *rq, const struct n4_session *session,
		    const struct usage_change *usage)
{
	struct pfcp_fault accepted = {.cause = PFCP_CAUSE_ACCEPTED};
	struct pfcp_writer w;

	n4_answer_begin(rq, &w, session->cp_seid);
	pfcp_fault_encode(&w, &accepted);
	n4_reports_put(session, &w, PFCP_IE_USAGE_REPORT_DELETION);
	usage_encode(&w, PFCP_IE_USAGE_REPORT_DELETION, usage);
	load_encode(&w, rq->n4, rq->cp_features, false);
	n4_answer(rq, &w);
}
