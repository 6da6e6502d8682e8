// What a session's rules may not be: one change to good rules a row, and the cause, rule and IE that the
// answer must name.

#include "unit.h"

#include "rules_kit.h"

#include "rules/check.h"

static const struct rules_limits limits = {.pdrs = 32, .filters = 8};

// Changes to the rules of kit_open5gs().

static void no_change(struct rules *r)
{
}

static void gnb_known(struct rules *r)
{
	kit_open5gs_gnb(r, 0x0a000001, "127.0.0.50");
}

static void no_pdrs(struct rules *r)
{
	while (r->n_pdrs > 0)
		rules_pdr_del(r, r->pdrs[0].id);
}

static void too_many_pdrs(struct rules *r)
{
	for (uint16_t id = 100; id < 129; id++)
		kit_pdr_down(r, id, 1, 2);
}

static void many_pdrs(struct rules *r)
{
	for (uint16_t id = 100; id < 128; id++)
		kit_pdr_down(r, id, 1, 2);
}

static void too_many_qers(struct rules *r)
{
	for (uint32_t id = 100; id < 132; id++)
		rules_qer_add(r, id);
}

static void pdr_without_far(struct rules *r)
{
	r->pdrs[0].has_far = false;
}

static void pdr_names_no_far(struct rules *r)
{
	r->pdrs[1].far = 99;
}

static void pdr_names_no_qer(struct rules *r)
{
	kit_qer_use(&r->pdrs[1], 99);
}

static void pdr_names_no_urr(struct rules *r)
{
	r->pdrs[0].urrs[0] = 2;
}

static void source_unknown(struct rules *r)
{
	r->pdrs[0].pdi.source = 15;
}

static void source_li(struct rules *r)
{
	r->pdrs[0].pdi.source = IF_LI_FUNCTION;
}

static void source_vn(struct rules *r)
{
	r->pdrs[0].pdi.source = IF_5G_VN_INTERNAL;
}

static void source_sgi(struct rules *r)
{
	r->pdrs[0].pdi.source = IF_SGI_LAN;
}

static void access_without_fteid(struct rules *r)
{
	r->pdrs[1].pdi.has_fteid = false;
}

static void cp_without_fteid(struct rules *r)
{
	r->pdrs[2].pdi.has_fteid = false;
}

static void fteid_v6_only(struct rules *r)
{
	r->pdrs[1].pdi.fteid.has_v4 = false;
}

static void fteid_nowhere(struct rules *r)
{
	r->pdrs[1].pdi.fteid.has_v4 = r->pdrs[1].pdi.fteid.has_v6 = false;
}

static void fteid_zero(struct rules *r)
{
	r->pdrs[1].pdi.fteid.choose = false;
}

static void fteid_given(struct rules *r)
{
	r->pdrs[1].pdi.fteid.choose = false;
	r->pdrs[1].pdi.fteid.teid = 5;
}

static void ohr_absent(struct rules *r)
{
	r->pdrs[1].outer_header_removal = -1;
}

static void ohr_absent_and_drop(struct rules *r)
{
	r->pdrs[1].outer_header_removal = -1;
	r->fars[1].action = APPLY_DROP;
}

static void ohr_0(struct rules *r)
{
	r->pdrs[1].outer_header_removal = 0;
}

static void ohr_1(struct rules *r)
{
	r->pdrs[1].outer_header_removal = 1;
}

static void ohr_udp(struct rules *r)
{
	r->pdrs[1].outer_header_removal = 2;
}

static void ohr_unknown(struct rules *r)
{
	r->pdrs[1].outer_header_removal = 9;
}

static void ue_empty(struct rules *r)
{
	kit_ue_set(&r->pdrs[0], NULL, NULL);
}

static void ue_zero(struct rules *r)
{
	kit_ue_set(&r->pdrs[0], "0.0.0.0", NULL);
}

static void ue_multicast(struct rules *r)
{
	kit_ue_set(&r->pdrs[0], NULL, "ff02::1");
}

static void ue_link_local(struct rules *r)
{
	kit_ue_set(&r->pdrs[0], NULL, "fe80::1");
}

static void ue_prefix_56(struct rules *r)
{
	r->pdrs[0].pdi.ue_ip.v6_prefix = 56;
}

static void ue_prefix_0(struct rules *r)
{
	r->pdrs[0].pdi.ue_ip.v6_prefix = 0;
}

static void ue_prefix_128(struct rules *r)
{
	r->pdrs[0].pdi.ue_ip.v6_prefix = 128;
}

static void ue_prefix_129(struct rules *r)
{
	r->pdrs[0].pdi.ue_ip.v6_prefix = 129;
}

static void ue_nowhere(struct rules *r)
{
	r->pdrs[0].pdi.has_ue_ip = false;
}

static void ue_in_another_pdr(struct rules *r)
{
	kit_filter_set(kit_pdr_down(r, 5, 10, 1), "permit out ip from 10.9.9.9 to assigned");
}

static void too_many_filters(struct rules *r)
{
	struct sdf many[9];

	for (unsigned i = 0; i < 9; i++)
		many[i] = kit_sdf("permit out ip from any to assigned");
	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(&r->pdrs[1], many, 9), 0);
}

static void filter_empty(struct rules *r)
{
	struct sdf sdf = {0};

	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(&r->pdrs[1], &sdf, 1), 0);
}

static void filter_reference(struct rules *r)
{
	struct sdf sdf = {.has_bid = true, .bid = 3};

	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(&r->pdrs[1], &sdf, 1), 0);
}

static void filter_reference_defined(struct rules *r)
{
	filter_reference(r);
	r->pdrs[3].pdi.filters[0].has_bid = true;
	r->pdrs[3].pdi.filters[0].bid = 3;
}

static void filter_tos_only(struct rules *r)
{
	struct sdf sdf = {.has_tos = true, .tos = 0xb8, .tos_mask = 0xfc};

	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(&r->pdrs[1], &sdf, 1), 0);
}

#define ACTION_CHANGE(name, value)                                                                 \
	static void name(struct rules *r)                                                          \
	{                                                                                          \
		r->fars[1].action = (value);                                                       \
	}

ACTION_CHANGE(action_none, 0)
ACTION_CHANGE(action_drop, APPLY_DROP)
ACTION_CHANGE(action_drop_forw, APPLY_DROP | APPLY_FORW)
ACTION_CHANGE(action_forw_buff, APPLY_FORW | APPLY_BUFF)
ACTION_CHANGE(action_nocp_only, APPLY_NOCP)
ACTION_CHANGE(action_forw_nocp, APPLY_FORW | APPLY_NOCP)
ACTION_CHANGE(action_forw_dupl, APPLY_FORW | APPLY_DUPL)
ACTION_CHANGE(dupl_alone, APPLY_DUPL)
ACTION_CHANGE(action_ipma, APPLY_IPMA)
ACTION_CHANGE(action_forw_dfrt, APPLY_FORW | APPLY_DFRT)
ACTION_CHANGE(action_drop_dfrt, APPLY_DROP | APPLY_DFRT)

static void forw_without_parameters(struct rules *r)
{
	r->fars[1].has_parameters = false;
}

static void destination_unknown(struct rules *r)
{
	r->fars[1].destination = 15;
}

static void destination_vn(struct rules *r)
{
	r->fars[1].destination = IF_5G_VN_INTERNAL;
}

static void destination_sgi(struct rules *r)
{
	r->fars[1].destination = IF_SGI_LAN;
}

static void access_without_tunnel(struct rules *r)
{
	r->fars[1].destination = IF_ACCESS;
}

static void access_without_tunnel_drop(struct rules *r)
{
	access_without_tunnel(r);
	r->fars[1].action = APPLY_DROP;
}

static void tunnel_v6(struct rules *r)
{
	r->fars[2].ohc = OHC_GTPU_UDP_V6;
	r->fars[2].v6.s6_addr[0] = 0x20;
}

static void tunnel_v6_nowhere(struct rules *r)
{
	r->fars[2].ohc = OHC_GTPU_UDP_V6;
}

static void tunnel_v6_group(struct rules *r)
{
	tunnel_v6(r);
	r->fars[2].v6.s6_addr[0] = 0xff;
}

static void tunnel_both(struct rules *r)
{
	tunnel_v6(r);
	r->fars[2].ohc = OHC_GTPU_UDP_V4 | OHC_GTPU_UDP_V6;
}

static void tunnel_udp(struct rules *r)
{
	r->fars[2].ohc = OHC_UDP_V4;
}

static struct far_rule *copy_add(struct rules *r)
{
	struct far_rule *copy = rules_far_copy_add(&r->fars[1]);

	r->fars[1].action = APPLY_FORW | APPLY_DUPL;
	copy->has_parameters = true;
	copy->destination = IF_LI_FUNCTION;
	copy->ohc = OHC_GTPU_UDP_V4;
	copy->v4.s_addr = 0x0100007f;
	return copy;
}

static void dupl(struct rules *r)
{
	copy_add(r);
	copy_add(r);
}

static void dupl_drop(struct rules *r)
{
	copy_add(r);
	r->fars[1].action = APPLY_DROP | APPLY_DUPL;
}

static void copy_unused(struct rules *r)
{
	copy_add(r);
	r->fars[1].action = APPLY_FORW;
}

static void copy_udp(struct rules *r)
{
	copy_add(r)->ohc = OHC_UDP_V4;
	r->fars[1].copies[0].port = 1;
}

static void copy_plain(struct rules *r)
{
	copy_add(r)->ohc = 0;
	r->fars[1].copies[0].destination = IF_CORE;
}

static void copy_nowhere(struct rules *r)
{
	copy_add(r)->v4.s_addr = 0;
}

static void copy_unknown(struct rules *r)
{
	copy_add(r)->destination = 15;
}

static void to_li(struct rules *r)
{
	r->fars[1].destination = IF_LI_FUNCTION;
	r->fars[1].ohc = OHC_GTPU_UDP_V4;
	r->fars[1].v4.s_addr = 0x0100007f;
}

static void udp_core(struct rules *r)
{
	r->fars[1].ohc = OHC_UDP_V4;
	r->fars[1].v4.s_addr = 0x0100007f;
	r->fars[1].port = 4711;
}

static void udp_core_v6(struct rules *r)
{
	r->fars[1].ohc = OHC_UDP_V6;
	r->fars[1].v6.s6_addr[0] = 0x20;
	r->fars[1].port = 4711;
}

static void udp_no_port(struct rules *r)
{
	udp_core(r);
	r->fars[1].port = 0;
}

static void udp_no_port_drop(struct rules *r)
{
	udp_no_port(r);
	r->fars[1].action = APPLY_DROP;
}

static void tunnel_two_kinds(struct rules *r)
{
	r->fars[2].ohc = OHC_GTPU_UDP_V4 | OHC_UDP_V4;
}

static void tunnel_nowhere(struct rules *r)
{
	r->fars[2].v4.s_addr = 0;
}

static void bar_missing(struct rules *r)
{
	r->fars[0].bar = 2;
}

static void urr_linked_missing(struct rules *r)
{
	r->urrs[0].n_linked = 1;
	r->urrs[0].linked[0] = 9;
}

static void urr_far_missing(struct rules *r)
{
	r->urrs[0].has_quota_far = true;
	r->urrs[0].quota_far = 9;
}

static void urr_no_threshold(struct rules *r)
{
	r->urrs[0].threshold.flags = 0;
}

static void urr_no_period(struct rules *r)
{
	r->urrs[0].triggers |= 0x01;
}

static void urr_period(struct rules *r)
{
	r->urrs[0].triggers |= 0x01;
	r->urrs[0].period_s = 1;
}

struct row {
	const char *name;
	void (*change)(struct rules *r);
	uint8_t cause; // 0: accepted
	int type;      // enum rule_type, -1: none is named
	uint32_t id;
	uint16_t ie;
};

#define ROW(change, ...)                                                                           \
	{                                                                                          \
#change, change, __VA_ARGS__                                                       \
	}
#define GOOD(change) ROW(change, 0, -1, 0, 0)

static const struct row rows[] = {
	GOOD(no_change),
	GOOD(gnb_known),
	ROW(no_pdrs, 66, -1, 0, 1),
	ROW(too_many_pdrs, 75, RULE_PDR, 128, RULE_IE_CREATE_PDR),
	GOOD(many_pdrs),
	ROW(too_many_qers, 75, -1, 0, 0),
	ROW(pdr_without_far, 67, RULE_PDR, 1, 108),
	ROW(pdr_names_no_far, 73, RULE_PDR, 2, 108),
	ROW(pdr_names_no_qer, 73, RULE_PDR, 2, 109),
	ROW(pdr_names_no_urr, 73, RULE_PDR, 1, 81),
	ROW(source_unknown, 69, RULE_PDR, 1, 20),
	ROW(source_li, 69, RULE_PDR, 1, 20),
	ROW(source_vn, 76, RULE_PDR, 1, 20),
	GOOD(source_sgi),
	ROW(access_without_fteid, 67, RULE_PDR, 2, 21),
	ROW(cp_without_fteid, 67, RULE_PDR, 3, 21),
	GOOD(fteid_v6_only),
	ROW(fteid_nowhere, 73, RULE_PDR, 2, 21),
	ROW(fteid_zero, 69, RULE_PDR, 2, 21),
	GOOD(fteid_given),
	ROW(ohr_absent, 67, RULE_PDR, 2, 95),
	GOOD(ohr_absent_and_drop),
	GOOD(ohr_0),
	GOOD(ohr_1),
	ROW(ohr_udp, 76, RULE_PDR, 2, 95),
	ROW(ohr_unknown, 69, RULE_PDR, 2, 95),
	ROW(ue_empty, 69, RULE_PDR, 1, 93),
	ROW(ue_zero, 69, RULE_PDR, 1, 93),
	ROW(ue_multicast, 69, RULE_PDR, 1, 93),
	ROW(ue_link_local, 69, RULE_PDR, 1, 93),
	ROW(ue_prefix_0, 69, RULE_PDR, 1, 93),
	GOOD(ue_prefix_56),
	GOOD(ue_prefix_128),
	ROW(ue_prefix_129, 69, RULE_PDR, 1, 93),
	ROW(ue_nowhere, 67, RULE_PDR, 1, 93),
	GOOD(ue_in_another_pdr),
	ROW(too_many_filters, 75, RULE_PDR, 2, 23),
	ROW(filter_empty, 69, RULE_PDR, 2, 23),
	ROW(filter_reference, 73, RULE_PDR, 2, 23),
	GOOD(filter_reference_defined),
	GOOD(filter_tos_only),
	ROW(action_none, 69, RULE_FAR, 2, 44),
	GOOD(action_drop),
	ROW(action_drop_forw, 69, RULE_FAR, 2, 44),
	ROW(action_forw_buff, 69, RULE_FAR, 2, 44),
	ROW(action_nocp_only, 69, RULE_FAR, 2, 44),
	ROW(action_forw_nocp, 69, RULE_FAR, 2, 44),
	ROW(action_forw_dupl, 67, RULE_FAR, 2, 5),
	GOOD(dupl),
	GOOD(dupl_drop),
	ROW(dupl_alone, 69, RULE_FAR, 2, 44),
	GOOD(copy_unused),
	GOOD(copy_udp),
	ROW(copy_plain, 67, RULE_FAR, 2, 84),
	ROW(copy_nowhere, 69, RULE_FAR, 2, 84),
	ROW(copy_unknown, 69, RULE_FAR, 2, 42),
	ROW(to_li, 76, RULE_FAR, 2, 42),
	GOOD(udp_core),
	GOOD(udp_core_v6),
	ROW(udp_no_port, 69, RULE_FAR, 2, 84),
	GOOD(udp_no_port_drop),
	ROW(action_ipma, 76, RULE_FAR, 2, 44),
	ROW(action_forw_dfrt, 76, RULE_FAR, 2, 44),
	ROW(action_drop_dfrt, 69, RULE_FAR, 2, 44),
	ROW(forw_without_parameters, 67, RULE_FAR, 2, 4),
	ROW(destination_unknown, 69, RULE_FAR, 2, 42),
	ROW(destination_vn, 76, RULE_FAR, 2, 42),
	GOOD(destination_sgi),
	ROW(access_without_tunnel, 67, RULE_FAR, 2, 84),
	GOOD(access_without_tunnel_drop),
	GOOD(tunnel_v6),
	ROW(tunnel_v6_nowhere, 69, RULE_FAR, 3, 84),
	ROW(tunnel_v6_group, 69, RULE_FAR, 3, 84),
	GOOD(tunnel_both),
	ROW(tunnel_udp, 76, RULE_FAR, 3, 84),
	ROW(tunnel_two_kinds, 69, RULE_FAR, 3, 84),
	ROW(tunnel_nowhere, 69, RULE_FAR, 3, 84),
	ROW(bar_missing, 73, RULE_FAR, 1, 88),
	ROW(urr_linked_missing, 73, RULE_URR, 1, 82),
	ROW(urr_far_missing, 73, RULE_URR, 1, 108),
	ROW(urr_no_threshold, 67, RULE_URR, 1, 31),
	ROW(urr_no_period, 67, RULE_URR, 1, 64),
	GOOD(urr_period),
};

static bool as_said(const struct row *row, int rc, const struct pfcp_fault *fault)
{
	if (row->cause == 0)
		return rc == 0 && fault->cause == 0;
	return rc == -EINVAL && fault->cause == row->cause && fault->offending_ie == row->ie &&
	       fault->has_rule == (row->type >= 0) &&
	       (row->type < 0 || (fault->rule_type == row->type && fault->rule_id == row->id)) &&
	       fault->text[0] != '\0';
}

static void test_rows(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rules *r = kit_open5gs("10.45.0.2", "2001:db8:cafe:1::2");
		struct pfcp_fault fault = {0};
		bool good;

		rows[i].change(r);
		good = as_said(&rows[i], rules_check(r, &limits, &fault), &fault);
		if (!good)
			printf("\n%s: cause %u, IE %u, %s\n", rows[i].name, fault.cause,
			       fault.offending_ie, fault.text);
		CU_ASSERT_TRUE(good);
		rules_free(r);
	}
}

// Limits above the format's do not count.
static void test_format_limits(void)
{
	const struct rules_limits wide = {.pdrs = UINT16_MAX, .filters = UINT8_MAX};
	struct rules *r = kit_open5gs("10.45.0.2", NULL);
	struct pfcp_fault fault = {0};

	while (r->n_pdrs < RULES_MAX_PDRS)
		kit_pdr_down(r, (uint16_t)(100 + r->n_pdrs), 1, 2);
	while (r->n_qers < RULES_MAX_PLACES)
		rules_qer_add(r, 100u + r->n_qers);
	CU_ASSERT_EQUAL(rules_check(r, &wide, &fault), 0);
	rules_qer_add(r, 1000);
	CU_ASSERT_EQUAL(rules_check(r, &wide, &fault), -EINVAL);
	CU_ASSERT_EQUAL(fault.cause, 75);
	rules_qer_del(r, 1000);
	kit_pdr_down(r, 1000, 1, 2);
	CU_ASSERT_EQUAL(rules_check(r, &wide, &fault), -EINVAL);
	CU_ASSERT_EQUAL(fault.cause, 75);
	CU_ASSERT_TRUE(fault.has_rule && fault.rule_type == RULE_PDR && fault.rule_id == 1000);
	rules_free(r);
}

static CU_TestInfo tests[] = {
	{"every fault has its cause, rule and IE", test_rows},
	{"limits of the format", test_format_limits},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("rules_check")
