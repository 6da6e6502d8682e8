// Prints a configuration with all its keys, as a file that loads to the same: for `show config`
// and --check. Control thread.

#include "config/config.h"
#include "config/schema.h"
#include "config/value.h"

static void show_map(const struct schema_key *keys, const void *map, unsigned depth,
		     const char *first, FILE *out);

static void show_list(const struct schema_key *key, const void *map, unsigned depth, FILE *out)
{
	const char *items = (const char *)map + key->offset;
	uint32_t n = value_count(key, map);

	fprintf(out, "%s:%s\n", key->name, n ? "" : " []");
	for (uint32_t i = 0; i < n; i++)
		show_map(key->children, items + (size_t)i * key->item_size, depth + 2, "  - ", out);
}

// `first` stands before the first key, in the place of its last four spaces.
static void show_map(const struct schema_key *keys, const void *map, unsigned depth,
		     const char *first, FILE *out)
{
	for (const struct schema_key *key = keys; key->name; key++) {
		const void *field = (const char *)map + key->offset;

		// An absent address has no form of its own: its key is left out.
		if (key->type == SCHEMA_ADDR && ((const struct addr *)field)->family == ADDR_NONE)
			continue;
		if (key == keys && *first)
			fprintf(out, "%*s%s", (int)(depth * 2 - 4), "", first);
		else
			fprintf(out, "%*s", (int)(depth * 2), "");
		if (key->type == SCHEMA_MAP) {
			fprintf(out, "%s:\n", key->name);
			show_map(key->children, field, depth + 1, "", out);
		} else if (key->type == SCHEMA_LIST) {
			show_list(key, map, depth, out);
		} else {
			fprintf(out, "%s: ", key->name);
			value_print(key, map, out);
			fputc('\n', out);
		}
	}
}

void config_show(const struct config *config, FILE *out)
{
	show_map(schema_top, config, 0, "", out);
}
