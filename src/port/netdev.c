// Questions to the kernel about its network devices (netdev.h): netlink, ethtool, sysfs.
//
// Control thread.

#include "port/netdev.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

#define NETLINK_BYTES 32768

// One request about one device to the kernel's ioctl interface.
static int netdev_ioctl(const char *name, unsigned long request, struct ifreq *ifr)
{
	int ret = 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", name);
	if (ioctl(fd, request, ifr))
		ret = -errno;
	close(fd);
	return ret;
}

static int netdev_ethtool(const char *name, void *command)
{
	struct ifreq ifr = {.ifr_data = command};

	return netdev_ioctl(name, SIOCETHTOOL, &ifr);
}

struct attrs {
	const uint8_t *at;
	size_t left;
};

static struct attrs attrs_of(const struct rtattr *nest)
{
	return (struct attrs){RTA_DATA(nest), RTA_PAYLOAD(nest)};
}

// The next attribute, or NULL at the end and where a length lies.
static const struct rtattr *attr_take(struct attrs *attrs)
{
	const struct rtattr *attr = (const void *)attrs->at;
	size_t step;

	if (attrs->left < sizeof(*attr) || attr->rta_len < sizeof(*attr) ||
	    attr->rta_len > attrs->left)
		return NULL;
	step = RTA_ALIGN((size_t)attr->rta_len);
	if (step > attrs->left)
		step = attrs->left;
	attrs->at += step;
	attrs->left -= step;
	return attr;
}

static uint32_t attr_u32(const struct rtattr *attr)
{
	uint32_t value = 0;

	if (RTA_PAYLOAD(attr) >= sizeof(value))
		memcpy(&value, RTA_DATA(attr), sizeof(value));
	return value;
}

static void attr_str(const struct rtattr *attr, char *buf, size_t size)
{
	snprintf(buf, size, "%.*s", (int)RTA_PAYLOAD(attr), (const char *)RTA_DATA(attr));
}

static void decode_xdp(const struct rtattr *nest, struct netdev *netdev)
{
	static const enum netdev_xdp modes[] = {
		[XDP_ATTACHED_NONE] = NETDEV_XDP_NONE,   [XDP_ATTACHED_DRV] = NETDEV_XDP_NATIVE,
		[XDP_ATTACHED_SKB] = NETDEV_XDP_GENERIC, [XDP_ATTACHED_HW] = NETDEV_XDP_OTHER,
		[XDP_ATTACHED_MULTI] = NETDEV_XDP_OTHER,
	};
	struct attrs attrs = attrs_of(nest);
	const struct rtattr *attr;

	while ((attr = attr_take(&attrs))) {
		if (attr->rta_type == IFLA_XDP_ATTACHED && RTA_PAYLOAD(attr) >= 1) {
			uint8_t mode = *(const uint8_t *)RTA_DATA(attr);
			netdev->xdp = mode <= XDP_ATTACHED_MULTI ? modes[mode] : NETDEV_XDP_OTHER;
		} else if (attr->rta_type == IFLA_XDP_PROG_ID) {
			netdev->xdp_prog_id = attr_u32(attr);
		}
	}
}

static void decode_info(const struct rtattr *nest, struct netdev *netdev)
{
	struct attrs attrs = attrs_of(nest);
	const struct rtattr *attr;

	while ((attr = attr_take(&attrs)))
		if (attr->rta_type == IFLA_INFO_KIND)
			attr_str(attr, netdev->kind, sizeof(netdev->kind));
}

static void decode_stats(const struct rtattr *attr, struct netdev *netdev)
{
	struct rtnl_link_stats64 stats = {0};
	size_t len = RTA_PAYLOAD(attr);

	memcpy(&stats, RTA_DATA(attr), len < sizeof(stats) ? len : sizeof(stats));
	netdev->rx_dropped = stats.rx_dropped + stats.rx_missed_errors;
	netdev->tx_dropped = stats.tx_dropped;
}

static void decode_attr(const struct rtattr *attr, struct netdev *netdev)
{
	switch (attr->rta_type & NLA_TYPE_MASK) {
	case IFLA_IFNAME:
		attr_str(attr, netdev->name, sizeof(netdev->name));
		break;
	case IFLA_ADDRESS:
		if (RTA_PAYLOAD(attr) == sizeof(netdev->mac))
			memcpy(&netdev->mac, RTA_DATA(attr), sizeof(netdev->mac));
		break;
	case IFLA_MTU:
		netdev->mtu = attr_u32(attr);
		break;
	case IFLA_LINK:
		netdev->peer = (int)attr_u32(attr);
		break;
	case IFLA_LINK_NETNSID:
		netdev->peer_here = false;
		break;
	case IFLA_LINKINFO:
		decode_info(attr, netdev);
		break;
	case IFLA_STATS64:
		decode_stats(attr, netdev);
		break;
	case IFLA_XDP:
		decode_xdp(attr, netdev);
		break;
	default:
		break;
	}
}

int netdev_decode(const void *msg, size_t len, struct netdev *ret_netdev)
{
	const struct nlmsghdr *hdr = msg;
	struct netdev netdev = {.peer_here = true};

	if (len < NLMSG_HDRLEN || hdr->nlmsg_len < NLMSG_HDRLEN || hdr->nlmsg_len > len)
		return -EBADMSG;
	if (hdr->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *fault = NLMSG_DATA(hdr);

		if (hdr->nlmsg_len < NLMSG_LENGTH(sizeof(fault->error)) || fault->error >= 0)
			return -EBADMSG;
		return fault->error;
	}
	if (hdr->nlmsg_type != RTM_NEWLINK ||
	    hdr->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg)))
		return -EBADMSG;
	const struct ifinfomsg *info = NLMSG_DATA(hdr);
	struct attrs attrs = {(const uint8_t *)msg + NLMSG_LENGTH(sizeof(*info)), 0};
	const struct rtattr *attr;

	attrs.left = hdr->nlmsg_len - NLMSG_LENGTH(sizeof(*info));

	netdev.index = info->ifi_index;
	netdev.flags = info->ifi_flags;
	netdev.carrier = info->ifi_flags & IFF_RUNNING;
	while ((attr = attr_take(&attrs)))
		decode_attr(attr, &netdev);
	if (strcmp(netdev.kind, "veth"))
		netdev.peer = 0;
	if (!netdev.peer)
		netdev.peer_here = false;
	*ret_netdev = netdev;
	return 0;
}

int netdev_get(const char *name, struct netdev *ret_netdev)
{
	struct {
		struct nlmsghdr hdr;
		struct ifinfomsg info;
		struct rtattr attr;
		char name[IFNAMSIZ];
	} request = {
		.hdr.nlmsg_type = RTM_GETLINK,
		.hdr.nlmsg_flags = NLM_F_REQUEST,
		.hdr.nlmsg_len = sizeof(request),
		.attr.rta_type = IFLA_IFNAME,
		.attr.rta_len = RTA_LENGTH(IFNAMSIZ),
	};
	struct timeval patience = {.tv_sec = 1};
	ssize_t n;
	int ret;

	if (!name[0] || strlen(name) >= IFNAMSIZ)
		return -ENODEV;
	memcpy(request.name, name, strlen(name));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	void *answer = malloc(NETLINK_BYTES);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!answer)
		ret = -ENOMEM;
	else if (send(fd, &request, sizeof(request), 0) < 0 ||
		 (n = recv(fd, answer, NETLINK_BYTES, 0)) < 0)
		ret = -errno;
	else
		ret = netdev_decode(answer, (size_t)n, ret_netdev);
	free(answer);
	close(fd);
	return ret;
}

int netdev_queues(const char *name, unsigned *ret_queues, bool *ret_combined)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	int ret = netdev_ethtool(name, &channels);
	unsigned pairs;

	if (ret && ret != -EOPNOTSUPP)
		return ret;
	pairs = channels.rx_count < channels.tx_count ? channels.rx_count : channels.tx_count;
	*ret_combined = channels.max_combined;
	*ret_queues = channels.combined_count + pairs;
	if (!*ret_queues)
		*ret_queues = 1;
	return 0;
}

bool netdev_feature_on(const char *name, enum netdev_feature feature)
{
	static const struct {
		uint32_t command, mask;
	} questions[] = {
		[NETDEV_TX_CKSUM] = {ETHTOOL_GTXCSUM, UINT32_MAX},
		[NETDEV_RX_VLAN] = {ETHTOOL_GFLAGS, ETH_FLAG_RXVLAN},
		[NETDEV_TX_VLAN] = {ETHTOOL_GFLAGS, ETH_FLAG_TXVLAN},
		[NETDEV_GRO] = {ETHTOOL_GGRO, UINT32_MAX},
		[NETDEV_LRO] = {ETHTOOL_GFLAGS, ETH_FLAG_LRO},
	};
	struct ethtool_value value = {.cmd = questions[feature].command};

	return !netdev_ethtool(name, &value) && (value.data & questions[feature].mask);
}

void netdev_driver(const char *name, char *buf, size_t size)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	snprintf(buf, size, "%.31s", netdev_ethtool(name, &info) ? "unknown" : info.driver);
}

bool netdev_has_addr(const char *name, const struct addr *addr)
{
	struct ifaddrs *list;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (struct ifaddrs *ifa = list; ifa && !found; ifa = ifa->ifa_next) {
		struct endpoint e;

		found = ifa->ifa_addr && !strcmp(ifa->ifa_name, name) &&
			!endpoint_from_sockaddr(ifa->ifa_addr, &e) && addr_eq(&e.addr, addr);
	}
	freeifaddrs(list);
	return found;
}

bool netdev_forwards(const char *name, enum addr_family family)
{
	char path[96];
	int value;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%.15s/forwarding",
		 family == ADDR_V6 ? "ipv6" : "ipv4", name);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%d", &value) != 1)
		value = 0;
	fclose(f);
	return value == 1;
}

int netdev_up(const char *name)
{
	struct ifreq ifr = {0};
	int ret = netdev_ioctl(name, SIOCGIFFLAGS, &ifr);

	if (ret)
		return ret;
	ifr.ifr_flags = (short)(ifr.ifr_flags | IFF_UP);
	return netdev_ioctl(name, SIOCSIFFLAGS, &ifr);
}

int netdev_allmulti_open(int index)
{
	struct packet_mreq mreq = {.mr_ifindex = index, .mr_type = PACKET_MR_ALLMULTI};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); // protocol 0 receives nothing

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mreq, sizeof(mreq))) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	return fd;
}

bool netdev_capable(int cap)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &hdr, data))
		return false;
	return data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

unsigned netdev_sockets(int family, int *ret_fds, unsigned max)
{
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		return 0;
	while (n < max && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		int domain = 0;
		socklen_t len = sizeof(domain);

		if (entry->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		if (!getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == family)
			ret_fds[n++] = fd;
	}
	closedir(dir);
	return n;
}
