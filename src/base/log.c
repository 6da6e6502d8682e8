// Log lines, see log.h.
//
// A line is put together in one buffer and leaves with one write, so that lines of different
// processes on one stream do not mix.

#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"

#define LOG_TEXT_MAX 1024                // a message longer than this ends in "..."
#define LOG_LINE_MAX (LOG_TEXT_MAX + 64) // the message with what stands before it

struct log_level_row {
	const char *name;
	int priority; // syslog(3)
};

static const struct log_level_row levels[] = {
	[LOG_LEVEL_ERROR] = {"error", 3},
	[LOG_LEVEL_WARN] = {"warn", 4},
	[LOG_LEVEL_INFO] = {"info", 6},
	[LOG_LEVEL_DEBUG] = {"debug", 7},
};

#define N_LEVELS (sizeof(levels) / sizeof(levels[0]))

static FILE *stream;     // NULL: stderr
static bool to_journal;  // the journal stamps the time and reads <priority>
static bool initialised; // log_init() has looked at the stream
static enum log_level threshold = LOG_LEVEL_INFO;
static unsigned burst = LOG_LIMIT_BURST;
static uint64_t suppressed_sum;

static bool log_is_journal(FILE *out)
{
	const char *want = getenv("JOURNAL_STREAM"); // "device:inode"
	unsigned long long device, inode;
	struct stat st;
	int fd = fileno(out);

	if (want == NULL || fd < 0 || fstat(fd, &st) < 0)
		return false;
	if (sscanf(want, "%llu:%llu", &device, &inode) != 2)
		return false;
	return st.st_dev == device && st.st_ino == inode;
}

void log_init(FILE *out)
{
	stream = out ? out : stderr;
	to_journal = log_is_journal(stream);
	initialised = true;
}

void log_level_set(enum log_level level)
{
	threshold = level;
}

enum log_level log_level_get(void)
{
	return threshold;
}

int log_level_parse(const char *text, enum log_level *ret_level)
{
	for (unsigned i = 0; i < N_LEVELS; i++) {
		if (strcmp(text, levels[i].name) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *log_level_str(enum log_level level)
{
	return levels[level].name;
}

// Writes what stands before the message; returns its length.
static size_t log_prefix(char *line, size_t size, enum log_level level)
{
	struct timespec now;
	struct tm tm;
	int n;

	if (to_journal) {
		n = snprintf(line, size, "<%d>", levels[level].priority);
	} else {
		clock_gettime(CLOCK_REALTIME, &now); // an operator's time, even where tests warp
		gmtime_r(&now.tv_sec, &tm);
		n = snprintf(line, size,
			     "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s: ", tm.tm_year + 1900,
			     tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			     now.tv_nsec / 1000000, levels[level].name);
	}
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

// Copies text, escaping what could break the line; stops where the buffer ends.
static size_t log_copy_clean(char *to, size_t size, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool plain = c >= 0x20 && c < 0x7f;

		if (n + (plain ? 1 : 4) > size)
			break;
		if (plain) {
			to[n++] = (char)c;
			continue;
		}
		to[n++] = '\\';
		to[n++] = 'x';
		to[n++] = hex[c >> 4];
		to[n++] = hex[c & 15];
	}
	return n;
}

static void log_line(enum log_level level, uint64_t suppressed, const char *fmt, va_list args)
{
	char text[LOG_TEXT_MAX];
	char line[LOG_LINE_MAX];
	size_t len;
	int n;

	if (!initialised)
		log_init(NULL);

	n = vsnprintf(text, sizeof(text), fmt, args);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(text))
		memcpy(text + sizeof(text) - 4, "...", 4);

	len = log_prefix(line, sizeof(line), level);
	len += log_copy_clean(line + len, sizeof(line) - len - 1, text);
	line[len++] = '\n';
	fwrite(line, 1, len, stream);

	if (suppressed) {
		len = log_prefix(line, sizeof(line), level);
		n = snprintf(line + len, sizeof(line) - len, "%llu more like this suppressed\n",
			     (unsigned long long)suppressed);
		if (n > 0)
			fwrite(line, 1, len + (size_t)n, stream);
	}
	fflush(stream);
}

void log_write(enum log_level level, const char *fmt, ...)
{
	va_list args;

	if (level > threshold)
		return;
	va_start(args, fmt);
	log_line(level, 0, fmt, args);
	va_end(args);
}

void log_burst_set(unsigned lines)
{
	burst = lines;
}

uint64_t log_suppressed(void)
{
	return suppressed_sum;
}

// A line costs one second of the allowance, which holds as many seconds as a burst has lines.
static bool log_limit_pass(struct log_limit *limit)
{
	uint64_t now = clock_now_ns();

	if (limit->due_ns < now)
		limit->due_ns = now;
	if (limit->due_ns - now > (burst - 1) * NS_PER_SEC) {
		limit->suppressed++;
		suppressed_sum++;
		return false;
	}
	limit->due_ns += NS_PER_SEC;
	return true;
}

void log_write_limited(struct log_limit *limit, enum log_level level, const char *fmt, ...)
{
	va_list args;

	if (level > threshold || !log_limit_pass(limit))
		return;
	va_start(args, fmt);
	log_line(level, limit->suppressed, fmt, args);
	va_end(args);
	limit->suppressed = 0;
}
