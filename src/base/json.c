// Writes JSON (RFC 8259), see json.h. Runs on the thread that owns the writer.
//
// Two bits a level say what a value needs before it: whether it is in an object, and whether it is
// the first there.

#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

void json_init(struct json *j, struct strbuf *to)
{
	*j = (struct json){.buf = to};
}

void json_init_file(struct json *j, FILE *to)
{
	*j = (struct json){.file = to};
}

bool json_is_complete(const struct json *j)
{
	return j->depth == 0 && j->top_written;
}

static void json_put(struct json *j, const char *text, size_t n)
{
	if (j->buf)
		strbuf_add(j->buf, text, n);
	else
		fwrite(text, 1, n, j->file);
}

static void json_puts(struct json *j, const char *text)
{
	json_put(j, text, strlen(text));
}

// The length of the UTF-8 character at text (RFC 3629), 0 when it is none. The second byte's range
// is what keeps out overlong forms, surrogates and what lies above U+10FFFF.
static size_t json_utf8_len(const uint8_t *text, size_t left)
{
	uint8_t low = 0x80, high = 0xbf;
	uint8_t first = text[0];
	size_t n;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	n = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (n > left || text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

static void json_put_escaped(struct json *j, uint8_t c)
{
	char escape[8];

	switch (c) {
	case '"':
		json_puts(j, "\\\"");
		break;
	case '\\':
		json_puts(j, "\\\\");
		break;
	case '\n':
		json_puts(j, "\\n");
		break;
	case '\t':
		json_puts(j, "\\t");
		break;
	default:
		snprintf(escape, sizeof(escape), "\\u%04x", c);
		json_puts(j, escape);
	}
}

static void json_put_string(struct json *j, const char *text, size_t len)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t n;

	json_puts(j, "\"");
	for (size_t left = len; left > 0; left -= n, at += n) {
		n = json_utf8_len(at, left);
		if (n == 0) {
			json_puts(j, "\\ufffd");
			n = 1;
		} else if (*at < 0x20 || *at == 0x7f || *at == '"' || *at == '\\') {
			json_put_escaped(j, *at);
		} else {
			json_put(j, (const char *)at, n);
		}
	}
	json_puts(j, "\"");
}

// What stands before any value: the comma of its level and its key.
static void json_begin(struct json *j, const char *key)
{
	uint32_t level;

	if (j->depth == 0) {
		assert(key == NULL && !j->top_written);
		j->top_written = true;
		return;
	}
	level = 1u << (j->depth - 1);
	assert((key != NULL) == ((j->in_object & level) != 0));
	if (j->not_first & level)
		json_puts(j, ",");
	j->not_first |= level;
	if (key) {
		json_put_string(j, key, strlen(key));
		json_puts(j, ":");
	}
}

static void json_open(struct json *j, const char *key, bool object)
{
	uint32_t level;

	json_begin(j, key);
	assert(j->depth < JSON_DEPTH_MAX);
	level = 1u << j->depth++;
	j->not_first &= ~level;
	j->in_object = object ? j->in_object | level : j->in_object & ~level;
	json_puts(j, object ? "{" : "[");
}

static void json_close(struct json *j, bool object)
{
	assert(j->depth > 0);
	j->depth--;
	assert(object == ((j->in_object >> j->depth & 1) != 0));
	json_puts(j, object ? "}" : "]");
}

void json_object_open(struct json *j, const char *key)
{
	json_open(j, key, true);
}

void json_object_close(struct json *j)
{
	json_close(j, true);
}

void json_array_open(struct json *j, const char *key)
{
	json_open(j, key, false);
}

void json_array_close(struct json *j)
{
	json_close(j, false);
}

void json_str_n(struct json *j, const char *key, const char *text, size_t len)
{
	json_begin(j, key);
	json_put_string(j, text, len);
}

void json_str(struct json *j, const char *key, const char *text)
{
	if (text)
		json_str_n(j, key, text, strlen(text));
	else
		json_null(j, key);
}

void json_printf(struct json *j, const char *key, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list args;

	va_start(args, fmt);
	strbuf_vprintf(&text, fmt, args);
	va_end(args);
	json_str_n(j, key, strbuf_text(&text), text.len);
	strbuf_fini(&text);
}

void json_int(struct json *j, const char *key, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	json_begin(j, key);
	json_puts(j, text);
}

void json_uint(struct json *j, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	json_begin(j, key);
	json_puts(j, text);
}

void json_double(struct json *j, const char *key, double n)
{
	char text[40];

	if (!isfinite(n)) {
		json_null(j, key);
		return;
	}
	snprintf(text, sizeof(text), "%.15g", n); // the short form, where it reads back the same
	if (strtod(text, NULL) < n || strtod(text, NULL) > n)
		snprintf(text, sizeof(text), "%.17g", n);
	json_begin(j, key);
	json_puts(j, text);
}

void json_bool(struct json *j, const char *key, bool b)
{
	json_begin(j, key);
	json_puts(j, b ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	json_begin(j, key);
	json_puts(j, "null");
}

void json_hex(struct json *j, const char *key, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *at = bytes;

	json_begin(j, key);
	json_puts(j, "\"");
	for (size_t i = 0; i < len; i++) {
		char pair[2] = {digits[at[i] >> 4], digits[at[i] & 15]};

		json_put(j, pair, sizeof(pair));
	}
	json_puts(j, "\"");
}
