// What has used up its quota goes as the URR's FAR for quota action says (TS 29.244 5.2.2.2.1, feature QUOAC): to a
// tunnel of its own, or an end with that FAR's name; and with another quota as before. By one worker and by two, over
// IPv4 and IPv6, also where PDRs are classified.

#include "chain.h"
#include "packet/be.h"
#include "packet/gtpu.h"

#define PAYLOAD 972 // with its headers 1,000 bytes
#define FITS 20     // into RIG_QUOTA_BYTES
#define QUOTA_FAR 77
#define QUOTA_TEID 0x7700u

static const struct rig_flow flow = {.proto = IPPROTO_UDP,
				     .ue_port = 4000,
				     .dn_port = 9,
				     .ttl = 64,
				     .payload = PAYLOAD,
				     .qfi = 1};

// Rules with a quota on all PDRs, and what happens beyond it: into a tunnel to another gNB, or dropped.
static struct rules *rules_make(bool drops, bool many)
{
	struct rules *rules = rig_variant_new(RIG_QUOTA, 0);
	struct far_rule *far = rules_far_add(rules, QUOTA_FAR);
	struct urr_rule *urr = rules_urr_lookup(rules, 1);

	*far = *rules_far_lookup(rules, 1); // to the gNB
	far->id = QUOTA_FAR;
	far->action = drops ? APPLY_DROP : APPLY_FORW;
	far->teid = QUOTA_TEID;
	urr->has_quota_far = true;
	urr->quota_far = QUOTA_FAR;
	for (uint16_t id = 100; many && id < 160; id++) { // more than are walked
		struct pdr_rule *pdr = rules_pdr_add(rules, id);
		struct sdf sdf = {0};
		const char *why, *text = "permit out 6 from 198.51.100.0/24 80 to assigned";

		CU_ASSERT_EQUAL_FATAL(sdf_parse(text, strlen(text), &sdf, &why), 0);
		pdr->pdi = (struct pdi){.source = id % 2 ? IF_CORE : IF_ACCESS,
					.ni = RULES_NI_NONE};
		pdr->precedence = 10;
		pdr->outer_header_removal = -1;
		pdr->has_far = true;
		pdr->far = 1;
		CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(pdr, &sdf, 1), 0);
	}
	return rules;
}

// The next frame on N3 is a G-PDU with this TEID.
static void expect_tunnel(struct rig *rig, uint32_t teid)
{
	uint8_t frame[RIG_FRAME_MAX];

	CU_ASSERT_FATAL(rig_recv(rig, RIG_N3, frame) > 0);
	CU_ASSERT_EQUAL(frame[rig_gtpu_at(rig) + 1], GTPU_GPDU);
	CU_ASSERT_EQUAL(be32_get(frame + rig_gtpu_at(rig) + 4), teid);
}

static void offer(struct rig *rig, const struct rig_session *s, bool up, unsigned via)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = chain_frame(rig, s, up, &flow, frame);

	rig_send(rig, up ? RIG_N3 : RIG_N6, via, frame, bytes);
	rig_settle(rig);
}

static void run(unsigned n_workers, bool over6, bool up, bool drops, bool many)
{
	struct rig *rig = chain_rig_over(n_workers, over6);
	struct rules *rules = rules_make(drops, many);
	struct rig_session s;

	rig_session_add(rig, 0, rules, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < FITS; i++) {
		offer(rig, &s, up, i % n_workers);
		if (!up)
			expect_tunnel(rig, s.gnb_teid);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), up);
	}
	for (unsigned i = 0; i < 4; i++) {
		offer(rig, &s, up, i % n_workers);
		if (!drops)
			expect_tunnel(rig, QUOTA_TEID);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_far_drop), drops ? i + 1 : 0);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6) + chain_drain(rig, RIG_N3), 0);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_quota_used), 0);
	rig_session_del(rig, &s);
	rules_free(rules);
	rig_end(rig);
}

static void quota_far(void)
{
	for (unsigned i = 0; i < 32; i++)
		run(1 + (i & 1), i & 2, i & 4, i & 8, i & 16);
}

static CU_TestInfo tests[] = {
	{"FAR for quota action", quota_far},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("quota_far")
