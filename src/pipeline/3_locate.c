// Locate, the parts that are not inlined (3_locate.h).
//
// Worker.

#include "pipeline/3_locate.h"

struct session_ref locate_given(const struct worker *w, const struct pkt *p)
{
	const struct ip4_head *ip = rte_pktmbuf_mtod_offset(p->mbuf, const struct ip4_head *,
							    p->outer);
	struct locator_teid_key key = {.teid = p->teid, .local = ip->dst};

	return locator_hashed(w->locator->teids, &key);
}

void locate_down(struct worker *w, struct lane *lane, unsigned to)
{
	for (; lane->located < to; lane->located++) {
		struct pkt *p = lane->keyed[lane->located];
		const struct session_ref *word = lane->words[lane->located];

		if (likely(word != NULL))
			p->ref = locator_word(word);
		if (unlikely(p->ref.check == 0))
			pkt_drop(w, p, DROP_no_session);
		else if (likely(session_ref_owner(p->ref) == w->id))
			locate_ready(w, lane, p, false);
		else
			handoff_put(w, p, session_ref_owner(p->ref), false);
	}
}
