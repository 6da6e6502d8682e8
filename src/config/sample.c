// Writes the commented sample file from the schema: every key with its help, its values and its
// default. What must be given is given as an example; the rest stands behind "#".

#include <stdarg.h>
#include <string.h>

#include "config/config.h"
#include "config/schema.h"
#include "config/value.h"

#define SAMPLE_WIDTH 96

static const char sample_intro[] =
	"Sluice's configuration, with every key there is. A key behind \"#\" may be left out; its line "
	"shows the default, or where there is none an example. \"sluiced --check\" says what is wrong "
	"with a file, \"sluicectl show config\" what is in effect. A list may also be written with a "
	"line \"- item\" for each.";

// Prints text as comment lines of at most SAMPLE_WIDTH characters.
static void sample_comment(const char *text, unsigned indent, FILE *out)
{
	size_t room = SAMPLE_WIDTH - indent - 2;

	while (*text) {
		size_t n = strlen(text);

		if (n > room) {
			n = room;
			while (n > 0 && text[n] != ' ')
				n--;
			if (n == 0)
				n = strcspn(text, " "); // a word as long as a line
		}
		fprintf(out, "%*s# %.*s\n", (int)indent, "", (int)n, text);
		text += n;
		text += strspn(text, " ");
	}
}

static char *sample_default(const struct schema_key *key, char *buf, size_t size)
{
	if (key->required)
		snprintf(buf, size, "Required");
	else if (key->def_text)
		snprintf(buf, size, "Default: %s", key->def_text);
	else if (key->same)
		snprintf(buf, size, "Default: as %s", key->same);
	else if (key->type == SCHEMA_ADDR || value_is_list(key) || key->type == SCHEMA_LIST)
		snprintf(buf, size, "Default: none");
	else
		buf[0] = '\0'; // the line itself shows it
	return buf;
}

// A key's help, then its values and default in brackets.
static void sample_help(const struct schema_key *key, unsigned indent, FILE *out)
{
	char kinds[128] = "", def[100], text[640];
	FILE *f = fmemopen(kinds, sizeof(kinds), "w");
	const char *between;

	if (f) {
		value_kinds_print(key, f);
		fclose(f);
	}
	sample_default(key, def, sizeof(def));
	between = *kinds && *def ? ". " : "";
	if (*kinds || *def)
		snprintf(text, sizeof(text), "%s [%s%s%s]", key->help, kinds, between, def);
	else
		snprintf(text, sizeof(text), "%s", key->help);
	sample_comment(text, indent, out);
}

static void sample_key(const struct schema_key *key, unsigned indent, FILE *out)
{
	const char *value = key->def && *key->def ? key->def : key->shown ? key->shown : "\"\"";

	sample_help(key, indent, out);
	if (key->sample[0])
		fprintf(out, "%*s%s: %s\n", (int)indent, "", key->name, key->sample[0]);
	else
		fprintf(out, "%*s#%s: %s\n", (int)indent, "", key->name, value);
}

// The elements of a list of maps: the first with all that can be said, the second in short.
static void sample_items(const struct schema_key *key, FILE *out)
{
	const char *lead = "  - ";

	for (const struct schema_key *child = key->children; child->name; child++) {
		if (child == key->children) {
			sample_help(child, 4, out);
			fprintf(out, "  - %s: %s\n", child->name, child->sample[0]);
		} else {
			sample_key(child, 4, out);
		}
	}
	for (const struct schema_key *child = key->children; child->name; child++) {
		if (child->sample[1] == NULL)
			continue;
		fprintf(out, "%s%s: %s\n", lead, child->name, child->sample[1]);
		lead = "    ";
	}
}

void config_sample_write(FILE *out)
{
	sample_comment(sample_intro, 0, out);
	for (const struct schema_key *key = schema_top; key->name; key++) {
		fputc('\n', out);
		if (key->type != SCHEMA_MAP && key->type != SCHEMA_LIST) {
			sample_key(key, 0, out);
			continue;
		}
		sample_help(key, 0, out);
		fprintf(out, "%s:\n", key->name);
		if (key->type == SCHEMA_LIST) {
			sample_items(key, out);
			continue;
		}
		for (const struct schema_key *child = key->children; child->name; child++)
			sample_key(child, 2, out);
	}
}
