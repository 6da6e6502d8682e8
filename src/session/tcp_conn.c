// TCP connections seen from the middle, see tcp_conn.h.
// Owner worker, pure. The two tables come first; what a cell of the second asks for besides follows from where it
// leads.

#include "session/tcp_conn.h"

#include <string.h>

// --- what flags say --------------------------------------------------------------------------------------

enum event {
	EVENT_SYN,
	EVENT_SYN_ACK,
	EVENT_ACK, // none of the others, data or not
	EVENT_FIN,
	EVENT_RST,
	EVENTS,
	EVENT_BAD = EVENTS
};

// By FIN, SYN, RST (bits 0 to 2) and ACK (bit 3). PSH, URG and the ECN bits say nothing here.
static const uint8_t events[16] = {
	// clang-format off
	//  none       FIN        SYN            SYN, FIN
	EVENT_BAD, EVENT_BAD, EVENT_SYN,     EVENT_BAD,
	EVENT_RST, EVENT_BAD, EVENT_BAD,     EVENT_BAD, // and RST
	EVENT_ACK, EVENT_FIN, EVENT_SYN_ACK, EVENT_BAD, // and ACK
	EVENT_RST, EVENT_BAD, EVENT_BAD,     EVENT_BAD, // and RST, ACK
	// clang-format on
};

static enum event event_of(uint8_t flags)
{
	return events[(flags & 7) | (flags & TCP_ACK ? 8 : 0)];
}

// --- state times event -----------------------------------------------------------------------------------

enum check {
	CHECK_NONE,
	CHECK_SOFT, // what does not fit is ignored
	CHECK_HARD, // or refused
};

struct row {
	const char *name;
	enum conn_phase phase;
	enum check check;
	uint8_t next[2][EVENTS]; // by the opener, by the other side
};

#define XX CONN_STATES // ignored
#define SS CONN_SYN_SENT
#define SB CONN_SYN_BOTH
#define SR CONN_SYN_RECEIVED
#define PU CONN_PICKED_UP
#define PF CONN_PICKED_FIN
#define ES CONN_ESTABLISHED
#define PC CONN_OPENER_CLOSED
#define OC CONN_OTHER_CLOSED
#define BC CONN_BOTH_CLOSED
#define TW CONN_TIME_WAIT
#define RS CONN_RESET
#define RF CONN_REFUSED

// Columns: SYN, SYN|ACK, ACK, FIN, RST.
static const struct row rows[CONN_STATES] = {
	// clang-format off
	[CONN_NEW]           = {"new", CONN_BEGINS, CHECK_NONE,
				{{SS, PU, PU, PF, XX}, {XX, XX, XX, XX, XX}}},
	[CONN_SYN_SENT]      = {"syn_sent", CONN_BEGINS, CHECK_NONE,
				{{SS, XX, XX, XX, RF}, {SB, SR, XX, XX, RF}}},
	[CONN_SYN_BOTH]      = {"syn_both", CONN_BEGINS, CHECK_NONE,
				{{SB, SR, SR, XX, RF}, {SB, SR, SR, XX, RF}}},
	[CONN_SYN_RECEIVED]  = {"syn_received", CONN_BEGINS, CHECK_SOFT,
				{{XX, ES, ES, PC, RF}, {XX, SR, SR, OC, RF}}},
	[CONN_PICKED_UP]     = {"picked_up", CONN_BEGINS, CHECK_SOFT,
				{{SS, PU, PU, PF, XX}, {SS, ES, ES, OC, RF}}},
	[CONN_PICKED_FIN]    = {"picked_up_closed", CONN_BEGINS, CHECK_SOFT,
				{{SS, PF, PF, PF, XX}, {SS, PC, PC, BC, RF}}},
	[CONN_ESTABLISHED]   = {"established", CONN_RUNS, CHECK_HARD,
				{{XX, XX, ES, PC, RS}, {XX, XX, ES, OC, RS}}},
	[CONN_OPENER_CLOSED] = {"opener_closed", CONN_ENDS, CHECK_HARD,
				{{XX, XX, PC, PC, RS}, {XX, XX, PC, BC, RS}}},
	[CONN_OTHER_CLOSED]  = {"other_closed", CONN_ENDS, CHECK_HARD,
				{{XX, XX, OC, BC, RS}, {XX, XX, OC, OC, RS}}},
	[CONN_BOTH_CLOSED]   = {"both_closed", CONN_ENDS, CHECK_HARD,
				{{XX, XX, BC, BC, RS}, {XX, XX, BC, BC, RS}}},
	[CONN_TIME_WAIT]     = {"time_wait", CONN_ENDS, CHECK_HARD,
				{{SS, XX, TW, TW, XX}, {SS, XX, TW, TW, XX}}},
	[CONN_RESET]         = {"reset", CONN_ENDS, CHECK_NONE,
				{{SS, XX, RS, RS, XX}, {SS, XX, RS, RS, XX}}},
	[CONN_REFUSED]       = {"refused", CONN_BEGINS, CHECK_NONE,
				{{SS, XX, RF, RF, XX}, {SS, XX, RF, RF, XX}}},
	// clang-format on
};

const char *conn_state_str(enum conn_state state)
{
	return rows[state].name;
}

enum conn_phase conn_phase_of(enum conn_state state)
{
	return rows[state].phase;
}

// --- what a cell asks for besides ------------------------------------------------------------------------

// Whether it acknowledges the other side's SYN, and nothing that has not been sent.
static bool acks_syn(const struct tcp_conn *conn, const struct tcp_segment *s)
{
	const struct tcp_side *to = &conn->sides[!s->side];

	return (s->flags & TCP_ACK) && tcp_ahead(s->ack, to->acked) > 0 &&
	       tcp_ahead(s->ack, to->end) <= 0;
}

// A RST ends a connection where it stands at a place that the receiver may expect next: from what it has acknowledged to
// what was sent. Elsewhere in the window the receiver asks back (RFC 5961 3.2), before it has a window of its own it
// looks at what is acknowledged (RFC 9293 3.10.7.3).
static bool rst_counts(const struct tcp_conn *conn, const struct tcp_segment *s)
{
	const struct tcp_side *from = &conn->sides[s->side];

	if (conn->state == CONN_SYN_SENT && s->side != conn->opener)
		return acks_syn(conn, s);
	return tcp_ahead(s->seq, from->acked) >= 0 && tcp_ahead(s->seq, from->end) <= 0;
}

// Whether the segment counts in this state, by its numbers.
static bool counts(const struct tcp_conn *conn, const struct tcp_segment *s, enum event event)
{
	bool by_opener = s->side == conn->opener;

	if (event == EVENT_RST)
		return rst_counts(conn, s);
	if (event == EVENT_SYN)
		return true;
	if (event == EVENT_FIN && rows[conn->state].check != CHECK_NONE &&
	    tcp_ahead(s->end, conn->sides[s->side].end) < 0)
		return false; // nothing can have been sent behind it
	switch (conn->state) {
	case CONN_SYN_SENT:
	case CONN_SYN_BOTH:
		return acks_syn(conn, s);
	case CONN_SYN_RECEIVED:
		if (by_opener)
			return acks_syn(conn, s);
		return event != EVENT_SYN_ACK || s->seq == conn->sides[s->side].acked; // as before
	default:
		return true;
	}
}

// --- numbers ---------------------------------------------------------------------------------------------

// By its SYN, acknowledged or not.
static void side_begins(struct tcp_conn *conn, const struct tcp_segment *s)
{
	conn->sides[s->side] = (struct tcp_side){.end = s->end, .acked = s->seq};
	conn->reach[s->side] = 1;
	conn->scales[s->side] = s->scale;
}

// Both SYNs are known: windows are scaled if both offer it (RFC 7323 2.2).
static void scales_settle(struct tcp_conn *conn)
{
	if (conn->scales[0] == TCP_SCALE_NONE || conn->scales[1] == TCP_SCALE_NONE)
		conn->scales[0] = conn->scales[1] = 0;
}

static void side_acked(struct tcp_conn *conn, unsigned side, uint32_t ack)
{
	conn->sides[side] = (struct tcp_side){.end = ack, .acked = ack};
}

static void conn_renew(struct tcp_conn *conn, unsigned opener, enum conn_state state)
{
	*conn = (struct tcp_conn){
		.version = conn->version, .state = (uint8_t)state, .opener = opener & 1u};
}

static void pick_up_at(struct tcp_conn *conn, const struct tcp_segment *s, enum conn_state state)
{
	conn_renew(conn, s->side, state);
	conn->sides[s->side] = (struct tcp_side){.end = s->end, .acked = s->seq};
	side_acked(conn, !s->side, s->ack);
	for (unsigned i = 0; i < 2; i++) {
		conn->reach[i] = CONN_REACH_MOST;
		conn->scales[i] = TCP_SCALE_MOST;
	}
}

// The answer to a SYN within a connection that the other side knows no more: an end that still knew it would have sent
// no SYN|ACK (RFC 5961 4.2).
static bool begins_anew(const struct tcp_conn *conn, const struct tcp_segment *s, enum event event)
{
	return event == EVENT_SYN_ACK && conn->syn_waits && s->side != conn->syn_side &&
	       s->ack == conn->syn_end;
}

static void begin_anew(struct tcp_conn *conn, const struct tcp_segment *s)
{
	uint8_t scale = conn->syn_scale;

	conn_renew(conn, conn->syn_side, CONN_SYN_RECEIVED);
	side_acked(conn, conn->opener, s->ack);
	conn->reach[conn->opener] = 1;
	conn->scales[conn->opener] = scale;
	side_begins(conn, s);
	scales_settle(conn);
}

static void syn_keep(struct tcp_conn *conn, const struct tcp_segment *s)
{
	conn->syn_waits = 1;
	conn->syn_side = s->side & 1u;
	conn->syn_scale = s->scale & 0xfu;
	conn->syn_end = s->seq + 1;
}

// --- steps -----------------------------------------------------------------------------------------------

static bool all_acked(const struct tcp_conn *conn)
{
	return conn->sides[0].acked == conn->sides[0].end &&
	       conn->sides[1].acked == conn->sides[1].end;
}

static void enter(struct tcp_conn *conn, const struct tcp_segment *s, enum conn_state next)
{
	enum conn_state from = conn->state;

	if (next == CONN_SYN_SENT) {
		conn_renew(conn, s->side, next);
		side_begins(conn, s);
		return;
	}
	if (next == CONN_SYN_BOTH || (next == CONN_SYN_RECEIVED && from == CONN_SYN_SENT)) {
		side_begins(conn, s);
		scales_settle(conn);
	}
	if (from == CONN_SYN_BOTH && next == CONN_SYN_RECEIVED)
		conn->opener = s->side ? 0 : 1; // whose acknowledgement is still to come
	conn_take(conn, s);
	if (next == CONN_ESTABLISHED)
		conn->syn_waits = 0;
	conn->state = (uint8_t)(next == CONN_BOTH_CLOSED && all_acked(conn) ? CONN_TIME_WAIT
									    : next);
}

static enum conn_verdict first_step(struct tcp_conn *conn, const struct tcp_segment *s,
				    enum event event, bool pick_up)
{
	enum conn_state next = rows[CONN_NEW].next[0][event];

	if (event != EVENT_SYN && !pick_up)
		return CONN_NOT_BEGUN;
	if (next == XX)
		return CONN_IGNORED;
	if (event == EVENT_SYN)
		enter(conn, s, next);
	else
		pick_up_at(conn, s, next);
	return CONN_PASSES;
}

enum conn_verdict conn_step(struct tcp_conn *conn, const struct tcp_segment *s, bool pick_up)
{
	const struct row *row = &rows[conn->state];
	enum event event = event_of(s->flags);
	enum conn_state next;

	if (event == EVENT_BAD)
		return CONN_BAD_FLAGS;
	if (conn->state == CONN_NEW)
		return first_step(conn, s, event, pick_up);
	if (begins_anew(conn, s, event)) {
		begin_anew(conn, s);
		return CONN_PASSES;
	}
	if (row->check != CHECK_NONE && !(s->flags & TCP_SYN) && !conn_fits(conn, s))
		return row->check == CHECK_HARD ? CONN_OUT_OF_WINDOW : CONN_IGNORED;
	next = row->next[s->side != conn->opener][event];
	if (next == XX || !counts(conn, s, event)) {
		if (event == EVENT_SYN)
			syn_keep(conn, s);
		return CONN_IGNORED;
	}
	enter(conn, s, next);
	return CONN_PASSES;
}
