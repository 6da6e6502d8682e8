// The session table of one worker (session.h): set up at start, written by its owner.
//
// Each function says whose thread it is on in the header.

#include "session/session.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

static void *array_new(const char *name, size_t n, size_t size, int socket)
{
	// Room for one where there are to be none: rte_malloc gives NULL for 0 bytes too.
	return rte_zmalloc_socket(name, (n ? n : 1) * size, RTE_CACHE_LINE_SIZE, socket);
}

int session_table_init(struct session_table *table, uint32_t n_slots, uint32_t n_tunnels,
		       int socket)
{
	*table = (struct session_table){
		.n_slots = n_slots,
		.n_tunnels = n_tunnels,
		.up = array_new("session_up", n_slots, sizeof(struct session_line), socket),
		.down = array_new("session_down", n_slots, sizeof(struct session_line), socket),
		.cold = array_new("session_cold", n_slots, sizeof(struct session_cold), socket),
		.tunnels = array_new("tunnel", n_tunnels, sizeof(struct tunnel), socket),
	};
	if (!table->up || !table->down || !table->cold || !table->tunnels) {
		session_table_fini(table);
		return -ENOMEM;
	}
	return 0;
}

void session_table_fini(struct session_table *table)
{
	rte_free(table->up);
	rte_free(table->down);
	rte_free(table->cold);
	rte_free(table->tunnels);
	*table = (struct session_table){0};
}

void session_set(struct session_table *table, const struct session_image *image)
{
	struct session_line *up = &table->up[image->slot];
	struct session_line *down = &table->down[image->slot];
	struct session_cold *cold = &table->cold[image->slot];

	if (cold->version != image->version) {
		table->used += cold->version == 0;
		*up = (struct session_line){0};
		*down = (struct session_line){0};
	}
	up->check = image->teid;
	up->rules = image->rules;
	up->up.ue_v4 = image->ue_v4;
	up->up.ue_v6 = image->ue_v6;
	down->check = image->version;
	down->rules = image->rules;
	down->down.teid = image->line_out.teid;
	down->down.peer = image->line_out.peer;
	cold->seid = image->seid;
	cold->version = image->version;
	memcpy(cold->places, image->places, sizeof(cold->places));
}

void session_counts_get(const struct session_table *table, uint32_t slot,
			struct session_counts *ret)
{
	*ret = (struct session_counts){
		.up_packets = table->up[slot].packets,
		.up_bytes = table->up[slot].bytes,
		.down_packets = table->down[slot].packets,
		.down_bytes = table->down[slot].bytes,
	};
}

int session_clear(struct session_table *table, uint32_t slot, uint32_t version,
		  struct session_counts *ret)
{
	struct session_cold *cold = &table->cold[slot];

	if (cold->version != version)
		return -ENOENT;
	session_counts_get(table, slot, ret);
	table->up[slot] = (struct session_line){0};
	table->down[slot] = (struct session_line){0};
	*cold = (struct session_cold){0};
	table->used--;
	return 0;
}

void tunnel_set(struct session_table *table, uint32_t record, const struct tunnel *tunnel)
{
	table->tunnels[record] = *tunnel;
}
