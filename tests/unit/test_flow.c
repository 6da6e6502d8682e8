// The flow table: keys of both directions meet, numbers and versions tell flows apart, second keys lead to theirs,
// and a random model agrees with every outcome.

#include "session/flow.h"
#include "session/flow_state.h"

#include <netinet/in.h>
#include <stdlib.h>

#include <rte_memory.h>

#include "eal.h"
#include "packet/icmp.h"

static struct flow_table table_of(uint32_t n)
{
	struct flow_table table;

	unit_eal("128");
	CU_ASSERT_EQUAL_FATAL(flow_table_init(&table, n, SOCKET_ID_ANY), 0);
	return table;
}

// --- keys ------------------------------------------------------------------------------------------------

// A user packet as parse describes it, its header at `user`.
struct sample {
	struct pkt p;
	uint8_t user[IP6_BYTES + ICMP_BYTES];
};

static struct addr addr_of(const char *text)
{
	struct addr addr;

	CU_ASSERT_EQUAL_FATAL(addr_parse(text, &addr), 0);
	return addr;
}

static struct sample sample_of(const char *from, const char *to, uint8_t proto, uint16_t sport,
			       uint16_t dport)
{
	struct addr src = addr_of(from), dst = addr_of(to);
	bool v6 = src.family == ADDR_V6;
	struct sample s = {.p = {.family = v6 ? 6 : 4,
				 .proto = proto,
				 .sport = sport,
				 .dport = dport,
				 .l4 = v6 ? IP6_BYTES : IP4_BYTES}};

	s.p.user_bytes = (uint16_t)(s.p.l4 + ICMP_BYTES);
	if (v6) {
		memcpy(s.user + offsetof(struct ip6_head, src), src.v6, 16);
		memcpy(s.user + offsetof(struct ip6_head, dst), dst.v6, 16);
	} else {
		memcpy(s.user + offsetof(struct ip4_head, src), &src.v4, 4);
		memcpy(s.user + offsetof(struct ip4_head, dst), &dst.v4, 4);
	}
	return s;
}

static struct sample echo_of(const char *from, const char *to, bool asks, uint16_t id)
{
	bool v6 = addr_of(from).family == ADDR_V6;
	unsigned type = v6 ? (asks ? 128 : 129) : asks ? 8 : 0;
	struct sample s = sample_of(from, to, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, 0,
				    (uint16_t)(type << 8));

	be16_put(s.user + s.p.l4 + 4, id);
	return s;
}

static struct flow_key key_of(const struct sample *s, bool up, uint32_t context)
{
	struct flow_key key;

	flow_key_of(&s->p, s->user, up, context, &key);
	return key;
}

static bool same(const struct sample *up, const struct sample *down)
{
	struct flow_key a = key_of(up, true, 5), b = key_of(down, false, 5);

	return flow_key_eq(&a, &b);
}

static void test_directions(void)
{
	static const char *const ends[][2] = {{"10.45.0.1", "192.0.2.10"},
					      {"2001:db8::1", "2001:db8:ffff::10"},
					      {"10.45.0.1", "10.45.0.1"}}; // UE and remote alike
	static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_UDPLITE};

	for (unsigned i = 0; i < RTE_DIM(ends); i++)
		for (unsigned k = 0; k < RTE_DIM(protos); k++) {
			const char *ue = ends[i][0], *remote = ends[i][1];
			struct sample up = sample_of(ue, remote, protos[k], 1000, 53);
			struct sample down = sample_of(remote, ue, protos[k], 53, 1000);
			struct sample other = sample_of(remote, ue, protos[k], 1000, 53);
			struct sample proto = sample_of(remote, ue, protos[k] ^ 3, 53, 1000);
			struct flow_key mine = key_of(&up, true, 5), theirs = key_of(&up, true, 6);

			CU_ASSERT_TRUE(same(&up, &down));
			CU_ASSERT_FALSE(same(&up, &other));
			CU_ASSERT_FALSE(same(&up, &proto));
			CU_ASSERT_FALSE(flow_key_eq(&mine, &theirs));
			CU_ASSERT_EQUAL(flow_key_context(&theirs), 6);
			CU_ASSERT_EQUAL(flow_key_proto(&mine), protos[k]);
			CU_ASSERT_STRING_EQUAL(flow_key_kind(&mine), "tuple");
		}
}

// Every bit of the identifier counts, and who asks: pings from both sides with one identifier are two flows.
static void test_echo(void)
{
	static const char *const ends[][2] = {{"10.45.0.1", "192.0.2.10"},
					      {"2001:db8::1", "2001:db8:ffff::10"}};

	for (unsigned i = 0; i < RTE_DIM(ends); i++) {
		const char *ue = ends[i][0], *remote = ends[i][1];
		struct sample request = echo_of(ue, remote, true, 0x1234);
		struct sample reply = echo_of(remote, ue, false, 0x1234);
		struct sample back = echo_of(remote, ue, true, 0x1234);
		struct sample back_reply = echo_of(ue, remote, false, 0x1234);
		struct flow_key key = key_of(&request, true, 5);

		CU_ASSERT_STRING_EQUAL(flow_key_kind(&key), "echo");
		CU_ASSERT_TRUE(same(&request, &reply));
		CU_ASSERT_FALSE(same(&request, &back));
		CU_ASSERT_TRUE(same(&back_reply, &back));
		for (unsigned bit = 0; bit < 16; bit++) {
			struct sample other = echo_of(remote, ue, false,
						      (uint16_t)(0x1234 ^ 1u << bit));

			CU_ASSERT_FALSE(same(&request, &other));
		}
		request = echo_of(ue, remote, true, 0); // is an echo all the same
		key = key_of(&request, true, 5);
		CU_ASSERT_STRING_EQUAL(flow_key_kind(&key), "echo");
	}
}

// What has no ports is a pair: other protocols, other ICMP, later fragments, and what is cut too short.
static void test_pair(void)
{
	struct sample gre = sample_of("10.45.0.1", "192.0.2.10", IPPROTO_GRE, 0, 0);
	struct sample gre_back = sample_of("192.0.2.10", "10.45.0.1", IPPROTO_GRE, 0, 0);
	struct sample later = sample_of("10.45.0.1", "192.0.2.10", IPPROTO_UDP, 0, 0);
	struct sample whole = sample_of("10.45.0.1", "192.0.2.10", IPPROTO_UDP, 7, 8);
	struct sample stamp = sample_of("10.45.0.1", "192.0.2.10", IPPROTO_ICMP, 0, 13 << 8);
	struct sample ping = echo_of("10.45.0.1", "192.0.2.10", true, 7);
	const struct sample *pairs[] = {&gre, &later, &stamp, &ping};

	gre.p.flags = gre_back.p.flags = PKT_F_NO_L4;
	later.p.flags = PKT_F_NO_L4 | PKT_F_FRAGMENT;
	ping.p.flags = PKT_F_FRAGMENT;
	ping.p.user_bytes = (uint16_t)(ping.p.l4 + 4); // a first fragment without its identifier
	for (unsigned i = 0; i < RTE_DIM(pairs); i++) {
		struct flow_key key = key_of(pairs[i], true, 5);

		CU_ASSERT_STRING_EQUAL(flow_key_kind(&key), "pair");
	}
	CU_ASSERT_TRUE(same(&gre, &gre_back));
	CU_ASSERT_FALSE(same(&later, &gre_back));
	later.p.flags = whole.p.flags = 0;
	CU_ASSERT_FALSE(same(&later, &whole));
}

static void print_check(const struct sample *s, const char *ue, const char *remote)
{
	struct flow_key key = key_of(s, true, 5);
	struct strbuf a = {0}, b = {0};

	flow_key_print(&key, s->p.family == 6, &a, &b);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&a), ue);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&b), remote);
	strbuf_fini(&a);
	strbuf_fini(&b);
}

static void test_print(void)
{
	struct sample udp = sample_of("10.45.0.1", "192.0.2.10", IPPROTO_UDP, 1000, 53);
	struct sample tcp = sample_of("2001:db8::1", "2001:db8:ffff::10", IPPROTO_TCP, 1, 443);
	struct sample ping = echo_of("10.45.0.1", "192.0.2.10", true, 77);
	struct sample pinged = echo_of("2001:db8::1", "2001:db8::2", false, 77);
	struct sample gre = sample_of("10.45.0.1", "192.0.2.10", IPPROTO_GRE, 0, 0);

	gre.p.flags = PKT_F_NO_L4;
	print_check(&udp, "10.45.0.1:1000", "192.0.2.10:53");
	print_check(&tcp, "[2001:db8::1]:1", "[2001:db8:ffff::10]:443");
	print_check(&ping, "10.45.0.1 id 77", "192.0.2.10");
	print_check(&pinged, "2001:db8::1", "2001:db8::2 id 77");
	print_check(&gre, "10.45.0.1", "192.0.2.10");
}

// --- the index -------------------------------------------------------------------------------------------

struct wanted {
	uint32_t entry;
};

static bool is_wanted(const void *ctx, uint32_t entry)
{
	return ((const struct wanted *)ctx)->entry == entry;
}

static bool index_has(const struct flow_index *index, uint64_t hash, uint32_t entry)
{
	const struct wanted wanted = {entry};

	return flow_index_lookup(index, hash, is_wanted, &wanted) == entry;
}

// As full as it was made for, with entries as unlucky as can be: so many to a hash each.
static void index_fill(uint32_t each)
{
	const uint32_t most = 4096;
	struct flow_index index;
	unsigned missing = 0;

	CU_ASSERT_EQUAL_FATAL(flow_index_init(&index, most, SOCKET_ID_ANY), 0);
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= most; i++)
			flow_index_add(&index, (uint64_t)(i / each) << 48 | i / each, i);
		for (uint32_t i = 1; i <= most; i++)
			missing += !index_has(&index, (uint64_t)(i / each) << 48 | i / each, i);
		for (uint32_t k = 0; k < most; k++) {
			uint32_t i = k * 1229 % most + 1; // in another order

			flow_index_del(&index, (uint64_t)(i / each) << 48 | i / each, i);
			missing += index_has(&index, (uint64_t)(i / each) << 48 | i / each, i);
		}
	}
	CU_ASSERT_EQUAL(missing, 0);
	flow_index_fini(&index);
}

static void test_index(void)
{
	static const uint32_t each[] = {1, 8, 9, 10, 17, 64, 5000};

	unit_eal("128");
	for (unsigned i = 0; i < RTE_DIM(each); i++)
		index_fill(each[i]);
}

// --- numbers and versions --------------------------------------------------------------------------------

// Key number i of a test, all different.
static struct flow_key key_number(uint32_t i, bool v6)
{
	struct flow_key key = {.where = flow_key_where(3, IPPROTO_UDP), .ue_port = 1};

	if (v6)
		memcpy(key.v6.remote + 8, &i, sizeof(i));
	else
		key.v4.remote = i;
	return key;
}

static enum flow_made add(struct flow_table *table, const struct flow_key *key, bool v6,
			  uint32_t *ret)
{
	return flow_add(table, key, v6, flow_hash(table, key), ret);
}

static uint32_t find(const struct flow_table *table, const struct flow_key *key, bool v6)
{
	return flow_lookup(table, key, v6, flow_hash(table, key));
}

static void test_full(void)
{
	struct flow_table table = table_of(100);
	struct flow_key key;
	uint32_t number, again;

	for (uint32_t i = 0; i < 100; i++) {
		key = key_number(i, i % 2);
		CU_ASSERT_EQUAL(add(&table, &key, i % 2, &number), FLOW_MADE);
		CU_ASSERT_EQUAL(add(&table, &key, i % 2, &again), FLOW_KEY_TAKEN);
		CU_ASSERT_EQUAL(number, again);
		CU_ASSERT_EQUAL(find(&table, &key, !(i % 2)), 0); // of the other family
	}
	key = key_number(100, false);
	CU_ASSERT_EQUAL(add(&table, &key, false, &number), FLOW_POOL_FULL);
	key = key_number(50, false);
	CU_ASSERT_EQUAL(add(&table, &key, false, &number), FLOW_KEY_TAKEN);
	flow_del(&table, number);
	CU_ASSERT_EQUAL(find(&table, &key, false), 0);
	key = key_number(100, false);
	CU_ASSERT_EQUAL(add(&table, &key, false, &number), FLOW_MADE);
	CU_ASSERT_EQUAL(table.used, 100);
	flow_table_fini(&table);
}

// One number, again and again: past every width that a version could have been cut to.
static void test_reused(void)
{
	struct flow_table table = table_of(1);
	uint64_t last = 0;
	unsigned wrong = 0;

	for (uint32_t i = 0; i < (1u << 17) + 10; i++) {
		struct flow_key key = key_number(i, false);
		uint32_t number = 0;
		uint64_t id;

		wrong += add(&table, &key, false, &number) != FLOW_MADE || number != 1;
		id = flow_id(&table, 7, number);
		wrong += flow_id_lookup(&table, id) != 1 || flow_id_worker(id) != 7;
		wrong += flow_id_lookup(&table, last) != 0 || id == last;
		flow_del(&table, number);
		wrong += flow_id_lookup(&table, id) != 0;
		last = id;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	flow_table_fini(&table);
}

// After 2^32 lives a version comes again, but never 0.
static void test_wrap(void)
{
	struct flow_table table = table_of(1);
	struct flow_key key = key_number(1, false);
	uint32_t number;

	add(&table, &key, false, &number);
	table.flows[1].version = UINT32_MAX;
	flow_del(&table, number);
	CU_ASSERT_EQUAL(add(&table, &key, false, &number), FLOW_MADE);
	CU_ASSERT_EQUAL(table.flows[1].version, 1);
	CU_ASSERT_EQUAL(flow_id_lookup(&table, 0), 0);
	CU_ASSERT_EQUAL(flow_id_lookup(&table, (uint64_t)2 << 32 | 1), 0); // beyond the table
	flow_table_fini(&table);
}

static void test_second(void)
{
	struct flow_table table = table_of(10);
	struct flow_key one = key_number(1, false), two = key_number(2, false);
	struct flow_key outside = key_number(3, false);
	uint32_t a, b;

	add(&table, &one, false, &a);
	add(&table, &two, false, &b);
	CU_ASSERT_EQUAL(flow_second_add(&table, a, &two), FLOW_KEY_TAKEN); // a first key
	CU_ASSERT_EQUAL(flow_second_add(&table, a, &outside), FLOW_MADE);
	CU_ASSERT_EQUAL(flow_second_add(&table, b, &outside), FLOW_KEY_TAKEN); // a second key
	CU_ASSERT_EQUAL(find(&table, &outside, false), a | FLOW_ENTRY_SECOND);
	CU_ASSERT_EQUAL(find(&table, &one, false), a);
	CU_ASSERT_EQUAL(add(&table, &outside, false, &b), FLOW_KEY_TAKEN);
	CU_ASSERT_EQUAL(b, a);
	flow_second_del(&table, a);
	CU_ASSERT_EQUAL(find(&table, &outside, false), 0);
	CU_ASSERT_EQUAL(flow_second_add(&table, a, &outside), FLOW_MADE);
	flow_del(&table, a);
	CU_ASSERT_EQUAL(find(&table, &outside, false), 0);
	CU_ASSERT_EQUAL(find(&table, &one, false), 0);
	CU_ASSERT_EQUAL(table.used, 1);
	flow_table_fini(&table);
}

// Keys that collide under one seed do not under another: nobody can choose them beforehand. And few do, though they
// are as like each other as those of one host's conversations.
static void test_seed(void)
{
	for (unsigned round = 0; round < 30; round++) {
		struct flow_table a = table_of(10), b = table_of(10);
		unsigned together_a = 0, together_both = 0;

		for (uint32_t i = 0; i < 500; i++)
			for (uint32_t k = 0; k < i; k++) {
				struct flow_key x = key_number(i, round % 2);
				struct flow_key y = key_number(k, round % 2);
				uint64_t in_a = flow_hash(&a, &x) ^ flow_hash(&a, &y);
				uint64_t in_b = flow_hash(&b, &x) ^ flow_hash(&b, &y);

				together_a += in_a % 64 == 0;
				together_both += in_a % 64 == 0 && in_b % 64 == 0;
			}
		// Of 124,750 pairs one in 64 shares a bucket, and of those again one in 64 with the other seed.
		CU_ASSERT_TRUE(together_a > 1600 && together_a < 2400);
		CU_ASSERT_TRUE(together_both < 80);
		flow_table_fini(&a);
		flow_table_fini(&b);
	}
}

// --- random operations -----------------------------------------------------------------------------------

#define POOL 700u
#define KEYS 1000u
#define STEPS 1500000u

// What should be: by key of each family, its flow, and whether it is its second.
struct model {
	struct flow_table table;
	struct {
		uint32_t number; // 0: none
		bool second;
	} of[2][KEYS];
	uint64_t ids[POOL + 1];
	uint32_t first[POOL + 1], second[POOL + 1]; // keys
	bool v6[POOL + 1], used[POOL + 1], has_second[POOL + 1];
	uint32_t n;
	unsigned made, full, taken, second_made, second_taken, wrong;
};

static void model_add(struct model *m, uint32_t k, bool v6)
{
	struct flow_key key = key_number(k, v6);
	uint32_t number = 0;
	enum flow_made made = add(&m->table, &key, v6, &number);
	uint32_t there = m->of[v6][k].number;

	if (there) {
		m->wrong += made != FLOW_KEY_TAKEN || number != there;
		m->taken++;
	} else if (m->n == POOL) {
		m->wrong += made != FLOW_POOL_FULL;
		m->full++;
	} else if (made != FLOW_MADE || number == 0 || number > POOL || m->used[number]) {
		m->wrong++;
	} else {
		uint64_t id = flow_id(&m->table, 1, number);

		m->wrong += id == m->ids[number];
		m->ids[number] = id;
		m->used[number] = true;
		m->v6[number] = v6;
		m->first[number] = k;
		m->of[v6][k].number = number;
		m->of[v6][k].second = false;
		m->n++;
		m->made++;
	}
}

static void model_second_gone(struct model *m, uint32_t number)
{
	m->of[m->v6[number]][m->second[number]].number = 0;
	m->has_second[number] = false;
}

static void model_second(struct model *m, uint32_t number, uint32_t k)
{
	bool v6 = m->v6[number];
	struct flow_key key = key_number(k, v6);
	enum flow_made made;

	if (m->has_second[number]) {
		flow_second_del(&m->table, number);
		model_second_gone(m, number);
		return;
	}
	made = flow_second_add(&m->table, number, &key);
	if (m->of[v6][k].number) {
		m->wrong += made != FLOW_KEY_TAKEN;
		m->second_taken++;
		return;
	}
	m->wrong += made != FLOW_MADE;
	m->of[v6][k].number = number;
	m->of[v6][k].second = true;
	m->second[number] = k;
	m->has_second[number] = true;
	m->second_made++;
}

static void model_del(struct model *m, uint32_t number)
{
	flow_del(&m->table, number);
	if (m->has_second[number])
		model_second_gone(m, number);
	m->of[m->v6[number]][m->first[number]].number = 0;
	m->used[number] = false;
	m->n--;
}

static void model_look(struct model *m, uint32_t k, bool v6)
{
	struct flow_key key = key_number(k, v6);
	uint32_t entry = find(&m->table, &key, v6);
	uint32_t number = m->of[v6][k].number;

	m->wrong += entry != (number && m->of[v6][k].second ? number | FLOW_ENTRY_SECOND : number);
	if (number)
		m->wrong += flow_id_lookup(&m->table, m->ids[number]) != number;
}

static void test_model(void)
{
	static struct model m;

	m.table = table_of(POOL);
	srand(1);
	for (unsigned step = 0; step < STEPS; step++) {
		uint32_t k = (uint32_t)rand() % KEYS, number = 1 + (uint32_t)rand() % POOL;
		bool v6 = rand() % 2;
		bool crowded = step / 20000 % 2; // by turns

		switch (rand() % 6) {
		case 0:
			model_add(&m, k, v6);
			break;
		case 1:
			if (m.used[number])
				model_second(&m, number, k);
			break;
		case 2:
			if (m.used[number] && (crowded ? rand() % 8 == 0 : rand() % 2))
				model_del(&m, number);
			else if (!m.used[number])
				m.wrong += flow_id_lookup(&m.table, m.ids[number]) != 0;
			break;
		default:
			model_look(&m, k, v6);
		}
		m.wrong += m.table.used != m.n;
	}
	CU_ASSERT_EQUAL(m.wrong, 0);
	CU_ASSERT_TRUE(m.made > 10000 && m.full > 1000 && m.taken > 10000);
	CU_ASSERT_TRUE(m.second_made > 10000 && m.second_taken > 10000);
	flow_table_fini(&m.table);
}

// --- what services keep ----------------------------------------------------------------------------------

struct kept {
	uint32_t version;
	uint32_t visits;
};

static struct kept *kept_get(const struct flow_state *state, const struct flow_table *table,
			     uint32_t number)
{
	return flow_state_get(state, number, table->flows[number].version, sizeof(struct kept));
}

// A record is its flow's alone: kept as long as it lives, and fresh for whoever has its number next, past every width
// that the version could have been cut to.
static void test_state(void)
{
	struct flow_table table = table_of(2);
	struct flow_key other = key_number(0, true);
	struct flow_state state;
	uint32_t number, others;
	unsigned wrong = 0;

	CU_ASSERT_EQUAL_FATAL(flow_state_init(&state, 2, sizeof(struct kept), SOCKET_ID_ANY), 0);
	add(&table, &other, true, &others);
	kept_get(&state, &table, others)->visits = 77;
	for (uint32_t i = 0; i < (1u << 17) + 10; i++) {
		struct flow_key key = key_number(i, false);

		wrong += add(&table, &key, false, &number) != FLOW_MADE;
		flow_state_prefetch(&state, number);
		for (uint32_t visit = 0; visit < 3; visit++)
			wrong += kept_get(&state, &table, number)->visits++ != visit;
		flow_del(&table, number);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(kept_get(&state, &table, others)->visits, 77);
	flow_state_fini(&state);
	flow_state_fini(&state); // of a service that was not asked
	flow_table_fini(&table);
}

static CU_TestInfo tests[] = {
	{"keys of both directions", test_directions},
	{"keys of echoes", test_echo},
	{"keys without ports", test_pair},
	{"keys for people", test_print},
	{"a full index", test_index},
	{"a full pool", test_full},
	{"one number reused 2^17 times", test_reused},
	{"versions come again", test_wrap},
	{"second keys", test_second},
	{"what services keep", test_state},
	{"seeds", test_seed},
	{"random operations", test_model},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("flows")
