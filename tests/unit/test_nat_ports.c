// Blocks of outside ports: kept ports, parity, limits, exhaustion, rest, shares of workers; and a random
// model that says what each outcome has to be.

#include "session/nat_ports.h"

#include <stdlib.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_memory.h>

#include "eal.h"

#define POOL 0xc6336400u // 198.51.100.0
#define BLOCK 64u
#define LOW 1024

static struct nat_pool_conf conf_of(uint8_t len, uint16_t high, uint8_t blocks)
{
	struct nat_pool_conf conf = {.addrs = {.len = len},
				     .port_low = LOW,
				     .port_high = high,
				     .block_ports = BLOCK,
				     .blocks_per_session = blocks};

	conf.addrs.addr = addr_v4(rte_cpu_to_be_32(POOL));
	return conf;
}

struct bed {
	struct nat_pool pool;
	struct nat_ports ports;
};

// `n` blocks of each address.
static void bed_make(struct bed *bed, uint8_t len, unsigned n, uint8_t blocks, unsigned worker,
		     unsigned n_workers)
{
	struct nat_pool_conf conf = conf_of(len, (uint16_t)(LOW + n * BLOCK - 1), blocks);

	unit_eal("128");
	CU_ASSERT_EQUAL_FATAL(nat_pool_init(&bed->pool, &conf), 0);
	CU_ASSERT_EQUAL(bed->pool.n_blocks, n);
	CU_ASSERT_EQUAL_FATAL(
		nat_ports_init(&bed->ports, &bed->pool, worker, n_workers, SOCKET_ID_ANY), 0);
}

static void bed_end(struct bed *bed)
{
	nat_ports_fini(&bed->ports);
	nat_pool_fini(&bed->pool);
}

static bool take(struct bed *bed, struct nat_session *session, uint32_t slot, enum nat_proto proto,
		 uint16_t wanted, struct nat_place *ret)
{
	return nat_port_take(&bed->ports, session, session_ref_make(0, slot, slot + 1), proto,
			     wanted, ret);
}

// Bounds of the configuration.
static void test_conf(void)
{
	struct nat_pool_conf good = conf_of(24, UINT16_MAX, 1), conf;
	struct nat_pool pool;

	unit_eal("128");
	CU_ASSERT_EQUAL(nat_pool_init(&pool, &good), 0);
	CU_ASSERT_EQUAL(pool.n_addrs, 256);
	CU_ASSERT_EQUAL(pool.n_blocks, 1008);
	CU_ASSERT_TRUE(nat_pool_has(&pool, rte_cpu_to_be_32(POOL + 255)));
	CU_ASSERT_FALSE(nat_pool_has(&pool, rte_cpu_to_be_32(POOL + 256)));
	CU_ASSERT_FALSE(nat_pool_has(&pool, rte_cpu_to_be_32(POOL - 1)));
	nat_pool_fini(&pool);
	for (unsigned i = 0; i < 6; i++) {
		conf = good;
		conf.addrs.len = i == 0 ? NAT_POOL_LEN_MIN - 1 : 24;
		conf.block_ports = i == 1 ? 96 : i == 2 ? 32 : BLOCK;
		conf.port_high = i == 3 ? LOW + BLOCK - 2 : UINT16_MAX;
		conf.blocks_per_session = i == 4 ? 0 : i == 5 ? NAT_BLOCKS_MAX + 1 : 1;
		CU_ASSERT_NOT_EQUAL(nat_pool_init(&pool, &conf), 0);
	}
}

// The port that was asked for, whatever the protocol; another of its parity where it is taken.
static void test_kept(void)
{
	struct nat_session session = {0};
	struct nat_place place;
	struct bed bed;

	bed_make(&bed, 32, 100, 1, 0, 1);
	for (unsigned proto = 0; proto < NAT_PROTOS; proto++) {
		CU_ASSERT_TRUE(take(&bed, &session, 7, proto, 5001, &place));
		CU_ASSERT_EQUAL(place.port, 5001);
		CU_ASSERT_EQUAL(place.addr, rte_cpu_to_be_32(POOL));
		CU_ASSERT_TRUE(take(&bed, &session, 7, proto, 5001, &place));
		CU_ASSERT_TRUE(place.port != 5001 && place.port % 2);
		CU_ASSERT_TRUE(take(&bed, &session, 7, proto, 80, &place)); // beyond the range
		CU_ASSERT_TRUE(place.port >= LOW && place.port % 2 == 0);
	}
	CU_ASSERT_EQUAL(session.n, 1);
	CU_ASSERT_EQUAL(bed.ports.n_free, 99);
	CU_ASSERT_EQUAL(nat_pool_word(&bed.pool, place.addr, 5001)->check, 8);
	CU_ASSERT_EQUAL(nat_block_used(&bed.ports, session.blocks[0], NAT_UDP), 3);
	bed_end(&bed);
}

// All ports of all blocks that a session may have, then none; of the other parity last.
static void test_limit(void)
{
	struct nat_place places[3 * BLOCK + 1];
	struct nat_session session = {0}, other = {0};
	bool seen[UINT16_MAX + 1] = {false};
	unsigned odd = 0;
	struct bed bed;

	bed_make(&bed, 32, 8, 3, 0, 1);
	for (unsigned i = 0; i < 3 * BLOCK; i++) {
		CU_ASSERT_TRUE_FATAL(take(&bed, &session, 1, NAT_UDP, 2000, &places[i]));
		CU_ASSERT_FALSE(seen[places[i].port]);
		seen[places[i].port] = true;
		if (i < 3 * BLOCK / 2)
			odd += places[i].port % 2;
	}
	CU_ASSERT_EQUAL(odd, 0);
	CU_ASSERT_EQUAL(session.n, 3);
	CU_ASSERT_FALSE(take(&bed, &session, 1, NAT_UDP, 2000, &places[3 * BLOCK]));
	CU_ASSERT_TRUE(take(&bed, &session, 1, NAT_TCP, 2000, &places[3 * BLOCK]));
	nat_port_give(&bed.ports, &session, NAT_TCP, &places[3 * BLOCK]);
	for (unsigned i = 0; i < 3 * BLOCK; i++)
		nat_port_give(&bed.ports, &session, NAT_UDP, &places[i]);
	CU_ASSERT_EQUAL(session.n, 0);
	CU_ASSERT_EQUAL(bed.ports.n_free, 8);
	for (uint32_t i = 0; i < 65536 / BLOCK; i++)
		CU_ASSERT_EQUAL(bed.pool.refs[i].check, 0);
	CU_ASSERT_TRUE(take(&bed, &other, 2, NAT_UDP, 2000, &places[0]));
	bed_end(&bed);
}

// Sessions take all blocks of all addresses, further ones none; a session stays at its address.
static void test_exhausted(void)
{
	struct nat_session sessions[17] = {{0}}, both = {0};
	struct nat_place places[17];
	struct bed bed;

	bed_make(&bed, 30, 4, 2, 0, 1);
	for (unsigned i = 0; i < 16; i++)
		CU_ASSERT_TRUE(take(&bed, &sessions[i], i, NAT_UDP, 1024, &places[i]));
	CU_ASSERT_EQUAL(bed.ports.n_free, 0);
	CU_ASSERT_FALSE(take(&bed, &sessions[16], 16, NAT_UDP, 1024, &places[16]));
	CU_ASSERT_EQUAL(sessions[16].n, 0);
	for (unsigned i = 0; i < 16; i++)
		if (places[i].addr == rte_cpu_to_be_32(POOL + 1))
			nat_port_give(&bed.ports, &sessions[i], NAT_UDP, &places[i]);
	CU_ASSERT_EQUAL(bed.ports.n_free, 4);
	for (unsigned i = 0; i < BLOCK + 5; i++) {
		CU_ASSERT_TRUE(take(&bed, &both, 20, NAT_UDP, 1025, &places[16]));
		CU_ASSERT_EQUAL(places[16].addr, rte_cpu_to_be_32(POOL + 1));
	}
	CU_ASSERT_EQUAL(both.n, 2);
	bed_end(&bed);
}

// Ports that have become free are not used again before all others have been, also by who has the block next, but where
// the very port is asked for.
static void test_rest(void)
{
	struct nat_session session = {0}, next = {0};
	unsigned times[UINT16_MAX + 1] = {0};
	struct nat_place keep, place;
	uint16_t last = 0;
	struct bed bed;

	bed_make(&bed, 32, 1, 1, 0, 1);
	CU_ASSERT_TRUE(take(&bed, &session, 1, NAT_TCP, 80, &keep));
	for (unsigned i = 0; i < 4 * BLOCK; i++) {
		CU_ASSERT_TRUE(take(&bed, &session, 1, NAT_UDP, 80, &place));
		CU_ASSERT_EQUAL(times[place.port]++, i / (BLOCK / 2));
		CU_ASSERT_NOT_EQUAL(place.port, last);
		last = place.port;
		nat_port_give(&bed.ports, &session, NAT_UDP, &place);
	}
	CU_ASSERT_TRUE(take(&bed, &session, 1, NAT_UDP, 80, &place));
	last = place.port;
	nat_port_give(&bed.ports, &session, NAT_UDP, &place);
	nat_port_give(&bed.ports, &session, NAT_TCP, &keep);
	CU_ASSERT_EQUAL(session.n, 0);
	for (unsigned i = 0; i < BLOCK / 2; i++) {
		CU_ASSERT_TRUE(take(&bed, &next, 2, NAT_UDP, 80, &place));
		CU_ASSERT_EQUAL(place.port == last, i == BLOCK / 2 - 1);
	}
	nat_port_give(&bed.ports, &next, NAT_UDP, &place);
	CU_ASSERT_TRUE(take(&bed, &next, 2, NAT_UDP, last, &place));
	CU_ASSERT_EQUAL(place.port, last);
	bed_end(&bed);
}

// A block that has become free is the last to be given away, but where a port of it is asked for.
static void test_queue(void)
{
	struct nat_session sessions[7] = {{0}};
	struct nat_place places[7];
	struct bed bed;

	bed_make(&bed, 32, 4, 1, 0, 1);
	for (unsigned i = 0; i < 7; i++) {
		CU_ASSERT_TRUE(take(&bed, &sessions[i], i, NAT_UDP, 80, &places[i]));
		nat_port_give(&bed.ports, &sessions[i], NAT_UDP, &places[i]);
		if (i >= 4)
			CU_ASSERT_EQUAL(places[i].block, places[i - 4].block);
		for (unsigned k = i < 3 ? 0 : i - 3; k < i; k++)
			CU_ASSERT_NOT_EQUAL(places[i].block, places[k].block);
	}
	CU_ASSERT_TRUE(take(&bed, &sessions[0], 0, NAT_UDP, places[6].port, &places[0]));
	CU_ASSERT_EQUAL(places[0].port, places[6].port);
	bed_end(&bed);
}

// Every block of every address is one worker's, and only one's.
static void test_shares(void)
{
	for (unsigned n_workers = 1; n_workers <= 5; n_workers++) {
		unsigned blocks = 0;
		bool seen[4][7] = {{false}};

		for (unsigned worker = 0; worker < n_workers; worker++) {
			struct nat_session session = {0};
			struct nat_place place;
			struct bed bed;

			bed_make(&bed, 30, 7, 1, worker, n_workers);
			blocks += bed.ports.n_free;
			for (unsigned i = bed.ports.n_free; i > 0; i--) {
				session.n = 0; // another session each
				CU_ASSERT_TRUE_FATAL(take(&bed, &session, i, NAT_UDP, 0, &place));
				bool *at = &seen[rte_be_to_cpu_32(place.addr) - POOL]
						[(place.port - LOW) / BLOCK];
				CU_ASSERT_FALSE(*at);
				*at = true;
			}
			bed_end(&bed);
		}
		CU_ASSERT_EQUAL(blocks, 4 * 7);
	}
}

// --- the model -------------------------------------------------------------------------------------------

#define M_SESSIONS 40u
#define M_ADDRS 2u
#define M_BLOCKS 12u // of an address
#define M_LIMIT 3u
#define M_PORTS (M_BLOCKS * BLOCK)
#define M_ROUNDS 1000000u

// Whose each port of each protocol is, + 1; and each block; what rests, and the order in which blocks became free.
struct model {
	uint8_t port[NAT_PROTOS][M_ADDRS][M_PORTS];
	bool rests[NAT_PROTOS][M_ADDRS][M_PORTS];
	uint32_t last[M_SESSIONS][NAT_PROTOS]; // that came back: address * M_PORTS + port, + 1
	uint64_t n_freed, freed[M_ADDRS][M_BLOCKS];
	uint8_t block[M_ADDRS][M_BLOCKS];
	uint16_t block_used[M_ADDRS][M_BLOCKS];
	unsigned blocks[M_SESSIONS];
	uint8_t addr[M_SESSIONS]; // + 1
};

static unsigned free_ports(const struct model *m, unsigned session, enum nat_proto proto,
			   unsigned parity)
{
	unsigned n = 0;

	for (unsigned a = 0; a < M_ADDRS; a++)
		for (unsigned p = 0; p < M_PORTS; p++)
			n += m->block[a][p / BLOCK] == session + 1 && !m->port[proto][a][p] &&
			     (p % 2 == parity || parity == 2);
	return n;
}

// Whether another block may be had.
static bool may_grow(const struct model *m, unsigned session)
{
	for (unsigned a = 0; m->blocks[session] < M_LIMIT && a < M_ADDRS; a++)
		for (unsigned b = 0; b < M_BLOCKS; b++)
			if (!m->block[a][b] && (!m->addr[session] || m->addr[session] == a + 1))
				return true;
	return false;
}

// A port that was not asked for by its number: one that does not rest, or, where all do, not the last that came back;
// then none rests any more.
static void check_rest(struct model *m, unsigned session, enum nat_proto proto, unsigned a,
		       unsigned p, unsigned parity)
{
	unsigned fresh = 0, others = 0;

	for (unsigned i = 0; i < M_ADDRS * M_PORTS; i++) {
		unsigned ia = i / M_PORTS, ip = i % M_PORTS;

		if (m->block[ia][ip / BLOCK] != session + 1 || m->port[proto][ia][ip] ||
		    (parity < 2 && ip % 2 != parity))
			continue;
		fresh += !m->rests[proto][ia][ip];
		others += ia != a || ip != p;
	}
	if (fresh) {
		CU_ASSERT_FALSE(m->rests[proto][a][p]);
		return;
	}
	if (others)
		CU_ASSERT_NOT_EQUAL(m->last[session][proto], a * M_PORTS + p + 1);
	for (unsigned i = 0; i < M_ADDRS * M_PORTS; i++)
		if (m->block[i / M_PORTS][i % M_PORTS / BLOCK] == session + 1 &&
		    (parity == 2 || i % 2 == parity))
			m->rests[proto][i / M_PORTS][i % M_PORTS] = false;
}

// A block that was not asked for by a port of it: the one of the address that has been free for longest.
static void check_queue(const struct model *m, unsigned a, unsigned b)
{
	for (unsigned i = 0; i < M_BLOCKS; i++)
		if (m->block[a][i] == 0)
			CU_ASSERT_TRUE(m->freed[a][b] <= m->freed[a][i]);
}

static void model_take(struct model *m, struct bed *bed, struct nat_session *sessions,
		       unsigned session, enum nat_proto proto, uint16_t wanted)
{
	unsigned parity = wanted % 2, same = free_ports(m, session, proto, parity);
	bool grow = may_grow(m, session);
	bool any = grow || free_ports(m, session, proto, 2) > 0;
	unsigned before = sessions[session].n;
	struct nat_place place;

	CU_ASSERT_EQUAL_FATAL(take(bed, &sessions[session], session, proto, wanted, &place), any);
	if (!any)
		return;
	unsigned a = rte_be_to_cpu_32(place.addr) - POOL, p = place.port - LOW;
	unsigned w = wanted - LOW;

	CU_ASSERT_FATAL(a < M_ADDRS && p < M_PORTS);
	CU_ASSERT_EQUAL(m->port[proto][a][p], 0);
	CU_ASSERT_TRUE(m->block[a][p / BLOCK] == 0 || m->block[a][p / BLOCK] == session + 1);
	CU_ASSERT_EQUAL(sessions[session].n > before, m->block[a][p / BLOCK] == 0);
	if (same || grow)
		CU_ASSERT_EQUAL(place.port % 2, parity);
	if (same)
		CU_ASSERT_NOT_EQUAL(m->block[a][p / BLOCK],
				    0);                       // no other block before it is needed
	for (unsigned k = 0; w < M_PORTS && k < M_ADDRS; k++) // kept where it can be
		if (m->block[k][w / BLOCK] == session + 1 && !m->port[proto][k][w])
			CU_ASSERT_EQUAL(place.port, wanted);
	if (m->block[a][p / BLOCK] == 0) {
		CU_ASSERT_TRUE(!m->addr[session] || m->addr[session] == a + 1);
		if (w / BLOCK != p / BLOCK)
			check_queue(m, a, p / BLOCK);
		m->blocks[session]++;
		m->addr[session] = (uint8_t)(a + 1);
	}
	m->block[a][p / BLOCK] = (uint8_t)(session + 1);
	if (place.port != wanted)
		check_rest(m, session, proto, a, p, p % 2 == parity ? parity : 2);
	m->block_used[a][p / BLOCK]++;
	m->rests[proto][a][p] = false;
	m->port[proto][a][p] = (uint8_t)(session + 1);
}

static void model_give(struct model *m, struct bed *bed, struct nat_session *sessions,
		       enum nat_proto proto, unsigned a, unsigned p)
{
	unsigned session = m->port[proto][a][p] - 1u;
	struct nat_place place = {.addr = rte_cpu_to_be_32(POOL + a), .port = (uint16_t)(LOW + p)};

	place.block = a * bed->ports.per_addr + p / BLOCK; // of one worker
	m->port[proto][a][p] = 0;
	m->rests[proto][a][p] = true;
	m->last[session][proto] = a * M_PORTS + p + 1;
	if (--m->block_used[a][p / BLOCK] == 0) {
		m->freed[a][p / BLOCK] = ++m->n_freed;
		m->block[a][p / BLOCK] = 0;
		m->blocks[session]--;
	}
	if (m->blocks[session] == 0)
		m->addr[session] = 0;
	CU_ASSERT_EQUAL_FATAL(nat_port_give(&bed->ports, &sessions[session], proto, &place),
			      m->blocks[session]);
}

static void test_model(void)
{
	static struct model m;
	struct nat_session sessions[M_SESSIONS] = {{0}};
	struct bed bed;

	srand(11);
	bed_make(&bed, 31, M_BLOCKS, M_LIMIT, 0, 1);
	for (unsigned i = 0; i < M_ROUNDS; i++) {
		enum nat_proto proto = (unsigned)rand() % NAT_PROTOS;
		unsigned a = (unsigned)rand() % M_ADDRS, p = (unsigned)rand() % M_PORTS;
		unsigned session = (unsigned)rand() % (i / 100000 % 2 ? M_SESSIONS : 6);

		if (m.port[proto][a][p])
			model_give(&m, &bed, sessions, proto, a, p);
		else if (i / 20000 % 3 != 2) // now and then they all become fewer
			model_take(&m, &bed, sessions, session, proto,
				   (uint16_t)(LOW + (unsigned)rand() % (M_PORTS + 100)));
	}
	for (unsigned a = 0; a < M_ADDRS; a++)
		for (unsigned b = 0; b < M_BLOCKS; b++) {
			const struct session_ref *word = nat_pool_word(
				&bed.pool, rte_cpu_to_be_32(POOL + a), (uint16_t)(LOW + b * BLOCK));

			CU_ASSERT_EQUAL(word->check, m.block[a][b] ? m.block[a][b] : 0u);
		}
	bed_end(&bed);
}

static CU_TestInfo tests[] = {
	{"bounds", test_conf},
	{"ports kept, and parity", test_kept},
	{"a session's limit", test_limit},
	{"no block left", test_exhausted},
	{"what has become free rests", test_rest},
	{"free blocks in a queue", test_queue},
	{"workers' shares", test_shares},
	{"a random model", test_model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("blocks of ports")
