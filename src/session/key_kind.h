// The kinds of keys, in one table: how each is read from a packet, made the same for both directions, and shown.
//
// The table is written at start, before any worker runs, and read by all. Whole TCP and UDP packets, our own TEIDs and
// addresses of pools do not ask it: their keys are read inline, by the same rules (flow_key.h, pipeline/3_locate.h).
// A further kind is one more row: of the tree in key_kind.c, or brought by a service (service/service.h). Kinds that
// lead to flows are asked from the last row up, so that those which services bring go first.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/flow_key.h"

enum key_kind_own {
	KEY_KIND_teid,    // a TEID, and the local address that it came to
	KEY_KIND_ue,      // a UE's address
	KEY_KIND_outside, // what a UE behind NAT is outside: address, and port or echo identifier
	KEY_KIND_pair,    // all else, later fragments too: addresses and protocol
	KEY_KIND_echo, // ICMP and ICMPv6 echo: addresses, the whole identifier, and which side asks
	KEY_KIND_tuple, // protocols with ports (TCP, UDP, SCTP, UDP-Lite): addresses, ports, protocol
	KEY_KIND_error, // ICMP errors: the key of the packet that they quote, whose flow they are part of
	KEY_KINDS_OWN
};

#define KEY_ECHO_BY_UE 1 // remote_port of an echo: who asks
#define KEY_ECHO_BY_REMOTE 2

#define KEY_KIND_FLOWS KEY_KIND_pair // from this one on they lead to flows
#define KEY_KINDS_BROUGHT 8          // that services may bring
#define KEY_KINDS (KEY_KINDS_OWN + KEY_KINDS_BROUGHT)

struct key_kind {
	const char *name;
	// Reads the packet whose IP header is at `user`; false: it is not of this kind, and nothing is written. Of a flow's
	// key the addresses, protocol and context are there already, and the ports get what an up packet of these
	// bytes has there: two numbers, the UE's first, or one of 32 bits (flow_key_number()).
	bool (*extract)(const struct pkt *p, const uint8_t *user, struct flow_key *key);
	// Makes of what extract() read from a down packet what it reads from an up packet of the same flow, and the
	// reverse; keys of sessions have one direction only. NULL: it is the same. `v6` is how addresses stand in it.
	void (*normalise)(struct flow_key *key, bool v6);
	// Whether a flow's key is of this kind. NULL: none is.
	bool (*is)(const struct flow_key *key);
	// Both ends for people.
	void (*print)(const struct flow_key *key, bool v6, struct strbuf *ue,
		      struct strbuf *remote);
	const char *help;
};

// Takes what services bring, in the place of what they brought before. 0, or -EINVAL with `why` filled: too many, a name
// twice, or one that cannot do all that it must. Start-up.
int key_kinds_init(const struct key_kind *const brought[], unsigned n, char *why, size_t why_bytes);
// The kinds by number, below key_kinds(); what the number is lasts.
unsigned key_kinds(void);
const struct key_kind *key_kind_at(unsigned number);
// The number of the kind of a flow's key.
unsigned key_kind_of(const struct flow_key *key);

// The L4 header of a packet, at least `bytes` of it; NULL: so much is not there, as in later fragments. For kinds of
// protocols that parse reads no header of.
const uint8_t *key_l4(const struct pkt *p, const uint8_t *user, uint32_t bytes);
// An address of a key, as all kinds show it.
void key_address_add(struct strbuf *to, const struct flow_key *key, bool v6, bool of_ue);
