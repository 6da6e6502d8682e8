// What a URR counts as dropped downlink traffic (TS 29.244 5.2.2, Dropped DL Traffic Threshold): what is discarded because
// its UE cannot be reached, by each way in which that happens, and nothing else. By one worker and two, IPv4 and IPv6, for
// a URR that counts in the session's lines and for one that does not.

#include "chain.h"
#include "base/clock.h"
#include "worker/mailbox.h"

#define PACKETS 12
#define USER_BYTES 100

enum way {
	BY_FAR,     // FAR DROP
	BY_LIMIT,   // more than the session may hold
	BY_NO_ROOM, // or all may
	BY_TIMEOUT, // held for too long
	BY_SMF,     // dropped on demand
	BY_RELEASE, // held, then the FAR drops
	BY_UPLINK,  // an uplink packet's FAR
	BY_GATE,    // a closed gate
	BY_RATE,    // a rate that is exceeded
	BY_END,     // held, and the session ends
	WAYS
};

static const bool counts[WAYS] = {
	[BY_FAR] = true,     [BY_LIMIT] = true, [BY_NO_ROOM] = true,
	[BY_TIMEOUT] = true, [BY_SMF] = true,   [BY_RELEASE] = true,
};

static struct rules *rules_of(enum way way, bool in_line, bool bytes)
{
	static const enum rig_variant variants[WAYS] = {
		[BY_GATE] = RIG_GATE_DOWN, [BY_RATE] = RIG_RATE};
	struct rules *rules = rig_variant_new(variants[way], 0);
	struct urr_rule *urr = rules_urr_add(rules, 5);
	bool buffers = way == BY_LIMIT || way == BY_NO_ROOM || way == BY_TIMEOUT || way == BY_SMF ||
		       way == BY_RELEASE || way == BY_END;

	urr->method = METHOD_VOLUM;
	urr->triggers = TRIGGER_DROTH;
	urr->measurement_info = in_line ? 0 : MEASURE_PACKETS;
	urr->drops.flags = bytes ? 2 : 1;
	urr->drops.packets = PACKETS;
	urr->drops.bytes = PACKETS * USER_BYTES;
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		rules->pdrs[i].urrs[rules->pdrs[i].n_urrs++] = 5;
	rules_places_assign(rules); // so that a change of the rules is of the same URR
	rules_settled(rules);
	if (way == BY_FAR)
		rules_far_lookup(rules, 1)->action = APPLY_DROP;
	if (way == BY_UPLINK)
		rules_far_lookup(rules, 2)->action = APPLY_DROP;
	if (buffers)
		rules_far_lookup(rules, 1)->action = APPLY_BUFF;
	return rules;
}

static void offer(struct rig *rig, const struct rig_session *s, bool up, bool v6, unsigned via)
{
	struct rig_flow flow = {.proto = IPPROTO_UDP,
				.ue_port = 4000,
				.dn_port = 9,
				.ttl = 64,
				.payload = (uint16_t)(USER_BYTES - 8 - (v6 ? 40 : 20)),
				.qfi = 1,
				.v6 = v6};
	uint8_t frame[RIG_FRAME_MAX];

	rig_send(rig, up ? RIG_N3 : RIG_N6, via, frame, chain_frame(rig, s, up, &flow, frame));
	rig_settle(rig);
}

static void buffer_drop_post(struct rig *rig, const struct rig_session *s)
{
	struct mail *mail = mail_new(MAIL_BUFFER_DROP, NULL, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
	mail->session.image.slot = s->slot.index;
	mail->session.image.version = s->slot.version;
	mail_post(rig->control.workers[s->slot.owner], mail);
	rig_settle(rig);
}

// What was held goes.
static void held_ends(struct rig *rig, struct rig_session *s, struct rules *rules, enum way way)
{
	if (way == BY_TIMEOUT) {
		clock_warp_ns((int64_t)(RIG_BUFFER_MS * NS_PER_MS));
		rig_settle(rig);
	} else if (way == BY_SMF) {
		buffer_drop_post(rig, s);
	} else if (way == BY_RELEASE) {
		rules_far_lookup(rules, 1)->action = APPLY_DROP;
		rig_session_change(rig, s, rules);
	}
}

static void run(enum way way, unsigned n_workers, bool v6, bool in_line, bool bytes)
{
	struct rig_conf conf = {.n_workers = n_workers, .n_slots = 64, .n_tunnels = 16};
	bool held = way == BY_TIMEOUT || way == BY_SMF || way == BY_RELEASE || way == BY_END;
	struct rules *rules = rules_of(way, in_line, bytes);
	struct rig_session s;
	struct rig *rig;

	if (way == BY_LIMIT)
		conf.buffers.packets = 1;
	if (way == BY_NO_ROOM)
		conf.buffers.all_packets = 1;
	rig = chain_rig_stopped(&conf);
	chain_session_add(rig, 0, rules, &s);
	if (way == BY_LIMIT || way == BY_NO_ROOM)
		offer(rig, &s, false, v6, 0); // is held
	if (way == BY_RATE)
		for (unsigned i = 0; i < 20; i++) // beyond its burst
			offer(rig, &s, false, v6, 0);
	for (unsigned i = 1; i < PACKETS; i++)
		offer(rig, &s, way == BY_UPLINK, v6, i % n_workers);
	if (way != BY_TIMEOUT && way != BY_SMF && way != BY_RELEASE)
		CU_ASSERT_EQUAL(rig->usage.drops, 0);
	offer(rig, &s, way == BY_UPLINK, v6, 0);
	if (held) {
		CU_ASSERT_EQUAL(rig_count(rig, COUNTER_held), PACKETS);
		CU_ASSERT_EQUAL(rig->usage.drops, 0);
		held_ends(rig, &s, rules, way);
	}
	CU_ASSERT_EQUAL(rig->usage.drops, counts[way]);
	rig_session_del(rig, &s);
	CU_ASSERT_EQUAL(rig->usage.drops, counts[way]);
	CU_ASSERT_EQUAL(rig->usage.events, counts[way]);
	rules_free(rules);
	rig_end(rig);
	clock_start();
}

static void ways(void)
{
	for (unsigned way = 0; way < WAYS; way++)
		for (unsigned i = 0; i < 8; i++)
			run(way, 1 + (i & 1), i & 2, i & 4, i & 1);
}

static CU_TestInfo tests[] = {
	{"53: dropped downlink traffic", ways},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("dl_drops")
