// The main() of a chain test: as unit.h, for tests that drive the data path in process (rig.h).
//
// Each test makes its rig, and ends it by rig_end(), which asserts that every packet is accounted for.

#pragma once

#include "../unit/unit.h"
#include "base/clock.h"
#include "rig.h"
#include "worker/mailbox.h"

// A rig of a few sessions' room, whose gateways are known; `over6`: its tunnels are over IPv6.
static inline struct rig *chain_rig_over(unsigned n_workers, bool over6)
{
	struct rig_conf conf = {
		.n_workers = n_workers, .n_slots = 64, .n_tunnels = 16, .v6 = over6};
	struct rig *rig = rig_new(&conf);

	rig_resolve(rig);
	return rig;
}

static inline struct rig *chain_rig(unsigned n_workers)
{
	return chain_rig_over(n_workers, false);
}

// A rig whose gateways are known, and the clock stopped.
static inline struct rig *chain_rig_stopped(const struct rig_conf *conf)
{
	struct rig *rig;

	clock_stop();
	rig = rig_new(conf);
	rig_resolve(rig);
	return rig;
}

// A session whose gNB is known (rig_session_add()).
static inline void chain_session_add(struct rig *rig, uint32_t n, const struct rules *rules,
				     struct rig_session *ret)
{
	rig_session_add(rig, n, rules, ret);
	rig_resolve(rig);
}

// Takes all frames that have left by the interface. Gives their number.
static inline unsigned chain_drain(struct rig *rig, unsigned iface)
{
	uint8_t frame[RIG_FRAME_MAX];
	unsigned n = 0;

	while (rig_recv(rig, iface, frame) > 0)
		n++;
	return n;
}

static inline size_t chain_frame(const struct rig *rig, const struct rig_session *s, bool up,
				 const struct rig_flow *flow, uint8_t *frame)
{
	return up ? rig_frame_up(rig, s, flow, frame) : rig_frame_down(rig, s, flow, frame);
}

// Sends a frame of the flow by `via` and gives how many frames leave on the other side.
static inline unsigned chain_forwarded(struct rig *rig, const struct rig_session *s, bool up,
				       const struct rig_flow *flow, unsigned via)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = chain_frame(rig, s, up, flow, frame);

	rig_send(rig, up ? RIG_N3 : RIG_N6, via, frame, bytes);
	rig_settle(rig);
	return chain_drain(rig, up ? RIG_N6 : RIG_N3);
}

// Time passes, and what it brings is done.
static inline void chain_warp_ms(struct rig *rig, int64_t ms)
{
	clock_warp_ns(ms * (int64_t)NS_PER_MS);
	rig_settle(rig);
}

static inline void chain_flow_cleared(struct mail *mail, void *ret)
{
	*(int *)ret = mail->result;
	free(mail);
}

// Ends the flow by command. Gives what its worker says of that: 0, or -ENOENT.
static inline int chain_flow_clear(struct rig *rig, uint64_t id)
{
	int ret = 1; // no answer
	struct mail *mail = mail_new(MAIL_FLOW_CLEAR, chain_flow_cleared, &ret);

	CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
	mail->flows.id = id;
	mail_post(rig->control.workers[flow_id_worker(id)], mail);
	rig_settle(rig);
	return ret;
}

// The accounting identity holds, and what is left is given back.
static inline void rig_end(struct rig *rig)
{
	rig_settle(rig);
	CU_ASSERT_TRUE(rig_accounted(rig));
	rig_free(rig);
}
