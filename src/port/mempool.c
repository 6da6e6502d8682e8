// Packet buffers that every mode can use. Control thread.
//
// An AF_XDP socket takes a whole mempool for its memory and counts on buffers that lie side by
// side. rte_pktmbuf_pool_create() does not promise that: it leaves gaps at page ends and may take
// several areas. Where addresses of devices are virtual ones (IOVA as VA) nothing needs those gaps,
// and we lay the buffers out ourselves.

#include <errno.h>
#include <stdio.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>

#include "port/backend.h"
#include "port/port.h"

#define MBUF_PRIVATE_BYTES 64
#define MBUF_XDP_HEADROOM 256 // the kernel's, inside an AF_XDP frame
#define MBUF_L2_BYTES 22      // Ethernet and two VLAN tags

static void area_free(struct rte_mempool_memhdr *memhdr, void *opaque)
{
	rte_memzone_free(opaque);
}

// Give the pool one memory area with all its buffers side by side. 0 or -errno.
static int pool_populate(struct rte_mempool *mp)
{
	size_t bytes = (size_t)mp->size * rte_mempool_calc_obj_size(mp->elt_size, mp->flags, NULL);
	const struct rte_memzone *zone;
	char name[RTE_MEMZONE_NAMESIZE];
	int ret;

	snprintf(name, sizeof(name), "area_%.20s", mp->name);
	zone = rte_memzone_reserve_aligned(name, bytes, SOCKET_ID_ANY, 0, RTE_PGSIZE_4K);
	if (!zone)
		return -rte_errno;
	ret = rte_mempool_populate_iova(mp, zone->addr, zone->iova, zone->len, area_free,
					(void *)(uintptr_t)zone);
	if (ret < 0) {
		rte_memzone_free(zone);
		return ret;
	}
	return ret == (int)mp->size ? 0 : -ENOMEM;
}

static struct rte_mempool *pool_new(const char *name, unsigned n, unsigned room, unsigned cache)
{
	unsigned element = (unsigned)sizeof(struct rte_mbuf) + MBUF_PRIVATE_BYTES + room;
	struct rte_pktmbuf_pool_private priv = {
		.mbuf_data_room_size = (uint16_t)room,
		.mbuf_priv_size = MBUF_PRIVATE_BYTES,
	};
	// "No contiguous IOVA" is what leaves the gaps out; the addresses are contiguous all the same.
	struct rte_mempool *mp = rte_mempool_create_empty(
		name, n, element, cache, sizeof(priv), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	int ret;

	if (!mp)
		return NULL;
	ret = rte_mempool_set_ops_byname(mp, rte_mbuf_best_mempool_ops(), NULL);
	if (!ret) {
		rte_pktmbuf_pool_init(mp, &priv);
		ret = pool_populate(mp);
	}
	if (ret) {
		rte_mempool_free(mp);
		rte_errno = -ret;
		return NULL;
	}
	rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
	return mp;
}

struct rte_mempool *port_mempool_new(const char *name, unsigned n, uint16_t mtu, unsigned cache,
				     struct port_error *err)
{
	unsigned room = RTE_PKTMBUF_HEADROOM + MBUF_XDP_HEADROOM + MBUF_L2_BYTES + mtu;
	struct rte_mempool *mp;

	room = RTE_MAX(RTE_ALIGN(room, 64u), (unsigned)RTE_MBUF_DEFAULT_BUF_SIZE);
	if (room > UINT16_MAX) {
		port_fail(err, -EINVAL, "MTU %u is more than a packet buffer can hold", mtu);
		return NULL;
	}
	if (rte_eal_iova_mode() == RTE_IOVA_VA)
		mp = pool_new(name, n, room, cache);
	else
		mp = rte_pktmbuf_pool_create(name, n, cache, MBUF_PRIVATE_BYTES, (uint16_t)room,
					     SOCKET_ID_ANY);
	if (!mp)
		port_fail(err, -rte_errno,
			  "no memory for %u packet buffers of %u bytes (%s): give more memory_mb, "
			  "or configure fewer mbufs",
			  n, room, rte_strerror(rte_errno));
	return mp;
}
