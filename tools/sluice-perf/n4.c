// The association, the requests that are open, and what the UPF asks. See n4.h.
// One thread.
//
// A request's place is its sequence number's low bits; a number whose place is taken is left out. Requests are not
// kept: one that is sent again is written again, to the same octets.

#include "n4.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rand.h"
#include "pfcp/codec.h"
#include "pfcp/print.h"
#include "pfcp/writer.h"

#define T1_NS NS_PER_SEC
#define N1 3 // sends of a request in all
#define MESSAGE_MAX 1400
#define SOCKET_BUFFER (8 << 20)
#define DATAGRAMS_A_POLL 256
#define PLACES (2 * N4_WINDOW_MAX)
#define SEQ_MAX 0xffffffu
#define SEQ_ASSOCIATION 1u // no request of a session has it

const char *const n4_verb_names[N4_VERBS] = {"establish", "modify", "delete"};

struct request {
	uint64_t sent_ns, first_ns;
	uint32_t seq; // 0: the place is free
	uint32_t session;
	uint8_t verb, sent;
};

struct n4 {
	struct n4_conf conf;
	int fd;
	uint32_t recovery, seid_tag;
	uint32_t seq; // of the last request
	unsigned n_open;
	uint64_t look_ns; // when requests are next looked at
	bool association_answered;
	unsigned association_cause;
	n4_done_fn done;
	void *done_ctx;
	struct n4_session *sessions;
	struct n4_counts counts;
	struct request requests[PLACES];
	uint8_t datagram[PFCP_MSG_MAX];
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "sluice-perf: N4: %s: %s\n", what, why);
	exit(1);
}

static void send_out(const struct n4 *n4, struct pfcp_writer *w)
{
	size_t len = pfcp_msg_end(w);

	if (len == 0)
		die("a message", "does not fit");
	// What is not sent is as good as lost: it is sent again.
	(void)!send(n4->fd, w->data, len, 0);
}

// --- requests --------------------------------------------------------------------------------------------

static void request_send(struct n4 *n4, struct request *r)
{
	static const uint8_t types[] = {
		[N4_ESTABLISH] = PFCP_SESSION_ESTABLISHMENT_REQUEST,
		[N4_MODIFY] = PFCP_SESSION_MODIFICATION_REQUEST,
		[N4_DELETE] = PFCP_SESSION_DELETION_REQUEST,
	};
	uint8_t bytes[MESSAGE_MAX];
	struct pfcp_writer w;
	uint64_t seid = r->verb == N4_ESTABLISH ? 0 : n4->sessions[r->session].up_seid;

	pfcp_writer_init(&w, bytes, sizeof(bytes));
	pfcp_msg_begin(&w, types[r->verb], seid, r->seq);
	if (r->verb == N4_ESTABLISH)
		n4_establish_put(&n4->conf, r->session,
				 (uint64_t)n4->seid_tag << 32 | (r->session + 1), &w);
	else if (r->verb == N4_MODIFY)
		n4_modify_put(&n4->conf, r->session, &w);
	send_out(n4, &w);
	r->sent++;
	r->sent_ns = clock_now_ns();
}

void n4_start(struct n4 *n4, enum n4_verb verb, uint32_t session)
{
	struct request *r;

	do {
		n4->seq = n4->seq < SEQ_MAX ? n4->seq + 1 : SEQ_ASSOCIATION + 1;
		r = &n4->requests[n4->seq % PLACES];
	} while (r->seq != 0);
	*r = (struct request){.seq = n4->seq, .session = session, .verb = (uint8_t)verb};
	n4->n_open++;
	request_send(n4, r);
	r->first_ns = r->sent_ns;
}

static void request_end(struct n4 *n4, struct request *r, bool ok)
{
	struct request ended = *r;

	r->seq = 0;
	n4->n_open--;
	n4->counts.done[ended.verb] += ok;
	n4->counts.failed[ended.verb] += !ok;
	if (ended.verb == N4_DELETE && ok)
		n4->sessions[ended.session].up_seid = 0;
	if (n4->done)
		n4->done(n4->done_ctx, ended.verb, ended.session, ok);
}

// Now and then is enough: T1 is a second.
static void requests_look(struct n4 *n4)
{
	uint64_t now = clock_now_ns();

	if (now < n4->look_ns)
		return;
	n4->look_ns = now + T1_NS / 100;
	for (unsigned i = 0; i < PLACES && n4->n_open; i++) {
		struct request *r = &n4->requests[i];

		if (r->seq == 0 || now < r->sent_ns + T1_NS)
			continue;
		if (r->sent == N1) {
			request_end(n4, r, false);
			continue;
		}
		n4->counts.sent_again++;
		request_send(n4, r);
	}
}

unsigned n4_open_requests(const struct n4 *n4)
{
	return n4->n_open;
}

// --- what arrives ----------------------------------------------------------------------------------------

static unsigned cause_of(const struct pfcp_msg *msg)
{
	return (unsigned)pfcp_uint_find(msg->ies, PFCP_IE_CAUSE);
}

static void answer_take(struct n4 *n4, const struct pfcp_msg *msg)
{
	struct request *r = &n4->requests[msg->seq % PLACES];
	bool ok = cause_of(msg) == PFCP_CAUSE_ACCEPTED;

	if (msg->seq == SEQ_ASSOCIATION) {
		n4->association_answered = true;
		n4->association_cause = cause_of(msg);
		return;
	}
	if (r->seq != msg->seq)
		return; // late
	if (ok && r->verb == N4_ESTABLISH)
		ok = n4_established_take(msg, &n4->sessions[r->session]);
	histogram_add(&n4->counts.ns[r->verb], clock_now_ns() - r->first_ns);
	request_end(n4, r, ok);
}

// Heartbeats and reports are accepted.
static void asked_take(struct n4 *n4, const struct pfcp_msg *msg)
{
	uint8_t bytes[256];
	struct pfcp_writer w;
	uint32_t session = (uint32_t)msg->seid - 1;
	bool known = msg->has_seid && session < n4->conf.sessions;

	pfcp_writer_init(&w, bytes, sizeof(bytes));
	pfcp_msg_begin(&w, (uint8_t)(msg->type + 1), known ? n4->sessions[session].up_seid : 0,
		       msg->seq);
	if (msg->type == PFCP_HEARTBEAT_REQUEST) {
		pfcp_uint_encode(&w, PFCP_IE_RECOVERY_TIME_STAMP, n4->recovery);
	} else {
		if (!msg->has_seid)
			n4_node_id_put(&n4->conf, &w);
		pfcp_uint_encode(&w, PFCP_IE_CAUSE, PFCP_CAUSE_ACCEPTED);
	}
	n4->counts.reports += msg->type == PFCP_SESSION_REPORT_REQUEST;
	send_out(n4, &w);
}

static void datagram_take(struct n4 *n4, size_t len)
{
	struct pfcp_cursor cursor = pfcp_cursor_of(n4->datagram, len);
	struct pfcp_fault fault = {0};
	struct pfcp_msg msg;

	do {
		if (pfcp_msg_decode(&cursor, &msg) != 0 || pfcp_msg_check(&msg, &fault) != 0)
			return;
		if (msg.info->request)
			asked_take(n4, &msg);
		else
			answer_take(n4, &msg);
	} while (msg.more);
}

void n4_poll(struct n4 *n4, int wait_ms)
{
	struct pollfd pollfd = {.fd = n4->fd, .events = POLLIN};

	if (wait_ms)
		poll(&pollfd, 1, wait_ms);
	for (unsigned i = 0; i < DATAGRAMS_A_POLL; i++) {
		ssize_t n = recv(n4->fd, n4->datagram, sizeof(n4->datagram), MSG_DONTWAIT);

		if (n < 0 && errno == ECONNREFUSED)
			continue; // nobody listens there (yet)
		if (n < 0)
			break;
		datagram_take(n4, (size_t)n);
	}
	requests_look(n4);
}

// --- life ------------------------------------------------------------------------------------------------

static int socket_open(const struct n4_conf *conf)
{
	const struct endpoint local = {.addr = conf->smf, .port = PFCP_PORT};
	const struct endpoint peer = {.addr = conf->upf, .port = PFCP_PORT};
	struct sockaddr_storage here, there;
	socklen_t here_len = endpoint_to_sockaddr(&local, &here);
	socklen_t there_len = endpoint_to_sockaddr(&peer, &there);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int size = SOCKET_BUFFER;

	if (fd < 0)
		die("socket", strerror(errno));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, (const struct sockaddr *)&here, here_len) != 0 ||
	    connect(fd, (const struct sockaddr *)&there, there_len) != 0)
		die("the SMF's address", strerror(errno));
	return fd;
}

// Sends a request of the association, each second until its answer comes. Gives the cause, 0: none came.
static unsigned association_ask(struct n4 *n4, uint8_t type, unsigned seconds)
{
	uint8_t bytes[256];
	struct pfcp_writer w;

	n4->association_answered = false;
	for (unsigned sent = 0; sent < seconds && !n4->association_answered; sent++) {
		uint64_t until = clock_now_ns() + T1_NS;

		pfcp_writer_init(&w, bytes, sizeof(bytes));
		pfcp_msg_begin(&w, type, 0, SEQ_ASSOCIATION);
		n4_node_id_put(&n4->conf, &w);
		if (type == PFCP_ASSOCIATION_SETUP_REQUEST)
			pfcp_uint_encode(&w, PFCP_IE_RECOVERY_TIME_STAMP, n4->recovery);
		send_out(n4, &w);
		while (!n4->association_answered && clock_now_ns() < until)
			n4_poll(n4, 10);
	}
	return n4->association_answered ? n4->association_cause : 0;
}

struct n4 *n4_open(const struct n4_conf *conf)
{
	struct n4 *n4 = calloc(1, sizeof(*n4));
	unsigned cause;

	if (!n4)
		die("start", "no memory");
	n4->conf = *conf;
	n4->recovery = clock_ntp_s();
	n4->seid_tag = rand_u32() | 1;
	n4->sessions = calloc(conf->sessions, sizeof(*n4->sessions));
	if (!n4->sessions)
		die("start", "no memory");
	n4->seq = SEQ_ASSOCIATION;
	n4->fd = socket_open(conf);
	cause = association_ask(n4, PFCP_ASSOCIATION_SETUP_REQUEST, conf->wait_s);
	if (cause != PFCP_CAUSE_ACCEPTED)
		die("no association", cause ? pfcp_cause_str((uint8_t)cause) : "no answer");
	return n4;
}

void n4_close(struct n4 *n4)
{
	n4->done = NULL;
	association_ask(n4, PFCP_ASSOCIATION_RELEASE_REQUEST, N1);
	close(n4->fd);
	free(n4->sessions);
	free(n4);
}

void n4_on_done(struct n4 *n4, n4_done_fn done, void *ctx)
{
	n4->done = done;
	n4->done_ctx = ctx;
}

uint32_t n4_run(struct n4 *n4, enum n4_verb verb, uint32_t from, uint32_t to, unsigned window)
{
	uint64_t failed = n4->counts.failed[verb];

	while (from < to || n4->n_open) {
		while (from < to && n4->n_open < window)
			n4_start(n4, verb, from++);
		n4_poll(n4, 1);
	}
	return (uint32_t)(n4->counts.failed[verb] - failed);
}

const struct n4_session *n4_session_get(const struct n4 *n4, uint32_t session)
{
	return &n4->sessions[session];
}

struct n4_counts *n4_counts(struct n4 *n4)
{
	return &n4->counts;
}
