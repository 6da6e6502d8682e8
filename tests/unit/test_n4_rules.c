// What SMFs send as rules that has broken UPFs, and what is right: each row is refused with its cause, its
// Offending IE and its Failed Rule ID and leaves nothing behind, or is accepted and read as it was meant.

#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

// What a row varies.
static const char *arg;

static void down(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 1,
	    .peer = "127.0.0.50");
}

static void up(void)
{
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
}

// --- refused ---------------------------------------------------------------------------------------------

static void no_far(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .no_far = true);
	FAR(.id = 1, .action = DROP);
}

static void outer_header(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .to_hex = arg);
}

static void flow(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .flows = {arg}, .far = 1);
	FAR(.id = 1, .action = DROP);
}

static void pdi_hex(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .pdi_hex = arg, .far = 1);
	FAR(.id = 1, .action = DROP);
}

static void pdr_hex(void)
{
	up();
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .hex = arg, .far = 1);
	FAR(.id = 1, .action = DROP);
}

static void up_hex(void)
{
	down();
	PDR(.id = 2, .source = ACCESS, .pdi_hex = arg, .removal = true, .far = 2);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
}

static void removal_hex(void)
{
	down();
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .hex = arg, .far = 2);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
}

static void far_hex(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	FAR(.id = 1, .hex = arg);
}

static void qers_missing(void)
{
	down();
	for (unsigned i = 3; i < 8; i++)
		PDR(.id = i, .source = CORE, .flows = {"permit out 17 from any to assigned"},
		    .far = 1, .qers = {i});
}

static void bar_missing(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	FAR(.id = 1, .action = BUFF | NOCP, .bar = 7);
}

static void qers_many(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1, .qers = {1, 2, 3, 4, 5});
	FAR(.id = 1, .action = DROP);
	for (unsigned i = 1; i < 6; i++)
		put_qer(7, i, QER_OPEN);
}

static void bid_missing(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .bids = {9}, .far = 1);
	FAR(.id = 1, .action = DROP);
}

static void qer(void)
{
	down();
	put_qer(7, 1, arg);
}

static void urr(void)
{
	down();
	put_urr(6, 1, arg);
}

static void pdr_twice(void)
{
	down();
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.3", .far = 1);
}

static void far_twice(void)
{
	down();
	FAR(.id = 1, .action = DROP);
}

static void no_pdr(void)
{
	FAR(.id = 1, .action = DROP);
}

static void with_hex(void)
{
	down();
	put_hex(arg);
}

static void text_long(void)
{
	static char text[4001];

	memset(text, 'a', 4000);
	arg = text;
	flow();
}

static void text_tokens(void)
{
	static char text[401];

	for (unsigned i = 0; i < 400; i += 2)
		memcpy(text + i, "x ", 2);
	arg = text;
	flow();
}

static void udp_header(void)
{
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .far = 1);
	FAR(.id = 1, .action = FORW, .to = true, .destination = CORE, .to_hex = arg);
}

// Duplicating Parameters: to the LI function, by GTP-U.
#define COPY "00050013 002a000104 0054000a 0100 00000001 7f000032"

static const struct refused {
	const char *name;
	void (*rules)(void);
	const char *arg;
	unsigned cause, offending;
	int kind; // of the failed rule, -1: none is named
	int64_t id;
} refused[] = {
	{"20 no FAR ID", no_far, NULL, 67, 108, 0, 1},
	{"21 empty", outer_header, "00540000", 68, 84, -1, -1},
	{"21 one octet", outer_header, "0054000101", 68, 84, -1, -1},
	{"21 nothing but the description", outer_header, "005400020100", 68, 84, -1, -1},
	{"21 no address", outer_header, "0054000601000a000001", 68, 84, -1, -1},
	{"21 three octets", outer_header, "00540003010000", 68, 84, -1, -1},
	{"21 IPv6 cut off", outer_header, "0054000e02000a00000120010db800000000", 68, 84, -1, -1},
	{"21 no bit set", outer_header, "005400020000", 69, 84, 1, 1},
	{"21 IPv6 group", outer_header, "0054001602000a000001ff020db8000000000000000000000001", 69,
	 84, 1, 1},
	{"21 no host", outer_header, "0054000a01000a00000100000000", 69, 84, 1, 1},
	{"23 empty", pdi_hex, "0017000401000000", 73, 23, 0, 1},
	{"23 no rule", flow, "aaaaaaaa", 73, 23, 0, 1},
	{"23 deny", flow, "deny out ip from any to any", 73, 23, 0, 1},
	{"23 not", flow, "permit out ip from !10.0.0.1 to assigned", 73, 23, 0, 1},
	{"23 4,000 characters", text_long, NULL, 73, 23, 0, 1},
	{"23 200 tokens", text_tokens, NULL, 73, 23, 0, 1},
	{"23 a NUL inside", pdi_hex,
	 "00170026010000227065726d6974006f75742069702066726f6d20616e7920746f2061737369676e6564", 73,
	 23, 0, 1},
	{"23 no part at all", pdi_hex, "001700020000", 69, 23, 0, 1},
	{"24 length one too large", pdi_hex, "00170006 0100 0003 7065", 68, 23, -1, -1},
	{"24 0xFFFE", pdi_hex, "00170006 0100 fffe 7065", 68, 23, -1, -1},
	{"24 0x7FFF", pdi_hex, "00170006 0100 7fff 7065", 68, 23, -1, -1},
	{"26 BID of no filter", bid_missing, NULL, 73, 23, 0, 1},
	{"27 five QERs missing", qers_missing, NULL, 73, 109, 0, 3},
	{"27 BAR missing", bar_missing, NULL, 73, 88, 1, 1},
	{"31 five QERs on one PDR", qers_many, NULL, 75, 109, 0, 1},
	{"29 MBR", qer, QER_OPEN "001a0009000000c35000000186", 68, 26, -1, -1},
	{"29 GBR", qer, QER_OPEN "001b0009000000c35000000186", 68, 27, -1, -1},
	{"GBR above MBR", qer,
	 QER_OPEN "001a000a00000000650000000064"
		  "001b000a00000000640000000065",
	 73, 27, 2, 1},
	{"packet rate status", qer, QER_OPEN "00fb000101", 73, 251, 2, 1},
	{"29 threshold", urr, "003e000102 002500020200 001f00080100000000064000", 68, 31, -1, -1},
	{"29 quota", urr, "003e000102 002500020001 004900080100000000064000", 68, 73, -1, -1},
	{"29 time threshold", urr, "003e000101 002500020400 00200003000001", 68, 32, -1, -1},
	{"29 no flags", urr, "003e000102 002500020200 001f000100", 69, 31, 3, 1},
	{"33 unknown name", pdi_hex, "0016000403666f6f", 73, 22, 0, 1},
	{"34 DROP and FORW", far_hex, "002c000103", 69, 44, 1, 1},
	{"34 none", far_hex, "002c000100", 69, 44, 1, 1},
	{"34 only in the second octet", far_hex, "002c00020002", 69, 44, 1, 1},
	{"34 NOCP without BUFF", far_hex, "002c00010a", 69, 44, 1, 1},
	{"34 DUPL without where to", far_hex, "002c000111", 67, 5, 1, 1},
	{"34 DUPL without an interface", far_hex,
	 "002c000111 0005000e 0054000a 0100 00000001 7f000032", 66, 42, -1, -1},
	{"34 DUPL without a header", far_hex, "002c000111 00050005 002a000104", 67, 84, 1, 1},
	{"34 DUPL to 5G VN", far_hex, "002c000111 00050005 002a000105", 76, 42, 1, 1},
	{"34 DUPL to where no route leads", far_hex,
	 "002c000111 00050013 002a000104 0054000a 0100 00000001 7f0000fe", 73, 84, 1, 1},
	{"34 DUPL five times", far_hex, "002c000111" COPY COPY COPY COPY COPY, 75, 5, 1, 1},
	{"34 DUPL, the second empty", far_hex, "002c000111" COPY "00050000", 66, 42, -1, -1},
	{"forwarding policy that is not there", far_hex,
	 "002c000102 0004000f 002a000101 00290006 05 4649525354", 70, 41, 1, 1},
	{"the beginning of one's name", far_hex,
	 "002c000102 0004000e 002a000101 00290005 04 66697273", 70, 41, 1, 1},
	{"an empty forwarding policy", far_hex, "002c000102 0004000a 002a000101 00290001 00", 70,
	 41, 1, 1},
	{"a forwarding policy whose length lies", far_hex,
	 "002c000102 0004000f 002a000101 00290006 06 6669727374", 68, 41, -1, -1},
	{"a forwarding policy beside a header", far_hex,
	 "002c000102 0004001d 002a000101 00290006 05 6669727374 0054000a 0100 00000001 7f000032",
	 73, 41, 1, 1},
	{"a forwarding policy towards the access side", far_hex,
	 "002c000102 0004000f 002a000100 00290006 05 6669727374", 67, 84, 1, 1},
	{"DUPL to a forwarding policy that is not there", far_hex,
	 "002c000111 0005000f 002a000101 00290006 05 4649525354", 70, 41, 1, 1},
	{"35 LI function", far_hex, "002c000102 00040005 002a000104", 76, 42, 1, 1},
	{"35 UDP to the access side", outer_header, "0054000804007f0000321267", 76, 84, 1, 1},
	{"35 UDP and GTP-U", outer_header, "0054000c0500000000017f0000321267", 69, 84, 1, 1},
	{"35 UDP to port 0", udp_header, "0054000804007f0000320000", 69, 84, 1, 1},
	{"35 UDP to where no route leads", udp_header, "0054000804007f0000fe1267", 73, 84, 1, 1},
	{"35 destination 15", far_hex, "002c000102 00040005 002a00010f", 69, 42, 1, 1},
	{"35 5G VN", far_hex, "002c000102 00040005 002a000105", 76, 42, 1, 1},
	{"35 FORW without parameters", far_hex, "002c000102", 67, 4, 1, 1},
	{"35 FORW to access without tunnel", far_hex, "002c000102 00040005 002a000100", 67, 84, 1,
	 1},
	{"source interface 15", up_hex, "", 67, 21, 0, 2},
	{"36 removal 9", removal_hex, "005f000109", 69, 95, 0, 2},
	{"36 removal 2", removal_hex, "005f000102", 76, 95, 0, 2},
	{"36 no removal", removal_hex, "", 67, 95, 0, 2},
	{"32 V6 only", up_hex, "0015000106", 73, 21, 0, 2},
	{"32 CHOOSE of no family", up_hex, "0015000104", 69, 21, 0, 2},
	{"32 CHOOSE ID without it", up_hex, "001500010d", 68, 21, -1, -1},
	{"F-TEID of no interface here", up_hex, "0015000901000000010a000001", 73, 21, 0, 2},
	{"F-TEID with TEID 0", up_hex, "0015000901000000007f000007", 69, 21, 0, 2},
	{"F-TEID of IPv6", up_hex, "001500150200000001 20010db8000000000000000000000001", 73, 21, 0,
	 2},
	{"UE IP to be chosen", pdi_hex, "005d000110", 73, 93, 0, 1},
	{"a UE IP both given and to be chosen", pdi_hex, "005d0005120a2d0003", 69, 93, 0, 1},
	{"a framed route that is none", pdi_hex, "00990008 6161616161616161", 73, 153, 0, 1},
	{"a framed route of the other family", pdi_hex, "009b000a 31302e302e302e302f38", 73, 155, 0,
	 1},
	{"a routing protocol with the UE", pdi_hex, "009a000400000003", 73, 154, 0, 1},
	{"a pool that is none", pdr_hex, "00b10006 0004 6e6f6e65", 73, 177, 0, 1},
	{"application", pdi_hex, "00180003666f6f", 73, 24, 0, 1},
	{"predefined rule", pdr_hex, "006a0003666f6f", 73, 106, 0, 1},
	{"redirect to a URL", far_hex, "002c000102 00040010 002a000101 00260007 0200033a2f2f00", 73,
	 38, 1, 1},
	{"44 PDN type 0", with_hex, "0071000100", 69, 113, -1, -1},
	{"44 PDN type Ethernet", with_hex, "0071000105", 76, 113, -1, -1},
	{"access steering", with_hex, "00a50010 00aa00020001 00ab000101 00ac000101", 76, 165, -1,
	 -1},
	{"44 no PDR", no_pdr, NULL, 66, 1, -1, -1},
	{"45 PERIO without period", urr, "003e000101 00250003010000", 67, 64, 3, 1},
	{"45 VOLTH without threshold", urr, "003e000102 002500020200", 67, 31, 3, 1},
	{"DROTH without threshold", urr, "003e000102 002500024000", 67, 72, 3, 1},
	{"45 DROTH, neither packets nor bytes", urr, "003e000102 002500024000 0048000100", 69, 72,
	 3, 1},
	{"29 dropped traffic truncated", urr, "003e000102 002500024000 00480008 01 00000000000000",
	 68, 72, -1, -1},
	{"subsequent threshold without a monitoring time", urr,
	 "003e000102 002500020200 001f000901 0000000000001000 0022000901 0000000000001000", 67, 33,
	 3, 1},
	{"additional monitoring time without one", urr,
	 "003e000102 002500020200 001f000901 0000000000001000 0093000d 0022000901 0000000000001000",
	 66, 33, -1, -1},
	{"29 subsequent quota truncated", urr,
	 "003e000102 00250002 0001 00210004f0000000 0079000801 00000000001000", 68, 121, -1, -1},
	{"too many events after the monitoring time", urr,
	 "003e000104 002500020010 0095000400000001 00210004f0000000 0097000400000021", 75, 149, 3,
	 1},
	{"too many monitoring times", urr,
	 "003e000102 002500020200 001f000901 0000000000001000 00930008 00210004f0000001"
	 "00930008 00210004f0000002 00930008 00210004f0000003 00930008 00210004f0000004"
	 "00930008 00210004f0000005",
	 75, 147, 3, 1},
	{"EVETH without threshold", urr, "003e000104 002500020010", 67, 149, 3, 1},
	{"too many events", urr, "003e000104 002500020010 0095000400000021", 75, 149, 3, 1},
	{"user plane inactivity", urr, "003e000104 00250003000002", 73, 37, 3, 1},
	{"two Create PDR", pdr_twice, NULL, 73, 56, 0, 1},
	{"two Create FAR", far_twice, NULL, 73, 108, 1, 1},
};

static void check_refusal(const struct refused *r)
{
	bool right = answer_cause() == r->cause && answer_number(40) == r->offending &&
		     failed_kind() == r->kind && failed_id() == r->id;

	if (!right)
		fprintf(stderr, "\n  %s: cause %u, IE %u, rule %d %d\n", r->name, answer_cause(),
			(unsigned)answer_number(40), failed_kind(), (int)failed_id());
	CU_ASSERT(right);
	CU_ASSERT_EQUAL(answer_ie(57).len, 0); // no F-SEID
	CU_ASSERT_EQUAL(created_count(), 0);
}

// Each twice, as a new request: what the first leaves behind would show in the second's answer.
static void test_refused(void)
{
	struct kit_counts before, after;
	uint64_t other;

	kit_open(&conf);
	kit.neigh.unreachable = addr_v4(inet_addr("127.0.0.254"));
	other = establish_plain(7, "10.45.9.9");
	CU_ASSERT(other != 0);
	before = kit_counts();
	for (unsigned i = 0; i < 2 * sizeof(refused) / sizeof(refused[0]); i++) {
		const struct refused *r = &refused[i / 2];

		arg = r->arg;
		establish_begin(100 + i);
		r->rules();
		msg_send();
		CU_ASSERT_EQUAL(answer_type(), 51);
		CU_ASSERT_EQUAL(answer_seid(), 100 + i);
		check_refusal(r);
		after = kit_counts();
		CU_ASSERT(kit_counts_eq(&before, &after));
	}
	CU_ASSERT(up_line(n4_session_lookup(kit.n4, other))->check != 0);
	kit_close();
}

// --- accepted --------------------------------------------------------------------------------------------

// 25: what SMFs write; each is one filter of the PDR.
static const char *const flows[] = {
	"permit out ip from any to assigned",
	"permit out 17 from 10.0.0.0/24 1000-2000 to assigned 5060,5061",
	"permit out udp from 192.0.2.20 49459 to any",
	"permit out 58 from ff02::2/128 to assigned",
	"permit out ip from 2001:db8::/32 to assigned",
	"permit out 41 from 192.0.2.4 to any",
	"permit out ip from any to any",
	"permit out 6 from any 80,443 to assigned ",
};

static void test_flows(void)
{
	kit_open(&conf);
	for (unsigned i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		const struct n4_session *s;

		establish_begin(i + 1);
		down();
		up();
		PDR(.id = 3, .source = CORE, .flows = {flows[i]}, .precedence = 10, .far = 1);
		PDR(.id = 4, .source = ACCESS, .fteid = CH_V4, .flows = {flows[i]},
		    .precedence = 10, .removal = true, .far = 2);
		msg_send();
		CU_ASSERT_EQUAL(answer_cause(), 1);
		s = n4_session_lookup(kit.n4, up_seid());
		CU_ASSERT_PTR_NOT_NULL_FATAL(s);
		CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(s), 3)->pdi.n_filters, 1);
		CU_ASSERT(rules_pdr_lookup(rules_of(s), 3)->pdi.filters[0].has_flow);
		CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(s), 1)->pdi.n_filters, 0);
		delete_session(s->seid);
		CU_ASSERT_EQUAL(answer_cause(), 1);
	}
	kit_close();
}

// 26, 28, 31: a filter by BID, the largest ids, three QERs on one PDR.
static void test_ids(void)
{
	const struct n4_session *s;

	kit_open(&conf);
	establish_begin(1);
	PDR(.id = 65535, .source = CORE, .ue_v4 = "10.45.0.2",
	    .flows = {"permit out 17 from 10.9.9.0/24 to assigned"}, .bids = {5}, .far = 0xffffffff,
	    .qers = {1, 2, 0xffffffff}, .urrs = {65535, 0xffffffff});
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .bids = {5}, .removal = true, .far = 2);
	FAR(.id = 0xffffffff, .action = DROP);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	put_qer(7, 1, QER_OPEN);
	put_qer(7, 2, QER_OPEN);
	put_qer(7, 0xffffffff, QER_OPEN);
	put_urr(6, 65535, URR_VOLUME);
	put_urr(6, 0xffffffff, URR_VOLUME);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	s = n4_session_lookup(kit.n4, up_seid());
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(s), 65535)->n_qers, 3);
	CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(s), 65535)->urrs[1], 0xffffffff);
	CU_ASSERT(rules_urr_lookup(rules_of(s), 0xffffffff) != NULL);
	CU_ASSERT(rules_far_lookup(rules_of(s), 0xffffffff) != NULL);
	CU_ASSERT(created_teid(2) != 0);
	kit_close();
}

// 30: rates are 64 bits wide; absent is not 0.
static void test_rates(void)
{
	static const struct {
		const char *hex;
		bool has;
		uint64_t up, down;
	} rows[] = {
		{QER_OPEN "001a000a 0000989680 0000989680", true, 10000000000, 10000000000},
		{QER_OPEN "001a000a ffffffffff ffffffffff", true, 1099511627775000,
		 1099511627775000},
		{QER_OPEN "001a000a 0000000000 0000000000", true, 0, 0},
		{QER_OPEN, false, 0, 0},
	};

	kit_open(&conf);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct qer_rule *q;

		establish_begin(1);
		down();
		put_qer(7, 9, rows[i].hex);
		msg_send();
		CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
		q = rules_qer_lookup(rules_of(n4_session_lookup(kit.n4, up_seid())), 9);
		CU_ASSERT(q->has_mbr == rows[i].has && q->mbr_up_bps == rows[i].up &&
			  q->mbr_down_bps == rows[i].down);
		delete_session(up_seid());
	}
	kit_close();
}

// 33: a name is the same as labels, as text and in other case; none, and an empty one, are the default.
static void test_network_instance(void)
{
	static const struct {
		const char *hex;
		uint16_t ni;
	} rows[] = {
		{"", RULES_NI_NONE},
		{"00160000", RULES_NI_NONE},
		{"00160009 08696e7465726e6574", 0},
		{"00160008 696e7465726e6574", 0},
		{"00160009 08496e7465726e6554", 0},
		{"0016000c 03696d73076578616d706c65", 1},
		{"0016000b 494d532e6578616d706c65", 1},
	};

	kit_open(&conf);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		establish_begin(1);
		PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .pdi_hex = rows[i].hex,
		    .far = 1);
		FAR(.id = 1, .action = DROP);
		msg_send();
		CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
		CU_ASSERT_EQUAL(rules_of(n4_session_lookup(kit.n4, up_seid()))->pdrs[0].pdi.ni,
				rows[i].ni);
		delete_session(up_seid());
	}
	kit_close();
}

// 34, 36: the first octet of Apply Action leads; outer headers that are removed, in both lengths.
static void test_action_and_removal(void)
{
	static const char *const actions[] = {"002c000101", "002c00020100", "002c000104",
					      "002c00010c", "002c00020c00"};
	static const char *const removals[] = {"005f000100",   "005f000101",   "005f000106",
					       "005f00020001", "005f00020100", "005f00020601"};

	kit_open(&conf);
	for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		arg = actions[i];
		establish_begin(1);
		far_hex();
		msg_send();
		CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
		CU_ASSERT_EQUAL(rules_of(n4_session_lookup(kit.n4, up_seid()))->fars[0].action,
				strtoul((char[]){arg[8], arg[9], 0}, NULL, 16));
		delete_session(up_seid());
	}
	for (unsigned i = 0; i < sizeof(removals) / sizeof(removals[0]); i++) {
		arg = removals[i];
		establish_begin(1);
		removal_hex();
		msg_send();
		CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
		CU_ASSERT_EQUAL(rules_pdr_lookup(rules_of(n4_session_lookup(kit.n4, up_seid())), 2)
					->outer_header_removal,
				(int)strtoul((char[]){arg[8], arg[9], 0}, NULL, 16));
		delete_session(up_seid());
	}
	kit_close();
}

// 45: reporting triggers of two and of three octets say the same; octets come in order.
static void test_triggers(void)
{
	static const struct {
		const char *hex;
		uint32_t triggers;
	} rows[] = {
		{"003e000102 002500020200 001f0009010000000006400000", 0x02},
		{"003e000102 00250003020000 001f0009010000000006400000", 0x02},
		{"003e000103 00250003030104 001f0009010000000006400000 004000040000003c", 0x040103},
	};

	kit_open(&conf);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct urr_rule *u;

		arg = rows[i].hex;
		establish_begin(1);
		urr();
		msg_send();
		CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
		u = rules_urr_lookup(rules_of(n4_session_lookup(kit.n4, up_seid())), 1);
		CU_ASSERT_EQUAL(u->triggers, rows[i].triggers);
		CU_ASSERT_EQUAL(u->threshold.total, 100u << 20);
		delete_session(up_seid());
	}
	kit_close();
}

// 44: what an establishment cannot be without.
static void test_mandatory(void)
{
	static const struct {
		bool node_id, f_seid;
		unsigned offending;
	} rows[] = {{true, false, 57}, {false, true, 60}};

	kit_open(&conf);
	for (unsigned i = 0; i < 2; i++) {
		msg_begin(50, 0);
		if (rows[i].node_id)
			ie_hex(60, "007f000004");
		if (rows[i].f_seid)
			ie_f_seid(9);
		down();
		msg_send();
		CU_ASSERT_EQUAL(answer_type(), 51);
		CU_ASSERT_EQUAL(answer_cause(), 66);
		CU_ASSERT_EQUAL(answer_number(40), rows[i].offending);
		CU_ASSERT_EQUAL(answer_seid(), rows[i].f_seid ? 9 : 0);
	}
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 0);
	kit_close();
}

static CU_TestInfo tests[] = {
	{"20-45: refused, and nothing stays", test_refused},
	{"25: flow descriptions", test_flows},
	{"26, 28, 31: ids", test_ids},
	{"30: rates", test_rates},
	{"33: network instance", test_network_instance},
	{"34, 36: action and removal", test_action_and_removal},
	{"45: triggers", test_triggers},
	{"44: mandatory IEs", test_mandatory},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_rules")
