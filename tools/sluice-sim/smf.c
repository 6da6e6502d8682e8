// The association, its transactions, and the requests of the UPF. See smf.h.
// One thread, the event loop's.

#include "smf.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/print.h"
#include "scenario.h"
#include "sim.h"

#define N1 3            // sends of a request in all
#define XACTS (256 + 4) // the largest window, and those of the association
#define REQUEST_MAX 2048
#define DATAGRAMS_A_TURN 64
#define RECEIVE_BUFFER (4 << 20)

// A request that waits for its answer.
struct xact {
	TAILQ_ENTRY(xact) next;
	struct smf *smf;
	struct event *timer;
	smf_done_fn done;
	void *ctx;
	uint32_t seq;
	uint8_t type;
	unsigned sent;
	size_t len;
	uint8_t bytes[REQUEST_MAX];
};

TAILQ_HEAD(xact_list, xact);

struct smf {
	struct sim *sim;
	int fd;
	struct event *readable;
	struct event *heartbeat;
	struct xact_list open, idle; // open: oldest first
	struct xact *writing;        // between begin and send
	struct pfcp_writer writer;
	uint32_t n_open;
	uint32_t seq;
	uint32_t recovery;      // ours
	uint32_t peer_recovery; // the UPF's, once associated
	bool associated;
	bool heartbeat_open; // one waits for its answer
	struct xact xacts[XACTS];
	uint8_t datagram[PFCP_MSG_MAX];
};

// ---- requests ----

static void xact_send(struct xact *x)
{
	struct smf *smf = x->smf;
	uint32_t ms = smf->sim->options.t1_ms;
	const struct timeval t1 = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	x->sent++;
	// An error is as good as a lost datagram: it is sent again.
	if (send(smf->fd, x->bytes, x->len, 0) < 0)
		log_warn_limited("N4: cannot send: %s", strerror(errno));
	event_add(x->timer, &t1);
}

// Takes a transaction out and tells its end. The answer may be NULL.
static void xact_end(struct xact *x, const struct pfcp_msg *answer)
{
	struct smf *smf = x->smf;
	smf_done_fn done = x->done;
	void *ctx = x->ctx;

	event_del(x->timer);
	TAILQ_REMOVE(&smf->open, x, next);
	TAILQ_INSERT_TAIL(&smf->idle, x, next);
	smf->n_open--;
	done(smf->sim, ctx, answer);
	ue_pump(smf->sim);
}

static void xact_due(evutil_socket_t fd, short what, void *ctx)
{
	struct xact *x = ctx;

	if (x->sent < N1) {
		x->smf->sim->counters.retransmissions++;
		log_debug("N4: sending %s %u again", pfcp_msg_type_str(x->type), x->seq);
		xact_send(x);
		return;
	}
	log_error_limited("N4: no answer to %s", pfcp_msg_type_str(x->type));
	xact_end(x, NULL);
}

bool smf_room(const struct smf *smf)
{
	return smf->n_open < smf->sim->options.window;
}

struct pfcp_writer *smf_request_begin(struct smf *smf, uint8_t type, uint64_t seid)
{
	struct xact *x = TAILQ_FIRST(&smf->idle);

	assert(x && !smf->writing);
	smf->writing = x;
	smf->seq = smf->seq % 0xffffff + 1;
	x->type = type;
	x->seq = smf->seq;
	pfcp_writer_init(&smf->writer, x->bytes, sizeof(x->bytes));
	pfcp_msg_begin(&smf->writer, type, seid, x->seq);
	return &smf->writer;
}

void smf_request_send(struct smf *smf, smf_done_fn done, void *ctx)
{
	struct xact *x = smf->writing;

	smf->writing = NULL;
	x->len = pfcp_msg_end(&smf->writer);
	assert(x->len > 0); // names are bounded by the options
	x->done = done;
	x->ctx = ctx;
	x->sent = 0;
	TAILQ_REMOVE(&smf->idle, x, next);
	TAILQ_INSERT_TAIL(&smf->open, x, next);
	smf->n_open++;
	xact_send(x);
}

// ---- what answers say ----

static bool uint_find(struct pfcp_cursor ies, uint16_t type, uint64_t *ret_value)
{
	struct pfcp_fault fault = {0};
	struct pfcp_ie ie;

	return pfcp_ie_find(ies, type, &ie) == 0 && pfcp_uint_decode(&ie, ret_value, &fault) == 0;
}

uint8_t smf_cause(const struct pfcp_msg *answer)
{
	uint64_t cause = 0;

	return uint_find(answer->ies, PFCP_IE_CAUSE, &cause) ? (uint8_t)cause : 0;
}

bool smf_accepted(const struct pfcp_msg *answer, char *text, size_t size)
{
	static const char *const rules[] = {"PDR", "FAR", "QER", "URR", "BAR", "MAR", "SRR"};
	struct pfcp_failed_rule rule;
	struct pfcp_fault fault = {0};
	struct pfcp_ie ie;
	uint64_t offending;
	uint8_t cause;
	int n;

	if (!answer) {
		snprintf(text, size, "no answer");
		return false;
	}
	cause = smf_cause(answer);
	if (cause == PFCP_CAUSE_ACCEPTED)
		return true;
	n = snprintf(text, size, "%s (cause %u)", pfcp_cause_str(cause), cause);
	if (n < 0 || (size_t)n >= size)
		return false;
	if (uint_find(answer->ies, PFCP_IE_OFFENDING_IE, &offending))
		n += snprintf(text + n, size - (size_t)n, ", offending IE %s",
			      pfcp_ie_type_str((uint16_t)offending));
	if ((size_t)n < size && pfcp_ie_find(answer->ies, PFCP_IE_FAILED_RULE_ID, &ie) == 0 &&
	    pfcp_failed_rule_decode(&ie, &rule, &fault) == 0 &&
	    rule.type < sizeof(rules) / sizeof(rules[0]))
		snprintf(text + n, size - (size_t)n, ", rule %s %u", rules[rule.type], rule.id);
	return false;
}

// ---- our addresses ----

static struct in6_addr in6_of(const struct addr *addr)
{
	struct in6_addr in6;

	memcpy(&in6, addr->v6, sizeof(in6));
	return in6;
}

void smf_node_id_put(const struct sim *sim, struct pfcp_writer *w)
{
	const struct addr *smf = &sim->options.smf;
	struct pfcp_node_id id = {.type = PFCP_NODE_ID_IPV4};

	if (smf->family == ADDR_V4) {
		id.v4.s_addr = smf->v4;
	} else {
		id.type = PFCP_NODE_ID_IPV6;
		id.v6 = in6_of(smf);
	}
	pfcp_node_id_encode(w, &id);
}

void smf_f_seid_put(const struct sim *sim, struct pfcp_writer *w, uint64_t seid)
{
	const struct addr *smf = &sim->options.smf;
	struct pfcp_f_seid id = {.flags = PFCP_F_SEID_V4, .seid = seid};

	if (smf->family == ADDR_V4) {
		id.v4.s_addr = smf->v4;
	} else {
		id.flags = PFCP_F_SEID_V6;
		id.v6 = in6_of(smf);
	}
	pfcp_f_seid_encode(w, &id);
}

// ---- association and heartbeats ----

// A UPF with another recovery time stamp has forgotten all sessions (TS 29.244 6.2.2).
static void recovery_check(struct smf *smf, const struct pfcp_msg *msg)
{
	uint64_t recovery;

	if (!smf->associated || !uint_find(msg->ies, PFCP_IE_RECOVERY_TIME_STAMP, &recovery) ||
	    (uint32_t)recovery == smf->peer_recovery)
		return;
	log_error("the UPF has restarted: its sessions are gone");
	smf->associated = false;
	sim_stop(smf->sim, true);
}

static void heartbeat_done(struct sim *sim, void *ctx, const struct pfcp_msg *answer)
{
	struct smf *smf = ctx;

	smf->heartbeat_open = false;
	if (answer) {
		recovery_check(smf, answer);
		return;
	}
	log_error("the UPF does not answer heartbeats any more");
	smf->associated = false;
	sim_stop(sim, true);
}

static void heartbeat_due(evutil_socket_t fd, short what, void *ctx)
{
	struct smf *smf = ctx;
	struct pfcp_writer *w;

	if (smf->heartbeat_open)
		return;
	smf->heartbeat_open = true;
	w = smf_request_begin(smf, PFCP_HEARTBEAT_REQUEST, 0);
	pfcp_uint_encode(w, PFCP_IE_RECOVERY_TIME_STAMP, smf->recovery);
	smf_request_send(smf, heartbeat_done, smf);
}

static void associated(struct sim *sim, void *ctx, const struct pfcp_msg *answer)
{
	const struct timeval interval = {.tv_sec = sim->options.heartbeat_s};
	struct smf *smf = ctx;
	char name[ENDPOINT_STRLEN], why[200];
	uint64_t recovery = 0, features = 0;

	endpoint_str(name, &sim->options.n4);
	if (!smf_accepted(answer, why, sizeof(why))) {
		log_error("no association with %s: %s", name, why);
		sim_stop(sim, true);
		return;
	}
	uint_find(answer->ies, PFCP_IE_UP_FUNCTION_FEATURES, &features);
	if (!(features & PFCP_UP_FUNCTION_FEATURES_FTUP)) {
		log_error("%s does not allocate F-TEIDs (FTUP), which is needed here", name);
		sim_stop(sim, true);
		return;
	}
	uint_find(answer->ies, PFCP_IE_RECOVERY_TIME_STAMP, &recovery);
	smf->peer_recovery = (uint32_t)recovery;
	smf->associated = true;
	event_add(smf->heartbeat, &interval);
	sim_say("associated with %s", name);
	scenario_go(sim);
}

void smf_associate(struct smf *smf)
{
	struct pfcp_writer *w = smf_request_begin(smf, PFCP_ASSOCIATION_SETUP_REQUEST, 0);

	smf_node_id_put(smf->sim, w);
	pfcp_uint_encode(w, PFCP_IE_RECOVERY_TIME_STAMP, smf->recovery);
	pfcp_octets_encode(w, PFCP_IE_CP_FUNCTION_FEATURES, "\0", 1);
	smf_request_send(smf, associated, smf);
}

static void released(struct sim *sim, void *ctx, const struct pfcp_msg *answer)
{
	char why[200];

	if (smf_accepted(answer, why, sizeof(why)))
		sim_say("association released");
	else
		log_error("the association was not released: %s", why);
	sim_stop(sim, !answer || smf_cause(answer) != PFCP_CAUSE_ACCEPTED);
}

void smf_release(struct smf *smf)
{
	struct pfcp_writer *w;

	event_del(smf->heartbeat);
	if (!smf->associated) {
		sim_stop(smf->sim, false);
		return;
	}
	smf->associated = false;
	w = smf_request_begin(smf, PFCP_ASSOCIATION_RELEASE_REQUEST, 0);
	smf_node_id_put(smf->sim, w);
	smf_request_send(smf, released, smf);
}

// ---- what the UPF asks ----

static void report_downlink_data(struct smf *smf, struct ue *ue, const struct pfcp_msg *msg)
{
	struct pfcp_ie group;
	uint64_t pdr_id = 0;

	if (pfcp_ie_find(msg->ies, PFCP_IE_DOWNLINK_DATA_REPORT, &group) == 0)
		uint_find(pfcp_ie_members(&group), PFCP_IE_PDR_ID, &pdr_id);
	ue_paged(smf->sim, ue, (uint16_t)pdr_id);
}

// A Session Report Request (7.5.8), when it is answered.
static void report_take(struct smf *smf, struct ue *ue, const struct pfcp_msg *msg)
{
	uint64_t kinds = 0;

	smf->sim->counters.reports++;
	if (!ue)
		return;
	uint_find(msg->ies, PFCP_IE_REPORT_TYPE, &kinds);
	if (kinds & PFCP_REPORT_TYPE_DLDR)
		report_downlink_data(smf, ue, msg);
	if (kinds & PFCP_REPORT_TYPE_ERIR)
		ue_tunnel_lost(smf->sim, ue);
	if (kinds & PFCP_REPORT_TYPE_USAR)
		sim_say_ue(smf->sim, ue, "usage report");
	if (kinds & PFCP_REPORT_TYPE_UPIR)
		sim_say_ue(smf->sim, ue, "reported as inactive");
}

// The requests that a UPF may make, what answers them and which of our IEs an answer has.
static const struct asked {
	uint8_t request, answer;
	bool node_id, cause, recovery;
	const char *text; // NULL: too common to be told
} asked[] = {
	{PFCP_HEARTBEAT_REQUEST, PFCP_HEARTBEAT_RESPONSE, .recovery = true},
	{PFCP_SESSION_REPORT_REQUEST, PFCP_SESSION_REPORT_RESPONSE, .cause = true},
	{PFCP_NODE_REPORT_REQUEST, PFCP_NODE_REPORT_RESPONSE, .node_id = true, .cause = true,
	 .text = "the UPF reports about a path"},
	{PFCP_ASSOCIATION_UPDATE_REQUEST, PFCP_ASSOCIATION_UPDATE_RESPONSE, .node_id = true,
	 .cause = true, .text = "the UPF updates the association"},
};

static const struct asked *asked_lookup(uint8_t type)
{
	for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		if (asked[i].request == type)
			return &asked[i];
	}
	return NULL;
}

// Answers first, so that what follows from the request comes after it.
static void request_take(struct smf *smf, const struct asked *row, const struct pfcp_msg *msg)
{
	struct ue *ue = msg->has_seid ? ue_by_seid(smf->sim, msg->seid) : NULL;
	bool known = !msg->has_seid || ue;
	struct pfcp_writer w;
	uint8_t bytes[256];
	size_t len;

	pfcp_writer_init(&w, bytes, sizeof(bytes));
	pfcp_msg_begin(&w, row->answer, ue ? ue->up_seid : 0, msg->seq);
	if (row->node_id)
		smf_node_id_put(smf->sim, &w);
	if (row->cause)
		pfcp_uint_encode(&w, PFCP_IE_CAUSE,
				 known ? PFCP_CAUSE_ACCEPTED : PFCP_CAUSE_NO_SESSION);
	if (row->recovery)
		pfcp_uint_encode(&w, PFCP_IE_RECOVERY_TIME_STAMP, smf->recovery);
	len = pfcp_msg_end(&w);
	if (send(smf->fd, bytes, len, 0) < 0)
		log_warn_limited("N4: cannot send: %s", strerror(errno));
	if (row->text)
		sim_say("%s", row->text);
}

static void answer_take(struct smf *smf, const struct pfcp_msg *msg)
{
	struct xact *x;

	// Answers come about in the order of their requests, so this looks at one or two.
	TAILQ_FOREACH(x, &smf->open, next) {
		if (x->seq == msg->seq && x->type + 1 == msg->type) {
			xact_end(x, msg);
			return;
		}
	}
	log_debug("N4: nobody waits for %s %u", pfcp_msg_type_str(msg->type), msg->seq);
}

static void message_take(struct smf *smf, struct pfcp_msg *msg)
{
	const struct asked *row = asked_lookup(msg->type);
	struct pfcp_fault fault = {0};

	if (pfcp_msg_check(msg, &fault) < 0) {
		log_warn_limited("N4: %s is wrong: %s", pfcp_msg_type_str(msg->type), fault.text);
		return;
	}
	if (!msg->info->request) {
		answer_take(smf, msg);
		return;
	}
	if (!row) {
		log_warn_limited("N4: %s is not for an SMF like this",
				 pfcp_msg_type_str(msg->type));
		return;
	}
	request_take(smf, row, msg);
	if (msg->type == PFCP_SESSION_REPORT_REQUEST)
		report_take(smf, ue_by_seid(smf->sim, msg->seid), msg);
	else if (msg->type == PFCP_HEARTBEAT_REQUEST)
		recovery_check(smf, msg);
}

static void datagram_take(struct smf *smf, size_t len)
{
	struct pfcp_cursor cursor = pfcp_cursor_of(smf->datagram, len);
	struct pfcp_msg msg;
	int rc;

	do {
		rc = pfcp_msg_decode(&cursor, &msg);
		if (rc < 0) {
			log_warn_limited("N4: a datagram of %zu octets is no PFCP: %s", len,
					 strerror(-rc));
			return;
		}
		message_take(smf, &msg);
	} while (msg.more);
}

static void smf_read(evutil_socket_t fd, short what, void *ctx)
{
	struct smf *smf = ctx;

	for (unsigned i = 0; i < DATAGRAMS_A_TURN; i++) {
		ssize_t n = recv(fd, smf->datagram, sizeof(smf->datagram), MSG_DONTWAIT);

		if (n < 0 && errno == ECONNREFUSED)
			continue; // nobody listens there (yet); the transaction's timer goes on
		if (n < 0)
			return;
		datagram_take(smf, (size_t)n);
	}
}

// ---- life ----

// A socket that only hears the UPF, or -errno.
static int smf_socket(const struct options *o)
{
	const struct endpoint local = {.addr = o->smf, .port = PFCP_PORT};
	struct sockaddr_storage here, there;
	socklen_t here_len = endpoint_to_sockaddr(&local, &here);
	socklen_t there_len = endpoint_to_sockaddr(&o->n4, &there);
	int fd = socket(here.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int size = RECEIVE_BUFFER, rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, (const struct sockaddr *)&here, here_len) == 0 &&
	    connect(fd, (const struct sockaddr *)&there, there_len) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int xacts_init(struct smf *smf)
{
	TAILQ_INIT(&smf->open);
	TAILQ_INIT(&smf->idle);
	for (unsigned i = 0; i < XACTS; i++) {
		struct xact *x = &smf->xacts[i];

		x->smf = smf;
		x->timer = evtimer_new(smf->sim->base, xact_due, x);
		if (!x->timer)
			return -ENOMEM;
		TAILQ_INSERT_TAIL(&smf->idle, x, next);
	}
	return 0;
}

struct smf *smf_new(struct sim *sim)
{
	struct smf *smf = calloc(1, sizeof(*smf));
	char text[ADDR_STRLEN];

	if (!smf) {
		log_error("not enough memory");
		return NULL;
	}
	smf->sim = sim;
	smf->recovery = clock_ntp_s();
	smf->fd = smf_socket(&sim->options);
	if (smf->fd < 0) {
		log_error("cannot use %s as the SMF's address: %s",
			  addr_str(text, &sim->options.smf), strerror(-smf->fd));
		smf_free(smf);
		return NULL;
	}
	smf->readable = event_new(sim->base, smf->fd, EV_READ | EV_PERSIST, smf_read, smf);
	smf->heartbeat = event_new(sim->base, -1, EV_PERSIST, heartbeat_due, smf);
	if (xacts_init(smf) < 0 || !smf->readable || !smf->heartbeat) {
		log_error("not enough memory");
		smf_free(smf);
		return NULL;
	}
	event_add(smf->readable, NULL);
	return smf;
}

static void event_drop(struct event *event)
{
	if (event)
		event_free(event);
}

void smf_free(struct smf *smf)
{
	if (!smf)
		return;
	for (unsigned i = 0; i < XACTS; i++)
		event_drop(smf->xacts[i].timer);
	event_drop(smf->heartbeat);
	event_drop(smf->readable);
	if (smf->fd >= 0)
		close(smf->fd);
	free(smf);
}
