// Let only packets of the session's own UE pass uplink (anti-spoofing, TS 23.501 5.8.2.1 and GSMA practice).
//
// Runs on the owner, before any rule looks. A UE may use every address of its prefixes and of the routes behind
// it: its first IPv4 address and /64 stand in the line, others are listed in its rules. Rules that serve packets
// from other sources (router solicitations to the CP function, traffic relayed between tunnels) are marked
// PDR_F_ANY_SOURCE; where a session has one, the packet goes on and only such a PDR may take it (27_pdr.h).

#pragma once

#include "packet/ip.h"
#include "rules/match.h"
#include "service/service.h"

static inline void source_check_one(struct worker *w, struct pkt *p)
{
	const struct session_line *line = p->line;
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);
	uint64_t prefix;
	rte_be32_t src;
	bool own;

	if (p->family == 4) {
		memcpy(&src, user + offsetof(struct ip4_head, src), sizeof(src));
		own = src == line->up.ue_v4 && src != 0;
	} else {
		memcpy(&prefix, user + offsetof(struct ip6_head, src), sizeof(prefix));
		own = prefix == line->up.ue_v6 && prefix != 0;
	}
	if (likely(own))
		return;
	if (line_rules(w, line)->n_sources && ruleset_source(line_rules(w, line), p, user))
		return;
	if (line_rules(w, line)->flags & RULESET_F_ANY_SOURCE)
		p->flags |= PKT_F_SPOOFED;
	else
		pkt_drop(w, p, DROP_spoofed_source);
}
