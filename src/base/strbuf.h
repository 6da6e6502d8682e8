// A string that grows.
//
// Zeros are an empty one. When memory runs out it keeps what it has and says so (failed), so that
// a writer checks once, at the end. Owned by one thread.

#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *text; // NULL, or len bytes and a NUL
	size_t len;
	size_t cap;
	bool failed; // something is missing
};

void strbuf_fini(struct strbuf *s);

// Empties it and keeps its memory.
void strbuf_clear(struct strbuf *s);

void strbuf_add(struct strbuf *s, const void *bytes, size_t n);
void strbuf_add_str(struct strbuf *s, const char *text);
void strbuf_add_char(struct strbuf *s, char c);
void strbuf_printf(struct strbuf *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *s, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));

// Drops the first n bytes (all, when there are fewer): for what was sent.
void strbuf_consume(struct strbuf *s, size_t n);

// The text so far; "" when empty. Valid until the next change.
const char *strbuf_text(const struct strbuf *s);

// Hands over the text, to be freed by the caller, and empties the buffer. NULL when it failed.
char *strbuf_steal(struct strbuf *s);
