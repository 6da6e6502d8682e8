// See eal.h. Control thread.
//
// Without huge pages EAL runs with --no-huge; with them, --in-memory takes them anonymously, so
// that neither a hugetlbfs mount nor its permissions matter. The two exclude each other.

#include "port/eal.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "base/log.h"
#include "port/backend_native.h"

#define EAL_MAX_ARGS (24 + 2 * EAL_MAX_PCI)
#define HUGEPAGES_SYSFS "/sys/kernel/mm/hugepages"

struct eal_args {
	int n;
	char *v[EAL_MAX_ARGS + 1];
	size_t used;
	char text[4096]; // what v points into
};

static bool started, log_quiet;
static unsigned n_claims;
static int claims[EAL_MAX_PCI]; // of native_pci_claim()
static char last_error[256];    // what EAL said last, to explain why it did not start

int port_fail(struct port_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

// One chunk of DPDK's log: a line, since DPDK flushes after each message.
static ssize_t log_chunk(void *cookie, const char *text, size_t len)
{
	int level = rte_log_cur_msg_loglevel();
	size_t n = len;

	while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	if (!n)
		return (ssize_t)len;
	if (level > 0 && level <= (int)RTE_LOG_ERR && !log_quiet) {
		snprintf(last_error, sizeof(last_error), "%.*s", (int)n, text);
		log_error("dpdk: %.*s", (int)n, text);
	} else if (level == (int)RTE_LOG_WARNING) {
		log_warn("dpdk: %.*s", (int)n, text);
	} else {
		// DPDK's "notice" and "info" are its developers' detail, not the operator's.
		log_debug("dpdk: %.*s", (int)n, text);
	}
	return (ssize_t)len;
}

void eal_log_quiet(bool quiet)
{
	log_quiet = quiet;
}

static int log_route(void)
{
	cookie_io_functions_t io = {.write = log_chunk};
	FILE *stream = fopencookie(NULL, "w", io);

	if (!stream)
		return -errno;
	setvbuf(stream, NULL, _IOLBF, 0);
	rte_openlog_stream(stream);
	return 0;
}

static long read_number(const char *path)
{
	long value = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%ld", &value) != 1 || value < 0)
		value = 0;
	fclose(f);
	return value;
}

uint64_t eal_hugepages_free_mb(const char *sysfs)
{
	uint64_t kb = 0;
	struct dirent *entry;
	DIR *dir = opendir(sysfs);

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		unsigned long size_kb;
		char path[512];

		if (sscanf(entry->d_name, "hugepages-%lukB", &size_kb) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/free_hugepages", sysfs, entry->d_name);
		kb += (uint64_t)read_number(path) * size_kb;
	}
	closedir(dir);
	return kb >> 10;
}

// Whether to use huge pages: 1 or 0, or -ENOMEM when they are demanded and not there.
static int hugepages_choose(const struct eal_conf *conf, struct port_error *err)
{
	uint64_t free_mb = eal_hugepages_free_mb(HUGEPAGES_SYSFS);

	if (conf->hugepages == EAL_HUGEPAGES_OFF)
		return 0;
	if (free_mb >= conf->memory_mb) {
		log_info("memory: %u MB of huge pages", conf->memory_mb);
		return 1;
	}
	if (conf->hugepages == EAL_HUGEPAGES_ON)
		return port_fail(
			err, -ENOMEM,
			"hugepages: on needs %u MB of free huge pages and %llu MB are free; reserve "
			"them with 'sysctl -w vm.nr_hugepages=%u' (2 MB pages), or set hugepages: auto",
			conf->memory_mb, (unsigned long long)free_mb, (conf->memory_mb + 1) / 2);
	log_info("memory: %u MB of ordinary pages, since %llu MB of huge pages are free",
		 conf->memory_mb, (unsigned long long)free_mb);
	return 0;
}

// Claims the PCI devices, and refuses those that EAL would pass over with a reason of its own.
static int pci_prepare(const struct eal_conf *conf, bool huge, struct port_error *err)
{
	for (unsigned i = 0; i < conf->n_pci; i++) {
		const char *pci = conf->pci[i];
		int fd;

		if (!huge && native_pci_is_uio(NATIVE_PCI_SYSFS, pci))
			return port_fail(
				err, -EINVAL,
				"%s: with uio drivers DPDK needs huge pages: bind the device to vfio-pci, or "
				"reserve them with 'sysctl -w vm.nr_hugepages=%u' (2 MB pages) and leave "
				"hugepages at auto",
				pci, (conf->memory_mb + 1) / 2);
		fd = native_pci_claim(NATIVE_PCI_SYSFS, pci, err);
		if (fd < 0)
			return fd;
		claims[n_claims++] = fd;
	}
	return 0;
}

static void pci_release(void)
{
	while (n_claims)
		close(claims[--n_claims]);
}

static void cpu_list_str(char *buf, size_t size, const cpu_set_t *set)
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		unsigned last = cpu;

		if (!CPU_ISSET(cpu, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		int n = snprintf(buf + used, size - used, last > cpu ? "%s%u-%u" : "%s%u",
				 used ? "," : "", cpu, last);
		if (n < 0 || (size_t)n >= size - used) {
			buf[used] = '\0';
			return;
		}
		used += (size_t)n;
		cpu = last;
	}
}

// The --lcores map: main where it is told to be or on whatever CPUs no worker has (on all, when
// none is left), then a worker a CPU.
static int lcores_str(const struct eal_conf *conf, char *buf, size_t size, struct port_error *err)
{
	cpu_set_t allowed, rest;
	char list[256];

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return port_fail(err, -errno, "cannot read the process's CPU set: %s",
				 strerror(errno));
	rest = allowed;
	cpu_list_str(list, sizeof(list), &allowed);
	for (unsigned i = 0; i < conf->n_cpus; i++) {
		unsigned cpu = conf->cpus[i];

		if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed))
			return port_fail(
				err, -EINVAL,
				"worker CPU %u is not among the CPUs that this process may use (%s)",
				cpu, list);
		for (unsigned k = 0; k < i; k++)
			if (conf->cpus[k] == cpu)
				return port_fail(
					err, -EINVAL,
					"worker CPU %u is named twice: each worker needs its own",
					cpu);
		CPU_CLR(cpu, &rest);
	}
	if (conf->main_cpu >= CPU_SETSIZE ||
	    (conf->main_cpu >= 0 && !CPU_ISSET((unsigned)conf->main_cpu, &allowed)))
		return port_fail(err, -EINVAL,
				 "main CPU %d is not among the CPUs that this process may use (%s)",
				 conf->main_cpu, list);
	if (conf->main_cpu >= 0)
		snprintf(list, sizeof(list), "%d", conf->main_cpu);
	else if (CPU_COUNT(&rest))
		cpu_list_str(list, sizeof(list), &rest);
	size_t used = (size_t)snprintf(buf, size, "0@(%s)", list);
	for (unsigned i = 0; i < conf->n_cpus && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, ",%u@%u", eal_worker_lcore(i),
					 conf->cpus[i]);
	return used < size ? 0 : port_fail(err, -E2BIG, "too many CPUs for one lcore map");
}

static void __attribute__((format(printf, 2, 3)))
arg_add(struct eal_args *args, const char *fmt, ...)
{
	size_t room = sizeof(args->text) - args->used;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(args->text + args->used, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room || args->n == EAL_MAX_ARGS)
		return;
	args->v[args->n++] = args->text + args->used;
	args->used += (size_t)n + 1;
}

static void args_fill(struct eal_args *args, const struct eal_conf *conf, const char *lcores,
		      bool huge)
{
	arg_add(args, "sluiced");
	arg_add(args, "--lcores");
	arg_add(args, "%s", lcores);
	arg_add(args, "--main-lcore=0");
	arg_add(args, "--no-telemetry");
	if (huge) {
		arg_add(args, "--in-memory");
		arg_add(args, "--single-file-segments"); // virtio-user passes 8 areas at most
	} else {
		arg_add(args, "--no-huge");
		arg_add(args, "--no-shconf");
	}
	arg_add(args, "-m");
	arg_add(args, "%u", conf->memory_mb);
	arg_add(args, "--file-prefix=%s", conf->file_prefix);
	if (!conf->n_pci) {
		arg_add(args, "--no-pci");
		arg_add(args, "--iova-mode=va"); // AF_XDP wants it so (mempool.c)
	}
	for (unsigned i = 0; i < conf->n_pci; i++) {
		arg_add(args, "-a");
		arg_add(args, "%s", conf->pci[i]);
	}
}

int eal_start(const struct eal_conf *conf, struct port_error *err)
{
	char lcores[1024];
	static struct eal_args args; // EAL keeps pointers into it
	int ret, huge;

	if (started || args.n)
		return port_fail(err, -EALREADY, "EAL has been started before in this process");
	if (!conf->n_cpus || conf->n_cpus > MAX_WORKERS)
		return port_fail(err, -EINVAL, "%u worker CPUs are configured; 1 to %d can be",
				 conf->n_cpus, MAX_WORKERS);
	if (conf->n_pci > EAL_MAX_PCI)
		return port_fail(err, -EINVAL, "%u PCI devices are configured; at most %d can be",
				 conf->n_pci, EAL_MAX_PCI);
	for (unsigned i = 0; i < conf->n_pci; i++) {
		ret = native_pci_check(NATIVE_PCI_SYSFS, conf->pci[i], err);
		if (ret)
			return ret;
	}
	ret = lcores_str(conf, lcores, sizeof(lcores), err);
	if (ret)
		return ret;
	huge = hugepages_choose(conf, err);
	if (huge < 0)
		return huge;
	ret = log_route();
	if (ret)
		return port_fail(err, ret, "cannot route DPDK's log: %s", strerror(-ret));
	ret = pci_prepare(conf, huge, err);
	if (ret)
		return ret;
	args_fill(&args, conf, lcores, huge);
	ret = rte_eal_init(args.n, args.v);
	if (ret < 0)
		return port_fail(err, -rte_errno, "DPDK's EAL does not start: %s%s%s",
				 rte_strerror(rte_errno), last_error[0] ? "; it said: " : "",
				 last_error);
	started = true;
	return 0;
}

void eal_stop(void)
{
	char dir[512];

	if (!started) {
		pci_release();
		return;
	}
	snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
	// Of a device that was probed and not opened, vfio has hundreds of complaints.
	eal_log_quiet(true);
	rte_eal_cleanup();
	pci_release();
	rmdir(dir); // EAL leaves it; not when another process has files in it
	started = false;
}
