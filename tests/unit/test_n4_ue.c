// Addresses of UEs on N4: picked by us, given by the SMF, prefixes of any length, framed routes, and who may have
// what (TS 29.244 5.14, 5.16, 5.21).

#include "session_kit.h"

#include "base/rest.h"
#include "session/locator_lookup.h"

static const struct kit_conf conf = KIT_CONF;

#define CHV4 0x10 // flags of the UE IP Address
#define CHV6 0x20
#define IPV6D 0x08
#define IP6PL 0x40
#define DESTINATION 0x04

static void ie_ue_choose(char *to, unsigned flags, int octet)
{
	if (octet < 0)
		sprintf(to, "005d0001%02x", flags);
	else
		sprintf(to, "005d0002%02x%02x", flags, (unsigned)octet);
}

// The rules of a session whose UE address is what these IEs of the downlink PDI say; PDR 3 has the same.
static void put_session(const char *down_hex, const char *up_hex)
{
	PDR(.id = 1, .source = CORE, .ni = "internet", .pdi_hex = down_hex, .far = 1);
	PDR(.id = 2, .source = ACCESS, .ni = "internet", .fteid = CH_V4, .removal = true,
	    .pdi_hex = up_hex, .far = 2);
	PDR(.id = 3, .source = CORE, .ni = "internet", .precedence = 9, .pdi_hex = down_hex,
	    .flows = {"permit out 17 from any to assigned"}, .far = 1);
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 0xa000001,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
}

static uint64_t establish(uint64_t cp_seid, const char *down_hex, const char *up_hex)
{
	establish_begin(cp_seid);
	put_session(down_hex, up_hex);
	msg_send();
	return answer_cause() == 1 ? up_seid() : 0;
}

// The UE IP Address in the Created PDR of this id as hex, "" for none.
static const char *created_ue(unsigned type, unsigned pdr_id)
{
	static char hex[64];

	hex[0] = '\0';
	for (unsigned n = 0;; n++) {
		struct found group = find_ie(answer_ies(), type, n);
		struct found id = find_ie(group, 56, 0), ue = find_ie(group, 93, 0);

		if (!group.at)
			return hex;
		if (!id.at || number_at(id.at, 2) != pdr_id || !ue.at)
			continue;
		for (size_t i = 0; i < ue.len && 2 * i + 2 < sizeof(hex); i++)
			sprintf(hex + 2 * i, "%02x", ue.at[i]);
	}
}

static struct ue_pool_view pool_views[2];

static void pool_view(void *ctx, const struct ue_pool_view *pool)
{
	unsigned *n = ctx;

	pool_views[(*n)++] = *pool;
}

static const struct ue_pool_view *pool(unsigned i)
{
	unsigned n = 0;

	ue_pools_each(kit.pools, pool_view, &n);
	CU_ASSERT_EQUAL(n, 2);
	return &pool_views[i];
}

// Where a packet from N6 to this address is led, as 3_locate.h has it: 0 to nobody.
static uint64_t found(const char *text)
{
	struct addr addr;
	struct session_ref ref = {0, 0};
	const void *at = &addr.v4;
	struct n4_session *match = NULL;

	CU_ASSERT_EQUAL_FATAL(addr_parse(text, &addr), 0);
	if (addr.family == ADDR_V6) {
		at = addr.v6;
		ref = locator_longer(kit.locator, KIT_N6, addr.v6);
	}
	if (!ref.check)
		ref = locator_ue_get(kit.locator, KIT_N6, &addr);
	if (!ref.check)
		ref = locator_shorter(kit.locator, KIT_N6, addr.family, at);
	for (uint32_t i = 0; i <= kit.n4->sessions->mask; i++)
		for (struct n4_session *s = kit.n4->sessions->buckets[i]; s; s = s->next)
			if (s->slot.owner == session_ref_owner(ref) &&
			    s->slot.index == session_ref_index(ref) && s->slot.version == ref.check)
				match = s;
	return ref.check && match ? match->seid : 0;
}

static bool refused_with(unsigned cause, unsigned ie, int64_t pdr)
{
	bool right = answer_cause() == cause && answer_number(40) == ie && failed_kind() == 0 &&
		     failed_id() == pdr;

	if (!right)
		printf("\ncause %u, IE %u, PDR %d\n", answer_cause(), (unsigned)answer_number(40),
		       (int)failed_id());
	return right;
}

// --- picked by us ----------------------------------------------------------------------------------------

// What is asked for, and what the Created PDR of each PDR that asks says.
static void test_picked(void)
{
	static const struct {
		unsigned flags;
		int octet; // delegation bits or prefix length, -1: none
		const char *created, *found;
	} rows[] = {
		{CHV4, -1, "020a2d0001", "10.45.0.1"},
		{CHV6, -1, "0120010db8aa0000000000000000000000", "2001:db8:aa00::7"},
		{CHV4 | CHV6, -1, "030a2d000120010db8aa0000000000000000000000", "2001:db8:aa00::7"},
		{CHV6 | IPV6D, 8, "0920010db8aa00ff00000000000000000008", "2001:db8:aa00:ff12::7"},
		{CHV6 | IPV6D, 0, "0120010db8aa0000000000000000000000", "2001:db8:aa00::7"},
		{CHV6 | IP6PL, 60, "4120010db8aa00fff000000000000000003c", "2001:db8:aa00:fff2::7"},
		{CHV6 | IP6PL, 0, "0120010db8aa0000000000000000000000", "2001:db8:aa00::7"},
		{CHV6 | IP6PL, 48, "4120010db8aa000000000000000000000030", "2001:db8:aa00:99::"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char hex[32];
		uint64_t seid;

		kit_open(&conf);
		ie_ue_choose(hex, rows[i].flags | DESTINATION, rows[i].octet);
		seid = establish(1, hex, NULL);
		CU_ASSERT_FATAL(seid != 0);
		CU_ASSERT_STRING_EQUAL(created_ue(8, 1), rows[i].created);
		CU_ASSERT_STRING_EQUAL(created_ue(8, 3), rows[i].created); // the same one
		CU_ASSERT_STRING_EQUAL(created_ue(8, 2), "");
		CU_ASSERT_NOT_EQUAL(created_teid(2), 0);
		CU_ASSERT_EQUAL(found(rows[i].found), seid);
		CU_ASSERT_EQUAL(kit.prefixes, 0); // pools are announced already
		delete_session(seid);
		CU_ASSERT_EQUAL(found(rows[i].found), 0);
		kit_close();
	}
}

static void test_not_picked(void)
{
	static const struct {
		unsigned flags;
		int octet;
		unsigned cause;
	} rows[] = {
		{CHV6 | IP6PL, 47, 73},
		{CHV6 | IP6PL, 65, 73},
		{CHV6 | IP6PL, 128, 73},
		{CHV6 | IPV6D, 63, 73},
		{0, -1, 69},
	};
	struct kit_counts before, after;
	char hex[32];

	kit_open(&conf);
	before = kit_counts();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ie_ue_choose(hex, rows[i].flags, rows[i].octet);
		CU_ASSERT_EQUAL(establish(1, hex, NULL), 0);
		CU_ASSERT(refused_with(rows[i].cause, 93, 1));
	}
	// Of an instance without pools.
	establish_begin(2);
	PDR(.id = 4, .source = CORE, .ni = "ims.example", .pdi_hex = "005d000110", .far = 1);
	FAR(.id = 1, .action = DROP);
	msg_send();
	CU_ASSERT(refused_with(73, 93, 4));
	// But of the pool of another instance behind the same interface, if it is named.
	establish_begin(3);
	PDR(.id = 4, .source = CORE, .ni = "ims.example", .pdi_hex = "005d000110",
	    .hex = "00b1000a 0008 496e7465726e6574", .far = 1);
	FAR(.id = 1, .action = DROP);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_STRING_EQUAL(created_ue(8, 4), "020a2d0001");
	delete_session(up_seid());
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	kit_close();
}

// A pool of two: the third session gets 79; what is given back comes again after its time.
static void test_exhausted(void)
{
	struct kit_conf small = conf;
	uint64_t a, b;

	small.pool = "10.45.0.0/30";
	kit_open(&small);
	a = establish(1, "005d000114", NULL);
	b = establish(2, "005d000114", NULL);
	CU_ASSERT(a && b);
	CU_ASSERT_EQUAL(pool(0)->used, 2);
	CU_ASSERT_EQUAL(establish(3, "005d000114", NULL), 0);
	CU_ASSERT(refused_with(79, 93, 1));
	delete_session(a);
	CU_ASSERT(pool(0)->used == 1 && pool(0)->resting == 1);
	CU_ASSERT_EQUAL(establish(3, "005d000114", NULL), 0);
	CU_ASSERT_EQUAL(answer_cause(), 79);
	clock_warp_ns(KIT_REST_S * (int64_t)NS_PER_SEC);
	CU_ASSERT_NOT_EQUAL(establish(3, "005d000114", NULL), 0);
	CU_ASSERT_STRING_EQUAL(created_ue(8, 1), "020a2d0001");
	kit_close();
}

// A request that fails later gives back what was picked; so does one in flight when its association ends.
static void test_picked_and_failed(void)
{
	struct kit_counts before, after;

	kit_open(&conf);
	before = kit_counts();
	for (unsigned i = 0; i < 3; i++) {
		establish_begin(1);
		PDR(.id = 1, .source = CORE, .ni = "internet", .pdi_hex = "005d000134",
		    .far = i == 0 ? 9 : 1);
		PDR(.id = 2, .source = ACCESS, .fteid = GIVEN_V4, .teid = 0x77, .removal = true,
		    .far = 1);
		PDR(.id = 3, .source = CORE, .ue_v4 = i == 1 ? "127.0.0.1" : NULL,
		    .pdi_hex = i == 1 ? "009900026161" : NULL, .far = 1);
		FAR(.id = 1, .action = i == 2 ? 0x20 : DROP);
		msg_send();
		CU_ASSERT(answer_cause() > 64);
		after = kit_counts();
		CU_ASSERT(kit_counts_eq(&before, &after));
		CU_ASSERT_EQUAL(pool(0)->used + pool(1)->used, 0);
	}
	kit.hold = true;
	establish_begin(1);
	put_session("005d000114", NULL);
	msg_send();
	CU_ASSERT_EQUAL(pool(0)->used, 1);
	kit_close(); // asserts that none is used
}

// An address stays for as long as a PDR has it, also as the SMF's own.
static void test_kept_and_let_go(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish(1, "005d000114", NULL);
	CU_ASSERT_STRING_EQUAL(created_ue(8, 1), "020a2d0001");
	msg_begin(52, seid); // asked again: the same, and told
	PDR(.id = 1, .update = true, .source = CORE, .pdi_hex = "005d000114", .far = 1);
	PDR(.id = 4, .source = CORE, .ni = "internet", .pdi_hex = "005d000114", .far = 1);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_STRING_EQUAL(created_ue(256, 1), "020a2d0001");
	CU_ASSERT_STRING_EQUAL(created_ue(8, 4), "020a2d0001");
	msg_begin(52, seid); // as the SMF's own, in one PDR alone
	PDR(.id = 1, .update = true, .source = CORE, .ue_v4 = "10.45.0.1", .far = 1);
	remove_pdr(3);
	remove_pdr(4);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT(pool(0)->used == 1 && found("10.45.0.1") == seid);
	msg_begin(52, seid);
	PDR(.id = 1, .update = true, .source = CORE, .ue_v4 = "10.45.9.9", .far = 1);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT(pool(0)->used == 0 && pool(0)->resting == 1 && found("10.45.0.1") == 0);
	kit_close();
}

// Asked for in an uplink PDR alone, it is held all the same.
static void test_picked_up(void)
{
	uint64_t seid;

	kit_open(&conf);
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ni = "internet", .ue_v4 = "10.45.7.7", .far = 1);
	PDR(.id = 2, .source = ACCESS, .ni = "internet", .fteid = CH_V4, .removal = true,
	    .pdi_hex = "005d000110", .far = 1);
	FAR(.id = 1, .action = DROP);
	msg_send();
	seid = up_seid();
	CU_ASSERT_STRING_EQUAL(created_ue(8, 2), "020a2d0001");
	CU_ASSERT_EQUAL(found("10.45.0.1"), seid);
	CU_ASSERT_EQUAL(establish_plain(2, "10.45.0.1"), 0);
	CU_ASSERT(refused_with(73, 93, 1));
	kit_close();
}

// After our restart: the old SEID, and the address that we had picked, now as given. Later ones avoid it.
static void test_restored(void)
{
	uint64_t seid;

	kit_open(&conf);
	msg_begin(50, 0x1122334455667788);
	ie_hex(60, "007f000004");
	ie_f_seid(1);
	put_session("005d0005060a2d0002", NULL);
	ie_number(186, 1, 1); // RESTI
	msg_send();
	CU_ASSERT_EQUAL(up_seid(), 0x1122334455667788);
	CU_ASSERT_EQUAL(found("10.45.0.2"), 0x1122334455667788);
	CU_ASSERT_NOT_EQUAL(establish(2, "005d000114", NULL), 0);
	CU_ASSERT_STRING_EQUAL(created_ue(8, 1), "020a2d0001");
	CU_ASSERT_NOT_EQUAL(establish(3, "005d000114", NULL), 0);
	CU_ASSERT_STRING_EQUAL(created_ue(8, 1), "020a2d0003");
	delete_session(0x1122334455667788);
	CU_ASSERT_NOT_EQUAL(establish(4, "005d000114", NULL), 0);
	CU_ASSERT_STRING_EQUAL(created_ue(8, 1), "020a2d0004");

	// A second one with the SEID gets another, and one that has just gone is not given by chance.
	msg_begin(50, 0x1122334455667788);
	ie_hex(60, "007f000004");
	ie_f_seid(5);
	put_session("005d0005060a2d0009", NULL);
	ie_number(186, 1, 1);
	msg_send();
	seid = up_seid();
	CU_ASSERT_EQUAL(seid, 0x1122334455667788); // free again
	msg_begin(50, 0x1122334455667788);
	ie_hex(60, "007f000004");
	ie_f_seid(6);
	put_session("005d0005060a2d000a", NULL);
	ie_number(186, 1, 1);
	msg_send();
	CU_ASSERT(answer_cause() == 1 && up_seid() != seid && up_seid() != 0);
	kit_close();
}

// --- who may have what -----------------------------------------------------------------------------------

#define UE_64 "005d0011052001 0db8cafe1200 0000000000000001"
#define UE_56 "005d0012452001 0db8cafe1234 000000000000000138"
#define UE_128 "005d0012452001 0db8cafe1277 000000000000000580"
#define UE_OTHER_128 "005d0012452001 0db8cafe1277 000000000000000680"
#define FRAMED_24 "0099000f 3139322e3136382e37372e302f3234"       // 192.168.77.0/24
#define FRAMED_25 "00990011 3139322e3136382e37372e3132382f3235"   // 192.168.77.128/25
#define FRAMED_48 "009b0012 323030313a6462383a636166653a3a2f3438" // 2001:db8:cafe::/48
#define FRAMED_64                                                                                  \
	"009b0017 323030313a6462383a636166653a313230303a3a2f3634" // 2001:db8:cafe:1200::/64
#define FRAMED_UE "0099000c 31302e34352e302e322f3332"             // 10.45.0.2/32
#define FRAMED_16 "0099000c 31302e34352e302e302f3136"             // 10.45.0.0/16
#define UE_V4 "005d0005060a2d0002"                                // 10.45.0.2

static void test_two_sessions(void)
{
	static const struct {
		const char *first, *second;
		unsigned cause, ie; // of the second
		const char *to_first, *to_second;
	} rows[] = {
		{UE_V4, UE_V4, 73, 93, "10.45.0.2", NULL},
		{UE_64, UE_64, 73, 93, "2001:db8:cafe:1200::9", NULL},
		{UE_64, UE_56, 73, 93, "2001:db8:cafe:1200::9", NULL},
		{UE_56, UE_64, 73, 93, "2001:db8:cafe:12ff::9", NULL},
		{UE_56, UE_128, 73, 93, "2001:db8:cafe:1277::9", NULL},
		{UE_128, UE_56, 73, 93, "2001:db8:cafe:1277::5", NULL},
		{UE_128, UE_128, 73, 93, "2001:db8:cafe:1277::5", NULL},
		{UE_128, UE_OTHER_128, 1, 0, "2001:db8:cafe:1277::5", "2001:db8:cafe:1277::6"},
		{UE_128, UE_64, 1, 0, "2001:db8:cafe:1277::5", "2001:db8:cafe:1200::5"},
		{FRAMED_24, FRAMED_24, 73, 153, "192.168.77.200", NULL},
		{FRAMED_24, FRAMED_25, 1, 0, "192.168.77.127", "192.168.77.128"},
		{FRAMED_25, FRAMED_24, 1, 0, "192.168.77.128", "192.168.77.127"},
		{UE_64, FRAMED_48, 1, 0, "2001:db8:cafe:1200::9", "2001:db8:cafe:1201::9"},
		{FRAMED_48, UE_56, 1, 0, "2001:db8:cafe:1300::9", "2001:db8:cafe:12ab::9"},
		{UE_56, FRAMED_64, 1, 0, "2001:db8:cafe:1201::9", "2001:db8:cafe:1200::9"},
		{FRAMED_64, UE_56, 1, 0, "2001:db8:cafe:1200::9", "2001:db8:cafe:1201::9"},
		{UE_64, FRAMED_64, 73, 155, "2001:db8:cafe:1200::9", NULL},
		{FRAMED_UE, UE_V4, 73, 93, "10.45.0.2", NULL},
		{UE_V4, FRAMED_UE, 73, 153, "10.45.0.2", NULL},
		{UE_V4, FRAMED_16, 1, 0, "10.45.0.2", "10.45.0.3"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned race = 0; race < 2; race++) {
			struct kit_counts before, after;
			bool good = rows[i].cause == 1;
			uint64_t a, b;

			kit_open(&conf);
			kit.hold = race;
			a = establish(1, rows[i].first, NULL);
			before = kit_counts();
			b = establish(2, rows[i].second, NULL);
			after = kit_counts();
			if (race) {
				CU_ASSERT_EQUAL(kit.n_sent, good ? 0 : 1);
				CU_ASSERT(good || refused_with(rows[i].cause, rows[i].ie, 1));
				kit_run();
				CU_ASSERT_EQUAL(n4_session_count(kit.n4), good ? 2 : 1);
				kit_close();
				continue;
			}
			CU_ASSERT_EQUAL(b != 0, good);
			CU_ASSERT(good || refused_with(rows[i].cause, rows[i].ie, 1));
			CU_ASSERT(good || kit_counts_eq(&before, &after));
			if (found(rows[i].to_first) != a ||
			    (rows[i].to_second && found(rows[i].to_second) != b)) {
				printf("\n%s, %s\n", rows[i].first, rows[i].second);
				CU_FAIL("led to another session");
			}
			delete_session(a);
			if (!good) // now it may
				CU_ASSERT_NOT_EQUAL(establish(3, rows[i].second, NULL), 0);
			kit_close();
		}
}

// Of two that give one F-TEID at the same time the later is refused; after it, it may.
static void test_teid_race(void)
{
	kit_open(&conf);
	for (unsigned i = 0; i < 2; i++) {
		kit.hold = i == 0;
		for (uint64_t cp_seid = 1; cp_seid <= 2; cp_seid++) {
			establish_begin(cp_seid);
			PDR(.id = 7, .source = ACCESS, .fteid = GIVEN_V4, .teid = 0x4711,
			    .removal = true, .far = 1);
			FAR(.id = 1, .action = DROP);
			msg_send();
		}
		CU_ASSERT(answer_cause() == 73 && answer_number(40) == 21 && failed_id() == 7);
		CU_ASSERT_EQUAL(answer_seid(), 2);
		kit_run();
		if (i == 0) {
			CU_ASSERT(answer_cause() == 1 && answer_seid() == 1);
			delete_session(up_seid());
			kit_run();
		}
		CU_ASSERT_EQUAL(n4_session_count(kit.n4), i);
	}
	kit_close();
}

// A prefix that grows around what the session has, and shrinks again.
static void test_prefix_grows(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish(1, UE_64, NULL);
	CU_ASSERT_EQUAL(kit.prefixes, 1);
	for (unsigned i = 0; i < 4; i++) {
		bool wide = i % 2 == 0;

		msg_begin(52, seid);
		for (unsigned pdr = 1; pdr <= 3; pdr += 2)
			PDR(.id = pdr, .update = true, .source = CORE,
			    .pdi_hex = wide ? UE_56 : UE_64, .far = 1);
		msg_send();
		CU_ASSERT_EQUAL(answer_cause(), 1);
		CU_ASSERT_EQUAL(found("2001:db8:cafe:1200::9"), seid);
		CU_ASSERT_EQUAL(found("2001:db8:cafe:1234::9"), wide ? seid : 0);
		CU_ASSERT_EQUAL(kit.prefixes, 1);
		CU_ASSERT_EQUAL(establish(2, UE_56, NULL), 0);
	}
	delete_session(seid);
	CU_ASSERT_NOT_EQUAL(establish(2, UE_56, NULL), 0);
	kit_close();
}

// --- framed routes ---------------------------------------------------------------------------------------

// As Open5GS gives them: in PDR 1 with the UE's address, in the uplink PDR alone.
static void test_framed(void)
{
	const struct ruleset *rs;
	uint64_t seid;

	kit_open(&conf);
	seid = establish(1, UE_V4 FRAMED_24, FRAMED_24 FRAMED_48);
	CU_ASSERT_FATAL(seid != 0);
	CU_ASSERT(found("10.45.0.2") == seid && found("192.168.77.9") == seid);
	CU_ASSERT_EQUAL(found("2001:db8:cafe::9"), 0); // only uplink
	CU_ASSERT_EQUAL(kit.prefixes, 1);
	rs = rule_arena_at(&kit.arena, session_of(seid)->holding.rules);
	CU_ASSERT_EQUAL(rs->n_sources, 3);
	CU_ASSERT_EQUAL(up_line(session_of(seid))->up.ue_v4, inet_addr("10.45.0.2"));

	msg_begin(52, seid); // an update without them keeps them, an empty one takes them away
	PDR(.id = 1, .update = true, .source = CORE, .far = 1);
	msg_send();
	CU_ASSERT_EQUAL(found("192.168.77.9"), seid);
	msg_begin(52, seid);
	PDR(.id = 1, .update = true, .source = CORE, .pdi_hex = "00990000", .far = 1);
	PDR(.id = 3, .update = true, .source = CORE, .pdi_hex = FRAMED_25, .far = 1);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT(found("192.168.77.9") == 0 && found("192.168.77.129") == seid);
	CU_ASSERT_EQUAL(kit.prefixes, 1);
	kit_close();
}

// No more routes in all than there is room for, and in a session than may be.
static void test_framed_bounds(void)
{
	char hex[2048];
	unsigned n = 0;

	kit_open(&conf);
	while (n <= 64) { // of the kit's locator
		unsigned len = 0;

		for (unsigned i = 0; i < 16; i++) {
			char route[32];

			sprintf(route, "172.%u.%u.0/24", 16 + n / 16, i);
			len += (unsigned)sprintf(hex + len, "0099%04x", (unsigned)strlen(route));
			for (const char *c = route; *c; c++)
				len += (unsigned)sprintf(hex + len, "%02x", *c);
		}
		if (establish(n, hex, NULL) == 0)
			break;
		n += 16;
	}
	CU_ASSERT_EQUAL(n, 64);
	CU_ASSERT(refused_with(75, 153, 1));
	CU_ASSERT_EQUAL(kit.locator->n_routes, 64);
	strcat(hex, "0099000a 31302e302e302e302f38");
	CU_ASSERT_EQUAL(establish(n, hex, NULL), 0);
	CU_ASSERT(refused_with(75, 153, 1));
	kit_close();
}

// --- SEIDs -----------------------------------------------------------------------------------------------

// One that was freed is not given while it rests; how many rest is bounded by time.
static void test_seids_rest(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_plain(1, "10.45.0.2");
	delete_session(seid);
	CU_ASSERT_TRUE(rest_has(kit.n4->sessions->seids, seid));
	for (unsigned i = 0; i < 100; i++) {
		clock_warp_ns(NS_PER_SEC);
		delete_session(establish_plain(1, "10.45.0.2"));
		CU_ASSERT_EQUAL(rest_has(kit.n4->sessions->seids, seid),
				i + 1 < kit.n4->conf.seid_rest_s);
	}
	CU_ASSERT_TRUE(rest_count(kit.n4->sessions->seids) <= kit.n4->conf.seid_rest_s);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"picked", test_picked},
	{"what is not picked", test_not_picked},
	{"a pool that is used up", test_exhausted},
	{"picked for a request that fails", test_picked_and_failed},
	{"kept, and let go", test_kept_and_let_go},
	{"picked for an uplink PDR", test_picked_up},
	{"restored", test_restored},
	{"two sessions", test_two_sessions},
	{"two sessions with one F-TEID", test_teid_race},
	{"a prefix that grows", test_prefix_grows},
	{"framed routes", test_framed},
	{"as many framed routes as may be", test_framed_bounds},
	{"SEIDs that rest", test_seids_rest},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("N4 addresses of UEs")
