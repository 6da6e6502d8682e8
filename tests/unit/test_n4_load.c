// N4 under load and at its limits: floods, many peers, large requests, real sockets.
//
// What a peer can make us keep is bounded, and heartbeats are answered whatever else comes. The socket tests
// run over loopback with the event loop turned by hand.

#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "n4_fixture.h"
#include "pfcp/endpoint.h"

#define BURST 50000
#define PORTS 10000

// Row 13: 50,000 requests of one peer that has an association, from one port and from many. Each is
// executed; of the answers no more are kept than allowed, and the latest are.
static void test_flood(void)
{
	static const uint32_t n_ports[] = {1, PORTS};
	struct n4_conf conf = fix_conf();

	conf.max_answers_per_peer = 1000;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t most = 0;

		fix_open(&conf);
		setup(1, RECOVERY);
		for (uint32_t n = 0; n < BURST; n++) {
			fix.peer.port = (uint16_t)(PFCP_PORT + n % n_ports[i]);
			modify(2 + n);
			most = xacts().bytes > most ? xacts().bytes : most;
		}
		CU_ASSERT_EQUAL(fix.sessions.modify, BURST);
		CU_ASSERT_EQUAL(xacts().stored, conf.max_answers_per_peer);
		CU_ASSERT_EQUAL(xacts().peers, 1);
		CU_ASSERT_EQUAL(count(N4_COUNT_answers_evicted),
				BURST + 1 - conf.max_answers_per_peer);
		CU_ASSERT(most < 1000 * 400);
		modify(1 + BURST);
		CU_ASSERT_EQUAL(count(N4_COUNT_duplicates), 1);
		fix.peer.port = PFCP_PORT;
		heartbeat(&fix.peer, 7, RECOVERY);
		CU_ASSERT_EQUAL(sent_type(), 2);
		after_ms(10000);
		CU_ASSERT_EQUAL(xacts().stored, 0);
		CU_ASSERT_EQUAL(xacts().peers, 0);
		fix_close();
	}
}

// The same while no worker answers: what waits is bounded by number and by memory; the rest is discarded.
static void test_flood_waiting(void)
{
	struct n4_conf conf = fix_conf();

	for (unsigned by_bytes = 0; by_bytes < 2; by_bytes++) {
		if (by_bytes)
			conf.max_waiting_bytes = 100000;
		else
			conf.max_answers_per_peer = 1000;
		fix_open(&conf);
		setup(1, RECOVERY);
		fix.sessions.hold = true;
		for (uint32_t n = 0; n < BURST; n++)
			modify(2 + n);
		CU_ASSERT(fix.n4->waiting_bytes <= 1000 * 1000);
		CU_ASSERT(!by_bytes || fix.n4->waiting_bytes <= conf.max_waiting_bytes);
		CU_ASSERT(fix.sessions.n_held > 100 && fix.sessions.n_held <= 1000);
		CU_ASSERT_EQUAL(count(N4_COUNT_discard_full), BURST - fix.sessions.n_held);
		heartbeat(&fix.peer, 7, RECOVERY);
		CU_ASSERT_EQUAL(sent_type(), 2);
		while (fix.sessions.n_held)
			session_go(fix.sessions.held[--fix.sessions.n_held]);
		CU_ASSERT_EQUAL(fix.n4->waiting_bytes, 0);
		modify(3 + BURST);
		fix_close();
		conf = fix_conf();
	}
}

// Strangers leave nothing behind, from however many addresses they come, and push nobody out.
static void test_flood_strangers(void)
{
	struct n4_conf conf = fix_conf();
	struct endpoint peer;

	conf.max_answers = 2000;
	fix_open(&conf);
	setup(1, RECOVERY);
	establish(2);
	peer = fix.peer;
	for (uint32_t n = 0; n < BURST; n++) {
		fix.peer.addr.v4 = htonl(0x0a000000 + n % PORTS);
		if (n % 2)
			modify(2 + n);
		else
			heartbeat(&fix.peer, n, n);
	}
	fix.peer = peer;
	CU_ASSERT_EQUAL(xacts().stored, 2);
	CU_ASSERT_EQUAL(xacts().peers, 1);
	CU_ASSERT_EQUAL(fix.sessions.modify, 0);
	establish(2);
	CU_ASSERT_EQUAL(count(N4_COUNT_duplicates), 1);
	fix_close();
}

// Setups without end: per address, and in all. Who answers stays, who is gone makes room.
static void test_many_associations(void)
{
	struct n4_conf conf = fix_conf();
	struct endpoint from;

	conf.max_assocs = 8;
	conf.max_assocs_per_addr = 4;
	fix_open(&conf);
	for (unsigned addr = 0; addr < 3; addr++) {
		endpoint_parse("127.0.1.1", PFCP_PORT, &from);
		from.addr.v4 = htonl(0x7f000101 + addr);
		for (unsigned n = 0; n < 10; n++) {
			setup_of(&from, n + 1, (uint8_t)(addr * 10 + n), RECOVERY);
			CU_ASSERT_EQUAL(sent_cause(), n < 4 && addr < 2 ? 1 : 75);
		}
	}
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 8);
	after_ms(10000);
	for (unsigned i = 0; i < 3; i++)
		after_ms(2500);
	CU_ASSERT_EQUAL(count(N4_COUNT_path_failures), 8);
	setup(1, RECOVERY); // room is made by one that is gone and holds nothing
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 8);
	CU_ASSERT_PTR_NOT_NULL(peer_assoc());
	fix_close();
}

// More answers than memory: the oldest of the same peer go.
static void test_answer_bytes(void)
{
	struct n4_conf conf = fix_conf();
	struct endpoint other;

	conf.max_answer_bytes = 100000;
	fix_open(&conf);
	endpoint_parse("127.0.0.5", PFCP_PORT, &other);
	setup_of(&other, 1, 5, RECOVERY);
	setup(1, RECOVERY);
	for (uint32_t n = 0; n < BURST; n++) {
		modify(2 + n);
		if (xacts().bytes > conf.max_answer_bytes)
			CU_FAIL_FATAL("more than allowed");
	}
	CU_ASSERT(xacts().stored > 100);
	setup_of(&other, 1, 5, RECOVERY);
	CU_ASSERT_EQUAL(count(N4_COUNT_duplicates), 1);
	fix_close();
}

// Only those who are named may speak, and those may speak for each other's associations.
static void test_peers(void)
{
	struct n4_conf conf = fix_conf();
	struct prefix peers[2];
	struct endpoint other;

	prefix_parse("127.0.0.0/29", &peers[0]);
	prefix_parse("2001:db8::/64", &peers[1]);
	conf.peers = peers;
	conf.n_peers = 2;
	fix_open(&conf);
	memset(peers, 0, sizeof(peers)); // the context has its own
	endpoint_parse("127.0.0.8", PFCP_PORT, &other);
	heartbeat(&other, 1, RECOVERY);
	setup_of(&other, 2, 8, RECOVERY);
	CU_ASSERT_EQUAL(fix.n_sent, 0);
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_peer), 2);
	endpoint_parse("2001:db8::1", PFCP_PORT, &other);
	heartbeat(&other, 1, RECOVERY);
	CU_ASSERT_EQUAL(fix.n_sent, 1);
	setup(1, RECOVERY);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 1);
	msg(9, 2);
	IE(IE_NODE_ID, 0, 127, 0, 0, 4);
	msg_end();
	deliver_from(&other);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(assoc_count(fix.n4), 0);
	fix_close();
}

// A session request belongs to the association that it names, or to its session's, whatever address it
// comes from.
static void test_whose_request(void)
{
	struct n4_conf conf = fix_conf();
	struct endpoint peer;

	fix_open(&conf);
	setup(1, RECOVERY);
	peer = fix.peer;
	endpoint_parse("127.0.0.5", PFCP_PORT, &fix.peer);
	establish(2); // names the Node ID of 127.0.0.4
	CU_ASSERT_EQUAL(sent_cause(), 1);
	modify(3);
	CU_ASSERT_EQUAL(sent_cause(), 72);
	fix.sessions.owner = peer_assoc();
	modify(4);
	CU_ASSERT_EQUAL(sent_cause(), 1);
	CU_ASSERT_EQUAL(peer_assoc()->requests, 3);
	fix.peer = peer;
	fix_close();
}

// Requests of ours: numbered, bounded, and cancelled without a call.
static unsigned answered, timed_out;

static void request_done(struct n4 *n4, const struct pfcp_msg *answer, void *ctx)
{
	answered += answer != NULL;
	timed_out += answer == NULL;
}

static void test_requests(void)
{
	static const uint8_t report[] = {0x21, 56, 0, 17, 0, 0, 0,  0, 0, 0, 0,
					 9,    0,  0, 0,  0, 0, 39, 0, 1, 2};
	struct n4_conf conf = fix_conf();
	uint32_t id, last = 0;

	conf.max_requests = 10;
	answered = timed_out = 0;
	fix_open(&conf);
	for (unsigned i = 0; i < 10; i++) {
		CU_ASSERT_EQUAL(xact_request(fix.n4, &fix.peer, report, sizeof(report),
					     request_done, NULL, &id),
				0);
		CU_ASSERT(id != last && id != 0);
		CU_ASSERT_EQUAL(sent_seq(), id);
		last = id;
	}
	CU_ASSERT_EQUAL(xact_request(fix.n4, &fix.peer, report, sizeof(report), request_done, NULL,
				     &id),
			-ENOBUFS);
	xact_cancel(fix.n4, last);
	xact_cancel(fix.n4, last);
	CU_ASSERT_EQUAL(xacts().requests, 9);
	for (unsigned i = 0; i < 2; i++) { // the second time nobody asks any more
		msg_session(57, last - 1, 1);
		IE(IE_CAUSE, 1);
		deliver();
	}
	CU_ASSERT_EQUAL(answered, 1);
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_unasked), 1);
	CU_ASSERT_EQUAL(fix.n4->counters.causes_rx[1], 1);
	fix.peer.port++; // the right number from the wrong place
	msg_session(57, last - 2, 1);
	IE(IE_CAUSE, 1);
	deliver();
	CU_ASSERT_EQUAL(count(N4_COUNT_discard_unasked), 2);
	for (unsigned i = 0; i < 3; i++)
		after_ms(2500);
	CU_ASSERT_EQUAL(timed_out, 8);
	CU_ASSERT_EQUAL(count(N4_COUNT_timeouts), 8);
	CU_ASSERT_EQUAL(xacts().requests, 0);
	CU_ASSERT_EQUAL(xacts().bytes, 0);
	fix_close();
}

// The context behind real sockets, and a socket of the peer's.
struct wire {
	struct event_base *base;
	struct endpoint upf;
	int fd;
};

static void wire_open(struct wire *wire, const char *listen, const char *peer, size_t buffer)
{
	struct n4_conf conf = fix_conf();
	struct sockaddr_storage sa;
	struct endpoint local;
	int size = (int)buffer;
	socklen_t len;

	endpoint_parse(listen, 0, &conf.listen[0]);
	fix_open(&conf);
	wire->base = event_base_new();
	CU_ASSERT_EQUAL_FATAL(n4_start(fix.n4, wire->base), 0);
	CU_ASSERT_EQUAL(n4_endpoint_local(fix.n4->endpoint, 0, &wire->upf), 0);
	CU_ASSERT_EQUAL(n4_endpoint_local(fix.n4->endpoint, 1, &local), -ENOENT);
	endpoint_parse(peer, 0, &local);
	len = endpoint_to_sockaddr(&local, &sa);
	wire->fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	setsockopt(wire->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	CU_ASSERT_EQUAL_FATAL(bind(wire->fd, (const struct sockaddr *)&sa, len), 0);
	len = endpoint_to_sockaddr(&wire->upf, &sa);
	CU_ASSERT_EQUAL_FATAL(connect(wire->fd, (const struct sockaddr *)&sa, len), 0);
	getsockname(wire->fd, (struct sockaddr *)&sa, &(socklen_t){sizeof(sa)});
	endpoint_from_sockaddr((const struct sockaddr *)&sa, &fix.peer);
}

static void wire_close(struct wire *wire)
{
	close(wire->fd);
	fix_close();
	event_base_free(wire->base);
}

static void wire_send(const struct wire *wire)
{
	msg_end();
	CU_ASSERT_EQUAL(send(wire->fd, fix.out, fix.len, 0), (ssize_t)fix.len);
}

// Lets the context work until nothing is left to read.
static void wire_turn(const struct wire *wire)
{
	uint64_t rx;

	do {
		rx = count(N4_COUNT_rx);
		event_base_loop(wire->base, EVLOOP_NONBLOCK);
	} while (count(N4_COUNT_rx) != rx);
}

// Rows 9 and 14 over real sockets, both families: requests of more than a frame, up to the largest.
static void test_wire(void)
{
	static const char *const addrs[] = {"127.0.0.1", "[::1]"};
	static const size_t sizes[] = {600, 9000, 65000};
	static const uint8_t filler[100];
	uint8_t answer[64], again[64];
	struct wire wire;

	for (unsigned i = 0; i < 2; i++) {
		wire_open(&wire, addrs[i], addrs[i], 1 << 20);
		msg(5, 1);
		IE(IE_NODE_ID, 0, 127, 0, 0, 4);
		ie_recovery(RECOVERY);
		wire_send(&wire);
		wire_turn(&wire);
		CU_ASSERT(recv(wire.fd, answer, sizeof(answer), 0) > 16);
		CU_ASSERT_EQUAL(answer[1], 6);
		for (unsigned j = 0; j < 3; j++) {
			msg_session(52, 2 + j, 7);
			while (fix.len + 100 < sizes[j])
				ie(0x8001, filler, 90);
			ie(0x8001, filler, sizes[j] - fix.len - 4);
			wire_send(&wire);
			wire_turn(&wire);
			CU_ASSERT_EQUAL(fix.sessions.request_len, sizes[j]);
			CU_ASSERT_EQUAL(recv(wire.fd, answer, sizeof(answer), 0), 21);
			CU_ASSERT_EQUAL(answer[20], 1);
			wire_send(&wire);
			wire_turn(&wire);
			CU_ASSERT_EQUAL(fix.sessions.modify, j + 1);
			CU_ASSERT_EQUAL(recv(wire.fd, again, sizeof(again), 0), 21);
			CU_ASSERT_EQUAL(memcmp(answer, again, 21), 0);
		}
		wire_close(&wire);
	}
}

// Row 13 over a real socket: requests come faster than the loop turns, and every heartbeat among them is
// answered, as is the one that comes when the kernel has had to drop some.
static void test_wire_burst(void)
{
	struct wire wire;
	uint8_t answer[64];
	unsigned sent = 0, answered_beats = 0;

	wire_open(&wire, "127.0.0.1", "127.0.0.1", 64 << 20);
	setup(1, RECOVERY);
	for (uint32_t n = 0; n < BURST; n++) {
		msg_session(52, 2 + n, 7);
		wire_send(&wire);
		if (n % 5000 == 4999) {
			msg(1, ++sent);
			ie_recovery(RECOVERY);
			wire_send(&wire);
		}
		if (n < BURST / 2 && n % 200 == 0)
			event_base_loop(wire.base, EVLOOP_NONBLOCK);
		if (n == BURST / 2)
			wire_turn(&wire);
	}
	wire_turn(&wire);
	msg(1, ++sent);
	ie_recovery(RECOVERY);
	wire_send(&wire);
	wire_turn(&wire);
	while (recv(wire.fd, answer, sizeof(answer), 0) > 0)
		answered_beats += answer[1] == 2;
	CU_ASSERT(answered_beats > 5);
	CU_ASSERT_EQUAL(fix.n4->counters.tx[2], fix.n4->counters.rx[1]);
	CU_ASSERT(fix.sessions.modify >= BURST / 2);
	wire_close(&wire);
}

// What is sent in one turn arrives in order, be it more than a batch or large, but for what the socket does not
// take; that is counted, and nothing of it as sent.
static void test_wire_batches(void)
{
	static uint8_t message[60000], got[sizeof(message)];
	struct endpoint nowhere;
	struct wire wire;
	unsigned n = 0, bytes = 0;

	wire_open(&wire, "127.0.0.1", "127.0.0.1", 8 << 20);
	endpoint_parse("255.255.255.255", PFCP_PORT, &nowhere); // not without SO_BROADCAST
	message[1] = 4;
	for (unsigned i = 0; i < 50; i++) {
		message[2] = (uint8_t)i;
		n4_send(fix.n4, &wire.upf.addr, i % 10 == 3 ? &nowhere : &fix.peer, message,
			i % 4 == 1 ? sizeof(message) : 16 + i);
	}
	wire_turn(&wire);
	for (unsigned i = 0; i < 50; i++) {
		unsigned len = i % 4 == 1 ? sizeof(message) : 16 + i;

		if (i % 10 == 3)
			continue;
		CU_ASSERT_EQUAL(recv(wire.fd, got, sizeof(got), 0), (ssize_t)len);
		CU_ASSERT(got[1] == 4 && got[2] == i);
		n++;
		bytes += len;
	}
	CU_ASSERT(recv(wire.fd, got, sizeof(got), 0) < 0);
	CU_ASSERT(count(N4_COUNT_tx) == n && fix.n4->counters.tx[4] == n);
	CU_ASSERT_EQUAL(count(N4_COUNT_tx_failed), 50 - n);
	CU_ASSERT_EQUAL(count(N4_COUNT_tx_bytes), bytes);
	wire_close(&wire);
}

// An address that is taken, and no address at all, are said and leave nothing open.
static void test_listen_fails(void)
{
	struct n4_conf conf = fix_conf();
	struct event_base *base = event_base_new();
	struct wire wire;
	struct n4 *second;

	wire_open(&wire, "127.0.0.1", "127.0.0.1", 1 << 16);
	conf.listen[1] = wire.upf;
	second = n4_new(&conf, &fix.n4->env, &fix_ops);
	log_init(fopen("/dev/null", "w"));
	CU_ASSERT_EQUAL(n4_start(second, base), -EADDRINUSE);
	log_init(NULL);
	CU_ASSERT_PTR_NULL(second->endpoint);
	n4_free(second);
	conf.listen[1] = (struct endpoint){0};
	second = n4_new(&conf, &fix.n4->env, &fix_ops);
	CU_ASSERT_EQUAL(n4_start(second, base), -EINVAL);
	n4_free(second);
	wire_close(&wire);
	event_base_free(base);
}

static CU_TestInfo tests[] = {
	{"flood", test_flood},
	{"flood while nobody answers", test_flood_waiting},
	{"flood of strangers", test_flood_strangers},
	{"many associations", test_many_associations},
	{"answer bytes", test_answer_bytes},
	{"peers", test_peers},
	{"whose request", test_whose_request},
	{"requests of ours", test_requests},
	{"wire", test_wire},
	{"wire burst", test_wire_burst},
	{"wire batches", test_wire_batches},
	{"listen fails", test_listen_fails},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_load")
