// TCP connections seen from the middle: rows of segments and what must come of each, and a million random ones against
// a simple reference.
//
// Pure. Numbers in rows are offsets from the sender's (acknowledgements: the other's) first number, which is another in
// each run, so that they wrap where it hurts.

#include "session/tcp_conn.h"

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "unit.h"

#define STEPS_MAX 24
#define KiB 1024u

#define F TCP_FIN
#define S TCP_SYN
#define R TCP_RST
#define P TCP_PSH
#define A TCP_ACK
#define U TCP_URG

struct step {
	unsigned side; // 0: of the opener
	uint8_t flags;
	uint32_t seq, ack, bytes;
	enum conn_verdict verdict;
	enum conn_state state;
	uint16_t window; // 0: 1000
	uint8_t scale;   // of a SYN, plus 1; 0: none
};

struct script {
	const char *what;
	struct step steps[STEPS_MAX]; // ended by flags and state of 0
	bool strict;                  // no connection is met in its middle
};

#define OK CONN_PASSES
#define NO CONN_IGNORED
#define OUT CONN_OUT_OF_WINDOW
#define BAD CONN_BAD_FLAGS
#define LATE CONN_NOT_BEGUN

// A handshake, of which the rest of a row goes on.
#define SHAKE                                                                                      \
	{0, S, 0, 0, 0, OK, CONN_SYN_SENT}, {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},            \
	{                                                                                          \
		0, A, 1, 1, 0, OK, CONN_ESTABLISHED                                                \
	}

static const struct script scripts[] = {
	{"handshake, data, close",
	 {SHAKE,
	  {0, A | P, 1, 1, 100, OK, CONN_ESTABLISHED},
	  {1, A, 1, 101, 0, OK, CONN_ESTABLISHED},
	  {1, A | P, 1, 101, 1000, OK, CONN_ESTABLISHED},
	  {0, A | F, 101, 1001, 0, OK, CONN_OPENER_CLOSED},
	  {1, A, 1001, 102, 0, OK, CONN_OPENER_CLOSED},
	  {1, A | P, 1001, 102, 500, OK, CONN_OPENER_CLOSED}, // half closed goes on
	  {0, A, 102, 1501, 0, OK, CONN_OPENER_CLOSED},
	  {1, A | F, 1501, 102, 0, OK, CONN_BOTH_CLOSED},
	  {1, A | F, 1501, 102, 0, OK, CONN_BOTH_CLOSED}, // again
	  {0, A, 102, 1502, 0, OK, CONN_TIME_WAIT},
	  {1, A | F, 1501, 102, 0, OK, CONN_TIME_WAIT}, // the last acknowledgement was lost
	  {0, A, 102, 1502, 0, OK, CONN_TIME_WAIT}}},
	{"the other closes first",
	 {SHAKE,
	  {1, A | F, 1, 1, 0, OK, CONN_OTHER_CLOSED},
	  {0, A | F, 1, 2, 0, OK, CONN_BOTH_CLOSED},
	  {1, A, 2, 2, 0, OK, CONN_TIME_WAIT}}},
	{"both close at once",
	 {SHAKE,
	  {0, A | F, 1, 1, 0, OK, CONN_OPENER_CLOSED},
	  {1, A | F, 1, 1, 0, OK, CONN_BOTH_CLOSED},
	  {0, A, 2, 2, 0, OK, CONN_BOTH_CLOSED},
	  {1, A, 2, 2, 0, OK, CONN_TIME_WAIT}}},
	{"both open at once",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT},
	  {1, S, 0, 0, 0, OK, CONN_SYN_BOTH},
	  {0, S, 0, 0, 0, OK, CONN_SYN_BOTH},
	  {0, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {1, S | A, 0, 1, 0, OK, CONN_ESTABLISHED},
	  {0, A, 1, 1, 10, OK, CONN_ESTABLISHED}}},
	{"both open at once, the other answers first",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT},
	  {1, S, 0, 0, 0, OK, CONN_SYN_BOTH},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, S | A, 0, 1, 0, OK, CONN_ESTABLISHED}}},
	{"SYN and its answer again",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT},
	  {0, S, 0, 0, 0, OK, CONN_SYN_SENT},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, S, 0, 0, 0, NO, CONN_SYN_RECEIVED},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, A, 1, 1, 0, OK, CONN_ESTABLISHED},
	  {1, S | A, 0, 1, 0, NO, CONN_ESTABLISHED},
	  {0, S, 0, 0, 0, NO, CONN_ESTABLISHED},
	  {0, A, 1, 1, 10, OK, CONN_ESTABLISHED}}},
	{"data in the SYN, and from the other before the handshake is over",
	 {{0, S, 0, 0, 300, OK, CONN_SYN_SENT},
	  {1, S | A, 0, 301, 0, OK, CONN_SYN_RECEIVED},
	  {1, A, 1, 301, 500, OK, CONN_SYN_RECEIVED},
	  {0, A, 301, 501, 0, OK, CONN_ESTABLISHED}}},
	{"data in the SYN that is not taken",
	 {{0, S, 0, 0, 300, OK, CONN_SYN_SENT},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, A, 1, 1, 300, OK, CONN_ESTABLISHED}}},
	{"an answer to another SYN",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT},
	  {1, S | A, 0, 2, 0, NO, CONN_SYN_SENT},
	  {1, S | A, 0, 0, 0, NO, CONN_SYN_SENT},
	  {1, A, 0, 1, 0, NO, CONN_SYN_SENT},
	  {0, A, 1, 1, 0, NO, CONN_SYN_SENT},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, A, 1, 0, 0, NO, CONN_SYN_RECEIVED}, // does not acknowledge it
	  {0, A, 1, 2, 0, NO, CONN_SYN_RECEIVED}, // acknowledges more
	  {1, S | A, 7, 1, 0, NO, CONN_SYN_RECEIVED},
	  {0, A, 1, 1, 0, OK, CONN_ESTABLISHED}}},
	{"another SYN before any answer",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT},
	  {0, S, 5000, 0, 0, OK, CONN_SYN_SENT},
	  {1, S | A, 0, 5001, 0, OK, CONN_SYN_RECEIVED},
	  {0, A, 5001, 1, 0, OK, CONN_ESTABLISHED}}},
	{"refused",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT},
	  {1, R, 0, 0, 0, NO, CONN_SYN_SENT}, // acknowledges nothing
	  {1, R | A, 0, 9, 0, NO, CONN_SYN_SENT},
	  {1, R | A, 0, 1, 0, OK, CONN_REFUSED},
	  {0, S, 900, 0, 0, OK, CONN_SYN_SENT},
	  {0, R, 700, 0, 0, NO, CONN_SYN_SENT},
	  {0, R, 901, 0, 0, OK, CONN_REFUSED}}},
	{"refused in the handshake",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, R, 500, 0, 0, NO, CONN_SYN_RECEIVED},
	  {0, R, 1, 0, 0, OK, CONN_REFUSED}}},
	{"RST exact, near and far",
	 {SHAKE,
	  {0, A, 1, 1, 1000, OK, CONN_ESTABLISHED},
	  {0, R, 1002, 1, 0, NO, CONN_ESTABLISHED}, // in the window: the receiver asks back
	  {0, R, 0, 1, 0, NO, CONN_ESTABLISHED},
	  {0, R, 1 + 65 * KiB, 1, 0, OUT, CONN_ESTABLISHED},
	  {0, R, 0u - 65 * KiB, 1, 0, OUT, CONN_ESTABLISHED},
	  {0, R | A, 500, 1u << 20, 0, OUT, CONN_ESTABLISHED},
	  {1, R, 1u << 30, 1, 0, OUT, CONN_ESTABLISHED},
	  {1, A, 1, 1001, 0, OK, CONN_ESTABLISHED},
	  {0, R, 1001, 1, 0, OK, CONN_RESET},
	  {1, A, 1, 1001, 0, OK, CONN_RESET}, // was under way
	  {0, S, 70000, 0, 0, OK, CONN_SYN_SENT}}},
	{"RST where the other stands",
	 {SHAKE,
	  {0, A, 1, 1, 1000, OK, CONN_ESTABLISHED},
	  {0, R, 600, 1, 0, OK, CONN_RESET}}}, // between what is acknowledged and what was sent
	{"RST of a half closed one, and of one that both closed",
	 {SHAKE,
	  {1, A | F, 1, 1, 0, OK, CONN_OTHER_CLOSED},
	  {0, A, 1, 2, 0, OK, CONN_OTHER_CLOSED},
	  {0, A | F, 1, 2, 0, OK, CONN_BOTH_CLOSED},
	  {1, R, 2, 0, 0, OK, CONN_RESET}}},
	{"RST after the end", // changes nothing (RFC 1337)
	 {SHAKE,
	  {1, A | F, 1, 1, 0, OK, CONN_OTHER_CLOSED},
	  {0, A | F, 1, 2, 0, OK, CONN_BOTH_CLOSED},
	  {1, A, 2, 2, 0, OK, CONN_TIME_WAIT},
	  {0, R, 2, 0, 0, NO, CONN_TIME_WAIT},
	  {1, S, 99, 0, 0, OK, CONN_SYN_SENT}}},
	{"SYN within a connection",
	 {SHAKE,
	  {0, S, 1u << 30, 0, 0, NO, CONN_ESTABLISHED},
	  {1, S, 77, 0, 0, NO, CONN_ESTABLISHED},
	  {1, S | A, 5, 9, 0, NO, CONN_ESTABLISHED},
	  {0, A, 1, 1, 10, OK, CONN_ESTABLISHED},
	  {1, A | F, 1, 11, 0, OK, CONN_OTHER_CLOSED},
	  {1, S, 77, 0, 0, NO, CONN_OTHER_CLOSED}}},
	{"begun anew by an end that forgot, at one that did as well",
	 {SHAKE,
	  {0, S, 1u << 30, 0, 0, NO, CONN_ESTABLISHED},
	  {1, S | A, 1u << 29, (1u << 30) + 2, 0, NO, CONN_ESTABLISHED}, // acknowledges another
	  {0, S | A, 1u << 29, (1u << 30) + 1, 0, NO, CONN_ESTABLISHED}, // its own
	  {1, S | A, 1u << 29, (1u << 30) + 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, A, (1u << 30) + 1, (1u << 29) + 1, 10, OK, CONN_ESTABLISHED},
	  {1, A, (1u << 29) + 1, (1u << 30) + 11, 10, OK, CONN_ESTABLISHED}}},
	{"begun anew by an end that forgot, at one that did not",
	 {SHAKE,
	  {0, A, 1, 1, 10, OK, CONN_ESTABLISHED},
	  {1, A, 1, 11, 0, OK, CONN_ESTABLISHED},
	  {0, S, 1u << 30, 0, 0, NO, CONN_ESTABLISHED},
	  {1, A, 1, 11, 0, OK, CONN_ESTABLISHED}, // asks back
	  {0, R, 11, 0, 0, OK, CONN_RESET},
	  {0, S, 1u << 30, 0, 0, OK, CONN_SYN_SENT},
	  {1, S | A, 1u << 29, (1u << 30) + 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, A, (1u << 30) + 1, (1u << 29) + 1, 0, OK, CONN_ESTABLISHED}}},
	{"numbers out of the window",
	 {SHAKE,
	  {0, A, 1 + 64 * KiB, 1, 10, OK, CONN_ESTABLISHED}, // as far as any window without a scale
	  {0, A, 2 + 64 * KiB, 1, 10, OUT, CONN_ESTABLISHED},
	  {0, A, 1 - 64 * KiB, 1, 0, OK, CONN_ESTABLISHED}, // again what was acknowledged
	  {0, A, 0u - 64 * KiB, 1, 0, OUT, CONN_ESTABLISHED},
	  {1, A, 1, 2 + 64 * KiB, 0, OUT, CONN_ESTABLISHED}, // acknowledges too much
	  {1, A, 1, 0u - 64 * KiB, 0, OUT, CONN_ESTABLISHED},
	  {1, F | A, 1u << 20, 1, 0, OUT, CONN_ESTABLISHED},
	  {0, F | A, 1000, 1, 0, NO, CONN_ESTABLISHED}, // there is more behind it
	  {1, A, 1, 1, 0, OK, CONN_ESTABLISHED}}},
	{"a probe of a closed window, and a keep-alive",
	 {SHAKE,
	  {0, A, 1, 1, 1000, OK, CONN_ESTABLISHED},
	  {1, A, 1, 1001, 0, OK, CONN_ESTABLISHED},
	  {0, A, 1001, 1, 1, OK, CONN_ESTABLISHED},
	  {0, A, 1000, 1, 0, OK, CONN_ESTABLISHED}}},
	{"scaled windows",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT, .window = 65535, .scale = 1 + 7},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED, .window = 65535, .scale = 1 + 2},
	  {0, A, 1, 1, 0, OK, CONN_ESTABLISHED, .window = 2048}, // 256 KiB
	  {1, A, 1 + 256 * KiB, 1, 10, OK, CONN_ESTABLISHED, .window = 40000},
	  {1, A, 2 + 256 * KiB, 1, 10, OUT, CONN_ESTABLISHED, .window = 40000},
	  {0, A, 1 + 192 * KiB, 1, 10, OK, CONN_ESTABLISHED}, // 160,000 rounded up
	  {0, A, 2 + 192 * KiB, 1, 10, OUT, CONN_ESTABLISHED}}},
	{"a scale that one end alone offers",
	 {{0, S, 0, 0, 0, OK, CONN_SYN_SENT, .scale = 1 + 7},
	  {1, S | A, 0, 1, 0, OK, CONN_SYN_RECEIVED},
	  {0, A, 1, 1, 0, OK, CONN_ESTABLISHED, .window = 2048},
	  {1, A, 2 + 64 * KiB, 1, 10, OUT, CONN_ESTABLISHED}}},
	{"an acknowledgement of what was not seen", // fragments
	 {SHAKE,
	  {1, A, 1, 5001, 0, OK, CONN_ESTABLISHED},
	  {0, A | F, 5001, 1, 0, OK, CONN_OPENER_CLOSED},
	  {1, A | F, 1, 5002, 0, OK, CONN_BOTH_CLOSED},
	  {0, A, 5002, 2, 0, OK, CONN_TIME_WAIT}}},
	{"met in the middle",
	 {{0, A, 1u << 20, 1u << 20, 100, OK, CONN_PICKED_UP},
	  {0, A, (1u << 20) + 100, 1u << 20, 100, OK, CONN_PICKED_UP},
	  {1, A, (1u << 20) + (1u << 29), (1u << 20) + 200, 100, OK, CONN_ESTABLISHED},
	  {0, A, 1u << 29, 1u << 20, 100, OK, CONN_ESTABLISHED},
	  {0, A, 1u << 30, 1u << 20, 100, OUT, CONN_ESTABLISHED},
	  {0, R, (1u << 29) + 100, 0, 0, OK, CONN_RESET}}},
	{"met at its end",
	 {{0, A | F, 10, 10, 0, OK, CONN_PICKED_FIN},
	  {0, A, 11, 10, 0, OK, CONN_PICKED_FIN},
	  {1, A, 10, 11, 0, OK, CONN_OPENER_CLOSED},
	  {1, A | F, 10, 11, 0, OK, CONN_BOTH_CLOSED},
	  {0, A, 11, 11, 0, OK, CONN_TIME_WAIT}}},
	{"met when both close",
	 {{0, A | F, 10, 10, 0, OK, CONN_PICKED_FIN},
	  {1, A | F, 10, 11, 0, OK, CONN_BOTH_CLOSED},
	  {0, A, 11, 11, 0, OK, CONN_TIME_WAIT}}},
	{"met at the answer to a SYN",
	 {{1, S | A, 0, 1, 0, OK, CONN_PICKED_UP}, {0, A, 1, 1, 0, OK, CONN_ESTABLISHED}}},
	{"nobody has such a connection",
	 {{0, A, 10, 10, 0, OK, CONN_PICKED_UP},
	  {0, R, 10, 10, 0, NO, CONN_PICKED_UP},
	  {1, R, 10, 0, 0, OK, CONN_REFUSED},
	  {1, S, 10, 0, 0, OK, CONN_SYN_SENT}}},
	{"met by a RST", {{0, R, 10, 0, 0, NO, CONN_NEW}, {1, R | A, 10, 9, 0, NO, CONN_NEW}}},
	{"strict",
	 {{0, A, 10, 10, 0, LATE, CONN_NEW},
	  {0, A | F, 10, 10, 0, LATE, CONN_NEW},
	  {0, S | A, 10, 10, 0, LATE, CONN_NEW},
	  {0, R, 10, 10, 0, LATE, CONN_NEW},
	  SHAKE},
	 .strict = true},
};

struct ends {
	struct tcp_conn conn;
	uint32_t first[2];
};

static enum conn_verdict play(struct ends *e, const struct step *step, unsigned side, bool strict)
{
	struct tcp_segment s = {
		.seq = e->first[side] + step->seq,
		.ack = step->flags & A ? e->first[!side] + step->ack : 0,
		.window = step->window ? step->window : 1000,
		.flags = step->flags,
		.side = (uint8_t)side,
		.scale = (uint8_t)(step->scale ? step->scale - 1 : TCP_SCALE_NONE),
	};

	s.end = s.seq + step->bytes + (s.flags & S ? 1u : 0u) + (s.flags & F ? 1u : 0u);
	if (conn_goes_on(&e->conn, &s))
		return CONN_PASSES;
	return conn_step(&e->conn, &s, !strict);
}

// Begun from either side, and with numbers that wrap at once, soon, later, or not.
static void test_scripts(void)
{
	static const uint32_t firsts[] = {0,        1,          0xffffffff,  0xfffffff0,
					  1u << 31, 0x7fffffff, 0u - 70000u, 12345678};

	for (unsigned i = 0; i < RTE_DIM(scripts); i++)
		for (unsigned k = 0; k < 2 * RTE_DIM(firsts); k++) {
			struct ends e = {.conn = {.version = 7},
					 .first = {firsts[k / 2], firsts[k * 3 % RTE_DIM(firsts)]}};
			const struct step *step = scripts[i].steps;

			for (; step < scripts[i].steps + STEPS_MAX && (step->flags || step->state);
			     step++) {
				enum conn_verdict verdict = play(&e, step, step->side ^ k % 2,
								 scripts[i].strict);

				if (verdict != step->verdict || e.conn.state != step->state)
					fprintf(stderr, "%s: step %d: %d, %s\n", scripts[i].what,
						(int)(step - scripts[i].steps), (int)verdict,
						conn_state_str(e.conn.state));
				CU_ASSERT_EQUAL_FATAL(verdict, step->verdict);
				CU_ASSERT_EQUAL_FATAL(e.conn.state, step->state);
			}
			CU_ASSERT_EQUAL(e.conn.version, 7);
		}
}

// Every combination of flags, the upper ones of no account: in a connection, and as the first of one.
static void test_flags(void)
{
	static const uint8_t good[] = {S, S | A, A, F | A, R, R | A};

	for (unsigned flags = 0; flags < 256; flags++) {
		struct tcp_conn fresh = {0}, running = {.state = CONN_ESTABLISHED, .reach = {1, 1}};
		struct tcp_segment s = {.flags = (uint8_t)flags, .scale = TCP_SCALE_NONE};
		bool fits = false;

		for (unsigned i = 0; i < RTE_DIM(good); i++)
			fits |= (flags & (F | S | R | A)) == good[i];
		CU_ASSERT_EQUAL(conn_step(&fresh, &s, true) != CONN_BAD_FLAGS, fits);
		CU_ASSERT_EQUAL(conn_step(&running, &s, true) != CONN_BAD_FLAGS, fits);
		CU_ASSERT_TRUE(fits || running.state == CONN_ESTABLISHED);
	}
}

// --- options ---------------------------------------------------------------------------------------------

static void test_options(void)
{
	static const struct {
		uint8_t options[40], bytes; // a multiple of 4
		uint8_t scale;
	} rows[] = {
		{{0}, 0, TCP_SCALE_NONE},
		{{3, 3, 7, 0}, 4, 7},
		{{1, 3, 3, 7}, 4, 7},
		{{2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 3, 0, 0, 0, 0, 1, 3, 3, 9}, 20, 9},
		{{3, 3, 200, 0}, 4, TCP_SCALE_MOST}, // more than there may be
		{{0, 3, 3, 7}, 4, TCP_SCALE_NONE},   // behind the end
		{{1, 1, 3, 3}, 4, TCP_SCALE_NONE},   // cut off
		{{1, 1, 1, 3}, 4, TCP_SCALE_NONE},
		{{3, 0, 7, 0}, 4, TCP_SCALE_NONE}, // lengths that cannot be
		{{9, 1, 3, 3, 3, 3, 7, 0}, 8, TCP_SCALE_NONE},
		{{3, 4, 7, 7}, 4, TCP_SCALE_NONE},
		{{9, 200, 0, 0}, 4, TCP_SCALE_NONE},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		uint8_t bytes[TCP_BYTES + 40] = {0};
		struct tcp_head *tcp = (struct tcp_head *)bytes;

		tcp->offset = (uint8_t)((TCP_BYTES + rows[i].bytes) / 4 << 4);
		memcpy(bytes + TCP_BYTES, rows[i].options, sizeof(rows[i].options));
		CU_ASSERT_EQUAL(tcp_scale(tcp), rows[i].scale);
	}
}

// --- against a reference ---------------------------------------------------------------------------------

// What is known of a connection, as facts rather than as a state, with numbers that never wrap.
struct facts {
	enum { NOTHING, OPENING, MET, RUNNING, OVER, RESET, REFUSED } kind;
	unsigned opener;
	bool syn[2], answered; // OPENING: whose SYN was seen; whether one was acknowledged
	bool fin[2];
	int64_t sent[2], acked[2], reach[2];
	int scale[2]; // -1: none
	bool waits;
	unsigned waits_side;
	int waits_scale;
	int64_t waits_end;
};

struct seg {
	unsigned side;
	uint8_t flags;
	int64_t seq, end, ack, window;
	int scale;
};

static enum conn_state state_of(const struct facts *f)
{
	switch (f->kind) {
	case NOTHING:
		return CONN_NEW;
	case OPENING:
		if (f->answered)
			return CONN_SYN_RECEIVED;
		return f->syn[0] && f->syn[1] ? CONN_SYN_BOTH : CONN_SYN_SENT;
	case MET:
		return f->fin[f->opener] ? CONN_PICKED_FIN : CONN_PICKED_UP;
	case RUNNING:
		if (f->fin[0] && f->fin[1])
			return CONN_BOTH_CLOSED;
		if (!f->fin[0] && !f->fin[1])
			return CONN_ESTABLISHED;
		return f->fin[f->opener] ? CONN_OPENER_CLOSED : CONN_OTHER_CLOSED;
	case OVER:
		return CONN_TIME_WAIT;
	case RESET:
		return CONN_RESET;
	default:
		return CONN_REFUSED;
	}
}

static bool in_window(const struct facts *f, const struct seg *s)
{
	unsigned me = s->side, peer = !s->side;

	if (s->seq > f->acked[me] + f->reach[peer] || s->end < f->acked[me] - f->reach[peer])
		return false;
	return !(s->flags & A) ||
	       (s->ack <= f->acked[peer] + f->reach[me] && s->ack >= f->acked[peer] - f->reach[me]);
}

static void note(struct facts *f, const struct seg *s)
{
	unsigned me = s->side, peer = !s->side;

	f->sent[me] = RTE_MAX(f->sent[me], s->end);
	if (s->flags & F)
		f->fin[me] = true;
	if (!(s->flags & A))
		return;
	f->acked[peer] = RTE_MAX(f->acked[peer], s->ack);
	f->sent[peer] = RTE_MAX(f->sent[peer], s->ack);
	if (!(s->flags & S)) {
		int64_t window = s->window << RTE_MAX(f->scale[me], 0);

		f->reach[me] = RTE_MAX(f->reach[me],
				       RTE_MIN((window + 64 * KiB - 1) / (64 * KiB) * (64 * KiB),
					       1 << 29));
	}
}

static void syn_note(struct facts *f, const struct seg *s)
{
	f->syn[s->side] = true;
	f->sent[s->side] = s->end;
	f->acked[s->side] = s->seq;
	f->reach[s->side] = 64 * KiB;
	f->scale[s->side] = s->scale;
	if (f->syn[0] && f->syn[1] && (f->scale[0] < 0 || f->scale[1] < 0))
		f->scale[0] = f->scale[1] = 0;
}

static void opens(struct facts *f, const struct seg *s)
{
	*f = (struct facts){.kind = OPENING, .opener = s->side};
	syn_note(f, s);
}

static enum conn_verdict first(struct facts *f, const struct seg *s, bool pick_up)
{
	if ((s->flags & (S | A)) == S) {
		opens(f, s);
		return CONN_PASSES;
	}
	if (!pick_up)
		return CONN_NOT_BEGUN;
	if (s->flags & R)
		return CONN_IGNORED;
	*f = (struct facts){.kind = MET, .opener = s->side, .scale = {14, 14}};
	f->reach[0] = f->reach[1] = 1 << 29;
	f->acked[s->side] = s->seq;
	f->sent[s->side] = s->end;
	f->acked[!s->side] = f->sent[!s->side] = s->ack;
	f->fin[s->side] = s->flags & F;
	return CONN_PASSES;
}

static enum conn_verdict syn_alone(struct facts *f, const struct seg *s)
{
	bool over = f->kind == OVER || f->kind == RESET || f->kind == REFUSED || f->kind == MET;

	if (over || (f->kind == OPENING && !f->answered && !f->syn[!s->side])) {
		opens(f, s);
		return CONN_PASSES;
	}
	if (f->kind == OPENING && !f->answered) {
		syn_note(f, s);
		return CONN_PASSES;
	}
	f->waits = true;
	f->waits_side = s->side;
	f->waits_scale = s->scale;
	f->waits_end = s->seq + 1;
	return CONN_IGNORED;
}

static bool acks_some(const struct facts *f, const struct seg *s)
{
	return (s->flags & A) && s->ack > f->acked[!s->side] && s->ack <= f->sent[!s->side];
}

static enum conn_verdict rst(struct facts *f, const struct seg *s)
{
	bool exact = s->seq >= f->acked[s->side] && s->seq <= f->sent[s->side];

	if (f->kind == OPENING && !f->answered && !f->syn[s->side])
		exact = acks_some(f, s);
	if (!exact || f->kind == OVER || f->kind == RESET || f->kind == REFUSED ||
	    (f->kind == MET && s->side == f->opener))
		return CONN_IGNORED;
	f->kind = f->kind == RUNNING ? RESET : REFUSED;
	note(f, s);
	return CONN_PASSES;
}

// Where an acknowledgement of the SYN is awaited.
static enum conn_verdict opening(struct facts *f, const struct seg *s)
{
	bool both = f->syn[0] && f->syn[1];

	if (f->answered && s->side != f->opener) {
		if ((s->flags & S) && s->seq != f->acked[s->side])
			return CONN_IGNORED;
		note(f, s);
		if (s->flags & F)
			f->kind = RUNNING;
		return CONN_PASSES;
	}
	if (!acks_some(f, s))
		return CONN_IGNORED;
	if (f->answered) {
		f->kind = RUNNING;
		f->waits &= s->flags & F;
	} else if (both) {
		if (s->flags & F)
			return CONN_IGNORED;
		f->answered = true;
		f->opener = !s->side;
	} else {
		if (s->side == f->opener || !(s->flags & S))
			return CONN_IGNORED;
		syn_note(f, s);
		f->answered = true;
	}
	note(f, s);
	return CONN_PASSES;
}

static enum conn_verdict later(struct facts *f, const struct seg *s)
{
	if ((s->flags & S) && (f->kind != MET))
		return CONN_IGNORED;
	note(f, s);
	if (f->kind == MET && s->side != f->opener) {
		f->kind = RUNNING;
		f->waits &= f->fin[0] | f->fin[1];
	}
	if (f->kind == RUNNING && f->fin[0] && f->fin[1] && f->sent[0] == f->acked[0] &&
	    f->sent[1] == f->acked[1])
		f->kind = OVER;
	return CONN_PASSES;
}

static enum conn_verdict expected(struct facts *f, const struct seg *s, bool pick_up)
{
	uint8_t flags = s->flags & (F | S | R | A);

	if (flags == 0 || ((flags & F) && !(flags & A)) || ((flags & S) && (flags & (F | R))) ||
	    ((flags & R) && (flags & F)))
		return CONN_BAD_FLAGS;
	if (f->kind == NOTHING)
		return first(f, s, pick_up);
	if (flags == (S | A) && f->waits && s->side != f->waits_side &&
	    (uint32_t)s->ack == (uint32_t)f->waits_end) {
		struct seg syn = {.side = f->waits_side,
				  .seq = s->ack,
				  .end = s->ack,
				  .scale = f->waits_scale};

		opens(f, &syn);
		syn_note(f, s);
		f->answered = true;
		return CONN_PASSES;
	}
	if (flags == S)
		return syn_alone(f, s);
	if (!(flags & S) && !in_window(f, s)) {
		if (f->kind == RUNNING || f->kind == OVER)
			return CONN_OUT_OF_WINDOW;
		if (f->kind == MET || (f->kind == OPENING && f->answered))
			return CONN_IGNORED;
	}
	if (flags & R)
		return rst(f, s);
	if ((flags & F) && s->end < f->sent[s->side] && f->kind != RESET && f->kind != REFUSED)
		return CONN_IGNORED;
	return f->kind == OPENING ? opening(f, s) : later(f, s);
}

// --- random segments -------------------------------------------------------------------------------------

static uint64_t seed;

static uint32_t draw(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * n >> 32);
}

// Mostly what fits, else something at the edges of what does.
static int64_t near(int64_t sent, int64_t acked, int64_t reach)
{
	static const int64_t steps[] = {-1, 0, 1, 100};
	int64_t step = steps[draw(RTE_DIM(steps))];

	switch (draw(12)) {
	case 0:
		return acked + reach + step;
	case 1:
		return acked - reach + step;
	case 2:
		return acked + step;
	case 3:
		return sent + step;
	case 4:
		return sent + ((int64_t)draw(1u << 31) - (1 << 30));
	default:
		return sent;
	}
}

static struct seg segment(const struct facts *f)
{
	static const uint8_t usual[] = {S, S | A, A, A, A, A | P, A | P, A | F, R, R | A};
	unsigned side = draw(2);
	struct seg s = {
		.side = side,
		.flags = draw(50) ? usual[draw(RTE_DIM(usual))] : (uint8_t)draw(64),
		.seq = near(f->sent[side], f->acked[side], f->reach[!side]),
		.ack = near(f->sent[!side], f->acked[!side], f->reach[side]),
		.window = draw(8) ? 60000 : draw(65536),
		.scale = draw(2) ? -1 : (int)draw(15),
	};

	if (!draw(4) && f->waits)
		s.ack = f->sent[!side] +
			(int32_t)(f->waits_end - f->sent[!side]); // as near as can be
	s.end = s.seq + (draw(3) ? 0 : draw(1400)) + !!(s.flags & S) + !!(s.flags & F);
	return s;
}

static enum conn_verdict actual(struct tcp_conn *conn, const struct seg *seg, bool pick_up)
{
	const struct tcp_segment s = {
		.seq = (uint32_t)seg->seq,
		.end = (uint32_t)seg->end,
		.ack = (uint32_t)seg->ack,
		.window = (uint16_t)seg->window,
		.flags = seg->flags,
		.side = (uint8_t)seg->side,
		.scale = seg->scale < 0 ? TCP_SCALE_NONE : (uint8_t)seg->scale,
	};

	return conn_goes_on(conn, &s) ? CONN_PASSES : conn_step(conn, &s, pick_up);
}

#define SEGMENTS 3000000u

static void test_model(void)
{
	struct tcp_conn conn = {.version = 1};
	struct facts f = {.sent = {1u << 31, 7}, .acked = {1u << 31, 7}};
	unsigned of_state[CONN_STATES] = {0}, of_verdict[CONN_NOT_BEGUN + 1] = {0}, wrong = 0;
	bool pick_up = true;

	seed = 1;
	for (unsigned i = 0; i < SEGMENTS && !wrong; i++) {
		struct seg s;
		enum conn_verdict verdict, expect;

		if (!draw(60)) { // its flow has ended
			conn = (struct tcp_conn){.version = i};
			f = (struct facts){.sent = {f.sent[0], f.sent[1]},
					   .acked = {f.acked[0], f.acked[1]}};
			pick_up = draw(2);
		}
		s = segment(&f);
		verdict = actual(&conn, &s, pick_up);
		expect = expected(&f, &s, pick_up);
		of_state[conn.state]++;
		of_verdict[verdict]++;
		if (verdict != expect || conn.state != state_of(&f)) {
			fprintf(stderr, "segment %u, flags %02x by %u: %d, %s; expected %d, %s\n",
				i, s.flags, s.side, (int)verdict, conn_state_str(conn.state),
				(int)expect, conn_state_str(state_of(&f)));
			wrong++;
		}
		for (unsigned k = 0; k < 2 && f.kind >= MET && f.kind <= OVER; k++)
			wrong += conn.sides[k].end != (uint32_t)f.sent[k] ||
				 conn.sides[k].acked != (uint32_t)f.acked[k];
	}
	CU_ASSERT_EQUAL(wrong, 0);
	for (unsigned i = 0; i < RTE_DIM(of_state); i++)
		CU_ASSERT_TRUE(of_state[i] > SEGMENTS / 1000);
	for (unsigned i = 0; i < RTE_DIM(of_verdict); i++)
		CU_ASSERT_TRUE(of_verdict[i] > SEGMENTS / 1000);
}

static CU_TestInfo tests[] = {
	{"rows of segments", test_scripts},
	{"all flags", test_flags},
	{"options", test_options},
	{"three million segments against a reference", test_model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("TCP connections")
