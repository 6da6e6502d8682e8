// PFD Management Requests put together octet by octet, for tests on session_kit.h, and what came of them.
// A request is begun, given applications with PFDs, and sent; pfds() does it all for flow descriptions.

#pragma once

#include "pfcp/pfd.h"
#include "session_kit.h"

#define FD 0x01
#define URL 0x02
#define DN 0x04
#define CUSTOM 0x08
#define DNP 0x10
#define AFD 0x20
#define AURL 0x40
#define ADNP 0x80

static inline void pfd_begin(void)
{
	node_begin(3, NULL);
}

static inline size_t app_begin(const char *name)
{
	size_t mark = ie_begin(58);

	ie_text(24, name);
	return mark;
}

static inline void put_value(const char *text)
{
	put(strlen(text), 2);
	put_text(text, strlen(text));
}

// A PFD whose one PFD Contents has one value.
static inline void put_pfd(unsigned flag, const char *text)
{
	size_t context = ie_begin(59), contents = ie_begin(61);

	put(flag << 8, 2);
	put_value(text);
	ie_end(contents);
	ie_end(context);
}

// Gives an application these flow descriptions, a PFD each, up to the first NULL; none: takes its PFDs away.
static inline void pfds(const char *name, const char *const *flows)
{
	size_t app;

	pfd_begin();
	app = app_begin(name);
	for (; *flows; flows++)
		put_pfd(FD, *flows);
	ie_end(app);
	msg_send();
}

#define PFDS(name, ...) pfds(name, (const char *const[]){__VA_ARGS__, NULL})
#define NO_PFDS(name) pfds(name, (const char *const[]){NULL})

static inline void no_apps(void)
{
	pfd_begin();
	msg_send();
}

static inline const struct pfd_app *app_of(const char *name)
{
	const struct pfd_table *table = kit.n4->env.pfds;

	return pfd_app_get(table, pfd_app_lookup(table, (const uint8_t *)name, strlen(name)));
}

// Everything that the applications have, as one text: "name: kind.pfd=value ..." by number.
static inline const char *apps_text(void)
{
	static char text[4096];
	const struct pfd_table *table = kit.n4->env.pfds;
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < table->room; i++) {
		const struct pfd_app *app = table->apps[i];
		const struct pfd_set *set = app ? pfd_app_set(app) : NULL;

		if (!app)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s:", at ? "; " : "",
				       app->name);
		for (unsigned k = 0; set && k < set->n_values; k++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, " %s.%u=%s",
					       pfd_kind_str(set->values[k].kind),
					       set->values[k].pfd, (char *)set->values[k].text);
	}
	return text;
}
