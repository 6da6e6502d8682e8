// What leaves other than by the ordinary ways: in UDP tunnels towards N6, marked, or as a duplicate. Over IPv4 and IPv6,
// for users of both families, by one worker and by two, each by handoff too.
//
// What is expected is read byte by byte from what the headers must say; the user packet is compared with what was sent.

#include <errno.h>

#include "chain.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"

#define PAYLOAD 33
#define CS1 (8 << 2)
#define ECN 1

struct setting {
	struct rig *rig;
	bool over6, v6, up;
	unsigned via;
};

static void each_setting(void (*test)(const struct setting *s))
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
		for (unsigned i = 0; i < 8 * n_workers; i++) {
			const struct setting s = {.rig = chain_rig_over(n_workers, i & 1),
						  .over6 = i & 1,
						  .v6 = i & 2,
						  .up = i & 4,
						  .via = i / 8};

			test(&s);
			rig_end(s.rig);
		}
}

// As the rig writes the rules' addresses where its tunnels are over IPv6.
static struct addr end_of(const struct setting *s, const char *text)
{
	struct addr addr = rig_addr(text);
	const uint8_t *v4 = (const uint8_t *)&addr.v4;
	char v6[ADDR_STRLEN];

	if (!s->over6)
		return addr;
	snprintf(v6, sizeof(v6), "fd00:%x::%x", v4[2], v4[3]);
	return rig_addr(v6);
}

static void session_new(const struct setting *s, struct rules *rules, struct rig_session *ret)
{
	rig_session_add(s->rig, 0, rules, ret);
	rules_free(rules);
	rig_resolve(s->rig);
}

// A packet of the flow that sessions are sent here: its frame, and the user packet in it.
struct sent {
	uint8_t frame[RIG_FRAME_MAX];
	const uint8_t *user;
	uint32_t user_bytes;
};

static void send_one(const struct setting *s, const struct rig_session *session, struct sent *ret)
{
	const struct rig_flow flow = {.proto = IPPROTO_UDP,
				      .ue_port = 7,
				      .dn_port = 53,
				      .ttl = 9,
				      .tos = CS1 | ECN,
				      .payload = PAYLOAD,
				      .qfi = 5,
				      .v6 = s->v6};
	size_t bytes = chain_frame(s->rig, session, s->up, &flow, ret->frame);
	uint32_t head = s->up ? rig_user_at(s->rig, flow.qfi) : ETH_BYTES;

	ret->user = ret->frame + head;
	ret->user_bytes = (uint32_t)bytes - head;
	rig_send(s->rig, s->up ? RIG_N3 : RIG_N6, s->via, ret->frame, bytes);
	rig_settle(s->rig);
}

// The user packet after one hop.
static void hop(const struct setting *s, uint8_t *user)
{
	if (s->v6)
		((struct ip6_head *)user)->hops--;
	else
		ip4_ttl_dec((struct ip4_head *)user);
}

// A UDP datagram from the interface to `end` with this payload, checked. Gives where the payload is.
static const uint8_t *check_udp(const struct setting *s, const uint8_t *frame, size_t bytes,
				const char *from, const struct addr *end, uint8_t tos,
				uint16_t port)
{
	const struct ip4_head *ip4 = (const void *)(frame + ETH_BYTES);
	const struct ip6_head *ip6 = (const void *)(frame + ETH_BYTES);
	uint32_t ip_bytes = s->over6 ? IP6_BYTES : IP4_BYTES;
	const struct udp_head *udp = (const void *)(frame + ETH_BYTES + ip_bytes);
	uint32_t udp_bytes = (uint32_t)bytes - ETH_BYTES - ip_bytes;
	uint64_t sum = cksum_bytes(udp, udp_bytes);

	CU_ASSERT_FATAL(bytes > ETH_BYTES + ip_bytes + UDP_BYTES);
	if (s->over6) {
		CU_ASSERT_EQUAL(be16_get(frame + 12), ETH_TYPE_IP6);
		CU_ASSERT_EQUAL(rte_be_to_cpu_32(ip6->flow), 0x60000000u | (uint32_t)tos << 20);
		CU_ASSERT_EQUAL(rte_be_to_cpu_16(ip6->payload), udp_bytes);
		CU_ASSERT_EQUAL(ip6->next, IPPROTO_UDP);
		CU_ASSERT_TRUE(ip6_eq(ip6->src, rig_addr(from).v6) && ip6_eq(ip6->dst, end->v6));
		sum += cksum_pseudo6(ip6->src, ip6->dst, IPPROTO_UDP, udp_bytes);
		CU_ASSERT_EQUAL(cksum_fold(sum), 0xffff);
	} else {
		CU_ASSERT_EQUAL(be16_get(frame + 12), ETH_TYPE_IP4);
		CU_ASSERT_EQUAL(ip4_check(ip4, IP4_BYTES + udp_bytes), DROP_NONE);
		CU_ASSERT_EQUAL(rte_be_to_cpu_16(ip4->total), IP4_BYTES + udp_bytes);
		CU_ASSERT_EQUAL(ip4->tos, tos);
		CU_ASSERT_EQUAL(ip4->proto, IPPROTO_UDP);
		CU_ASSERT_TRUE(ip4->src == rig_addr(from).v4 && ip4->dst == end->v4);
		CU_ASSERT_EQUAL(udp->cksum, 0);
	}
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->sport), port);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->dport), port);
	CU_ASSERT_EQUAL(rte_be_to_cpu_16(udp->bytes), udp_bytes);
	return (const uint8_t *)(udp + 1);
}

static const char *n6_addr(const struct setting *s)
{
	return s->over6 ? RIG_N6_ADDR6 : RIG_N6_ADDR;
}

// The next frame that leaves by N6 is such a datagram, and this packet is in it.
static void expect_udp(const struct setting *s, const char *end, uint8_t tos, uint16_t port,
		       const uint8_t *user, uint32_t user_bytes)
{
	struct addr to = end_of(s, end);
	uint8_t out[RIG_FRAME_MAX];
	size_t bytes = rig_recv(s->rig, RIG_N6, out);
	const uint8_t *payload = check_udp(s, out, bytes, n6_addr(s), &to, tos, port);

	CU_ASSERT_EQUAL_FATAL(out + bytes - payload, user_bytes);
	CU_ASSERT_EQUAL(memcmp(payload, user, user_bytes), 0);
}

// --- UDP tunnels, marks ----------------------------------------------------------------------------------

static void udp_tunnel_in(const struct setting *s)
{
	uint8_t after[RIG_FRAME_MAX];
	struct rig_session session;
	struct sent sent;

	session_new(s, rig_variant_new(RIG_UDP, 0), &session);
	send_one(s, &session, &sent);
	memcpy(after, sent.user, sent.user_bytes);
	hop(s, after);
	if (s->up) // the DSCP is the user's, its ECN bits are not
		expect_udp(s, RIG_UDP_END, CS1, RIG_UDP_PORT, after, sent.user_bytes);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N3), s->up ? 0 : 1);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N6), 0);
	rig_session_del(s->rig, &session);
	CU_ASSERT_EQUAL(s->up ? s->rig->ended.up_bytes : s->rig->ended.down_bytes, sent.user_bytes);
}

static void udp_tunnels(void)
{
	each_setting(udp_tunnel_in);
}

// A tunnel's headers have no room in the longest packet that fits alone.
static void udp_too_big(void)
{
	struct rig_flow flow = {.proto = IPPROTO_UDP, .dn_port = 53, .ttl = 9, .qfi = 5};

	for (unsigned over6 = 0; over6 < 2; over6++) {
		struct rig *rig = chain_rig_over(1, over6);
		struct rules *rules = rig_variant_new(RIG_UDP, 0);
		struct rig_session session;

		rig_session_add(rig, 0, rules, &session);
		rules_free(rules);
		rig_resolve(rig);
		flow.payload = 1500 - IP4_BYTES - UDP_BYTES - (over6 ? 48 : 28);
		CU_ASSERT_EQUAL(chain_forwarded(rig, &session, true, &flow, 0), 1);
		flow.payload++;
		CU_ASSERT_EQUAL(chain_forwarded(rig, &session, true, &flow, 0), 0);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_too_big), 1);
		rig_session_del(rig, &session);
		rig_end(rig);
	}
}

static int take(struct rig *rig, const char *text, uint16_t port, uint16_t *ret_peer)
{
	struct addr addr = rig_addr(text);

	return neigh_udp_take(rig->control.neigh, RIG_N6, &addr, port, ret_peer);
}

// One peer for each far end and port; none for what the interface cannot reach, nor for the UPF itself. All are given
// back.
static void udp_peers(void)
{
	static const char *const own[] = {RIG_N6_ADDR, RIG_N6_ADDR6, RIG_N3_ADDR, RIG_N4_ADDR};
	struct rig_conf conf = {.n_workers = 2, .n_slots = 4, .no_gateway = true};
	struct rig *rig = rig_new(&conf);
	unsigned used = neigh_peers_used(rig->control.neigh);
	uint16_t a, b, c, d, none = PEER_NONE;

	for (unsigned i = 0; i < RTE_DIM(own); i++)
		CU_ASSERT_EQUAL(take(rig, own[i], 5, &none), -ENETUNREACH);
	CU_ASSERT_EQUAL(take(rig, RIG_UDP_END, 5, &none), -ENETUNREACH);
	CU_ASSERT_EQUAL(take(rig, "2001:db8::77", 5, &none), -ENETUNREACH);
	CU_ASSERT_EQUAL(none, PEER_NONE);
	CU_ASSERT_EQUAL_FATAL(take(rig, RIG_LI_UDP, 5, &a), 0);
	CU_ASSERT_EQUAL_FATAL(take(rig, RIG_LI_UDP, 6, &b), 0);
	CU_ASSERT_EQUAL_FATAL(take(rig, RIG_LI_UDP, 5, &c), 0);
	CU_ASSERT_EQUAL_FATAL(take(rig, "fd00:6::5", 5, &d), 0);
	CU_ASSERT(a == c && a != b && a != d && b != d);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(neigh_peers_used(rig->control.neigh), used + 3);
	neigh_tunnel_give(rig->control.neigh, a);
	neigh_tunnel_give(rig->control.neigh, b);
	neigh_tunnel_give(rig->control.neigh, c);
	neigh_tunnel_give(rig->control.neigh, d);
	rig_settle(rig);
	CU_ASSERT_EQUAL(neigh_peers_used(rig->control.neigh), used);
	rig_end(rig);
}

static void mark_in(const struct setting *s)
{
	uint8_t out[RIG_FRAME_MAX], after[RIG_FRAME_MAX];
	struct rig_session session;
	struct sent sent;

	session_new(s, rig_variant_new(RIG_MARK, 0), &session);
	send_one(s, &session, &sent);
	memcpy(after, sent.user, sent.user_bytes);
	hop(s, after);
	if (s->v6) {
		be16_put(after, 0x6000 | (46 << 2 | ECN) << 4);
	} else {
		struct ip4_head *ip4 = (struct ip4_head *)after;

		ip4->tos = 46 << 2 | ECN;
		ip4->cksum = 0;
		ip4->cksum = ip4_cksum(ip4);
	}
	if (s->up) {
		CU_ASSERT_EQUAL_FATAL(rig_recv(s->rig, RIG_N6, out), ETH_BYTES + sent.user_bytes);
		CU_ASSERT_EQUAL(memcmp(out + ETH_BYTES, after, sent.user_bytes), 0);
	}
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N3), s->up ? 0 : 1);
	rig_session_del(s->rig, &session);
}

static void marks(void)
{
	each_setting(mark_in);
}

// --- forwarding policies ---------------------------------------------------------------------------------

// Answers what was asked by N6, each neighbour with its own link address: 2, and the last octets of its address.
static void resolve_n6(struct rig *rig)
{
	uint8_t question[RIG_FRAME_MAX], answer[RIG_FRAME_MAX];
	size_t bytes;

	rig_settle(rig);
	while ((bytes = rig_recv(rig, RIG_N6, question)) > 0) {
		const uint8_t *target = question + ETH_BYTES + 24; // ARP's
		uint8_t mac[ETH_MAC_BYTES] = {2, 0, 0, 0, 6};

		if (be16_get(question + 12) == ETH_TYPE_IP6)
			target = question + ETH_BYTES + IP6_BYTES + 8 + 12;
		mac[5] = target[3];
		bytes = rig_answer(question, mac, answer);
		if (bytes)
			rig_send(rig, RIG_N6, 0, answer, bytes);
		rig_settle(rig);
	}
}

// The next frame that leaves by N6 goes to the neighbour with this last octet, and holds the packet.
static void expect_hop(const struct setting *s, uint8_t octet, const uint8_t *user,
		       uint32_t user_bytes)
{
	const uint8_t mac[ETH_MAC_BYTES] = {2, 0, 0, 0, 6, octet};
	uint8_t out[RIG_FRAME_MAX];

	CU_ASSERT_EQUAL_FATAL(rig_recv(s->rig, RIG_N6, out), ETH_BYTES + user_bytes);
	CU_ASSERT_EQUAL(memcmp(out, mac, sizeof(mac)), 0);
	CU_ASSERT_EQUAL(memcmp(out + ETH_BYTES, user, user_bytes), 0);
}

// Policy 1 names a neighbour for each family, policy 2, of the duplicate, for IPv4 alone.
static void policy_in(unsigned n_workers, unsigned via, bool v6)
{
	const struct rig_conf conf = {.n_workers = n_workers, .n_slots = 64, .policies = true};
	const struct setting s = {.rig = rig_new(&conf), .v6 = v6, .up = true, .via = via};
	struct rules *rules = rig_variant_new(RIG_POLICY, 0);
	static const char *const own[] = {RIG_N6_ADDR, RIG_N6_ADDR6};
	struct rig_flow flow = {.proto = IPPROTO_UDP, .dn_port = 53, .ttl = 9, .v6 = v6, .qfi = 1};
	uint8_t after[RIG_FRAME_MAX];
	struct rig_session session;
	struct sent sent;

	rig_session_add(s.rig, 0, rules, &session);
	rules_free(rules);
	resolve_n6(s.rig);
	send_one(&s, &session, &sent);
	memcpy(after, sent.user, sent.user_bytes);
	hop(&s, after);
	expect_hop(&s, v6 ? 2 : 8, sent.user, sent.user_bytes);
	expect_hop(&s, 7, after, sent.user_bytes);
	CU_ASSERT_EQUAL(chain_drain(s.rig, RIG_N6), 0);
	// The way is no way to the UPF itself, nor to groups: the packet and its duplicate are dropped.
	flow.dn = own[v6];
	CU_ASSERT_EQUAL(chain_forwarded(s.rig, &session, true, &flow, via), 0);
	CU_ASSERT_EQUAL(rig_drops(s.rig, DROP_own_address), 2);
	flow.dn = v6 ? "ff02::1" : "224.0.0.9";
	CU_ASSERT_EQUAL(chain_forwarded(s.rig, &session, true, &flow, via), 0);
	CU_ASSERT_EQUAL(rig_drops(s.rig, DROP_not_routable), 2);
	rig_session_del(s.rig, &session);
	rig_end(s.rig);
}

static void policies(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
		for (unsigned via = 0; via < n_workers; via++) {
			policy_in(n_workers, via, false);
			policy_in(n_workers, via, true);
		}
}

// While the neighbour's link address is not known the packets wait for it.
static void policy_waits(void)
{
	const struct rig_conf conf = {.n_workers = 1, .n_slots = 64, .policies = true};
	const struct rig_flow flow = {.proto = IPPROTO_UDP, .dn_port = 53, .ttl = 9, .qfi = 1};
	struct rules *rules = rig_variant_new(RIG_POLICY, 0);
	struct rig *rig = rig_new(&conf);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session session;

	rig_session_add(rig, 0, rules, &session);
	rules_free(rules);
	rig_send(rig, RIG_N3, 0, frame, rig_frame_up(rig, &session, &flow, frame));
	rig_resolve(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 2);
	rig_session_del(rig, &session);
	rig_end(rig);
}

// --- duplicates ------------------------------------------------------------------------------------------

// The two duplicates of RIG_COPIES are on their way, as the packet came in, and nothing else by N3.
static void expect_copies(const struct setting *s, const struct sent *sent)
{
	struct addr li = end_of(s, RIG_LI);
	uint8_t out[RIG_FRAME_MAX];
	size_t bytes = rig_recv(s->rig, RIG_N3, out);
	const char *from = s->over6 ? RIG_N3_ADDR6 : RIG_N3_ADDR;
	const uint8_t *gtpu = check_udp(s, out, bytes, from, &li, CS1, GTPU_PORT);

	CU_ASSERT_EQUAL_FATAL(out + bytes - gtpu, GTPU_BYTES + sent->user_bytes);
	CU_ASSERT_EQUAL(be32_get(gtpu), 0x30ff0000u + sent->user_bytes); // G-PDU, no extension
	CU_ASSERT_EQUAL(be32_get(gtpu + 4), RIG_LI_TEID);
	CU_ASSERT_EQUAL(memcmp(gtpu + GTPU_BYTES, sent->user, sent->user_bytes), 0);
	expect_udp(s, RIG_LI_UDP, 10 << 2, RIG_LI_PORT, sent->user, sent->user_bytes);
}

static void copies_in(const struct setting *s)
{
	struct rig_session session;
	struct sent sent;

	session_new(s, rig_variant_new(RIG_COPIES, 0), &session);
	for (unsigned i = 1; i <= 3; i++) {
		send_one(s, &session, &sent);
		expect_copies(s, &sent);
		CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N3), s->up ? 0 : 1);
		CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N6), s->up ? 1 : 0);
		CU_ASSERT_EQUAL(rig_count(s->rig, COUNTER_copies), 2 * i);
		CU_ASSERT_EQUAL(rig_count(s->rig, s->up ? COUNTER_up : COUNTER_down), i);
	}
	rig_session_del(s->rig, &session);
	CU_ASSERT_EQUAL(s->rig->ended.up_packets + s->rig->ended.down_packets, 3);
}

static void copies(void)
{
	each_setting(copies_in);
}

static void copies_drop_in(const struct setting *s)
{
	struct rig_session session;
	struct sent sent;

	session_new(s, rig_variant_new(RIG_COPIES_DROP, 0), &session);
	send_one(s, &session, &sent);
	expect_copies(s, &sent);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N3) + chain_drain(s->rig, RIG_N6), 0);
	CU_ASSERT_EQUAL(rig_drops(s->rig, DROP_far_drop), 1);
	rig_session_del(s->rig, &session);
	CU_ASSERT_EQUAL(s->rig->ended.up_packets + s->rig->ended.down_packets, 0);
}

static void copies_of_dropped(void)
{
	each_setting(copies_drop_in);
}

// What is held has its duplicates when it comes, and none when it leaves by rules that duplicate as well.
static void copies_held_in(const struct setting *s)
{
	struct rules *forward = rig_variant_new(RIG_COPIES, 0);
	struct rig_session session;
	struct sent sent;

	session_new(s, rig_variant_new(RIG_COPIES_HELD, 0), &session);
	send_one(s, &session, &sent);
	expect_copies(s, &sent);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N3) + chain_drain(s->rig, RIG_N6), 0);
	CU_ASSERT_EQUAL(rig_drops(s->rig, DROP_far_buffer), s->up ? 1 : 0);
	CU_ASSERT_EQUAL(rig_count(s->rig, COUNTER_held), s->up ? 0 : 1);
	rig_session_change(s->rig, &session, forward);
	rules_free(forward);
	rig_resolve(s->rig);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N3), s->up ? 0 : 1);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N6), 0);
	CU_ASSERT_EQUAL(rig_count(s->rig, COUNTER_copies), 2);
	rig_session_del(s->rig, &session);
}

static void copies_of_held(void)
{
	each_setting(copies_held_in);
}

// What a rate stops has no duplicates, as what a closed gate stops.
static void copies_gate_in(const struct setting *s)
{
	struct rules *rules = rig_variant_new(RIG_COPIES, 0);
	struct rig_session session;
	struct sent sent;

	for (unsigned i = 0; i < rules->n_qers; i++)
		rules->qers[i].gate_up = rules->qers[i].gate_down = 1;
	session_new(s, rules, &session);
	send_one(s, &session, &sent);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N3) + chain_drain(s->rig, RIG_N6), 0);
	CU_ASSERT_EQUAL(rig_drops(s->rig, DROP_gate_closed), 1);
	rig_session_del(s->rig, &session);
}

static void copies_of_stopped(void)
{
	each_setting(copies_gate_in);
}

// Without a free buffer the packet still goes its way, and what was lost is counted.
static void no_buffer_in(const struct setting *s)
{
	struct rte_mbuf *taken[8192];
	struct rig_session session;
	uint8_t frame[RIG_FRAME_MAX];
	const struct rig_flow flow = {
		.proto = IPPROTO_UDP, .dn_port = 53, .ttl = 9, .qfi = 5, .v6 = s->v6};
	unsigned n = 0;

	session_new(s, rig_variant_new(RIG_COPIES, 0), &session);
	rig_send(s->rig, s->up ? RIG_N3 : RIG_N6, s->via, frame,
		 chain_frame(s->rig, &session, s->up, &flow, frame));
	while (n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(s->rig->pool)))
		n++;
	CU_ASSERT_PTR_NULL(rte_pktmbuf_alloc(s->rig->pool));
	rig_settle(s->rig);
	rte_pktmbuf_free_bulk(taken, n);
	CU_ASSERT_EQUAL(rig_count(s->rig, COUNTER_copies), 0);
	CU_ASSERT_EQUAL(rig_count(s->rig, COUNTER_copies_lost), 2);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N3), s->up ? 0 : 1);
	CU_ASSERT_EQUAL(chain_drain(s->rig, RIG_N6), s->up ? 1 : 0);
	rig_session_del(s->rig, &session);
}

static void no_buffer(void)
{
	each_setting(no_buffer_in);
}

// A duplicate that does not fit its tunnel is dropped by name, and the packet that fits its own way is not.
static void copy_too_big(void)
{
	const struct rig_flow flow = {
		.proto = IPPROTO_UDP, .dn_port = 53, .ttl = 9, .qfi = 5, .payload = 1472};
	struct rules *rules = rig_variant_new(RIG_COPIES, 0);
	struct rig *rig = chain_rig(2);
	struct rig_session session;

	rig_session_add(rig, 0, rules, &session);
	rules_free(rules);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &session, true, &flow, 0), 1);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_too_big), 2);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_copies), 2);
	rig_session_del(rig, &session);
	rig_end(rig);
}

// A full turn of packets with duplicates loses none.
static void many(void)
{
	const struct rig_flow flow = {.proto = IPPROTO_UDP, .dn_port = 53, .ttl = 9, .qfi = 5};
	struct rules *rules = rig_variant_new(RIG_COPIES, 0);
	struct far_rule *far = rules_far_lookup(rules, 2);
	struct rig *rig = chain_rig(1);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session session;
	size_t bytes;

	while (far->n_copies < RULES_MAX_COPIES) {
		struct far_rule *copy = rules_far_copy_add(far);

		*copy = far->copies[1];
		copy->port = (uint16_t)(RIG_LI_PORT + far->n_copies);
	}
	rig_session_add(rig, 0, rules, &session);
	rules_free(rules);
	rig_resolve(rig);
	bytes = rig_frame_up(rig, &session, &flow, frame);
	for (unsigned i = 0; i < WORKER_BATCH; i++)
		rig_send(rig, RIG_N3, 0, frame, bytes);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), WORKER_BATCH);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 4 * WORKER_BATCH);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_tx_full), 0);
	rig_session_del(rig, &session);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"UDP tunnels", udp_tunnels},
	{"UDP tunnels: too big", udp_too_big},
	{"UDP tunnels: peers", udp_peers},
	{"marks", marks},
	{"forwarding policies", policies},
	{"forwarding policies: unresolved", policy_waits},
	{"duplicates", copies},
	{"duplicates of what is dropped", copies_of_dropped},
	{"duplicates of what is held", copies_of_held},
	{"duplicates of what a gate stops", copies_of_stopped},
	{"no buffer for a duplicate", no_buffer},
	{"a duplicate is too big", copy_too_big},
	{"many duplicates", many},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("leave")
