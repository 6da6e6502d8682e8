// Answers to GTP-U messages that are dropped (gtpu_answer.h).
//
// Worker.

#include "worker/gtpu_answer.h"

// Turns the frame around in place: its new length, 0 when it cannot be answered.
typedef uint32_t answer_fn(uint8_t *frame, uint32_t room, const struct pkt *p);

static void drop_and_answer(struct worker *w, struct pkt *p, enum drop reason, answer_fn *answer,
			    enum counter counter)
{
	struct rte_mbuf *m = p->mbuf;
	uint32_t bytes = answer(rte_pktmbuf_mtod(m, uint8_t *), (uint32_t)m->buf_len - m->data_off,
				p);

	if (bytes == 0) {
		pkt_drop(w, p, reason);
		return;
	}
	w->stats.drop[reason]++;
	worker_count(w, COUNTER_made, 1);
	worker_count(w, counter, 1);
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	p->chain = 0;
	worker_send(w, p->iface, m);
}

void gtpu_drop_unknown(struct worker *w, struct pkt *p, enum drop reason)
{
	key_missed(w, p, KEY_KIND_teid);
	if (p->kind == PKT_GPDU && p->teid != 0 && limit_pass(&w->error_limit, w->now))
		drop_and_answer(w, p, reason, gtpu_error_indication, COUNTER_error_indication_sent);
	else
		pkt_drop(w, p, reason);
}

void gtpu_drop_extension(struct worker *w, struct pkt *p)
{
	if (limit_pass(&w->extension_limit, w->now))
		drop_and_answer(w, p, DROP_gtpu_extension_required, gtpu_supported_extensions,
				COUNTER_extensions_sent);
	else
		pkt_drop(w, p, DROP_gtpu_extension_required);
}
