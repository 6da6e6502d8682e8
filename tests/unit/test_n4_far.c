// Where FARs send to beyond plain routes and one GTP-U tunnel: duplicates (TS 29.244 5.2.1, 7.5.2.3, 7.5.4.3) and UDP
// tunnels (8.2.56), from the octets of a request to what the session holds.

#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

// Duplicating Parameters and Update Duplicating Parameters: to the LI function, by GTP-U with this last octet of TEID
// and address, or by UDP/IPv4 and UDP/IPv6 to port 0x1267.
#define GTPU(type, teid, host) type "0013 002a000104 0054000a 0100 000000" teid "7f0000" host
#define COPY(teid, host) GTPU("0005", teid, host)
#define UPDATE(teid, host) GTPU("0069", teid, host)
#define COPY_UDP4 "00050017 002a000101 00540008 0400 7f000050 1267 001e0002b8fc"
#define COPY_UDP6 "0005001d 002a000104 00540014 0800 fd000000000000000000000000000001 1267"
#define DUPL 16

static uint64_t establish_with(const char *hex)
{
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2);
	FAR(.id = 1, .action = FORW | DUPL, .to = true, .destination = ACCESS, .teid = 1,
	    .peer = "127.0.0.50", .hex = hex);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	return up_seid();
}

static unsigned update_with(uint64_t seid, unsigned action, const char *hex)
{
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = action, .hex = hex);
	msg_send();
	return answer_cause();
}

static const struct far_rule *far_1(uint64_t seid)
{
	return rules_far_lookup(rules_of(session_of(seid)), 1);
}

static const struct ruleset *block_of(uint64_t seid)
{
	return rule_arena_at(&kit.arena, session_of(seid)->holding.rules);
}

// FAR 1 in the block, and the destinations of its duplicates behind it: how many.
static unsigned compiled_copies(uint64_t seid)
{
	const struct ruleset *rs = block_of(seid);
	const struct far *far = ruleset_far(rs, rs->pdrs[rs->n_up].far);
	unsigned n = 0;

	CU_ASSERT_EQUAL(far->id, 1);
	for (; far->flags & FAR_F_COPY; n++)
		CU_ASSERT_EQUAL((++far)->id, 1);
	return n;
}

// The peers that the session's tunnels lead to, with how many references.
static unsigned refs_to(const char *addr, uint16_t port)
{
	struct addr to;

	CU_ASSERT_EQUAL_FATAL(addr_parse(addr, &to), 0);
	for (unsigned i = 1; i < KIT_PEERS; i++)
		if (kit.neigh.peers[i].refs && kit.neigh.peers[i].port == port &&
		    addr_eq(&kit.neigh.peers[i].addr, &to))
			return kit.neigh.peers[i].refs;
	return 0;
}

static void test_created(void)
{
	const struct far *far;
	const struct far_rule *copies;
	uint64_t seid;

	kit_open(&conf);
	seid = establish_with(COPY("07", "33") COPY_UDP4 COPY_UDP6);
	CU_ASSERT_EQUAL_FATAL(far_1(seid)->n_copies, 3);
	copies = far_1(seid)->copies;
	CU_ASSERT(copies[0].destination == IF_LI_FUNCTION && copies[0].teid == 7 &&
		  copies[0].ohc == OHC_GTPU_UDP_V4 && copies[0].dscp == 0xff);
	CU_ASSERT(copies[1].destination == IF_CORE && copies[1].port == 0x1267 &&
		  copies[1].ohc == OHC_UDP_V4 && copies[1].dscp == 46);
	CU_ASSERT(copies[2].ohc == OHC_UDP_V6 && copies[2].v6.s6_addr[0] == 0xfd);
	CU_ASSERT_EQUAL(compiled_copies(seid), 3);
	far = ruleset_far(block_of(seid), block_of(seid)->pdrs[1].far);
	CU_ASSERT(far[0].to == FAR_TO_LINE && far[1].to == FAR_TO_PLACE &&
		  far[2].to == FAR_TO_UDP && far[3].to == FAR_TO_UDP);
	CU_ASSERT(far[1].dscp == FAR_DSCP_COPY && far[2].dscp == 46);
	CU_ASSERT(refs_to("127.0.0.51", 0) == 1 && refs_to("127.0.0.80", 0x1267) == 1 &&
		  refs_to("fd00::1", 0x1267) == 1);
	CU_ASSERT(block_of(seid)->chain_down & NEEDS_COPIES << 1);
	CU_ASSERT(!(block_of(seid)->chain_up & NEEDS_COPIES << 1));
	delete_session(seid);
	CU_ASSERT_EQUAL(kit.neigh.used, 0);
	kit_close();
}

// The first Update Duplicating Parameters is of the first destination, and so on; further ones are new.
static void test_updated(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_with(COPY("07", "33") COPY("08", "34"));
	CU_ASSERT_EQUAL(update_with(seid, 0, UPDATE("09", "35")), 1);
	CU_ASSERT_EQUAL_FATAL(far_1(seid)->n_copies, 2);
	CU_ASSERT(far_1(seid)->copies[0].teid == 9 && far_1(seid)->copies[1].teid == 8);
	CU_ASSERT(refs_to("127.0.0.51", 0) == 0 && refs_to("127.0.0.53", 0) == 1);
	// A mark alone: all else stays. The second goes, a third comes.
	CU_ASSERT_EQUAL(update_with(seid, 0,
				    "00690006 001e0002b8fc"
				    "00690000" UPDATE("0a", "36")),
			1);
	CU_ASSERT_EQUAL_FATAL(far_1(seid)->n_copies, 2);
	CU_ASSERT(far_1(seid)->copies[0].teid == 9 && far_1(seid)->copies[0].dscp == 46 &&
		  far_1(seid)->copies[1].teid == 10);
	CU_ASSERT_EQUAL(compiled_copies(seid), 2);
	// Refused as a whole: the second names no interface and there is none that it could be of.
	CU_ASSERT_EQUAL(update_with(seid, 0,
				    "00690006 001e0002b8fc"
				    "00690006 001e0002b8fc"
				    "00690006 001e0002b8fc"),
			67);
	CU_ASSERT_EQUAL(answer_number(40), 42);
	CU_ASSERT(failed_kind() == 1 && failed_id() == 1);
	CU_ASSERT_EQUAL(far_1(seid)->n_copies, 2);
	kit_close();
}

// Without DUPL nothing is duplicated; with it again, to where it was.
static void test_switched(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_with(COPY("07", "33"));
	CU_ASSERT_EQUAL(update_with(seid, FORW, NULL), 1);
	CU_ASSERT_EQUAL(far_1(seid)->n_copies, 1);
	CU_ASSERT_EQUAL(compiled_copies(seid), 0);
	CU_ASSERT_EQUAL(refs_to("127.0.0.51", 0), 0);
	CU_ASSERT(!(block_of(seid)->chain_down & NEEDS_COPIES << 1));
	CU_ASSERT_EQUAL(update_with(seid, DROP | DUPL, NULL), 1);
	CU_ASSERT_EQUAL(compiled_copies(seid), 1);
	CU_ASSERT_EQUAL(refs_to("127.0.0.51", 0), 1);
	CU_ASSERT_EQUAL(update_with(seid, BUFF | NOCP | DUPL, NULL), 1);
	CU_ASSERT_EQUAL(compiled_copies(seid), 1);
	CU_ASSERT_EQUAL(update_with(seid, FORW | DUPL, "00690000"), 67);
	CU_ASSERT_EQUAL(answer_number(40), 5);
	CU_ASSERT_EQUAL(update_with(seid, FORW, "00690000"), 1);
	CU_ASSERT_EQUAL(far_1(seid)->n_copies, 0);
	msg_begin(52, seid);
	FAR(.id = 9, .action = DROP | DUPL, .hex = COPY("07", "33"));
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	msg_begin(52, seid);
	remove_far(9);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	kit_close();
}

// A session sends to six tunnels besides that of its down line: duplicates are counted among them.
static void test_too_many(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_with(COPY("01", "33") COPY("02", "33") COPY("03", "33") COPY("04", "33"));
	msg_begin(52, seid);
	FAR(.id = 2, .update = true, .action = FORW | DUPL,
	    .hex = UPDATE("05", "33") UPDATE("06", "33") UPDATE("07", "33"));
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 75);
	CU_ASSERT_EQUAL(answer_number(40), 84);
	msg_begin(52, seid); // those of the down FAR, and two more
	FAR(.id = 2, .update = true, .action = FORW | DUPL,
	    .hex = UPDATE("04", "33") UPDATE("05", "33") UPDATE("06", "33"));
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	kit_close();
}

// 8.2.56: UDP over either family towards N6, by the interface of the network instance.
static void test_udp(void)
{
	static const struct {
		const char *header, *addr;
	} rows[] = {
		{"00540008 0400 7f000050 1267", "127.0.0.80"},
		{"00540014 0800 fd000000000000000000000000000001 1267", "fd00::1"},
	};

	kit_open(&conf);
	for (unsigned i = 0; i < 2; i++) {
		const struct ruleset *rs;
		uint64_t seid;

		establish_begin(1 + i);
		PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2,
		    .ue_v4 = "10.45.0.2");
		FAR(.id = 2, .action = FORW, .to = true, .destination = CORE, .ni = "internet",
		    .to_hex = rows[i].header);
		msg_send();
		CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
		seid = up_seid();
		rs = block_of(seid);
		CU_ASSERT_EQUAL(ruleset_far(rs, rs->pdrs[0].far)->to, FAR_TO_UDP);
		CU_ASSERT_EQUAL(refs_to(rows[i].addr, 0x1267), 1);
		CU_ASSERT_EQUAL(kit.neigh.peers[1].iface, KIT_N6);
		CU_ASSERT_FALSE(kit.neigh.peers[1].watched);
		// A path switch away from it: no End Marker goes into what is no GTP-U tunnel.
		msg_begin(52, seid);
		FAR(.id = 2, .update = true, .to = true, .destination = CORE,
		    .to_hex = "00540000 0031000102");
		msg_send();
		CU_ASSERT_EQUAL(answer_cause(), 1);
		CU_ASSERT_EQUAL(kit.neigh.used, 0);
		delete_session(seid);
	}
	kit_close();
}

// 8.2.23: by name, in creation, in an update that changes or takes away, and for duplicates.
static void test_policy(void)
{
	const struct ruleset *rs;
	const struct far *far;
	uint64_t seid;

	kit_open(&conf);
	establish_begin(1);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2,
	    .ue_v4 = "10.45.0.2");
	FAR(.id = 2, .action = FORW | DUPL, .to = true, .destination = CORE,
	    .to_hex = "0029000b 0a 696e7370656374696f6e",
	    .hex = "0005000f 002a000102 00290006 05 6669727374");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	rs = block_of(seid);
	far = ruleset_far(rs, rs->pdrs[0].far);
	CU_ASSERT(far[0].to == FAR_TO_STEERED && far[0].place == 2 && far[0].iface == KIT_N6);
	CU_ASSERT(far[1].to == FAR_TO_STEERED && far[1].place == 1 && far[1].iface == KIT_N6);
	msg_begin(52, seid);
	FAR(.id = 2, .update = true, .to = true, .destination = CORE,
	    .to_hex = "00290006 05 6669727374");
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	rs = block_of(seid);
	CU_ASSERT_EQUAL(ruleset_far(rs, rs->pdrs[0].far)->place, 1);
	msg_begin(52, seid);
	FAR(.id = 2, .update = true, .to = true, .destination = CORE,
	    .to_hex = "00290005 04 66697273");
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 70);
	CU_ASSERT_EQUAL(answer_number(40), 41);
	CU_ASSERT(failed_kind() == 1 && failed_id() == 2);
	msg_begin(52, seid);
	FAR(.id = 2, .update = true, .to = true, .destination = CORE, .to_hex = "00290000");
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	rs = block_of(seid);
	far = ruleset_far(rs, rs->pdrs[0].far);
	CU_ASSERT(far[0].to == FAR_TO_ROUTE && far[1].place == 1);
	kit_close();
}

// --- redirection -----------------------------------------------------------------------------------------

#define REDIRECT_HEX_MAX 256

static int text_hex(char *to, const char *text)
{
	int n = sprintf(to, "%04x", (unsigned)strlen(text));

	for (; *text; text++)
		n += sprintf(to + n, "%02x", (unsigned char)*text);
	return n;
}

// 8.2.20, in Forwarding Parameters; `other` and `port` as they are given.
static const char *redirect_hex(unsigned type, const char *server, const char *other, int port)
{
	static char hex[2 * REDIRECT_HEX_MAX];
	char value[REDIRECT_HEX_MAX];
	int n = sprintf(value, "%02x", type);

	n += text_hex(value + n, server);
	n += other ? text_hex(value + n, other) : 0;
	n += port >= 0 ? sprintf(value + n, "%04x", (unsigned)port) : 0;
	snprintf(hex, sizeof(hex), "0026%04x%s", (unsigned)n / 2, value);
	return hex;
}

static uint64_t establish_up(uint32_t seid, const char *ni, const char *hex)
{
	establish_begin(seid);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1, .ni = ni);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2,
	    .ue_v4 = "10.45.0.2");
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 1,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE, .ni = ni, .to_hex = hex);
	msg_send();
	return answer_cause() == 1 ? up_seid() : 0;
}

static const struct {
	unsigned type;
	const char *server, *other;
	int port;
	unsigned cause;
	uint8_t families; // what it comes to
	uint16_t to_port;
} redirects[] = {
	{0, "192.0.2.80", NULL, -1, 1, PDR_V4, 0},
	{1, "2001:db8::80", NULL, -1, 1, PDR_V6, 0},
	{4, "192.0.2.80", "2001:db8::80", -1, 1, PDR_V4 | PDR_V6, 0},
	{4, "2001:db8::80", "192.0.2.80", -1, 1, PDR_V4 | PDR_V6, 0},
	{5, "", NULL, 8080, 1, 0, 8080},
	{6, "192.0.2.80", NULL, 8080, 1, PDR_V4, 8080},
	{7, "2001:db8::80", NULL, 65535, 1, PDR_V6, 65535},
	{8, "192.0.2.80", "2001:db8::80", 1, 1, PDR_V4 | PDR_V6, 1},
	{2, "http://portal/", NULL, -1, 73, 0, 0},
	{3, "sip:portal", NULL, -1, 73, 0, 0},
	{0, "", NULL, -1, 69, 0, 0},
	{0, "portal.example", NULL, -1, 69, 0, 0},
	{0, "192.0.2.80 ", NULL, -1, 69, 0, 0},
	{0, "2001:db8::80", NULL, -1, 69, 0, 0},
	{1, "192.0.2.80", NULL, -1, 69, 0, 0},
	{0, "0.0.0.0", NULL, -1, 69, 0, 0},
	{0, "224.0.0.1", NULL, -1, 69, 0, 0},
	{1, "ff02::1", NULL, -1, 69, 0, 0},
	{4, "192.0.2.80", "192.0.2.81", -1, 69, 0, 0},
	{4, "192.0.2.80", "", -1, 69, 0, 0},
	{5, "", NULL, 0, 69, 0, 0},
	{6, "192.0.2.80", NULL, 0, 69, 0, 0},
	{0, "1111111111111111111111111111111111111111111111111111111111111111111111", NULL, -1, 69,
	 0, 0},
};

static void test_redirect(void)
{
	kit_open(&conf);
	for (unsigned i = 0; i < sizeof(redirects) / sizeof(redirects[0]); i++) {
		const char *hex = redirect_hex(redirects[i].type, redirects[i].server,
					       redirects[i].other, redirects[i].port);
		uint64_t seid = establish_up(1 + i, "ims.example", hex);
		const struct redirect *to;
		const struct ruleset *rs;
		const struct far *far;

		CU_ASSERT_EQUAL(answer_cause(), redirects[i].cause);
		if (!seid) {
			CU_ASSERT_EQUAL(answer_number(40), 38);
			CU_ASSERT(failed_kind() == 1 && failed_id() == 2);
			continue;
		}
		rs = block_of(seid);
		far = ruleset_far(rs, rs->pdrs[0].far);
		CU_ASSERT(far->flags & FAR_F_REDIRECT && far->to == FAR_TO_ROUTE);
		CU_ASSERT_FALSE(ruleset_far(rs, rs->pdrs[1].far)->flags & FAR_F_REDIRECT);
		to = ruleset_redirect(rs, far->redirect);
		CU_ASSERT(to->families == redirects[i].families &&
			  to->port == redirects[i].to_port);
		CU_ASSERT_EQUAL(to->v4, to->families & PDR_V4 ? inet_addr("192.0.2.80") : 0);
		CU_ASSERT_EQUAL(to->v6[15], to->families & PDR_V6 ? 0x80 : 0);
		CU_ASSERT(rs->chain_up & NEEDS_REDIRECT << 1);
		CU_ASSERT(rs->chain_down & NEEDS_REDIRECT << 1);
		CU_ASSERT_EQUAL(rs->profile, 1);
		delete_session(seid);
	}
	kit_close();
}

static unsigned far_2_update(uint64_t seid, const char *hex)
{
	msg_begin(52, seid);
	FAR(.id = 2, .update = true, .to = true, .destination = CORE, .to_hex = hex);
	msg_send();
	return answer_cause();
}

// It comes, goes elsewhere and goes with updates; only where the network instance redirects, and only towards a data
// network.
static void test_redirect_changes(void)
{
	const struct far_rule *far;
	uint64_t seid, other;

	kit_open(&conf);
	seid = establish_up(1, "ims.example", NULL);
	far = rules_far_lookup(rules_of(session_of(seid)), 2);
	CU_ASSERT_FALSE(far_redirects(far));
	CU_ASSERT_EQUAL(far_2_update(seid, redirect_hex(0, "192.0.2.80", NULL, -1)), 1);
	far = rules_far_lookup(rules_of(session_of(seid)), 2);
	CU_ASSERT_EQUAL(far->redirect.v4.s_addr, inet_addr("192.0.2.80"));
	CU_ASSERT_EQUAL(far_2_update(seid, "001e0002b8fc"), 1); // a mark: it stays
	CU_ASSERT(far_redirects(rules_far_lookup(rules_of(session_of(seid)), 2)));
	CU_ASSERT_EQUAL(far_2_update(seid, redirect_hex(5, "", NULL, 81)), 1);
	far = rules_far_lookup(rules_of(session_of(seid)), 2);
	CU_ASSERT(far->redirect.v4.s_addr == 0 && far->redirect.port == 81);
	CU_ASSERT_EQUAL(far_2_update(seid, redirect_hex(2, "http://portal/", NULL, -1)), 73);
	CU_ASSERT_EQUAL(far_2_update(seid, "00260000"), 1);
	CU_ASSERT_FALSE(far_redirects(rules_far_lookup(rules_of(session_of(seid)), 2)));
	CU_ASSERT_FALSE(block_of(seid)->chain_up & NEEDS_REDIRECT << 1);
	delete_session(seid);

	other = establish_up(2, "internet", NULL);
	CU_ASSERT_EQUAL(far_2_update(other, redirect_hex(0, "192.0.2.80", NULL, -1)), 73);
	CU_ASSERT_EQUAL(answer_number(40), 38);
	CU_ASSERT(failed_kind() == 1 && failed_id() == 2);
	msg_begin(52, other);
	FAR(.id = 1, .update = true, .to = true, .destination = ACCESS,
	    .to_hex = redirect_hex(0, "192.0.2.80", NULL, -1));
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 73);
	CU_ASSERT_EQUAL(answer_number(40), 38);
	kit_close();
}

// So many FARs of a session that redirect, and one more. All in one block.
static void test_redirect_many(void)
{
	char hex[16][2 * REDIRECT_HEX_MAX];
	uint64_t seid;

	kit_open(&conf);
	for (unsigned extra = 0; extra < 2; extra++) {
		seid = establish_up(1 + extra, "ims.example", redirect_hex(5, "", NULL, 9));
		msg_begin(52, seid);
		for (unsigned i = 0; i < 15 + extra; i++) {
			strcpy(hex[i % 16], redirect_hex(5, "", NULL, (int)(10 + i)));
			PDR(.id = (uint16_t)(10 + i), .source = ACCESS, .fteid = CH_V4 | CHID,
			    .choose_id = 7, .removal = true, .far = 10 + i, .ue_v4 = "10.45.0.2");
			FAR(.id = 10 + i, .action = FORW, .to = true, .destination = CORE,
			    .ni = "ims.example", .to_hex = hex[i % 16]);
		}
		msg_send();
		CU_ASSERT_EQUAL(answer_cause(), extra ? 75 : 1);
		for (unsigned i = 0; i < 16 && !extra; i++) {
			const struct ruleset *rs = block_of(seid);
			const struct far *far = ruleset_far(rs, rs->pdrs[i].far);

			CU_ASSERT_EQUAL(ruleset_redirect(rs, far->redirect)->port,
					far->id == 2 ? 9 : far->id);
		}
		delete_session(seid);
	}
	kit_close();
}

static CU_TestInfo tests[] = {
	{"duplicates: created", test_created},
	{"duplicates: updated", test_updated},
	{"duplicates: switched off and on", test_switched},
	{"duplicates: too many tunnels", test_too_many},
	{"UDP tunnels", test_udp},
	{"forwarding policies", test_policy},
	{"redirection: created and refused", test_redirect},
	{"redirection: changed", test_redirect_changes},
	{"redirection: many in a session", test_redirect_many},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_far")
