// Rules for tests: those that an Open5GS SMF gives a session, and small makers.
//
// The ids, precedences and references are those of tests/golden/open5gs-ipv4v6.txt.

#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "rules/compile.h"
#include "rules/model.h"
#include "rules/sdf.h"

#define KIT_NI 0
#define KIT_N6 2  // the interface of network instance 0
#define KIT_ALL 6 // Outer Header Removal: GTP-U/UDP/IP

static inline struct in_addr kit_v4(const char *text)
{
	struct in_addr v4 = {0};

	if (inet_pton(AF_INET, text, &v4) != 1)
		CU_FAIL_FATAL("test: not an IPv4 address");
	return v4;
}

static inline struct in6_addr kit_v6(const char *text)
{
	struct in6_addr v6 = {0};

	if (inet_pton(AF_INET6, text, &v6) != 1)
		CU_FAIL_FATAL("test: not an IPv6 address");
	return v6;
}

static inline struct sdf kit_sdf(const char *text)
{
	struct sdf sdf = {0};
	const char *why = NULL;

	if (sdf_parse(text, strlen(text), &sdf, &why) != 0)
		CU_FAIL_FATAL("test: not a Flow Description");
	return sdf;
}

static inline void kit_filter_set(struct pdr_rule *pdr, const char *text)
{
	struct sdf sdf = kit_sdf(text);

	CU_ASSERT_EQUAL_FATAL(rules_pdr_filters_set(pdr, &sdf, 1), 0);
}

// A plain PDR from the core.
static inline struct pdr_rule *kit_pdr_down(struct rules *r, uint16_t id, uint32_t precedence,
					    uint32_t far)
{
	struct pdr_rule *pdr = rules_pdr_add(r, id);

	pdr->precedence = precedence;
	pdr->pdi.source = IF_CORE;
	pdr->pdi.ni = KIT_NI;
	pdr->outer_header_removal = -1;
	pdr->has_far = true;
	pdr->far = far;
	return pdr;
}

// A PDR that comes by tunnel number `tunnel`.
static inline struct pdr_rule *kit_pdr_tunnel(struct rules *r, uint16_t id, uint32_t precedence,
					      uint8_t source, uint8_t tunnel, uint32_t far)
{
	struct pdr_rule *pdr = kit_pdr_down(r, id, precedence, far);

	pdr->pdi.source = source;
	pdr->pdi.has_fteid = true;
	pdr->pdi.fteid = (struct fteid){.choose = true, .has_v4 = true, .has_v6 = true};
	pdr->tunnel = tunnel;
	pdr->outer_header_removal = KIT_ALL;
	return pdr;
}

static inline void kit_ue_set(struct pdr_rule *pdr, const char *v4, const char *v6)
{
	pdr->pdi.has_ue_ip = true;
	pdr->pdi.ue_ip = (struct ue_ip){.destination = true, .v6_prefix = 64};
	if (v4 != NULL) {
		pdr->pdi.ue_ip.has_v4 = true;
		pdr->pdi.ue_ip.v4 = kit_v4(v4);
	}
	if (v6 != NULL) {
		pdr->pdi.ue_ip.has_v6 = true;
		pdr->pdi.ue_ip.v6 = kit_v6(v6);
	}
}

static inline struct far_rule *kit_far(struct rules *r, uint32_t id, uint8_t action,
				       uint8_t destination)
{
	struct far_rule *far = rules_far_add(r, id);

	far->action = action;
	far->has_parameters = true;
	far->destination = destination;
	far->ni = KIT_NI;
	far->dscp = 0xff;
	return far;
}

static inline void kit_tunnel_set(struct far_rule *far, uint32_t teid, const char *v4)
{
	far->ohc = OHC_GTPU_UDP_V4;
	far->teid = teid;
	far->v4 = kit_v4(v4);
}

static inline void kit_qer_use(struct pdr_rule *pdr, uint32_t qer)
{
	pdr->qers[pdr->n_qers++] = qer;
}

// A session as established: FAR 1 still buffers.
static inline struct rules *kit_open5gs(const char *ue_v4, const char *ue_v6)
{
	struct rules *r = rules_new();
	struct pdr_rule *pdr;
	struct far_rule *far;
	struct qer_rule *qer;
	struct urr_rule *urr;

	pdr = kit_pdr_down(r, 1, 65535, 1);
	kit_ue_set(pdr, ue_v4, ue_v6);
	kit_qer_use(pdr, 1);
	pdr->urrs[pdr->n_urrs++] = 1;

	pdr = kit_pdr_tunnel(r, 2, 65535, IF_ACCESS, 1, 2);
	pdr->pdi.qfis = 1ull << 1;
	kit_qer_use(pdr, 1);

	pdr = kit_pdr_tunnel(r, 3, 255, IF_CP_FUNCTION, 2, 1);
	pdr->pdi.ni = RULES_NI_NONE;

	pdr = kit_pdr_tunnel(r, 4, 255, IF_ACCESS, 1, 3);
	kit_filter_set(pdr, "permit out 58 from ff02::2/128 to assigned");

	far = kit_far(r, 1, APPLY_BUFF | APPLY_NOCP, 0);
	far->has_parameters = false;
	far->has_bar = true;
	far->bar = 1;
	kit_far(r, 2, APPLY_FORW, IF_CORE);
	far = kit_far(r, 3, APPLY_FORW, IF_CP_FUNCTION);
	kit_tunnel_set(far, 1, "127.0.0.4");

	urr = rules_urr_add(r, 1);
	urr->method = 2;
	urr->triggers = 0x02;
	urr->threshold = (struct urr_volumes){.flags = 1, .total = 104857600};
	qer = rules_qer_add(r, 1);
	qer->has_mbr = true;
	qer->mbr_up_bps = 50000000;
	qer->mbr_down_bps = 100000000;
	qer->has_qfi = true;
	qer->qfi = 1;
	rules_bar_add(r, 1);
	return r;
}

// The gNB becomes known: FAR 1 forwards to it.
static inline void kit_open5gs_gnb(struct rules *r, uint32_t teid, const char *v4)
{
	struct far_rule *far = rules_far_lookup(r, 1);

	far->action = APPLY_FORW;
	far->has_parameters = true;
	far->destination = IF_ACCESS;
	kit_tunnel_set(far, teid, v4);
}

// A chain that shows what it was made of.
static inline uint64_t kit_chain(void *ctx, bool up, unsigned needs)
{
	return (up ? 1ull << 63 : 1ull << 62) | needs;
}

static const struct compile_ni kit_compile_nis[] = {
	{KIT_N6, UE_TO_UE_DIRECT}, {5, UE_TO_UE_ROUTE}, {COMPILE_IFACE_NONE, UE_TO_UE_DROP}};

static const struct compile_conf kit_conf = {
	.nis = kit_compile_nis,
	.n_nis = 3,
	.default_ni = KIT_NI,
	.default_iface = KIT_N6,
	.chain = kit_chain,
};
