// Fragments that wait for the rest of their datagram (RFC 791 3.2, RFC 8200 4.5, RFC 5722).
//
// Worker. Fragments of users' packets are gathered by the owner of their session, those of tunnels' packets by the
// worker that their addresses and identification pick, so that no port has to bring them to one queue; each kind has
// a pool of records of its own. A record is found by whose it is: its bucket has few others, and their number is
// bounded for each. All is bounded: datagrams, of one session or sender and in all, buffers, pieces of a datagram,
// time. Pieces that overlap end all of the datagram, a second copy of one ends alone.
//
// DPDK's rte_ip_frag is not used: a datagram has 8 pieces at most there, its key has neither the session nor the
// protocol, so that UEs with one address would be mixed up, what ends there has no name, and of what comes out only
// the whole is left, which no port here can send and no router may cut again if it is IPv6.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "packet/fragment.h"

struct pkt;
struct rte_mbuf;
struct worker;

#define GATHER_PIECES 64 // of one datagram: 65,535 bytes in packets of 1,280 need 54

struct gather_limits {
	uint32_t datagrams; // 0: none are gathered
	uint32_t of_one;    // of one session, or one sender
	uint32_t pieces;    // of all datagrams
	uint32_t ms;        // that one may take
};

// What tells datagrams apart; all of it is set, with zeros where there is nothing.
struct gather_key {
	uint32_t whose; // a session's slot and direction, or a number of the sender
	uint32_t version;
	uint32_t id;
	uint8_t family, proto, tunnel, iface;
	uint8_t src[16], dst[16];
};

// By the IP header of a piece.
static inline void gather_key_addrs(struct gather_key *key, const uint8_t *ip)
{
	unsigned bytes = key->family == 4 ? 4 : 16;

	memcpy(key->src, ip_source_at(ip, key->family), bytes);
	memcpy(key->dst, ip_destination_at(ip, key->family), bytes);
}

// One that is not whole yet. While pieces wait, mbuf->next leads to the one that comes behind it in the datagram, and
// hash.usr says which part it is.
struct datagram {
	TAILQ_ENTRY(datagram) of_age;
	LIST_ENTRY(datagram) of_bucket;
	struct gather_key key;
	struct rte_mbuf *first;
	uint32_t n, bytes; // pieces, and what they hold
	uint32_t total;    // 0: the last piece has not come
	uint32_t ms;       // when the first piece came
};

TAILQ_HEAD(datagram_queue, datagram);
LIST_HEAD(datagram_list, datagram);

struct gather {
	struct gather_limits limits;
	struct datagram *records;      // [limits.datagrams]
	struct datagram_list *buckets; // [limits.datagrams]
	struct datagram_queue unused, waiting;
	uint32_t pieces;
};

// Start-up. 0 or -ENOMEM.
int gather_init(struct gather *gather, const struct gather_limits *limits, int socket);
// Gives all pieces back.
void gather_fini(struct gather *gather);

// Takes over a piece, or drops it. With the last one that was missing: all pieces in their order, by mbuf->next, each
// with its struct pkt in the private area; they are the caller's then. Else NULL.
struct rte_mbuf *gather_add(struct worker *w, struct gather *gather, const struct gather_key *key,
			    const struct fragment *fragment, struct pkt *p);
// Takes the first off such a list. NULL: it was empty.
struct rte_mbuf *gather_next(struct rte_mbuf **list);

void gather_expire(struct worker *w, struct gather *gather);

// Drops what has waited for too long, some each turn.
static inline void gather_sweep(struct worker *w, struct gather *gather)
{
	if (!TAILQ_EMPTY(&gather->waiting))
		gather_expire(w, gather);
}
