// show nat: the blocks of outside ports that sessions behind NAT have. Control thread.
//
// As with flows (cmd_flow.c), one worker after the other is asked, by mail. A page begins at `from`, which is a `next` of
// the page before.

#include <stdlib.h>

#include "ctl/cmd.h"
#include "worker/mailbox.h"
#include "worker/worker.h"

enum { ARG_FROM, ARG_LIMIT }; // as in command_table.c

#define WORKER_SHIFT 48 // of `next`; the rest is the worker's

static const char *const columns[] = {
	"worker", "seid", "ue", "outside", "first_port", "last_port", "tcp", "udp", "echo", NULL,
};

struct errand {
	struct call *call;
	unsigned worker;
	unsigned limit, rows; // of the page
};

static void addr_put(struct reply *r, rte_be32_t v4)
{
	struct addr addr = addr_v4(v4);
	char text[ADDR_STRLEN];

	reply_str(r, NULL, v4 ? addr_str(text, &addr) : NULL);
}

static void row_put(struct call *call, unsigned worker, const struct nat_row *row)
{
	struct reply *r = &call->reply;

	reply_row(r);
	reply_uint(r, NULL, worker);
	cmd_session_seid(call, worker, row->slot);
	addr_put(r, row->ue);
	addr_put(r, row->outside);
	reply_uint(r, NULL, row->first);
	reply_uint(r, NULL, row->last);
	for (unsigned i = 0; i < NAT_PROTOS; i++)
		reply_uint(r, NULL, row->used[i]);
}

static void errand_end(struct errand *errand, struct mail *mail)
{
	struct call *call = errand->call;

	free(mail->nat.rows);
	free(mail);
	free(errand);
	call_end(call);
}

static uint64_t unlogged(const struct ctl_view *view)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < view->n_workers; i++)
		n += stats_read(&view->workers[i]->stats.counter[COUNTER_nat_blocks_unlogged]);
	return n;
}

static void page_end(struct errand *errand, bool more, uint64_t next)
{
	const struct ctl_view *view = errand->call->view;
	struct reply *r = &errand->call->reply;

	reply_table_close(r);
	reply_uint(r, "logged",
		   view->control ? stats_read(&view->control->counter[COUNTER_nat_blocks_logged])
				 : 0);
	reply_uint(r, "unlogged", unlogged(view));
	if (more)
		reply_seid(r, "next", (uint64_t)errand->worker << WORKER_SHIFT | next);
	else
		reply_null(r, "next");
	reply_object_close(r);
}

// One worker has looked. Without anybody who waits, the view may have gone.
static void looked(struct mail *mail, void *ctx)
{
	struct errand *errand = ctx;
	struct call *call = errand->call;
	struct nat_look *look = &mail->nat;
	bool more;

	if (!call->ended) {
		errand_end(errand, mail);
		return;
	}
	for (uint32_t i = 0; i < look->n; i++)
		row_put(call, errand->worker, &look->rows[i]);
	errand->rows += look->n;
	more = look->next != 0;
	if (!more && errand->worker + 1 < call->view->n_workers) {
		errand->worker++;
		more = true;
	}
	if (!more || errand->rows == errand->limit) {
		page_end(errand, more, look->next);
		errand_end(errand, mail);
		return;
	}
	look->most = errand->limit - errand->rows;
	mail_post(call->view->workers[errand->worker], mail);
}

static bool refuse(struct mail *mail, struct errand *errand, struct nat_row *rows,
		   struct call *call, const char *why)
{
	free(mail);
	free(errand);
	free(rows);
	reply_fail(&call->reply, CTL_FAILED, "%s", why);
	return true;
}

bool cmd_show_nat(struct call *call)
{
	const struct call_arg *args = call->args;
	unsigned limit = args[ARG_LIMIT].given ? (unsigned)args[ARG_LIMIT].number : CTL_ROWS_MAX;
	uint64_t from = args[ARG_FROM].given ? args[ARG_FROM].number : 0;
	struct errand *errand = calloc(1, sizeof(*errand));
	struct nat_row *rows = calloc(limit ? limit : 1, sizeof(*rows));
	struct mail *mail = mail_new(MAIL_NAT_LOOK, looked, errand);

	if (!errand || !rows || !mail || call->view->n_workers == 0)
		return refuse(mail, errand, rows, call, "no worker can be asked");
	if (from >> WORKER_SHIFT >= call->view->n_workers)
		return refuse(mail, errand, rows, call, "no worker has such blocks");
	*errand = (struct errand){
		.call = call, .worker = (unsigned)(from >> WORKER_SHIFT), .limit = limit};
	mail->nat = (struct nat_look){.slot = FLOWS_ALL_SLOTS,
				      .next = from & ((1ull << WORKER_SHIFT) - 1),
				      .most = limit,
				      .rows = rows};
	reply_object_open(&call->reply, NULL);
	reply_table_open(&call->reply, "blocks", columns);
	mail_post(call->view->workers[errand->worker], mail);
	return false;
}
