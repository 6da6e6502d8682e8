// sluicectl: asks the daemon. One command a call, or a shell when there are no words.
//
// Exit status: 0 done, 1 refused or failed, 2 not a command, or no daemon (enum ctl_status).

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "shell.h"

static const char usage[] =
	"usage: sluicectl [--socket PATH] [--json] [WORD...]\n"
	"\n"
	"Runs one command of the daemon, or without words on a terminal as many as are typed\n"
	"(Tab completes). \"sluicectl help\" lists the commands.\n"
	"\n"
	"  --socket PATH  the daemon's socket (default " CTL_SOCKET ")\n"
	"  --json         answer in JSON\n"
	"  -h, --help     this text\n"
	"\n"
	"Exit status: 0 done, 1 refused or failed, 2 not a command, or no daemon.\n";

struct options {
	const char *socket;
	bool json, help;
};

// False after a complaint.
static bool options_take(int argc, char *argv[], struct options *ret)
{
	enum { SOCKET = 256, JSON };
	static const struct option known[] = {
		{"socket", required_argument, NULL, SOCKET},
		{"json", no_argument, NULL, JSON},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	*ret = (struct options){.socket = CTL_SOCKET};
	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		if (c == SOCKET)
			ret->socket = optarg;
		else if (c == JSON)
			ret->json = true;
		else if (c == 'h')
			ret->help = true;
		else
			return false;
	}
	return true;
}

// The words with a blank between two. False: more than a request holds.
static bool words_join(char *const *words, int n, char line[CTL_LINE_MAX])
{
	size_t len = 0;

	line[0] = '\0';
	for (int i = 0; i < n; i++) {
		size_t left = CTL_LINE_MAX - len;
		int more = snprintf(line + len, left, "%s%s", i ? " " : "", words[i]);

		if (more < 0 || (size_t)more >= left)
			return false;
		len += (size_t)more;
	}
	return true;
}

static void complain(const struct client *client, int err)
{
	if (err == -E2BIG || err == -EINVAL)
		fprintf(stderr, "sluicectl: too many words, or a line break in one\n");
	else if (err == -ECONNREFUSED || err == -ENOENT)
		fprintf(stderr, "sluicectl: %s: no daemon answers there (is sluiced running?)\n",
			client->path);
	else
		fprintf(stderr, "sluicectl: %s: %s\n", client->path, strerror(-err));
}

enum ctl_status run_words(struct client *client, const char *words, bool json)
{
	struct answer answer;
	enum ctl_status status;
	int err = client_ask(client, json ? CTL_FORM_JSON : CTL_FORM_TEXT, words, &answer);

	if (err < 0) {
		complain(client, err);
		return CTL_USAGE;
	}
	status = answer.status;
	if (status == CTL_OK)
		fwrite(answer.text, 1, answer.len, stdout);
	else
		fprintf(stderr, "%s%s", json ? "" : "sluicectl: ", answer.text);
	if (status == CTL_OK && (fflush(stdout) != 0 || ferror(stdout))) {
		fprintf(stderr, "sluicectl: the answer cannot be written: %s\n", strerror(errno));
		status = CTL_FAILED;
	}
	answer_free(&answer);
	return status;
}

int main(int argc, char *argv[])
{
	struct options options;
	struct client client;
	char line[CTL_LINE_MAX];
	enum ctl_status status;
	int err;

	if (!options_take(argc, argv, &options)) {
		fputs(usage, stderr);
		return CTL_USAGE;
	}
	if (options.help) {
		fputs(usage, stdout);
		return CTL_OK;
	}
	if (optind == argc && !isatty(STDIN_FILENO)) {
		fputs(usage, stderr);
		return CTL_USAGE;
	}
	err = client_open(&client, options.socket);
	if (err == 0 && !words_join(argv + optind, argc - optind, line))
		err = -E2BIG;
	if (err < 0) {
		complain(&client, err);
		client_close(&client);
		return CTL_USAGE;
	}
	status = optind < argc ? run_words(&client, line, options.json)
			       : shell_run(&client, options.json);
	client_close(&client);
	return (int)status;
}
