// One value of the configuration, see value.h. Control thread.
//
// A function for each type of the schema reads its text, and one prints it; messages say what was
// found and what would do, and quote it with care, since it may be anything.

#include "config/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/near.h"

#define CPU_MAX 1023 // what CPU_SETSIZE allows

static int value_refuse(char why[VALUE_WHY_LEN], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int value_refuse(char why[VALUE_WHY_LEN], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, VALUE_WHY_LEN, fmt, args);
	va_end(args);
	return -EINVAL;
}

const char *value_quoted(char buf[VALUE_QUOTED_LEN], const char *text)
{
	size_t n = 0, room = VALUE_QUOTED_LEN - 6; // quotes, dots and NUL

	buf[n++] = '"';
	for (; *text && n < room; text++)
		buf[n++] = isprint((unsigned char)*text) ? *text : '?';
	strcpy(buf + n, *text ? "...\"" : "\"");
	return buf;
}

bool value_is_list(const struct schema_key *key)
{
	return key->type == SCHEMA_FLAGS || key->type == SCHEMA_TEXTS ||
	       key->type == SCHEMA_PREFIXES || key->type == SCHEMA_CPUS;
}

static void *value_field(const struct schema_key *key, void *map)
{
	return (char *)map + key->offset;
}

static const void *value_field_const(const struct schema_key *key, const void *map)
{
	return (const char *)map + key->offset;
}

int64_t value_int_get(const struct schema_key *key, const void *map)
{
	uint32_t n;

	memcpy(&n, value_field_const(key, map), sizeof(n));
	return key->min < 0 ? (int64_t)(int32_t)n : (int64_t)n;
}

static void value_u32_set(const struct schema_key *key, void *map, uint32_t n)
{
	memcpy(value_field(key, map), &n, sizeof(n));
}

uint32_t value_count(const struct schema_key *key, const void *map)
{
	uint32_t n;

	memcpy(&n, (const char *)map + key->n_offset, sizeof(n));
	return n;
}

// Appends an element to a list; false when it is full.
static bool value_append(const struct schema_key *key, void *map, const void *item)
{
	uint32_t n = value_count(key, map);

	if (n >= key->n_max)
		return false;
	memcpy((char *)value_field(key, map) + n * key->item_size, item, key->item_size);
	n++;
	memcpy((char *)map + key->n_offset, &n, sizeof(n));
	return true;
}

// A decimal number without sign tricks, spaces or leading zeros; false for anything else.
static bool value_number(const char *text, int64_t *ret_n)
{
	const char *digits = *text == '-' ? text + 1 : text;
	size_t n = strspn(digits, "0123456789");

	if (n == 0 || n > 18 || digits[n] != '\0' || (digits[0] == '0' && n > 1))
		return false;
	*ret_n = strtoll(text, NULL, 10);
	return true;
}

static int value_int_set(const struct schema_key *key, void *map, const char *text, char *why)
{
	char quoted[VALUE_QUOTED_LEN];
	int64_t n;

	if (!value_number(text, &n))
		return value_refuse(why, "%s is not a whole number", value_quoted(quoted, text));
	if (n < key->min || n > key->max)
		return value_refuse(why, "%" PRId64 " is not in %" PRId64 "..%" PRId64, n, key->min,
				    key->max);
	if (key->pow2 && (n & (n - 1)) != 0)
		return value_refuse(why, "%" PRId64 " is not a power of two", n);
	value_u32_set(key, map, (uint32_t)n);
	return 0;
}

static int value_bool_set(const struct schema_key *key, void *map, const char *text, char *why)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
	char quoted[VALUE_QUOTED_LEN];

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*(bool *)value_field(key, map) = i & 1;
			return 0;
		}
	}
	return value_refuse(why, "%s is neither true nor false", value_quoted(quoted, text));
}

// The index of text in the row's words, or -EINVAL with the words, and the one that was meant.
static int value_word(const struct schema_key *key, const char *text, char *why)
{
	char list[100] = "", quoted[VALUE_QUOTED_LEN];
	struct near near;

	near_init(&near, text);
	for (int i = 0; key->words[i]; i++) {
		size_t n = strlen(list);

		if (strcmp(text, key->words[i]) == 0)
			return i;
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", key->words[i]);
		near_offer(&near, key->words[i]);
	}
	value_quoted(quoted, text);
	if (near_best(&near))
		return value_refuse(why, "%s is not one of %s; did you mean \"%s\"?", quoted, list,
				    near_best(&near));
	return value_refuse(why, "%s is not one of %s", quoted, list);
}

static int value_enum_set(const struct schema_key *key, void *map, const char *text, char *why)
{
	int word = value_word(key, text, why);

	if (word < 0)
		return word;
	value_u32_set(key, map, (uint32_t)word);
	return 0;
}

static int value_flags_set(const struct schema_key *key, void *map, const char *text, char *why)
{
	int word = value_word(key, text, why);
	uint32_t bit, flags = (uint32_t)value_int_get(key, map);

	if (word < 0)
		return word;
	bit = 1u << word;
	if (flags & bit)
		return value_refuse(why, "\"%s\" is named twice", text);
	value_u32_set(key, map, flags | bit);
	return 0;
}

// Whether the text fits into `size` bytes and is what the row wants.
static int value_text_check(const struct schema_key *key, const char *text, uint32_t size,
			    char *why)
{
	char quoted[VALUE_QUOTED_LEN];
	const char *complaint;
	size_t n = strlen(text);

	value_quoted(quoted, text);
	if (n >= size)
		return value_refuse(why, "%s is longer than %u characters", quoted, size - 1);
	for (size_t i = 0; i < n; i++) {
		if (text[i] < 0x20 || text[i] > 0x7e)
			return value_refuse(why, "%s is not printable ASCII", quoted);
	}
	complaint = key->check ? key->check(text) : NULL;
	if (complaint)
		return value_refuse(why, "%s %s", quoted, complaint);
	return 0;
}

static int value_text_set(const struct schema_key *key, void *map, const char *text, char *why)
{
	if (value_text_check(key, text, key->size, why) < 0)
		return -EINVAL;
	memset(value_field(key, map), 0, key->size);
	memcpy(value_field(key, map), text, strlen(text));
	return 0;
}

static int value_text_add(const struct schema_key *key, void *map, const char *text, char *why)
{
	uint32_t n = value_count(key, map);

	if (value_text_check(key, text, key->item_size, why) < 0)
		return -EINVAL;
	if (n >= key->n_max)
		return value_refuse(why, "more than %d", key->n_max);
	strcpy((char *)value_field(key, map) + n * key->item_size, text); // checked to fit
	n++;
	memcpy((char *)map + key->n_offset, &n, sizeof(n));
	return 0;
}

static int value_addr_set(const struct schema_key *key, void *map, const char *text, char *why)
{
	const char *kind = key->family == ADDR_V4   ? "an IPv4"
			   : key->family == ADDR_V6 ? "an IPv6"
						    : "an IP";
	char quoted[VALUE_QUOTED_LEN];
	struct addr addr;

	if (addr_parse(text, &addr) < 0 || (key->family && addr.family != key->family))
		return value_refuse(why, "%s is not %s address", value_quoted(quoted, text), kind);
	memcpy(value_field(key, map), &addr, sizeof(addr));
	return 0;
}

static int value_prefix_add(const struct schema_key *key, void *map, const char *text, char *why)
{
	char quoted[VALUE_QUOTED_LEN], net[PREFIX_STRLEN];
	struct prefix prefix;

	value_quoted(quoted, text);
	if (key->whole && (strchr(text, '/') || prefix_parse(text, &prefix) < 0))
		return value_refuse(why, "%s is not an IP address", quoted);
	if (prefix_parse(text, &prefix) < 0)
		return value_refuse(why, "%s is not an address with a prefix length", quoted);
	if (key->need_len && strchr(text, '/') == NULL)
		return value_refuse(why, "%s needs a prefix length, such as %s/%d", quoted, text,
				    prefix.addr.family == ADDR_V4 ? 24 : 64);
	if (key->need_network && !prefix_is_network(&prefix)) {
		prefix.addr = addr_mask(&prefix.addr, prefix.len);
		return value_refuse(why, "%s has bits beyond its length; did you mean %s?", quoted,
				    prefix_str(net, &prefix));
	}
	if (!value_append(key, map, &prefix))
		return value_refuse(why, "more than %d", key->n_max);
	return 0;
}

// "7", or "2-5": first and last.
static bool value_cpu_range(const char *text, int64_t *ret_first, int64_t *ret_last)
{
	const char *dash = strchr(text, '-');
	char first[8];
	size_t n = dash ? (size_t)(dash - text) : strlen(text);

	if (n == 0 || n >= sizeof(first))
		return false;
	memcpy(first, text, n);
	first[n] = '\0';
	if (!value_number(first, ret_first))
		return false;
	*ret_last = *ret_first;
	return dash == NULL || (value_number(dash + 1, ret_last) && *ret_last >= *ret_first);
}

static bool value_has_cpu(const struct schema_key *key, const void *map, uint16_t cpu)
{
	const uint16_t *cpus = value_field_const(key, map);

	for (uint32_t i = 0; i < value_count(key, map); i++) {
		if (cpus[i] == cpu)
			return true;
	}
	return false;
}

static int value_cpus_add(const struct schema_key *key, void *map, const char *text, char *why)
{
	char quoted[VALUE_QUOTED_LEN];
	int64_t first, last;

	if (!value_cpu_range(text, &first, &last))
		return value_refuse(why, "%s is neither a CPU's number nor a range such as 2-5",
				    value_quoted(quoted, text));
	if (last > CPU_MAX)
		return value_refuse(why, "CPU %" PRId64 " is not in 0..%d", last, CPU_MAX);
	if (value_count(key, map) + (uint64_t)(last - first) + 1 > key->n_max)
		return value_refuse(why, "more than %d CPUs", key->n_max);
	for (uint16_t cpu = (uint16_t)first; cpu <= last; cpu++) {
		if (value_has_cpu(key, map, cpu))
			return value_refuse(why, "CPU %u is named twice", cpu);
	}
	for (uint16_t cpu = (uint16_t)first; cpu <= last; cpu++)
		value_append(key, map, &cpu);
	return 0;
}

int value_set(const struct schema_key *key, void *map, const char *text, char why[VALUE_WHY_LEN])
{
	switch (key->type) {
	case SCHEMA_INT:
		return value_int_set(key, map, text, why);
	case SCHEMA_BOOL:
		return value_bool_set(key, map, text, why);
	case SCHEMA_ENUM:
		return value_enum_set(key, map, text, why);
	case SCHEMA_FLAGS:
		return value_flags_set(key, map, text, why);
	case SCHEMA_TEXT:
		return value_text_set(key, map, text, why);
	case SCHEMA_TEXTS:
		return value_text_add(key, map, text, why);
	case SCHEMA_ADDR:
		return value_addr_set(key, map, text, why);
	case SCHEMA_PREFIXES:
		return value_prefix_add(key, map, text, why);
	case SCHEMA_CPUS:
		return value_cpus_add(key, map, text, why);
	case SCHEMA_MAP:
	case SCHEMA_LIST:
		break;
	}
	return value_refuse(why, "takes no single value");
}

// Plain where any YAML reader takes it for a text, else in double quotes.
static void value_text_print(const char *text, FILE *out)
{
	static const char *const others[] = {"null", "true", "false", "yes", "no", "on", "off"};
	bool plain = isalpha((unsigned char)*text) || *text == '/';

	for (const char *c = text; *c; c++)
		plain &= isalnum((unsigned char)*c) || strchr("_-./", *c);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		plain &= strcmp(text, others[i]) != 0;
	if (plain) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (const char *c = text; *c; c++)
		fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	fputc('"', out);
}

// An IPv6 address may begin or end with a colon, which YAML reads otherwise.
static void value_addr_print(const char *text, uint8_t family, FILE *out)
{
	fprintf(out, family == ADDR_V6 ? "\"%s\"" : "%s", text);
}

static void value_list_print(const struct schema_key *key, const void *map, FILE *out)
{
	const char *comma = "";

	fputc('[', out);
	if (key->type == SCHEMA_FLAGS) {
		for (unsigned i = 0; key->words[i]; i++) {
			if ((value_int_get(key, map) >> i & 1) == 0)
				continue;
			fprintf(out, "%s%s", comma, key->words[i]);
			comma = ", ";
		}
		fputc(']', out);
		return;
	}
	for (uint32_t i = 0; i < value_count(key, map); i++, comma = ", ") {
		const void *item = (const char *)value_field_const(key, map) + i * key->item_size;
		char buf[PREFIX_STRLEN];

		fputs(comma, out);
		if (key->type == SCHEMA_CPUS)
			fprintf(out, "%u", *(const uint16_t *)item);
		else if (key->type == SCHEMA_TEXTS)
			value_text_print(item, out);
		else
			value_addr_print(key->whole ? addr_str(buf, item) : prefix_str(buf, item),
					 ((const struct prefix *)item)->addr.family, out);
	}
	fputc(']', out);
}

void value_print(const struct schema_key *key, const void *map, FILE *out)
{
	const void *field = value_field_const(key, map);
	char buf[ADDR_STRLEN];

	if (value_is_list(key))
		value_list_print(key, map, out);
	else if (key->type == SCHEMA_INT)
		fprintf(out, "%" PRId64, value_int_get(key, map));
	else if (key->type == SCHEMA_BOOL)
		fputs(*(const bool *)field ? "true" : "false", out);
	else if (key->type == SCHEMA_ENUM)
		fputs(key->words[value_int_get(key, map)], out);
	else if (key->type == SCHEMA_TEXT)
		value_text_print(field, out);
	else if (key->type == SCHEMA_ADDR)
		value_addr_print(addr_str(buf, field), ((const struct addr *)field)->family, out);
}

void value_kinds_print(const struct schema_key *key, FILE *out)
{
	const char *before = "One of ";

	switch (key->type) {
	case SCHEMA_INT:
		fprintf(out, "%" PRId64 "..%" PRId64, key->min, key->max);
		fputs(key->pow2 ? ", a power of two" : "", out);
		break;
	case SCHEMA_FLAGS:
		before = "Any of ";
		// fall through
	case SCHEMA_ENUM:
		for (unsigned i = 0; key->words[i]; i++, before = ", ")
			fprintf(out, "%s%s", before, key->words[i]);
		break;
	case SCHEMA_BOOL:
		fputs("true or false", out);
		break;
	case SCHEMA_TEXTS:
	case SCHEMA_PREFIXES:
	case SCHEMA_CPUS:
	case SCHEMA_LIST:
		fprintf(out, "At most %d", key->n_max);
		break;
	case SCHEMA_TEXT:
	case SCHEMA_ADDR:
	case SCHEMA_MAP:
		break;
	}
}
