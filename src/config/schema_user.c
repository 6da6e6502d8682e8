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

const struct schema_key schema_reassembly[] = {
	{.name = "datagrams",
	 .type = SCHEMA_INT,
	 FIELD(config_reassembly, datagrams),
	 RANGE(0, 65536, "256"),
	 .help = "Packets whose fragments a worker keeps until all are there: so many of users, where rules "
		 "ask for ports, and so many of tunnels. 0: users' fragments go through one by one, "
		 "those of tunnels are dropped."},
	{.name = "per_session",
	 .type = SCHEMA_INT,
	 FIELD(config_reassembly, per_session),
	 RANGE(1, 65536, "16"),
	 .help = "Of these, how many one session, or one gNB, may have."},
	{.name = "fragments",
	 .type = SCHEMA_INT,
	 FIELD(config_reassembly, fragments),
	 RANGE(2, 65536, "1024"),
	 .help = "Fragments that a worker keeps of all of them, of each kind, in buffers beside "
		 "sessions.mbufs."},
	{.name = "timeout_ms",
	 .type = SCHEMA_INT,
	 FIELD(config_reassembly, timeout_ms),
	 RANGE(10, 60000, "2000"),
	 .help = "How long the others may take after the first fragment of a packet."},
	{0},
};
