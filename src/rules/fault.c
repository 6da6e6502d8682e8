// Faults of rules, filled where they are found, see fault.h.
// Control thread.

#include "rules/fault.h"

#include <errno.h>
#include <stdio.h>

int fault_cause(struct pfcp_fault *fault, enum pfcp_cause cause, const char *text)
{
	return fault_ie(fault, cause, 0, text);
}

int fault_ie(struct pfcp_fault *fault, enum pfcp_cause cause, uint16_t ie, const char *text)
{
	*fault = (struct pfcp_fault){.cause = (uint8_t)cause, .offending_ie = ie};
	snprintf(fault->text, sizeof(fault->text), "%s", text);
	return -EINVAL;
}

int fault_rule(struct pfcp_fault *fault, enum pfcp_cause cause, enum rule_type type, uint32_t id,
	       uint16_t ie, const char *text)
{
	fault_ie(fault, cause, ie, text);
	fault->has_rule = true;
	fault->rule_type = (uint8_t)type;
	fault->rule_id = id;
	return -EINVAL;
}
