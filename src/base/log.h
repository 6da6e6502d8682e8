// Log lines to stderr, or with priorities to the journal behind it.
//
// For the control thread only: workers count and post, they never log. A message is one line;
// whatever is not printable ASCII in it is written as \xNN, so that no peer can forge lines or
// drive a terminal. Use the _limited forms for whatever the network can cause.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

// A call site's allowance: a burst of lines, then one a second. Starts as zeros.
struct log_limit {
	uint64_t due_ns;     // when the allowance will be full again
	uint64_t suppressed; // lines since the last one that was let through
};

// The burst, LOG_LIMIT_BURST before the first call; at least 1.
#define LOG_LIMIT_BURST 10
void log_burst_set(unsigned lines);
// Lines that were left out so far, of all call sites.
uint64_t log_suppressed(void);

// Where lines go; NULL means stderr, which is also where they go before the first call. Looks
// whether the journal is behind it (JOURNAL_STREAM, systemd.exec(5)).
void log_init(FILE *out);

void log_level_set(enum log_level level);
enum log_level log_level_get(void);

// "error", "warn", "info" or "debug". -EINVAL for any other word.
int log_level_parse(const char *text, enum log_level *ret_level);
const char *log_level_str(enum log_level level);

// Use the macros below.
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_write_limited(struct log_limit *limit, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#define LOG_LIMITED(level, ...)                                                                    \
	do {                                                                                       \
		static struct log_limit limit_of_this_site;                                        \
		log_write_limited(&limit_of_this_site, level, __VA_ARGS__);                        \
	} while (0)

#define log_error_limited(...) LOG_LIMITED(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn_limited(...) LOG_LIMITED(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info_limited(...) LOG_LIMITED(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug_limited(...) LOG_LIMITED(LOG_LEVEL_DEBUG, __VA_ARGS__)
