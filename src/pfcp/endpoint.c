// The N4 sockets, see endpoint.h.
//
// Control thread only. A socket that is readable is read in batches, some at a time, so that neither a system
// call a datagram nor a flood keeps the rest of the control thread waiting.

#include "pfcp/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "pfcp/n4.h"

#define SOCKETS 2
#define BATCH 32                  // datagrams read by one system call
#define ROUNDS 4                  // batches before other events have their turn
#define RECEIVE_BUFFER (16 << 20) // bytes: a burst waits here, where the kernel allows so much
#define TICK_MS 50

struct n4_socket {
	struct n4_endpoint *ep;
	int fd;
	uint8_t family; // enum addr_family
	struct event *readable;
};

struct n4_endpoint {
	struct n4 *n4;
	struct n4_socket sockets[SOCKETS];
	unsigned n_sockets;
	struct event *tick;
	struct mmsghdr headers[BATCH];
	struct iovec vectors[BATCH];
	struct sockaddr_storage froms[BATCH];
	uint8_t bytes[BATCH][PFCP_MSG_MAX];
};

static void datagram_take(struct n4_endpoint *ep, unsigned i)
{
	struct endpoint from;

	if (endpoint_from_sockaddr((const struct sockaddr *)&ep->froms[i], &from) == 0)
		n4_datagram(ep->n4, &from, ep->bytes[i], ep->headers[i].msg_len);
}

static void socket_read(evutil_socket_t fd, short what, void *ctx)
{
	struct n4_socket *s = ctx;
	struct n4_endpoint *ep = s->ep;

	for (unsigned round = 0; round < ROUNDS; round++) {
		int n;

		for (unsigned i = 0; i < BATCH; i++)
			ep->headers[i].msg_hdr.msg_namelen = sizeof(ep->froms[i]);
		n = recvmmsg(fd, ep->headers, BATCH, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			datagram_take(ep, (unsigned)i);
		if (n < BATCH)
			return;
	}
}

static void tick(evutil_socket_t fd, short what, void *ctx)
{
	n4_tick(ctx);
}

// Answers may be larger than the path's MTU, so they go without "don't fragment". A receive buffer beyond
// net.core.rmem_max needs CAP_NET_ADMIN; without it, it is as large as allowed.
static void socket_tune(int fd, uint8_t family)
{
	int size = RECEIVE_BUFFER, dont = IP_PMTUDISC_DONT;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (family == ADDR_V4)
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont, sizeof(dont));
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &dont, sizeof(dont));
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
	socket_tune(fd, local->addr.family);
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
	s->family = local->addr.family;
	ep->n_sockets++;
	s->readable = event_new(base, fd, EV_READ | EV_PERSIST, socket_read, s);
	if (s->readable == NULL || event_add(s->readable, NULL) < 0)
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
	ep->tick = event_new(base, -1, EV_PERSIST, tick, ep->n4);
	if (ep->tick == NULL || event_add(ep->tick, &period) < 0)
		return -ENOMEM;
	return 0;
}

struct n4_endpoint *n4_endpoint_open(struct n4 *n4, struct event_base *base)
{
	struct n4_endpoint *ep = calloc(1, sizeof(*ep));
	int rc;

	if (ep == NULL)
		return NULL;
	ep->n4 = n4;
	for (unsigned i = 0; i < BATCH; i++) {
		ep->vectors[i] = (struct iovec){ep->bytes[i], sizeof(ep->bytes[i])};
		ep->headers[i].msg_hdr = (struct msghdr){
			.msg_name = &ep->froms[i], .msg_iov = &ep->vectors[i], .msg_iovlen = 1};
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
	for (unsigned i = 0; i < ep->n_sockets; i++) {
		if (ep->sockets[i].readable)
			event_free(ep->sockets[i].readable);
		close(ep->sockets[i].fd);
	}
	if (ep->tick)
		event_free(ep->tick);
	free(ep);
}

int n4_endpoint_send(void *ctx, const struct endpoint *to, const uint8_t *bytes, size_t len)
{
	const struct n4_endpoint *ep = ctx;
	struct sockaddr_storage sa;
	socklen_t sa_len = endpoint_to_sockaddr(to, &sa);

	for (unsigned i = 0; i < ep->n_sockets; i++) {
		if (ep->sockets[i].family != to->addr.family)
			continue;
		return sendto(ep->sockets[i].fd, bytes, len, 0, (const struct sockaddr *)&sa,
			      sa_len) < 0
			       ? -errno
			       : 0;
	}
	return -EAFNOSUPPORT;
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
