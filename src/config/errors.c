// The list of what is wrong with a configuration file, in the file's order.
//
// Reading and checking note errors as they find them; each goes to its place by line and column,
// and what does not fit is counted. Control thread, at start.

#include <stdarg.h>
#include <string.h>

#include "config/load.h"

static int error_order(const struct config_error *e, uint32_t line, uint32_t column)
{
	if (e->line != line)
		return e->line < line ? -1 : 1;
	return e->column < column ? -1 : e->column > column;
}

// Makes room in the file's order; NULL when the list is full of earlier ones.
static struct config_error *error_insert(struct config_errors *errs, uint32_t line, uint32_t column)
{
	uint32_t at = errs->n;

	errs->total++;
	while (at > 0 && error_order(&errs->list[at - 1], line, column) > 0)
		at--;
	if (at == CONFIG_ERRORS_MAX)
		return NULL;
	if (errs->n < CONFIG_ERRORS_MAX)
		errs->n++;
	memmove(&errs->list[at + 1], &errs->list[at], (errs->n - at - 1) * sizeof(errs->list[0]));
	errs->list[at] = (struct config_error){.line = line, .column = column};
	return &errs->list[at];
}

static void error_vadd(struct load *l, uint32_t line, uint32_t column, const char *path,
		       const char *fmt, va_list args)
{
	struct config_error *e = error_insert(l->errs, line, column);
	char place[32] = "";
	int n;

	if (e == NULL)
		return;
	if (line)
		snprintf(place, sizeof(place), ":%u:%u", line, column);
	n = snprintf(e->text, sizeof(e->text), "%.100s%s: %s%s", l->name, place, path,
		     *path ? ": " : "");
	if (n > 0 && (size_t)n < sizeof(e->text))
		vsnprintf(e->text + n, sizeof(e->text) - (size_t)n, fmt, args);
}

void load_error(struct load *l, uint32_t line, uint32_t column, const char *path, const char *fmt,
		...)
{
	va_list args;

	va_start(args, fmt);
	error_vadd(l, line, column, path, fmt, args);
	va_end(args);
}

// The last mark of a field: a struct's first member stands at the struct's own address, and is
// noted after it.
static const struct load_mark *load_mark_lookup(const struct load *l, const void *field)
{
	for (size_t i = l->n_marks; i > 0; i--) {
		if (l->marks[i - 1].field == field)
			return &l->marks[i - 1];
	}
	return NULL;
}

bool load_is_set(const struct load *l, const void *field)
{
	return load_mark_lookup(l, field) != NULL;
}

void load_error_at(struct load *l, const void *field, const char *path, const char *fmt, ...)
{
	const struct load_mark *mark = load_mark_lookup(l, field);
	va_list args;

	va_start(args, fmt);
	if (mark)
		error_vadd(l, mark->line, mark->column, mark->path, fmt, args);
	else
		error_vadd(l, 0, 0, path, fmt, args);
	va_end(args);
}

void config_errors_print(const struct config_errors *errs, FILE *out)
{
	for (uint32_t i = 0; i < errs->n; i++)
		fprintf(out, "%s\n", errs->list[i].text);
	if (errs->total > errs->n)
		fprintf(out, "and %u more\n", errs->total - errs->n);
}
