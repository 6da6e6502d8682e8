// UP Function Features: what this UPF says that it can do (TS 29.244 8.2.25).
//
// One table, read by the Association Setup Response and by `show`. A bit is offered only when the data path
// does it, since an SMF acts on what it reads.

#pragma once

#include <stdbool.h>
#include <stdint.h>

struct n4_env;
struct pfcp_writer;

struct up_feature {
	const char *name; // 3GPP's
	uint64_t bit;     // PFCP_UP_FUNCTION_FEATURES_ bit, first octet low
	bool (*works)(const struct n4_env *env);
	const char *help; // what it means, in words
};

// All rows; NULL behind the last.
const struct up_feature *up_feature_get(unsigned i);

// The bits of all features that work with this configuration.
uint64_t up_features(const struct n4_env *env);

void up_features_encode(struct pfcp_writer *w, const struct n4_env *env);
