// A million broken frames through a data path with live sessions: nothing leaves that path, nothing is lost from
// the books, and a session that was not touched still forwards.
//
// Frames are the golden ones and the rig's own, with bits turned, bytes overwritten, cut, extended, or with
// lengths that lie. Run with ASan and UBSan to see what they are for.

#include <stdlib.h>

#include "base/clock.h"
#include "chain.h"
#include "golden.h"
#include "packet/cksum.h"

#define FRAMES 500000
#define BATCH 48 // for each queue
#define SESSIONS RIG_VARIANTS
#define SEEDS 1024

struct seed {
	unsigned iface;
	size_t bytes;
	uint8_t frame[RIG_FRAME_MAX];
};

static uint64_t state = 1;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * n >> 32);
}

// Frames that the sessions take.
static unsigned seeds_of_session(const struct rig *rig, const struct rig_session *s,
				 struct seed *ret)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 8; i++) {
		const struct rig_flow flow = {.proto = i & 1 ? IPPROTO_TCP : IPPROTO_UDP,
					      .ue_port = 1,
					      .dn_port = i & 2 ? 5000 : 53,
					      .ttl = 64,
					      .payload = 60,
					      .qfi = 1,
					      .v6 = i & 4,
					      .dn = i == 3 ? "10.10.6.99" : NULL};
		struct rig_session by = *s;

		if (s->n_tunnels && (i & 2))
			by.teid = s->tunnels[0].teid;
		ret[n].iface = RIG_N3;
		ret[n].bytes = rig_frame_up(rig, &by, &flow, ret[n].frame);
		n++;
		ret[n].iface = RIG_N6;
		ret[n].bytes = rig_frame_down(rig, s, &flow, ret[n].frame);
		n++;
	}
	return n;
}

static unsigned seeds_make(const struct rig *rig, const struct rig_session *sessions,
			   struct seed *ret)
{
	struct golden *frames = calloc(GOLDEN_MAX, sizeof(*frames));
	unsigned n_golden = golden_read(frames), n = 0;

	for (unsigned i = 0; i < n_golden && n < SEEDS; i++, n++) {
		ret[n].iface = frames[i].iface;
		ret[n].bytes = frames[i].bytes;
		memcpy(ret[n].frame, frames[i].frame, frames[i].bytes);
	}
	free(frames);
	for (unsigned i = 0; i < SESSIONS && n + 16 <= SEEDS; i++)
		n += seeds_of_session(rig, &sessions[i], ret + n);
	return n;
}

// Sets the checksum of what is, or could be, an IPv4 header there, so that not all ends at it.
static void cksum_mend(uint8_t *frame, size_t bytes, size_t at)
{
	struct ip4_head *ip = (struct ip4_head *)(frame + at);

	if (at + 60 > bytes || ip->version_ihl >> 4 != 4)
		return;
	ip->cksum = 0;
	ip->cksum = ip4_cksum(ip);
}

static size_t mutate(uint8_t *frame, size_t bytes)
{
	unsigned changes = draw(4);
	size_t more;

	for (unsigned i = 0; i < changes; i++) {
		size_t at = draw((uint32_t)bytes);

		switch (draw(6)) {
		case 0:
			frame[at] ^= (uint8_t)(1 << draw(8));
			break;
		case 1:
			frame[at] = (uint8_t)draw(256);
			break;
		case 2: // a field of 16 bits at one of its edges: 0xffff, 0, 1
			at &= ~(size_t)1;
			if (at + 2 <= bytes)
				be16_put(frame + at, (uint16_t)(draw(3) - 1));
			break;
		case 3: // cut
			bytes = at ? at : bytes;
			break;
		case 4: // longer
			more = draw((uint32_t)(RIG_FRAME_MAX - bytes) / 4 + 1);
			memset(frame + bytes, (int)draw(256), more);
			bytes += more;
			break;
		case 5: // a few bytes from elsewhere in it
			if (at + 8 <= bytes)
				memmove(frame + at, frame + draw((uint32_t)bytes - 7), 8);
			break;
		}
	}
	if (draw(2)) {
		cksum_mend(frame, bytes, 14);
		cksum_mend(frame, bytes, 50);
		cksum_mend(frame, bytes, 58);
	}
	return bytes;
}

// No frame that left is cut short, or says that it comes from a group.
static void look(struct rig *rig)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes;

	for (unsigned iface = 0; iface < RIG_IFACES; iface++)
		while ((bytes = rig_recv(rig, iface, frame)) > 0)
			if (bytes <= ETH_BYTES || bytes > ETH_BYTES + ETH_TAG_BYTES + 2000 ||
			    eth_to_many(frame + ETH_MAC_BYTES))
				CU_FAIL_FATAL("a frame left that cannot be ours");
}

static void check_untouched(struct rig *rig, const struct rig_session *s)
{
	for (unsigned i = 0; i < 8; i++) {
		const struct rig_flow flow = {.proto = IPPROTO_UDP,
					      .ue_port = 9,
					      .dn_port = i & 1 ? 5000 : 99,
					      .ttl = 7,
					      .payload = 800,
					      .qfi = 1,
					      .v6 = i & 2};

		CU_ASSERT_EQUAL(chain_forwarded(rig, s, true, &flow, i / 4), 1);
		CU_ASSERT_EQUAL(chain_forwarded(rig, s, false, &flow, i / 4), 1);
	}
}

static void flood(struct rig *rig, const struct seed *seeds, unsigned n_seeds)
{
	uint8_t frame[RIG_FRAME_MAX];

	for (unsigned sent = 0, round = 0; sent < FRAMES; round++) {
		for (unsigned i = 0; i < 2 * BATCH; i++, sent++) {
			const struct seed *seed = &seeds[draw(n_seeds)];
			unsigned iface = draw(16) ? seed->iface : !seed->iface;

			memcpy(frame, seed->frame, seed->bytes);
			rig_send(rig, iface, draw(2), frame, mutate(frame, seed->bytes));
		}
		rig_turn(rig);
		look(rig);
		if (round % 16)
			continue;
		clock_warp_ns(100 * (int64_t)NS_PER_MS);
		neigh_tick(rig->control.neigh);
		if (round % 512)
			continue;
		rig_settle(rig);
		CU_ASSERT_TRUE_FATAL(rig_accounted(rig));
	}
	rig_settle(rig);
	look(rig);
}

// Nobody has answered questions, or lies were told: neighbours are asked again, and now they answer.
static void recover(struct rig *rig)
{
	for (unsigned i = 0; i < 400; i++) {
		clock_warp_ns(100 * (int64_t)NS_PER_MS);
		neigh_tick(rig->control.neigh);
		rig_resolve(rig);
		look(rig);
	}
}

static void broken_frames_over(bool over6)
{
	struct rig_conf conf = {
		.n_workers = 2, .n_slots = 64, .n_tunnels = 64, .v6 = over6, .answers = 1000000};
	struct seed *seeds = calloc(SEEDS, sizeof(*seeds));
	struct rig_session sessions[SESSIONS], untouched;
	struct rig *rig;

	clock_stop();
	rig = rig_new(&conf);
	golden_locals_add(rig);
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct rules *rules = rig_variant_new(i, i);

		rig_session_add(rig, i, rules, &sessions[i]);
		rules_free(rules);
	}
	rig_session_add(rig, SESSIONS, NULL, &untouched);
	rig_resolve(rig);
	check_untouched(rig, &untouched);
	flood(rig, seeds, seeds_make(rig, sessions, seeds));
	CU_ASSERT_TRUE(rig_count(rig, COUNTER_up) > FRAMES / 100);
	CU_ASSERT_TRUE(rig_count(rig, COUNTER_down) > FRAMES / 100);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_rx), rig->sent);
	CU_ASSERT_TRUE(rig_count(rig, COUNTER_error_indication_sent) > FRAMES / 1000);
	CU_ASSERT_TRUE(rig_count(rig, COUNTER_extensions_sent) > FRAMES / 1000);
	CU_ASSERT_TRUE(rig_accounted(rig));
	recover(rig);
	check_untouched(rig, &untouched);
	for (unsigned i = 0; i < SESSIONS; i++)
		rig_session_del(rig, &sessions[i]);
	rig_session_del(rig, &untouched);
	free(seeds);
	rig_end(rig);
}

static void broken_frames(void)
{
	broken_frames_over(false);
	broken_frames_over(true);
}

static CU_TestInfo tests[] = {
	{"a million broken frames, over IPv4 and IPv6", broken_frames},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("random")
