// An XDP program that is not Sluice's: passes everything.
//
// For tests/smoke/test_port.py, where the daemon must not take it off.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int foreign(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
