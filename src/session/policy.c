// Blocks of meters and usage, see policy.h.
// Control thread. One allocation for each session that has any; the block of an ordinary session, whose packets find
// all that they need in its lines, wastes nothing for the sake of cache lines.

#include "session/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/slab.h"

#define LINE 64

struct policy *policy_new(const struct policy_form *form)
{
	size_t usages = form->hot ? LINE : sizeof(struct policy);
	size_t meters = usages + form->n_usages * sizeof(struct usage);
	size_t packets = meters + form->n_meters * sizeof(struct meters);
	size_t drops = packets + form->n_packets * sizeof(struct packet_meters);
	size_t bytes = drops + form->n_drops * sizeof(struct usage_drops);
	struct policy *policy = NULL;
	uint8_t *at;

	if (!form->hot)
		policy = slab_take(bytes);
	else if (posix_memalign((void **)&policy, LINE, bytes) != 0)
		return NULL;
	if (!policy)
		return NULL;
	memset(policy, 0, bytes);
	at = (uint8_t *)policy;
	policy->form = *form;
	policy->slab_bytes = form->hot ? 0 : (uint32_t)bytes;
	policy->usages = (struct usage *)(void *)(at + usages);
	policy->meters = (struct meters *)(void *)(at + meters);
	if (form->n_packets)
		policy->packets = (struct packet_meters *)(void *)(at + packets);
	policy->drops = (struct usage_drops *)(void *)(at + drops);
	return policy;
}

void policy_free(struct policy *policy)
{
	if (policy && policy->slab_bytes)
		slab_give(policy, policy->slab_bytes);
	else
		free(policy);
}
