// Duplicates made and sent, see copy.h.
//
// Workers.

#include "service/copy.h"

#include "service/leave.h"

// A duplicate's tunnel tells of no QoS flow: who receives it is no part of the user's path.
static const struct pdr no_flow = {.qfi = PKT_QFI_NONE};

// The user packet alone, in a buffer of its own. NULL: there is none with room for it.
static struct rte_mbuf *user_copy(struct worker *w, const struct pkt *p)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);

	if (!m)
		return NULL;
	if (rte_pktmbuf_tailroom(m) < p->user_bytes) {
		rte_pktmbuf_free_seg(m);
		return NULL;
	}
	memcpy(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod_offset(p->mbuf, const void *, p->user),
	       p->user_bytes);
	m->data_len = p->user_bytes;
	m->pkt_len = p->user_bytes;
	return m;
}

static void copy_finish(struct worker *w, struct pkt *copy, const struct far *far)
{
	const struct peer *peer = &w->peers[copy->peer];

	if (peer_is_tunnel(peer))
		leave_headers(w, copy, far, &no_flow);
	else
		leave_link(w, copy, peer);
	if (copy->chain)
		peer_out(w, copy, peer);
}

static void copy_send(struct worker *w, const struct pkt *p, const struct far *far)
{
	struct pkt copy = *p;

	copy.mbuf = user_copy(w, p);
	if (!copy.mbuf) {
		worker_count(w, COUNTER_copies_lost, 1);
		return;
	}
	worker_count(w, COUNTER_made, 1);
	worker_count(w, COUNTER_copies, 1);
	copy.l4 = (uint16_t)(p->l4 - p->user);
	copy.user = 0;
	if (far->to == FAR_TO_PLACE)
		leave_by_tunnel(w, &copy, far);
	else
		leave_otherwise(w, &copy, far, rte_pktmbuf_mtod(copy.mbuf, uint8_t *));
	if (copy.chain)
		copy_finish(w, &copy, far);
}

void copy_once(struct worker *w, const struct pkt *p, const struct far *far)
{
	if (buffer_has_copies(w, p))
		return;
	while (far->flags & FAR_F_COPY)
		copy_send(w, p, ++far);
}
