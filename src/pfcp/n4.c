// The N4 context, see n4.h: its making, its answers, its counters.
//
// Control thread only.

#include "pfcp/n4.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/call.h"
#include "pfcp/dispatch.h"
#include "pfcp/endpoint.h"
#include "pfcp/node_report.h"
#include "pfcp/pfd.h"
#include "pfcp/writer.h"
#include "pfcp/xact.h"
#include "rules/model.h"

void n4_conf_init(struct n4_conf *conf)
{
	*conf = (struct n4_conf){
		.t1_ms = 2500,
		.n1 = 3,
		.heartbeat_s = 10,
		.path_failure = N4_PATH_KEEP,
		.path_failure_ms = 60000,
		.setup_retry_ms = 60000,
		.max_assocs = 64,
		.max_assocs_per_addr = 16,
		.max_sessions = 65536,
		.max_pdrs = RULES_MAX_PDRS,
		.max_filters = RULES_MAX_FILTERS,
		.max_unpacked = 256,
		.seid_rest_s = 60,
		.max_answers = 262144,
		.max_answers_per_peer = 131072,
		.max_answer_bytes = 128u << 20,
		.max_waiting_bytes = 64u << 20,
		.max_requests = 65536,
		.max_reports = 65536,
		.traffic_stop_s = 30,
		.error_reports = true,
		.max_apps = 256,
		.max_app_pfds = 64,
		.max_pfd_bytes = 4u << 20,
	};
}

static const struct {
	const char *name, *help;
} counters[N4_COUNTER_TYPES] = {
#define N4_COUNTER(name, text) {#name, text},
	N4_COUNTERS(N4_COUNTER)
#undef N4_COUNTER
};

const char *n4_counter_str(enum n4_counter counter)
{
	return counters[counter].name;
}

const char *n4_counter_help(enum n4_counter counter)
{
	return counters[counter].help;
}

static struct prefix *prefixes_copy(const struct prefix *from, unsigned n)
{
	struct prefix *copy = calloc(n + 1, sizeof(*copy));

	if (copy && n)
		memcpy(copy, from, n * sizeof(*copy));
	return copy;
}

static void conf_free(struct n4_conf *conf)
{
	free((void *)(uintptr_t)conf->peers);
	free((void *)(uintptr_t)conf->smfs);
}

static int conf_copy(struct n4_conf *to, const struct n4_conf *from)
{
	*to = *from;
	to->peers = prefixes_copy(from->peers, from->n_peers);
	to->smfs = prefixes_copy(from->smfs, from->n_smfs);
	return to->peers && to->smfs ? 0 : -ENOMEM;
}

struct n4 *n4_new(const struct n4_conf *conf, const struct n4_env *env,
		  const struct n4_session_ops *ops)
{
	const struct pfd_limits limits = {conf->max_apps, conf->max_app_pfds, conf->max_pfd_bytes};
	struct n4 *n4 = calloc(1, sizeof(*n4));

	if (n4 == NULL || conf_copy(&n4->conf, conf) < 0) {
		n4_free(n4);
		return NULL;
	}
	n4->env = *env;
	n4->recovery = conf->recovery ? conf->recovery : clock_ntp_s();
	load_init(n4);
	n4->assocs = assoc_table_new();
	n4->xacts = xact_table_new(conf);
	n4->env.pfds = pfd_table_new(&limits);
	n4->calls = call_table_new(&n4->conf);
	n4->reports = node_reports_new();
	if (n4->assocs && n4->xacts && n4->env.pfds && n4->calls && n4->reports &&
	    ops->init(n4) == 0)
		n4->ops = ops;
	if (n4->ops == NULL) {
		n4_free(n4);
		return NULL;
	}
	return n4;
}

void n4_free(struct n4 *n4)
{
	if (n4 == NULL)
		return;
	n4_stop(n4);
	if (n4->ops)
		n4->ops->fini(n4);
	assoc_table_free(n4);
	xact_table_free(n4->xacts);
	pfd_table_free(n4->env.pfds);
	call_table_free(n4->calls);
	node_reports_free(n4->reports);
	conf_free(&n4->conf);
	free(n4);
}

int n4_start(struct n4 *n4, struct event_base *base)
{
	n4->endpoint = n4_endpoint_open(n4, base);
	if (n4->endpoint == NULL)
		return -errno;
	n4->send = n4_endpoint_send;
	n4->send_ctx = n4->endpoint;
	return 0;
}

void n4_stop(struct n4 *n4)
{
	if (n4->endpoint == NULL)
		return;
	n4_endpoint_close(n4->endpoint);
	n4->endpoint = NULL;
	n4->send = NULL;
}

void n4_datagram(struct n4 *n4, const struct endpoint *from, const uint8_t *bytes, size_t len)
{
	dispatch_datagram(n4, from, bytes, len);
}

void n4_tick(struct n4 *n4)
{
	call_tick(n4); // first, since a call that is no longer needed is not to be repeated
	xact_tick(n4);
	assoc_tick(n4);
	node_report_tick(n4);
	load_tick(n4);
	if (n4->ops->tick)
		n4->ops->tick(n4);
}

void n4_send(struct n4 *n4, const struct addr *local, const struct endpoint *to,
	     const uint8_t *bytes, size_t len)
{
	if (n4->send == NULL || n4->send(n4->send_ctx, local, to, bytes, len) < 0) {
		n4_count(n4, N4_COUNT_tx_failed);
		return;
	}
	n4_count(n4, N4_COUNT_tx);
	n4->counters.counter[N4_COUNT_tx_bytes] += len;
	n4->counters.tx[bytes[1]]++;
}

void n4_send_lost(struct n4 *n4, const uint8_t *bytes, size_t len)
{
	n4_count(n4, N4_COUNT_tx_failed);
	n4->counters.counter[N4_COUNT_tx]--;
	n4->counters.counter[N4_COUNT_tx_bytes] -= len;
	n4->counters.tx[bytes[1]]--;
}

static void request_free(struct n4_request *rq)
{
	rq->n4->waiting_bytes -= sizeof(*rq) + rq->len;
	free(rq);
}

void n4_answer_begin(struct n4_request *rq, struct pfcp_writer *ret_w, uint64_t seid)
{
	pfcp_writer_init(ret_w, rq->n4->out, sizeof(rq->n4->out));
	pfcp_msg_begin(ret_w, (uint8_t)(rq->type + 1), seid, rq->seq);
}

static void cause_count(struct n4 *n4, const uint8_t *answer, size_t len)
{
	struct pfcp_cursor left = pfcp_cursor_of(answer, len);
	struct pfcp_msg msg;
	struct pfcp_ie ie;

	if (pfcp_msg_decode(&left, &msg) == 0 && pfcp_ie_find(msg.ies, PFCP_IE_CAUSE, &ie) == 0 &&
	    ie.len == 1)
		n4->counters.causes_tx[ie.data[0]]++;
}

void n4_answer(struct n4_request *rq, struct pfcp_writer *w)
{
	struct n4 *n4 = rq->n4;
	size_t len = pfcp_msg_end(w);

	if (len == 0) { // more than a datagram holds
		log_error_limited("N4: the answer to a %s does not fit", rq->msg.info->title);
		n4_discard(rq, N4_COUNT_discard_handler);
		return;
	}
	cause_count(n4, w->data, len);
	if (rq->xact)
		xact_answer(n4, rq->xact, w->data, len, rq->keep);
	else
		n4_send(n4, &rq->local, &rq->from, w->data, len);
	request_free(rq);
}

void n4_discard(struct n4_request *rq, enum n4_counter why)
{
	n4_count(rq->n4, why);
	if (rq->xact)
		xact_drop(rq->n4, rq->xact);
	request_free(rq);
}
