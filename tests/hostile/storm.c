// A peer gone mad, for tests/smoke/test_n4_storm.py: what an SMF said in captures, damaged, as fast as the UPF
// takes it. Nothing here uses Sluice's codec.
//
//	n4_storm OWN-ADDRESS UPF-ADDRESS MESSAGES SEED CAPTURE...
//
// Most messages get a SEID and a sequence number that are in use and true lengths, so that they get past
// their header; their UE addresses differ, so that sessions are made. After each batch a heartbeat tells
// that the UPF has read it all: nothing is lost in its socket. In the end every session and association that
// came of it is ended. Prints one line of JSON; exit status 1 when the UPF does not answer.

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture.h"
#include "mutate.h"

#define PORT 8805
#define BATCH 48
#define ANSWER_MS 5000
#define SEIDS_MAX 8192
#define NODES_MAX 4096
#define SESSIONS_MOST 2048
#define NODE_ID_MAX 300
#define RECOVERY 0xeeb90000u // later than those of the captures, so that theirs are stale
#define LATEST 16            // sessions that damaged messages speak of
#define SHARE_STAMPED 8      // of so many messages all but one
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum {
	HEARTBEAT = 1,
	SETUP = 5,
	RELEASE = 9,
	VERSION_NOT_SUPPORTED = 11,
	ESTABLISH = 50,
	DELETE = 54,
	REPORT = 56,
};
enum { IE_CAUSE = 19, IE_F_SEID = 57, IE_NODE_ID = 60, IE_RECOVERY = 96 };

struct node {
	uint16_t len;
	uint8_t id[NODE_ID_MAX];
};

static struct {
	int fd;
	struct sockaddr_in own;
	uint32_t seq;
	uint32_t barrier; // sequence number of the heartbeat that is waited for
	bool passed;
	unsigned n_seids, n_nodes;
	uint64_t seids[SEIDS_MAX];    // of sessions that may live
	struct node nodes[NODES_MAX]; // every Node ID that a setup gave
	uint64_t sent, answers, ended, causes[256];
} storm;

static void fail(const char *what)
{
	fprintf(stderr, "n4_storm: %s: %s\n", what, errno ? strerror(errno) : "");
	exit(1);
}

static uint64_t number_at(const uint8_t *at, unsigned octets)
{
	uint64_t value = 0;

	while (octets-- > 0)
		value = value << 8 | *at++;
	return value;
}

// The value of the first IE of a type in a message, NULL: none.
static const uint8_t *ie_find(const uint8_t *bytes, size_t len, unsigned type, size_t *ret_len)
{
	size_t at = len > 0 && bytes[0] & MUTATE_HEADER_S ? 16 : 8;

	for (; at + 4 <= len; at += 4 + *ret_len) {
		*ret_len = (size_t)number_at(bytes + at + 2, 2);
		if (*ret_len > len - at - 4)
			return NULL;
		if (number_at(bytes + at, 2) == type)
			return bytes + at + 4;
	}
	return NULL;
}

static void transmit(const uint8_t *bytes, size_t len)
{
	if (send(storm.fd, bytes, len, 0) < 0 && errno != ECONNREFUSED)
		fail("send");
}

// --- messages of our own ---------------------------------------------------------------------------------

struct out {
	size_t len;
	uint8_t bytes[512];
};

static void out_put(struct out *o, uint64_t value, unsigned octets)
{
	while (octets-- > 0)
		o->bytes[o->len++] = (uint8_t)(value >> (8 * octets));
}

static void out_begin(struct out *o, unsigned type, uint64_t seid, uint32_t seq)
{
	o->len = 0;
	out_put(o, type < ESTABLISH ? 0x20 : 0x21, 1);
	out_put(o, type, 1);
	out_put(o, 0, 2);
	if (type >= ESTABLISH)
		out_put(o, seid, 8);
	out_put(o, seq & 0xffffff, 3);
	out_put(o, 0, 1);
}

static void out_ie(struct out *o, unsigned type, const uint8_t *value, size_t len)
{
	out_put(o, type, 2);
	out_put(o, len, 2);
	memcpy(o->bytes + o->len, value, len);
	o->len += len;
}

static void out_recovery(struct out *o)
{
	out_put(o, IE_RECOVERY, 2);
	out_put(o, 4, 2);
	out_put(o, RECOVERY, 4);
}

static void out_send(struct out *o)
{
	mutate_length_set(o->bytes, o->len);
	transmit(o->bytes, o->len);
}

static void out_heartbeat(void)
{
	struct out o;

	storm.barrier = ++storm.seq & 0xffffff;
	out_begin(&o, HEARTBEAT, 0, storm.barrier);
	out_recovery(&o);
	out_send(&o);
}

static size_t own_node_id(uint8_t id[5])
{
	id[0] = 0;
	memcpy(id + 1, &storm.own.sin_addr, 4);
	return 5;
}

static void out_setup(void)
{
	struct out o;
	uint8_t id[5];

	out_begin(&o, SETUP, 0, ++storm.seq);
	out_ie(&o, IE_NODE_ID, id, own_node_id(id));
	out_recovery(&o);
	out_send(&o);
}

static void out_release(const struct node *node)
{
	struct out o;

	out_begin(&o, RELEASE, 0, ++storm.seq);
	out_ie(&o, IE_NODE_ID, node->id, node->len);
	out_send(&o);
}

// --- what comes ------------------------------------------------------------------------------------------

static void seid_add(uint64_t seid)
{
	if (storm.n_seids == SEIDS_MAX)
		fail("more sessions than it can keep");
	storm.seids[storm.n_seids++] = seid;
}

static void answer_report(const uint8_t *bytes, size_t len)
{
	static const uint8_t accepted = 1;
	uint64_t seid = storm.n_seids ? storm.seids[0] : 0; // ours is not known here: any will do
	struct out o;

	if (len < 16)
		return;
	out_begin(&o, REPORT + 1, seid, (uint32_t)number_at(bytes + 12, 3));
	out_ie(&o, IE_CAUSE, &accepted, 1);
	out_send(&o);
}

static void answer_heartbeat(const uint8_t *bytes)
{
	struct out o;

	out_begin(&o, HEARTBEAT + 1, 0, (uint32_t)number_at(bytes + 4, 3));
	out_recovery(&o);
	out_send(&o);
}

static void answer_take(const uint8_t *bytes, size_t len)
{
	size_t size;
	const uint8_t *cause = ie_find(bytes, len, IE_CAUSE, &size), *f_seid;

	storm.answers++;
	if (cause && size == 1)
		storm.causes[*cause]++;
	if (bytes[1] == ESTABLISH + 1 && cause && *cause == 1) {
		f_seid = ie_find(bytes, len, IE_F_SEID, &size);
		if (f_seid && size >= 9)
			seid_add(number_at(f_seid + 1, 8));
	}
}

static void take(const uint8_t *bytes, size_t len)
{
	if (len < 8)
		fail("an answer without a header");
	if (bytes[1] == HEARTBEAT)
		answer_heartbeat(bytes);
	else if (bytes[1] == REPORT)
		answer_report(bytes, len);
	else
		answer_take(bytes, len);
	if (bytes[1] == HEARTBEAT + 1 && number_at(bytes + 4, 3) == storm.barrier)
		storm.passed = true;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Waits until the UPF has read all that was sent so far: it answers a heartbeat sent after it.
static void wait_read(void)
{
	static uint8_t bytes[65536];
	int64_t end = now_ms() + ANSWER_MS;

	storm.passed = false;
	out_heartbeat();
	while (!storm.passed) {
		struct pollfd p = {.fd = storm.fd, .events = POLLIN};
		ssize_t len;

		errno = 0;
		if (now_ms() >= end || (poll(&p, 1, 100) < 0 && errno != EINTR))
			fail("no answer to a heartbeat");
		while ((len = recv(storm.fd, bytes, sizeof(bytes), MSG_DONTWAIT)) >= 0)
			take(bytes, (size_t)len);
	}
}

// --- the storm -------------------------------------------------------------------------------------------

// Remembers the Node IDs that a datagram may set associations up with, so that they can be released.
static void nodes_note(const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at + 4 < len; at++) {
		size_t size = (size_t)number_at(bytes + at + 2, 2);
		struct node *node = &storm.nodes[storm.n_nodes];

		if (number_at(bytes + at, 2) != IE_NODE_ID || size > len - at - 4 ||
		    size > NODE_ID_MAX)
			continue;
		*node = (struct node){.len = (uint16_t)size};
		memcpy(node->id, bytes + at + 4, size);
		for (node = storm.nodes; memcmp(node, &storm.nodes[storm.n_nodes], sizeof(*node));)
			node++;
		if (node == &storm.nodes[storm.n_nodes] && ++storm.n_nodes == NODES_MAX)
			fail("more Node IDs than it can keep");
	}
}

static bool sets_up(const uint8_t *bytes, size_t len)
{
	return len > 8 && (bytes[1] == SETUP || bytes[0] & 0x04);
}

// Gives every UE of 10.45.0.0/24 in the message an address of its own.
static void ues_spread(struct mutate *m, uint8_t *bytes, size_t len)
{
	uint8_t net = (uint8_t)mutate_below(m, 64), host = (uint8_t)mutate_below(m, 256);

	for (size_t at = 0; at + 4 <= len; at++)
		if (bytes[at] == 10 && bytes[at + 1] == 45 && bytes[at + 2] == 0) {
			bytes[at + 2] = net;
			bytes[at + 3] = host;
		}
}

// Puts our own address where a capture's SMF gave its own as Node ID.
static void node_own(uint8_t *bytes, size_t len)
{
	size_t size;
	const uint8_t *at = ie_find(bytes, len, IE_NODE_ID, &size);

	if (at && size == 5)
		own_node_id(bytes + (at - bytes));
}

// One of the latest sessions, since many of the older ones have gone by their association's end.
static uint64_t seid_pick(struct mutate *m)
{
	unsigned latest = storm.n_seids < LATEST ? storm.n_seids : LATEST;

	return latest ? storm.seids[storm.n_seids - 1 - mutate_below(m, latest)] : 0;
}

// A message of the captures, made this peer's own.
static size_t whole(struct mutate *m, const struct mutate_msg *msg, uint8_t *bytes)
{
	memcpy(bytes, msg->bytes, msg->len);
	ues_spread(m, bytes, msg->len);
	node_own(bytes, msg->len);
	return msg->len;
}

static void stamp(struct mutate *m, uint8_t *bytes, size_t len)
{
	mutate_seq_set(bytes, len, ++storm.seq);
	if (len > 1 && bytes[1] > ESTABLISH)
		mutate_seid_set(bytes, len, seid_pick(m));
}

// Some sessions without fault, so that there is something to damage.
static void prepare(struct mutate *m)
{
	static uint8_t bytes[MUTATE_MSG_MAX];

	out_setup();
	for (unsigned n = 0; n < LATEST / 2;) {
		const struct mutate_msg *msg = &m->pool[mutate_below(m, (uint32_t)m->n_pool)];
		size_t len;

		if (msg->bytes[1] != ESTABLISH)
			continue;
		len = whole(m, msg, bytes);
		stamp(m, bytes, len);
		transmit(bytes, len);
		n++;
	}
	wait_read();
}

static void one(struct mutate *m)
{
	static uint8_t bytes[MUTATE_MSG_MAX];
	const struct mutate_msg *msg = &m->pool[mutate_below(m, (uint32_t)m->n_pool)];
	unsigned times = mutate_below(m, 2) ? 1 : 1 + mutate_below(m, 4);
	bool stamped = mutate_below(m, SHARE_STAMPED);
	size_t len;

	// There are many of these, little is in them, and deletions leave nothing to damage.
	if (msg->bytes[1] <= HEARTBEAT + 1 || msg->bytes[1] == DELETE)
		msg = &m->pool[mutate_below(m, (uint32_t)m->n_pool)];
	len = whole(m, msg, bytes);
	while (times-- > 0)
		len = mutate_once(m, bytes, len, sizeof(bytes));
	if (stamped)
		stamp(m, bytes, len);
	if (sets_up(bytes, len))
		nodes_note(bytes, len);
	transmit(bytes, len);
	storm.sent++;
}

static void delete_one(uint64_t seid)
{
	struct out o;

	out_begin(&o, DELETE, seid, ++storm.seq);
	out_send(&o);
}

// Deletes sessions, the oldest first, until so many are left.
static void sessions_end(unsigned left)
{
	unsigned n = storm.n_seids > left ? storm.n_seids - left : 0;

	for (unsigned i = 0; i < n; i++) {
		delete_one(storm.seids[i]);
		if (i % BATCH == 0)
			wait_read();
	}
	storm.n_seids -= n;
	memmove(storm.seids, storm.seids + n, storm.n_seids * sizeof(storm.seids[0]));
	storm.ended += n;
}

static void nodes_release(void)
{
	for (unsigned i = 0; i < storm.n_nodes; i++) {
		out_release(&storm.nodes[i]);
		if (i % BATCH == 0)
			wait_read();
	}
	storm.n_nodes = 0;
}

// Makes room, here and there.
static void thin_out(void)
{
	if (storm.n_seids > SESSIONS_MOST)
		sessions_end(SESSIONS_MOST / 2);
	if (storm.n_nodes > NODES_MAX / 2)
		nodes_release();
}

static void end_all(void)
{
	wait_read();
	sessions_end(0);
	nodes_release();
	wait_read();
}

static void report(uint64_t seed, int64_t ms)
{
	const char *comma = "";

	printf("{\"seed\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"answers\": %" PRIu64
	       ", \"seconds\": %.1f, \"sessions\": %" PRIu64 ", \"causes\": {",
	       seed, storm.sent, storm.answers, (double)ms / 1000, storm.ended);
	for (unsigned i = 0; i < LENGTH(storm.causes); i++) {
		if (!storm.causes[i])
			continue;
		printf("%s\"%u\": %" PRIu64, comma, i, storm.causes[i]);
		comma = ", ";
	}
	printf("}}\n");
}

static void open_socket(const char *own, const char *upf)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int room = 4 << 20;

	storm.own = to;
	if (inet_pton(AF_INET, own, &storm.own.sin_addr) != 1 ||
	    inet_pton(AF_INET, upf, &to.sin_addr) != 1)
		fail("not an address");
	storm.fd = socket(AF_INET, SOCK_DGRAM, 0);
	setsockopt(storm.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (storm.fd < 0 || bind(storm.fd, (struct sockaddr *)&storm.own, sizeof(to)) < 0 ||
	    connect(storm.fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		fail("socket");
}

int main(int argc, char **argv)
{
	static struct mutate_msg pool[CAPTURE_MESSAGES_MAX];
	struct mutate m = {.pool = pool};
	int64_t began = now_ms();
	uint64_t seed, wanted;

	if (argc < 6) {
		fprintf(stderr, "n4_storm OWN-ADDRESS UPF-ADDRESS MESSAGES SEED CAPTURE...\n");
		return 2;
	}
	wanted = strtoull(argv[3], NULL, 10);
	seed = strtoull(argv[4], NULL, 10);
	m.state = seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 5; i < argc; i++)
		m.n_pool += capture_read(argv[i], pool + m.n_pool, CAPTURE_MESSAGES_MAX - m.n_pool);
	if (!m.n_pool)
		fail("no message in the captures");
	open_socket(argv[1], argv[2]);
	while (storm.sent < wanted) {
		prepare(&m);
		for (unsigned i = 0; i < BATCH && storm.sent < wanted; i++)
			one(&m);
		wait_read();
		thin_out();
	}
	end_all();
	report(seed, now_ms() - began);
	close(storm.fd);
	return 0;
}
