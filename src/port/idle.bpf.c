// An XDP program that passes everything to the kernel.
//
// The AF_XDP driver loads and attaches it for a moment while it opens a socket, where the daemon
// may not look programs up by their number (see backend_af_xdp.c).

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "port/steer_map.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, STEER_MAX_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

SEC("xdp")
int sluice_idle(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
