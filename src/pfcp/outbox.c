// Datagrams on their way out, see outbox.h.
// Control thread.

#include "pfcp/outbox.h"

#include <assert.h>
#include <string.h>

void outbox_init(struct outbox *box, void (*lost)(void *ctx, const uint8_t *bytes, size_t len),
		 void *ctx)
{
	box->lost = lost;
	box->ctx = ctx;
	box->n = 0;
	box->used = 0;
	for (unsigned i = 0; i < OUTBOX_DATAGRAMS; i++)
		box->headers[i].msg_hdr = (struct msghdr){
			.msg_name = &box->to[i], .msg_iov = &box->vectors[i], .msg_iovlen = 1};
}

// Has a datagram leave a wildcard's socket from the address that is given.
static void from_put(struct msghdr *msg, uint8_t *info, const struct addr *from)
{
	struct in_pktinfo v4 = {.ipi_spec_dst.s_addr = from->v4};
	struct in6_pktinfo v6 = {0};
	bool is_v4 = from->family == ADDR_V4;
	size_t len = is_v4 ? sizeof(v4) : sizeof(v6);
	struct cmsghdr *c;

	memcpy(&v6.ipi6_addr, from->v6, sizeof(v6.ipi6_addr));
	memset(info, 0, OUTBOX_PKTINFO);
	msg->msg_control = info;
	msg->msg_controllen = CMSG_SPACE(len);
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
	c->cmsg_type = is_v4 ? IP_PKTINFO : IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), is_v4 ? (const void *)&v4 : &v6, len);
}

void outbox_put(struct outbox *box, int fd, const struct addr *from, const struct endpoint *to,
		const uint8_t *bytes, size_t len)
{
	struct msghdr *msg;

	assert(len <= PFCP_MSG_MAX);
	if (box->n == OUTBOX_DATAGRAMS || sizeof(box->bytes) - box->used < len ||
	    (box->n > 0 && box->fd != fd))
		outbox_send(box);
	msg = &box->headers[box->n].msg_hdr;
	msg->msg_namelen = endpoint_to_sockaddr(to, &box->to[box->n]);
	msg->msg_control = NULL;
	msg->msg_controllen = 0;
	if (from)
		from_put(msg, box->infos[box->n], from);
	box->vectors[box->n] = (struct iovec){box->bytes + box->used, len};
	memcpy(box->bytes + box->used, bytes, len);
	box->used += len;
	box->fd = fd;
	box->n++;
}

void outbox_send(struct outbox *box)
{
	unsigned n = box->n;

	for (unsigned i = 0; i < n;) {
		int sent = sendmmsg(box->fd, &box->headers[i], n - i, 0);

		if (sent > 0) {
			i += (unsigned)sent;
			continue;
		}
		box->lost(box->ctx, box->vectors[i].iov_base, box->vectors[i].iov_len);
		i++;
	}
	box->n = 0;
	box->used = 0;
}
