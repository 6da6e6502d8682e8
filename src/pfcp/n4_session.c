// The table of PFCP sessions, see n4_session.h.
// Control thread. Chains in buckets, one a session of the configured number: a lookup reads one or two.

#include "pfcp/n4_session.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/kept.h"
#include "base/rand.h"
#include "base/rest.h"
#include "base/slab.h"
#include "pfcp/assoc.h"
#include "pfcp/apply.h"
#include "pfcp/inactivity.h"
#include "pfcp/usage.h"
#include "pfcp/remote_tunnels.h"
#include "pfcp/pfd.h"
#include "pfcp/downlink.h"
#include "pfcp/report.h"
#include "worker/worker.h"

#define BUCKETS_MIN 64
#define SEIDS_RESTING_MAX 65536

// Restored sessions may have SEIDs that were not random, so the number is mixed.
static struct n4_session **bucket_get(const struct n4_sessions *table, uint64_t seid)
{
	return &table->buckets[(seid * 0x9e3779b97f4a7c15ull >> 32) & table->mask];
}

// `cp_addr` is kept: it is hashed by where it is.
static struct n4_session **cp_bucket_get(const struct n4_sessions *table, uint64_t cp_seid,
					 const struct addr *cp_addr)
{
	return &table->cp_buckets[((cp_seid * table->cp_keys[0] +
				    (uintptr_t)cp_addr * table->cp_keys[1]) >>
				   32) &
				  table->mask];
}

static int compile_conf_init(struct n4 *n4, struct n4_sessions *table)
{
	const struct n4_env *env = &n4->env;

	table->nis = calloc(env->n_nis + 1, sizeof(*table->nis));
	table->policy_ifaces = calloc(env->n_policies + 1, 1);
	if (!table->nis || !table->policy_ifaces)
		return -ENOMEM;
	for (unsigned i = 0; i < env->n_policies; i++)
		table->policy_ifaces[i] = env->policies[i].iface;
	for (unsigned i = 0; i < env->n_nis; i++)
		table->nis[i] = (struct compile_ni){.iface = env->nis[i].iface,
						    .ue_to_ue = (uint8_t)env->nis[i].ue_to_ue,
						    .redirects = env->nis[i].redirects,
						    .services = env->nis[i].services};
	table->compile = (struct compile_conf){
		.nis = table->nis,
		.policy_ifaces = table->policy_ifaces,
		.n_nis = (uint16_t)env->n_nis,
		.default_ni = env->default_ni < env->n_nis ? (uint16_t)env->default_ni
							   : RULES_NI_NONE,
		.default_iface = COMPILE_IFACE_NONE,
		.chain = env->chain,
		.chain_ctx = env->chain_ctx,
		.app_flows = pfd_app_flows,
		.app_ctx = env->pfds,
	};
	for (unsigned i = env->n_ifaces; i-- > 0;)
		if (env->ifaces[i].roles & N4_ROLE_N6)
			table->compile.default_iface = (uint8_t)i;
	return 0;
}

static int by_slot_init(const struct n4 *n4, struct n4_sessions *table)
{
	for (unsigned i = 0; i < n4->env.n_workers; i++) {
		table->by_slot[i] = calloc(n4->env.workers[i]->table.n_slots,
					   sizeof(struct n4_session *));
		if (!table->by_slot[i])
			return -ENOMEM;
	}
	return 0;
}

static void by_slot_fini(struct n4_sessions *table)
{
	for (unsigned i = 0; i < MAX_WORKERS; i++)
		free(table->by_slot[i]);
}

static void table_free(struct n4_sessions *table)
{
	by_slot_fini(table);
	remote_tunnels_free(table->remote_tunnels);
	free(table->nis);
	free(table->policy_ifaces);
	free(table->edges);
	free(table->recent);
	packer_fini(&table->packer);
	rules_patterns_fini(&table->patterns);
	rest_free(table->seids);
	free(table->cp_buckets);
	free(table->buckets);
	free(table);
}

int n4_sessions_init(struct n4 *n4)
{
	struct n4_sessions *table = calloc(1, sizeof(*table));
	uint32_t buckets = BUCKETS_MIN;

	if (!table)
		return -ENOMEM;
	while (buckets < n4->conf.max_sessions && buckets < 1u << 31)
		buckets *= 2;
	TAILQ_INIT(&table->due);
	TAILQ_INIT(&table->reporting);
	timers_init(&table->silent);
	timers_init(&table->usages);
	TAILQ_INIT(&table->of_apps);
	table->mask = buckets - 1;
	table->buckets = calloc(buckets, sizeof(struct n4_session *));
	table->cp_keys[0] = rand_u64() | 1;
	table->cp_keys[1] = rand_u64() | 1;
	table->cp_buckets = calloc(buckets, sizeof(struct n4_session *));
	table->seids = rest_new(SEIDS_RESTING_MAX);
	table->recent = calloc(n4->conf.max_unpacked + 1u, sizeof(struct n4_session *));
	if (n4->conf.error_reports)
		table->remote_tunnels = remote_tunnels_new(n4->conf.max_sessions);
	if (!table->buckets || !table->cp_buckets || !table->seids || !table->recent ||
	    (n4->conf.error_reports && !table->remote_tunnels) || by_slot_init(n4, table) < 0 ||
	    session_edges_init(table, n4->conf.max_sessions) < 0 ||
	    compile_conf_init(n4, table) < 0) {
		table_free(table);
		return -ENOMEM;
	}
	n4->sessions = table;
	n4_downlink_init(n4);
	return 0;
}

void n4_sessions_fini(struct n4 *n4)
{
	struct n4_sessions *table = n4->sessions;

	if (!table)
		return;
	assert(table->n == 0 && table->n_edges == 0);
	table_free(table);
	n4->sessions = NULL;
}

struct n4_session *n4_session_lookup(const struct n4 *n4, uint64_t seid)
{
	struct n4_session *session = *bucket_get(n4->sessions, seid);

	while (session && session->seid != seid)
		session = session->next;
	return session;
}

struct n4_session *n4_session_at(const struct n4 *n4, unsigned worker, uint32_t slot)
{
	return n4->sessions->by_slot[worker][slot];
}

void n4_slot_set(struct n4 *n4, struct n4_session *session)
{
	n4->sessions->by_slot[session->slot.owner][session->slot.index] = session;
}

void n4_slot_clear(struct n4 *n4, const struct n4_session *session)
{
	n4->sessions->by_slot[session->slot.owner][session->slot.index] = NULL;
}

uint32_t n4_session_count(const struct n4 *n4)
{
	return n4->sessions->n;
}

void n4_session_each(const struct n4 *n4, bool (*fn)(void *ctx, const struct n4_session *session),
		     void *ctx)
{
	for (uint32_t i = 0; i <= n4->sessions->mask; i++)
		for (struct n4_session *s = n4->sessions->buckets[i]; s; s = s->next)
			if (n4_session_has_rules(s) && !fn(ctx, s))
				return;
}

void n4_session_each_from(const struct n4 *n4, uint64_t seid,
			  bool (*fn)(void *ctx, const struct n4_session *session), void *ctx)
{
	struct n4_session **first = bucket_get(n4->sessions, seid);
	struct n4_session **end = n4->sessions->buckets + n4->sessions->mask + 1;

	for (struct n4_session **bucket = first; bucket < end; bucket++)
		for (struct n4_session *s = *bucket; s; s = s->next)
			if (n4_session_has_rules(s) && (bucket != first || s->seid >= seid) &&
			    !fn(ctx, s))
				return;
}

// Lets go of the SEIDs that have rested for long enough.
static void seids_expire(const struct n4 *n4)
{
	uint64_t rest_ns = n4->conf.seid_rest_s * NS_PER_SEC, now = clock_now_ns(), seid;

	while (now >= rest_ns && rest_take(n4->sessions->seids, now - rest_ns, &seid) == 0)
		;
}

static uint64_t seid_pick(const struct n4 *n4)
{
	uint64_t seid;

	do {
		rand_bytes(&seid, sizeof(seid));
	} while (seid == 0 || n4_session_lookup(n4, seid) || rest_has(n4->sessions->seids, seid));
	return seid;
}

struct n4_session *n4_session_new(struct n4 *n4, struct assoc *assoc, uint64_t seid)
{
	struct n4_session *session = slab_take(sizeof(*session));
	struct n4_session **bucket;

	if (!session)
		return NULL;
	memset(session, 0, sizeof(*session));
	seids_expire(n4);
	if (seid == 0 || n4_session_lookup(n4, seid))
		seid = seid_pick(n4);
	session->seid = seid;
	session->assoc = assoc;
	session->since_s = (uint32_t)clock_wall_s();
	STAILQ_INIT(&session->waiting);
	bucket = bucket_get(n4->sessions, seid);
	while (*bucket && (*bucket)->seid < seid) // in order, for n4_session_each_from()
		bucket = &(*bucket)->next;
	session->next = *bucket;
	*bucket = session;
	n4->sessions->n++;
	LIST_INSERT_HEAD(&assoc->sessions, session, of_assoc);
	assoc->n_sessions++;
	return session;
}

// Off its association's list, and past it where that goes on.
static void assoc_leave(struct n4_session *session)
{
	if (session->assoc->next_end == session)
		session->assoc->next_end = LIST_NEXT(session, of_assoc);
	LIST_REMOVE(session, of_assoc);
	session->assoc->n_sessions--;
}

void n4_session_move(struct n4_session *session, struct assoc *assoc)
{
	assoc_leave(session);
	session->assoc = assoc;
	LIST_INSERT_HEAD(&assoc->sessions, session, of_assoc);
	assoc->n_sessions++;
}

static void cp_remove(const struct n4_sessions *table, struct n4_session *session)
{
	struct n4_session **at = cp_bucket_get(table, session->cp_seid, session->cp_addr);

	while (*at && *at != session)
		at = &(*at)->next_cp;
	if (*at)
		*at = session->next_cp;
}

int n4_session_cp_set(struct n4 *n4, struct n4_session *session, uint64_t cp_seid,
		      const struct addr *cp_addr)
{
	const struct addr *kept = kept_take(cp_addr);
	struct n4_session **bucket;

	if (!kept)
		return -ENOMEM;
	cp_remove(n4->sessions, session);
	kept_give(session->cp_addr);
	session->cp_seid = cp_seid;
	session->cp_addr = kept;
	bucket = cp_bucket_get(n4->sessions, cp_seid, kept);
	session->next_cp = *bucket;
	*bucket = session;
	return 0;
}

struct n4_session *n4_session_cp_lookup(const struct n4 *n4, const struct assoc *assoc,
					uint64_t cp_seid, const struct addr *cp_addr)
{
	const struct addr *kept = kept_lookup(cp_addr);
	struct n4_session *session = kept ? *cp_bucket_get(n4->sessions, cp_seid, kept) : NULL;

	while (session && !(session->cp_seid == cp_seid && session->assoc == assoc &&
			    session->cp_addr == kept))
		session = session->next_cp;
	return session;
}

void n4_session_free(struct n4 *n4, struct n4_session *session)
{
	struct n4_session **at = bucket_get(n4->sessions, session->seid);

	while (*at != session)
		at = &(*at)->next;
	*at = session->next;
	n4->sessions->n--;
	n4_reports_drop(n4, session);
	n4_downlink_free(n4, session);
	cp_remove(n4->sessions, session);
	kept_give(session->cp_addr);
	kept_give(session->made_by);
	inactivity_end(session);
	usage_end(session);
	n4_renewal_free(n4, session);
	rest_add(n4->sessions->seids, session->seid, clock_now_ns());
	assoc_leave(session);
	rules_free(session->rules);
	n4_session_packed_free(session);
	if (session->recent)
		n4->sessions->recent[session->recent - 1] = NULL;
	free(session->set);
	slab_give(session, sizeof(*session));
}
