// What a session has of rules while nobody looks at them, see n4_session.h.
// Control thread only. One block: its rules, its UE addresses, and what its URRs have come to (usage_pack.c).

#include <stdlib.h>
#include <string.h>

#include "base/slab.h"
#include "pfcp/assoc.h"
#include "pfcp/n4_session.h"
#include "pfcp/usage.h"
#include "rules/pack.h"

static bool key_is_there(const struct ue_key *keys, unsigned n, const struct prefix *prefix)
{
	for (unsigned i = 0; i < n; i++)
		if (prefix_eq(&keys[i].prefix, prefix))
			return true;
	return false;
}

// Most keys are what the rules say of the UE, in their order: so the first ones of n are packed against these. Those
// beyond are zero.
static void keys_expect(const struct rules *rules, struct ue_key *ret, unsigned n)
{
	unsigned k = 0;

	memset(ret, 0, n * sizeof(*ret));
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct prefix ues[RULES_MAX_PDR_UES];
		unsigned n_ues = rules_pdr_ues(&rules->pdrs[i], ues);

		for (unsigned u = 0; u < n_ues && k < n; u++)
			if (!key_is_there(ret, k, &ues[u]))
				ret[k++].prefix = ues[u];
	}
}

static void keys_pack(struct packer *p, const struct rules *rules, const struct n4_holding *holding)
{
	struct ue_key expected[COMPILED_MAX_UE_KEYS];

	keys_expect(rules, expected, holding->n_ue_keys);
	for (unsigned i = 0; i < holding->n_ue_keys; i++)
		pack_put(p, &holding->ue_keys[i], &expected[i], sizeof(expected[i]));
}

// NULL without memory, or of none.
static struct ue_key *keys_unpack(struct unpacker *u, const struct rules *rules, unsigned n)
{
	struct ue_key *keys = malloc((n ? n : 1) * sizeof(*keys));

	if (keys)
		keys_expect(rules, keys, n);
	for (unsigned i = 0; keys && i < n; i++)
		unpack_get(u, &keys[i], &keys[i], sizeof(keys[i]));
	return keys;
}

// False without memory: then it is as before.
static bool unpack(struct n4_session *session)
{
	struct unpacker u = {session->packed};
	struct rules *rules = rules_unpack(&u, rules_pattern_rules(session->pattern));
	struct ue_key *keys = rules ? keys_unpack(&u, rules, session->holding.n_ue_keys) : NULL;

	if (!keys || !usage_unpack(&u, session)) {
		free(keys);
		rules_free(rules);
		return false;
	}
	session->rules = rules;
	session->holding.ue_keys = keys;
	n4_session_packed_free(session);
	return true;
}

// Without memory it stays open.
static void pack(struct n4_session *session)
{
	struct packer *p = &session->assoc->n4->sessions->packer;

	pack_begin(p);
	session->pattern = rules_pattern_pack(&session->assoc->n4->sessions->patterns, p,
					      session->rules);
	keys_pack(p, session->rules, &session->holding);
	usage_pack(p, session);
	session->packed = p->failed ? NULL : slab_take(p->n);
	if (!session->packed) {
		rules_pattern_give(session->pattern);
		session->pattern = NULL;
		return;
	}
	memcpy(session->packed, p->bytes, p->n);
	session->packed_bytes = (uint32_t)p->n;
	rules_free(session->rules);
	session->rules = NULL;
	free(session->holding.ue_keys);
	session->holding.ue_keys = NULL;
	usage_packed(session);
}

void n4_session_packed_free(struct n4_session *session)
{
	slab_give(session->packed, session->packed_bytes);
	session->packed = NULL;
	rules_pattern_give(session->pattern);
	session->pattern = NULL;
}

bool n4_session_open(struct n4_session *session)
{
	if (session->packed && !unpack(session))
		return false;
	session->n_open++;
	return true;
}

// It joins those that were changed lately; who has been among them for longest rests.
static void recent_put(struct n4 *n4, struct n4_session *session)
{
	struct n4_sessions *table = n4->sessions;
	struct n4_session **place = &table->recent[table->recent_next];
	struct n4_session *oldest = *place;

	if (oldest) {
		oldest->recent = 0;
		if (oldest->n_open == 0 && oldest->rules)
			pack(oldest);
	}
	*place = session;
	session->recent = (uint16_t)(table->recent_next + 1);
	table->recent_next = (uint16_t)(session->recent % n4->conf.max_unpacked);
}

void n4_session_close(struct n4_session *session)
{
	struct n4 *n4 = session->assoc->n4;

	assert(session->n_open > 0);
	if (--session->n_open > 0 || !session->rules || session->recent)
		return;
	if (n4->conf.max_unpacked)
		recent_put(n4, session);
	else
		pack(session);
}

bool n4_session_has_rules(const struct n4_session *session)
{
	return session->packed || session->rules;
}

struct rules *n4_session_rules(const struct n4_session *session)
{
	struct unpacker u = {session->packed};

	return session->packed ? rules_unpack(&u, rules_pattern_rules(session->pattern))
			       : rules_clone(session->rules);
}
