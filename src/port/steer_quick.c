// See steer_quick.h.
// Control thread.

#include "port/steer_quick.h"

#include <stdbool.h>
#include <string.h>

static struct steer_quick_row row_make(__be16 vlan, const __u8 addr[16], unsigned bits, __u32 flags)
{
	struct steer_quick_row row = {.vlan = vlan, .flags = flags};
	__u8 mask[16] = {0};

	for (unsigned i = 0; i < bits; i++)
		mask[i / 8] |= (__u8)(0x80 >> i % 8);
	memcpy(row.addr, addr, sizeof(row.addr));
	memcpy(row.mask, mask, sizeof(row.mask));
	return row;
}

static struct steer_quick_row row_of_addr(const struct steer_addr *key, __u32 flags)
{
	return row_make(key->vlan, key->addr, 128, flags);
}

static struct steer_quick_row row_of_prefix(const struct steer_prefix *key)
{
	return row_make(key->vlan, key->addr, key->len - STEER_VLAN_BITS, STEER_UE);
}

static struct steer_quick_row *row_find(struct steer_quick_row *rows, unsigned n,
					const struct steer_quick_row *like)
{
	for (unsigned i = 0; i < n; i++)
		if (rows[i].vlan == like->vlan &&
		    !memcmp(rows[i].addr, like->addr, sizeof(like->addr)) &&
		    !memcmp(rows[i].mask, like->mask, sizeof(like->mask)))
			return &rows[i];
	return NULL;
}

static bool row_add(struct steer_quick_row *rows, unsigned *n, const struct steer_quick_row *row)
{
	if (*n == STEER_QUICK_ROWS)
		return false;
	rows[(*n)++] = *row;
	return true;
}

static bool row_del(struct steer_quick_row *rows, unsigned *n, const struct steer_quick_row *like)
{
	struct steer_quick_row *row = row_find(rows, *n, like);

	if (!row)
		return false;
	*row = rows[--*n];
	return true;
}

// The program reads meanwhile: it takes no row that was written while it looked.
static void show(const struct steer_quick_list *list)
{
	struct steer_quick *shown = list->shown;
	unsigned n = list->n_addrs, prefixes = list->n_more ? 0 : list->n_prefixes;

	if (prefixes > STEER_QUICK_ROWS - n)
		prefixes = STEER_QUICK_ROWS - n;
	__atomic_store_n(&shown->change, shown->change + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memset(shown->rows, 0, sizeof(shown->rows));
	memcpy(shown->rows, list->addrs, n * sizeof(list->addrs[0]));
	memcpy(&shown->rows[n], list->prefixes, prefixes * sizeof(list->prefixes[0]));
	__atomic_store_n(&shown->change, shown->change + 1, __ATOMIC_RELEASE);
}

void steer_quick_addr_add(struct steer_quick_list *list, const struct steer_addr *key, __u32 flags)
{
	struct steer_quick_row row = row_of_addr(key, flags);

	if (!row_add(list->addrs, &list->n_addrs, &row))
		list->n_more++;
	show(list);
}

void steer_quick_addr_change(struct steer_quick_list *list, const struct steer_addr *key,
			     __u32 flags)
{
	struct steer_quick_row like = row_of_addr(key, flags);
	struct steer_quick_row *row = row_find(list->addrs, list->n_addrs, &like);

	if (!row)
		return;
	row->flags = flags;
	show(list);
}

void steer_quick_addr_del(struct steer_quick_list *list, const struct steer_addr *key)
{
	struct steer_quick_row like = row_of_addr(key, 0);

	if (!row_del(list->addrs, &list->n_addrs, &like))
		list->n_more--;
	show(list);
}

void steer_quick_prefix_add(struct steer_quick_list *list, const struct steer_prefix *key)
{
	struct steer_quick_row row = row_of_prefix(key);

	if (row_add(list->prefixes, &list->n_prefixes, &row))
		show(list);
}

void steer_quick_prefix_del(struct steer_quick_list *list, const struct steer_prefix *key)
{
	struct steer_quick_row like = row_of_prefix(key);

	if (row_del(list->prefixes, &list->n_prefixes, &like))
		show(list);
}
