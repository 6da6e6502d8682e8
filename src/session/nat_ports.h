// One worker's blocks of outside ports of a NAT pool: which session has which, and which ports are in use.
//
// Owner worker, but for making and freeing. A session gets blocks as it needs them, all of one address (RFC 4787
// REQ-2), up to the pool's limit, and each goes back with the last of its ports. TCP, UDP and echo identifiers have
// the ports of a block each to themselves. A port is the one that was asked for, where that is in a block that the
// session has or may get; else one of the same parity (REQ-3), where there is any.
//
// What has just become free is not given to the next who asks, since packets for the one before may still be on their way
// (RFC 6888 REQ-8): free blocks of an address form a queue, and a port that was given back *rests*: it is not used again,
// whoever has its block, while others are free, but where it is the very one that was asked for. When all rest, they
// begin anew, behind the one that came back last.

#pragma once

#include "session/links.h"
#include "session/nat_pool.h"

enum nat_proto {
	NAT_TCP,
	NAT_UDP,
	NAT_ECHO,
	NAT_PROTOS,
};

struct nat_block {
	uint64_t since;            // when it was taken, for whoever says so
	uint32_t slot;             // of the session that has it
	uint16_t used;             // ports, of all protocols
	uint16_t next[NAT_PROTOS]; // behind the port that came back last: where a look begins
	bool taken;                // a session has it
	uint8_t unused;            // the block does not exist: beyond the address's last
};

// What one session has. Zeroed: nothing.
struct nat_session {
	uint8_t n;
	uint8_t profile; // whose pool they are of
	rte_be32_t ue;   // for whoever says so: whose they are
	uint32_t blocks[NAT_BLOCKS_MAX];
	uint32_t last[NAT_PROTOS]; // the block that a port came back to last, + 1
};

struct nat_ports {
	const struct nat_pool *pool;
	unsigned worker, n_workers;
	uint32_t per_addr; // blocks of an address that are this worker's, or room for one more
	uint32_t n, n_free;
	struct nat_block *blocks; // [n]
	uint64_t *bits;           // of each block, of each protocol, of each port: it is in use
	uint64_t *resting;        // likewise: it is free, and rests
	struct link *
		free; // [n + n_addrs]: free blocks, in a queue of each address, whose head is behind them
	uint32_t turn; // addresses come in turn
};

// A port that is in use.
struct nat_place {
	uint32_t block;
	rte_be32_t addr;
	uint16_t port;
};

// What one worker's take, of a pool that is made so.
static inline size_t nat_ports_bytes(const struct nat_pool_conf *conf, unsigned n_workers)
{
	size_t n_addrs = (size_t)1 << (32 - conf->addrs.len), n;
	uint32_t first;

	n = (nat_blocks_within(conf->port_low, conf->port_high, conf->block_ports, &first) +
	     n_workers - 1) /
	    n_workers * n_addrs;
	return n * (sizeof(struct nat_block) + 2u * NAT_PROTOS * conf->block_ports / 8) +
	       (n + n_addrs) * sizeof(struct link);
}

// 0 or -ENOMEM. Start-up.
int nat_ports_init(struct nat_ports *ports, const struct nat_pool *pool, unsigned worker,
		   unsigned n_workers, int socket);
void nat_ports_fini(struct nat_ports *ports);

// A port for the session whose down line `ref` names. False: there is none within its limit.
bool nat_port_take(struct nat_ports *ports, struct nat_session *session, struct session_ref ref,
		   enum nat_proto proto, uint16_t wanted, struct nat_place *ret);
// Gives it back, and the block with the last of its ports. Gives how many blocks the session has left.
unsigned nat_port_give(struct nat_ports *ports, struct nat_session *session, enum nat_proto proto,
		       const struct nat_place *place);

// The address and first port of a block, and its last port.
struct nat_place nat_block_place(const struct nat_ports *ports, uint32_t block);
uint16_t nat_block_last(const struct nat_ports *ports, uint32_t block);
// How many of its ports a protocol uses.
unsigned nat_block_used(const struct nat_ports *ports, uint32_t block, enum nat_proto proto);
