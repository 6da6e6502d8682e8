// The row and the batch form of tcp_check, and what few segments need (23_tcp_check.h).
//
// Workers run it; see service.h for what a service is.

#include "service/23_tcp_check.h"

#include <netinet/in.h>

SERVICE_RUN(tcp_check_run, tcp_check_one)

// How far the flow's connection has come, for people.
static const char *tcp_check_word(const struct worker *w, uint32_t number)
{
	const struct tcp_conn *conn = flow_record(&w->flows, SERVICE_BIT_tcp_check, number,
						  sizeof(*conn));

	return conn_state_str(conn->state);
}

const struct service service_tcp_check = {
	.name = "tcp_check",
	.bit = SERVICE_BIT_tcp_check,
	.run = tcp_check_run,
	.after = SERVICES("flow", "acl", "l4_lifecycle"),
	.before = SERVICES("pdr"),
	.for_flows = true,
	.not_of_errors = true, // they are no segments
	.state_bytes = sizeof(struct tcp_conn),
	.word = tcp_check_word,
	.help = "follows TCP connections, and drops what belongs to none",
};

// Parts of a packet that were parted from their ports are a flow of their own (session/flow_key.h), without numbers.
static bool is_connection(const struct flow *flow)
{
	return flow_key_proto(&flow->key) == IPPROTO_TCP &&
	       (flow->key.ue_port | flow->key.remote_port);
}

static void time_give(struct worker *w, const struct pkt *p, enum conn_state state)
{
	static const enum flow_class classes[] = {
		[CONN_BEGINS] = FLOW_EMBRYONIC,
		[CONN_RUNS] = FLOW_TCP_ESTABLISHED,
		[CONN_ENDS] = FLOW_TCP_CLOSING,
	};
	struct flow *flow = &w->flows.table.flows[p->flow];
	enum flow_class class = classes[conn_phase_of(state)];

	if (flow_class_of(flow) != class)
		flow_class_set(w, p->flow, class);
	else if (!flow_is_unasked(flow, p->flags & PKT_F_UP))
		flow_extend(&w->flows, flow);
}

// What ordinary segments do not have.
static void read_flags(const struct pkt *p, struct tcp_segment *s)
{
	s->end += (s->flags & TCP_SYN ? 1u : 0u) + (s->flags & TCP_FIN ? 1u : 0u);
	if (s->flags & TCP_SYN)
		s->scale =
			tcp_scale(rte_pktmbuf_mtod_offset(p->mbuf, const struct tcp_head *, p->l4));
}

void tcp_check_rest(struct worker *w, struct pkt *p, struct tcp_conn *conn)
{
	static const enum drop refusals[] = {
		[CONN_BAD_FLAGS] = DROP_tcp_bad_flags,
		[CONN_OUT_OF_WINDOW] = DROP_tcp_out_of_window,
		[CONN_NOT_BEGUN] = DROP_tcp_not_begun,
	};
	struct flow *flow = &w->flows.table.flows[p->flow];
	enum conn_verdict verdict;
	struct tcp_segment s;

	if (!is_connection(flow)) {
		flow->chain &= ~SERVICE_MASK(tcp_check);
		return;
	}
	flow->chain &= ~SERVICE_MASK(l4_lifecycle);
	if (p->flags & PKT_F_FRAGMENT) {
		if (!flow_is_unasked(flow, p->flags & PKT_F_UP))
			flow_extend(&w->flows, flow);
		return;
	}
	if (!tcp_check_read(p, &s)) {
		pkt_drop(w, p, DROP_tcp_bad_header);
		return;
	}
	read_flags(p, &s);
	verdict = conn_step(conn, &s, w->flows.profiles[flow_profile_of(flow)].tcp_pick_up);
	if (verdict == CONN_PASSES)
		time_give(w, p, conn->state);
	else if (verdict != CONN_IGNORED)
		pkt_drop(w, p, refusals[verdict]);
}
