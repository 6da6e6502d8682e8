// ICMP and ICMPv6: replies in place and errors about user packets (RFC 792, RFC 4443).
// Workers and the control thread, pure; relies on what parse() left in struct pkt.

#include "packet/icmp.h"

#include "packet/eth.h"
#include "packet/ip.h"
#include "packet/l4.h"

// Sets type and code, and the checksum with them.
static void retype(uint8_t *icmp, uint8_t type)
{
	uint16_t before = word16_get(icmp);

	icmp[0] = type;
	icmp[1] = 0;
	uint16_t cksum = cksum_update16(word16_get(icmp + 2), before, word16_get(icmp));
	memcpy(icmp + 2, &cksum, sizeof(cksum));
}

static bool echo4_turn(uint8_t *frame, const struct pkt *p)
{
	struct ip4_head *ip = (struct ip4_head *)(frame + p->outer);
	rte_be32_t from = ip->src;

	if (!ip4_is_unicast(from))
		return false;
	ip->src = ip->dst;
	ip->dst = from;
	ip->ttl = IP_OUR_TTL;
	ip->cksum = ip4_cksum(ip);
	retype(frame + p->l4, ICMP4_TYPE_REPLY);
	return true;
}

static bool echo6_turn(uint8_t *frame, const struct pkt *p)
{
	struct ip6_head *ip = (struct ip6_head *)(frame + p->outer);
	uint8_t from[16];

	if (!ip6_is_unicast(ip->src))
		return false;
	memcpy(from, ip->src, sizeof(from));
	memcpy(ip->src, ip->dst, sizeof(from));
	memcpy(ip->dst, from, sizeof(from));
	ip->hops = IP_OUR_TTL;
	retype(frame + p->l4,
	       ICMP6_TYPE_REPLY); // the pseudo-header's sum does not mind the exchange
	return true;
}

uint32_t icmp_echo_reply(uint8_t *frame, const struct pkt *p)
{
	if (eth_to_many(frame))
		return 0;
	if (!(p->family == 4 ? echo4_turn(frame, p) : echo6_turn(frame, p)))
		return 0;
	eth_turn(frame);
	return (uint32_t)p->outer + p->user_bytes;
}

bool icmp_is_error(const struct pkt *p)
{
	const uint32_t errors4 = 1u << ICMP4_TYPE_UNREACHABLE | 1u << ICMP4_TYPE_QUENCH |
				 1u << ICMP4_TYPE_TIME_EXCEEDED | 1u << ICMP4_TYPE_PARAMETER;
	uint8_t type = (uint8_t)(p->dport >> 8);

	if (p->flags & PKT_F_NO_L4)
		return false;
	return p->family == 4 ? p->proto == IPPROTO_ICMP && type < 32 && (errors4 >> type & 1)
			      : p->proto == IPPROTO_ICMPV6 && type < ICMP6_TYPE_ECHO;
}

// Of a quote the packet's own length may be more than what is there.
static bool quote4_read(const struct ip4_head *ip, uint32_t room, struct pkt *ret)
{
	uint32_t header, total;
	uint16_t place;

	if (room < IP4_BYTES || ip->version_ihl >> 4 != 4)
		return false;
	header = ip4_header_bytes(ip);
	total = rte_be_to_cpu_16(ip->total);
	if (header < IP4_BYTES || header > room || total < header)
		return false;
	place = rte_be_to_cpu_16(ip->fragment) & (IP4_MORE | IP4_OFFSET_MASK);
	ret->flags |= place || total > room ? PKT_F_FRAGMENT : 0;
	ret->flags |= place & IP4_OFFSET_MASK ? PKT_F_NO_L4 : 0;
	ret->l4 = (uint16_t)(ret->user + header);
	ret->user_bytes = (uint16_t)(total < room ? total : room);
	ret->proto = ip->proto;
	return true;
}

static bool quote6_read(const struct ip6_head *ip, uint32_t room, struct pkt *ret)
{
	uint32_t total;
	struct ip6_end end;

	if (room < IP6_BYTES || *(const uint8_t *)ip >> 4 != 6)
		return false;
	total = IP6_BYTES + rte_be_to_cpu_16(ip->payload);
	if (ip6_walk(ip, total < room ? total : room, &end) != DROP_NONE)
		return false;
	ret->flags |= end.fragment || total > room ? PKT_F_FRAGMENT : 0;
	ret->flags |= end.later ? PKT_F_NO_L4 : 0;
	ret->l4 = (uint16_t)(ret->user + end.bytes);
	ret->user_bytes = (uint16_t)(total < room ? total : room);
	ret->proto = end.proto;
	return true;
}

bool icmp_quote_read(const uint8_t *user, const struct pkt *p, struct pkt *ret)
{
	uint32_t at = (uint32_t)(p->l4 - p->user) + ICMP_BYTES;
	uint32_t room = p->user_bytes > at ? p->user_bytes - at : 0;
	const uint8_t *quote = user + at;

	*ret = (struct pkt){
		.family = p->family, .user = (uint16_t)(p->user + at), .qfi = PKT_QFI_NONE};
	if (!(p->family == 4 ? quote4_read((const struct ip4_head *)quote, room, ret)
			     : quote6_read((const struct ip6_head *)quote, room, ret)))
		return false;
	at = (uint32_t)(ret->l4 - ret->user);
	return ret->flags & PKT_F_NO_L4 ||
	       l4_fill(quote + at, ret->user_bytes - at, ret) == DROP_NONE;
}

bool icmp_cksum_ok(const uint8_t *user, const struct pkt *p)
{
	uint32_t at = (uint32_t)(p->l4 - p->user), bytes = p->user_bytes - at;
	uint64_t sum = cksum_bytes(user + at, bytes);

	if (p->family == 6)
		sum += cksum_pseudo6(((const struct ip6_head *)user)->src,
				     ((const struct ip6_head *)user)->dst, IPPROTO_ICMPV6, bytes);
	return cksum_fold(sum) == 0xffff;
}

bool icmp_error_allowed(const uint8_t *frame, const struct pkt *p)
{
	const uint8_t *user = frame + p->user;
	bool icmp = p->proto == (p->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	uint8_t type = (uint8_t)(p->dport >> 8);

	if (p->flags & PKT_F_FRAGMENT && p->flags & PKT_F_NO_L4)
		return false; // later fragments speak for nobody
	if (p->family == 4) {
		const struct ip4_head *ip = (const struct ip4_head *)user;
		return ip4_is_unicast(ip->src) && ip4_is_unicast(ip->dst) &&
		       !(icmp && type != ICMP4_TYPE_ECHO && type != ICMP4_TYPE_REPLY);
	}
	const struct ip6_head *ip = (const struct ip6_head *)user;
	return ip6_is_unicast(ip->src) && !(icmp && type < ICMP6_TYPE_ECHO);
}

uint32_t icmp_error_build(uint8_t *user, const struct icmp_error *error, const struct pkt *p,
			  uint32_t *ret_head)
{
	bool v4 = p->family == 4;
	uint32_t head = (v4 ? IP4_BYTES : IP6_BYTES) + ICMP_BYTES;
	uint32_t most = (v4 ? ICMP4_ERROR_BYTES_MAX : ICMP6_ERROR_BYTES_MAX) - head;
	uint32_t bytes = ICMP_BYTES + (p->user_bytes < most ? p->user_bytes : most);
	uint8_t *icmp = user - ICMP_BYTES;
	uint64_t sum;

	icmp[0] = error->type;
	icmp[1] = error->code;
	memset(icmp + 2, 0, 2);
	be32_put(icmp + 4, error->word);
	sum = cksum_bytes(icmp, bytes);
	if (v4) {
		ip4_write((struct ip4_head *)(user - head), word32_get(error->src),
			  ((const struct ip4_head *)user)->src, IPPROTO_ICMP, bytes);
	} else {
		const uint8_t *to = ((const struct ip6_head *)user)->src;

		ip6_write((struct ip6_head *)(user - head), error->src, to, IPPROTO_ICMPV6,
			  IP_OUR_TTL, bytes);
		sum += cksum_pseudo6(error->src, to, IPPROTO_ICMPV6, bytes);
	}
	uint16_t cksum = cksum_finish(sum);
	memcpy(icmp + 2, &cksum, sizeof(cksum));
	*ret_head = head;
	return head - ICMP_BYTES + bytes;
}
