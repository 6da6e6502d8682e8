// The scenario file: YAML whose keys are the options, and the list `steps`.
//
//	ues: 10
//	steps: [attach, wait 5, {loop: 3}]
//
// libyaml makes a tree of nodes with their places; errors name file, line and column. Runs once, at
// start.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "options.h"

// The file being read.
struct file {
	const char *path;
	struct options *options;
	yaml_document_t *doc;
	bool failed;
};

static void file_wrong(struct file *f, const yaml_node_t *node, const char *key, const char *why)
{
	fprintf(stderr, "%s:%zu:%zu: %s%s%s\n", f->path, node->start_mark.line + 1,
		node->start_mark.column + 1, key, *key ? ": " : "", why);
	f->failed = true;
}

// The text of a scalar; NULL, after saying so, for all else.
static const char *node_text(struct file *f, const yaml_node_t *node, const char *key)
{
	const char *text = (const char *)node->data.scalar.value;

	if (node->type == YAML_SCALAR_NODE && strlen(text) == node->data.scalar.length)
		return text;
	file_wrong(f, node, key, "expected a single value");
	return NULL;
}

static void value_read(struct file *f, const struct options_row *row, const yaml_node_t *node)
{
	const char *text = node_text(f, node, row->name);
	char why[OPTIONS_WHY_LEN];

	if (text && options_set(f->options, row, text, why) < 0)
		file_wrong(f, node, row->name, why);
}

// A step with its number: "wait 5" or {wait: 5}.
static void step_read(struct file *f, const yaml_node_t *node)
{
	const char *name, *operand = NULL;
	char why[OPTIONS_WHY_LEN];
	char copy[64];
	bool used;

	if (node->type == YAML_MAPPING_NODE) {
		const yaml_node_pair_t *pair = node->data.mapping.pairs.start;

		if (node->data.mapping.pairs.top - pair != 1) {
			file_wrong(f, node, "steps", "expected one step with its number");
			return;
		}
		name = node_text(f, yaml_document_get_node(f->doc, pair->key), "steps");
		operand = node_text(f, yaml_document_get_node(f->doc, pair->value), "steps");
		if (!name || !operand)
			return;
	} else {
		const char *text = node_text(f, node, "steps");
		char *blank;

		if (!text)
			return;
		snprintf(copy, sizeof(copy), "%s", text);
		blank = strchr(copy, ' ');
		if (blank)
			*blank = '\0';
		name = copy;
		operand = blank ? blank + 1 + strspn(blank + 1, " ") : NULL;
	}
	if (options_step_add(f->options, name, operand, &used, why) < 0)
		file_wrong(f, node, "steps", why);
	else if (operand && !used)
		file_wrong(f, node, "steps", "this step takes no number");
}

// A list, or a step that stands alone.
static void steps_read(struct file *f, const yaml_node_t *node)
{
	if (node->type != YAML_SEQUENCE_NODE) {
		step_read(f, node);
		return;
	}
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     item < node->data.sequence.items.top; item++)
		step_read(f, yaml_document_get_node(f->doc, *item));
}

static void option_read(struct file *f, const struct options_row *row, const yaml_node_t *node)
{
	if (row->kind != OPTIONS_ADDRS || node->type != YAML_SEQUENCE_NODE) {
		value_read(f, row, node);
		return;
	}
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     item < node->data.sequence.items.top; item++)
		value_read(f, row, yaml_document_get_node(f->doc, *item));
}

static void pair_read(struct file *f, const yaml_node_pair_t *pair)
{
	const yaml_node_t *key = yaml_document_get_node(f->doc, pair->key);
	const yaml_node_t *value = yaml_document_get_node(f->doc, pair->value);
	const char *name = node_text(f, key, "");
	const struct options_row *row = name ? options_lookup(name) : NULL;
	char why[OPTIONS_WHY_LEN];
	const char *nearest;

	if (!name)
		return;
	if (strcmp(name, "steps") == 0) {
		steps_read(f, value);
	} else if (row && strcmp(name, "scenario") == 0) {
		file_wrong(f, key, name, "a scenario cannot name another");
	} else if (row) {
		option_read(f, row, value);
	} else {
		nearest = options_nearest(name, "steps");
		snprintf(why, sizeof(why), "unknown key%s%s%s", nearest ? "; did you mean \"" : "",
			 nearest ? nearest : "", nearest ? "\"?" : "");
		file_wrong(f, key, name, why);
	}
}

static void document_read(struct file *f, yaml_parser_t *parser)
{
	yaml_document_t doc;
	yaml_node_t *root;

	if (!yaml_parser_load(parser, &doc)) {
		fprintf(stderr, "%s:%zu:%zu: not YAML: %s\n", f->path,
			parser->problem_mark.line + 1, parser->problem_mark.column + 1,
			parser->problem ? parser->problem : "cannot be parsed");
		f->failed = true;
		return;
	}
	f->doc = &doc;
	root = yaml_document_get_root_node(&doc);
	if (root && root->type == YAML_MAPPING_NODE) {
		for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
		     pair < root->data.mapping.pairs.top; pair++)
			pair_read(f, pair);
	} else if (root) {
		file_wrong(f, root, "", "expected keys with values");
	}
	yaml_document_delete(&doc);
}

int options_file_read(const char *path, struct options *o)
{
	struct file f = {.path = path, .options = o};
	yaml_parser_t parser;
	FILE *stream = fopen(path, "re");

	if (!stream) {
		fprintf(stderr, "sluice-sim: %s: %s\n", path, strerror(errno));
		return -EINVAL;
	}
	if (yaml_parser_initialize(&parser)) {
		yaml_parser_set_input_file(&parser, stream);
		document_read(&f, &parser);
		yaml_parser_delete(&parser);
	} else {
		fprintf(stderr, "sluice-sim: %s: not enough memory\n", path);
		f.failed = true;
	}
	fclose(stream);
	return f.failed ? -EINVAL : 0;
}
