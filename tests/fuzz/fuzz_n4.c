// libFuzzer target of N4 whole: n4_datagram() with its sessions, slots, tunnels and workers, as the unit
// tests make them (tests/unit/session_kit.h).
//
// An input is a run of records: a control byte, a length of two bytes, a datagram. The control byte says who
// sends it, whether it gets a SEID and a sequence number that are in use, whether the workers wait, and how
// much time goes by (STAMP_... below). A refusal must leave all as it was. At the end the peers release what
// they have, time goes by, and all that was counted before must be counted again: nothing may be kept for a
// peer that is gone.

#include <stdbool.h>
#include <stdlib.h>

#include <CUnit/CUnit.h>
#include <rte_jhash.h>
#include <sanitizer/lsan_interface.h>

#include "must.h"

// The kit's assertions are the fuzzer's.
#undef CU_ASSERT
#undef CU_ASSERT_FATAL
#undef CU_ASSERT_EQUAL
#undef CU_ASSERT_EQUAL_FATAL
#undef CU_ASSERT_PTR_NOT_NULL_FATAL
#define CU_ASSERT(holds) must(holds)
#define CU_ASSERT_FATAL(holds) must(holds)
#define CU_ASSERT_EQUAL(a, b) must((a) == (b))
#define CU_ASSERT_EQUAL_FATAL(a, b) must((a) == (b))
#define CU_ASSERT_PTR_NOT_NULL_FATAL(p) must((p) != NULL)

#include "../hostile/mutate.h"
#include "../unit/session_kit.h"
#include "pfcp/node_id.h"
#include "pfcp/writer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

#define PEERS 2
#define STAMP_SENDER 0x01 // the second peer sends it
#define STAMP_SEID 0x02   // that of a living session, if there is one
#define STAMP_SEQ 0x04    // one that was not used; for a response, that of our latest request
#define STAMP_HOLD 0x08   // the workers do nothing for now
#define STAMP_TIME 0x10   // a second goes by
#define STAMP_LATER 0x20  // a minute goes by
#define STAMP_SESSION 6   // bits from here: which session

#define WAITING_MOST (1u << 20)
#define REQUEST_TYPES_ODD                                                                          \
	50 // from here on requests are even and responses odd; below, the other way

static struct endpoint peers[PEERS];
static uint32_t asked_seq; // of our latest request
static unsigned answers;   // to session requests, since the datagram came
static uint8_t cause;      // of the latest of them
static struct kit_counts at_first;

static bool is_request(uint8_t type)
{
	return type < REQUEST_TYPES_ODD ? type & 1 || type == 12 || type == 14 : !(type & 1);
}

static int fuzz_send(void *ctx, const struct addr *local, const struct endpoint *to,
		     const uint8_t *bytes, size_t len)
{
	size_t header = bytes[0] & MUTATE_HEADER_S ? 16 : 8;

	must(len >= header && number_at(bytes + 2, 2) == len - 4);
	if (is_request(bytes[1]))
		asked_seq = (uint32_t)number_at(bytes + header - 4, 3);
	if (bytes[1] > PFCP_SESSION_ESTABLISHMENT_REQUEST && !is_request(bytes[1])) {
		struct found f = find_ie((struct found){bytes + header, len - header},
					 PFCP_IE_CAUSE, 0);

		must(f.at && f.len == 1);
		cause = f.at[0];
		answers++;
	}
	return 0;
}

static void after_s(unsigned seconds)
{
	while (seconds-- > 0) {
		clock_warp_ns(NS_PER_SEC);
		n4_tick(kit.n4);
	}
}

// --- what must hold all the time --------------------------------------------------------------------------

struct state {
	uint32_t sessions, slots, used, blocks;
	uint64_t users;
	unsigned peers;
	uint32_t hashed;
	int prefixes;
	uint64_t rules; // what models the sessions have
};

static bool rules_add(void *ctx, const struct n4_session *session)
{
	struct rules *rules = n4_session_rules(session);
	struct packer p = {0};

	if (rules)
		rules_pack(&p, rules, NULL);
	*(uint64_t *)ctx += rte_jhash(p.bytes, (uint32_t)p.n, 0) * 0x9e3779b97f4a7c15ull ^
			    session->seid;
	packer_fini(&p);
	rules_free(rules);
	return true;
}

static struct state state_get(void)
{
	struct rule_arena_counts arena;
	struct state s;

	memset(&s, 0, sizeof(s)); // compared with its padding
	rule_arena_counts_get(&kit.arena, &arena);
	s.sessions = n4_session_count(kit.n4);
	for (unsigned i = 0; i < KIT_WORKERS; i++) {
		s.slots += slots_used(kit.slots, i);
		s.used += kit.workers[i]->table.used;
	}
	s.blocks = arena.blocks;
	s.users = arena.users;
	s.peers = kit.neigh.used;
	s.hashed = kit.locator->n_ue_v4 + kit.locator->n_ue_v6 + kit.locator->n_teids;
	s.prefixes = kit.prefixes;
	n4_session_each(kit.n4, rules_add, &s.rules);
	return s;
}

// Each session has one slot, one place in its owner's table, and one use of compiled rules.
static void state_is_whole(const struct state *s)
{
	must(s->slots == s->sessions && s->used == s->sessions && s->users == s->sessions);
	must(s->blocks <= s->sessions && s->sessions <= kit.n4->conf.max_sessions);
}

// --- the end of all --------------------------------------------------------------------------------------

static bool release(void *ctx, const struct assoc *a)
{
	struct assoc *found = ctx;

	if (a->state == ASSOC_ENDING)
		return true;
	*found = *a;
	return false;
}

// Each association's peer asks for its end, in its own words.
static void release_all(void)
{
	struct assoc a = {0};

	kit.hold = false;
	kit_run();
	for (assoc_each(kit.n4, release, &a); a.addr.addr.family; assoc_each(kit.n4, release, &a)) {
		struct pfcp_writer w;
		size_t len;

		pfcp_writer_init(&w, kit.out, sizeof(kit.out));
		pfcp_msg_begin(&w, PFCP_ASSOCIATION_RELEASE_REQUEST, 0, ++kit.seq & 0xffffff);
		node_id_encode(&w, &a.id);
		len = pfcp_msg_end(&w);
		n4_datagram(kit.n4, &a.addr, kit.out, len);
		kit_run();
		a = (struct assoc){0};
	}
}

static void nothing_is_left(void)
{
	struct kit_counts now = kit_counts();
	struct xact_counts xacts;

	xact_counts_get(kit.n4, &xacts);
	must(assoc_count(kit.n4) == 0);
	must(xacts.waiting == 0 && xacts.stored == 0 && xacts.peers == 0 && xacts.requests == 0 &&
	     xacts.bytes == 0);
	must(kit_counts_eq(&now, &at_first));
}

// --- inputs ----------------------------------------------------------------------------------------------

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct kit_conf conf = KIT_CONF;

	conf.n9 = true;
	conf.max_sessions = 24;
	conf.unpacked = 3;
	__lsan_disable(); // what is held to the end, some of it by memory of DPDK, where no leak check looks
	kit_open(&conf);
	__lsan_enable();
	log_init(fopen("/dev/null", "w"));
	log_level_set(LOG_LEVEL_DEBUG); // so that what is logged is put together too
	kit.n4->send = fuzz_send;
	kit.n4->conf.max_waiting_bytes = WAITING_MOST;
	endpoint_parse("127.0.0.4", PFCP_PORT, &peers[0]);
	endpoint_parse("127.0.0.5", PFCP_PORT, &peers[1]);
	release_all();
	after_s(60);
	at_first = kit_counts();
	nothing_is_left();
	return 0;
}

struct pick {
	unsigned left;
	uint64_t seid;
};

static bool session_pick(void *ctx, const struct n4_session *session)
{
	struct pick *pick = ctx;

	pick->seid = session->seid;
	return pick->left-- > 0;
}

static void record(uint8_t control, const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct pick pick = {.left = control >> STAMP_SESSION};
	struct state before, now;
	bool settled;

	memcpy(copy, bytes, len);
	n4_session_each(kit.n4, session_pick, &pick);
	if (control & STAMP_SEID && len > 1 && copy[1] != PFCP_SESSION_ESTABLISHMENT_REQUEST)
		mutate_seid_set(copy, len, pick.seid);
	if (control & STAMP_SEQ)
		mutate_seq_set(copy, len,
			       len > 1 && !is_request(copy[1]) ? asked_seq : ++kit.seq & 0xffffff);
	kit.hold = control & STAMP_HOLD;
	if (control & STAMP_TIME)
		after_s(1);
	if (control & STAMP_LATER)
		after_s(60);
	settled = mailbox_outstanding(kit.workers[0]) + mailbox_outstanding(kit.workers[1]) == 0;
	before = state_get();
	answers = 0;
	n4_datagram(kit.n4, &peers[control & STAMP_SENDER], copy, len);
	free(copy);
	must(kit.n4->waiting_bytes <= WAITING_MOST);
	if (control & STAMP_HOLD)
		return;
	kit_run();
	now = state_get();
	state_is_whole(&now);
	// A refusal changes nothing; but one that came in the place of a session, by its CP F-SEID, ends that first.
	if (settled && answers == 1 && cause >= PFCP_CAUSE_REJECTED &&
	    !(bytes[1] == PFCP_SESSION_ESTABLISHMENT_REQUEST &&
	      now.sessions + 1 == before.sessions))
		must(memcmp(&before, &now, sizeof(now)) == 0);
}

// The record at a place: its length with its head, 0: none that is whole.
static size_t record_at(const uint8_t *input, size_t size, size_t at)
{
	size_t len = at + 3 <= size ? (size_t)number_at(input + at + 1, 2) : 0;

	return at + 3 + len <= size && at + 3 <= size ? 3 + len : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	size_t at = 0, len;

	while ((len = record_at(input, size, at)) > 0) {
		record(input[at], input + at + 3, len - 3);
		at += len;
	}
	release_all();
	after_s(60);
	nothing_is_left();
	return 0;
}

// Damages one record's datagram, as a message, and leaves the others; or anything as bytes.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	static uint8_t copy[MUTATE_MSG_MAX];
	struct mutate m = {.state = seed + 1ull};
	size_t at = 0, len, n = 0, pick, damaged;

	while ((len = record_at(data, size, at)) > 0) {
		n++;
		at += len;
	}
	if (n == 0 || mutate_below(&m, 4) == 0)
		return LLVMFuzzerMutate(data, size, most);
	pick = mutate_below(&m, (uint32_t)n);
	for (at = 0; pick > 0; pick--)
		at += record_at(data, size, at);
	if (mutate_below(&m, 8) == 0) {
		data[at] = (uint8_t)mutate_next(&m);
		return size;
	}
	len = record_at(data, size, at) - 3;
	if (len > sizeof(copy) / 2)
		return LLVMFuzzerMutate(data, size, most);
	memcpy(copy, data + at + 3, len);
	damaged = mutate_once(&m, copy, len, sizeof(copy));
	if (size - len + damaged > most || damaged > UINT16_MAX)
		return size;
	memmove(data + at + 3 + damaged, data + at + 3 + len, size - at - 3 - len);
	memcpy(data + at + 3, copy, damaged);
	data[at + 1] = (uint8_t)(damaged >> 8);
	data[at + 2] = (uint8_t)damaged;
	return size - len + damaged;
}
