// The user-space side of the XDP program: loading, attaching, its maps (steer.h).
//
// Control thread.

#include "port/steer.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "base/log.h"
#include "port/steer_quick.h"

#include <steer.skel.h> // has a struct of steer_map.h

#define EVICT_TRIES 40
#define EVICT_WAIT_NS 75000000 // 3 s in all

static_assert(sizeof(struct steer_addr) == 20, "a hash key without hidden padding");
static_assert(sizeof(struct steer_prefix) == 24, "a trie key without hidden padding");

struct steer {
	struct steer_skel *skel;
	struct steer_quick_list quick;
	struct ring_buffer *copies;
	int index;
	int link;        // -1: not attached
	port_copy_fn fn; // of the running steer_copies_read
	void *fn_arg;
};

static int bpf_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char text[512];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	if (n > 0)
		log_debug("%.*s", (int)strcspn(text, "\n"), text);
	return n;
}

// libxdp speaks to stderr unless told otherwise. Only the driver links it, so it is asked for here
// by name; before the driver is loaded there is nothing to silence.
static void libxdp_quiet(void)
{
	void *lib = dlopen("libxdp.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *(*set_print)(libbpf_print_fn_t fn) = NULL;

	if (lib)
		*(void **)&set_print = dlsym(lib, "libxdp_set_print");
	if (set_print)
		set_print(bpf_log);
}

static int copy_one(void *arg, void *data, size_t size)
{
	const struct steer *steer = arg;
	const struct steer_copy *copy = data;

	if (size >= sizeof(*copy) && copy->len <= STEER_COPY_BYTES)
		steer->fn(steer->fn_arg, copy->frame, (uint16_t)copy->len);
	return 0;
}

int steer_open(const struct netdev *netdev, struct steer **ret_steer, struct port_error *err)
{
	struct steer *steer = calloc(1, sizeof(*steer));
	int ret;

	if (!steer)
		return port_fail(err, -ENOMEM, "%s: no memory", netdev->name);
	libbpf_set_print(bpf_log);
	libxdp_quiet();
	steer->index = netdev->index;
	steer->link = -1;
	steer->skel = steer_skel__open();
	if (!steer->skel) {
		ret = port_fail(err, -errno, "%s: the XDP program cannot be opened: %s",
				netdev->name, strerror(errno));
		goto fail;
	}
	memcpy((void *)(uintptr_t)steer->skel->rodata->own_mac, &netdev->mac, sizeof(netdev->mac));
	ret = steer_skel__load(steer->skel);
	if (ret) {
		port_fail(err, ret,
			  "%s: the kernel does not load the XDP program: %s; it needs Linux "
			  "5.18 with CONFIG_XDP_SOCKETS, and CAP_BPF and CAP_NET_ADMIN",
			  netdev->name, strerror(-ret));
		goto fail;
	}
	steer->quick.shown = &steer->skel->bss->quick;
	steer->copies = ring_buffer__new(bpf_map__fd(steer->skel->maps.copies), copy_one, steer,
					 NULL);
	if (!steer->copies) {
		ret = port_fail(err, -errno, "%s: the ring of copies cannot be mapped: %s",
				netdev->name, strerror(errno));
		goto fail;
	}
	*ret_steer = steer;
	return 0;
fail:
	steer_close(steer);
	return ret;
}

void steer_close(struct steer *steer)
{
	if (!steer)
		return;
	steer_detach(steer);
	ring_buffer__free(steer->copies);
	steer_skel__destroy(steer->skel);
	free(steer);
}

static int link_create(const struct steer *steer, uint32_t mode)
{
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = mode);
	int fd = bpf_link_create(bpf_program__fd(steer->skel->progs.xsk_def_prog), steer->index,
				 BPF_XDP, &opts);

	return fd < 0 ? -errno : fd;
}

int steer_attach(struct steer *steer, enum port_xdp wanted, enum netdev_xdp *ret_xdp,
		 struct port_error *err)
{
	int fd = -EOPNOTSUPP;

	if (wanted != PORT_XDP_GENERIC) {
		fd = link_create(steer, XDP_FLAGS_DRV_MODE);
		*ret_xdp = NETDEV_XDP_NATIVE;
	}
	if (fd < 0 && wanted == PORT_XDP_NATIVE)
		return port_fail(err, fd,
				 "the driver does not take an XDP program (%s): set xdp: auto or "
				 "generic, or lower the MTU, or switch LRO off",
				 strerror(-fd));
	if (fd < 0) {
		fd = link_create(steer, XDP_FLAGS_SKB_MODE);
		*ret_xdp = NETDEV_XDP_GENERIC;
	}
	if (fd < 0)
		return port_fail(err, fd, "the XDP program cannot be attached: %s", strerror(-fd));
	steer->link = fd;
	return 0;
}

void steer_detach(struct steer *steer)
{
	if (steer->link < 0)
		return;
	close(steer->link);
	steer->link = -1;
}

int steer_socket_set(struct steer *steer, uint32_t queue, int fd)
{
	return bpf_map__update_elem(steer->skel->maps.xsks_map, &queue, sizeof(queue), &fd,
				    sizeof(fd), BPF_ANY);
}

static void addr_mapped(const struct addr *addr, uint8_t mapped[16])
{
	memset(mapped, 0, 16);
	if (addr->family == ADDR_V6) {
		memcpy(mapped, addr->v6, 16);
		return;
	}
	mapped[10] = mapped[11] = 0xff;
	memcpy(mapped + 12, &addr->v4, 4);
}

static struct steer_addr addr_key(uint16_t vlan, const struct addr *addr)
{
	struct steer_addr key = {.vlan = htons(vlan)};

	addr_mapped(addr, key.addr);
	return key;
}

static struct steer_prefix prefix_key(uint16_t vlan, const struct prefix *prefix)
{
	struct addr network = addr_mask(&prefix->addr, prefix->len);
	struct steer_prefix key = {.vlan = htons(vlan)};
	unsigned len = STEER_VLAN_BITS + prefix->len;

	if (prefix->addr.family == ADDR_V4)
		len += STEER_V4_BITS;
	key.len = len;
	addr_mapped(&network, key.addr);
	return key;
}

int steer_addr_set(struct steer *steer, uint16_t vlan, const struct addr *addr, uint32_t flags)
{
	struct bpf_map *map = steer->skel->maps.local_addrs;
	struct steer_addr key = addr_key(vlan, addr);
	uint32_t before;
	bool known = !bpf_map__lookup_elem(map, &key, sizeof(key), &before, sizeof(before), 0);
	int ret = bpf_map__update_elem(map, &key, sizeof(key), &flags, sizeof(flags), BPF_ANY);

	if (!ret)
		(known ? steer_quick_addr_change : steer_quick_addr_add)(&steer->quick, &key,
									 flags);
	return ret;
}

int steer_addr_del(struct steer *steer, uint16_t vlan, const struct addr *addr)
{
	struct steer_addr key = addr_key(vlan, addr);
	int ret = bpf_map__delete_elem(steer->skel->maps.local_addrs, &key, sizeof(key), 0);

	if (!ret)
		steer_quick_addr_del(&steer->quick, &key);
	return ret;
}

int steer_prefix_set(struct steer *steer, uint16_t vlan, const struct prefix *prefix)
{
	struct steer_prefix key = prefix_key(vlan, prefix);
	uint32_t one = 1;
	int ret = bpf_map__update_elem(steer->skel->maps.ue_prefixes, &key, sizeof(key), &one,
				       sizeof(one), BPF_NOEXIST);

	if (ret == -EEXIST)
		return 0;
	if (!ret)
		steer_quick_prefix_add(&steer->quick, &key);
	return ret;
}

int steer_prefix_del(struct steer *steer, uint16_t vlan, const struct prefix *prefix)
{
	struct steer_prefix key = prefix_key(vlan, prefix);
	int ret = bpf_map__delete_elem(steer->skel->maps.ue_prefixes, &key, sizeof(key), 0);

	if (!ret)
		steer_quick_prefix_del(&steer->quick, &key);
	return ret;
}

int steer_copies_fd(const struct steer *steer)
{
	return ring_buffer__epoll_fd(steer->copies);
}

void steer_copies_read(struct steer *steer, port_copy_fn fn, void *arg)
{
	steer->fn = fn;
	steer->fn_arg = arg;
	ring_buffer__consume(steer->copies);
}

// Whether a program in the kernel is one of ours: 1, 0, or -errno (-EPERM: may not look).
static int prog_is_ours(uint32_t id, struct bpf_prog_info *info)
{
	uint32_t len = sizeof(*info);
	int fd = bpf_prog_get_fd_by_id(id);
	uint32_t maps[16] = {0};
	bool found = false;

	if (fd < 0)
		return -errno;
	*info = (struct bpf_prog_info){.nr_map_ids = 16, .map_ids = (uintptr_t)maps};
	int ret = bpf_obj_get_info_by_fd(fd, info, &len);
	close(fd);
	if (ret)
		return ret;
	if (!strcmp(info->name, "sluice_idle"))
		return 1;
	if (strcmp(info->name, "xsk_def_prog"))
		return 0;
	// libxdp's own program has that name too: ours is the one with our maps.
	for (uint32_t i = 0; i < info->nr_map_ids && i < 16 && !found; i++) {
		struct bpf_map_info map = {0};
		uint32_t map_len = sizeof(map);
		int map_fd = bpf_map_get_fd_by_id(maps[i]);

		if (map_fd < 0)
			continue;
		found = !bpf_obj_get_info_by_fd(map_fd, &map, &map_len) &&
			!strcmp(map.name, "ue_prefixes");
		close(map_fd);
	}
	return found;
}

static uint32_t mode_flag(enum netdev_xdp xdp)
{
	return xdp == NETDEV_XDP_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

int steer_evict(const char *name, struct port_error *err)
{
	const struct timespec wait = {.tv_nsec = EVICT_WAIT_NS};
	struct bpf_prog_info info = {0};
	struct netdev netdev;
	int ours = 0;

	for (int i = 0; i < EVICT_TRIES; i++) {
		int ret = netdev_get(name, &netdev);

		if (ret)
			return port_fail(err, ret, "%s: %s", name, strerror(-ret));
		if (netdev.xdp == NETDEV_XDP_NONE)
			return 0;
		ours = prog_is_ours(netdev.xdp_prog_id, &info);
		if (!ours)
			break;
		// A live link refuses this; one whose process is dying goes by itself.
		if (ours == 1 && !bpf_xdp_detach(netdev.index, mode_flag(netdev.xdp), NULL))
			log_info("%s: removed the XDP program that an earlier daemon left", name);
		else
			nanosleep(&wait, NULL);
	}
	if (ours == 1)
		return port_fail(err, -EBUSY,
				 "%s: another sluiced uses this device with AF_XDP: stop it "
				 "first",
				 name);
	return port_fail(err, -EBUSY,
			 "%s: another XDP program (id %u%s%.16s) is attached; remove it with "
			 "'ip link set dev %s xdp%s off', or set mode: af_packet",
			 name, netdev.xdp_prog_id, ours ? "" : ", ", ours ? "" : info.name, name,
			 netdev.xdp == NETDEV_XDP_GENERIC ? "generic" : "");
}
