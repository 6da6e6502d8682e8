// show applications: what Application IDs stand for, a page at a time (TS 29.244 6.2.5). Control thread.
//
// A row for each value of a PFD; an application that only rules know of, since its PFDs were removed, has a row
// without one. A page ends behind a whole application; what is left begins at `next`.

#include "ctl/cmd.h"
#include "pfcp/n4.h"
#include "pfcp/pfd.h"

enum { ARG_FROM, ARG_LIMIT }; // as in command_table.c

static const char *const columns[] = {
	"number", "application", "source", "detected", "pdrs", "pfd", "kind", "value", NULL,
};

static void app_put(struct reply *r, uint16_t number, const struct pfd_app *app)
{
	const struct pfd_set *set = pfd_app_set(app);
	char text[NODE_ID_STRLEN];
	unsigned n = set ? set->n_values : 0;

	for (unsigned i = 0; i == 0 || i < n; i++) {
		reply_row(r);
		reply_uint(r, NULL, number);
		reply_str(r, NULL, app->name);
		reply_str(r, NULL,
			  app->given ? node_id_str(text, &app->giver)
			  : app->own ? "config"
				     : NULL);
		reply_bool(r, NULL, set && set->detectable);
		reply_uint(r, NULL, app->users);
		if (n == 0) {
			reply_null(r, NULL);
			reply_null(r, NULL);
			reply_null(r, NULL);
			continue;
		}
		reply_uint(r, NULL, set->values[i].pfd);
		reply_str(r, NULL, pfd_kind_str(set->values[i].kind));
		reply_str(r, NULL, (const char *)set->values[i].text);
	}
}

bool cmd_show_applications(struct call *call)
{
	const struct call_arg *args = call->args;
	const struct pfd_table *pfds = call->view->n4 ? call->view->n4->env.pfds : NULL;
	uint64_t limit = args[ARG_LIMIT].given ? args[ARG_LIMIT].number : CTL_ROWS_MAX;
	uint32_t i = args[ARG_FROM].given ? (uint32_t)args[ARG_FROM].number - 1 : 0;
	struct reply *r = &call->reply;
	uint64_t rows = 0;

	reply_object_open(r, NULL);
	reply_table_open(r, "applications", columns);
	for (; pfds && i < pfds->room && rows < limit; i++) {
		const struct pfd_app *app = pfds->apps[i];

		if (!app)
			continue;
		app_put(r, (uint16_t)(i + 1), app);
		rows += pfd_app_set(app) ? pfd_app_set(app)->n_values : 1;
	}
	while (pfds && i < pfds->room && !pfds->apps[i])
		i++;
	reply_table_close(r);
	reply_uint(r, "total", pfds ? pfds->n_apps : 0);
	reply_uint(r, "bytes", pfds ? pfds->bytes : 0);
	if (pfds && i < pfds->room)
		reply_uint(r, "next", i + 1);
	else
		reply_null(r, "next");
	reply_object_close(r);
	return true;
}
