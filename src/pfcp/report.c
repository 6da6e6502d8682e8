// Session reports, see report.h.
//
// Control thread. Sessions with reports that wait stand in one list, in the order in which they became due; a
// session whose request is under way is not in it. When the SMF does not answer, the session is due again
// after some time; while its association is lost, not before that is up again.

#include "pfcp/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/assoc.h"
#include "pfcp/handle_session.h"
#include "pfcp/load.h"
#include "pfcp/xact.h"

#define REPORTS_A_TICK 512     // requests begun
#define REPORT_BYTES_MAX 1200  // of one request: no fragments on any network
#define REPORT_ROOM 160        // a report has at most so many
#define REPORTS_BEFORE_MERGE 8 // of one session, that wait apart
#define REPORT_AGAIN_NS (10 * NS_PER_SEC)

struct waiting_report {
	STAILQ_ENTRY(waiting_report) next;
	bool sent;  // in the request that is under way
	bool tried; // or has been in one: its SMF may have it as it is
	struct report report;
};
STAILQ_HEAD(waiting_reports, waiting_report);

struct n4_reporting {
	struct n4_session *session;
	struct waiting_reports reports;
	unsigned n;
	uint32_t request; // under way, 0: none
	bool due;         // in the list of those
	uint64_t due_ns;
	TAILQ_ENTRY(n4_reporting) of_due;
};

static const uint64_t type_bits[REPORT_KINDS] = {
	[REPORT_DOWNLINK_DATA] = PFCP_REPORT_TYPE_DLDR,
	[REPORT_USAGE] = PFCP_REPORT_TYPE_USAR,
	[REPORT_ERROR_INDICATION] = PFCP_REPORT_TYPE_ERIR,
	[REPORT_INACTIVITY] = PFCP_REPORT_TYPE_UPIR,
};

// --- what waits ------------------------------------------------------------------------------------------

static void due_put(struct n4 *n4, struct n4_reporting *r, uint64_t at_ns)
{
	if (r->due)
		TAILQ_REMOVE(&n4->sessions->reporting, r, of_due);
	r->due = true;
	r->due_ns = at_ns;
	TAILQ_INSERT_TAIL(&n4->sessions->reporting, r, of_due);
}

static void due_take(struct n4 *n4, struct n4_reporting *r)
{
	if (r->due)
		TAILQ_REMOVE(&n4->sessions->reporting, r, of_due);
	r->due = false;
}

static struct n4_reporting *reporting_get(struct n4_session *session)
{
	struct n4_reporting *r = session->reporting;

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->session = session;
	STAILQ_INIT(&r->reports);
	session->reporting = r;
	return r;
}

static void report_free(struct n4 *n4, struct n4_reporting *r, struct waiting_report *w)
{
	STAILQ_REMOVE(&r->reports, w, waiting_report, next);
	free(w);
	r->n--;
	n4->sessions->n_reports--;
}

static void volume_add(uint64_t *sum, uint64_t more)
{
	*sum = *sum + more < *sum ? UINT64_MAX : *sum + more;
}

// One report for two stretches of one URR that follow each other.
static void usage_merge(struct pfcp_usage_report *to, const struct pfcp_usage_report *more)
{
	to->trigger |= more->trigger;
	to->usage_information |= more->usage_information;
	to->end = more->end ? more->end : to->end;
	to->first_packet = to->first_packet ? to->first_packet : more->first_packet;
	to->last_packet = more->last_packet ? more->last_packet : to->last_packet;
	to->has_duration |= more->has_duration;
	to->duration_s += more->duration_s;
	to->volume.flags |= more->volume.flags;
	volume_add(&to->volume.total, more->volume.total);
	volume_add(&to->volume.up, more->volume.up);
	volume_add(&to->volume.down, more->volume.down);
	volume_add(&to->volume.total_packets, more->volume.total_packets);
	volume_add(&to->volume.up_packets, more->volume.up_packets);
	volume_add(&to->volume.down_packets, more->volume.down_packets);
	for (unsigned i = 0; i < more->n_events; i++)
		to->events[to->n_events++] = more->events[i];
}

// Joins usage with the last of its URR that waits unsent. False where there is none.
static bool usage_join(struct n4_reporting *r, const struct pfcp_usage_report *usage)
{
	struct waiting_report *w, *found = NULL;

	STAILQ_FOREACH(w, &r->reports, next)
		if (w->report.kind == REPORT_USAGE && !w->tried &&
		    w->report.usage.urr_id == usage->urr_id &&
		    w->report.usage.n_events + usage->n_events <= RULES_MAX_EVENTS)
			found = w;
	if (found)
		usage_merge(&found->report.usage, usage);
	return found != NULL;
}

static bool report_keep(struct n4 *n4, struct n4_reporting *r, const struct report *report)
{
	bool full = n4->sessions->n_reports >= n4->conf.max_reports;
	struct waiting_report *w;

	if (report->kind == REPORT_USAGE && (full || r->n >= REPORTS_BEFORE_MERGE) &&
	    usage_join(r, &report->usage))
		return true;
	w = full ? NULL : malloc(sizeof(*w));
	if (!w)
		return false;
	*w = (struct waiting_report){.report = *report};
	STAILQ_INSERT_TAIL(&r->reports, w, next);
	r->n++;
	n4->sessions->n_reports++;
	return true;
}

void n4_report(struct n4 *n4, struct n4_session *session, const struct report *report)
{
	struct n4_reporting *r = reporting_get(session);

	if (!r || !report_keep(n4, r, report)) {
		n4_count(n4, N4_COUNT_reports_lost);
		log_warn_limited("N4: no room for a report of the session with SEID 0x%" PRIx64,
				 session->seid);
		return;
	}
	if (r->request == 0 && !r->due)
		due_put(n4, r, clock_now_ns());
}

bool n4_report_waits(const struct n4_session *session, enum report_kind kind)
{
	const struct waiting_report *w;

	if (session->reporting)
		STAILQ_FOREACH(w, &session->reporting->reports, next)
			if (w->report.kind == kind)
				return true;
	return false;
}

void n4_reports_take(struct n4 *n4, struct n4_session *session, uint32_t urr,
		     void (*put)(void *ctx, const struct pfcp_usage_report *report), void *ctx)
{
	struct n4_reporting *r = session->reporting;
	struct waiting_report *report, *next;

	for (report = r ? STAILQ_FIRST(&r->reports) : NULL; report; report = next) {
		next = STAILQ_NEXT(report, next);
		if (report->report.kind != REPORT_USAGE || report->report.usage.urr_id != urr)
			continue;
		put(ctx, &report->report.usage);
		if (!report->sent)
			report_free(n4, r, report);
	}
	if (r && STAILQ_EMPTY(&r->reports))
		due_take(n4, r);
}

void n4_reports_put(const struct n4_session *session, struct pfcp_writer *w, uint16_t type)
{
	const struct waiting_report *report;

	if (session->reporting)
		STAILQ_FOREACH(report, &session->reporting->reports, next)
			if (report->report.kind == REPORT_USAGE)
				pfcp_usage_report_encode(w, type, &report->report.usage);
}

void n4_reports_drop(struct n4 *n4, struct n4_session *session)
{
	struct n4_reporting *r = session->reporting;

	if (!r)
		return;
	while (!STAILQ_EMPTY(&r->reports))
		report_free(n4, r, STAILQ_FIRST(&r->reports));
	due_take(n4, r);
	if (r->request)
		xact_cancel(n4, r->request);
	free(r);
	session->reporting = NULL;
}

// --- sending ---------------------------------------------------------------------------------------------

static void report_encode(struct pfcp_writer *w, const struct report *report)
{
	switch (report->kind) {
	case REPORT_DOWNLINK_DATA:
		pfcp_downlink_data_report_encode(
			w, &report->downlink.pdr, 1,
			report->downlink.has_service ? &report->downlink.service : NULL);
		break;
	case REPORT_USAGE:
		pfcp_usage_report_encode(w, PFCP_IE_USAGE_REPORT, &report->usage);
		break;
	case REPORT_ERROR_INDICATION:
		pfcp_error_indication_report_encode(w, &report->remote);
		break;
	case REPORT_INACTIVITY:
	case REPORT_KINDS:
		break; // said by the type alone
	}
}

// Only one report of downlink data and one of an error stand in a message (7.5.8.1).
static bool fits_beside(uint64_t types, const struct report *report)
{
	return report->kind == REPORT_USAGE || !(types & type_bits[report->kind]);
}

// Writes the request and marks what it says. Gives its bytes.
static size_t request_write(struct n4 *n4, struct n4_reporting *r)
{
	struct pfcp_writer w;
	struct waiting_report *report;
	uint64_t types = 0;
	size_t bytes = 0;

	STAILQ_FOREACH(report, &r->reports, next) {
		report->sent = bytes < REPORT_BYTES_MAX && fits_beside(types, &report->report);
		if (!report->sent)
			continue;
		report->tried = true;
		types |= type_bits[report->report.kind];
		bytes += REPORT_ROOM;
	}
	pfcp_writer_init(&w, n4->out, sizeof(n4->out));
	pfcp_msg_begin(&w, PFCP_SESSION_REPORT_REQUEST, r->session->cp_seid, 0);
	pfcp_uint_encode(&w, PFCP_IE_REPORT_TYPE, types);
	STAILQ_FOREACH(report, &r->reports, next)
		if (report->sent)
			report_encode(&w, &report->report);
	load_encode(&w, n4, r->session->assoc->cp_features, false);
	return pfcp_msg_end(&w);
}

// What has been taken goes; what nobody took stays if it is worth it.
static void sent_end(struct n4 *n4, struct n4_reporting *r, bool taken)
{
	struct waiting_report *report, *next;

	r->request = 0;
	for (report = STAILQ_FIRST(&r->reports); report; report = next) {
		next = STAILQ_NEXT(report, next);
		if (!report->sent)
			continue;
		report->sent = false;
		if (taken || report->report.kind != REPORT_USAGE)
			report_free(n4, r, report);
	}
	if (!STAILQ_EMPTY(&r->reports))
		due_put(n4, r, clock_now_ns() + (taken ? 0 : REPORT_AGAIN_NS));
}

static void report_failed(struct n4 *n4, struct n4_session *session)
{
	if (n4->sessions->report_failed)
		n4->sessions->report_failed(n4, session);
}

static void report_answered(struct n4 *n4, const struct pfcp_msg *answer, void *ctx)
{
	struct n4_session *session = ctx; // the request is cancelled when it ends
	struct n4_reporting *r = session->reporting;
	uint64_t cause;

	if (!answer) {
		sent_end(n4, r, false);
		report_failed(n4, session);
		return;
	}
	cause = pfcp_uint_find(answer->ies, PFCP_IE_CAUSE);
	sent_end(n4, r, true);
	if (cause == PFCP_CAUSE_ACCEPTED) {
		if (n4->sessions->report_accepted)
			n4->sessions->report_accepted(n4, session, answer);
		return;
	}
	n4_count(n4, N4_COUNT_reports_refused);
	if (cause == PFCP_CAUSE_NO_SESSION) {
		log_info_limited("N4: the SMF does not know the session with SEID 0x%" PRIx64
				 " any more: it ends",
				 session->seid);
		session_end_local(n4, session);
		return;
	}
	report_failed(n4, session);
}

static void request_send(struct n4 *n4, struct n4_reporting *r)
{
	struct endpoint to = {.addr = *r->session->cp_addr, .port = PFCP_PORT};
	size_t bytes = request_write(n4, r);

	if (bytes &&
	    xact_request(n4, &to, n4->out, bytes, report_answered, r->session, &r->request) == 0)
		return;
	sent_end(n4, r, false);
	report_failed(n4, r->session);
}

void n4_reports_tick(struct n4 *n4)
{
	const struct n4_reporting *last = TAILQ_LAST(&n4->sessions->reporting, n4_reporting_list);
	uint64_t now = clock_now_ns();

	for (unsigned n = 0; last && n < REPORTS_A_TICK; n++) {
		struct n4_reporting *r = TAILQ_FIRST(&n4->sessions->reporting);
		bool done = r == last;

		due_take(n4, r);
		if (r->due_ns > now || r->session->assoc->state == ASSOC_LOST)
			due_put(n4, r, r->due_ns); // others have their turn
		else
			request_send(n4, r);
		if (done)
			return;
	}
}
