// GTP-U paths: peers of tunnels are asked by Echo Requests, missed when silent, and known again when they answer
// (TS 29.281 7.2).
//
// Time stands still and is moved a tenth of a second and a tick at a time. Frames are taken apart octet by octet.

#include "base/clock.h"
#include "base/log.h"
#include "chain.h"
#include "pipeline/pipeline.h"

#define ECHO_MS 60000u
#define T3_MS 3000u
#define N3 3u

static struct heard_change {
	unsigned n;
	bool up; // the latest
	uint16_t peer;
	struct addr addr;
} changes;

static void changed(void *ctx, uint16_t peer, const struct addr *addr, bool up)
{
	struct heard_change *heard = ctx;

	heard->n++;
	heard->up = up;
	heard->peer = peer;
	heard->addr = *addr;
}

static struct rig *rig_start(unsigned n_workers, uint16_t vlan)
{
	struct rig_conf conf = {
		.n_workers = n_workers,
		.n_slots = 64,
		.n_tunnels = 16,
		.vlans = {vlan, 0},
		.path = {.echo_ms = ECHO_MS,
			 .t3_ms = T3_MS,
			 .n3 = N3,
			 .changed = changed,
			 .ctx = &changes},
	};
	struct rig *rig;

	clock_stop();
	log_level_set(LOG_LEVEL_ERROR);
	changes = (struct heard_change){0};
	rig = rig_new(&conf);
	rig_resolve(rig);
	return rig;
}

static void pass(struct rig *rig, unsigned ms)
{
	for (unsigned i = 0; i < ms; i += 100) {
		clock_warp_ns(100 * (int64_t)NS_PER_MS);
		neigh_tick(rig->control.neigh);
		rig_resolve(rig);
	}
}

// An Echo Request as it left.
struct request {
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;
	size_t ip; // where its IP header is
};

// The latest of the Echo Requests that have left by N3; gives their number.
static unsigned recv_requests(struct rig *rig, struct request *ret)
{
	uint8_t frame[RIG_FRAME_MAX];
	unsigned n = 0;
	size_t bytes;

	while ((bytes = rig_recv(rig, RIG_N3, frame)) > 0) {
		size_t ip = frame[12] == 0x81 ? 18 : 14;

		if (frame[ip - 2] != 0x08 || frame[ip - 1] != 0 || frame[ip + 9] != 17)
			continue;
		n++;
		memcpy(ret->frame, frame, bytes);
		ret->bytes = bytes;
		ret->ip = ip;
	}
	return n;
}

static bool flooding; // answers are sent, and nothing is worked on yet

// The peer's answer by `via`, with this sequence number and Recovery counter.
static void answer_as(struct rig *rig, const struct request *request, unsigned via,
		      uint16_t sequence, uint8_t recovery)
{
	uint8_t frame[RIG_FRAME_MAX];
	uint8_t *ip = frame + request->ip;
	uint32_t sum = 0;

	memcpy(frame, request->frame, request->bytes);
	memcpy(frame, request->frame + 6, 6);
	memcpy(frame + 6, request->frame, 6);
	memcpy(ip + 12, request->frame + request->ip + 16, 4);
	memcpy(ip + 16, request->frame + request->ip + 12, 4);
	ip[3] = 20 + 8 + 14;
	ip[10] = ip[11] = 0;
	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
	ip[25] = 8 + 14;
	ip[28 + 1] = 2; // Echo Response
	ip[28 + 3] = 6;
	ip[28 + 8] = (uint8_t)(sequence >> 8);
	ip[28 + 9] = (uint8_t)sequence;
	ip[28 + 12] = 14;
	ip[28 + 13] = recovery;
	rig_send(rig, RIG_N3, via, frame, request->ip + 42);
	if (!flooding)
		rig_settle(rig);
}

static uint16_t sequence_of(const struct request *request)
{
	return (uint16_t)(request->frame[request->ip + 36] << 8 | request->frame[request->ip + 37]);
}

static void answer(struct rig *rig, const struct request *request)
{
	answer_as(rig, request, rig->conf.n_workers - 1, sequence_of(request), 0);
}

static struct gtpu_path found;

static void find_gnb(const struct gtpu_peer_view *view, void *ctx)
{
	char text[ADDR_STRLEN];

	if (strcmp(addr_str(text, &view->addr), ctx) == 0)
		found = *view->path;
}

// What is known of the path to the gNB; all 0 where there is none.
static struct gtpu_path path_of(const struct rig *rig, const char *peer)
{
	found = (struct gtpu_path){0};
	neigh_each_peer(rig->control.neigh, find_gnb, (void *)(uintptr_t)peer);
	return found;
}

static uint64_t unasked(const struct rig *rig)
{
	return rig->control.stats.counter[COUNTER_gtpu_echo_unasked];
}

static void check_request(const struct request *r)
{
	static const uint8_t addrs[] = {10, 10, 3, 1, 10, 10, 3, 2};
	const uint8_t *ip = r->frame + r->ip;

	CU_ASSERT_EQUAL(r->bytes, r->ip + 40);
	CU_ASSERT(ip[2] == 0 && ip[3] == 40);
	CU_ASSERT(memcmp(ip + 12, addrs, sizeof(addrs)) == 0); // from N3 to the gNB
	CU_ASSERT(memcmp(ip + 20, (const uint8_t[]){8, 104, 8, 104, 0, 20}, 6) == 0); // 2152
	CU_ASSERT(ip[28] == 0x32 && ip[29] == 1 && ip[30] == 0 && ip[31] == 4);
	CU_ASSERT(memcmp(ip + 32, (const uint8_t[4]){0}, 4) == 0); // TEID 0
}

// Asked when the first tunnel is made, and each period after; nobody else is asked, and no more often.
static void test_period(unsigned n_workers, uint16_t vlan)
{
	struct rig *rig = rig_start(n_workers, vlan);
	struct rig_session a, b;
	struct request r;

	pass(rig, ECHO_MS);
	CU_ASSERT_EQUAL(recv_requests(rig, &r), 0);
	rig_session_add(rig, 0, NULL, &a);
	rig_session_add(rig, 1, NULL, &b); // the same gNB
	rig_resolve(rig);
	pass(rig, 100);
	CU_ASSERT_EQUAL_FATAL(recv_requests(rig, &r), 1);
	check_request(&r);
	for (unsigned i = 0; i < 3; i++) {
		uint16_t sequence = sequence_of(&r);

		answer(rig, &r);
		CU_ASSERT_EQUAL(path_of(rig, RIG_GNB).state, GTPU_PATH_UP);
		pass(rig, ECHO_MS - 200);
		CU_ASSERT_EQUAL(recv_requests(rig, &r), 0);
		pass(rig, 200);
		CU_ASSERT_EQUAL_FATAL(recv_requests(rig, &r), 1);
		CU_ASSERT_EQUAL(sequence_of(&r), (uint16_t)(sequence + 1));
	}
	CU_ASSERT(path_of(rig, RIG_GNB).sent == 4 && path_of(rig, RIG_GNB).answered == 3);
	CU_ASSERT(changes.n == 0 && unasked(rig) == 0);
	rig_session_del(rig, &a);
	rig_session_del(rig, &b);
	pass(rig, 2 * ECHO_MS);
	CU_ASSERT_EQUAL(recv_requests(rig, &r), 0); // nothing goes there any more
	rig_end(rig);
}

static void period(void)
{
	test_period(1, 0);
	test_period(2, 0);
	test_period(2, 7);
}

// N3 requests, T3 apart and with one sequence number, then the path is down, and told so once; asked again each
// period, and up with the first answer.
static void failure_and_recovery(void)
{
	struct rig *rig = rig_start(2, 0);
	struct rig_session s;
	struct request r;
	uint16_t sequence;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	pass(rig, 100);
	CU_ASSERT_EQUAL_FATAL(recv_requests(rig, &r), 1);
	sequence = sequence_of(&r);
	for (unsigned i = 1; i < N3; i++) {
		pass(rig, T3_MS - 100);
		CU_ASSERT_EQUAL(recv_requests(rig, &r), 0);
		pass(rig, 100);
		CU_ASSERT_EQUAL(recv_requests(rig, &r), 1);
		CU_ASSERT_EQUAL(sequence_of(&r), sequence);
	}
	pass(rig, T3_MS - 100);
	CU_ASSERT(changes.n == 0 && path_of(rig, RIG_GNB).state == GTPU_PATH_UNKNOWN);
	pass(rig, 100);
	CU_ASSERT(changes.n == 1 && !changes.up && changes.peer == s.peer);
	CU_ASSERT(path_of(rig, RIG_GNB).state == GTPU_PATH_DOWN &&
		  path_of(rig, RIG_GNB).failures == 1);
	answer(rig, &r); // too late
	CU_ASSERT(changes.n == 1 && unasked(rig) == 1);
	pass(rig, ECHO_MS);
	CU_ASSERT_EQUAL(recv_requests(rig, &r), N3); // a second round
	CU_ASSERT_EQUAL(changes.n, 1);               // of which nobody is told anew
	while (recv_requests(rig, &r) == 0)
		pass(rig, 100);
	answer(rig, &r);
	CU_ASSERT(changes.n == 2 && changes.up && changes.peer == s.peer);
	CU_ASSERT_EQUAL(path_of(rig, RIG_GNB).state, GTPU_PATH_UP);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// Answers that are not those to our question change nothing: other senders, other numbers, a second time, and
// messages whose octets do not add up.
static void strays(void)
{
	struct rig *rig = rig_start(1, 0);
	struct rig_session s;
	struct request r, other;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	pass(rig, 100);
	CU_ASSERT_EQUAL_FATAL(recv_requests(rig, &r), 1);
	answer_as(rig, &r, 0, (uint16_t)(sequence_of(&r) + 1), 0);
	other = r;
	other.frame[r.ip + 19] ^= 0x40; // as if another had been asked
	answer(rig, &other);
	other = r;
	other.frame[r.ip + 28] = 0x30; // without a sequence number
	answer(rig, &other);
	CU_ASSERT_EQUAL(path_of(rig, RIG_GNB).answered, 0);
	CU_ASSERT_EQUAL(unasked(rig), 3);
	answer(rig, &r);
	CU_ASSERT_EQUAL(path_of(rig, RIG_GNB).answered, 1);
	answer(rig, &r);
	CU_ASSERT(path_of(rig, RIG_GNB).answered == 1 && unasked(rig) == 4);
	CU_ASSERT_EQUAL(changes.n, 0);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// A Recovery counter that changes is a restart, of a peer that counts.
static void restarts(void)
{
	static const struct {
		uint8_t recovery;
		uint32_t restarts;
	} rows[] = {{3, 0}, {3, 0}, {4, 1}, {4, 1}, {0, 2}};
	struct rig *rig = rig_start(1, 0);
	struct rig_session s;
	struct request r;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		pass(rig, i ? ECHO_MS : 100);
		CU_ASSERT_EQUAL_FATAL(recv_requests(rig, &r), 1);
		answer_as(rig, &r, 0, sequence_of(&r), rows[i].recovery);
		CU_ASSERT_EQUAL(path_of(rig, RIG_GNB).restarts, rows[i].restarts);
		CU_ASSERT_EQUAL(path_of(rig, RIG_GNB).recovery, rows[i].recovery);
	}
	rig_session_del(rig, &s);
	rig_end(rig);
}

// A peer whose link address does not resolve is down, too; its requests are dropped by name.
static void unresolved(void)
{
	struct rig *rig = rig_start(1, 0);
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	for (unsigned i = 0; i < N3 * T3_MS + 200; i += 100) {
		clock_warp_ns(100 * (int64_t)NS_PER_MS);
		neigh_tick(rig->control.neigh);
		rig_settle(rig);
	}
	CU_ASSERT(changes.n == 1 && !changes.up);
	CU_ASSERT(rig_drops(rig, DROP_neigh_failed) > 0);
	CU_ASSERT_EQUAL(path_of(rig, RIG_GNB).sent, N3);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// A flood of answers leaves room for address resolution.
static void flood(void)
{
	struct rig *rig = rig_start(1, 0);
	struct rig_session s;
	struct request r;
	uint64_t punted;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	pass(rig, 100);
	CU_ASSERT_EQUAL_FATAL(recv_requests(rig, &r), 1);
	punted = rig_count(rig, COUNTER_punted);
	flooding = true;
	for (unsigned i = 0; i < 1000; i++)
		answer_as(rig, &r, 0, (uint16_t)(sequence_of(&r) + 1), 0);
	flooding = false;
	while (pipeline_turn(rig->control.workers[0])) // the control thread does not get to look
		;
	punted = rig_count(rig, COUNTER_punted) - punted;
	CU_ASSERT(punted > 100 && punted < 130); // half of the ring
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_punt_full), 1000 - punted);
	rig_settle(rig);
	CU_ASSERT_EQUAL(unasked(rig), punted);
	answer(rig, &r);
	CU_ASSERT_EQUAL(path_of(rig, RIG_GNB).answered, 1);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"period", period},         {"failure and recovery", failure_and_recovery},
	{"stray answers", strays},  {"restarts", restarts},
	{"unresolved", unresolved}, {"flood of answers", flood},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("gtpu_path")
