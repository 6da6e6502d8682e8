// What a session's URRs have come to, while nothing is to be done about them (usage.h).
// Control thread only. Times, numbers and triggers alone: where a timer is set, or events or stretches of time have
// been kept, the record stays as it is.

#include <stdlib.h>

#include "pfcp/n4_session.h"
#include "pfcp/usage_state.h"

static bool rests(const struct n4_usage *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->urrs[i].events || s->urrs[i].stretches)
			return false;
	return !s->asked && !s->timer.is_set;
}

// Many a time of a URR is when it began. Turned, such are 0; turned twice, all are as they were.
static struct urr_state times_turned(const struct urr_state *u)
{
	struct urr_state turned = *u;

	turned.quota_ns ^= u->since_ns;
	turned.period_ns ^= u->since_ns;
	turned.active_ns ^= u->since_ns;
	return turned;
}

void usage_pack(struct packer *p, const struct n4_session *session)
{
	const struct n4_usage *s = session->usage;
	uint8_t n = s && rests(s) ? (uint8_t)s->n : 0;
	struct urr_state before = {0};

	pack_put(p, &n, NULL, sizeof(n));
	for (unsigned i = 0; i < n; i++) {
		struct urr_state turned = times_turned(&s->urrs[i]);

		pack_put(p, &turned, &before, sizeof(turned));
		before = turned;
	}
}

void usage_packed(struct n4_session *session)
{
	if (!session->usage || !rests(session->usage))
		return;
	usage_free(session->usage);
	session->usage = NULL;
}

bool usage_unpack(struct unpacker *u, struct n4_session *session)
{
	struct urr_state turned = {0};
	struct n4_usage *s;
	uint8_t n;

	unpack_get(u, &n, NULL, sizeof(n));
	if (n == 0)
		return true;
	s = usage_new(session);
	if (!s || !usage_reserve(s, n)) {
		if (s)
			usage_free(s);
		session->usage = NULL;
		return false;
	}
	for (s->n = 0; s->n < n; s->n++) {
		unpack_get(u, &turned, &turned, sizeof(turned));
		s->urrs[s->n] = times_turned(&turned);
	}
	return true;
}
