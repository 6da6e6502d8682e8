// How flows begin and end, see flows.h.
// Worker, but for making and freeing. Each flow stands in the timer wheel, in the ring of its session, and, for when
// room is short, either in the list of the embryonic ones, by age, or in a wheel by the time of its last use. That one
// is not kept up to date: as with deadlines, who stands at its beginning is asked when he was used last, which his
// deadline says.

#include "worker/flows.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/clock.h"
#include "worker/worker.h"

#define ENDS_AT_ONCE 16 // flows whose lines are fetched together
#define EVICT_LOOKS 64  // flows that one turn looks at to find those used least recently
#define SPARED_MS 1000  // an embryonic flow's first time, if there are not too many of them
#define UNASKED_MS 5000 // an unasked flow's time
#define STALE_LOOKS 8   // flows that one turn moves since they stand in the past

static_assert(2 * FLOW_TICK_NS <= 10 * NS_PER_MS, "no flow ends later than 10 ms after its time");

// Never early: what is left of the tick that runs comes on top.
static uint32_t ticks_of_ms(uint32_t ms)
{
	return (uint32_t)((ms * NS_PER_MS + FLOW_TICK_NS - 1) / FLOW_TICK_NS) + 1;
}

// --- making and freeing ----------------------------------------------------------------------------------

static void profiles_fill(struct flows *flows, const struct flows_conf *conf)
{
	for (unsigned i = 0; i < conf->n_profiles && i < FLOW_PROFILES; i++) {
		const struct flow_profile_conf *p = &conf->profiles[i];

		flows->profiles[i] = (struct flow_profile){
			.most = p->most ? p->most : UINT32_MAX,
			.has_rate = p->rate != 0,
			.tcp_pick_up = p->tcp_pick_up,
			.rate = limit_make(p->rate, METER_UNITS_PER_SEC, 0),
		};
		memcpy(flows->profiles[i].handlers, p->handlers, sizeof(p->handlers));
		for (unsigned c = 0; c < FLOW_CLASSES; c++)
			flows->ticks[4 * i + c] = ticks_of_ms(p->timeout_ms[c]);
	}
}

// The wheel of last uses reaches back twice as long as a flow can live without being used.
static unsigned used_shift_of(const struct flows *flows)
{
	uint32_t longest = 0;
	unsigned shift = 0;

	for (unsigned i = 0; i < FLOW_STEPS; i++)
		longest = RTE_MAX(longest, flows->ticks[i]);
	while ((uint64_t)(WHEEL_SLOTS / 2 - 1) << shift <= longest)
		shift++;
	return shift;
}

static uint32_t used_oldest(const struct flows *flows)
{
	return (uint32_t)(flows->long_tick >> flows->used_shift) - WHEEL_SLOTS / 2;
}

static struct link *links_new(const char *name, uint32_t n, int socket)
{
	struct link *links = rte_malloc_socket(name, n * sizeof(struct link), RTE_CACHE_LINE_SIZE,
					       socket);

	for (uint32_t i = 0; links && i < n; i++)
		link_alone(links, i);
	return links;
}

static void tell_fill(flow_fn *const *from, flow_fn **to, uint64_t *ret_bits)
{
	for (unsigned bit = 0; from && bit < FLOW_SERVICES; bit++) {
		to[bit] = from[bit];
		*ret_bits |= from[bit] ? 1ull << bit : 0;
	}
}

static int states_init(struct flows *flows, const struct flows_conf *conf, int socket)
{
	for (unsigned bit = 0; conf->state_bytes && bit < FLOW_SERVICES; bit++) {
		if (!conf->state_bytes[bit] || !(conf->asked >> bit & 1))
			continue;
		if (flow_state_init(&flows->states[bit], conf->n, conf->state_bytes[bit], socket) !=
		    0)
			return -ENOMEM;
		flows->stated |= 1ull << bit;
	}
	return 0;
}

int flows_init(struct flows *flows, const struct flows_conf *conf, uint32_t n_slots, uint64_t now,
	       int socket)
{
	*flows = (struct flows){
		.long_tick = now >> FLOW_TICK_SHIFT,
		.tick = (uint32_t)(now >> FLOW_TICK_SHIFT),
		.services = conf->services,
		.not_of_errors = conf->not_of_errors,
		.per_session = conf->per_session,
		.margin = conf->margin,
		.spared = ticks_of_ms(SPARED_MS),
		.unasked = ticks_of_ms(UNASKED_MS),
	};
	if (conf->n == 0)
		return 0;
	profiles_fill(flows, conf);
	tell_fill(conf->made, flows->made, &flows->tell_made);
	tell_fill(conf->gone, flows->gone, &flows->tell_gone);
	for (unsigned bit = 0; conf->words && bit < FLOW_SERVICES; bit++)
		flows->words[bit] = conf->words[bit];
	flows->used_shift = used_shift_of(flows);
	flows->young = links_new("flow_young", conf->n + 1, socket);
	flows->of_session = links_new("flow_rings", conf->n + 1, socket);
	flows->sessions = rte_zmalloc_socket("flow_sessions", n_slots * sizeof(struct flow_session),
					     RTE_CACHE_LINE_SIZE, socket);
	if (!flows->young || !flows->of_session || !flows->sessions ||
	    flow_table_init(&flows->table, conf->n, socket) != 0 ||
	    wheel_init(&flows->timer, conf->n + 1, flows->tick, socket) != 0 ||
	    wheel_init(&flows->used, conf->n + 1, used_oldest(flows), socket) != 0 ||
	    states_init(flows, conf, socket) != 0) {
		flows_fini(flows);
		return -ENOMEM;
	}
	return 0;
}

void flows_fini(struct flows *flows)
{
	rte_free(flows->young);
	rte_free(flows->of_session);
	rte_free(flows->sessions);
	flow_table_fini(&flows->table);
	wheel_fini(&flows->timer);
	wheel_fini(&flows->used);
	for (unsigned bit = 0; bit < FLOW_SERVICES; bit++)
		flow_state_fini(&flows->states[bit]);
}

// --- embryonic ones --------------------------------------------------------------------------------------

static void young_join(struct flows *flows, uint32_t number)
{
	link_join(flows->young, number, 0);
	flows->n_young++;
}

// Where it is one.
static void young_leave(struct flows *flows, uint32_t number)
{
	if (flow_class_of(&flows->table.flows[number]) != FLOW_EMBRYONIC)
		return;
	link_leave(flows->young, number);
	flows->n_young--;
}

// --- begin -----------------------------------------------------------------------------------------------

static void services_tell(struct worker *w, uint32_t number, uint64_t bits, flow_fn *const *fns)
{
	for (; bits; bits &= bits - 1)
		fns[__builtin_ctzll(bits)](w, number);
}

static void session_join(struct flows *flows, uint32_t slot, uint32_t number)
{
	struct flow_session *session = &flows->sessions[slot];

	if (session->first)
		link_join(flows->of_session, number, session->first);
	session->first = number;
	session->n++;
}

static enum flow_made refusal(struct flows *flows, const struct flow_order *order, uint64_t now)
{
	struct flow_profile *profile = &flows->profiles[order->profile];

	if (flows->sessions[order->slot].n >= flows->per_session)
		return FLOW_SESSION_FULL;
	if (profile->used >= profile->most)
		return FLOW_PROFILE_FULL;
	if (profile->has_rate && !limit_pass(&profile->rate, now))
		return FLOW_TOO_FAST;
	return FLOW_MADE;
}

enum flow_made flows_make(struct worker *w, const struct flow_order *order, uint32_t *ret)
{
	struct flows *flows = &w->flows;
	enum flow_made made = refusal(flows, order, w->now);
	struct flow_cold *cold;
	struct flow *flow;

	if (made == FLOW_MADE)
		made = flow_add(&flows->table, &order->key, order->v6, order->hash, ret);
	if (made != FLOW_MADE)
		return made;
	flow = &flows->table.flows[*ret];
	flow->chain = order->chain;
	flow->timer = (uint8_t)(order->profile * 4u + FLOW_EMBRYONIC);
	flow->flags |= order->up ? FLOW_F_UP : 0;
	flow_extend(flows, flow);
	cold = &flows->table.cold[*ret];
	cold->given = cold->met = order->chain;
	cold->made = flows->tick;
	wheel_arm(&flows->timer, *ret, flow->deadline);
	young_join(flows, *ret);
	session_join(flows, order->slot, *ret);
	flows->profiles[order->profile].used++;
	worker_count(w, COUNTER_flows_made, 1);
	services_tell(w, *ret, order->chain & flows->tell_made, flows->made);
	return FLOW_MADE;
}

void flow_services_set(struct worker *w, uint32_t number, uint64_t services)
{
	struct flows *flows = &w->flows;
	struct flow_cold *cold = &flows->table.cold[number];
	struct flow *flow = &flows->table.flows[number];
	uint64_t more = services & ~cold->given;

	flow->chain = (flow->chain & ~(cold->given & ~services)) | more;
	cold->given = services;
	services_tell(w, number, more & ~cold->met & flows->tell_made, flows->made);
	cold->met |= more;
}

// --- last use --------------------------------------------------------------------------------------------

// The step of the flow's last use.
static uint32_t used_step(const struct flows *flows, const struct flow *flow)
{
	uint32_t ago = flows->tick - (flow->deadline - flows->ticks[flow->timer]);

	return (uint32_t)((flows->long_tick - ago) >> flows->used_shift);
}

void flow_time_set(struct worker *w, uint32_t number, uint32_t ticks)
{
	struct flows *flows = &w->flows;
	struct flow *flow = &flows->table.flows[number];
	uint32_t before = flow->deadline;

	flow->deadline = flows->tick + ticks;
	if (tick_is_after(before, flow->deadline))
		wheel_arm(&flows->timer, number, flow->deadline);
}

void flow_unasked_begin(struct worker *w, uint32_t number)
{
	struct flows *flows = &w->flows;
	const struct flow *flow = &flows->table.flows[number];

	if (flow_is_unasked(flow, false))
		flow_time_set(w, number, RTE_MIN(flows->unasked, flows->ticks[flow->timer]));
}

void flow_class_set(struct worker *w, uint32_t number, enum flow_class class)
{
	struct flows *flows = &w->flows;
	struct flow *flow = &flows->table.flows[number];

	young_leave(flows, number);
	if (class == FLOW_EMBRYONIC)
		young_join(flows, number);
	flow->timer = (uint8_t)(flow->timer / 4u * 4u + class);
	flow_time_set(w, number, flows->ticks[flow->timer]);
	if (class == FLOW_EMBRYONIC)
		wheel_disarm(&flows->used, number);
	else
		wheel_arm(&flows->used, number, used_step(flows, flow));
}

void flow_profile_set(struct worker *w, uint32_t number, uint8_t profile)
{
	struct flows *flows = &w->flows;
	struct flow *flow = &flows->table.flows[number];

	flows->profiles[flow_profile_of(flow)].used--;
	flows->profiles[profile].used++;
	flow->timer = (uint8_t)(profile * 4u + flow_class_of(flow));
	flow_time_set(w, number, flows->ticks[flow->timer]);
}

// Flows that stand before the wheel's half are moved to when they were used, which is later: without that they would
// hold its beginning back.
static void used_move(struct flows *flows)
{
	uint32_t stale[STALE_LOOKS];
	unsigned n = wheel_due(&flows->used, used_oldest(flows), stale, STALE_LOOKS);

	for (unsigned i = 0; i < n; i++)
		wheel_arm(&flows->used, stale[i], used_step(flows, &flows->table.flows[stale[i]]));
}

// --- end -------------------------------------------------------------------------------------------------

static void session_leave(struct flows *flows, uint32_t slot, uint32_t number)
{
	struct flow_session *session = &flows->sessions[slot];
	uint32_t next = flows->of_session[number].next;

	link_leave(flows->of_session, number);
	if (session->first == number)
		session->first = next == number ? 0 : next;
	session->n--;
}

void flows_end(struct worker *w, uint32_t number)
{
	struct flows *flows = &w->flows;
	const struct flow *flow = &flows->table.flows[number];
	uint64_t met = flows->table.cold[number].met;

	services_tell(w, number, met & flows->tell_gone, flows->gone);
	wheel_disarm(&flows->timer, number);
	wheel_disarm(&flows->used, number);
	young_leave(flows, number);
	session_leave(flows, flow_key_context(&flow->key), number);
	flows->profiles[flow_profile_of(flow)].used--;
	flow_del(&flows->table, number);
}

bool flows_end_session(struct worker *w, uint32_t slot)
{
	struct flows *flows = &w->flows;

	if (flows->table.n == 0)
		return true;
	for (; flows->sessions[slot].first && flows->left > 0; flows->left--) {
		flows_end(w, flows->sessions[slot].first);
		worker_count(w, COUNTER_flows_cleared, 1);
	}
	return flows->sessions[slot].first == 0;
}

// Of those whose slot has come, the time of some is over; the others have been used since.
static void expire_some(struct worker *w, const uint32_t *due, unsigned n)
{
	struct flows *flows = &w->flows;
	struct flow *lines = flows->table.flows;
	uint32_t over[ENDS_AT_ONCE];
	unsigned n_over = 0;

	for (unsigned i = 0; i < n; i++) {
		rte_prefetch0(&lines[due[i]]);
		rte_prefetch0(&flows->table.cold[due[i]]);
	}
	for (unsigned i = 0; i < n; i++) {
		struct flow *flow = &lines[due[i]];

		if (tick_is_after(flow->deadline, flows->tick)) {
			wheel_arm(&flows->timer, due[i], flow->deadline);
			continue;
		}
		flow_prefetch(&flows->table, flow->flags & FLOW_F_V6,
			      flow_hash(&flows->table, &flow->key));
		over[n_over++] = due[i];
	}
	for (unsigned i = 0; i < n_over; i++)
		flows_end(w, over[i]);
	worker_count(w, COUNTER_flows_expired, n_over);
}

static void expire(struct worker *w)
{
	struct flows *flows = &w->flows;
	uint32_t due[ENDS_AT_ONCE];

	while (flows->left > 0) {
		unsigned most = RTE_MIN(flows->left, (unsigned)ENDS_AT_ONCE);
		unsigned n = wheel_due(&flows->timer, flows->tick, due, most);

		expire_some(w, due, n);
		flows->left -= n;
		if (n < most)
			return;
	}
}

// The established flow that was used least recently; 0: there is none, or it was not found in so many looks.
static uint32_t least_recent(struct flows *flows, unsigned *looks)
{
	uint32_t number, step;

	for (; *looks > 0 && wheel_first(&flows->used, &number, &step); (*looks)--) {
		uint32_t used = used_step(flows, &flows->table.flows[number]);

		if (!tick_is_after(used, step))
			return number;
		wheel_arm(&flows->used, number, used);
	}
	return 0;
}

// Embryonic flows go first, but where they are few each gets some time to be answered: otherwise a table full of
// established flows would never let another become one.
static uint32_t victim(struct flows *flows, unsigned *looks)
{
	uint32_t oldest = flows->young[0].next, number = 0;

	if (oldest == 0 || (flows->n_young <= flows->margin &&
			    flows->tick - flows->table.cold[oldest].made < flows->spared))
		number = least_recent(flows, looks);
	return number || *looks == 0 ? number : oldest;
}

static void evict(struct worker *w)
{
	struct flows *flows = &w->flows;
	unsigned looks = EVICT_LOOKS;

	while (flows->table.n - flows->table.used < flows->margin && flows->left > 0) {
		uint32_t number = victim(flows, &looks);

		if (number == 0)
			return;
		flows_end(w, number);
		worker_count(w, COUNTER_flows_evicted, 1);
		flows->left--;
	}
}

void flows_turn(struct worker *w)
{
	struct flows *flows = &w->flows;

	flows->long_tick = w->now >> FLOW_TICK_SHIFT;
	flows->tick = (uint32_t)flows->long_tick;
	expire(w);
	used_move(flows);
	evict(w);
}
