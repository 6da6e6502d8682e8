// Neighbours at their bounds: floods of destinations, peers used up, given back and taken again, packets that
// outlive the peer that they were made for, VLANs.
//
// Time stands still and is moved by the tests.

#include <errno.h>

#include "base/clock.h"
#include "chain.h"
#include "neigh/hop.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "pipeline/pipeline.h"
#include "worker/mailbox.h"

static rte_be32_t v4_of(const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr) != 0)
		rig_die(text);
	return addr.v4;
}

// A reference to the peer for tunnels to this address plus `n`.
static int tunnel_take(struct neigh *neigh, const char *text, uint32_t n, uint16_t *ret_peer)
{
	struct addr addr = addr_v4(v4_of(text) + rte_cpu_to_be_32(n));

	return neigh_tunnel_take(neigh, &addr, ret_peer);
}

static struct rig *rig_start(const struct rig_conf *given)
{
	struct rig_conf conf = *given;
	struct rig *rig;

	conf.n_slots = 64;
	conf.n_tunnels = 1;
	clock_stop();
	rig = rig_new(&conf);
	rig_resolve(rig);
	return rig;
}

static void pass(struct rig *rig, unsigned ms)
{
	for (unsigned i = 0; i < ms; i += 100) {
		clock_warp_ns(100 * (int64_t)NS_PER_MS);
		neigh_tick(rig->control.neigh);
		rig_settle(rig);
	}
}

static void count_hop(const struct neigh_view *view, void *ctx)
{
	++*(unsigned *)ctx;
}

static unsigned hops(const struct rig *rig)
{
	unsigned n = 0;

	neigh_each(rig->control.neigh, count_hop, &n);
	return n;
}

static size_t frame_to(const struct rig *rig, const struct rig_session *s, const char *dn, bool v6,
		       uint8_t *frame)
{
	const struct rig_flow flow = {.proto = IPPROTO_UDP,
				      .ue_port = 1,
				      .dn_port = 5000,
				      .ttl = 64,
				      .payload = 4,
				      .qfi = 1,
				      .v6 = v6,
				      .dn = dn};

	return rig_frame_up(rig, s, &flow, frame);
}

// The same uplink frame to host number i on the link of N6.
static size_t frame_to_host(const struct rig *rig, const struct rig_session *s, bool v6, unsigned i,
			    uint8_t *frame)
{
	size_t bytes = frame_to(rig, s, v6 ? "fd00:6::100" : "10.10.6.0", v6, frame);
	uint8_t *user = frame + 14 + 20 + 8 + 16;
	struct ip4_head *ip4 = (struct ip4_head *)user;

	if (v6) {
		be32_put(user + 24 + 8, i);
		return bytes;
	}
	ip4->dst = rte_cpu_to_be_32(rte_be_to_cpu_32(ip4->dst) + i);
	ip4->cksum = 0;
	ip4->cksum = ip4_cksum(ip4);
	return bytes;
}

// --- floods ----------------------------------------------------------------------------------------------

// A UE that sends to 10,000 addresses of the link where nobody is: what is asked for, held and remembered is
// bounded, gNBs can still be resolved, and afterwards a neighbour that is there can be reached.
static void flood(void)
{
	enum { HOSTS = 10000, ROUND = 50 };
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = 2, .n_peers = 64});
	struct neigh *neigh = rig->control.neigh;
	struct rig_session s, later;
	uint8_t frame[RIG_FRAME_MAX];
	unsigned most = 0;
	uint16_t peer;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < HOSTS; i++) {
		rig_send(rig, RIG_N3, i & 1, frame, frame_to_host(rig, &s, true, i + 1, frame));
		if (i % ROUND)
			continue;
		rig_settle(rig);
		most = RTE_MAX(most, hops(rig));
		chain_drain(rig, RIG_N6);
		CU_ASSERT_TRUE(rig_accounted(rig));
	}
	rig_settle(rig);
	CU_ASSERT_TRUE(most > 1000 && most <= HOPS_ASKED_FOR);
	CU_ASSERT_TRUE(rig_drops(rig, DROP_neigh_hold_full) >= HOSTS - HOPS_ASKED_FOR);
	CU_ASSERT_EQUAL(neigh_peers_used(neigh),
			3); // gateways and gNB: hosts that do not answer take none
	CU_ASSERT_EQUAL(tunnel_take(neigh, "10.10.3.77", 0, &peer), 0);
	neigh_tunnel_give(neigh, peer);
	rig_session_add(rig, 1, NULL, &later);
	rig_resolve(rig);
	rig_session_del(rig, &later);
	pass(rig, 4000);
	chain_drain(rig, RIG_N6);
	pass(rig, (HOP_FRESH_NS + 4 * HOP_FAILED_NS) / NS_PER_MS);
	rig_resolve(rig);
	CU_ASSERT_TRUE(hops(rig) <= 4);
	CU_ASSERT_EQUAL(rig->control.stats.counter[COUNTER_held], 0);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// More neighbours over time than there is room for at once: each is forgotten, and its room is used again.
static void many_over_time(void)
{
	enum { ROUNDS = 200, HOSTS = 40 }; // more in all than HOPS_MAX
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = 1});
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;

	static_assert(ROUNDS * HOSTS > HOPS_MAX, "all that there is room for");
	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < HOSTS; i++)
			rig_send(rig, RIG_N3, 0, frame,
				 frame_to_host(rig, &s, true, 1 + round * HOSTS + i, frame));
		rig_resolve(rig);
		CU_ASSERT_EQUAL_FATAL(chain_drain(rig, RIG_N6), HOSTS);
		uint64_t punted = rig_count(rig, COUNTER_punted);
		for (unsigned i = 0; i < HOSTS; i++)
			rig_send(rig, RIG_N3, 0, frame,
				 frame_to_host(rig, &s, true, 1 + round * HOSTS + i, frame));
		rig_settle(rig);
		CU_ASSERT_EQUAL_FATAL(chain_drain(rig, RIG_N6), HOSTS);
		CU_ASSERT_EQUAL_FATAL(rig_count(rig, COUNTER_punted), punted);
		// They go away unsaid; the gateways and the gNB answer.
		for (unsigned i = 0; i < 4; i++) {
			clock_warp_ns(i ? (int64_t)HOP_RETRY_NS : (int64_t)HOP_FRESH_NS);
			neigh_tick(rig->control.neigh);
			rig_settle(rig);
			chain_drain(rig, RIG_N6);
			rig_resolve(rig);
		}
		clock_warp_ns(HOP_FAILED_NS);
		neigh_tick(rig->control.neigh);
		rig_resolve(rig);
	}
	CU_ASSERT_TRUE(hops(rig) <= 3);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// Packets to many new neighbours at once, and more before all workers have been told of their peers: none is
// lost but those beyond what is held.
static void many_at_once(void)
{
	enum { HOSTS = 40 };
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = 2, .n_peers = 128});
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;
	unsigned sent = 0, left = 0;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < HOSTS; i++, sent++)
			rig_send(rig, RIG_N3, i & 1, frame,
				 frame_to_host(rig, &s, turn / 2 & 1, i + 100, frame));
		rig_turn(rig);
	}
	rig_resolve(rig);
	for (unsigned turn = 0; turn < 6; turn++) {
		for (unsigned i = 0; i < HOSTS; i++, sent++)
			rig_send(rig, RIG_N3, i & 1, frame,
				 frame_to_host(rig, &s, turn / 2 & 1, i + 100, frame));
		rig_turn(rig);
	}
	rig_settle(rig);
	left = chain_drain(rig, RIG_N6);
	CU_ASSERT_EQUAL(left, sent);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// --- peers -----------------------------------------------------------------------------------------------

static void peers_used_up(void)
{
	enum { PEERS = 16 };
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = 1, .n_peers = PEERS});
	struct neigh *neigh = rig->control.neigh;
	uint8_t frame[RIG_FRAME_MAX];
	uint16_t peers[PEERS], peer;
	struct rig_session s;
	unsigned n = 0;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	// Neighbours of user packets get what is not kept for tunnels; the others' packets go the long way.
	for (unsigned i = 0; i < 3 * PEERS; i++) {
		rig_send(rig, RIG_N3, 0, frame, frame_to_host(rig, &s, i & 1, 100 + i, frame));
		rig_resolve(rig);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 1);
	}
	CU_ASSERT_EQUAL(neigh_peers_used(neigh), PEERS - PEERS / 4);
	while (n < PEERS && tunnel_take(neigh, "10.10.3.100", n, &peers[n]) == 0)
		n++;
	CU_ASSERT_EQUAL(n, PEERS / 4 - 1); // index 0 is no peer
	CU_ASSERT_EQUAL(tunnel_take(neigh, "10.10.3.200", 0, &peer), -ENOSPC);
	CU_ASSERT_EQUAL(tunnel_take(neigh, "10.99.0.1", 0, &peer), -ENETUNREACH);
	CU_ASSERT_EQUAL(tunnel_take(neigh, "10.10.3.100", 0, &peer),
			0); // one that there is
	CU_ASSERT_EQUAL(peer, peers[0]);
	neigh_tunnel_give(neigh, peer);
	while (n > 0)
		neigh_tunnel_give(neigh, peers[--n]);
	rig_settle(rig);
	CU_ASSERT_EQUAL(tunnel_take(neigh, "10.10.3.200", 0, &peer), 0);
	neigh_tunnel_give(neigh, peer);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// A peer's index is given out again only when every worker has carried out that it is free, whatever else about
// it was still on its way.
static void reuse_after_all_know(void)
{
	struct rig *rig =
		rig_start(&(struct rig_conf){.n_workers = 2, .n_peers = 4}); // two gateways and one
	struct neigh *neigh = rig->control.neigh;
	uint16_t first, again;

	CU_ASSERT_EQUAL(tunnel_take(neigh, RIG_GNB, 0, &first), 0);
	CU_ASSERT_EQUAL(tunnel_take(neigh, RIG_GNB, 0, &again), 0);
	CU_ASSERT_EQUAL(again, first);
	neigh_tunnel_give(neigh, first);
	CU_ASSERT_EQUAL(tunnel_take(neigh, RIG_GNB2, 0, &again), -ENOSPC);
	neigh_tunnel_give(neigh, first); // what it was is still on its way, and now that it is free
	CU_ASSERT_EQUAL(tunnel_take(neigh, RIG_GNB2, 0, &again), -ENOSPC);
	for (unsigned i = 0; i < 2; i++) {
		mailbox_run(rig->control.workers[i], 1); // only the first
		control_poll(&rig->control);
		CU_ASSERT_EQUAL(tunnel_take(neigh, RIG_GNB2, 0, &again), -ENOSPC);
	}
	mailbox_run(rig->control.workers[0], WORKER_MAILS);
	control_poll(&rig->control);
	CU_ASSERT_EQUAL(tunnel_take(neigh, RIG_GNB2, 0, &again), -ENOSPC);
	mailbox_run(rig->control.workers[1], WORKER_MAILS);
	control_poll(&rig->control);
	CU_ASSERT_EQUAL(tunnel_take(neigh, RIG_GNB2, 0, &again), 0);
	CU_ASSERT_EQUAL(again, first);
	neigh_tunnel_give(neigh, again);
	rig_end(rig);
}

// Frames for a gNB still wait to be looked at when its peer has become another gNB's.
static void outlived_peer(void)
{
	enum { FRAMES = 200 };
	const struct rig_flow flow = {
		.proto = IPPROTO_UDP, .ue_port = 1, .dn_port = 53, .ttl = 64, .qfi = 1};
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = 1, .n_peers = 4});
	struct worker *w = rig->control.workers[0];
	struct rig_session s, next;
	struct rules *rules = rig_rules_new(1);
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;

	rig_session_add(rig, 0, NULL, &s);
	pipeline_turn(w); // its gNB is asked for, and does not answer
	bytes = rig_frame_down(rig, &s, &flow, frame);
	for (unsigned i = 0; i < FRAMES; i++) {
		rig_send(rig, RIG_N6, 0, frame, bytes);
		if (i % 32 == 31 || i == FRAMES - 1)
			pipeline_turn(w);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_punted) >= FRAMES, true);
	rig_session_close(rig, &s);
	pipeline_turn(w);
	control_poll(&rig->control); // has looked at a part of them
	rig_session_forget(rig, &s);
	pipeline_turn(w);
	control_poll(&rig->control);
	rules_far_lookup(rules, 1)->v4.s_addr = v4_of(RIG_GNB2);
	rig_session_add(rig, 1, rules, &next);
	CU_ASSERT_EQUAL(next.peer, s.peer);
	rig_resolve(rig);
	rig_resolve(rig);
	while ((bytes = rig_recv(rig, RIG_N3, frame)) > 0) {
		const struct ip4_head *ip4 = (const struct ip4_head *)(frame + ETH_BYTES);

		// Both are answered with the same link address in this rig: the address says for whom it is.
		CU_ASSERT_NOT_EQUAL(ip4->dst, v4_of(RIG_GNB2));
	}
	CU_ASSERT_TRUE(rig_drops(rig, DROP_neigh_failed) >= FRAMES - 2 * 64);
	rules_free(rules);
	rig_session_del(rig, &next);
	rig_end(rig);
}

// --- frames of another form ------------------------------------------------------------------------------

// A packet that came in no tunnel, for an address of the link: it waits without the header that it came with.
static void waits_untunnelled(void)
{
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = 1});
	const struct rig_flow flow = {
		.proto = IPPROTO_UDP, .ue_port = 1, .dn_port = 5000, .ttl = 64, .payload = 3};
	// A UE whose address is one of the link of N6.
	uint32_t n = rte_be_to_cpu_32(v4_of("10.10.6.50")) - rte_be_to_cpu_32(v4_of("10.45.0.1"));
	struct rules *rules = rig_variant_new(RIG_STEER, n);
	uint8_t in[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	struct rig_session s;
	size_t bytes;

	rig_session_add(rig, n, rules, &s);
	rules_free(rules);
	rig_resolve(rig);
	for (unsigned i = 0; i < 2; i++) { // the first waits, the second does not
		bytes = rig_frame_down(rig, &s, &flow, in);
		memset(in + bytes, 0xee, 20); // padding
		rig_send(rig, RIG_N6, 0, in, bytes + 20);
		rig_resolve(rig);
		CU_ASSERT_EQUAL(rig_recv(rig, RIG_N6, out), bytes);
		ip4_ttl_dec((struct ip4_head *)(in + ETH_BYTES));
		CU_ASSERT_EQUAL(memcmp(out + ETH_BYTES, in + ETH_BYTES, bytes - ETH_BYTES), 0);
		CU_ASSERT_EQUAL(out[4], 1);
		CU_ASSERT_EQUAL(out[11], RIG_N6 + 1);
	}
	rig_session_del(rig, &s);
	rig_end(rig);
}

// Tagged interfaces, on a device each or both on one: questions, held packets and forwarded ones carry the tag of
// their interface, and each interface gets its own.
static void vlans(bool one_device)
{
	struct rig *rig = rig_start(
		&(struct rig_conf){.n_workers = 2, .vlans = {100, 200}, .one_device = one_device});
	const struct rig_flow flow = {.proto = IPPROTO_UDP,
				      .ue_port = 1,
				      .dn_port = 5000,
				      .ttl = 64,
				      .payload = 9,
				      .qfi = 1};
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;
	size_t bytes;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < 4; i++) {
		bool up = i & 1;

		bytes = chain_frame(rig, &s, up, &flow, frame);
		CU_ASSERT_EQUAL(be16_get(frame + 12), ETH_TYPE_VLAN);
		rig_send(rig, up ? RIG_N3 : RIG_N6, i / 2, frame, bytes);
		rig_settle(rig);
		bytes = rig_recv(rig, up ? RIG_N6 : RIG_N3, frame);
		CU_ASSERT_EQUAL(bytes, ETH_BYTES + ETH_TAG_BYTES + (up ? 0 : 44) + IP4_BYTES +
					       UDP_BYTES + 9);
		CU_ASSERT_EQUAL(be16_get(frame + 12), ETH_TYPE_VLAN);
		CU_ASSERT_EQUAL(be16_get(frame + 14), up ? 200 : 100);
		CU_ASSERT_EQUAL(be16_get(frame + 16), ETH_TYPE_IP4);
	}
	bytes = frame_to(rig, &s, "10.10.6.99", false, frame); // waits
	rig_send(rig, RIG_N3, 1, frame, bytes);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(rig_recv(rig, RIG_N6, frame),
			ETH_BYTES + ETH_TAG_BYTES + IP4_BYTES + UDP_BYTES + 4);
	CU_ASSERT_EQUAL(be16_get(frame + 14), 200);
	// The tag of the other, of none, and none at all.
	for (unsigned i = 0; i < 3; i++) {
		static const uint16_t tags[] = {200, 300, 0};

		bytes = rig_frame_up(rig, &s, &flow, frame);
		be16_put(frame + 14, tags[i]);
		rig_send(rig, RIG_N3, 0, frame, bytes);
		rig_settle(rig);
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
	}
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_vlan_unknown), one_device ? 2 : 3);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session),
			one_device ? 1 : 0); // as a packet from N6 it is for nobody
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void vlan_devices(void)
{
	vlans(false);
}

static void vlan_one_device(void)
{
	vlans(true);
}

static CU_TestInfo tests[] = {
	{"a flood of destinations", flood},
	{"many neighbours over time", many_over_time},
	{"many neighbours at once", many_at_once},
	{"peers used up", peers_used_up},
	{"a peer is reused when all know", reuse_after_all_know},
	{"frames that outlive their peer", outlived_peer},
	{"a packet that came in no tunnel waits", waits_untunnelled},
	{"VLANs on two devices", vlan_devices},
	{"VLANs on one device", vlan_one_device},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("neigh_bounds")
