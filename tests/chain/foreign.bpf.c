// An XDP program that is not Sluice's, for tests/smoke/test_port.py.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int foreign(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
