// The life of PFCP sessions: what the owner's tables, the locators and the book hold after each request,
// which F-TEIDs and SEIDs are given, and how sessions end.

#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

static struct session_ref ue_ref(const char *text)
{
	struct addr addr;

	CU_ASSERT_FATAL(addr_parse(text, &addr) == 0);
	return locator_ue_get(kit.locator, KIT_N6, &addr);
}

static bool leads_to(struct session_ref ref, const struct n4_session *s)
{
	return session_ref_owner(ref) == s->slot.owner && session_ref_index(ref) == s->slot.index &&
	       ref.check == s->slot.version;
}

static void update_far_to(uint64_t seid, uint32_t teid, const char *gnb)
{
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = FORW, .to = true, .destination = ACCESS,
	    .teid = teid, .peer = gnb);
	msg_send();
}

// From establishment to deletion, with all that packets need in between.
static void test_life(void)
{
	struct kit_counts before, after;
	const struct n4_session *s;
	uint64_t seid;
	uint16_t peer;

	kit_open(&conf);
	before = kit_counts();
	seid = establish_plain(0x5d6, "10.45.0.2");
	CU_ASSERT(seid != 0);
	CU_ASSERT_EQUAL(answer_seid(), 0x5d6);
	CU_ASSERT_EQUAL(answer_ie(60).len, 5);
	CU_ASSERT_EQUAL(created_count(), 1);
	s = session_of(seid);
	CU_ASSERT(up_line(s)->check != 0 && up_line(s)->check == created_teid(2));
	CU_ASSERT_EQUAL(up_line(s)->up.ue_v4, inet_addr("10.45.0.2"));
	CU_ASSERT_EQUAL(down_line(s)->check, s->slot.version);
	CU_ASSERT_EQUAL(down_line(s)->down.teid, rte_cpu_to_be_32(0xa000001));
	CU_ASSERT_EQUAL(down_line(s)->rules, up_line(s)->rules);
	CU_ASSERT(leads_to(ue_ref("10.45.0.2"), s));
	peer = down_line(s)->down.peer;
	CU_ASSERT_EQUAL(kit.neigh.peers[peer].addr.v4, inet_addr("127.0.0.50"));

	update_far_to(seid, 0xa000002, "127.0.0.51");
	CU_ASSERT(answer_type() == 53 && answer_cause() == 1);
	CU_ASSERT_EQUAL(answer_seid(), 0x5d6);
	CU_ASSERT_EQUAL(down_line(s)->down.teid, rte_cpu_to_be_32(0xa000002));
	CU_ASSERT_EQUAL(kit.neigh.peers[down_line(s)->down.peer].addr.v4, inet_addr("127.0.0.51"));
	CU_ASSERT_EQUAL(kit.neigh.peers[peer].refs, 0);
	CU_ASSERT_EQUAL(kit.neigh.used, 1);

	delete_session(seid);
	CU_ASSERT(answer_type() == 55 && answer_cause() == 1);
	CU_ASSERT_EQUAL(answer_seid(), 0x5d6);
	CU_ASSERT_EQUAL(ue_ref("10.45.0.2").check, 0);
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	delete_session(seid);
	CU_ASSERT_EQUAL(answer_cause(), 65);
	CU_ASSERT_EQUAL(answer_seid(), 0);
	kit_close();
}

// 37: SEIDs that no session has.
static void test_unknown_seid(void)
{
	kit_open(&conf);
	msg_begin(52, UINT64_MAX);
	msg_send();
	CU_ASSERT(answer_type() == 53 && answer_cause() == 65 && answer_seid() == 0);
	msg_begin(54, 0);
	msg_send();
	CU_ASSERT(answer_type() == 55 && answer_cause() == 65 && answer_seid() == 0);
	kit_close();
}

// A request of a peer without association gets 72, and its SEID where it says one.
static void test_no_association(void)
{
	kit_open(&conf);
	msg_begin(50, 0);
	ie_hex(60, "00c0000209");
	ie_f_seid(0x77);
	put_plain("10.45.0.2");
	msg_send();
	CU_ASSERT(answer_type() == 51 && answer_cause() == 72 && answer_seid() == 0x77);
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 0);
	kit_close();
}

// A session is its association's: a request in the name of another is told of none.
static void test_other_association(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_plain(1, "10.45.0.2");
	setup_begin("007f000005");
	msg_send();
	msg_begin(52, seid);
	ie_hex(60, "007f000005");
	remove_pdr(1);
	msg_send();
	CU_ASSERT(answer_type() == 53 && answer_cause() == 65 && answer_seid() == 0);
	CU_ASSERT_PTR_NOT_NULL(rules_pdr_lookup(rules_of(session_of(seid)), 1));
	msg_begin(52, seid);
	ie_hex(60, "007f000004");
	remove_pdr(1);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	kit_close();
}

// 42: ids, CHOOSE IDs and rules of two sessions are their own; like rules share one block.
static void test_two_sessions(void)
{
	const struct n4_session *a, *b;
	uint32_t teid_a, teid_b;
	uint64_t seid_b;

	kit_open(&conf);
	a = session_of(establish_plain(1, "10.45.0.2"));
	teid_a = created_teid(2);
	seid_b = establish_plain(2, "10.45.0.3");
	b = session_of(seid_b);
	teid_b = created_teid(2);
	CU_ASSERT(teid_a != teid_b && a->seid != b->seid);
	CU_ASSERT(a->slot.owner != b->slot.owner); // the least loaded
	CU_ASSERT_EQUAL(a->holding.rules, b->holding.rules);
	update_far_to(seid_b, 9, "127.0.0.52");
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_EQUAL(down_line(a)->down.teid, rte_cpu_to_be_32(0xa000001));
	delete_session(seid_b);
	CU_ASSERT_EQUAL(up_line(a)->check, teid_a);
	kit_close();
}

// Two sessions with one UE address: the second is refused with the PDR that brings it, until the first has
// gone; also when a modification asks for it.
static void test_one_ue_address(void)
{
	struct kit_counts before, after;
	uint64_t a, b;

	kit_open(&conf);
	a = establish_plain(1, "10.45.0.2");
	b = establish_plain(2, "10.45.0.3");
	before = kit_counts();
	CU_ASSERT_EQUAL(establish_plain(3, "10.45.0.2"), 0);
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 93);
	CU_ASSERT(failed_kind() == 0 && failed_id() == 1);
	msg_begin(52, b);
	PDR(.id = 1, .update = true, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	msg_send();
	CU_ASSERT(answer_cause() == 73 && failed_id() == 1);
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	CU_ASSERT(leads_to(ue_ref("10.45.0.2"), session_of(a)));
	CU_ASSERT(leads_to(ue_ref("10.45.0.3"), session_of(b)));
	delete_session(a);
	msg_begin(52, b);
	PDR(.id = 1, .update = true, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT(leads_to(ue_ref("10.45.0.2"), session_of(b)));
	CU_ASSERT_EQUAL(ue_ref("10.45.0.3").check, 0);
	kit_close();
}

// Of two that ask for one address at the same time the later is refused.
static void test_ue_address_race(void)
{
	kit_open(&conf);
	kit.hold = true;
	establish_begin(1);
	put_plain("10.45.0.2");
	msg_send();
	CU_ASSERT_EQUAL(kit.n_sent, 0);
	establish_begin(2);
	put_plain("10.45.0.2");
	msg_send();
	CU_ASSERT(kit.n_sent == 1 && answer_cause() == 73 && answer_seid() == 2);
	kit_run();
	CU_ASSERT(kit.n_sent == 2 && answer_cause() == 1 && answer_seid() == 1);
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 1);
	kit_close();
}

// Addresses outside of the pools, and IPv6 by its /64, are found and announced.
static void test_ue_outside_pools(void)
{
	uint64_t seid;

	kit_open(&conf);
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ue_v4 = "172.16.5.5", .ue_v6 = "2001:db8:cafe:1::2",
	    .far = 1);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2);
	FAR(.id = 1, .action = BUFF | NOCP);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	msg_send();
	seid = up_seid();
	CU_ASSERT(leads_to(ue_ref("172.16.5.5"), session_of(seid)));
	CU_ASSERT(leads_to(ue_ref("2001:db8:cafe:1:7::9"), session_of(seid)));
	CU_ASSERT_EQUAL(kit.prefixes, 2);
	CU_ASSERT_EQUAL(down_line(session_of(seid))->down.peer, 0);
	delete_session(seid);
	CU_ASSERT_EQUAL(kit.prefixes, 0);
	kit_close();
}

// 43: more sessions than configured; more PDRs in a session than the limit.
static void test_limits(void)
{
	struct kit_conf small = KIT_CONF;
	struct kit_counts before, after;
	uint64_t seid;

	small.max_sessions = 2;
	small.max_pdrs = 3;
	kit_open(&small);
	seid = establish_plain(1, "10.45.0.2");
	before = kit_counts();
	msg_begin(52, seid);
	PDR(.id = 3, .source = CORE, .precedence = 1, .far = 1);
	PDR(.id = 4, .source = CORE, .precedence = 2, .far = 1);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 75);
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	CU_ASSERT(establish_plain(2, "10.45.0.3") != 0);
	CU_ASSERT_EQUAL(establish_plain(3, "10.45.0.4"), 0);
	CU_ASSERT(answer_cause() == 75 && answer_seid() == 3);
	delete_session(seid);
	CU_ASSERT(establish_plain(4, "10.45.0.4") != 0);
	kit_close();
}

// 32: one CHOOSE ID is one TEID for the session's life, none is a TEID each.
static void test_choose(void)
{
	uint32_t shared, own;
	uint64_t seid;

	kit_open(&conf);
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V46 | CHID, .choose_id = 5, .removal = true,
	    .far = 2);
	PDR(.id = 3, .source = CP, .fteid = CH_V46, .removal = true, .far = 1);
	PDR(.id = 4, .source = ACCESS, .fteid = CH_V4 | CHID, .choose_id = 5, .removal = true,
	    .far = 2);
	PDR(.id = 5, .source = ACCESS, .fteid = CH_V4 | CHID, .choose_id = 5, .removal = true,
	    .far = 2);
	FAR(.id = 1, .action = BUFF | NOCP);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	msg_send();
	seid = up_seid();
	shared = created_teid(2);
	own = created_teid(3);
	CU_ASSERT(created_count() == 4 && shared != 0 && own != 0 && shared != own);
	CU_ASSERT(created_teid(4) == shared && created_teid(5) == shared);

	msg_begin(52, seid); // the id's last PDR goes
	remove_pdr(2);
	remove_pdr(4);
	remove_pdr(5);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	msg_begin(52, seid); // and comes back, with one of another id
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4 | CHID, .choose_id = 5, .removal = true,
	    .far = 2);
	PDR(.id = 6, .source = ACCESS, .fteid = CH_V4 | CHID, .choose_id = 10, .removal = true,
	    .far = 2);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT(created_count() == 2 && created_teid(2) == shared);
	CU_ASSERT(created_teid(6) != 0 && created_teid(6) != shared && created_teid(6) != own);

	msg_begin(52, seid); // asked for again: answered again
	PDR(.id = 2, .update = true, .no_precedence = true, .source = ACCESS, .fteid = CH_V4 | CHID,
	    .choose_id = 5, .far = 2);
	PDR(.id = 3, .update = true, .no_precedence = true, .source = CP, .fteid = CH_V46,
	    .far = 1);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT(created_count() == 0 && picked_teid(256, 2) == shared &&
		  picked_teid(256, 3) == own);
	kit_close();
}

// F-TEIDs of PDRs from the core are on N9, as are those that say so by interface type.
static void test_choose_n9(void)
{
	struct kit_conf n9 = KIT_CONF;
	const struct n4_session *s;

	n9.n9 = true;
	kit_open(&n9);
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .fteid = CH_V4, .removal = true,
	    .far = 1);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 1);
	PDR(.id = 3, .source = ACCESS, .fteid = CH_V4, .pdi_hex = "00a000010f", .removal = true,
	    .far = 1);
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 1,
	    .peer = "127.0.0.50");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	s = session_of(up_seid());
	for (unsigned id = 1; id <= 3; id++)
		CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(s), (uint16_t)id)->pdi.fteid.v4.s_addr,
				inet_addr(id == 2 ? "127.0.0.7" : "198.51.100.9"));
	kit_close();
}

static struct session_ref teid_ref(uint32_t teid)
{
	rte_be32_t local = inet_addr("127.0.0.7");
	struct locator_teid_key key = locator_teid_key(teid, ADDR_V4, (const uint8_t *)&local);
	struct session_ref ref = {0, 0};
	void *data;

	if (rte_hash_lookup_data(kit.locator->teids, &key, &data) >= 0)
		memcpy(&ref, &data, sizeof(ref));
	return ref;
}

// A session that an SMF restores after our restart: the SEID in the header and the F-TEIDs are of our
// earlier life. Given F-TEIDs lead to the session by records; PDRs of one F-TEID share one.
static void test_restored(void)
{
	const struct n4_session *s;
	const struct tunnel *record;
	struct session_ref ref;

	kit_open(&conf);
	msg_begin(50, 0x1122334455667788);
	ie_hex(60, "007f000004");
	ie_f_seid(0x5d6);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	PDR(.id = 2, .source = ACCESS, .fteid = GIVEN_V4, .teid = 0x45a2, .removal = true,
	    .far = 2);
	PDR(.id = 3, .source = CP, .fteid = GIVEN_V4, .teid = 0x59eb, .removal = true, .far = 1);
	PDR(.id = 4, .source = ACCESS, .fteid = GIVEN_V4, .teid = 0x45a2, .precedence = 9,
	    .removal = true, .far = 2);
	FAR(.id = 1, .action = BUFF | NOCP);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	ie_number(186, 1, 1); // RESTI
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	CU_ASSERT_EQUAL(up_seid(), 0x1122334455667788);
	CU_ASSERT_EQUAL(created_count(), 0);
	s = session_of(up_seid());
	CU_ASSERT_EQUAL(rules_of(s)->n_tunnels, 2);
	ref = teid_ref(0x45a2);
	CU_ASSERT(ref.check == 0x45a2 && session_ref_owner(ref) == s->slot.owner);
	CU_ASSERT_FATAL(session_ref_index(ref) >= conf.slots);
	record = &kit.workers[s->slot.owner]->table.tunnels[session_ref_index(ref) - conf.slots];
	CU_ASSERT(record->check == 0x45a2 && record->up && record->slot == s->slot.index &&
		  record->version == s->slot.version);
	ref = teid_ref(0x59eb);
	record = &kit.workers[s->slot.owner]->table.tunnels[session_ref_index(ref) - conf.slots];
	CU_ASSERT(record->check == 0x59eb && !record->up);

	establish_begin(2); // another session may not have it
	PDR(.id = 7, .source = ACCESS, .fteid = GIVEN_V4, .teid = 0x45a2, .removal = true,
	    .far = 2);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	msg_send();
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 21 && failed_id() == 7);

	msg_begin(52, 0x1122334455667788); // it goes with its last PDR
	remove_pdr(2);
	remove_pdr(4);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_EQUAL(teid_ref(0x45a2).check, 0);
	establish_begin(2);
	PDR(.id = 7, .source = ACCESS, .fteid = GIVEN_V4, .teid = 0x45a2, .removal = true,
	    .far = 2);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	kit_close();
}

// An F-TEID that we picked, given back to us by the SMF in an update or for a further PDR, is the same one.
static void test_given_back(void)
{
	const struct n4_session *s;
	uint64_t seid;
	uint32_t teid;

	kit_open(&conf);
	seid = establish_plain(1, "10.45.0.2");
	teid = created_teid(2);
	msg_begin(52, seid);
	PDR(.id = 2, .update = true, .source = ACCESS, .fteid = GIVEN_V4, .teid = teid, .far = 2);
	PDR(.id = 3, .source = ACCESS, .fteid = GIVEN_V4, .teid = teid, .precedence = 9,
	    .removal = true, .far = 2);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	s = session_of(seid);
	CU_ASSERT_EQUAL(rules_of(s)->n_tunnels, 1);
	CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(s), 3)->tunnel,
			rules_pdr_lookup(rules_of(s), 2)->tunnel);
	CU_ASSERT_EQUAL(kit.locator->n_teids, 0);
	CU_ASSERT_EQUAL(up_line(s)->check, teid);
	kit_close();
}

// The SMF changes its F-SEID: answers go to the new one from then on.
static void test_cp_f_seid(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_plain(1, "10.45.0.2");
	msg_begin(52, seid);
	ie_f_seid(0x99);
	msg_send();
	CU_ASSERT(answer_cause() == 1 && answer_seid() == 0x99);
	msg_begin(52, seid);
	ie_f_seid(0xaa);
	remove_pdr(77);
	msg_send();
	CU_ASSERT(answer_cause() == 73 && answer_seid() == 0x99);
	delete_session(seid);
	CU_ASSERT_EQUAL(answer_seid(), 0x99);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"life", test_life},
	{"37: unknown SEIDs", test_unknown_seid},
	{"no association", test_no_association},
	{"another association", test_other_association},
	{"42: two sessions", test_two_sessions},
	{"one UE address", test_one_ue_address},
	{"one UE address at the same time", test_ue_address_race},
	{"UE addresses outside of pools", test_ue_outside_pools},
	{"43: limits", test_limits},
	{"32: CHOOSE ID", test_choose},
	{"CHOOSE on N9", test_choose_n9},
	{"RESTI and given F-TEIDs", test_restored},
	{"F-TEIDs given back", test_given_back},
	{"CP F-SEID changed", test_cp_f_seid},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_session")
