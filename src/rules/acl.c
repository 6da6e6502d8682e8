// Access lists, see acl.h.
// Control thread.

#include "rules/acl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/compile_filter.h"

#define ROW_MAX 256

// What follows the word, or NULL where the text does not begin with it.
static const char *behind(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && text[n] == ' ' ? text + n + 1 : NULL;
}

const char *acl_row_parse(const char *text, bool *ret_allow, struct sdf *ret_sdf)
{
	const char *allowed = behind(text, "allow"), *denied = behind(text, "deny");
	const char *why = NULL;
	struct sdf sdf = {0};
	char flow[ROW_MAX];
	int n;

	if (!allowed && !denied)
		return "does not begin with \"allow\" or \"deny\"";
	n = snprintf(flow, sizeof(flow), "permit out %s", allowed ? allowed : denied);
	if (n < 0 || (size_t)n >= sizeof(flow))
		return "is too long";
	if (sdf_parse(flow, (size_t)n, &sdf, &why) != 0)
		return why;
	*ret_allow = allowed != NULL;
	*ret_sdf = sdf;
	return NULL;
}

int acl_add(struct acl *acl, const char *text)
{
	struct filter_list list = {.filters = acl->filters, .n = acl->n, .room = acl->n};
	struct sdf sdf;
	bool allow, *allows;
	int rc;

	if (acl_row_parse(text, &allow, &sdf))
		return -EINVAL;
	rc = filters_add(&list, &sdf, NULL, NULL);
	acl->filters = list.filters;
	if (rc != 0)
		return rc;
	allows = realloc(acl->allows, list.n * sizeof(*allows) + 1);
	if (!allows)
		return -ENOMEM;
	acl->allows = allows;
	for (unsigned i = acl->n; i < list.n; i++)
		allows[i] = allow;
	acl->n = list.n;
	return 0;
}

void acl_fini(struct acl *acl)
{
	free(acl->filters);
	free(acl->allows);
	*acl = (struct acl){0};
}
