// Why a change of rules was refused, in the words that its answer needs (TS 29.244 8.2.1, 7.4, 7.5).
//
// Filled where the fault is found, turned into an answer in one place (pfcp/answer.c). Control thread.

#pragma once

#include <stdbool.h>
#include <stdint.h>

// Cause values (TS 29.244 8.2.1).
enum pfcp_cause {
	PFCP_CAUSE_ACCEPTED = 1,
	PFCP_CAUSE_MORE_USAGE_REPORTS = 2,
	PFCP_CAUSE_PARTIAL_SUCCESS = 3,
	PFCP_CAUSE_REJECTED = 64,
	PFCP_CAUSE_NO_SESSION = 65,          // Session context not found
	PFCP_CAUSE_MANDATORY_MISSING = 66,   // Mandatory IE missing
	PFCP_CAUSE_CONDITIONAL_MISSING = 67, // Conditional IE missing
	PFCP_CAUSE_INVALID_LENGTH = 68,
	PFCP_CAUSE_MANDATORY_INCORRECT = 69, // Mandatory IE incorrect
	PFCP_CAUSE_INVALID_FORWARDING_POLICY = 70,
	PFCP_CAUSE_INVALID_FTEID_OPTION = 71, // Invalid F-TEID allocation option
	PFCP_CAUSE_NO_ASSOCIATION = 72,
	PFCP_CAUSE_RULE_FAILURE = 73, // Rule creation/modification failure
	PFCP_CAUSE_CONGESTION = 74,
	PFCP_CAUSE_NO_RESOURCES = 75,
	PFCP_CAUSE_NOT_SUPPORTED = 76,
	PFCP_CAUSE_SYSTEM_FAILURE = 77,
	PFCP_CAUSE_REDIRECTION = 78,
	PFCP_CAUSE_NO_ADDRESSES = 79, // All dynamic addresses are occupied
};

// Rule ID Type of the Failed Rule ID IE (TS 29.244 8.2.80).
enum rule_type {
	RULE_PDR = 0,
	RULE_FAR = 1,
	RULE_QER = 2,
	RULE_URR = 3,
	RULE_BAR = 4,
	RULE_MAR = 5,
	RULE_SRR = 6,
};

// IE types that a fault of the rules may name (TS 29.244 8.1.2). The codec has them all; the rules, which
// stand below it, need these.
enum rule_ie {
	RULE_IE_CREATE_PDR = 1,
	RULE_IE_PDI = 2,
	RULE_IE_FORWARDING_PARAMETERS = 4,
	RULE_IE_DUPLICATING_PARAMETERS = 5,
	RULE_IE_SOURCE_INTERFACE = 20,
	RULE_IE_FTEID = 21,
	RULE_IE_NETWORK_INSTANCE = 22,
	RULE_IE_SDF_FILTER = 23,
	RULE_IE_APPLICATION_ID = 24,
	RULE_IE_GBR = 27,
	RULE_IE_VOLUME_THRESHOLD = 31,
	RULE_IE_TIME_THRESHOLD = 32,
	RULE_IE_MONITORING_TIME = 33,
	RULE_IE_REPORTING_TRIGGERS = 37,
	RULE_IE_REDIRECT_INFORMATION = 38,
	RULE_IE_FORWARDING_POLICY = 41,
	RULE_IE_DESTINATION_INTERFACE = 42,
	RULE_IE_APPLY_ACTION = 44,
	RULE_IE_MEASUREMENT_PERIOD = 64,
	RULE_IE_QUOTA_HOLDING_TIME = 71,
	RULE_IE_DROPPED_DL_TRAFFIC_THRESHOLD = 72,
	RULE_IE_URR_ID = 81,
	RULE_IE_LINKED_URR_ID = 82,
	RULE_IE_OUTER_HEADER_CREATION = 84,
	RULE_IE_BAR_ID = 88,
	RULE_IE_UE_IP_ADDRESS = 93,
	RULE_IE_OUTER_HEADER_REMOVAL = 95,
	RULE_IE_ACTIVATE_PREDEFINED_RULES = 106,
	RULE_IE_FAR_ID = 108,
	RULE_IE_QER_ID = 109,
	RULE_IE_QFI = 124,
	RULE_IE_TRAFFIC_ENDPOINT_ID = 131,
	RULE_IE_EVENT_THRESHOLD = 149,
	RULE_IE_DEACTIVATION_TIME = 164,
	RULE_IE_FRAMED_ROUTE = 153,
	RULE_IE_FRAMED_IPV6_ROUTE = 155,
};

struct pfcp_fault {
	uint8_t cause;         // enum pfcp_cause; 0: no fault
	bool has_rule;         // rule_type and rule_id go into a Failed Rule ID IE
	uint16_t offending_ie; // IE type, 0: none
	uint32_t rule_id;
	uint8_t rule_type; // enum rule_type
	char text[95];     // for the log and `show pfcp`: what is wrong, in words
};

// Fill a fault; each returns -EINVAL so that `return fault_ie(...)` reads well.
int fault_cause(struct pfcp_fault *fault, enum pfcp_cause cause, const char *text);
int fault_ie(struct pfcp_fault *fault, enum pfcp_cause cause, uint16_t ie, const char *text);
int fault_rule(struct pfcp_fault *fault, enum pfcp_cause cause, enum rule_type type, uint32_t id,
	       uint16_t ie, const char *text);
