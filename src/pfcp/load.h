// Load and overload of this UPF, as SMFs are told (TS 29.244 6.2.3, 6.2.4, 8.2.33, 8.2.34, 8.2.76).
//
// Control thread only. Load is the share of sessions in use of those that are allowed, in percent: what decides
// whether the next one is accepted. It is looked at once a second, and its sequence number rises when it differs.
// Overload begins where the configuration says: at a share of sessions, or at a number of session requests a second.
// Then SMFs are told how much less to ask for, and as large a part of new sessions is refused (74), so that those
// that do not listen are held to it, too. What both say goes only to SMFs whose CP Function Features ask for it.

#pragma once

#include <stdbool.h>
#include <stdint.h>

struct n4;
struct n4_request;
struct pfcp_writer;

struct load_conf {
	uint32_t overload_percent;  // of sessions; 0: that is no overload
	uint32_t overload_requests; // session requests a second; 0: that is no overload
};

struct load {
	uint64_t due_ns;   // when the present second ends
	uint64_t since_ns; // when it began
	uint32_t requests; // session requests in it
	uint8_t metric;    // percent
	uint8_t reduction; // percent; 0: no overload
	uint32_t metric_seq, reduction_seq;
	uint64_t told_until_ns; // until when the end of an overload is still told
	uint32_t refuse;        // hundredths of a session that are to be refused next
};

void load_init(struct n4 *n4);

// Looks at what there is to tell, once a second.
void load_tick(struct n4 *n4);

// Counts a session request; one that would make a session is refused when this is true.
bool load_refuses(struct n4 *n4, const struct n4_request *rq);

// Adds what an SMF of these features wants to know to an answer or report of a session. `by_node` says that it is
// the refusal of a new session: then the overload is that of the Node ID.
void load_encode(struct pfcp_writer *w, const struct n4 *n4, uint64_t cp_features, bool by_node);
