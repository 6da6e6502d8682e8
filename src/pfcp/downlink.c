// Downlink data that waits for its UE, see downlink.h.
//
// Control thread.

#include "pfcp/downlink.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/apply.h"
#include "pfcp/decode.h"
#include "pfcp/report.h"
#include "pfcp/usage.h"
#include "rules/model.h"
#include "worker/mailbox.h"

#define DUE_A_TICK 4096                // looked at
#define AGAIN_NS (1 * NS_PER_SEC)      // after a report that nobody took
#define DELAY_UNIT_NS (50 * NS_PER_MS) // TS 29.244 8.2.28

struct n4_downlink {
	TAILQ_ENTRY(n4_downlink) of_due;
	struct n4_session *session;
	uint16_t pdr;
	uint8_t dscp;
	bool due;  // the SMF is to be told at due_ns
	bool sent; // a report waits, or is under way
	uint64_t due_ns;
	uint64_t again_ns; // before that it is not told again
};

// --- rules -----------------------------------------------------------------------------------------------

static bool far_tells(const struct far_rule *far)
{
	return far && far->action & APPLY_BUFF && far->action & APPLY_NOCP;
}

// The FAR for quota action of the PDR, as long as it buffers and the SMF wants to know: where several URRs have one, the
// first (rules/compile.c).
static const struct far_rule *telling_quota_far(const struct rules *rules,
						const struct pdr_rule *pdr)
{
	for (unsigned i = 0; i < pdr->n_urrs; i++) {
		const struct urr_rule *urr = rules_urr_lookup(rules, pdr->urrs[i]);
		const struct far_rule *far;

		if (!urr->has_quota_far)
			continue;
		far = rules_far_lookup(rules, urr->quota_far);
		return far_tells(far) ? far : NULL;
	}
	return NULL;
}

// The same of the PDR's own FAR, or else of that.
static const struct far_rule *telling_far(const struct rules *rules, uint16_t pdr_id)
{
	const struct pdr_rule *pdr = rules ? rules_pdr_lookup(rules, pdr_id) : NULL;
	const struct far_rule *far = pdr ? rules_far_lookup(rules, pdr->far) : NULL;

	if (!pdr || far_tells(far))
		return far;
	return telling_quota_far(rules, pdr);
}

// Whether what waits may still do so: it is the PDR's own FAR that buffers, or a quota of it is used up.
static bool way_is_closed(const struct n4_session *session, uint16_t pdr_id)
{
	const struct rules *rules = session->rules;
	const struct pdr_rule *pdr = rules_pdr_lookup(rules, pdr_id);

	if (!telling_far(rules, pdr_id))
		return false;
	if (far_tells(rules_far_lookup(rules, pdr->far)))
		return true;
	for (unsigned i = 0; i < pdr->n_urrs; i++) {
		struct usage_view view;

		if (n4_usage_view(session, pdr->urrs[i], &view) && view.quota_over)
			return true;
	}
	return false;
}

static uint64_t delay_of(const struct rules *rules, const struct far_rule *far)
{
	const struct bar_rule *bar = far->has_bar ? rules_bar_lookup(rules, far->bar) : NULL;

	return bar ? bar->ddn_delay_50ms * DELAY_UNIT_NS : 0;
}

// What the SMF picks its paging policy by: the QoS flow, and the packet's DSCP where a QER has a paging policy.
static void service_fill(const struct rules *rules, const struct n4_downlink *d,
			 struct report *report)
{
	struct pfcp_downlink_data_service *service = &report->downlink.service;
	const struct pdr_rule *pdr = rules_pdr_lookup(rules, d->pdr);

	for (unsigned i = 0; i < pdr->n_qers; i++) {
		const struct qer_rule *qer = rules_qer_lookup(rules, pdr->qers[i]);

		if (qer->has_qfi &&
		    !(service->flags & PFCP_DOWNLINK_DATA_SERVICE_INFORMATION_QFII)) {
			service->flags |= PFCP_DOWNLINK_DATA_SERVICE_INFORMATION_QFII;
			service->qfi = qer->qfi;
		}
		if (qer->ppi != RULES_PPI_NONE) {
			service->flags |= PFCP_DOWNLINK_DATA_SERVICE_INFORMATION_PPI;
			service->ppi = d->dscp;
		}
	}
	report->downlink.has_service = service->flags != 0;
}

// --- telling ---------------------------------------------------------------------------------------------

static void due_put(struct n4 *n4, struct n4_downlink *d)
{
	if (!d->due)
		TAILQ_INSERT_TAIL(&n4->sessions->downlinks, d, of_due);
	d->due = true;
}

static void due_take(struct n4 *n4, struct n4_downlink *d)
{
	if (d->due)
		TAILQ_REMOVE(&n4->sessions->downlinks, d, of_due);
	d->due = false;
}

static void owner_tell(struct n4 *n4, const struct n4_session *session, enum mail_type type)
{
	struct mail *mail = mail_new(type, NULL, NULL);

	if (!mail) {
		log_warn_limited("N4: out of memory: held packets stay as they are");
		return;
	}
	mail->session.image.slot = session->slot.index;
	mail->session.image.version = session->slot.version;
	mail_post(n4->env.workers[session->slot.owner], mail);
}

// What a worker says may be of rules that it has and that are not yet the session's.
static const struct rules *telling_rules(const struct n4_session *session, uint16_t pdr_id)
{
	const struct n4_change *change = session->change;

	if (change && change->rules && telling_far(change->rules, pdr_id))
		return change->rules;
	return telling_far(session->rules, pdr_id) ? session->rules : NULL;
}

static void data_waits(struct n4 *n4, struct n4_session *session, const struct buffer_event *event)
{
	const struct rules *rules = telling_rules(session, event->pdr);
	struct n4_downlink *d = session->downlink;

	if (!rules)
		return; // other rules come
	if (!d) {
		d = calloc(1, sizeof(*d));
		if (!d) {
			owner_tell(n4, session, MAIL_BUFFER_AGAIN);
			return;
		}
		d->session = session;
		session->downlink = d;
	}
	d->pdr = event->pdr;
	d->dscp = event->dscp;
	d->due_ns = clock_now_ns() + delay_of(rules, telling_far(rules, event->pdr));
	if (d->due_ns < d->again_ns)
		d->due_ns = d->again_ns;
	due_put(n4, d);
}

void n4_downlink_data(struct n4 *n4, unsigned worker, const struct buffer_event *event)
{
	struct n4_session *session = n4_session_at(n4, worker, event->slot);

	if (!session || session->slot.version != event->version || session->ending)
		return;
	if (session->downlink && session->downlink->due)
		return; // the SMF is told of the session soon
	if (!n4_session_open(session)) {
		owner_tell(n4, session, MAIL_BUFFER_AGAIN);
		return;
	}
	data_waits(n4, session, event);
	n4_session_close(session);
}

static void report_open(struct n4 *n4, struct n4_downlink *d)
{
	struct report report = {.kind = REPORT_DOWNLINK_DATA, .downlink = {.pdr = d->pdr}};

	if (!way_is_closed(d->session, d->pdr))
		return; // the way is open meanwhile
	service_fill(d->session->rules, d, &report);
	n4_report(n4, d->session, &report);
	d->sent = n4_report_waits(d->session, REPORT_DOWNLINK_DATA);
	if (!d->sent)
		owner_tell(n4, d->session, MAIL_BUFFER_AGAIN);
}

static void downlink_report(struct n4 *n4, struct n4_downlink *d)
{
	struct n4_session *session = d->session;

	if (!n4_session_open(session)) {
		due_put(n4, d);
		return;
	}
	report_open(n4, d);
	n4_session_close(session);
}

void n4_downlink_tick(struct n4 *n4)
{
	struct n4_downlink *last = TAILQ_LAST(&n4->sessions->downlinks, n4_downlink_list);
	uint64_t now = clock_now_ns();

	for (unsigned n = 0; last && n < DUE_A_TICK; n++) {
		struct n4_downlink *d = TAILQ_FIRST(&n4->sessions->downlinks);
		bool done = d == last;

		due_take(n4, d);
		if (d->due_ns <= now && !d->session->change)
			downlink_report(n4, d);
		else
			due_put(n4, d);
		if (done)
			return;
	}
}

void n4_downlink_free(struct n4 *n4, struct n4_session *session)
{
	if (!session->downlink)
		return;
	due_take(n4, session->downlink);
	free(session->downlink);
	session->downlink = NULL;
}

// --- answers ---------------------------------------------------------------------------------------------

// Into the rules that the owner has, or is about to have; then it is given them again.
static void bar_update(struct n4 *n4, struct n4_session *session, const struct pfcp_ie *group)
{
	struct pfcp_fault fault = {0};
	struct rules *rules;

	if (!n4_session_open(session)) {
		log_warn_limited("N4: out of memory: an Update BAR is left out");
		return;
	}
	rules = session->change ? session->change->rules : session->rules;
	if (!rules) // the session ends
		;
	else if (decode_bar_answer(&n4->env, rules, group, &fault) == 0)
		n4_session_refresh(n4, session);
	else
		log_warn_limited("N4: Update BAR for the session with SEID 0x%" PRIx64
				 " is left out: %s",
				 session->seid, fault.text);
	n4_session_close(session);
}

bool n4_downlink_drops(const struct pfcp_msg *request)
{
	return pfcp_uint_find(request->ies, PFCP_IE_PFCPSMREQ_FLAGS) & PFCP_PFCPSMREQ_FLAGS_DROBU;
}

// Whether the downlink report is what has been answered, or not: it waits no longer.
static bool sent_ended(const struct n4_session *session)
{
	struct n4_downlink *d = session->downlink;

	if (!d || !d->sent || n4_report_waits(session, REPORT_DOWNLINK_DATA))
		return false;
	d->sent = false;
	return true;
}

static void report_accepted(struct n4 *n4, struct n4_session *session,
			    const struct pfcp_msg *answer)
{
	struct pfcp_ie ie;

	sent_ended(session);
	if (pfcp_ie_find(answer->ies, PFCP_IE_UPDATE_BAR_REPORT_RESPONSE, &ie) == 0)
		bar_update(n4, session, &ie);
	if (pfcp_uint_find(answer->ies, PFCP_IE_PFCPSRRSP_FLAGS) & PFCP_PFCPSRRSP_FLAGS_DROBU)
		owner_tell(n4, session, MAIL_BUFFER_DROP);
}

static void report_failed(struct n4 *n4, struct n4_session *session)
{
	if (!sent_ended(session))
		return;
	session->downlink->again_ns = clock_now_ns() + AGAIN_NS;
	owner_tell(n4, session, MAIL_BUFFER_AGAIN);
}

void n4_downlink_init(struct n4 *n4)
{
	TAILQ_INIT(&n4->sessions->downlinks);
	n4->sessions->report_accepted = report_accepted;
	n4->sessions->report_failed = report_failed;
}
