// Packets that wait for a neighbour's link address (hop.h): a few for each, for as long as it is asked for.
//
// Control thread. The identity that holds here: what workers punted, and frames made, equals what was
// injected, consumed, is held, or was dropped by name (stats/stats.h).

#include "neigh/hop.h"

#include "base/clock.h"

void control_drop(struct neigh *n, struct rte_mbuf *mbuf, enum drop reason)
{
	n->conf.stats->drop[reason]++;
	rte_pktmbuf_free(mbuf);
}

// Puts the hop's link header on and sends the packet by the worker that it came from.
static void hold_send(struct neigh *n, const struct hop *hop, struct held held)
{
	const struct neigh_iface *iface = &n->conf.ifaces[hop->iface];
	uint16_t bytes = ETH_BYTES + (iface->vlan ? ETH_TAG_BYTES : 0);
	uint8_t *frame;

	if (held.bare && !rte_pktmbuf_prepend(held.mbuf, bytes)) {
		control_drop(n, held.mbuf, DROP_no_headroom);
		return;
	}
	if (held.bare && held.mbuf->data_len - bytes > iface->mtu) {
		control_drop(n, held.mbuf, DROP_too_big);
		return;
	}
	frame = rte_pktmbuf_mtod(held.mbuf, uint8_t *);
	if (held.bare)
		eth_write(frame, hop->mac, iface->mac, iface->vlan,
			  hop->addr.family == ADDR_V4 ? ETH_TYPE_IP4 : ETH_TYPE_IP6);
	else
		memcpy(frame, hop->mac, ETH_MAC_BYTES);
	if (n->conf.io.inject(n->conf.io.ctx, held.worker, held.mbuf, hop->iface) != 0)
		control_drop(n, held.mbuf, DROP_inject_full);
	else
		n->conf.stats->counter[COUNTER_injected]++;
}

void hold_packet(struct neigh *n, struct hop *hop, struct held held)
{
	hop_want(n, hop);
	if (hop->state == HOP_KNOWN) {
		hold_send(n, hop, held);
	} else if (hop->state == HOP_FAILED) {
		control_drop(n, held.mbuf, DROP_neigh_failed);
	} else if (hop->n_held == n->conf.hold_packets) {
		control_drop(n, held.mbuf, DROP_neigh_hold_full);
	} else {
		hop->held[hop->n_held++] = held;
		n->conf.stats->counter[COUNTER_held]++;
	}
}

void hold_release(struct neigh *n, struct hop *hop)
{
	n->conf.stats->counter[COUNTER_held] -= hop->n_held;
	for (unsigned i = 0; i < hop->n_held; i++)
		hold_send(n, hop, hop->held[i]);
	hop->n_held = 0;
}

void hold_drop(struct neigh *n, struct hop *hop, enum drop reason)
{
	n->conf.stats->counter[COUNTER_held] -= hop->n_held;
	for (unsigned i = 0; i < hop->n_held; i++)
		control_drop(n, hop->held[i].mbuf, reason);
	hop->n_held = 0;
}
