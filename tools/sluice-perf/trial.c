// See trial.h.
// One thread.

#include "trial.h"

#include <stdio.h>

struct trial_note trial_note_of(const struct traffic_result *result, double loss_percent)
{
	return (struct trial_note){
		.asked = result->asked_pps,
		.offered = result->offered_pps,
		.received = result->received_pps,
		.start_ns = result->start_ns,
		.end_ns = result->end_ns,
		.lost = result->sent - result->received,
		.passed = result->sent && traffic_loss(result) * 100 <= loss_percent,
	};
}

void trial_note_print(const char *what, const struct trial_note *note)
{
	printf("  %-9s asked %9.0f offered %9.0f received %9.0f lost %8llu  %s\n", what,
	       note->asked, note->offered, note->received, (unsigned long long)note->lost,
	       note->passed ? "passed" : "failed");
	fflush(stdout);
}

void trial_notes_json(struct json *j, const struct trial_note *notes, unsigned n)
{
	json_array_open(j, "trials");
	for (unsigned i = 0; i < n; i++) {
		json_object_open(j, NULL);
		json_double(j, "asked_pps", notes[i].asked);
		json_double(j, "offered_pps", notes[i].offered);
		json_double(j, "received_pps", notes[i].received);
		json_uint(j, "lost", notes[i].lost);
		json_bool(j, "passed", notes[i].passed);
		json_double(j, "start_s", (double)notes[i].start_ns * 1e-9);
		json_double(j, "end_s", (double)notes[i].end_ns * 1e-9);
		json_object_close(j);
	}
	json_array_close(j);
}
