// The outside addresses of a network instance whose sessions are translated (NAT44), and whose their ports are.
//
// Each address's ports are in blocks of one size, a power of two, and each block is one worker's from the start on. It
// gives a block to one of its sessions as a whole (worker/nat.h), and says so in the block's word, which all workers
// read: a packet from outside finds the session by its destination and port as one for a UE's address does, by one
// load, and a word that has just become stale is found out by the owner.
//
// Made by the control thread at start; each word is written by its block's worker.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "packet/pkt.h"

#define NAT_POOL_LEN_MIN 22 // 1,024 addresses
#define NAT_BLOCK_MIN 64    // ports
#define NAT_BLOCK_MAX 4096
#define NAT_BLOCKS_MAX 8 // of one session

// Who may send to an outside port that a UE has opened (RFC 4787 5).
enum nat_filter {
	NAT_FILTER_NONE,    // anybody: endpoint-independent
	NAT_FILTER_ADDRESS, // addresses that the UE has sent to from there
	NAT_FILTER_PORT,    // addresses and ports
};

struct nat_pool_conf {
	struct prefix addrs; // IPv4, NAT_POOL_LEN_MIN bits or more
	uint8_t iface;       // that they are reached by
	uint16_t port_low, port_high;
	uint16_t block_ports;
	uint8_t blocks_per_session;
	bool map_by_remote; // another outside port for each address that a UE's port sends to (RFC 4787 4.1)
	enum nat_filter filter;
	bool log_blocks; // tell who gets and gives back blocks (worker/nat_event.h)
};

struct nat_pool {
	uint32_t base, n_addrs; // host order; 0 addresses: none are translated
	uint8_t iface;
	uint8_t shift; // of a port to its block
	uint8_t blocks_per_session;
	bool map_by_remote;
	enum nat_filter filter;
	bool log_blocks;
	uint16_t first, n_blocks; // of an address: the blocks that lie within its port range
	struct session_ref *refs; // [n_addrs << (16 - shift)]: whose down line, {0, 0}: nobody's
};

// The whole blocks of an address that lie within the range of ports, and the number of the first. A block's ports are
// a power of two.
static inline unsigned nat_blocks_within(uint32_t port_low, uint32_t port_high,
					 uint32_t block_ports, uint32_t *ret_first)
{
	uint32_t end = (port_high + 1) / block_ports;

	*ret_first = (port_low + block_ports - 1) / block_ports;
	return end > *ret_first ? end - *ret_first : 0;
}

// What a pool takes.
static inline size_t nat_pool_bytes(const struct nat_pool_conf *conf)
{
	return ((size_t)1 << (32 - conf->addrs.len)) * (65536 / conf->block_ports) *
	       sizeof(struct session_ref);
}

// 0; -EINVAL: no whole block lies in the range of ports, or a bound above is not kept; -ENOMEM. Start-up.
int nat_pool_init(struct nat_pool *pool, const struct nat_pool_conf *conf);
void nat_pool_fini(struct nat_pool *pool);

// Whether the address (network order) is one of the pool's. Any thread.
static inline bool nat_pool_has(const struct nat_pool *pool, rte_be32_t addr)
{
	return rte_be_to_cpu_32(addr) - pool->base < pool->n_addrs;
}

// The word of the block that a port of one of its addresses lies in. Any thread.
static inline struct session_ref *nat_pool_word(const struct nat_pool *pool, rte_be32_t addr,
						uint16_t port)
{
	uint32_t at = rte_be_to_cpu_32(addr) - pool->base;

	return &pool->refs[(at << (16 - pool->shift)) + ((uint32_t)port >> pool->shift)];
}
