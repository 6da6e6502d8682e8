// Fragments of tunnels' packets (gather_outer.h).
//
// Worker. The whole is copied into one buffer, as every frame here is: what is longer than that is dropped.

#include "worker/gather_outer.h"

#include <rte_hash_crc.h>

static bool key_of(const struct worker *w, const struct pkt *p, struct gather_key *ret,
		   struct fragment *ret_fragment)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->outer);

	*ret = (struct gather_key){.family = *ip >> 4 == 4 ? 4 : 6, .iface = p->iface};
	gather_key_addrs(ret, ip);
	ret->whose = rte_hash_crc(ret->src, sizeof(ret->src), w->gather_seed);
	if (!fragment_read(ip, ip_bytes(ip), ret_fragment))
		return false;
	ret->id = ret_fragment->id;
	ret->proto = ret_fragment->proto;
	return true;
}

// Our own, and where GTP-U is served.
static bool is_served(const struct worker *w, const struct pkt *p, const struct gather_key *key)
{
	const struct parse_conf *conf = &w->parse[p->iface];
	const struct local_addr *local = key->family == 4
						 ? parse_local4_lookup(conf, word32_get(key->dst))
						 : parse_local6_lookup(conf, key->dst);

	return local && local->gtpu && key->proto == IPPROTO_UDP;
}

bool gather_outer_wants(const struct worker *w, const struct pkt *p, unsigned *ret_owner)
{
	struct fragment f;
	struct gather_key key;

	if (w->outer.limits.datagrams == 0 || !key_of(w, p, &key, &f) || !is_served(w, p, &key))
		return false;
	*ret_owner = (key.whose ^ key.id) % w->n_workers;
	return true;
}

// The headers before the datagram, as of a packet that is whole. Gives their length.
static uint32_t heads_write(const uint8_t *frame, unsigned outer, const struct fragment *f,
			    uint32_t bytes, uint8_t *to)
{
	struct ip4_head *ip4 = (struct ip4_head *)(to + outer);
	struct ip6_head *ip6 = (struct ip6_head *)(to + outer);
	uint32_t heads = outer + f->at;

	if (frame[outer] >> 4 == 4) {
		memcpy(to, frame, heads);
		ip4->total = rte_cpu_to_be_16((uint16_t)(f->at + bytes));
		ip4->fragment = 0;
		ip4->cksum = ip4_cksum(ip4);
		return heads;
	}
	heads -= FRAGMENT6_BYTES;
	memcpy(to, frame, heads);
	to[outer + f->named_at] = f->proto;
	ip6->payload = rte_cpu_to_be_16((uint16_t)(heads - outer - IP6_BYTES + bytes));
	return heads;
}

// Where the piece's part of the datagram is in its frame.
static const uint8_t *part_of(const struct rte_mbuf *m, unsigned outer, struct fragment *ret)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, outer);

	fragment_read(ip, ip_bytes(ip), ret); // which it passed when it was added
	return ip + ret->at;
}

static uint32_t datagram_bytes(const struct rte_mbuf *list, unsigned outer)
{
	uint32_t bytes = 0;

	for (const struct rte_mbuf *m = list; m; m = m->next) {
		struct fragment f;

		part_of(m, outer, &f);
		bytes += f.bytes;
	}
	return bytes;
}

// The first piece's headers, then all parts. NULL: there is no buffer, or it is too short.
static struct rte_mbuf *whole_new(struct worker *w, const struct rte_mbuf *list, unsigned outer)
{
	struct rte_mbuf *whole = rte_pktmbuf_alloc(w->pool);
	uint32_t bytes = datagram_bytes(list, outer), at;
	struct fragment f;

	if (!whole)
		return NULL;
	part_of(list, outer, &f);
	if (outer + f.at + bytes > rte_pktmbuf_tailroom(whole)) {
		rte_pktmbuf_free_seg(whole);
		return NULL;
	}
	at = heads_write(rte_pktmbuf_mtod(list, const uint8_t *), outer, &f, bytes,
			 rte_pktmbuf_mtod(whole, uint8_t *));
	for (const struct rte_mbuf *m = list; m; m = m->next) {
		const uint8_t *part = part_of(m, outer, &f);

		memcpy(rte_pktmbuf_mtod_offset(whole, uint8_t *, at), part, f.bytes);
		at += f.bytes;
	}
	whole->data_len = (uint16_t)at;
	whole->pkt_len = at;
	return whole;
}

struct rte_mbuf *gather_outer(struct worker *w, struct pkt *p)
{
	unsigned outer = p->outer;
	struct rte_mbuf *list, *whole, *m;
	struct fragment f;
	struct gather_key key;

	key_of(w, p, &key, &f); // as gather_outer_wants() has found
	list = gather_add(w, &w->outer, &key, &f, p);
	if (!list)
		return NULL;
	whole = whole_new(w, list, outer);
	worker_count(w, COUNTER_made, whole != NULL);
	worker_count(w, COUNTER_reassembled, whole != NULL);
	while ((m = gather_next(&list))) {
		struct pkt piece = {.mbuf = m};

		if (whole)
			pkt_consume(w, &piece);
		else
			pkt_drop(w, &piece, DROP_reassembly_too_long);
	}
	return whole;
}
