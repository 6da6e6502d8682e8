// show flows, clear flow ID, clear flows: the workers' flows. Control thread.
//
// Flows are their workers' to tell and to end: a command asks one worker after the other, by mail, and is over when
// the page is full or the last has answered. A page begins at `from`, which is a `next` of the page before, or any
// flow's id; the order is that of the workers' tables, of one session the newest first.

#include <stdlib.h>

#include "ctl/cmd.h"
#include "packet/l4.h"
#include "pfcp/n4.h"
#include "service/service.h"
#include "worker/mailbox.h"
#include "worker/worker.h"

enum { ARG_FROM, ARG_LIMIT, ARG_UE }; // of show flows, as in command_table.c

static const char *const columns[] = {
	"id",    "seid",  "kind",   "protocol", "ue",    "remote",  "began",
	"class", "state", "age_ms", "left_ms",  "chain", "outside", NULL,
};

static const char *const classes[FLOW_CLASSES] = {
	[FLOW_EMBRYONIC] = "embryonic",
	[FLOW_ESTABLISHED] = "established",
	[FLOW_TCP_ESTABLISHED] = "tcp_established",
	[FLOW_TCP_CLOSING] = "tcp_closing",
};

// A command under way.
struct errand {
	struct call *call;
	unsigned worker, last; // that is asked; the last one to ask
	unsigned limit, rows;  // of the page
	uint64_t ended;
};

// --- the session of a UE ---------------------------------------------------------------------------------

static struct session_ref ue_ref(const struct n4 *n4, const struct addr *ue)
{
	const uint8_t *dst = ue->family == ADDR_V4 ? (const uint8_t *)&ue->v4 : ue->v6;
	struct session_ref ref = {0, 0};

	for (unsigned i = 0; i < n4->env.n_ifaces && !ref.check; i++)
		if (n4->env.ifaces[i].roles & N4_ROLE_N6)
			ref = locator_find(n4->env.locator, i, ue->family == ADDR_V4 ? 4 : 6, dst);
	return ref;
}

// Whom to ask: all workers, or the one of the UE's session, whose slot the look gets.
static bool whom(struct call *call, const struct call_arg *ue, struct errand *errand,
		 struct flows_look *look)
{
	const struct ctl_view *view = call->view;
	struct session_ref ref;

	look->slot = FLOWS_ALL_SLOTS;
	errand->last = view->n_workers - 1;
	if (!ue->given)
		return true;
	ref = view->n4 ? ue_ref(view->n4, &ue->addr) : (struct session_ref){0, 0};
	if (!ref.check) {
		reply_fail(&call->reply, CTL_FAILED, "no session has this UE address");
		return false;
	}
	look->slot = session_ref_index(ref);
	look->version = ref.check;
	errand->worker = errand->last = session_ref_owner(ref);
	return true;
}

// --- rows ------------------------------------------------------------------------------------------------

static void proto_put(struct reply *r, uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		reply_str(r, NULL, "tcp");
		return;
	case IPPROTO_UDP:
		reply_str(r, NULL, "udp");
		return;
	case IPPROTO_ICMP:
		reply_str(r, NULL, "icmp");
		return;
	case IPPROTO_ICMPV6:
		reply_str(r, NULL, "icmpv6");
		return;
	default:
		reply_printf(r, NULL, "%u", proto);
	}
}

static void chain_put(struct reply *r, const struct service_order *order, uint64_t chain)
{
	reply_list_open(r, NULL);
	for (; order && chain; chain &= chain - 1)
		if (order->services[__builtin_ctzll(chain)])
			reply_str(r, NULL, order->services[__builtin_ctzll(chain)]->name);
	reply_list_close(r);
}

static void outside_put(struct reply *r, const struct flow_row *row)
{
	struct strbuf outside = {0}, remote = {0};

	if (row->has_outside)
		key_kind_at(KEY_KIND_outside)->print(&row->outside, row->v6, &outside, &remote);
	reply_str(r, NULL, row->has_outside ? strbuf_text(&outside) : NULL);
	strbuf_fini(&outside);
	strbuf_fini(&remote);
}

static void row_put(struct call *call, unsigned worker, const struct flow_row *row)
{
	struct strbuf ue = {0}, remote = {0};
	struct reply *r = &call->reply;

	flow_key_print(&row->key, row->v6, &ue, &remote);
	reply_row(r);
	reply_seid(r, NULL, row->id);
	cmd_session_seid(call, worker, flow_key_context(&row->key));
	reply_str(r, NULL, flow_key_kind(&row->key));
	proto_put(r, flow_key_proto(&row->key));
	reply_str(r, NULL, strbuf_text(&ue));
	reply_str(r, NULL, strbuf_text(&remote));
	reply_str(r, NULL, row->up ? "up" : "down");
	reply_str(r, NULL, row->class < FLOW_CLASSES ? classes[row->class] : NULL);
	reply_str(r, NULL, row->word);
	reply_uint(r, NULL, row->age_ms);
	reply_uint(r, NULL, row->left_ms);
	chain_put(r, call->view->services, row->chain);
	outside_put(r, row);
	strbuf_fini(&ue);
	strbuf_fini(&remote);
}

// --- show flows ------------------------------------------------------------------------------------------

static void page_end(struct errand *errand, unsigned worker, uint32_t next)
{
	struct reply *r = &errand->call->reply;

	reply_table_close(r);
	if (next)
		reply_seid(r, "next", flow_id_at(worker, next));
	else
		reply_null(r, "next");
	reply_object_close(r);
}

static void errand_end(struct errand *errand, struct mail *mail)
{
	struct call *call = errand->call;

	free(mail->flows.rows);
	free(mail);
	free(errand);
	call_end(call);
}

// One worker has looked. Without anybody who waits, the view may have gone.
static void looked(struct mail *mail, void *ctx)
{
	struct errand *errand = ctx;
	struct call *call = errand->call;
	struct flows_look *look = &mail->flows;

	if (!call->ended) {
		errand_end(errand, mail);
		return;
	}
	if (mail->result != 0) // the session has just gone
		look->next = 0;
	for (uint32_t i = 0; i < look->n; i++)
		row_put(call, errand->worker, &look->rows[i]);
	errand->rows += look->n;
	if (look->next == 0 && errand->worker < errand->last) {
		errand->worker++;
		look->next = 1; // a page may end between two workers
	} else if (look->next == 0) {
		page_end(errand, 0, 0);
		errand_end(errand, mail);
		return;
	}
	if (errand->rows == errand->limit) {
		page_end(errand, errand->worker, look->next);
		errand_end(errand, mail);
		return;
	}
	look->most = errand->limit - errand->rows;
	mail_post(call->view->workers[errand->worker], mail);
}

// The errand and its mail; NULL, with the reply, without memory.
static struct mail *errand_new(struct call *call, enum mail_type type,
			       void (*done)(struct mail *, void *), unsigned n_rows)
{
	struct errand *errand = calloc(1, sizeof(*errand));
	struct flow_row *rows = calloc(n_rows ? n_rows : 1, sizeof(*rows));
	struct mail *mail = mail_new(type, done, errand);

	if (!errand || !rows || !mail || call->view->n_workers == 0) {
		free(errand);
		free(rows);
		free(mail);
		reply_fail(&call->reply, CTL_FAILED, "no worker can be asked");
		return NULL;
	}
	errand->call = call;
	errand->limit = n_rows;
	mail->flows.rows = rows;
	mail->flows.most = n_rows;
	return mail;
}

static bool errand_drop(struct mail *mail)
{
	free(mail->ctx);
	free(mail->flows.rows);
	free(mail);
	return true;
}

bool cmd_show_flows(struct call *call)
{
	const struct call_arg *args = call->args;
	unsigned limit = args[ARG_LIMIT].given ? (unsigned)args[ARG_LIMIT].number : CTL_ROWS_MAX;
	struct mail *mail = errand_new(call, MAIL_FLOWS_LOOK, looked, limit);
	struct errand *errand;

	if (!mail)
		return true;
	errand = mail->ctx;
	if (!whom(call, &args[ARG_UE], errand, &mail->flows))
		return errand_drop(mail);
	if (args[ARG_FROM].given) {
		unsigned worker = flow_id_worker(args[ARG_FROM].number);

		if (worker < errand->worker || worker > errand->last) {
			reply_fail(&call->reply, CTL_FAILED, "no worker has such flows");
			return errand_drop(mail);
		}
		errand->worker = worker;
		mail->flows.next = flow_id_number(args[ARG_FROM].number);
	}
	reply_object_open(&call->reply, NULL);
	reply_table_open(&call->reply, "flows", columns);
	mail_post(call->view->workers[errand->worker], mail);
	return false;
}

// --- clear -----------------------------------------------------------------------------------------------

static void cleared_one(struct mail *mail, void *ctx)
{
	struct errand *errand = ctx;
	struct reply *r = &errand->call->reply;

	if (mail->result == 0) {
		reply_object_open(r, NULL);
		reply_uint(r, "cleared", 1);
		reply_object_close(r);
	} else {
		reply_fail(r, CTL_FAILED, "no flow with id 0x%016llx",
			   (unsigned long long)mail->flows.id);
	}
	errand_end(errand, mail);
}

bool cmd_clear_flow(struct call *call)
{
	uint64_t id = call->args[0].number;
	struct mail *mail = errand_new(call, MAIL_FLOW_CLEAR, cleared_one, 0);

	if (!mail)
		return true;
	if (flow_id_worker(id) >= call->view->n_workers) {
		reply_fail(&call->reply, CTL_FAILED, "no flow with id 0x%016llx",
			   (unsigned long long)id);
		return errand_drop(mail);
	}
	mail->flows.id = id;
	mail_post(call->view->workers[flow_id_worker(id)], mail);
	return false;
}

static void cleared(struct mail *mail, void *ctx)
{
	struct errand *errand = ctx;
	struct call *call = errand->call;

	errand->ended += mail->flows.ended;
	if (call->ended && errand->worker < errand->last) {
		mail->flows.next = mail->flows.ended = 0;
		mail_post(call->view->workers[++errand->worker], mail);
		return;
	}
	reply_object_open(&call->reply, NULL);
	reply_uint(&call->reply, "cleared", errand->ended);
	reply_object_close(&call->reply);
	errand_end(errand, mail);
}

bool cmd_clear_flows(struct call *call)
{
	struct mail *mail = errand_new(call, MAIL_FLOWS_CLEAR, cleared, 0);
	struct errand *errand;

	if (!mail)
		return true;
	errand = mail->ctx;
	if (!whom(call, &call->args[0], errand, &mail->flows))
		return errand_drop(mail);
	mail_post(call->view->workers[errand->worker], mail);
	return false;
}
