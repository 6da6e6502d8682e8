// What the URRs of a session have counted, as a table of a reply, for `show session SEID`.
//
// Control thread.

#pragma once

struct n4_session;
struct policy;
struct reply;

// The table of usage, into the object that is open: a row for each URR. `policy` is the owner's block, or NULL where
// it was not to be had.
void usage_put(struct reply *r, const struct n4_session *session, const struct policy *policy);
