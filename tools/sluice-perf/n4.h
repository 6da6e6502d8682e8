// The SMF's side of N4, as the engines need it: an association, and many session procedures at once.
//
// One thread, which calls n4_poll() often. Procedures are numbered by session, from 0; each is one request and its
// answer, sent again each second up to three times. What the UPF asks is answered. A UPF that refuses the
// association ends the program.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "histogram.h"

#define N4_QFI 9
#define N4_TUNNELS 2            // of a session, at most
#define N4_FILTER_PORT 5000     // of the data network: UDP from it takes the first PDR
#define N4_WINDOW_MAX 4096      // procedures at once
#define N4_GNB_TEID 0x01000000u // plus the session's number: tunnels down

enum n4_verb { N4_ESTABLISH, N4_MODIFY, N4_DELETE, N4_VERBS };
extern const char *const n4_verb_names[N4_VERBS];

struct n4_conf {
	struct addr smf, upf, gnb;
	const char *dnn;
	struct addr ue_base; // the UE of session i has this address plus i
	uint32_t sessions;   // most at any time
	uint64_t rate_bps;   // of the flow's QER; the session's is twice as much
	uint64_t threshold_bytes;
	unsigned wait_s; // for the association
	bool open;       // the way down is open at once; otherwise N4_MODIFY opens it
	// A UE of session i has the i-th /64 from here on, too, and a tunnel of its own for what the first PDR of the way
	// up does not take. Family 0: neither.
	struct addr ue6_base;
};

struct n4_session {
	uint64_t up_seid;           // 0: there is none
	uint32_t teids[N4_TUNNELS]; // for the way up, by PDR; both the same where there is one
};

struct n4_counts {
	uint64_t done[N4_VERBS], failed[N4_VERBS];
	uint64_t sent_again, reports;
	struct histogram ns[N4_VERBS]; // from the request to its answer
};

struct n4;

// The socket and the association. Ends the program with a message if there is none.
struct n4 *n4_open(const struct n4_conf *conf);
// Releases the association: the UPF deletes what sessions there are.
void n4_close(struct n4 *n4);

// Called when a procedure has ended, by n4_poll().
typedef void (*n4_done_fn)(void *ctx, enum n4_verb verb, uint32_t session, bool ok);
void n4_on_done(struct n4 *n4, n4_done_fn done, void *ctx);

// Begins a procedure; fewer than N4_WINDOW_MAX may be under way.
void n4_start(struct n4 *n4, enum n4_verb verb, uint32_t session);
unsigned n4_open_requests(const struct n4 *n4);
// Takes what has arrived, and sends again what nobody answered. Waits up to `wait_ms` for something to arrive.
void n4_poll(struct n4 *n4, int wait_ms);

// The same procedure for sessions from..to, `window` at once, to its end. Gives how many failed.
uint32_t n4_run(struct n4 *n4, enum n4_verb verb, uint32_t from, uint32_t to, unsigned window);

const struct n4_session *n4_session_get(const struct n4 *n4, uint32_t session);
struct n4_counts *n4_counts(struct n4 *n4);

// The messages of a session (n4_message.c): their IEs behind the header.
struct pfcp_writer;
struct pfcp_msg;
void n4_node_id_put(const struct n4_conf *conf, struct pfcp_writer *w);
void n4_establish_put(const struct n4_conf *conf, uint32_t session, uint64_t seid,
		      struct pfcp_writer *w);
void n4_modify_put(const struct n4_conf *conf, uint32_t session, struct pfcp_writer *w);
// What an establishment's answer says. False: something is missing.
bool n4_established_take(const struct pfcp_msg *answer, struct n4_session *ret);
