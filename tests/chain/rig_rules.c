// Rules that differ from the rig's ordinary ones (rig.h), one maker each, and the table of them.
//
// The test's thread. PDRs 1 and 2 are downlink, 3 and 4 uplink, the odd ones with a filter; FAR 1 leads to the
// gNB, FAR 2 to N6.

#include <string.h>

#include "rig.h"

static struct in_addr in_addr_of(const char *text)
{
	return (struct in_addr){.s_addr = rig_addr(text).v4};
}

static void gate_up(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_qers; i++)
		rules->qers[i].gate_up = 1;
}

static void gate_down(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_qers; i++)
		rules->qers[i].gate_down = 1;
}

static void far_drop(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_fars; i++)
		rules->fars[i].action = APPLY_DROP;
}

static void far_buffer(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_fars; i++)
		rules->fars[i].action = APPLY_BUFF | APPLY_NOCP;
}

static void no_pdr(struct rules *rules, uint32_t n)
{
	rules_pdr_del(rules, 2);
	rules_pdr_del(rules, 4);
}

static void no_qfi(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_qers; i++)
		rules->qers[i].has_qfi = false;
}

static void rqi(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_qers; i++)
		rules->qers[i].rqi = true;
}

static void dscp(struct rules *rules, uint32_t n)
{
	rules_far_lookup(rules, 1)->dscp = 46;
}

// A PDR for tunnel `number`.
static void tunnel_pdr_add(struct rules *rules, uint16_t id, uint8_t number,
			   enum interface_value source, uint32_t far)
{
	struct pdr_rule *pdr = rules_pdr_add(rules, id);

	pdr->precedence = 300;
	pdr->pdi.source = (uint8_t)source;
	pdr->pdi.ni = 0;
	pdr->pdi.has_fteid = true;
	pdr->pdi.fteid = (struct fteid){.choose = true, .has_v4 = true};
	pdr->outer_header_removal = 6;
	pdr->tunnel = number;
	pdr->has_far = true;
	pdr->far = far;
}

static void tunnel_up(struct rules *rules, uint32_t n)
{
	*rules_tunnel_add(rules) = (struct tunnel_rule){.number = 2, .up = true};
	tunnel_pdr_add(rules, 5, 2, IF_ACCESS, 2);
}

static void given(struct rules *rules, uint32_t n)
{
	tunnel_up(rules, n);
	rules->tunnels[1].given = true;
	rules->tunnels[1].teid = RIG_GIVEN_TEID + n;
}

static void given_line(struct rules *rules, uint32_t n)
{
	rules->tunnels[0].given = true;
	rules->tunnels[0].teid = RIG_GIVEN_TEID + n;
}

static void tunnel_down(struct rules *rules, uint32_t n)
{
	*rules_tunnel_add(rules) = (struct tunnel_rule){.number = 2};
	tunnel_pdr_add(rules, 5, 2, IF_CORE, 1);
}

static struct far_rule *tunnel_far_add(struct rules *rules, uint32_t id,
				       enum interface_value destination, const char *to,
				       uint32_t teid)
{
	struct far_rule *far = rules_far_add(rules, id);

	far->action = APPLY_FORW;
	far->has_parameters = true;
	far->destination = (uint8_t)destination;
	far->ni = 0;
	far->dscp = 0xff;
	far->ohc = OHC_GTPU_UDP_V4;
	far->teid = teid;
	far->v4 = in_addr_of(to);
	return far;
}

static void place(struct rules *rules, uint32_t n)
{
	tunnel_far_add(rules, 3, IF_ACCESS, RIG_GNB2, RIG_GNB2_TEID + n);
	rules_pdr_lookup(rules, 1)->far = 3;
}

static void relay(struct rules *rules, uint32_t n)
{
	tunnel_far_add(rules, 3, IF_CORE, RIG_GNB2, RIG_RELAY_TEID + n);
	rules_pdr_lookup(rules, 3)->far = 3;
	rules_pdr_lookup(rules, 4)->far = 3;
}

static void solicit_to(struct rules *rules, uint32_t n, const char *smf)
{
	static const char text[] = "permit out 58 from ff02::2/128 to any";
	struct pdr_rule *pdr;
	struct sdf sdf = {0};
	const char *why;

	tunnel_far_add(rules, 3, IF_CP_FUNCTION, smf, RIG_SMF_TEID + n);
	tunnel_pdr_add(rules, 5, 1, IF_ACCESS, 3);
	pdr = rules_pdr_lookup(rules, 5);
	pdr->precedence = 50;
	if (sdf_parse(text, sizeof(text) - 1, &sdf, &why) != 0 ||
	    rules_pdr_filters_set(pdr, &sdf, 1) != 0)
		rig_die("filter");
}

static void solicit(struct rules *rules, uint32_t n)
{
	solicit_to(rules, n, RIG_SMF);
}

static void solicit_lost(struct rules *rules, uint32_t n)
{
	solicit_to(rules, n, RIG_SMF_LOST);
}

static void rate(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_qers; i++) {
		rules->qers[i].has_mbr = true;
		rules->qers[i].mbr_up_bps = rules->qers[i].mbr_down_bps = RIG_RATE_BPS;
	}
}

static void rates(struct rules *rules, uint32_t n)
{
	rules_qer_add(rules, 3);
	rate(rules, n);
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		rules->pdrs[i].qers[rules->pdrs[i].n_qers++] = 3;
}

static void packet_rate(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_qers; i++) {
		rules->qers[i].packet_rate_up = rules->qers[i].packet_rate_down = 1;
		rules->qers[i].packet_unit_up_s = rules->qers[i].packet_unit_down_s = 60;
	}
}

static struct urr_rule *usage_add(struct rules *rules, uint32_t id)
{
	struct urr_rule *urr = rules_urr_add(rules, id);

	urr->method = METHOD_VOLUM;
	urr->triggers = TRIGGER_VOLTH;
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		rules->pdrs[i].urrs[rules->pdrs[i].n_urrs++] = id;
	return urr;
}

static void usage(struct rules *rules, uint32_t n)
{
	usage_add(rules, 1)->threshold = (struct urr_volumes){.flags = 1, .total = RIG_THRESHOLD};
}

static void usages(struct rules *rules, uint32_t n)
{
	usage_add(rules, 1);
	usage_add(rules, 2)->threshold = (struct urr_volumes){.flags = 2, .up = RIG_THRESHOLD};
	usage_add(rules, 3)->threshold = (struct urr_volumes){.flags = 4, .down = RIG_THRESHOLD};
}

static void quota(struct rules *rules, uint32_t n)
{
	usage_add(rules, 1)->quota = (struct urr_volumes){.flags = 1, .total = RIG_QUOTA_BYTES};
}

static void steer(struct rules *rules, uint32_t n)
{
	rules_pdr_lookup(rules, 1)->far = 2;
}

static void copy_add(struct far_rule *far, uint8_t ohc, const char *to, uint16_t port)
{
	struct far_rule *copy = rules_far_copy_add(far);

	if (!copy)
		rig_die("no memory for rules");
	copy->has_parameters = true;
	copy->destination = IF_LI_FUNCTION;
	copy->ni = 0;
	copy->ohc = ohc;
	copy->dscp = 0xff;
	copy->v4 = in_addr_of(to);
	copy->port = port;
}

static void copies(struct rules *rules, uint32_t n)
{
	for (unsigned i = 0; i < rules->n_fars; i++) {
		struct far_rule *far = &rules->fars[i];

		far->action |= APPLY_DUPL;
		copy_add(far, OHC_GTPU_UDP_V4, RIG_LI, 0);
		far->copies[0].teid = RIG_LI_TEID + n;
		copy_add(far, OHC_UDP_V4, RIG_LI_UDP, RIG_LI_PORT);
		far->copies[1].dscp = 10;
	}
}

static void copies_drop(struct rules *rules, uint32_t n)
{
	copies(rules, n);
	for (unsigned i = 0; i < rules->n_fars; i++)
		rules->fars[i].action = APPLY_DROP | APPLY_DUPL;
}

static void copies_held(struct rules *rules, uint32_t n)
{
	copies(rules, n);
	for (unsigned i = 0; i < rules->n_fars; i++)
		rules->fars[i].action = APPLY_BUFF | APPLY_DUPL;
}

static void udp(struct rules *rules, uint32_t n)
{
	struct far_rule *far = rules_far_lookup(rules, 2);

	far->ohc = OHC_UDP_V4;
	far->v4 = in_addr_of(RIG_UDP_END);
	far->port = RIG_UDP_PORT;
}

static void mark(struct rules *rules, uint32_t n)
{
	rules_far_lookup(rules, 2)->dscp = 46;
}

static void policy(struct rules *rules, uint32_t n)
{
	struct far_rule *far = rules_far_lookup(rules, 2);

	far->action |= APPLY_DUPL;
	far->policy = 1;
	copy_add(far, 0, "0.0.0.0", 0);
	far->copies[0].destination = IF_CORE;
	far->copies[0].policy = 2;
}

struct rules *rig_variant_new(enum rig_variant variant, uint32_t n)
{
	static void (*const makers[RIG_VARIANTS])(struct rules *, uint32_t) = {
		[RIG_GATE_UP] = gate_up,
		[RIG_GATE_DOWN] = gate_down,
		[RIG_FAR_DROP] = far_drop,
		[RIG_FAR_BUFFER] = far_buffer,
		[RIG_NO_PDR] = no_pdr,
		[RIG_NO_QFI] = no_qfi,
		[RIG_RQI] = rqi,
		[RIG_DSCP] = dscp,
		[RIG_TUNNEL_UP] = tunnel_up,
		[RIG_GIVEN] = given,
		[RIG_GIVEN_LINE] = given_line,
		[RIG_TUNNEL_DOWN] = tunnel_down,
		[RIG_PLACE] = place,
		[RIG_RELAY] = relay,
		[RIG_SOLICIT] = solicit,
		[RIG_SOLICIT_LOST] = solicit_lost,
		[RIG_RATE] = rate,
		[RIG_RATES] = rates,
		[RIG_PACKET_RATE] = packet_rate,
		[RIG_USAGE] = usage,
		[RIG_USAGES] = usages,
		[RIG_QUOTA] = quota,
		[RIG_STEER] = steer,
		[RIG_COPIES] = copies,
		[RIG_COPIES_DROP] = copies_drop,
		[RIG_COPIES_HELD] = copies_held,
		[RIG_UDP] = udp,
		[RIG_MARK] = mark,
		[RIG_POLICY] = policy,
	};
	struct rules *rules = rig_rules_new(n);

	if (makers[variant])
		makers[variant](rules, n);
	return rules;
}
