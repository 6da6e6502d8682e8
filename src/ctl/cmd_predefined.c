// show predefined-rules: what SMFs may activate by name, and how many PDRs have. Control thread.
//
// The count walks all sessions: the command is a person's, not a collector's.

#include "ctl/cmd.h"
#include "pfcp/n4_session.h"
#include "rules/expand.h"

static const char *const columns[] = {
	"name", "action", "network_instance", "precedence", "flows", "pdrs", NULL,
};

// PDRs of all sessions by the predefined rule that they have activated.
static bool pdrs_count(void *ctx, const struct n4_session *session)
{
	struct rules *rules = n4_session_rules(session);
	uint32_t *counts = ctx;

	for (unsigned i = 0; rules && i < rules->n_pdrs; i++) {
		const struct pdr_rule *pdr = &rules->pdrs[i];

		for (unsigned k = 0; k < pdr->n_predefined; k++)
			counts[pdr->predefined[k]]++;
	}
	rules_free(rules);
	return true;
}

static void flows_put(struct reply *r, const struct predefined_rule *rule)
{
	char text[SDF_STRLEN];

	reply_list_open(r, NULL);
	for (unsigned i = 0; i < rule->n_filters; i++) {
		sdf_str(&rule->filters[i], text, sizeof(text));
		reply_str(r, NULL, text);
	}
	reply_list_close(r);
}

static void rule_put(struct reply *r, const struct n4 *n4, const struct predefined_rule *rule,
		     uint32_t pdrs)
{
	static const char *const actions[] = {
		[PREDEFINED_FAR] = "far",
		[PREDEFINED_DROP] = "drop",
		[PREDEFINED_FORWARD] = "forward",
	};
	bool forward = rule->action == PREDEFINED_FORWARD && rule->ni < n4->env.n_nis;

	reply_row(r);
	reply_str(r, NULL, rule->name);
	reply_str(r, NULL, actions[rule->action]);
	reply_str(r, NULL, forward ? n4->env.nis[rule->ni].name : NULL);
	reply_uint(r, NULL, rule->precedence);
	flows_put(r, rule);
	reply_uint(r, NULL, pdrs);
}

bool cmd_show_predefined_rules(struct call *call)
{
	const struct n4 *n4 = call->view->n4;
	uint32_t counts[PREDEFINED_MAX_RULES] = {0};
	struct reply *r = &call->reply;

	if (n4 && n4->env.n_predefined > 0)
		n4_session_each(n4, pdrs_count, counts);
	reply_object_open(r, NULL);
	reply_table_open(r, "predefined_rules", columns);
	for (unsigned i = 0; n4 && i < n4->env.n_predefined; i++)
		rule_put(r, n4, &n4->env.predefined[i], counts[i]);
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
