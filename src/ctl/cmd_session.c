// show sessions, show session SEID: PFCP sessions, their place and their traffic. Control thread.
//
// A page of sessions is bounded in rows and in sessions looked at; what is left begins at `next`.
// The order is that of the daemon's table. The traffic of one session is its owner worker's to
// tell: the command waits for that, and looks the session up again, since it may have ended.

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "ctl/cmd.h"
#include "ctl/meters_put.h"
#include "ctl/rules_put.h"
#include "ctl/usage_put.h"
#include "pfcp/assoc.h"
#include "pfcp/n4_session.h"
#include "pfcp/node_id.h"
#include "session/policy_rules.h"
#include "worker/mailbox.h"
#include "worker/worker.h"

#define LOOK_MAX 20000 // sessions looked at for one page

enum { ARG_FROM, ARG_LIMIT, ARG_UE }; // of show sessions, as in command_table.c

struct page {
	struct call *call;
	uint64_t limit;
	unsigned looked, rows;
	bool more;
	uint64_t next;
};

static void since_put(struct reply *r, const char *key, time_t since)
{
	char text[CLOCK_UTC_STRLEN];

	reply_str(r, key, clock_utc_str(text, since));
}

void cmd_session_seid(struct call *call, unsigned worker, uint32_t slot)
{
	const struct n4 *n4 = call->view->n4;
	const struct n4_session *session = NULL;

	if (n4 && n4->sessions && n4->sessions->by_slot[worker])
		session = n4_session_at(n4, worker, slot);
	if (session)
		reply_seid(&call->reply, NULL, session->seid);
	else
		reply_null(&call->reply, NULL);
}

static void session_row(struct reply *r, const struct n4_session *session,
			const struct rules *rules)
{
	char text[NODE_ID_STRLEN];

	reply_row(r);
	reply_seid(r, NULL, session->seid);
	reply_seid(r, NULL, session->cp_seid);
	reply_str(r, NULL, node_id_str(text, &session->assoc->id));
	rules_put_ues(r, NULL, rules);
	reply_uint(r, NULL, session->slot.owner);
	reply_uint(r, NULL, rules->n_pdrs);
	reply_uint(r, NULL, rules->n_tunnels);
	since_put(r, NULL, session->since_s);
}

static bool page_add(void *ctx, const struct n4_session *session)
{
	struct page *page = ctx;
	const struct call_arg *ue = &page->call->args[ARG_UE];
	struct rules *rules;

	if (page->rows == page->limit || page->looked == LOOK_MAX) {
		page->more = true;
		page->next = session->seid;
		return false;
	}
	page->looked++;
	rules = n4_session_rules(session);
	if (rules && (!ue->given || rules_have_ue(rules, &ue->addr))) {
		page->rows++;
		session_row(&page->call->reply, session, rules);
	}
	rules_free(rules);
	return true;
}

bool cmd_show_sessions(struct call *call)
{
	static const char *const columns[] = {
		"seid", "cp_seid", "node_id", "ue", "worker", "pdrs", "tunnels", "since", NULL,
	};
	const struct n4 *n4 = call->view->n4;
	struct page page = {.call = call, .limit = CTL_ROWS_MAX};
	struct reply *r = &call->reply;

	if (call->args[ARG_LIMIT].given)
		page.limit = call->args[ARG_LIMIT].number;
	reply_object_open(r, NULL);
	reply_table_open(r, "sessions", columns);
	if (n4 && call->args[ARG_FROM].given)
		n4_session_each_from(n4, call->args[ARG_FROM].number, page_add, &page);
	else if (n4)
		n4_session_each(n4, page_add, &page);
	reply_table_close(r);
	reply_uint(r, "total", n4 ? n4_session_count(n4) : 0);
	if (page.more)
		reply_seid(r, "next", page.next);
	else
		reply_null(r, "next");
	reply_object_close(r);
	return true;
}

static const char *state_str(const struct n4_session *session)
{
	if (session->ending)
		return "ending";
	return session->change ? "changing" : "up";
}

// `answer` is its owner's, to MAIL_SESSION_COUNT.
static void session_put(struct reply *r, const struct ctl_view *view,
			const struct n4_session *session, const struct mail *answer)
{
	const struct session_counts *counts = &answer->session.counts;
	const struct buffer_counts *held = &answer->session.buffer;
	char text[NODE_ID_STRLEN];

	reply_object_open(r, NULL);
	reply_seid(r, "seid", session->seid);
	reply_seid(r, "cp_seid", session->cp_seid);
	reply_str(r, "cp_address", addr_str(text, session->cp_addr));
	reply_str(r, "node_id", node_id_str(text, &session->assoc->id));
	reply_str(r, "state", state_str(session));
	since_put(r, "since", session->since_s);
	reply_uint(r, "worker", session->slot.owner);
	reply_uint(r, "slot", session->slot.index);
	reply_uint(r, "version", session->slot.version);
	rules_put_ues(r, "ue", session->rules);
	reply_uint(r, "up_packets", counts->up_packets);
	reply_uint(r, "up_bytes", counts->up_bytes);
	reply_uint(r, "down_packets", counts->down_packets);
	reply_uint(r, "down_bytes", counts->down_bytes);
	reply_uint(r, "buffer_packets", held->packets);
	reply_uint(r, "buffer_bytes", held->bytes);
	if (held->packets)
		reply_uint(r, "buffer_ms", held->oldest_ms);
	else
		reply_null(r, "buffer_ms");
	rules_put(r, view->n4, session->rules);
	meters_put(r, session->rules, answer->result == 0 ? answer->session.policy : NULL,
		   clock_now_ns() * METER_UNITS_PER_NS,
		   view->workers[session->slot.owner]->meter_burst);
	usage_put(r, session, answer->result == 0 ? answer->session.policy : NULL);
	reply_object_close(r);
}

// A session that its owner has; one that is only being made is none yet.
static struct n4_session *session_lookup(const struct call *call)
{
	const struct n4 *n4 = call->view->n4;
	struct n4_session *session = n4 ? n4_session_lookup(n4, call->args[0].number) : NULL;

	return session && n4_session_has_rules(session) ? session : NULL;
}

static void fail_none(struct call *call)
{
	reply_fail(&call->reply, CTL_FAILED, "no session with SEID 0x%016llx",
		   (unsigned long long)call->args[0].number);
}

// The owner's counts have come. Without anybody who waits, the view may have gone.
static void counts_arrived(struct mail *mail, void *ctx)
{
	struct call *call = ctx;
	struct n4_session *session = call->ended ? session_lookup(call) : NULL;

	if (!session || session->slot.version != mail->session.image.version) {
		fail_none(call);
	} else if (!n4_session_open(session)) {
		reply_fail(&call->reply, CTL_FAILED, "out of memory");
	} else {
		session_put(&call->reply, call->view, session, mail);
		n4_session_close(session);
	}
	policy_free(mail->session.policy);
	free(mail);
	call_end(call);
}

// A mail that asks for its counts and, where it has QERs or URRs, for their state. NULL without memory.
static struct mail *counts_ask(const struct n4_session *session, struct call *call)
{
	struct rules *rules = n4_session_rules(session);
	struct mail *mail = rules ? mail_new(MAIL_SESSION_COUNT, counts_arrived, call) : NULL;
	struct policy_form form;

	if (mail) {
		mail->session.image.slot = session->slot.index;
		mail->session.image.version = session->slot.version;
		if (policy_form_of(rules, &form)) {
			form.copy = true;
			mail->session.policy = policy_new(&form);
		}
	}
	rules_free(rules);
	return mail;
}

bool cmd_show_session(struct call *call)
{
	const struct n4_session *session = session_lookup(call);
	struct mail *mail;

	if (!session) {
		fail_none(call);
		return true;
	}
	mail = session->slot.owner < call->view->n_workers ? counts_ask(session, call) : NULL;
	if (!mail) {
		reply_fail(&call->reply, CTL_FAILED, "its worker cannot be asked");
		return true;
	}
	mail_post(call->view->workers[session->slot.owner], mail);
	return false;
}
