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

void usage_pack(struct packer *p, const struct n4_session *session)
{
	const struct n4_usage *s = session->usage;
	uint8_t n = s && rests(s) ? (uint8_t)s->n : 0;

	pack_put(p, &n, NULL, sizeof(n));
	for (unsigned i = 0; i < n; i++)
		pack_put(p, &s->urrs[i], i ? &s->urrs[i - 1] : NULL, sizeof(s->urrs[i]));
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
	for (s->n = 0; s->n < n; s->n++)
		unpack_get(u, &s->urrs[s->n], s->n ? &s->urrs[s->n - 1] : NULL, sizeof(s->urrs[0]));
	return true;
}
