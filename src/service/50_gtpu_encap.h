// Put the tunnel header on: Ethernet, IP, UDP, GTP-U with a PDU Session Container when a QFI is known
// (TS 29.281 5.1, TS 38.415 5.5.2.1, TS 29.244 8.2.56).
//
// Runs on the owner. The peer's header is copied as one cache line (IPv6: one and a half) that ends where
// the user packet starts; then lengths, DSCP, checksums, TEID and QFI are patched in. The outer UDP checksum
// is zero on IPv4, as TS 29.281 4.4.2 allows; on IPv6 it is there unless the configuration says that
// receivers do without (RFC 6936). An IPv4 packet is whole (DF, identification 0: RFC 6864); the DSCP is the
// FAR's or the user packet's.

#pragma once

#include "service/service.h"
#include "session/peer.h"

// DSCP of the outer header, in the place where the traffic class has it.
static inline uint8_t encap_tos(const struct far *far, const uint8_t *user, unsigned family)
{
	if (far->dscp != FAR_DSCP_COPY)
		return (uint8_t)(far->dscp << 2);
	return (uint8_t)((family == 4 ? user[1] : user[0] << 4 | user[1] >> 4) & 0xfc);
}

// One body for both families: `v6` is constant.
static __rte_always_inline void gtpu_encap_body(struct worker *w, struct pkt *p,
						const struct peer *peer, bool v6)
{
	const struct far *far = ruleset_far(line_rules(w, p->line), p->pdr->far);
	struct rte_mbuf *m = p->mbuf;
	uint8_t *user = rte_pktmbuf_mtod_offset(m, uint8_t *, p->user);
	const unsigned header_bytes = v6 ? PEER_HEADER_BYTES : PEER_HEADER_V4_BYTES;
	const unsigned ip_bytes = v6 ? IP6_BYTES : IP4_BYTES;
	const uint8_t *header = peer_header(peer, header_bytes);
	unsigned psc_bytes = p->pdr->qfi == PKT_QFI_NONE ? 0u : PEER_PSC_BYTES;
	unsigned gtpu_bytes = GTPU_BYTES + psc_bytes + p->user_bytes;
	uint8_t *ip = user - psc_bytes - GTPU_BYTES - UDP_BYTES - ip_bytes;
	uint8_t tos = encap_tos(far, user, p->family);

	if (unlikely(user - (uint8_t *)m->buf_addr < header_bytes)) {
		pkt_drop(w, p, DROP_no_headroom);
		return;
	}
	if (unlikely(gtpu_bytes + UDP_BYTES + ip_bytes > peer->mtu)) {
		pkt_drop(w, p, DROP_too_big);
		return;
	}
	if (likely(psc_bytes)) {
		memcpy(user - header_bytes, header, header_bytes);
		user[-2] = (uint8_t)(p->pdr->qfi | (p->pdr->flags & PDR_F_RQI ? GTPU_PSC_RQI : 0));
	} else {
		memcpy(user - (header_bytes - PEER_PSC_BYTES), header,
		       header_bytes - PEER_PSC_BYTES);
		user[-GTPU_BYTES] = GTPU_VERSION;
	}
	if (v6)
		peer_patch6(ip, peer, tos, gtpu_bytes, rte_cpu_to_be_32(p->teid));
	else
		peer_patch(ip, peer, tos, gtpu_bytes, rte_cpu_to_be_32(p->teid));

	uint32_t frame_bytes = (uint32_t)peer->eth_bytes + ip_bytes + UDP_BYTES + gtpu_bytes;

	m->data_off = (uint16_t)(ip - peer->eth_bytes - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)frame_bytes;
	m->pkt_len = frame_bytes;
}

// Over IPv6: out of line, so that the ordinary way stays short.
void gtpu_encap_v6(struct worker *w, struct pkt *p, const struct peer *peer);

static inline void gtpu_encap_one(struct worker *w, struct pkt *p)
{
	const struct peer *peer = &w->peers[p->peer];

	if (unlikely(peer->kind == PEER_GTPU_V6))
		gtpu_encap_v6(w, p, peer);
	else
		gtpu_encap_body(w, p, peer, false);
}
