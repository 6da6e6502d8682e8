// The node side of N4 as a peer sees it: headers, heartbeats, associations, path failure (TS 29.244 6.2,
// 7.4, 7.6). Driven by raw bytes, with time moved by hand. What floods do stands in test_n4_load.c.

#include "base/log.h"
#include "n4_fixture.h"
#include "pfcp/features.h"

// Bytes that must end in nothing but a count.
struct bad_row {
	const char *what;
	const char *hex;
	enum n4_counter counter;
};

static const struct bad_row bad_rows[] = {
	{"heartbeat with an empty stamp", "2001000c0000020000600000e81fe7b4",
	 N4_COUNT_discard_malformed},
	{"heartbeat with two octets of stamp", "2001000a0000020000600002e81f",
	 N4_COUNT_discard_malformed},
	{"heartbeat without stamp", "2001000400000200", N4_COUNT_discard_malformed},
	{"heartbeat response without stamp", "2002000400000200", N4_COUNT_discard_malformed},
	{"vendor IE of no octets, then a lie", "2001000f000000ffffff0000600004e81fdc30",
	 N4_COUNT_discard_malformed},
	{"vendor IE of no octets", "200100100000ff00ffff000000600004e81fdc30",
	 N4_COUNT_discard_malformed},
	{"vendor IE of one octet", "200100110000ff00ffff00010000600004e81fdc30",
	 N4_COUNT_discard_malformed},
	{"IE running past the end", "2001000c0000ff0000600005e81fdc30", N4_COUNT_discard_malformed},
	{"a piece of an IE header", "2001000e0000ff0000600004e81fdc300060",
	 N4_COUNT_discard_malformed},
	{"nothing", "", N4_COUNT_discard_header},
	{"one octet", "20", N4_COUNT_discard_header},
	{"seven octets", "20010004000001", N4_COUNT_discard_header},
	{"length larger than the datagram", "2001000d0000020000600004e81fdc30",
	 N4_COUNT_discard_header},
	{"length smaller than the datagram", "2001000b0000020000600004e81fdc30",
	 N4_COUNT_discard_header},
	{"length smaller than the header", "2001000000000200", N4_COUNT_discard_header},
	{"spare bits", "3801000c0000020000600004e81fdc30", N4_COUNT_discard_header},
	{"S flag on a heartbeat",
	 "210100140000000000000001"
	 "0000020000600004e81fdc30",
	 N4_COUNT_discard_header},
	{"no S flag on a session message", "2036000400000200", N4_COUNT_discard_header},
	{"message type 0", "2000000400000200", N4_COUNT_discard_type},
	{"message type 18", "2012000400000200", N4_COUNT_discard_type},
	{"message type 99", "2163000c000000000000000100000200", N4_COUNT_discard_type},
	{"message type 255", "20ff000400000200", N4_COUNT_discard_type},
	{"heartbeat response nobody asked for", "2002000c0000020000600004e81fdc30",
	 N4_COUNT_discard_unasked},
	{"setup response nobody asked for",
	 "2006001a00000200003c0005007f0000040013000101"
	 "00600004e81fdc30",
	 N4_COUNT_discard_unasked},
	{"report response nobody asked for", "213900110000000000000001000002000013000101",
	 N4_COUNT_discard_unasked},
	{"version not supported, which nobody asked for", "200b000400000200",
	 N4_COUNT_discard_unasked},
	{"version not supported in another version", "400b000400000200", N4_COUNT_discard_version},
};

// Names the row of a table that failed.
static void unit_fail(const char *what)
{
	fprintf(stderr, "\n%s: ", what);
	CU_FAIL("a row failed");
}

static void deliver_hex(const char *hex)
{
	fix.len = strlen(hex) / 2;
	for (size_t i = 0; i < fix.len; i++) {
		unsigned octet = 0;

		sscanf(hex + 2 * i, "%2x", &octet);
		fix.out[i] = (uint8_t)octet;
	}
	deliver_from(&fix.peer);
}

// Rows 1, 2, 3, 7, 16: once to a stranger, once with an association, which stays as it was.
static void test_discarded(void)
{
	struct n4_conf conf = fix_conf();

	for (unsigned i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
		const struct bad_row *row = &bad_rows[i];

		for (unsigned with = 0; with < 2; with++) {
			fix_open(&conf);
			if (with)
				setup(1, RECOVERY);
			deliver_hex(row->hex);
			if (count(row->counter) != 1 || discards() != 1 || fix.n_sent != with)
				unit_fail(row->what);
			CU_ASSERT_EQUAL(assoc_count(fix.n4), with);
			CU_ASSERT_EQUAL(fix.sessions.end_all, 0);
			CU_ASSERT_EQUAL(xacts().waiting, 0);
			heartbeat(&fix.peer, 3, RECOVERY);
			CU_ASSERT_EQUAL(sent_type(), 2);
			fix_close();
		}
	}
}

// Row 7: any other version is told so, with its sequence number.
static void test_version(void)
{
	static const uint8_t want[] = {0x20, 11, 0, 4, 0x12, 0x34, 0x56, 0};
	struct n4_conf conf = fix_conf();

	fix_open(&conf);
	for (unsigned version = 0; version < 8; version++) {
		msg(1, 0x123456);
		ie_recovery(RECOVERY);
		msg_end();
		fix.out[0] = (uint8_t)(version << 5);
		fix.n_sent = 0;
		deliver_from(&fix.peer);
		CU_ASSERT_EQUAL_FATAL(fix.n_sent, 1);
		if (version == 1)
			continue;
		CU_ASSERT_EQUAL(sent_last()->len, sizeof(want));
		CU_ASSERT_EQUAL(memcmp(sent_last()->bytes, want, sizeof(want)), 0);
	}
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_version), 7);
	fix_close();
}

static void test_heartbeat(void)
{
	struct n4_conf conf = fix_conf();
	uint8_t want[] = {0x20, 2, 0, 12, 0, 0, 5, 0, 0, 96, 0, 4, 0, 0, 0, 0};

	fix_open(&conf);
	want[12] = (uint8_t)(fix.n4->recovery >> 24);
	want[13] = (uint8_t)(fix.n4->recovery >> 16);
	want[14] = (uint8_t)(fix.n4->recovery >> 8);
	want[15] = (uint8_t)fix.n4->recovery;
	CU_ASSERT_EQUAL(fix.n4->recovery, clock_ntp_s());
	heartbeat(&fix.peer, 5, RECOVERY);
	CU_ASSERT_EQUAL(sent_last()->len, sizeof(want));
	CU_ASSERT_EQUAL(memcmp(sent_last()->bytes, want, sizeof(want)), 0);
	CU_ASSERT(endpoint_eq(&sent_last()->to, &fix.peer));
	after_ms(60000);
	heartbeat(&fix.peer, 5, RECOVERY); // the stamp is that of our start
	CU_ASSERT_EQUAL(memcmp(sent_last()->bytes, want, sizeof(want)), 0);
	CU_ASSERT_EQUAL(xacts().stored, 0);
	fix_close();
}

// Row 4, and its kind: what is missing or wrong in a setup is named.
static void test_setup_refused(void)
{
	static const struct {
		const char *what;
		uint8_t node[8], node_len; // 0xff: no such IE
		uint8_t stamp_len;         // 0xff: no such IE
		unsigned cause, offending;
	} rows[] = {
		{"no Node ID", {0}, 0xff, 4, 66, 60},
		{"no stamp", {0, 127, 0, 0, 4}, 5, 0xff, 66, 96},
		{"empty Node ID", {0}, 0, 4, 68, 60},
		{"short IPv4", {0, 127, 0, 0}, 4, 4, 68, 60},
		{"short IPv6", {1, 127, 0, 0, 4}, 5, 4, 68, 60},
		{"unknown type", {3, 127, 0, 0, 4}, 5, 4, 69, 60},
		{"empty name", {2}, 1, 4, 69, 60},
		{"label that lies", {2, 9, 'a'}, 3, 4, 69, 60},
		{"blank in the name", {2, 3, 'a', ' ', 'b'}, 5, 4, 69, 60},
		{"short stamp", {0, 127, 0, 0, 4}, 5, 3, 68, 96},
		{"empty stamp", {0, 127, 0, 0, 4}, 5, 0, 68, 96},
	};
	static const uint8_t stamp[4] = {0xe8, 0x1f, 0xe7, 0xb4};
	struct n4_conf conf = fix_conf();

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len;

		fix_open(&conf);
		for (unsigned again = 0; again < 2; again++) {
			msg(5, 1);
			if (rows[i].node_len != 0xff)
				ie(IE_NODE_ID, rows[i].node, rows[i].node_len);
			if (rows[i].stamp_len != 0xff)
				ie(IE_RECOVERY, stamp, rows[i].stamp_len);
			deliver();
			if (sent_type() != 6 || sent_cause() != rows[i].cause ||
			    sent_offending() != rows[i].offending)
				unit_fail(rows[i].what);
			CU_ASSERT_PTR_NOT_NULL(sent_ie(IE_NODE_ID, &len));
			CU_ASSERT_PTR_NOT_NULL(sent_ie(IE_RECOVERY, &len));
		}
		CU_ASSERT_EQUAL(fix.n_sent, 2);
		CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
		CU_ASSERT_EQUAL(xacts().stored + xacts().waiting, 0);
		CU_ASSERT_EQUAL(fix.n4->waiting_bytes, 0);
		CU_ASSERT_EQUAL(fix.n4->counters.causes_tx[rows[i].cause], 2);
		fix_close();
	}
}

// Row 5: features of any length, or none at all.
static void test_setup_features(void)
{
	static const int lens[] = {-1, 1, 2, 4, 6, 10};
	static const uint8_t bits[10] = {0x21, 0x02, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	struct n4_conf conf = fix_conf();

	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (unsigned type = 43; type <= 89; type += 89 - 43) {
			fix_open(&conf);
			msg(5, 1);
			IE(IE_NODE_ID, 0, 127, 0, 0, 4);
			ie_recovery(RECOVERY);
			if (lens[i] >= 0)
				ie((uint16_t)type, bits, (size_t)lens[i]);
			deliver();
			CU_ASSERT_EQUAL(sent_type(), 6);
			CU_ASSERT_EQUAL(sent_cause(), 1);
			CU_ASSERT_PTR_NOT_NULL_FATAL(peer_assoc());
			if (type == 89)
				CU_ASSERT_EQUAL(peer_assoc()->cp_features, lens[i] < 0    ? 0
									   : lens[i] == 1 ? 0x21
											  : 0x0221);
			fix_close();
		}
	}
}

// Row 6: a setup with the S flag is no association.
static void test_setup_with_seid(void)
{
	struct n4_conf conf = fix_conf();

	fix_open(&conf);
	msg_session(5, 1, 0);
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	ie_recovery(RECOVERY);
	IE(57, 2, 0, 0, 0, 0, 0, 0, 0, 9, 127, 0, 0, 4);
	deliver();
	CU_ASSERT_EQUAL(fix.n_sent, 0);
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_header), 1);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	fix_close();
}

// Row 8: Node IDs of the peer and of ours, in each form.
static void test_node_ids(void)
{
	static const struct {
		const char *text;
		uint8_t octets[20], len;
	} ids[] = {
		{"127.0.0.4", {0, 127, 0, 0, 4}, 5},
		{"2001:db8::4", {1, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, 17},
		{"smf.example", {2, 3, 's', 'm', 'f', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e'}, 13},
	};
	struct n4_conf conf = fix_conf();

	for (unsigned ours = 0; ours < 3; ours++) {
		CU_ASSERT_EQUAL(node_id_parse(ids[ours].text, &conf.node_id), 0);
		for (unsigned theirs = 0; theirs < 3; theirs++) {
			const uint8_t *at;
			struct node_id id;
			char text[NODE_ID_STRLEN];
			size_t len;

			fix_open(&conf);
			for (uint32_t seq = 1; seq <= 2; seq++) {
				msg(5, seq);
				ie(IE_NODE_ID, ids[theirs].octets, ids[theirs].len);
				ie_recovery(RECOVERY);
				deliver();
				CU_ASSERT_EQUAL(sent_cause(), 1);
				at = sent_ie(IE_NODE_ID, &len);
				CU_ASSERT_PTR_NOT_NULL_FATAL(at);
				CU_ASSERT_EQUAL_FATAL(len, ids[ours].len);
				CU_ASSERT_EQUAL(memcmp(at, ids[ours].octets, len), 0);
			}
			CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
			node_id_parse(ids[theirs].text, &id);
			CU_ASSERT_PTR_NOT_NULL(assoc_lookup(fix.n4, &id));
			CU_ASSERT_STRING_EQUAL(node_id_str(text, &id), ids[theirs].text);
			fix_close();
		}
	}
	CU_ASSERT_EQUAL(node_id_parse("", &conf.node_id), -EINVAL);
	CU_ASSERT_EQUAL(node_id_parse("a b", &conf.node_id), -EINVAL);
}

// What the answer to a setup says, octet by octet: only features that work.
static void test_setup_answer(void)
{
	struct n4_conf conf = fix_conf();
	const uint8_t *at;
	uint64_t bits = 0;
	size_t len;

	fix_open(&conf);
	setup(1, RECOVERY);
	CU_ASSERT_EQUAL(sent_last()->bytes[0], 0x20);
	CU_ASSERT_EQUAL(sent_seq(), 1);
	CU_ASSERT_EQUAL(sent_last()->len,
			4u + (unsigned)(sent_last()->bytes[2] << 8) + sent_last()->bytes[3]);
	at = sent_ie(43, &len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	CU_ASSERT(len >= 2);
	CU_ASSERT(at[0] & 0x10); // FTUP
	for (size_t i = 0; i < len; i++)
		bits |= (uint64_t)at[i] << (8 * i);
	CU_ASSERT_EQUAL(bits, up_features(&fix.n4->env));
	for (unsigned i = 0; up_feature_get(i); i++)
		CU_ASSERT_EQUAL((bits & up_feature_get(i)->bit) != 0,
				up_feature_get(i)->works(&fix.n4->env));
	fix_close();
}

// Row 9: executed once, answered with the same bytes; and once more after nobody could repeat it.
static void test_duplicates(void)
{
	struct n4_conf conf = fix_conf();
	struct sent first;

	fix_open(&conf);
	setup(1, RECOVERY);
	first = *sent_last();
	after_ms(3000);
	setup(1, RECOVERY);
	CU_ASSERT_EQUAL(fix.n_sent, 2);
	CU_ASSERT_EQUAL(sent_last()->len, first.len);
	CU_ASSERT_EQUAL(memcmp(sent_last()->bytes, first.bytes, first.len), 0);
	CU_ASSERT_EQUAL(count(N4_COUNT_duplicates), 1);
	CU_ASSERT_EQUAL(peer_assoc()->requests, 1);

	establish(2);
	first = *sent_last();
	establish(2);
	CU_ASSERT_EQUAL(fix.sessions.establish, 1);
	CU_ASSERT_EQUAL(memcmp(sent_last()->bytes, first.bytes, first.len), 0);
	modify(2); // another type: another request
	CU_ASSERT_EQUAL(fix.sessions.modify, 1);
	fix.peer.port++; // another port: another request
	establish(2);
	CU_ASSERT_EQUAL(fix.sessions.establish, 2);
	fix.peer.port--;
	after_ms(2500 * 4);
	CU_ASSERT_EQUAL(xacts().stored, 0);
	establish(2);
	CU_ASSERT_EQUAL(fix.sessions.establish, 3);
	fix_close();
}

// A duplicate of a request that still waits for a worker is not executed and not answered twice.
static void test_duplicates_waiting(void)
{
	struct n4_conf conf = fix_conf();
	struct sent first;

	fix_open(&conf);
	setup(1, RECOVERY);
	fix.sessions.hold = true;
	establish(2);
	establish(2);
	establish(2);
	CU_ASSERT_EQUAL(fix.sessions.establish, 1);
	CU_ASSERT_EQUAL(fix.n_sent, 1);
	CU_ASSERT_EQUAL(xacts().waiting, 1);
	CU_ASSERT_EQUAL(count(N4_COUNT_duplicates_waiting), 2);
	session_go(fix.sessions.held[--fix.sessions.n_held]);
	CU_ASSERT_EQUAL(fix.n_sent, 2);
	first = *sent_last();
	establish(2);
	CU_ASSERT_EQUAL(fix.n_sent, 3);
	CU_ASSERT_EQUAL(memcmp(sent_last()->bytes, first.bytes, first.len), 0);
	CU_ASSERT_EQUAL(fix.n4->waiting_bytes, 0);
	fix_close();
}

// Row 10.
static void test_setup_again(void)
{
	struct n4_conf conf = fix_conf();
	uint32_t sent;

	fix_open(&conf);
	setup(1, RECOVERY);
	setup(2, RECOVERY); // the same life: sessions are kept
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(fix.sessions.end_all, 0);

	sent = fix.n_sent;
	setup(3, RECOVERY - 1); // an old message
	CU_ASSERT_EQUAL(fix.n_sent, sent);
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_stale), 1);
	CU_ASSERT_EQUAL(peer_assoc()->recovery, RECOVERY);

	fix.sessions.hold_end = true;
	setup(1, RECOVERY + 1); // a later life, that counts from 1 again: first its old sessions go
	CU_ASSERT_EQUAL(fix.sessions.end_all, 1);
	CU_ASSERT_EQUAL(fix.n_sent, sent);
	CU_ASSERT_EQUAL(peer_assoc()->state, ASSOC_ENDING);
	setup(1, RECOVERY + 1);
	establish(5);
	CU_ASSERT_EQUAL(sent_cause(), 72);
	CU_ASSERT_EQUAL(fix.sessions.establish, 0);
	end_go();
	CU_ASSERT_EQUAL(sent_type(), 6);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(peer_assoc()->recovery, RECOVERY + 1);
	CU_ASSERT_EQUAL(count(N4_COUNT_peer_restarts), 1);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	fix_close();
}

// A restarted peer's sequence numbers begin again: answers of its earlier life are not given to it, neither
// stored ones nor those that were still waiting.
static void test_restart_forgets(void)
{
	struct n4_conf conf = fix_conf();
	uint32_t sent;

	fix_open(&conf);
	setup(1, RECOVERY);
	establish(2);
	fix.sessions.hold = true;
	establish(3);
	sent = fix.n_sent;
	setup(1, RECOVERY + 5);
	CU_ASSERT_EQUAL(fix.n_sent, sent + 1); // nothing to the request that had waited
	CU_ASSERT_EQUAL(sent_type(), 6);
	fix.sessions.hold = false;
	establish(2);
	establish(3);
	CU_ASSERT_EQUAL(fix.sessions.establish, 4);
	CU_ASSERT_EQUAL(count(N4_COUNT_duplicates), 0);
	fix_close();
}

// Stamps go around; later is what is less than half a circle ahead.
static void test_stamps(void)
{
	struct assoc a = {.recovery = 0xffffffff};

	CU_ASSERT_EQUAL(assoc_life(&a, 0xffffffff), ASSOC_LIFE_SAME);
	CU_ASSERT_EQUAL(assoc_life(&a, 0), ASSOC_LIFE_LATER);
	CU_ASSERT_EQUAL(assoc_life(&a, 0xfffffffe), ASSOC_LIFE_EARLIER);
}

static void send_release(uint32_t seq)
{
	msg(9, seq);
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	deliver();
}

// Row 11.
static void test_release(void)
{
	struct n4_conf conf = fix_conf();
	struct sent answer;
	uint32_t sent;
	size_t len;

	fix_open(&conf);
	send_release(1);
	CU_ASSERT_EQUAL(sent_cause(), 72);
	setup(2, RECOVERY);
	fix.sessions.hold_end = true;
	sent = fix.n_sent;
	send_release(3);
	send_release(3);
	CU_ASSERT_EQUAL(fix.n_sent, sent); // the sessions come first
	CU_ASSERT_EQUAL(fix.sessions.end_all, 1);
	end_go();
	CU_ASSERT_EQUAL(fix.n_sent, sent + 1);
	CU_ASSERT_EQUAL(sent_type(), 10);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_PTR_NOT_NULL(sent_ie(IE_NODE_ID, &len));
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	answer = *sent_last();
	send_release(3);
	CU_ASSERT_EQUAL(memcmp(sent_last()->bytes, answer.bytes, answer.len), 0);
	establish(4);
	CU_ASSERT_EQUAL(sent_type(), 51);
	CU_ASSERT_EQUAL(sent_cause(), 72);
	CU_ASSERT_EQUAL(fix.sessions.establish, 0);

	fix.sessions.hold_end = false;
	setup(2, RECOVERY); // the stored answer of the setup went with the association
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	send_release(3); // and that of the release with the new one
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	fix_close();
}

// Row 12.
static void test_no_association(void)
{
	static const uint8_t types[] = {50, 52, 54};
	struct n4_conf conf = fix_conf();

	fix_open(&conf);
	for (unsigned i = 0; i < sizeof(types); i++) {
		msg_session(types[i], 1, 7);
		deliver();
		CU_ASSERT_EQUAL(sent_type(), types[i] + 1u);
		CU_ASSERT_EQUAL(sent_cause(), 72);
	}
	establish(9);
	CU_ASSERT_EQUAL(sent_cause(), 72);
	CU_ASSERT_EQUAL(fix.sessions.establish + fix.sessions.modify + fix.sessions.del, 0);
	CU_ASSERT_EQUAL(xacts().stored, 0);
	setup(10, RECOVERY);
	msg_session(50, 11, 0); // with an association, what is missing is said
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	deliver();
	CU_ASSERT_EQUAL(sent_cause(), 66);
	CU_ASSERT_EQUAL(sent_offending(), 57);
	msg_session(50, 12, 0);
	deliver();
	CU_ASSERT_EQUAL(sent_cause(), 66);
	CU_ASSERT_EQUAL(sent_offending(), 60);
	fix_close();
}

// Row 15: two of three heartbeats lost, then all, then the peer is back as it was.
static void test_path_failure(void)
{
	struct n4_conf conf = fix_conf();
	struct endpoint answering;
	uint32_t sent;

	fix_open(&conf);
	fix.peer.port = 40000; // its requests come from anywhere, ours go to the port of PFCP
	setup(1, RECOVERY);
	answering = fix.peer;
	answering.port = PFCP_PORT;
	sent = fix.n_sent;
	after_ms(9999);
	CU_ASSERT_EQUAL(fix.n_sent, sent);
	after_ms(1);
	CU_ASSERT_EQUAL(fix.n_sent, sent + 1);
	CU_ASSERT_EQUAL(sent_type(), 1);
	CU_ASSERT(endpoint_eq(&sent_last()->to, &answering));
	after_ms(2500);
	after_ms(2500);
	CU_ASSERT_EQUAL(fix.n_sent, sent + 3);
	CU_ASSERT_EQUAL(count(N4_COUNT_retransmissions), 2);
	CU_ASSERT_EQUAL(memcmp(fix.sent[(sent + 2) % SENT].bytes, fix.sent[sent % SENT].bytes, 16),
			0);
	after_ms(2400);
	heartbeat_answer(&answering, RECOVERY); // in time
	CU_ASSERT_EQUAL(peer_assoc()->state, ASSOC_UP);
	CU_ASSERT_EQUAL(count(N4_COUNT_path_failures), 0);

	after_ms(10000);
	after_ms(2500);
	after_ms(2500);
	CU_ASSERT_EQUAL(peer_assoc()->state, ASSOC_UP);
	after_ms(2500);
	CU_ASSERT_EQUAL(peer_assoc()->state, ASSOC_LOST);
	CU_ASSERT_EQUAL(count(N4_COUNT_path_failures), 1);
	CU_ASSERT_EQUAL(count(N4_COUNT_timeouts), 1);
	CU_ASSERT_EQUAL(fix.sessions.end_all, 0); // kept, as configured
	heartbeat_answer(&answering, RECOVERY);   // too late
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_unasked), 1);
	after_ms(10000);
	CU_ASSERT_EQUAL(sent_type(), 1);
	heartbeat_answer(&answering, RECOVERY); // back
	CU_ASSERT_EQUAL(peer_assoc()->state, ASSOC_UP);
	establish(9);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	fix_close();
}

static void test_path_failure_ends(void)
{
	struct n4_conf conf = fix_conf();

	conf.path_failure = N4_PATH_END;
	fix_open(&conf);
	setup(1, RECOVERY);
	after_ms(10000);
	for (unsigned i = 0; i < 3; i++)
		after_ms(2500);
	CU_ASSERT_EQUAL(fix.sessions.end_all, 1);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	CU_ASSERT_EQUAL(xacts().requests, 0);
	establish(2);
	CU_ASSERT_EQUAL(sent_cause(), 72);
	fix_close();
}

// Row 15: a new stamp, in an answer to us or in the peer's own heartbeat, ends what its earlier life made.
static void test_restart_seen(void)
{
	struct n4_conf conf = fix_conf();

	for (unsigned own = 0; own < 2; own++) {
		fix_open(&conf);
		setup(1, RECOVERY);
		after_ms(10000);
		if (own)
			heartbeat(&fix.peer, 2, RECOVERY + 1);
		else
			heartbeat_answer(&fix.peer, RECOVERY + 1);
		CU_ASSERT_EQUAL(count(N4_COUNT_peer_restarts), 1);
		CU_ASSERT_EQUAL(fix.sessions.end_all, 1);
		CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
		CU_ASSERT_EQUAL(xacts().requests, 0);
		setup(1, RECOVERY + 1);
		CU_ASSERT_EQUAL(sent_cause(), 1);
		fix_close();
	}
	// An earlier stamp in the peer's heartbeat is old news; in an answer to us it is not.
	fix_open(&conf);
	setup(1, RECOVERY);
	after_ms(10000);
	heartbeat(&fix.peer, 2, RECOVERY - 1);
	CU_ASSERT_EQUAL(peer_assoc()->state, ASSOC_UP);
	fix.n_sent--; // our heartbeat was the one before
	heartbeat_answer(&fix.peer, RECOVERY - 1);
	CU_ASSERT_EQUAL(peer_assoc()->state, ASSOC_LOST);
	setup(3, RECOVERY - 1);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(fix.sessions.end_all, 1);
	CU_ASSERT_EQUAL(peer_assoc()->recovery, RECOVERY - 1);
	fix_close();
}

// A Node ID stays with whoever answers for it, and is free when nobody does.
static void test_claim(void)
{
	struct n4_conf conf = fix_conf();
	struct endpoint other;
	uint32_t sent;

	endpoint_parse("127.0.0.66", PFCP_PORT, &other);
	fix_open(&conf);
	setup(1, RECOVERY);
	setup_of(&other, 1, 4, RECOVERY + 9); // heard of just now: refused at once
	CU_ASSERT_EQUAL(sent_cause(), 64);
	CU_ASSERT(endpoint_eq(&sent_last()->to, &other));

	after_ms(5000);
	sent = fix.n_sent;
	setup_of(&other, 2, 4, RECOVERY + 9); // the owner is asked
	CU_ASSERT_EQUAL(fix.n_sent, sent + 1);
	CU_ASSERT_EQUAL(sent_type(), 1);
	CU_ASSERT(endpoint_eq(&sent_last()->to, &fix.peer));
	heartbeat_answer(&fix.peer, RECOVERY);
	CU_ASSERT_EQUAL(sent_type(), 6);
	CU_ASSERT_EQUAL(sent_cause(), 64);
	CU_ASSERT_EQUAL(count(N4_COUNT_takeovers_refused), 2);
	CU_ASSERT(endpoint_eq(&peer_assoc()->addr, &fix.peer));
	CU_ASSERT_EQUAL(fix.sessions.end_all, 0);

	after_ms(5000);
	setup_of(&other, 3, 4, RECOVERY + 9);
	setup_of(&other, 4, 4, RECOVERY + 9); // one may wait, no more
	CU_ASSERT_EQUAL(sent_cause(), 64);
	for (unsigned i = 0; i < 3; i++)
		after_ms(2500);
	CU_ASSERT_EQUAL(fix.sessions.end_all, 1);
	CU_ASSERT_EQUAL(sent_type(), 6);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(sent_seq(), 3);
	CU_ASSERT(endpoint_eq(&peer_assoc()->addr, &other));
	send_release(9); // the old owner no longer speaks for it
	CU_ASSERT_EQUAL(sent_cause(), 72);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	CU_ASSERT_EQUAL(fix.n4->waiting_bytes, 0);
	fix_close();
}

// An owner that has restarted is alive, even before it sets its association up again.
static void test_claim_restarted(void)
{
	struct n4_conf conf = fix_conf();
	struct endpoint other;

	endpoint_parse("127.0.0.66", PFCP_PORT, &other);
	fix_open(&conf);
	setup(1, RECOVERY);
	after_ms(5000);
	setup_of(&other, 2, 4, RECOVERY + 9);
	heartbeat_answer(&fix.peer, RECOVERY + 1);
	CU_ASSERT_EQUAL(sent_cause(), 64);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);

	setup(3, RECOVERY + 1);
	after_ms(5000);
	setup_of(&other, 4, 4, RECOVERY + 9);
	setup(1, RECOVERY + 2); // the owner is there before the answer to our heartbeat
	CU_ASSERT_EQUAL(sent_cause(), 64);
	CU_ASSERT(endpoint_eq(&sent_last()->to, &other));
	CU_ASSERT(endpoint_eq(&peer_assoc()->addr, &fix.peer));
	CU_ASSERT_EQUAL(peer_assoc()->recovery, RECOVERY + 2);
	CU_ASSERT_EQUAL(fix.n4->waiting_bytes, 0);
	fix_close();
}

// A claim that waits when the context ends leaves nothing (the sanitizer looks).
static void test_claim_unfinished(void)
{
	struct n4_conf conf = fix_conf();
	struct endpoint other;

	endpoint_parse("127.0.0.66", PFCP_PORT, &other);
	fix_open(&conf);
	setup(1, RECOVERY);
	after_ms(5000);
	setup_of(&other, 2, 4, RECOVERY + 9);
	CU_ASSERT_EQUAL(xacts().waiting, 1);
	fix.sessions.hold_end = true;
	send_release(3);
	CU_ASSERT_EQUAL(xacts().waiting, 2);
	fix_close();
}

static void test_update(void)
{
	struct n4_conf conf = fix_conf();
	size_t len;

	fix_open(&conf);
	for (unsigned with = 0; with < 2; with++) {
		if (with)
			setup(1, RECOVERY);
		msg(7, 2 + with);
		IE(IE_NODE_ID, 0, 127, 0, 0, 4);
		IE(89, 0x08);
		deliver();
		CU_ASSERT_EQUAL(sent_type(), 8);
		CU_ASSERT_EQUAL(sent_cause(), with ? 1 : 72);
		CU_ASSERT_PTR_NOT_NULL(sent_ie(IE_NODE_ID, &len));
	}
	CU_ASSERT_EQUAL(peer_assoc()->cp_features, 8);
	msg(7, 4);
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	deliver();
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(peer_assoc()->cp_features, 8);
	msg(7, 5);
	deliver();
	CU_ASSERT_EQUAL(sent_cause(), 66);
	CU_ASSERT_EQUAL(sent_offending(), 60);
	fix_close();
}

// Requests for session sets are the session half's, with the association that they name; without one they get 72.
static void test_session_sets(void)
{
	struct n4_conf conf = fix_conf();

	fix_open(&conf);
	for (uint8_t type = 14; type <= 16; type += 2)
		for (unsigned i = 0; i < 2; i++) {
			fix.sessions.sets = 0;
			if (i == 1)
				setup(100, RECOVERY);
			msg(type, type + i);
			IE(IE_NODE_ID, 0, 127, 0, 0, 4);
			if (type == 16)
				IE(290, 0, 178, 0, 5, 2, 127, 0, 0, 9);
			deliver();
			CU_ASSERT(sent_type() == type + 1u && fix.sessions.sets == i);
			CU_ASSERT_EQUAL(sent_cause(), i ? 1 : 72);
			if (i == 1) {
				msg(9, 1000u + type);
				IE(IE_NODE_ID, 0, 127, 0, 0, 4);
				deliver();
			}
		}
	fix_close();
}

// Every request of the standard has an answer; what is not served says so.
static void test_not_supported(void)
{
	static const struct {
		uint8_t type;
		bool node_id;
	} rows[] = {{12, true}, {56, false}};
	struct n4_conf conf = fix_conf();
	size_t len;

	fix_open(&conf);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].type == 56)
			msg_session(56, i, 7);
		else
			msg(rows[i].type, i);
		if (rows[i].type >= 12 && rows[i].type != 56)
			IE(IE_NODE_ID, 0, 127, 0, 0, 4);
		if (rows[i].type == 12)
			IE(101, 1);
		if (rows[i].type == 56)
			IE(39, 2);
		deliver();
		CU_ASSERT_EQUAL(sent_type(), rows[i].type + 1u);
		CU_ASSERT_EQUAL(sent_cause(), 76);
		CU_ASSERT_EQUAL(sent_ie(IE_NODE_ID, &len) != NULL, rows[i].type != 56);
	}
	for (unsigned type = 0; type < PFCP_MSG_COUNT; type++) {
		const struct pfcp_msg_info *info = pfcp_msg_info_lookup((uint8_t)type);

		if (info == NULL || !info->request)
			continue;
		fix.n_sent = 0;
		if (info->session)
			msg_session((uint8_t)type, 1000, 7);
		else
			msg((uint8_t)type, 1000);
		if (type == 1)
			ie_recovery(RECOVERY);
		deliver();
		CU_ASSERT_EQUAL(fix.n_sent, 1);
		CU_ASSERT_EQUAL(sent_type(), type + 1);
	}
	fix_close();
}

// Two messages in one datagram (FO).
static void test_bundle(void)
{
	struct n4_conf conf = fix_conf();
	uint8_t one[16];

	fix_open(&conf);
	msg(1, 5);
	ie_recovery(RECOVERY);
	msg_end();
	memcpy(one, fix.out, sizeof(one));
	memcpy(fix.out + sizeof(one), one, sizeof(one));
	fix.out[0] |= 0x04;
	fix.len = 2 * sizeof(one);
	deliver_from(&fix.peer);
	CU_ASSERT_EQUAL(fix.n_sent, 2);
	fix.out[16] |= 0x04; // says that a third follows
	deliver_from(&fix.peer);
	CU_ASSERT_EQUAL(fix.n_sent, 3);
	CU_ASSERT_EQUAL(discards(), 1);
	fix_close();
}

static CU_TestInfo tests[] = {
	{"what cannot be trusted is discarded", test_discarded},
	{"version", test_version},
	{"heartbeat", test_heartbeat},
	{"setup refused", test_setup_refused},
	{"setup with features", test_setup_features},
	{"setup with a SEID", test_setup_with_seid},
	{"node ids", test_node_ids},
	{"setup answer", test_setup_answer},
	{"duplicates", test_duplicates},
	{"duplicates while waiting", test_duplicates_waiting},
	{"setup again", test_setup_again},
	{"restart forgets", test_restart_forgets},
	{"stamps", test_stamps},
	{"release", test_release},
	{"no association", test_no_association},
	{"path failure", test_path_failure},
	{"path failure ends sessions", test_path_failure_ends},
	{"restart seen", test_restart_seen},
	{"claim of a Node ID", test_claim},
	{"claim while the owner restarts", test_claim_restarted},
	{"claim unfinished", test_claim_unfinished},
	{"update", test_update},
	{"session sets", test_session_sets},
	{"not supported", test_not_supported},
	{"bundle", test_bundle},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_node")
