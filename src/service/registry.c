// The table of services, and the order that follows from what each says of the others (service.h).
//
// Start-up, control thread.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rules/compile.h"
#include "service/service.h"

#define SERVICE(bit, name) extern const struct service service_##name;
#include "service/service.def"
#undef SERVICE

static const struct service *const registry[] = {
#define SERVICE(bit, name) &service_##name,
#include "service/service.def"
#undef SERVICE
};

const struct service *const *service_registry(unsigned *ret_n)
{
	*ret_n = sizeof(registry) / sizeof(registry[0]);
	return registry;
}

// The services under resolution. pred[i] is the set of services that run before service i.
struct resolver {
	const struct service *const *services;
	unsigned n;
	uint64_t pred[SERVICES_MAX];
	int bit[SERVICES_MAX];
	char *why;
	size_t why_bytes;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct resolver *r, const char *fmt,
							...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, r->why_bytes, fmt, args);
	va_end(args);
	return -EINVAL;
}

static int index_of(const struct resolver *r, const char *name)
{
	for (unsigned i = 0; i < r->n; i++)
		if (strcmp(r->services[i]->name, name) == 0)
			return (int)i;
	return -1;
}

static int read_names(struct resolver *r, unsigned i)
{
	const struct service *s = r->services[i];

	for (const char *const *name = s->after; name && *name; name++) {
		int other = index_of(r, *name);

		if (other < 0)
			return refuse(r, "service %s: after unknown service %s", s->name, *name);
		r->pred[i] |= 1ull << other;
	}
	for (const char *const *name = s->before; name && *name; name++) {
		int other = index_of(r, *name);

		if (other < 0)
			return refuse(r, "service %s: before unknown service %s", s->name, *name);
		r->pred[other] |= 1ull << i;
	}
	return 0;
}

// The services that run before each other, of which `i` is one.
static int refuse_cycle(const struct resolver *r, unsigned i)
{
	char names[128] = "";
	size_t at = 0;

	for (unsigned k = 0; k < r->n && at < sizeof(names); k++)
		if ((r->pred[i] >> k & 1) && (r->pred[k] >> i & 1))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? ", " : "", r->services[k]->name);
	return refuse(r, "services %s: before and after make a cycle of them", names);
}

// Every service runs before all that its successors run before, and so on.
static int close_order(struct resolver *r)
{
	for (unsigned k = 0; k < r->n; k++)
		for (unsigned i = 0; i < r->n; i++)
			if (r->pred[i] >> k & 1)
				r->pred[i] |= r->pred[k];
	for (unsigned i = 0; i < r->n; i++)
		if (r->pred[i] >> i & 1)
			return refuse_cycle(r, i);
	return 0;
}

// The bit of a service without one of its own: the lowest free one after all that run before it, provided
// that it is before all that run after it.
static int pick_bit(struct resolver *r, unsigned i, uint64_t taken)
{
	int low = 0;
	int high = SERVICES_MAX;

	for (unsigned k = 0; k < r->n; k++) {
		if ((r->pred[i] >> k & 1) && r->bit[k] >= low)
			low = r->bit[k] + 1;
		if ((r->pred[k] >> i & 1) && r->bit[k] >= 0 && r->bit[k] < high)
			high = r->bit[k];
	}
	while (low < high && (taken >> low & 1))
		low++;
	if (low >= high)
		return refuse(r, "service %s: no free bit between those before and after it",
			      r->services[i]->name);
	r->bit[i] = low;
	return 0;
}

// Services without a bit of their own get one, those with the fewest before them first, so that all that
// run before a service have theirs.
static int assign_bits(struct resolver *r)
{
	uint64_t taken = 0;

	for (unsigned i = 0; i < r->n; i++) {
		r->bit[i] = r->services[i]->bit;
		if (r->bit[i] < 0)
			continue;
		if (r->bit[i] >= SERVICES_MAX || (taken >> r->bit[i] & 1))
			return refuse(r, "service %s: bit %d is taken or too high",
				      r->services[i]->name, r->bit[i]);
		taken |= 1ull << r->bit[i];
	}
	for (int depth = 0; depth < (int)r->n; depth++)
		for (unsigned i = 0; i < r->n; i++) {
			if (r->bit[i] >= 0 || __builtin_popcountll(r->pred[i]) != depth)
				continue;
			if (pick_bit(r, i, taken) != 0)
				return -EINVAL;
			taken |= 1ull << r->bit[i];
		}
	for (unsigned i = 0; i < r->n; i++)
		for (unsigned k = 0; k < r->n; k++)
			if ((r->pred[i] >> k & 1) && r->bit[k] > r->bit[i])
				return refuse(r, "service %s: its bit stands before that of %s",
					      r->services[i]->name, r->services[k]->name);
	return 0;
}

static int find_terminal(struct resolver *r, struct service_order *ret)
{
	int last = -1;
	unsigned terminals = 0;

	for (unsigned i = 0; i < r->n; i++) {
		if (r->services[i]->terminal) {
			terminals++;
			ret->terminal = (unsigned)r->bit[i];
		}
		if (r->bit[i] > last)
			last = r->bit[i];
	}
	if (terminals != 1)
		return refuse(r, "%u services are terminal, not one", terminals);
	if ((int)ret->terminal != last)
		return refuse(r, "service %s runs after the terminal %s", ret->services[last]->name,
			      ret->services[ret->terminal]->name);
	return 0;
}

int service_order_resolve(const struct service *const services[], unsigned n,
			  struct service_order *ret, char *why, size_t why_bytes)
{
	struct resolver r = {.services = services, .n = n, .why = why, .why_bytes = why_bytes};

	memset(ret, 0, sizeof(*ret));
	if (n > SERVICES_MAX)
		return refuse(&r, "%u services, at most %d are possible", n, SERVICES_MAX);
	for (unsigned i = 0; i < n; i++)
		if (index_of(&r, services[i]->name) != (int)i)
			return refuse(&r, "service %s: registered twice", services[i]->name);
	for (unsigned i = 0; i < n; i++)
		if (read_names(&r, i) != 0)
			return -EINVAL;
	if (close_order(&r) != 0 || assign_bits(&r) != 0)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		ret->services[r.bit[i]] = services[i];
		ret->for_flows |= services[i]->for_flows ? 1ull << r.bit[i] : 0;
		ret->not_of_errors |= services[i]->not_of_errors ? 1ull << r.bit[i] : 0;
		ret->made[r.bit[i]] = services[i]->made;
		ret->gone[r.bit[i]] = services[i]->gone;
		ret->words[r.bit[i]] = services[i]->word;
		ret->state_bytes[r.bit[i]] = services[i]->state_bytes;
	}
	return find_terminal(&r, ret);
}

// What a packet needs besides follows from the packet itself: locate adds gtpu_decap for one that came by a
// tunnel, far adds gtpu_encap for one that leaves by a tunnel.
uint64_t service_chain(void *ctx, bool up, unsigned needs)
{
	uint64_t chain = SERVICE_MASK(pdr) | SERVICE_MASK(far) | SERVICE_MASK(output);

	if (up && (needs & NEEDS_SOURCE_CHECK))
		chain |= SERVICE_MASK(source_check);
	if (!up && (needs & NEEDS_BUFFER))
		chain |= SERVICE_MASK(buffer);
	if (needs & NEEDS_QUOTA)
		chain |= SERVICE_MASK(quota);
	if (needs & NEEDS_COPIES)
		chain |= SERVICE_MASK(duplicate);
	if (needs & (NEEDS_GATE | NEEDS_METER))
		chain |= SERVICE_MASK(qer);
	if (needs & NEEDS_REDIRECT)
		chain |= SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle) |
			 SERVICE_MASK(redirect_back) | SERVICE_MASK(redirect);
	return chain;
}
