// The FARs of a session's PDRs compiled, and the tunnels that they send to; a part of rules/compile.c.
// Control thread.

#pragma once

#include "rules/compile.h"

#define COMPILE_MAX_OUTS (RULESET_MAX_PLACES + 1) // tunnels, one of them in the line
#define COMPILE_MAX_FARS (2 * RULES_MAX_PDRS)

// A tunnel that FARs send to, and who uses it.
struct out_use {
	struct tunnel_out to;
	unsigned down_pdrs;
	bool by_place; // by a PDR that does not find it in the down line
	uint8_t place;
};

// A FAR as PDRs of one direction use it.
struct far_use {
	const struct far_rule *rule;
	bool up;
	bool copy;   // it stands for duplicates of those packets
	uint8_t out; // index of its tunnel; COMPILE_MAX_OUTS: it has none
};

#define COMPILE_MAX_REDIRECTS 16 // FARs of a session that redirect

struct far_build {
	const struct rules *rules;
	const struct compile_conf *conf;
	struct pfcp_fault *fault;
	unsigned n, n_outs, n_redirects;
	struct far fars[COMPILE_MAX_FARS];
	struct far_use uses[COMPILE_MAX_FARS];
	struct out_use outs[COMPILE_MAX_OUTS];
	struct redirect redirects[COMPILE_MAX_REDIRECTS];
};

// Of no FAR yet.
void far_build_init(struct far_build *b, const struct rules *rules, const struct compile_conf *conf,
		    struct pfcp_fault *fault);
// A network instance, which may be RULES_NI_NONE.
struct compile_ni compile_ni_get(const struct compile_conf *conf, uint16_t ni);
// The index of the FAR for a PDR of this direction, made at its first use. 0, or -EINVAL with the fault.
int far_compile(struct far_build *b, const struct far_rule *rule, bool up, unsigned *ret_index);
// When all PDRs have theirs: gives each tunnel its place in the session. 0, or -EINVAL with the fault.
int fars_place(struct far_build *b, struct compiled *c);
