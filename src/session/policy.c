// Blocks of meters and usage, see policy.h.
// Control thread. One allocation for each session that has any; the block of an ordinary session, whose packets find
// all that they need in its lines, wastes nothing for the sake of cache lines.

#include "session/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/slab.h"

#define LINE 64

// Lays the parts out behind each other. Bytes of all.
static size_t lay(struct policy *policy)
{
	const struct policy_form *form = &policy->form;
	size_t usage = form->hot ? USAGE_STRIDE
				 : sizeof(struct usage) + form->n_limits * sizeof(int64_t);
	size_t meter = SIDES * (policy_meters_full(policy) ? sizeof(struct meter_full)
							   : sizeof(struct meter));
	size_t usages = form->hot ? LINE : sizeof(struct policy);
	size_t meters = usages + form->n_usages * usage;
	size_t packets = meters + form->n_meters * meter;
	size_t drops = packets +
		       (form->packets ? form->n_meters * sizeof(struct packet_meters) : 0);

	policy->usages_at =
		(uint16_t)((usages + (form->hot ? sizeof(struct usage_record) : 0)) / 8);
	policy->meters_at = (uint16_t)(meters / 8);
	policy->packets_at = (uint16_t)(packets / 8);
	policy->drops_at = (uint16_t)(drops / 8);
	return drops + form->n_drops * sizeof(struct usage_drops);
}

struct policy *policy_new(const struct policy_form *form)
{
	struct policy head = {.form = *form}, *policy = NULL;
	size_t bytes = lay(&head);

	if (!form->hot)
		policy = slab_take(bytes);
	else if (posix_memalign((void **)&policy, LINE, bytes) != 0)
		return NULL;
	if (!policy)
		return NULL;
	memset(policy, 0, bytes);
	*policy = head;
	return policy;
}

void policy_free(struct policy *policy)
{
	struct policy head;

	if (!policy || policy->form.hot) {
		free(policy);
		return;
	}
	head.form = policy->form;
	slab_give(policy, lay(&head));
}
