// The TUN device, and rtnetlink for its addresses. See ue_tun.h.
// One thread, the event loop's.

#include "ue_tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "gnb.h"
#include "sim.h"

#define PACKET_MAX 9216    // more than the largest MTU
#define ROUNDS 4           // batches before other events have their turn
#define QUEUE_PACKETS 2000 // what the device holds while we are busy
#define NETLINK_MAX 512

struct ue_tun {
	struct sim *sim;
	int fd;
	int netlink;
	int index; // of the device
	struct event *readable;
	uint8_t packets[GNB_BATCH][GNB_HEADROOM + PACKET_MAX];
};

// ---- packets ----

// Sends one packet up; an idle UE that has something to send asks for service, and may send at once,
// for the way up is never closed.
static void packet_take(struct ue_tun *tun, uint8_t *packet, uint32_t len)
{
	struct sim *sim = tun->sim;
	struct ue *ue = ue_by_packet(sim, packet, len, true);

	if (!ue || ue->state == UE_DETACHED) {
		sim->counters.no_ue++;
		return;
	}
	if (ue_must_wake(ue)) {
		sim_say_ue(sim, ue, "has something to send: service request");
		ue_ask(sim, ue, VERB_WAKE, false);
	}
	gnb_up(sim, ue, packet, len);
}

static void tun_read(evutil_socket_t fd, short what, void *ctx)
{
	struct ue_tun *tun = ctx;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned i;

		for (i = 0; i < GNB_BATCH; i++) {
			uint8_t *packet = tun->packets[i] + GNB_HEADROOM;
			ssize_t n = read(fd, packet, PACKET_MAX);

			if (n <= 0)
				break;
			packet_take(tun, packet, (uint32_t)n);
		}
		gnbs_flush(tun->sim);
		if (i < GNB_BATCH)
			return;
	}
}

int ue_tun_write(struct ue_tun *tun, const void *packet, uint32_t len)
{
	return write(tun->fd, packet, len) < 0 ? -errno : 0;
}

// ---- rtnetlink ----

// A request being written; there is always room, for all that goes in is small.
struct request {
	union {
		struct nlmsghdr head;
		uint8_t bytes[NETLINK_MAX];
	};
};

static struct rtattr *attribute_add(struct request *r, uint16_t type, const void *data, size_t len)
{
	struct rtattr *at = (struct rtattr *)(void *)(r->bytes + NLMSG_ALIGN(r->head.nlmsg_len));

	at->rta_type = type;
	at->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(at), data, len);
	r->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(at->rta_len));
	return at;
}

// What was added since belongs to this attribute.
static void attribute_end(struct request *r, struct rtattr *nest)
{
	nest->rta_len = (uint16_t)(r->bytes + r->head.nlmsg_len - (uint8_t *)nest);
}

// Sends a request and waits for its acknowledgement: 0, or -errno.
static int request_do(struct ue_tun *tun, struct request *r)
{
	union {
		struct nlmsghdr head;
		uint8_t bytes[NETLINK_MAX + sizeof(struct nlmsgerr)];
	} answer;
	const struct nlmsgerr *err;
	ssize_t n;

	r->head.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	if (send(tun->netlink, r, r->head.nlmsg_len, 0) < 0)
		return -errno;
	n = recv(tun->netlink, &answer, sizeof(answer), 0);
	if (n < 0)
		return -errno;
	err = NLMSG_DATA(&answer.head);
	if ((size_t)n < NLMSG_LENGTH(sizeof(*err)) || answer.head.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return err->error;
}

static int address_change(struct ue_tun *tun, uint16_t type, const struct addr *addr)
{
	struct ifaddrmsg info = {
		.ifa_family = addr->family == ADDR_V4 ? AF_INET : AF_INET6,
		.ifa_prefixlen = addr_bits(addr),
		.ifa_flags = addr->family == ADDR_V4 ? 0 : IFA_F_NODAD,
		.ifa_index = (uint32_t)tun->index,
	};
	struct request r = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(info)), .nlmsg_type = type}};

	if (addr->family == ADDR_NONE)
		return 0;
	if (type == RTM_NEWADDR)
		r.head.nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE;
	memcpy(NLMSG_DATA(&r.head), &info, sizeof(info));
	attribute_add(&r, IFA_LOCAL, addr->v6, addr_bits(addr) / 8u); // v4 stands in the same bytes
	if (addr->family == ADDR_V4)
		attribute_add(&r, IFA_ADDRESS, &addr->v4, sizeof(addr->v4));
	return request_do(tun, &r);
}

int ue_tun_address_add(struct ue_tun *tun, const struct ue *ue)
{
	int rc = address_change(tun, RTM_NEWADDR, &ue->v4);

	return rc < 0 ? rc : address_change(tun, RTM_NEWADDR, &ue->v6);
}

int ue_tun_address_del(struct ue_tun *tun, const struct ue *ue)
{
	int rc4 = address_change(tun, RTM_DELADDR, &ue->v4);
	int rc6 = address_change(tun, RTM_DELADDR, &ue->v6);

	return rc4 < 0 ? rc4 : rc6;
}

// Up, with its MTU and queue, and without a link-local address: the kernel would speak from it, and
// no UE has it.
static int device_up(struct ue_tun *tun)
{
	struct ifinfomsg info = {
		.ifi_index = tun->index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct request r = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(info)), .nlmsg_type = RTM_NEWLINK}};
	uint32_t mtu = tun->sim->options.mtu, queue = QUEUE_PACKETS;
	uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
	struct rtattr *spec, *family;
	int rc;

	memcpy(NLMSG_DATA(&r.head), &info, sizeof(info));
	attribute_add(&r, IFLA_MTU, &mtu, sizeof(mtu));
	attribute_add(&r, IFLA_TXQLEN, &queue, sizeof(queue));
	spec = attribute_add(&r, IFLA_AF_SPEC, "", 0);
	family = attribute_add(&r, AF_INET6, "", 0);
	attribute_add(&r, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
	attribute_end(&r, family);
	attribute_end(&r, spec);
	rc = request_do(tun, &r);
	if (rc != -EAFNOSUPPORT) // a kernel without IPv6
		return rc;
	r.head.nlmsg_len = (uint32_t)((uint8_t *)spec - r.bytes);
	return request_do(tun, &r);
}

// ---- life ----

static int device_open(struct ue_tun *tun)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int rc;

	tun->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (tun->netlink < 0)
		return -errno;
	tun->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tun->fd < 0)
		return -errno;
	memcpy(request.ifr_name, tun->sim->options.tun, sizeof(request.ifr_name));
	if (ioctl(tun->fd, TUNSETIFF, &request) < 0)
		return -errno;
	tun->index = (int)if_nametoindex(request.ifr_name);
	rc = tun->index == 0 ? -errno : device_up(tun);
	if (rc < 0)
		return rc;
	tun->readable = event_new(tun->sim->base, tun->fd, EV_READ | EV_PERSIST, tun_read, tun);
	return tun->readable && event_add(tun->readable, NULL) == 0 ? 0 : -ENOMEM;
}

struct ue_tun *ue_tun_new(struct sim *sim)
{
	struct ue_tun *tun = calloc(1, sizeof(*tun));
	int rc;

	if (!tun) {
		log_error("not enough memory");
		return NULL;
	}
	tun->sim = sim;
	tun->fd = tun->netlink = -1;
	rc = device_open(tun);
	if (rc == 0)
		return tun;
	log_error("cannot make the TUN device %s: %s%s", sim->options.tun, strerror(-rc),
		  rc == -EPERM || rc == -EACCES ? " (needs root or CAP_NET_ADMIN)" : "");
	ue_tun_free(tun);
	return NULL;
}

void ue_tun_free(struct ue_tun *tun)
{
	if (!tun)
		return;
	if (tun->readable)
		event_free(tun->readable);
	if (tun->fd >= 0)
		close(tun->fd);
	if (tun->netlink >= 0)
		close(tun->netlink);
	free(tun);
}
