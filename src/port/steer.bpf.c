// The XDP program: Sluice's packets go up to the AF_XDP socket of their queue, all others stay
// with the kernel.
//
// Up go: IP to an address that is Sluice's alone; GTP-U to an address that Sluice shares with the
// host, and UDP fragments to it, which cannot be told apart; IP to a UE prefix; ARP and neighbour
// solicitation for any of these, and answers to ours. Answers to a shared address and
// announcements (gratuitous ARP, unsolicited neighbour advertisement) stay with the kernel and are
// copied to the daemon. One VLAN tag is looked through. Unicast IP to another MAC is not ours.
//
// Whose an address is says a map; of the first few, which are most packets', rows that are compared here
// (steer_quick.h).
//
// The names xsk_def_prog, xsks_map and xsk_prog_version make libxdp take the program for its own,
// so that several sockets can join it (see backend_af_xdp.c).

#include <linux/bpf.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "port/steer_map.h"

#define GTPU_PORT 2152
#define IP4_FRAGMENT 0x3fff // more fragments, or an offset
#define ND_SOLICIT 135
#define ND_ADVERT 136
#define ND_OPTION_BYTES 8 // a link-layer address
#define NEXTHDR_FRAG 44

enum verdict {
	STAY,
	UP,
	BOTH, // stays, and a copy goes to the daemon
};

struct vlan_tag {
	__be16 tci;
	__be16 proto;
};

struct arp_ip4 {
	__be16 hw_type, proto;
	__u8 hw_len, proto_len;
	__be16 op;
	__u8 sender_mac[6], sender[4], target_mac[6], target[4];
} __attribute__((packed));

struct nd {
	struct icmp6hdr icmp;
	__u8 target[16];
};

union steer_to {
	__u8 bytes[16];
	__be32 v4[4]; // the last one, of an IPv4 address in its mapped form
	__u64 words[2];
};

#define ARP_BYTES (sizeof(struct ethhdr) + sizeof(struct arp_ip4))
#define ND_BYTES                                                                                   \
	(sizeof(struct ethhdr) + sizeof(struct ipv6hdr) + sizeof(struct nd) + ND_OPTION_BYTES)

struct frame {
	struct xdp_md *ctx;
	void *l3, *end;
	__u32 l3_offset;
	__be16 proto, vlan;
	bool tagged;
	bool to_us; // its destination MAC is the device's
};

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, STEER_MAX_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STEER_MAX_ADDRS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct steer_addr);
	__type(value, __u32);
} local_addrs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, STEER_MAX_PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct steer_prefix);
	__type(value, __u32);
} ue_prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} copies SEC(".maps");

const volatile __u16 own_mac[ETH_ALEN / 2] = {0};
struct steer_quick quick; // written by the daemon while the program runs

__uint(xsk_prog_version, 1) SEC("xdp_metadata");

static __always_inline __u32 local_flags(__be16 vlan, const __u8 *addr)
{
	struct steer_addr key = {.vlan = vlan};
	__u32 *flags;

	__builtin_memcpy(key.addr, addr, sizeof(key.addr));
	flags = bpf_map_lookup_elem(&local_addrs, &key);
	return flags ? *flags : 0;
}

static __always_inline bool is_ue(__be16 vlan, const __u8 *addr)
{
	struct steer_prefix key = {.len = STEER_VLAN_BITS + 128, .vlan = vlan};

	__builtin_memcpy(key.addr, addr, sizeof(key.addr));
	return bpf_map_lookup_elem(&ue_prefixes, &key);
}

// Whose a destination is: of the first rows without asking a map. STEER_ flags; 0: the host's.
static __always_inline __u32 owner(__be16 vlan, const union steer_to *to)
{
	__u32 flags = steer_quick_find(&quick, vlan, to->words);

	if (flags)
		return flags;
	flags = local_flags(vlan, to->bytes);
	return flags ? flags : is_ue(vlan, to->bytes) ? STEER_UE : 0;
}

static __always_inline void map_v4(union steer_to *to, __be32 addr)
{
	to->v4[0] = to->v4[1] = 0;
	to->v4[2] = bpf_htonl(0xffff);
	to->v4[3] = addr;
}

// By a load at an offset: without CAP_PERFMON no packet pointer may move by a number read from it.
static __always_inline bool is_gtpu(const struct frame *f, __u32 l4_offset)
{
	struct udphdr udp;

	return !bpf_xdp_load_bytes(f->ctx, f->l3_offset + l4_offset, &udp, sizeof(udp)) &&
	       udp.dest == bpf_htons(GTPU_PORT);
}

static __always_inline enum verdict arp_verdict(const struct frame *f)
{
	struct arp_ip4 *arp = f->l3;
	union steer_to target;
	bool announces = true;
	__be32 addr;
	__u32 flags;

	if ((void *)(arp + 1) > f->end || arp->proto != bpf_htons(ETH_P_IP) || arp->hw_len != 6 ||
	    arp->proto_len != 4)
		return STAY;
	for (int i = 0; i < 4; i++)
		announces &= arp->sender[i] == arp->target[i];
	__builtin_memcpy(&addr, arp->target, sizeof(addr));
	map_v4(&target, addr);
	flags = local_flags(f->vlan, target.bytes);
	if (flags & STEER_OWN)
		return UP;
	if (announces || (flags && arp->op == bpf_htons(2)))
		return BOTH;
	return !flags && is_ue(f->vlan, target.bytes) ? UP : STAY;
}

static __always_inline enum verdict ip4_verdict(const struct frame *f)
{
	struct iphdr *ip = f->l3;
	union steer_to to;
	__u32 flags;

	if ((void *)(ip + 1) > f->end || !f->to_us)
		return STAY;
	map_v4(&to, ip->daddr);
	flags = owner(f->vlan, &to);
	if (flags & (STEER_OWN | STEER_UE))
		return UP;
	if (!(flags & STEER_GTPU) || ip->protocol != IPPROTO_UDP)
		return STAY;
	if (ip->frag_off & bpf_htons(IP4_FRAGMENT))
		return UP;
	return is_gtpu(f, ip->ihl * 4u) ? UP : STAY;
}

// Neighbour discovery: STAY also means "judge it as any other packet".
static __always_inline enum verdict nd_verdict(const struct frame *f, const struct ipv6hdr *ip)
{
	struct nd *nd = (void *)(ip + 1);
	__u8 target[16];

	if ((void *)(nd + 1) > f->end)
		return STAY;
	if (nd->icmp.icmp6_type == ND_SOLICIT) {
		__builtin_memcpy(target, nd->target, sizeof(target));
		__u32 flags = local_flags(f->vlan, target);
		if (flags)
			return flags & STEER_OWN ? UP : STAY;
		return is_ue(f->vlan, target) ? UP : STAY;
	}
	if (nd->icmp.icmp6_type == ND_ADVERT) {
		__builtin_memcpy(target, &ip->daddr, sizeof(target));
		if (target[0] == 0xff)
			return BOTH;
		__u32 flags = local_flags(f->vlan, target);
		if (flags && !(flags & STEER_OWN))
			return BOTH;
	}
	return STAY;
}

static __always_inline enum verdict ip6_verdict(const struct frame *f)
{
	struct ipv6hdr *ip = f->l3;
	union steer_to to;
	__u32 flags;

	if ((void *)(ip + 1) > f->end)
		return STAY;
	if (ip->nexthdr == IPPROTO_ICMPV6) {
		enum verdict v = nd_verdict(f, ip);
		if (v != STAY)
			return v;
	}
	if (!f->to_us)
		return STAY;
	__builtin_memcpy(&to, &ip->daddr, sizeof(to));
	flags = owner(f->vlan, &to);
	if (flags & (STEER_OWN | STEER_UE))
		return UP;
	if (!(flags & STEER_GTPU))
		return STAY;
	if (ip->nexthdr == NEXTHDR_FRAG) {
		__u8 *next = (void *)(ip + 1);
		return (void *)(next + 1) <= f->end && *next == IPPROTO_UDP ? UP : STAY;
	}
	return ip->nexthdr == IPPROTO_UDP && is_gtpu(f, sizeof(*ip)) ? UP : STAY;
}

static __always_inline bool frame_parse(struct xdp_md *ctx, struct frame *f)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	const __u16 *words = (const void *)eth; // a packed struct is read byte by byte

	f->ctx = ctx;
	f->end = (void *)(long)ctx->data_end;
	f->l3 = eth + 1;
	f->l3_offset = sizeof(*eth);
	f->vlan = 0;
	f->tagged = false;
	if (f->l3 > f->end)
		return false;
	f->to_us = words[0] == own_mac[0] && words[1] == own_mac[1] && words[2] == own_mac[2];
	f->proto = words[offsetof(struct ethhdr, h_proto) / 2];
	if (f->proto == bpf_htons(ETH_P_8021Q) || f->proto == bpf_htons(ETH_P_8021AD)) {
		struct vlan_tag *tag = f->l3;

		if ((void *)(tag + 1) > f->end)
			return false;
		f->tagged = true;
		f->vlan = tag->tci & bpf_htons(0xfff);
		f->proto = tag->proto;
		f->l3 = tag + 1;
		f->l3_offset += sizeof(*tag);
	}
	return true;
}

// By whole frames of known length: without CAP_PERFMON the kernel takes no arithmetic on the ring's
// memory, nor the difference of two packet pointers.
static __always_inline void copy_up(const struct frame *f)
{
	struct steer_copy *copy = bpf_ringbuf_reserve(&copies, sizeof(*copy), 0);
	__u32 len = f->proto == bpf_htons(ETH_P_ARP) ? ARP_BYTES : ND_BYTES;

	if (!copy)
		return;
	if (f->tagged)
		len += sizeof(struct vlan_tag);
	if (bpf_xdp_load_bytes(f->ctx, 0, copy->frame, len)) {
		len -= ND_OPTION_BYTES; // an advertisement may come without its option
		if (bpf_xdp_load_bytes(f->ctx, 0, copy->frame, len)) {
			bpf_ringbuf_discard(copy, 0);
			return;
		}
	}
	copy->len = len;
	bpf_ringbuf_submit(copy, 0);
}

SEC("xdp")
int xsk_def_prog(struct xdp_md *ctx)
{
	enum verdict verdict = STAY;
	struct frame f;

	if (!frame_parse(ctx, &f))
		return XDP_PASS;
	if (f.proto == bpf_htons(ETH_P_IP))
		verdict = ip4_verdict(&f);
	else if (f.proto == bpf_htons(ETH_P_IPV6))
		verdict = ip6_verdict(&f);
	else if (f.proto == bpf_htons(ETH_P_ARP))
		verdict = arp_verdict(&f);
	if (verdict == BOTH)
		copy_up(&f);
	// A queue without a socket passes to the kernel.
	return verdict == UP ? (int)bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS)
			     : XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
