// A TCP connection as whoever stands in its middle sees it: how far it has come, and which segments belong to it.
//
// Owner worker, pure (RFC 9293 3.3 and 3.10, RFC 5961). A segment passes and counts, passes without any effect, or
// is refused. It is the ends who decide in the end: what they would answer themselves (a SYN within a connection, a RST
// that is near but not exact) passes, and changes nothing here. So nobody who does not see the connection can end it, or
// shorten its time. All that follows stands in two tables in tcp_conn.c: what the flags say, and state times event.
//
// Numbers are compared as far as windows reach: a side's window is taken to be the largest that it has offered, in
// units of 64 KiB rounded up, never less than one, and never more than 512 MiB, so that what is behind and what is ahead
// cannot be taken for each other. Of a connection that was met in its middle the scale of windows is not known; there the
// largest counts.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "packet/tcp.h"

// "Opener" is who sent the first SYN or, where none was seen, the first segment; "other" is the other side.
enum conn_state {
	CONN_NEW,          // nothing yet
	CONN_SYN_SENT,     // SYN of the opener
	CONN_SYN_BOTH,     // SYN of both, none acknowledged
	CONN_SYN_RECEIVED, // the other has acknowledged the opener's SYN; the opener has still to
	CONN_PICKED_UP,    // met in the middle; segments of the opener only
	CONN_PICKED_FIN,   // the same, a FIN among them
	CONN_ESTABLISHED,
	CONN_OPENER_CLOSED, // FIN of the opener
	CONN_OTHER_CLOSED,
	CONN_BOTH_CLOSED,
	CONN_TIME_WAIT, // both FINs are acknowledged
	CONN_RESET,     // by a RST, after it was established
	CONN_REFUSED,   // by a RST, before
	CONN_STATES
};

// What its time follows from.
enum conn_phase { CONN_BEGINS, CONN_RUNS, CONN_ENDS };

enum conn_verdict {
	CONN_PASSES,
	CONN_IGNORED,       // passes, and changes nothing
	CONN_BAD_FLAGS,     // flags that no honest segment has together
	CONN_OUT_OF_WINDOW, // no end would take it
	CONN_NOT_BEGUN,     // of a connection whose beginning was not seen, where that is asked for
};

#define CONN_REACH_MOST 8192u // in 64 KiB

struct tcp_side {
	uint32_t end;   // behind what it has sent
	uint32_t acked; // behind what of that the other side has acknowledged
};

// 32 bytes: two to a cache line.
struct tcp_conn {
	uint32_t version; // of its flow (session/flow_state.h)
	uint8_t state;    // enum conn_state
	uint8_t opener : 1;
	// A SYN that had no effect: a SYN|ACK of the other side that acknowledges it says that the connection has begun
	// anew.
	uint8_t syn_waits : 1, syn_side : 1, syn_scale : 4;
	uint8_t scales
		[2]; // of the sides' windows; TCP_SCALE_NONE: its SYN offers none, or is not known
	struct tcp_side sides[2];
	uint16_t reach[2]; // of the sides' windows, in 64 KiB
	uint32_t syn_end;  // behind the SYN that waits
};
static_assert(sizeof(struct tcp_conn) == 32, "two to a cache line");

// A segment of a connection.
struct tcp_segment {
	uint32_t seq, ack;
	uint32_t end; // behind it: SYN, FIN and payload count
	uint16_t window;
	uint8_t flags; // TCP_
	uint8_t side;  // that sent it: 0 or 1
	uint8_t scale; // of a SYN: tcp_scale()
};

// What comes of a segment, whatever it is. `pick_up`: connections may be met in their middle.
enum conn_verdict conn_step(struct tcp_conn *conn, const struct tcp_segment *s, bool pick_up);

const char *conn_state_str(enum conn_state state);
enum conn_phase conn_phase_of(enum conn_state state);

// a - b, for numbers that wrap.
static inline int32_t tcp_ahead(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

static inline uint32_t conn_reach(const struct tcp_conn *conn, unsigned side)
{
	return (uint32_t)conn->reach[side] << 16;
}

// Whether an end would take it for one of the connection's: it begins no further ahead than the receiver's window
// reaches, ends no further behind, and acknowledges nothing beyond that (RFC 9293 3.10.7.4, RFC 5961 5.2).
static inline bool conn_fits(const struct tcp_conn *conn, const struct tcp_segment *s)
{
	const struct tcp_side *from = &conn->sides[s->side], *to = &conn->sides[!s->side];
	uint32_t mine = conn_reach(conn, s->side), theirs = conn_reach(conn, !s->side);

	return tcp_ahead(s->seq, from->acked) <= (int32_t)theirs &&
	       tcp_ahead(s->end, from->acked) >= -(int32_t)theirs &&
	       (!(s->flags & TCP_ACK) || s->ack - to->acked + mine <= 2 * mine);
}

// Notes what a segment that fits says. What is acknowledged was sent, though the segment may not have been seen whole
// (fragments).
static inline void conn_take(struct tcp_conn *conn, const struct tcp_segment *s)
{
	struct tcp_side *from = &conn->sides[s->side], *to = &conn->sides[!s->side];
	uint32_t window = (uint32_t)s->window << conn->scales[s->side];

	if (tcp_ahead(s->end, from->end) > 0)
		from->end = s->end;
	if (!(s->flags & TCP_ACK))
		return;
	if (tcp_ahead(s->ack, to->acked) > 0)
		to->acked = s->ack;
	if (tcp_ahead(s->ack, to->end) > 0)
		to->end = s->ack;
	if (unlikely(window > conn_reach(conn, s->side)) && !(s->flags & TCP_SYN)) // not scaled
		conn->reach[s->side] = (uint16_t)RTE_MIN((window + 0xffff) >> 16, CONN_REACH_MOST);
}

// Whether it is an ordinary segment of an established connection; then it has been noted.
static inline bool conn_goes_on(struct tcp_conn *conn, const struct tcp_segment *s)
{
	if (conn->state != CONN_ESTABLISHED ||
	    (s->flags & (TCP_SYN | TCP_FIN | TCP_RST | TCP_ACK)) != TCP_ACK || !conn_fits(conn, s))
		return false;
	conn_take(conn, s);
	return true;
}
