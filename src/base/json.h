// Writes JSON (RFC 8259) piece by piece, to a strbuf or a FILE, on one line.
//
// The writer puts the commas and colons. `key` names the value inside an object and is NULL inside
// an array or at the top. Text that is not UTF-8 comes out with U+FFFD for each bad byte, so the
// output always is. Owned by one thread.
//
//	json_object_open(&j, NULL);
//	json_uint(&j, "sessions", n);
//	json_array_open(&j, "peers");
//	json_str(&j, NULL, "192.0.2.1");
//	json_array_close(&j);
//	json_object_close(&j);

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct strbuf;

#define JSON_DEPTH_MAX 32 // deeper nesting is a fault of the caller (assert)

struct json {
	struct strbuf *buf; // one of the two
	FILE *file;
	unsigned depth;
	uint32_t in_object; // a bit a level, 0 the outermost
	uint32_t not_first; // a bit a level: its next value needs a comma
	bool top_written;   // the one value at the top has begun
};

void json_init(struct json *j, struct strbuf *to);
void json_init_file(struct json *j, FILE *to);

// Whether exactly one value was written and everything opened is closed.
bool json_is_complete(const struct json *j);

void json_object_open(struct json *j, const char *key);
void json_object_close(struct json *j);
void json_array_open(struct json *j, const char *key);
void json_array_close(struct json *j);

void json_str(struct json *j, const char *key, const char *text); // NULL text: null
void json_str_n(struct json *j, const char *key, const char *text, size_t len);
void json_printf(struct json *j, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))); // a string
void json_int(struct json *j, const char *key, int64_t n);
void json_uint(struct json *j, const char *key, uint64_t n);
void json_double(struct json *j, const char *key, double n); // null when not finite
void json_bool(struct json *j, const char *key, bool b);
void json_null(struct json *j, const char *key);
void json_hex(struct json *j, const char *key, const void *bytes, size_t len); // "00ff…"
