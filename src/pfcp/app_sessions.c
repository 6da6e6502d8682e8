// Sessions that name applications follow their PFDs.
//
// Control thread only. Such sessions stand in a list, oldest knowledge of the PFDs first, so that after a change
// of PFDs the tick takes them from its head, a bounded number at a time, and stops at the first that knows the
// latest. Sessions that name no application are not in it. What is found is marked (refresh.c): a session keeps
// what its rules meant before until its owner has switched, and also, with a line in the log, when what they mean
// now does not fit. Its next request is then refused with that reason.

#include "pfcp/apply.h"
#include "pfcp/pfd.h"

#define LOOK_A_TICK 256 // sessions

bool app_rules_name(const struct rules *rules)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		if (rules->pdrs[i].pdi.app != RULES_APP_NONE)
			return true;
	return false;
}

static void list_leave(struct n4_sessions *table, struct n4_renewal *renewal)
{
	if (renewal->apps_generation)
		TAILQ_REMOVE(&table->of_apps, renewal, of_apps);
	renewal->apps_generation = 0;
}

// At the end, where those stand that know the latest PFDs.
static void list_enter(struct n4 *n4, struct n4_renewal *renewal)
{
	list_leave(n4->sessions, renewal);
	renewal->apps_generation = n4->env.pfds->generation;
	TAILQ_INSERT_TAIL(&n4->sessions->of_apps, renewal, of_apps);
}

void app_rules_taken(struct n4 *n4, struct n4_session *session, const struct rules *rules)
{
	if (!app_rules_name(rules))
		return;
	pfd_rules_use(n4->env.pfds, rules, 1);
	list_enter(n4, session->renewal);
}

void app_rules_given(struct n4 *n4, struct n4_session *session, const struct rules *rules,
		     const struct rules *left)
{
	if (!app_rules_name(rules))
		return;
	pfd_rules_use(n4->env.pfds, rules, -1);
	if (!left || !app_rules_name(left))
		list_leave(n4->sessions, session->renewal);
}

// One that cannot be opened counts as such: its refresh says why it fails.
static bool is_behind(struct n4_session *session, const struct pfd_table *pfds)
{
	uint64_t since = session->renewal->apps_generation;
	bool behind;

	if (!n4_session_open(session))
		return true;
	behind = (session->rules && pfd_rules_changed(pfds, session->rules, since)) ||
		 (session->change && session->change->rules &&
		  pfd_rules_changed(pfds, session->change->rules, since));
	n4_session_close(session);
	return behind;
}

void app_sessions_tick(struct n4 *n4)
{
	const struct pfd_table *pfds = n4->env.pfds;

	for (unsigned n = 0; n < LOOK_A_TICK; n++) {
		struct n4_renewal *renewal = TAILQ_FIRST(&n4->sessions->of_apps);

		if (!renewal || renewal->apps_generation == pfds->generation)
			return;
		if (is_behind(renewal->session, pfds))
			n4_session_refresh(n4, renewal->session);
		list_enter(n4, renewal);
	}
}
