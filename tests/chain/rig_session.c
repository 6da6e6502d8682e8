// Sessions and frames of the rig (rig.h): what the N4 half does for a session, without PFCP.
//
// The test's thread.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "pipeline/pipeline.h"
#include "rig.h"
#include "service/service.h"
#include "worker/mailbox.h"


static struct addr ue_v4(uint32_t n)
{
	struct prefix pool;

	if (prefix_parse(RIG_POOL, &pool) != 0)
		rig_die(RIG_POOL);
	// Past the dense pool's end on purpose for large n: those are looked up by hash.
	return addr_v4(rte_cpu_to_be_32(rte_be_to_cpu_32(pool.addr.v4) + n + 1));
}

static struct addr ue_v6(uint32_t n)
{
	struct prefix pool;
	uint64_t high;

	if (prefix_parse(RIG_POOL6, &pool) != 0)
		rig_die(RIG_POOL6);
	memcpy(&high, pool.addr.v6, sizeof(high));
	high = rte_cpu_to_be_64(rte_be_to_cpu_64(high) + n + 1);
	memcpy(pool.addr.v6, &high, sizeof(high));
	return pool.addr;
}

static void pdr_add(struct rules *rules, uint32_t n, uint16_t id, bool up, bool filtered)
{
	static const char text[] = "permit out 17 from any 5000 to assigned";
	struct pdr_rule *pdr = rules_pdr_add(rules, id);
	struct sdf sdf = {0};
	const char *why;

	if (!pdr)
		rig_die("no memory for rules");
	pdr->precedence = filtered ? 100 : 200;
	pdr->pdi.source = up ? IF_ACCESS : IF_CORE;
	pdr->pdi.ni = 0;
	pdr->outer_header_removal = up ? 6 : -1;
	pdr->tunnel = up ? 1 : 0;
	pdr->has_far = true;
	pdr->far = up ? 2 : 1;
	pdr->n_qers = 1;
	pdr->qers[0] = filtered ? 2 : 1;
	if (up) {
		pdr->pdi.has_fteid = true;
		pdr->pdi.fteid = (struct fteid){.choose = true, .has_v4 = true};
	} else {
		struct addr v6 = ue_v6(n);

		pdr->pdi.has_ue_ip = true;
		pdr->pdi.ue_ip = (struct ue_ip){.has_v4 = true, .has_v6 = true, .destination = true, .v6_prefix = 64};
		pdr->pdi.ue_ip.v4.s_addr = ue_v4(n).v4;
		memcpy(&pdr->pdi.ue_ip.v6, v6.v6, sizeof(v6.v6));
	}
	if (filtered && (sdf_parse(text, sizeof(text) - 1, &sdf, &why) != 0 ||
			 rules_pdr_filters_set(pdr, &sdf, 1) != 0))
		rig_die("filter");
}

struct rules *rig_rules_new(uint32_t n)
{
	struct rules *rules = rules_new();
	struct tunnel_rule *tunnel;
	struct addr gnb;

	if (!rules || addr_parse(RIG_GNB, &gnb) != 0)
		rig_die("no memory for rules");
	pdr_add(rules, n, 1, false, true);
	pdr_add(rules, n, 2, false, false);
	pdr_add(rules, n, 3, true, true);
	pdr_add(rules, n, 4, true, false);
	for (uint32_t id = 1; id <= 2; id++) {
		struct far_rule *far = rules_far_add(rules, id);
		struct qer_rule *qer = rules_qer_add(rules, id);

		far->action = APPLY_FORW;
		far->has_parameters = true;
		far->destination = id == 1 ? IF_ACCESS : IF_CORE;
		far->ni = 0;
		far->dscp = 0xff;
		if (id == 1) {
			far->ohc = OHC_GTPU_UDP_V4;
			far->teid = 0x1000 + n;
			far->v4.s_addr = gnb.v4;
		}
		qer->has_qfi = true;
		qer->qfi = (uint8_t)id;
	}
	tunnel = rules_tunnel_add(rules);
	tunnel->number = 1;
	tunnel->up = true;
	return rules;
}

static void image_fill(struct rig *rig, const struct rig_session *s, const struct compiled *compiled,
		       struct session_image *ret)
{
	*ret = (struct session_image){
		.slot = s->slot.index,
		.version = s->slot.version,
		.seid = s->slot.version,
		.teid = s->teid,
		.rules = s->rules,
		.ue_v4 = s->ue_v4.v4,
		.line_out = {.teid = rte_cpu_to_be_32(compiled->line.teid), .peer = s->peer},
	};
	memcpy(&ret->ue_v6, s->ue_v6.v6, sizeof(ret->ue_v6));
	for (unsigned i = 0; i < compiled->n_places; i++)
		ret->places[i] = (struct session_place){
			.teid = rte_cpu_to_be_32(compiled->places[i].teid),
			.peer = s->peer,
		};
}

void rig_session_add(struct rig *rig, uint32_t n, const struct rules *given, struct rig_session *ret)
{
	static const uint8_t ni_ifaces[] = {RIG_N6};
	const struct compile_conf conf = {
		.ni_ifaces = ni_ifaces,
		.n_nis = 1,
		.default_iface = RIG_N6,
		.chain = service_chain,
	};
	struct rules *own = given ? NULL : rig_rules_new(n);
	struct mail *mail = mail_new(MAIL_SESSION_SET, NULL, NULL);
	struct pfcp_fault fault = {0};
	struct compiled compiled;
	struct session_ref down;

	*ret = (struct rig_session){.gnb_teid = 0x1000 + n, .ue_v4 = ue_v4(n), .ue_v6 = ue_v6(n)};
	if (!mail || slots_take(rig->slots, &ret->slot) != 0)
		rig_die("no slot");
	ret->teid = slots_teid(rig->slots, &ret->slot);
	if (rules_compile(given ? given : own, &conf, &compiled, &fault) != 0)
		rig_die(fault.text);
	if (rule_arena_intern(&rig->arena, compiled.rs, &ret->rules) != 0)
		rig_die("arena full");
	if (compiled.has_line &&
	    neigh_tunnel_take(rig->control.neigh, compiled.line.v4.s_addr, &ret->peer) != 0)
		rig_die("no peer");
	image_fill(rig, ret, &compiled, &mail->session.image);
	mail_post(rig->control.workers[ret->slot.owner], mail);
	down = session_ref_make(ret->slot.owner, ret->slot.index, ret->slot.version);
	if (locator_ue_add(rig->locator, RIG_N6, &ret->ue_v4, down) != 0 ||
	    locator_ue_add(rig->locator, RIG_N6, &ret->ue_v6, down) != 0)
		rig_die("UE address taken");
	compiled_fini(&compiled);
	rules_free(own);
}

void rig_session_close(struct rig *rig, struct rig_session *s)
{
	struct mail *mail = mail_new(MAIL_SESSION_CLEAR, NULL, NULL);

	if (!mail || locator_ue_del(rig->locator, RIG_N6, &s->ue_v4) != 0 ||
	    locator_ue_del(rig->locator, RIG_N6, &s->ue_v6) != 0)
		rig_die("session is not there");
	mail->session.image.slot = s->slot.index;
	mail->session.image.version = s->slot.version;
	mail_post(rig->control.workers[s->slot.owner], mail);
}

void rig_session_forget(struct rig *rig, struct rig_session *s)
{
	rule_arena_release(&rig->arena, s->rules);
	if (s->peer != PEER_NONE)
		neigh_tunnel_give(rig->control.neigh, s->peer);
	slots_give(rig->slots, &s->slot);
}

void rig_session_del(struct rig *rig, struct rig_session *s)
{
	rig_session_close(rig, s);
	rig_settle(rig);
	rig_session_forget(rig, s);
}

// --- frames ----------------------------------------------------------------------------------------------

static struct addr addr_of(const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr) != 0)
		rig_die(text);
	return addr;
}

// The user packet between `src` and `dst` at `ip`. Gives its length.
static size_t user_write(uint8_t *ip, const struct addr *src, const struct addr *dst, uint16_t sport,
			 uint16_t dport, const struct rig_flow *flow)
{
	uint32_t l4_bytes = flow->proto == IPPROTO_TCP ? 20 : 8;
	uint32_t ip_bytes = flow->v6 ? IP6_BYTES : IP4_BYTES;
	uint8_t *l4 = ip + ip_bytes;

	memset(l4, 0, l4_bytes + flow->payload);
	be16_put(l4, sport);
	be16_put(l4 + 2, dport);
	if (flow->proto == IPPROTO_TCP)
		l4[12] = 5 << 4;
	else
		be16_put(l4 + 4, (uint16_t)(l4_bytes + flow->payload));
	for (unsigned i = 0; i < flow->payload; i++)
		l4[l4_bytes + i] = (uint8_t)i;
	if (flow->v6) {
		ip6_write((struct ip6_head *)ip, src->v6, dst->v6, flow->proto, flow->ttl,
			  l4_bytes + flow->payload);
	} else {
		struct ip4_head *ip4 = (struct ip4_head *)ip;

		ip4_write(ip4, src->v4, dst->v4, flow->proto, l4_bytes + flow->payload);
		ip4->ttl = flow->ttl;
		ip4->cksum = 0;
		ip4->cksum = ip4_cksum(ip4);
	}
	return ip_bytes + l4_bytes + flow->payload;
}

static void eth_to(const struct rig *rig, unsigned iface, bool v6, uint8_t *frame)
{
	const uint8_t from[ETH_MAC_BYTES] = {2, 0, 0, 0, 1, (uint8_t)(iface + 1)};

	eth_write(frame, rig->control.workers[0]->mac[iface].addr_bytes, from, 0,
		  v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
}

size_t rig_frame_up(const struct rig *rig, const struct rig_session *s, const struct rig_flow *flow,
		    uint8_t *frame)
{
	struct addr dn = addr_of(flow->v6 ? RIG_SERVER6 : RIG_SERVER);
	struct addr gnb = addr_of(RIG_GNB);
	struct addr upf = addr_of(RIG_N3_ADDR);
	struct addr ue = flow->v6 ? s->ue_v6 : s->ue_v4;
	uint32_t tunnel_bytes = flow->qfi == PKT_QFI_NONE ? GTPU_BYTES : GTPU_BYTES + 8;
	uint8_t *ip = frame + ETH_BYTES;
	uint8_t *udp = ip + IP4_BYTES;
	uint8_t *gtpu = udp + UDP_BYTES;
	size_t user_bytes;

	if (flow->v6)
		ue.v6[15] = 1;
	user_bytes = user_write(gtpu + tunnel_bytes, &ue, &dn, flow->ue_port, flow->dn_port, flow);
	gtpu_gpdu_write(gtpu, s->teid, (uint32_t)user_bytes, flow->qfi, false);
	if (flow->qfi != PKT_QFI_NONE)
		gtpu[GTPU_BYTES + GTPU_OPTION_BYTES + 1] = 0x10; // uplink PDU Session Information
	be16_put(udp, GTPU_PORT);
	be16_put(udp + 2, GTPU_PORT);
	be16_put(udp + 4, (uint16_t)(UDP_BYTES + tunnel_bytes + user_bytes));
	be16_put(udp + 6, 0);
	ip4_write((struct ip4_head *)ip, gnb.v4, upf.v4, IPPROTO_UDP,
		  (uint32_t)(UDP_BYTES + tunnel_bytes + user_bytes));
	eth_to(rig, RIG_N3, false, frame);
	return ETH_BYTES + IP4_BYTES + UDP_BYTES + tunnel_bytes + user_bytes;
}

size_t rig_frame_down(const struct rig *rig, const struct rig_session *s, const struct rig_flow *flow,
		      uint8_t *frame)
{
	struct addr dn = addr_of(flow->v6 ? RIG_SERVER6 : RIG_SERVER);
	struct addr ue = flow->v6 ? s->ue_v6 : s->ue_v4;

	if (flow->v6)
		ue.v6[15] = 1;
	eth_to(rig, RIG_N6, flow->v6, frame);
	return ETH_BYTES +
	       user_write(frame + ETH_BYTES, &dn, &ue, flow->dn_port, flow->ue_port, flow);
}
