// Handoff: what arrives at the wrong worker reaches its owner, and no reference outlives its session.
//
// Workers are driven turn by turn, so that a test decides what happens while a packet is in the ring between
// them. test_race.c does the same with real threads.

#include "chain.h"
#include <errno.h>

#include "packet/be.h"
#include "pipeline/pipeline.h"
#include "worker/mailbox.h"

#define OWNER 0 // where the first session of a rig lives
#define OTHER 1

static struct rig_flow flow_of(bool v6)
{
	return (struct rig_flow){.proto = IPPROTO_UDP,
				 .ue_port = 4000,
				 .dn_port = 5000,
				 .ttl = 64,
				 .payload = 40,
				 .qfi = 1,
				 .v6 = v6};
}

static struct worker *worker_of(const struct rig *rig, unsigned i)
{
	return rig->control.workers[i];
}

// How a packet finds its session.
enum way {
	WAY_LINE,   // up, by the TEID of the up line
	WAY_RECORD, // up, by a tunnel record
	WAY_GIVEN,  // up, by a TEID that the SMF chose
	WAY_DOWN,   // by the UE's address
	WAYS
};

static void session_add(struct rig *rig, enum way way, uint32_t n, struct rig_session *ret)
{
	struct rules *rules = rig_variant_new(way == WAY_GIVEN ? RIG_GIVEN : RIG_TUNNEL_UP, n);

	rig_session_add(rig, n, rules, ret);
	rules_free(rules);
}

static size_t frame_make(const struct rig *rig, const struct rig_session *s, enum way way, bool v6,
			 uint8_t *frame)
{
	struct rig_session by = *s;
	struct rig_flow flow = flow_of(v6);

	if (way == WAY_RECORD || way == WAY_GIVEN)
		by.teid = s->tunnels[0].teid;
	return chain_frame(rig, &by, way != WAY_DOWN, &flow, frame);
}

// Puts a packet for the session into the ring towards its owner.
static void strand(struct rig *rig, const struct rig_session *s, enum way way, bool v6)
{
	uint64_t before = worker_of(rig, OTHER)->stats.counter[COUNTER_handoff_out];
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = frame_make(rig, s, way, v6, frame);

	CU_ASSERT_EQUAL(s->slot.owner, OWNER);
	rig_send(rig, way == WAY_DOWN ? RIG_N6 : RIG_N3, OTHER, frame, bytes);
	pipeline_turn(worker_of(rig, OTHER));
	CU_ASSERT_EQUAL(worker_of(rig, OTHER)->stats.counter[COUNTER_handoff_out], before + 1);
}

// One slot a worker: the second session lives at the other worker, and whoever comes after the first takes
// its slot.
static struct rig *rig_of_one_slot(void)
{
	struct rig_conf conf = {.n_workers = 2, .n_slots = 1, .n_tunnels = 1};
	struct rig *rig = rig_new(&conf);

	rig_resolve(rig);
	return rig;
}

static void reaches_owner(void)
{
	struct rig *rig = chain_rig(2);
	struct rig_session s;
	uint8_t frame[RIG_FRAME_MAX];
	unsigned n = 0;

	for (enum way way = 0; way < WAYS; way++) {
		session_add(rig, way, way, &s);
		rig_resolve(rig);
		for (unsigned v6 = 0; v6 < 2; v6++)
			for (unsigned via = 0; via < 2; via++) {
				size_t bytes = frame_make(rig, &s, way, v6, frame);

				n += via != s.slot.owner;
				rig_send(rig, way == WAY_DOWN ? RIG_N6 : RIG_N3, via, frame, bytes);
				rig_settle(rig);
				CU_ASSERT_EQUAL(chain_drain(rig, way == WAY_DOWN ? RIG_N3 : RIG_N6),
						1);
				CU_ASSERT_EQUAL(rig_count(rig, COUNTER_handoff_out), n);
				CU_ASSERT_EQUAL(rig_count(rig, COUNTER_handoff_in), n);
			}
		rig_session_del(rig, &s);
	}
	rig_end(rig);
}

// The session goes while its packet is in the ring; with `reused` another UE has its slot (and its tunnel
// record, under another TEID) before the packet is read.
static void stale(enum way way, bool v6, bool reused)
{
	struct rig *rig = rig_of_one_slot();
	struct rig_session old, next;
	struct worker *owner = worker_of(rig, OWNER);

	session_add(rig, way, 0, &old);
	rig_resolve(rig);
	strand(rig, &old, way, v6);
	rig_session_close(rig, &old);
	mailbox_run(owner, WORKER_MAILS);
	control_poll(&rig->control);
	rig_session_forget(rig, &old);
	if (reused) {
		session_add(rig, way, 1, &next);
		CU_ASSERT_EQUAL(next.slot.owner, old.slot.owner);
		CU_ASSERT_EQUAL(next.slot.index, old.slot.index);
		mailbox_run(owner, WORKER_MAILS);
	}
	rig_resolve(rig);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_stale_reference), 1);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3) + chain_drain(rig, RIG_N6), 0);
	if (reused) {
		rig_session_del(rig, &next);
		CU_ASSERT_EQUAL(rig->ended.up_packets + rig->ended.down_packets, 0);
	}
	rig_end(rig);
}

static void stale_references(void)
{
	for (enum way way = 0; way < WAYS; way++)
		for (unsigned v6 = 0; v6 < 2; v6++) {
			stale(way, v6, false);
			stale(way, v6, true);
		}
}

// The command that ends the session and the packet wait together: the owner carries out commands first.
static void clear_before_packets(void)
{
	for (enum way way = 0; way < WAYS; way++) {
		struct rig *rig = rig_of_one_slot();
		struct rig_session s;

		session_add(rig, way, 0, &s);
		rig_resolve(rig);
		strand(rig, &s, way, false);
		rig_session_close(rig, &s);
		pipeline_turn(worker_of(rig, OWNER));
		CU_ASSERT_EQUAL(rig_drops(rig, DROP_stale_reference), 1);
		rig_settle(rig);
		rig_session_forget(rig, &s);
		rig_end(rig);
	}
}

// A session that gets other rules while a packet is in the ring is the same session: the packet goes by the
// rules that stand when it is worked on.
static void replaced_is_not_stale(void)
{
	for (enum way way = 0; way < WAYS; way++) {
		struct rig *rig = rig_of_one_slot();
		struct rig_session s;
		struct session_image image;
		struct mail *mail = mail_new(MAIL_SESSION_SET, NULL, NULL);

		session_add(rig, way, 0, &s);
		rig_resolve(rig);
		strand(rig, &s, way, false);
		image = (struct session_image){
			.slot = s.slot.index,
			.version = s.slot.version,
			.teid = s.teid,
			.rules = s.rules,
			.ue_v4 = s.ue_v4.v4,
			.line_out = {.teid = rte_cpu_to_be_32(0xabcd), .peer = s.peer},
		};
		mail->session.image = image;
		mail_post(worker_of(rig, OWNER), mail);
		rig_settle(rig);
		if (way == WAY_DOWN) {
			uint8_t out[RIG_FRAME_MAX];

			CU_ASSERT_NOT_EQUAL(rig_recv(rig, RIG_N3, out), 0);
			CU_ASSERT_EQUAL(be32_get(out + 14 + 20 + 8 + 4), 0xabcd);
		} else {
			CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), 1);
		}
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

static void ring_full(void)
{
	enum { ROOM = 63, MORE = 37 };

	for (unsigned up = 0; up < 2; up++) {
		struct rig_conf conf = {
			.n_workers = 2, .n_slots = 4, .n_tunnels = 1, .handoff_ring = ROOM + 1};
		struct rig *rig = rig_new(&conf);
		struct worker *other = worker_of(rig, OTHER), *owner = worker_of(rig, OWNER);
		struct rig_session s;

		rig_resolve(rig);
		rig_session_add(rig, 0, NULL, &s);
		rig_resolve(rig);
		for (unsigned i = 0; i < ROOM + MORE; i++) {
			uint8_t frame[RIG_FRAME_MAX];
			struct rig_flow flow = flow_of(i & 1);
			size_t bytes = chain_frame(rig, &s, up, &flow, frame);

			rig_send(rig, up ? RIG_N3 : RIG_N6, OTHER, frame, bytes);
		}
		while (pipeline_turn(other))
			;
		CU_ASSERT_EQUAL(other->stats.drop[DROP_handoff_full], MORE);
		CU_ASSERT_EQUAL(other->stats.counter[COUNTER_handoff_out], ROOM);
		rig_settle(rig);
		CU_ASSERT_EQUAL(owner->stats.counter[COUNTER_handoff_in], ROOM);
		CU_ASSERT_EQUAL(owner->stats.counter[COUNTER_handoff_high], ROOM);
		CU_ASSERT_EQUAL(chain_drain(rig, up ? RIG_N6 : RIG_N3), ROOM);
		// The ring is of use again.
		struct rig_flow flow = flow_of(false);
		CU_ASSERT_EQUAL(chain_forwarded(rig, &s, up, &flow, OTHER), 1);
		rig_session_del(rig, &s);
		rig_end(rig);
	}
}

// A full turn: packets of all queues and rings at once, both directions, each in its own order.
static void many_workers(void)
{
	enum { WORKERS = 4, EACH = 32 };
	struct rig *rig = chain_rig(WORKERS);
	struct rig_session s;
	uint8_t frame[RIG_FRAME_MAX], out[RIG_FRAME_MAX];
	uint16_t seen[WORKERS] = {0};
	unsigned n = 0;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned i = 0; i < EACH; i++)
		for (unsigned via = 0; via < WORKERS; via++) {
			struct rig_flow flow = flow_of(false);
			size_t bytes;

			flow.ue_port = (uint16_t)(via << 8 | i);
			bytes = rig_frame_up(rig, &s, &flow, frame);
			rig_send(rig, RIG_N3, via, frame, bytes);
			flow = flow_of(true);
			bytes = rig_frame_down(rig, &s, &flow, frame);
			rig_send(rig, RIG_N6, via, frame, bytes);
		}
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), WORKERS * EACH);
	for (; rig_recv(rig, RIG_N6, out) > 0; n++) {
		uint16_t port = be16_get(out + 14 + 20);

		CU_ASSERT_EQUAL_FATAL(port >> 8 < WORKERS, true);
		CU_ASSERT_EQUAL(port & 0xff,
				seen[port >> 8]); // what came by one queue leaves in its order
		seen[port >> 8]++;
	}
	CU_ASSERT_EQUAL(n, WORKERS * EACH);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_handoff_in), 2 * (WORKERS - 1) * EACH);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// However many workers send at once, a turn takes something of every ring, and of the worker's own queues.
static void none_starves(void)
{
	enum { WORKERS = 12, EACH = 64 };
	struct rig *rig = chain_rig(WORKERS);
	struct worker *owner = worker_of(rig, OWNER);
	struct rig_flow flow = flow_of(false);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	for (unsigned via = 0; via < WORKERS; via++)
		for (unsigned i = 0; i < EACH; i++) {
			rig_send(rig, RIG_N3, via, frame, rig_frame_up(rig, &s, &flow, frame));
			rig_send(rig, RIG_N6, via, frame, rig_frame_down(rig, &s, &flow, frame));
		}
	for (unsigned via = 1; via < WORKERS; via++)
		while (pipeline_turn(worker_of(rig, via)))
			;
	pipeline_turn(owner);
	for (unsigned via = 1; via < WORKERS; via++)
		CU_ASSERT_TRUE(rte_ring_count(owner->handoff_from[via]) < 2 * EACH);
	for (unsigned iface = 0; iface < RIG_IFACES; iface++)
		CU_ASSERT_TRUE(rte_ring_count(rig->rx[iface][OWNER]) < EACH);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), WORKERS * EACH);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N6), WORKERS * EACH);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// One slot is taken and given more often than its TEIDs have generations. Now and then it is a session with
// packets, old TEIDs lead nowhere, and a TEID comes back only with its generation.
static void slot_reused_often(void)
{
	enum { TAKINGS = 1 << 17, LOOK = 1 << 13, GENERATIONS = 1 << 16 };
	// One slot and 2^15 - 1 records: with two workers that leaves 16 bits for generations.
	struct rig_conf conf = {.n_workers = 2, .n_slots = 1, .n_tunnels = (1 << 15) - 1};
	struct rig *rig = rig_new(&conf);
	struct session_table *table = &worker_of(rig, OWNER)->table;
	struct rig_session fill, s = {0};
	struct session_counts counts;
	struct policy *policy;
	uint32_t first = 0, last = 0, last_version = 0, looked = 0;
	struct rig_flow flow = flow_of(false);
	struct slot other;

	rig_resolve(rig);
	CU_ASSERT_EQUAL(rig->teids.generation_bits, 16);
	CU_ASSERT_EQUAL_FATAL(slots_take(rig->slots, &s.slot), 0);
	CU_ASSERT_EQUAL_FATAL(slots_take(rig->slots, &other),
			      0); // the other worker is full from now on
	slots_give(rig->slots, &s.slot);
	for (uint32_t i = 0; i < TAKINGS; i++) {
		struct session_image image = {0};

		CU_ASSERT_EQUAL_FATAL(slots_take(rig->slots, &s.slot), 0);
		image = (struct session_image){.slot = s.slot.index,
					       .version = s.slot.version,
					       .teid = slots_teid(rig->slots, &s.slot)};
		if (!image.teid || image.teid == last || s.slot.version == last_version ||
		    s.slot.owner != OWNER)
			CU_FAIL_FATAL("a TEID twice in a row, or the wrong slot");
		if (i == 0)
			first = image.teid;
		last = image.teid;
		last_version = s.slot.version;
		session_set(table, &image);
		if (session_clear(table, s.slot.index, s.slot.version - 1, &counts, &policy) !=
			    -ENOENT ||
		    session_clear(table, s.slot.index, s.slot.version, &counts, &policy) != 0 ||
		    table->used != 0)
			CU_FAIL_FATAL("cleared by the wrong version, or not by the right one");
		slots_give(rig->slots, &s.slot);
		if (i % LOOK != LOOK / 2)
			continue;
		rig_session_add(rig, 0, NULL, &fill);
		rig_resolve(rig);
		for (unsigned via = 0; via < 2; via++) {
			CU_ASSERT_EQUAL(chain_forwarded(rig, &fill, true, &flow, via), 1);
			CU_ASSERT_EQUAL(chain_forwarded(rig, &fill, false, &flow, via), 1);
			struct rig_session old = fill;

			old.teid = last;
			CU_ASSERT_EQUAL(chain_forwarded(rig, &old, true, &flow, via), 0);
		}
		rig_session_del(rig, &fill);
		looked++;
		i++; // a taking like the others
		last = fill.teid;
		last_version = fill.slot.version;
	}
	CU_ASSERT_EQUAL(looked, TAKINGS / LOOK);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_unknown_teid), looked);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_stale_reference), looked);
	CU_ASSERT_EQUAL(rig->ended.up_packets, 2 * looked);
	// Generations count on; those whose TEID would be 0 are stepped over, at most a few.
	CU_ASSERT_TRUE(s.slot.version >= TAKINGS && s.slot.version < TAKINGS + 8);
	CU_ASSERT_EQUAL(teid_make(&rig->teids, OWNER, 0, 2), first);
	CU_ASSERT_EQUAL(teid_make(&rig->teids, OWNER, 0, 2 + GENERATIONS), first);
	slots_give(rig->slots, &other);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"reaches its owner by every way", reaches_owner},
	{"stale references", stale_references},
	{"commands before packets", clear_before_packets},
	{"new rules do not make a reference stale", replaced_is_not_stale},
	{"ring full", ring_full},
	{"many workers", many_workers},
	{"no ring starves", none_starves},
	{"one slot reused 2^17 times", slot_reused_often},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("handoff")
