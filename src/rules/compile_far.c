// FARs compiled, see compile_far.h (TS 29.244 7.5.2.3, 8.2.56).
//
// Control thread. A FAR that PDRs of both directions name is compiled once for each, since only the down line has
// a tunnel.

#include "rules/compile_far.h"

#include <errno.h>
#include <string.h>

#include "rules/compile_policy.h"

#define NO_OUT COMPILE_MAX_OUTS

struct compile_ni compile_ni_get(const struct compile_conf *conf, uint16_t ni)
{
	if (ni == RULES_NI_NONE)
		ni = conf->default_ni;
	if (ni == RULES_NI_NONE)
		return (struct compile_ni){.iface = conf->default_iface};
	return ni < conf->n_nis ? conf->nis[ni] : (struct compile_ni){.iface = COMPILE_IFACE_NONE};
}

static int far_fault(const struct far_build *b, const struct far_rule *rule, enum pfcp_cause cause,
		     enum rule_ie ie, const char *text)
{
	return fault_rule(b->fault, cause, RULE_FAR, rule->id, (uint16_t)ie, text);
}

// --- tunnels ---------------------------------------------------------------------------------------------

struct tunnel_out tunnel_out_of(const struct far_rule *far)
{
	struct tunnel_out to = {.ni = far->ni, .iface_value = far->destination};

	if (far->ohc & (OHC_GTPU_UDP_V4 | OHC_UDP_V4))
		to.v4 = addr_v4(far->v4.s_addr);
	if (far->ohc & (OHC_GTPU_UDP_V6 | OHC_UDP_V6))
		to.v6 = addr_v6(far->v6.s6_addr);
	if (far->ohc & (OHC_UDP_V4 | OHC_UDP_V6))
		to.udp_port = far->port;
	else
		to.teid = far->teid;
	return to;
}

bool tunnel_out_same_end(const struct tunnel_out *a, const struct tunnel_out *b)
{
	return a->teid == b->teid && a->udp_port == b->udp_port && addr_eq(&a->v4, &b->v4) &&
	       addr_eq(&a->v6, &b->v6);
}

static bool out_eq(const struct tunnel_out *a, const struct tunnel_out *b)
{
	return tunnel_out_same_end(a, b) && a->ni == b->ni && a->iface_value == b->iface_value;
}

// The index of the tunnel, or NO_OUT where there are too many.
static uint8_t out_index(struct far_build *b, const struct tunnel_out *to)
{
	unsigned i = 0;

	while (i < b->n_outs && !out_eq(&b->outs[i].to, to))
		i++;
	if (i == b->n_outs && i < COMPILE_MAX_OUTS)
		b->outs[b->n_outs++] = (struct out_use){.to = *to};
	return (uint8_t)i;
}

static int to_tunnel(struct far_build *b, struct far_use *use, struct far *far)
{
	const struct far_rule *rule = use->rule;
	struct tunnel_out to = tunnel_out_of(rule);

	far->to = FAR_TO_PLACE; // or LINE, when all users of the tunnel are known
	if (to.udp_port) {
		far->to = FAR_TO_UDP;
		to.iface = compile_ni_get(b->conf, rule->ni).iface;
		if (to.iface == COMPILE_IFACE_NONE)
			return far_fault(b, rule, PFCP_CAUSE_RULE_FAILURE, RULE_IE_NETWORK_INSTANCE,
					 "network instance without an N6 interface");
	}
	use->out = out_index(b, &to);
	if (use->out == NO_OUT)
		return far_fault(b, rule, PFCP_CAUSE_NO_RESOURCES, RULE_IE_OUTER_HEADER_CREATION,
				 "too many tunnels that one session sends to");
	return 0;
}

// --- FARs ------------------------------------------------------------------------------------------------

// What the up PDRs' packets have for a destination instead of their own. One that PDRs of the other direction name,
// too, redirects nothing there.
static int redirect_add(struct far_build *b, const struct far_use *use, struct far *far)
{
	const struct redirect_rule *to = &use->rule->redirect;
	struct redirect *redirect = &b->redirects[b->n_redirects];
	struct addr v4 = addr_v4(to->v4.s_addr), v6 = addr_v6(to->v6.s6_addr);

	if (!use->up || !far_redirects(use->rule))
		return 0;
	if (!compile_ni_get(b->conf, use->rule->ni).redirects)
		return far_fault(b, use->rule, PFCP_CAUSE_RULE_FAILURE,
				 RULE_IE_REDIRECT_INFORMATION,
				 "network instance without the service redirect");
	if (b->n_redirects == COMPILE_MAX_REDIRECTS)
		return far_fault(b, use->rule, PFCP_CAUSE_NO_RESOURCES,
				 RULE_IE_REDIRECT_INFORMATION,
				 "too many FARs of a session that redirect");
	memset(redirect, 0, sizeof(*redirect)); // likewise
	redirect->families = (uint8_t)((addr_is_unspecified(&v4) ? 0 : PDR_V4) |
				       (addr_is_unspecified(&v6) ? 0 : PDR_V6));
	redirect->port = to->port;
	redirect->v4 = to->v4.s_addr;
	memcpy(redirect->v6, &to->v6, sizeof(redirect->v6));
	far->flags |= FAR_F_REDIRECT;
	far->redirect = (uint16_t)b->n_redirects++;
	return 0;
}

// Plain IP. What is marked is so in the user's own header, since there is no other.
static int to_route(struct far_build *b, const struct far_use *use, struct far *far)
{
	static const uint8_t ue_flags[] = {
		[UE_TO_UE_DIRECT] = FAR_F_UE_DIRECT, [UE_TO_UE_DROP] = FAR_F_UE_DROP};
	struct compile_ni ni = compile_ni_get(b->conf, use->rule->ni);
	bool to_others = use->up && !use->copy; // it may be for another UE

	if (use->rule->policy) { // it says where to, but isolates nobody less
		far->to = FAR_TO_STEERED;
		far->place = use->rule->policy;
		far->iface = b->conf->policy_ifaces[use->rule->policy - 1];
		far->flags |= to_others ? ue_flags[ni.ue_to_ue] & FAR_F_UE_DROP : 0;
		return 0;
	}
	far->to = far->dscp == FAR_DSCP_COPY ? FAR_TO_ROUTE : FAR_TO_STEERED;
	far->iface = ni.iface;
	far->flags |= to_others ? ue_flags[ni.ue_to_ue] : 0;
	if (far->iface == COMPILE_IFACE_NONE)
		return far_fault(b, use->rule, PFCP_CAUSE_RULE_FAILURE, RULE_IE_NETWORK_INSTANCE,
				 "network instance without an N6 interface");
	return 0;
}

// Where the FAR sends to, and what that needs. Only FORW sends: a FAR that buffers may still have the
// tunnel that it had before, and a tunnel of no use must not hold a place.
static int far_destination(struct far_build *b, struct far_use *use, struct far *far)
{
	const struct far_rule *rule = use->rule;

	use->out = NO_OUT;
	if (!(rule->action & APPLY_FORW))
		return 0;
	if (rule->destination != IF_ACCESS)
		far->flags |= FAR_F_UP;
	if (rule->ohc)
		return to_tunnel(b, use, far);
	return to_route(b, use, far) != 0 ? -EINVAL : redirect_add(b, use, far);
}

void far_build_init(struct far_build *b, const struct rules *rules, const struct compile_conf *conf,
		    struct pfcp_fault *fault)
{
	b->rules = rules;
	b->conf = conf;
	b->fault = fault;
	b->n = b->n_outs = b->n_redirects = 0;
}

static int one_add(struct far_build *b, const struct far_rule *rule, bool up, bool copy)
{
	struct far_use *use = &b->uses[b->n];
	struct far *far = &b->fars[b->n];

	if (b->n == COMPILE_MAX_FARS)
		return far_fault(b, rule, PFCP_CAUSE_NO_RESOURCES, RULE_IE_FAR_ID,
				 "too many FARs in a session");
	*use = (struct far_use){.rule = rule, .up = up, .copy = copy};
	memset(far, 0, sizeof(*far)); // also what no field names: blocks are compared as bytes
	far->action = rule->action;
	far->dscp = rule->has_parameters && (rule->action & APPLY_FORW) ? rule->dscp
									: FAR_DSCP_COPY;
	far->id = rule->id;
	compile_buffering(b->rules, rule, far);
	b->n++;
	return far_destination(b, use, far);
}

// With its duplicates' destinations behind it.
static int far_add(struct far_build *b, const struct far_rule *rule, bool up)
{
	if (one_add(b, rule, up, false) != 0)
		return -EINVAL;
	for (unsigned i = 0; rule->action & APPLY_DUPL && i < rule->n_copies; i++) {
		b->fars[b->n - 1].flags |= FAR_F_COPY;
		if (one_add(b, &rule->copies[i], up, true) != 0)
			return -EINVAL;
	}
	return 0;
}

static bool by_place(const struct far_build *b, unsigned index)
{
	const struct far_use *use = &b->uses[index];

	return use->up || use->copy || b->fars[index].to == FAR_TO_UDP;
}

// A PDR sends to the FAR's tunnel.
static void out_used(struct far_build *b, unsigned index)
{
	const struct far_use *use = &b->uses[index];
	struct out_use *out;

	if (use->out == NO_OUT)
		return;
	out = &b->outs[use->out];
	out->by_place |= by_place(b, index);
	out->down_pdrs += !by_place(b, index);
}

int far_compile(struct far_build *b, const struct far_rule *rule, bool up, unsigned *ret_index)
{
	unsigned i = 0;

	while (i < b->n && (b->uses[i].rule != rule || b->uses[i].up != up))
		i++;
	if (i == b->n && far_add(b, rule, up) != 0)
		return -EINVAL;
	*ret_index = i;
	out_used(b, i);
	while (b->fars[i].flags & FAR_F_COPY)
		out_used(b, ++i);
	return 0;
}

// Gives the tunnel that most down PDRs send to its stand in the down line. Returns its index, or NO_OUT.
static unsigned line_pick(const struct far_build *b, struct compiled *c)
{
	unsigned line = NO_OUT;

	for (unsigned i = 0; i < b->n_outs; i++) {
		if (b->outs[i].down_pdrs > (line == NO_OUT ? 0 : b->outs[line].down_pdrs))
			line = i;
	}
	if (line != NO_OUT) {
		c->has_line = true;
		c->line = b->outs[line].to;
	}
	return line;
}

// All others get places. Up PDRs find every tunnel by place: their line has none.
int fars_place(struct far_build *b, struct compiled *c)
{
	unsigned line = line_pick(b, c);

	for (unsigned i = 0; i < b->n_outs; i++) {
		if (i == line && !b->outs[i].by_place)
			continue;
		if (c->n_places == RULESET_MAX_PLACES)
			return fault_ie(b->fault, PFCP_CAUSE_NO_RESOURCES,
					RULE_IE_OUTER_HEADER_CREATION,
					"too many tunnels that one session sends to");
		b->outs[i].place = c->n_places;
		c->places[c->n_places++] = b->outs[i].to;
	}
	for (unsigned i = 0; i < b->n; i++) {
		const struct far_use *use = &b->uses[i];

		if (use->out == NO_OUT)
			continue;
		if (use->out == line && !by_place(b, i))
			b->fars[i].to = FAR_TO_LINE;
		else
			b->fars[i].place = b->outs[use->out].place;
	}
	return 0;
}
