// Sessions whose user plane is silent for as long as their SMF wants to know (TS 29.244 5.11.3, 8.2.83).
//
// Control thread only. Packets pay nothing for it, and neither do sessions without the timer: the owner of one
// that has it is asked from time to time what it has forwarded (MAIL_SESSION_COUNT), and a silence is a time
// without any more. It is told once, never early, and late by no more than an eighth of the time or
// TIMERS_STEP_NS. Packets that are dropped break no silence.

#pragma once

#include "pfcp/n4_session.h"

// The timer of the rules that the session has now begins, goes on, or ends: they have just changed.
void inactivity_given(struct n4 *n4, struct n4_session *session);
// The session ends.
void inactivity_end(struct n4_session *session);
// Asks about the sessions that are due.
void inactivity_tick(struct n4 *n4);

// Reads the timer of a request into its rules. 0, or -EINVAL with the fault.
int inactivity_decode(const struct pfcp_msg *msg, struct rules *rules, struct pfcp_fault *fault);
