// Sessions whose own rules are compiled again, see n4_session_refresh().
//
// Control thread only. A mark is taken when no change of the session is under way: by the tick, or by the turn
// that ends (session_next). Every change compiles anew, so a request that comes first does not lose the mark
// but makes it cheap: rules that compile to the same block change nothing.

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "base/slab.h"
#include "pfcp/handle_session.h"

#define REFRESH_A_TICK 32 // changes begun: the largest rules take some milliseconds to compile

struct n4_renewal *n4_renewal_get(struct n4_session *session)
{
	if (session->renewal)
		return session->renewal;
	session->renewal = slab_take(sizeof(*session->renewal));
	if (session->renewal)
		*session->renewal = (struct n4_renewal){.session = session};
	return session->renewal;
}

static bool rules_name_times(const struct rules *rules)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		if (rules->pdrs[i].has_from || rules->pdrs[i].has_until)
			return true;
	return false;
}

bool n4_renewal_needed(const struct rules *rules)
{
	return app_rules_name(rules) || rules_name_times(rules);
}

static void due_end(struct n4 *n4, struct n4_renewal *renewal)
{
	if (renewal->due)
		TAILQ_REMOVE(&n4->sessions->due, renewal, of_due);
	renewal->due = false;
}

void n4_renewal_free(struct n4 *n4, struct n4_session *session)
{
	struct n4_renewal *renewal = session->renewal;

	if (!renewal)
		return;
	assert(renewal->apps_generation == 0);
	session_edge_forget(n4, session);
	due_end(n4, renewal);
	session->renewal = NULL;
	slab_give(renewal, sizeof(*renewal));
}

void n4_session_refresh(struct n4 *n4, struct n4_session *session)
{
	struct n4_renewal *renewal;

	if (n4_session_is_due(session) || session->ending)
		return;
	renewal = n4_renewal_get(session);
	if (!renewal) {
		log_error_limited("N4: out of memory: the session with SEID 0x%" PRIx64
				  " keeps what its rules meant before",
				  session->seid);
		return;
	}
	renewal->due = true;
	TAILQ_INSERT_TAIL(&n4->sessions->due, renewal, of_due);
}

static void session_refreshed(struct n4_change *change)
{
	session_next(change->n4, change->session);
}

static int refresh_begin(struct n4 *n4, struct n4_session *session, struct pfcp_fault *fault)
{
	struct rules *rules = n4_session_rules(session);
	struct n4_change *change = rules ? n4_change_new(n4, session, NULL, rules) : NULL;

	if (!change)
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	change->done = session_refreshed;
	if (n4_change_begin(change, fault) == 0)
		return 0;
	n4_change_free(change);
	return -EINVAL;
}

void session_refresh_run(struct n4 *n4, struct n4_session *session)
{
	struct pfcp_fault fault = {0};

	due_end(n4, session->renewal);
	if (refresh_begin(n4, session, &fault) < 0)
		log_error_limited("N4: the session with SEID 0x%" PRIx64
				  " keeps what its rules meant before: %s",
				  session->seid, fault.text);
}

// Marks of sessions that are busy stay: their turn's end sees them.
void session_refresh_tick(struct n4 *n4)
{
	struct n4_renewal *next;

	app_sessions_tick(n4);
	session_edges_tick(n4);
	next = TAILQ_FIRST(&n4->sessions->due);
	for (unsigned n = 0; next && n < REFRESH_A_TICK; n++) {
		struct n4_session *session = next->session;

		next = TAILQ_NEXT(next, of_due);
		if (!session->change && n4_session_has_rules(session))
			session_refresh_run(n4, session);
	}
}
