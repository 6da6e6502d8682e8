// A session of 256 PDRs with 16 filters each (rules/classify.h): packets find theirs, both ways and in both
// families, by the fused chain and by the services one after the other.
//
// Each filter takes one port of the data network. Down, the QFI that leaves tells which PDR it was; up, every
// third PDR drops.

#include "chain.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "service/service.h"

#define MANY 252 // PDRs beside the ordinary four
#define EACH 16
#define FIRST_PORT 10000
#define FIRST_QFI 3
#define QFIS 60
#define FAR_DROP 3
#define PSC_QFI (ETH_BYTES + IP4_BYTES + UDP_BYTES + GTPU_BYTES + 6) // of a downlink frame

static bool is_up(unsigned pdr)
{
	return pdr % 2;
}

static bool drops(unsigned pdr)
{
	return is_up(pdr) && pdr % 3 == 0;
}

static uint8_t qfi_of(unsigned pdr)
{
	return (uint8_t)(FIRST_QFI + pdr % QFIS);
}

static void filters_set(struct pdr_rule *pdr, unsigned n)
{
	struct sdf filters[EACH] = {0};

	for (unsigned i = 0; i < EACH; i++) {
		char text[80];
		const char *why;
		int length = snprintf(text, sizeof(text), "permit out 17 from any %u to assigned",
				      FIRST_PORT + n * EACH + i);

		if (sdf_parse(text, (size_t)length, &filters[i], &why) != 0)
			rig_die(why);
	}
	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(pdr, filters, EACH), 0);
}

// Those beside the ordinary four go before them.
static struct rules *many_rules(uint32_t session)
{
	struct rules *rules = rig_rules_new(session);

	rules_far_add(rules, FAR_DROP)->action = APPLY_DROP;
	for (unsigned i = 0; i < QFIS; i++) {
		struct qer_rule *qer = rules_qer_add(rules, 100 + i);

		qer->has_qfi = true;
		qer->qfi = (uint8_t)(FIRST_QFI + i);
	}
	for (unsigned n = 0; n < MANY; n++) {
		struct pdr_rule *pdr = rules_pdr_add(rules, (uint16_t)(100 + n));
		struct pdr_rule *like = rules_pdr_lookup(rules, is_up(n) ? 4 : 2);
		uint16_t id = pdr->id;

		*pdr = *like;
		pdr->id = id;
		pdr->precedence = 10;
		pdr->qers[0] = 100u + n % QFIS;
		if (drops(n))
			pdr->far = FAR_DROP;
		filters_set(pdr, n);
	}
	CU_ASSERT_EQUAL_FATAL(rules->n_pdrs, RULES_MAX_PDRS);
	return rules;
}

static void port_check(struct rig *rig, const struct rig_session *s, unsigned pdr, uint16_t port,
		       bool v6)
{
	struct rig_flow flow = {.proto = IPPROTO_UDP,
				.ue_port = 7,
				.dn_port = port,
				.ttl = 9,
				.payload = 40,
				.qfi = 1,
				.v6 = v6};
	uint8_t frame[RIG_FRAME_MAX];
	bool up = is_up(pdr);
	uint64_t dropped = rig_drops(rig, DROP_far_drop);
	size_t bytes = chain_frame(rig, s, up, &flow, frame);

	rig_send(rig, up ? RIG_N3 : RIG_N6, 0, frame, bytes);
	rig_settle(rig);
	if (drops(pdr)) {
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_far_drop), dropped + 1);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
	} else if (up) {
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 1);
	} else {
		CU_ASSERT_TRUE_FATAL(rig_recv(rig, RIG_N3, frame) > PSC_QFI);
		CU_ASSERT_EQUAL(frame[PSC_QFI], qfi_of(pdr));
	}
}

static uint64_t whole_chain(void *ctx, bool up, unsigned needs)
{
	return service_chain(NULL, up, needs) | SERVICE_MASK(qer);
}

static void run(uint64_t (*chain)(void *ctx, bool up, unsigned needs))
{
	struct rig_conf conf = {.n_workers = 1, .n_slots = 64, .n_tunnels = 16, .chain = chain};
	struct rig *rig = rig_new(&conf);
	struct rules *rules = many_rules(1);
	struct rig_session s, ordinary;

	rig_session_add(rig, 1, rules, &s);
	rules_free(rules);
	rig_session_add(rig, 2, NULL, &ordinary);
	rig_resolve(rig);
	for (unsigned n = 0; n < MANY; n++) {
		uint16_t port = (uint16_t)(FIRST_PORT + n * EACH);

		port_check(rig, &s, n, port, n & 2);
		port_check(rig, &s, n, (uint16_t)(port + EACH - 1), !(n & 2));
		port_check(rig, &s, n, (uint16_t)(port + n % EACH), n & 4);
	}
	// What none of the filters takes is the ordinary PDRs'; so is all of another session.
	for (unsigned i = 0; i < 8; i++) {
		struct rig_flow flow = {.proto = i & 1 ? IPPROTO_TCP : IPPROTO_UDP,
					.dn_port = i & 1 ? FIRST_PORT : 53,
					.ttl = 9,
					.payload = 40,
					.qfi = 1,
					.v6 = i & 4};

		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, i & 2, &flow, 0), 1);
		CU_ASSERT_EQUAL(chain_forwarded(rig, &ordinary, i & 2, &flow, 0), 1);
	}
	rig_session_del(rig, &s);
	rig_session_del(rig, &ordinary);
	rig_end(rig);
}

static void test_fused(void)
{
	run(NULL);
}

static void test_services(void)
{
	run(whole_chain);
}

static CU_TestInfo tests[] = {
	{"each port finds its PDR, fused", test_fused},
	{"and by services", test_services},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("filters")
