// show config: the configuration in effect, as a file that loads to the same, or as JSON with the
// same keys. Control thread.
//
// JSON walks the table of keys (config/schema.h), as the file does.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/schema.h"
#include "config/value.h"
#include "ctl/cmd.h"

static void map_put(struct json *j, const struct schema_key *keys, const void *map);

static void list_put(struct json *j, const struct schema_key *key, const void *map)
{
	const char *items = (const char *)map + key->offset;
	uint32_t n = key->type == SCHEMA_FLAGS ? 0 : value_count(key, map);
	char text[PREFIX_STRLEN];

	json_array_open(j, key->name);
	for (unsigned i = 0; key->type == SCHEMA_FLAGS && key->words[i]; i++)
		if (value_int_get(key, map) >> i & 1)
			json_str(j, NULL, key->words[i]);
	for (uint32_t i = 0; i < n; i++) {
		const void *item = items + (size_t)i * key->item_size;

		if (key->type == SCHEMA_LIST) {
			json_object_open(j, NULL);
			map_put(j, key->children, item);
			json_object_close(j);
		} else if (key->type == SCHEMA_CPUS) {
			json_uint(j, NULL, *(const uint16_t *)item);
		} else if (key->type == SCHEMA_TEXTS) {
			json_str(j, NULL, item);
		} else {
			json_str(j, NULL, prefix_str(text, item));
		}
	}
	json_array_close(j);
}

static void addr_put(struct json *j, const char *name, const struct addr *addr)
{
	char text[ADDR_STRLEN];

	json_str(j, name, addr->family == ADDR_NONE ? NULL : addr_str(text, addr));
}

static void map_put(struct json *j, const struct schema_key *keys, const void *map)
{
	for (const struct schema_key *key = keys; key->name; key++) {
		const void *field = (const char *)map + key->offset;

		switch (key->type) {
		case SCHEMA_MAP:
			json_object_open(j, key->name);
			map_put(j, key->children, field);
			json_object_close(j);
			break;
		case SCHEMA_INT:
			json_int(j, key->name, value_int_get(key, map));
			break;
		case SCHEMA_BOOL:
			json_bool(j, key->name, *(const bool *)field);
			break;
		case SCHEMA_ENUM:
			json_str(j, key->name, key->words[value_int_get(key, map)]);
			break;
		case SCHEMA_TEXT:
			json_str(j, key->name, field);
			break;
		case SCHEMA_ADDR:
			addr_put(j, key->name, field);
			break;
		case SCHEMA_LIST:
		case SCHEMA_FLAGS:
		case SCHEMA_TEXTS:
		case SCHEMA_PREFIXES:
		case SCHEMA_CPUS:
			list_put(j, key, map);
			break;
		}
	}
}

static void text_put(struct reply *r, const struct config *config)
{
	char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);

	if (file)
		config_show(config, file);
	if (!file || fclose(file) != 0)
		r->out.failed = true;
	else
		reply_lines(r, text);
	free(text);
}

bool cmd_show_config(struct call *call)
{
	const struct config *config = call->view->config;
	struct reply *r = &call->reply;

	if (r->form == REPLY_JSON) {
		json_object_open(&r->json, NULL);
		if (config)
			map_put(&r->json, schema_top, config);
		json_object_close(&r->json);
	} else if (config) {
		text_put(r, config);
	}
	return true;
}
