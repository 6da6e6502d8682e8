// Slots: which worker owns a session, and where: the control thread's book of the workers' tables.
//
// Control thread only. Slots, tunnel records and with them TEIDs are reused as late as possible (first in,
// first out), each time with another version or generation.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rules/teid.h"

struct slots;

struct slot {
	unsigned owner;   // worker
	uint32_t index;   // in its session table
	uint32_t version; // never 0
};

// `n_slots` sessions and `n_tunnels` tunnel records for each worker. NULL without memory.
struct slots *slots_new(unsigned n_workers, uint32_t n_slots, uint32_t n_tunnels,
			const struct teid_scheme *scheme);
void slots_free(struct slots *slots);

// A slot of the worker with the fewest sessions. -ENOSPC.
int slots_take(struct slots *slots, struct slot *ret);
void slots_give(struct slots *slots, const struct slot *slot);

// The TEID of a session's tunnel 1, new for each slot taken. Never 0.
uint32_t slots_teid(const struct slots *slots, const struct slot *slot);

// A further tunnel record of the slot's owner and its TEID. -ENOSPC.
int slots_tunnel_take(struct slots *slots, unsigned owner, uint32_t *ret_record,
		      uint32_t *ret_teid);
void slots_tunnel_give(struct slots *slots, unsigned owner, uint32_t record);
// The index by which TEIDs and references name a tunnel record: records come after the sessions.
uint32_t slots_tunnel_index(const struct slots *slots, uint32_t record);

// Whether a TEID is one of ours that a session has; an SMF must not choose it.
bool slots_teid_is_ours(const struct slots *slots, uint32_t teid);
// The same, or one that an SMF chose.
bool slots_teid_in_use(const struct slots *slots, uint32_t teid);
// Marks a TEID that an SMF chose, so that none of ours becomes equal to it, or takes one such mark away: the
// same TEID may be chosen at several local addresses. -ENOMEM.
int slots_teid_reserve(struct slots *slots, uint32_t teid, bool reserved);

uint32_t slots_used(const struct slots *slots, unsigned owner);
uint32_t slots_tunnels_used(const struct slots *slots, unsigned owner);
