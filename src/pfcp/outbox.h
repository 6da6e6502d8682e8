// Datagrams on their way out: those of a turn of the control thread leave by few system calls.
//
// Control thread only. A datagram that was put waits until the outbox is full or is told to send: who puts the first
// one sees to that. All leave in the order in which they were put.

#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "pfcp/codec.h"

// Datagrams by one system call. More would keep the first ones waiting while the last are made.
#define OUTBOX_DATAGRAMS 16
#define OUTBOX_PKTINFO CMSG_SPACE(sizeof(struct in6_pktinfo)) // that of IPv4 is smaller

struct outbox {
	// Told of each datagram that the socket did not take.
	void (*lost)(void *ctx, const uint8_t *bytes, size_t len);
	void *ctx;
	int fd; // of all that wait
	unsigned n;
	size_t used; // of `bytes`
	struct mmsghdr headers[OUTBOX_DATAGRAMS];
	struct iovec vectors[OUTBOX_DATAGRAMS];
	struct sockaddr_storage to[OUTBOX_DATAGRAMS];
	_Alignas(struct cmsghdr) uint8_t infos[OUTBOX_DATAGRAMS][OUTBOX_PKTINFO];
	uint8_t bytes[2 * PFCP_MSG_MAX];
};

void outbox_init(struct outbox *box, void (*lost)(void *ctx, const uint8_t *bytes, size_t len),
		 void *ctx);

// Copies a datagram of up to PFCP_MSG_MAX octets that socket `fd` is to send; NULL, or the address of ours that it
// leaves from.
void outbox_put(struct outbox *box, int fd, const struct addr *from, const struct endpoint *to,
		const uint8_t *bytes, size_t len);

// Sends all that waits.
void outbox_send(struct outbox *box);
