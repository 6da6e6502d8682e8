// What is too long for its way out, or has no hop left: cut, or dropped and its sender told; both directions, both
// families inside and outside, one and two workers.
//
// Pieces are put together here, by a few lines of the test's own, and compared with what was sent.

#include "base/clock.h"
#include "chain.h"
#include "packet/be.h"
#include "packet/cksum.h"
#include "packet/gtpu.h"
#include "packet/icmp.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "pipeline/pipeline.h"

#define ICMP_RATE 20
#define MTU_LOW 1300

static struct rig *rig_made(const struct rig_conf *more)
{
	struct rig_conf conf = *more;
	struct rig *rig;

	conf.n_slots = 64;
	conf.n_tunnels = 16;
	conf.icmp = ICMP_RATE;
	clock_stop();
	rig = rig_new(&conf);
	clock_warp_ns((int64_t)NS_PER_SEC); // a limit begins with none
	rig_resolve(rig);
	return rig;
}

// A packet of so many bytes in all.
static struct rig_flow flow_of(bool v6, unsigned bytes)
{
	return (struct rig_flow){
		.proto = IPPROTO_UDP,
		.ue_port = 4000,
		.dn_port = 53,
		.ttl = 64,
		.payload = (uint16_t)(bytes - UDP_BYTES - (v6 ? IP6_BYTES : IP4_BYTES)),
		.qfi = 1,
		.v6 = v6};
}

// Lets the IPv4 packet be cut.
static void allow(uint8_t *ip)
{
	struct ip4_head *head = (struct ip4_head *)ip;

	if (*ip >> 4 != 4)
		return;
	head->fragment = 0;
	head->id = RTE_BE16(0x1234);
	head->cksum = ip4_cksum(head);
}

// The ICMP error at `ip`: of one of our addresses, to the sender of `user`, which it quotes.
static void check_error(const uint8_t *ip, size_t bytes, const char *from, const uint8_t *user,
			size_t user_bytes, unsigned type, unsigned code, uint32_t word)
{
	bool v6 = *ip >> 4 == 6;
	size_t head = v6 ? IP6_BYTES : IP4_BYTES, most = v6 ? 1280 : 576;
	const uint8_t *icmp = ip + head;
	struct addr source = ip_source(ip), to = ip_destination(ip), ours = rig_addr(from);
	struct addr sender = ip_source(user);
	uint64_t pseudo = 0;

	CU_ASSERT_EQUAL_FATAL(bytes, RTE_MIN(most, head + ICMP_BYTES + user_bytes));
	CU_ASSERT_TRUE(addr_eq(&source, &ours));
	CU_ASSERT_TRUE(addr_eq(&to, &sender));
	if (v6) {
		CU_ASSERT_EQUAL(ip6_check((const void *)ip, (uint32_t)bytes), DROP_NONE);
		CU_ASSERT_EQUAL(ip[6], IPPROTO_ICMPV6);
		pseudo = cksum_pseudo6(ip + 8, ip + 24, IPPROTO_ICMPV6, (uint32_t)(bytes - head));
	} else {
		CU_ASSERT_EQUAL(ip4_check((const void *)ip, (uint32_t)bytes), DROP_NONE);
		CU_ASSERT_EQUAL(ip[9], IPPROTO_ICMP);
	}
	CU_ASSERT_EQUAL(cksum_fold(pseudo + cksum_bytes(icmp, (uint32_t)(bytes - head))), 0xffff);
	CU_ASSERT_EQUAL(icmp[0], type);
	CU_ASSERT_EQUAL(icmp[1], code);
	CU_ASSERT_EQUAL(be32_get(icmp + 4), word);
	CU_ASSERT_EQUAL(memcmp(icmp + ICMP_BYTES, user, bytes - head - ICMP_BYTES), 0);
}

// The same of a packet whose TTL had been lowered before.
static void check_too_big(const uint8_t *ip, size_t bytes, const char *from, uint8_t *user,
			  size_t user_bytes, uint32_t mtu)
{
	bool v6 = *user >> 4 == 6;

	if (v6)
		((struct ip6_head *)user)->hops--;
	else
		ip4_ttl_dec((struct ip4_head *)user);
	check_error(ip, bytes, from, user, user_bytes,
		    v6 ? ICMP6_TYPE_TOO_BIG : ICMP4_TYPE_UNREACHABLE,
		    v6 ? 0 : ICMP4_FRAGMENT_NEEDED, mtu);
}

// --- told ------------------------------------------------------------------------------------------------

static void down_one(struct rig *rig, const struct rig_session *s, bool v6, unsigned via,
		     uint32_t mtu)
{
	struct rig_flow fits = flow_of(v6, mtu), flow = flow_of(v6, mtu + 1);
	uint64_t drops = rig_drops(rig, DROP_too_big);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	size_t bytes;

	CU_ASSERT_EQUAL(chain_forwarded(rig, s, false, &fits, via), 1);
	bytes = rig_frame_down(rig, s, &flow, frame);
	rig_send(rig, RIG_N6, via, frame, bytes);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 0);
	bytes = rig_recv(rig, RIG_N6, out);
	CU_ASSERT_TRUE_FATAL(bytes > ETH_BYTES);
	CU_ASSERT_EQUAL(out[5], RIG_N6 + 1); // to the gateway
	check_too_big(out + ETH_BYTES, bytes - ETH_BYTES, v6 ? RIG_N6_ADDR6 : RIG_N6_ADDR,
		      frame + ETH_BYTES, mtu + 1, mtu);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_too_big), drops + 1);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
}

// What the tunnel's headers leave: 36 bytes less over IPv4, 44 with a PDU Session Container, 56 and 64 over IPv6.
static void too_big_down(void)
{
	static const unsigned heads[2][2] = {{36, 44}, {56, 64}};

	for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
		for (unsigned over6 = 0; over6 < 2; over6++)
			for (unsigned psc = 0; psc < 2; psc++) {
				struct rig *rig = rig_made(
					&(struct rig_conf){.n_workers = n_workers, .v6 = over6});
				struct rules *rules =
					rig_variant_new(psc ? RIG_ORDINARY : RIG_NO_QFI, 0);
				uint32_t mtu = 1500 - heads[over6][psc];
				struct rig_session s;

				rig_session_add(rig, 0, rules, &s);
				rig_resolve(rig);
				for (unsigned i = 0; i < 2 * n_workers; i++)
					down_one(rig, &s, i & 1, i / 2, mtu);
				CU_ASSERT_EQUAL(rig_count(rig, COUNTER_icmp_too_big_sent),
						2 * n_workers);
				rig_session_del(rig, &s);
				rules_free(rules);
				rig_end(rig);
			}
}

// An error that goes to a UE comes by its tunnel, as its rules say.
static const uint8_t *recv_by_tunnel(struct rig *rig, const struct rig_session *s, uint8_t *out,
				     size_t *ret_bytes)
{
	uint32_t at = rig_user_at(rig, 1);
	size_t bytes = rig_recv(rig, RIG_N3, out);

	CU_ASSERT_TRUE_FATAL(bytes > at);
	CU_ASSERT_EQUAL(be32_get(out + rig_gtpu_at(rig) + 4), s->gnb_teid);
	*ret_bytes = bytes - at;
	return out + at;
}

static void up_one(struct rig *rig, const struct rig_session *s, bool v6, unsigned via,
		   const char *dn)
{
	struct rig_flow flow = flow_of(v6, MTU_LOW + 1);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	uint8_t *user = frame + rig_user_at(rig, 1);
	const uint8_t *ip;
	size_t bytes;

	flow.dn = dn;
	bytes = rig_frame_up(rig, s, &flow, frame);
	rig_send(rig, RIG_N3, via, frame, bytes);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
	ip = recv_by_tunnel(rig, s, out, &bytes);
	check_too_big(ip, bytes, v6 ? RIG_N6_ADDR6 : RIG_N6_ADDR, user, MTU_LOW + 1, MTU_LOW);
}

// To N6, behind the gateway and to a neighbour that would have to be asked for.
static void too_big_up(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
		for (unsigned over6 = 0; over6 < 2; over6++) {
			struct rig *rig = rig_made(&(struct rig_conf){
				.n_workers = n_workers, .v6 = over6, .mtus = {[RIG_N6] = MTU_LOW}});
			struct rig_session s;

			rig_session_add(rig, 0, NULL, &s);
			rig_resolve(rig);
			for (unsigned i = 0; i < 2 * n_workers; i++) {
				up_one(rig, &s, i & 1, i / 2, NULL);
				up_one(rig, &s, i & 1, i / 2, i & 1 ? "fd00:6::77" : "10.10.6.77");
			}
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_down), 4 * n_workers);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_up), 0);
			rig_session_del(rig, &s);
			rig_end(rig);
		}
}

static void ttl_one(struct rig *rig, const struct rig_session *s, bool v6, bool up, unsigned via)
{
	struct rig_flow flow = flow_of(v6, 100);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	const uint8_t *user = frame + (up ? rig_user_at(rig, 1) : ETH_BYTES);
	const uint8_t *ip = out + ETH_BYTES;
	size_t bytes;

	flow.ttl = 1;
	bytes = chain_frame(rig, s, up, &flow, frame);
	rig_send(rig, up ? RIG_N3 : RIG_N6, via, frame, bytes);
	rig_settle(rig);
	if (up)
		ip = recv_by_tunnel(rig, s, out, &bytes);
	else
		bytes = rig_recv(rig, RIG_N6, out) - ETH_BYTES;
	check_error(ip, bytes, v6 ? RIG_N6_ADDR6 : RIG_N6_ADDR, user, 100,
		    v6 ? ICMP6_TYPE_TIME_EXCEEDED : ICMP4_TYPE_TIME_EXCEEDED, 0, 0);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3) + chain_drain(rig, RIG_N6), 0);
}

static void no_hop_left(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++) {
		struct rig *rig = rig_made(&(struct rig_conf){.n_workers = n_workers});
		struct rig_session s;

		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		for (unsigned i = 0; i < 4 * n_workers; i++)
			ttl_one(rig, &s, i & 1, i & 2, i / 4);
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_icmp_ttl_sent), 4 * n_workers);
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_ttl_expired), 4 * n_workers);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// From UE to UE: the sender is told through its own tunnel, whoever owns its session.
static void between_ues(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++) {
		struct rig *rig = rig_made(&(struct rig_conf){.n_workers = n_workers});
		struct rig_session s[2];

		for (unsigned i = 0; i < 2; i++)
			rig_session_add(rig, i, NULL, &s[i]);
		rig_resolve(rig);
		for (unsigned v6 = 0; v6 < 2; v6++) {
			struct rig_flow flow = flow_of(v6, 1457);
			struct addr dst = v6 ? s[1].ue_v6 : s[1].ue_v4;
			uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
			char text[ADDR_STRLEN];
			const uint8_t *ip;
			size_t bytes;

			flow.dn = addr_str(text, &dst);
			rig_send(rig, RIG_N3, 0, frame, rig_frame_up(rig, &s[0], &flow, frame));
			rig_settle(rig);
			ip = recv_by_tunnel(rig, &s[0], out, &bytes);
			check_too_big(ip, bytes, v6 ? RIG_N6_ADDR6 : RIG_N6_ADDR,
				      frame + rig_user_at(rig, 1), 1457, 1456);
			CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3) + chain_drain(rig, RIG_N6), 0);
		}
		for (unsigned i = 0; i < 2; i++)
			rig_session_del(rig, &s[i]);
		rig_end(rig);
	}
}

// --- not told --------------------------------------------------------------------------------------------

// Makes of the user packet of a frame something that nobody is told of.
static void as_icmp_error(uint8_t *ip)
{
	uint8_t *icmp = ip + (*ip >> 4 == 6 ? IP6_BYTES : IP4_BYTES);

	if (*ip >> 4 == 6) {
		ip[6] = IPPROTO_ICMPV6;
		icmp[0] = ICMP6_TYPE_TOO_BIG;
		return;
	}
	ip[9] = IPPROTO_ICMP;
	icmp[0] = ICMP4_TYPE_UNREACHABLE;
	((struct ip4_head *)ip)->cksum = ip4_cksum((struct ip4_head *)ip);
}

static void not_told(void)
{
	struct rig *rig = rig_made(&(struct rig_conf){.n_workers = 1});
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;
	uint64_t sent;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct rig_flow flow = flow_of(v6, 1457);
		size_t bytes = rig_frame_down(rig, &s, &flow, frame);

		as_icmp_error(frame + ETH_BYTES);
		rig_send(rig, RIG_N6, 0, frame, bytes);
		bytes = rig_frame_down(rig, &s, &flow, frame);
		memset(frame + ETH_BYTES + (v6 ? 8 : 12), 0xff, 4); // from a group
		((struct ip4_head *)(frame + ETH_BYTES))->cksum =
			v6 ? ((struct ip4_head *)(frame + ETH_BYTES))->cksum
			   : ip4_cksum((struct ip4_head *)(frame + ETH_BYTES));
		rig_send(rig, RIG_N6, 0, frame, bytes);
	}
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_too_big), 4);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_icmp_unsent), 0);
	// As many as are allowed, of both kinds together; after a while some more.
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 2 * ICMP_RATE; i++) {
			struct rig_flow flow = flow_of(i & 1, i & 2 ? 1457 : 100);

			flow.ttl = i & 2 ? 64 : 1;
			rig_send(rig, RIG_N6, 0, frame, rig_frame_down(rig, &s, &flow, frame));
		}
		rig_settle(rig);
		sent = round ? ICMP_RATE / 2 : ICMP_RATE;
		CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), sent);
		clock_warp_ns((int64_t)NS_PER_SEC / 2);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_icmp_unsent), 4 * ICMP_RATE - ICMP_RATE * 3 / 2);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// --- cut -------------------------------------------------------------------------------------------------

// A datagram that is put together of its pieces.
struct whole {
	uint8_t bytes[4096]; // behind the IP header
	uint32_t sum, total; // what has come; total 0: the last piece has not
	unsigned pieces;
};

static void whole_add(struct whole *whole, const uint8_t *ip)
{
	uint32_t head = *ip >> 4 == 4 ? (*ip & 15u) * 4 : IP6_BYTES + 8;
	uint32_t bytes = *ip >> 4 == 4 ? be16_get(ip + 2) - head
				       : be16_get(ip + 4) + IP6_BYTES - head;
	uint32_t at = *ip >> 4 == 4 ? (be16_get(ip + 6) & 0x1fffu) * 8
				    : be16_get(ip + IP6_BYTES + 2) & ~7u;
	bool more = *ip >> 4 == 4 ? be16_get(ip + 6) & IP4_MORE : ip[IP6_BYTES + 3] & 1;

	CU_ASSERT_EQUAL(at, whole->sum); // in order, without holes
	CU_ASSERT_TRUE(!more || bytes % 8 == 0);
	CU_ASSERT_TRUE_FATAL(at + bytes <= sizeof(whole->bytes));
	memcpy(whole->bytes + at, ip + head, bytes);
	whole->sum += bytes;
	whole->pieces++;
	if (!more)
		whole->total = at + bytes;
}

// Cut inside: each piece is a packet of the UE's or of the server's, in a tunnel or not.
static void inner_one(struct rig *rig, const struct rig_session *s, bool up, unsigned via,
		      unsigned size, unsigned mtu)
{
	uint32_t at = up ? rig_user_at(rig, 1) : ETH_BYTES,
		 out_at = up ? ETH_BYTES : rig_user_at(rig, 1);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	struct rig_flow flow = flow_of(false, size);
	struct whole whole = {0};
	size_t bytes = chain_frame(rig, s, up, &flow, frame);

	allow(frame + at);
	rig_send(rig, up ? RIG_N3 : RIG_N6, via, frame, bytes);
	rig_settle(rig);
	while ((bytes = rig_recv(rig, up ? RIG_N6 : RIG_N3, out)) > 0) {
		const struct ip4_head *ip = (const struct ip4_head *)(out + out_at);

		CU_ASSERT_EQUAL(ip4_check(ip, (uint32_t)(bytes - out_at)), DROP_NONE);
		CU_ASSERT_TRUE(bytes - out_at <= mtu);
		CU_ASSERT_EQUAL(rte_be_to_cpu_16(ip->total), bytes - out_at);
		CU_ASSERT_EQUAL(ip->id, RTE_BE16(0x1234));
		CU_ASSERT_EQUAL(ip->ttl, 63);
		whole_add(&whole, out + out_at);
		if (!up)
			CU_ASSERT_EQUAL(be32_get(out + rig_gtpu_at(rig) + 4), s->gnb_teid);
	}
	CU_ASSERT_TRUE(whole.pieces > 1);
	CU_ASSERT_EQUAL(whole.total, size - IP4_BYTES);
	CU_ASSERT_EQUAL(memcmp(whole.bytes, frame + at + IP4_BYTES, whole.total), 0);
	CU_ASSERT_EQUAL(chain_drain(rig, up ? RIG_N3 : RIG_N6), 0);
}

static void cut_inside(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
		for (unsigned over6 = 0; over6 < 2; over6++) {
			struct rig *rig = rig_made(&(struct rig_conf){
				.n_workers = n_workers, .v6 = over6, .mtus = {700, 600}});
			unsigned tunnel = over6 ? 64 : 44;
			struct rig_session s;

			rig_session_add(rig, 0, NULL, &s);
			rig_resolve(rig);
			for (unsigned i = 0; i < n_workers; i++)
				for (unsigned size = 1400; size < 1420; size++) {
					inner_one(rig, &s, false, i, size, 700 - tunnel);
					inner_one(rig, &s, true, i, size, 600);
				}
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_fragmented), 40 * n_workers);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_fragments_made),
					rig_count(rig, COUNTER_up) + rig_count(rig, COUNTER_down));
			rig_session_del(rig, &s);
			rig_end(rig);
		}
}

// A piece of a packet is cut again: its place in the whole stays.
static void cut_again(void)
{
	struct rig *rig = rig_made(&(struct rig_conf){.n_workers = 1, .mtus = {700}});
	struct rig_flow flow = flow_of(false, 1020);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	struct ip4_head *ip = (struct ip4_head *)(frame + ETH_BYTES);
	struct rules *rules = rig_variant_new(RIG_ORDINARY, 0);
	struct rig_session s;
	uint16_t expected = 185;
	size_t bytes;

	rules_pdr_del(rules, 1); // no rule asks for ports
	rules_pdr_del(rules, 3);
	rig_session_add(rig, 0, rules, &s);
	rig_resolve(rig);
	bytes = rig_frame_down(rig, &s, &flow, frame);
	for (unsigned more = 0; more < 2; more++) {
		ip->fragment = rte_cpu_to_be_16((uint16_t)(expected | (more ? IP4_MORE : 0)));
		ip->cksum = ip4_cksum(ip);
		rig_send(rig, RIG_N6, 0, frame, bytes);
		rig_settle(rig);
		for (unsigned i = 0; i < 2; i++) {
			const uint8_t *piece = out + rig_user_at(rig, 1);

			CU_ASSERT_NOT_EQUAL_FATAL(rig_recv(rig, RIG_N3, out), 0);
			CU_ASSERT_EQUAL(be16_get(piece + 6) & 0x1fff, i ? 185 + 632 / 8 : 185);
			CU_ASSERT_EQUAL(!!(be16_get(piece + 6) & IP4_MORE), i == 0 || more);
		}
	}
	rules_free(rules);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// Cut outside: the tunnel's packet is put together again, and is what would have left had it fitted.
static void outer_one(struct rig *rig, const struct rig_session *s, bool v6, unsigned via,
		      unsigned size, unsigned *ret_id)
{
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	struct rig_flow flow = flow_of(v6, size);
	size_t bytes = rig_frame_down(rig, s, &flow, frame), head;
	struct whole whole = {0};
	const uint8_t *user = whole.bytes + UDP_BYTES + GTPU_BYTES + 8;

	allow(frame + ETH_BYTES);
	rig_send(rig, RIG_N6, via, frame, bytes);
	rig_settle(rig);
	while ((bytes = rig_recv(rig, RIG_N3, out)) > 0) {
		const uint8_t *ip = out + ETH_BYTES;
		unsigned id = *ip >> 4 == 4 ? be16_get(ip + 4) : be32_get(ip + IP6_BYTES + 4);

		CU_ASSERT_TRUE(bytes - ETH_BYTES <= rig->conf.mtus[RIG_N3]);
		CU_ASSERT_EQUAL(*ip >> 4 == 4 ? ip4_check((const void *)ip, 1500)
					      : ip6_check((const void *)ip, 1500),
				DROP_NONE);
		CU_ASSERT_TRUE(whole.pieces == 0 ? id != *ret_id : id == *ret_id);
		*ret_id = id;
		whole_add(&whole, ip);
	}
	head = (size_t)(user - whole.bytes);
	CU_ASSERT_EQUAL_FATAL(whole.total, head + size);
	CU_ASSERT_EQUAL(whole.pieces, 2);
	CU_ASSERT_EQUAL(be16_get(whole.bytes + 4), whole.total);
	CU_ASSERT_EQUAL(be32_get(whole.bytes + UDP_BYTES + 4), s->gnb_teid);
	if (v6)
		((struct ip6_head *)(frame + ETH_BYTES))->hops--;
	else
		ip4_ttl_dec((struct ip4_head *)(frame + ETH_BYTES));
	CU_ASSERT_EQUAL(memcmp(user, frame + ETH_BYTES, size), 0);
	if (rig->conf.v6) {
		struct addr n3 = rig_addr(RIG_N3_ADDR6), gnb = rig_addr(RIG_GNB6);
		uint64_t pseudo = cksum_pseudo6(n3.v6, gnb.v6, IPPROTO_UDP, whole.total);

		CU_ASSERT_EQUAL(cksum_fold(pseudo + cksum_bytes(whole.bytes, whole.total)), 0xffff);
	}
}

static void cut_outside(void)
{
	for (unsigned n_workers = 1; n_workers <= 2; n_workers++)
		for (unsigned over6 = 0; over6 < 2; over6++) {
			struct rig *rig = rig_made(&(struct rig_conf){.n_workers = n_workers,
								      .v6 = over6,
								      .mtus = {MTU_LOW},
								      .fragment_outer = true});
			unsigned id = 0x10000, n = 0;
			struct rig_session s;

			rig_session_add(rig, 0, NULL, &s);
			rig_resolve(rig);
			for (unsigned i = 0; i < n_workers; i++)
				for (unsigned size = 1270; size < 1290; size++, n++)
					outer_one(rig, &s, false, i, size, &id);
			// Every IPv6 link takes 1280 bytes; of more the sender is told.
			for (unsigned i = 0; i < n_workers; i++, n++)
				outer_one(rig, &s, true, i, 1280, &id);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_down), n);
			CU_ASSERT_EQUAL(rig_count(rig, COUNTER_fragments_made), 2 * n);
			struct rig_flow flow = flow_of(true, 1281);
			uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];

			rig_send(rig, RIG_N6, 0, frame, rig_frame_down(rig, &s, &flow, frame));
			rig_settle(rig);
			size_t bytes = rig_recv(rig, RIG_N6, out);
			check_too_big(out + ETH_BYTES, bytes - ETH_BYTES, RIG_N6_ADDR6,
				      frame + ETH_BYTES, 1281, 1280);
			rig_session_del(rig, &s);
			rig_end(rig);
		}
}

// Towards a neighbour that must be asked for first: the pieces wait for it, in order.
static void cut_and_wait(void)
{
	struct rig *rig = rig_made(&(struct rig_conf){.n_workers = 2, .mtus = {[RIG_N6] = 600}});
	struct rig_flow flow = flow_of(false, 1400);
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	struct whole whole = {0};
	struct rig_session s;
	size_t bytes;

	flow.dn = "10.10.6.77";
	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	bytes = rig_frame_up(rig, &s, &flow, frame);
	allow(frame + rig_user_at(rig, 1));
	rig_send(rig, RIG_N3, 1, frame, bytes);
	rig_resolve(rig);
	while (rig_recv(rig, RIG_N6, out) > 0) {
		CU_ASSERT_EQUAL(out[ETH_BYTES + 8], 63);
		whole_add(&whole, out + ETH_BYTES);
	}
	CU_ASSERT_EQUAL(whole.pieces, 3);
	CU_ASSERT_EQUAL(whole.total, 1380);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"too big for the tunnel", too_big_down},
	{"too big for N6", too_big_up},
	{"no hop left", no_hop_left},
	{"between UEs", between_ues},
	{"of what nobody is told, and how many", not_told},
	{"cut inside", cut_inside},
	{"a piece is cut", cut_again},
	{"cut outside", cut_outside},
	{"cut, and the pieces wait", cut_and_wait},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("too big")
