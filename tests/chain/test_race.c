// The same as test_handoff.c with real threads: workers run their loops, one thread injects packets mostly at
// the wrong worker, and the control thread makes and ends sessions so fast that slots, TEIDs and peers change
// hands while packets are on their way.
//
// Each packet is stamped with its UE's number and which of that UE's sessions it was made for. Whatever is
// delivered must be that UE's. Bounded by counts, not by time.

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "chain.h"
#include "packet/be.h"
#include "packet/eth.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "pipeline/pipeline.h"
#include "worker/mailbox.h"

#define UES 7
#define SLOTS 2 // a worker: fewer than UEs, so that they take each other's
#define WORKERS 2
#define FRAMES 40000 // to inject at least
#define CHANGES 500  // sessions to make at least
#define MBUFS_SPARE 512

// A UE as the injector sees it; under the lock.
struct card {
	bool known; // has had a session
	uint16_t incarnation;
	struct rig_session s; // of now, or the last one
};

struct race {
	struct rig *rig;
	pthread_mutex_t lock;
	struct card cards[UES];
	bool stop; // for the injector
	uint64_t injected;

	// The control thread's.
	bool open[UES];
	unsigned n_open, changes;
	uint64_t up, down, wrong;
	unsigned seed;
};

static const struct rig_flow flow = {
	.proto = IPPROTO_UDP, .ue_port = 4000, .dn_port = 5000, .ttl = 64, .payload = 16, .qfi = 1};

static uint32_t gnb_teid(unsigned ue, uint16_t incarnation)
{
	return (uint32_t)ue << 16 | incarnation;
}

// --- the injector ----------------------------------------------------------------------------------------

static bool has_room(struct rig *rig, unsigned iface, unsigned via)
{
	return rte_ring_free_count(rig->rx[iface][via]) > 0 &&
	       rte_mempool_avail_count(rig->pool) > MBUFS_SPARE;
}

static void inject_one(struct race *race, unsigned *seed)
{
	unsigned ue = (unsigned)rand_r(seed) % UES;
	bool up = rand_r(seed) & 8;
	uint8_t frame[RIG_FRAME_MAX];
	struct rig_flow f = flow;
	struct card card;
	size_t bytes;
	unsigned via;

	pthread_mutex_lock(&race->lock);
	card = race->cards[ue];
	pthread_mutex_unlock(&race->lock);
	if (!card.known)
		return;
	f.v6 = rand_r(seed) & 8;
	via = rand_r(seed) % 8 ? !card.s.slot.owner : card.s.slot.owner;
	bytes = chain_frame(race->rig, &card.s, up, &f, frame);
	be32_put(frame + bytes - 8, ue);
	be32_put(frame + bytes - 4, card.incarnation);
	while (!has_room(race->rig, up ? RIG_N3 : RIG_N6, via)) {
		if (__atomic_load_n(&race->stop, __ATOMIC_ACQUIRE))
			return;
		sched_yield();
	}
	rig_send(race->rig, up ? RIG_N3 : RIG_N6, via, frame, bytes);
	__atomic_store_n(&race->injected, race->injected + 1, __ATOMIC_RELEASE);
}

static void *injector(void *arg)
{
	struct race *race = arg;
	unsigned seed = 1;

	while (!__atomic_load_n(&race->stop, __ATOMIC_ACQUIRE))
		inject_one(race, &seed);
	return NULL;
}

// --- the control thread ----------------------------------------------------------------------------------

static bool is_ue_of(const struct card *card, const uint8_t *ip, bool source)
{
	if (ip[0] >> 4 == 4) {
		const struct ip4_head *ip4 = (const struct ip4_head *)ip;

		return (source ? ip4->src : ip4->dst) == card->s.ue_v4.v4;
	}
	const struct ip6_head *ip6 = (const struct ip6_head *)ip;

	return memcmp(source ? ip6->src : ip6->dst, card->s.ue_v6.v6, 8) == 0;
}

// What was delivered is its stamp's: by address and, downlink, by the tunnel of a session that the UE had
// when the packet was made or afterwards.
static void delivered(struct race *race, bool up, const uint8_t *frame, size_t bytes)
{
	const uint8_t *ip = frame + ETH_BYTES;
	uint32_t ue = be32_get(frame + bytes - 8);
	uint32_t incarnation = be32_get(frame + bytes - 4);
	bool right = ue < UES;

	if (!up) {
		uint32_t teid = be32_get(frame + rig_gtpu_at(race->rig) + 4);

		ip = frame + rig_user_at(race->rig, 1);
		right = right && teid >> 16 == ue && (uint16_t)teid >= incarnation &&
			(uint16_t)teid <= race->cards[ue].incarnation;
	}
	right = right && is_ue_of(&race->cards[ue], ip, up);
	race->wrong += !right;
	*(up ? &race->up : &race->down) += 1;
}

// One look at all rings of the control thread, and at what has left.
static void look(struct race *race)
{
	uint8_t frame[RIG_FRAME_MAX];
	bool idle = true;
	size_t bytes;

	control_poll(&race->rig->control);
	for (unsigned iface = 0; iface < RIG_IFACES; iface++)
		for (unsigned i = 0; i < 64 && (bytes = rig_recv(race->rig, iface, frame)) > 0;
		     i++) {
			delivered(race, iface == RIG_N6, frame, bytes);
			idle = false;
		}
	if (idle)
		sched_yield();
}

static void open_session(struct race *race, unsigned ue)
{
	struct rules *rules = rig_rules_new(ue);
	uint16_t incarnation = (uint16_t)(race->cards[ue].incarnation + 1);
	struct rig_session s;

	rules_far_lookup(rules, 1)->teid = gnb_teid(ue, incarnation);
	rig_session_add(race->rig, ue, rules, &s);
	rules_free(rules);
	pthread_mutex_lock(&race->lock);
	race->cards[ue] = (struct card){.known = true, .incarnation = incarnation, .s = s};
	pthread_mutex_unlock(&race->lock);
	race->open[ue] = true;
	race->n_open++;
	race->changes++;
}

static void close_session(struct race *race, unsigned ue)
{
	struct rig_session s = race->cards[ue].s;

	rig_session_close(race->rig, &s);
	while (mailbox_outstanding(race->rig->control.workers[s.slot.owner]) > 0)
		look(race);
	rig_session_forget(race->rig, &s);
	race->open[ue] = false;
	race->n_open--;
}

static void change(struct race *race)
{
	unsigned ue = (unsigned)rand_r(&race->seed) % UES;

	if (race->open[ue])
		close_session(race, ue);
	else if (race->n_open < WORKERS * SLOTS)
		open_session(race, ue);
}

static void *worker_thread(void *worker)
{
	pipeline_loop(worker);
	return NULL;
}

static void run(struct race *race)
{
	pthread_t threads[WORKERS + 1];

	for (unsigned i = 0; i < WORKERS; i++) {
		race->rig->control.workers[i]->sleep = true; // fewer CPUs than threads
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, worker_thread,
						     race->rig->control.workers[i]),
				      0);
	}
	CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[WORKERS], NULL, injector, race), 0);
	while (__atomic_load_n(&race->injected, __ATOMIC_ACQUIRE) < FRAMES ||
	       race->changes < CHANGES) {
		change(race);
		look(race);
	}
	__atomic_store_n(&race->stop, true, __ATOMIC_RELEASE);
	pthread_join(threads[WORKERS], NULL);
	for (unsigned i = 0; i < WORKERS; i++) {
		__atomic_store_n(&race->rig->control.workers[i]->stop, true, __ATOMIC_RELAXED);
		pthread_join(threads[i], NULL);
	}
}

static void race_over(bool over6)
{
	struct rig_conf conf = {
		.n_workers = WORKERS, .n_slots = SLOTS, .n_tunnels = 1, .v6 = over6};
	struct race *race = calloc(1, sizeof(*race));
	struct rig *rig = rig_new(&conf);
	struct rig_session s;

	race->rig = rig;
	race->seed = 2;
	pthread_mutex_init(&race->lock, NULL);
	rig_session_add(rig, UES, NULL, &s); // makes the gNB a known neighbour
	rig_resolve(rig);
	rig_session_del(rig, &s);
	run(race);
	rig_settle(rig);
	while (race->rig->received < rig_count(rig, COUNTER_tx))
		look(race);
	for (unsigned ue = 0; ue < UES; ue++)
		if (race->open[ue]) {
			rig_session_del(rig, &race->cards[ue].s);
			race->open[ue] = false;
		}
	CU_ASSERT_EQUAL(race->wrong, 0);
	// A reference that was followed though stale would show as another UE's address.
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_spoofed_source), 0);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_rx), rig->sent);
	// What sessions counted is what workers counted, to the packet.
	CU_ASSERT_EQUAL(rig->ended.up_packets, rig_count(rig, COUNTER_up));
	CU_ASSERT_EQUAL(rig->ended.down_packets, rig_count(rig, COUNTER_down));
	CU_ASSERT_EQUAL(rig->ended.up_bytes, rig_count(rig, COUNTER_up_bytes));
	CU_ASSERT_EQUAL(race->up + race->down + rig_drops(rig, DROP_tx_full),
			rig_count(rig, COUNTER_up) + rig_count(rig, COUNTER_down));
	CU_ASSERT_TRUE(race->up > FRAMES / 100 && race->down > FRAMES / 100);
	CU_ASSERT_TRUE(rig_count(rig, COUNTER_handoff_in) > FRAMES / 2);
	CU_ASSERT_TRUE(rig_drops(rig, DROP_stale_reference) > 0);
	pthread_mutex_destroy(&race->lock);
	free(race);
	rig_end(rig);
}

static void sessions_change_hands(void)
{
	race_over(false);
	race_over(true);
}

static CU_TestInfo tests[] = {
	{"sessions change hands while packets are on their way", sessions_change_hands},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("race")
