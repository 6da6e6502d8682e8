// Tunnels that sessions send to, see remote_tunnels.h.
//
// Control thread only. Chains in buckets. A tunnel that several FARs of a session forward to stands once; one
// that several sessions forward to, once for each.

#include "pfcp/remote_tunnels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/kept.h"
#include "base/log.h"
#include "base/slab.h"
#include "pfcp/n4_session.h"
#include "pfcp/report.h"
#include "rules/model.h"

#define BUCKETS_MIN 64
#define TENTH_NS (100 * NS_PER_MS)
// A tunnel is not told of again within a second: so many tenths, of which the first may have been nearly over.
#define AGAIN_TENTHS 11
#define FAR_ADDRESSES 2 // an IPv4 and an IPv6 one

struct remote_tunnel {
	struct remote_tunnel *next;
	struct n4_session *session;
	const struct addr *peer; // kept (base/kept.h)
	uint32_t teid;
	uint32_t again_tenths; // not to be told of before
};
static_assert(sizeof(struct remote_tunnel) == 32, "most sessions have one");

struct remote_tunnels {
	uint32_t mask;
	struct remote_tunnel *buckets[];
};

struct remote_tunnels *remote_tunnels_new(uint32_t n)
{
	struct remote_tunnels *table;
	uint32_t buckets = BUCKETS_MIN;

	while (buckets < n && buckets < 1u << 31)
		buckets *= 2;
	table = calloc(1, sizeof(*table) + buckets * sizeof(table->buckets[0]));
	if (table)
		table->mask = buckets - 1;
	return table;
}

void remote_tunnels_free(struct remote_tunnels *table)
{
	free(table); // sessions that ended have taken out what was theirs
}

// `peer` is kept: it is hashed by where it is. SMFs and gNBs count TEIDs up, so the numbers are mixed.
static struct remote_tunnel **bucket_get(struct remote_tunnels *table, uint32_t teid,
					 const struct addr *peer)
{
	uint64_t h = teid ^ (uint64_t)(uintptr_t)peer << 16;

	return &table->buckets[(h * 0x9e3779b97f4a7c15ull >> 32) & table->mask];
}

// The place of the session's entry, or the end of its chain. `peer` is kept.
static struct remote_tunnel **entry_find(struct remote_tunnels *table,
					 const struct n4_session *session, uint32_t teid,
					 const struct addr *peer)
{
	struct remote_tunnel **at = bucket_get(table, teid, peer);

	while (*at && ((*at)->session != session || (*at)->teid != teid || (*at)->peer != peer))
		at = &(*at)->next;
	return at;
}

// The far ends that a FAR forwards to. Gives how many.
static unsigned far_ends(const struct far_rule *far, struct addr ret[FAR_ADDRESSES])
{
	unsigned n = 0;

	if (!(far->action & APPLY_FORW) || !far->has_parameters)
		return 0;
	if (far->ohc & OHC_GTPU_UDP_V4)
		ret[n++] = addr_v4(far->v4.s_addr);
	if (far->ohc & OHC_GTPU_UDP_V6)
		ret[n++] = addr_v6(far->v6.s6_addr);
	return n;
}

static bool rules_send_to(const struct rules *rules, uint32_t teid, const struct addr *peer)
{
	struct addr ends[FAR_ADDRESSES];

	for (unsigned i = 0; rules && i < rules->n_fars; i++)
		for (unsigned k = far_ends(&rules->fars[i], ends); k-- > 0;)
			if (rules->fars[i].teid == teid && addr_eq(&ends[k], peer))
				return true;
	return false;
}

static void entry_add(struct remote_tunnels *table, struct n4_session *session, uint32_t teid,
		      const struct addr *peer)
{
	const struct addr *kept = kept_take(peer);
	struct remote_tunnel *entry = kept ? slab_take(sizeof(*entry)) : NULL;
	struct remote_tunnel **at = entry ? entry_find(table, session, teid, kept) : NULL;

	if (at && !*at) {
		*entry = (struct remote_tunnel){.session = session, .teid = teid, .peer = kept};
		*at = entry;
		return;
	}
	if (!entry)
		log_error_limited(
			"N4: out of memory: Error Indications for a tunnel are not reported");
	slab_give(entry, sizeof(*entry));
	kept_give(kept);
}

static void entry_del(struct remote_tunnels *table, const struct n4_session *session, uint32_t teid,
		      const struct addr *peer)
{
	const struct addr *kept = kept_lookup(peer);
	struct remote_tunnel **at = kept ? entry_find(table, session, teid, kept) : NULL;
	struct remote_tunnel *entry = at ? *at : NULL;

	if (!entry)
		return; // another FAR's, or there was no memory for it
	*at = entry->next;
	slab_give(entry, sizeof(*entry));
	kept_give(kept);
}

void remote_tunnels_given(struct n4 *n4, struct n4_session *session, const struct rules *old,
			  const struct rules *rules)
{
	struct remote_tunnels *table = n4->sessions->remote_tunnels;
	struct addr ends[FAR_ADDRESSES];

	if (!table)
		return;
	for (unsigned i = 0; old && i < old->n_fars; i++)
		for (unsigned k = far_ends(&old->fars[i], ends); k-- > 0;)
			if (!rules_send_to(rules, old->fars[i].teid, &ends[k]))
				entry_del(table, session, old->fars[i].teid, &ends[k]);
	for (unsigned i = 0; rules && i < rules->n_fars; i++)
		for (unsigned k = far_ends(&rules->fars[i], ends); k-- > 0;)
			entry_add(table, session, rules->fars[i].teid, &ends[k]);
}

static void report_lost(struct n4 *n4, const struct remote_tunnel *tunnel)
{
	struct report report = {.kind = REPORT_ERROR_INDICATION, .remote = {.teid = tunnel->teid}};

	if (tunnel->peer->family == ADDR_V4) {
		report.remote.flags = PFCP_F_TEID_V4;
		report.remote.v4.s_addr = tunnel->peer->v4;
	} else {
		report.remote.flags = PFCP_F_TEID_V6;
		memcpy(&report.remote.v6, tunnel->peer->v6, sizeof(report.remote.v6));
	}
	n4_report(n4, tunnel->session, &report);
}

void n4_error_indication(struct n4 *n4, uint32_t teid, const struct addr *peer)
{
	struct remote_tunnels *table = n4->sessions->remote_tunnels;
	const struct addr *kept = table ? kept_lookup(peer) : NULL;
	struct remote_tunnel *next = kept ? *bucket_get(table, teid, kept) : NULL;
	uint32_t now = (uint32_t)(clock_now_ns() / TENTH_NS);

	for (; next; next = next->next) {
		if (next->teid != teid || next->peer != kept || now < next->again_tenths ||
		    n4_report_waits(next->session, REPORT_ERROR_INDICATION))
			continue;
		next->again_tenths = now + AGAIN_TENTHS;
		report_lost(n4, next);
	}
}
