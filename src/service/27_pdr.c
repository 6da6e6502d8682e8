// The row and the batch form of pdr (27_pdr.h).
//
// Workers run it; see service.h for what a service is.

#include "service/27_pdr.h"

void pdr_beyond_walk(struct worker *w, struct pkt *p)
{
	const struct ruleset *rs = line_rules(w, p->line);
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	const struct pdr *pdr = ruleset_beyond_walk(rs, p->flags & PKT_F_UP, p, user);

	if (pdr)
		pdr_take(w, p, pdr);
	else
		pkt_drop(w, p, DROP_no_pdr);
}

SERVICE_RUN(pdr_run, pdr_one)

const struct service service_pdr = {
	.name = "pdr",
	.bit = SERVICE_BIT_pdr,
	.run = pdr_run,
	.after = SERVICES("gtpu_decap", "source_check"),
	.before = SERVICES("far"),
	.help = "finds the PDR by precedence",
};
