// Access lists: ordered rows that allow or deny, by what SDF filters can say of a packet.
//
// A row is "allow" or "deny" and a flow description without its "permit out" (TS 29.212 5.4.2): the network's side
// first, the UE's, mostly "assigned", behind "to"; it is for both directions. The first row that matches decides;
// what none matches is denied. Made by the control thread at start; read by workers, who never write to it.

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rules/match.h"
#include "rules/ruleset.h"
#include "rules/sdf.h"

struct acl {
	unsigned n;
	struct filter *filters; // [n], in order; a row with port lists is several
	bool *allows;           // [n]
};

// What is wrong with a row, or NULL; ret_allow and ret_sdf are written if nothing is.
const char *acl_row_parse(const char *text, bool *ret_allow, struct sdf *ret_sdf);
// Appends a row. 0, -EINVAL if it does not parse, -E2BIG or -ENOMEM.
int acl_add(struct acl *acl, const char *text);
void acl_fini(struct acl *acl);

static inline bool acl_allows(const struct acl *acl, bool up, const struct pkt *p,
			      const uint8_t *user)
{
	for (unsigned i = 0; i < acl->n; i++)
		if (filter_match(&acl->filters[i], up, p, user))
			return acl->allows[i];
	return false;
}
