// What a session's life over N4 costs without the system: it is established with rules like those of W
// (tests/perf/README.md), modified and deleted, each request as a datagram, its owner's part included. Every answer
// must accept. Lookups in an rte_hash of the same run to hold it against: tools/perf/ratios.py counts the instructions
// of both by their names.
//
//	bench_n4

#include <time.h>

#include <rte_hash.h>
#include <rte_jhash.h>

#include "session_kit.h"

#define LIVES 300
#define KEYS 65536u
#define LOOKUPS 65536u
#define BULK 32u

static const struct kit_conf conf = {16, 32, 1000, 64, 1u << 20, 16, "127.0.0.7", false, NULL, 256};

__attribute__((noinline)) static void n4_request(void)
{
	n4_datagram(kit.n4, &kit.peer, kit.out, kit.len);
	kit_run();
}

__attribute__((noinline)) static void request_send(void)
{
	kit.out[2] = (uint8_t)((kit.len - 4) >> 8);
	kit.out[3] = (uint8_t)(kit.len - 4);
	n4_request();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
}

static void establish_w(uint32_t number, const char *ue)
{
	establish_begin(number);
	for (unsigned id = 1; id <= 4; id++) {
		bool up = id > 2, filtered = id % 2;
		struct pdr_spec pdr = {.id = id,
				       .precedence = filtered ? 100 : 200,
				       .source = up ? ACCESS : CORE,
				       .ni = "internet",
				       .ue_v4 = up ? NULL : ue,
				       .fteid = up ? CH_V4 | CHID : 0,
				       .choose_id = 1,
				       .removal = up,
				       .far = up ? 2 : 1,
				       .qers = {1, 2},
				       .urrs = {1}};

		if (filtered)
			pdr.flows[0] = "permit out 17 from any 5000 to assigned";
		put_pdr(&pdr);
	}
	FAR(.id = 1, .action = BUFF | NOCP);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE, .ni = "internet");
	put_urr(6, 1, URR_VOLUME);
	put_qer(7, 1, QER_OPEN "001a000a 0000989680 0000989680 007c000109");
	put_qer(7, 2, QER_OPEN "001a000a 0001312d00 0001312d00");
	request_send();
}

static void life(uint32_t number)
{
	char ue[16];
	uint64_t seid;

	snprintf(ue, sizeof(ue), "10.45.%u.%u", number >> 8, number & 0xff);
	establish_w(number, ue);
	seid = up_seid();
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = FORW, .to = true, .destination = ACCESS,
	    .ni = "internet", .teid = number, .peer = "127.0.0.50");
	request_send();
	msg_begin(54, seid);
	request_send();
}

static void lives(void)
{
	struct timespec begin, end;
	double us;

	kit_open(&conf);
	life(1); // warms
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (uint32_t i = 0; i < LIVES; i++)
		life(2 + i);
	clock_gettime(CLOCK_MONOTONIC, &end);
	us = (double)(end.tv_sec - begin.tv_sec) * 1e6 +
	     (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
	printf("%.1f us a session's establishment, modification and deletion, messages made included\n",
	       us / LIVES);
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 0);
	kit_close();
}

__attribute__((noinline)) static void hash_window(const struct rte_hash *hash, uint64_t seed)
{
	for (unsigned i = 0; i < LOOKUPS; i += BULK) {
		const void *keys[BULK];
		uint64_t key[BULK];
		int32_t found[BULK];

		for (unsigned k = 0; k < BULK; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			key[k] = (seed >> 32) % KEYS;
			keys[k] = &key[k];
		}
		CU_ASSERT_FATAL(rte_hash_lookup_bulk(hash, keys, BULK, found) == 0 &&
				found[0] >= 0);
	}
}

static void lookups(void)
{
	const struct rte_hash_parameters parameters = {.name = "reference",
						       .entries = 2 * KEYS,
						       .key_len = sizeof(uint64_t),
						       .hash_func = rte_jhash};
	struct rte_hash *hash = rte_hash_create(&parameters);

	CU_ASSERT_PTR_NOT_NULL_FATAL(hash);
	for (uint64_t key = 0; key < KEYS; key++)
		CU_ASSERT_FATAL(rte_hash_add_key(hash, &key) >= 0);
	hash_window(hash, 7);
	rte_hash_free(hash);
}

static CU_TestInfo tests[] = {
	{"lives of sessions", lives},
	{"lookups", lookups},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("bench_n4")
