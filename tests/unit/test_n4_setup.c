// Associations as both sides make and end them: our calls to SMFs, updates, graceful release, what path failure
// leads to, and what more than one address of ours means (TS 29.244 6.2.6 to 6.2.8, 6.5).
//
// Driven by raw bytes, with time moved by hand.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "n4_fixture.h"
#include "pfcp/call.h"
#include "pfcp/endpoint.h"
#include "pfcp/features.h"

#define T1_MS 2500
#define IE_UP_FEATURES 43
#define IE_CP_FEATURES 89
#define IE_RELEASE_REQUEST 111
#define IE_RELEASE_PERIOD 112
#define SETUP 5
#define UPDATE 7

static struct prefix smf_list[3];

// A configuration that names the peer among the SMFs to call.
static struct n4_conf call_conf(unsigned n)
{
	struct n4_conf conf = fix_conf();

	prefix_parse("127.0.0.4", &smf_list[0]);
	prefix_parse("127.0.0.5", &smf_list[1]);
	prefix_parse("::5", &smf_list[2]);
	conf.smfs = smf_list;
	conf.n_smfs = n;
	conf.heartbeat_s = 0;
	return conf;
}

static const struct n4_call *call(void)
{
	return call_get(fix.n4, 0);
}

// The peer's answer to a setup of ours.
static void setup_answer(uint32_t seq, uint8_t cause, uint32_t stamp)
{
	msg(6, seq);
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	IE(IE_CAUSE, cause);
	ie_recovery(stamp);
	IE(IE_CP_FEATURES, 0x21);
	deliver();
}

// Waits out all sends of the request that is under way.
static void unanswered(void)
{
	for (unsigned i = 0; i < 3; i++)
		after_ms(T1_MS);
}

// --- calls -----------------------------------------------------------------------------------------------

// What a setup of ours says, octet by octet, and what its answer makes.
static void test_call(void)
{
	struct n4_conf conf = call_conf(1);
	struct endpoint smf;
	const uint8_t *at;
	uint64_t bits = 0;
	size_t len;

	fix_open(&conf);
	fix.peer.port = PFCP_PORT;
	endpoint_parse("127.0.0.4", PFCP_PORT, &smf);
	n4_tick(fix.n4);
	CU_ASSERT_EQUAL_FATAL(fix.n_sent, 1);
	CU_ASSERT(endpoint_eq(&sent_last()->to, &smf));
	CU_ASSERT_EQUAL(sent_last()->bytes[0], 0x20);
	CU_ASSERT_EQUAL(sent_type(), SETUP);
	at = sent_ie(IE_NODE_ID, &len);
	CU_ASSERT(at && len == 5 && memcmp(at, (const uint8_t[]){0, 127, 0, 0, 7}, 5) == 0);
	at = sent_ie(IE_RECOVERY, &len);
	CU_ASSERT(at && len == 4 && at[3] == (uint8_t)fix.n4->recovery);
	at = sent_ie(IE_UP_FEATURES, &len);
	for (size_t i = 0; at && i < len; i++)
		bits |= (uint64_t)at[i] << (8 * i);
	CU_ASSERT_EQUAL(bits, up_features(&fix.n4->env));
	CU_ASSERT_EQUAL(call()->state, CALL_ASKING);

	setup_answer(sent_seq(), 1, RECOVERY);
	CU_ASSERT_EQUAL(call()->state, CALL_ASSOCIATED);
	CU_ASSERT_PTR_NOT_NULL_FATAL(peer_assoc());
	CU_ASSERT(peer_assoc()->by_us);
	CU_ASSERT_EQUAL(peer_assoc()->recovery, RECOVERY);
	CU_ASSERT_EQUAL(peer_assoc()->cp_features, 0x21);
	after_ms(600000);
	CU_ASSERT_EQUAL(fix.n_sent, 1);
	CU_ASSERT_EQUAL(xacts().requests, 0);
	establish(1);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	fix_close();
}

// Nobody answers: N1 sends T1 apart, then waits of 1, 2, 4 ... s up to the longest, for as long as it takes.
static void test_call_back_off(void)
{
	static const unsigned waits_ms[] = {1000, 2000, 4000, 5000, 5000, 5000};
	struct n4_conf conf = call_conf(1);

	conf.setup_retry_ms = 5000;
	fix_open(&conf);
	n4_tick(fix.n4);
	for (unsigned i = 0; i < sizeof(waits_ms) / sizeof(waits_ms[0]); i++) {
		CU_ASSERT_EQUAL(fix.n_sent, 3 * i + 1);
		unanswered();
		CU_ASSERT_EQUAL(fix.n_sent, 3 * i + 3);
		CU_ASSERT_EQUAL(call()->state, CALL_WAITING);
		CU_ASSERT_EQUAL(call()->wait_ms, waits_ms[i]);
		after_ms(waits_ms[i] - 1);
		CU_ASSERT_EQUAL(fix.n_sent, 3 * i + 3);
		after_ms(1);
	}
	CU_ASSERT_EQUAL(count(N4_COUNT_setups_failed), 6);
	CU_ASSERT_EQUAL(xacts().requests, 1);
	setup_answer(sent_seq(), 1, RECOVERY);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	fix_close();
}

// A refusal is kept to be shown, counted, and tried again later; so is an answer that cannot be used.
static void test_call_refused(void)
{
	struct n4_conf conf = call_conf(1);

	fix_open(&conf);
	n4_tick(fix.n4);
	setup_answer(sent_seq(), 75, RECOVERY);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	CU_ASSERT_EQUAL(call()->cause, 75);
	CU_ASSERT_EQUAL(call()->failures, 1);
	CU_ASSERT_EQUAL(fix.n4->counters.causes_rx[75], 1);
	after_ms(1000);
	CU_ASSERT_EQUAL(fix.n_sent, 2);
	msg(6, sent_seq()); // accepted, but by nobody
	IE(IE_CAUSE, 1);
	ie_recovery(RECOVERY);
	deliver();
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_malformed), 1);
	CU_ASSERT_EQUAL(call()->state, CALL_ASKING);
	msg(6, sent_seq()); // a name that is none
	IE(IE_NODE_ID, 2, 3, 'a', ' ', 'b');
	IE(IE_CAUSE, 1);
	ie_recovery(RECOVERY);
	deliver();
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	after_ms(2000);
	setup_answer(sent_seq(), 1, RECOVERY);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	CU_ASSERT_EQUAL(call()->cause, 0);
	fix_close();
}

// Both sides set up at the same moment: one association, whichever request is answered first, and whether or not
// ours is answered at all.
static void test_call_crossing(void)
{
	struct n4_conf conf = call_conf(1);
	uint32_t seq;

	for (unsigned order = 0; order < 3; order++) {
		fix_open(&conf);
		n4_tick(fix.n4);
		seq = sent_seq();
		if (order == 0)
			setup_answer(seq, 1, RECOVERY);
		setup(1, RECOVERY);
		CU_ASSERT_EQUAL(sent_cause(), 1);
		if (order == 1)
			setup_answer(seq, 1, RECOVERY);
		CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
		CU_ASSERT_EQUAL(peer_assoc()->by_us, order == 0);
		after_ms(1);
		CU_ASSERT_EQUAL(call()->state, CALL_ASSOCIATED);
		CU_ASSERT_EQUAL(xacts().requests, 0);
		after_ms(60000);
		CU_ASSERT_EQUAL(fix.n_sent, 2);
		CU_ASSERT_EQUAL(fix.sessions.end_all, 0);
		fix_close();
	}
}

// The SMF restarts while we call it: what its earlier life had ends first, then it is called anew.
static void test_call_restarted(void)
{
	struct n4_conf conf = call_conf(1);

	for (unsigned earlier = 0; earlier < 2; earlier++) {
		uint32_t stamp = earlier ? RECOVERY - 5 : RECOVERY + 5, seq;

		fix_open(&conf);
		n4_tick(fix.n4);
		seq = sent_seq();
		setup(1, RECOVERY);
		setup_answer(seq, 1, stamp);
		CU_ASSERT_EQUAL(fix.sessions.end_all, 1);
		CU_ASSERT_EQUAL(count(N4_COUNT_peer_restarts), 1);
		after_ms(1);
		CU_ASSERT_EQUAL(sent_type(), SETUP);
		setup_answer(sent_seq(), 1, stamp);
		CU_ASSERT_PTR_NOT_NULL_FATAL(peer_assoc());
		CU_ASSERT_EQUAL(peer_assoc()->recovery, stamp);
		CU_ASSERT_EQUAL(count(N4_COUNT_setups_failed), 0);
		fix_close();
	}
}

// An SMF that releases what was set up is called again, ever more seldom while it goes on so.
static void test_call_released(void)
{
	struct n4_conf conf = call_conf(1);
	unsigned wait_ms = 1000;

	fix_open(&conf);
	n4_tick(fix.n4);
	for (uint32_t i = 0; i < 4; i++, wait_ms *= 2) {
		uint32_t sent;

		CU_ASSERT_EQUAL(sent_type(), SETUP);
		setup_answer(sent_seq(), 1, RECOVERY);
		msg(9, 100 + i);
		IE(IE_NODE_ID, 0, 127, 0, 0, 4);
		deliver();
		CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
		sent = fix.n_sent;
		n4_tick(fix.n4);
		after_ms(wait_ms - 1);
		CU_ASSERT_EQUAL(fix.n_sent, sent);
		after_ms(1);
		CU_ASSERT_EQUAL(fix.n_sent, sent + 1);
	}
	setup_answer(sent_seq(), 1, RECOVERY);
	after_ms(conf.setup_retry_ms); // this one lasts
	assoc_end(fix.n4, peer_assoc(), NULL, NULL);
	n4_tick(fix.n4);
	CU_ASSERT_EQUAL(call()->wait_ms, 1000);
	fix_close();
}

// An answer cannot take a living peer's Node ID; the same SMF under another address needs no second association.
static void test_call_node_id(void)
{
	struct n4_conf conf = call_conf(1);
	struct endpoint other;

	endpoint_parse("127.0.0.66", PFCP_PORT, &other);
	fix_open(&conf);
	setup_of(&other, 1, 4, RECOVERY);
	n4_tick(fix.n4);
	setup_answer(sent_seq(), 1, RECOVERY + 1);
	CU_ASSERT(endpoint_eq(&peer_assoc()->addr, &other));
	CU_ASSERT_EQUAL(peer_assoc()->recovery, RECOVERY);
	CU_ASSERT_EQUAL(count(N4_COUNT_takeovers_refused), 1);
	CU_ASSERT_EQUAL(fix.sessions.end_all, 0);
	n4_tick(fix.n4);
	CU_ASSERT_EQUAL(call()->state, CALL_ASSOCIATED); // its Node ID has one
	fix_close();

	fix_open(&conf);
	setup_of(&other, 1, 4, RECOVERY);
	n4_tick(fix.n4);
	setup_answer(sent_seq(), 1, RECOVERY);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	CU_ASSERT(endpoint_eq(&peer_assoc()->addr, &other));
	CU_ASSERT_EQUAL(call()->state, CALL_ASSOCIATED);
	after_ms(60000);
	CU_ASSERT_EQUAL(call()->tries, 1);
	fix_close();
}

// As many associations as are allowed: said, and tried again.
static void test_call_full(void)
{
	struct n4_conf conf = call_conf(1);
	struct endpoint other;

	conf.max_assocs = 1;
	endpoint_parse("127.0.0.66", PFCP_PORT, &other);
	fix_open(&conf);
	setup_of(&other, 1, 66, RECOVERY);
	n4_tick(fix.n4);
	setup_answer(sent_seq(), 1, RECOVERY);
	CU_ASSERT_EQUAL(count(N4_COUNT_assocs_full), 1);
	CU_ASSERT_EQUAL(count(N4_COUNT_setups_failed), 1);
	CU_ASSERT_EQUAL(call()->state, CALL_WAITING);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	setup_of(&fix.peer, 1, 4, RECOVERY); // nor from outside
	CU_ASSERT_EQUAL(sent_cause(), 75);
	CU_ASSERT_EQUAL(count(N4_COUNT_assocs_full), 2);
	fix_close();
}

// Each SMF of the list has its own call, in both families; a request that cannot be sent now is sent later.
static void test_calls(void)
{
	struct n4_conf conf = call_conf(3);

	conf.max_requests = 2;
	fix_open(&conf);
	n4_tick(fix.n4);
	CU_ASSERT_EQUAL(fix.n_sent, 2);
	CU_ASSERT_EQUAL(count(N4_COUNT_requests_full), 1);
	CU_ASSERT_EQUAL(call_get(fix.n4, 2)->state, CALL_WAITING);
	setup_answer((uint32_t)(fix.sent[0].bytes[4] << 16 | fix.sent[0].bytes[5] << 8 |
				fix.sent[0].bytes[6]),
		     1, RECOVERY);
	after_ms(1000);
	CU_ASSERT_EQUAL(fix.n_sent, 3);
	CU_ASSERT_EQUAL(sent_last()->to.addr.family, ADDR_V6);
	CU_ASSERT_EQUAL(sent_last()->to.port, PFCP_PORT);
	CU_ASSERT_PTR_NULL(call_get(fix.n4, 3));
	fix_close(); // two calls are under way: nothing is left of them
}

// --- path failure ----------------------------------------------------------------------------------------

static void lose(void)
{
	after_ms(10000);
	unanswered();
	CU_ASSERT_EQUAL_FATAL(peer_assoc()->state, ASSOC_LOST);
}

// Sessions of a lost peer are kept for a time: it comes back within, or not.
static void test_drop_after(void)
{
	struct n4_conf conf = fix_conf();

	conf.path_failure = N4_PATH_END_AFTER;
	conf.path_failure_ms = 30000;
	for (unsigned back = 0; back < 2; back++) {
		fix_open(&conf);
		setup(1, RECOVERY);
		lose();
		CU_ASSERT_EQUAL(fix.sessions.end_all, 0);
		for (unsigned i = 0; i < 2; i++) { // still silent, which is not a second failure
			after_ms(10000);
			if (i == 0)
				after_ms(4999);
		}
		after_ms(4000);
		CU_ASSERT_EQUAL(count(N4_COUNT_path_failures), 1);
		CU_ASSERT_EQUAL(fix.sessions.end_all, 0);
		if (back)
			heartbeat(&fix.peer, 9, RECOVERY);
		after_ms(1001);
		CU_ASSERT_EQUAL(fix.sessions.end_all, !back);
		CU_ASSERT_EQUAL(assoc_count(fix.n4), back);
		CU_ASSERT_EQUAL(count(N4_COUNT_path_drops), !back);
		establish(2);
		CU_ASSERT_EQUAL(sent_cause(), back ? 1 : 72);
		fix_close();
	}
}

// A lost peer that we call is called again as soon as its association has ended.
static void test_drop_and_call(void)
{
	struct n4_conf conf = call_conf(1);

	conf.path_failure = N4_PATH_END;
	conf.heartbeat_s = 10;
	fix_open(&conf);
	n4_tick(fix.n4);
	setup_answer(sent_seq(), 1, RECOVERY);
	after_ms(10000);
	CU_ASSERT_EQUAL(sent_type(), 1);
	unanswered();
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	after_ms(50);
	after_ms(1000);
	CU_ASSERT_EQUAL(sent_type(), SETUP);
	setup_answer(sent_seq(), 1, RECOVERY);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	fix_close();
}

// --- update and release ----------------------------------------------------------------------------------

static void update(uint32_t seq, int period, int flags)
{
	msg(UPDATE, seq);
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	if (flags >= 0)
		IE(IE_RELEASE_REQUEST, (uint8_t)flags);
	if (period >= 0)
		IE(IE_RELEASE_PERIOD, (uint8_t)period);
	deliver();
	CU_ASSERT_EQUAL(sent_type(), 8);
	CU_ASSERT_EQUAL(sent_cause(), 1);
}

// The SMF gives a period: sessions go on, new ones are refused, and at its end all is over.
static void test_release_period(void)
{
	struct n4_conf conf = fix_conf();
	struct sent refusal;

	conf.heartbeat_s = 0;
	fix_open(&conf);
	setup(1, RECOVERY);
	establish(2);
	update(3, 5, 1); // 5 × 2 s
	CU_ASSERT_STRING_EQUAL(assoc_state_str(peer_assoc()), "releasing");
	establish(4);
	CU_ASSERT_EQUAL(sent_type(), 51);
	CU_ASSERT_EQUAL(sent_cause(), 64);
	CU_ASSERT_EQUAL(count(N4_COUNT_release_refused), 1);
	refusal = *sent_last();
	establish(4); // as any answer, it is given once more
	CU_ASSERT_EQUAL(count(N4_COUNT_duplicates), 1);
	CU_ASSERT_EQUAL(memcmp(sent_last()->bytes, refusal.bytes, refusal.len), 0);
	establish(2); // and one from before the release, too
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(fix.sessions.establish, 1);
	modify(5);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	after_ms(9999);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	CU_ASSERT_EQUAL(fix.sessions.end_all, 0);
	after_ms(1);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	CU_ASSERT_EQUAL(fix.sessions.end_all, 1);
	CU_ASSERT_EQUAL(count(N4_COUNT_release_expired), 1);
	modify(6);
	CU_ASSERT_EQUAL(sent_cause(), 72);
	fix_close();
}

// Periods without an end, the one that takes it back, and what a setup makes of it.
static void test_release_kinds(void)
{
	static const struct {
		int period, flags;
		bool releases;
	} rows[] = {
		{-1, -1, false}, {-1, 0, false},   {-1, 1, true},
		{0xe1, 1, true}, {0xe1, -1, true}, {0x9f, 1, true}, // 31 × 10 hours
		{0, 1, false},                                      // "stopped"
	};
	struct n4_conf conf = fix_conf();

	conf.heartbeat_s = 0;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fix_open(&conf);
		setup(1, RECOVERY);
		update(2, rows[i].period, rows[i].flags);
		after_ms(3600 * 1000);
		CU_ASSERT_EQUAL(peer_assoc()->releasing, rows[i].releases);
		establish(3);
		CU_ASSERT_EQUAL(sent_cause(), rows[i].releases ? 64 : 1);
		update(4, 0, -1);
		establish(5);
		CU_ASSERT_EQUAL(sent_cause(), 1);
		update(6, 1, -1);
		setup(7, RECOVERY);
		after_ms(10000);
		establish(8);
		CU_ASSERT_EQUAL(sent_cause(), 1);
		fix_close();
	}
	fix_open(&conf);
	setup(1, RECOVERY);
	update(2, 9, 1);
	msg(UPDATE, 3); // an empty one is a removal
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	ie(IE_RELEASE_PERIOD, NULL, 0);
	deliver();
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_FALSE(peer_assoc()->releasing);
	fix_close();
}

static void update_answer(uint8_t cause)
{
	msg(8, sent_seq());
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	IE(IE_CAUSE, cause);
	deliver();
}

// The daemon is to stop: SMFs are asked, and are waited for until they have released, refuse, or are too slow.
static void test_leave(void)
{
	static const uint8_t release[] = {1}, period[] = {15};
	struct n4_conf conf = fix_conf();
	const uint8_t *at;
	size_t len;

	conf.heartbeat_s = 0;
	for (unsigned how = 0; how < 4; how++) {
		fix_open(&conf);
		fix.peer.port = PFCP_PORT;
		setup(1, RECOVERY);
		establish(2);
		n4_leave(fix.n4, 30);
		CU_ASSERT_EQUAL(sent_type(), UPDATE);
		at = sent_ie(IE_NODE_ID, &len);
		CU_ASSERT(at && len == 5 && at[4] == 7);
		at = sent_ie(IE_RELEASE_REQUEST, &len);
		CU_ASSERT(at && len == 1 && at[0] == release[0]);
		at = sent_ie(IE_RELEASE_PERIOD, &len);
		CU_ASSERT(at && len == 1 && at[0] == period[0]);
		CU_ASSERT_FALSE(n4_has_left(fix.n4));
		if (how == 1) {
			update_answer(64);
		} else if (how == 2) {
			unanswered();
		} else {
			update_answer(1);
			establish(3);
			CU_ASSERT_EQUAL(sent_cause(), 64);
			setup_of(&fix.peer, 4, 9, RECOVERY); // nor a further association
			CU_ASSERT_EQUAL(sent_cause(), 64);
			modify(5);
			CU_ASSERT_EQUAL(sent_cause(), 1);
			after_ms(29999);
			CU_ASSERT_FALSE(n4_has_left(fix.n4));
		}
		if (how == 0) {
			msg(9, 6);
			IE(IE_NODE_ID, 0, 127, 0, 0, 4);
			deliver();
			CU_ASSERT_EQUAL(sent_cause(), 1);
		}
		if (how == 3)
			after_ms(1);
		CU_ASSERT(n4_has_left(fix.n4));
		CU_ASSERT_EQUAL(assoc_count(fix.n4), how == 1 || how == 2);
		fix_close();
	}
}

// With nobody to ask, and with calls under way, there is nothing to wait for; calls end.
static void test_leave_alone(void)
{
	struct n4_conf conf = call_conf(2);
	uint32_t sent;

	fix_open(&conf);
	n4_tick(fix.n4);
	n4_leave(fix.n4, 30);
	CU_ASSERT(n4_has_left(fix.n4));
	CU_ASSERT_EQUAL(xacts().requests, 0);
	sent = fix.n_sent;
	after_ms(20000);
	CU_ASSERT_EQUAL(fix.n_sent, sent);
	fix_close();
}

// --- several messages to a datagram ----------------------------------------------------------------------

static uint8_t bundle[PFCP_MSG_MAX];
static size_t bundle_len;

// Puts the message that was built behind the others of the datagram.
static void bundle_add(void)
{
	msg_end();
	fix.out[0] |= 0x04; // FO
	memcpy(bundle + bundle_len, fix.out, fix.len);
	bundle_len += fix.len;
}

// Delivers the bundle; the message at `last` says that none follows.
static void bundle_deliver(size_t last)
{
	bundle[last] &= (uint8_t)~0x04;
	memcpy(fix.out, bundle, bundle_len);
	fix.len = bundle_len;
	deliver_from(&fix.peer);
	bundle_len = 0;
}

// BUNDL: each message is a message of its own, duplicates and refusals too.
static void test_bundle(void)
{
	struct n4_conf conf = fix_conf();
	size_t last = 0;

	fix_open(&conf);
	CU_ASSERT(up_features(&fix.n4->env) & PFCP_UP_FUNCTION_FEATURES_BUNDL);
	setup(1, RECOVERY);
	for (unsigned again = 0; again < 2; again++) {
		fix.n_sent = 0;
		msg_session(54, 10, 7);
		bundle_add();
		msg_session(99, 11, 7); // of no type that we know
		bundle_add();
		msg_session(50, 12, 0); // lacks all that it must have
		bundle_add();
		msg_session(52, 13, 7);
		bundle_add();
		last = bundle_len;
		msg(1, 14);
		ie_recovery(RECOVERY);
		bundle_add();
		bundle_deliver(last);
		CU_ASSERT_EQUAL(fix.n_sent, 4);
		CU_ASSERT_EQUAL(fix.sent[0].bytes[1], 55);
		CU_ASSERT_EQUAL(fix.sent[1].bytes[1], 51);
		CU_ASSERT_EQUAL(fix.sent[2].bytes[1], 53);
		CU_ASSERT_EQUAL(fix.sent[3].bytes[1], 2);
	}
	CU_ASSERT_EQUAL(fix.sessions.del, 1);
	CU_ASSERT_EQUAL(fix.sessions.modify, 1);
	CU_ASSERT_EQUAL(fix.sessions.refuse, 2);
	CU_ASSERT_EQUAL(count(N4_COUNT_duplicates), 2);
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_type), 2);

	fix.n_sent = 0; // what cannot be trusted ends the datagram; what came before it stands
	msg(1, 15);
	ie_recovery(RECOVERY);
	bundle_add();
	last = bundle_len;
	msg(1, 16);
	ie_recovery(RECOVERY);
	bundle_add();
	bundle[last] |= 0x18;
	bundle_deliver(last);
	CU_ASSERT_EQUAL(fix.n_sent, 1);
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_header), 1);
	fix_close();
}

// A datagram full of messages does not keep the control thread for as long as it has messages.
static void test_bundle_limit(void)
{
	struct n4_conf conf = fix_conf();
	size_t last = 0;

	fix_open(&conf);
	for (uint32_t i = 0; i < 4000; i++) {
		last = bundle_len;
		msg(1, i);
		ie_recovery(RECOVERY);
		bundle_add();
	}
	bundle_deliver(last);
	CU_ASSERT_EQUAL(fix.n_sent, 128);
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_bundle), 1);
	CU_ASSERT_EQUAL(fix.n4->counters.rx[1], 128);
	fix_close();
}

// --- addresses of ours -----------------------------------------------------------------------------------

static int socket_at(const struct endpoint *local)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(local, &sa);
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	CU_ASSERT_EQUAL_FATAL(bind(fd, (const struct sockaddr *)&sa, len), 0);
	return fd;
}

// Sends the message that was built from `peer`, any port, to `to`, and says which address answered.
static struct addr answered_by(struct event_base *base, const struct addr *peer,
			       const struct endpoint *to)
{
	const struct endpoint local = {.addr = *peer};
	struct sockaddr_storage sa;
	struct endpoint from = {0};
	int fd = socket_at(&local);
	socklen_t len;

	msg_end();
	len = endpoint_to_sockaddr(to, &sa);
	CU_ASSERT_EQUAL(sendto(fd, fix.out, fix.len, 0, (const struct sockaddr *)&sa, len),
			(ssize_t)fix.len);
	event_base_loop(base, EVLOOP_NONBLOCK);
	len = sizeof(sa);
	if (recvfrom(fd, fix.out, sizeof(fix.out), 0, (struct sockaddr *)&sa, &len) > 0)
		endpoint_from_sockaddr((const struct sockaddr *)&sa, &from);
	close(fd);
	return from.addr;
}

static void setup_message(uint32_t seq)
{
	msg(SETUP, seq);
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	ie_recovery(RECOVERY);
}

// An answer, a repeated answer and a request of ours leave from the address that was asked: with a wildcard, and
// with two addresses, in both families.
static void test_local_address(void)
{
	static const struct {
		const char *listen[2], *peer;
		struct {
			const char *addr;
			unsigned socket;
		} ask[2];
	} rows[] = {
		{{"0.0.0.0", NULL}, "127.0.0.44", {{"127.0.0.21", 0}, {"127.0.0.22", 0}}},
		{{"127.0.0.21", "127.0.0.22"},
		 "127.0.0.44",
		 {{"127.0.0.22", 1}, {"127.0.0.21", 0}}},
		{{"[::]", "127.0.0.21"}, "::1", {{"::1", 0}, {"::1", 0}}},
		{{"127.0.0.21", "[::1]"}, "::1", {{"::1", 1}, {"::1", 1}}},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct n4_conf conf = fix_conf();
		struct event_base *base = event_base_new();

		struct addr peer;

		addr_parse(rows[i].peer, &peer);
		for (unsigned j = 0; j < 2 && rows[i].listen[j]; j++)
			endpoint_parse(rows[i].listen[j], 0, &conf.listen[j]);
		fix_open(&conf);
		CU_ASSERT_EQUAL_FATAL(n4_start(fix.n4, base), 0);
		for (unsigned j = 0; j < 2; j++) {
			struct endpoint ask;
			struct addr by;

			n4_endpoint_local(fix.n4->endpoint, rows[i].ask[j].socket, &ask);
			addr_parse(rows[i].ask[j].addr, &ask.addr);
			for (unsigned again = 0; again < 2; again++) {
				setup_message(1 + j);
				by = answered_by(base, &peer, &ask);
				CU_ASSERT(addr_eq(&by, &ask.addr));
				CU_ASSERT_EQUAL(fix.out[1], 6);
			}
			CU_ASSERT(addr_eq(&peer_assoc()->local, &ask.addr));
			msg(1, 9); // kept nowhere
			ie_recovery(RECOVERY);
			by = answered_by(base, &peer, &ask);
			CU_ASSERT(addr_eq(&by, &ask.addr));
		}
		fix_close();
		event_base_free(base);
	}
}

// Requests of ours to a peer leave from the address that its association was set up with.
static void test_local_heartbeat(void)
{
	struct n4_conf conf = fix_conf();
	struct event_base *base = event_base_new();
	struct sockaddr_storage sa;
	struct endpoint peer, from, to;
	pid_t pid = getpid();
	char text[32];
	uint8_t bytes[64];
	socklen_t len = sizeof(sa);
	int fd;

	// An address of this run alone, since heartbeats go to the port of PFCP.
	snprintf(text, sizeof(text), "127.7.%u.%u", (unsigned)pid >> 8 & 0xff,
		 (unsigned)pid & 0xff);
	endpoint_parse(text, PFCP_PORT, &peer);
	endpoint_parse("127.0.0.21", 0, &conf.listen[0]);
	endpoint_parse("127.0.0.22", 0, &conf.listen[1]);
	for (unsigned i = 0; i < 2; i++) {
		fix_open(&conf);
		CU_ASSERT_EQUAL_FATAL(n4_start(fix.n4, base), 0);
		n4_endpoint_local(fix.n4->endpoint, i, &to);
		setup_message(1);
		answered_by(base, &peer.addr, &to);
		fd = socket_at(&peer);
		after_ms(10000);
		event_base_loop(base, EVLOOP_NONBLOCK);
		CU_ASSERT(recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&sa, &len) > 0);
		CU_ASSERT_EQUAL(bytes[1], 1);
		endpoint_from_sockaddr((const struct sockaddr *)&sa, &from);
		CU_ASSERT(endpoint_eq(&from, &to));
		close(fd);
		fix_close();
	}
	event_base_free(base);
}

// --- our own restart -------------------------------------------------------------------------------------

// Nothing is read and nobody called before the second of our stamp: so the stamps of two starts differ, even of
// two within a second. A stamp far off, from a clock that was set, keeps N4 from nothing.
static void test_own_stamp(void)
{
	static const struct {
		int32_t ahead_s;
		bool waits;
	} rows[] = {{0, false}, {1, true}, {2, true}, {3600, false}, {-3600, false}};
	struct event_base *base = event_base_new();
	struct endpoint at;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct n4_conf conf = call_conf(1);
		struct addr us;

		addr_parse("127.0.0.21", &us);
		endpoint_parse("127.0.0.21", 0, &conf.listen[0]);
		prefix_parse("127.0.0.99", &smf_list[0]);
		clock_stop();
		conf.recovery = clock_ntp_s() + (uint32_t)rows[i].ahead_s;
		fix_open(&conf);
		CU_ASSERT_EQUAL_FATAL(n4_start(fix.n4, base), 0);
		CU_ASSERT_EQUAL(fix.n4->recovery, conf.recovery);
		n4_endpoint_local(fix.n4->endpoint, 0, &at);
		setup_message(1);
		answered_by(base, &us, &at);
		for (unsigned turn = 0; turn < 3; turn++) // a tick each
			event_base_loop(base, EVLOOP_ONCE);
		CU_ASSERT_EQUAL(count(N4_COUNT_rx) > 0, !rows[i].waits);
		CU_ASSERT_EQUAL(call()->tries, !rows[i].waits);
		if (rows[i].waits)
			clock_warp_ns(rows[i].ahead_s * (int64_t)NS_PER_SEC);
		while (call()->tries == 0 || count(N4_COUNT_rx) == 0)
			event_base_loop(base, EVLOOP_ONCE);
		fix_close();
	}
	event_base_free(base);
}

static CU_TestInfo tests[] = {
	{"call", test_call},
	{"call: back-off", test_call_back_off},
	{"call: refused", test_call_refused},
	{"call: crossing", test_call_crossing},
	{"call: restarted", test_call_restarted},
	{"call: released", test_call_released},
	{"call: Node ID of another", test_call_node_id},
	{"call: no room", test_call_full},
	{"calls", test_calls},
	{"drop after a time", test_drop_after},
	{"drop and call", test_drop_and_call},
	{"release period", test_release_period},
	{"release kinds", test_release_kinds},
	{"leave", test_leave},
	{"leave alone", test_leave_alone},
	{"bundle", test_bundle},
	{"bundle limit", test_bundle_limit},
	{"local address", test_local_address},
	{"local address of heartbeats", test_local_heartbeat},
	{"own stamp", test_own_stamp},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_setup")
