// show keys: the kinds of keys, and the last of each that led nowhere. Control thread.
//
// As with flows (cmd_flow.c), one worker after the other is asked, by mail; of each kind the newest of all is shown.

#include <stdlib.h>

#include "ctl/cmd.h"
#include "worker/mailbox.h"
#include "worker/worker.h"

static const char *const columns[] = {
	"kind", "leads_to", "missed_ue", "missed_remote", "worker", "age_ms", "help", NULL,
};

struct errand {
	struct call *call;
	unsigned worker; // that is asked
	struct key_miss said[KEY_KINDS];
	struct key_miss newest[KEY_KINDS];
	unsigned of[KEY_KINDS]; // the worker of each
};

static void miss_put(struct reply *r, const struct key_kind *kind, const struct key_miss *miss,
		     unsigned worker)
{
	struct strbuf ue = {0}, remote = {0};

	if (miss->at)
		kind->print(&miss->key, miss->v6, &ue, &remote);
	reply_str(r, NULL, miss->at ? strbuf_text(&ue) : NULL);
	reply_str(r, NULL, miss->at ? strbuf_text(&remote) : NULL);
	if (miss->at) {
		reply_uint(r, NULL, worker);
		reply_uint(r, NULL, miss->at / (METER_UNITS_PER_NS * NS_PER_MS));
	} else {
		reply_null(r, NULL);
		reply_null(r, NULL);
	}
	strbuf_fini(&ue);
	strbuf_fini(&remote);
}

static void kinds_put(struct reply *r, const struct errand *errand)
{
	reply_object_open(r, NULL);
	reply_table_open(r, "keys", columns);
	for (unsigned i = 0; i < key_kinds(); i++) {
		const struct key_kind *kind = key_kind_at(i);

		reply_row(r);
		reply_str(r, NULL, kind->name);
		reply_str(r, NULL, i < KEY_KIND_FLOWS ? "session" : "flow");
		miss_put(r, kind, &errand->newest[i], errand->of[i]);
		reply_str(r, NULL, kind->help);
	}
	reply_table_close(r);
	reply_object_close(r);
}

// One worker has said. Without anybody who waits, the view may have gone.
static void said(struct mail *mail, void *ctx)
{
	struct errand *errand = ctx;
	struct call *call = errand->call;

	for (unsigned i = 0; i < KEY_KINDS; i++) {
		const struct key_miss *miss = &errand->said[i];

		if (!miss->at || (errand->newest[i].at && errand->newest[i].at <= miss->at))
			continue;
		errand->newest[i] = *miss;
		errand->of[i] = errand->worker;
	}
	if (call->ended && ++errand->worker < call->view->n_workers) {
		mail_post(call->view->workers[errand->worker], mail);
		return;
	}
	if (call->ended)
		kinds_put(&call->reply, errand);
	free(mail);
	free(errand);
	call_end(call);
}

bool cmd_show_keys(struct call *call)
{
	struct errand *errand = calloc(1, sizeof(*errand));
	struct mail *mail = mail_new(MAIL_KEYS_LOOK, said, errand);

	if (!errand || !mail || call->view->n_workers == 0) {
		free(errand);
		free(mail);
		reply_fail(&call->reply, CTL_FAILED, "no worker can be asked");
		return true;
	}
	errand->call = call;
	mail->misses = errand->said;
	mail_post(call->view->workers[0], mail);
	return false;
}
