// The keys of what happens to users' packets beyond their sessions' rules, see schema.h.
//
// Constant: any thread.

#include "config/config.h"
#include "config/schema_row.h"

const struct schema_key schema_icmp[] = {
	{.name = "error_rate",
	 .type = SCHEMA_INT,
	 FIELD(config_icmp, error_rate),
	 RANGE(0, 1000000, "1000"),
	 .help = "Most ICMP errors a second that one worker sends to those whose packets were too long or "
		 "had no hop left; 0: none. They come from the address of the interface on the data "
		 "network's side."},
	{0},
};
