// Blocks and ports taken and given back, see nat_ports.h.
//
// Owner worker, but for making and freeing. Block number i of address a is the worker's if a + i says so, so that each
// worker has its share of each address; they are numbered without gaps here. All loops are over the blocks of one
// session, the words of one block, the blocks of one address, or the addresses of a pool.

#include "session/nat_ports.h"

#include <errno.h>

#include <rte_common.h>
#include <rte_malloc.h>

#define EVEN 0x5555555555555555ull

enum parity {
	PARITY_SAME,
	PARITY_ANY,
};

static unsigned words_of(const struct nat_ports *ports)
{
	return (1u << ports->pool->shift) / 64;
}

// Where the words of a block's protocol are, in `bits` and in `resting`.
static size_t words_at(const struct nat_ports *ports, uint32_t block, enum nat_proto proto)
{
	return ((size_t)block * NAT_PROTOS + proto) * words_of(ports);
}

static uint32_t addr_of(const struct nat_ports *ports, uint32_t block)
{
	return block / ports->per_addr;
}

// Which of the address's blocks it is, from the first usable one.
static uint32_t number_of(const struct nat_ports *ports, uint32_t block)
{
	uint32_t addr = addr_of(ports, block);
	uint32_t from = (ports->worker + ports->n_workers - addr % ports->n_workers) %
			ports->n_workers;

	return from + block % ports->per_addr * ports->n_workers;
}

struct nat_place nat_block_place(const struct nat_ports *ports, uint32_t block)
{
	const struct nat_pool *pool = ports->pool;

	return (struct nat_place){
		.block = block,
		.addr = rte_cpu_to_be_32(pool->base + addr_of(ports, block)),
		.port = (uint16_t)((pool->first + number_of(ports, block)) << pool->shift),
	};
}

uint16_t nat_block_last(const struct nat_ports *ports, uint32_t block)
{
	return (uint16_t)(nat_block_place(ports, block).port + (1u << ports->pool->shift) - 1);
}

unsigned nat_block_used(const struct nat_ports *ports, uint32_t block, enum nat_proto proto)
{
	const uint64_t *bits = &ports->bits[words_at(ports, block, proto)];
	unsigned n = 0;

	for (unsigned i = 0; i < words_of(ports); i++)
		n += (unsigned)__builtin_popcountll(bits[i]);
	return n;
}

// --- making and freeing ----------------------------------------------------------------------------------

static uint64_t *words_new(const struct nat_ports *ports, const char *name, int socket)
{
	return rte_zmalloc_socket(name, words_at(ports, ports->n, 0) * sizeof(uint64_t),
				  RTE_CACHE_LINE_SIZE, socket);
}

// Behind those of its address that are free already.
static void block_free(struct nat_ports *ports, uint32_t block)
{
	link_join(ports->free, block, ports->n + addr_of(ports, block));
	ports->n_free++;
}

int nat_ports_init(struct nat_ports *ports, const struct nat_pool *pool, unsigned worker,
		   unsigned n_workers, int socket)
{
	*ports = (struct nat_ports){.pool = pool, .worker = worker, .n_workers = n_workers};
	ports->per_addr = (pool->n_blocks + n_workers - 1) / n_workers;
	ports->n = ports->per_addr * pool->n_addrs;
	ports->blocks = rte_zmalloc_socket("nat_blocks", ports->n * sizeof(*ports->blocks),
					   RTE_CACHE_LINE_SIZE, socket);
	ports->bits = words_new(ports, "nat_bits", socket);
	ports->resting = words_new(ports, "nat_resting", socket);
	ports->free = rte_zmalloc_socket("nat_free",
					 (ports->n + pool->n_addrs) * sizeof(*ports->free),
					 RTE_CACHE_LINE_SIZE, socket);
	if (!ports->blocks || !ports->bits || !ports->resting || !ports->free) {
		nat_ports_fini(ports);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < ports->n + pool->n_addrs; i++)
		link_alone(ports->free, i);
	for (uint32_t i = 0; i < ports->n; i++) {
		ports->blocks[i].unused = number_of(ports, i) >= pool->n_blocks;
		if (!ports->blocks[i].unused)
			block_free(ports, i);
	}
	return 0;
}

void nat_ports_fini(struct nat_ports *ports)
{
	rte_free(ports->blocks);
	rte_free(ports->bits);
	rte_free(ports->resting);
	rte_free(ports->free);
	*ports = (struct nat_ports){0};
}

// --- blocks ----------------------------------------------------------------------------------------------

static bool block_is_free(const struct nat_ports *ports, uint32_t block)
{
	return !ports->blocks[block].taken && !ports->blocks[block].unused;
}

// The block of this address that has the port, if it is this worker's, and free.
static bool block_with(const struct nat_ports *ports, uint32_t addr, uint16_t port, uint32_t *ret)
{
	uint32_t number = (uint32_t)(port >> ports->pool->shift) - ports->pool->first;

	if (number >= ports->pool->n_blocks || (addr + number) % ports->n_workers != ports->worker)
		return false;
	*ret = addr * ports->per_addr + number / ports->n_workers;
	return block_is_free(ports, *ret);
}

// The one of this address that has been free for longest.
static bool block_any(const struct nat_ports *ports, uint32_t addr, uint32_t *ret)
{
	uint32_t head = ports->n + addr;

	*ret = ports->free[head].next;
	return *ret != head;
}

// For a session that has none: the one with the port that is wanted, at whichever address it is free.
static bool block_first(struct nat_ports *ports, uint16_t wanted, uint32_t *ret)
{
	uint32_t n = ports->pool->n_addrs;

	if (ports->n_free == 0)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (block_with(ports, (ports->turn + i) % n, wanted, ret))
			return true;
	for (uint32_t i = 0; i < n; i++)
		if (block_any(ports, (ports->turn + i) % n, ret))
			return true;
	return false;
}

static struct session_ref *word_of(const struct nat_ports *ports, uint32_t block)
{
	struct nat_place place = nat_block_place(ports, block);

	return nat_pool_word(ports->pool, place.addr, place.port);
}

static void word_write(struct session_ref *word, struct session_ref ref)
{
	uint64_t bits;

	memcpy(&bits, &ref, sizeof(bits));
	__atomic_store_n((uint64_t *)(void *)word, bits, __ATOMIC_RELEASE);
}

// Another block for the session; false: there is none, or it has as many as it may.
static bool block_take(struct nat_ports *ports, struct nat_session *session, struct session_ref ref,
		       uint16_t wanted)
{
	uint32_t block;

	if (session->n == ports->pool->blocks_per_session)
		return false;
	if (session->n == 0) {
		if (!block_first(ports, wanted, &block))
			return false;
	} else if (!block_with(ports, addr_of(ports, session->blocks[0]), wanted, &block) &&
		   !block_any(ports, addr_of(ports, session->blocks[0]), &block)) {
		return false;
	}
	ports->turn++;
	ports->n_free--;
	link_leave(ports->free, block);
	ports->blocks[block].slot = session_ref_index(ref);
	ports->blocks[block].taken = true;
	session->blocks[session->n++] = block;
	word_write(word_of(ports, block), ref);
	return true;
}

static void block_give(struct nat_ports *ports, struct nat_session *session, uint32_t block)
{
	unsigned i = 0;

	word_write(word_of(ports, block), (struct session_ref){0, 0});
	ports->blocks[block].taken = false;
	block_free(ports, block);
	while (session->blocks[i] != block)
		i++;
	session->blocks[i] = session->blocks[--session->n];
}

// --- ports -----------------------------------------------------------------------------------------------

static void port_mark(struct nat_ports *ports, enum nat_proto proto, uint32_t block, uint32_t at,
		      struct nat_place *ret)
{
	*ret = nat_block_place(ports, block);
	ret->port = (uint16_t)(ret->port + at);
	ports->bits[words_at(ports, block, proto) + at / 64] |= 1ull << at % 64;
	ports->resting[words_at(ports, block, proto) + at / 64] &= ~(1ull << at % 64);
	ports->blocks[block].used++;
}

static bool port_exact(struct nat_ports *ports, const struct nat_session *session,
		       enum nat_proto proto, uint16_t wanted, struct nat_place *ret)
{
	uint32_t at = wanted & ((1u << ports->pool->shift) - 1);

	for (unsigned i = 0; i < session->n; i++) {
		uint32_t block = session->blocks[i];

		if (nat_block_place(ports, block).port != wanted - at ||
		    ports->bits[words_at(ports, block, proto) + at / 64] >> at % 64 & 1)
			continue;
		port_mark(ports, proto, block, at, ret);
		return true;
	}
	return false;
}

// The next port of a block that is free and does not rest.
static bool port_next(struct nat_ports *ports, uint32_t block, enum nat_proto proto, uint64_t fits,
		      struct nat_place *ret)
{
	const uint64_t *bits = &ports->bits[words_at(ports, block, proto)];
	const uint64_t *resting = &ports->resting[words_at(ports, block, proto)];
	unsigned from = ports->blocks[block].next[proto], words = words_of(ports);

	for (unsigned i = 0; i <= words; i++) { // the first word twice: its end, then its beginning
		unsigned word = (from / 64 + i) % words;
		uint64_t free = ~(bits[word] | resting[word]) & fits;

		if (i == 0)
			free &= ~0ull << from % 64;
		if (free == 0)
			continue;
		port_mark(ports, proto, block, word * 64 + (unsigned)__builtin_ctzll(free), ret);
		return true;
	}
	return false;
}

// No port of the block rests any more.
static void rest_end(struct nat_ports *ports, uint32_t block, enum nat_proto proto, uint64_t fits)
{
	uint64_t *resting = &ports->resting[words_at(ports, block, proto)];

	for (unsigned i = 0; i < words_of(ports); i++)
		resting[i] &= ~fits;
}

static bool port_any(struct nat_ports *ports, const struct nat_session *session,
		     enum nat_proto proto, uint16_t wanted, enum parity parity,
		     struct nat_place *ret)
{
	uint64_t fits = parity == PARITY_ANY ? ~0ull : wanted % 2 ? ~EVEN : EVEN;
	unsigned first = 0; // when all rest: the block behind the one that a port came back to last

	for (unsigned i = 0; i < session->n; i++)
		if (port_next(ports, session->blocks[i], proto, fits, ret))
			return true;
	for (unsigned i = 0; i < session->n; i++) {
		rest_end(ports, session->blocks[i], proto, fits);
		if (session->blocks[i] + 1 == session->last[proto])
			first = i + 1;
	}
	for (unsigned i = 0; i < session->n; i++)
		if (port_next(ports, session->blocks[(first + i) % session->n], proto, fits, ret))
			return true;
	return false;
}

bool nat_port_take(struct nat_ports *ports, struct nat_session *session, struct session_ref ref,
		   enum nat_proto proto, uint16_t wanted, struct nat_place *ret)
{
	if (session->n == 0 && !block_take(ports, session, ref, wanted))
		return false;
	if (port_exact(ports, session, proto, wanted, ret) ||
	    port_any(ports, session, proto, wanted, PARITY_SAME, ret))
		return true;
	if (block_take(ports, session, ref, wanted) &&
	    (port_exact(ports, session, proto, wanted, ret) ||
	     port_any(ports, session, proto, wanted, PARITY_SAME, ret)))
		return true;
	return port_any(ports, session, proto, wanted, PARITY_ANY, ret);
}

unsigned nat_port_give(struct nat_ports *ports, struct nat_session *session, enum nat_proto proto,
		       const struct nat_place *place)
{
	uint32_t size = 1u << ports->pool->shift, at = place->port & (size - 1);
	size_t word = words_at(ports, place->block, proto) + at / 64;

	ports->bits[word] &= ~(1ull << at % 64);
	ports->resting[word] |= 1ull << at % 64;
	ports->blocks[place->block].next[proto] = (uint16_t)((at + 1) % size);
	session->last[proto] = place->block + 1;
	if (--ports->blocks[place->block].used == 0)
		block_give(ports, session, place->block);
	return session->n;
}
