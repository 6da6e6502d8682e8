// Making the traffic side: ports, then sessions over N4, then packets that pass. See side.h.
// One thread.

#include "side.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define AT(member) offsetof(struct side_options, member)
#define WINDOW 64
#define RATE_BPS 40000000000ull // so that no meter is what stops a packet
#define THRESHOLD_BYTES (100ull << 30)

const struct option_row side_rows[] = {
	{"n3-port", OPTION_TEXT, AT(ports[TRAFFIC_UP]), .operand = "DEVICE",
	 .help = "the gNB's port: DPDK device arguments, as net_af_xdp0,iface=g3, or a PCI address; more queues behind ';'"},
	{"n6-port", OPTION_TEXT, AT(ports[TRAFFIC_DOWN]), .operand = "DEVICE",
	 .help = "the data network's port"},
	{"forwarder", OPTION_WORDS, AT(forwarder), .def = "upf", .words = {"upf", "io"},
	 .operand = "WHAT",
	 .help = "what is measured; io: frames pass as they are, as testpmd has it"},
	{"smf", OPTION_ADDR, AT(smf), .def = "10.10.4.2", .operand = "ADDRESS",
	 .help = "our own address for PFCP"},
	{"n4", OPTION_ADDR, AT(upf), .def = "10.10.4.1", .operand = "ADDRESS",
	 .help = "the UPF's address for PFCP"},
	{"gnb", OPTION_ADDR, AT(gnb), .def = "10.10.3.2", .operand = "ADDRESS",
	 .help = "the gNB's address"},
	{"n3", OPTION_ADDR, AT(n3), .def = "10.10.3.1", .operand = "ADDRESS",
	 .help = "the UPF's address there"},
	{"dn", OPTION_ADDR, AT(dn), .def = "10.10.6.2", .operand = "ADDRESS",
	 .help = "the data network's gateway"},
	{"n6", OPTION_ADDR, AT(n6), .def = "10.10.6.1", .operand = "ADDRESS",
	 .help = "the UPF's address there"},
	{"server", OPTION_ADDR, AT(server), .def = "192.0.2.10", .operand = "ADDRESS",
	 .help = "whom the UEs talk to"},
	{"ue-base", OPTION_ADDR, AT(ue_base), .def = "10.45.0.1", .operand = "ADDRESS",
	 .help = "the first UE's address; the others follow"},
	{"ue6-base", OPTION_ADDR6, AT(ue6_base), .operand = "ADDRESS",
	 .help = "the first UE's /64; then each has one, and a second tunnel up"},
	{"dnn", OPTION_TEXT, AT(network), .def = "internet", .operand = "NAME",
	 .help = "the network instance"},
	{"ues", OPTION_NUMBER, AT(ues), 1, 4000000, "1024", .operand = "N",
	 .help = "UEs, each with a session"},
	{"flows", OPTION_NUMBER, AT(flows), 1, 1000, "2", .operand = "N",
	 .help = "flows of each UE"},
	{"direction", OPTION_WORDS, AT(ways), .def = "up,down", .words = {"up", "down"},
	 .operand = "WAY,..", .help = "of the packets"},
	{"cpu", OPTION_NUMBER, AT(cpu), 0, 1023, "0", .operand = "N",
	 .help = "where the traffic side runs"},
	{"catch-up", OPTION_NUMBER, AT(catch_up_ms), 0, 1000, "10", .operand = "MS",
	 .help = "a sender that was kept from sending makes up for so much; more where it shares its CPU"},
	{"wait", OPTION_NUMBER, AT(wait_s), 1, 3600, "3", .operand = "SECONDS",
	 .help = "for the UPF's answer to the association, when the ports are open"},
	{"huge", OPTION_FLAG, AT(huge), .help = "packets in huge pages"},
};
const unsigned side_n_rows = sizeof(side_rows) / sizeof(side_rows[0]);

static void sessions_make(const struct side_options *o, struct side *side)
{
	const struct n4_conf conf = {
		.smf = o->smf,
		.upf = o->upf,
		.gnb = o->gnb,
		.dnn = o->network,
		.ue_base = o->ue_base,
		.ue6_base = o->ue6_base,
		.sessions = (uint32_t)(o->ues + o->more_sessions),
		.rate_bps = RATE_BPS,
		.threshold_bytes = THRESHOLD_BYTES,
		.wait_s = (unsigned)o->wait_s,
		.open = true,
	};
	uint64_t start;
	uint32_t failed;

	side->n4 = n4_open(&conf);
	start = clock_now_ns();
	failed = n4_run(side->n4, N4_ESTABLISH, 0, (uint32_t)o->ues, WINDOW);
	side->established_s = (double)(clock_now_ns() - start) / (double)NS_PER_SEC;
	if (failed) {
		fprintf(stderr, "sluice-perf: %u of %llu sessions were refused\n", failed,
			(unsigned long long)o->ues);
		exit(1);
	}
}

void side_open(const struct side_options *o, struct side *ret)
{
	const struct traffic_conf conf = {
		.ports = {o->ports[TRAFFIC_UP], o->ports[TRAFFIC_DOWN]},
		.gnb = o->gnb,
		.n3 = o->n3,
		.dn = o->dn,
		.n6 = o->n6,
		.server = o->server,
		.ue_base = o->ue_base,
		.ues = (uint32_t)o->ues,
		.flows = (uint32_t)o->flows,
		.cpu = (unsigned)o->cpu,
		.catch_up_s = (double)o->catch_up_ms / 1000,
		.huge = o->huge,
		.reflected = o->forwarder == SIDE_IO,
	};

	*ret = (struct side){0};
	if (!o->ports[TRAFFIC_UP] || !o->ports[TRAFFIC_DOWN]) {
		fputs("sluice-perf: --n3-port and --n6-port must be given\n", stderr);
		exit(2);
	}
	ret->traffic = traffic_new(&conf);
	if (o->forwarder != SIDE_IO) {
		sessions_make(o, ret);
		traffic_attach(ret->traffic, ret->n4);
	}
	if (!traffic_warm(ret->traffic, o->ways)) {
		fputs("sluice-perf: packets are lost even when there are few\n", stderr);
		exit(1);
	}
}

void side_close(struct side *side)
{
	traffic_free(side->traffic);
	if (side->n4)
		n4_close(side->n4);
}
