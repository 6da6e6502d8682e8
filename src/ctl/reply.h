// What a command answers, described once: aligned text for people, or JSON for programs.
//
// A handler opens objects and tables and puts values in them; the reply writes JSON as it goes, or
// gathers rows until it knows how wide their columns are. Both forms have the same words: a key of
// JSON is the name of a line in text, or the heading of a column, in capitals. Text that is not printable ASCII comes out as \xNN, so that no peer can
// drive a terminal. Owned by one thread; without memory it says so at the end (reply_finish).
//
//	static const char *const columns[] = {"worker", "rx", NULL};
//
//	reply_object_open(r, NULL);
//	reply_table_open(r, "workers", columns);
//	for (each worker) {
//		reply_row(r);
//		reply_uint(r, NULL, id);
//		reply_uint(r, NULL, rx);
//	}
//	reply_table_close(r);
//	reply_object_close(r);

#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "sluice/ctl.h"

enum reply_form {
	REPLY_TEXT,
	REPLY_JSON,
};

enum reply_level {
	REPLY_TOP,
	REPLY_OBJECT,
	REPLY_ARRAY,
	REPLY_TABLE,
	REPLY_COUNTS,
	REPLY_LIST,
};

#define REPLY_DEPTH_MAX 8

struct reply {
	enum reply_form form;
	enum ctl_status status;
	struct strbuf out; // the answer
	struct json json;
	unsigned depth;
	struct {
		enum reply_level kind;
		bool indented; // text: its members stand further to the right
		bool begun;    // an array has a member, a table a row
	} levels[REPLY_DEPTH_MAX];
	const char *const *columns; // of the table that is open
	unsigned column;            // JSON: the next one of the row
	// Text: the rows gathered so far, as cells of one flag byte, the text and a NUL.
	struct strbuf cells;
	unsigned n_cells, n_columns;
	bool apart;         // a group ended: what follows stands apart from it
	struct strbuf list; // the cell that a list is put together in
	unsigned indent;
};

void reply_init(struct reply *r, enum reply_form form);
void reply_fini(struct reply *r);

// The answer is complete; what it lacks for want of memory turns it into a failure.
void reply_finish(struct reply *r);

// Throws away what there is: the answer is this reason.
void reply_fail(struct reply *r, enum ctl_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

// Named values. `key` is NULL for the outermost and for the members of an array.
void reply_object_open(struct reply *r, const char *key);
void reply_object_close(struct reply *r);

// Objects, one after the other.
void reply_array_open(struct reply *r, const char *key);
void reply_array_close(struct reply *r);

// Rows with a value for each of `columns` (static, ended by NULL), which are put without a key.
void reply_table_open(struct reply *r, const char *key, const char *const *columns);
void reply_row(struct reply *r);
void reply_table_close(struct reply *r);

// Numbers by name; text leaves out those that are 0. `help` is for people.
void reply_counts_open(struct reply *r, const char *key);
void reply_count(struct reply *r, const char *name, uint64_t n, const char *help);
void reply_counts_close(struct reply *r);

// A value that is several texts, put without a key.
void reply_list_open(struct reply *r, const char *key);
void reply_list_close(struct reply *r);

// Values of an object (with a key), a row or a list (without).
void reply_str(struct reply *r, const char *key, const char *text); // NULL: none
void reply_printf(struct reply *r, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void reply_uint(struct reply *r, const char *key, uint64_t n);
void reply_uint_if(struct reply *r, const char *key, bool given,
		   uint64_t n);                                // none where it is not
void reply_double(struct reply *r, const char *key, double n); // text: one decimal
void reply_bool(struct reply *r, const char *key, bool b);
void reply_null(struct reply *r, const char *key);                // there is none
void reply_seid(struct reply *r, const char *key, uint64_t seid); // a text: beyond 53 bits

// Lines that are text already, with their newlines, unchanged. Text form only.
void reply_lines(struct reply *r, const char *text);
