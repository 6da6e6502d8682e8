// How a session changes, see apply.h.
// Control thread. In the order of the file: what a change takes (UE addresses, then all of it), and below, under
// "changing", how it goes on to the owner and comes back.

#include "pfcp/apply.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/far_peers.h"
#include "pfcp/inactivity.h"
#include "pfcp/remote_tunnels.h"
#include "pfcp/ue_addr.h"
#include "rules/arena.h"
#include "rules/check.h"
#include "rules/compile.h"
#include "rules/expand.h"
#include "session/locator.h"
#include "session/ue_pool.h"
#include "worker/mailbox.h"

static_assert(RULESET_MAX_PLACES == SESSION_PLACES,
	      "each compiled place has its place in the session");

struct n4_change *n4_change_new(struct n4 *n4, struct n4_session *session, struct n4_request *rq,
				struct rules *rules)
{
	struct n4_change *change = calloc(1, sizeof(*change));

	if (!change || !n4_session_open(session)) {
		free(change);
		rules_free(rules);
		return NULL;
	}
	change->n4 = n4;
	change->session = session;
	change->rq = rq;
	change->rules = rules;
	change->cp_seid = session->cp_seid;
	change->cp_addr = *session->cp_addr;
	return change;
}

void n4_change_free(struct n4_change *change)
{
	if (!change)
		return;
	if (change->session)
		n4_session_close(change->session);
	rules_free(change->rules);
	policy_free(change->policy);
	free(change->usage.reports);
	free(change);
}

// --- UE addresses ----------------------------------------------------------------------------------------

static bool ue_key_eq(const struct ue_key *a, const struct ue_key *b)
{
	return a->iface == b->iface && prefix_eq(&a->prefix, &b->prefix);
}

static bool holds_ue_key(const struct n4_holding *holding, const struct ue_key *key)
{
	for (unsigned i = 0; i < holding->n_ue_keys; i++)
		if (ue_key_eq(&holding->ue_keys[i], key))
			return true;
	return false;
}

// Whether the port brings up what goes to this prefix already, for a pool that it is in.
static bool in_pools(const struct n4_env *env, const struct ue_key *key)
{
	for (unsigned i = 0; i < env->n_nis; i++)
		for (unsigned k = 0; k < env->nis[i].n_pools; k++) {
			const struct prefix *pool = &env->nis[i].pools[k];

			if (env->nis[i].iface == key->iface && pool->len <= key->prefix.len &&
			    prefix_contains(pool, &key->prefix.addr))
				return true;
		}
	return false;
}

// Tells the steering of the ports about a prefix that no configured pool announces.
static void announce(struct n4 *n4, const struct ue_key *key, bool add)
{
	if (n4->env.ue_prefix && !in_pools(&n4->env, key))
		n4->env.ue_prefix(n4->env.ue_prefix_ctx, key->iface, &key->prefix, add);
}

static void ue_key_del(struct n4 *n4, const struct ue_key *key)
{
	locator_prefix_del(n4->env.locator, key->iface, &key->prefix);
	announce(n4, key, false);
	if (n4->env.ue_pools && !key->framed)
		ue_pools_rest(n4->env.ue_pools, key->iface, &key->prefix, clock_now_ns());
}

// Deletes the keys of `holding` that `but` does not have; `but` may be NULL.
static void ue_keys_del(struct n4 *n4, const struct n4_holding *holding,
			const struct n4_holding *but)
{
	for (unsigned i = 0; i < holding->n_ue_keys; i++)
		if (!but || !holds_ue_key(but, &holding->ue_keys[i]))
			ue_key_del(n4, &holding->ue_keys[i]);
}

static bool pdr_names(const struct pdr_rule *pdr, const struct ue_key *key)
{
	struct prefix own[RULES_MAX_PDR_UES];

	return prefixes_have(pdr->pdi.framed, pdr->pdi.n_framed, &key->prefix) ||
	       prefixes_have(own, rules_pdr_ues(pdr, own), &key->prefix);
}

// What brings this key in, for the answer.
static int ue_key_fault(const struct rules *rules, const struct ue_key *key, enum pfcp_cause cause,
			const char *text, struct pfcp_fault *fault)
{
	uint16_t ie = PFCP_IE_UE_IP_ADDRESS;
	unsigned i = 0;

	while (i + 1u < rules->n_pdrs && !pdr_names(&rules->pdrs[i], key))
		i++;
	if (key->framed)
		ie = key->prefix.addr.family == ADDR_V4 ? PFCP_IE_FRAMED_ROUTE
							: PFCP_IE_FRAMED_IPV6_ROUTE;
	return fault_rule(fault, cause, RULE_PDR, rules->pdrs[i].id, ie, text);
}

// Makes the session the one that the new addresses lead to. Done before the owner knows of it, so that of
// two sessions which ask for one address the second is refused; until then such packets are stale.
static int ue_keys_add(struct n4_change *change, struct pfcp_fault *fault)
{
	struct n4 *n4 = change->n4;
	const struct n4_holding *old = &change->session->holding;
	const struct slot *slot = &change->session->slot;
	struct session_ref ref = session_ref_make(slot->owner, slot->index, slot->version);

	for (unsigned i = 0; i < change->holding.n_ue_keys; i++) {
		const struct ue_key *key = &change->holding.ue_keys[i];
		int rc;

		if (holds_ue_key(old, key))
			continue;
		rc = locator_prefix_add(n4->env.locator, key->iface, &key->prefix, key->framed,
					ref);
		if (rc == 0) {
			announce(n4, key, true);
			continue;
		}
		while (i-- > 0)
			if (!holds_ue_key(old, &change->holding.ue_keys[i]))
				ue_key_del(n4, &change->holding.ue_keys[i]);
		return rc == -EEXIST
			       ? ue_key_fault(change->rules, key, PFCP_CAUSE_RULE_FAILURE,
					      "UE address or framed route of another session",
					      fault)
			       : ue_key_fault(change->rules, key, PFCP_CAUSE_NO_RESOURCES,
					      "no room for a further UE address or framed route",
					      fault);
	}
	return 0;
}

// --- mail ------------------------------------------------------------------------------------------------

static struct session_place place_of(const struct tunnel_out *to, uint16_t peer)
{
	return (struct session_place){.teid = rte_cpu_to_be_32(to->teid), .peer = peer};
}

static struct session_image image_of(const struct n4_change *change,
				     const struct compiled *compiled)
{
	const struct n4_session *session = change->session;
	struct session_image image = {
		.slot = session->slot.index,
		.version = session->slot.version,
		.teid = fteid_of_line(change->rules),
		.rules = change->holding.rules,
		.ue_v4 = compiled->ue_v4.s_addr,
	};

	memcpy(&image.ue_v6, &compiled->ue_v6, sizeof(image.ue_v6));
	if (compiled->has_line)
		image.line_out = place_of(&compiled->line, change->holding.line_peer);
	for (unsigned i = 0; i < compiled->n_places; i++)
		image.places[i] = place_of(&compiled->places[i], change->holding.place_peers[i]);
	return image;
}

static void change_back(struct mail *mail, void *ctx);

// Adds the records of the tunnels with these numbers to the mail; closed ones are to be freed.
static void add_tunnels(struct mail *mail, const struct slot *slot, const struct rules *rules,
			uint32_t numbers, bool open)
{
	for (unsigned i = 0; i < rules->n_tunnels; i++) {
		const struct tunnel_rule *tunnel = &rules->tunnels[i];
		uint32_t n = mail->session.n_tunnels;

		if (!(numbers & 1u << tunnel->number) || !fteid_has_record(tunnel))
			continue;
		mail->session.tunnels[n].record = tunnel->record;
		if (open)
			mail->session.tunnels[n].tunnel = fteid_record(slot, tunnel);
		mail->session.n_tunnels++;
	}
}

// Last of what is added, since it cannot fail: a peer that is held has its index already.
static void add_end_markers(struct n4_change *change, struct mail *mail)
{
	for (unsigned i = 0; i < change->n_end_markers; i++) {
		struct n4_end_marker *marker = &change->end_markers[i];

		if (far_peer_take(change->n4, &marker->to, &marker->peer) < 0) {
			marker->peer = PEER_NONE;
			continue;
		}
		mail->session.end_markers[mail->session.n_end_markers++] = place_of(&marker->to,
										    marker->peer);
	}
}

static void post(struct n4_change *change, struct mail *mail)
{
	change->mails++;
	mail_post(change->n4->env.workers[change->session->slot.owner], mail);
}

static_assert(MAIL_TUNNELS >= RULES_MAX_TUNNELS, "a mail has room for all tunnels of a session");

// --- changing --------------------------------------------------------------------------------------------

// Compiles the rules and takes what they need, but for tunnels and UE addresses.
static int take_compiled(struct n4_change *change, struct compiled *compiled,
			 struct pfcp_fault *fault)
{
	struct n4 *n4 = change->n4;
	struct n4_holding *holding = &change->holding;
	size_t keys = compiled->n_ue_keys * sizeof(struct ue_key);

	holding->ue_keys = malloc(keys ? keys : 1);
	if (!holding->ue_keys)
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	memcpy(holding->ue_keys, compiled->ue_keys, keys);
	holding->n_ue_keys = compiled->n_ue_keys;
	if (rule_arena_intern(n4->env.arena, compiled->rs, &holding->rules) < 0) {
		free(holding->ue_keys);
		*holding = (struct n4_holding){0};
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "no room for further rules");
	}
	if (far_peers_take(n4, change->rules, compiled, holding, fault) < 0) {
		rule_arena_release(n4->env.arena, holding->rules);
		free(holding->ue_keys);
		*holding = (struct n4_holding){0};
		return -EINVAL;
	}
	return 0;
}

// Gives back what a change or a session holds, but for tunnels and UE addresses.
static void holding_give(struct n4 *n4, struct n4_holding *holding)
{
	far_peers_give(n4, holding);
	if (holding->rules)
		rule_arena_release(n4->env.arena, holding->rules);
	free(holding->ue_keys);
	*holding = (struct n4_holding){0};
}

// The last steps that may fail, then the owner is told. Records that close go in a mail of their own, since
// those that open may fill one.
static int post_compiled(struct n4_change *change, struct compiled *compiled,
			 struct pfcp_fault *fault)
{
	const struct n4_session *session = change->session;
	struct mail *close = NULL;
	struct mail *set = mail_new(MAIL_SESSION_SET, change_back, change);
	int rc = 0;

	if (change->tunnels.dropped)
		close = mail_new(MAIL_SESSION_SET, change_back, change);
	if (!set || (change->tunnels.dropped && !close) || usage_change_prepare(change, set) < 0)
		rc = fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	if (rc == 0)
		rc = ue_keys_add(change, fault);
	if (rc < 0) {
		if (set)
			policy_free(set->session.policy);
		free(set);
		free(close);
		return rc;
	}
	set->session.image = image_of(change, compiled);
	set->session.buffer_drop = change->drop_buffer;
	add_tunnels(set, &session->slot, change->rules, change->tunnels.taken, true);
	add_end_markers(change, set);
	post(change, set);
	if (close) {
		close->session.image = set->session.image;
		add_tunnels(close, &session->slot, session->rules, change->tunnels.dropped, false);
		post(change, close);
	}
	return 0;
}

static int change_compile(struct n4_change *change, struct pfcp_fault *fault)
{
	struct compiled compiled;
	struct rules *now;
	int rc;

	if (rules_expand(change->rules, change->n4->env.predefined, clock_wall_s(), &now, fault) <
	    0)
		return -EINVAL;
	rc = rules_compile(now ? now : change->rules, &change->n4->sessions->compile, &compiled,
			   fault);
	rules_free(now);
	if (rc < 0)
		return -EINVAL;
	rc = take_compiled(change, &compiled, fault);
	if (rc == 0) {
		rc = post_compiled(change, &compiled, fault);
		if (rc < 0)
			holding_give(change->n4, &change->holding);
	}
	compiled_fini(&compiled);
	return rc;
}

void n4_change_mark_end(struct n4_change *change, uint32_t far)
{
	const struct far_rule *old = rules_far_lookup(change->session->rules, far);
	const struct far_rule *new = rules_far_lookup(change->rules, far);
	struct tunnel_out from, to;

	if (!old || !new || !(old->ohc & (OHC_GTPU_UDP_V4 | OHC_GTPU_UDP_V6)))
		return;
	from = tunnel_out_of(old);
	to = tunnel_out_of(new);
	if (tunnel_out_same_end(&from, &to))
		return;
	for (unsigned i = 0; i < change->n_end_markers; i++)
		if (tunnel_out_same_end(&change->end_markers[i].to, &from))
			return; // FARs of one tunnel end it once
	if (change->n_end_markers < MAIL_END_MARKERS)
		change->end_markers[change->n_end_markers++] = (struct n4_end_marker){.to = from};
}

// The same, when the UE's addresses are picked.
static int begin_assigned(struct n4_change *change, struct pfcp_fault *fault)
{
	struct n4 *n4 = change->n4;
	struct n4_session *session = change->session;
	bool is_new = session->rules == NULL;
	struct rules_limits limits = {
		.pdrs = (uint16_t)(n4->conf.max_pdrs < RULES_MAX_PDRS ? n4->conf.max_pdrs
								      : RULES_MAX_PDRS),
		.filters = (uint8_t)(n4->conf.max_filters < RULES_MAX_FILTERS ? n4->conf.max_filters
									      : RULES_MAX_FILTERS),
	};

	if (rules_check(change->rules, &limits, fault) < 0)
		return -EINVAL;
	if (n4_renewal_needed(change->rules) && !n4_renewal_get(session))
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	if (is_new && slots_take(n4->env.slots, &session->slot) < 0)
		return fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "no session slot is free");
	rules_places_assign(change->rules);
	if (fteid_assign(n4, &session->slot, change->rules, &change->tunnels, fault) == 0) {
		if (change_compile(change, fault) == 0) {
			session->change = change;
			n4->sessions->n_changes++;
			usage_change_begun(change);
			app_rules_taken(n4, session, change->rules);
			n4_slot_set(n4, session);
			return 0;
		}
		fteid_give(n4, &session->slot, change->rules, change->tunnels.taken);
	}
	if (is_new)
		slots_give(n4->env.slots, &session->slot);
	return -EINVAL;
}

int n4_change_begin(struct n4_change *change, struct pfcp_fault *fault)
{
	if (ue_addr_assign(change->n4, change->rules, fault) < 0)
		return -EINVAL;
	if (begin_assigned(change, fault) == 0)
		return 0;
	ue_addr_undo(change->n4, change->rules);
	return -EINVAL;
}

int n4_change_end(struct n4_change *change)
{
	struct n4_session *session = change->session;
	struct mail *mail = mail_new(MAIL_SESSION_CLEAR, change_back, change);

	if (!mail)
		return -ENOMEM;
	ue_keys_del(change->n4, &session->holding, NULL);
	session->holding.n_ue_keys = 0;
	mail->session.image.slot = session->slot.index;
	mail->session.image.version = session->slot.version;
	add_tunnels(mail, &session->slot, session->rules, fteid_numbers(session->rules), false);
	session->change = change;
	change->n4->sessions->n_changes++;
	post(change, mail);
	return 0;
}

// Gives back all that the session holds; its owner has let it go.
static void give_all(struct n4 *n4, struct n4_session *session)
{
	ue_keys_del(n4, &session->holding, NULL);
	holding_give(n4, &session->holding);
	fteid_give(n4, &session->slot, session->rules, fteid_numbers(session->rules));
	ue_addr_give(n4, session->rules);
	n4_slot_clear(n4, session);
	slots_give(n4->env.slots, &session->slot);
	app_rules_given(n4, session, session->rules, NULL);
	remote_tunnels_given(n4, session, session->rules, NULL);
	rules_free(session->rules);
	session->rules = NULL;
}

// The owner has switched: what only the old rules needed is given back.
static void change_commit(struct n4_change *change)
{
	struct n4 *n4 = change->n4;
	struct n4_session *session = change->session;

	for (unsigned i = 0; i < change->n_end_markers; i++)
		far_peer_give(n4, &change->end_markers[i].peer);
	usage_change_done(change);
	if (!change->rules) {
		give_all(n4, session);
		return;
	}
	ue_keys_del(n4, &session->holding, &change->holding);
	holding_give(n4, &session->holding);
	if (session->rules) {
		fteid_give(n4, &session->slot, session->rules, change->tunnels.dropped);
		app_rules_given(n4, session, session->rules, change->rules);
	}
	ue_addr_commit(n4, change->rules);
	remote_tunnels_given(n4, session, session->rules, change->rules);
	rules_free(session->rules);
	session->rules = change->rules;
	session->holding = change->holding;
	if (n4_session_cp_set(n4, session, change->cp_seid, &change->cp_addr) < 0)
		log_error_limited("N4: out of memory: a session keeps its former CP F-SEID");
	rules_settled(session->rules);
	session_edge_note(n4, session);
	inactivity_given(n4, session);
	change->rules = NULL;
}

static void change_back(struct mail *mail, void *ctx)
{
	struct n4_change *change = ctx;

	if (mail->result < 0)
		log_error("N4: worker refused a session command: %s", strerror(-mail->result));
	if (mail->session.policy)
		change->policy = mail->session.policy;
	free(mail);
	if (--change->mails > 0)
		return;
	if (change->session) {
		change_commit(change);
		change->session->change = NULL;
		change->n4->sessions->n_changes--;
		usage_go_on(change->session);
		change->done(change);
	}
	n4_change_free(change);
}

void n4_session_abandon(struct n4 *n4, struct n4_session *session)
{
	struct n4_change *change = session->change;

	if (change) {
		if (change->rq)
			n4_discard(change->rq, N4_COUNT_discard_handler);
		change_commit(change);
		change->session = NULL; // its mail frees it
		session->change = NULL;
		n4->sessions->n_changes--;
	}
	if (!n4_session_has_rules(session))
		return;
	if (n4_session_open(session))
		give_all(n4, session);
	else
		log_error("N4: out of memory: what a session held is lost");
}
