// Tables of a session's rules (rules_put.h). Control thread.
//
// What an IE did not give is shown as none, so that a rule reads as the SMF wrote it.

#include "ctl/rules_put.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/addr.h"
#include "base/clock.h"
#include "ctl/reply.h"
#include "pfcp/n4.h"
#include "pfcp/pfd.h"
#include "rules/expand.h"
#include "rules/model.h"
#include "rules/sdf.h"

// --- pieces ---

static const char *interface_str(uint8_t value)
{
	static const char *const names[] = {
		[IF_ACCESS] = "access",           [IF_CORE] = "core",
		[IF_SGI_LAN] = "n6_lan",          [IF_CP_FUNCTION] = "cp_function",
		[IF_LI_FUNCTION] = "li_function", [IF_5G_VN_INTERNAL] = "5g_vn_internal",
	};

	return value < sizeof(names) / sizeof(names[0]) ? names[value] : NULL;
}

// The names of the bits that are set, lowest first.
static void flags_put(struct reply *r, uint32_t flags, const char *const *names)
{
	reply_list_open(r, NULL);
	for (; *names; names++, flags >>= 1)
		if (flags & 1)
			reply_str(r, NULL, *names);
	reply_list_close(r);
}

static void ni_put(struct reply *r, const struct n4 *n4, uint16_t ni)
{
	reply_str(r, NULL, ni < n4->env.n_nis ? n4->env.nis[ni].name : NULL);
}

static void teid_put(struct reply *r, bool given, uint32_t teid)
{
	if (given)
		reply_printf(r, NULL, "0x%08" PRIx32, teid);
	else
		reply_null(r, NULL);
}

static void v4_put(struct reply *r, bool given, struct in_addr v4)
{
	struct addr addr = addr_v4(v4.s_addr);
	char text[ADDR_STRLEN];

	reply_str(r, NULL, given ? addr_str(text, &addr) : NULL);
}

static void v6_put(struct reply *r, bool given, const struct in6_addr *v6)
{
	struct addr addr = addr_v6(v6->s6_addr);
	char text[ADDR_STRLEN];

	reply_str(r, NULL, given ? addr_str(text, &addr) : NULL);
}

static void ids_put(struct reply *r, const uint32_t *ids, unsigned n)
{
	reply_list_open(r, NULL);
	for (unsigned i = 0; i < n; i++)
		reply_uint(r, NULL, ids[i]);
	reply_list_close(r);
}

// --- UE addresses ---

// Whether one of the PDRs before this one gives the address too.
static bool ue_is_first(const struct rules *rules, unsigned at, const struct prefix *ue)
{
	struct prefix others[RULES_MAX_PDR_UES];

	for (unsigned i = 0; i < at; i++)
		for (unsigned k = rules_pdr_ues(&rules->pdrs[i], others); k-- > 0;)
			if (prefix_eq(ue, &others[k]))
				return false;
	return true;
}

static void ue_put(struct reply *r, const struct prefix *ue)
{
	char text[PREFIX_STRLEN];

	if (ue->addr.family == ADDR_V4)
		reply_str(r, NULL, addr_str(text, &ue->addr));
	else
		reply_str(r, NULL, prefix_str(text, ue));
}

// Those of one family that no PDR before has given.
static void ues_put(struct reply *r, const struct rules *rules, uint8_t family)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		struct prefix ues[RULES_MAX_PDR_UES];
		unsigned n = rules_pdr_ues(&rules->pdrs[i], ues);

		for (unsigned k = 0; k < n; k++)
			if (ues[k].addr.family == family && ue_is_first(rules, i, &ues[k]))
				ue_put(r, &ues[k]);
	}
}

void rules_put_ues(struct reply *r, const char *key, const struct rules *rules)
{
	reply_list_open(r, key);
	ues_put(r, rules, ADDR_V4);
	ues_put(r, rules, ADDR_V6);
	reply_list_close(r);
}

bool rules_have_ue(const struct rules *rules, const struct addr *addr)
{
	struct prefix ues[RULES_MAX_PDR_UES];

	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdi *pdi = &rules->pdrs[i].pdi;

		for (unsigned k = rules_pdr_ues(&rules->pdrs[i], ues); k-- > 0;)
			if (prefix_contains(&ues[k], addr))
				return true;
		for (unsigned k = 0; k < pdi->n_framed; k++)
			if (prefix_contains(&pdi->framed[k], addr))
				return true;
	}
	return false;
}

static void pdr_ue_put(struct reply *r, const struct pdr_rule *pdr)
{
	struct prefix ues[RULES_MAX_PDR_UES];
	unsigned n = rules_pdr_ues(pdr, ues);

	reply_list_open(r, NULL);
	for (unsigned i = 0; i < n; i++)
		ue_put(r, &ues[i]);
	reply_list_close(r);
}

// --- tables, a kind of rule each ---

static void tunnels_put(struct reply *r, const struct n4 *n4, const struct rules *rules)
{
	static const char *const columns[] = {
		"number",    "teid",      "address",   "address6",
		"interface", "direction", "chosen_by", NULL,
	};

	reply_table_open(r, "tunnels", columns);
	for (unsigned i = 0; i < rules->n_tunnels; i++) {
		const struct tunnel_rule *t = &rules->tunnels[i];

		reply_row(r);
		reply_uint(r, NULL, t->number);
		teid_put(r, true, t->teid);
		v4_put(r, t->has_v4, t->v4);
		v6_put(r, t->has_v6, &t->v6);
		reply_str(r, NULL,
			  t->iface < n4->env.n_ifaces ? n4->env.ifaces[t->iface].name : NULL);
		reply_str(r, NULL, t->up ? "up" : "down");
		reply_str(r, NULL, t->given ? "smf" : "upf");
	}
	reply_table_close(r);
}

static void qfis_put(struct reply *r, uint64_t qfis)
{
	reply_list_open(r, NULL);
	for (unsigned i = 0; i < 64; i++)
		if (qfis >> i & 1)
			reply_uint(r, NULL, i);
	reply_list_close(r);
}

static void app_name_put(struct reply *r, const struct n4 *n4, uint16_t number)
{
	const struct pfd_app *app = n4->env.pfds ? pfd_app_get(n4->env.pfds, number) : NULL;

	reply_str(r, NULL, app ? app->name : NULL);
}

// A time as a person's clock shows it.
static void time_put(struct reply *r, bool given, time_t at_s)
{
	char text[CLOCK_UTC_STRLEN];

	if (given && clock_utc_str(text, at_s)[0])
		reply_str(r, NULL, text);
	else
		reply_null(r, NULL);
}

static void predefined_put(struct reply *r, const struct n4 *n4, const struct pdr_rule *pdr)
{
	reply_list_open(r, NULL);
	for (unsigned i = 0; i < pdr->n_predefined; i++)
		reply_str(r, NULL, n4->env.predefined[pdr->predefined[i]].name);
	reply_list_close(r);
}

static void endpoints_put(struct reply *r, const struct n4 *n4, const struct rules *rules)
{
	static const char *const columns[] = {
		"id", "network_instance", "tunnel", "ue", "qfis", "linked_fars", NULL,
	};

	reply_table_open(r, "traffic_endpoints", columns);
	for (unsigned i = 0; i < rules->n_endpoints; i++) {
		const struct endpoint_rule *endpoint = &rules->endpoints[i];
		const struct pdr_rule pdr = {.pdi = endpoint->pdi};

		reply_row(r);
		reply_uint(r, NULL, endpoint->id);
		ni_put(r, n4, endpoint->pdi.ni);
		reply_uint_if(r, NULL, endpoint->tunnel != 0, endpoint->tunnel);
		pdr_ue_put(r, &pdr);
		qfis_put(r, endpoint->pdi.qfis);
		reply_list_open(r, NULL);
		for (unsigned k = 0; k < rules->n_fars; k++)
			if (rules->fars[k].has_endpoint && rules->fars[k].endpoint == endpoint->id)
				reply_uint(r, NULL, rules->fars[k].id);
		reply_list_close(r);
	}
	reply_table_close(r);
}

static void pdrs_put(struct reply *r, const struct n4 *n4, const struct rules *rules)
{
	static const char *const columns[] = {
		"id",   "precedence", "source",      "network_instance",     "tunnel", "ue",
		"qfis", "filters",    "application", "outer_header_removal", "far",    "qers",
		"urrs", NULL,
	};

	reply_table_open(r, "pdrs", columns);
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdr_rule *pdr = &rules->pdrs[i];

		reply_row(r);
		reply_uint(r, NULL, pdr->id);
		reply_uint(r, NULL, pdr->precedence);
		reply_str(r, NULL, interface_str(pdr->pdi.source));
		ni_put(r, n4, pdr->pdi.ni);
		reply_uint_if(r, NULL, pdr->tunnel != 0, pdr->tunnel);
		pdr_ue_put(r, pdr);
		qfis_put(r, pdr->pdi.qfis);
		reply_uint(r, NULL, pdr->pdi.n_filters);
		app_name_put(r, n4, pdr->pdi.app);
		reply_uint_if(r, NULL, pdr->outer_header_removal >= 0,
			      (uint64_t)pdr->outer_header_removal);
		reply_uint_if(r, NULL, pdr->has_far, pdr->far);
		ids_put(r, pdr->qers, pdr->n_qers);
		ids_put(r, pdr->urrs, pdr->n_urrs);
	}
	reply_table_close(r);
}

// What else says when a PDR takes which packets; most say nothing of it and have no row.
static void conditions_put(struct reply *r, const struct n4 *n4, const struct rules *rules)
{
	static const char *const columns[] = {
		"pdr", "traffic_endpoint", "predefined_rules", "active_from", "active_until", NULL,
	};

	reply_table_open(r, "pdr_conditions", columns);
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdr_rule *pdr = &rules->pdrs[i];

		if (!pdr->pdi.has_endpoint && !pdr->by_predefined && !pdr->has_from &&
		    !pdr->has_until)
			continue;
		reply_row(r);
		reply_uint(r, NULL, pdr->id);
		reply_uint_if(r, NULL, pdr->pdi.has_endpoint, pdr->pdi.endpoint);
		predefined_put(r, n4, pdr);
		time_put(r, pdr->has_from, pdr->from_s);
		time_put(r, pdr->has_until, pdr->until_s);
	}
	reply_table_close(r);
}

static void framed_put(struct reply *r, const struct rules *rules)
{
	static const char *const columns[] = {"pdr", "route", NULL};
	char text[PREFIX_STRLEN];

	reply_table_open(r, "framed_routes", columns);
	for (unsigned i = 0; i < rules->n_pdrs; i++)
		for (unsigned k = 0; k < rules->pdrs[i].pdi.n_framed; k++) {
			reply_row(r);
			reply_uint(r, NULL, rules->pdrs[i].id);
			reply_str(r, NULL, prefix_str(text, &rules->pdrs[i].pdi.framed[k]));
		}
	reply_table_close(r);
}

static void filters_put(struct reply *r, const struct rules *rules)
{
	static const char *const columns[] = {"pdr", "filter", NULL};
	char text[SDF_STRLEN];

	reply_table_open(r, "filters", columns);
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pdr_rule *pdr = &rules->pdrs[i];

		for (unsigned k = 0; k < pdr->pdi.n_filters; k++) {
			sdf_str(&pdr->pdi.filters[k], text, sizeof(text));
			reply_row(r);
			reply_uint(r, NULL, pdr->id);
			reply_str(r, NULL, text);
		}
	}
	reply_table_close(r);
}

static void far_address_put(struct reply *r, const struct far_rule *far)
{
	if (far->ohc & (OHC_GTPU_UDP_V4 | OHC_UDP_V4))
		v4_put(r, true, far->v4);
	else
		v6_put(r, (far->ohc & (OHC_GTPU_UDP_V6 | OHC_UDP_V6)) != 0, &far->v6);
}

static void way_put(struct reply *r, const struct n4 *n4, const struct far_rule *far)
{
	static const char *const headers[] = {
		"GTP-U/UDP/IPv4", "GTP-U/UDP/IPv6", "UDP/IPv4", "UDP/IPv6", NULL,
	};

	flags_put(r, far->ohc, headers); // by bit: OHC_
	teid_put(r, far->ohc & (OHC_GTPU_UDP_V4 | OHC_GTPU_UDP_V6), far->teid);
	far_address_put(r, far);
	reply_uint_if(r, NULL, far->ohc & (OHC_UDP_V4 | OHC_UDP_V6), far->port);
	reply_uint_if(r, NULL, far->dscp != 0xff, far->dscp);
	reply_str(r, NULL, far->policy ? n4->env.policies[far->policy - 1].name : NULL);
}

// "198.51.100.80 port 8080", with as many addresses as there are.
static void redirect_put(struct reply *r, const struct far_rule *far)
{
	const struct redirect_rule *to = &far->redirect;
	const struct addr addrs[] = {addr_v4(to->v4.s_addr), addr_v6(to->v6.s6_addr)};
	struct strbuf text = {0};
	char buf[ADDR_STRLEN];

	for (unsigned i = 0; i < 2; i++)
		if (!addr_is_unspecified(&addrs[i]))
			strbuf_printf(&text, "%s%s", text.len ? " " : "", addr_str(buf, &addrs[i]));
	if (to->port)
		strbuf_printf(&text, "%sport %u", text.len ? " " : "", to->port);
	reply_str(r, NULL, text.len ? strbuf_text(&text) : NULL);
	strbuf_fini(&text);
}

static void fars_put(struct reply *r, const struct n4 *n4, const struct rules *rules)
{
	static const char *const columns[] = {
		"id",      "action", "destination", "network_instance", "outer_header", "teid",
		"address", "port",   "dscp",        "policy",           "redirect",     "bar",
		NULL,
	};
	// By bit: APPLY_ (rules/model.h).
	static const char *const actions[] = {
		"DROP", "FORW", "BUFF", "NOCP", "DUPL", "IPMA", "IPMD", "DFRT", NULL,
	};

	reply_table_open(r, "fars", columns);
	for (unsigned i = 0; i < rules->n_fars; i++) {
		const struct far_rule *far = &rules->fars[i];

		reply_row(r);
		reply_uint(r, NULL, far->id);
		flags_put(r, far->action, actions);
		reply_str(r, NULL, far->has_parameters ? interface_str(far->destination) : NULL);
		ni_put(r, n4, far->has_parameters ? far->ni : RULES_NI_NONE);
		way_put(r, n4, far);
		redirect_put(r, far);
		reply_uint_if(r, NULL, far->has_bar, far->bar);
	}
	reply_table_close(r);
}

// Where copies of a FAR's packets go.
static void duplicates_put(struct reply *r, const struct n4 *n4, const struct rules *rules)
{
	static const char *const columns[] = {
		"far",  "destination", "outer_header", "teid", "address",
		"port", "dscp",        "policy",       NULL,
	};

	reply_table_open(r, "duplicates", columns);
	for (unsigned i = 0; i < rules->n_fars; i++)
		for (unsigned k = 0; k < rules->fars[i].n_copies; k++) {
			const struct far_rule *copy = &rules->fars[i].copies[k];

			reply_row(r);
			reply_uint(r, NULL, copy->id);
			reply_str(r, NULL, interface_str(copy->destination));
			way_put(r, n4, copy);
		}
	reply_table_close(r);
}

static const char *gate_str(uint8_t gate)
{
	return gate ? "closed" : "open";
}

static void qers_put(struct reply *r, const struct rules *rules)
{
	static const char *const columns[] = {
		"id",
		"qfi",
		"gate_up",
		"gate_down",
		"mbr_up_bps",
		"mbr_down_bps",
		"gbr_up_bps",
		"gbr_down_bps",
		"averaging_window_ms",
		"correlation_id",
		"rqi",
		NULL,
	};

	reply_table_open(r, "qers", columns);
	for (unsigned i = 0; i < rules->n_qers; i++) {
		const struct qer_rule *qer = &rules->qers[i];

		reply_row(r);
		reply_uint(r, NULL, qer->id);
		reply_uint_if(r, NULL, qer->has_qfi, qer->qfi);
		reply_str(r, NULL, gate_str(qer->gate_up));
		reply_str(r, NULL, gate_str(qer->gate_down));
		reply_uint_if(r, NULL, qer->has_mbr, qer->mbr_up_bps);
		reply_uint_if(r, NULL, qer->has_mbr, qer->mbr_down_bps);
		reply_uint_if(r, NULL, qer->has_gbr, qer->gbr_up_bps);
		reply_uint_if(r, NULL, qer->has_gbr, qer->gbr_down_bps);
		reply_uint_if(r, NULL, qer->averaging_window_ms != 0, qer->averaging_window_ms);
		reply_uint_if(r, NULL, qer->correlation_id != 0, qer->correlation_id);
		reply_bool(r, NULL, qer->rqi);
	}
	reply_table_close(r);
}

void rules_put_volumes(struct reply *r, const struct urr_volumes *v)
{
	reply_uint_if(r, NULL, v->flags & 1, v->total);
	reply_uint_if(r, NULL, v->flags & 2, v->up);
	reply_uint_if(r, NULL, v->flags & 4, v->down);
}

static void urrs_put(struct reply *r, const struct rules *rules)
{
	static const char *const columns[] = {
		"id",
		"method",
		"triggers",
		"threshold_bytes",
		"threshold_up_bytes",
		"threshold_down_bytes",
		"quota_bytes",
		"quota_up_bytes",
		"quota_down_bytes",
		"threshold_s",
		"quota_s",
		"holding_s",
		"validity_s",
		"period_s",
		"linked",
		NULL,
	};
	static const char *const methods[] = {"DURAT", "VOLUM", "EVENT", NULL};

	reply_table_open(r, "urrs", columns);
	for (unsigned i = 0; i < rules->n_urrs; i++) {
		const struct urr_rule *urr = &rules->urrs[i];

		reply_row(r);
		reply_uint(r, NULL, urr->id);
		flags_put(r, urr->method, methods);
		reply_printf(r, NULL, "0x%06" PRIx32, urr->triggers);
		rules_put_volumes(r, &urr->threshold);
		rules_put_volumes(r, &urr->quota);
		reply_uint_if(r, NULL, urr->time_threshold_s != 0, urr->time_threshold_s);
		reply_uint_if(r, NULL, urr->time_quota_s != 0, urr->time_quota_s);
		reply_uint_if(r, NULL, urr->quota_holding_s != 0, urr->quota_holding_s);
		reply_uint_if(r, NULL, urr->quota_validity_s != 0, urr->quota_validity_s);
		reply_uint_if(r, NULL, urr->period_s != 0, urr->period_s);
		ids_put(r, urr->linked, urr->n_linked);
	}
	reply_table_close(r);
}

static void bars_put(struct reply *r, const struct rules *rules)
{
	static const char *const columns[] = {"id", "ddn_delay_ms", "suggested_packets",
					      "duration_s", NULL};

	reply_table_open(r, "bars", columns);
	for (unsigned i = 0; i < rules->n_bars; i++) {
		const struct bar_rule *bar = &rules->bars[i];

		reply_row(r);
		reply_uint(r, NULL, bar->id);
		reply_uint(r, NULL, bar->ddn_delay_50ms * 50u);
		reply_uint_if(r, NULL, bar->has_suggested, bar->suggested_packets);
		reply_uint_if(r, NULL, bar->has_duration, bar->duration_s);
	}
	reply_table_close(r);
}

void rules_put(struct reply *r, const struct n4 *n4, const struct rules *rules)
{
	tunnels_put(r, n4, rules);
	endpoints_put(r, n4, rules);
	pdrs_put(r, n4, rules);
	conditions_put(r, n4, rules);
	framed_put(r, rules);
	filters_put(r, rules);
	fars_put(r, n4, rules);
	duplicates_put(r, n4, rules);
	qers_put(r, rules);
	urrs_put(r, rules);
	bars_put(r, rules);
}
