// The procedures of UEs, each a chain of PFCP transactions. See ue.h.
//
// attach: establishment, then the way down is opened. wake and handover: a new tunnel at a gNB, then
// the way down is switched to it; both tunnels are heard meanwhile. idle: the UPF buffers.

#include "ue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gnb.h"
#include "packet/be.h"
#include "packet/ip.h"
#include "pfcp/codec.h"
#include "scenario.h"
#include "session.h"
#include "sim.h"
#include "smf.h"
#include "ue_tun.h"

// A TEID that a gNB gives: the UE's number, and a count so that a new tunnel has a new one.
#define TEID_UE_BITS 20
#define TEID_UE_MASK ((1u << TEID_UE_BITS) - 1)
static_assert(UES_MAX < TEID_UE_MASK, "a UE's number fits into a TEID");

#define FIRST_V4 2 // .0 is the network, .1 is what gateways often have
#define FIRST_V6 1 // number of the first UE's /64
#define V6_HOST 2  // the UE's interface identifier

#define WHY_LEN 200

static void ue_end(struct sim *sim, struct ue *ue, bool ok);

// ---- who is meant ----

struct ue *ue_by_seid(struct sim *sim, uint64_t seid)
{
	uint64_t number = seid & UINT32_MAX;

	if (seid >> 32 != sim->seid_tag || number == 0 || number > sim->options.ues)
		return NULL;
	return &sim->ues[number - 1];
}

struct ue *ue_by_teid(struct sim *sim, uint32_t teid, struct tunnel **ret_tunnel)
{
	uint32_t number = teid & TEID_UE_MASK;
	struct ue *ue;

	if (number == 0 || number > sim->options.ues)
		return NULL;
	ue = &sim->ues[number - 1];
	for (unsigned i = 0; i < TUNNELS; i++) {
		if (ue->tunnels[i].teid == teid) {
			*ret_tunnel = &ue->tunnels[i];
			return ue;
		}
	}
	return NULL;
}

// The upper half of an IPv6 address.
static uint64_t v6_net(const uint8_t *v6)
{
	return (uint64_t)be32_get(v6) << 32 | be32_get(v6 + 4);
}

struct ue *ue_by_packet(struct sim *sim, const uint8_t *packet, uint32_t len, bool source)
{
	const struct options *o = &sim->options;
	uint64_t index;

	if (len >= IP4_BYTES && packet[0] >> 4 == 4 && o->pool4.addr.family) {
		uint32_t addr = be32_get(packet + (source ? 12 : 16));

		index = (uint32_t)(addr - be32_get(&o->pool4.addr.v4) - FIRST_V4);
	} else if (len >= IP6_BYTES && packet[0] >> 4 == 6 && o->pool6.addr.family) {
		index = v6_net(packet + (source ? 8 : 24)) - v6_net(o->pool6.addr.v6) - FIRST_V6;
	} else {
		return NULL;
	}
	return index < o->ues ? &sim->ues[index] : NULL;
}

static void addresses_set(const struct options *o, struct ue *ue)
{
	uint64_t net;

	if (o->pool4.addr.family) {
		ue->v4 = o->pool4.addr;
		be32_put(&ue->v4.v4, be32_get(&ue->v4.v4) + FIRST_V4 + ue->index);
	}
	if (o->pool6.addr.family) {
		ue->v6 = o->pool6.addr;
		net = v6_net(ue->v6.v6) + FIRST_V6 + ue->index;
		be32_put(ue->v6.v6, (uint32_t)(net >> 32));
		be32_put(ue->v6.v6 + 4, (uint32_t)net);
		ue->v6.v6[15] = V6_HOST;
	}
}

struct ue *ues_new(struct sim *sim)
{
	struct ue *ues = calloc(sim->options.ues, sizeof(*ues));

	for (uint32_t i = 0; ues && i < sim->options.ues; i++) {
		ues[i].index = i;
		ues[i].seid = (uint64_t)sim->seid_tag << 32 | (i + 1);
		addresses_set(&sim->options, &ues[i]);
	}
	return ues;
}

// ---- procedures ----

// Whether a verb makes sense in this state.
static bool verb_fits(enum verb verb, enum ue_state state)
{
	switch (verb) {
	case VERB_ATTACH:
		return state == UE_DETACHED;
	case VERB_IDLE:
	case VERB_HANDOVER:
		return state == UE_ACTIVE;
	case VERB_WAKE:
		return state == UE_IDLE;
	case VERB_DETACH:
		return state != UE_DETACHED;
	default:
		return false;
	}
}

// Whether what it wants is so already.
static bool verb_is_done(enum verb verb, enum ue_state state)
{
	return (verb == VERB_IDLE && state == UE_IDLE) ||
	       (verb == VERB_WAKE && state == UE_ACTIVE) ||
	       (verb == VERB_ATTACH && state == UE_ACTIVE) ||
	       (verb == VERB_DETACH && state == UE_DETACHED);
}

static void ue_complain(const struct ue *ue, const char *why)
{
	log_error_limited("ue %u: %s failed: %s", ue->index + 1, verb_str(ue->verb), why);
}

// Readies a tunnel at a gNB.
static void tunnel_offer(struct sim *sim, struct ue *ue, uint16_t gnb)
{
	ue->generation++;
	ue->tunnels[TUNNEL_NEXT] = (struct tunnel){
		.teid = (uint32_t)ue->generation << TEID_UE_BITS | (ue->index + 1),
		.gnb = &sim->gnbs[gnb],
	};
}

static void told_attached(const struct sim *sim, const struct ue *ue)
{
	char v4[ADDR_STRLEN], v6[ADDR_STRLEN];

	sim_say_ue(sim, ue, "%s%s%s TEID up %#x down %#x attached",
		   ue->v4.family ? addr_str(v4, &ue->v4) : "",
		   ue->v4.family && ue->v6.family ? " " : "",
		   ue->v6.family ? addr_str(v6, &ue->v6) : "", ue->teid_up,
		   ue->tunnels[TUNNEL_NOW].teid);
}

static void session_cleared(struct sim *sim, void *ctx, const struct pfcp_msg *answer)
{
	struct ue *ue = ctx;
	char why[WHY_LEN];
	bool gone = smf_accepted(answer, why, sizeof(why)) ||
		    (answer && smf_cause(answer) == PFCP_CAUSE_NO_SESSION);
	bool failed = ue->failed;

	ue->failed = false;
	if (!gone && !failed)
		ue_complain(ue, why);
	if (gone || failed) {
		if (ue->state != UE_DETACHED)
			ue_tun_address_del(sim->tun, ue);
		ue->state = UE_DETACHED;
		memset(ue->tunnels, 0, sizeof(ue->tunnels));
	}
	if (gone && !failed)
		sim_say_ue(sim, ue, "detached");
	ue_end(sim, ue, gone && !failed);
}

static void session_clear(struct sim *sim, struct ue *ue)
{
	smf_request_begin(sim->smf, PFCP_SESSION_DELETION_REQUEST, ue->up_seid);
	smf_request_send(sim->smf, session_cleared, ue);
}

// What the UPF has of a session that cannot be used is taken away again.
static void attach_fail(struct sim *sim, struct ue *ue, const char *why)
{
	ue_complain(ue, why);
	ue->failed = true;
	session_clear(sim, ue);
}

// The way down is open.
static void way_opened(struct sim *sim, void *ctx, const struct pfcp_msg *answer)
{
	struct ue *ue = ctx;
	struct tunnel next = ue->tunnels[TUNNEL_NEXT];
	char why[WHY_LEN];
	int rc;

	if (!smf_accepted(answer, why, sizeof(why))) {
		if (ue->verb == VERB_ATTACH) {
			attach_fail(sim, ue, why);
			return;
		}
		ue->tunnels[TUNNEL_NEXT] = (struct tunnel){0};
		ue_complain(ue, why);
		ue_end(sim, ue, false);
		return;
	}
	ue->tunnels[TUNNEL_OLD] = ue->tunnels[TUNNEL_NOW];
	ue->tunnels[TUNNEL_NOW] = next;
	ue->tunnels[TUNNEL_NEXT] = (struct tunnel){0};
	ue->gnb = (uint16_t)(next.gnb - sim->gnbs);
	if (ue->verb == VERB_ATTACH) {
		rc = ue_tun_address_add(sim->tun, ue);
		if (rc < 0) {
			attach_fail(sim, ue, strerror(-rc));
			return;
		}
	}
	ue->state = UE_ACTIVE;
	if (ue->verb == VERB_ATTACH)
		told_attached(sim, ue);
	else
		sim_say_ue(sim, ue, "%s: gNB %u, TEID down %#x",
			   ue->verb == VERB_WAKE ? "awake" : "handed over", ue->gnb + 1u,
			   next.teid);
	ue_end(sim, ue, true);
}

static void way_open(struct sim *sim, struct ue *ue, uint16_t gnb)
{
	struct pfcp_writer *w;

	tunnel_offer(sim, ue, gnb);
	w = smf_request_begin(sim->smf, PFCP_SESSION_MODIFICATION_REQUEST, ue->up_seid);
	session_forward_put(sim, &ue->tunnels[TUNNEL_NEXT], ue->verb == VERB_HANDOVER, w);
	smf_request_send(sim->smf, way_opened, ue);
}

static void session_established(struct sim *sim, void *ctx, const struct pfcp_msg *answer)
{
	struct ue *ue = ctx;
	bool v6 = sim->gnbs[0].addr.family == ADDR_V6;
	char why[WHY_LEN];

	ue->up_seid = 0;
	if (!smf_accepted(answer, why, sizeof(why))) {
		ue_complain(ue, why);
		ue_end(sim, ue, false);
		return;
	}
	if (session_established_take(answer, v6, ue, why, sizeof(why)) < 0) {
		attach_fail(sim, ue, why);
		return;
	}
	way_open(sim, ue, 0);
}

static void session_establish(struct sim *sim, struct ue *ue)
{
	struct pfcp_writer *w = smf_request_begin(sim->smf, PFCP_SESSION_ESTABLISHMENT_REQUEST, 0);

	session_establishment_put(sim, ue, w);
	smf_request_send(sim->smf, session_established, ue);
}

static void way_closed(struct sim *sim, void *ctx, const struct pfcp_msg *answer)
{
	struct ue *ue = ctx;
	char why[WHY_LEN];

	if (!smf_accepted(answer, why, sizeof(why))) {
		ue_complain(ue, why);
		ue_end(sim, ue, false);
		return;
	}
	memset(ue->tunnels, 0, sizeof(ue->tunnels));
	ue->state = UE_IDLE;
	sim_say_ue(sim, ue, "idle");
	ue_end(sim, ue, true);
}

static void way_close(struct sim *sim, struct ue *ue)
{
	struct pfcp_writer *w = smf_request_begin(sim->smf, PFCP_SESSION_MODIFICATION_REQUEST,
						  ue->up_seid);

	session_buffer_put(w);
	smf_request_send(sim->smf, way_closed, ue);
}

static void ue_start(struct sim *sim, struct ue *ue)
{
	switch (ue->verb) {
	case VERB_ATTACH:
		session_establish(sim, ue);
		break;
	case VERB_IDLE:
		way_close(sim, ue);
		break;
	case VERB_WAKE:
		way_open(sim, ue, ue->gnb);
		break;
	case VERB_HANDOVER:
		way_open(sim, ue, (uint16_t)((ue->gnb + 1u) % sim->options.n_gnbs));
		break;
	default:
		session_clear(sim, ue);
		break;
	}
}

// ---- their order ----

void ue_pump(struct sim *sim)
{
	struct ue *ue;

	while ((ue = TAILQ_FIRST(&sim->ready)) && smf_room(sim->smf)) {
		TAILQ_REMOVE(&sim->ready, ue, ready);
		ue_start(sim, ue);
	}
}

bool ue_ask(struct sim *sim, struct ue *ue, enum verb verb, bool by_step)
{
	if (ue->verb != VERB_NONE) {
		if (!by_step)
			return false;
		ue->wanted = verb;
		return true;
	}
	if (!verb_fits(verb, ue->state))
		return false;
	ue->verb = verb;
	ue->by_step = by_step;
	TAILQ_INSERT_TAIL(&sim->ready, ue, ready);
	ue_pump(sim);
	return true;
}

// The end of a procedure, and the begin of what waits for it.
static void ue_end(struct sim *sim, struct ue *ue, bool ok)
{
	enum verb wanted = ue->wanted;
	bool by_step = ue->by_step, paged = ue->paged;

	ue->verb = ue->wanted = VERB_NONE;
	ue->by_step = ue->paged = false;
	if (by_step)
		scenario_ue_done(sim, ue, ok);
	if (wanted != VERB_NONE && !ue_ask(sim, ue, wanted, true))
		scenario_ue_done(sim, ue, verb_is_done(wanted, ue->state));
	else if (wanted == VERB_NONE && paged && ue->state == UE_IDLE)
		ue_ask(sim, ue, VERB_WAKE, false);
}

void ue_cancel_ready(struct sim *sim)
{
	struct ue *ue;

	while ((ue = TAILQ_FIRST(&sim->ready))) {
		TAILQ_REMOVE(&sim->ready, ue, ready);
		ue_end(sim, ue, false);
	}
}

// ---- what the UPF reports ----

void ue_paged(struct sim *sim, struct ue *ue, uint16_t pdr_id)
{
	sim_say_ue(sim, ue, "data waits at the UPF (PDR %u): paging", pdr_id);
	if (ue->state == UE_IDLE && ue->verb == VERB_NONE)
		ue_ask(sim, ue, VERB_WAKE, false);
	else if (ue->verb == VERB_IDLE)
		ue->paged = true; // the report has overtaken the answer
}

void ue_tunnel_lost(struct sim *sim, struct ue *ue)
{
	log_warn_limited("ue %u: the UPF was told that the gNB does not know its tunnel",
			 ue->index + 1);
	if (ue->state == UE_ACTIVE)
		ue_ask(sim, ue, VERB_IDLE, false);
}
