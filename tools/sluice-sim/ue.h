// UEs: what each is doing, and the procedures that it goes through (TS 23.502 4.2, 4.3, 4.9).
//
// A procedure is one or two PFCP transactions and ends with ue->done. One runs at a time for a UE, a
// bounded number for all; the others wait in order. One thread, the event loop's.

#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/addr.h"

struct sim;
struct gnb;
struct pfcp_msg;

#define UES_MAX 100000u

enum verb {
	VERB_NONE,
	VERB_ATTACH,
	VERB_IDLE,
	VERB_WAKE,
	VERB_HANDOVER,
	VERB_DETACH,
	VERB_WAIT, // these two are not about UEs
	VERB_LOOP,
	VERB_COUNT,
};

enum ue_state {
	UE_DETACHED, // no session
	UE_IDLE,     // a session, no tunnel to the radio network
	UE_ACTIVE,
};

// A tunnel that a gNB gave: packets for the UE come in it.
struct tunnel {
	uint32_t teid; // 0: none
	struct gnb *gnb;
};

// A UE may be heard of in three tunnels at once: while its path is switched, and until the old path
// has said that it is empty (End Marker).
enum { TUNNEL_NOW, TUNNEL_NEXT, TUNNEL_OLD, TUNNELS };

struct ue {
	TAILQ_ENTRY(ue) ready; // waits for its turn
	uint32_t index;
	enum ue_state state;
	enum verb verb;   // the procedure that it is in, or waits for
	enum verb wanted; // what the scenario wants next
	bool by_step;     // the scenario counts on the end of `verb`
	bool failed;      // the session is only being cleared up
	bool paged;       // data came for it while it was going idle
	uint64_t seid, up_seid;
	struct addr v4, v6; // ADDR_NONE: has none
	uint32_t teid_up;
	struct sockaddr_storage n3; // the UPF's end, where teid_up is
	socklen_t n3_len;
	struct tunnel tunnels[TUNNELS];
	uint16_t generation; // of its tunnels' TEIDs
	uint16_t gnb;        // index of the gNB that it is at
};

TAILQ_HEAD(ue_list, ue);

// All UEs, with their addresses. NULL without memory.
struct ue *ues_new(struct sim *sim);

// The name of a verb.
const char *verb_str(enum verb verb);

// Asks for a procedure. False: it makes no sense in the UE's state, now or after what it is doing;
// nothing will come of it. Otherwise, with by_step, scenario_ue_done() tells its end.
bool ue_ask(struct sim *sim, struct ue *ue, enum verb verb, bool by_step);

// Those that only wait for their turn give up.
void ue_cancel_ready(struct sim *sim);

// Starts procedures while there is room for them.
void ue_pump(struct sim *sim);

// The UPF reports (TS 29.244 7.5.8) that there is data for an idle UE, or that the gNB does not know
// the tunnel any more.
void ue_paged(struct sim *sim, struct ue *ue, uint16_t pdr_id);
void ue_tunnel_lost(struct sim *sim, struct ue *ue);

// An idle UE has something to send.
static inline bool ue_must_wake(const struct ue *ue)
{
	return ue->state == UE_IDLE && ue->verb == VERB_NONE;
}

// NULL: none of ours.
struct ue *ue_by_seid(struct sim *sim, uint64_t seid);
struct ue *ue_by_teid(struct sim *sim, uint32_t teid, struct tunnel **ret_tunnel);
// The UE whose address (for IPv6: /64) a packet has as its source, or as its destination.
struct ue *ue_by_packet(struct sim *sim, const uint8_t *packet, uint32_t len, bool source);
