// Reading a command line by an engine's table, and its help. See options.h.
// Runs once, at start.

#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"

#define WORD_MAX 256

// Digits only, up to `max`.
static bool number_read(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *ret >= min && *ret <= max;
}

static bool decimal_read(const char *text, const struct option_row *row, double *ret)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*ret = strtod(text, &end);
	return *end == '\0' && *ret >= (double)row->min && *ret <= (double)row->max;
}

static bool word_read(const char *word, const struct option_row *row, uint32_t *bits)
{
	for (unsigned i = 0; i < OPTIONS_WORDS_MAX && row->words[i]; i++)
		if (strcmp(row->words[i], word) == 0) {
			*bits |= 1u << i;
			return true;
		}
	return false;
}

// Each of the words between commas.
static bool list_read(const char *text, const struct option_row *row, void *to)
{
	struct number_list *numbers = to;
	char copy[WORD_MAX];
	char *save = NULL;

	if (strlen(text) >= sizeof(copy) || *text == '\0')
		return false;
	strcpy(copy, text);
	if (row->kind == OPTION_WORDS)
		*(uint32_t *)to = 0;
	else
		numbers->n = 0;
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (row->kind == OPTION_WORDS) {
			if (!word_read(word, row, to))
				return false;
		} else if (numbers->n == OPTIONS_LIST_MAX ||
			   !number_read(word, row->min, row->max, &numbers->at[numbers->n++])) {
			return false;
		}
	}
	return row->kind == OPTION_WORDS ? *(uint32_t *)to != 0 : numbers->n > 0;
}

static bool addr_read(const char *text, unsigned family, struct addr *ret)
{
	return addr_parse(text, ret) == 0 && ret->family == family;
}

static bool value_read(const struct option_row *row, const char *text, void *to)
{
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)to = true;
		return true;
	case OPTION_NUMBER:
		return number_read(text, row->min, row->max, to);
	case OPTION_DECIMAL:
		return decimal_read(text, row, to);
	case OPTION_TEXT:
		*(const char **)to = text;
		return *text != '\0';
	case OPTION_ADDR:
		return addr_read(text, ADDR_V4, to);
	case OPTION_ADDR6:
		return addr_read(text, ADDR_V6, to);
	case OPTION_NUMBERS:
	case OPTION_WORDS:
		return list_read(text, row, to);
	}
	return false;
}

static void range_print(const struct option_row *row, FILE *to)
{
	if (row->kind == OPTION_NUMBER || row->kind == OPTION_NUMBERS ||
	    row->kind == OPTION_DECIMAL)
		fprintf(to, " %llu..%llu", (unsigned long long)row->min,
			(unsigned long long)row->max);
	for (unsigned i = 0; i < OPTIONS_WORDS_MAX && row->words[i]; i++)
		fprintf(to, "%s%s", i ? ", " : " ", row->words[i]);
}

static void row_help(const struct option_row *row)
{
	char name[64];

	snprintf(name, sizeof(name), "--%s %s", row->name, row->operand ? row->operand : "");
	printf("  %-26s %s", name, row->help);
	if (row->words[0] || row->min || row->max) {
		printf(" [");
		range_print(row, stdout);
		printf(" ]");
	}
	printf(row->def ? " (%s)\n" : "\n", row->def);
}

static void help_print(const struct option_table *tables, unsigned n, const char *usage)
{
	printf("usage: sluice-perf %s\n", usage);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < tables[i].n; k++)
			row_help(&tables[i].rows[k]);
}

// The row of this name, and where its value goes.
static const struct option_row *row_lookup(const struct option_table *tables, unsigned n,
					   const char *word, size_t len, void **ret_to)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < tables[i].n; k++) {
			const struct option_row *row = &tables[i].rows[k];

			if (strlen(row->name) != len || memcmp(row->name, word, len) != 0)
				continue;
			*ret_to = (char *)tables[i].to + row->offset;
			return row;
		}
	return NULL;
}

static int unknown(const struct option_table *tables, unsigned n, const char *word)
{
	struct near near;

	near_init(&near, word);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < tables[i].n; k++)
			near_offer(&near, tables[i].rows[k].name);
	fprintf(stderr, "sluice-perf: no option \"%s\"", word);
	if (near_best(&near))
		fprintf(stderr, ", did you mean --%s?", near_best(&near));
	fputc('\n', stderr);
	return -EINVAL;
}

static int wrong(const struct option_row *row, const char *text)
{
	fprintf(stderr, "sluice-perf: --%s does not take \"%s\":", row->name, text);
	range_print(row, stderr);
	fprintf(stderr, " %s\n", row->help);
	return -EINVAL;
}

static void defaults_set(const struct option_table *table)
{
	for (unsigned i = 0; i < table->n; i++)
		if (table->rows[i].def)
			value_read(&table->rows[i], table->rows[i].def,
				   (char *)table->to + table->rows[i].offset);
}

int options_parse(const struct option_table *tables, unsigned n, const char *usage, int argc,
		  char **argv)
{
	for (unsigned i = 0; i < n; i++)
		defaults_set(&tables[i]);
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *value = "";
		const struct option_row *row;
		size_t len;
		void *to;

		if (strcmp(word, "--help") == 0) {
			help_print(tables, n, usage);
			return 1;
		}
		if (strncmp(word, "--", 2) != 0)
			return unknown(tables, n, word);
		len = strcspn(word + 2, "=");
		row = row_lookup(tables, n, word + 2, len, &to);
		if (!row)
			return unknown(tables, n, word + 2);
		if (word[2 + len] == '=' && row->kind != OPTION_FLAG)
			value = word + 2 + len + 1;
		else if (word[2 + len] == '=')
			return wrong(row, word + 2 + len + 1);
		else if (row->kind != OPTION_FLAG && i + 1 < argc)
			value = argv[++i];
		if (!value_read(row, value, to))
			return wrong(row, value);
	}
	return 0;
}
