// Blocks of meters and usage, see policy.h.
// Control thread. One allocation for each session that has any; the block of an ordinary session, whose packets find
// all that they need in its lines, wastes nothing for the sake of cache lines.

#include "session/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/slab.h"

#define LINE 64

struct policy *policy_new(struct policy_form form)
{
	size_t head = form.hot ? LINE : sizeof(struct policy);
	size_t usages = form.n_usages * sizeof(struct usage);
	size_t meters = form.n_meters * sizeof(struct meters);
	size_t packets = form.packets ? form.n_meters * sizeof(struct packet_meters) : 0;
	size_t bytes = head + usages + meters + packets;
	struct policy *policy = NULL;

	if (!form.hot)
		policy = slab_take(bytes);
	else if (posix_memalign((void **)&policy, LINE, bytes) != 0)
		return NULL;
	if (!policy)
		return NULL;
	memset(policy, 0, bytes);
	policy->slab_bytes = form.hot ? 0 : (uint32_t)bytes;
	policy->n_meters = form.n_meters;
	policy->n_usages = form.n_usages;
	policy->usages = (struct usage *)(void *)((uint8_t *)policy + head);
	policy->meters = (struct meters *)(void *)((uint8_t *)policy->usages + usages);
	if (form.packets)
		policy->packets =
			(struct packet_meters *)(void *)((uint8_t *)policy->meters + meters);
	return policy;
}

void policy_free(struct policy *policy)
{
	if (policy && policy->slab_bytes)
		slab_give(policy, policy->slab_bytes);
	else
		free(policy);
}
