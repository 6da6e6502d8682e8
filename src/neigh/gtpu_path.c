// Echo Requests to the peers of tunnels, and what their answers or silence say (gtpu_path.h).
//
// Control thread. A request is a frame of ours that waits for the peer's link address like any other; a peer whose
// neighbour does not resolve is silent, too. Answers are found by the sender's address in buckets, so that a flood
// of them costs no walk over all peers.

#include "neigh/gtpu_path.h"

#include <rte_hash_crc.h>

#include "base/clock.h"
#include "base/log.h"
#include "neigh/hop.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"

#define ECHO_BURST 64 // requests of one tick, so that many peers at once do not fill the rings

static uint16_t *bucket_of(struct neigh *n, const struct addr *addr)
{
	uint32_t words[sizeof(addr->v6) / sizeof(uint32_t)] = {addr->v4};
	uint32_t hash = n->seed;

	if (addr->family == ADDR_V6)
		memcpy(words, addr->v6, sizeof(words));
	for (unsigned i = 0; i < RTE_DIM(words); i++)
		hash = rte_hash_crc_4byte(words[i], hash);

	return &n->path_buckets[hash % GTPU_PATH_BUCKETS];
}

uint16_t gtpu_path_lookup(struct neigh *n, const struct addr *addr)
{
	uint16_t peer = *bucket_of(n, addr);

	while (peer != PEER_NONE && !addr_eq(&n->peers[peer].addr, addr))
		peer = n->peers[peer].path.beside;
	return peer;
}

void gtpu_path_begin(struct neigh *n, uint16_t peer)
{
	uint16_t *bucket = bucket_of(n, &n->peers[peer].addr);

	n->peers[peer].path = (struct gtpu_path){.beside = *bucket};
	*bucket = peer;
}

void gtpu_path_end(struct neigh *n, uint16_t peer)
{
	uint16_t *at = bucket_of(n, &n->peers[peer].addr);

	while (*at != peer)
		at = &n->peers[*at].path.beside;
	*at = n->peers[peer].path.beside;
	n->peers[peer].path = (struct gtpu_path){0};
}

void neigh_tunnel_watch(struct neigh *n, uint16_t peer)
{
	struct gtpu_path *path = &n->peers[peer].path;

	if (path->watched)
		return;
	path->watched = true;
	path->due_ns = clock_now_ns();
}

// Puts an Echo Request behind a copy of the peer's header. False: there is no buffer for it.
static bool echo_send(struct neigh *n, const struct peer_book *book)
{
	struct rte_mbuf *mbuf = n->conf.io.mbuf_new(n->conf.io.ctx);
	const struct peer *peer = &book->peer;
	uint16_t head = (uint16_t)(peer->eth_bytes + peer_ip_bytes(peer) + UDP_BYTES);
	uint32_t bytes;
	uint8_t *frame;

	if (!mbuf)
		return false;
	frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	memcpy(frame, peer_header(peer, PEER_PSC_BYTES + GTPU_BYTES + head), head);
	bytes = gtpu_echo_request_build(frame + head, book->path.sequence);
	if (peer->kind == PEER_GTPU_V6)
		peer_patch6(frame + peer->eth_bytes, peer, 0, bytes, 0);
	else
		peer_patch(frame + peer->eth_bytes, peer, 0, bytes, 0);
	mbuf->data_len = (uint16_t)(head + bytes);
	mbuf->pkt_len = head + bytes;
	n->conf.stats->counter[COUNTER_made]++;
	n->conf.stats->counter[COUNTER_gtpu_echo_sent]++;
	hold_packet(n, book->hop, (struct held){.mbuf = mbuf, .worker = 0});
	return true;
}

static void path_changed(struct neigh *n, uint16_t peer, bool up)
{
	const struct gtpu_path_conf *conf = &n->conf.path;
	const struct addr *addr = &n->peers[peer].addr;
	char text[ADDR_STRLEN];

	if (up)
		log_info_limited("GTP-U: %s answers again", addr_str(text, addr));
	else
		log_warn_limited("GTP-U: %s does not answer Echo Requests", addr_str(text, addr));
	if (conf->changed)
		conf->changed(conf->ctx, peer, addr, up);
}

static void path_failed(struct neigh *n, uint16_t peer)
{
	struct gtpu_path *path = &n->peers[peer].path;

	path->waiting = false;
	path->due_ns = path->asked_ns + n->conf.path.echo_ms * NS_PER_MS;
	if (path->state == GTPU_PATH_DOWN)
		return;
	path->state = GTPU_PATH_DOWN;
	path->failures++;
	path_changed(n, peer, false);
}

// Asks for the first time or once more, or gives up. True when a request went out.
static bool path_turn(struct neigh *n, uint16_t peer, uint64_t now)
{
	struct gtpu_path *path = &n->peers[peer].path;

	if (path->waiting && path->tries >= n->conf.path.n3) {
		path_failed(n, peer);
		return false;
	}
	if (!path->waiting) {
		path->waiting = true;
		path->sequence++;
		path->tries = 0;
		path->asked_ns = now;
	}
	// Without a buffer the peer is not to blame: it is asked at the next tick.
	if (!echo_send(n, &n->peers[peer]))
		return false;
	path->sent++;
	path->tries++;
	path->due_ns = now + n->conf.path.t3_ms * NS_PER_MS;
	return true;
}

void gtpu_path_tick(struct neigh *n, uint64_t now)
{
	unsigned sent = 0;

	if (n->conf.path.echo_ms == 0)
		return;
	for (uint16_t tried = 1; tried < n->conf.n_peers && sent < ECHO_BURST; tried++) {
		uint16_t peer = n->path_next;

		n->path_next = (uint16_t)(peer + 1 >= n->conf.n_peers ? 1 : peer + 1);
		if (n->peers[peer].path.watched && n->peers[peer].path.due_ns <= now)
			sent += path_turn(n, peer, now);
	}
}

// The Recovery counter is 0 by rule (TS 29.281 8.2); a peer that counts all the same has restarted when it changes.
static void recovery_note(struct gtpu_path *path, const struct addr *peer, uint8_t recovery)
{
	char text[ADDR_STRLEN];

	if (path->has_recovery && path->recovery != recovery) {
		path->restarts++;
		log_warn_limited("GTP-U: %s has restarted: its Recovery counter was %u and is %u",
				 addr_str(text, peer), path->recovery, recovery);
	}
	path->has_recovery = true;
	path->recovery = recovery;
}

// Whether it answers what was asked.
static bool response_take(struct neigh *n, const struct addr *from, uint16_t sequence,
			  uint8_t recovery)
{
	uint16_t peer = gtpu_path_lookup(n, from);
	struct gtpu_path *path = &n->peers[peer].path;
	bool was_down = path->state == GTPU_PATH_DOWN;

	if (peer == PEER_NONE || !path->waiting || path->sequence != sequence || path->tries == 0)
		return false;
	path->waiting = false;
	path->state = GTPU_PATH_UP;
	path->due_ns = path->asked_ns + n->conf.path.echo_ms * NS_PER_MS;
	path->answered_ns = clock_now_ns();
	path->answered++;
	recovery_note(path, from, recovery);
	if (was_down)
		path_changed(n, peer, true);
	return true;
}

void neigh_echo_response(struct neigh *n, unsigned worker, struct rte_mbuf *mbuf)
{
	const struct pkt *p = rte_mbuf_to_priv(mbuf);
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct addr from = ip_source(frame + p->outer);
	uint16_t sequence;
	uint8_t recovery;

	if (gtpu_echo_response_decode(frame, p, &sequence, &recovery) != 0 ||
	    !response_take(n, &from, sequence, recovery))
		n->conf.stats->counter[COUNTER_gtpu_echo_unasked]++;
	n->conf.stats->counter[COUNTER_consumed]++;
	rte_pktmbuf_free(mbuf);
}
