// ICMP and ICMPv6: replies in place and errors about user packets (RFC 792, RFC 4443).
// Workers and the control thread, pure; relies on what parse() left in struct pkt.

#include "packet/icmp.h"

#include "packet/eth.h"
#include "packet/ip.h"

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
