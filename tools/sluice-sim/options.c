// The table of options, the table of verbs, and the command line. See options.h.
// Runs once, at start.

#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"

#define AT(member) offsetof(struct options, member)

const struct options_row options_rows[] = {
	{"smf-address", OPTIONS_ADDR, AT(smf), .required = true, .operand = "ADDRESS",
	 .help = "our own address for PFCP"},
	{"n4", OPTIONS_ENDPOINT, AT(n4), .required = true, .operand = "ADDRESS[:PORT]",
	 .help = "the UPF's address for PFCP; port 8805 when not given"},
	{"gnb", OPTIONS_ADDRS, AT(gnbs), .required = true, .operand = "ADDRESS",
	 .help = "a gNB's address for GTP-U; once more for each further gNB"},
	{"ue-pool", OPTIONS_PREFIX4, AT(pool4), .operand = "PREFIX",
	 .help = "the UEs' IPv4 addresses: the first UE has the pool's .2"},
	{"ue-pool6", OPTIONS_PREFIX6, AT(pool6), .operand = "PREFIX",
	 .help = "the UEs' IPv6 addresses: a /64 each, counted from 1"},
	{"dnn", OPTIONS_DNN, AT(dnn), .max = OPTIONS_DNN_LEN, .def = "internet", .operand = "NAME",
	 .help = "the data network's name, also the network instance"},
	{"ues", OPTIONS_NUMBER, AT(ues), 1, UES_MAX, "1", .operand = "N", .help = "how many UEs"},
	{"tun", OPTIONS_TEXT, AT(tun), .max = IFNAMSIZ, .def = "ue0", .operand = "DEVICE",
	 .help = "the device that has the UEs' addresses"},
	{"mtu", OPTIONS_NUMBER, AT(mtu), 1280, 9000, "1400", .operand = "BYTES",
	 .help = "of that device"},
	{"qfi", OPTIONS_NUMBER, AT(qfi), 1, 63, "1", .operand = "N",
	 .help = "the QoS flow that packets go up in"},
	{"ambr-up", OPTIONS_RATE, AT(ambr_up_bps), .def = "10G", .operand = "RATE",
	 .help = "a session's maximum bit rate up: bit/s, or with k, M, G"},
	{"ambr-down", OPTIONS_RATE, AT(ambr_down_bps), .def = "10G", .operand = "RATE",
	 .help = "the same down"},
	{"window", OPTIONS_NUMBER, AT(window), 1, 256, "64", .operand = "N",
	 .help = "how many UEs are being served at once"},
	{"heartbeat", OPTIONS_NUMBER, AT(heartbeat_s), 1, 3600, "10", .operand = "SECONDS",
	 .help = "between two heartbeats"},
	{"t1", OPTIONS_NUMBER, AT(t1_ms), 10, 60000, "2500", .operand = "MS",
	 .help = "before a request without an answer is sent again; three sends in all"},
	{"scenario", OPTIONS_TEXT, AT(scenario), .max = OPTIONS_PATH_LEN, .operand = "FILE",
	 .help = "a YAML file with these options as keys and the list `steps`;\n"
		 "what stands on the command line goes before it"},
	{"log", OPTIONS_LEVEL, AT(log), .def = "info", .operand = "LEVEL",
	 .help = "error, warn, info or debug"},
	{"exit", OPTIONS_FLAG, AT(exit), .help = "leave after the last step"},
};
const size_t options_n_rows = sizeof(options_rows) / sizeof(options_rows[0]);

static const struct verb_row {
	const char *name;
	const char *operand;
	const char *help;
} verbs[VERB_COUNT] = {
	[VERB_NONE] = {""},
	[VERB_ATTACH] = {"attach", NULL, "establish the session; open the way down to the gNB"},
	[VERB_IDLE] = {"idle", NULL, "release the radio: the UPF buffers and reports"},
	[VERB_WAKE] = {"wake", NULL, "service request: the way down is open again"},
	[VERB_HANDOVER] = {"handover", NULL, "switch the path to the next gNB"},
	[VERB_DETACH] = {"detach", NULL, "delete the session"},
	[VERB_WAIT] = {"wait", "SECONDS", "do nothing for a while"},
	[VERB_LOOP] = {"loop", "N", "do the steps since the last loop N times in all"},
};

const char *verb_str(enum verb verb)
{
	return verbs[verb].name;
}

const struct options_row *options_lookup(const char *name)
{
	for (size_t i = 0; i < options_n_rows; i++) {
		if (strcmp(options_rows[i].name, name) == 0)
			return &options_rows[i];
	}
	return NULL;
}

const char *options_nearest(const char *name, const char *other)
{
	struct near near;

	near_init(&near, name);
	if (other)
		near_offer(&near, other);
	for (size_t i = 0; i < options_n_rows; i++)
		near_offer(&near, options_rows[i].name);
	return near_best(&near);
}

__attribute__((format(printf, 2, 3))) static int wrong(char why[OPTIONS_WHY_LEN], const char *fmt,
						       ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, OPTIONS_WHY_LEN, fmt, args);
	va_end(args);
	return -EINVAL;
}

// Digits, with a point among them if `point`; in thousandths.
static int thousandths_parse(const char *text, bool point, uint64_t *ret)
{
	uint64_t whole = 0, part = 0, unit = 1000;
	bool behind = false;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text; text++) {
		if (*text == '.' && point && !behind) {
			behind = true;
		} else if (*text < '0' || *text > '9' || whole > UINT32_MAX) {
			return -EINVAL;
		} else if (!behind) {
			whole = whole * 10 + (uint64_t)(*text - '0');
		} else {
			unit /= 10;
			part += unit * (uint64_t)(*text - '0');
		}
	}
	*ret = whole * 1000 + part;
	return 0;
}

static int number_set(const struct options_row *row, void *field, const char *text,
		      char why[OPTIONS_WHY_LEN])
{
	uint64_t value;
	uint32_t number;

	if (thousandths_parse(text, false, &value) < 0 || value / 1000 < row->min ||
	    value / 1000 > row->max)
		return wrong(why, "\"%.60s\" is not a number from %zu to %zu", text, row->min,
			     row->max);
	number = (uint32_t)(value / 1000);
	memcpy(field, &number, sizeof(number));
	return 0;
}

// A rate in bit/s: PFCP counts kilobits, so there is at least one.
static int rate_set(void *field, const char *text, char why[OPTIONS_WHY_LEN])
{
	static const struct {
		char letter;
		uint64_t thousandth;
	} units[] = {{'k', 1}, {'M', 1000}, {'G', 1000000}};
	char digits[32];
	size_t n = strlen(text);
	uint64_t scale = 0, value;

	if (n == 0 || n >= sizeof(digits))
		return wrong(why, "\"%.60s\" is not a rate such as 50M", text);
	memcpy(digits, text, n + 1);
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[n - 1] == units[i].letter) {
			scale = units[i].thousandth;
			digits[n - 1] = '\0';
		}
	}
	if (thousandths_parse(digits, scale != 0, &value) < 0)
		return wrong(why, "\"%s\" is not a rate such as 50M", text);
	value = scale ? value * scale : value / 1000;
	if (value < 1000 || value > 1000000000000)
		return wrong(why, "\"%s\" is not between 1k and 1000G", text);
	memcpy(field, &value, sizeof(value));
	return 0;
}

static int prefix_set(const struct options_row *row, void *field, const char *text,
		      char why[OPTIONS_WHY_LEN])
{
	uint8_t family = row->kind == OPTIONS_PREFIX4 ? ADDR_V4 : ADDR_V6;
	struct prefix prefix;

	if (prefix_parse(text, &prefix) < 0 || prefix.addr.family != family)
		return wrong(why, "\"%.60s\" is not an %s prefix", text,
			     family == ADDR_V4 ? "IPv4" : "IPv6");
	if (!prefix_is_network(&prefix))
		return wrong(why, "\"%s\" has bits beyond its length", text);
	memcpy(field, &prefix, sizeof(prefix));
	return 0;
}

static int addrs_add(struct options *o, const char *text, char why[OPTIONS_WHY_LEN])
{
	if (o->n_gnbs == OPTIONS_GNBS_MAX)
		return wrong(why, "more than %d", OPTIONS_GNBS_MAX);
	if (addr_parse(text, &o->gnbs[o->n_gnbs]) < 0)
		return wrong(why, "\"%.60s\" is not an address", text);
	o->n_gnbs++;
	return 0;
}

static int text_set(const struct options_row *row, void *field, const char *text,
		    char why[OPTIONS_WHY_LEN])
{
	size_t n = strlen(text);

	if (n == 0 || n >= row->max)
		return wrong(why, "must have 1 to %zu characters", row->max - 1);
	memcpy(field, text, n + 1);
	return 0;
}

// A name goes out as labels of letters, digits and hyphens.
static int dnn_set(const struct options_row *row, void *field, const char *text,
		   char why[OPTIONS_WHY_LEN])
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
	size_t n = strlen(text);

	if (n == 0 || strspn(text, plain) != n || text[0] == '.' || text[n - 1] == '.' ||
	    strstr(text, ".."))
		return wrong(why, "\"%.60s\" is not a domain name", text);
	return text_set(row, field, text, why);
}

static int flag_set(void *field, const char *text, char why[OPTIONS_WHY_LEN])
{
	bool on = strcmp(text, "true") == 0;

	if (!on && strcmp(text, "false") != 0)
		return wrong(why, "\"%.60s\" is neither true nor false", text);
	memcpy(field, &on, sizeof(on));
	return 0;
}

int options_set(struct options *o, const struct options_row *row, const char *text,
		char why[OPTIONS_WHY_LEN])
{
	void *field = (char *)o + row->offset;

	switch (row->kind) {
	case OPTIONS_ADDR:
		return addr_parse(text, field) < 0 ? wrong(why, "\"%.60s\" is not an address", text)
						   : 0;
	case OPTIONS_ADDRS:
		return addrs_add(o, text, why);
	case OPTIONS_ENDPOINT:
		return endpoint_parse(text, 8805, field) < 0
			       ? wrong(why, "\"%.60s\" is not an address with or without a port",
				       text)
			       : 0;
	case OPTIONS_PREFIX4:
	case OPTIONS_PREFIX6:
		return prefix_set(row, field, text, why);
	case OPTIONS_TEXT:
		return text_set(row, field, text, why);
	case OPTIONS_DNN:
		return dnn_set(row, field, text, why);
	case OPTIONS_NUMBER:
		return number_set(row, field, text, why);
	case OPTIONS_RATE:
		return rate_set(field, text, why);
	case OPTIONS_LEVEL:
		return log_level_parse(text, field) < 0
			       ? wrong(why, "\"%.60s\" is none of error, warn, info, debug", text)
			       : 0;
	case OPTIONS_FLAG:
		return flag_set(field, text, why);
	}
	return -EINVAL;
}

static enum verb verb_lookup(const char *name)
{
	for (unsigned i = VERB_NONE + 1; i < VERB_COUNT; i++) {
		if (strcmp(verbs[i].name, name) == 0)
			return (enum verb)i;
	}
	return VERB_NONE;
}

static int verb_unknown(const char *name, char why[OPTIONS_WHY_LEN])
{
	struct near near;

	near_init(&near, name);
	for (unsigned i = VERB_NONE + 1; i < VERB_COUNT; i++)
		near_offer(&near, verbs[i].name);
	if (near_best(&near))
		return wrong(why, "unknown step \"%.60s\"; did you mean \"%s\"?", name,
			     near_best(&near));
	return wrong(why, "unknown step \"%.60s\"", name);
}

int options_step_add(struct options *o, const char *name, const char *operand, bool *ret_used,
		     char why[OPTIONS_WHY_LEN])
{
	enum verb verb = verb_lookup(name);
	bool takes = verbs[verb].operand != NULL;
	uint64_t value = 0;

	if (verb == VERB_NONE)
		return verb_unknown(name, why);
	if (takes && (!operand || thousandths_parse(operand, verb == VERB_WAIT, &value) < 0 ||
		      value > UINT32_MAX || (verb == VERB_LOOP && value == 0)))
		return wrong(why, "\"%s\" takes a number (%s)", name, verbs[verb].operand);
	if (o->n_steps == OPTIONS_STEPS_MAX)
		return wrong(why, "more than %d steps", OPTIONS_STEPS_MAX);
	o->steps[o->n_steps++] = (struct step){
		.verb = verb, .number = (uint32_t)(verb == VERB_LOOP ? value / 1000 : value)};
	if (ret_used)
		*ret_used = takes;
	return 0;
}

static void help_print(void)
{
	puts("usage: sluice-sim OPTION... STEP...\n\n"
	     "A small SMF, gNB and UE, to try a UPF without a 5G core: UEs attach, and what the machine\n"
	     "sends from their addresses goes through the UPF. After the last step it stays until it is\n"
	     "ended (Ctrl-C); then it detaches all and leaves nothing behind.\n\noptions:");
	for (size_t i = 0; i < options_n_rows; i++) {
		const struct options_row *row = &options_rows[i];
		char left[64];
		const char *line = row->help, *end;

		snprintf(left, sizeof(left), "--%s %s", row->name,
			 row->operand ? row->operand : "");
		while ((end = strchr(line, '\n'))) {
			printf("  %-26s %.*s\n", line == row->help ? left : "", (int)(end - line),
			       line);
			line = end + 1;
		}
		printf("  %-26s %s%s%s%s%s\n", line == row->help ? left : "", line,
		       row->def ? " (" : "", row->def ? row->def : "", row->def ? ")" : "",
		       row->required ? " (required)" : "");
	}
	puts("\nsteps, in order:");
	for (unsigned i = VERB_NONE + 1; i < VERB_COUNT; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s %s", verbs[i].name,
			 verbs[i].operand ? verbs[i].operand : "");
		printf("  %-26s %s\n", left, verbs[i].help);
	}
	puts("\nSIGUSR1 prints the counters.");
}

// How many UEs the pools have addresses for. The first two IPv4 addresses and the last are left out
// (network, gateway, broadcast), and the first /64.
static uint64_t pool_room(const struct prefix *pool)
{
	if (pool->addr.family == ADDR_V4)
		return pool->len > 29 ? 0 : (1ull << (32 - pool->len)) - 3;
	if (pool->len > 63)
		return 0;
	return pool->len <= 32 ? UINT32_MAX : (1ull << (64 - pool->len)) - 1;
}

static int pool_check(const struct options *o, const char *name, const struct prefix *pool)
{
	if (pool->addr.family == ADDR_NONE || pool_room(pool) >= o->ues)
		return 0;
	fprintf(stderr, "sluice-sim: %s has room for %llu UEs, not for %u\n", name,
		(unsigned long long)pool_room(pool), o->ues);
	return -EINVAL;
}

// What one option alone cannot tell.
static int options_check(const struct options *o)
{
	const uint8_t given[] = {o->smf.family, o->n4.addr.family, (uint8_t)o->n_gnbs};

	for (unsigned i = 0; i < sizeof(given); i++) {
		if (given[i] == 0) { // the required ones are the first of the table
			fprintf(stderr, "sluice-sim: %s is missing (try --help)\n",
				options_rows[i].name);
			return -EINVAL;
		}
	}
	if (o->smf.family != o->n4.addr.family) {
		fputs("sluice-sim: smf-address and n4 are of different families\n", stderr);
		return -EINVAL;
	}
	for (uint32_t i = 1; i < o->n_gnbs; i++) {
		if (o->gnbs[i].family != o->gnbs[0].family) {
			fputs("sluice-sim: gnbs are of different families\n", stderr);
			return -EINVAL;
		}
	}
	if (o->pool4.addr.family == ADDR_NONE && o->pool6.addr.family == ADDR_NONE) {
		fputs("sluice-sim: ue-pool and ue-pool6 are both missing: UEs need an address\n",
		      stderr);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < o->n_steps; i++) {
		if (o->steps[i].verb == VERB_HANDOVER && o->n_gnbs < 2) {
			fputs("sluice-sim: a handover needs a second gnb\n", stderr);
			return -EINVAL;
		}
	}
	return pool_check(o, "ue-pool", &o->pool4) < 0 ? -EINVAL
						       : pool_check(o, "ue-pool6", &o->pool6);
}

static int complain(const char *word, const char *why)
{
	fprintf(stderr, "sluice-sim: %s: %s\n", word, why);
	return -EINVAL;
}

static int option_unknown(const char *word, const char *name)
{
	const char *nearest = options_nearest(name, NULL);
	char why[OPTIONS_WHY_LEN] = "unknown option";

	if (nearest)
		snprintf(why, sizeof(why), "unknown option; did you mean --%s?", nearest);
	return complain(word, why);
}

// Where the command line is read: lists of the file are replaced by those given there.
struct words {
	char **words;
	int n;
	int at;
	bool gnbs, steps;
};

// Takes --NAME VALUE or --NAME=VALUE: the row and its value.
static int option_split(struct words *w, const struct options_row **ret_row, const char **ret_value)
{
	const char *word = w->words[w->at++];
	const char *equals = strchr(word, '=');
	char name[64];
	size_t n = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;

	snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name) - 1),
		 word + 2);
	*ret_row = options_lookup(name);
	if (!*ret_row)
		return option_unknown(word, name);
	if (equals)
		*ret_value = equals + 1;
	else if ((*ret_row)->kind == OPTIONS_FLAG)
		*ret_value = "true";
	else if (w->at < w->n)
		*ret_value = w->words[w->at++];
	else
		return complain(word, "needs a value");
	return 0;
}

static int word_take(struct words *w, struct options *o)
{
	const char *word = w->words[w->at];
	const struct options_row *row;
	char why[OPTIONS_WHY_LEN];
	const char *value;
	bool used;

	if (strncmp(word, "--", 2) == 0) {
		if (option_split(w, &row, &value) < 0)
			return -EINVAL;
		if (row->kind == OPTIONS_ADDRS && !w->gnbs) {
			o->n_gnbs = 0;
			w->gnbs = true;
		}
		return options_set(o, row, value, why) < 0 ? complain(word, why) : 0;
	}
	if (!w->steps) {
		o->n_steps = 0;
		w->steps = true;
	}
	w->at++;
	value = w->at < w->n ? w->words[w->at] : NULL;
	if (options_step_add(o, word, value, &used, why) < 0)
		return complain(word, why);
	w->at += used;
	return 0;
}

// The file that is named somewhere, before all else.
static int scenario_file_read(int argc, char **argv, struct options *o)
{
	struct words w = {.words = argv, .n = argc, .at = 1};
	const struct options_row *row;
	const char *value;

	while (w.at < argc) {
		if (strncmp(argv[w.at], "--", 2) != 0) {
			w.at++;
			continue;
		}
		if (option_split(&w, &row, &value) < 0)
			return -EINVAL;
		if (row->offset == AT(scenario) && options_file_read(value, o) < 0)
			return -EINVAL;
	}
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret)
{
	struct words w = {.words = argv, .n = argc, .at = 1};
	char why[OPTIONS_WHY_LEN];

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			help_print();
			return 1;
		}
	}
	*ret = (struct options){0};
	for (size_t i = 0; i < options_n_rows; i++) {
		if (options_rows[i].def &&
		    options_set(ret, &options_rows[i], options_rows[i].def, why) < 0)
			return complain(options_rows[i].name, why);
	}
	if (scenario_file_read(argc, argv, ret) < 0)
		return -EINVAL;
	while (w.at < argc) {
		if (word_take(&w, ret) < 0)
			return -EINVAL;
	}
	return options_check(ret);
}
