// A string that grows, see strbuf.h. Runs on the thread that owns it.
//
// The room doubles, so that adding byte by byte costs little; text is always ended by a NUL.

#include "base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRBUF_MIN 64

void strbuf_fini(struct strbuf *s)
{
	free(s->text);
	*s = (struct strbuf){0};
}

void strbuf_clear(struct strbuf *s)
{
	s->len = 0;
	s->failed = false;
	if (s->text)
		s->text[0] = '\0';
}

// Makes room for n more bytes and a NUL.
static bool strbuf_reserve(struct strbuf *s, size_t n)
{
	size_t cap = s->cap ? s->cap : STRBUF_MIN;
	char *text;

	if (n < s->cap - s->len)
		return true;
	if (n > SIZE_MAX / 4 - s->len) {
		s->failed = true;
		return false;
	}
	while (cap - s->len <= n)
		cap *= 2;
	text = realloc(s->text, cap);
	if (text == NULL) {
		s->failed = true;
		return false;
	}
	s->text = text;
	s->cap = cap;
	return true;
}

void strbuf_add(struct strbuf *s, const void *bytes, size_t n)
{
	if (!strbuf_reserve(s, n))
		return;
	if (n)
		memcpy(s->text + s->len, bytes, n);
	s->len += n;
	s->text[s->len] = '\0';
}

void strbuf_add_str(struct strbuf *s, const char *text)
{
	strbuf_add(s, text, strlen(text));
}

void strbuf_add_char(struct strbuf *s, char c)
{
	strbuf_add(s, &c, 1);
}

void strbuf_vprintf(struct strbuf *s, const char *fmt, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(s->text ? s->text + s->len : NULL, s->cap - s->len, fmt, args);
	if (n >= 0 && (size_t)n >= s->cap - s->len) {
		if (strbuf_reserve(s, (size_t)n))
			vsnprintf(s->text + s->len, s->cap - s->len, fmt, again);
		else
			n = -1;
	}
	va_end(again);

	if (n >= 0)
		s->len += (size_t)n;
	else
		s->failed = true;
	if (s->text)
		s->text[s->len] = '\0'; // after a failure, what was whole before
}

void strbuf_printf(struct strbuf *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	strbuf_vprintf(s, fmt, args);
	va_end(args);
}

void strbuf_consume(struct strbuf *s, size_t n)
{
	if (n > s->len)
		n = s->len;
	if (n == 0)
		return;
	memmove(s->text, s->text + n, s->len - n + 1);
	s->len -= n;
}

const char *strbuf_text(const struct strbuf *s)
{
	return s->text ? s->text : "";
}

char *strbuf_steal(struct strbuf *s)
{
	char *text;

	strbuf_add(s, NULL, 0); // an empty one is "", not NULL
	if (s->failed) {
		strbuf_fini(s);
		return NULL;
	}
	text = s->text;
	*s = (struct strbuf){0};
	return text;
}
