// IP headers beyond the ordinary: IPv4 options, IPv6 extension headers; writers (RFC 791, RFC 8200).
// Any thread, pure.

#include "packet/ip.h"

enum drop ip4_check_slow(const struct ip4_head *ip, uint32_t room)
{
	uint32_t header = ip4_header_bytes(ip);
	uint32_t total = rte_be_to_cpu_16(ip->total);

	if (ip->version_ihl >> 4 != 4 || header < IP4_BYTES || total < header || total > room)
		return DROP_bad_ip_header;
	if (cksum_fold(cksum_bytes(ip, header)) != 0xffff)
		return DROP_bad_ip_checksum;
	return DROP_NONE;
}

// The length of an extension header that is there with its first 8 bytes; 0: it is none that is walked.
static uint32_t extension_bytes(uint8_t type, const uint8_t *extension)
{
	switch (type) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return (extension[1] + 1u) * 8;
	case IPPROTO_AH:
		return (extension[1] + 2u) * 4; // RFC 4302 2.2
	case IPPROTO_FRAGMENT:
		return 8;
	default:
		return 0;
	}
}

static bool is_extension(uint8_t type)
{
	return type == IPPROTO_HOPOPTS || type == IPPROTO_ROUTING || type == IPPROTO_DSTOPTS ||
	       type == IPPROTO_AH || type == IPPROTO_FRAGMENT;
}

enum drop ip6_walk(const struct ip6_head *ip, uint32_t total, struct ip6_end *ret_end)
{
	struct ip6_end end = {.bytes = IP6_BYTES, .proto = ip->next};
	uint32_t named_at = offsetof(struct ip6_head, next);

	for (unsigned n = 0; is_extension(end.proto); n++) {
		const uint8_t *extension = (const uint8_t *)ip + end.bytes;
		uint32_t left = total - end.bytes;

		if (n == IP6_EXTENSIONS || left < 8)
			return DROP_bad_ip_extension;
		uint32_t bytes = extension_bytes(end.proto, extension);
		if (bytes < 8 || bytes > left)
			return DROP_bad_ip_extension;
		if (end.proto == IPPROTO_FRAGMENT) {
			uint16_t place = be16_get(extension + 2);
			end.later |= place >> 3 != 0;
			end.fragment |= end.later || (place & 1);
			end.fragment_at = end.bytes;
			end.named_at = named_at;
		}
		named_at = end.bytes;
		end.bytes += bytes;
		end.proto = extension[0];
		if (end.later)
			break; // what follows is the middle of something
	}
	*ret_end = end;
	return DROP_NONE;
}

void ip4_write(struct ip4_head *ip, rte_be32_t src, rte_be32_t dst, uint8_t proto, uint32_t payload)
{
	*ip = (struct ip4_head){
		.version_ihl = 0x45,
		.total = rte_cpu_to_be_16((uint16_t)(IP4_BYTES + payload)),
		.fragment = RTE_BE16(IP4_DONT_FRAGMENT),
		.ttl = IP_OUR_TTL,
		.proto = proto,
		.src = src,
		.dst = dst,
	};
	// Of the values: what was written by halves cannot be read whole at once.
	ip->cksum = cksum_finish((uint64_t)RTE_BE16(0x4500) + ip->total + ip->fragment +
				 rte_cpu_to_be_16((uint16_t)(IP_OUR_TTL << 8 | proto)) + src + dst);
}

void ip6_write(struct ip6_head *ip, const uint8_t src[16], const uint8_t dst[16], uint8_t next,
	       uint8_t hops, uint32_t payload)
{
	ip->flow = RTE_BE32(0x60000000);
	ip->payload = rte_cpu_to_be_16((uint16_t)payload);
	ip->next = next;
	ip->hops = hops;
	memmove(ip->src, src, sizeof(ip->src));
	memmove(ip->dst, dst, sizeof(ip->dst));
}
