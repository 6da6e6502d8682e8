// A whole session half of N4 for tests: real tables, locators and mailboxes of two workers, a peer made of
// raw bytes, and a book of neighbours whose room a test can take away.
//
// Nothing here uses the codec that is under test: messages are put together and taken apart octet by octet.
// The workers run when a test says so, on its own thread. One kit at a time.

#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <rte_errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "neigh/neigh.h"
#include "pfcp/assoc.h"
#include "pfcp/n4.h"
#include "pfcp/n4_session.h"
#include "pfcp/xact.h"
#include "rules/arena.h"
#include "rules/pack.h"
#include "session/locator.h"
#include "session/slots.h"
#include "session/ue_pool.h"
#include "eal.h"
#include "worker/mailbox.h"
#include "worker/worker.h"

#define KIT_WORKERS 2
#define KIT_N3 0 // interfaces
#define KIT_N6 1
#define KIT_PEERS 64
#define KIT_REST_S 10 // that a picked UE address rests

#define RECOVERY 0xe81fe7b4u // of the peer

// What a test may change before kit_open().
struct kit_conf {
	uint32_t slots, tunnels; // of each worker
	uint32_t max_sessions, max_pdrs;
	size_t arena_bytes;
	unsigned peers;   // GTP-U peers that may exist
	const char *n3;   // its address
	bool n9;          // a third interface, 198.51.100.9
	const char *pool; // of IPv4 addresses; NULL: 10.45.0.0/16
	uint16_t
		unpacked; // sessions that stay unpacked after a change; all others are packed at once
};

#define KIT_CONF                                                                                   \
	{                                                                                          \
		16, 32, 1000, 64, 1u << 20, 16, "127.0.0.7", false, NULL, 0                        \
	}

// The neighbours of the test: every address has a route but one.
struct neigh {
	unsigned most, used;
	struct addr unreachable;
	struct {
		struct addr addr;
		uint16_t port; // of plain UDP, else 0
		unsigned iface;
		unsigned refs;
		bool watched;
	} peers[KIT_PEERS];
};

#define KIT_COPIES 64

struct kit {
	struct n4 *n4;
	struct slots *slots;
	struct locator *locator;
	struct ue_pools *pools;
	struct rule_arena arena;
	struct teid_scheme scheme;
	struct neigh neigh;
	struct worker *workers[KIT_WORKERS];
	struct n4_iface ifaces[3];
	struct endpoint peer;
	uint32_t seq;
	bool hold; // the workers do not run by themselves
	unsigned n_copies;
	struct rules *copies[KIT_COPIES]; // of sessions' rules that were looked at, the latest ones
	int prefixes;                     // UE prefixes announced, less those taken back
	unsigned n_sent;
	size_t answer_len;
	uint8_t answer[PFCP_MSG_MAX]; // the latest
	struct {
		uint8_t type, cause;
		uint32_t seq;
	} log[64]; // of all
	size_t len;
	uint8_t out[PFCP_MSG_MAX]; // the message that is being put together
};

static struct kit kit;

// Predefined rules of the configuration; a test sets them before kit_open().
static const struct predefined_rule *kit_predefined;
static unsigned kit_n_predefined;

static struct prefix kit_pools[2]; // of "internet"
static const struct n4_policy kit_policies[] = {{"first", KIT_N6}, {"inspection", KIT_N6}};
static const struct n4_ni kit_nis[] = {{"internet", KIT_N6, kit_pools, 2},
				       {.name = "ims.example", .iface = KIT_N6, .redirects = true}};

// --- the parts that are not real -------------------------------------------------------------------------

int neigh_udp_take(struct neigh *neigh, unsigned iface, const struct addr *addr, uint16_t port,
		   uint16_t *ret_peer)
{
	uint16_t free_at = 0;

	if (addr_eq(addr, &neigh->unreachable))
		return -ENETUNREACH;
	for (uint16_t i = 1; i < KIT_PEERS; i++) {
		if (neigh->peers[i].refs && addr_eq(&neigh->peers[i].addr, addr) &&
		    neigh->peers[i].port == port && neigh->peers[i].iface == iface) {
			neigh->peers[i].refs++;
			*ret_peer = i;
			return 0;
		}
		if (!neigh->peers[i].refs && !free_at)
			free_at = i;
	}
	if (neigh->used == neigh->most || !free_at)
		return -ENOSPC;
	neigh->used++;
	neigh->peers[free_at].addr = *addr;
	neigh->peers[free_at].port = port;
	neigh->peers[free_at].iface = iface;
	neigh->peers[free_at].refs = 1;
	neigh->peers[free_at].watched = false;
	*ret_peer = free_at;
	return 0;
}

int neigh_tunnel_take(struct neigh *neigh, const struct addr *addr, uint16_t *ret_peer)
{
	return neigh_udp_take(neigh, 0, addr, 0, ret_peer);
}

void neigh_tunnel_watch(struct neigh *neigh, uint16_t peer)
{
	CU_ASSERT_FATAL(peer != 0 && neigh->peers[peer].refs > 0);
	neigh->peers[peer].watched = true;
}

void neigh_tunnel_give(struct neigh *neigh, uint16_t peer)
{
	CU_ASSERT_FATAL(peer != 0 && neigh->peers[peer].refs > 0);
	if (--neigh->peers[peer].refs == 0)
		neigh->used--;
}

// Tells the needs apart, so that a test sees them in the ruleset.
static uint64_t kit_chain(void *ctx, bool up, unsigned needs)
{
	return (uint64_t)needs << 1 | up;
}

static void kit_ue_prefix(void *ctx, unsigned iface, const struct prefix *prefix, bool add)
{
	CU_ASSERT_EQUAL(iface, KIT_N6);
	CU_ASSERT(prefix->len > 0 && prefix_is_network(prefix));
	kit.prefixes += add ? 1 : -1;
}

static void kit_log(void);

static int kit_send(void *ctx, const struct addr *local, const struct endpoint *to,
		    const uint8_t *bytes, size_t len)
{
	CU_ASSERT(endpoint_eq(to, &kit.peer));
	if (bytes[1] < 50 && bytes[1] != 4)
		return 0; // heartbeats and association answers
	memcpy(kit.answer, bytes, len);
	kit.answer_len = len;
	kit_log();
	return 0;
}

// --- opening and closing ---------------------------------------------------------------------------------

static inline void kit_workers_open(const struct kit_conf *conf)
{
	for (unsigned i = 0; i < KIT_WORKERS; i++) {
		struct worker_conf wc = {
			.id = i,
			.n_workers = KIT_WORKERS,
			.n_slots = conf->slots,
			.n_tunnels = conf->tunnels,
			.n_peers = KIT_PEERS,
			.handoff_ring = 64,
			.punt_ring = 64,
			.mail_ring = 64,
			.burst = 32,
			.meter_burst_us = 10000,
			.usage_ring = 1024,
			.buffer_ring = 64,
			.nat_ring = 64,
			.arena = &kit.arena,
			.locator = kit.locator,
			.teids = &kit.scheme,
		};

		kit.workers[i] = worker_new(&wc);
		CU_ASSERT_PTR_NOT_NULL_FATAL(kit.workers[i]);
	}
}

static inline void kit_setup(void);

static inline void kit_open(const struct kit_conf *conf)
{
	static const uint32_t key[TEID_KEY_WORDS] = {0x2545f491, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35,
						     0x27d4eb2f};
	struct ue_pools_conf pc = {.rest_ns = KIT_REST_S * NS_PER_SEC, .fresh_first = 64};
	const char *pools[] = {conf->pool ? conf->pool : "10.45.0.0/16", "2001:db8:aa00::/48"};
	struct n4_conf nc;
	struct n4_env env = {0};

	unit_eal("256");
	clock_stop();
	log_level_set(LOG_LEVEL_ERROR);
	memset(&kit, 0, sizeof(kit));
	CU_ASSERT_FATAL(
		teid_scheme_init(&kit.scheme, KIT_WORKERS, conf->slots + conf->tunnels, key) == 0);
	CU_ASSERT_FATAL(rule_arena_init(&kit.arena, conf->arena_bytes) == 0);
	kit.slots = slots_new(KIT_WORKERS, conf->slots, conf->tunnels, &kit.scheme);
	kit.locator = locator_new(1024, 64, NULL);
	CU_ASSERT_FATAL(kit.slots && kit.locator);
	kit.pools = ue_pools_new(&pc);
	CU_ASSERT_FATAL(kit.pools != NULL);
	for (unsigned i = 0; i < 2; i++) {
		CU_ASSERT_FATAL(prefix_parse(pools[i], &kit_pools[i]) == 0);
		CU_ASSERT_FATAL(locator_pool_add(kit.locator, KIT_N6, &kit_pools[i]) == 0);
		CU_ASSERT_FATAL(ue_pools_add(kit.pools, 0, KIT_N6, &kit_pools[i], 0) == 0);
	}
	kit_workers_open(conf);
	kit.neigh.most = conf->peers;
	kit.ifaces[KIT_N3] = (struct n4_iface){.name = "n3", .roles = N4_ROLE_N3, .has_v4 = true};
	kit.ifaces[KIT_N6] = (struct n4_iface){.name = "n6", .roles = N4_ROLE_N6, .has_v4 = true};
	kit.ifaces[2] = (struct n4_iface){.name = "n9", .roles = N4_ROLE_N9, .has_v4 = true};
	inet_pton(AF_INET, conf->n3, &kit.ifaces[KIT_N3].v4);
	inet_pton(AF_INET, "192.0.2.1", &kit.ifaces[KIT_N6].v4);
	inet_pton(AF_INET, "198.51.100.9", &kit.ifaces[2].v4);
	env.slots = kit.slots;
	env.locator = kit.locator;
	env.ue_pools = kit.pools;
	env.arena = &kit.arena;
	env.neigh = &kit.neigh;
	env.workers = kit.workers;
	env.n_workers = KIT_WORKERS;
	env.ifaces = kit.ifaces;
	env.n_ifaces = conf->n9 ? 3 : 2;
	env.nis = kit_nis;
	env.n_nis = 2;
	env.policies = kit_policies;
	env.n_policies = 2;
	env.predefined = kit_predefined;
	env.n_predefined = kit_n_predefined;
	env.chain = kit_chain;
	env.ue_prefix = kit_ue_prefix;
	n4_conf_init(&nc);
	node_id_parse("127.0.0.7", &nc.node_id);
	nc.max_sessions = conf->max_sessions;
	nc.max_pdrs = conf->max_pdrs;
	nc.max_unpacked = conf->unpacked;
	kit.n4 = n4_new(&nc, &env, &n4_session_ops);
	CU_ASSERT_PTR_NOT_NULL_FATAL(kit.n4);
	kit.n4->send = kit_send;
	endpoint_parse("127.0.0.4", PFCP_PORT, &kit.peer);
	kit_setup();
}

// Lets the workers carry out what was posted, and takes their answers, until nothing is under way.
static inline void kit_run(void)
{
	bool busy = true;

	while (busy) {
		busy = false;
		for (unsigned i = 0; i < KIT_WORKERS; i++) {
			mailbox_run(kit.workers[i], 16);
			mailbox_collect(kit.workers[i]);
			busy |= mailbox_outstanding(kit.workers[i]) > 0;
		}
	}
}

// --- what is in use --------------------------------------------------------------------------------------

struct kit_counts {
	uint32_t sessions, slots[KIT_WORKERS], tunnels[KIT_WORKERS], tables[KIT_WORKERS];
	uint32_t blocks, dense, hashed_v4, hashed_v6, routes, teids;
	unsigned peers, peer_refs;
	int prefixes;
	uint64_t users;
	uint64_t waiting_bytes;
};

static inline uint32_t kit_tunnels_free(unsigned owner)
{
	uint32_t records[256], teid, n = 0;

	while (n < 256 && slots_tunnel_take(kit.slots, owner, &records[n], &teid) == 0)
		n++;
	for (uint32_t i = 0; i < n; i++)
		slots_tunnel_give(kit.slots, owner, records[i]);
	return n;
}

static inline struct kit_counts kit_counts(void)
{
	const struct locator_pool *pool = &kit.locator->iface[KIT_N6].v4[0];
	struct rule_arena_counts arena;
	struct kit_counts c;

	memset(&c, 0, sizeof(c));
	rule_arena_counts_get(&kit.arena, &arena);
	c.sessions = n4_session_count(kit.n4);
	for (unsigned i = 0; i < KIT_WORKERS; i++) {
		c.slots[i] = slots_used(kit.slots, i);
		c.tunnels[i] = kit_tunnels_free(i);
		c.tables[i] = kit.workers[i]->table.used;
	}
	c.blocks = arena.blocks;
	c.users = arena.users;
	for (uint64_t i = 0; i < pool->n; i++)
		c.dense += pool->refs[i].check != 0;
	c.hashed_v4 = kit.locator->n_ue_v4;
	c.hashed_v6 = kit.locator->n_ue_v6;
	c.routes = kit.locator->n_routes;
	c.teids = kit.locator->n_teids;
	c.peers = kit.neigh.used;
	for (unsigned i = 0; i < KIT_PEERS; i++)
		c.peer_refs += kit.neigh.peers[i].refs;
	c.prefixes = kit.prefixes;
	c.waiting_bytes = kit.n4->waiting_bytes;
	return c;
}

static inline bool kit_counts_eq(const struct kit_counts *a, const struct kit_counts *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

// Ends the context; nothing may be left of what the test made.
static inline void kit_pool_empty(void *ctx, const struct ue_pool_view *pool)
{
	CU_ASSERT_EQUAL(pool->used, 0);
}

static inline void kit_close(void)
{
	struct rule_arena_counts arena;

	for (unsigned i = 0; i < KIT_COPIES; i++) {
		rules_free(kit.copies[i]);
		kit.copies[i] = NULL;
	}
	kit_run();
	n4_free(kit.n4);
	rule_arena_counts_get(&kit.arena, &arena);
	CU_ASSERT(arena.blocks == 0 && arena.users == 0);
	CU_ASSERT_EQUAL(kit.neigh.used, 0);
	CU_ASSERT_EQUAL(kit.prefixes, 0);
	CU_ASSERT_EQUAL(kit.locator->n_ue_v4 + kit.locator->n_ue_v6 + kit.locator->n_teids, 0);
	CU_ASSERT_EQUAL(kit.locator->n_routes, 0);
	ue_pools_each(kit.pools, kit_pool_empty, NULL);
	ue_pools_free(kit.pools);
	for (unsigned i = 0; i < KIT_WORKERS; i++) {
		CU_ASSERT_EQUAL(slots_used(kit.slots, i), 0);
		CU_ASSERT_EQUAL(kit_tunnels_free(i), kit.workers[i]->table.n_tunnels);
		worker_free(kit.workers[i]);
	}
	locator_free(kit.locator);
	slots_free(kit.slots);
	rule_arena_fini(&kit.arena);
}

#include "session_msg.h"
