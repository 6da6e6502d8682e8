// See churn.h.
// One thread.

#include "churn.h"

#include <rte_cycles.h>

#include "base/clock.h"

#define LOOKS 1000                  // a second
#define LOOKS_OFTEN 10000           // where sessions come and go
#define BEHIND_NS (NS_PER_SEC / 10) // what was missed for longer is left out

static void procedure_done(void *ctx, enum n4_verb verb, uint32_t session, bool ok)
{
	struct churn *churn = ctx;

	if (verb == N4_ESTABLISH && ok) {
		n4_start(churn->n4, N4_MODIFY, session);
	} else if (verb == N4_MODIFY) {
		n4_start(churn->n4, N4_DELETE, session);
	} else {
		churn->completed += ok;
		churn->free[churn->n_free++] = session;
	}
}

void churn_start(struct churn *churn, struct n4 *n4, uint32_t first, uint64_t per_s)
{
	*churn = (struct churn){.n4 = n4};
	if (!n4)
		return;
	churn->pace = (struct pace){
		.per_unit = (double)per_s / (double)NS_PER_SEC,
		.behind_most = (double)per_s * BEHIND_NS / (double)NS_PER_SEC + 1,
		.start = clock_now_ns(),
	};
	for (unsigned i = CHURN_PLACES; i-- > 0;)
		churn->free[churn->n_free++] = first + i;
	*n4_counts(n4) = (struct n4_counts){0};
	n4_on_done(n4, procedure_done, churn);
}

void churn_idle(void *ctx)
{
	struct churn *churn = ctx;
	uint64_t tsc = rte_rdtsc(), now;

	if (!churn->n4 || tsc < churn->look_tsc)
		return;
	churn->look_tsc = tsc + rte_get_tsc_hz() / (churn->pace.per_unit > 0 ? LOOKS_OFTEN : LOOKS);
	now = clock_now_ns();
	for (double due = pace_due(&churn->pace, now, churn->begun); due >= 1 && churn->n_free;
	     due--) {
		n4_start(churn->n4, N4_ESTABLISH, churn->free[--churn->n_free]);
		churn->begun++;
	}
	n4_poll(churn->n4, 0);
}

void churn_end(struct churn *churn)
{
	while (churn->n4 && n4_open_requests(churn->n4))
		n4_poll(churn->n4, 1);
}

uint64_t churn_failed(const struct churn *churn)
{
	uint64_t failed = 0;

	for (unsigned i = 0; churn->n4 && i < N4_VERBS; i++)
		failed += n4_counts(churn->n4)->failed[i];
	return failed;
}
