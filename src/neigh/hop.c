// Next hops: found, made, asked for, refreshed, forgotten (hop.h).
//
// Control thread. A hop is asked for when something needs it, HOP_TRIES times a second apart, and again when it has
// been known for HOP_FRESH_NS, or when somebody says that its link address is another one than before.

#include "neigh/hop.h"

#include <stdlib.h>
#include <string.h>

#include <rte_hash_crc.h>

#include "base/clock.h"

static unsigned bucket_of(const struct neigh *n, unsigned iface, const struct addr *addr)
{
	struct route_key key = route_key(iface, addr->family,
					 addr->family == ADDR_V4 ? (const uint8_t *)&addr->v4
								 : addr->v6);

	return rte_hash_crc(&key, sizeof(key), n->seed) % HOP_BUCKETS;
}

struct hop *hop_lookup(const struct neigh *n, unsigned iface, const struct addr *addr)
{
	for (struct hop *hop = n->buckets[bucket_of(n, iface, addr)]; hop; hop = hop->beside)
		if (hop->iface == iface && addr_eq(&hop->addr, addr))
			return hop;
	return NULL;
}

static struct hop *hop_new(struct neigh *n, unsigned iface, const struct addr *addr)
{
	struct hop **bucket = &n->buckets[bucket_of(n, iface, addr)];
	struct hop *hop;

	if (n->n_hops == HOPS_MAX)
		return NULL;
	hop = calloc(1, sizeof(*hop));
	if (!hop)
		return NULL;
	hop->held = calloc(n->conf.hold_packets, sizeof(*hop->held));
	if (!hop->held) {
		free(hop);
		return NULL;
	}
	hop->addr = *addr;
	hop->iface = (uint8_t)iface;
	hop->answered_ns = clock_now_ns();
	hop->next = n->hops;
	n->hops = hop;
	hop->beside = *bucket;
	*bucket = hop;
	n->n_hops++;
	return hop;
}

static void hop_ask(struct neigh *n, struct hop *hop)
{
	hop->tries++;
	hop->asked_ns = clock_now_ns();
	resolve_ask(n, hop);
}

struct hop *hop_get(struct neigh *n, unsigned iface, const struct addr *addr)
{
	struct hop *hop = hop_lookup(n, iface, addr);

	if (hop)
		return hop;
	hop = hop_new(n, iface, addr);
	if (hop) {
		hop->state = HOP_ASKING;
		hop_ask(n, hop);
	}
	return hop;
}

void hop_want(struct neigh *n, struct hop *hop)
{
	if (hop->state != HOP_FAILED || clock_now_ns() - hop->asked_ns < HOP_FAILED_NS)
		return;
	hop->state = HOP_ASKING;
	hop->tries = 0;
	hop_ask(n, hop);
}

void hop_free(struct neigh *n, struct hop *hop)
{
	struct hop **at = &n->hops;

	hold_drop(n, hop, DROP_neigh_failed);
	while (*at != hop)
		at = &(*at)->next;
	*at = hop->next;
	at = &n->buckets[bucket_of(n, hop->iface, &hop->addr)];
	while (*at != hop)
		at = &(*at)->beside;
	*at = hop->beside;
	n->n_hops--;
	free(hop->held);
	free(hop);
}

void hop_learn(struct neigh *n, struct hop *hop, const uint8_t mac[ETH_MAC_BYTES])
{
	bool moved = memcmp(hop->mac, mac, ETH_MAC_BYTES) != 0;
	bool changed = hop->state != HOP_KNOWN || moved;

	hop->doubted = hop->state == HOP_KNOWN && moved;
	hop->state = HOP_KNOWN;
	hop->tries = 0;
	hop->answered_ns = clock_now_ns();
	if (!changed)
		return;
	memcpy(hop->mac, mac, ETH_MAC_BYTES);
	peers_update(n, hop);
	if (hop->wanted)
		peers_plain(n, hop);
	hold_release(n, hop);
}

// A neighbour that does not answer any more: its peers wait again, and it is forgotten if nobody needs it.
static void hop_fail(struct neigh *n, struct hop *hop)
{
	bool was_known = hop->state == HOP_KNOWN;

	hop->state = HOP_FAILED;
	hold_drop(n, hop, DROP_neigh_failed);
	if (was_known)
		peers_update(n, hop);
	if (hop->gateway)
		return;
	hop->wanted = false;
	if (hop->plain != PEER_NONE)
		peers_forget_plain(n, hop);
}

void hop_tick(struct neigh *n, struct hop *hop, uint64_t now)
{
	bool waiting = hop->state == HOP_ASKING ||
		       (hop->state == HOP_KNOWN &&
			(hop->doubted || now - hop->answered_ns >= HOP_FRESH_NS));
	bool unused = !hop->tunnels && !hop->gateway && hop->plain == PEER_NONE;

	if (waiting && now - hop->asked_ns >= HOP_RETRY_NS) {
		if (hop->tries >= HOP_TRIES)
			hop_fail(n, hop);
		else
			hop_ask(n, hop);
	} else if (hop->state == HOP_FAILED && now - hop->asked_ns >= HOP_FAILED_NS) {
		if (unused)
			hop_free(n, hop);
		else
			hop_want(n, hop); // gateways and gNBs are asked for until they answer
	}
}
