// Mappings made and ended, see nat.h.
// Worker, but for making and freeing. The indexes' keys are flow_key's with what is not asked for left 0, so that the
// flow table's seeded hash serves here, too.

#include "worker/nat.h"

#include <errno.h>
#include <netinet/in.h>

#include <rte_malloc.h>

#include "worker/nat_event.h"
#include "worker/worker.h"

bool nat_serves(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_ICMP;
}

static enum nat_proto proto_of(uint8_t proto)
{
	return proto == IPPROTO_TCP ? NAT_TCP : proto == IPPROTO_UDP ? NAT_UDP : NAT_ECHO;
}

// --- making and freeing ----------------------------------------------------------------------------------

static int ports_init(struct nat *nat, unsigned worker, unsigned n_workers, int socket)
{
	for (uint32_t i = 0; i < nat->pools->n; i++)
		if (nat->pools->pools[i].n_addrs &&
		    nat_ports_init(&nat->ports[i], &nat->pools->pools[i], worker, n_workers,
				   socket) != 0)
			return -ENOMEM;
	return 0;
}

static void *zeroed(const char *name, size_t bytes, int socket)
{
	return rte_zmalloc_socket(name, bytes, RTE_CACHE_LINE_SIZE, socket);
}

int nat_init(struct nat *nat, const struct nat_pools *pools, unsigned worker, unsigned n_workers,
	     uint32_t n_flows, uint32_t n_slots, int socket)
{
	*nat = (struct nat){.pools = pools && pools->n && n_flows ? pools : NULL, .n = n_flows};
	if (!nat->pools)
		return 0;
	nat->sessions = zeroed("nat_sessions", n_slots * sizeof(*nat->sessions), socket);
	nat->mappings = zeroed("nat_mappings", (n_flows + 1) * sizeof(*nat->mappings), socket);
	nat->free = zeroed("nat_free", n_flows * sizeof(*nat->free), socket);
	nat->of_flow = zeroed("nat_flows", (n_flows + 1) * sizeof(*nat->of_flow), socket);
	if (!nat->sessions || !nat->mappings || !nat->free || !nat->of_flow ||
	    flow_index_init(&nat->inside, n_flows, socket) != 0 ||
	    flow_index_init(&nat->outside, n_flows, socket) != 0 ||
	    flow_index_init(&nat->remotes, n_flows, socket) != 0 ||
	    ports_init(nat, worker, n_workers, socket) != 0) {
		nat_fini(nat);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n_flows; i++)
		nat->free[i] = n_flows - i;
	return 0;
}

void nat_fini(struct nat *nat)
{
	for (uint32_t i = 0; nat->pools && i < nat->pools->n; i++)
		nat_ports_fini(&nat->ports[i]);
	rte_free(nat->sessions);
	rte_free(nat->mappings);
	rte_free(nat->free);
	rte_free(nat->of_flow);
	flow_index_fini(&nat->inside);
	flow_index_fini(&nat->outside);
	flow_index_fini(&nat->remotes);
	*nat = (struct nat){0};
}

// --- looks -----------------------------------------------------------------------------------------------

static struct flow_key inside_key(const struct nat_mapping *m)
{
	return (struct flow_key){.where = flow_key_where(m->slot, m->proto),
				 .ue_port = m->ue_port,
				 .v4 = {.ue = m->ue, .remote = m->remote}};
}

static struct flow_key outside_key(const struct nat_mapping *m)
{
	return (struct flow_key){.where = flow_key_where(m->profile, m->proto),
				 .ue_port = m->port,
				 .v4 = {.ue = m->outside}};
}

static struct flow_key remote_key(uint32_t mapping, rte_be32_t remote)
{
	return (struct flow_key){.where = flow_key_where(mapping, 0), .v4 = {.remote = remote}};
}

struct look {
	const struct worker *w;
	const struct flow_key *key;
};

static bool inside_is(const void *ctx, uint32_t entry)
{
	const struct look *look = ctx;
	struct flow_key key = inside_key(&look->w->nat.mappings[entry]);

	return flow_key_eq(&key, look->key);
}

static bool outside_is(const void *ctx, uint32_t entry)
{
	const struct look *look = ctx;
	struct flow_key key = outside_key(&look->w->nat.mappings[entry]);

	return flow_key_eq(&key, look->key);
}

static bool remote_is(const void *ctx, uint32_t entry)
{
	const struct look *look = ctx;
	struct flow_key key = remote_key(look->w->nat.of_flow[entry],
					 look->w->flows.table.cold[entry].second.v4.remote);

	return flow_key_eq(&key, look->key);
}

static uint64_t hash_of(const struct worker *w, const struct flow_key *key)
{
	return flow_hash(&w->flows.table, key);
}

static uint32_t look_in(const struct worker *w, const struct flow_index *index,
			const struct flow_key *key, bool (*is)(const void *, uint32_t))
{
	const struct look look = {w, key};

	return flow_index_lookup(index, hash_of(w, key), is, &look);
}

// --- mappings --------------------------------------------------------------------------------------------

// What the mapping of a flow's UE side is, or would be.
static struct nat_mapping wanted_of(const struct worker *w, uint32_t number)
{
	const struct flow *flow = &w->flows.table.flows[number];
	const struct nat_pool *pool = &w->nat.pools->pools[flow_profile_of(flow)];

	return (struct nat_mapping){
		.ue = flow->key.v4.ue,
		.remote = pool->map_by_remote ? flow->key.v4.remote : 0,
		.slot = flow_key_context(&flow->key),
		.ue_port = flow->key.ue_port,
		.proto = flow_key_proto(&flow->key),
		.profile = (uint8_t)flow_profile_of(flow),
	};
}

// The session has a block more. Its UE is told by the address that it was given, or the one that asks.
static void block_got(struct worker *w, const struct nat_mapping *wanted, uint32_t block)
{
	struct nat_session *session = &w->nat.sessions[wanted->slot];
	rte_be32_t ue = w->table.up[wanted->slot].up.ue_v4;

	if (session->n == 1)
		session->ue = ue ? ue : wanted->ue;
	w->nat.ports[wanted->profile].blocks[block].since = w->now;
	worker_count(w, COUNTER_nat_blocks_taken, 1);
	nat_event_post(w, wanted->slot, block, true);
}

// 0: there is no port for it.
static uint32_t mapping_new(struct worker *w, const struct nat_mapping *wanted)
{
	struct nat *nat = &w->nat;
	struct nat_session *session = &nat->sessions[wanted->slot];
	struct session_ref ref = session_ref_make(w->id, wanted->slot,
						  w->table.cold[wanted->slot].version);
	unsigned blocks = session->n;
	struct nat_place place;
	struct flow_key key;
	uint32_t number;

	if (nat->used == nat->n || (session->n && session->profile != wanted->profile))
		return 0;
	session->profile = wanted->profile;
	if (!nat_port_take(&nat->ports[wanted->profile], session, ref, proto_of(wanted->proto),
			   wanted->ue_port, &place))
		return 0;
	if (session->n > blocks)
		block_got(w, wanted, place.block);
	number = nat->free[nat->n - ++nat->used];
	nat->mappings[number] = *wanted;
	nat->mappings[number].outside = place.addr;
	nat->mappings[number].port = place.port;
	nat->mappings[number].block = place.block;
	key = inside_key(&nat->mappings[number]);
	flow_index_add(&nat->inside, hash_of(w, &key), number);
	key = outside_key(&nat->mappings[number]);
	flow_index_add(&nat->outside, hash_of(w, &key), number);
	worker_count(w, COUNTER_nat_mappings_made, 1);
	return number;
}

static void mapping_end(struct worker *w, uint32_t number)
{
	struct nat *nat = &w->nat;
	struct nat_mapping *m = &nat->mappings[number];
	struct nat_session *session = &nat->sessions[m->slot];
	const struct nat_place place = {m->block, m->outside, m->port};
	struct flow_key key = inside_key(m);

	flow_index_del(&nat->inside, hash_of(w, &key), number);
	key = outside_key(m);
	flow_index_del(&nat->outside, hash_of(w, &key), number);
	if (nat->ports[m->profile].blocks[m->block].used == 1) { // the block goes with it
		nat_event_post(w, m->slot, m->block, false);
		worker_count(w, COUNTER_nat_blocks_given, 1);
	}
	nat_port_give(&nat->ports[m->profile], session, proto_of(m->proto), &place);
	nat->free[nat->n - nat->used--] = number;
	worker_count(w, COUNTER_nat_mappings_ended, 1);
}

// --- flows -----------------------------------------------------------------------------------------------

static bool has_remotes(const struct worker *w, const struct nat_mapping *m)
{
	return w->nat.pools->pools[m->profile].filter == NAT_FILTER_ADDRESS;
}

static uint64_t remote_hash(const struct worker *w, uint32_t number)
{
	struct flow_key key = remote_key(w->nat.of_flow[number],
					 w->flows.table.cold[number].second.v4.remote);

	return hash_of(w, &key);
}

// The second key that leads to the flow, with `remote`'s remote end. False: it leads to another one.
static bool second_set(struct worker *w, uint32_t number, const struct flow_key *remote)
{
	const struct nat_mapping *m = &w->nat.mappings[w->nat.of_flow[number]];
	struct flow_key second = *remote;

	second.where = w->flows.table.flows[number].key.where;
	second.v4.ue = m->outside;
	second.ue_port = m->port;
	if (flow_second_add(&w->flows.table, number, &second) != FLOW_MADE)
		return false;
	if (has_remotes(w, m))
		flow_index_add(&w->nat.remotes, remote_hash(w, number), number);
	return true;
}

static void second_clear(struct worker *w, uint32_t number)
{
	if (has_remotes(w, &w->nat.mappings[w->nat.of_flow[number]]))
		flow_index_del(&w->nat.remotes, remote_hash(w, number), number);
	flow_second_del(&w->flows.table, number);
}

enum drop nat_join(struct worker *w, uint32_t number, uint32_t mapping,
		   const struct flow_key *remote)
{
	struct flow *flow = &w->flows.table.flows[number];
	struct nat_mapping *m = &w->nat.mappings[mapping];

	if (flow->flags & FLOW_F_NAT) // by another mapping
		return DROP_nat_filtered;
	if (flow->flags & FLOW_F_SECOND) // of a redirection alone
		flow_second_del(&w->flows.table, number);
	w->nat.of_flow[number] = mapping;
	if (!second_set(w, number, remote)) {
		w->nat.of_flow[number] = 0;
		return DROP_nat_no_port;
	}
	flow->flags |= FLOW_F_NAT;
	w->flows.table.cold[number].iface = w->nat.pools->pools[m->profile].iface;
	m->flows++;
	return DROP_NONE;
}

enum drop nat_move(struct worker *w, uint32_t number, const struct flow_key *remote)
{
	struct flow_key before = w->flows.table.cold[number].second;

	second_clear(w, number);
	if (second_set(w, number, remote))
		return DROP_NONE;
	second_set(w, number, &before);
	return DROP_nat_no_port;
}

enum drop nat_bind(struct worker *w, uint32_t number, const struct flow_key *remote)
{
	struct nat_mapping wanted = wanted_of(w, number);
	struct flow_key key = inside_key(&wanted);
	uint32_t mapping = look_in(w, &w->nat.inside, &key, inside_is);
	enum drop why;

	if (mapping == 0)
		mapping = mapping_new(w, &wanted);
	if (mapping == 0)
		return DROP_nat_no_port;
	why = nat_join(w, number, mapping, remote);
	if (why && w->nat.mappings[mapping].flows == 0)
		mapping_end(w, mapping);
	return why;
}

void nat_leave(struct worker *w, uint32_t number)
{
	uint32_t mapping = w->nat.of_flow[number];

	if (mapping == 0)
		return;
	second_clear(w, number);
	w->nat.of_flow[number] = 0;
	w->flows.table.flows[number].flags &= (uint8_t)~FLOW_F_NAT;
	if (--w->nat.mappings[mapping].flows == 0)
		mapping_end(w, mapping);
}

// Whether the UE has opened the port for this remote end.
static bool passes(const struct worker *w, uint32_t mapping, rte_be32_t remote)
{
	const struct nat_mapping *m = &w->nat.mappings[mapping];
	struct flow_key key = remote_key(mapping, remote);

	if (m->remote && m->remote != remote)
		return false;
	switch (w->nat.pools->pools[m->profile].filter) {
	case NAT_FILTER_NONE:
		return true;
	case NAT_FILTER_ADDRESS:
		return look_in(w, &w->nat.remotes, &key, remote_is) != 0;
	case NAT_FILTER_PORT: // then there would be a flow
		break;
	}
	return false;
}

enum drop nat_admit(const struct worker *w, uint32_t slot, uint8_t profile,
		    const struct flow_key *from, struct flow_key *ret_key, uint32_t *ret_mapping)
{
	const struct nat_mapping asked = {.profile = profile,
					  .proto = flow_key_proto(from),
					  .outside = from->v4.ue,
					  .port = from->ue_port};
	struct flow_key key = outside_key(&asked);
	uint32_t mapping = look_in(w, &w->nat.outside, &key, outside_is);
	const struct nat_mapping *m = &w->nat.mappings[mapping];

	if (mapping == 0 || m->slot != slot)
		return DROP_nat_no_mapping;
	if (!passes(w, mapping, from->v4.remote))
		return DROP_nat_filtered;
	*ret_key = *from;
	ret_key->v4.ue = m->ue;
	ret_key->ue_port = m->ue_port;
	*ret_mapping = mapping;
	return DROP_NONE;
}
