// The table of applications and their PFDs, see pfd.h.
// Control thread only. There are some hundred applications at most, so that they are looked up one by one.

#include "pfcp/pfd.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pfcp/ie.h"

const char *pfd_kind_str(enum pfd_kind kind)
{
	static const char *const names[] = {
		[PFD_FLOW] = "flow",         [PFD_URL] = "url",       [PFD_DOMAIN] = "domain",
		[PFD_PROTOCOL] = "protocol", [PFD_CUSTOM] = "custom",
	};

	return names[kind];
}

// --- the PFDs of an application --------------------------------------------------------------------------

struct pfd_set *pfd_set_new(void)
{
	struct pfd_set *set = calloc(1, sizeof(*set));

	if (set) {
		set->detectable = true;
		set->bytes = sizeof(*set);
	}
	return set;
}

void pfd_set_free(struct pfd_set *set)
{
	if (!set)
		return;
	for (unsigned i = 0; i < set->n_values; i++)
		free(set->values[i].text);
	free(set->values);
	free(set->flows);
	free(set);
}

// One more than `n` items, of which the last is zero; NULL without memory, and the items are as they were.
static void *array_grow(void *items, unsigned n, size_t size)
{
	uint8_t *grown = reallocarray(items, n + 1, size);

	if (grown)
		memset(grown + n * size, 0, size);
	return grown;
}

static int set_add_flow(struct pfd_set *set, const uint8_t *text, size_t len, const char **ret_why)
{
	struct sdf *flows = array_grow(set->flows, set->n_flows, sizeof(*flows));
	unsigned filters = 1;

	if (!flows)
		return -ENOMEM;
	set->flows = flows;
	if (sdf_parse((const char *)text, len, &flows[set->n_flows], ret_why) < 0)
		return -EINVAL;
	filters *= flows[set->n_flows].from.n_ports ? flows[set->n_flows].from.n_ports : 1;
	filters *= flows[set->n_flows].to.n_ports ? flows[set->n_flows].to.n_ports : 1;
	if (set->n_filters + filters > PFD_FILTERS_MAX)
		return -E2BIG;
	set->n_filters += filters;
	set->n_flows++;
	set->bytes += sizeof(*flows);
	return 0;
}

int pfd_set_add(struct pfd_set *set, enum pfd_kind kind, uint16_t pfd, const uint8_t *text,
		size_t len, const char **ret_why)
{
	struct pfd_value *values = array_grow(set->values, set->n_values, sizeof(*values));
	struct pfd_value *value;
	int rc = 0;

	if (!values)
		return -ENOMEM;
	set->values = values;
	if (kind == PFD_FLOW)
		rc = set_add_flow(set, text, len, ret_why);
	if (rc < 0)
		return rc;
	value = &values[set->n_values];
	*value = (struct pfd_value){.kind = (uint8_t)kind, .pfd = pfd, .len = (uint16_t)len};
	value->text = calloc(1, len + 1);
	if (!value->text)
		return -ENOMEM;
	memcpy(value->text, text, len);
	set->n_values++;
	set->detectable &= kind == PFD_FLOW;
	set->bytes += sizeof(*value) + len + 1;
	return 0;
}

// --- applications ----------------------------------------------------------------------------------------

struct pfd_table *pfd_table_new(const struct pfd_limits *limits)
{
	struct pfd_table *table = calloc(1, sizeof(*table));

	if (table) {
		table->limits = *limits;
		table->generation = 1;
	}
	return table;
}

static void app_free(struct pfd_app *app)
{
	pfd_set_free(app->given);
	pfd_set_free(app->own);
	free(app->name);
	free(app);
}

void pfd_table_free(struct pfd_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->room; i++)
		if (table->apps[i])
			app_free(table->apps[i]);
	free(table->apps);
	free(table);
}

// The application with this name, with or without PFDs; its number. NULL: none.
static struct pfd_app *app_by_name(const struct pfd_table *table, const char *name, size_t len,
				   uint16_t *ret_number)
{
	for (uint32_t i = 0; i < table->room; i++) {
		struct pfd_app *app = table->apps[i];

		if (!app || strncmp(app->name, name, len) != 0 || app->name[len] != '\0')
			continue;
		*ret_number = (uint16_t)(i + 1);
		return app;
	}
	return NULL;
}

// A free number's place, or NULL without memory.
static struct pfd_app **place_find(struct pfd_table *table)
{
	struct pfd_app **grown;

	for (uint32_t i = 0; i < table->room; i++)
		if (!table->apps[i])
			return &table->apps[i];
	if (table->room == UINT16_MAX)
		return NULL;
	grown = array_grow(table->apps, table->room, sizeof(*grown));
	if (!grown)
		return NULL;
	table->apps = grown;
	return &grown[table->room++];
}

// A new application without PFDs. NULL without memory.
static struct pfd_app *app_add(struct pfd_table *table, const char *name)
{
	struct pfd_app **place = place_find(table);
	struct pfd_app *app = place ? calloc(1, sizeof(*app)) : NULL;

	if (!app)
		return NULL;
	app->name = strdup(name);
	if (!app->name) {
		free(app);
		return NULL;
	}
	*place = app;
	table->n_apps++;
	return app;
}

// Frees the application if there is nothing to know of it any more.
static void app_let_go(struct pfd_table *table, struct pfd_app **place)
{
	struct pfd_app *app = *place;

	if (app->users || pfd_app_set(app))
		return;
	app_free(app);
	*place = NULL;
	table->n_apps--;
}

uint16_t pfd_app_lookup(const struct pfd_table *table, const uint8_t *name, size_t len)
{
	const struct pfd_app *app;
	uint16_t number;

	if (len == 0 || memchr(name, 0, len))
		return RULES_APP_NONE;
	app = app_by_name(table, (const char *)name, len, &number);
	return app && pfd_app_set(app) ? number : RULES_APP_NONE;
}

const struct pfd_app *pfd_app_get(const struct pfd_table *table, uint16_t number)
{
	return number != RULES_APP_NONE && number <= table->room ? table->apps[number - 1] : NULL;
}

const struct sdf *pfd_app_flows(void *ctx, uint16_t number, unsigned *ret_n)
{
	const struct pfd_app *app = pfd_app_get(ctx, number);
	const struct pfd_set *set = app ? pfd_app_set(app) : NULL;

	*ret_n = set && set->detectable ? set->n_flows : 0;
	return set ? set->flows : NULL;
}

int pfd_own_add(struct pfd_table *table, const char *name, const char *flow, const char **ret_why)
{
	uint16_t number;
	struct pfd_app *app = app_by_name(table, name, strlen(name), &number);

	if (!app)
		app = app_add(table, name);
	if (app && !app->own)
		app->own = pfd_set_new();
	if (!app || !app->own)
		return -ENOMEM;
	return pfd_set_add(app->own, PFD_FLOW, 1, (const uint8_t *)flow, strlen(flow), ret_why);
}

void pfd_rules_use(struct pfd_table *table, const struct rules *rules, int by)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		uint16_t number = rules->pdrs[i].pdi.app;

		if (number == RULES_APP_NONE)
			continue;
		assert(pfd_app_get(table, number));
		table->apps[number - 1]->users += (uint32_t)by;
		app_let_go(table, &table->apps[number - 1]);
	}
}

bool pfd_rules_changed(const struct pfd_table *table, const struct rules *rules, uint64_t since)
{
	for (unsigned i = 0; i < rules->n_pdrs; i++) {
		const struct pfd_app *app = pfd_app_get(table, rules->pdrs[i].pdi.app);

		if (app && app->changed > since)
			return true;
	}
	return false;
}

// --- changes ---------------------------------------------------------------------------------------------

int pfd_change_add(struct pfd_change *change, const uint8_t *name, size_t len, struct pfd_set *set)
{
	struct pfd_change_item *items;

	assert(len < PFD_NAME_MAX);
	for (unsigned i = 0; i < change->n; i++)
		if (memcmp(change->items[i].name, name, len) == 0 &&
		    change->items[i].name[len] == '\0') {
			pfd_set_free(set);
			return -EEXIST;
		}
	items = array_grow(change->items, change->n, sizeof(*items));
	if (!items) {
		pfd_set_free(set);
		return -ENOMEM;
	}
	change->items = items;
	memcpy(items[change->n].name, name, len);
	items[change->n++].set = set;
	return 0;
}

void pfd_change_fini(struct pfd_change *change)
{
	for (unsigned i = 0; i < change->n; i++)
		pfd_set_free(change->items[i].set);
	free(change->items);
	*change = (struct pfd_change){0};
}

// Whether the table is within its limits after the change.
static int change_fits(const struct pfd_table *table, const struct pfd_change *change,
		       struct pfcp_fault *fault)
{
	uint64_t bytes = table->bytes;
	uint32_t n_apps = table->n_apps;

	for (unsigned i = 0; i < change->n; i++) {
		const struct pfd_change_item *item = &change->items[i];
		uint16_t number;
		const struct pfd_app *app = app_by_name(table, item->name, strlen(item->name),
							&number);

		bytes += item->set ? item->set->bytes : 0;
		bytes -= app && app->given ? app->given->bytes : 0;
		n_apps += !app && item->set;
		n_apps -= app && !item->set && !app->own && !app->users;
		if (item->set && !item->set->detectable && app && app->users)
			return fault_ie(fault, PFCP_CAUSE_NOT_SUPPORTED, PFCP_IE_PFD_CONTENTS,
					"an application that rules name is detected only by flow "
					"descriptions");
	}
	if (n_apps > table->limits.apps && n_apps > table->n_apps)
		return fault_ie(fault, PFCP_CAUSE_NO_RESOURCES, PFCP_IE_APPLICATION_IDS_PFDS,
				"as many applications as are allowed");
	if (bytes > table->limits.bytes && bytes > table->bytes)
		return fault_ie(fault, PFCP_CAUSE_NO_RESOURCES, PFCP_IE_APPLICATION_IDS_PFDS,
				"as many bytes of PFDs as are allowed");
	return 0;
}

// Makes the applications that are not there yet, so that nothing can fail afterwards.
static int apps_make(struct pfd_table *table, const struct pfd_change *change)
{
	uint16_t number;

	for (unsigned i = 0; i < change->n; i++) {
		const struct pfd_change_item *item = &change->items[i];

		if (item->set && !app_by_name(table, item->name, strlen(item->name), &number) &&
		    !app_add(table, item->name))
			return -ENOMEM;
	}
	return 0;
}

static void app_give(struct pfd_table *table, struct pfd_app *app, struct pfd_set *set,
		     const struct node_id *giver)
{
	if (!app->given && !set)
		return;
	table->bytes -= app->given ? app->given->bytes : 0;
	table->bytes += set ? set->bytes : 0;
	pfd_set_free(app->given);
	app->given = set;
	app->giver = *giver;
	app->changed = table->generation;
}

int pfd_change_apply(struct pfd_table *table, struct pfd_change *change,
		     const struct node_id *giver, struct pfcp_fault *fault)
{
	int rc = change_fits(table, change, fault);

	if (rc == 0 && apps_make(table, change) < 0)
		rc = fault_cause(fault, PFCP_CAUSE_NO_RESOURCES, "out of memory");
	table->generation += rc == 0;
	for (unsigned i = 0; rc == 0 && change->all && i < table->room; i++)
		if (table->apps[i])
			app_give(table, table->apps[i], NULL, giver);
	for (unsigned i = 0; rc == 0 && i < change->n; i++) {
		struct pfd_change_item *item = &change->items[i];
		uint16_t number;
		struct pfd_app *app = app_by_name(table, item->name, strlen(item->name), &number);

		if (app)
			app_give(table, app, item->set, giver);
		item->set = NULL;
	}
	for (uint32_t i = 0; i < table->room; i++) // also those that were made in vain
		if (table->apps[i])
			app_let_go(table, &table->apps[i]);
	return rc;
}
