// The parts of a PDI that may come several times, or say several things: all of them arrive in the model.
// What then matches is rules/match.h's, tested in test_rules_match.c.

#include "rules/arena.h"
#include "session_kit.h"

static const struct kit_conf conf = KIT_CONF;

#define ALL_PARTS                                                                                  \
	"00170033 1f00 0022 7065726d6974206f75742069702066726f6d20616e7920746f2061737369676e6564"  \
	"b8fc deadbeef 0abcde 00000007" // "permit out ip from any to assigned"

// 25: each part of an SDF filter arrives, alone and with all others; several filters of a PDR are alternatives.
static void test_filter_parts(void)
{
	static const struct {
		const char *hex;
		struct sdf sdf;
		uint8_t flags; // of the compiled filter
	} rows[] = {
		{"001700040200b8fc",
		 {.has_tos = true, .tos = 0xb8, .tos_mask = 0xfc},
		 FILTER_F_TOS},
		{"001700060400deadbeef", {.has_spi = true, .spi = 0xdeadbeef}, FILTER_F_SPI},
		{"0017000508000abcde",
		 {.has_flow_label = true, .flow_label = 0xabcde},
		 FILTER_F_FLOW_LABEL},
		{ALL_PARTS,
		 {.has_flow = true,
		  .has_tos = true,
		  .has_spi = true,
		  .has_flow_label = true,
		  .has_bid = true,
		  .tos = 0xb8,
		  .tos_mask = 0xfc,
		  .spi = 0xdeadbeef,
		  .flow_label = 0xabcde,
		  .bid = 7},
		 FILTER_F_TOS | FILTER_F_SPI | FILTER_F_FLOW_LABEL},
	};
	const unsigned n = sizeof(rows) / sizeof(rows[0]);
	const struct ruleset *rs;
	const struct pdi *pdi;
	char hex[400] = "";

	kit_open(&conf);
	for (unsigned i = 0; i < n; i++)
		strcat(hex, rows[i].hex);
	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ue_v4 = "10.45.0.2", .pdi_hex = hex, .far = 1);
	FAR(.id = 1, .action = DROP);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	pdi = &rules_of(session_of(up_seid()))->pdrs[0].pdi;
	rs = rule_arena_at(&kit.arena, session_of(up_seid())->holding.rules);
	CU_ASSERT(pdi->n_filters == n && rs->pdrs[0].n_filters == n);
	for (unsigned i = 0; i < n; i++) {
		const struct sdf *is = &pdi->filters[i], *want = &rows[i].sdf;

		CU_ASSERT(is->has_flow == want->has_flow && is->has_tos == want->has_tos);
		CU_ASSERT(is->has_spi == want->has_spi && is->has_bid == want->has_bid);
		CU_ASSERT(is->has_flow_label == want->has_flow_label && is->bid == want->bid);
		CU_ASSERT(is->tos == want->tos && is->tos_mask == want->tos_mask);
		CU_ASSERT(is->spi == want->spi && is->flow_label == want->flow_label);
		CU_ASSERT_EQUAL(ruleset_filter(rs, rs->pdrs[0].first_filter + i)->flags,
				rows[i].flags);
	}
	kit_close();
}

// UE addresses of both families in one IE or in two, and a list of QFIs.
static void test_lists(void)
{
	static const char *const rows[] = {
		"005d0015 03 0a2d0002 20010db8004500000000000000000002", // V6 and V4
		"005d0005 02 0a2d0002 005d0011 01 20010db8004500000000000000000002",
		"005d0011 01 20010db8004500000000000000000002 005d0005 02 0a2d0002",
	};

	kit_open(&conf);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char hex[200];
		const struct pdi *pdi;

		snprintf(hex, sizeof(hex), "%s 007c000101 007c000109 007c00013f", rows[i]);
		establish_begin(1);
		PDR(.id = 1, .source = CORE, .pdi_hex = hex, .far = 1);
		FAR(.id = 1, .action = DROP);
		msg_send();
		CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
		pdi = &rules_of(session_of(up_seid()))->pdrs[0].pdi;
		CU_ASSERT(pdi->ue_ip.has_v4 && pdi->ue_ip.has_v6 && pdi->ue_ip.v6_prefix == 64);
		CU_ASSERT_EQUAL(pdi->ue_ip.v4.s_addr, inet_addr("10.45.0.2"));
		CU_ASSERT(pdi->qfis == (1ull << 1 | 1ull << 9 | 1ull << 63));
		delete_session(up_seid());
	}
	kit_close();
}

static CU_TestInfo tests[] = {
	{"25: parts of filters", test_filter_parts},
	{"UE addresses and QFIs", test_lists},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_pdi")
