// NAT in chain tests: the rig and the pool, what must hold at the end, user packets of either side and those that left,
// all of their sums held against sums made anew.

#pragma once

#include "base/clock.h"
#include "chain.h"
#include "fragments.h"
#include "l4_sum.h"
#include "packet/icmp.h"
#include "pipeline/pipeline.h"
#include "service/flow_handler.h"
#include "worker/nat.h"

#define SERVICES_NAT                                                                               \
	(SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle) | SERVICE_MASK(nat_in) |                  \
	 SERVICE_MASK(nat_out))
#define POOL "198.51.100.0"
#define ICMP_RATE 1000

static inline struct nat_pool_conf pool_of(uint8_t len)
{
	struct nat_pool_conf conf = {.addrs = {.len = len},
				     .iface = RIG_N6,
				     .port_low = 1024,
				     .port_high = UINT16_MAX,
				     .block_ports = 64,
				     .blocks_per_session = 2};

	conf.addrs.addr = rig_addr(POOL);
	return conf;
}

static inline struct rig_conf nat_conf(unsigned n_workers, const struct nat_pool_conf *pool)
{
	return (struct rig_conf){
		.n_workers = n_workers,
		.n_slots = 64,
		.n_tunnels = 16,
		.services = SERVICES_NAT,
		.nat = pool,
		.icmp = ICMP_RATE,
		.flow_profile = {.handlers = {[FLOW_CASE_UNKNOWN_PROTOCOL] = FLOW_HANDLER_flow,
					      [FLOW_CASE_ICMP_ERROR] = FLOW_HANDLER_flow}},
		.gather = {.datagrams = 16, .of_one = 4, .pieces = 64, .ms = 1000}};
}

static inline struct rig *nat_rig(unsigned n_workers, const struct nat_pool_conf *pool)
{
	struct rig_conf conf = nat_conf(n_workers, pool);

	return chain_rig_stopped(&conf);
}

static inline struct nat *nat_of(const struct rig *rig, unsigned worker)
{
	return &rig->control.workers[worker]->nat;
}

static inline uint32_t mappings(const struct rig *rig)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		n += nat_of(rig, i)->used;
	return n;
}

// All flows end: so do all mappings, and all blocks are free.
static inline void nat_end(struct rig *rig)
{
	const struct nat_pool *pool = &rig->nat.pools[0];

	rig_settle(rig);
	CU_ASSERT_EQUAL(mappings(rig), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_nat_mappings_made),
			rig_count(rig, COUNTER_nat_mappings_ended));
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_nat_blocks_taken),
			rig_count(rig, COUNTER_nat_blocks_given));
	for (uint32_t i = 0; i < pool->n_addrs << (16 - pool->shift); i++)
		CU_ASSERT_EQUAL(pool->refs[i].check, 0);
	rig_end(rig);
}

// --- packets ---------------------------------------------------------------------------------------------

// An end of a packet.
struct end {
	rte_be32_t addr;
	uint16_t port;
};

static inline struct end end_of(const char *addr, uint16_t port)
{
	return (struct end){rig_addr(addr).v4, port};
}

static inline struct end ue_end(const struct rig_session *s, uint16_t port)
{
	return (struct end){s->ue_v4.v4, port};
}

static inline bool end_eq(struct end a, struct end b)
{
	return a.addr == b.addr && a.port == b.port;
}

static inline bool is_outside(const struct rig *rig, struct end end)
{
	return nat_pool_has(&rig->nat.pools[0], end.addr) && end.port >= 1024;
}

// A user packet and what it says.
struct packet {
	uint32_t bytes; // 0: there is none
	struct end from, to;
	uint8_t proto;
	uint8_t ip[RIG_FRAME_MAX];
};

// Also where UDP has none.
static inline bool l4_right(const struct packet *p)
{
	return (p->proto == IPPROTO_UDP && be16_get(p->ip + IP4_BYTES + 6) == 0) ||
	       l4_sum_right(p->ip);
}

static inline void packet_read(struct packet *p)
{
	const struct ip4_head *ip = (const struct ip4_head *)p->ip;
	const uint8_t *l4 = p->ip + IP4_BYTES;

	p->proto = ip->proto;
	p->from = (struct end){ip->src, be16_get(l4 + (ip->proto == IPPROTO_ICMP ? 4 : 0))};
	p->to = (struct end){ip->dst, be16_get(l4 + (ip->proto == IPPROTO_ICMP ? 4 : 2))};
}

// The next packet that left towards the network, or towards UEs. It is sound, but that a fragment's L4 is not looked at.
static inline struct packet packet_recv(struct rig *rig, bool up)
{
	uint8_t frame[RIG_FRAME_MAX];
	struct packet p = {0};
	uint32_t at = up ? ETH_BYTES : rig_user_at(rig, 1);
	size_t bytes = rig_recv(rig, up ? RIG_N6 : RIG_N3, frame);

	if (bytes == 0)
		return p;
	p.bytes = (uint32_t)bytes - at;
	memcpy(p.ip, frame + at, p.bytes);
	packet_read(&p);
	CU_ASSERT_EQUAL(ip4_check((const struct ip4_head *)p.ip, p.bytes), DROP_NONE);
	if (!(((const struct ip4_head *)p.ip)->fragment & RTE_BE16(IP4_MORE | IP4_OFFSET_MASK)))
		CU_ASSERT_TRUE(l4_right(&p));
	return p;
}

// One of `payload` bytes behind its L4 header.
static inline struct packet packet_of(uint8_t proto, struct end from, struct end to,
				      uint32_t payload)
{
	uint32_t head = proto == IPPROTO_TCP ? 20 : 8;
	struct packet p = {.bytes = IP4_BYTES + head + payload, .from = from, .to = to};
	uint8_t *l4 = p.ip + IP4_BYTES;

	p.proto = proto;
	ip4_write((struct ip4_head *)p.ip, from.addr, to.addr, proto, head + payload);
	for (uint32_t i = 0; i < payload; i++)
		l4[head + i] = (uint8_t)(i * 3 + 1);
	if (proto == IPPROTO_ICMP) {
		l4[0] = ICMP4_TYPE_ECHO;
		be16_put(l4 + 4, from.port);
	} else {
		be16_put(l4, from.port);
		be16_put(l4 + 2, to.port);
	}
	if (proto == IPPROTO_TCP)
		be16_put(l4 + 12, 0x5010);
	else if (proto == IPPROTO_UDP)
		be16_put(l4 + 4, (uint16_t)(head + payload));
	l4_sum_write(p.ip);
	return p;
}

// Makes an echo request the reply to it.
static inline void as_reply(struct packet *p)
{
	uint8_t *icmp = p->ip + IP4_BYTES;
	uint16_t cksum = cksum_update16(word16_get(icmp + 2), RTE_BE16(ICMP4_TYPE_ECHO << 8), 0);

	icmp[0] = ICMP4_TYPE_REPLY;
	memcpy(icmp + 2, &cksum, sizeof(cksum));
}

// As a frame of the session from the gNB, or from the network.
static inline void packet_post(struct rig *rig, const struct rig_session *s, bool up, unsigned via,
			       const struct packet *p)
{
	const struct rig_flow any = {.proto = IPPROTO_UDP, .ttl = 64, .qfi = 1};
	uint8_t frame[RIG_FRAME_MAX];
	uint32_t at = up ? rig_user_at(rig, 1) : ETH_BYTES;

	chain_frame(rig, s, up, &any, frame);
	memcpy(frame + at, p->ip, p->bytes);
	if (up) {
		be16_put(frame + rig_gtpu_at(rig) + 2,
			 (uint16_t)(at - rig_gtpu_at(rig) - GTPU_BYTES + p->bytes));
		rig_outer_write(rig, GTPU_PORT, at - rig_gtpu_at(rig) + p->bytes, frame);
	}
	rig_send(rig, up ? RIG_N3 : RIG_N6, via, frame, at + p->bytes);
}

static inline void packet_send(struct rig *rig, const struct rig_session *s, bool up, unsigned via,
			       const struct packet *p)
{
	packet_post(rig, s, up, via, p);
	rig_settle(rig);
}

// Sends one from a port of the UE and gives what left to the network.
static inline struct packet go_up(struct rig *rig, const struct rig_session *s, uint8_t proto,
				  uint16_t port, struct end to)
{
	struct packet p = packet_of(proto, ue_end(s, port), to, 40);

	packet_send(rig, s, true, 0, &p);
	return packet_recv(rig, true);
}

// Sends one from the network to an end outside, and gives what the UE got.
static inline struct packet go_down(struct rig *rig, const struct rig_session *s, uint8_t proto,
				    struct end from, struct end to, unsigned via)
{
	struct packet p = packet_of(proto, from, to, 40);

	if (proto == IPPROTO_ICMP)
		p = packet_of(proto, (struct end){from.addr, to.port}, to, 40);
	if (proto == IPPROTO_ICMP)
		as_reply(&p);
	packet_send(rig, s, false, via, &p);
	return packet_recv(rig, false);
}

// --- parts and errors ------------------------------------------------------------------------------------

// In pieces of `mtu` at most; gives how many.
static inline unsigned cut(const struct packet *p, uint32_t mtu, uint16_t id,
			   struct packet pieces[8])
{
	uint32_t at = 0;
	unsigned n = 0;

	((struct ip4_head *)p->ip)->id = rte_cpu_to_be_16(id);
	((struct ip4_head *)p->ip)->fragment = 0;
	while ((pieces[n].bytes = fragment4_next((const struct ip4_head *)p->ip, mtu, &at,
						 pieces[n].ip)))
		n++;
	return n;
}

// Puts the pieces together that left, in whatever order, and reads the whole.
static inline struct packet join(struct rig *rig, bool up, unsigned n)
{
	struct packet whole = {0};

	for (unsigned i = 0; i < n; i++) {
		struct packet piece = packet_recv(rig, up);
		uint16_t place = be16_get(piece.ip + 6);
		uint32_t at = IP4_BYTES + (place & IP4_OFFSET_MASK) * 8u;

		CU_ASSERT_NOT_EQUAL_FATAL(piece.bytes, 0);
		memcpy(whole.ip + at, piece.ip + IP4_BYTES, piece.bytes - IP4_BYTES);
		if (at == IP4_BYTES)
			memcpy(whole.ip, piece.ip, IP4_BYTES);
		else if (whole.bytes) // all have one address
			CU_ASSERT_EQUAL(memcmp(whole.ip + 12, piece.ip + 12, 8), 0);
		whole.bytes += piece.bytes - IP4_BYTES;
	}
	whole.bytes += IP4_BYTES;
	be16_put(whole.ip + 2, (uint16_t)whole.bytes);
	packet_read(&whole);
	return whole;
}

// The error of `from` about a packet, to its sender, quoting so many bytes.
static inline struct packet error_of(rte_be32_t from, const struct packet *about, uint32_t quote)
{
	struct packet p = {.proto = IPPROTO_ICMP};
	uint8_t *icmp = p.ip + IP4_BYTES;

	quote = RTE_MIN(quote, about->bytes);
	memcpy(icmp + ICMP_BYTES, about->ip, quote);
	icmp[0] = ICMP4_TYPE_UNREACHABLE;
	icmp[1] = ICMP4_FRAGMENT_NEEDED;
	be32_put(icmp + 4, 1280);
	ip4_write((struct ip4_head *)p.ip, from, about->from.addr, IPPROTO_ICMP,
		  ICMP_BYTES + quote);
	l4_sum_write(p.ip);
	p.bytes = IP4_BYTES + ICMP_BYTES + quote;
	return p;
}

// The quote is what was sent, but for TTL and checksum of its IP header.
static inline void check_quote(const struct packet *error, const struct packet *sent)
{
	uint32_t quote = error->bytes - IP4_BYTES - ICMP_BYTES;
	struct packet quoted = {.bytes = quote};

	CU_ASSERT_TRUE_FATAL(error->bytes > IP4_BYTES + ICMP_BYTES + IP4_BYTES);
	memcpy(quoted.ip, error->ip + IP4_BYTES + ICMP_BYTES, quote);
	CU_ASSERT_EQUAL(ip4_sum_ok(ip4_sum((const struct ip4_head *)quoted.ip)), true);
	quoted.ip[8] = sent->ip[8];
	memcpy(quoted.ip + 10, sent->ip + 10, 2);
	CU_ASSERT_EQUAL(memcmp(quoted.ip, sent->ip, quote), 0);
}
