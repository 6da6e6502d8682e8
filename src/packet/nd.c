// Neighbour discovery messages, read with the checks of RFC 4861 7.1 and written.
// Control thread, pure; relies on what parse() left in struct pkt.

#include "packet/nd.h"

#include <errno.h>

#include "packet/icmp.h"
#include "packet/ip.h"

#define ND_BYTES 24 // type, code, checksum, flags, target
#define ND_HOPS 255
#define ND_OPTION_SOURCE 1 // link-layer address options
#define ND_OPTION_TARGET 2
#define ND_F_ROUTER 0x80
#define ND_F_SOLICITED 0x40
#define ND_F_OVERRIDE 0x20

static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
static const uint8_t unspecified[16];

void nd_group(const uint8_t addr[16], uint8_t ret_group[16])
{
	static const uint8_t start[13] = {0xff, 0x02, [11] = 0x01, [12] = 0xff};

	memcpy(ret_group, start, sizeof(start));
	memcpy(ret_group + 13, addr + 13, 3);
}

bool nd_is_group(const uint8_t group[16])
{
	uint8_t own[16];

	nd_group(group, own);
	return ip6_eq(own, group);
}

// The MAC address of an IPv6 group (RFC 2464 7).
static void group_mac(const uint8_t group[16], uint8_t ret_mac[ETH_MAC_BYTES])
{
	ret_mac[0] = 0x33;
	ret_mac[1] = 0x33;
	memcpy(ret_mac + 2, group + 12, 4);
}

static int options_decode(const uint8_t *option, uint32_t left, struct nd_message *m)
{
	uint8_t wanted = m->advert ? ND_OPTION_TARGET : ND_OPTION_SOURCE;

	while (left) {
		uint32_t bytes = left >= 8 ? option[1] * 8u : 0;
		if (!bytes || bytes > left)
			return -EBADMSG;
		if (option[0] == wanted && bytes == 8) {
			memcpy(m->mac, option + 2, ETH_MAC_BYTES);
			m->has_mac = true;
		}
		option += bytes;
		left -= bytes;
	}
	return 0;
}

// What 7.1.1 and 7.1.2 ask beyond lengths.
static bool makes_sense(const struct nd_message *m)
{
	if (m->target[0] == 0xff || m->src[0] == 0xff || (m->has_mac && m->mac[0] & 1))
		return false;
	if (m->advert)
		return !(m->solicited && m->dst[0] == 0xff);
	return !ip6_eq(m->src, unspecified) || (nd_is_group(m->dst) && !m->has_mac);
}

int nd_decode(const uint8_t *frame, const struct pkt *p, struct nd_message *ret_message)
{
	const struct ip6_head *ip = (const struct ip6_head *)(frame + p->user);
	const uint8_t *icmp = frame + p->l4;
	uint32_t bytes = (uint32_t)(p->user + p->user_bytes - p->l4);
	struct nd_message m = {0};

	if (bytes < ND_BYTES || ip->hops != ND_HOPS || icmp[1] != 0)
		return -EBADMSG;
	if (cksum_fold(cksum_pseudo6(ip->src, ip->dst, IPPROTO_ICMPV6, bytes) +
		       cksum_bytes(icmp, bytes)) != 0xffff)
		return -EBADMSG;
	m.advert = icmp[0] == ICMP6_TYPE_ADVERT;
	if (m.advert) {
		m.router = icmp[4] & ND_F_ROUTER;
		m.solicited = icmp[4] & ND_F_SOLICITED;
		m.override = icmp[4] & ND_F_OVERRIDE;
	}
	memcpy(m.src, ip->src, sizeof(m.src));
	memcpy(m.dst, ip->dst, sizeof(m.dst));
	memcpy(m.target, icmp + 8, sizeof(m.target));
	if (options_decode(icmp + ND_BYTES, bytes - ND_BYTES, &m) || !makes_sense(&m))
		return -EBADMSG;
	*ret_message = m;
	return 0;
}

// The message at icmp[0..3] still to be typed; flags, target and `option` bytes behind it are there.
static uint32_t nd_finish(uint8_t *frame, uint32_t at, const uint8_t *src, const uint8_t *dst,
			  uint8_t type, uint32_t option)
{
	uint8_t *icmp = frame + at + IP6_BYTES;
	uint32_t bytes = ND_BYTES + option;

	ip6_write((struct ip6_head *)(frame + at), src, dst, IPPROTO_ICMPV6, ND_HOPS, bytes);
	icmp[0] = type;
	memset(icmp + 1, 0, 3);
	uint16_t cksum = cksum_finish(cksum_pseudo6(src, dst, IPPROTO_ICMPV6, bytes) +
				      cksum_bytes(icmp, bytes));
	memcpy(icmp + 2, &cksum, sizeof(cksum));
	return at + IP6_BYTES + bytes;
}

// Flags, target and, unless `mac` is NULL, the link-layer address option.
static uint32_t body_write(uint8_t *icmp, uint8_t flags, const uint8_t *target, uint8_t option,
			   const uint8_t *mac)
{
	memset(icmp + 4, 0, 4);
	icmp[4] = flags;
	memcpy(icmp + 8, target, 16);
	if (!mac)
		return 0;
	icmp[ND_BYTES] = option;
	icmp[ND_BYTES + 1] = 1;
	memcpy(icmp + ND_BYTES + 2, mac, ETH_MAC_BYTES);
	return 8;
}

uint32_t nd_solicit_build(uint8_t frame[ND_FRAME_BYTES], uint16_t vid,
			  const uint8_t mac[ETH_MAC_BYTES], const uint8_t src[16],
			  const uint8_t target[16], const uint8_t *to_mac)
{
	uint8_t group[16], group_to[ETH_MAC_BYTES];

	nd_group(target, group);
	group_mac(group, group_to);
	uint32_t at = eth_write(frame, to_mac ? to_mac : group_to, mac, vid, ETH_TYPE_IP6);
	// Who has no address yet (duplicate detection) must not say where it is.
	uint32_t option = body_write(frame + at + IP6_BYTES, 0, target, ND_OPTION_SOURCE,
				     ip6_eq(src, unspecified) ? NULL : mac);
	return nd_finish(frame, at, src, to_mac ? target : group, ICMP6_TYPE_SOLICIT, option);
}

uint32_t nd_advert_build(uint8_t frame[ND_FRAME_BYTES], uint16_t vid,
			 const uint8_t mac[ETH_MAC_BYTES], const uint8_t target[16],
			 const uint8_t *to_mac, const uint8_t *to)
{
	// An answer to "::" goes to all nodes, unsolicited (7.2.4).
	bool to_all = !to || ip6_eq(to, unspecified);
	const uint8_t *dst = to_all ? all_nodes : to;
	uint8_t group_to[ETH_MAC_BYTES];
	uint8_t flags = ND_F_ROUTER | ND_F_OVERRIDE;

	group_mac(dst, group_to);
	uint32_t at = eth_write(frame, to_all || !to_mac ? group_to : to_mac, mac, vid,
				ETH_TYPE_IP6);
	if (!to_all)
		flags |= ND_F_SOLICITED;
	uint32_t option = body_write(frame + at + IP6_BYTES, flags, target, ND_OPTION_TARGET, mac);
	return nd_finish(frame, at, target, dst, ICMP6_TYPE_ADVERT, option);
}
