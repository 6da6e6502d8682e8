// From a line to the command that it means (commands.h). Control thread.
//
// The table of commands (command_table.c) is all there is of a command's interface: matching, checking of
// arguments, completion, suggestions and help walk it.

#include "ctl/commands.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "ctl/cmd.h"

#define NAME_MAX_BYTES 64

// --- words of the table ---

// The i-th word of a command, its length in ret_len; NULL when there are fewer.
static const char *command_word(const struct command *command, unsigned i, size_t *ret_len)
{
	const char *word = command->words;

	for (; i > 0 && word; i--) {
		word = strchr(word, ' ');
		word += word != NULL;
	}
	if (word)
		*ret_len = strcspn(word, " ");
	return word;
}

static bool command_word_is(const struct command *command, unsigned i, const char *word)
{
	size_t len;
	const char *own = command_word(command, i, &len);

	return own && strlen(word) == len && memcmp(own, word, len) == 0;
}

static void command_word_copy(const struct command *command, unsigned i, char buf[NAME_MAX_BYTES])
{
	size_t len = 0;
	const char *own = command_word(command, i, &len);

	if (len >= NAME_MAX_BYTES)
		len = NAME_MAX_BYTES - 1;
	if (own)
		memcpy(buf, own, len);
	buf[len] = '\0';
}

// How many of these words are the command's first ones.
static unsigned command_match(const struct command *command, char *const *words, unsigned n)
{
	unsigned i = 0;

	while (i < n && command_word_is(command, i, words[i]))
		i++;
	return i;
}

static unsigned command_n_words(const struct command *command)
{
	unsigned n = 0;
	size_t len;

	while (command_word(command, n, &len))
		n++;
	return n;
}

static bool arg_exists(const struct command *command, unsigned i)
{
	return i < COMMAND_ARGS && command->args[i].name;
}

// --- the line ---

// Cuts the line into words. More than fit, or what is not printable ASCII, is refused.
static int line_split(struct call *call, const char *line, size_t len)
{
	char *rest = NULL;

	if (len >= sizeof(call->line))
		return -E2BIG;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < 0x20 && c != '\t' && c != '\r') || c > 0x7e)
			return -EINVAL;
	}
	memcpy(call->line, line, len);
	call->line[len] = '\0';
	for (char *word = strtok_r(call->line, " \t\r", &rest); word;
	     word = strtok_r(NULL, " \t\r", &rest)) {
		if (call->n_words == COMMAND_WORDS)
			return -E2BIG;
		call->words[call->n_words++] = word;
	}
	return 0;
}

// The words before the one that is wrong, with a blank behind: for messages.
static void words_join(struct strbuf *to, char *const *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		strbuf_add_str(to, words[i]);
		strbuf_add_char(to, ' ');
	}
}

// No command begins with words[0..at]; those before `at` are right.
static void fail_unknown(struct call *call, unsigned at)
{
	char names[64][NAME_MAX_BYTES];
	struct strbuf before = {0};
	struct near near;
	unsigned n = 0;
	const char *best;

	near_init(&near, call->words[at]);
	for (const struct command *c = commands; c->words && n < 64; c++) {
		if (command_match(c, call->words, at) < at)
			continue;
		command_word_copy(c, at, names[n]);
		if (names[n][0])
			near_offer(&near, names[n++]);
	}
	best = near_best(&near);
	words_join(&before, call->words, at);
	if (best)
		reply_fail(&call->reply, CTL_USAGE,
			   "unknown command \"%s%.64s\": did you mean \"%s%s\"?",
			   strbuf_text(&before), call->words[at], strbuf_text(&before), best);
	else
		reply_fail(&call->reply, CTL_USAGE,
			   "unknown command \"%s%.64s\": \"help\" lists them", strbuf_text(&before),
			   call->words[at]);
	strbuf_fini(&before);
}

// The line ends where every command goes on.
static void fail_incomplete(struct call *call)
{
	struct strbuf next = {0};
	struct strbuf before = {0};

	words_join(&before, call->words, call->n_words);
	commands_complete(call->view, strbuf_text(&before), before.len, &next);
	for (size_t i = 0; i + 1 < next.len; i++)
		if (next.text[i] == '\n')
			next.text[i] = ' ';
	reply_fail(&call->reply, CTL_USAGE, "%s: one of %.*s",
		   call->n_words ? "incomplete" : "no command", (int)(next.len ? next.len - 1 : 0),
		   strbuf_text(&next));
	strbuf_fini(&next);
	strbuf_fini(&before);
}

static const struct command *command_lookup(struct call *call)
{
	unsigned deepest = 0;

	for (const struct command *c = commands; c->words; c++) {
		unsigned n = command_match(c, call->words, call->n_words);

		if (n == command_n_words(c))
			return c;
		if (n > deepest)
			deepest = n;
	}
	if (deepest < call->n_words)
		fail_unknown(call, deepest);
	else
		fail_incomplete(call);
	return NULL;
}

// --- arguments ---

static void usage_write(struct strbuf *to, const struct command *command)
{
	strbuf_add_str(to, command->words);
	for (unsigned i = 0; arg_exists(command, i); i++) {
		const struct command_arg *arg = &command->args[i];

		if (arg->keyword)
			strbuf_printf(to, " [%s %s]", arg->keyword, arg->name);
		else
			strbuf_printf(to, arg->optional ? " [%s]" : " %s", arg->name);
	}
}

static bool number_parse(const char *text, int base, uint64_t *ret)
{
	char *end;
	unsigned long long n;

	if (!isxdigit((unsigned char)*text)) // no sign, no blank, not empty
		return false;
	errno = 0;
	n = strtoull(text, &end, base);
	if (*end || errno)
		return false;
	*ret = n;
	return true;
}

static bool seid_parse(const char *text, uint64_t *ret)
{
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return number_parse(text + 2, 16, ret) && text[3] != 'x' && text[3] != 'X';
	return number_parse(text, strpbrk(text, "abcdefABCDEF") ? 16 : 10, ret);
}

static bool arg_parse(const struct command_arg *arg, const char *text, struct call_arg *ret)
{
	switch (arg->type) {
	case COMMAND_WORD:
		ret->word = text;
		return true;
	case COMMAND_NUMBER:
		return number_parse(text, 10, &ret->number) && ret->number >= 1 &&
		       ret->number <= arg->max;
	case COMMAND_SEID:
		return seid_parse(text, &ret->number);
	case COMMAND_ADDR:
		return addr_parse(text, &ret->addr) == 0;
	}
	return false;
}

static void fail_usage(struct call *call, const char *what, const char *word)
{
	struct strbuf usage = {0};

	usage_write(&usage, call->command);
	reply_fail(&call->reply, CTL_USAGE, "%s%s%.64s%s: usage: %s", what, word ? " \"" : "",
		   word ? word : "", word ? "\"" : "", strbuf_text(&usage));
	strbuf_fini(&usage);
}

static void fail_range(struct call *call, const struct command_arg *arg, const char *word)
{
	if (arg->type == COMMAND_NUMBER)
		reply_fail(&call->reply, CTL_USAGE, "%s \"%.64s\": a number of 1..%llu",
			   arg->keyword ? arg->keyword : arg->name, word,
			   (unsigned long long)arg->max);
	else
		fail_usage(call, "bad value", word);
}

// Which argument stands at a word: the one with this keyword, or the next one without.
static int arg_at(const struct call *call, const char *word)
{
	for (int i = 0; arg_exists(call->command, (unsigned)i); i++) {
		const char *keyword = call->command->args[i].keyword;

		if (!call->args[i].given && (!keyword || strcmp(keyword, word) == 0))
			return i;
	}
	return -1;
}

// Takes the arguments from the words. False: the reply says what is wrong.
static bool args_take(struct call *call, unsigned at)
{
	while (at < call->n_words) {
		int i = arg_at(call, call->words[at]);
		const struct command_arg *arg = &call->command->args[i < 0 ? 0 : i];

		if (i < 0) {
			fail_usage(call, "unexpected word", call->words[at]);
			return false;
		}
		at += arg->keyword != NULL;
		if (at == call->n_words) {
			fail_usage(call, "no value for", arg->keyword);
			return false;
		}
		if (!arg_parse(arg, call->words[at], &call->args[i])) {
			fail_range(call, arg, call->words[at]);
			return false;
		}
		call->args[i].given = true;
		at++;
	}
	for (unsigned i = 0; arg_exists(call->command, i); i++) {
		const struct command_arg *arg = &call->command->args[i];

		if (!arg->keyword && !arg->optional && !call->args[i].given) {
			fail_usage(call, "incomplete", NULL);
			return false;
		}
	}
	return true;
}

// --- calls ---

struct call *call_new(const struct ctl_view *view, enum reply_form form, const char *line,
		      size_t len)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->view = view;
	reply_init(&call->reply, form);
	if (line_split(call, line, len) < 0) {
		reply_fail(&call->reply, CTL_USAGE, "not a line of at most %d words in ASCII",
			   COMMAND_WORDS);
		return call;
	}
	call->command = command_lookup(call);
	if (call->command && !args_take(call, command_n_words(call->command)))
		call->command = NULL;
	return call;
}

void call_free(struct call *call)
{
	if (!call)
		return;
	reply_fini(&call->reply);
	free(call);
}

bool call_run(struct call *call, void (*ended)(struct call *call, void *ctx), void *ctx)
{
	call->ended = ended;
	call->ctx = ctx;
	if (call->command && !call->command->run(call))
		return false;
	reply_finish(&call->reply);
	return true;
}

void call_end(struct call *call)
{
	if (!call->ended) {
		call_free(call);
		return;
	}
	reply_finish(&call->reply);
	call->ended(call, call->ctx);
}

void call_abandon(struct call *call)
{
	call->ended = NULL;
}

// --- completion and help ---

void command_offer(struct strbuf *to, const char *word, const char *prefix)
{
	if (strncmp(word, prefix, strlen(prefix)) == 0)
		strbuf_printf(to, "%s\n", word);
}

// What may follow the words of a whole command: keywords not given yet, or values that are known.
static void args_offer(struct call *call, unsigned at, const char *prefix, struct strbuf *to)
{
	int i = -1;

	for (; at < call->n_words; at++) {
		i = arg_at(call, call->words[at]);
		if (i < 0)
			return;
		call->args[i].given = true;
		if (call->command->args[i].keyword && ++at == call->n_words)
			return; // its value comes next
	}
	for (i = 0; arg_exists(call->command, (unsigned)i); i++) {
		const struct command_arg *arg = &call->command->args[i];

		if (call->args[i].given)
			continue;
		if (arg->keyword)
			command_offer(to, arg->keyword, prefix);
		else if (arg->offer)
			arg->offer(call->view, to, prefix);
	}
}

// Offers the next word of each command that begins like the call, each once.
static void words_offer(const struct call *call, const char *prefix, struct strbuf *to)
{
	char last[NAME_MAX_BYTES] = "";

	for (const struct command *c = commands; c->words; c++) {
		char word[NAME_MAX_BYTES];

		if (command_match(c, call->words, call->n_words) < call->n_words)
			continue;
		command_word_copy(c, call->n_words, word);
		if (word[0] && strcmp(word, last) != 0)
			command_offer(to, word, prefix);
		memcpy(last, word, sizeof(last));
	}
}

void commands_complete(const struct ctl_view *view, const char *line, size_t len, struct strbuf *to)
{
	struct call *call = calloc(1, sizeof(*call));
	const char *prefix = "";

	if (!call || line_split(call, line, len) < 0) {
		free(call);
		return;
	}
	call->view = view;
	if (len > 0 && line[len - 1] != ' ' && call->n_words > 0)
		prefix = call->words[--call->n_words];
	words_offer(call, prefix, to);
	for (const struct command *c = commands; c->words; c++) {
		unsigned n = command_n_words(c);

		if (command_match(c, call->words, call->n_words) < n)
			continue;
		call->command = c;
		args_offer(call, n, prefix, to);
	}
	free(call);
}

bool cmd_help(struct call *call)
{
	static const char *const columns[] = {"command", "help", NULL};
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "commands", columns);
	for (const struct command *c = commands; c->words; c++) {
		struct strbuf usage = {0};

		if (call->args[0].given && !strstr(c->words, call->args[0].word))
			continue;
		usage_write(&usage, c);
		reply_row(r);
		reply_str(r, NULL, strbuf_text(&usage));
		reply_str(r, NULL, c->help);
		strbuf_fini(&usage);
	}
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
