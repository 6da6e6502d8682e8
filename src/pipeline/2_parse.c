// Parse: what each frame is, and the end of those that need no session.
//
// Echo requests are answered here, by the worker that they reached; address resolution and echo responses go
// to the control thread; G-PDUs and packets for UEs go into the lanes. While a group is parsed, the next one's bytes are on
// their way.

#include "pipeline/2_parse.h"

#include "packet/icmp.h"
#include "packet/parse.h"
#include "pipeline/3_locate.h"
#include "worker/gather_outer.h"
#include "worker/gtpu_answer.h"
#include "worker/punt.h"

// Of a queue that several interfaces share, the one whose VLAN the frame has.
__attribute__((noinline)) static const struct parse_conf *parse_conf_of_vlan(
	const struct worker *w, const struct worker_rx *rx, const uint8_t *data, uint32_t len)
{
	uint16_t vid = 0;

	if (len >= ETH_BYTES + ETH_TAG_BYTES && be16_get(data + ETH_BYTES - 2) == ETH_TYPE_VLAN)
		vid = be16_get(data + ETH_BYTES) & ETH_VID_MASK;
	for (unsigned i = 0; i < rx->n_ifaces; i++)
		if (w->parse[rx->ifaces[i]].vlan_tci_id == vid)
			return &w->parse[rx->ifaces[i]];
	return &w->parse[rx->ifaces[0]]; // parse() finds the wrong VLAN
}

// The frame was turned around in place and is now `bytes` long; 0: it could not be answered.
static void answer(struct worker *w, struct pkt *p, uint32_t bytes, enum counter counter)
{
	if (bytes == 0) {
		pkt_drop(w, p, DROP_not_for_us);
		return;
	}
	worker_count(w, counter, 1);
	p->mbuf->data_len = (uint16_t)bytes;
	p->mbuf->pkt_len = bytes;
	worker_send(w, p->iface, p->mbuf);
}

static void consume(struct worker *w, struct pkt *p, enum counter counter)
{
	worker_count(w, counter, 1);
	pkt_consume(w, p);
}

// Anyone on N3 can send them: the control thread is given no more than this.
#define ERRORS_PER_SEC 1000
#define ERRORS_AT_ONCE 32

static void error_indication(struct worker *w, struct pkt *p)
{
	const uint64_t each = METER_UNITS_PER_SEC / ERRORS_PER_SEC;

	worker_count(w, COUNTER_error_indication, 1);
	if (!punt_has_room(w) || !meter_passes(w->error_tat, w->now, (ERRORS_AT_ONCE - 1) * each)) {
		consume(w, p, COUNTER_error_indication_ignored);
		return;
	}
	w->error_tat = meter_charge(w->error_tat, w->now, each);
	punt_post(w, p, PUNT_ERROR_INDICATION);
}

// All but user packets: kinds that need no session, and End Markers.
__attribute__((noinline)) static void parse_no_session(struct worker *w, struct turn *t,
						       struct pkt *p)
{
	struct rte_mbuf *m = p->mbuf;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t room = (uint32_t)m->buf_len - m->data_off;

	switch ((enum pkt_kind)p->kind) {
	case PKT_ECHO_REQUEST:
		answer(w, p, gtpu_echo_response(frame, room, p), COUNTER_gtpu_echo);
		return;
	case PKT_ICMP_ECHO:
		answer(w, p, icmp_echo_reply(frame, p), COUNTER_icmp_echo);
		return;
	case PKT_ECHO_RESPONSE:
		worker_count(w, COUNTER_gtpu_echo_response, 1);
		if (punt_has_room(w))
			punt_post(w, p, PUNT_ECHO_RESPONSE);
		else
			pkt_drop(w, p, DROP_punt_full);
		return;
	case PKT_END_MARKER:
		worker_count(w, COUNTER_end_marker, 1);
		locate_tunnel(w, t, p); // without PKT_F_UP, so that dispatch knows it
		return;
	case PKT_ERROR_INDICATION:
		error_indication(w, p);
		return;
	case PKT_ARP:
		punt_post(w, p, PUNT_ARP);
		return;
	case PKT_ND:
		punt_post(w, p, PUNT_ND);
		return;
	case PKT_BAD:
		if (p->drop == DROP_gtpu_extension_required)
			gtpu_drop_extension(w, p);
		else if (p->drop == DROP_outer_fragment)
			parse_fragment(w, t, p);
		else
			pkt_drop(w, p, p->drop);
		return;
	case PKT_GPDU:
	case PKT_PLAIN:
	case PKT_KINDS:
		break;
	}
	pkt_drop(w, p, DROP_not_for_us);
}

// With the last piece the whole is parsed as if it had come in. A port has not seen its checksum.
void parse_fragment(struct worker *w, struct turn *t, struct pkt *p)
{
	struct parse_conf conf = w->parse[p->iface];
	unsigned owner;

	if (!gather_outer_wants(w, p, &owner)) {
		pkt_drop(w, p, DROP_outer_fragment);
		return;
	}
	if (owner != w->id) {
		p->ref = (struct session_ref){0, 0};
		handoff_put(w, p, owner, true);
		return;
	}
	p->mbuf = gather_outer(w, p);
	if (!p->mbuf)
		return;
	conf.udp_cksum_done = false;
	parse(&conf, rte_pktmbuf_mtod(p->mbuf, const uint8_t *), p->mbuf->data_len, p);
	if (p->kind == PKT_GPDU)
		locate_up(w, t, p);
	else
		parse_no_session(w, t, p);
}

__attribute__((flatten)) void parse_group(struct worker *w, struct turn *t, unsigned from,
					  unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		const struct worker_rx *rx = &w->rx[t->rx[i]];
		struct rte_mbuf *m = t->mbufs[i];
		struct pkt *p = &t->pkts[i];
		const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
		const struct parse_conf *conf = &w->parse[rx->ifaces[0]];

		if (unlikely(rx->n_ifaces > 1))
			conf = parse_conf_of_vlan(w, rx, data, m->data_len);
		if (likely(i + GROUP < t->n_rx))
			parse_fetch(w, t, i + GROUP);
		p->mbuf = m;
		if (unlikely(m->nb_segs != 1)) {
			w->stats.drop[DROP_multi_segment]++;
			rte_pktmbuf_free(m);
			continue;
		}
		parse(conf, data, m->data_len, p);
		if (p->kind == PKT_GPDU)
			locate_up(w, t, p);
		else if (p->kind == PKT_PLAIN && likely(conf->core))
			locate_key(w, t, p);
		else if (p->kind == PKT_PLAIN)
			pkt_drop(w, p, DROP_no_session);
		else
			parse_no_session(w, t, p);
	}
}
