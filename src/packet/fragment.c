// Fragments of IP packets (fragment.h).
// Any thread, pure; the packets have passed ip4_check() or ip6_check().

#include "packet/fragment.h"

#define OPTION_END 0
#define OPTION_NONE 1
#define OPTION_COPIED 0x80 // stands in every fragment (RFC 791 3.1)

static unsigned pieces(uint32_t bytes, uint32_t room)
{
	room &= ~7u;
	return (bytes + room - 1) / room;
}

// How much of what is left goes into a fragment: all, or whole units of 8 bytes.
static uint32_t piece_bytes(uint32_t left, uint32_t room)
{
	return left <= room ? left : room & ~7u;
}

// The header of all fragments but the first. Gives its length.
static uint32_t later_header_write(const struct ip4_head *ip, struct ip4_head *to)
{
	const uint8_t *from = (const uint8_t *)(ip + 1);
	uint32_t room = ip4_header_bytes(ip) - IP4_BYTES;
	uint32_t at = 0, bytes = IP4_BYTES;

	*to = *ip;
	while (at < room && from[at] != OPTION_END) {
		uint32_t length = 1;

		if (from[at] != OPTION_NONE)
			length = at + 1 < room && from[at + 1] >= 2 ? from[at + 1] : room - at;
		if (length > room - at)
			length = room - at;
		if (from[at] & OPTION_COPIED) {
			memcpy((uint8_t *)to + bytes, from + at, length);
			bytes += length;
		}
		at += length;
	}
	while (bytes % 4)
		((uint8_t *)to)[bytes++] = OPTION_END;
	to->version_ihl = (uint8_t)(0x40 | bytes / 4);
	return bytes;
}

unsigned fragment4_most(const struct ip4_head *ip, uint32_t mtu)
{
	uint32_t header = ip4_header_bytes(ip);

	return pieces(rte_be_to_cpu_16(ip->total) - header, mtu - header);
}

uint32_t fragment4_next(const struct ip4_head *ip, uint32_t mtu, uint32_t *at, uint8_t *to)
{
	struct ip4_head *head = (struct ip4_head *)to;
	uint32_t from = ip4_header_bytes(ip), header = from;
	uint32_t left = rte_be_to_cpu_16(ip->total) - from - *at;
	uint16_t place = rte_be_to_cpu_16(ip->fragment);
	uint32_t bytes;

	if (left == 0)
		return 0;
	if (*at == 0)
		memcpy(to, ip, header);
	else
		header = later_header_write(ip, head);
	bytes = piece_bytes(left, mtu - header);
	memcpy(to + header, (const uint8_t *)ip + from + *at, bytes);
	place = (uint16_t)(place + *at / 8);
	head->total = rte_cpu_to_be_16((uint16_t)(header + bytes));
	head->fragment = rte_cpu_to_be_16((uint16_t)(place | (bytes < left ? IP4_MORE : 0)));
	head->cksum = ip4_cksum(head);
	*at += bytes;
	return header + bytes;
}

unsigned fragment6_most(const struct ip6_head *ip, uint32_t mtu)
{
	return pieces(rte_be_to_cpu_16(ip->payload), mtu - IP6_BYTES - FRAGMENT6_BYTES);
}

uint32_t fragment6_next(const struct ip6_head *ip, uint32_t mtu, uint32_t id, uint32_t *at,
			uint8_t *to)
{
	struct ip6_head *head = (struct ip6_head *)to;
	uint8_t *fragment = to + IP6_BYTES;
	uint32_t left = rte_be_to_cpu_16(ip->payload) - *at;
	uint32_t bytes = piece_bytes(left, mtu - IP6_BYTES - FRAGMENT6_BYTES);

	if (left == 0)
		return 0;
	*head = *ip;
	head->payload = rte_cpu_to_be_16((uint16_t)(FRAGMENT6_BYTES + bytes));
	head->next = IPPROTO_FRAGMENT;
	fragment[0] = ip->next;
	fragment[1] = 0;
	be16_put(fragment + 2, (uint16_t)(*at | (bytes < left)));
	be32_put(fragment + 4, id);
	memcpy(fragment + FRAGMENT6_BYTES, (const uint8_t *)(ip + 1) + *at, bytes);
	*at += bytes;
	return IP6_BYTES + FRAGMENT6_BYTES + bytes;
}

static bool fragment_read4(const struct ip4_head *ip, uint32_t bytes, struct fragment *ret)
{
	uint16_t place = rte_be_to_cpu_16(ip->fragment);
	uint32_t header = ip4_header_bytes(ip);

	*ret = (struct fragment){
		.id = rte_be_to_cpu_16(ip->id),
		.at = header,
		.offset = (place & IP4_OFFSET_MASK) * 8u,
		.bytes = bytes - header,
		.more = place & IP4_MORE,
		.proto = ip->proto,
	};
	return place & (IP4_MORE | IP4_OFFSET_MASK);
}

static bool fragment_read6(const struct ip6_head *ip, uint32_t bytes, struct fragment *ret)
{
	const uint8_t *header;
	struct ip6_end end;

	if (ip6_walk(ip, bytes, &end) != DROP_NONE || !end.fragment)
		return false;
	header = (const uint8_t *)ip + end.fragment_at;
	*ret = (struct fragment){
		.id = be32_get(header + 4),
		.at = end.fragment_at + FRAGMENT6_BYTES,
		.offset = be16_get(header + 2) & ~7u,
		.bytes = bytes - end.fragment_at - FRAGMENT6_BYTES,
		.more = header[3] & 1,
		.proto = header[0],
		.named_at = end.named_at,
	};
	return true;
}

bool fragment_read(const uint8_t *ip, uint32_t bytes, struct fragment *ret)
{
	if (!(*ip >> 4 == 4 ? fragment_read4((const struct ip4_head *)ip, bytes, ret)
			    : fragment_read6((const struct ip6_head *)ip, bytes, ret)))
		return false;
	return ret->bytes > 0 && ret->offset + ret->bytes <= UINT16_MAX - ret->at &&
	       (!ret->more || ret->bytes % 8 == 0);
}
