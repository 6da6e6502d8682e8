// Reading lines with libedit, and asking the daemon how a word may go on (shell.h).
//
// The daemon owns the commands; only "exit" and "quit" are ours.

#include "shell.h"

#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_LINES 500
#define HISTORY_FILE ".sluicectl_history"
#define PROMPT_MAX 80
#define BLANKS " \t\r\n"

struct shell {
	struct client *client;
	EditLine *el;
	History *history;
	char history_path[4096]; // "": none is kept
	char prompt[PROMPT_MAX];
};

static char *prompt_get(EditLine *el)
{
	struct shell *shell = NULL;

	el_get(el, EL_CLIENTDATA, &shell);
	return shell->prompt;
}

// --- completion ---

// How many bytes all lines of `offers` have in common.
static size_t common_len(const char *offers)
{
	size_t len = strcspn(offers, "\n");

	for (const char *at = offers; *at; at = strchr(at, '\n') + 1)
		for (size_t i = 0; i < len; i++)
			if (at[i] != offers[i])
				len = i;
	return len;
}

// Inserts what is certain of the word whose first `typed` bytes stand before the cursor.
static unsigned char offers_insert(EditLine *el, const char *offers, size_t typed)
{
	char word[CTL_LINE_MAX];
	size_t len = common_len(offers);
	const char *end = strchr(offers, '\n');
	bool single = end[1] == '\0';

	if (len < typed || len - typed + 2 > sizeof(word))
		return CC_ERROR;
	if (!single && len == typed) {
		printf("\n%s", offers);
		return CC_REDISPLAY;
	}
	memcpy(word, offers + typed, len - typed);
	memcpy(word + len - typed, single ? " " : "", 2 - !single);
	return el_insertstr(el, word) < 0 ? CC_ERROR : CC_REFRESH;
}

static unsigned char complete(EditLine *el, int ch)
{
	const LineInfo *info = el_line(el);
	size_t len = (size_t)(info->cursor - info->buffer);
	struct shell *shell = NULL;
	struct answer answer;
	unsigned char result = CC_ERROR;
	char line[CTL_LINE_MAX];
	size_t typed = 0;

	if (len >= sizeof(line))
		return CC_ERROR;
	memcpy(line, info->buffer, len);
	line[len] = '\0';
	while (typed < len && !strchr(BLANKS, line[len - typed - 1]))
		typed++;
	el_get(el, EL_CLIENTDATA, &shell);
	if (client_ask(shell->client, CTL_FORM_COMPLETE, line, &answer) < 0)
		return CC_ERROR;
	if (answer.status == CTL_OK && answer.len > 0 && answer.text[answer.len - 1] == '\n')
		result = offers_insert(el, answer.text, typed);
	answer_free(&answer);
	return result;
}

// --- lines ---

// Takes every word "--json" out of the line; whether there was one.
static bool json_take(char *line)
{
	static const char word[] = "--json";
	const size_t len = sizeof(word) - 1;
	bool found = false;
	char *at = line;

	while ((at = strstr(at, word))) {
		bool whole = (at == line || strchr(BLANKS, at[-1])) && strchr(BLANKS, at[len]);

		if (whole)
			memset(at, ' ', len);
		found |= whole;
		at += len;
	}
	return found;
}

static bool line_is(const char *line, const char *word)
{
	size_t len = strlen(word);

	return strncmp(line, word, len) == 0 && line[len + strspn(line + len, BLANKS)] == '\0';
}

// False: the end.
static bool line_run(struct shell *shell, const char *read, bool json)
{
	char line[CTL_LINE_MAX];
	HistEvent event;

	read += strspn(read, BLANKS);
	if (*read == '\0')
		return true;
	if (line_is(read, "exit") || line_is(read, "quit"))
		return false;
	history(shell->history, &event, H_ENTER, read);
	if (snprintf(line, sizeof(line), "%s", read) >= (int)sizeof(line)) {
		fprintf(stderr, "sluicectl: line too long\n");
		return true;
	}
	line[strcspn(line, "\r\n")] = '\0';
	json |= json_take(line);
	run_words(shell->client, line, json);
	return true;
}

static void prompt_ask(struct shell *shell)
{
	struct answer answer;

	snprintf(shell->prompt, sizeof(shell->prompt), "sluice> ");
	if (client_ask(shell->client, CTL_FORM_PROMPT, "", &answer) < 0)
		return;
	if (answer.status == CTL_OK && answer.len > 0)
		snprintf(shell->prompt, sizeof(shell->prompt), "%.64s> ", answer.text);
	answer_free(&answer);
}

static void history_open(struct shell *shell)
{
	const char *home = getenv("HOME");
	HistEvent event;

	history(shell->history, &event, H_SETSIZE, HISTORY_LINES);
	history(shell->history, &event, H_SETUNIQUE, 1);
	if (!home || snprintf(shell->history_path, sizeof(shell->history_path), "%s/%s", home,
			      HISTORY_FILE) >= (int)sizeof(shell->history_path))
		shell->history_path[0] = '\0';
	else
		history(shell->history, &event, H_LOAD, shell->history_path);
}

static void shell_close(struct shell *shell)
{
	HistEvent event;

	if (shell->history && shell->history_path[0])
		history(shell->history, &event, H_SAVE, shell->history_path);
	if (shell->el)
		el_end(shell->el);
	if (shell->history)
		history_end(shell->history);
}

enum ctl_status shell_run(struct client *client, bool json)
{
	struct shell shell = {.client = client};
	const char *line;
	int n;

	shell.el = el_init("sluicectl", stdin, stdout, stderr);
	shell.history = history_init();
	if (!shell.el || !shell.history) {
		shell_close(&shell);
		fprintf(stderr, "sluicectl: this terminal cannot be used\n");
		return CTL_USAGE;
	}
	history_open(&shell);
	prompt_ask(&shell);
	el_set(shell.el, EL_CLIENTDATA, &shell);
	el_set(shell.el, EL_PROMPT, prompt_get);
	el_set(shell.el, EL_SIGNAL, 1);
	el_set(shell.el, EL_HIST, history, shell.history);
	el_set(shell.el, EL_EDITOR, "emacs");
	el_set(shell.el, EL_ADDFN, "complete", "completes a word", complete);
	el_set(shell.el, EL_BIND, "^I", "complete", NULL);
	el_source(shell.el, NULL);
	while ((line = el_gets(shell.el, &n)) && n > 0)
		if (!line_run(&shell, line, json))
			break;
	if (!line)
		putchar('\n');
	shell_close(&shell);
	return CTL_OK;
}
