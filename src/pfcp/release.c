// Graceful release, see release.h.
//
// Control thread only.

#include "pfcp/release.h"

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/call.h"
#include "pfcp/print.h"
#include "pfcp/writer.h"
#include "pfcp/xact.h"

static void release_begin(struct assoc *a, uint32_t period_s)
{
	a->releasing = period_s > 0;
	a->release_ns = period_s == PFCP_TIMER_INFINITE ? UINT64_MAX
							: clock_now_ns() + period_s * NS_PER_SEC;
}

void release_asked(struct assoc *a, const struct pfcp_msg *msg)
{
	struct pfcp_fault unused;
	struct pfcp_ie ie;
	char name[NODE_ID_STRLEN];
	uint64_t value;

	if (pfcp_ie_find(msg->ies, PFCP_IE_GRACEFUL_RELEASE_PERIOD, &ie) == 0)
		release_begin(a, ie.len ? pfcp_timer_seconds(ie.data[0]) : 0);
	else if (pfcp_ie_find(msg->ies, PFCP_IE_PFCP_ASSOCIATION_RELEASE_REQUEST, &ie) == 0 &&
		 pfcp_uint_decode(&ie, &value, &unused) == 0 &&
		 value & PFCP_PFCP_ASSOCIATION_RELEASE_REQUEST_SARR)
		release_begin(a, PFCP_TIMER_INFINITE);
	else
		return;
	log_info_limited("N4: %s %s", node_id_str(name, &a->id),
			 a->releasing ? "begins to release its association"
				      : "does not release its association after all");
}

bool release_refuses(const struct assoc *a, uint8_t type, struct pfcp_fault *fault)
{
	if (!a->releasing || type != PFCP_SESSION_ESTABLISHMENT_REQUEST)
		return false;
	fault_cause(fault, PFCP_CAUSE_REJECTED, "the association is being released");
	return true;
}

uint64_t release_left_ms(const struct assoc *a)
{
	uint64_t now_ns = clock_now_ns();

	if (a->release_ns == UINT64_MAX)
		return UINT64_MAX;
	return a->release_ns > now_ns ? (a->release_ns - now_ns) / NS_PER_MS : 0;
}

// --- the daemon is to stop -------------------------------------------------------------------------------

static void update_done(struct n4 *n4, const struct pfcp_msg *answer, void *ctx)
{
	struct assoc *a = ctx;
	uint64_t cause = answer ? pfcp_uint_find(answer->ies, PFCP_IE_CAUSE) : 0;
	char name[NODE_ID_STRLEN];

	a->update = 0;
	if (cause == PFCP_CAUSE_ACCEPTED)
		return;
	a->awaited = false;
	log_warn_limited("N4: %s does not release its association: %s", node_id_str(name, &a->id),
			 answer ? pfcp_cause_str((uint8_t)cause) : "no answer");
}

// Asks the SMF to release the association within the period (6.2.7.3).
static void release_ask(struct n4 *n4, struct assoc *a, uint8_t period)
{
	struct endpoint to = a->addr;
	struct pfcp_writer w;
	uint8_t bytes[512]; // a Node ID has 256 octets at most
	size_t len;

	to.port = PFCP_PORT;
	pfcp_writer_init(&w, bytes, sizeof(bytes));
	pfcp_msg_begin(&w, PFCP_ASSOCIATION_UPDATE_REQUEST, 0, 0);
	node_id_encode(&w, &n4->conf.node_id);
	pfcp_uint_encode(&w, PFCP_IE_PFCP_ASSOCIATION_RELEASE_REQUEST,
			 PFCP_PFCP_ASSOCIATION_RELEASE_REQUEST_SARR);
	pfcp_uint_encode(&w, PFCP_IE_GRACEFUL_RELEASE_PERIOD, period);
	len = pfcp_msg_end(&w);
	release_begin(a, pfcp_timer_seconds(period));
	a->awaited = xact_request(n4, &to, bytes, len, update_done, a, &a->update) == 0;
}

static bool leave_one(void *ctx, const struct assoc *assoc)
{
	struct n4 *n4 = ctx;
	struct assoc *a = (struct assoc *)(uintptr_t)assoc;
	uint64_t left_s = (n4->leave_ns - clock_now_ns() + NS_PER_SEC - 1) / NS_PER_SEC;

	if (a->state == ASSOC_UP)
		release_ask(n4, a, pfcp_timer_octet((uint32_t)left_s));
	return true;
}

void n4_leave(struct n4 *n4, uint32_t period_s)
{
	n4->leaving = true;
	call_stop(n4);
	n4->leave_ns = clock_now_ns() + period_s * NS_PER_SEC;
	assoc_each(n4, leave_one, n4);
}

static bool is_not_awaited(void *ctx, const struct assoc *a)
{
	bool *awaits = ctx;

	*awaits |= a->awaited && a->state != ASSOC_LOST;
	return !*awaits;
}

bool n4_has_left(const struct n4 *n4)
{
	bool awaits = false;

	assoc_each(n4, is_not_awaited, &awaits);
	return !awaits || clock_now_ns() >= n4->leave_ns;
}
