// sluice-perf: measures what Sluice costs and carries. The table of its engines, and picking one.
//
// Exit status: as the engine says (engine.h), 2 for a wrong command line.

#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "engine.h"

static const struct engine *const engines[] = {
	&engine_cost,
	&engine_ndr,
	&engine_pfcp,
	&engine_soak,
};
#define N_ENGINES (sizeof(engines) / sizeof(engines[0]))

static void help_print(void)
{
	puts("usage: sluice-perf ENGINE [OPTION...], where ENGINE is one of");
	for (unsigned i = 0; i < N_ENGINES; i++)
		printf("  %-6s %s\n", engines[i]->name, engines[i]->help);
	puts("sluice-perf ENGINE --help says what each can be told.");
}

int main(int argc, char **argv)
{
	struct near near;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		help_print();
		return argc < 2 ? 2 : 0;
	}
	near_init(&near, argv[1]);
	for (unsigned i = 0; i < N_ENGINES; i++) {
		if (strcmp(argv[1], engines[i]->name) == 0)
			return engines[i]->run(argc - 1, argv + 1);
		near_offer(&near, engines[i]->name);
	}
	fprintf(stderr, "sluice-perf: no engine \"%s\"", argv[1]);
	if (near_best(&near))
		fprintf(stderr, ", did you mean \"%s\"?", near_best(&near));
	fputs("; sluice-perf help lists them\n", stderr);
	return 2;
}
