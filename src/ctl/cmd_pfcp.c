// show pfcp counters: messages by type, causes, and everything that went wrong. Control thread.
//
// Types and causes that were never seen are left out, since most of them never are. `held` is what peers make us
// keep, beside the most that they can.

#include "base/log.h"
#include "ctl/cmd.h"
#include "pfcp/assoc.h"
#include "pfcp/n4.h"
#include "pfcp/print.h"
#include "pfcp/xact.h"

// A table of what was received and sent by number, of those that were.
static void numbers_put(struct reply *r, const char *key, const char *const *columns,
			const uint64_t rx[256], const uint64_t tx[256],
			const char *(*name)(uint8_t number))
{
	reply_table_open(r, key, columns);
	for (unsigned i = 0; i < 256; i++) {
		if (rx[i] == 0 && tx[i] == 0)
			continue;
		reply_row(r);
		reply_uint(r, NULL, i);
		reply_str(r, NULL, name((uint8_t)i));
		reply_uint(r, NULL, rx[i]);
		reply_uint(r, NULL, tx[i]);
	}
	reply_table_close(r);
}

static void held_put(struct reply *r, const char *what, uint64_t now, uint64_t most)
{
	reply_row(r);
	reply_str(r, NULL, what);
	reply_uint(r, NULL, now);
	reply_uint(r, NULL, most);
}

static void all_held_put(struct reply *r, const struct n4 *n4)
{
	static const char *const columns[] = {"held", "now", "most", NULL};
	const struct n4_conf *conf = &n4->conf;
	struct xact_counts counts;

	xact_counts_get(n4, &counts);
	reply_table_open(r, "held", columns);
	held_put(r, "associations", assoc_count(n4), conf->max_assocs);
	held_put(r, "requests_waiting", counts.waiting, conf->max_answers);
	held_put(r, "requests_and_answers", counts.waiting + counts.stored, conf->max_answers);
	held_put(r, "request_bytes", n4->waiting_bytes, conf->max_waiting_bytes);
	held_put(r, "transaction_bytes", counts.bytes, conf->max_answer_bytes);
	held_put(r, "own_requests", counts.requests, conf->max_requests);
	reply_table_close(r);
}

bool cmd_show_pfcp_counters(struct call *call)
{
	static const char *const messages[] = {"type", "message", "rx", "tx", NULL};
	static const char *const causes[] = {"value", "cause", "rx", "tx", NULL};
	static const struct n4_counters none;
	const struct n4 *n4 = call->view->n4;
	const struct n4_counters *n = n4 ? &n4->counters : &none;
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_counts_open(r, "counters");
	for (unsigned i = 0; i < N4_COUNTER_TYPES; i++)
		reply_count(r, n4_counter_str(i), n->counter[i], n4_counter_help(i));
	reply_count(r, "log_suppressed", log_suppressed(),
		    "log lines left out, since there were too many of their kind");
	reply_counts_close(r);
	if (n4 && n4->xacts && n4->assocs)
		all_held_put(r, n4);
	numbers_put(r, "messages", messages, n->rx, n->tx, pfcp_msg_type_str);
	numbers_put(r, "causes", causes, n->causes_rx, n->causes_tx, pfcp_cause_str);
	reply_object_close(r);
	return true;
}
