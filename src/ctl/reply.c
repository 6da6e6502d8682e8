// Replies: one description, two forms (reply.h). Control thread.
//
// In text, fields of an object are rows of a block with two columns and a table is a block of its
// own. A block is gathered as cells and written out when something else begins, since only then
// the widths of its columns are known.

#include "ctl/reply.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 24
#define INDENT 2

// The first byte of a cell: how it stands in its column.
#define CELL_LEFT 'l'
#define CELL_RIGHT 'r'

void reply_init(struct reply *r, enum reply_form form)
{
	*r = (struct reply){.form = form};
	json_init(&r->json, &r->out);
}

void reply_fini(struct reply *r)
{
	strbuf_fini(&r->out);
	strbuf_fini(&r->cells);
	strbuf_fini(&r->list);
}

static bool is_json(const struct reply *r)
{
	return r->form == REPLY_JSON;
}

static enum reply_level kind(const struct reply *r)
{
	return r->levels[r->depth].kind;
}

static void push(struct reply *r, enum reply_level kind, bool indented)
{
	assert(r->depth + 1 < REPLY_DEPTH_MAX);
	r->depth++;
	r->levels[r->depth].kind = kind;
	r->levels[r->depth].indented = indented;
	r->levels[r->depth].begun = false;
	r->indent += indented;
}

static void pop(struct reply *r, enum reply_level kind)
{
	assert(r->depth > 0 && r->levels[r->depth].kind == kind);
	r->indent -= r->levels[r->depth].indented;
	r->depth--;
}

// --- text: cells and blocks ---

static void cell_add(struct reply *r, char align, const char *text, bool capitals)
{
	strbuf_add_char(&r->cells, align);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c > 0x7e)
			strbuf_printf(&r->cells, "\\x%02x", c);
		else
			strbuf_add_char(&r->cells, capitals ? (char)toupper(c) : *text);
	}
	strbuf_add_char(&r->cells, '\0');
	r->n_cells++;
}

struct cell {
	char align;
	const char *text;
	size_t len;
};

static struct cell cell_next(const char **at)
{
	struct cell cell = {.align = **at, .text = *at + 1, .len = strlen(*at + 1)};

	*at = cell.text + cell.len + 1;
	return cell;
}

static void cell_write(struct reply *r, const struct cell *cell, size_t width, bool right,
		       bool last)
{
	int pad = (int)(width - cell->len);

	strbuf_printf(&r->out, "%*s", right ? pad : 0, "");
	strbuf_add(&r->out, cell->text, cell->len);
	if (last)
		strbuf_add_char(&r->out, '\n');
	else
		strbuf_printf(&r->out, "%*s", 2 + (right ? 0 : pad), "");
}

static void indent(struct reply *r)
{
	strbuf_printf(&r->out, "%*s", (int)(r->indent * INDENT), "");
}

// Writes the rows out, each column as wide as its widest cell. One with a number in it stands to the
// right, heading and all.
static void block_flush(struct reply *r)
{
	size_t widths[COLUMNS_MAX] = {0};
	bool right[COLUMNS_MAX] = {false};
	unsigned n = r->cells.failed ? 0 : r->n_cells;
	const char *at = strbuf_text(&r->cells);

	for (unsigned i = 0; i < n; i++) {
		struct cell cell = cell_next(&at);
		unsigned column = i % r->n_columns;

		if (cell.len > widths[column])
			widths[column] = cell.len;
		right[column] |= cell.align == CELL_RIGHT;
	}
	at = strbuf_text(&r->cells);
	for (unsigned i = 0; i < n; i++) {
		struct cell cell = cell_next(&at);
		unsigned column = i % r->n_columns;

		if (column == 0)
			indent(r);
		cell_write(r, &cell, widths[column], right[column], column + 1 == r->n_columns);
	}
	r->out.failed |= r->cells.failed;
	strbuf_clear(&r->cells);
	r->n_cells = 0;
}

static void block_begin(struct reply *r, unsigned n_columns)
{
	assert(n_columns > 0 && n_columns <= COLUMNS_MAX);
	if (r->apart)
		strbuf_add_char(&r->out, '\n');
	r->apart = false;
	r->n_columns = n_columns;
}

// A group has its name above it, but for the first thing of an answer, which the command has named.
static void group_open(struct reply *r, enum reply_level kind, const char *key)
{
	bool named;

	block_flush(r);
	named = key != NULL && r->out.len > 0;
	if (named) {
		if (r->indent == 0)
			strbuf_add_char(&r->out, '\n');
		indent(r);
		strbuf_printf(&r->out, "%s:\n", key);
		r->apart = false;
	}
	push(r, kind, named);
}

static void group_close(struct reply *r, enum reply_level kind, bool empty)
{
	block_flush(r);
	if (empty) {
		indent(r);
		strbuf_add_str(&r->out, "none\n");
	}
	pop(r, kind);
	r->apart = r->indent == 0;
}

// --- groups ---

static void member_begin(struct reply *r)
{
	if (kind(r) != REPLY_ARRAY)
		return;
	if (r->levels[r->depth].begun && !is_json(r))
		strbuf_add_char(&r->out, '\n');
	r->apart = false;
	r->levels[r->depth].begun = true;
}

void reply_object_open(struct reply *r, const char *key)
{
	member_begin(r);
	if (is_json(r)) {
		json_object_open(&r->json, key);
		push(r, REPLY_OBJECT, false);
	} else {
		group_open(r, REPLY_OBJECT, key);
	}
}

void reply_object_close(struct reply *r)
{
	if (is_json(r)) {
		json_object_close(&r->json);
		pop(r, REPLY_OBJECT);
	} else {
		group_close(r, REPLY_OBJECT, false);
	}
}

void reply_array_open(struct reply *r, const char *key)
{
	if (is_json(r)) {
		json_array_open(&r->json, key);
		push(r, REPLY_ARRAY, false);
	} else {
		group_open(r, REPLY_ARRAY, key);
	}
}

void reply_array_close(struct reply *r)
{
	bool empty = !r->levels[r->depth].begun;

	if (is_json(r)) {
		json_array_close(&r->json);
		pop(r, REPLY_ARRAY);
	} else {
		group_close(r, REPLY_ARRAY, empty);
	}
}

void reply_table_open(struct reply *r, const char *key, const char *const *columns)
{
	unsigned n = 0;

	assert(kind(r) == REPLY_OBJECT);
	r->columns = columns;
	if (is_json(r)) {
		json_array_open(&r->json, key);
		push(r, REPLY_TABLE, false);
		return;
	}
	group_open(r, REPLY_TABLE, key);
	while (columns[n])
		n++;
	block_begin(r, n);
	for (unsigned i = 0; i < n; i++)
		cell_add(r, CELL_LEFT, columns[i], true);
}

// The row so far has a value for each column.
static void row_end(struct reply *r)
{
	if (is_json(r) && r->levels[r->depth].begun) {
		assert(r->columns[r->column] == NULL);
		json_object_close(&r->json);
	} else if (!is_json(r)) {
		assert(r->n_cells % r->n_columns == 0);
	}
}

void reply_row(struct reply *r)
{
	assert(kind(r) == REPLY_TABLE);
	row_end(r);
	r->levels[r->depth].begun = true;
	r->column = 0;
	if (is_json(r))
		json_object_open(&r->json, NULL);
}

void reply_table_close(struct reply *r)
{
	bool empty = !r->levels[r->depth].begun;

	row_end(r);
	if (is_json(r)) {
		json_array_close(&r->json);
		pop(r, REPLY_TABLE);
		return;
	}
	if (empty) { // then without its heading
		strbuf_clear(&r->cells);
		r->n_cells = 0;
	}
	group_close(r, REPLY_TABLE, empty);
}

void reply_counts_open(struct reply *r, const char *key)
{
	if (is_json(r)) {
		json_object_open(&r->json, key);
		push(r, REPLY_COUNTS, false);
	} else {
		group_open(r, REPLY_COUNTS, key);
		block_begin(r, 3);
	}
}

void reply_count(struct reply *r, const char *name, uint64_t n, const char *help)
{
	char text[24];

	assert(kind(r) == REPLY_COUNTS);
	if (is_json(r)) {
		json_uint(&r->json, name, n);
	} else if (n > 0) {
		snprintf(text, sizeof(text), "%" PRIu64, n);
		cell_add(r, CELL_LEFT, name, false);
		cell_add(r, CELL_RIGHT, text, false);
		cell_add(r, CELL_LEFT, help, false);
	}
}

void reply_counts_close(struct reply *r)
{
	if (is_json(r)) {
		json_object_close(&r->json);
		pop(r, REPLY_COUNTS);
	} else {
		group_close(r, REPLY_COUNTS, r->n_cells == 0);
	}
}

// --- values ---

// The name of the next value: a row's are its columns, in order.
static const char *key_next(struct reply *r, const char *key)
{
	assert((key != NULL) == (kind(r) == REPLY_OBJECT));
	if (kind(r) != REPLY_TABLE)
		return key;
	assert(r->columns[r->column]);
	return r->columns[r->column++];
}

static void value_add(struct reply *r, const char *key, char align, const char *text)
{
	if (kind(r) == REPLY_LIST) {
		strbuf_printf(&r->list, "%s%s", r->list.len ? ", " : "", text);
		return;
	}
	assert((key != NULL) == (kind(r) == REPLY_OBJECT));
	if (key) {
		if (r->n_cells == 0)
			block_begin(r, 2);
		cell_add(r, CELL_LEFT, key, false);
		align = CELL_LEFT;
	}
	cell_add(r, align, *text ? text : "-", false);
}

static void value_printf(struct reply *r, const char *key, char align, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void value_printf(struct reply *r, const char *key, char align, const char *fmt, ...)
{
	char text[64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	value_add(r, key, align, text);
}

void reply_list_open(struct reply *r, const char *key)
{
	if (is_json(r)) {
		json_array_open(&r->json, key_next(r, key));
		push(r, REPLY_LIST, false);
		return;
	}
	// The key's cell stands before what the list is put together in.
	if (key) {
		if (r->n_cells == 0)
			block_begin(r, 2);
		cell_add(r, CELL_LEFT, key, false);
	}
	push(r, REPLY_LIST, false);
}

void reply_list_close(struct reply *r)
{
	pop(r, REPLY_LIST);
	if (is_json(r)) {
		json_array_close(&r->json);
		return;
	}
	cell_add(r, CELL_LEFT, r->list.len ? strbuf_text(&r->list) : "-", false);
	r->cells.failed |= r->list.failed;
	strbuf_clear(&r->list);
}

void reply_str(struct reply *r, const char *key, const char *text)
{
	if (is_json(r))
		json_str(&r->json, key_next(r, key), text);
	else
		value_add(r, key, CELL_LEFT, text ? text : "");
}

void reply_printf(struct reply *r, const char *key, const char *fmt, ...)
{
	struct strbuf s = {0};
	va_list args;

	va_start(args, fmt);
	strbuf_vprintf(&s, fmt, args);
	va_end(args);
	reply_str(r, key, strbuf_text(&s));
	r->out.failed |= s.failed;
	strbuf_fini(&s);
}

void reply_uint(struct reply *r, const char *key, uint64_t n)
{
	if (is_json(r))
		json_uint(&r->json, key_next(r, key), n);
	else
		value_printf(r, key, CELL_RIGHT, "%" PRIu64, n);
}

void reply_uint_if(struct reply *r, const char *key, bool given, uint64_t n)
{
	if (given)
		reply_uint(r, key, n);
	else
		reply_null(r, key);
}

void reply_double(struct reply *r, const char *key, double n)
{
	if (is_json(r))
		json_double(&r->json, key_next(r, key), n);
	else
		value_printf(r, key, CELL_RIGHT, "%.1f", n);
}

void reply_bool(struct reply *r, const char *key, bool b)
{
	if (is_json(r))
		json_bool(&r->json, key_next(r, key), b);
	else
		value_add(r, key, CELL_LEFT, b ? "yes" : "no");
}

void reply_null(struct reply *r, const char *key)
{
	reply_str(r, key, NULL);
}

void reply_seid(struct reply *r, const char *key, uint64_t seid)
{
	reply_printf(r, key, "0x%016" PRIx64, seid);
}

void reply_lines(struct reply *r, const char *text)
{
	assert(!is_json(r));
	block_flush(r);
	strbuf_add_str(&r->out, text);
}

// --- the end ---

static void reply_restart(struct reply *r, enum ctl_status status)
{
	enum reply_form form = r->form;

	reply_fini(r);
	reply_init(r, form);
	r->status = status;
}

static void reason_write(struct reply *r, const char *reason)
{
	reply_restart(r, r->status);
	if (is_json(r)) {
		json_object_open(&r->json, NULL);
		json_str(&r->json, "error", reason);
		json_object_close(&r->json);
	} else {
		r->n_columns = 1;
		cell_add(r, CELL_LEFT, reason, false);
	}
}

void reply_fail(struct reply *r, enum ctl_status status, const char *fmt, ...)
{
	char reason[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	r->status = status;
	reason_write(r, reason);
}

void reply_finish(struct reply *r)
{
	if (is_json(r)) {
		assert(json_is_complete(&r->json));
		strbuf_add_char(&r->out, '\n');
	} else {
		block_flush(r);
	}
	if (r->out.failed) {
		static const char *const reasons[] = {
			[REPLY_TEXT] = "out of memory\n",
			[REPLY_JSON] = "{\"error\":\"out of memory\"}\n",
		};

		reply_restart(r, CTL_FAILED);
		strbuf_add_str(&r->out, reasons[r->form]);
	}
}
