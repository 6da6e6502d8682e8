// The flows of a worker's sessions: who may have how many, how long they live, and who goes when room is short.
//
// Worker. A flow is made on its first packet, or by a service; it ends when its time is over, when its session
// ends, when it is told to, or when the pool runs short: then the oldest of the embryonic ones goes, and after
// those whoever was used least recently (flows that are a second old or less stay, if they are few). It never ends
// while one of its packets is under way: all ends come at the beginning of a turn, so many a turn and no more.
// Services are told of a flow before its first packet, and of its end (service.h).
//
// A session's *profile* is its network instance: it has limits, and a time for each *class* of flows. Extending a
// flow's time is one store (flow_extend()).

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rules/meter.h"
#include "session/flow.h"
#include "session/flow_state.h"
#include "session/wheel.h"
#include "worker/limit.h"

struct worker;

#define FLOW_PROFILES 64
#define FLOW_SERVICES 64 // bits of a chain
#define FLOW_ENDS 128    // flows that one turn ends, or looks at because their time may be over
#define FLOW_STEPS (FLOW_PROFILES * 4)

// Times of flows are in ticks of so many of the worker's units (rules/meter.h): 4.2 ms.
#define FLOW_TICK_SHIFT 30
#define FLOW_TICK_NS ((1ull << FLOW_TICK_SHIFT) / METER_UNITS_PER_NS)

enum flow_class {
	FLOW_EMBRYONIC, // packets of one direction only
	FLOW_ESTABLISHED,
	FLOW_TCP_ESTABLISHED,
	FLOW_TCP_CLOSING,
	FLOW_CLASSES,
};
static_assert(FLOW_CLASSES <= 4, "flow.timer has two bits for them");

// Packets that a network instance may treat in a way of its own (service/flow_handler.h).
enum flow_case {
	FLOW_CASE_UNKNOWN_PROTOCOL,
	FLOW_CASE_ICMP_ERROR, // about nothing known
	FLOW_CASE_OVERFLOW,   // of no flow, and there may be no more
	FLOW_CASES
};

// Called on the worker with a flow that has just been made, or that is about to go.
typedef void flow_fn(struct worker *w, uint32_t number);
// One word for people of a flow; it lasts.
typedef const char *flow_word_fn(const struct worker *w, uint32_t number);

struct flow_profile_conf {
	uint32_t timeout_ms[FLOW_CLASSES]; // less than 2^31
	uint32_t most;                     // flows at a time; 0: as many as there are
	uint32_t rate;                     // flows made a second, and at once; 0: any number
	bool tcp_pick_up;                  // TCP connections may be met in their middle
	uint8_t handlers[FLOW_CASES];      // enum flow_handler
};

struct flows_conf {
	uint32_t n;           // flows; 0: there are none
	uint32_t per_session; // of one session
	uint32_t margin;      // free ones below which others go
	const struct flow_profile_conf *profiles;
	unsigned n_profiles;
	uint64_t services;                  // bits of those that are for flows
	uint64_t not_of_errors;             // and of those that ICMP errors do not visit
	uint64_t asked;                     // bits of those that a chain may have
	flow_fn *const *made, *const *gone; // [FLOW_SERVICES], by bit; NULL entries: not told
	flow_word_fn *const *words;         // likewise
	const uint32_t *state_bytes;        // likewise, of a service's records; 0: it keeps none
};

struct flow_profile {
	uint32_t used, most;
	struct limit rate; // unused without one
	bool has_rate;
	bool tcp_pick_up;
	uint8_t handlers[FLOW_CASES];
};

// The flows of one session.
struct flow_session {
	uint32_t first; // one of them, 0: none
	uint32_t n;
};

struct flows {
	struct flow_table table;    // n is 0: there are none at all
	uint32_t tick;              // now
	uint32_t left;              // that this turn may still end
	uint32_t ticks[FLOW_STEPS]; // what flow.timer adds to now
	uint64_t services, not_of_errors;
	uint64_t tell_made, tell_gone; // services that want to know
	uint64_t stated;               // services that have `states`

	struct wheel timer; // by deadline
	struct wheel used;  // established ones by last use, in steps of 2^used_shift ticks
	unsigned used_shift;
	uint64_t long_tick; // tick, not cut
	struct link *young; // [n + 1]: embryonic ones by age; 0 is the list's head
	uint32_t n_young;
	struct link *of_session;       // [n + 1]: rings of the flows of one session
	struct flow_session *sessions; // [slots]
	uint32_t per_session, margin;
	uint32_t spared;  // ticks that an embryonic flow gets to be answered
	uint32_t unasked; // ticks that one gets which is unasked, at most
	struct flow_profile profiles[FLOW_PROFILES];
	flow_fn *made[FLOW_SERVICES], *gone[FLOW_SERVICES];
	flow_word_fn *words[FLOW_SERVICES];
	struct flow_state states[FLOW_SERVICES]; // of those that are asked
};

// What n flows of n_slots sessions take, but for what services keep of each (flow_state_bytes()).
static inline size_t flows_bytes(uint32_t n, uint32_t n_slots)
{
	return flow_table_bytes(n) + 2 * wheel_bytes(n + 1) +
	       2 * ((size_t)n + 1) * sizeof(struct link) + n_slots * sizeof(struct flow_session);
}

// Start-up. 0 or -ENOMEM.
int flows_init(struct flows *flows, const struct flows_conf *conf, uint32_t n_slots, uint64_t now,
	       int socket);
void flows_fini(struct flows *flows);

// At the beginning of a turn, before any packet, where there are flows: what time and want of room bring.
void flows_turn(struct worker *w);

struct flow_order {
	struct flow_key key;
	uint64_t hash;  // of the key
	uint64_t chain; // the services that it is to visit
	uint32_t slot;  // of its session
	uint8_t profile;
	bool v6, up; // up: its first packet comes from the access side
};

// An embryonic flow. *ret is written for FLOW_MADE, and for FLOW_KEY_TAKEN: the flow that the key leads to.
enum flow_made flows_make(struct worker *w, const struct flow_order *order, uint32_t *ret);
// Ends it now. Not while packets are under way.
void flows_end(struct worker *w, uint32_t number);
// Ends flows of the session as far as this turn may; true when none is left.
bool flows_end_session(struct worker *w, uint32_t slot);
// Lets the turn end as many flows as one may.
static inline void flows_allow(struct flows *flows)
{
	flows->left = FLOW_ENDS;
}

static inline unsigned flow_profile_of(const struct flow *flow)
{
	return flow->timer / 4u;
}

static inline enum flow_class flow_class_of(const struct flow *flow)
{
	return (enum flow_class)(flow->timer % 4u);
}

// What the service of this bit keeps of the flow: its record of `bytes`, which are its state_bytes, fresh if it has
// none yet.
static inline void *flow_record(const struct flows *flows, unsigned bit, uint32_t number,
				size_t bytes)
{
	return flow_state_get(&flows->states[bit], number, flows->table.flows[number].version,
			      bytes);
}

// From now on as long as its class says.
static inline void flow_extend(const struct flows *flows, struct flow *flow)
{
	flow->deadline = flows->tick + flows->ticks[flow->timer];
}

// From now on so many ticks, be it less than it had; 0: it ends with the next turn.
void flow_time_set(struct worker *w, uint32_t number, uint32_t ticks);
// A flow that the network has begun with a UE behind NAT has little time until the UE takes part: what comes unasked
// holds no port outside for longer, however much of it comes.
static inline bool flow_is_unasked(const struct flow *flow, bool up)
{
	return !up && (flow->flags & (FLOW_F_NAT | FLOW_F_UP)) == FLOW_F_NAT &&
	       flow_class_of(flow) == FLOW_EMBRYONIC;
}
// It has just begun: from now on as long as such a flow has, if it is one.
void flow_unasked_begin(struct worker *w, uint32_t number);
// Another class, and its time from now on, be it less.
void flow_class_set(struct worker *w, uint32_t number, enum flow_class class);

// The session is another network instance's now: so are the flow's limits and its time, which begins anew.
void flow_profile_set(struct worker *w, uint32_t number, uint8_t profile);
// The session's rules are others: services that they no longer have leave the flow's chain, new ones come to it.
void flow_services_set(struct worker *w, uint32_t number, uint64_t services);
