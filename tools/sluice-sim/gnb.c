// N3 as a gNB sees it. See gnb.h.
//
// A user packet up gets a PDU Session Container with its QFI; one down is found by its TEID and given
// to the device. A gNB that does not know a TEID says so (TS 29.281 7.3.1).

#include "gnb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "packet/gtpu.h"
#include "sim.h"
#include "ue_tun.h"

#define ROUNDS 4 // batches before other events have their turn
#define DATAGRAM_MAX 65536
#define SOCKET_BUFFER (4 << 20)
#define PSC_UPLINK 0x10 // PDU type 1 (TS 38.415 5.5.2.2)
static_assert(GNB_HEADROOM == GTPU_BYTES + GTPU_OPTION_BYTES + GTPU_PSC_BYTES,
	      "a header with one extension is what a packet gets");

// What is being sent and received by one system call.
struct gnb_batch {
	struct mmsghdr up[GNB_BATCH];
	struct iovec up_parts[GNB_BATCH];
	unsigned n_up;
	uint64_t up_bytes[GNB_BATCH]; // of the user's packets
	struct mmsghdr down[GNB_BATCH];
	struct iovec down_parts[GNB_BATCH];
	struct sockaddr_storage from[GNB_BATCH];
	uint8_t bytes[GNB_BATCH][DATAGRAM_MAX];
};

// ---- up ----

// Sends what is in a batch; the socket blocks while the device is busy. What the kernel refuses is
// counted and left out.
static void gnb_flush(struct gnb *gnb)
{
	struct sim_counters *counters = &gnb->sim->counters;
	struct gnb_batch *b = gnb->batch;

	for (unsigned at = 0; at < b->n_up;) {
		int n = sendmmsg(gnb->fd, b->up + at, b->n_up - at, 0);

		if (n <= 0) {
			log_warn_limited("gNB: cannot send: %s", strerror(errno));
			counters->not_sent++;
			at++;
			continue;
		}
		for (int i = 0; i < n; i++, at++) {
			counters->up_packets++;
			counters->up_bytes += b->up_bytes[at];
		}
	}
	b->n_up = 0;
}

void gnb_up(struct sim *sim, const struct ue *ue, uint8_t *packet, uint32_t len)
{
	struct gnb *gnb = &sim->gnbs[ue->gnb];
	struct gnb_batch *b = gnb->batch;
	uint8_t *to = packet - GNB_HEADROOM;
	struct gtpu_psc *psc = (struct gtpu_psc *)(to + GTPU_BYTES + GTPU_OPTION_BYTES);
	unsigned i = b->n_up++;

	gtpu_gpdu_write(to, ue->teid_up, len, (uint8_t)sim->options.qfi, false);
	psc->pdu_type = PSC_UPLINK;
	b->up_bytes[i] = len;
	b->up_parts[i] = (struct iovec){.iov_base = to, .iov_len = len + GNB_HEADROOM};
	b->up[i].msg_hdr = (struct msghdr){
		.msg_name = (void *)(uintptr_t)&ue->n3,
		.msg_namelen = ue->n3_len,
		.msg_iov = &b->up_parts[i],
		.msg_iovlen = 1,
	};
	if (b->n_up == GNB_BATCH)
		gnb_flush(gnb);
}

void gnbs_flush(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->options.n_gnbs; i++)
		gnb_flush(&sim->gnbs[i]);
}

// ---- down ----

// A message that came: its header is whole, and its length is the datagram's.
struct message {
	const struct sockaddr *from;
	socklen_t from_len;
	const struct gtpu_head *head;
	const uint8_t *body; // behind the extension headers
	uint32_t len;
};

static void gnb_answer(struct gnb *gnb, const struct message *m, const uint8_t *bytes, uint32_t len)
{
	if (sendto(gnb->fd, bytes, len, 0, m->from, m->from_len) < 0)
		log_warn_limited("gNB: cannot answer: %s", strerror(errno));
}

// Sequence number of the request, and Recovery, which is 0 by rule (TS 29.281 7.2.2).
static void echo_take(struct gnb *gnb, const struct message *m)
{
	const uint8_t *octets = (const uint8_t *)m->head;
	uint16_t sequence = m->head->flags & GTPU_F_SEQUENCE ? be16_get(octets + GTPU_BYTES) : 0;
	uint8_t answer[GTPU_MESSAGE_BYTES_MAX];
	uint32_t len = gtpu_echo_request_build(answer, sequence);

	gnb->sim->counters.echo_requests++;
	answer[1] = GTPU_ECHO_RESPONSE;
	answer[len++] = 14; // Recovery (8.2)
	answer[len++] = 0;
	be16_put(answer + 2, (uint16_t)(len - GTPU_BYTES));
	gnb_answer(gnb, m, answer, len);
}

static void unknown_teid(struct gnb *gnb, const struct message *m, uint32_t teid)
{
	uint8_t answer[GTPU_MESSAGE_BYTES_MAX];
	struct endpoint from = {0};

	gnb->sim->counters.unknown_teid++;
	log_warn_limited("gNB: a packet for TEID %#x, which is not known", teid);
	endpoint_from_sockaddr(m->from, &from);
	gnb_answer(gnb, m, answer,
		   gtpu_error_indication_build(answer, teid, &gnb->addr, from.port));
}

// Is the packet's destination an address that some UE has, but another one than this?
static bool is_for_another(struct sim *sim, const struct ue *ue, const struct message *m)
{
	const struct ue *found = ue_by_packet(sim, m->body, m->len, false);

	return found && found != ue;
}

static void gpdu_take(struct gnb *gnb, const struct message *m)
{
	struct sim *sim = gnb->sim;
	uint32_t teid = be32_get(&m->head->teid);
	struct tunnel *tunnel;
	struct ue *ue = ue_by_teid(sim, teid, &tunnel);

	if (!ue || tunnel->gnb != gnb) {
		unknown_teid(gnb, m, teid);
		return;
	}
	if (is_for_another(sim, ue, m)) {
		sim->counters.wrong_ue++;
		return;
	}
	if (ue_tun_write(sim->tun, m->body, m->len) < 0) {
		sim->counters.not_delivered++;
		return;
	}
	sim->counters.down_packets++;
	sim->counters.down_bytes += m->len;
}

// The old path is empty: its tunnel is given up.
static void end_marker_take(struct gnb *gnb, const struct message *m)
{
	uint32_t teid = be32_get(&m->head->teid);
	struct tunnel *tunnel;
	struct ue *ue = ue_by_teid(gnb->sim, teid, &tunnel);

	gnb->sim->counters.end_markers++;
	if (!ue || tunnel->gnb != gnb)
		return;
	sim_say_ue(gnb->sim, ue, "end marker in TEID %#x", teid);
	if (tunnel == &ue->tunnels[TUNNEL_OLD])
		*tunnel = (struct tunnel){0};
}

static void error_indication_take(struct gnb *gnb, const struct message *m)
{
	char peer_text[ADDR_STRLEN];
	struct addr peer;
	uint32_t teid;

	gnb->sim->counters.error_indications++;
	if (gtpu_error_indication_decode(m->body, m->len, &teid, &peer) < 0) {
		gnb->sim->counters.malformed++;
		return;
	}
	log_warn_limited("gNB: error indication: %s does not know TEID %#x",
			 addr_str(peer_text, &peer), teid);
}

static void message_take(struct gnb *gnb, const struct message *m)
{
	switch (m->head->type) {
	case GTPU_GPDU:
		gpdu_take(gnb, m);
		break;
	case GTPU_ECHO_REQUEST:
		echo_take(gnb, m);
		break;
	case GTPU_END_MARKER:
		end_marker_take(gnb, m);
		break;
	case GTPU_ERROR_INDICATION:
		error_indication_take(gnb, m);
		break;
	default:
		break; // Echo Responses and Supported Extension Headers Notifications say nothing new
	}
}

static void datagram_take(struct gnb *gnb, const struct msghdr *h, uint32_t len)
{
	const uint8_t *octets = h->msg_iov->iov_base;
	struct message m = {
		.from = h->msg_name, .from_len = h->msg_namelen, .head = h->msg_iov->iov_base};
	uint32_t at = GTPU_BYTES;
	uint8_t qfi;

	if (len < GTPU_BYTES || (m.head->flags & 0xf0) != GTPU_VERSION ||
	    be16_get(&m.head->bytes) != len - GTPU_BYTES ||
	    (m.head->flags & GTPU_F_OPTION &&
	     gtpu_extensions_walk(octets, len, &at, &qfi) != DROP_NONE)) {
		gnb->sim->counters.malformed++;
		return;
	}
	m.body = octets + at;
	m.len = len - at;
	message_take(gnb, &m);
}

static void gnb_read(evutil_socket_t fd, short what, void *ctx)
{
	struct gnb *gnb = ctx;
	struct gnb_batch *b = gnb->batch;

	for (unsigned round = 0; round < ROUNDS; round++) {
		int n;

		for (unsigned i = 0; i < GNB_BATCH; i++)
			b->down[i].msg_hdr.msg_namelen = sizeof(b->from[i]);
		n = recvmmsg(fd, b->down, GNB_BATCH, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			datagram_take(gnb, &b->down[i].msg_hdr, b->down[i].msg_len);
		if (n < GNB_BATCH)
			return;
	}
}

// ---- life ----

static int gnb_socket(const struct addr *addr)
{
	const struct endpoint local = {.addr = *addr, .port = GTPU_PORT};
	struct sockaddr_storage here;
	socklen_t len = endpoint_to_sockaddr(&local, &here);
	int fd = socket(here.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int on = 1, size = SOCKET_BUFFER, rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	// Beyond net.core.rmem_max for whoever may make a TUN device.
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (bind(fd, (const struct sockaddr *)&here, len) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int gnb_open(struct sim *sim, struct gnb *gnb, const struct addr *addr)
{
	*gnb = (struct gnb){.sim = sim, .addr = *addr, .fd = gnb_socket(addr)};
	if (gnb->fd < 0)
		return gnb->fd;
	gnb->batch = calloc(1, sizeof(*gnb->batch));
	gnb->readable = event_new(sim->base, gnb->fd, EV_READ | EV_PERSIST, gnb_read, gnb);
	if (!gnb->batch || !gnb->readable)
		return -ENOMEM;
	for (unsigned i = 0; i < GNB_BATCH; i++) {
		struct gnb_batch *b = gnb->batch;

		b->down_parts[i] = (struct iovec){.iov_base = b->bytes[i], .iov_len = DATAGRAM_MAX};
		b->down[i].msg_hdr = (struct msghdr){
			.msg_name = &b->from[i], .msg_iov = &b->down_parts[i], .msg_iovlen = 1};
	}
	return event_add(gnb->readable, NULL) < 0 ? -ENOMEM : 0;
}

struct gnb *gnbs_new(struct sim *sim)
{
	struct gnb *gnbs = calloc(sim->options.n_gnbs, sizeof(*gnbs));
	char text[ADDR_STRLEN];

	sim->gnbs = gnbs;
	for (uint32_t i = 0; gnbs && i < sim->options.n_gnbs; i++)
		gnbs[i].fd = -1;
	for (uint32_t i = 0; gnbs && i < sim->options.n_gnbs; i++) {
		int rc = gnb_open(sim, &gnbs[i], &sim->options.gnbs[i]);

		if (rc < 0) {
			log_error("cannot use %s as a gNB's address: %s",
				  addr_str(text, &sim->options.gnbs[i]), strerror(-rc));
			gnbs_free(sim);
			return NULL;
		}
	}
	return gnbs;
}

void gnbs_free(struct sim *sim)
{
	for (uint32_t i = 0; sim->gnbs && i < sim->options.n_gnbs; i++) {
		struct gnb *gnb = &sim->gnbs[i];

		if (gnb->readable)
			event_free(gnb->readable);
		if (gnb->fd >= 0)
			close(gnb->fd);
		free(gnb->batch);
	}
	free(sim->gnbs);
	sim->gnbs = NULL;
}
