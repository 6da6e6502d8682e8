// libFuzzer target of sdf_parse(): the input is a Flow Description, without the newline that ends a file.
// What it takes it must print so that the text parses to the same, whole or cut; what it refuses it must
// leave as it was, with a reason.
//
//	fuzz_sdf tests/fuzz/corpus/sdf

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "rules/sdf.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void print_and_parse(const struct sdf *sdf)
{
	struct sdf again = {0};
	const char *why = NULL;
	char text[SDF_STRLEN], cut[24];

	sdf_str(sdf, text, sizeof(text));
	must(strlen(text) < sizeof(text) - 1);
	must(sdf_parse(text, strlen(text), &again, &why) == 0);
	must(memcmp(sdf, &again, sizeof(again)) == 0);
	sdf_str(sdf, cut, sizeof(cut));
	must(strncmp(cut, text, sizeof(cut) - 1) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static const struct sdf untouched;
	struct sdf sdf = {0};
	const char *why = NULL;
	int rc;

	if (size > 0 && input[size - 1] == '\n')
		size--;
	rc = sdf_parse((const char *)input, size, &sdf, &why);
	if (rc == 0) {
		print_and_parse(&sdf);
		return 0;
	}
	must(rc == -EINVAL && why != NULL);
	must(memcmp(&sdf, &untouched, sizeof(sdf)) == 0);
	return 0;
}
