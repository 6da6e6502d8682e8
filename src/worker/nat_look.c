// Pages of blocks, see nat_look.h.
// Worker.

#include "worker/nat_look.h"

#include "worker/flows_look.h"
#include "worker/worker.h"

#define LOOK_BLOCKS 4096 // that one look passes over: a byte of each is read

static void row_fill(const struct worker *w, const struct nat_ports *ports, uint32_t block,
		     struct nat_row *ret)
{
	const struct nat_place place = nat_block_place(ports, block);
	uint32_t slot = ports->blocks[block].slot;

	*ret = (struct nat_row){
		.slot = slot,
		.ue = w->table.up[slot].up.ue_v4,
		.outside = place.addr,
		.first = place.port,
		.last = nat_block_last(ports, block),
	};
	for (unsigned i = 0; i < NAT_PROTOS; i++)
		ret->used[i] = (uint16_t)nat_block_used(ports, block, i);
}

// Of one pool; gives the block to go on with.
static uint32_t look_at(const struct worker *w, const struct nat_ports *ports, uint32_t block,
			struct nat_look *look, unsigned *left)
{
	for (; block < ports->n && look->n<look->most && * left> 0; block++, --*left) {
		const struct nat_block *b = &ports->blocks[block];

		if (b->taken && (look->slot == FLOWS_ALL_SLOTS || b->slot == look->slot))
			row_fill(w, ports, block, &look->rows[look->n++]);
	}
	return block;
}

void nat_look(struct worker *w, struct nat_look *look)
{
	uint32_t profile = (uint32_t)(look->next >> 32), block = (uint32_t)look->next;
	uint32_t n = w->nat.pools ? w->nat.pools->n : 0;
	unsigned left = LOOK_BLOCKS;

	look->n = 0;
	for (; profile < n && look->n < look->most && left > 0; profile++, block = 0) {
		block = look_at(w, &w->nat.ports[profile], block, look, &left);
		if (block < w->nat.ports[profile].n)
			break;
	}
	look->next = profile < n ? (uint64_t)profile << 32 | block : 0;
}
