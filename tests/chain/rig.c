// The data path in process: making it, moving it, looking at it (rig.h).
//
// One thread: the test's, which plays all workers and the control thread in turn.

#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "base/clock.h"
#include "base/rand.h"
#include "packet/arp.h"
#include "packet/icmp.h"
#include "packet/nd.h"
#include "pipeline/pipeline.h"
#include "service/service.h"
#include "worker/mailbox.h"
#include "worker/ring.h"

#define RING_ENTRIES 4096

void rig_die(const char *what)
{
	fprintf(stderr, "rig: %s\n", what);
	exit(2);
}

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	if (prefix_parse(text, &prefix) != 0)
		rig_die(text);
	return prefix;
}

struct addr rig_addr(const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr) != 0)
		rig_die(text);
	return addr;
}

static void eal_once(const struct rig_conf *conf)
{
	static bool started;
	char prefix[64], memory[16];
	char *args[] = {"rig",
			"--no-pci",
			"--no-telemetry",
			"-l",
			"0",
			"--log-level=error",
			prefix,
			"-m",
			memory,
			conf->huge ? "--in-memory" : "--no-huge"};

	if (started)
		return;
	snprintf(prefix, sizeof(prefix), "--file-prefix=rig%d", (int)getpid());
	snprintf(memory, sizeof(memory), "%u", conf->memory_mb ? conf->memory_mb : 512);
	if (rte_eal_init(RTE_DIM(args), args) < 0)
		rig_die("EAL does not start");
	started = true;
}

// --- making ----------------------------------------------------------------------------------------------

static void make_port(struct rig *rig, unsigned iface)
{
	static unsigned serial;
	struct rte_eth_conf conf = {0};
	unsigned n = rig->conf.n_workers;
	char name[32];
	int port;

	for (unsigned i = 0; i < n; i++) {
		rig->rx[iface][i] = ring_new(RING_ENTRIES, sizeof(void *), SOCKET_ID_ANY);
		rig->tx[iface][i] = ring_new(RING_ENTRIES, sizeof(void *), SOCKET_ID_ANY);
		if (!rig->rx[iface][i] || !rig->tx[iface][i])
			rig_die("no memory for rings");
	}
	snprintf(name, sizeof(name), "rig%u", serial++);
	port = rte_eth_from_rings(name, rig->rx[iface], n, rig->tx[iface], n, 0);
	if (port < 0 || rte_eth_dev_configure((uint16_t)port, (uint16_t)n, (uint16_t)n, &conf) != 0)
		rig_die("no ring port");
	for (uint16_t i = 0; i < n; i++)
		if (rte_eth_rx_queue_setup((uint16_t)port, i, 64, 0, NULL, rig->pool) != 0 ||
		    rte_eth_tx_queue_setup((uint16_t)port, i, 64, 0, NULL) != 0)
			rig_die("no ring queue");
	if (rte_eth_dev_start((uint16_t)port) != 0)
		rig_die("ring port does not start");
	rig->ports[iface] = (uint16_t)port;
}

static void make_ports(struct rig *rig)
{
	make_port(rig, 0);
	if (!rig->conf.one_device) {
		make_port(rig, 1);
		return;
	}
	rig->ports[1] = rig->ports[0];
	for (unsigned i = 0; i < rig->conf.n_workers; i++) {
		rig->rx[1][i] = rig->rx[0][i];
		rig->tx[1][i] = rig->tx[0][i];
	}
}

void rig_mac(unsigned iface, uint8_t mac[ETH_MAC_BYTES])
{
	const uint8_t bytes[ETH_MAC_BYTES] = {2, 0, 0, 0, 0, (uint8_t)(iface + 1)};

	memcpy(mac, bytes, sizeof(bytes));
}

static void iface_fill(const struct rig *rig, unsigned iface, struct neigh_iface *ret)
{
	*ret = (struct neigh_iface){.mtu = rig->conf.mtus[iface],
				    .access = iface == RIG_N3,
				    .vlan = rig->conf.vlans[iface]};
	rig_mac(rig->conf.one_device ? RIG_N3 : iface, ret->mac);
	if (iface == RIG_N3) {
		if (!rig->conf.v6)
			ret->addrs[ret->n_addrs++] = prefix_of(RIG_N3_ADDR "/24");
		ret->addrs[ret->n_addrs++] = prefix_of(RIG_N3_ADDR6 "/64");
		return;
	}
	ret->addrs[ret->n_addrs++] = prefix_of(RIG_N6_ADDR "/24");
	ret->addrs[ret->n_addrs++] = prefix_of(RIG_N6_ADDR6 "/64");
	if (rig->conf.no_gateway)
		return;
	ret->gateway_v4 = rig_addr(RIG_DN);
	ret->gateway_v6 = rig_addr(RIG_DN6);
}

static void add_iface(struct rig *rig, unsigned w, unsigned iface)
{
	struct parse_conf parse = {
		.mtu = rig->conf.mtus[iface],
		.iface = (uint8_t)iface,
		.access = iface == RIG_N3,
		.core = iface == RIG_N6,
		.vlan_tci_id = rig->conf.vlans[iface],
	};
	struct port_queue queue = {.port_id = rig->ports[iface], .queue_id = (uint16_t)w};
	struct rte_ether_addr mac;
	struct neigh_iface ni;

	iface_fill(rig, iface, &ni);
	memcpy(mac.addr_bytes, ni.mac, sizeof(ni.mac));
	for (unsigned i = 0; i < ni.n_addrs; i++)
		if (parse_local_add(&parse, &ni.addrs[i].addr, parse.access) != 0)
			rig_die("too many addresses");
	if (worker_iface_add(rig->control.workers[w], iface, &parse, &mac, queue, queue) != 0)
		rig_die("no room for an interface");
}

static void make_qsbr(struct rig *rig)
{
	rig->qsbr = rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(MAX_WORKERS), RTE_CACHE_LINE_SIZE);
	if (!rig->qsbr || rte_rcu_qsbr_init(rig->qsbr, MAX_WORKERS) != 0)
		rig_die("no memory for quiescent states");
	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		rte_rcu_qsbr_thread_register(rig->qsbr, i);
}

static void usage_arrived(void *ctx, unsigned worker, const struct usage_event *event)
{
	struct rig *rig = ctx;

	rig->usage.events++;
	rig->usage.thresholds += (event->hits & USAGE_HIT_THRESHOLD) != 0;
	rig->usage.quotas += (event->hits & USAGE_HIT_QUOTA) != 0;
	rig->usage.drops += (event->hits & USAGE_HIT_DROPPED) != 0;
	for (unsigned side = 0; side < SIDES; side++) {
		rig->usage.bytes[side] += event->counts.bytes[side];
		rig->usage.packets[side] += event->counts.packets[side];
	}
}

static void buffered(void *ctx, unsigned worker, const struct buffer_event *event)
{
	struct rig *rig = ctx;

	if (rig->n_told < RIG_TOLD)
		rig->told[rig->n_told] = *event;
	rig->n_told++;
}

static struct rte_mempool *buffer_pool_new(const struct rig *rig)
{
	static unsigned serial;
	char name[32];

	snprintf(name, sizeof(name), "rig_buffers%u", serial++);
	return rte_pktmbuf_pool_create_by_ops(name, rig->conf.buffer_mbufs, 0, sizeof(struct pkt),
					      RTE_PKTMBUF_HEADROOM + RIG_FRAME_MAX, SOCKET_ID_ANY,
					      "ring_mt_rts");
}

static void profile_fill(struct flow_profile_conf *profile)
{
	static const uint32_t ms[FLOW_CLASSES] = {
		[FLOW_EMBRYONIC] = RIG_EMBRYONIC_MS,
		[FLOW_ESTABLISHED] = RIG_ESTABLISHED_MS,
		[FLOW_TCP_ESTABLISHED] = RIG_TCP_ESTABLISHED_MS,
		[FLOW_TCP_CLOSING] = RIG_TCP_CLOSING_MS,
	};

	for (unsigned i = 0; i < FLOW_CLASSES; i++)
		if (!profile->timeout_ms[i])
			profile->timeout_ms[i] = ms[i];
}

uint64_t rig_service_mask(const struct service *service)
{
	const struct service_order *order = dispatch_order();

	for (unsigned bit = 0; service && bit < SERVICES_MAX; bit++)
		if (order->services[bit] == service)
			return 1ull << bit;
	return 0;
}

// Fills the profiles of all network instances. Gives the services of all.
static uint64_t make_profiles(struct rig *rig)
{
	uint64_t services = rig->conf.services;

	rig->profiles[0] = rig->conf.flow_profile;
	for (unsigned i = 1; i < RIG_NIS; i++) {
		rig->profiles[i] = rig->conf.nis[i - 1].flow_profile;
		services |= rig->conf.nis[i - 1].services;
	}
	for (unsigned i = 0; i < RIG_NIS; i++)
		profile_fill(&rig->profiles[i]);
	return services;
}

static void make_workers(struct rig *rig)
{
	uint64_t services = make_profiles(rig);
	uint32_t key[TEID_KEY_WORDS];

	rand_bytes(key, sizeof(key));
	if (teid_scheme_init(&rig->teids, rig->conf.n_workers,
			     rig->conf.n_slots + rig->conf.n_tunnels, key) != 0)
		rig_die("too many sessions for TEIDs");
	rig->slots = slots_new(rig->conf.n_workers, rig->conf.n_slots, rig->conf.n_tunnels,
			       &rig->teids);
	for (unsigned i = 0; i < rig->conf.n_workers; i++) {
		struct worker_conf conf = {
			.id = i,
			.n_workers = rig->conf.n_workers,
			.n_slots = rig->conf.n_slots,
			.n_tunnels = rig->conf.n_tunnels,
			.sample_every = rig->conf.sample_every,
			.n_peers = rig->conf.n_peers,
			.punt_ring = rig->conf.punt_ring,
			.mail_ring = rig->conf.mail_ring,
			.burst = 32,
			.meter_burst_us = 10000,
			.usage_ring = 1024,
			.error_rate = rig->conf.answers,
			.extension_rate = rig->conf.answers,
			.icmp_rate = rig->conf.icmp,
			.gather_limits = rig->conf.gather,
			.fragment_outer = rig->conf.fragment_outer,
			.socket = SOCKET_ID_ANY,
			.arena = &rig->arena,
			.locator = rig->locator,
			.teids = &rig->teids,
			.pool = rig->pool,
			.flows =
				{
					.n = services || rig->conf.redirects ? rig->conf.flows : 0,
					.per_session = rig->conf.flows_per_session,
					.margin = rig->conf.flow_margin,
					.profiles = rig->profiles,
					.n_profiles = RIG_NIS,
					.services = dispatch_order()->for_flows,
					.not_of_errors = dispatch_order()->not_of_errors,
					.asked = services | rig_service_mask(rig->conf.extra),
					.made = dispatch_order()->made,
					.gone = dispatch_order()->gone,
					.words = dispatch_order()->words,
					.state_bytes = dispatch_order()->state_bytes,
				},
			.acls = rig->conf.acl,
			.nat = rig->conf.nat ? &rig->nat : NULL,
			.buffer_ring = 64,
			.nat_ring = rig->conf.nat_ring,
			.buffer_limits = rig->conf.buffers,
			.buffer_pool = rig->buffer_pools[i] = buffer_pool_new(rig),
		};

		rig->control.workers[i] = worker_new(&conf);
		if (!rig->control.workers[i] || !rig->slots || !conf.buffer_pool)
			rig_die("no memory for a worker");
		rig->control.n_workers++;
		for (unsigned k = 0; k < RIG_IFACES; k++)
			add_iface(rig, i, k);
	}
	rig->control.usage = usage_arrived;
	rig->control.usage_ctx = rig;
	rig->control.buffered = buffered;
	rig->control.buffered_ctx = rig;
	control_listen(&rig->control);
	if (workers_connect(rig->control.workers, rig->conf.n_workers, rig->conf.handoff_ring) != 0)
		rig_die("no memory for handoff rings");
}

// Of the one network instance that there is.
static void make_nat(struct rig *rig, const struct nat_pool_conf *conf)
{
	if (nat_pool_init(&rig->nat.pools[0], conf) != 0)
		rig_die("no NAT pool");
	rig->nat.n = 1;
	locator_outside_add(rig->locator, RIG_N6, &conf->addrs);
}

static void make_neigh(struct rig *rig)
{
	struct neigh_conf conf = {
		.n_ifaces = RIG_IFACES,
		.n_peers = (uint16_t)rig->conf.n_peers,
		.hold_packets = (uint16_t)rig->conf.hold_packets,
		.path = rig->conf.path,
		.io = control_neigh_io(&rig->control),
		.stats = &rig->control.stats,
		.udp6_cksum = !rig->conf.no_udp6_cksum,
		.n4 = rig_addr(RIG_N4_ADDR),
	};

	for (unsigned i = 0; i < RIG_IFACES; i++)
		iface_fill(rig, i, &conf.ifaces[i]);
	if (rig->conf.policies) {
		conf.n_policies = 2;
		conf.policies[0] = (struct neigh_policy){RIG_N6, rig_addr(RIG_HOP),
							 rig_addr(RIG_HOP6)};
		conf.policies[1] = (struct neigh_policy){.iface = RIG_N6,
							 .next_hop_v4 = rig_addr(RIG_HOP2)};
	}
	rig->control.mbufs = rig->pool;
	rig->control.neigh = neigh_new(&conf);
	if (!rig->control.neigh)
		rig_die("no neighbours");
	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		rig->control.workers[i]->routes = neigh_routes(rig->control.neigh);
}

static void buffers_fill(const struct buffer_limits *given, struct buffer_limits *ret)
{
	ret->packets = given->packets ? given->packets : RIG_BUFFER_PACKETS;
	ret->bytes = given->bytes ? given->bytes : RIG_BUFFER_BYTES;
	ret->ms = given->ms ? given->ms : RIG_BUFFER_MS;
	ret->all_packets = given->all_packets ? given->all_packets : RIG_BUFFER_ALL_PACKETS;
	ret->all_bytes = given->all_bytes ? given->all_bytes : RIG_BUFFER_ALL_BYTES;
}

static void conf_fill(const struct rig_conf *given, struct rig_conf *ret)
{
	*ret = *given;
	ret->handoff_ring = given->handoff_ring ? given->handoff_ring : 1024;
	ret->punt_ring = given->punt_ring ? given->punt_ring : 256;
	ret->mail_ring = given->mail_ring ? given->mail_ring : 256;
	ret->nat_ring = given->nat_ring ? given->nat_ring : 1024;
	ret->n_peers = given->n_peers ? given->n_peers : 64;
	ret->hold_packets = given->hold_packets ? given->hold_packets : 8;
	ret->mbufs = given->mbufs ? given->mbufs : 8192;
	for (unsigned i = 0; i < RIG_IFACES; i++)
		ret->mtus[i] = given->mtus[i] ? given->mtus[i] : 1500;
	ret->chain = given->chain ? given->chain : service_chain;
	ret->flows = given->flows ? given->flows : 256;
	ret->flows_per_session = given->flows_per_session ? given->flows_per_session : 256;
	buffers_fill(&given->buffers, &ret->buffers);
	ret->buffer_mbufs = given->buffer_mbufs ? given->buffer_mbufs : ret->buffers.all_packets;
}

static void make_order(const struct rig *rig)
{
	const struct service *services[SERVICES_MAX];
	unsigned n;
	const struct service *const *tree = service_registry(&n);
	char why[256];

	memcpy(services, tree, n * sizeof(services[0]));
	if (rig->conf.extra)
		services[n++] = rig->conf.extra;
	if (dispatch_init(services, n, why, sizeof(why)) != 0)
		rig_die(why);
}

struct rig *rig_new(const struct rig_conf *conf)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct prefix pools[] = {prefix_of(conf->ue_range ? conf->ue_range : RIG_POOL),
				 prefix_of(RIG_POOL6)};
	static unsigned serial;
	char name[32];

	if (!rig)
		rig_die("no memory");
	conf_fill(conf, &rig->conf);
	eal_once(conf);
	make_order(rig);
	snprintf(name, sizeof(name), "rig_mbufs%u", serial++);
	// Tests may run more threads than there are CPUs: no thread may have to wait for one that is not running.
	rig->pool = rte_pktmbuf_pool_create_by_ops(name, rig->conf.mbufs, 0, sizeof(struct pkt),
						   RTE_PKTMBUF_HEADROOM + RIG_FRAME_MAX,
						   SOCKET_ID_ANY, "ring_mt_rts");
	make_qsbr(rig);
	rig->locator = locator_new(rig->conf.n_slots * rig->conf.n_workers, 1024, rig->qsbr);
	if (!rig->pool || !rig->locator || rule_arena_init(&rig->arena, (size_t)1 << 30) != 0)
		rig_die("no memory for tables");
	for (unsigned i = 0; i < RTE_DIM(pools); i++)
		if (locator_pool_add(rig->locator, RIG_N6, &pools[i]) != 0)
			rig_die("no pool");
	if (rig->conf.nat)
		make_nat(rig, rig->conf.nat);
	make_ports(rig);
	make_workers(rig);
	make_neigh(rig);
	return rig;
}

void rig_free(struct rig *rig)
{
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned i = 0; i < (rig->conf.one_device ? 1 : RIG_IFACES); i++) {
		struct rte_mbuf *mbuf;

		while (rig_recv(rig, i, frame) > 0)
			;
		for (unsigned k = 0; k < rig->conf.n_workers; k++)
			while (rte_ring_sc_dequeue(rig->rx[i][k], (void **)&mbuf) == 0)
				rte_pktmbuf_free(mbuf);
		rte_eth_dev_stop(rig->ports[i]);
		rte_eth_dev_close(rig->ports[i]);
		for (unsigned k = 0; k < rig->conf.n_workers; k++) {
			rte_free(rig->rx[i][k]);
			rte_free(rig->tx[i][k]);
		}
	}
	while (control_poll(&rig->control))
		rig_turn(rig);
	neigh_free(rig->control.neigh);
	workers_disconnect(rig->control.workers, rig->conf.n_workers);
	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		worker_free(rig->control.workers[i]);
	nat_pool_fini(&rig->nat.pools[0]);
	slots_free(rig->slots);
	locator_free(rig->locator);
	rte_free(rig->qsbr);
	rule_arena_fini(&rig->arena);
	if (rte_mempool_avail_count(rig->pool) != rig->conf.mbufs)
		rig_die("mbufs leaked");
	for (unsigned i = 0; i < rig->conf.n_workers; i++) {
		if (rte_mempool_avail_count(rig->buffer_pools[i]) != rig->conf.buffer_mbufs)
			rig_die("mbufs of held packets leaked");
		rte_mempool_free(rig->buffer_pools[i]);
	}
	rte_mempool_free(rig->pool);
	free(rig);
}

// --- moving ----------------------------------------------------------------------------------------------

void rig_send(struct rig *rig, unsigned iface, unsigned worker, const void *frame, size_t bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rig->pool);
	char *to = mbuf ? rte_pktmbuf_append(mbuf, (uint16_t)bytes) : NULL;

	if (!to)
		rig_die("no mbuf");
	memcpy(to, frame, bytes);
	rig_send_mbuf(rig, iface, worker, mbuf);
}

void rig_send_mbuf(struct rig *rig, unsigned iface, unsigned worker, struct rte_mbuf *mbuf)
{
	if (rte_ring_sp_enqueue(rig->rx[iface][worker], mbuf) != 0)
		rig_die("rx ring full");
	rig->sent++;
}

size_t rig_recv(struct rig *rig, unsigned iface, void *frame)
{
	struct rte_mbuf *mbuf;

	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		if (rte_ring_sc_dequeue(rig->tx[iface][i], (void **)&mbuf) == 0) {
			size_t bytes = mbuf->pkt_len;

			if (mbuf->nb_segs != 1 || bytes > RIG_FRAME_MAX || mbuf->data_len != bytes)
				rig_die("a frame that is not whole was sent");
			memcpy(frame, rte_pktmbuf_mtod(mbuf, void *), bytes);
			rte_pktmbuf_free(mbuf);
			rig->received++;
			return bytes;
		}
	return 0;
}

unsigned rig_turn(struct rig *rig)
{
	unsigned n = 0;

	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		n += pipeline_turn(rig->control.workers[i]);
	control_poll(&rig->control);
	return n;
}

void rig_settle(struct rig *rig)
{
	for (unsigned quiet = 0; quiet < 3;) {
		uint64_t punted = rig_count(rig, COUNTER_punted);
		uint64_t injected = rig_count(rig, COUNTER_injected);
		bool owed = false;
		unsigned n = rig_turn(rig);

		for (unsigned i = 0; i < rig->conf.n_workers; i++)
			owed |= mailbox_outstanding(rig->control.workers[i]) > 0;
		if (n || owed || punted != rig_count(rig, COUNTER_punted) ||
		    injected != rig_count(rig, COUNTER_injected))
			quiet = 0;
		else
			quiet++;
	}
}

size_t rig_answer(const uint8_t *question, const uint8_t mac[ETH_MAC_BYTES], uint8_t *answer)
{
	uint16_t type = be16_get(question + ETH_BYTES - 2);
	const uint8_t *at = question + ETH_BYTES;
	uint16_t vid = 0;

	if (type == ETH_TYPE_VLAN) {
		vid = be16_get(at) & ETH_VID_MASK;
		type = be16_get(at + 2);
		at += ETH_TAG_BYTES;
	}
	if (type == ETH_TYPE_ARP) {
		const struct arp_head *arp = (const struct arp_head *)at;

		if (arp->op != RTE_BE16(ARP_REQUEST))
			return 0;
		return arp_reply_build(answer, vid, mac, arp->target, arp->sender_mac, arp->sender);
	}
	if (type == ETH_TYPE_IP6 && at[6] == IPPROTO_ICMPV6 && at[IP6_BYTES] == ICMP6_TYPE_SOLICIT)
		return nd_advert_build(answer, vid, mac, at + IP6_BYTES + 8,
				       question + ETH_MAC_BYTES, at + 8);
	return 0;
}

void rig_resolve(struct rig *rig)
{
	uint8_t frame[RIG_FRAME_MAX], answer[RIG_FRAME_MAX];

	rig_settle(rig);
	for (unsigned iface = 0; iface < (rig->conf.one_device ? 1 : RIG_IFACES); iface++)
		for (unsigned i = 0; i < rig->conf.n_workers; i++) {
			unsigned n = rte_ring_count(rig->tx[iface][i]);
			struct rte_mbuf *mbuf;

			while (n-- > 0 &&
			       rte_ring_sc_dequeue(rig->tx[iface][i], (void **)&mbuf) == 0) {
				uint8_t mac[ETH_MAC_BYTES] = {2, 0, 0, 0, 1};
				size_t bytes;

				memset(frame, 0, ETH_BYTES + ETH_TAG_BYTES + IP6_BYTES + 1);
				memcpy(frame, rte_pktmbuf_mtod(mbuf, void *), mbuf->pkt_len);
				mac[5] = frame
					[11]; // the neighbour on the interface of ours that asks
				bytes = rig_answer(frame, mac, answer);
				if (bytes == 0) {
					rte_ring_sp_enqueue(rig->tx[iface][i], mbuf);
					continue;
				}
				rte_pktmbuf_free(mbuf);
				rig->received++;
				rig_send(rig, iface, i, answer, bytes);
			}
		}
	rig_settle(rig);
}

// --- looking ---------------------------------------------------------------------------------------------

uint64_t rig_drops(const struct rig *rig, enum drop reason)
{
	uint64_t n = rig->control.stats.drop[reason];

	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		n += rig->control.workers[i]->stats.drop[reason];
	return n;
}

uint64_t rig_count(const struct rig *rig, enum counter counter)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < rig->conf.n_workers; i++)
		n += rig->control.workers[i]->stats.counter[counter];
	return n;
}

bool rig_accounted(const struct rig *rig)
{
	bool right = true;

	for (unsigned i = 0; i <= rig->conf.n_workers; i++) {
		int64_t missing = control_unaccounted(&rig->control, i);

		if (missing != 0)
			fprintf(stderr, "rig: thread %u: %lld packets not accounted for\n", i,
				(long long)missing);
		right &= missing == 0;
	}
	if (rig_count(rig, COUNTER_rx) > rig->sent)
		right = false;
	return right;
}

void rig_show(const struct rig *rig)
{
	for (unsigned i = 0; i < COUNTERS; i++)
		if (rig_count(rig, i))
			fprintf(stderr, "rig: %s %llu\n", counter_str(i),
				(unsigned long long)rig_count(rig, i));
	for (unsigned i = 0; i < DROP_REASONS; i++)
		if (rig_drops(rig, i))
			fprintf(stderr, "rig: drop %s %llu\n", drop_str(i),
				(unsigned long long)rig_drops(rig, i));
}
