// What the URRs of a session have counted, as tables of a reply, for `show session SEID`.
//
// Control thread.

#pragma once

struct n4_session;
struct policy;
struct reply;

// The tables of usage, into the object that is open. `policy` is the owner's block, or NULL where
// it was not to be had.
void usage_put(struct reply *r, const struct n4_session *session, const struct policy *policy);
