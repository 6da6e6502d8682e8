// What a trial came to, as the engines ndr and soak keep and print it.
// One thread.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "traffic.h"

struct trial_note {
	double asked, offered, received; // packets a second
	uint64_t start_ns, end_ns, lost;
	bool passed; // no more than is tolerated was lost
};

struct trial_note trial_note_of(const struct traffic_result *result, double loss_percent);
// A line for people; `what` the trial was for.
void trial_note_print(const char *what, const struct trial_note *note);
// The member "trials", an array.
void trial_notes_json(struct json *json, const struct trial_note *notes, unsigned n);
