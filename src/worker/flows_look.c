// Pages of flows, and ends by command, see flows_look.h.
// Worker.

#include "worker/flows_look.h"

#include <errno.h>

#include "base/clock.h"
#include "worker/worker.h"

#define LOOK_FLOWS 512 // that one look passes over: two microseconds for each hundred

static uint32_t ms_of_ticks(uint32_t ticks)
{
	return (uint32_t)(ticks * FLOW_TICK_NS / NS_PER_MS);
}

static const char *word_of(const struct worker *w, uint32_t number)
{
	const struct flows *flows = &w->flows;

	for (uint64_t bits = flows->table.flows[number].chain; bits; bits &= bits - 1)
		if (flows->words[__builtin_ctzll(bits)])
			return flows->words[__builtin_ctzll(bits)](w, number);
	return NULL;
}

static void row_fill(const struct worker *w, uint32_t number, struct flow_row *ret)
{
	const struct flows *flows = &w->flows;
	const struct flow *flow = &flows->table.flows[number];
	bool over = !tick_is_after(flow->deadline, flows->tick);

	*ret = (struct flow_row){
		.id = flow_id(&flows->table, w->id, number),
		.chain = flow->chain,
		.key = flow->key,
		.age_ms = ms_of_ticks(flows->tick - flows->table.cold[number].made),
		.left_ms = over ? 0 : ms_of_ticks(flow->deadline - flows->tick),
		.word = word_of(w, number),
		.class = (uint8_t)flow_class_of(flow),
		.v6 = flow->flags & FLOW_F_V6,
		.up = flow->flags & FLOW_F_UP,
		.outside = flows->table.cold[number].second,
		.has_outside = flow->flags & FLOW_F_NAT,
	};
}

static bool is_used(const struct worker *w, uint32_t number)
{
	return number <= w->flows.table.n && w->flows.table.flows[number].flags & FLOW_F_USED;
}

static void look_at_all(const struct worker *w, struct flows_look *look)
{
	uint32_t number = look->next ? look->next : 1;
	uint32_t end = number + LOOK_FLOWS;

	for (; number <= w->flows.table.n && number != end && look->n < look->most; number++)
		if (is_used(w, number))
			row_fill(w, number, &look->rows[look->n++]);
	look->next = number <= w->flows.table.n ? number : 0;
}

// A session's flows are a ring, the newest first; if the one to go on with has gone, so do the rest of the pages.
static void look_at_session(const struct worker *w, struct flows_look *look)
{
	const struct flows *flows = &w->flows;
	uint32_t first = flows->sessions[look->slot].first;
	uint32_t number = look->next ? look->next : first;

	look->next = 0;
	if (!first || !is_used(w, number) ||
	    flow_key_context(&flows->table.flows[number].key) != look->slot)
		return;
	while (look->n < look->most) {
		row_fill(w, number, &look->rows[look->n++]);
		number = flows->of_session[number].next;
		if (number == first)
			return;
	}
	look->next = number;
}

static bool session_is(const struct worker *w, const struct flows_look *look)
{
	return look->slot < w->table.n_slots && w->table.cold[look->slot].version == look->version;
}

int flows_look(struct worker *w, struct flows_look *look)
{
	look->n = 0;
	if (w->flows.table.n == 0)
		look->next = 0;
	else if (look->slot == FLOWS_ALL_SLOTS)
		look_at_all(w, look);
	else if (session_is(w, look))
		look_at_session(w, look);
	else
		return -ENOENT;
	return 0;
}

static void end_one(struct worker *w, struct flows_look *look, uint32_t number)
{
	flows_end(w, number);
	worker_count(w, COUNTER_flows_cleared, 1);
	w->flows.left -= w->flows.left > 0;
	look->ended++;
}

int flows_clear_one(struct worker *w, struct flows_look *look)
{
	uint32_t number = w->flows.table.n ? flow_id_lookup(&w->flows.table, look->id) : 0;

	if (number == 0)
		return -ENOENT;
	end_one(w, look, number);
	return 0;
}

// Those that are made meanwhile are not meant: of all, numbers are gone through once; of a session, the oldest go, as
// many as there were when it began.
bool flows_clear(struct worker *w, struct flows_look *look)
{
	struct flows *flows = &w->flows;
	bool all = look->slot == FLOWS_ALL_SLOTS;
	unsigned passed = 0;

	if (flows->table.n == 0 || (!all && !session_is(w, look)))
		return true;
	if (look->next == 0)
		look->most = all ? flows->table.n : flows->sessions[look->slot].n;
	for (; look->next < look->most && flows->left > 0 && passed < LOOK_FLOWS; passed++) {
		look->next++;
		if (all && is_used(w, look->next))
			end_one(w, look, look->next);
		else if (!all && flows->sessions[look->slot].first)
			end_one(w, look, flows->of_session[flows->sessions[look->slot].first].prev);
	}
	return look->next >= look->most;
}
