// Services: the stages of a packet's chain.
//
// A service is an inline per-packet function in NN_name.h, and the batch form made from it with a row of its
// own in NN_name.c. The registry (registry.c) puts all services in order by their `before` and `after` and
// gives each a bit of the chain; the lowest bit goes first. The fused ordinary chains (pipeline/fused.h)
// call the same per-packet functions.
//
// A per-packet function may drop, punt, hold or consume the packet (then p->chain is 0), or set bits of later
// services. It runs on the session's owner, with p->line set and checked.

#pragma once

#include <stdint.h>

#include "packet/pkt.h"
#include "worker/worker.h"

#define SERVICES_MAX FLOW_SERVICES
static_assert(SERVICES_MAX == STATS_SERVICES, "each bit of a chain has a place in the statistics");

// The bits of the services in the tree, known when compiled, for the fused chains.
enum service_bit {
#define SERVICE(bit, name) SERVICE_BIT_##name = bit,
#include "service/service.def"
#undef SERVICE
};

#define SERVICE_MASK(name) (1ull << SERVICE_BIT_##name)
// What is left of a chain from one service on.
#define SERVICE_FROM(chain, name)                                                                  \
	((chain) >> SERVICE_BIT_##name << SERVICE_BIT_##name | SERVICE_MASK(name))
#define SERVICE_BIT_ANY (-1) // the registry picks a free one

typedef void service_run_fn(struct worker *w, struct pkt **pkts, unsigned n);

// A list of names for `before` and `after`.
#define SERVICES(...) ((const char *const[]){__VA_ARGS__, NULL})

struct service {
	const char *name;
	int bit; // SERVICE_BIT_ of its name, or SERVICE_BIT_ANY
	service_run_fn *run;
	const char *const *before; // NULL: none
	const char *const *after;
	bool terminal; // a chain ends with it
	// It is for flows: the flow service finds p->flow before it, and its bit stands in the flow's own chain, where
	// it may be taken away or put for the rest of that flow's life.
	bool for_flows;
	bool not_of_errors; // ICMP errors about packets of its flows do not visit it
	flow_fn *made,
		*gone; // of a flow that has it in its chain, or had it; NULL: does not matter
	flow_word_fn *
		word; // tells in one word how the flow stands with it; NULL: it has nothing to tell
	uint32_t state_bytes; // of what it keeps of each flow (session/flow_state.h); 0: nothing
	const struct key_kind *key_kind; // a kind of keys that flows get besides; NULL: none
	const char *help;
};

// Makes the batch form of a per-packet function.
#define SERVICE_RUN(name_run, name_one)                                                            \
	static void name_run(struct worker *w, struct pkt **pkts, unsigned n)                      \
	{                                                                                          \
		for (unsigned i = 0; i < n; i++)                                                   \
			name_one(w, pkts[i]);                                                      \
	}

struct service_order {
	const struct service *services[SERVICES_MAX];     // by bit, NULL where none is
	unsigned terminal;                                // bit of the service that ends a chain
	uint64_t for_flows, not_of_errors;                // bits of those that are
	flow_fn *made[SERVICES_MAX], *gone[SERVICES_MAX]; // what they want to be told of flows
	flow_word_fn *words[SERVICES_MAX];                // what they tell of each
	uint32_t state_bytes[SERVICES_MAX];               // what they keep of each
};

// Gives each service its bit. 0, or -EINVAL with `why` filled: a name or a bit twice, an unknown name, a
// cycle (with its members), bits that contradict `before` and `after`, no bit left between them, or not
// exactly one terminal service, which must come last.
int service_order_resolve(const struct service *const services[], unsigned n,
			  struct service_order *ret, char *why, size_t why_bytes);
// The services of the tree, in registration order.
const struct service *const *service_registry(unsigned *ret_n);
// The chain of a direction for rules with these needs (NEEDS_ of rules/compile.h).
uint64_t service_chain(void *ctx, bool up, unsigned needs);
