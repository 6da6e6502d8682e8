// Load and overload, see load.h.
//
// Control thread only.

#include "pfcp/load.h"

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/n4.h"
#include "pfcp/writer.h"

#define LOOK_NS NS_PER_SEC
#define VALIDITY_S 30 // of what is told of an overload; told again with each answer while it lasts

// Numbers begin at our recovery time stamp, and rise no faster than once a second: so they never fall, not even
// when we restart.
void load_init(struct n4 *n4)
{
	n4->load = (struct load){
		.since_ns = clock_now_ns(),
		.due_ns = clock_now_ns() + LOOK_NS,
		.metric_seq = n4->recovery,
		.reduction_seq = n4->recovery,
	};
}

static bool sessions_add(void *ctx, const struct assoc *assoc)
{
	*(uint64_t *)ctx += assoc->n_sessions;
	return true;
}

static uint8_t metric_now(const struct n4 *n4)
{
	uint64_t n = 0;

	assoc_each(n4, sessions_add, &n);
	n = n4->conf.max_sessions ? n * 100 / n4->conf.max_sessions : 100;
	return (uint8_t)(n < 100 ? n : 100);
}

// From 0 at the threshold to 100 where nothing is left.
static uint32_t reduction_by_sessions(const struct n4 *n4, uint8_t metric)
{
	uint32_t from = n4->conf.load.overload_percent;

	if (from == 0 || metric < from)
		return 0;
	return from < 100 ? 1 + (uint32_t)(metric - from) * 99 / (100 - from) : 100;
}

// The part of the requests that is too much.
static uint32_t reduction_by_requests(const struct n4 *n4, uint64_t elapsed_ns)
{
	uint64_t allowed = (uint64_t)n4->conf.load.overload_requests * elapsed_ns / NS_PER_SEC;

	if (n4->conf.load.overload_requests == 0 || n4->load.requests <= allowed)
		return 0;
	return (uint32_t)(100 - allowed * 100 / n4->load.requests);
}

static void reduction_set(struct load *load, uint8_t reduction, uint64_t now_ns)
{
	if (reduction == load->reduction)
		return;
	if (load->reduction == 0)
		log_warn_limited("N4: overload: %u%% of new sessions are refused", reduction);
	if (reduction == 0)
		log_info_limited("N4: the overload is over");
	load->reduction = reduction;
	load->reduction_seq++;
	load->refuse = 0;
	load->told_until_ns = now_ns + VALIDITY_S * NS_PER_SEC;
}

void load_tick(struct n4 *n4)
{
	struct load *load = &n4->load;
	uint64_t now_ns = clock_now_ns();
	uint8_t metric;
	uint32_t sessions, requests;

	if (now_ns < load->due_ns)
		return;
	metric = metric_now(n4);
	sessions = reduction_by_sessions(n4, metric);
	requests = reduction_by_requests(n4, now_ns - load->since_ns);
	reduction_set(load, (uint8_t)(sessions > requests ? sessions : requests), now_ns);
	if (metric != load->metric)
		load->metric_seq++;
	load->metric = metric;
	load->requests = 0;
	load->since_ns = now_ns;
	load->due_ns = now_ns + LOOK_NS;
}

// Of a hundred new sessions as many are refused as the reduction says, evenly spread.
bool load_refuses(struct n4 *n4, const struct n4_request *rq)
{
	struct load *load = &n4->load;

	load->requests++;
	if (rq->type != PFCP_SESSION_ESTABLISHMENT_REQUEST)
		return false;
	load->refuse += load->reduction;
	if (load->refuse < 100)
		return false;
	load->refuse -= 100;
	n4_count(n4, N4_COUNT_overload_refused);
	return true;
}

// Whether overload control has something to say: that there is one, or for a while that it is over.
static bool overload_told(const struct load *load)
{
	return load->reduction > 0 || clock_now_ns() < load->told_until_ns;
}

void load_encode(struct pfcp_writer *w, const struct n4 *n4, uint64_t cp_features, bool by_node)
{
	const struct load *load = &n4->load;

	if (cp_features & PFCP_CP_FUNCTION_FEATURES_LOAD)
		pfcp_load_control_encode(w, load->metric_seq, load->metric);
	if (cp_features & PFCP_CP_FUNCTION_FEATURES_OVRL && overload_told(load))
		pfcp_overload_control_encode(w, load->reduction_seq, load->reduction, VALIDITY_S,
					     by_node ? PFCP_OCI_FLAGS_AOCI : 0);
}
