// The steps of a scenario, one after the other (TS 23.502 is what the verbs stand for).
//
// A step about UEs starts for all of them and is done when it is for the last. One thread, the event
// loop's.

#pragma once

#include <stdbool.h>

struct scenario;
struct sim;
struct ue;

// NULL without memory.
struct scenario *scenario_new(struct sim *sim);
void scenario_free(struct scenario *scenario);

// The association is up: begin with the first step.
void scenario_go(struct sim *sim);

// A UE's procedure that the current step asked for is over.
void scenario_ue_done(struct sim *sim, struct ue *ue, bool ok);

// Detaches everything, releases the association and leaves; at the second call at once.
void scenario_end(struct sim *sim);
