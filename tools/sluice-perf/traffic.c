// Ports, pacing, and the accounts of what comes back. See traffic.h.
// One thread.
//
// Packets are due by the TSC (pace.h). What is due is sent in bursts, a way at a time. All ports are read in between.
// After the last packet the reading goes on until nothing has come for a while.

#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "base/clock.h"
#include "n4.h"
#include "pace.h"
#include "packet/arp.h"
#include "packet/gtpu.h"
#include "packet/parse.h"
#include "port/xsk_busy.h"

#define BURST 32u
#define MBUFS 16384
#define DESCRIPTORS 1024
#define MEMORY "256"
#define PORT_MTU 1600u             // of a NIC: a user's 1,518 bytes in a tunnel
#define QUIET_NS (100 * NS_PER_MS) // without a packet: all that comes has come
#define DRAIN_NS NS_PER_SEC
#define WARM_NS (5 * NS_PER_SEC)
#define WARM_PPS 2000.0
#define WARM_SHARE 9 / 10 // a machine that is busy may lose some even then
#define ARP_NS (200 * NS_PER_MS)

struct way {
	unsigned n_ports;
	uint16_t ports[TRAFFIC_PORTS]; // DPDK's, a queue each
	unsigned next_port;            // to send by
	bool resolved;                 // the other side's link address is known
	struct parse_conf parse;
	uint32_t *numbers;         // [n_flows] the next to send
	struct traffic_seen *seen; // [n_flows] of what was sent this way
};

struct traffic {
	struct traffic_conf conf;
	struct traffic_ends ends;
	struct way ways[TRAFFIC_WAYS]; // the other way arrives by the ports that one is sent by
	struct rte_mempool *pool;
	uint32_t n_flows;
	uint32_t (*teids)[N4_TUNNELS]; // [ues]
	uint64_t random;
	uint16_t mark;
	// The trial that runs.
	const struct traffic_trial *trial;
	struct traffic_count *count; // [TRAFFIC_WAYS]
	unsigned next_size;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "sluice-perf: traffic: %s: %s\n", what, why);
	exit(1);
}

uint64_t traffic_tsc_hz(void)
{
	return rte_get_tsc_hz();
}

double traffic_loss(const struct traffic_result *r)
{
	return r->sent ? 1 - (double)r->received / (double)r->sent : 0;
}

// --- start-up --------------------------------------------------------------------------------------------

static bool is_pci(const char *device)
{
	unsigned domain, bus, slot, function;
	int end = 0;

	return sscanf(device, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) == 4 &&
	       device[end] == '\0';
}

// Calls for each of the devices of all ways, that `;` separates.
static void devices_each(const struct traffic_conf *conf,
			 void (*take)(void *ctx, enum traffic_way way, const char *device),
			 void *ctx)
{
	for (enum traffic_way way = 0; way < TRAFFIC_WAYS; way++) {
		char copy[1024], *save = NULL;

		snprintf(copy, sizeof(copy), "%s", conf->ports[way]);
		for (char *one = strtok_r(copy, ";", &save); one; one = strtok_r(NULL, ";", &save))
			take(ctx, way, one);
	}
}

struct eal_args {
	int n;
	char *at[16 + 2 * TRAFFIC_WAYS * TRAFFIC_PORTS];
	bool pci;
};

static void arg_add(struct eal_args *args, const char *arg)
{
	if (args->n == (int)RTE_DIM(args->at) || !(args->at[args->n++] = strdup(arg)))
		die("start", "too many ports, or no memory");
}

static void device_allow(void *ctx, enum traffic_way way, const char *device)
{
	struct eal_args *args = ctx;

	if (!is_pci(device))
		return;
	args->pci = true;
	arg_add(args, "-a");
	arg_add(args, device);
}

static void eal_start(const struct traffic_conf *conf)
{
	static struct eal_args args; // EAL keeps pointers into it
	char prefix[64], cpu[16];

	snprintf(prefix, sizeof(prefix), "--file-prefix=perf%d", (int)getpid());
	snprintf(cpu, sizeof(cpu), "%u", conf->cpu);
	arg_add(&args, "sluice-perf");
	arg_add(&args, "--no-telemetry");
	arg_add(&args, "-l");
	arg_add(&args, cpu);
	arg_add(&args, "--log-level=error");
	arg_add(&args, prefix);
	arg_add(&args, "-m");
	arg_add(&args, MEMORY);
	arg_add(&args, conf->huge ? "--in-memory" : "--no-huge");
	if (conf->huge)
		arg_add(&args, "--single-file-segments");
	devices_each(conf, device_allow, &args);
	if (!args.pci)
		arg_add(&args, "--no-pci");
	if (rte_eal_init(args.n, args.at) < 0)
		die("EAL does not start", rte_strerror(rte_errno));
}

static uint16_t port_probe(const char *device)
{
	size_t name_len = strcspn(device, ",");
	char name[RTE_DEV_NAME_MAX_LEN];
	uint16_t id;

	if (is_pci(device)) { // EAL has probed it
		if (rte_eth_dev_get_port_by_name(device, &id) != 0)
			die(device, "no such PCI device, or no driver of DPDK's takes it");
		return id;
	}
	snprintf(name, sizeof(name), "%.*s", (int)name_len, device);
	if (rte_vdev_init(name, device + name_len + (device[name_len] == ',')) != 0 ||
	    rte_eth_dev_get_port_by_name(name, &id) != 0)
		die(device, "no such virtual device, or it does not take what was given");
	return id;
}

// As much as a NIC can of what is needed.
static uint32_t mtu_of(uint16_t id)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(id, &info) == 0 ? RTE_MIN(PORT_MTU, info.max_mtu) : 0;
}

// A cable takes seconds to come up.
static void link_wait(uint16_t id, const char *device)
{
	struct rte_eth_link link = {0};

	if (is_pci(device) && (rte_eth_link_get(id, &link) != 0 || !link.link_status))
		die(device, "no link");
}

static void queue_wait(const char *device)
{
	const char *iface = strstr(device, "iface="), *queue = strstr(device, "start_queue=");
	char name[IF_NAMESIZE];

	if (strncmp(device, "net_af_xdp", strlen("net_af_xdp")) == 0 && iface &&
	    sscanf(iface, "iface=%15[^,]", name) == 1 &&
	    !xsk_queue_wait(name, queue ? (unsigned)atoi(queue + strlen("start_queue=")) : 0))
		die(device, "another AF_XDP socket has its queue");
}

static void port_open(void *ctx, enum traffic_way way, const char *device)
{
	struct traffic *t = ctx;
	struct rte_eth_conf conf = {0};
	uint16_t id = port_probe(device);
	struct rte_ether_addr mac;
	int rc;

	if (t->ways[way].n_ports == TRAFFIC_PORTS)
		die(device, "too many ports");
	if (is_pci(device))
		conf.rxmode.mtu = mtu_of(id);
	queue_wait(device);
	rc = rte_eth_dev_configure(id, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(id, 0, DESCRIPTORS, 0, NULL, t->pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(id, 0, DESCRIPTORS, 0, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start(id);
	if (rc != 0)
		die(device, rte_strerror(-rc));
	link_wait(id, device);
	rte_eth_promiscuous_enable(id);
	rte_eth_macaddr_get(id, &mac);
	memcpy(t->ends.mac[way], mac.addr_bytes, ETH_MAC_BYTES);
	t->ways[way].ports[t->ways[way].n_ports++] = id;
}

static void ports_open(struct traffic *t)
{
	devices_each(&t->conf, port_open, t);
	for (enum traffic_way way = 0; way < TRAFFIC_WAYS; way++)
		if (t->ways[way].n_ports == 0 || t->ways[way].n_ports > t->conf.ues)
			die(t->conf.ports[way], "not as many ports as UEs");
}

static void parse_conf_fill(struct traffic *t, enum traffic_way way)
{
	const struct addr *own = way == TRAFFIC_UP ? &t->conf.gnb : &t->conf.dn;
	struct parse_conf *parse = &t->ways[way].parse;
	uint8_t mac[8] = {0};

	memcpy(mac, t->ends.mac[way], ETH_MAC_BYTES);
	*parse = (struct parse_conf){.mtu = 1500, .access = true, .mac = eth_dst(mac)};
	if (parse_local_add(parse, own, true) != 0)
		die("start", "no address");
}

// --- what is no packet of ours ---------------------------------------------------------------------------

static void frame_send(const struct way *way, struct rte_mbuf *m, uint32_t bytes)
{
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	if (rte_eth_tx_burst(way->ports[0], 0, &m, 1) != 1)
		rte_pktmbuf_free(m);
}

static void arp_take(struct traffic *t, enum traffic_way way, struct rte_mbuf *m)
{
	const struct addr *own = way == TRAFFIC_UP ? &t->conf.gnb : &t->conf.dn;
	const struct addr *peer = way == TRAFFIC_UP ? &t->conf.n3 : &t->conf.n6;
	struct arp_head arp = *rte_pktmbuf_mtod_offset(m, const struct arp_head *, ETH_BYTES);

	if (arp.sender == peer->v4) {
		memcpy(t->ends.peer[way], arp.sender_mac, ETH_MAC_BYTES);
		t->ways[way].resolved = true;
	}
	if (arp.op != RTE_BE16(ARP_REQUEST) || arp.target != own->v4) {
		rte_pktmbuf_free(m);
		return;
	}
	frame_send(&t->ways[way], m,
		   arp_reply_build(rte_pktmbuf_mtod(m, uint8_t *), 0, t->ends.mac[way], own->v4,
				   arp.sender_mac, arp.sender));
}

// ARP and Echo Requests are answered. Takes the mbuf.
static void other_take(struct traffic *t, enum traffic_way way, struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct pkt p = {.mbuf = m};
	uint32_t bytes = 0;

	parse(&t->ways[way].parse, frame, m->data_len, &p);
	if (p.kind == PKT_ARP) {
		arp_take(t, way, m);
		return;
	}
	if (p.kind == PKT_ECHO_REQUEST)
		bytes = gtpu_echo_response(frame, (uint32_t)m->buf_len - m->data_off, &p);
	if (bytes)
		frame_send(&t->ways[way], m, bytes);
	else
		rte_pktmbuf_free(m);
}

// --- receiving -------------------------------------------------------------------------------------------

// A packet that came by the port of `way` is of the other one.
static void packet_take(struct traffic *t, enum traffic_way port, struct rte_mbuf *m, uint64_t now)
{
	enum traffic_way way = port == TRAFFIC_UP ? TRAFFIC_DOWN : TRAFFIC_UP;
	struct traffic_count *count = &t->count[way];
	struct traffic_stamp stamp;
	enum traffic_fault fault = traffic_frame_read(&t->conf, way, rte_pktmbuf_mtod(m, uint8_t *),
						      m->data_len, &stamp);

	if (fault == TRAFFIC_FOREIGN || stamp.mark != t->mark) {
		count->faults[TRAFFIC_FOREIGN]++;
		other_take(t, port, m);
		return;
	}
	if (fault == TRAFFIC_FAULTS)
		fault = traffic_seen_take(&t->ways[way].seen[stamp.flow & ~TRAFFIC_DOWN_BIT],
					  stamp.number);
	if (fault != TRAFFIC_FAULTS)
		count->faults[fault]++;
	if (fault == TRAFFIC_FAULTS || fault == TRAFFIC_REORDERED) {
		count->received++;
		histogram_add(&count->cycles, now > stamp.tsc ? now - stamp.tsc : 0);
	}
	rte_pktmbuf_free(m);
}

static void receive_from(struct traffic *t, enum traffic_way way, uint16_t port)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t n = rte_eth_rx_burst(port, 0, mbufs, BURST);
	uint64_t now = rte_rdtsc();

	for (unsigned i = 0; i < n; i++)
		packet_take(t, way, mbufs[i], now);
}

static void receive(struct traffic *t)
{
	for (enum traffic_way way = 0; way < TRAFFIC_WAYS; way++)
		for (unsigned i = 0; i < t->ways[way].n_ports; i++)
			receive_from(t, way, t->ways[way].ports[i]);
}

// --- sending ---------------------------------------------------------------------------------------------

static uint32_t draw(struct traffic *t, uint32_t n)
{
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((t->random >> 32) * n >> 32);
}

// A flow of one of the UEs that the port sends for, so that the packets of each keep their order.
static uint32_t draw_flow(struct traffic *t, enum traffic_way way, unsigned port)
{
	unsigned n_ports = t->ways[way].n_ports;
	uint32_t ue = draw(t, t->conf.ues / n_ports) * n_ports + port;

	return ue * t->conf.flows + draw(t, t->conf.flows);
}

static void packet_make(struct traffic *t, enum traffic_way way, unsigned port, struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t flow = draw_flow(t, way, port), bytes;
	struct traffic_stamp stamp = {
		.mark = t->mark,
		.flow = flow | (way == TRAFFIC_DOWN ? TRAFFIC_DOWN_BIT : 0),
		.number = t->ways[way].numbers[flow]++,
	};
	uint16_t size = t->trial->sizes[t->next_size++ % t->trial->n_sizes];

	bytes = traffic_frame_write(&t->conf, &t->ends, way, flow,
				    t->teids[flow / t->conf.flows][flow % N4_TUNNELS], size, frame);
	stamp.tsc = rte_rdtsc();
	memcpy(frame + traffic_stamp_at(way), &stamp, sizeof(stamp));
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
}

// A number that was not sent is not missed: the flow takes it again.
static void packet_unmake(struct traffic *t, enum traffic_way way, struct rte_mbuf *m)
{
	struct traffic_stamp stamp;

	memcpy(&stamp, rte_pktmbuf_mtod_offset(m, const uint8_t *, traffic_stamp_at(way)),
	       sizeof(stamp));
	t->ways[way].numbers[stamp.flow & ~TRAFFIC_DOWN_BIT]--;
	rte_pktmbuf_free(m);
}

// By the ports of the way in turn.
static void send_burst(struct traffic *t, enum traffic_way which, unsigned n)
{
	struct way *way = &t->ways[which];
	unsigned port = way->next_port++ % way->n_ports, sent;
	struct rte_mbuf *mbufs[BURST];

	if (rte_pktmbuf_alloc_bulk(t->pool, mbufs, n) != 0)
		return;
	for (unsigned i = 0; i < n; i++)
		packet_make(t, which, port, mbufs[i]);
	sent = rte_eth_tx_burst(way->ports[port], 0, mbufs, (uint16_t)n);
	for (unsigned i = n; i > sent; i--)
		packet_unmake(t, which, mbufs[i - 1]);
	t->count[which].sent += sent;
}

static void pace_send(struct traffic *t, enum traffic_way way, struct pace *pace, uint64_t now)
{
	double due = pace_due(pace, now, t->count[way].sent);

	if (due >= 1)
		send_burst(t, way, due < BURST ? (unsigned)due : BURST);
}

// --- a trial ---------------------------------------------------------------------------------------------

static void trial_begin(struct traffic *t, const struct traffic_trial *trial,
			struct traffic_result *result)
{
	memset(result, 0, sizeof(*result));
	t->trial = trial;
	t->count = result->way;
	t->mark++;
	for (unsigned way = 0; way < TRAFFIC_WAYS; way++) {
		memset(t->ways[way].numbers, 0, t->n_flows * sizeof(uint32_t));
		memset(t->ways[way].seen, 0, t->n_flows * sizeof(struct traffic_seen));
	}
	result->start_ns = clock_now_ns();
}

static uint64_t received_of(const struct traffic_result *r)
{
	return r->way[TRAFFIC_UP].received + r->way[TRAFFIC_DOWN].received;
}

static void drain(struct traffic *t, const struct traffic_result *result, void (*idle)(void *ctx),
		  void *ctx)
{
	uint64_t start = clock_now_ns(), last = start, now = start, heard = received_of(result);

	while (now < last + QUIET_NS && now < start + DRAIN_NS) {
		receive(t);
		if (idle)
			idle(ctx);
		now = clock_now_ns();
		if (received_of(result) != heard)
			last = now;
		heard = received_of(result);
	}
}

static void trial_sum(struct traffic_result *r)
{
	for (unsigned way = 0; way < TRAFFIC_WAYS; way++) {
		const uint64_t *faults = r->way[way].faults;

		r->sent += r->way[way].sent;
		r->received += r->way[way].received;
		r->wrong += faults[TRAFFIC_MALFORMED] + faults[TRAFFIC_WRONG_UE] +
			    faults[TRAFFIC_WRONG_QFI] + faults[TRAFFIC_DUPLICATE];
	}
	r->offered_pps = (double)r->sent / r->seconds;
	r->received_pps = (double)r->received / r->seconds;
}

void traffic_run(struct traffic *t, const struct traffic_trial *trial, void (*idle)(void *ctx),
		 void *ctx, struct traffic_result *ret)
{
	uint64_t hz = rte_get_tsc_hz(), start, end, now;
	unsigned n_ways = (unsigned)__builtin_popcount(trial->ways);
	struct pace pace = {.per_unit = trial->pps / n_ways / (double)hz,
			    .behind_most = BURST + trial->pps / n_ways * t->conf.catch_up_s};
	struct pace paces[TRAFFIC_WAYS];

	trial_begin(t, trial, ret);
	start = rte_rdtsc();
	end = start + (uint64_t)(trial->seconds * (double)hz);
	pace.start = start;
	paces[TRAFFIC_UP] = paces[TRAFFIC_DOWN] = pace;
	for (now = start; now < end; now = rte_rdtsc()) {
		for (enum traffic_way way = 0; way < TRAFFIC_WAYS; way++)
			if (trial->ways >> way & 1)
				pace_send(t, way, &paces[way], now);
		receive(t);
		if (idle)
			idle(ctx);
	}
	ret->seconds = (double)(rte_rdtsc() - start) / (double)hz;
	ret->end_ns = clock_now_ns();
	ret->asked_pps = trial->pps;
	drain(t, ret, idle, ctx);
	trial_sum(ret);
}

bool traffic_warm(struct traffic *t, unsigned ways)
{
	const struct traffic_trial trial = {
		.pps = WARM_PPS, .seconds = 0.1, .ways = ways, .n_sizes = 1, .sizes = {128}};
	static struct traffic_result result;
	uint64_t start = clock_now_ns();

	do {
		traffic_run(t, &trial, NULL, NULL, &result);
		if (result.sent && result.received >= result.sent * WARM_SHARE)
			return true;
	} while (clock_now_ns() < start + WARM_NS);
	return false;
}

// --- life ------------------------------------------------------------------------------------------------

static void arp_ask(struct traffic *t, enum traffic_way way)
{
	const struct addr *own = way == TRAFFIC_UP ? &t->conf.gnb : &t->conf.dn;
	const struct addr *peer = way == TRAFFIC_UP ? &t->conf.n3 : &t->conf.n6;
	struct rte_mbuf *m = rte_pktmbuf_alloc(t->pool);

	if (m)
		frame_send(&t->ways[way], m,
			   arp_request_build(rte_pktmbuf_mtod(m, uint8_t *), 0, t->ends.mac[way],
					     own->v4, peer->v4));
}

static void resolve(struct traffic *t)
{
	static struct traffic_count none[TRAFFIC_WAYS];
	uint64_t start = clock_now_ns(), asked = 0, now;

	t->count = none;
	while (!t->ways[TRAFFIC_UP].resolved || !t->ways[TRAFFIC_DOWN].resolved) {
		now = clock_now_ns();
		if (now > start + WARM_NS)
			die("no answer to ARP from", t->ways[TRAFFIC_UP].resolved
							     ? "the UPF's N6 address"
							     : "the UPF's N3 address");
		if (now > asked + ARP_NS) {
			arp_ask(t, TRAFFIC_UP);
			arp_ask(t, TRAFFIC_DOWN);
			asked = now;
		}
		receive(t);
	}
}

static void memory_take(struct traffic *t)
{
	t->n_flows = t->conf.ues * t->conf.flows;
	t->teids = calloc(t->conf.ues, sizeof(*t->teids));
	for (unsigned way = 0; way < TRAFFIC_WAYS; way++) {
		t->ways[way].numbers = calloc(t->n_flows, sizeof(uint32_t));
		t->ways[way].seen = calloc(t->n_flows, sizeof(struct traffic_seen));
		if (!t->ways[way].numbers || !t->ways[way].seen || !t->teids)
			die("start", "no memory");
	}
}

void traffic_attach(struct traffic *t, const struct n4 *sessions)
{
	for (uint32_t i = 0; i < t->conf.ues; i++)
		memcpy(t->teids[i], n4_session_get(sessions, i)->teids, sizeof(t->teids[i]));
	resolve(t);
}

struct traffic *traffic_new(const struct traffic_conf *conf)
{
	struct traffic *t = calloc(1, sizeof(*t));

	if (!t)
		die("start", "no memory");
	t->conf = *conf;
	t->random = 1;
	memory_take(t);
	eal_start(conf);
	t->pool = rte_pktmbuf_pool_create("traffic", MBUFS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					  SOCKET_ID_ANY);
	if (!t->pool)
		die("packet buffers", rte_strerror(rte_errno));
	ports_open(t);
	for (enum traffic_way way = 0; way < TRAFFIC_WAYS; way++) {
		parse_conf_fill(t, way);
		memset(t->ends.peer[way], 0xff, ETH_MAC_BYTES);
	}
	return t;
}

void traffic_free(struct traffic *t)
{
	for (unsigned way = 0; way < TRAFFIC_WAYS; way++) {
		for (unsigned i = 0; i < t->ways[way].n_ports; i++) {
			rte_eth_dev_stop(t->ways[way].ports[i]);
			rte_eth_dev_close(t->ways[way].ports[i]);
		}
		free(t->ways[way].numbers);
		free(t->ways[way].seen);
	}
	free(t->teids);
	rte_eal_cleanup();
	free(t);
}
