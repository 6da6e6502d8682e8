// Blocks of outside ports for people: pages of those that sessions have.
//
// Worker; the control thread makes a look and reads it when it is back (worker/mailbox.h). One look is bounded in rows
// and in blocks looked at, and the next one goes on from there.

#pragma once

#include "session/nat_ports.h"

struct worker;

struct nat_row {
	uint32_t slot;             // of the session
	rte_be32_t ue;             // its IPv4 address; 0: none
	rte_be32_t outside;        // the address
	uint16_t first, last;      // ports
	uint16_t used[NAT_PROTOS]; // of them
};

struct nat_look {
	uint32_t slot; // whose blocks; FLOWS_ALL_SLOTS: all sessions'
	uint64_t
		next; // the block to begin with, by profile << 32 | number; then the one to go on with; 0 at the end
	uint32_t most, n;
	struct nat_row *rows; // [most]: n of them are filled
};

void nat_look(struct worker *w, struct nat_look *look);
