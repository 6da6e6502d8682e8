// Reads a configuration file: YAML to struct config by the rows of the schema.
//
// libyaml makes a tree of nodes with their places; this walks it beside the schema, so depth and
// work are bounded by the schema, whatever the file's anchors refer to. Control thread, at start.

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/near.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/value.h"

#define FILE_BYTES_MAX (1u << 20)

// A map or a value in the file, while it is read.
struct place {
	yaml_document_t *doc;
	yaml_node_t *node; // NULL: not there
	uint32_t line, column;
	char path[LOAD_PATH_LEN];
};

static void load_map(struct load *l, const struct schema_key *keys, void *map,
		     const struct place *at);

// The place of a node below another: path grows by fmt.
static struct place place_below(const struct place *at, yaml_node_t *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static struct place place_below(const struct place *at, yaml_node_t *node, const char *fmt, ...)
{
	struct place below = *at;
	size_t n = strlen(below.path);
	va_list args;

	va_start(args, fmt);
	vsnprintf(below.path + n, sizeof(below.path) - n, fmt, args);
	va_end(args);
	below.node = node;
	if (node) {
		below.line = (uint32_t)node->start_mark.line + 1;
		below.column = (uint32_t)node->start_mark.column + 1;
	}
	return below;
}

static struct place place_of_key(const struct place *at, yaml_node_t *node, const char *name)
{
	return place_below(at, node, "%s%s", *at->path ? "." : "", name);
}

static void mark_add(struct load *l, const void *field, const struct place *at)
{
	struct load_mark *marks = l->marks;

	if (l->n_marks == l->marks_cap) {
		size_t cap = l->marks_cap ? l->marks_cap * 2 : 64;

		marks = realloc(marks, cap * sizeof(*marks));
		if (marks == NULL) {
			l->no_memory = true;
			return;
		}
		l->marks = marks;
		l->marks_cap = cap;
	}
	marks[l->n_marks] =
		(struct load_mark){.field = field, .line = at->line, .column = at->column};
	memcpy(marks[l->n_marks++].path, at->path, LOAD_PATH_LEN);
}

#define place_error(l, at, ...) load_error(l, (at)->line, (at)->column, (at)->path, __VA_ARGS__)

// A value that was left out: "key:" and nothing, "~" or null.
static bool node_is_null(const yaml_node_t *node)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (unsigned i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++) {
		if (strcmp((const char *)node->data.scalar.value, nulls[i]) == 0)
			return true;
	}
	return false;
}

// The text of a scalar, or NULL after noting why there is none.
static const char *node_text(struct load *l, const struct place *at)
{
	const yaml_node_t *node = at->node;

	if (node->type != YAML_SCALAR_NODE) {
		place_error(l, at, "expected a single value, found a %s",
			    node->type == YAML_MAPPING_NODE ? "map" : "list");
		return NULL;
	}
	if (node_is_null(node)) {
		place_error(l, at, "has no value");
		return NULL;
	}
	if (strlen((const char *)node->data.scalar.value) != node->data.scalar.length) {
		place_error(l, at, "has a NUL character");
		return NULL;
	}
	return (const char *)node->data.scalar.value;
}

static bool load_value(struct load *l, const struct schema_key *key, void *map,
		       const struct place *at)
{
	const char *text = node_text(l, at);
	char why[VALUE_WHY_LEN];

	if (text == NULL)
		return false;
	if (value_set(key, map, text, why) < 0) {
		place_error(l, at, "%s", why);
		return false;
	}
	return true;
}

// One value of a list, and where each element that it adds (a range of CPUs: several) came from.
static void load_item(struct load *l, const struct schema_key *key, void *map,
		      const struct place *at)
{
	const char *field = (const char *)map + key->offset;
	uint32_t n = key->type == SCHEMA_FLAGS ? 0 : value_count(key, map);

	if (!load_value(l, key, map, at) || key->type == SCHEMA_FLAGS)
		return;
	for (; n < value_count(key, map); n++)
		mark_add(l, field + n * key->item_size, at);
}

// Values of a list; a value without a list around it is a list of one.
static void load_values(struct load *l, const struct schema_key *key, void *map,
			const struct place *at)
{
	yaml_node_t *list = at->node;
	unsigned i = 0;

	mark_add(l, (const char *)map + key->offset, at);
	if (list->type != YAML_SEQUENCE_NODE) {
		load_item(l, key, map, at);
		return;
	}
	for (yaml_node_item_t *item = list->data.sequence.items.start;
	     item < list->data.sequence.items.top; item++, i++) {
		struct place below = place_below(at, yaml_document_get_node(at->doc, *item), "[%u]",
						 i);

		if (key->type != SCHEMA_FLAGS && key->type != SCHEMA_CPUS &&
		    value_count(key, map) == key->n_max) {
			place_error(l, &below, "more than %d", key->n_max);
			return;
		}
		load_item(l, key, map, &below);
	}
	if (i == 0 && key->required)
		place_error(l, at, "must not be empty");
}

// A list of maps.
static void load_list(struct load *l, const struct schema_key *key, void *map,
		      const struct place *at)
{
	char *items = (char *)map + key->offset;
	uint32_t n = 0;

	mark_add(l, items, at);
	if (!node_is_null(at->node) && at->node->type != YAML_SEQUENCE_NODE) {
		place_error(l, at, "expected a list");
		return;
	}
	if (at->node->type == YAML_SEQUENCE_NODE) {
		for (yaml_node_item_t *item = at->node->data.sequence.items.start;
		     item < at->node->data.sequence.items.top; item++) {
			struct place below = place_below(at, yaml_document_get_node(at->doc, *item),
							 "[%u]", n);

			if (n == key->n_max) {
				place_error(l, &below, "more than %d", key->n_max);
				break;
			}
			load_map(l, key->children, items + (size_t)n++ * key->item_size, &below);
		}
	}
	memcpy((char *)map + key->n_offset, &n, sizeof(n));
	if (n == 0 && key->required)
		place_error(l, at, "must not be empty");
}

static void load_key(struct load *l, const struct schema_key *key, void *map,
		     const struct place *at)
{
	char *field = (char *)map + key->offset;
	char why[VALUE_WHY_LEN];

	if (key->type == SCHEMA_MAP)
		load_map(l, key->children, field, at);
	else if (key->type == SCHEMA_LIST)
		load_list(l, key, map, at);
	else if (value_is_list(key) && node_is_null(at->node) && !key->required)
		mark_add(l, field, at); // "peers:" and nothing is an empty list
	else if (value_is_list(key))
		load_values(l, key, map, at);
	else if (load_value(l, key, map, at))
		mark_add(l, field, at);
	else if (key->def)
		value_set(key, map, key->def, why); // so that checks of others see a sane value
}

static bool node_is_map(const yaml_node_t *node)
{
	return node == NULL || node->type == YAML_MAPPING_NODE || node_is_null(node);
}

// What a map did not say: defaults, and complaints about what it must; none about a value that
// stands in the place of a map.
static void load_absent(struct load *l, const struct schema_key *key, void *map,
			const struct place *at)
{
	struct place below = place_of_key(at, NULL, key->name);
	char why[VALUE_WHY_LEN];

	if (key->type == SCHEMA_MAP)
		load_map(l, key->children, (char *)map + key->offset, &below);
	else if (key->required && node_is_map(at->node))
		place_error(l, &below, "is missing");
	else if (key->def && value_set(key, map, key->def, why) < 0)
		place_error(l, &below, "default: %s", why);
}

// Defaults that are another key's value; that one is in place by now.
static void load_same(const struct schema_key *keys, const struct schema_key *key, void *map)
{
	for (const struct schema_key *other = keys; other->name; other++) {
		if (strcmp(other->name, key->same) == 0)
			memcpy((char *)map + key->offset, (char *)map + other->offset, key->size);
	}
}

static void load_unknown(struct load *l, const struct schema_key *keys, const char *name,
			 const struct place *at)
{
	char quoted[VALUE_QUOTED_LEN];
	struct near near;

	value_quoted(quoted, name);
	near_init(&near, name);
	// A file full of nonsense is not worth a search a key.
	for (; l->errs->total < CONFIG_ERRORS_MAX && keys->name; keys++)
		near_offer(&near, keys->name);
	if (near_best(&near))
		place_error(l, at, "unknown key %s; did you mean \"%s\"?", quoted,
			    near_best(&near));
	else
		place_error(l, at, "unknown key %s", quoted);
}

// One "key: value" of the file; `seen` has a bit for each row that came before.
static void load_pair(struct load *l, const struct schema_key *keys, void *map,
		      const struct place *at, const yaml_node_pair_t *pair, uint32_t *seen)
{
	yaml_node_t *key_node = yaml_document_get_node(at->doc, pair->key);
	struct place key_at = place_below(at, key_node, "%s", "");
	const char *name = node_text(l, &key_at);
	struct place value_at;
	unsigned i = 0;

	if (name == NULL)
		return;
	while (keys[i].name && strcmp(keys[i].name, name) != 0)
		i++;
	if (keys[i].name == NULL) {
		load_unknown(l, keys, name, &key_at);
		return;
	}
	if (*seen >> i & 1) {
		key_at = place_of_key(at, key_node, name);
		place_error(l, &key_at, "stands here for the second time");
		return;
	}
	assert(i < 32);
	*seen |= 1u << i;
	value_at = place_of_key(at, yaml_document_get_node(at->doc, pair->value), name);
	load_key(l, &keys[i], map, &value_at);
}

// A map, present or (node NULL) not.
static void load_map(struct load *l, const struct schema_key *keys, void *map,
		     const struct place *at)
{
	yaml_node_t *node = at->node;
	uint32_t seen = 0;

	if (!node_is_map(node))
		place_error(l, at, "expected keys with values");
	if (node && node->type == YAML_MAPPING_NODE) {
		for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		     pair < node->data.mapping.pairs.top; pair++)
			load_pair(l, keys, map, at, pair, &seen);
	}
	for (unsigned i = 0; keys[i].name; i++) {
		if (!(seen >> i & 1))
			load_absent(l, &keys[i], map, at);
	}
	for (unsigned i = 0; keys[i].name; i++) {
		if (!(seen >> i & 1) && keys[i].same)
			load_same(keys, &keys[i], map);
	}
}

// What libyaml has to say. Where it names no line, the place is found from the byte it stopped at.
static void load_yaml_error(struct load *l, const yaml_parser_t *parser, const char *text,
			    size_t len)
{
	uint32_t line = (uint32_t)parser->problem_mark.line + 1;
	uint32_t column = (uint32_t)parser->problem_mark.column + 1;
	const char *problem = parser->problem ? parser->problem : "cannot be parsed";

	if (parser->error == YAML_MEMORY_ERROR) {
		load_error(l, 0, 0, "", "not enough memory");
		return;
	}
	if (parser->error == YAML_READER_ERROR) {
		line = column = 1;
		for (size_t i = 0; i < len && i < parser->problem_offset; i++) {
			column = text[i] == '\n' ? 1 : column + 1;
			line += text[i] == '\n';
		}
	}
	if (parser->context)
		load_error(l, line, column, "", "not YAML: %s, %s", problem, parser->context);
	else
		load_error(l, line, column, "", "not YAML: %s", problem);
}

// Walks the file's one document.
static void load_document(struct load *l, yaml_parser_t *parser, const char *text, size_t len)
{
	yaml_document_t doc, more;
	struct place top = {.doc = &doc, .line = 1, .column = 1};
	yaml_node_t *root;

	if (!yaml_parser_load(parser, &doc)) {
		load_yaml_error(l, parser, text, len);
		return;
	}
	root = yaml_document_get_root_node(&doc);
	if (root)
		top = place_below(&top, root, "%s", "");
	if (node_is_map(root)) {
		load_map(l, schema_top, l->config, &top);
		load_check(l);
	} else {
		place_error(l, &top, "expected keys with values");
	}

	if (root && !yaml_parser_load(parser, &more)) {
		load_yaml_error(l, parser, text, len);
	} else if (root) {
		root = yaml_document_get_root_node(&more);
		if (root)
			load_error(l, (uint32_t)root->start_mark.line + 1,
				   (uint32_t)root->start_mark.column + 1, "",
				   "a second document; only one is read");
		yaml_document_delete(&more);
	}
	yaml_document_delete(&doc);
}

static void load_text(struct load *l, const char *text, size_t len)
{
	yaml_parser_t parser;

	if (!yaml_parser_initialize(&parser)) {
		l->no_memory = true;
		return;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	load_document(l, &parser, text, len);
	yaml_parser_delete(&parser);
}

int config_load_text(const char *name, const char *text, size_t len, unsigned n_cpus,
		     struct config *ret, struct config_errors *errs)
{
	struct load l = {.name = name, .n_cpus = n_cpus, .errs = errs};

	errs->total = errs->n = 0;
	if (n_cpus == 0)
		l.n_cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	l.config = calloc(1, sizeof(*l.config));
	if (l.config == NULL)
		l.no_memory = true;
	else if (len > FILE_BYTES_MAX)
		load_error(&l, 0, 0, "", "larger than %u bytes", FILE_BYTES_MAX);
	else
		load_text(&l, text, len);

	if (l.no_memory)
		load_error(&l, 0, 0, "", "not enough memory");
	if (errs->total == 0)
		*ret = *l.config;
	free(l.config);
	free(l.marks);
	return errs->total ? -EINVAL : 0;
}

// The file's bytes, to be freed; NULL with errno set. A byte more than allowed shows that it is
// too large.
static char *load_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	char *text;
	int failed;

	if (f == NULL)
		return NULL;
	text = malloc(FILE_BYTES_MAX + 1);
	if (text == NULL) {
		fclose(f);
		errno = ENOMEM;
		return NULL;
	}
	errno = 0;
	*ret_len = fread(text, 1, FILE_BYTES_MAX + 1, f);
	failed = ferror(f) ? (errno ? errno : EIO) : 0;
	fclose(f);
	if (failed) {
		free(text);
		errno = failed;
		return NULL;
	}
	return text;
}

int config_load(const char *path, struct config *ret, struct config_errors *errs)
{
	size_t len = 0;
	char *text = load_file(path, &len);
	int rc;

	if (text == NULL) {
		struct load l = {.name = path, .errs = errs};

		rc = -errno;
		errs->total = errs->n = 0;
		load_error(&l, 0, 0, "", "cannot be read: %s", strerror(-rc));
		return rc;
	}
	rc = config_load_text(path, text, len, 0, ret, errs);
	free(text);
	return rc;
}
