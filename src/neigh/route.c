// Routes, the parts that are not inlined (route.h).
//
// Workers and the control thread.

#include "neigh/route.h"

bool route_is_onlink(const struct route_iface *ri, unsigned family, const uint8_t *dst)
{
	struct addr addr = {.family = (uint8_t)family};

	memcpy(family == 4 ? (void *)&addr.v4 : (void *)addr.v6, dst, family == 4 ? 4 : 16);
	for (unsigned i = 0; i < ri->n_subnets; i++)
		if (prefix_contains(&ri->subnets[i], &addr))
			return true;
	return false;
}

bool route_is_own(const struct route_table *routes, unsigned family, const uint8_t *dst)
{
	for (unsigned i = 0; i < routes->n_own; i++) {
		const struct addr *own = &routes->own[i];

		if (own->family != family)
			continue;
		if (family == 4 ? memcmp(&own->v4, dst, 4) == 0 : memcmp(own->v6, dst, 16) == 0)
			return true;
	}
	return false;
}
