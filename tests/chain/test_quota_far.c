// What has used up its quota goes as the URR's FAR for quota action says (TS 29.244 5.2.2.2.1, feature QUOAC): to a
// tunnel of its own, or an end with that FAR's name; and with another quota as before. By one worker and by two, over
// IPv4 and IPv6, also where PDRs are classified.

#include "chain.h"
#include "packet/be.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "session/policy_rules.h"
#include "worker/mailbox.h"

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

// Rules with a quota on all PDRs, and what happens beyond it: into a tunnel to another gNB, dropped, or held.
static struct rules *rules_make(uint8_t action, bool many)
{
	struct rules *rules = rig_variant_new(RIG_QUOTA, 0);
	struct far_rule *far = rules_far_add(rules, QUOTA_FAR);
	struct urr_rule *urr = rules_urr_lookup(rules, 1);

	*far = *rules_far_lookup(rules, 1); // to the gNB
	far->id = QUOTA_FAR;
	far->action = action;
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
	struct rules *rules = rules_make(drops ? APPLY_DROP : APPLY_FORW, many);
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

// --- a FAR that buffers ----------------------------------------------------------------------------------

// Of the downlink, a number in the UE's port.
static void offer_numbers(struct rig *rig, const struct rig_session *s, unsigned via, bool v6,
			  unsigned from, unsigned to)
{
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned number = from; number < to; number++) {
		struct rig_flow numbered = flow;

		numbered.ue_port = (uint16_t)number;
		numbered.v6 = v6;
		rig_send(rig, RIG_N6, via, frame, rig_frame_down(rig, s, &numbered, frame));
		rig_settle(rig);
	}
}

static void expect_numbers(struct rig *rig, const struct rig_session *s, bool v6, unsigned from,
			   unsigned to)
{
	unsigned at = rig_gtpu_at(rig) + GTPU_BYTES + 8 + (v6 ? IP6_BYTES : IP4_BYTES) + 2;
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned number = from; number < to; number++) {
		CU_ASSERT_FATAL(rig_recv(rig, RIG_N3, frame) > 0);
		CU_ASSERT_EQUAL(be16_get(frame + at), number);
		CU_ASSERT_EQUAL(be32_get(frame + rig_gtpu_at(rig) + 4), s->gnb_teid);
	}
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 0);
}

// Another quota, of so many packets.
static void give(struct rig *rig, struct rig_session *s, struct rules *rules, unsigned packets)
{
	rules_urr_lookup(rules, 1)->quota.total = packets * 1000ull;
	rig_session_change(rig, s, rules);
	rig_resolve(rig);
}

// What comes beyond the quota waits and is told of once; given more, as many leave as that is for (or as are looked at
// together), ahead of what is newer; when all have left, the next to wait is told of again. What has no downlink ends by name.
static void held_run(unsigned n_workers, bool over6, bool v6, bool many)
{
	struct rig *rig = chain_rig_over(n_workers, over6);
	struct rules *rules = rules_make(APPLY_BUFF | APPLY_NOCP, many);
	unsigned via = n_workers - 1, left, before;
	struct rig_session s;

	rules_urr_lookup(rules, 1)->quota.total = 5000;
	rig_session_add(rig, 0, rules, &s);
	rig_resolve(rig);
	offer_numbers(rig, &s, via, v6, 0, 50);
	CU_ASSERT(rig_count(rig, COUNTER_held) >= 44 && rig->n_told == 1);
	offer(rig, &s, true, via);
	CU_ASSERT(rig_drops(rig, DROP_far_buffer) == 1 && chain_drain(rig, RIG_N6) == 0);
	left = 50 - (unsigned)rig_count(rig, COUNTER_held);
	expect_numbers(rig, &s, v6, 0, left);
	give(rig, &s, rules, 4);
	before = left;
	left = 50 - (unsigned)rig_count(rig, COUNTER_held);
	CU_ASSERT(left >= before + 4 && left <= before + 16 && rig->n_told == 1);
	expect_numbers(rig, &s, v6, before, left);
	offer_numbers(rig, &s, via, v6, 50, 55);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 0);
	give(rig, &s, rules, 1000);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 0);
	expect_numbers(rig, &s, v6, left, 55);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_down), 55);
	give(rig, &s, rules, 1);
	offer_numbers(rig, &s, via, v6, 60, 65);
	CU_ASSERT(rig_count(rig, COUNTER_held) >= 3 && rig->n_told == 2);
	rig_session_del(rig, &s);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 0);
	CU_ASSERT(rig_drops(rig, DROP_buffer_dropped) >= 3);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_quota_used), 0);
	rules_free(rules);
	rig_end(rig);
}

static void held(void)
{
	for (unsigned i = 0; i < 16; i++)
		held_run(1 + (i & 1), i & 2, i & 4, i & 8);
}

static void block_back(struct mail *mail, void *ctx)
{
	policy_free(mail->session.policy);
	free(mail);
}

// A quota that is given by a new block of usage alone, at a monitoring time, lets go what waits, too.
static void resumed(void)
{
	struct rig *rig = chain_rig(1);
	struct rules *rules = rules_make(APPLY_BUFF, false);
	struct mail *mail = mail_new(MAIL_POLICY_SET, NULL, NULL);
	struct rig_session s;

	rules_urr_lookup(rules, 1)->quota.total = 1000;
	rig_session_add(rig, 0, rules, &s);
	rig_resolve(rig);
	offer_numbers(rig, &s, 0, false, 0, 10);
	CU_ASSERT(rig_count(rig, COUNTER_held) > 0 && rig->n_told == 0);
	rules_places_assign(rules);
	rules_settled(rules);
	rules_urr_lookup(rules, 1)->quota.total = 100000;
	rules_urr_lookup(rules, 1)->quota_given = rules_urr_lookup(rules, 1)->resumed = true;
	CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
	CU_ASSERT_EQUAL_FATAL(policy_of_rules(rules, &mail->session.policy), 0);
	mail->done = block_back;
	mail->session.policy_new = true;
	mail->session.image.slot = s.slot.index;
	mail->session.image.version = s.slot.version;
	mail_post(rig->control.workers[s.slot.owner], mail);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), 0);
	expect_numbers(rig, &s, false, 0, 10);
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
	{"51: FAR for quota action", quota_far},
	{"51: one that buffers", held},
	{"51: resumed without a change of rules", resumed},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("quota_far")
