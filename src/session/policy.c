// Blocks of meters and usage, see policy.h.
// Control thread. One allocation for each session that has any, of whole cache lines.

#include "session/policy.h"

#include <stdlib.h>
#include <string.h>

struct policy *policy_new(unsigned n_meters, unsigned n_usages)
{
	size_t meters = n_meters * sizeof(struct meters);
	size_t bytes = sizeof(struct policy) + meters + n_usages * sizeof(struct usage);
	struct policy *policy = aligned_alloc(64, bytes); // all parts are whole cache lines

	if (!policy)
		return NULL;
	memset(policy, 0, bytes);
	policy->n_meters = (uint16_t)n_meters;
	policy->n_usages = (uint16_t)n_usages;
	policy->usages = (struct usage *)(void *)((uint8_t *)policy->meters + meters);
	return policy;
}

void policy_free(struct policy *policy)
{
	free(policy);
}
