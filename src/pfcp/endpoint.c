// The N4 sockets, see endpoint.h.
//
// Control thread only. A socket that is readable is read in batches, some at a time, so that neither a system
// call a datagram nor a flood keeps the rest of the control thread waiting. What is sent leaves in batches, too: at the
// latest when the event loop has its next turn.

#include "pfcp/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/n4.h"
#include "pfcp/outbox.h"

#define SOCKETS N4_LISTEN_MAX
#define BATCH 32                  // datagrams read by one system call
#define ROUNDS 4                  // batches before other events have their turn
#define RECEIVE_BUFFER (16 << 20) // bytes: a burst waits here, where the kernel allows so much
#define TICK_MS 50
#define STAMP_WAIT_MAX_S 2

struct n4_socket {
	struct n4_endpoint *ep;
	int fd;
	struct addr local;
	bool any; // local is a wildcard
	struct event *readable;
};

struct n4_endpoint {
	struct n4 *n4;
	struct n4_socket sockets[SOCKETS];
	unsigned n_sockets;
	bool listening; // the sockets are read
	struct event *tick;
	struct event *send; // what waits in the outbox
	struct outbox outbox;
	struct mmsghdr headers[BATCH];
	struct iovec vectors[BATCH];
	struct sockaddr_storage froms[BATCH];
	_Alignas(struct cmsghdr) uint8_t infos[BATCH][OUTBOX_PKTINFO];
	uint8_t bytes[BATCH][PFCP_MSG_MAX];
};

// Our address that a datagram came to: the socket's, or for a wildcard the one that the kernel says.
static struct addr local_get(const struct n4_socket *s, struct msghdr *msg)
{
	struct in_pktinfo v4;
	struct in6_pktinfo v6;

	if (!s->any)
		return s->local;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&v4, CMSG_DATA(c), sizeof(v4));
			return addr_v4(v4.ipi_spec_dst.s_addr);
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&v6, CMSG_DATA(c), sizeof(v6));
			return addr_v6(v6.ipi6_addr.s6_addr);
		}
	}
	return (struct addr){0};
}

static void datagram_take(const struct n4_socket *s, unsigned i)
{
	struct n4_endpoint *ep = s->ep;
	struct endpoint from;

	if (endpoint_from_sockaddr((const struct sockaddr *)&ep->froms[i], &from) < 0)
		return;
	ep->n4->local = local_get(s, &ep->headers[i].msg_hdr);
	n4_datagram(ep->n4, &from, ep->bytes[i], ep->headers[i].msg_len);
	ep->n4->local = (struct addr){0};
}

static void socket_read(evutil_socket_t fd, short what, void *ctx)
{
	struct n4_socket *s = ctx;
	struct n4_endpoint *ep = s->ep;

	for (unsigned round = 0; round < ROUNDS; round++) {
		int n;

		for (unsigned i = 0; i < BATCH; i++) {
			ep->headers[i].msg_hdr.msg_namelen = sizeof(ep->froms[i]);
			ep->headers[i].msg_hdr.msg_controllen = s->any ? OUTBOX_PKTINFO : 0;
		}
		n = recvmmsg(fd, ep->headers, BATCH, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			datagram_take(s, (unsigned)i);
		if (n < BATCH)
			return;
	}
}

// Whether the second of our stamp has come. One that is far off is no longer waited for: the clock was set.
static bool stamp_has_come(const struct n4 *n4)
{
	uint32_t left_s = n4->recovery - clock_ntp_s();

	return left_s == 0 || left_s > STAMP_WAIT_MAX_S;
}

static int sockets_listen(struct n4_endpoint *ep)
{
	ep->listening = true;
	for (unsigned i = 0; i < ep->n_sockets; i++) {
		if (event_add(ep->sockets[i].readable, NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void tick(evutil_socket_t fd, short what, void *ctx)
{
	struct n4_endpoint *ep = ctx;

	if (!ep->listening && !stamp_has_come(ep->n4))
		return;
	if (!ep->listening && sockets_listen(ep) < 0)
		log_error("N4: no memory for the sockets' events");
	n4_tick(ep->n4);
}

static void send_waiting(evutil_socket_t fd, short what, void *ctx)
{
	struct n4_endpoint *ep = ctx;

	outbox_send(&ep->outbox);
}

static void send_lost(void *ctx, const uint8_t *bytes, size_t len)
{
	struct n4_endpoint *ep = ctx;

	n4_send_lost(ep->n4, bytes, len);
}

// Answers may be larger than the path's MTU, so they go without "don't fragment". A receive buffer beyond
// net.core.rmem_max needs CAP_NET_ADMIN; without it, it is as large as allowed.
static void socket_tune(int fd, uint8_t family, bool any)
{
	int size = RECEIVE_BUFFER, dont = IP_PMTUDISC_DONT, tell = any;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (family == ADDR_V4) {
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont, sizeof(dont));
		setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &tell, sizeof(tell));
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &dont, sizeof(dont));
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &tell, sizeof(tell));
	}
}

// A bound socket, or -errno.
static int socket_bind(const struct endpoint *local)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(local, &sa);
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int only = 1, err;

	if (fd < 0)
		return -errno;
	if (local->addr.family == ADDR_V6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	socket_tune(fd, local->addr.family, addr_is_unspecified(&local->addr));
	if (bind(fd, (const struct sockaddr *)&sa, len) == 0)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static int socket_open(struct n4_endpoint *ep, struct event_base *base,
		       const struct endpoint *local)
{
	struct n4_socket *s = &ep->sockets[ep->n_sockets];
	char name[ENDPOINT_STRLEN];
	int fd = socket_bind(local);

	if (fd < 0) {
		log_error("N4: cannot listen on %s: %s", endpoint_str(name, local), strerror(-fd));
		return fd;
	}
	s->ep = ep;
	s->fd = fd;
	s->local = local->addr;
	s->any = addr_is_unspecified(&local->addr);
	ep->n_sockets++;
	s->readable = event_new(base, fd, EV_READ | EV_PERSIST, socket_read, s);
	if (s->readable == NULL)
		return -ENOMEM;
	log_info("N4: listening on %s", endpoint_str(name, local));
	return 0;
}

static int sockets_open(struct n4_endpoint *ep, struct event_base *base, const struct n4_conf *conf)
{
	struct timeval period = {.tv_usec = TICK_MS * 1000};
	int rc = -EINVAL; // no address at all

	for (unsigned i = 0; i < SOCKETS; i++) {
		if (conf->listen[i].addr.family == ADDR_NONE)
			continue;
		rc = socket_open(ep, base, &conf->listen[i]);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	ep->tick = event_new(base, -1, EV_PERSIST, tick, ep);
	ep->send = event_new(base, -1, 0, send_waiting, ep);
	if (ep->tick == NULL || ep->send == NULL || event_add(ep->tick, &period) < 0)
		return -ENOMEM;
	return stamp_has_come(ep->n4) ? sockets_listen(ep) : 0;
}

struct n4_endpoint *n4_endpoint_open(struct n4 *n4, struct event_base *base)
{
	struct n4_endpoint *ep = calloc(1, sizeof(*ep));
	int rc;

	if (ep == NULL)
		return NULL;
	ep->n4 = n4;
	outbox_init(&ep->outbox, send_lost, ep);
	for (unsigned i = 0; i < BATCH; i++) {
		ep->vectors[i] = (struct iovec){ep->bytes[i], sizeof(ep->bytes[i])};
		ep->headers[i].msg_hdr = (struct msghdr){
			.msg_name = &ep->froms[i],
			.msg_iov = &ep->vectors[i],
			.msg_iovlen = 1,
			.msg_control = ep->infos[i],
		};
	}
	rc = sockets_open(ep, base, &n4->conf);
	if (rc == 0)
		return ep;
	n4_endpoint_close(ep);
	errno = -rc;
	return NULL;
}

void n4_endpoint_close(struct n4_endpoint *ep)
{
	outbox_send(&ep->outbox);
	for (unsigned i = 0; i < ep->n_sockets; i++) {
		if (ep->sockets[i].readable)
			event_free(ep->sockets[i].readable);
		close(ep->sockets[i].fd);
	}
	if (ep->tick)
		event_free(ep->tick);
	if (ep->send)
		event_free(ep->send);
	free(ep);
}

// The socket that has the address, else a wildcard of its family, else the first of the family.
static const struct n4_socket *socket_of(const struct n4_endpoint *ep, const struct addr *local,
					 uint8_t family)
{
	const struct n4_socket *found = NULL;

	for (unsigned i = 0; i < ep->n_sockets; i++) {
		const struct n4_socket *s = &ep->sockets[i];

		if (s->local.family != family)
			continue;
		if (addr_eq(&s->local, local))
			return s;
		if (found == NULL || (s->any && !found->any))
			found = s;
	}
	return found;
}

int n4_endpoint_send(void *ctx, const struct addr *local, const struct endpoint *to,
		     const uint8_t *bytes, size_t len)
{
	struct n4_endpoint *ep = ctx;
	const struct n4_socket *s = socket_of(ep, local, to->addr.family);
	bool from = s && s->any && local->family == to->addr.family;

	if (s == NULL)
		return -EAFNOSUPPORT;
	if (ep->outbox.n == 0)
		event_active(ep->send, EV_TIMEOUT, 0);
	outbox_put(&ep->outbox, s->fd, from ? local : NULL, to, bytes, len);
	return 0;
}

int n4_endpoint_local(const struct n4_endpoint *ep, unsigned i, struct endpoint *ret_local)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	if (i >= ep->n_sockets)
		return -ENOENT;
	if (getsockname(ep->sockets[i].fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	return endpoint_from_sockaddr((const struct sockaddr *)&sa, ret_local);
}
