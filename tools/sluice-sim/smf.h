// The SMF's side of N4: the association, heartbeats, requests with their retransmission, and the
// answers to what the UPF asks (TS 29.244 6.2, 6.4).
//
// One thread, the event loop's. The number of requests that wait for an answer is bounded: ask
// smf_room() first.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pfcp/codec.h"
#include "pfcp/writer.h"

struct sim;
struct smf;

// answer: NULL when none came.
typedef void (*smf_done_fn)(struct sim *sim, void *ctx, const struct pfcp_msg *answer);

// Opens the socket. NULL: the reason was printed.
struct smf *smf_new(struct sim *sim);
void smf_free(struct smf *smf);

// Sets the association up; scenario_go() or sim_stop() follows. Releases it; sim_stop() follows.
void smf_associate(struct smf *smf);
void smf_release(struct smf *smf);

// Whether smf_request_begin may be called.
bool smf_room(const struct smf *smf);

// A request: write its IEs with the writer given, then send it. What cannot be written is a bug or an
// absurd option and ends the program.
struct pfcp_writer *smf_request_begin(struct smf *smf, uint8_t type, uint64_t seid);
void smf_request_send(struct smf *smf, smf_done_fn done, void *ctx);

// Whether an answer accepts; if not, says why in text.
bool smf_accepted(const struct pfcp_msg *answer, char *text, size_t size);

// The cause of an answer, 0: none.
uint8_t smf_cause(const struct pfcp_msg *answer);

// Our own addresses as IEs.
void smf_node_id_put(const struct sim *sim, struct pfcp_writer *w);
void smf_f_seid_put(const struct sim *sim, struct pfcp_writer *w, uint64_t seid);
