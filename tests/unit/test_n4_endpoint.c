// Traffic endpoints (TS 29.244 5.2.1A.2, 7.5.2.7, 7.5.4.13): PDRs that share one, what the answers say of them,
// how they change and go, and what is refused.

#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

#define CREATE 127
#define CREATED 128
#define UPDATE 129
#define REMOVE 130

#define ENDPOINT_1 "0083000101"
#define ENDPOINT_2 "0083000102"
#define CHOOSE_V4 "0015000105"
#define UE_2 "005d0005020a2d0002" // 10.45.0.2
#define UE_3 "005d0005020a2d0003"
#define INTERNET "0016000908696e7465726e6574"

static void endpoint(unsigned type, const char *id, const char *hex)
{
	size_t mark = ie_begin(type);

	put_hex(id);
	put_hex(hex);
	ie_end(mark);
}

static void fars(void)
{
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 7,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
}

// One endpoint for both directions: up packets by its F-TEID, down packets by its UE address.
static uint64_t establish(void)
{
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .pdi_hex = ENDPOINT_1, .far = 1);
	PDR(.id = 2, .source = ACCESS, .pdi_hex = ENDPOINT_1, .removal = true, .far = 2);
	PDR(.id = 3, .source = ACCESS, .pdi_hex = ENDPOINT_1, .precedence = 10, .removal = true,
	    .flows = {"permit out 17 from 10.9.9.9 to assigned"}, .far = 2);
	fars();
	endpoint(CREATE, ENDPOINT_1, CHOOSE_V4 INTERNET UE_2);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	return up_seid();
}

// The F-TEID of the n-th Created Traffic Endpoint, which must have this id; 0: there is none.
static uint32_t endpoint_teid(unsigned n, unsigned want_id)
{
	struct found group = find_ie(answer_ies(), CREATED, n);
	struct found id = find_ie(group, 131, 0);
	struct found fteid = find_ie(group, 21, 0);

	if (!group.at)
		return 0;
	CU_ASSERT_FATAL(id.at && id.len == 1 && fteid.at && fteid.len == 9 && fteid.at[0] == 1);
	CU_ASSERT_EQUAL(id.at[0], want_id);
	return (uint32_t)number_at(fteid.at + 1, 4);
}

static const struct pdr_rule *pdr_of(uint64_t seid, uint16_t id)
{
	const struct pdr_rule *pdr = rules_pdr_lookup(rules_of(session_of(seid)), id);

	CU_ASSERT_PTR_NOT_NULL_FATAL(pdr);
	return pdr;
}

static void test_shared(void)
{
	const struct n4_session *s;
	struct session_ref ref;
	struct addr ue;
	uint32_t teid;
	uint64_t seid;

	kit_open(&conf);
	seid = establish();
	s = session_of(seid);
	teid = endpoint_teid(0, 1);
	CU_ASSERT(teid != 0 && endpoint_teid(1, 1) == 0 && created_count() == 0);
	CU_ASSERT(up_line(s)->check == teid && rules_of(s)->n_tunnels == 1);
	CU_ASSERT(pdr_of(seid, 2)->tunnel == 1 && pdr_of(seid, 3)->tunnel == 1);
	CU_ASSERT(!pdr_of(seid, 1)->pdi.has_fteid && pdr_of(seid, 1)->pdi.has_ue_ip);
	CU_ASSERT(pdr_of(seid, 1)->pdi.ni == 0 && pdr_of(seid, 2)->pdi.ni == 0);
	addr_parse("10.45.0.2", &ue);
	ref = locator_ue_get(kit.locator, KIT_N6, &ue);
	CU_ASSERT_EQUAL(ref.check, s->slot.version);
	kit_close();
}

// An update changes all PDRs that name the endpoint, and only what it says.
static void test_update(void)
{
	uint32_t teid, other;
	uint64_t seid;

	kit_open(&conf);
	seid = establish();
	teid = endpoint_teid(0, 1);
	msg_begin(52, seid);
	endpoint(UPDATE, ENDPOINT_1, UE_3);
	msg_send();
	CU_ASSERT(answer_cause() == 1 && endpoint_teid(0, 1) == 0);
	for (uint16_t id = 1; id <= 3; id++)
		CU_ASSERT_EQUAL(pdr_of(seid, id)->pdi.ue_ip.v4.s_addr, inet_addr("10.45.0.3"));
	CU_ASSERT_EQUAL(up_line(session_of(seid))->check, teid);
	CU_ASSERT(pdr_of(seid, 2)->pdi.has_fteid);

	msg_begin(52, seid); // another F-TEID, by another CHOOSE ID
	endpoint(UPDATE, ENDPOINT_1, "001500020d07");
	msg_send();
	other = endpoint_teid(0, 1);
	CU_ASSERT(answer_cause() == 1 && other != 0 && other != teid);
	CU_ASSERT_EQUAL(pdr_of(seid, 2)->pdi.fteid.teid, other);
	CU_ASSERT_EQUAL(rules_of(session_of(seid))->n_tunnels, 1);

	msg_begin(52, seid); // no QFIs, then some, then none again
	endpoint(UPDATE, ENDPOINT_1, "007c000109");
	msg_send();
	CU_ASSERT(answer_cause() == 1 && pdr_of(seid, 3)->pdi.qfis == 1u << 9);
	msg_begin(52, seid);
	endpoint(UPDATE, ENDPOINT_1, "007c0000");
	msg_send();
	CU_ASSERT(answer_cause() == 1 && pdr_of(seid, 3)->pdi.qfis == 0);
	kit_close();
}

// A PDR may leave an endpoint for another or for a PDI of its own. Those that stay go with it.
static void test_remove(void)
{
	struct kit_counts before, after;
	uint64_t seid;
	uint32_t teid;

	kit_open(&conf);
	before = kit_counts();
	seid = establish();
	msg_begin(52, seid);
	PDR(.id = 2, .update = true, .source = ACCESS, .no_precedence = true, .far = 2,
	    .pdi_hex = ENDPOINT_2);
	PDR(.id = 1, .update = true, .source = CORE, .no_precedence = true, .far = 1,
	    .ue_v4 = "10.45.0.2", .pdi_hex = "00830000");
	endpoint(CREATE, ENDPOINT_2, CHOOSE_V4);
	put_remove(REMOVE, 131, 1, 1);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	teid = endpoint_teid(0, 2);
	CU_ASSERT(teid != 0 && pdr_of(seid, 2)->pdi.fteid.teid == teid);
	CU_ASSERT(!pdr_of(seid, 1)->pdi.has_endpoint && pdr_of(seid, 1)->pdi.has_ue_ip);
	CU_ASSERT_PTR_NULL(rules_pdr_lookup(rules_of(session_of(seid)), 3));
	CU_ASSERT(rules_of(session_of(seid))->n_endpoints == 1 &&
		  rules_of(session_of(seid))->n_tunnels == 1);

	msg_begin(52, seid); // an endpoint keeps its F-TEID while no PDR names it
	remove_pdr(2);
	msg_send();
	CU_ASSERT(answer_cause() == 1 && rules_of(session_of(seid))->n_tunnels == 1);
	msg_begin(52, seid);
	PDR(.id = 2, .source = ACCESS, .pdi_hex = ENDPOINT_2, .removal = true, .far = 2);
	msg_send();
	CU_ASSERT(answer_cause() == 1 && pdr_of(seid, 2)->pdi.fteid.teid == teid);
	delete_session(seid);
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	kit_close();
}

// An endpoint with a given F-TEID; one of the core side on N9; a FAR that is linked to it.
static void test_kinds(void)
{
	struct kit_conf n9 = conf;
	uint64_t seid;

	n9.n9 = true;
	kit_open(&n9);
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .pdi_hex = ENDPOINT_1, .removal = true, .far = 1);
	PDR(.id = 2, .source = ACCESS, .pdi_hex = ENDPOINT_2, .removal = true, .far = 2);
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 7,
	    .peer = "127.0.0.50", .to_hex = ENDPOINT_2);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE, .teid = 8,
	    .peer = "127.0.0.51", .to_hex = ENDPOINT_1);
	endpoint(CREATE, ENDPOINT_1, CHOOSE_V4);
	endpoint(CREATE, ENDPOINT_2, "0015000901 00000111 7f000007");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	CU_ASSERT(endpoint_teid(0, 1) != 0 && endpoint_teid(1, 2) == 0); // a given one is known
	CU_ASSERT_EQUAL(pdr_of(seid, 1)->pdi.fteid.v4.s_addr, inet_addr("198.51.100.9"));
	CU_ASSERT_EQUAL(pdr_of(seid, 2)->pdi.fteid.teid, 0x111);
	CU_ASSERT(rules_far_lookup(rules_of(session_of(seid)), 2)->has_endpoint);
	CU_ASSERT_EQUAL(rules_far_lookup(rules_of(session_of(seid)), 2)->endpoint, 1);

	establish_begin(2); // F-TEIDs are nobody else's
	PDR(.id = 2, .source = ACCESS, .pdi_hex = ENDPOINT_2, .removal = true, .far = 2);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	endpoint(CREATE, ENDPOINT_2, "0015000901 00000111 7f000007");
	msg_send();
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 21 && failed_id() == 2);
	kit_close();
}

// --- refused ---------------------------------------------------------------------------------------------

struct refused {
	const char *name;
	const char *down_pdi, *up_pdi; // further IEs of PDR 1 and 2
	const char *endpoint;          // NULL: none is created
	unsigned cause, offending;
	int64_t pdr; // -1: no Failed Rule ID
};

static const struct refused refused[] = {
	{"no such endpoint", ENDPOINT_2, ENDPOINT_1, CHOOSE_V4 UE_2, 73, 131, 1},
	{"F-TEID in the PDI too", ENDPOINT_1, ENDPOINT_1 CHOOSE_V4, CHOOSE_V4 UE_2, 69, 21, 2},
	{"UE IP in the PDI too", ENDPOINT_1 UE_2, ENDPOINT_1, CHOOSE_V4 UE_2, 69, 93, 1},
	{"network instance too", ENDPOINT_1 INTERNET, ENDPOINT_1, CHOOSE_V4 UE_2, 69, 22, 1},
	{"QFIs in both", ENDPOINT_1, ENDPOINT_1 "007c000105", CHOOSE_V4 UE_2 "007c000105", 69, 124,
	 2},
	{"two endpoints", ENDPOINT_1, ENDPOINT_1 ENDPOINT_2, CHOOSE_V4 UE_2, 73, 131, 2},
	{"empty id", ENDPOINT_1, "00830000", CHOOSE_V4 UE_2, 68, 131, -1},
	{"no UE address", ENDPOINT_1, ENDPOINT_1, CHOOSE_V4, 67, 93, 1},
	{"no F-TEID", ENDPOINT_1, ENDPOINT_1, UE_2, 67, 21, 2},
	{"F-TEID of IPv6", ENDPOINT_1, ENDPOINT_1, "0015000106" UE_2, 73, 21, -1},
	{"F-TEID of another host", ENDPOINT_1, ENDPOINT_1, "0015000901000000010a000001" UE_2, 73,
	 21, -1},
	{"F-TEID that nobody names", UE_2, CHOOSE_V4, CHOOSE_V4, 73, 21, -1},
	{"unknown network instance", ENDPOINT_1, ENDPOINT_1, CHOOSE_V4 UE_2 "0016000403666f6f", 73,
	 22, -1},
	{"Ethernet", ENDPOINT_1, ENDPOINT_1, CHOOSE_V4 UE_2 "008e000101", 73, 142, -1},
};

static void test_refused(void)
{
	struct kit_counts before, after;

	kit_open(&conf);
	before = kit_counts();
	for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct refused *r = &refused[i];
		bool right;

		establish_begin(i + 1);
		PDR(.id = 1, .source = CORE, .pdi_hex = r->down_pdi, .far = 1);
		PDR(.id = 2, .source = ACCESS, .pdi_hex = r->up_pdi, .removal = true, .far = 2);
		fars();
		if (r->endpoint)
			endpoint(CREATE, ENDPOINT_1, r->endpoint);
		msg_send();
		right = answer_cause() == r->cause && answer_number(40) == r->offending &&
			failed_id() == r->pdr;
		if (!right)
			fprintf(stderr, "\n  %s: cause %u, IE %u, PDR %d\n", r->name,
				answer_cause(), (unsigned)answer_number(40), (int)failed_id());
		CU_ASSERT(right);
		after = kit_counts();
		CU_ASSERT(kit_counts_eq(&before, &after));
	}
	kit_close();
}

// Modifications that are refused leave endpoints as they were.
static void test_refused_later(void)
{
	static const struct {
		unsigned type;
		const char *id, *hex;
		unsigned cause, offending;
	} rows[] = {
		{UPDATE, ENDPOINT_2, UE_3, 73, 131}, // unknown
		{REMOVE, ENDPOINT_2, "", 73, 131},
		{CREATE, ENDPOINT_1, UE_3, 73, 131},          // known
		{UPDATE, ENDPOINT_1, "00150000", 67, 21},     // PDR 2 needs it
		{REMOVE, ENDPOINT_1, "", 66, 1},              // and so goes every PDR
		{UPDATE, ENDPOINT_1, "005d00050200", 68, 93}, // cut off
	};
	uint64_t seid;
	uint32_t teid;

	kit_open(&conf);
	seid = establish();
	teid = endpoint_teid(0, 1);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kit_counts before = kit_counts(), after;

		msg_begin(52, seid);
		endpoint(rows[i].type, rows[i].id, rows[i].hex);
		msg_send();
		CU_ASSERT_EQUAL(answer_cause(), rows[i].cause);
		if (rows[i].cause != 68)
			CU_ASSERT_EQUAL(answer_number(40), rows[i].offending);
		after = kit_counts();
		CU_ASSERT(kit_counts_eq(&before, &after));
		CU_ASSERT_EQUAL(up_line(session_of(seid))->check, teid);
		CU_ASSERT_EQUAL(pdr_of(seid, 1)->pdi.ue_ip.v4.s_addr, inet_addr("10.45.0.2"));
	}
	msg_begin(52, seid); // more than there may be PDRs
	for (unsigned i = 2; i < 2 + conf.max_pdrs; i++) {
		char id[11];

		snprintf(id, sizeof(id), "00830001%02x", i);
		endpoint(CREATE, id, UE_3);
	}
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 75);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"one endpoint, three PDRs", test_shared},
	{"updated", test_update},
	{"left and removed", test_remove},
	{"given, of N9, linked", test_kinds},
	{"refused, and nothing stays", test_refused},
	{"refused later, and all is as before", test_refused_later},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_endpoint")
