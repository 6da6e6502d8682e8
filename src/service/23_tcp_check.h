// Follow TCP connections, refuse what belongs to none, and give a flow its time by how far its connection has come
// (session/tcp_conn.h; RFC 9293, RFC 5961).
//
// Runs on the owner, for flows. Of a flow of another protocol it steps out, and l4_lifecycle stays; of a TCP flow it
// stays, and takes l4_lifecycle's place. What an end would refuse without an answer is dropped by name. What an end would
// answer passes, and changes nothing. Fragments pass, and count as use: their numbers do not tell their length.

#pragma once

#include "packet/tcp.h"
#include "service/service.h"
#include "session/tcp_conn.h"
#include "worker/flows.h"

// All but ordinary segments of established connections.
void tcp_check_rest(struct worker *w, struct pkt *p, struct tcp_conn *conn)
	__attribute__((cold, noinline));

// False: the header's length cannot be.
static inline bool tcp_check_read(const struct pkt *p, struct tcp_segment *ret)
{
	const struct tcp_head *tcp = rte_pktmbuf_mtod_offset(p->mbuf, const struct tcp_head *,
							     p->l4);
	uint32_t bytes = (uint32_t)(p->user + p->user_bytes - p->l4), head = tcp_head_bytes(tcp);

	*ret = (struct tcp_segment){
		.seq = rte_be_to_cpu_32(tcp->seq),
		.ack = rte_be_to_cpu_32(tcp->ack),
		.window = rte_be_to_cpu_16(tcp->window),
		.flags = tcp->flags,
		.side = !(p->flags & PKT_F_UP),
	};
	ret->end = ret->seq + bytes - head;
	return head >= TCP_BYTES && head <= bytes;
}

static inline void tcp_check_one(struct worker *w, struct pkt *p)
{
	struct tcp_conn *conn = flow_record(&w->flows, SERVICE_BIT_tcp_check, p->flow,
					    sizeof(*conn));
	struct tcp_segment s;

	if (likely(conn->state == CONN_ESTABLISHED && !(p->flags & PKT_F_FRAGMENT) &&
		   tcp_check_read(p, &s) && conn_goes_on(conn, &s)))
		flow_extend(&w->flows, &w->flows.table.flows[p->flow]);
	else
		tcp_check_rest(w, p, conn);
}
