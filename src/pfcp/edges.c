// When the rules of sessions change with time: a heap of their next edges (TS 29.244 8.2.121, 8.2.122).
//
// Control thread only. A session stands in it once, at its earliest edge, so the heap is as long as there are
// sessions with times, and never grows. The wall clock decides: should it jump back, edges come again.

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "pfcp/n4_session.h"
#include "rules/expand.h"

#define EDGES_A_TICK 256 // each only marks its session

int session_edges_init(struct n4_sessions *table, uint32_t max_sessions)
{
	table->edges = calloc((size_t)max_sessions + 1, sizeof(struct n4_renewal *));
	return table->edges ? 0 : -ENOMEM;
}

static void put(struct n4_sessions *table, uint32_t at, struct n4_renewal *renewal)
{
	table->edges[at - 1] = renewal;
	renewal->edge_at = at;
}

static void sift_up(struct n4_sessions *table, struct n4_renewal *renewal)
{
	uint32_t at = renewal->edge_at;

	for (; at > 1 && table->edges[at / 2 - 1]->edge_s > renewal->edge_s; at /= 2)
		put(table, at, table->edges[at / 2 - 1]);
	put(table, at, renewal);
}

static void sift_down(struct n4_sessions *table, struct n4_renewal *renewal)
{
	uint32_t at = renewal->edge_at;

	for (uint32_t child = 2 * at; child <= table->n_edges; child = 2 * at) {
		if (child < table->n_edges &&
		    table->edges[child]->edge_s < table->edges[child - 1]->edge_s)
			child++;
		if (table->edges[child - 1]->edge_s >= renewal->edge_s)
			break;
		put(table, at, table->edges[child - 1]);
		at = child;
	}
	put(table, at, renewal);
}

void session_edge_forget(struct n4 *n4, struct n4_session *session)
{
	struct n4_sessions *table = n4->sessions;
	struct n4_renewal *renewal = session->renewal, *last;
	uint32_t at = renewal ? renewal->edge_at : 0;

	if (at == 0)
		return;
	renewal->edge_at = 0;
	last = table->edges[--table->n_edges];
	if (last == renewal)
		return;
	put(table, at, last);
	sift_up(table, last);
	sift_down(table, last);
}

void session_edge_note(struct n4 *n4, struct n4_session *session)
{
	struct n4_sessions *table = n4->sessions;
	struct n4_renewal *renewal = session->renewal;

	session_edge_forget(n4, session);
	// Who has times has a renewal.
	if (!renewal || !rules_next_edge(session->rules, clock_wall_s(), &renewal->edge_s))
		return;
	assert(table->n_edges < table->n);
	put(table, ++table->n_edges, renewal);
	sift_up(table, renewal);
}

void session_edges_tick(struct n4 *n4)
{
	struct n4_sessions *table = n4->sessions;
	time_t now_s = clock_wall_s();

	for (unsigned i = 0; i < EDGES_A_TICK && table->n_edges > 0; i++) {
		struct n4_session *session = table->edges[0]->session;

		if (table->edges[0]->edge_s > now_s)
			break;
		if (!n4_session_open(session))
			break; // the next tick may
		session_edge_note(n4, session);
		n4_session_close(session);
		n4_session_refresh(n4, session);
	}
}
