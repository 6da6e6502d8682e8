// SDF filters to struct filter, see compile_filter.h.
// Control thread. "any" and "assigned" give no constraint: that the UE's side is the UE's is what locating
// the session and the source check are for, or it comes as `local`.

#include "rules/compile_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Ranges of one side's ports that two lists have in common.
#define PORTS_MAX (SDF_MAX_PORTS * SDF_MAX_PORTS)

struct ports {
	unsigned n;
	struct sdf_port_range ranges[PORTS_MAX];
};

static int filter_append(struct filter_list *list, const struct filter *f)
{
	if (list->n == COMPILE_MAX_FILTERS)
		return -E2BIG;
	if (list->n == list->room) {
		unsigned room = list->room ? 2 * list->room : 8;
		struct filter *grown = reallocarray(list->filters, room, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		list->filters = grown;
		list->room = room;
	}
	list->filters[list->n++] = *f;
	return 0;
}

// The two as one. False where no address is in both.
static bool prefix_meet(const struct prefix *a, const struct prefix *b, struct prefix *ret)
{
	const struct prefix *longer = a->len >= b->len ? a : b;

	if (a->addr.family == ADDR_NONE || b->addr.family == ADDR_NONE) {
		*ret = a->addr.family == ADDR_NONE ? *b : *a;
		return true;
	}
	if (!prefix_overlaps(a, b))
		return false;
	*ret = *longer;
	return true;
}

static rte_be32_t mask_v4(uint8_t bits)
{
	return rte_cpu_to_be_32((uint32_t)(0xffffffff00000000ull >> bits));
}

// Addresses and family. False where they exclude each other.
static bool filter_addresses(struct filter *f, const struct prefix *remote,
			     const struct prefix *local)
{
	uint8_t family = remote->addr.family ? remote->addr.family : local->addr.family;
	struct addr r = addr_mask(&remote->addr, remote->len);
	struct addr l = addr_mask(&local->addr, local->len);

	if (local->addr.family != ADDR_NONE && local->addr.family != family)
		return false;
	if (f->family != ADDR_NONE && family != ADDR_NONE && f->family != family)
		return false;
	if (family == ADDR_NONE)
		return true;
	f->family = family;
	if (family == ADDR_V4) {
		f->v4.remote = r.v4;
		f->v4.local = l.v4;
		f->v4.remote_mask = mask_v4(remote->len);
		f->v4.local_mask = mask_v4(local->len);
		return true;
	}
	memcpy(f->v6.remote, r.v6, sizeof(f->v6.remote));
	memcpy(f->v6.local, l.v6, sizeof(f->v6.local));
	f->remote_bits = remote->len;
	f->local_bits = local->len;
	return true;
}

// Everything but ports and addresses. False where the filter has come to exclude every packet.
static bool filter_rest(struct filter *f, const struct sdf *sdf)
{
	if (sdf->has_flow && !sdf->any_proto) {
		if ((f->flags & FILTER_F_PROTO) && f->proto != sdf->proto)
			return false;
		f->flags |= FILTER_F_PROTO;
		f->proto = sdf->proto;
	}
	if (sdf->options & SDF_OPTION_FRAG)
		f->flags |= FILTER_F_FRAG;
	if (sdf->options & SDF_OPTION_ESTABLISHED)
		f->flags |= FILTER_F_ESTABLISHED;
	if (sdf->options & SDF_OPTION_SETUP)
		f->flags |= FILTER_F_SETUP;
	if (sdf->has_tos) {
		f->flags |= FILTER_F_TOS;
		f->tos = sdf->tos & sdf->tos_mask;
		f->tos_mask = sdf->tos_mask;
	}
	if (sdf->has_spi) {
		f->flags |= FILTER_F_SPI;
		f->spi = sdf->spi;
	}
	if (sdf->has_flow_label) {
		f->flags |= FILTER_F_FLOW_LABEL;
		f->flow_label = sdf->flow_label;
		f->family = ADDR_V6; // no other has one
	}
	// No packet both opens a connection and belongs to one.
	return (f->flags & (FILTER_F_ESTABLISHED | FILTER_F_SETUP)) !=
	       (FILTER_F_ESTABLISHED | FILTER_F_SETUP);
}

// What both sides allow; a side without ports allows all. False where both name some and none is in both.
static bool ports_meet(const struct sdf_side *a, const struct sdf_side *b, struct ports *ret)
{
	const struct sdf_side *all = a->n_ports == 0 ? b : a;

	ret->n = 0;
	if (a->n_ports == 0 || b->n_ports == 0) {
		memcpy(ret->ranges, all->ports, all->n_ports * sizeof(ret->ranges[0]));
		ret->n = all->n_ports;
		return true;
	}
	for (unsigned i = 0; i < a->n_ports * (unsigned)b->n_ports; i++) {
		const struct sdf_port_range *x = &a->ports[i / b->n_ports];
		const struct sdf_port_range *y = &b->ports[i % b->n_ports];
		struct sdf_port_range both = {x->low > y->low ? x->low : y->low,
					      x->high < y->high ? x->high : y->high};

		if (both.low <= both.high)
			ret->ranges[ret->n++] = both;
	}
	return ret->n > 0;
}

// One filter for each pair of a remote and a local range.
static int filters_add_ports(struct filter_list *list, struct filter *f, const struct ports *remote,
			     const struct ports *local)
{
	static const struct sdf_port_range all = {0, UINT16_MAX};

	if (remote->n == 0 && local->n == 0)
		return filter_append(list, f);
	f->flags |= FILTER_F_PORTS;
	for (unsigned r = 0; r < (remote->n ? remote->n : 1); r++) {
		const struct sdf_port_range *from = remote->n ? &remote->ranges[r] : &all;

		for (unsigned l = 0; l < (local->n ? local->n : 1); l++) {
			const struct sdf_port_range *to = local->n ? &local->ranges[l] : &all;
			int rc;

			f->remote_low = from->low;
			f->remote_high = from->high;
			f->local_low = to->low;
			f->local_high = to->high;
			rc = filter_append(list, f);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

int filters_add(struct filter_list *list, const struct sdf *sdf, const struct sdf *flow,
		const struct prefix *local)
{
	static const struct sdf everything;
	static const struct prefix anywhere;
	struct ports remote_ports, local_ports;
	struct prefix remote, at;
	struct filter f;

	sdf = sdf ? sdf : &everything;
	flow = flow ? flow : &everything;
	memset(&f, 0, sizeof(f)); // also what no field names: blocks are compared as bytes
	if (!filter_rest(&f, sdf) || !filter_rest(&f, flow) ||
	    !prefix_meet(&sdf->from.prefix, &flow->from.prefix, &remote) ||
	    !prefix_meet(&sdf->to.prefix, local ? local : &anywhere, &at) ||
	    !prefix_meet(&at, &flow->to.prefix, &at) || !filter_addresses(&f, &remote, &at) ||
	    !ports_meet(&sdf->from, &flow->from, &remote_ports) ||
	    !ports_meet(&sdf->to, &flow->to, &local_ports))
		return 0;
	return filters_add_ports(list, &f, &remote_ports, &local_ports);
}
