// Blocks of meters and usage, see policy.h.
// Control thread. One allocation for each session that has any, of whole cache lines.

#include "session/policy.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

struct policy *policy_new(const struct policy_form *form)
{
	size_t usages = sizeof(struct policy) + form->n_meters * sizeof(struct meters);
	size_t drops = usages + form->n_usages * sizeof(struct usage);
	size_t bytes = RTE_ALIGN_CEIL(drops + form->n_drops * sizeof(struct usage_drops), 64);
	struct policy *policy = aligned_alloc(64, bytes);

	if (!policy)
		return NULL;
	memset(policy, 0, bytes);
	policy->form = *form;
	policy->usages = (struct usage *)(void *)((uint8_t *)policy + usages);
	policy->drops = (struct usage_drops *)(void *)((uint8_t *)policy + drops);
	return policy;
}

void policy_free(struct policy *policy)
{
	free(policy);
}
