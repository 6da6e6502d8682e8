// The interactive sluicectl: lines with history, and completion by the daemon.
//
// A word "--json" in a line asks for JSON, as on the command line.

#pragma once

#include <stdbool.h>

#include "client.h"

// Runs the words and shows the answer: to stdout, or what went wrong to stderr. The exit status.
enum ctl_status run_words(struct client *client, const char *words, bool json);

// Reads and runs lines until the end of input, "exit" or "quit". The exit status.
enum ctl_status shell_run(struct client *client, bool json);
