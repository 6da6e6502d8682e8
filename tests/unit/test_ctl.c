// ctl: commands over an absent daemon and over made-up parts, and the server against bad clients.
//
// Answers are compared to the letter. Nothing waits: the loop runs on this thread.

#include "ctl_kit.h"

#include "base/clock.h"
#include "config/config.h"
#include "neigh/neigh.h"
#include "pfcp/n4_session.h"
#include "port/port.h"
#include "service/service.h"
#include "stats/stats.h"
#include "worker/worker.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const struct ctl_view nothing = {.version = "1.2.3"};

// --- commands ---

static const struct {
	const char *line, *text, *json;
} empty_rows[] = {
	{"show interfaces", "none\n", "{\"interfaces\":[]}\n"},
	{"show workers", "none\n", "{\"workers\":[]}\n"},
	{"show cycles", "none\n", "{\"cycles\":[]}\n"},
	{"show sessions", "none\n\ntotal  0\nnext   -\n",
	 "{\"sessions\":[],\"total\":0,\"next\":null}\n"},
	{"show neighbours", "none\n", "{\"neighbours\":[]}\n"},
	{"show peers", "none\n", "{\"peers\":[]}\n"},
	{"show associations", "none\n", "{\"associations\":[]}\n"},
	{"show applications", "none\n\ntotal  0\nbytes  0\nnext   -\n",
	 "{\"applications\":[],\"total\":0,\"bytes\":0,\"next\":null}\n"},
	{"show services", "none\n", "{\"services\":[]}\n"},
	{"show config", "", "{}\n"},
	{"show drops", "none\n", NULL},
	{"show pfcp resources", "none\n", "{}\n"},
	{"show pfcp counters", "none\n\nmessages:\n  none\n\ncauses:\n  none\n", NULL},
	{"  show\t workers \r", "none\n", "{\"workers\":[]}\n"},
};

static void test_nothing_there(void)
{
	for (unsigned i = 0; i < N(empty_rows); i++) {
		const struct reply *r = call_line(&nothing, REPLY_TEXT, empty_rows[i].line);

		CU_ASSERT_EQUAL(r->status, CTL_OK);
		CU_ASSERT_STRING_EQUAL(strbuf_text(&r->out), empty_rows[i].text);
		r = call_line(&nothing, REPLY_JSON, empty_rows[i].line);
		CU_ASSERT_EQUAL(r->status, CTL_OK);
		if (empty_rows[i].json)
			CU_ASSERT_STRING_EQUAL(strbuf_text(&r->out), empty_rows[i].json);
	}
}

static const struct {
	const char *line, *text;
	enum ctl_status status;
} wrong_rows[] = {
	{"", "no command: one of help show clear\n", CTL_USAGE},
	{"show",
	 "incomplete: one of version interfaces interface workers cycles sessions session flows nat keys drops "
	 "counters neighbours peers pools associations applications pfcp predefined-rules services config\n",
	 CTL_USAGE},
	{"show pfcp", "incomplete: one of counters resources\n", CTL_USAGE},
	{"shwo version", "unknown command \"shwo\": did you mean \"show\"?\n", CTL_USAGE},
	{"show wrkers", "unknown command \"show wrkers\": did you mean \"show workers\"?\n",
	 CTL_USAGE},
	{"show pfcp countres",
	 "unknown command \"show pfcp countres\": did you mean \"show pfcp counters\"?\n",
	 CTL_USAGE},
	{"show zzzzzzzzz", "unknown command \"show zzzzzzzzz\": \"help\" lists them\n", CTL_USAGE},
	{"show workers now", "unexpected word \"now\": usage: show workers\n", CTL_USAGE},
	{"show session", "incomplete: usage: show session SEID\n", CTL_USAGE},
	{"show session -1", "bad value \"-1\": usage: show session SEID\n", CTL_USAGE},
	{"show session 0x", "bad value \"0x\": usage: show session SEID\n", CTL_USAGE},
	{"show session 0x0x1", "bad value \"0x0x1\": usage: show session SEID\n", CTL_USAGE},
	{"show session 12g", "bad value \"12g\": usage: show session SEID\n", CTL_USAGE},
	{"show session 0x10000000000000000",
	 "bad value \"0x10000000000000000\": usage: show session SEID\n", CTL_USAGE},
	{"show session 1 2", "unexpected word \"2\": usage: show session SEID\n", CTL_USAGE},
	{"show session 0x1F", "no session with SEID 0x000000000000001f\n", CTL_FAILED},
	{"show session 1f", "no session with SEID 0x000000000000001f\n", CTL_FAILED},
	{"show session 31", "no session with SEID 0x000000000000001f\n", CTL_FAILED},
	{"show session 18446744073709551615", "no session with SEID 0xffffffffffffffff\n",
	 CTL_FAILED},
	{"show sessions limit",
	 "no value for \"limit\": usage: show sessions [from SEID] [limit N] "
	 "[ue ADDRESS]\n",
	 CTL_USAGE},
	{"show sessions limit 0", "limit \"0\": a number of 1..1000\n", CTL_USAGE},
	{"show sessions limit 1001", "limit \"1001\": a number of 1..1000\n", CTL_USAGE},
	{"show sessions limit 5 limit 6",
	 "unexpected word \"limit\": usage: show sessions "
	 "[from SEID] [limit N] [ue ADDRESS]\n",
	 CTL_USAGE},
	{"show sessions ue 10.0.0",
	 "bad value \"10.0.0\": usage: show sessions [from SEID] "
	 "[limit N] [ue ADDRESS]\n",
	 CTL_USAGE},
	{"show interface n3", "no interface \"n3\"\n", CTL_FAILED},
	{"a b c d e f g h i j k l m n o p q", "not a line of at most 16 words in ASCII\n",
	 CTL_USAGE},
	{"show \x01", "not a line of at most 16 words in ASCII\n", CTL_USAGE},
	{"show \xc3\xa9", "not a line of at most 16 words in ASCII\n", CTL_USAGE},
};

static void test_wrong_lines(void)
{
	for (unsigned i = 0; i < N(wrong_rows); i++) {
		const struct reply *r = call_line(&nothing, REPLY_TEXT, wrong_rows[i].line);

		CU_ASSERT_EQUAL(r->status, wrong_rows[i].status);
		CU_ASSERT_STRING_EQUAL(strbuf_text(&r->out), wrong_rows[i].text);
		if (strcmp(strbuf_text(&r->out), wrong_rows[i].text) != 0)
			printf("\n%s: %s", wrong_rows[i].line, strbuf_text(&r->out));
	}
}

static const struct {
	const char *line, *offers;
} complete_rows[] = {
	{"", "help\nshow\nclear\n"},
	{"s", "show\n"},
	{"x", ""},
	{"show w", "workers\n"},
	{"show sess", "sessions\nsession\n"},
	{"show pfcp ", "counters\nresources\n"},
	{"show sessions ", "from\nlimit\nue\n"},
	{"show sessions limit 5 ", "from\nue\n"},
	{"show sessions limit ", ""},
	{"show sessions from 5 l", "limit\n"},
	{"show sessions bad ", ""},
	{"show workers ", ""},
	{"show nothing ", ""},
	{"show \xff", ""},
};

static void test_complete(void)
{
	for (unsigned i = 0; i < N(complete_rows); i++) {
		struct strbuf to = {0};

		commands_complete(&nothing, complete_rows[i].line, strlen(complete_rows[i].line),
				  &to);
		CU_ASSERT_STRING_EQUAL(strbuf_text(&to), complete_rows[i].offers);
		strbuf_fini(&to);
	}
}

// Every command is in the help, and answers in both forms.
static void test_help(void)
{
	const struct reply *r = call_line(&nothing, REPLY_TEXT, "help");
	unsigned n = 0;

	CU_ASSERT_TRUE(golden_is("ctl-help.txt", strbuf_text(&r->out)));
	for (const struct command *c = commands; c->words; c++, n++) {
		r = call_line(&nothing, REPLY_TEXT, "help");
		CU_ASSERT_PTR_NOT_NULL(strstr(strbuf_text(&r->out), c->words));
		CU_ASSERT_PTR_NOT_NULL(c->help);
	}
	CU_ASSERT(n >= 16);
	r = call_line(&nothing, REPLY_JSON, "help drops");
	CU_ASSERT_STRING_EQUAL(strbuf_text(&r->out),
			       "{\"commands\":[{\"command\":\"show drops\",\"help\":"
			       "\"packets dropped, by reason, of all threads\"}]}\n");
}

// --- commands over parts ---

static const char config_text[] =
	"node: {id: 192.0.2.10, name: edge}\n"
	"mode: af_packet\n"
	"workers: {cpus: [2, 3]}\n"
	"n4: {address: 192.0.2.10}\n"
	"interfaces:\n"
	"  - {name: n3, device: eth1, roles: [n3], addresses: [192.0.2.1/24]}\n"
	"  - {name: n6, device: eth2, roles: [n6], addresses: [198.51.100.1/24]}\n"
	"network_instances:\n"
	"  - {name: internet, interface: n6, pools: [10.45.0.0/16]}\n";

static struct config config;
static struct worker two[2];
static struct worker *const workers[] = {&two[0], &two[1]};
static struct stats control;

static struct ctl_view parts_make(void)
{
	static struct config_errors errs;

	CU_ASSERT_EQUAL_FATAL(
		config_load_text("t", config_text, strlen(config_text), 4, &config, &errs), 0);
	for (unsigned i = 0; i < 2; i++) {
		memset(&two[i].stats, 0, sizeof(two[i].stats));
		two[i].id = i;
		two[i].table.used = 10 + i;
		two[i].stats.counter[COUNTER_rx] = 100 * (i + 1);
		two[i].stats.counter[COUNTER_tx] = 97 * (i + 1);
		two[i].stats.counter[COUNTER_turns] = 1000;
		two[i].stats.counter[COUNTER_idle_turns] = 250;
		two[i].stats.counter[COUNTER_busy_cycles] = 9000;
		two[i].stats.counter[COUNTER_idle_cycles] = 3000;
		two[i].stats.counter[COUNTER_longest_turn] = 77;
		two[i].stats.sampled_packets = 40;
		two[i].stats.stage_cycles[STAGE_parse] = 900 + i;
		two[i].stats.service_cycles[SERVICE_BIT_pdr] = 210;
		two[i].stats.service_packets[SERVICE_BIT_pdr] = 20 + i;
		two[i].stats.drop[DROP_no_pdr] = 3 * (i + 1);
	}
	memset(&control, 0, sizeof(control));
	control.drop[DROP_control_unwanted] = 4;
	return (struct ctl_view){
		.version = "1.2.3",
		.start_ns = clock_now_ns(),
		.workers = workers,
		.n_workers = 2,
		.control = &control,
		.config = &config,
	};
}

static void test_counters(void)
{
	struct ctl_view view = parts_make();
	const struct reply *r = call_line(&view, REPLY_TEXT, "show drops");
	const char *text;

	CU_ASSERT_STRING_EQUAL(
		strbuf_text(&r->out),
		"no_pdr            9  no PDR of the session matches\n"
		"control_unwanted  4  punted packet that the control thread has no use for\n");
	r = call_line(&view, REPLY_JSON, "show drops");
	CU_ASSERT_PTR_NOT_NULL(strstr(strbuf_text(&r->out), "{\"runt\":0,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(strbuf_text(&r->out), "\"no_pdr\":9,"));
	CU_ASSERT_TRUE(golden_is("ctl-counters.txt",
				 strbuf_text(&call_line(&view, REPLY_TEXT, "show counters")->out)));
	text = strbuf_text(&call_line(&view, REPLY_JSON, "show counters")->out);
	CU_ASSERT_EQUAL(strncmp(text, "{\"workers\":[{\"worker\":0,\"counters\":{\"rx\":100,", 45),
			0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "},\"drops\":{\"runt\":0,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "}},{\"worker\":1,\"counters\":{\"rx\":200,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "}}],\"control\":{\"counters\":{\"rx\":0,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"control_unwanted\":4}}}\n"));
	CU_ASSERT_TRUE(golden_is("ctl-workers.txt",
				 strbuf_text(&call_line(&view, REPLY_TEXT, "show workers")->out)));
	CU_ASSERT_TRUE(golden_is("ctl-workers.json",
				 strbuf_text(&call_line(&view, REPLY_JSON, "show workers")->out)));
}

static void test_version(void)
{
	struct ctl_view view;
	char want[200];
	const char *text;

	clock_stop();
	view = parts_make();
	clock_warp_ns(61 * (int64_t)NS_PER_SEC);
	text = strbuf_text(&call_line(&view, REPLY_JSON, "show version")->out);
	snprintf(want, sizeof(want), "\"pid\":%d,\"started\":\"", (int)getpid());
	CU_ASSERT_EQUAL(strncmp(text, "{\"version\":\"1.2.3\",\"dpdk\":\"DPDK ", 31), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, want));
	CU_ASSERT_PTR_NOT_NULL(strstr(text,
				      "Z\",\"uptime_s\":61,\"name\":\"edge\",\"node_id\":"
				      "\"192.0.2.10\",\"mode\":\"af_packet\",\"workers\":2}\n"));
	clock_start();
}

static void test_config(void)
{
	static struct config again;
	static struct config_errors errs;
	// A value of each type.
	static const char *const shown[] = {
		"{\"node\":{\"id\":\"192.0.2.10\",\"name\":\"edge\"}",
		"\"mode\":\"af_packet\",\"workers\":{\"cpus\":[2,3],\"idle\":\"poll\"",
		"\"interfaces\":[{\"name\":\"n3\",\"device\":\"eth1\",\"roles\":[\"n3\"]",
		"\"addresses\":[\"192.0.2.1/24\"],\"gateway\":null",
		"},{\"name\":\"n6\",",
		"\"main_cpu\":-1",
		"\"error_indication\":true",
		"\"peers\":[]",
	};
	struct ctl_view view = parts_make();
	const struct reply *r = call_line(&view, REPLY_TEXT, "show config");
	const char *text;

	CU_ASSERT_EQUAL(
		config_load_text("shown", strbuf_text(&r->out), r->out.len, 4, &again, &errs), 0);
	CU_ASSERT_EQUAL(memcmp(&config, &again, sizeof(config)), 0);
	text = strbuf_text(&call_line(&view, REPLY_JSON, "show config")->out);
	for (unsigned i = 0; i < N(shown); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, shown[i]));
}

static void test_services(void)
{
	static const struct n4_ni nis[] = {
		{.name = "plain"},
		{.name = "checked",
		 .services = SERVICE_MASK(flow) | SERVICE_MASK(l4_lifecycle) |
			     SERVICE_MASK(tcp_check)},
	};
	static struct n4 n4;
	struct ctl_view view = nothing;
	struct service_order order;
	char why[200];
	unsigned n;
	const struct service *const *services = service_registry(&n);

	CU_ASSERT_EQUAL_FATAL(service_order_resolve(services, n, &order, why, sizeof(why)), 0);
	view.services = &order;
	CU_ASSERT_PTR_NOT_NULL(strstr(
		strbuf_text(&call_line(&view, REPLY_JSON, "show services")->out), "{\"bit\":27,"));
	CU_ASSERT_EQUAL(strncmp(strbuf_text(&call_line(&view, REPLY_TEXT, "show services")->out),
				"BIT  NAME", 9),
			0);
	n4.env.nis = nis;
	n4.env.n_nis = N(nis);
	view.n4 = &n4;
	CU_ASSERT_PTR_NOT_NULL(
		strstr(strbuf_text(&call_line(&view, REPLY_JSON, "show services")->out),
		       "\"chains\":[{\"network_instance\":\"plain\",\"bits\":\"0x0\",\"chain\":[]},"
		       "{\"network_instance\":\"checked\",\"bits\":\"0xa08000\","
		       "\"chain\":[\"flow\",\"l4_lifecycle\",\"tcp_check\"]}]}"));
	view = parts_make();
	view.services = &order;
	CU_ASSERT_PTR_NOT_NULL(
		strstr(strbuf_text(&call_line(&view, REPLY_JSON, "show cycles")->out),
		       "{\"worker\":1,\"where\":\"parse\",\"packets\":40,\"cycles\":901,"
		       "\"cycles_per_packet\":22.525,"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(strbuf_text(&call_line(&view, REPLY_JSON, "show cycles")->out),
		       "{\"worker\":0,\"where\":\"pdr\",\"packets\":20,\"cycles\":210,"
		       "\"cycles_per_packet\":10.5,"));
}

// In the place of neigh/neigh.c: two neighbours, one of an interface that is not there.
void neigh_each(const struct neigh *neigh, neigh_view_fn *fn, void *ctx)
{
	struct neigh_view hop = {.state = HOP_ASKING, .gateway = true, .held = 2, .age_ms = 250};

	addr_parse("198.51.100.254", &hop.addr);
	fn(&hop, ctx);
	hop = (struct neigh_view){.state = HOP_KNOWN, .iface = 7, .tunnels = 3};
	memcpy(hop.mac, "\x02\0\0\0\x0a\xff", ETH_MAC_BYTES);
	addr_parse("2001:db8::1", &hop.addr);
	fn(&hop, ctx);
}

static void test_neighbours(void)
{
	struct iface n6 = {.name = "n6"};
	struct iface *const ifaces[] = {&n6};
	struct ctl_view view = {.ifaces = ifaces, .n_ifaces = 1};

	view.neigh = (const struct neigh *)&view; // only handed on to neigh_each()
	CU_ASSERT_STRING_EQUAL(
		strbuf_text(&call_line(&view, REPLY_JSON, "show neighbours")->out),
		"{\"neighbours\":[{\"address\":\"198.51.100.254\",\"interface\":\"n6\",\"state\":"
		"\"asking\",\"mac\":null,\"gateway\":true,\"tunnels\":0,\"held\":2,"
		"\"age_ms\":250},{\"address\":\"2001:db8::1\",\"interface\":\"7\",\"state\":"
		"\"known\",\"mac\":\"02:00:00:00:0a:ff\",\"gateway\":false,\"tunnels\":3,"
		"\"held\":0,\"age_ms\":0}]}\n");
}

// The same of its peers: one that answers, one that never did.
void neigh_each_peer(const struct neigh *neigh, gtpu_peer_view_fn *fn, void *ctx)
{
	struct gtpu_path path = {.state = GTPU_PATH_UP,
				 .has_recovery = true,
				 .recovery = 9,
				 .restarts = 1,
				 .failures = 2,
				 .sent = 5,
				 .answered = 4};
	struct gtpu_peer_view peer = {.tunnels = 7, .path = &path};

	clock_stop();
	path.answered_ns = clock_now_ns() - 250 * NS_PER_MS;
	addr_parse("198.51.100.1", &peer.addr);
	fn(&peer, ctx);
	path = (struct gtpu_path){.state = GTPU_PATH_DOWN, .failures = 1, .sent = 3};
	addr_parse("198.51.100.2", &peer.addr);
	peer.iface = 7;
	fn(&peer, ctx);
}

static void test_peers(void)
{
	struct iface n3 = {.name = "n3"};
	struct iface *const ifaces[] = {&n3};
	struct ctl_view view = {.ifaces = ifaces, .n_ifaces = 1};

	view.neigh = (const struct neigh *)&view; // only handed on to neigh_each_peer()
	CU_ASSERT_STRING_EQUAL(
		strbuf_text(&call_line(&view, REPLY_JSON, "show peers")->out),
		"{\"peers\":[{\"address\":\"198.51.100.1\",\"interface\":\"n3\",\"path\":\"up\","
		"\"tunnels\":7,\"sent\":5,\"answered\":4,\"answered_ms\":250,\"failures\":2,"
		"\"recovery\":9,\"restarts\":1},{\"address\":\"198.51.100.2\",\"interface\":\"7\","
		"\"path\":\"down\",\"tunnels\":7,\"sent\":3,\"answered\":0,\"answered_ms\":null,"
		"\"failures\":1,\"recovery\":null,\"restarts\":0}]}\n");
}

static void test_interface_names(void)
{
	struct iface n3 = {.name = "n3"}, n6 = {.name = "n6"}, core = {.name = "core"};
	struct iface *const ifaces[] = {&n3, &n6, &core};
	struct ctl_view view = {.ifaces = ifaces, .n_ifaces = 3};
	struct strbuf to = {0};

	commands_complete(&view, "show interface n", 16, &to);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&to), "n3\nn6\n");
	strbuf_clear(&to);
	commands_complete(&view, "show interface n3 ", 18, &to);
	CU_ASSERT_STRING_EQUAL(strbuf_text(&to), "");
	strbuf_fini(&to);
}

// --- the server ---

static void test_requests(void)
{
	static const struct {
		const char *request, *answer;
	} rows[] = {
		{"text show workers\n", "0 5\nnone\n"},
		{"json show workers\n", "0 15\n{\"workers\":[]}\n"},
		{"json show wrkers\n",
		 "2 76\n{\"error\":\"unknown command \\\"show wrkers\\\": did you mean "
		 "\\\"show workers\\\"?\"}\n"},
		{"complete show w\n", "0 8\nworkers\n"},
		{"complete\n", "0 16\nhelp\nshow\nclear\n"},
		{"prompt\n", "0 6\nsluice"},
		{"show workers\n", "2 14\nnot a request\n"},
		{"texts show workers\n", "2 14\nnot a request\n"},
		{"\n", "2 14\nnot a request\n"},
		{"text show workers\ntext show workers\n", "0 5\nnone\n0 5\nnone\n"},
	};
	const char *answer;
	bool end;
	int fd;

	ctl_kit_open(&nothing);
	fd = peer_open();
	for (unsigned i = 0; i < N(rows); i++) {
		peer_send(fd, rows[i].request, strlen(rows[i].request));
		answer = peer_read(fd, &end);
		CU_ASSERT_STRING_EQUAL(answer, rows[i].answer);
		CU_ASSERT_FALSE(end);
		if (strcmp(answer, rows[i].answer) != 0)
			printf("\n%s%s\n", rows[i].request, answer);
	}
	// In pieces.
	peer_send(fd, "text sh", 7);
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "");
	peer_send(fd, "ow workers\nte", 13);
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "0 5\nnone\n");
	close(fd);
	ctl_kit_run();
	CU_ASSERT_EQUAL(ctl_clients(ctl_kit.ctl), 0);
	ctl_kit_close();
}

static bool server_lives(void)
{
	int status = -1;
	int fd = peer_open();
	const char *text = peer_ask(fd, "text show workers\n", &status);
	bool good = text && status == CTL_OK && strcmp(text, "none\n") == 0;

	close(fd);
	ctl_kit_run();
	return good;
}

static void test_garbage(void)
{
	static char bytes[3 * CTL_LINE_MAX];
	bool end;
	int fd;

	ctl_kit_open(&nothing);
	fd = peer_open();
	// A NUL in a line, and bytes that are no text.
	peer_send(fd, "text show\0workers\n", 18);
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "2 14\nnot a request\n");
	peer_send(fd, "text \xff\xfe\x1b[2J\n", 12);
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end),
			       "2 40\nnot a line of at most 16 words in ASCII\n");
	CU_ASSERT_FALSE(end);
	// The longest line that there may be, then one byte more.
	memset(bytes, ' ', sizeof(bytes));
	memcpy(bytes, "text show workers", 17);
	bytes[CTL_LINE_MAX - 1] = '\n';
	peer_send(fd, bytes, CTL_LINE_MAX);
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "0 5\nnone\n");
	CU_ASSERT_FALSE(end);
	bytes[CTL_LINE_MAX - 1] = ' ';
	bytes[CTL_LINE_MAX] = '\n';
	peer_send(fd, bytes, CTL_LINE_MAX + 1);
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "2 14\nline too long\n");
	CU_ASSERT_TRUE(end);
	close(fd);
	// A line that never ends.
	fd = peer_open();
	memset(bytes, 'x', sizeof(bytes));
	peer_send(fd, bytes, sizeof(bytes));
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "2 14\nline too long\n");
	CU_ASSERT_TRUE(end);
	close(fd);
	CU_ASSERT_TRUE(server_lives());
	ctl_kit_close();
}

static void test_random_bytes(void)
{
	char bytes[512];
	unsigned seed = 1;
	bool end;

	ctl_kit_open(&nothing);
	for (unsigned round = 0; round < 300; round++) {
		int fd = peer_open();

		for (unsigned i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1103515245u + 12345u;
			bytes[i] = (char)(seed >> 16);
			if (seed >> 28 == 0)
				bytes[i] = '\n';
		}
		if (round % 2)
			memcpy(bytes, "json show ", 10);
		peer_send(fd, bytes, sizeof(bytes));
		peer_read(fd, &end);
		close(fd);
		ctl_kit_run();
		CU_ASSERT_EQUAL(ctl_clients(ctl_kit.ctl), 0);
	}
	CU_ASSERT_TRUE(server_lives());
	ctl_kit_close();
}

static void test_half_close(void)
{
	bool end;
	int fd;

	ctl_kit_open(&nothing);
	// All that was asked is answered, then the server closes.
	fd = peer_open();
	peer_send(fd, "text show workers\nprompt\n", 25);
	shutdown(fd, SHUT_WR);
	ctl_kit_run();
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "0 5\nnone\n0 6\nsluice");
	CU_ASSERT_TRUE(end);
	close(fd);
	// A line without its end is none.
	fd = peer_open();
	peer_send(fd, "text show workers", 17);
	shutdown(fd, SHUT_WR);
	ctl_kit_run();
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "");
	CU_ASSERT_TRUE(end);
	close(fd);
	// Gone before the answer.
	fd = peer_open();
	send(fd, "text show workers\n", 18, MSG_NOSIGNAL);
	close(fd);
	ctl_kit_run();
	CU_ASSERT_EQUAL(ctl_clients(ctl_kit.ctl), 0);
	CU_ASSERT_TRUE(server_lives());
	ctl_kit_close();
}

static void test_connect_flood(void)
{
	int fds[CTL_CLIENTS_MAX];
	int status;
	bool end;

	ctl_kit_open(&nothing);
	for (unsigned i = 0; i < N(fds); i++)
		fds[i] = peer_open();
	CU_ASSERT_EQUAL(ctl_clients(ctl_kit.ctl), CTL_CLIENTS_MAX);
	for (unsigned i = 0; i < 100; i++) {
		int fd = peer_open();

		CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "1 17\ntoo many clients\n");
		CU_ASSERT_TRUE(end);
		close(fd);
	}
	CU_ASSERT_PTR_NOT_NULL(peer_ask(fds[0], "text help\n", &status));
	for (unsigned i = 0; i < N(fds); i++)
		close(fds[i]);
	ctl_kit_run();
	CU_ASSERT_EQUAL(ctl_clients(ctl_kit.ctl), 0);
	CU_ASSERT_TRUE(server_lives());
	ctl_kit_close();
}

// One that asks and does not read costs no more than its buffers, and others are served meanwhile.
static void test_slow_reader(void)
{
	static char request[1000]; // long, so that few of them fill what the kernel holds
	const size_t most = 16u << 20;
	size_t sent = 0, lines = 0, n;
	bool end;
	int fd;

	memset(request, ' ', sizeof(request));
	memcpy(request, "json show counters", 18);
	request[sizeof(request) - 1] = '\n';
	ctl_kit_open(&nothing);
	fd = peer_open();
	do {
		size_t at = sent % sizeof(request);

		n = peer_send(fd, request + at, sizeof(request) - at);
		sent += n;
	} while (n > 0 && sent < most);
	CU_ASSERT_TRUE(sent > sizeof(request) && sent < most); // the server has stopped reading
	CU_ASSERT_TRUE(server_lives());
	for (unsigned idle = 0; idle < 3;) {
		const char *text = peer_read(fd, &end);

		CU_ASSERT_FALSE(end);
		idle = *text ? 0 : idle + 1;
		for (; (text = strchr(text, '\n')); text++)
			lines++;
	}
	CU_ASSERT_EQUAL(lines, 2 * (sent / sizeof(request))); // a line of status and one of JSON
	close(fd);
	ctl_kit_close();
}

// --- the socket ---

static int start_fails(const char *path, const char *group)
{
	struct ctl_conf conf = {.path = path, .group = group};
	struct event_base *base = event_base_new();
	FILE *log = fopen("/dev/null", "w");
	struct ctl *ctl;
	int err;

	log_init(log);
	ctl = ctl_start(base, &conf, &nothing);
	err = ctl ? 0 : errno;
	ctl_stop(ctl);
	log_init(NULL);
	fclose(log);
	event_base_free(base);
	return err;
}

static void test_socket_file(void)
{
	struct stat file;
	char other[80], deep[200];

	ctl_kit_open(&nothing);
	CU_ASSERT_EQUAL(stat(ctl_kit.path, &file), 0);
	CU_ASSERT_TRUE(S_ISSOCK(file.st_mode));
	CU_ASSERT_EQUAL(file.st_mode & 0777, 0660);
	CU_ASSERT_EQUAL(start_fails(ctl_kit.path, NULL), EADDRINUSE);
	CU_ASSERT_TRUE(server_lives()); // the one that was there is still
	snprintf(other, sizeof(other), "%s/other", ctl_kit.dir);
	CU_ASSERT_EQUAL(start_fails(other, "no-such-group"), ENOENT);
	CU_ASSERT_EQUAL(start_fails(other, "root"), 0);
	CU_ASSERT_EQUAL(start_fails("/no/such/folder", NULL), ENOENT);
	memset(deep, 'x', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	CU_ASSERT_EQUAL(start_fails(deep, NULL), ENAMETOOLONG);
	fclose(fopen(other, "w"));
	CU_ASSERT_EQUAL(start_fails(other, NULL), EEXIST);
	unlink(other);
	ctl_kit_close();
}

// What a daemon left that was killed does not stop the next one.
static void test_leftover(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/test_ctl.XXXXXX";
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", dir);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	CU_ASSERT_EQUAL(access(addr.sun_path, F_OK), 0);
	CU_ASSERT_EQUAL(start_fails(addr.sun_path, ""), 0);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static CU_TestInfo tests[] = {
	{"nothing there", test_nothing_there},
	{"wrong lines", test_wrong_lines},
	{"completion", test_complete},
	{"help", test_help},
	{"counters", test_counters},
	{"version", test_version},
	{"config", test_config},
	{"services", test_services},
	{"neighbours", test_neighbours},
	{"peers", test_peers},
	{"interface names", test_interface_names},
	{"requests", test_requests},
	{"garbage", test_garbage},
	{"random bytes", test_random_bytes},
	{"half-close", test_half_close},
	{"connect flood", test_connect_flood},
	{"slow reader", test_slow_reader},
	{"socket file", test_socket_file},
	{"leftover", test_leftover},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("ctl")
