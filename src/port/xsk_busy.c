// See xsk_busy.h.
// Control thread.

#include "port/xsk_busy.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_xdp.h>
#include <net/if.h>

#include "base/log.h"

#define TRIES 60
#define WAIT_NS 50000000 // 3 s in all
#define RELEASE_NS 200000000
#define CHUNK 4096u
#define RING 64

static int rings_make(int fd, void *chunk)
{
	static const int kinds[] = {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING};
	const struct xdp_umem_reg umem = {
		.addr = (uintptr_t)chunk, .len = CHUNK, .chunk_size = CHUNK};
	const int n = RING;

	if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)) != 0)
		return -errno;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (setsockopt(fd, SOL_XDP, kinds[i], &n, sizeof(n)) != 0)
			return -errno;
	return 0;
}

// Binds a socket of ours to the queue. -EBUSY: another has it. Zero-copy is asked for, since that is refused after
// the queue has been looked at by devices that have none, and leaves nothing behind.
static int queue_try(int fd, void *chunk, unsigned ifindex, unsigned queue)
{
	const struct sockaddr_xdp at = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_ZEROCOPY,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = queue,
	};
	int ret = rings_make(fd, chunk);

	if (ret)
		return ret;
	return bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 ? 0 : -errno;
}

static int queue_look(void *chunk, unsigned ifindex, unsigned queue)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	ret = queue_try(fd, chunk, ifindex, queue);
	close(fd);
	return ret;
}

bool xsk_queue_wait(const char *device, unsigned queue)
{
	const struct timespec wait = {.tv_nsec = WAIT_NS}, release = {.tv_nsec = RELEASE_NS};
	unsigned ifindex = if_nametoindex(device);
	void *chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret = -EBUSY;

	if (chunk == MAP_FAILED)
		return true;
	for (unsigned i = 0; i < TRIES; i++) {
		ret = queue_look(chunk, ifindex, queue);
		if (ret != -EBUSY)
			break;
		if (i == 0)
			log_info("%s: waiting for queue %u, which another AF_XDP socket has",
				 device, queue);
		nanosleep(&wait, NULL);
	}
	if (ret == 0) // it was ours, and is let go of in the background, too
		nanosleep(&release, NULL);
	munmap(chunk, CHUNK);
	return ret != -EBUSY;
}
