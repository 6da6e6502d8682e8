// L4 headers beyond whole TCP and UDP: other protocols, short ones, first fragments; UDP writers.
// Any thread, pure.

#include "packet/l4.h"

#include "packet/eth.h"

// What is read of a protocol's header: its smallest length, and whether it starts with two ports.
struct l4_row {
	uint8_t proto;
	uint8_t family; // 0: under both
	uint8_t bytes;
	bool ports; // otherwise ICMP's type and code
};

static const struct l4_row l4_rows[] = {
	{IPPROTO_TCP, 0, 20, true},    {IPPROTO_UDP, 0, 8, true},   {IPPROTO_SCTP, 0, 12, true},
	{IPPROTO_UDPLITE, 0, 8, true}, {IPPROTO_ICMP, 4, 8, false}, {IPPROTO_ICMPV6, 6, 8, false},
};

static const struct l4_row *row_of(uint8_t proto, uint8_t family)
{
	for (unsigned i = 0; i < sizeof(l4_rows) / sizeof(l4_rows[0]); i++)
		if (l4_rows[i].proto == proto &&
		    (!l4_rows[i].family || l4_rows[i].family == family))
			return &l4_rows[i];
	return NULL;
}

bool l4_is_known(uint8_t proto, uint8_t family)
{
	return row_of(proto, family) != NULL;
}

enum drop l4_fill_slow(const uint8_t *l4, uint32_t bytes, struct pkt *p)
{
	const struct l4_row *row = row_of(p->proto, p->family);

	if (!row) {
		p->flags |= PKT_F_NO_L4;
		return DROP_NONE;
	}
	if (bytes < row->bytes && !(p->flags & PKT_F_FRAGMENT))
		return DROP_bad_user_packet;
	if (bytes < 4) { // a first fragment may be as short as it likes
		p->flags |= PKT_F_NO_L4;
		return DROP_NONE;
	}
	if (row->ports)
		p->sport = be16_get(l4);
	p->dport = be16_get(row->ports ? l4 + 2 : l4);
	return DROP_NONE;
}

// The UDP header before a payload that is in its place; `pseudo` is the sum of what is in front of it.
static void udp_write(struct udp_head *udp, uint16_t sport, uint16_t dport, uint32_t bytes,
		      uint64_t pseudo)
{
	*udp = (struct udp_head){
		.sport = rte_cpu_to_be_16(sport),
		.dport = rte_cpu_to_be_16(dport),
		.bytes = rte_cpu_to_be_16((uint16_t)bytes),
	};
	udp->cksum = cksum_finish_udp(pseudo + cksum_bytes(udp, bytes));
}

void udp4_write(uint8_t *ip, rte_be32_t src, uint16_t sport, rte_be32_t dst, uint16_t dport,
		uint32_t bytes)
{
	bytes += UDP_BYTES;
	ip4_write((struct ip4_head *)ip, src, dst, IPPROTO_UDP, bytes);
	udp_write((struct udp_head *)(ip + IP4_BYTES), sport, dport, bytes,
		  cksum_pseudo4(src, dst, IPPROTO_UDP, bytes));
}

void udp6_write(uint8_t *ip, const uint8_t src[16], uint16_t sport, const uint8_t dst[16],
		uint16_t dport, uint32_t bytes)
{
	const struct ip6_head *ip6 = (const struct ip6_head *)ip;

	bytes += UDP_BYTES;
	ip6_write((struct ip6_head *)ip, src, dst, IPPROTO_UDP, IP_OUR_TTL, bytes);
	udp_write((struct udp_head *)(ip + IP6_BYTES), sport, dport, bytes,
		  cksum_pseudo6(ip6->src, ip6->dst, IPPROTO_UDP, bytes));
}

static bool udp4_turn(uint8_t *ip, uint16_t sport, uint16_t dport, uint32_t bytes)
{
	const struct ip4_head *ip4 = (const struct ip4_head *)ip;
	rte_be32_t from = ip4->src, to = ip4->dst;

	if (!ip4_is_unicast(from))
		return false;
	udp4_write(ip, to, sport, from, dport, bytes);
	return true;
}

static bool udp6_turn(uint8_t *ip, uint16_t sport, uint16_t dport, uint32_t bytes)
{
	struct ip6_head was = *(const struct ip6_head *)ip;

	if (!ip6_is_unicast(was.src))
		return false;
	udp6_write(ip, was.dst, sport, was.src, dport, bytes);
	return true;
}

uint32_t udp_turn(uint8_t *frame, const struct pkt *p, uint16_t sport, uint16_t dport,
		  uint32_t bytes)
{
	uint8_t *ip = frame + p->outer;
	uint32_t at = p->outer + udp_turn_at(frame, p);

	if (eth_to_many(frame) || !(*ip >> 4 == 4 ? udp4_turn(ip, sport, dport, bytes)
						  : udp6_turn(ip, sport, dport, bytes)))
		return 0;
	eth_turn(frame);
	return at + bytes;
}
