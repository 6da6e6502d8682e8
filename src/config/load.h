// Inside of loading: what the reader of the file (load.c) and the checks across keys (check.c)
// share. The interface for others is config.h.

#pragma once

#include "config/config.h"

#define LOAD_PATH_LEN 64

// Where in the file a field of the configuration was set.
struct load_mark {
	const void *field;
	uint32_t line, column;    // from 1
	char path[LOAD_PATH_LEN]; // such as "interfaces[1].gateway"
};

struct load {
	const char *name; // of the file, for errors
	unsigned n_cpus;
	struct config *config; // being filled; zeros where nothing was said yet
	struct config_errors *errs;
	struct load_mark *marks; // growing
	size_t n_marks, marks_cap;
	bool no_memory;
};

// Notes an error. line 0: of the whole file; path "": of no key.
void load_error(struct load *l, uint32_t line, uint32_t column, const char *path, const char *fmt,
		...) __attribute__((format(printf, 5, 6)));

// Whether the file set this field, well: else it is a default, or was refused already.
bool load_is_set(const struct load *l, const void *field);

// Notes an error about a field, at the place that set it; where none did, for the file and path.
void load_error_at(struct load *l, const void *field, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

// Checks what single values do not show, and fills in what follows from others.
void load_check(struct load *l);
// The part of it that is about memory (check_memory.c).
void load_check_memory(struct load *l);
// The part of it that is about NAT of a network instance (check_nat.c).
void load_check_nat(struct load *l, struct config_ni *ni, bool iface_found);
