// Requests that meet: several for one session, repeated ones, and those that an association or the context
// ends under.

#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

static void send_update(uint64_t seid, uint32_t teid)
{
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = FORW, .to = true, .destination = ACCESS,
	    .teid = teid, .peer = "127.0.0.50");
	msg_send();
}

// Requests for a session wait for each other; a deletion in between ends what comes after it.
static void test_queue(void)
{
	static const struct {
		uint8_t type, cause;
	} rows[] = {{53, 1}, {53, 73}, {53, 1}, {55, 1}, {53, 65}, {55, 65}};
	uint32_t seq;
	uint64_t seid;

	kit_open(&conf);
	seid = establish_rich();
	kit.hold = true;
	kit.n_sent = 0;
	seq = kit.seq + 1;
	send_update(seid, 21);
	msg_begin(52, seid);
	remove_pdr(99);
	msg_send();
	send_update(seid, 22);
	delete_session(seid);
	send_update(seid, 23);
	delete_session(seid);
	CU_ASSERT_EQUAL(kit.n_sent, 0);
	kit_run();
	CU_ASSERT_EQUAL(kit.n_sent, 6);
	for (unsigned i = 0; i < 6; i++)
		CU_ASSERT(kit.log[i].type == rows[i].type && kit.log[i].cause == rows[i].cause &&
			  kit.log[i].seq == seq + i);
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 0);
	kit_close();
}

// The last of several changes is the one that stays; too many are refused, the others still done.
static void test_queue_full(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_rich();
	kit.hold = true;
	kit.n_sent = 0;
	for (uint32_t i = 0; i < N4_SESSION_WAITING_MAX + 1; i++)
		send_update(seid, 100 + i);
	CU_ASSERT_EQUAL(kit.n_sent, 0);
	send_update(seid, 999);
	CU_ASSERT(kit.n_sent == 1 && answer_cause() == 74 && answer_seid() == 1);
	kit_run();
	CU_ASSERT_EQUAL(kit.n_sent, N4_SESSION_WAITING_MAX + 2);
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_EQUAL(down_line(session_of(seid))->down.teid,
			rte_cpu_to_be_32(100 + N4_SESSION_WAITING_MAX));
	kit_close();
}

// A request repeated while it is worked on is not done twice; repeated afterwards it gets the same bytes.
static void test_duplicates(void)
{
	uint8_t request[1024], answer[1024];
	size_t request_len, answer_len;

	kit_open(&conf);
	kit.hold = true;
	establish_begin(1);
	put_plain("10.45.0.2");
	msg_send();
	request_len = kit.len;
	memcpy(request, kit.out, request_len);
	msg_deliver(request, request_len);
	CU_ASSERT_EQUAL(kit.n_sent, 0);
	kit_run();
	CU_ASSERT(kit.n_sent == 1 && n4_session_count(kit.n4) == 1);
	answer_len = kit.answer_len;
	memcpy(answer, kit.answer, answer_len);
	msg_deliver(request, request_len);
	CU_ASSERT(kit.n_sent == 2 && n4_session_count(kit.n4) == 1);
	CU_ASSERT(kit.answer_len == answer_len && memcmp(kit.answer, answer, answer_len) == 0);
	kit_close();
}

// The association goes: sessions that rest, one being made, one being changed with requests behind it, one
// being deleted. All that they held is given back, and a new association can be made.
static void test_association_ends(void)
{
	struct kit_counts before, after;
	uint64_t change, del;

	kit_open(&conf);
	before = kit_counts();
	establish_plain(1, "10.45.0.2");
	change = establish_plain(2, "10.45.0.3");
	del = establish_plain(3, "10.45.0.4");
	kit.hold = true;
	establish_begin(4);
	put_plain("10.45.0.5");
	msg_send();
	send_update(change, 5);
	send_update(change, 6);
	delete_session(del);
	kit.n_sent = 0;
	kit_release();
	kit_run();
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	CU_ASSERT_EQUAL(n4_session_lookup(kit.n4, change), NULL);
	kit.hold = false;
	kit_setup();
	CU_ASSERT(establish_plain(5, "10.45.0.2") != 0);
	kit_close();
}

// An establishment with the CP F-SEID of a living session: that one goes first, with all it held, so that the new
// one may have the same UE address; whatever else is under way.
static void test_established_anew(void)
{
	struct kit_counts before, after;
	uint64_t old, new, other;

	kit_open(&conf);
	other = establish_plain(2, "10.45.0.9");
	old = establish_plain(1, "10.45.0.2");
	before = kit_counts();
	new = establish_plain(1, "10.45.0.2");
	CU_ASSERT(new != 0 && new != old);
	CU_ASSERT(n4_session_lookup(kit.n4, old) == NULL && n4_session_lookup(kit.n4, other));
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));

	kit.hold = true; // a change is under way and another waits
	kit.n_sent = 0;
	send_update(new, 5);
	send_update(new, 6);
	establish_begin(1);
	put_plain("10.45.0.2");
	msg_send();
	CU_ASSERT(kit.n_sent == 1 && answer_type() == 53 && answer_cause() == 65);
	establish_begin(1); // a second one does not wait too
	put_plain("10.45.0.2");
	msg_send();
	CU_ASSERT(kit.n_sent == 2 && answer_type() == 51 && answer_cause() == 74);
	kit_run();
	CU_ASSERT_EQUAL(kit.n_sent, 4);
	CU_ASSERT(kit.log[2].type == 53 && kit.log[2].cause == 1);
	CU_ASSERT(kit.log[3].type == 51 && kit.log[3].cause == 1);
	CU_ASSERT(n4_session_lookup(kit.n4, new) == NULL && n4_session_lookup(kit.n4, up_seid()));
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));

	new = up_seid(); // one that is just being deleted
	kit.n_sent = 0;
	delete_session(new);
	establish_begin(1);
	put_plain("10.45.0.2");
	msg_send();
	kit_run();
	CU_ASSERT(kit.n_sent == 2 && kit.log[0].type == 55 && kit.log[1].type == 51 &&
		  kit.log[1].cause == 1);
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	kit_close();
}

// One that is just being established is answered, then goes; and an F-SEID that was changed counts as it is now.
static void test_established_twice(void)
{
	uint64_t seid;

	kit_open(&conf);
	kit.hold = true;
	for (unsigned i = 0; i < 2; i++) {
		establish_begin(1);
		put_plain("10.45.0.2");
		msg_send();
	}
	kit_run();
	CU_ASSERT(kit.n_sent == 2 && kit.log[0].cause == 1 && kit.log[1].cause == 1);
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 1);
	seid = up_seid();
	kit.hold = false;
	msg_begin(52, seid);
	ie_f_seid(0x99);
	msg_send();
	CU_ASSERT(establish_plain(1, "10.45.0.3") != 0 && n4_session_count(kit.n4) == 2);
	CU_ASSERT(establish_plain(0x99, "10.45.0.2") != 0 && n4_session_count(kit.n4) == 2);
	CU_ASSERT_PTR_NULL(n4_session_lookup(kit.n4, seid));

	kit.hold = true; // the association ends while one waits
	kit.n_sent = 0;
	establish_begin(1);
	put_plain("10.45.0.3");
	msg_send();
	kit_release();
	kit_run(); // whose requests are forgotten with it
	CU_ASSERT_EQUAL(kit.n_sent, 0);
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 0);
	kit.hold = false;
	kit_setup();
	establish_plain(1, "10.45.0.3");
	kit.hold = true; // and so does the context
	establish_begin(1);
	put_plain("10.45.0.3");
	msg_send();
	n4_free(kit.n4);
	kit_run();
	kit.n4 = NULL;
	kit_close();
}

// The context ends with everything under way.
static void test_context_ends(void)
{
	uint64_t change, del;

	kit_open(&conf);
	change = establish_rich();
	del = establish_plain(3, "10.45.0.4");
	kit.hold = true;
	establish_begin(4);
	put_plain("10.45.0.5");
	msg_send();
	send_update(change, 5);
	send_update(change, 6);
	delete_session(del);
	n4_free(kit.n4);
	kit_run(); // the mails come back to nobody
	kit.n4 = NULL;
	kit_close();
}

#define OTHER_CHAIN (1ull << 40)

static uint64_t other_chain(void *ctx, bool up, unsigned needs)
{
	return kit_chain(ctx, up, needs) | OTHER_CHAIN;
}

static uint64_t chain_of(uint64_t seid)
{
	return rule_arena_at(&kit.arena, session_of(seid)->holding.rules)->chain_down;
}

static void mark(uint64_t seid)
{
	n4_session_refresh(kit.n4, n4_session_lookup(kit.n4, seid));
}

// What rules compile to has changed: sessions that are marked get it without a request, one that is busy when
// its turn ends, one that is marked twice once, one that ends not at all.
static void test_refresh(void)
{
	uint64_t rest, busy, gone;
	struct kit_counts before, after;

	kit_open(&conf);
	before = kit_counts();
	rest = establish_rich();
	busy = establish_plain(3, "10.45.0.4");
	gone = establish_plain(4, "10.45.0.5");
	kit.n4->sessions->compile.chain = other_chain;
	kit.n_sent = 0;
	mark(rest);
	CU_ASSERT_EQUAL(chain_of(rest) & OTHER_CHAIN, 0);
	n4_tick(kit.n4);
	kit_run();
	CU_ASSERT_EQUAL(chain_of(rest) & OTHER_CHAIN, OTHER_CHAIN);
	CU_ASSERT_EQUAL(chain_of(busy) & OTHER_CHAIN, 0);
	CU_ASSERT(kit.n_sent == 0 && !n4_session_is_due(session_of(rest)));

	kit.hold = true;
	send_update(busy, 5);
	kit.n4->sessions->compile.chain = kit_chain;
	mark(busy);
	mark(busy);
	n4_tick(kit.n4);
	kit_run();
	CU_ASSERT(kit.n_sent == 1 && answer_cause() == 1);
	CU_ASSERT_EQUAL(chain_of(busy) & OTHER_CHAIN, 0);

	delete_session(gone);
	mark(gone);
	kit_run();
	n4_tick(kit.n4);
	kit.hold = false;
	delete_session(rest);
	delete_session(busy);
	n4_tick(kit.n4);
	kit_run();
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	kit_close();
}

// More marks than a tick may serve are served by further ticks.
static void test_refresh_many(void)
{
	struct kit_conf many = conf;
	uint64_t seids[48];
	unsigned n = 0;
	char ue[16];

	many.slots = 64;
	kit_open(&many);
	for (unsigned i = 0; i < 48; i++) {
		snprintf(ue, sizeof(ue), "10.45.0.%u", i + 2);
		seids[i] = establish_plain(i + 1, ue);
	}
	kit.n4->sessions->compile.chain = other_chain;
	for (unsigned i = 0; i < 48; i++)
		mark(seids[i]);
	n4_tick(kit.n4);
	kit_run();
	for (unsigned i = 0; i < 48; i++)
		n += n4_session_is_due(session_of(seids[i]));
	CU_ASSERT(n > 0 && n < 48);
	n4_tick(kit.n4);
	kit_run();
	for (unsigned i = 0; i < 48; i++)
		CU_ASSERT_EQUAL(chain_of(seids[i]) & OTHER_CHAIN, OTHER_CHAIN);
	kit_close();
}

// --- sessions that do not rest yet -----------------------------------------------------------------------

static bool rests(uint64_t seid)
{
	return session_of(seid)->packed && !session_of(seid)->rules;
}

// The two that were changed last stay unpacked, and the others are packed, whatever happens to those two.
static void test_recent(void)
{
	struct kit_conf two = KIT_CONF;
	uint64_t a, b, c, d;

	two.unpacked = 2;
	kit_open(&two);
	a = establish_plain(1, "10.45.0.2");
	b = establish_plain(2, "10.45.0.3");
	CU_ASSERT(!rests(a) && !rests(b));
	c = establish_plain(3, "10.45.0.4");
	CU_ASSERT(rests(a) && !rests(b) && !rests(c));
	send_update(b, 21); // its place stays the same
	send_update(a, 22);
	CU_ASSERT(!rests(a) && rests(b) && !rests(c));
	CU_ASSERT_EQUAL(down_line(session_of(b))->down.teid, rte_cpu_to_be_32(21));
	delete_session(c);
	d = establish_plain(4, "10.45.0.5"); // into the place of the one that has gone
	CU_ASSERT(!rests(a) && rests(b) && !rests(d));

	kit.hold = true; // one that is open is pushed out by others, and back again at its end
	send_update(a, 23);
	msg_begin(52, b);
	remove_pdr(99); // refused at once
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 73);
	CU_ASSERT(!rests(a) && !rests(b) && !rests(d));
	kit.hold = false;
	kit_run();
	CU_ASSERT(!rests(a) && !rests(b) && rests(d));
	CU_ASSERT_EQUAL(down_line(session_of(a))->down.teid, rte_cpu_to_be_32(23));
	delete_session(d);
	delete_session(a);
	delete_session(b);
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 0);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"requests wait in order", test_queue},
	{"too many requests wait", test_queue_full},
	{"duplicates", test_duplicates},
	{"the association ends", test_association_ends},
	{"44: established anew", test_established_anew},
	{"44: established twice", test_established_twice},
	{"the context ends", test_context_ends},
	{"own rules compiled again", test_refresh},
	{"many compiled again", test_refresh_many},
	{"packed when they rest", test_recent},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_turns")
