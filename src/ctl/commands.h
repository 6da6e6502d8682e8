// The commands of sluicectl: one table of names, arguments, help and handlers.
//
// Control thread. A line becomes a call, which is run once: its handler fills the reply at once, or
// says that it waits for a worker; then the reply is complete when the call ends. Whoever asked may
// be gone by then.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "ctl/reply.h"
#include "ctl/view.h"

#define COMMAND_ARGS 4
#define COMMAND_WORDS 16 // of a line

struct call;

enum command_arg_type {
	COMMAND_WORD,
	COMMAND_NUMBER, // decimal, 1..max
	COMMAND_SEID,   // 0x…, or with a letter a-f: hexadecimal; else decimal
	COMMAND_ADDR,
};

// An argument: its value alone, or a keyword and then its value, which may be left out.
struct command_arg {
	const char *keyword; // NULL: it must be there, in this place
	const char *name;
	enum command_arg_type type;
	uint64_t max;
	bool optional; // without keyword: may be left out
	// Offers the words that there are, for completion. NULL: not known.
	void (*offer)(const struct ctl_view *view, struct strbuf *to, const char *prefix);
};

// A handler gives false when the call goes on: it calls call_end() later.
typedef bool command_fn(struct call *call);

struct command {
	const char *words; // with one blank between two
	struct command_arg args[COMMAND_ARGS];
	const char *help;
	command_fn *run;
};

// An argument as given; only the member of its type is set.
struct call_arg {
	bool given;
	const char *word;
	uint64_t number;
	struct addr addr;
};

struct call {
	struct reply reply;
	const struct ctl_view *view;
	const struct command *command;      // NULL: the line is none; the reply says so
	struct call_arg args[COMMAND_ARGS]; // in the order of the table
	unsigned n_words;
	char *words[COMMAND_WORDS];
	char line[CTL_LINE_MAX];
	// Who waits for a call that goes on; NULL: nobody any more.
	void (*ended)(struct call *call, void *ctx);
	void *ctx;
};

// The command of a line of `len` bytes, which may be anything. NULL without memory.
struct call *call_new(const struct ctl_view *view, enum reply_form form, const char *line,
		      size_t len);
void call_free(struct call *call);

// Runs it. True: the reply is complete. False: `ended` will be called, or the call frees itself
// when there is none.
bool call_run(struct call *call, void (*ended)(struct call *call, void *ctx), void *ctx);

// For handlers: completes the reply of a call that went on.
void call_end(struct call *call);

// Nobody waits for it any more.
void call_abandon(struct call *call);

// The words that may stand in the place of the last one of a line, one a line.
void commands_complete(const struct ctl_view *view, const char *line, size_t len,
		       struct strbuf *to);

// Every command, ended by one without words.
extern const struct command commands[];

// Adds a word and a newline if the word begins so.
void command_offer(struct strbuf *to, const char *word, const char *prefix);
