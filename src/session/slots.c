// The control thread's book of slots, tunnel records and TEIDs (slots.h).
//
// Control thread.

#include "session/slots.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/idpool.h"

#define PLACES_TRIED 16 // whose TEIDs SMFs may all have chosen, before we say that none is free

struct owner {
	struct idpool *slots;
	struct idpool *tunnels;
	uint32_t *versions;    // of each slot, counted up at each taking
	uint32_t *generations; // of each tunnel record, likewise
};

// TEIDs that SMFs chose, and at how many local addresses: an open-addressed table, grown by doubling.
struct teid_set {
	struct teid_given {
		uint32_t teid, count; // teid 0: an empty place
	} * places;
	uint32_t n, size;
};

struct slots {
	unsigned n_owners;
	uint32_t n_slots, n_tunnels;
	struct teid_scheme scheme;
	struct teid_set given;
	struct owner owners[];
};

struct slots *slots_new(unsigned n_workers, uint32_t n_slots, uint32_t n_tunnels,
			const struct teid_scheme *scheme)
{
	struct slots *slots = calloc(1, sizeof(*slots) + n_workers * sizeof(struct owner));

	if (!slots)
		return NULL;
	slots->n_owners = n_workers;
	slots->n_slots = n_slots;
	slots->n_tunnels = n_tunnels;
	slots->scheme = *scheme;
	for (unsigned i = 0; i < n_workers; i++) {
		struct owner *o = &slots->owners[i];

		o->slots = idpool_new(n_slots);
		o->tunnels = idpool_new(n_tunnels);
		o->versions = calloc(n_slots, sizeof(uint32_t));
		o->generations = calloc(n_tunnels ? n_tunnels : 1, sizeof(uint32_t));
		if (!o->slots || !o->tunnels || !o->versions || !o->generations) {
			slots_free(slots);
			return NULL;
		}
	}
	return slots;
}

void slots_free(struct slots *slots)
{
	if (!slots)
		return;
	for (unsigned i = 0; i < slots->n_owners; i++) {
		idpool_free(slots->owners[i].slots);
		idpool_free(slots->owners[i].tunnels);
		free(slots->owners[i].versions);
		free(slots->owners[i].generations);
	}
	free(slots->given.places);
	free(slots);
}

// --- TEIDs that SMFs chose -------------------------------------------------------------------------------

// The place of `teid`, or the empty place where it would go.
static uint32_t given_place(const struct teid_set *set, uint32_t teid)
{
	uint32_t i = (teid * 0x9e3779b1u) & (set->size - 1);

	while (set->places[i].teid && set->places[i].teid != teid)
		i = (i + 1) & (set->size - 1);
	return i;
}

static bool given_has(const struct teid_set *set, uint32_t teid)
{
	return teid && set->n && set->places[given_place(set, teid)].teid == teid;
}

static int given_grow(struct teid_set *set)
{
	struct teid_set bigger = {.size = set->size ? 2 * set->size : 64, .n = set->n};

	bigger.places = calloc(bigger.size, sizeof(struct teid_given));
	if (!bigger.places)
		return -ENOMEM;
	for (uint32_t i = 0; i < set->size; i++)
		if (set->places[i].teid)
			bigger.places[given_place(&bigger, set->places[i].teid)] = set->places[i];
	free(set->places);
	*set = bigger;
	return 0;
}

// Takes a place out and moves later ones of its run forward, so that no search stops short.
static void given_del(struct teid_set *set, uint32_t hole)
{
	set->places[hole] = (struct teid_given){0};
	set->n--;
	for (uint32_t i = (hole + 1) & (set->size - 1); set->places[i].teid;
	     i = (i + 1) & (set->size - 1)) {
		struct teid_given given = set->places[i];

		set->places[i] = (struct teid_given){0};
		set->places[given_place(set, given.teid)] = given;
	}
}

int slots_teid_reserve(struct slots *slots, uint32_t teid, bool reserved)
{
	struct teid_set *set = &slots->given;
	struct teid_given *given;

	if (!reserved) {
		if (given_has(set, teid) && --set->places[given_place(set, teid)].count == 0)
			given_del(set, given_place(set, teid));
		return 0;
	}
	if (2 * (set->n + 1) > set->size && given_grow(set) != 0)
		return -ENOMEM;
	given = &set->places[given_place(set, teid)];
	set->n += given->teid == 0;
	given->teid = teid;
	given->count++;
	return 0;
}

// --- our own ---------------------------------------------------------------------------------------------

// The next generation after `*generation` whose TEID may be used: not 0, and not one that an SMF chose. 0 where
// SMFs chose all that this place could have.
static uint32_t next_teid(const struct slots *slots, unsigned owner, uint32_t index,
			  uint32_t *generation)
{
	uint64_t generations = 1ull << slots->scheme.generation_bits;
	uint64_t most = slots->given.n + 2ull; // of so many that differ, one is not 0 and not given

	for (uint64_t i = 0; i < (most < generations ? most : generations); i++) {
		uint32_t teid = teid_make(&slots->scheme, owner, index, ++*generation);

		if (teid && !given_has(&slots->given, teid))
			return teid;
	}
	return 0;
}

static unsigned least_loaded(const struct slots *slots)
{
	unsigned best = 0;

	for (unsigned i = 1; i < slots->n_owners; i++)
		if (slots_used(slots, i) < slots_used(slots, best))
			best = i;
	return best;
}

// The version doubles as the generation of the TEID of tunnel 1, so it steps over those that cannot be used; a
// slot comes back to a version only after 2^32 takings.
static bool next_version(const struct slots *slots, unsigned owner, uint32_t index)
{
	uint32_t *version = &slots->owners[owner].versions[index];
	bool found;

	do
		found = next_teid(slots, owner, index, version) != 0;
	while (found && *version == 0);
	return found;
}

int slots_take(struct slots *slots, struct slot *ret)
{
	unsigned owner = least_loaded(slots);
	struct owner *o = &slots->owners[owner];
	uint32_t index;

	for (unsigned i = 0; i < PLACES_TRIED; i++) {
		if (idpool_take(o->slots, &index) != 0)
			return -ENOSPC;
		if (next_version(slots, owner, index)) {
			*ret = (struct slot){
				.owner = owner, .index = index, .version = o->versions[index]};
			return 0;
		}
		idpool_give(o->slots, index); // to the end of the queue
	}
	return -ENOSPC;
}

void slots_give(struct slots *slots, const struct slot *slot)
{
	idpool_give(slots->owners[slot->owner].slots, slot->index);
}

uint32_t slots_teid(const struct slots *slots, const struct slot *slot)
{
	return teid_make(&slots->scheme, slot->owner, slot->index, slot->version);
}

int slots_tunnel_take(struct slots *slots, unsigned owner, uint32_t *ret_record, uint32_t *ret_teid)
{
	struct owner *o = &slots->owners[owner];
	uint32_t record, teid;

	for (unsigned i = 0; i < PLACES_TRIED; i++) {
		if (idpool_take(o->tunnels, &record) != 0)
			return -ENOSPC;
		teid = next_teid(slots, owner, slots_tunnel_index(slots, record),
				 &o->generations[record]);
		if (teid) {
			*ret_record = record;
			*ret_teid = teid;
			return 0;
		}
		idpool_give(o->tunnels, record);
	}
	return -ENOSPC;
}

uint32_t slots_tunnel_index(const struct slots *slots, uint32_t record)
{
	return slots->n_slots + record;
}

void slots_tunnel_give(struct slots *slots, unsigned owner, uint32_t record)
{
	idpool_give(slots->owners[owner].tunnels, record);
}

bool slots_teid_is_ours(const struct slots *slots, uint32_t teid)
{
	struct teid_parts at = teid_open(&slots->scheme, teid);

	if (at.owner >= slots->n_owners || at.index >= slots->n_slots + slots->n_tunnels)
		return false;

	const struct owner *o = &slots->owners[at.owner];

	if (at.index < slots->n_slots)
		return idpool_is_taken(o->slots, at.index) &&
		       teid_make(&slots->scheme, at.owner, at.index, o->versions[at.index]) == teid;
	return idpool_is_taken(o->tunnels, at.index - slots->n_slots) &&
	       teid_make(&slots->scheme, at.owner, at.index,
			 o->generations[at.index - slots->n_slots]) == teid;
}

bool slots_teid_in_use(const struct slots *slots, uint32_t teid)
{
	return given_has(&slots->given, teid) || slots_teid_is_ours(slots, teid);
}

uint32_t slots_used(const struct slots *slots, unsigned owner)
{
	return idpool_used(slots->owners[owner].slots);
}

uint32_t slots_tunnels_used(const struct slots *slots, unsigned owner)
{
	return idpool_used(slots->owners[owner].tunnels);
}
