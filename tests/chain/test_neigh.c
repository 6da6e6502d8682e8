// Neighbours in the data path: packets that wait for a link address, questions and answers, time, floods.
//
// Time stands still and is moved by the tests, a tenth of a second and a tick at a time.

#include <stdlib.h>

#include "base/clock.h"
#include "chain.h"
#include "neigh/hop.h"
#include "packet/arp.h"
#include "packet/gtpu.h"
#include "packet/icmp.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "packet/nd.h"
#include "pipeline/pipeline.h"

#define HOLD 8
#define HOST "10.10.6.77" // on the link of N6
#define HOST6 "fd00:6::77"

static const uint8_t host_mac[ETH_MAC_BYTES] = {2, 0, 0, 0, 7, 7};
static const uint8_t other_mac[ETH_MAC_BYTES] = {2, 0, 0, 0, 8, 8};

static struct rig *rig_start(const struct rig_conf *given)
{
	struct rig_conf conf = *given;

	conf.n_slots = 64;
	conf.n_tunnels = 1;
	clock_stop();
	return rig_new(&conf);
}

static struct rig *rig_start_known(unsigned n_workers)
{
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = n_workers});

	rig_resolve(rig);
	return rig;
}

static void pass(struct rig *rig, unsigned ms)
{
	for (unsigned i = 0; i < ms; i += 100) {
		clock_warp_ns(100 * (int64_t)NS_PER_MS);
		neigh_tick(rig->control.neigh);
		rig_settle(rig);
	}
}

static uint64_t held(const struct rig *rig)
{
	return rig->control.stats.counter[COUNTER_held];
}

static void count_hop(const struct neigh_view *view, void *ctx)
{
	++*(unsigned *)ctx;
}

static unsigned hops(const struct rig *rig)
{
	unsigned n = 0;

	neigh_each(rig->control.neigh, count_hop, &n);
	return n;
}

// --- what was heard on an interface ----------------------------------------------------------------------

struct heard {
	unsigned n_questions, n_replies, n_others;
	uint8_t question[RIG_FRAME_MAX], reply[RIG_FRAME_MAX]; // the last ones
	size_t bytes;                                          // of the last reply
};

static bool is_reply(const uint8_t *frame)
{
	return (be16_get(frame + 12) == ETH_TYPE_ARP && be16_get(frame + 20) == ARP_REPLY) ||
	       (be16_get(frame + 12) == ETH_TYPE_IP6 && frame[20] == IPPROTO_ICMPV6 &&
		frame[54] == ICMP6_TYPE_ADVERT);
}

// Takes all that has left.
static struct heard hear(struct rig *rig, unsigned iface)
{
	struct heard heard = {0};
	uint8_t frame[RIG_FRAME_MAX] = {0}, answer[RIG_FRAME_MAX];
	size_t bytes;

	while ((bytes = rig_recv(rig, iface, frame)) > 0)
		if (rig_answer(frame, host_mac, answer) > 0) {
			heard.n_questions++;
			memcpy(heard.question, frame, bytes);
		} else if (is_reply(frame)) {
			heard.n_replies++;
			heard.bytes = bytes;
			memcpy(heard.reply, frame, bytes);
		} else {
			heard.n_others++;
		}
	return heard;
}

static void answer_as(struct rig *rig, unsigned iface, const struct heard *heard,
		      const uint8_t *mac)
{
	uint8_t answer[RIG_FRAME_MAX];
	size_t bytes = rig_answer(heard->question, mac, answer);

	CU_ASSERT_NOT_EQUAL_FATAL(bytes, 0);
	rig_send(rig, iface, 0, answer, bytes);
	rig_settle(rig);
}

// --- who waits for whom ----------------------------------------------------------------------------------

// A packet and the neighbour that it leaves through.
struct wait {
	const char *name;
	bool up, v6;
	const char *dn; // NULL: behind the gateway
	bool forgotten; // the hop is, when it does not answer; otherwise it is asked again
};

static const struct wait waits[] = {
	{"gNB", .up = false},
	{"gNB, v6 inside", .up = false, .v6 = true},
	{"gateway", .up = true},
	{"gateway v6", .up = true, .v6 = true},
	{"host", .up = true, .dn = HOST, .forgotten = true},
	{"host v6", .up = true, .v6 = true, .dn = HOST6, .forgotten = true},
};

static unsigned leaves_by(const struct wait *wait)
{
	return wait->up ? RIG_N6 : RIG_N3;
}

static void send_numbered(struct rig *rig, const struct rig_session *s, const struct wait *wait,
			  unsigned via, uint16_t number)
{
	struct rig_flow flow = {.proto = IPPROTO_UDP,
				.ue_port = number,
				.dn_port = 5000,
				.ttl = 64,
				.payload = 20,
				.qfi = 1,
				.v6 = wait->v6,
				.dn = wait->dn};
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = chain_frame(rig, s, wait->up, &flow, frame);

	rig_send(rig, wait->up ? RIG_N3 : RIG_N6, via, frame, bytes);
	rig_settle(rig);
}

// The number of such a packet when it has left, to this link address; UINT_MAX: none has.
static unsigned recv_numbered(struct rig *rig, const struct wait *wait, const uint8_t *mac)
{
	uint8_t frame[RIG_FRAME_MAX];
	size_t bytes = rig_recv(rig, leaves_by(wait), frame);
	uint32_t at =
		(uint32_t)(ETH_BYTES + (wait->up ? 0 : 44) + (wait->v6 ? IP6_BYTES : IP4_BYTES));

	if (bytes == 0)
		return UINT32_MAX;
	CU_ASSERT_EQUAL(bytes, at + UDP_BYTES + 20);
	CU_ASSERT_EQUAL(memcmp(frame, mac, ETH_MAC_BYTES), 0);
	CU_ASSERT_EQUAL(memcmp(frame + ETH_MAC_BYTES,
			       rig->control.workers[0]->mac[leaves_by(wait)].addr_bytes,
			       ETH_MAC_BYTES),
			0);
	return be16_get(frame + at + (wait->up ? 0 : 2));
}

// Everybody but the one waited for is known.
static struct rig *rig_waiting(const struct wait *wait, unsigned n_workers, struct rig_session *s)
{
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = n_workers});
	bool gateway = wait->up && !wait->dn;

	if (!gateway)
		rig_resolve(rig);
	rig_session_add(rig, 0, NULL, s);
	rig_settle(rig);
	if (gateway) // the gateways' questions were sent at the start, and are kept: one of them is of v4
		return rig;
	if (wait->up)
		rig_resolve(rig);
	return rig;
}

static bool is_about(const struct wait *wait, const uint8_t *question)
{
	const char *text = !wait->up ? RIG_GNB : wait->dn ? wait->dn : wait->v6 ? RIG_DN6 : RIG_DN;
	struct addr target = rig_addr(text);

	if (target.family == ADDR_V4)
		return be16_get(question + 12) == ETH_TYPE_ARP &&
		       memcmp(question + 38, &target.v4, 4) == 0;
	return be16_get(question + 12) == ETH_TYPE_IP6 && memcmp(question + 62, target.v6, 16) == 0;
}

// The questions about the one waited for, and all that is no question.
static struct heard hear_about(struct rig *rig, const struct wait *wait)
{
	struct heard heard = {0};
	uint8_t frame[RIG_FRAME_MAX] = {0}, answer[RIG_FRAME_MAX];
	size_t bytes;

	while ((bytes = rig_recv(rig, leaves_by(wait), frame)) > 0)
		if (rig_answer(frame, host_mac, answer) == 0) {
			heard.n_others++;
		} else if (is_about(wait, frame)) {
			heard.n_questions++;
			memcpy(heard.question, frame, bytes);
		}
	return heard;
}

static void hold_in_order(const struct wait *wait, unsigned n_workers)
{
	enum { SENT = HOLD + 4 };
	struct rig_session s;
	struct rig *rig = rig_waiting(wait, n_workers, &s);
	struct heard heard;

	for (unsigned i = 0; i < SENT; i++)
		send_numbered(rig, &s, wait, i % n_workers, (uint16_t)i);
	CU_ASSERT_EQUAL(held(rig), HOLD);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_neigh_hold_full), SENT - HOLD);
	heard = hear_about(rig, wait);
	CU_ASSERT_EQUAL(heard.n_questions, 1);
	CU_ASSERT_EQUAL(heard.n_others, 0);
	CU_ASSERT_TRUE(rig_accounted(rig));
	answer_as(rig, leaves_by(wait), &heard, host_mac);
	CU_ASSERT_EQUAL(held(rig), 0);
	for (unsigned i = 0; i < HOLD; i++)
		CU_ASSERT_EQUAL(recv_numbered(rig, wait, host_mac), i);
	// From now on packets leave without the control thread.
	uint64_t punted = rig_count(rig, COUNTER_punted);
	send_numbered(rig, &s, wait, 0, 99);
	CU_ASSERT_EQUAL(recv_numbered(rig, wait, host_mac), 99);
	CU_ASSERT_EQUAL(recv_numbered(rig, wait, host_mac), UINT32_MAX);
	CU_ASSERT_EQUAL(rig_count(rig, COUNTER_punted), punted);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void held_in_order(void)
{
	for (unsigned i = 0; i < RTE_DIM(waits); i++)
		for (unsigned n = 1; n <= 2; n++)
			hold_in_order(&waits[i], n);
}

// Three questions, one a second; then what waited is dropped by name. For the quiet time nobody is asked.
static void fail_and_ask_again(const struct wait *wait)
{
	struct rig_session s;
	struct rig *rig = rig_waiting(wait, 1, &s);
	struct heard heard = {0};

	send_numbered(rig, &s, wait, 0, 0);
	send_numbered(rig, &s, wait, 0, 1);
	for (unsigned i = 0; i < HOP_TRIES; i++) {
		CU_ASSERT_EQUAL(hear_about(rig, wait).n_questions, 1);
		CU_ASSERT_EQUAL(held(rig), 2);
		pass(rig, 900);
		CU_ASSERT_EQUAL(hear_about(rig, wait).n_questions, 0);
		pass(rig, 100);
	}
	CU_ASSERT_EQUAL(hear_about(rig, wait).n_questions, 0);
	CU_ASSERT_EQUAL(held(rig), 0);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_neigh_failed), 2);
	pass(rig, 1000);
	send_numbered(rig, &s, wait, 0, 2);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_neigh_failed), 3);
	CU_ASSERT_EQUAL(hear_about(rig, wait).n_questions, 0);
	pass(rig, HOP_FAILED_NS / NS_PER_MS); // since the last question, and some more
	heard = hear_about(rig, wait);
	if (wait->forgotten) {
		CU_ASSERT_EQUAL(heard.n_questions, 0);
		CU_ASSERT_EQUAL(hops(rig), 3); // the gateways and the gNB
		send_numbered(rig, &s, wait, 0, 3);
		heard = hear_about(rig, wait);
	} else {
		CU_ASSERT_NOT_EQUAL(heard.n_questions, 0);
		send_numbered(rig, &s, wait, 0, 3);
	}
	answer_as(rig, leaves_by(wait), &heard, host_mac);
	CU_ASSERT_EQUAL(recv_numbered(rig, wait, host_mac), 3);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void failed_and_asked_again(void)
{
	for (unsigned i = 0; i < RTE_DIM(waits); i++)
		fail_and_ask_again(&waits[i]);
}

// A known neighbour is asked at its address after a while; when it has gone its packets wait no longer, and
// when it is back they go.
static void refresh(const struct wait *wait)
{
	struct rig_session s;
	struct rig *rig = rig_waiting(wait, 1, &s);
	struct heard heard;

	send_numbered(rig, &s, wait, 0, 0);
	heard = hear_about(rig, wait);
	CU_ASSERT_TRUE(eth_to_many(heard.question));
	answer_as(rig, leaves_by(wait), &heard, host_mac);
	CU_ASSERT_EQUAL(recv_numbered(rig, wait, host_mac), 0);
	pass(rig, HOP_FRESH_NS / NS_PER_MS - 100);
	CU_ASSERT_EQUAL(hear_about(rig, wait).n_questions, 0);
	pass(rig, 100);
	heard = hear_about(rig, wait);
	CU_ASSERT_EQUAL(heard.n_questions, 1);
	CU_ASSERT_EQUAL(memcmp(heard.question, host_mac, ETH_MAC_BYTES), 0);
	answer_as(rig, leaves_by(wait), &heard, host_mac);
	pass(rig, HOP_FRESH_NS / NS_PER_MS - 100);
	CU_ASSERT_EQUAL(hear_about(rig, wait).n_questions, 0);
	send_numbered(rig, &s, wait, 0, 1);
	CU_ASSERT_EQUAL(recv_numbered(rig, wait, host_mac), 1);
	// It has gone: packets leave to where it was while it is asked, then no longer.
	pass(rig, 2000);
	CU_ASSERT_NOT_EQUAL(hear_about(rig, wait).n_questions, 0);
	send_numbered(rig, &s, wait, 0, 2);
	CU_ASSERT_EQUAL(recv_numbered(rig, wait, host_mac), 2);
	pass(rig, 2000);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_neigh_failed), 0);
	send_numbered(rig, &s, wait, 0, 3);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_neigh_failed), 1);
	hear_about(rig, wait);
	pass(rig, HOP_FAILED_NS / NS_PER_MS + 1000);
	send_numbered(rig, &s, wait, 0, 4);
	heard = hear_about(rig, wait);
	CU_ASSERT_NOT_EQUAL(heard.n_questions, 0);
	CU_ASSERT_TRUE(eth_to_many(heard.question));
	answer_as(rig, leaves_by(wait), &heard, other_mac);
	CU_ASSERT_EQUAL(recv_numbered(rig, wait, other_mac), 4);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static void refreshed(void)
{
	for (unsigned i = 0; i < RTE_DIM(waits); i++)
		refresh(&waits[i]);
}

// A neighbour that says it has another link address now, unasked, is believed at once, by all workers.
static void moves(const struct wait *wait)
{
	struct rig_session s[2];
	struct rig *rig = rig_waiting(wait, 2, &s[0]);
	struct heard heard;

	rig_session_add(rig, 1, NULL, &s[1]);
	send_numbered(rig, &s[0], wait, 0, 0);
	heard = hear_about(rig, wait);
	answer_as(rig, leaves_by(wait), &heard, host_mac);
	recv_numbered(rig, wait, host_mac);
	answer_as(rig, leaves_by(wait), &heard, other_mac);
	for (unsigned i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(s[i].slot.owner, i);
		send_numbered(rig, &s[i], wait, 0, (uint16_t)(10 + i));
		CU_ASSERT_EQUAL(recv_numbered(rig, wait, other_mac), 10 + i);
	}
	for (unsigned i = 0; i < 2; i++)
		rig_session_del(rig, &s[i]);
	rig_end(rig);
}

static void moved(void)
{
	for (unsigned i = 0; i < RTE_DIM(waits); i++)
		moves(&waits[i]);
}

// --- who asks for us -------------------------------------------------------------------------------------

struct question {
	unsigned iface;
	const char *from, *about; // of one family
	bool answered;
};

static const struct question questions[] = {
	{RIG_N3, RIG_GNB, RIG_N3_ADDR, true},
	{RIG_N3, RIG_GNB, RIG_GNB2, false},
	{RIG_N3, RIG_GNB, RIG_N6_ADDR, false}, // ours, but of the other interface
	{RIG_N6, RIG_DN, RIG_N6_ADDR, true},
	{RIG_N6, "10.10.6.200", RIG_N6_ADDR, true}, // a stranger is answered, and not remembered
	{RIG_N6, "0.0.0.0", RIG_N6_ADDR, true},     // whether it is taken (RFC 5227)
	{RIG_N6, RIG_N6_ADDR, RIG_N6_ADDR, false},  // somebody says that he has it
	{RIG_N6, RIG_DN, "10.45.0.1", false},       // a UE's
	{RIG_N6, RIG_DN6, RIG_N6_ADDR6, true},
	{RIG_N6, "fe80::99", RIG_N6_ADDR6, true},
	{RIG_N6, "::", RIG_N6_ADDR6, true},
	{RIG_N6, RIG_DN6, HOST6, false},
	{RIG_N6, RIG_DN6, "2001:db8:0:1::1", false},
};

static void check_advert(const struct heard *heard, const struct addr *from,
			 const struct addr *about, const uint8_t *own)
{
	const struct ip6_head *ip = (const struct ip6_head *)(heard->reply + ETH_BYTES);
	bool to_all = addr_is_unspecified(from);
	struct addr all_nodes = rig_addr("ff02::1");

	CU_ASSERT_EQUAL(memcmp(heard->reply + ETH_BYTES + IP6_BYTES + 8, about->v6, 16), 0);
	CU_ASSERT_EQUAL(memcmp(heard->reply + ETH_BYTES + IP6_BYTES + 26, own, ETH_MAC_BYTES), 0);
	CU_ASSERT_EQUAL(memcmp(ip->dst, to_all ? all_nodes.v6 : from->v6, 16), 0);
	CU_ASSERT_EQUAL(memcmp(heard->reply,
			       to_all ? (const uint8_t[]){0x33, 0x33, 0, 0, 0, 1} : host_mac,
			       ETH_MAC_BYTES),
			0);
}

static void check_arp_reply(const struct heard *heard, const struct addr *from,
			    const struct addr *about, const uint8_t *own)
{
	const struct arp_head *arp = (const struct arp_head *)(heard->reply + ETH_BYTES);

	CU_ASSERT_EQUAL(arp->sender, about->v4);
	CU_ASSERT_EQUAL(arp->target, from->v4);
	CU_ASSERT_EQUAL(memcmp(arp->sender_mac, own, ETH_MAC_BYTES), 0);
	CU_ASSERT_EQUAL(memcmp(heard->reply, host_mac, ETH_MAC_BYTES), 0);
}

static void ask(const struct question *q)
{
	struct rig *rig = rig_start_known(2);
	struct addr from = rig_addr(q->from), about = rig_addr(q->about);
	const uint8_t *own = rig->control.workers[0]->mac[q->iface].addr_bytes;
	uint8_t frame[RIG_FRAME_MAX];
	unsigned before = hops(rig);
	struct heard heard;
	size_t bytes;

	hear(rig, q->iface);
	if (from.family == ADDR_V4)
		bytes = arp_request_build(frame, 0, host_mac, from.v4, about.v4);
	else
		bytes = nd_solicit_build(frame, 0, host_mac, from.v6, about.v6, NULL);
	rig_send(rig, q->iface, 1, frame, bytes);
	rig_settle(rig);
	heard = hear(rig, q->iface);
	CU_ASSERT_EQUAL(heard.n_replies, q->answered);
	CU_ASSERT_EQUAL(heard.n_questions + heard.n_others, 0);
	CU_ASSERT_EQUAL(hear(rig, !q->iface).n_replies, 0);
	CU_ASSERT_EQUAL(hops(rig), before);
	if (q->answered)
		(from.family == ADDR_V4 ? check_arp_reply : check_advert)(&heard, &from, &about,
									  own);
	rig_end(rig);
}

static void asked_for_us(void)
{
	for (unsigned i = 0; i < RTE_DIM(questions); i++)
		ask(&questions[i]);
}

// Somebody says that our address is his: nothing changes, and no packet of ours goes to him.
static void claims(void)
{
	struct rig *rig = rig_start_known(1);
	const struct wait *wait = &waits[2];
	uint8_t frame[RIG_FRAME_MAX], gateway[ETH_MAC_BYTES] = {2, 0, 0, 0, 1, RIG_N6 + 1};
	struct addr own = rig_addr(RIG_N6_ADDR), own6 = rig_addr(RIG_N6_ADDR6);
	unsigned before = hops(rig);
	struct rig_session s;

	rig_session_add(rig, 0, NULL, &s);
	rig_resolve(rig);
	hear(rig, RIG_N6);
	rig_send(rig, RIG_N6, 0, frame, arp_request_build(frame, 0, other_mac, own.v4, own.v4));
	rig_send(rig, RIG_N6, 0, frame,
		 arp_reply_build(frame, 0, other_mac, own.v4, host_mac, own.v4));
	rig_send(rig, RIG_N6, 0, frame, nd_advert_build(frame, 0, other_mac, own6.v6, NULL, NULL));
	rig_settle(rig);
	CU_ASSERT_EQUAL(hear(rig, RIG_N6).n_replies, 0);
	CU_ASSERT_EQUAL(hops(rig), before + 1); // the gNB
	send_numbered(rig, &s, wait, 0, 5);
	CU_ASSERT_EQUAL(recv_numbered(rig, wait, gateway), 5);
	// A user packet to our own N6 address asks nobody either.
	struct wait to_us = {.up = true, .dn = RIG_N6_ADDR};
	send_numbered(rig, &s, &to_us, 0, 6);
	CU_ASSERT_EQUAL(rig_drops(rig, DROP_own_address), 1);
	CU_ASSERT_EQUAL(hear(rig, RIG_N6).n_questions, 0);
	rig_session_del(rig, &s);
	rig_end(rig);
}

// Link addresses that no neighbour can have are not learnt.
static void group_address_is_not_learnt(void)
{
	static const uint8_t group[ETH_MAC_BYTES] = {1, 0, 0x5e, 0, 0, 1};
	struct rig *rig = rig_start(&(struct rig_conf){.n_workers = 1});
	struct heard heard;
	struct rig_session s;

	rig_settle(rig);
	heard = hear_about(rig, &waits[2]);
	rig_session_add(rig, 0, NULL, &s);
	answer_as(rig, RIG_N6, &heard, group);
	send_numbered(rig, &s, &waits[2], 0, 1);
	CU_ASSERT_EQUAL(held(rig), 1);
	answer_as(rig, RIG_N6, &heard, host_mac);
	CU_ASSERT_EQUAL(held(rig), 0);
	rig_session_del(rig, &s);
	rig_end(rig);
}

static CU_TestInfo tests[] = {
	{"packets wait in order and in bounds", held_in_order},
	{"no answer: three questions, then again", failed_and_asked_again},
	{"known neighbours are refreshed", refreshed},
	{"a neighbour moves", moved},
	{"questions about us", asked_for_us},
	{"our address claimed by another", claims},
	{"a group's link address", group_address_is_not_learnt},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("neigh")
