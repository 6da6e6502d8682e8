// Peers of the tunnels that FARs send to, see far_peers.h (TS 29.244 8.2.56).
//
// Control thread only.

#include "pfcp/far_peers.h"

#include <errno.h>

#include "base/log.h"
#include "neigh/neigh.h"

static bool sends_to(const struct far_rule *far, const struct tunnel_out *to)
{
	struct tunnel_out out = tunnel_out_of(far);

	if (far->ohc && tunnel_out_same_end(&out, to))
		return true;
	for (unsigned i = 0; i < far->n_copies; i++)
		if (sends_to(&far->copies[i], to))
			return true;
	return false;
}

// The FAR that sends to this tunnel, for the answer.
static const struct far_rule *tunnel_far(const struct rules *rules, const struct tunnel_out *to)
{
	unsigned i = 0;

	while (i + 1u < rules->n_fars && !sends_to(&rules->fars[i], to))
		i++;
	return &rules->fars[i];
}

// By IPv4 where that is given and leads there, else by IPv6.
int far_peer_take(struct n4 *n4, const struct tunnel_out *to, uint16_t *ret_peer)
{
	const struct addr *ends[] = {&to->v4, &to->v6};
	struct neigh *neigh = n4->env.neigh;
	int rc = -ENETUNREACH;

	for (unsigned i = 0; i < 2 && rc == -ENETUNREACH; i++) {
		if (ends[i]->family == ADDR_NONE)
			continue;
		rc = to->udp_port
			     ? neigh_udp_take(neigh, to->iface, ends[i], to->udp_port, ret_peer)
			     : neigh_tunnel_take(neigh, ends[i], ret_peer);
	}
	return rc;
}

static int peer_take(struct n4 *n4, const struct rules *rules, const struct tunnel_out *to,
		     uint16_t *ret_peer, struct pfcp_fault *fault)
{
	const struct far_rule *far = tunnel_far(rules, to);
	int rc = far_peer_take(n4, to, ret_peer);

	if (rc == 0 && to->iface_value != IF_CP_FUNCTION && !to->udp_port)
		neigh_tunnel_watch(n4->env.neigh, *ret_peer);
	if (rc == 0)
		return 0;
	*ret_peer = PEER_NONE;
	if (rc != -ENETUNREACH)
		return fault_rule(fault, PFCP_CAUSE_NO_RESOURCES, RULE_FAR, far->id,
				  PFCP_IE_OUTER_HEADER_CREATION, "no room for a further peer");
	// SMFs send such a FAR in every session, for router solicitations, also where their N4 network
	// cannot be reached from N3. Its packets are dropped by name; the session is of use without it.
	if (to->iface_value == IF_CP_FUNCTION) {
		log_debug("N4: no route for tunnels to the SMF: router solicitations are dropped");
		return 0;
	}
	return fault_rule(fault, PFCP_CAUSE_RULE_FAILURE, RULE_FAR, far->id,
			  PFCP_IE_OUTER_HEADER_CREATION, "no route to the far end of the tunnel");
}

void far_peer_give(struct n4 *n4, uint16_t *peer)
{
	if (*peer != PEER_NONE)
		neigh_tunnel_give(n4->env.neigh, *peer);
	*peer = PEER_NONE;
}

void far_peers_give(struct n4 *n4, struct n4_holding *holding)
{
	far_peer_give(n4, &holding->line_peer);
	for (unsigned i = 0; i < SESSION_PLACES; i++)
		far_peer_give(n4, &holding->place_peers[i]);
}

int far_peers_take(struct n4 *n4, const struct rules *rules, const struct compiled *compiled,
		   struct n4_holding *holding, struct pfcp_fault *fault)
{
	if (compiled->has_line &&
	    peer_take(n4, rules, &compiled->line, &holding->line_peer, fault) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < compiled->n_places; i++)
		if (peer_take(n4, rules, &compiled->places[i], &holding->place_peers[i], fault) <
		    0) {
			far_peers_give(n4, holding);
			return -EINVAL;
		}
	return 0;
}
