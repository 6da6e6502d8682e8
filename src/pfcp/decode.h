// From the rule IEs of a session request to the model of its rules (TS 29.244 7.5.2, 7.5.4).
//
// Control thread only. What an IE says is read here; whether the rules hold together is checked afterwards,
// as a whole (rules/check.h). The rules read into are a copy: after a fault they are to be thrown away.
// Inside pfcp/ only.

#pragma once

#include <stddef.h>

#include "pfcp/n4.h"
#include "rules/model.h"

// The reading of one request.
struct decode {
	const struct n4_env *env;
	struct rules *rules;
	struct pfcp_fault *fault;
	bool update; // what is read changes a rule: IEs may be empty, what is absent stays
	int kind;    // enum rule_type of the rule that is being read, for faults; -1: it has none
	uint32_t id;
	uint16_t id_type;       // the IE that the id stands in
	int if_type;            // 3GPP Interface Type of its PDI, -1: none
	struct pfcp_cursor ies; // of the group that is being read
	unsigned n_created;
};

// An IE of a group: where its value goes.
struct decode_row {
	uint16_t type;
	bool fixed; // a rule cannot be without it: an empty one is no removal (5.6.3)
	// Puts the first IE of the type into the rule; an empty one takes the value away. Types of which
	// several may come are read on from d->ies.
	int (*take)(struct decode *d, void *rule, const struct pfcp_ie *ie);
};

#define DECODE_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DECODE_ROWS_MAX 32 // of one group

// Takes what a group has of these, and refuses what 3GPP allows in it beyond them: a rule without it would not be
// the one that was asked for. 0, or -EINVAL with the fault.
int decode_group(struct decode *d, void *rule, const struct pfcp_ie *group,
		 const struct decode_row *rows, size_t n);

// For IEs that change nothing of what a rule does to packets here; the row says why.
int decode_nothing(struct decode *d, void *rule, const struct pfcp_ie *ie);

// A fault in the rule that is being read. -EINVAL.
int decode_fault(const struct decode *d, enum pfcp_cause cause, uint16_t ie, const char *text);

// The next IE of this type: 1, or 0.
int decode_next(struct pfcp_cursor *ies, uint16_t type, struct pfcp_ie *ret_ie);

// A number of 32 bits. 0, or -EINVAL with the fault.
int decode_u32(struct decode *d, const struct pfcp_ie *ie, uint32_t *ret_value);
int decode_u16(struct decode *d, const struct pfcp_ie *ie, uint16_t *ret_value);
int decode_u8(struct decode *d, const struct pfcp_ie *ie, uint8_t *ret_value);

// The ids of all IEs of this type in the group, of which there may be `most`; one empty IE alone: none.
int decode_ids(struct decode *d, uint16_t type, uint32_t *ret_ids, uint8_t most, uint8_t *ret_n);

// The index of a Network Instance; RULES_NI_NONE for an empty one. 73 for a name that is not configured.
int decode_network_instance(struct decode *d, const struct pfcp_ie *ie, uint16_t *ret_ni);

// Reads the members of a Create or Update IE of each kind into its rule (decode_pdr.c, decode_far.c,
// decode_qer_urr.c).
int decode_pdr(struct decode *d, struct pdr_rule *pdr, const struct pfcp_ie *group);
int decode_far(struct decode *d, struct far_rule *far, const struct pfcp_ie *group);
int decode_qer(struct decode *d, struct qer_rule *qer, const struct pfcp_ie *group);
int decode_urr(struct decode *d, struct urr_rule *urr, const struct pfcp_ie *group);
int decode_bar(struct decode *d, struct bar_rule *bar, const struct pfcp_ie *group);
int decode_endpoint(struct decode *d, struct endpoint_rule *endpoint, const struct pfcp_ie *group);

// Activation and Deactivation Time; Activate and Deactivate Predefined Rules (decode_pdr_when.c).
int decode_activation(struct decode *d, void *pdr, const struct pfcp_ie *ie);
int decode_deactivation(struct decode *d, void *pdr, const struct pfcp_ie *ie);
int decode_predefined(struct decode *d, void *pdr, const struct pfcp_ie *first);

// Reads what a Traffic Endpoint has of a PDI into that of a PDR, which stands for it (decode_pdr.c).
int decode_endpoint_pdi(struct decode *d, struct pdr_rule *pdr, const struct pfcp_ie *group);

// Applies the Update BAR of a Session Report Response (7.5.9.2) to the session's BAR. -EINVAL with the fault: it is
// as it was.
int decode_bar_answer(const struct n4_env *env, struct rules *rules, const struct pfcp_ie *group,
		      struct pfcp_fault *fault);

// Applies all rule IEs of a request to `rules`: Remove, then Update, then Create; then completes the PDIs
// (rules/endpoint.h). -EINVAL with the fault.
int decode_rules(const struct n4_env *env, const struct pfcp_msg *msg, struct rules *rules,
		 struct pfcp_fault *fault);
