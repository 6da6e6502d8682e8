// Tunnels over IPv4, over IPv6 and over both, as N4 has them: which F-TEID a CHOOSE gets, which given ones are
// taken and how they are found, and which peer a FAR leads to (TS 29.244 8.2.3, 8.2.56).

#include "session_kit.h"

#define N3_V4 "127.0.0.7"
#define N3_V6 "2001:db8:3::7"
#define V4 1u
#define V6 2u

// A kit whose N3 interface has addresses of these families.
static void open_families(unsigned families)
{
	static const struct kit_conf conf = KIT_CONF;
	struct n4_iface *n3;

	kit_open(&conf);
	n3 = &kit.ifaces[KIT_N3];
	n3->has_v4 = families & V4;
	n3->has_v6 = families & V6;
	inet_pton(AF_INET6, N3_V6, &n3->v6);
}

static struct addr addr_of(const char *text)
{
	struct addr addr;

	CU_ASSERT_FATAL(addr_parse(text, &addr) == 0);
	return addr;
}

static void establish_with(unsigned fteid_flags, uint32_t teid, const char *pdr_hex)
{
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	PDR(.id = 2, .source = ACCESS, .fteid = fteid_flags, .teid = teid, .removal = true,
	    .far = 2, .pdi_hex = pdr_hex);
	FAR(.id = 1, .action = BUFF | NOCP);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	msg_send();
}

// The F-TEID of the first Created PDR: its flags, 0 for none.
static unsigned created_flags(struct found *ret)
{
	*ret = find_ie(find_ie(answer_ies(), 8, 0), 21, 0);
	return ret->at ? ret->at[0] : 0;
}

// 32: what is asked for and there is given; where nothing of it is there, the rule fails.
static void test_choose(void)
{
	static const struct {
		unsigned there, asked;
		unsigned flags; // of the F-TEID in the answer, 0: refused
	} rows[] = {
		{V4, V4, 1},      {V4, V6, 0},      {V4, V4 | V6, 1},
		{V6, V4, 0},      {V6, V6, 2},      {V6, V4 | V6, 2},
		{V4 | V6, V4, 1}, {V4 | V6, V6, 2}, {V4 | V6, V4 | V6, 3},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct in6_addr v6;
		struct found fteid;
		unsigned flags;

		open_families(rows[i].there);
		inet_pton(AF_INET6, N3_V6, &v6);
		establish_with(4 | rows[i].asked, 0, NULL);
		flags = created_flags(&fteid);
		CU_ASSERT_EQUAL(flags, rows[i].flags);
		CU_ASSERT_EQUAL(answer_cause(), flags ? 1 : 73);
		if (!flags)
			CU_ASSERT(answer_number(40) == 21 && failed_id() == 2);
		CU_ASSERT(!flags || number_at(fteid.at + 1, 4) != 0);
		CU_ASSERT(!flags || fteid.len == 5u + (flags & V4 ? 4 : 0) + (flags & V6 ? 16 : 0));
		if (flags & V4)
			CU_ASSERT_EQUAL(number_at(fteid.at + 5, 4), 0x7f000007);
		if (flags & V6)
			CU_ASSERT(memcmp(fteid.at + fteid.len - 16, &v6, sizeof(v6)) == 0);
		kit_close();
	}
}

static bool teid_found(uint32_t teid, const char *local)
{
	struct addr addr = addr_of(local);
	struct locator_teid_key key = locator_teid_key(
		teid, addr.family, addr.family == ADDR_V4 ? (const uint8_t *)&addr.v4 : addr.v6);
	void *data;

	return rte_hash_lookup_data(kit.locator->teids, &key, &data) >= 0;
}

// F-TEIDs that the SMF chose are found at all of their addresses, which must be ours, and at no other.
static void test_given(void)
{
	static const char both[] = "00150019 03 00000777 7f000007 20010db8000300000000000000000007";
	static const char v6[] = "00150015 02 00000777 20010db8000300000000000000000007";
	static const char half[] = "00150019 03 00000777 7f000007 20010db8000300000000000000000008";
	static const struct {
		unsigned there;
		const char *fteid;
		bool v4, v6; // found at; neither: refused
	} rows[] = {
		{V4 | V6, both, true, true},   {V4 | V6, v6, false, true}, {V6, v6, false, true},
		{V4 | V6, half, false, false}, {V4, both, false, false},   {V4, v6, false, false},
		{V6, both, false, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool taken = rows[i].v4 || rows[i].v6;

		open_families(rows[i].there);
		establish_with(0, 0, rows[i].fteid);
		CU_ASSERT_EQUAL(answer_cause(), taken ? 1 : 73);
		CU_ASSERT_EQUAL(teid_found(0x777, N3_V4), rows[i].v4);
		CU_ASSERT_EQUAL(teid_found(0x777, N3_V6), rows[i].v6);
		if (taken) {
			delete_session(up_seid());
			CU_ASSERT_EQUAL(answer_cause(), 1);
		}
		CU_ASSERT_EQUAL(kit.locator->n_teids, 0);
		kit_close();
	}
}

// A FAR that gives its far end in both families leads to the one that there is a route to, IPv4 first.
static void test_outer_header(void)
{
	static const char v4[] = "0054000a 0100 00000009 7f000032";
	static const char v6[] = "00540016 0200 00000009 20010db8000300000000000000000050";
	static const char both[] =
		"0054001a 0300 00000009 7f000032 20010db8000300000000000000000050";
	static const struct {
		const char *header, *unreachable;
		const char *peer; // NULL: refused
	} rows[] = {
		{v4, NULL, "127.0.0.50"},     {v6, NULL, "2001:db8:3::50"},
		{both, NULL, "127.0.0.50"},   {both, "127.0.0.50", "2001:db8:3::50"},
		{v6, "2001:db8:3::50", NULL}, {v4, "127.0.0.50", NULL},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct session_line *down;
		const struct n4_session *s;
		struct addr peer;
		uint64_t seid;

		open_families(V4 | V6);
		seid = establish_plain(1, "10.45.0.2");
		if (rows[i].unreachable)
			kit.neigh.unreachable = addr_of(rows[i].unreachable);
		msg_begin(52, seid);
		FAR(.id = 1, .update = true, .action = FORW, .to = true, .destination = ACCESS,
		    .to_hex = rows[i].header);
		msg_send();
		CU_ASSERT_EQUAL(answer_cause(), rows[i].peer ? 1 : 73);
		s = session_of(seid);
		down = &kit.workers[s->slot.owner]->table.down[s->slot.index];
		if (rows[i].peer) {
			peer = addr_of(rows[i].peer);
			CU_ASSERT_EQUAL(down->down.teid, rte_cpu_to_be_32(9));
			CU_ASSERT(addr_eq(&kit.neigh.peers[down->down.peer].addr, &peer));
		} else {
			CU_ASSERT(answer_number(40) == 84 && failed_id() == 1);
		}
		delete_session(seid);
		CU_ASSERT_EQUAL(kit.neigh.used, 0);
		kit_close();
	}
}

static CU_TestInfo tests[] = {
	{"32: CHOOSE of each family", test_choose},
	{"given F-TEIDs of each family", test_given},
	{"Outer Header Creation of each family", test_outer_header},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_family")
