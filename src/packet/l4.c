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

enum drop l4_fill_slow(const uint8_t *l4, uint32_t bytes, struct pkt *p)
{
	const struct l4_row *row = NULL;

	for (unsigned i = 0; i < sizeof(l4_rows) / sizeof(l4_rows[0]); i++)
		if (l4_rows[i].proto == p->proto &&
		    (!l4_rows[i].family || l4_rows[i].family == p->family))
			row = &l4_rows[i];
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

void udp4_write(uint8_t *ip, rte_be32_t src, uint16_t sport, rte_be32_t dst, uint16_t dport,
		uint32_t bytes)
{
	struct udp_head *udp = (struct udp_head *)(ip + IP4_BYTES);

	bytes += UDP_BYTES;
	ip4_write((struct ip4_head *)ip, src, dst, IPPROTO_UDP, bytes);
	*udp = (struct udp_head){
		.sport = rte_cpu_to_be_16(sport),
		.dport = rte_cpu_to_be_16(dport),
		.bytes = rte_cpu_to_be_16((uint16_t)bytes),
	};
	udp->cksum = cksum_finish_udp(cksum_pseudo4(src, dst, IPPROTO_UDP, bytes) +
				      cksum_bytes(udp, bytes));
}

uint32_t udp4_turn(uint8_t *frame, const struct pkt *p, uint16_t sport, uint16_t dport,
		   uint32_t bytes)
{
	const struct ip4_head *ip = (const struct ip4_head *)(frame + p->outer);
	rte_be32_t from = ip->src, to = ip->dst;

	if (eth_to_many(frame) || !ip4_is_unicast(from))
		return 0;
	eth_turn(frame);
	udp4_write(frame + p->outer, to, sport, from, dport, bytes);
	return (uint32_t)p->outer + IP4_BYTES + UDP_BYTES + bytes;
}
