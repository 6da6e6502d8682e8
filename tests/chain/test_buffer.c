// Downlink packets that wait for their UE: held in order, told of once, delivered once and ahead of newer ones,
// bounded in every way, and never lost without a name.
//
// Packets are numbered by the UE's port, so that their order shows.

#include "chain.h"
#include "base/clock.h"
#include "packet/be.h"
#include "packet/eth.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "pipeline/pipeline.h"
#include "worker/mailbox.h"

#define USER_AT (ETH_BYTES + IP4_BYTES + UDP_BYTES + GTPU_BYTES + 8) // with a PDU Session Container
#define PAYLOAD 72
#define USER_BYTES (IP4_BYTES + UDP_BYTES + PAYLOAD)
#define EF 46

static struct rig_flow numbered(bool v6, unsigned number)
{
	return (struct rig_flow){
		.proto = IPPROTO_UDP,
		.ue_port = (uint16_t)number,
		.dn_port = 53,
		.ttl = 64,
		.payload = PAYLOAD,
		.qfi = 1,
		.v6 = v6,
		.tos = EF << 2,
	};
}

// The ordinary rules, or a variant, whose downlink FAR does this.
static struct rules *rules_of(enum rig_variant variant, unsigned action)
{
	struct rules *rules = rig_variant_new(variant, 0);

	rules_far_lookup(rules, 1)->action = (uint8_t)action;
	return rules;
}

#define IDLE (APPLY_BUFF | APPLY_NOCP)

static void change_to(struct rig *rig, struct rig_session *s, enum rig_variant variant,
		      unsigned action)
{
	struct rules *rules = rules_of(variant, action);

	rig_session_change(rig, s, rules);
	rules_free(rules);
}

// The command alone, without a turn of the worker, for the rules of another session to the same gNB.
static void change_post(struct rig *rig, const struct rig_session *s,
			const struct rig_session *other)
{
	struct session_place to = {.teid = rte_cpu_to_be_32(s->gnb_teid), .peer = other->peer};
	struct mail *mail = rig_session_mail(s, other->rules, to);

	mail_post(rig->control.workers[s->slot.owner], mail);
}

static void mail_to(struct rig *rig, const struct rig_session *s, enum mail_type type)
{
	struct mail *mail = mail_new(type, NULL, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
	mail->session.image.slot = s->slot.index;
	mail->session.image.version = s->slot.version;
	mail_post(rig->control.workers[s->slot.owner], mail);
	rig_settle(rig);
}

static void send_numbers(struct rig *rig, const struct rig_session *s, bool v6, unsigned via,
			 unsigned from, unsigned to)
{
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned number = from; number < to; number++) {
		struct rig_flow flow = numbered(v6, number);

		rig_send(rig, RIG_N6, via, frame, rig_frame_down(rig, s, &flow, frame));
	}
}

// What has left to the gNB bears these numbers, in order, and goes to this tunnel.
static void expect_numbers(struct rig *rig, const struct rig_session *s, bool v6, unsigned from,
			   unsigned to)
{
	unsigned at = USER_AT + (v6 ? IP6_BYTES : IP4_BYTES) + 2;
	uint8_t out[RIG_FRAME_MAX];

	for (unsigned number = from; number < to; number++) {
		CU_ASSERT_NOT_EQUAL_FATAL(rig_recv(rig, RIG_N3, out), 0);
		CU_ASSERT_EQUAL(be16_get(out + at), number);
		CU_ASSERT_EQUAL(be32_get(out + ETH_BYTES + IP4_BYTES + UDP_BYTES + 4), s->gnb_teid);
	}
	CU_ASSERT_EQUAL(rig_recv(rig, RIG_N3, out), 0);
}

static uint64_t held(const struct rig *rig)
{
	return rig_count(rig, COUNTER_held);
}

// A rig with a session whose gNB is known and whose UE is idle now.
static struct rig *idle_rig(const struct rig_conf *conf, struct rig_session *s)
{
	struct rig *rig = rig_new(conf);

	rig_resolve(rig);
	rig_session_add(rig, 0, NULL, s);
	rig_resolve(rig);
	change_to(rig, s, RIG_ORDINARY, IDLE);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_buffered), 0);
	return rig;
}

static const struct rig_conf one = {.n_workers = 1, .n_slots = 8, .n_tunnels = 8};

static void end(struct rig *rig, struct rig_session *s)
{
	rig_session_del(rig, s);
	CU_ASSERT_EQUAL(held(rig), 0);
	rig_end(rig);
}

// --- ordinary --------------------------------------------------------------------------------------------

static void wake(unsigned n_workers, unsigned via, bool v6)
{
	const struct rig_conf conf = {.n_workers = n_workers, .n_slots = 8, .n_tunnels = 8};
	struct rig_session s;
	struct rig *rig = idle_rig(&conf, &s);

	send_numbers(rig, &s, v6, via, 0, 20);
	rig_settle(rig);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 0);
	CU_ASSERT(held(rig) == 20 && rig_count(rig, COUNTER_buffered) == 20);
	CU_ASSERT_TRUE(rig_accounted(rig));
	CU_ASSERT_EQUAL(rte_mempool_avail_count(rig->pool), rig->conf.mbufs);
	CU_ASSERT_EQUAL(rig->n_told, 1);
	CU_ASSERT(rig->told[0].slot == s.slot.index && rig->told[0].version == s.slot.version);
	CU_ASSERT(rig->told[0].pdr == 2 && rig->told[0].dscp == EF);
	change_to(rig, &s, RIG_ORDINARY, APPLY_FORW);
	expect_numbers(rig, &s, v6, 0, 20);
	CU_ASSERT_EQUAL(held(rig), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_down), 20);
	send_numbers(rig, &s, v6, via, 20, 24);
	rig_settle(rig);
	expect_numbers(rig, &s, v6, 20, 24);
	end(rig, &s);
}

static void wakes(void)
{
	for (unsigned v6 = 0; v6 < 2; v6++) {
		wake(1, 0, v6);
		wake(2, 0, v6);
		wake(2, 1, v6);
	}
}

// More than a turn releases, while newer packets arrive: a turn stays short, and the newer
// go behind.
static void in_pieces(void)
{
	enum { OLD = 200, NEW = 8, TURNS = 40 };
	const struct rig_conf conf = {.n_workers = 1,
				      .n_slots = 8,
				      .n_tunnels = 8,
				      .buffers = {.packets = 1000,
						  .bytes = 1000000,
						  .all_packets = 1000,
						  .all_bytes = 1000000}};
	struct rig_session s, open;
	struct rig *rig = idle_rig(&conf, &s);
	struct worker *w = rig->control.workers[0];
	unsigned next = OLD, pieces = 0;
	bool closed = false;

	rig_session_add(rig, 1, NULL,
			&open); // has the block of rules that the first one is to have
	rig_resolve(rig);
	for (unsigned i = 0; i < OLD; i += 50) {
		send_numbers(rig, &s, false, 0, i, i + 50);
		rig_settle(rig);
	}
	CU_ASSERT_EQUAL(held(rig), OLD);
	change_post(rig, &s, &open);
	for (unsigned turn = 0; turn < TURNS; turn++, next += NEW) {
		uint64_t before = rig_count(rig, COUNTER_tx);

		send_numbers(rig, &s, false, 0, next, next + NEW);
		pipeline_turn(w);
		CU_ASSERT(rig_count(rig, COUNTER_tx) - before <= BUFFER_RELEASE + NEW);
		CU_ASSERT_TRUE(rig_accounted(rig));
		closed |= w->table.down[s.slot.index].check == 0;
		pieces += held(rig) > 0;
	}
	CU_ASSERT(closed && pieces >= OLD / BUFFER_RELEASE && pieces < TURNS / 2);
	CU_ASSERT_EQUAL(w->table.down[s.slot.index].check, s.slot.version);
	rig_settle(rig);
	expect_numbers(rig, &s, false, 0, next);
	rig_session_del(rig, &s);
	rig_session_del(rig, &open);
	CU_ASSERT_EQUAL(held(rig), 0);
	rig_end(rig);
}

// Other rules of which the FAR still buffers: packets stay, in order, and the SMF is not told anew.
static void rules_again(void)
{
	struct rig_session s;
	struct rig *rig = idle_rig(&one, &s);

	for (unsigned i = 0; i < 5; i++) {
		send_numbers(rig, &s, i & 1, 0, 10 * i, 10 * i + 10);
		rig_settle(rig);
		change_to(rig, &s, i & 1 ? RIG_ORDINARY : RIG_RQI, IDLE);
	}
	CU_ASSERT(held(rig) == 50 && rig->n_told == 1);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_buffered), 50);
	change_to(rig, &s, RIG_ORDINARY, APPLY_FORW);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 50);
	end(rig, &s);
}

// What came by a tunnel from the core side waits as well, and leaves from tunnel to tunnel.
static void tunnelled(void)
{
	struct rig *rig = rig_new(&one);
	struct rig_session s, by;
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_flow flow = numbered(false, 7);
	struct rules *rules = rules_of(RIG_TUNNEL_DOWN, IDLE);

	rig_resolve(rig);
	rig_session_add(rig, 0, rules, &s);
	rig_resolve(rig);
	by = s;
	by.teid = s.tunnels[0].teid;
	rig_send(rig, RIG_N3, 0, frame, rig_frame_up(rig, &by, &flow, frame));
	rig_settle(rig);
	CU_ASSERT(held(rig) == 1 && rig->n_told == 1);
	rules_far_lookup(rules, 1)->action = APPLY_FORW;
	rig_session_change(rig, &s, rules);
	rig_resolve(rig);
	CU_ASSERT_EQUAL(held(rig), 0);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 1);
	rules_free(rules);
	end(rig, &s);
}

// The same while the line is closed: what comes by a tunnel queues behind, too.
static void tunnelled_behind(void)
{
	enum { OLD = 130, ALL = 132 };
	struct rig_conf conf = one;
	struct rules *rules = rules_of(RIG_TUNNEL_DOWN, IDLE);
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_session s, by;
	struct rig *rig;

	conf.buffers.packets = ALL;
	rig = rig_new(&conf);
	rig_resolve(rig);
	rig_session_add(rig, 0, rules, &s);
	rig_resolve(rig);
	by = s;
	by.teid = s.tunnels[0].teid;
	for (unsigned number = 0; number < ALL; number++) {
		struct rig_flow flow = numbered(number & 1, 1);

		if (number == OLD) {
			rig_settle(rig);
			change_post(rig, &s, &s); // the same rules: all are looked at anew
			pipeline_turn(rig->control.workers[0]);
			CU_ASSERT_EQUAL(rig->control.workers[0]->table.down[s.slot.index].check, 0);
		}
		flow.dn_port = (uint16_t)number;
		rig_send(rig, RIG_N3, 0, frame, rig_frame_up(rig, &by, &flow, frame));
		if (number >= OLD)
			pipeline_turn(rig->control.workers[0]);
		else if (number % 32 == 0)
			rig_settle(rig);
	}
	rig_settle(rig);
	CU_ASSERT_EQUAL(held(rig), ALL);
	rules_far_lookup(rules, 1)->action = APPLY_FORW;
	rig_session_change(rig, &s, rules);
	rig_resolve(rig);
	// The PDR of this tunnel has no QER: no PDU Session Container.
	for (unsigned number = 0; number < ALL; number++) {
		unsigned at = USER_AT - 8 + (number & 1 ? IP6_BYTES : IP4_BYTES) + 2;

		CU_ASSERT_NOT_EQUAL_FATAL(rig_recv(rig, RIG_N3, frame), 0);
		CU_ASSERT_EQUAL(be16_get(frame + at), number);
	}
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_down), ALL);
	rules_free(rules);
	end(rig, &s);
}

// Rates and usage are those of delivery: nothing is charged for what waits.
static void charged_once(void)
{
	struct rig_session s;
	struct rig *rig = idle_rig(&one, &s);

	clock_stop();
	change_to(rig, &s, RIG_RATE, IDLE);
	send_numbers(rig, &s, false, 0, 0, 30);
	rig_settle(rig);
	CU_ASSERT_EQUAL(held(rig), 30);
	change_to(rig, &s, RIG_RATE, APPLY_FORW); // 1,500 bytes of burst, and one packet
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_down), 16);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_rate_exceeded), 14);
	expect_numbers(rig, &s, false, 0, 16);
	clock_start();
	end(rig, &s);
}

// --- limits ----------------------------------------------------------------------------------------------

static void limits(void)
{
	enum { SENT = 40 };
	static const struct {
		struct buffer_limits limits;
		unsigned mbufs;
		unsigned suggested; // by the BAR
		enum drop reason;
		unsigned held;
	} rows[] = {
		{{.packets = 10}, 0, 0, DROP_buffer_full, 10},
		{{.bytes = 10 * USER_BYTES}, 0, 0, DROP_buffer_full, 10},
		{{.bytes = 11 * USER_BYTES - 1}, 0, 0, DROP_buffer_full, 10},
		{{.packets = 10}, 0, 20, DROP_buffer_full, 10},
		{{.packets = 20}, 0, 10, DROP_buffer_full, 10},
		{{.all_packets = 10}, 0, 0, DROP_buffer_no_room, 10},
		{{.all_bytes = 11 * USER_BYTES - 1}, 0, 0, DROP_buffer_no_room, 10},
		{{0}, 10, 0, DROP_buffer_no_room, 10},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct rig_conf conf = one;
		struct rules *rules = rules_of(RIG_ORDINARY, IDLE);
		struct rig_session s;
		struct rig *rig;

		conf.buffers = rows[i].limits;
		conf.buffer_mbufs = rows[i].mbufs;
		if (rows[i].suggested) {
			struct bar_rule *bar = rules_bar_add(rules, 1);

			bar->has_suggested = true;
			bar->suggested_packets = (uint16_t)rows[i].suggested;
			rules_far_lookup(rules, 1)->has_bar = true;
			rules_far_lookup(rules, 1)->bar = 1;
		}
		rig = idle_rig(&conf, &s);
		rig_session_change(rig, &s, rules);
		send_numbers(rig, &s, false, 0, 0, SENT);
		rig_settle(rig);
		CU_ASSERT_EQUAL(held(rig), rows[i].held);
		CU_ASSERT_EQUAL(rig_drops(rig, rows[i].reason), SENT - rows[i].held);
		CU_ASSERT_EQUAL(rig->n_told, 1);
		change_to(rig, &s, RIG_ORDINARY, APPLY_FORW);
		expect_numbers(rig, &s, false, 0, rows[i].held);
		rules_free(rules);
		end(rig, &s);
	}
}

// Lower limits for what is held already: the newest packets go.
static void limits_lowered(void)
{
	struct rules *rules = rules_of(RIG_ORDINARY, IDLE);
	struct bar_rule *bar = rules_bar_add(rules, 1);
	struct rig_session s;
	struct rig *rig = idle_rig(&one, &s);

	send_numbers(rig, &s, false, 0, 0, 40);
	rig_settle(rig);
	bar->has_suggested = true;
	bar->suggested_packets = 18;
	rules_far_lookup(rules, 1)->has_bar = true;
	rules_far_lookup(rules, 1)->bar = 1;
	rig_session_change(rig, &s, rules);
	CU_ASSERT(held(rig) == 18 && rig_drops(rig, DROP_buffer_full) == 22);
	change_to(rig, &s, RIG_ORDINARY, APPLY_FORW);
	expect_numbers(rig, &s, false, 0, 18);
	rules_free(rules);
	end(rig, &s);
}

// What waits takes no buffer of the ports', so others are served as ever.
static void ports_keep_their_own(void)
{
	struct rig_conf conf = one;
	struct rig_session s, other;
	struct rig_flow flow = numbered(false, 1);
	struct rig *rig;

	conf.mbufs = 128;
	rig = idle_rig(&conf, &s);
	rig_session_add(rig, 1, NULL, &other);
	rig_resolve(rig);
	for (unsigned i = 0; i < 200; i += 50) {
		send_numbers(rig, &s, false, 0, i, i + 50);
		rig_settle(rig);
	}
	CU_ASSERT_EQUAL(held(rig), RIG_BUFFER_PACKETS);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(rig->pool), rig->conf.mbufs);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &other, false, &flow, 0), 1);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, true, &flow, 0), 1);
	rig_session_del(rig, &other);
	end(rig, &s);
}

static void warp(struct rig *rig, unsigned ms)
{
	clock_warp_ns((int64_t)(ms * NS_PER_MS));
	rig_settle(rig);
}

// Each packet has its own time; when none is left, and the time of what was told is over, it is told again.
static void too_old(void)
{
	static const struct {
		uint32_t duration_s; // of the BAR, 0: none
		unsigned ms, episode_ms;
	} rows[] = {{0, RIG_BUFFER_MS, RIG_BUFFER_MS}, {4, 4000, 4000}, {60, RIG_BUFFER_MS, 60000}};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct rules *rules = rules_of(RIG_ORDINARY, IDLE);
		struct rig_session s;
		struct rig *rig = idle_rig(&one, &s);
		struct bar_rule *bar = rules_bar_add(rules, 1);

		clock_stop();
		bar->has_duration = rows[i].duration_s != 0;
		bar->duration_s = rows[i].duration_s;
		rules_far_lookup(rules, 1)->has_bar = true;
		rules_far_lookup(rules, 1)->bar = 1;
		rig_session_change(rig, &s, rules);
		send_numbers(rig, &s, false, 0, 0, 3);
		rig_settle(rig);
		warp(rig, 1000);
		send_numbers(rig, &s, true, 0, 3, 8);
		rig_settle(rig);
		CU_ASSERT_EQUAL(held(rig), 8);
		warp(rig, rows[i].ms - 1001);
		CU_ASSERT_EQUAL(held(rig), 8);
		warp(rig, 1);
		CU_ASSERT(held(rig) == 5 && rig_drops(rig, DROP_buffer_timeout) == 3);
		warp(rig, 1000);
		CU_ASSERT(held(rig) == 0 && rig_drops(rig, DROP_buffer_timeout) == 8);
		CU_ASSERT_EQUAL(rig->n_told, 1);
		if (rows[i].episode_ms > rows[i].ms + 1000) {
			send_numbers(rig, &s, false, 0, 0, 1);
			rig_settle(rig);
			CU_ASSERT_EQUAL(rig->n_told, 1);
			warp(rig, rows[i].episode_ms);
		}
		send_numbers(rig, &s, false, 0, 0, 2);
		rig_settle(rig);
		CU_ASSERT_EQUAL(rig->n_told, 2);
		rules_free(rules);
		clock_start();
		end(rig, &s);
	}
}

// --- ends ------------------------------------------------------------------------------------------------

static void ends(void)
{
	struct rig_session s;
	struct rig *rig = idle_rig(&one, &s);

	send_numbers(rig, &s, false, 0, 0, 7);
	rig_settle(rig);
	change_to(rig, &s, RIG_ORDINARY, APPLY_DROP);
	CU_ASSERT(held(rig) == 0 && rig_drops(rig, DROP_far_drop) == 7);
	change_to(rig, &s, RIG_ORDINARY, IDLE);
	send_numbers(rig, &s, false, 0, 0, 6);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig->n_told, 2); // another episode
	mail_to(rig, &s, MAIL_BUFFER_DROP);
	CU_ASSERT(held(rig) == 0 && rig_drops(rig, DROP_buffer_dropped) == 6);
	send_numbers(rig, &s, false, 0, 0, 5);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig->n_told, 3);
	rig_session_del(rig, &s);
	CU_ASSERT(held(rig) == 0 && rig_drops(rig, DROP_buffer_dropped) == 11);
	CU_ASSERT_EQUAL(rig->ended.down_packets, 0);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 0);
	rig_end(rig);
}

// The session goes while its packets are on their way out; a packet for it is stale then.
static void ends_meanwhile(void)
{
	struct rig_conf conf = one;
	struct rig_session s;
	struct worker *w;
	struct rig *rig;

	conf.buffers = (struct buffer_limits){.packets = 200};
	rig = idle_rig(&conf, &s);
	w = rig->control.workers[0];
	for (unsigned i = 0; i < 200; i += 50) {
		send_numbers(rig, &s, false, 0, i, i + 50);
		rig_settle(rig);
	}
	CU_ASSERT_EQUAL(held(rig), 200);
	change_post(rig, &s, &s); // the same rules: all are looked at anew
	pipeline_turn(w);
	CU_ASSERT_EQUAL(w->table.down[s.slot.index].check, 0);
	send_numbers(rig, &s, false, 0, 0, 1);
	rig_session_close(rig, &s);
	rig_settle(rig);
	CU_ASSERT_EQUAL(held(rig), 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_buffer_dropped), 200);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_no_session), 1);
	rig_session_forget(rig, &s);
	rig_end(rig);
}

// The worker ends with packets that wait: their buffers are given back.
static void worker_ends(void)
{
	struct rig_session s;
	struct rig *rig = idle_rig(&one, &s);

	send_numbers(rig, &s, false, 0, 0, 7);
	rig_settle(rig);
	CU_ASSERT_EQUAL(held(rig), 7);
	rig_end(rig);
}

// --- episodes --------------------------------------------------------------------------------------------

static void told_once(void)
{
	enum { RING = 63 };
	struct rig_session s;
	struct rig *rig = idle_rig(&one, &s);
	struct worker *w = rig->control.workers[0];
	struct buffer_event event = {0};

	send_numbers(rig, &s, false, 0, 0, 40);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig->n_told, 1);
	mail_to(rig, &s, MAIL_BUFFER_AGAIN);
	send_numbers(rig, &s, true, 0, 0, 3);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig->n_told, 2);
	CU_ASSERT_EQUAL(held(rig), 43);
	// With the ring full a later packet tells.
	mail_to(rig, &s, MAIL_BUFFER_AGAIN);
	while (rte_ring_sp_enqueue_elem(w->buffer_events, &event, sizeof(event)) == 0)
		;
	send_numbers(rig, &s, false, 0, 0, 2);
	pipeline_turn(w);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_buffer_events_late), 2);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig->n_told, 2 + RING);
	send_numbers(rig, &s, false, 0, 0, 2);
	rig_settle(rig);
	CU_ASSERT_EQUAL(rig->n_told, 3 + RING);
	// Without NOCP nobody is told.
	change_to(rig, &s, RIG_ORDINARY, APPLY_FORW);
	change_to(rig, &s, RIG_ORDINARY, APPLY_BUFF);
	send_numbers(rig, &s, false, 0, 0, 2);
	rig_settle(rig);
	CU_ASSERT(rig->n_told == 3 + RING && held(rig) == 2);
	end(rig, &s);
}

// A FAR of its own has an episode of its own; when one of two opens, what the other holds stays.
static void two_fars(void)
{
	struct rules *rules = rules_of(RIG_ORDINARY, IDLE);
	struct far_rule *far = rules_far_add(rules, 3);
	struct rig_session s;
	struct rig *rig = idle_rig(&one, &s);
	struct rig_flow flow = numbered(false, 1);

	*far = *rules_far_lookup(rules, 1);
	far->id = 3;
	rules_pdr_lookup(rules, 1)->far = 3; // port 5000
	rig_session_change(rig, &s, rules);
	flow.dn_port = 5000;
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, false, &flow, 0), 0);
	send_numbers(rig, &s, false, 0, 10, 13);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, false, &flow, 0), 0);
	CU_ASSERT(held(rig) == 5 && rig->n_told == 2);
	CU_ASSERT(rig->told[0].pdr == 1 && rig->told[1].pdr == 2);
	rules_far_lookup(rules, 1)->action = APPLY_FORW;
	rig_session_change(rig, &s, rules);
	expect_numbers(rig, &s, false, 10, 13);
	CU_ASSERT_EQUAL(chain_forwarded(rig, &s, false, &flow, 0), 0);
	CU_ASSERT(held(rig) == 3 && rig->n_told == 2);
	rules_far_lookup(rules, 3)->action = APPLY_FORW;
	rig_session_change(rig, &s, rules);
	CU_ASSERT_EQUAL(chain_drain(rig, RIG_N3), 3);
	rules_free(rules);
	end(rig, &s);
}

// The UE wakes up at a gNB that nothing was sent to before: its packets wait for the link address too.
static void new_gnb(void)
{
	struct rules *rules = rules_of(RIG_ORDINARY, APPLY_FORW);
	struct rig_session s;
	struct rig *rig = idle_rig(&one, &s);
	struct addr gnb;

	clock_stop();
	send_numbers(rig, &s, false, 0, 0, 40); // more than may wait for a neighbour
	rig_settle(rig);
	addr_parse(RIG_GNB2, &gnb);
	rules_far_lookup(rules, 1)->v4.s_addr = gnb.v4;
	rig_session_change(rig, &s, rules);
	CU_ASSERT_EQUAL(held(rig), 40);
	rig_resolve(rig);
	expect_numbers(rig, &s, false, 0, 40);
	clock_start();
	rules_free(rules);
	end(rig, &s);
}

static CU_TestInfo tests[] = {
	{"54: held, told, delivered in order", wakes},
	{"in pieces, ahead of newer ones", in_pieces},
	{"rules that buffer still", rules_again},
	{"by a tunnel", tunnelled},
	{"by a tunnel, behind others", tunnelled_behind},
	{"metered at delivery", charged_once},
	{"54: limits", limits},
	{"limits lowered", limits_lowered},
	{"ports keep their buffers", ports_keep_their_own},
	{"too old", too_old},
	{"55: DROP, DROBU, deletion", ends},
	{"the session ends meanwhile", ends_meanwhile},
	{"the worker ends", worker_ends},
	{"told once", told_once},
	{"two FARs", two_fars},
	{"a new gNB", new_gnb},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("buffer")
