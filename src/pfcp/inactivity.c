// Sessions that are silent, see inactivity.h.
//
// Control thread only. A session's record has a timer for when it is to be looked at next. One that is being
// asked about has none set, and its record outlives it until the answer is back.

#include "pfcp/inactivity.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "pfcp/report.h"
#include "worker/mailbox.h"

#define ASKED_A_TICK 512 // the rest waits for the next tick
#define LOOKS 8          // in the time of a timer

struct n4_inactivity {
	struct n4 *n4;
	struct n4_session *session; // NULL: it has ended, while its owner was asked
	struct timer look;
	bool asked, told;
	uint32_t timer_s;
	uint64_t packets;  // as the owner said last
	uint64_t since_ns; // no packet since then, as far as is known
	uint64_t asked_ns;
};

static uint64_t timer_ns(const struct n4_inactivity *i)
{
	return i->timer_s * NS_PER_SEC;
}

// When to look next: often enough not to be late, and at the very time that a silence might be long enough.
static void look_later(struct n4_inactivity *i)
{
	uint64_t now = clock_now_ns(), end = i->since_ns + timer_ns(i);
	uint64_t step = timer_ns(i) / LOOKS;

	step = step > TIMERS_STEP_NS ? step : TIMERS_STEP_NS;
	timers_set(&i->n4->sessions->silent, &i->look,
		   !i->told && end > now && end < now + step ? end : now + step);
}

static void looked(struct n4_inactivity *i, uint64_t packets)
{
	static const struct report silent = {.kind = REPORT_INACTIVITY};

	if (packets != i->packets) {
		i->packets = packets;
		i->since_ns = clock_now_ns();
		i->told = false;
	} else if (!i->told && i->asked_ns >= i->since_ns + timer_ns(i)) {
		i->told = true;
		n4_report(i->n4, i->session, &silent);
	}
	look_later(i);
}

static void counts_back(struct mail *mail, void *ctx)
{
	const struct session_counts *counts = &mail->session.counts;
	struct n4_inactivity *i = ctx;

	i->asked = false;
	if (i->session)
		looked(i, counts->up_packets + counts->down_packets);
	else
		free(i);
	free(mail);
}

static void ask(void *owner)
{
	struct n4_inactivity *i = owner;
	const struct slot *slot = &i->session->slot;
	struct mail *mail = mail_new(MAIL_SESSION_COUNT, counts_back, i);

	i->asked_ns = clock_now_ns();
	if (!mail) {
		look_later(i);
		return;
	}
	i->asked = true;
	mail->session.image.slot = slot->index;
	mail->session.image.version = slot->version;
	mail_post(i->n4->env.workers[slot->owner], mail);
}

void inactivity_given(struct n4 *n4, struct n4_session *session)
{
	struct n4_inactivity *i = session->inactivity;
	uint32_t timer_s = session->rules->inactivity_s;

	if ((i ? i->timer_s : 0) == timer_s)
		return;
	if (timer_s == 0) {
		inactivity_end(session);
		return;
	}
	if (!i && !(i = calloc(1, sizeof(*i)))) {
		log_error_limited("N4: out of memory: a session's inactivity is not watched");
		return;
	}
	i->n4 = n4;
	i->look.owner = i;
	i->session = session;
	i->timer_s = timer_s;
	i->told = false;
	i->since_ns = clock_now_ns();
	session->inactivity = i;
	if (!i->asked)
		look_later(i);
}

void inactivity_end(struct n4_session *session)
{
	struct n4_inactivity *i = session->inactivity;

	session->inactivity = NULL;
	if (!i)
		return;
	i->session = NULL;
	if (i->asked)
		return; // until its owner has answered
	timers_clear(&i->look);
	free(i);
}

void inactivity_tick(struct n4 *n4)
{
	timers_run(&n4->sessions->silent, ASKED_A_TICK, ask);
}

int inactivity_decode(const struct pfcp_msg *msg, struct rules *rules, struct pfcp_fault *fault)
{
	struct pfcp_ie ie;
	uint64_t seconds;

	if (pfcp_ie_find(msg->ies, PFCP_IE_USER_PLANE_INACTIVITY_TIMER, &ie) < 0)
		return 0;
	if (pfcp_uint_decode(&ie, &seconds, fault) < 0)
		return -EINVAL;
	rules->inactivity_s = (uint32_t)seconds;
	return 0;
}
