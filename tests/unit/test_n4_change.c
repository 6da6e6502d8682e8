// Changes of PFCP sessions: what is absent stays, and what fails changes nothing, neither in the session nor
// in what is in use, at whichever step it fails.

#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

// --- a session as bytes ----------------------------------------------------------------------------------

struct image {
	size_t len;
	uint8_t bytes[65536];
};

static void image_add(struct image *image, const void *bytes, size_t len)
{
	CU_ASSERT_FATAL(image->len + len <= sizeof(image->bytes));
	if (len)
		memcpy(image->bytes + image->len, bytes, len);
	image->len += len;
}

// All that a session is: its struct and its rules, and what its owner has.
static void image_take(struct image *image, uint64_t seid)
{
	const struct n4_session *s = session_of(seid);
	const struct session_table *table = &kit.workers[s->slot.owner]->table;
	struct n4_session plain = *s;
	struct packer rules = {0};

	image->len = 0;
	plain.packed = NULL; // the block may be another with the same contents
	plain.pattern = NULL;
	plain.packed_bytes = 0;
	image_add(image, &plain, sizeof(plain));
	rules_pack(&rules, rules_of(s), NULL);
	image_add(image, rules.bytes, rules.n);
	packer_fini(&rules);
	image_add(image, &table->up[s->slot.index], sizeof(struct session_line));
	image_add(image, &table->down[s->slot.index], sizeof(struct session_line));
	image_add(image, &table->cold[s->slot.index], sizeof(struct session_cold));
	image_add(image, table->tunnels, table->n_tunnels * sizeof(struct tunnel));
}

static bool image_eq(const struct image *a, const struct image *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static struct image image_before, image_after;
static struct kit_counts counts_before, counts_after;

static void remember(uint64_t seid)
{
	image_take(&image_before, seid);
	counts_before = kit_counts();
}

static bool is_as_before(uint64_t seid)
{
	image_take(&image_after, seid);
	counts_after = kit_counts();
	return image_eq(&image_before, &image_after) &&
	       kit_counts_eq(&counts_before, &counts_after);
}

// --- refused ---------------------------------------------------------------------------------------------

static void remove_unknown(void)
{
	remove_pdr(99);
}

static void remove_twice(void)
{
	remove_far(1);
	remove_far(1);
}

static void remove_needed(void)
{
	remove_far(1);
}

static void update_pdr_unknown(void)
{
	PDR(.id = 99, .update = true, .far = 1);
}

static void update_pdr_empty_id(void)
{
	ie_hex(9, "00380000");
}

static void update_far_unknown(void)
{
	FAR(.id = 99, .update = true, .action = DROP);
}

static void update_qer_unknown(void)
{
	put_qer(14, 99, QER_OPEN);
}

static void update_urr_unknown(void)
{
	put_urr(13, 99, "003e000102");
}

static void remove_qer_unknown(void)
{
	put_remove(18, 109, 99, 4);
}

static void remove_urr_unknown(void)
{
	put_remove(17, 81, 99, 4);
}

static void remove_bar_unknown(void)
{
	put_remove(87, 88, 99, 1);
}

static void update_twice(void)
{
	FAR(.id = 1, .update = true, .action = DROP);
	FAR(.id = 2, .update = true, .action = DROP);
	FAR(.id = 1, .update = true, .action = FORW);
}

static void remove_and_update(void)
{
	FAR(.id = 1, .update = true, .action = DROP);
	remove_far(1);
}

static void create_known(void)
{
	PDR(.id = 1, .source = CORE, .far = 1);
}

static void update_and_create(void)
{
	PDR(.id = 1, .update = true, .no_pdi = true, .far = 1);
	PDR(.id = 1, .source = CORE, .far = 1);
}

// 40: nine good rules, and one bad at the end.
static void nine_and_one(void)
{
	remove_pdr(5);
	remove_pdr(6);
	put_remove(18, 109, 2, 4);
	FAR(.id = 1, .update = true, .action = FORW, .to = true, .destination = ACCESS, .teid = 9,
	    .peer = "127.0.0.99");
	put_urr(13, 1, "001f0009010000000000000001");
	FAR(.id = 7, .action = FORW, .to = true, .destination = ACCESS, .teid = 8,
	    .peer = "127.0.0.98");
	PDR(.id = 7, .source = ACCESS, .fteid = CH_V4, .removal = true, .precedence = 3, .far = 7);
	PDR(.id = 8, .source = CORE, .ue_v4 = "10.45.0.8", .precedence = 3, .far = 1);
	put_qer(7, 8, QER_OPEN);
	PDR(.id = 9, .source = CORE, .flows = {"deny in"}, .precedence = 4, .far = 1);
}

// The same, where the last rule is refused only when all are looked at together.
static void nine_and_one_late(void)
{
	FAR(.id = 1, .update = true, .action = FORW, .to = true, .destination = ACCESS, .teid = 9,
	    .peer = "127.0.0.99");
	remove_pdr(5);
	FAR(.id = 7, .action = FORW, .to = true, .destination = ACCESS, .teid = 8,
	    .peer = "127.0.0.98");
	PDR(.id = 7, .source = ACCESS, .fteid = CH_V4, .removal = true, .precedence = 3, .far = 7);
	PDR(.id = 8, .source = CORE, .ue_v4 = "10.45.0.8", .precedence = 3, .far = 1, .qers = {77});
}

static const struct refused {
	const char *name;
	void (*rules)(void);
	unsigned cause;
	int kind;
	int64_t id;
} refused[] = {
	{"38 Remove PDR", remove_unknown, 73, 0, 99},
	{"38 Remove QER", remove_qer_unknown, 73, 2, 99},
	{"38 Remove URR", remove_urr_unknown, 73, 3, 99},
	{"38 Remove BAR", remove_bar_unknown, 73, 4, 99},
	{"38 Update PDR", update_pdr_unknown, 73, 0, 99},
	{"38 Update PDR without id", update_pdr_empty_id, 68, -1, -1},
	{"38 Update FAR", update_far_unknown, 73, 1, 99},
	{"38 Update QER", update_qer_unknown, 73, 2, 99},
	{"38 Update URR", update_urr_unknown, 73, 3, 99},
	{"removed twice", remove_twice, 73, 1, 1},
	{"FAR that PDRs name", remove_needed, 73, 0, 1},
	{"updated twice", update_twice, 73, 1, 1},
	{"removed and updated", remove_and_update, 73, 1, 1},
	{"created and known", create_known, 73, 0, 1},
	{"updated and created", update_and_create, 73, 0, 1},
	{"40 nine and one", nine_and_one, 73, 0, 9},
	{"40 nine and one, late", nine_and_one_late, 73, 0, 6},
};

static void test_refused(void)
{
	uint64_t seid;

	kit_open(&conf);
	seid = establish_rich();
	remember(seid);
	for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct refused *r = &refused[i];
		bool right;

		msg_begin(52, seid);
		r->rules();
		msg_send();
		right = answer_type() == 53 && answer_seid() == 1 && answer_cause() == r->cause &&
			failed_kind() == r->kind && failed_id() == r->id;
		if (!right)
			fprintf(stderr, "\n  %s: cause %u, rule %d %d\n", r->name, answer_cause(),
				failed_kind(), (int)failed_id());
		CU_ASSERT(right);
		CU_ASSERT(is_as_before(seid));
	}
	kit_close();
}

// --- accepted --------------------------------------------------------------------------------------------

// 39: Remove, Update, Create, whatever the order in the message; rules that no PDR names are kept.
static void test_order(void)
{
	const struct n4_session *s;
	uint64_t seid;

	kit_open(&conf);
	seid = establish_rich();
	msg_begin(52, seid);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .precedence = 77, .far = 9);
	FAR(.id = 9, .action = DROP);
	FAR(.id = 10, .action = DROP);
	put_qer(7, 10, QER_OPEN);
	put_urr(6, 10, URR_VOLUME);
	FAR(.id = 2, .update = true, .action = DROP);
	remove_pdr(1);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	s = session_of(seid);
	CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(s), 1)->precedence, 77);
	CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(s), 1)->n_qers, 0);
	CU_ASSERT_EQUAL(rules_far_lookup(rules_of(s), 2)->action, DROP);
	CU_ASSERT(rules_far_lookup(rules_of(s), 10) != NULL &&
		  rules_qer_lookup(rules_of(s), 10) != NULL &&
		  rules_urr_lookup(rules_of(s), 10) != NULL);
	CU_ASSERT_EQUAL(up_line(s)->packets, 77); // counters survive
	CU_ASSERT_EQUAL(up_line(s)->bytes, 7777);
	kit_close();
}

// 41, and the policy updates of SMF.md: what is absent stays.
static void test_absent_stays(void)
{
	struct pdr_rule before;
	const struct pdr_rule *pdr;
	const struct far_rule *far;
	const struct qer_rule *qer;
	const struct urr_rule *urr;
	struct rules *rules;
	uint64_t seid;

	kit_open(&conf);
	seid = establish_rich();
	before = *rules_pdr_lookup(rules_of(session_of(seid)), 6);
	msg_begin(52, seid);
	PDR(.id = 1, .update = true, .no_pdi = true, .precedence = 50, .far = 1);
	PDR(.id = 6, .update = true, .no_precedence = true, .no_far = true, .source = ACCESS,
	    .flows = {NULL, "permit out 6 from 10.9.8.0/24 443 to assigned"}, .bids = {1, 0},
	    .pdi_hex = "00a000010b");
	FAR(.id = 1, .update = true, .action = BUFF | NOCP);
	put_qer(14, 2, "001a000a 00000007d0 0000001770");
	put_urr(13, 1, "001f0009010000000000000001");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	rules = rules_of(session_of(seid));
	pdr = rules_pdr_lookup(rules, 1);
	CU_ASSERT(pdr->precedence == 50 && pdr->pdi.has_ue_ip && pdr->pdi.ni == 0 &&
		  pdr->n_qers == 1 && pdr->n_urrs == 1);
	pdr = rules_pdr_lookup(rules, 6);
	CU_ASSERT_EQUAL(pdr->pdi.n_filters, 2);
	CU_ASSERT(pdr->pdi.has_fteid && pdr->pdi.fteid.teid == before.pdi.fteid.teid &&
		  pdr->tunnel == before.tunnel);
	CU_ASSERT(pdr->pdi.qfis == 1u << 2 && pdr->pdi.ni == 0 && pdr->precedence == 100);
	CU_ASSERT(pdr->outer_header_removal == 6 && pdr->far == 2 && pdr->qers[0] == 2);
	far = rules_far_lookup(rules, 1);
	CU_ASSERT(far->action == (BUFF | NOCP) && far->has_parameters && far->teid == 7 &&
		  far->has_bar);
	qer = rules_qer_lookup(rules, 2);
	CU_ASSERT(qer->mbr_down_bps == 6000000 && qer->gbr_up_bps == 1000000 && qer->qfi == 2);
	urr = rules_urr_lookup(rules, 1);
	CU_ASSERT(urr->threshold.total == 1 && urr->method == 2 && urr->triggers == 2);
	CU_ASSERT_EQUAL(created_count(), 0);
	kit_close();
}

// An empty IE of an update takes the value away (TS 29.244 5.6.3); lists given replace the old ones.
static void test_taken_away(void)
{
	const struct pdr_rule *pdr;
	struct rules *rules;
	uint64_t seid;

	kit_open(&conf);
	seid = establish_rich();
	msg_begin(52, seid);
	PDR(.id = 1, .update = true, .no_pdi = true, .no_precedence = true, .no_far = true,
	    .qers = {2, 1}, .hex = "00510000");
	PDR(.id = 5, .update = true, .no_precedence = true, .no_far = true, .source = CORE,
	    .pdi_hex = "00170000 00160000", .hex = "006d0000");
	PDR(.id = 6, .update = true, .no_precedence = true, .no_far = true, .source = ACCESS,
	    .flows = {"permit out 6 from any to assigned"}, .pdi_hex = "007c0000");
	FAR(.id = 1, .update = true, .hex = "00580000");
	put_qer(14, 2, "001b0000 007c0000");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	rules = rules_of(session_of(seid));
	pdr = rules_pdr_lookup(rules, 1);
	CU_ASSERT(pdr->n_qers == 2 && pdr->qers[0] == 2 && pdr->n_urrs == 0 && pdr->has_far);
	pdr = rules_pdr_lookup(rules, 5);
	CU_ASSERT(pdr->pdi.n_filters == 0 && pdr->pdi.ni == RULES_NI_NONE && pdr->n_qers == 0);
	pdr = rules_pdr_lookup(rules, 6);
	CU_ASSERT(pdr->pdi.n_filters == 1 && pdr->pdi.qfis == 0);
	CU_ASSERT_FALSE(rules_far_lookup(rules, 1)->has_bar);
	CU_ASSERT(rules_qer_lookup(rules, 2)->has_mbr && !rules_qer_lookup(rules, 2)->has_gbr &&
		  !rules_qer_lookup(rules, 2)->has_qfi);
	kit_close();
}

// 22: the first tunnel towards the gNB comes in a modification.
static void test_gnb_known_later(void)
{
	const struct n4_session *s;
	uint64_t seid;

	kit_open(&conf);
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	FAR(.id = 1, .action = BUFF | NOCP);
	msg_send();
	seid = up_seid();
	s = session_of(seid);
	CU_ASSERT(down_line(s)->down.peer == 0 && kit.neigh.used == 0);
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = FORW, .to = true, .destination = ACCESS, .teid = 3,
	    .peer = "127.0.0.50", .to_hex = "0031000102"); // SNDEM
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT(down_line(s)->down.peer != 0 && down_line(s)->down.teid == rte_cpu_to_be_32(3));
	kit_close();
}

// The mail that waits for the owner of this session, left where it is.
static struct mail *mail_waiting(uint64_t seid)
{
	struct rte_ring *ring = kit.workers[session_of(seid)->slot.owner]->mailbox.to_worker;
	void *mail = NULL;

	CU_ASSERT_FATAL(rte_ring_count(ring) == 1 && rte_ring_sc_dequeue(ring, &mail) == 0);
	CU_ASSERT_FATAL(rte_ring_sp_enqueue(ring, mail) == 0);
	return mail;
}

// 56: SNDEM has one End Marker sent into each tunnel that is left, and none into one that stays.
static void test_end_markers(void)
{
	uint64_t seid;
	struct mail *mail;
	uint16_t old;

	kit_open(&conf);
	seid = establish_rich();
	old = down_line(session_of(seid))->down.peer;
	msg_begin(52, seid);
	FAR(.id = 3, .action = FORW, .to = true, .destination = ACCESS, .teid = 7,
	    .peer = "127.0.0.50");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	kit.hold = true;
	for (unsigned round = 0; round < 2; round++) {
		msg_begin(52, seid);
		FAR(.id = 1, .update = true, .to = true, .destination = ACCESS, .teid = 8,
		    .peer = "127.0.0.51", .to_hex = "0031000102");
		FAR(.id = 3, .update = true, .to = true, .destination = ACCESS, .teid = 8,
		    .peer = "127.0.0.51", .to_hex = "0031000102");
		FAR(.id = 2, .update = true, .to = true, .destination = CORE,
		    .to_hex = "0031000102");
		msg_send();
		mail = mail_waiting(seid);
		CU_ASSERT_EQUAL(mail->session.n_end_markers, round == 0 ? 1 : 0);
		if (round == 0)
			CU_ASSERT(mail->session.end_markers[0].peer == old &&
				  mail->session.end_markers[0].teid == rte_cpu_to_be_32(7));
		CU_ASSERT_EQUAL(kit.neigh.used, round == 0 ? 2 : 1); // the old one until it is sent
		kit_run();
		CU_ASSERT_EQUAL(answer_cause(), 1);
		CU_ASSERT_EQUAL(kit.neigh.used, 1);
	}
	kit_close();
}

// More records close and open at once than one mail holds half of.
static void test_many_tunnels(void)
{
	uint64_t seid;

	kit_open(&conf);
	establish_begin(1);
	for (unsigned i = 1; i <= 16; i++)
		PDR(.id = i, .source = ACCESS, .fteid = CH_V4, .precedence = i, .removal = true,
		    .far = 2);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	CU_ASSERT_EQUAL(created_count(), 16);
	CU_ASSERT_EQUAL(rules_of(session_of(seid))->n_tunnels, 16);
	remember(seid);
	msg_begin(52, seid);
	PDR(.id = 17, .source = ACCESS, .fteid = CH_V4, .precedence = 17, .removal = true,
	    .far = 2);
	msg_send();
	CU_ASSERT(answer_cause() == 75 && failed_id() == 17);
	CU_ASSERT(is_as_before(seid));
	msg_begin(52, seid);
	for (unsigned i = 1; i <= 16; i++) {
		remove_pdr(i);
		PDR(.id = i, .source = ACCESS, .fteid = CH_V4, .precedence = i, .removal = true,
		    .far = 2);
	}
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_EQUAL(created_count(), 16);
	for (unsigned i = 0, open = 0; i < conf.tunnels; i++) {
		open += kit.workers[session_of(seid)->slot.owner]->table.tunnels[i].check != 0;
		CU_ASSERT(i + 1 < conf.tunnels || open == 15);
	}
	kit_close();
}

// --- room ------------------------------------------------------------------------------------------------

// What an establishment and a modification lack, step by step.
static const struct room {
	const char *name;
	struct kit_conf conf;
	bool no_route;
	unsigned cause;
	int kind;
	int64_t id, mod_id; // of the rule that fails in an establishment, in a modification
} rooms[] = {
	{"slots", {1, 32, 1000, 64, 1u << 20, 16, "127.0.0.7", false}, false, 75, -1, -1, -1},
	{"sessions", {16, 32, 2, 64, 1u << 20, 16, "127.0.0.7", false}, false, 75, -1, -1, -1},
	{"tunnels", {16, 1, 1000, 64, 1u << 20, 16, "127.0.0.7", false}, false, 75, 0, 5, 4},
	{"arena", {16, 32, 1000, 64, 512, 16, "127.0.0.7", false}, false, 75, -1, -1, -1},
	{"peers", {16, 32, 1000, 64, 1u << 20, 1, "127.0.0.7", false}, false, 75, 1, 3, 3},
	{"route", {16, 32, 1000, 64, 1u << 20, 16, "127.0.0.7", false}, true, 73, 1, 3, 3},
};

// Needs a slot, three tunnel records, rules unlike the others, and a further peer.
static void put_large(void)
{
	for (unsigned i = 3; i < 6; i++)
		PDR(.id = i, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2,
		    .precedence = 9, .flows = {"permit out 17 from 10.0.0.0/8 to assigned"});
	PDR(.id = 9, .source = CORE, .ue_v4 = "10.45.0.77", .precedence = 8, .far = 3);
	FAR(.id = 3, .action = FORW, .to = true, .destination = ACCESS, .teid = 1,
	    .peer = "127.0.0.66");
}

static void check_room(const struct room *room, const char *what, bool right)
{
	if (!right)
		fprintf(stderr, "\n  %s, %s: cause %u, rule %d %d\n", room->name, what,
			answer_cause(), failed_kind(), (int)failed_id());
	CU_ASSERT(right);
}

static bool is_refused(const struct room *room, int64_t id)
{
	return answer_cause() == room->cause && failed_kind() == room->kind && failed_id() == id;
}

static void test_room(void)
{
	for (unsigned i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		const struct room *room = &rooms[i];
		bool per_session = i >= 2; // so that modifications lack it too
		uint64_t seid;

		kit_open(&room->conf);
		if (room->no_route)
			kit.neigh.unreachable = addr_v4(inet_addr("127.0.0.66"));
		seid = establish_plain(1, "10.45.0.2");
		CU_ASSERT_FATAL(seid != 0 && establish_plain(2, "10.45.0.3") != 0);
		remember(seid);
		establish_begin(3);
		put_large();
		FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
		msg_send();
		check_room(room, "establishment", is_refused(room, room->id) && is_as_before(seid));
		msg_begin(52, seid);
		put_large();
		msg_send();
		check_room(room, "modification",
			   per_session ? is_refused(room, room->mod_id) && is_as_before(seid)
				       : answer_cause() == 1);
		delete_session(seid);
		check_room(room, "deletion", answer_cause() == 1);
		check_room(room, "afterwards", establish_plain(4, "10.45.0.4") != 0);
		kit_close();
	}
}

// The SMF itself cannot be reached from N3: its sessions are made all the same.
static void test_no_route_to_smf(void)
{
	kit_open(&conf);
	kit.neigh.unreachable = addr_v4(inet_addr("127.0.0.4"));
	establish_begin(1);
	put_plain("10.45.0.2");
	PDR(.id = 4, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 3, .precedence = 9,
	    .flows = {"permit out 58 from ff02::2/128 to assigned"});
	FAR(.id = 3, .action = FORW, .to = true, .destination = CP, .teid = 1, .peer = "127.0.0.4");
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_EQUAL(kit.neigh.used, 1);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"38, 40: refused, and all is as before", test_refused},
	{"39: order", test_order},
	{"41: what is absent stays", test_absent_stays},
	{"what is empty is taken away", test_taken_away},
	{"22: gNB known later", test_gnb_known_later},
	{"56: End Markers", test_end_markers},
	{"many tunnels at once", test_many_tunnels},
	{"room, step by step", test_room},
	{"no route to the SMF", test_no_route_to_smf},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_change")
