// Sessions and frames of the rig (rig.h): what the N4 half does for a session, without PFCP.
//
// The test's thread.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "packet/cksum.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "pipeline/pipeline.h"
#include "rig.h"
#include "service/service.h"
#include "session/policy_rules.h"
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
		pdr->pdi.ue_ip = (struct ue_ip){
			.has_v4 = true, .has_v6 = true, .destination = true, .v6_prefix = 64};
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

struct mail *rig_session_mail(const struct rig_session *s, uint32_t rules,
			      struct session_place line_out)
{
	struct mail *mail = mail_new(MAIL_SESSION_SET, NULL, NULL);

	if (!mail)
		rig_die("no memory for a command");
	mail->session.image = (struct session_image){
		.slot = s->slot.index,
		.version = s->slot.version,
		.teid = s->teid,
		.rules = rules,
		.ue_v4 = s->ue_v4.v4,
		.line_out = line_out,
	};
	memcpy(&mail->session.image.ue_v6, s->ue_v6.v6, sizeof(mail->session.image.ue_v6));
	return mail;
}

static void image_fill(const struct rig_session *s, const struct compiled *compiled,
		       struct session_image *ret)
{
	*ret = (struct session_image){
		.slot = s->slot.index,
		.version = s->slot.version,
		.teid = s->teid,
		.rules = s->rules,
		.ue_v4 = compiled->ue_v4.s_addr,
		.line_out = {.teid = rte_cpu_to_be_32(compiled->line.teid), .peer = s->peer},
	};
	memcpy(&ret->ue_v6, &compiled->ue_v6, sizeof(ret->ue_v6));
	for (unsigned i = 0; i < compiled->n_places; i++)
		ret->places[i] = (struct session_place){
			.teid = rte_cpu_to_be_32(compiled->places[i].teid),
			.peer = s->place_peers[i],
		};
}

static struct addr n3_addr(const struct rig *rig)
{
	return rig_addr(rig->conf.v6 ? RIG_N3_ADDR6 : RIG_N3_ADDR);
}

static void far_to_v6(struct far_rule *far)
{
	const uint8_t *v4 = (const uint8_t *)&far->v4;
	char text[ADDR_STRLEN];
	struct addr addr;

	if (far->ohc != OHC_GTPU_UDP_V4 && far->ohc != OHC_UDP_V4)
		return;
	snprintf(text, sizeof(text), "fd00:%x::%x", v4[2], v4[3]);
	addr = rig_addr(text);
	far->ohc = far->ohc == OHC_UDP_V4 ? OHC_UDP_V6 : OHC_GTPU_UDP_V6;
	far->v4.s_addr = 0;
	memcpy(&far->v6, addr.v6, sizeof(addr.v6));
}

// The rules' tunnels become tunnels over IPv6.
static void rules_to_v6(struct rules *rules)
{
	for (unsigned i = 0; i < rules->n_fars; i++) {
		far_to_v6(&rules->fars[i]);
		for (unsigned k = 0; k < rules->fars[i].n_copies; k++)
			far_to_v6(&rules->fars[i].copies[k]);
	}
}

static void tunnel_take(struct rig *rig, struct rig_session *s, const struct tunnel_rule *rule,
			struct mail *mail)
{
	struct rig_tunnel *tunnel = &s->tunnels[s->n_tunnels++];
	uint32_t n = mail->session.n_tunnels++;
	struct addr local = n3_addr(rig);
	struct session_ref ref;

	if (s->n_tunnels > RIG_TUNNELS ||
	    slots_tunnel_take(rig->slots, s->slot.owner, &tunnel->record, &tunnel->teid) != 0)
		rig_die("no tunnel record");
	tunnel->given = rule->given;
	if (rule->given) {
		tunnel->teid = rule->teid;
		ref = session_ref_make(s->slot.owner,
				       slots_tunnel_index(rig->slots, tunnel->record),
				       tunnel->teid);
		if (slots_teid_in_use(rig->slots, tunnel->teid) ||
		    slots_teid_reserve(rig->slots, tunnel->teid, true) != 0 ||
		    locator_teid_add(rig->locator, tunnel->teid, &local, ref) != 0)
			rig_die("TEID taken");
	}
	mail->session.tunnels[n].record = tunnel->record;
	mail->session.tunnels[n].tunnel = (struct tunnel){
		.check = tunnel->teid,
		.slot = s->slot.index,
		.version = s->slot.version,
		.number = rule->number,
		.up = rule->up,
	};
}

// The tunnels of the rules: number 1 stands in the up line unless the SMF chose its TEID.
static void tunnels_take(struct rig *rig, struct rig_session *s, const struct rules *rules,
			 struct mail *mail)
{
	for (unsigned i = 0; i < rules->n_tunnels; i++)
		if (rules->tunnels[i].number != 1 || rules->tunnels[i].given)
			tunnel_take(rig, s, &rules->tunnels[i], mail);
		else
			s->teid = slots_teid(rig->slots, &s->slot);
}

// As N4 has it: a session is of use though no route leads to its SMF.
static uint16_t peer_take(struct rig *rig, const struct tunnel_out *to)
{
	const struct addr *end = to->v4.family == ADDR_NONE ? &to->v6 : &to->v4;
	uint16_t peer = PEER_NONE;
	int rc = to->udp_port
			 ? neigh_udp_take(rig->control.neigh, to->iface, end, to->udp_port, &peer)
			 : neigh_tunnel_take(rig->control.neigh, end, &peer);

	if (rc != 0 && !(rc == -ENETUNREACH && to->iface_value == IF_CP_FUNCTION))
		rig_die("no peer");
	if (rc == 0 && to->iface_value != IF_CP_FUNCTION && !to->udp_port)
		neigh_tunnel_watch(rig->control.neigh, peer);
	return peer;
}

static void peers_take(struct rig *rig, struct rig_session *s, const struct compiled *compiled)
{
	if (compiled->has_line)
		s->peer = peer_take(rig, &compiled->line);
	for (unsigned i = 0; i < compiled->n_places; i++)
		s->place_peers[i] = peer_take(rig, &compiled->places[i]);
}

// Compiles the rules and takes what they need.
static void rules_take(struct rig *rig, struct rig_session *s, struct rules *rules,
		       struct compiled *compiled)
{
	static const uint8_t policy_ifaces[] = {RIG_N6, RIG_N6};
	struct compile_ni nis[RIG_NIS];
	const struct compile_conf conf = {
		.nis = nis,
		.policy_ifaces = policy_ifaces,
		.n_nis = RIG_NIS,
		.default_iface = RIG_N6,
		.chain = rig->conf.chain,
	};
	struct pfcp_fault fault = {0};

	for (unsigned i = 0; i < RIG_NIS; i++)
		nis[i] = (struct compile_ni){.iface = RIG_N6,
					     .ue_to_ue = (uint8_t)rig->conf.ue_to_ue,
					     .redirects = rig->conf.redirects,
					     .services = i ? rig->conf.nis[i - 1].services
							   : rig->conf.services};
	rules_places_assign(rules);
	if (rig->conf.v6)
		rules_to_v6(rules);
	if (rules_compile(rules, &conf, compiled, &fault) != 0)
		rig_die(fault.text);
	if (rule_arena_intern(&rig->arena, compiled->rs, &s->rules) != 0)
		rig_die("arena full");
	peers_take(rig, s, compiled);
}

static void peers_give(struct rig *rig, const struct rig_session *s)
{
	if (s->peer != PEER_NONE)
		neigh_tunnel_give(rig->control.neigh, s->peer);
	for (unsigned i = 0; i < SESSION_PLACES; i++)
		if (s->place_peers[i] != PEER_NONE)
			neigh_tunnel_give(rig->control.neigh, s->place_peers[i]);
}

void rig_session_add(struct rig *rig, uint32_t n, const struct rules *given,
		     struct rig_session *ret)
{
	struct rules *rules = given ? rules_clone(given) : rig_rules_new(n);
	struct mail *mail = mail_new(MAIL_SESSION_SET, NULL, NULL);
	struct compiled compiled;
	struct session_ref down;

	*ret = (struct rig_session){.gnb_teid = 0x1000 + n, .ue_v4 = ue_v4(n), .ue_v6 = ue_v6(n)};
	if (!mail || slots_take(rig->slots, &ret->slot) != 0)
		rig_die("no slot");
	rules_take(rig, ret, rules, &compiled);
	tunnels_take(rig, ret, rules, mail);
	image_fill(ret, &compiled, &mail->session.image);
	mail->session.policy_new = true;
	if (policy_of_rules(rules, &mail->session.policy) != 0)
		rig_die("no memory for meters and usage");
	mail_post(rig->control.workers[ret->slot.owner], mail);
	down = session_ref_make(ret->slot.owner, ret->slot.index, ret->slot.version);
	if (locator_ue_add(rig->locator, RIG_N6, &ret->ue_v4, down) != 0 ||
	    locator_ue_add(rig->locator, RIG_N6, &ret->ue_v6, down) != 0)
		rig_die("UE address taken");
	compiled_fini(&compiled);
	rules_free(rules);
}

static void policy_back(struct mail *mail, void *ctx)
{
	policy_free(mail->session.policy);
	free(mail);
}

// The peers of the old rules are kept until the owner has switched, as N4 keeps them.
void rig_session_change(struct rig *rig, struct rig_session *s, const struct rules *given)
{
	struct rules *rules = rules_clone(given);
	struct mail *mail = mail_new(MAIL_SESSION_SET, policy_back, NULL);
	struct rig_session old = *s;
	struct compiled compiled;

	if (!mail || !rules)
		rig_die("no memory for rules");
	s->peer = PEER_NONE;
	memset(s->place_peers, 0, sizeof(s->place_peers));
	rules_take(rig, s, rules, &compiled);
	image_fill(s, &compiled, &mail->session.image);
	mail->session.policy_new = true;
	if (policy_of_rules(rules, &mail->session.policy) != 0)
		rig_die("no memory for meters and usage");
	mail_post(rig->control.workers[s->slot.owner], mail);
	rig_settle(rig);
	rule_arena_release(&rig->arena, old.rules);
	peers_give(rig, &old);
	compiled_fini(&compiled);
	rules_free(rules);
}

static void usage_left(struct rig_usage *sum, const struct policy *policy)
{
	for (unsigned i = 0; policy && i < policy->form.n_usages; i++) {
		struct usage_counts counts = usage_counts_of(policy_usage(policy, i));

		for (unsigned side = 0; side < SIDES; side++) {
			sum->bytes[side] += counts.bytes[side];
			sum->packets[side] += counts.packets[side];
		}
	}
}

static void session_ended(struct mail *mail, void *ctx)
{
	struct rig *rig = ctx;
	struct session_counts *ended = &rig->ended;

	if (mail->result != 0)
		rig_die("the worker knows no such session");
	ended->up_packets += mail->session.counts.up_packets;
	ended->up_bytes += mail->session.counts.up_bytes;
	ended->down_packets += mail->session.counts.down_packets;
	ended->down_bytes += mail->session.counts.down_bytes;
	usage_left(&rig->usage, mail->session.policy);
	policy_free(mail->session.policy);
	free(mail);
}

void rig_session_close(struct rig *rig, struct rig_session *s)
{
	struct mail *mail = mail_new(MAIL_SESSION_CLEAR, session_ended, rig);
	struct addr local = n3_addr(rig);

	if (!mail || locator_ue_del(rig->locator, RIG_N6, &s->ue_v4) != 0 ||
	    locator_ue_del(rig->locator, RIG_N6, &s->ue_v6) != 0)
		rig_die("session is not there");
	mail->session.image.slot = s->slot.index;
	mail->session.image.version = s->slot.version;
	for (unsigned i = 0; i < s->n_tunnels; i++) {
		mail->session.tunnels[mail->session.n_tunnels++].record = s->tunnels[i].record;
		if (s->tunnels[i].given &&
		    locator_teid_del(rig->locator, s->tunnels[i].teid, &local) != 0)
			rig_die("TEID is not there");
	}
	mail_post(rig->control.workers[s->slot.owner], mail);
}

void rig_session_forget(struct rig *rig, struct rig_session *s)
{
	rule_arena_release(&rig->arena, s->rules);
	peers_give(rig, s);
	for (unsigned i = 0; i < s->n_tunnels; i++) {
		if (s->tunnels[i].given)
			slots_teid_reserve(rig->slots, s->tunnels[i].teid, false);
		slots_tunnel_give(rig->slots, s->slot.owner, s->tunnels[i].record);
	}
	slots_give(rig->slots, &s->slot);
}

void rig_session_del(struct rig *rig, struct rig_session *s)
{
	rig_session_close(rig, s);
	rig_settle(rig);
	rig_session_forget(rig, s);
}

// --- frames ----------------------------------------------------------------------------------------------

// The user packet between `src` and `dst` at `ip`. Gives its length.
static size_t user_write(uint8_t *ip, const struct addr *src, const struct addr *dst,
			 uint16_t sport, uint16_t dport, const struct rig_flow *flow)
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
		ip[0] |= flow->tos >> 4;
		ip[1] |= (uint8_t)(flow->tos << 4);
	} else {
		struct ip4_head *ip4 = (struct ip4_head *)ip;

		ip4_write(ip4, src->v4, dst->v4, flow->proto, l4_bytes + flow->payload);
		ip4->ttl = flow->ttl;
		ip4->tos = flow->tos;
		ip4->cksum = 0;
		ip4->cksum = ip4_cksum(ip4);
	}
	return ip_bytes + l4_bytes + flow->payload;
}

// Gives where the packet starts.
static uint32_t eth_to(const struct rig *rig, unsigned iface, bool v6, uint8_t *frame)
{
	const uint8_t from[ETH_MAC_BYTES] = {2, 0, 0, 0, 1, (uint8_t)(iface + 1)};

	return eth_write(frame, rig->control.workers[0]->mac[iface].addr_bytes, from,
			 rig->conf.vlans[iface], v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
}

uint32_t rig_gtpu_at(const struct rig *rig)
{
	unsigned tag = rig->conf.vlans[RIG_N3] ? ETH_TAG_BYTES : 0;
	unsigned ip = rig->conf.v6 ? IP6_BYTES : IP4_BYTES;

	return ETH_BYTES + tag + ip + UDP_BYTES;
}

uint32_t rig_user_at(const struct rig *rig, uint8_t qfi)
{
	return rig_gtpu_at(rig) + GTPU_BYTES + (qfi == PKT_QFI_NONE ? 0 : 8);
}

size_t rig_outer_write(const struct rig *rig, uint16_t sport, size_t bytes, uint8_t *frame)
{
	uint8_t *ip = frame + eth_to(rig, RIG_N3, rig->conf.v6, frame);
	struct addr gnb = rig_addr(rig->conf.v6 ? RIG_GNB6 : RIG_GNB), n3 = n3_addr(rig);
	uint8_t *udp = frame + rig_gtpu_at(rig) - UDP_BYTES;
	uint16_t udp_bytes = (uint16_t)(UDP_BYTES + bytes);

	be16_put(udp, sport);
	be16_put(udp + 2, GTPU_PORT);
	be16_put(udp + 4, udp_bytes);
	be16_put(udp + 6, 0);
	if (rig->conf.v6)
		ip6_write((struct ip6_head *)ip, gnb.v6, n3.v6, IPPROTO_UDP, 64, udp_bytes);
	else
		ip4_write((struct ip4_head *)ip, gnb.v4, n3.v4, IPPROTO_UDP, udp_bytes);
	return rig_gtpu_at(rig) + bytes;
}

// Puts the headers of an uplink G-PDU before the user packet, which is in its place behind them. Gives the
// frame's length.
static size_t tunnel_write(const struct rig *rig, const struct rig_session *s, uint8_t qfi,
			   size_t user_bytes, uint8_t *frame)
{
	uint8_t *gtpu = frame + rig_gtpu_at(rig);

	gtpu_gpdu_write(gtpu, s->teid, (uint32_t)user_bytes, qfi, false);
	if (qfi != PKT_QFI_NONE)
		gtpu[GTPU_BYTES + GTPU_OPTION_BYTES + 1] = 0x10; // uplink PDU Session Information
	return rig_outer_write(rig, GTPU_PORT,
			       rig_user_at(rig, qfi) - rig_gtpu_at(rig) + user_bytes, frame);
}

size_t rig_frame_solicit(const struct rig *rig, const struct rig_session *s, const char *source,
			 uint8_t *frame)
{
	struct addr src = rig_addr(source), all_routers = rig_addr("ff02::2");
	uint8_t *ip = frame + rig_user_at(rig, 1);
	uint8_t *icmp = ip + IP6_BYTES;
	uint16_t cksum;

	ip6_write((struct ip6_head *)ip, src.v6, all_routers.v6, IPPROTO_ICMPV6, 255, 8);
	memset(icmp, 0, 8);
	icmp[0] = 133;
	cksum = cksum_finish(cksum_pseudo6(src.v6, all_routers.v6, IPPROTO_ICMPV6, 8) +
			     cksum_bytes(icmp, 8));
	memcpy(icmp + 2, &cksum, sizeof(cksum));
	return tunnel_write(rig, s, 1, IP6_BYTES + 8, frame);
}

static struct addr dn_of(const struct rig_flow *flow)
{
	return rig_addr(flow->dn ? flow->dn : flow->v6 ? RIG_SERVER6 : RIG_SERVER);
}

size_t rig_frame_up(const struct rig *rig, const struct rig_session *s, const struct rig_flow *flow,
		    uint8_t *frame)
{
	struct addr dn = dn_of(flow);
	struct addr ue = flow->v6 ? s->ue_v6 : s->ue_v4;
	size_t user_bytes;

	if (flow->v6)
		ue.v6[15] = 1;
	user_bytes = user_write(frame + rig_user_at(rig, flow->qfi), &ue, &dn, flow->ue_port,
				flow->dn_port, flow);
	return tunnel_write(rig, s, flow->qfi, user_bytes, frame);
}

size_t rig_frame_down(const struct rig *rig, const struct rig_session *s,
		      const struct rig_flow *flow, uint8_t *frame)
{
	struct addr dn = dn_of(flow);
	struct addr ue = flow->v6 ? s->ue_v6 : s->ue_v4;

	if (flow->v6)
		ue.v6[15] = 1;
	uint32_t at = eth_to(rig, RIG_N6, flow->v6, frame);

	return at + user_write(frame + at, &dn, &ue, flow->dn_port, flow->ue_port, flow);
}

size_t rig_frame_error(const struct rig *rig, uint32_t teid, bool says, uint8_t *frame)
{
	uint32_t at = eth_to(rig, RIG_N3, false, frame);
	uint8_t *udp = frame + at + IP4_BYTES;
	struct addr gnb = rig_addr(RIG_GNB);
	uint32_t bytes = UDP_BYTES + GTPU_BYTES;

	memset(udp, 0, UDP_BYTES + GTPU_BYTES);
	udp[UDP_BYTES] = GTPU_VERSION;
	udp[UDP_BYTES + 1] = GTPU_ERROR_INDICATION;
	if (says)
		bytes = UDP_BYTES +
			gtpu_error_indication_build(udp + UDP_BYTES, teid, &gnb, GTPU_PORT);
	be16_put(udp, GTPU_PORT);
	be16_put(udp + 2, GTPU_PORT);
	be16_put(udp + 4, (uint16_t)bytes);
	ip4_write((struct ip4_head *)(frame + at), gnb.v4, rig_addr(RIG_N3_ADDR).v4, IPPROTO_UDP,
		  bytes);
	return at + IP4_BYTES + bytes;
}
