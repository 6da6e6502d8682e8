// Applications, and the PFDs that describe their traffic (TS 29.244 6.2.5, 7.4.3, 8.2.39).
//
// Control thread only. PFDs are the UPF's and not an association's: all CP functions speak of the same
// applications, what came last for one is what counts, whoever sent it, and it stays when the association goes
// (TS 23.501 5.8.2.8.4). What the configuration says of an application counts while no CP function has given it
// PFDs. An application is known by a small number, which rules keep (struct pdi); it stays while rules name it,
// also when its PFDs have gone: then no packet is its traffic.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pfcp/node_id.h"
#include "rules/model.h"

#define PFD_NAME_MAX 256   // of an Application ID, with its NUL
#define PFD_FILTERS_MAX 64 // that the flow descriptions of one application compile to

enum pfd_kind {
	PFD_FLOW,     // Flow Description; the only one that is detected
	PFD_URL,      // URL, a regular expression
	PFD_DOMAIN,   // Domain Name, a regular expression
	PFD_PROTOCOL, // Domain Name Protocol, of the domain name before it
	PFD_CUSTOM,   // Custom PFD Content
};

const char *pfd_kind_str(enum pfd_kind kind);

struct pfd_value {
	uint8_t kind;  // enum pfd_kind
	uint16_t pfd;  // which PFD of the application it belongs to, from 1
	uint16_t len;  // of the text
	uint8_t *text; // heap; may be anything, and ends with a NUL that is not counted
};

// All PFDs of an application: made whole, then not changed but replaced.
struct pfd_set {
	unsigned n_values, n_flows, n_filters; // filters: what the flows compile to
	bool detectable;                       // all of it is flow descriptions
	size_t bytes;                          // of memory
	struct pfd_value *values;              // in the order given
	struct sdf *flows;                     // those of kind PFD_FLOW
};

// NULL without memory.
struct pfd_set *pfd_set_new(void);
void pfd_set_free(struct pfd_set *set);
// Adds a value. 0; -EINVAL with a reason for a flow description that does not parse; -E2BIG for more flow
// descriptions than one PDR can match; -ENOMEM.
int pfd_set_add(struct pfd_set *set, enum pfd_kind kind, uint16_t pfd, const uint8_t *text,
		size_t len, const char **ret_why);

struct pfd_app {
	char *name;            // heap
	struct pfd_set *given; // by a CP function, or NULL
	struct pfd_set *own;   // of the configuration, or NULL
	struct node_id giver;  // of `given`
	uint32_t users;        // PDRs of sessions that name it
	uint64_t changed;      // generation of the table that brought `given` or took it away
};

struct pfd_limits {
	uint32_t apps;
	uint32_t values; // of one application
	uint64_t bytes;  // of all PFDs that CP functions have given
};

struct pfd_table {
	struct pfd_limits limits;
	struct pfd_app **apps; // by number less one; NULL: free
	uint32_t n_apps, room;
	uint64_t bytes;      // of `given`
	uint64_t generation; // from 1; of the latest change
};

// NULL without memory.
struct pfd_table *pfd_table_new(const struct pfd_limits *limits);
void pfd_table_free(struct pfd_table *table);

// The PFDs that count for it, or NULL.
static inline const struct pfd_set *pfd_app_set(const struct pfd_app *app)
{
	return app->given ? app->given : app->own;
}

// The number of the application with this name that has PFDs, or RULES_APP_NONE.
uint16_t pfd_app_lookup(const struct pfd_table *table, const uint8_t *name, size_t len);
// The application with this number, or NULL.
const struct pfd_app *pfd_app_get(const struct pfd_table *table, uint16_t number);
// compile_conf.app_flows; `ctx` is the table.
const struct sdf *pfd_app_flows(void *ctx, uint16_t number, unsigned *ret_n);

// Adds a flow description of the configuration to an application. 0, or as pfd_set_add().
int pfd_own_add(struct pfd_table *table, const char *name, const char *flow, const char **ret_why);

// Takes note that a session has these rules (by 1), or has them no longer (by -1).
void pfd_rules_use(struct pfd_table *table, const struct rules *rules, int by);
// Whether the PFDs of an application that these rules name have changed after this generation.
bool pfd_rules_changed(const struct pfd_table *table, const struct rules *rules, uint64_t since);

// What one request asks for: for each application other PFDs, or (NULL) none.
struct pfd_change {
	unsigned n, room;
	struct pfd_change_item {
		char name[PFD_NAME_MAX];
		struct pfd_set *set;
	} * items;
	bool all; // there are no items: the PFDs of all applications go
};

// Adds an application, whose `set` becomes the change's whatever happens. 0; -EEXIST: it is there already; -ENOMEM.
int pfd_change_add(struct pfd_change *change, const uint8_t *name, size_t len, struct pfd_set *set);
void pfd_change_fini(struct pfd_change *change);

// Makes the change on behalf of `giver`, whole or not at all. 0, or -EINVAL with the fault: 75 beyond a limit,
// 76 for PFDs that cannot be detected of an application that rules name.
int pfd_change_apply(struct pfd_table *table, struct pfd_change *change,
		     const struct node_id *giver, struct pfcp_fault *fault);
