// sluiced: reads the configuration, starts the UPF, runs until told to stop.
//
// Exit status: 0 after a signal to stop, 1 when the configuration is wrong or the start fails, 2 for a wrong
// command line.

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/upf.h"
#include "base/log.h"

static const char usage[] =
	"usage: sluiced [--config FILE]   run the UPF (default " SLUICE_CONFIG ")\n"
	"       sluiced --check FILE      say what FILE would do, or all that is wrong with it\n"
	"       sluiced --sample          print a commented configuration with every key\n"
	"       sluiced --version\n"
	"       sluiced --help\n";

static int load(const char *path, struct config *ret)
{
	struct config_errors *errs = calloc(1, sizeof(*errs));
	int rc;

	if (!errs)
		return -1;
	rc = config_load(path, ret, errs);
	if (rc != 0)
		config_errors_print(errs, stderr);
	free(errs);
	return rc;
}

static int check(struct config *config, const char *path)
{
	if (load(path, config) != 0)
		return 1;
	config_show(config, stdout);
	printf("# %s is right: %u worker%s, %u interface%s, %u network instance%s\n", path,
	       config->workers.n_cpus, config->workers.n_cpus == 1 ? "" : "s", config->n_ifaces,
	       config->n_ifaces == 1 ? "" : "s", config->n_nis, config->n_nis == 1 ? "" : "s");
	return 0;
}

static int run(struct upf *upf, const char *path)
{
	int rc;

	if (load(path, &upf->config) != 0)
		return 1;
	log_level_set(upf->config.log.level);
	log_burst_set(upf->config.log.burst);
	rc = upf_start(upf);
	if (rc == 0)
		upf_run(upf);
	upf_stop(upf);
	return rc == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'}, {"check", required_argument, NULL, 'k'},
		{"sample", no_argument, NULL, 's'},       {"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
	};
	const char *path = SLUICE_CONFIG;
	struct upf *upf = calloc(1, sizeof(*upf));
	int status = 2;
	int option;

	if (!upf)
		return 1;
	while ((option = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			path = optarg;
			continue;
		case 'k':
			status = check(&upf->config, optarg);
			goto out;
		case 's':
			config_sample_write(stdout);
			status = 0;
			goto out;
		case 'v':
			puts("sluiced " SLUICE_VERSION);
			status = 0;
			goto out;
		case 'h':
			fputs(usage, stdout);
			status = 0;
			goto out;
		default:
			fputs(usage, stderr);
			goto out;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "sluiced: unexpected word: %s\n%s", argv[optind], usage);
		goto out;
	}
	status = run(upf, path);
out:
	free(upf);
	return status;
}
