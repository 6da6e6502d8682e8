// Transactions: each request of a peer is executed once, each of ours is repeated until answered
// (TS 29.244 6.4, 7.2.2.2).
//
// Control thread only. A peer's request is known by (address, port, sequence number, type). While it is
// worked on, its duplicates are discarded; afterwards they get the stored answer, byte for byte, for as long
// as the peer may repeat it. What is kept is bounded, in all and per address: the oldest stored answers of
// the address that asks for more go first, and of the others only when it has none itself.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "pfcp/n4.h"

struct xact_in; // a request of a peer
LIST_HEAD(xact_list, xact_in);

// NULL without memory.
struct xact_table *xact_table_new(const struct n4_conf *conf);
void xact_table_free(struct xact_table *table);

enum xact_found {
	XACT_NEW,     // *ret_xact: to be executed
	XACT_WAITING, // its answer is being worked on
	XACT_STORED,  // *ret_xact: its answer is kept
	XACT_FULL,    // no room: discard it
};

// What a peer's request is known by.
struct xact_key {
	struct endpoint from;
	struct addr local; // our address that it asked
	uint32_t seq;
	uint32_t type;
	uint32_t
		life; // the Recovery Time Stamp in it: a restarted peer counts from 1 again. 0: none
};

// Looks for a peer's request and begins it if it is new.
enum xact_found xact_begin(struct n4 *n4, const struct xact_key *key, struct xact_in **ret_xact);

// Says which association a request belongs to, by the list that it keeps of them.
void xact_belongs(struct xact_in *xact, struct xact_list *list);

// Sends the stored answer of an XACT_STORED once more.
void xact_repeat(struct n4 *n4, const struct xact_in *xact);

// Sends the answer of a request and keeps it when `keep`. Nothing is sent when its sender has been forgotten
// in between. The reference ends.
void xact_answer(struct n4 *n4, struct xact_in *xact, const uint8_t *answer, size_t len, bool keep);

// Ends a request without an answer: a duplicate will be executed.
void xact_drop(struct n4 *n4, struct xact_in *xact);

// Forgets the requests of an association that ends or whose peer begins a new life, but for `but`: stored
// answers go at once, requests that wait will not be answered. The list is empty afterwards.
void xact_forget(struct n4 *n4, struct xact_list *list, const struct xact_in *but);
// Forgets the stored answers for an address that belong to no association.
void xact_forget_addr(struct n4 *n4, const struct addr *addr);

// The answer of a request of ours, or NULL: nobody answered N1 times, or the context ends.
typedef void (*xact_done_fn)(struct n4 *n4, const struct pfcp_msg *answer, void *ctx);

// Sends a request of ours, a whole message, whose sequence number is written here and whose bytes are
// copied. It leaves from the address that an association of `to` was set up with, if there is one. `done` is called once, unless the request is cancelled. 0 and the request's number, never 0;
// -ENOBUFS: too many wait; -ENOMEM.
int xact_request(struct n4 *n4, const struct endpoint *to, const uint8_t *bytes, size_t len,
		 xact_done_fn done, void *ctx, uint32_t *ret_request);
// Cancels a request that has not been answered; its `done` is not called. Others are ignored.
void xact_cancel(struct n4 *n4, uint32_t request);

// Hands a response to the request of ours that it answers. False: nobody asked for it.
bool xact_response(struct n4 *n4, const struct endpoint *from, const struct pfcp_msg *msg);

// Repeats and gives up requests of ours; drops stored answers that nobody will ask for.
void xact_tick(struct n4 *n4);

// For `show pfcp` and tests.
struct xact_counts {
	uint32_t waiting;  // requests of peers being worked on
	uint32_t stored;   // answers kept
	uint32_t peers;    // addresses that these belong to
	uint32_t requests; // of ours, unanswered
	uint64_t bytes;    // memory of all of it
};
void xact_counts_get(const struct n4 *n4, struct xact_counts *ret);
