// ctl: show flows, clear flow, clear flows over two workers with real flow tables.
//
// The workers carry out their mails when a test says so, on its thread, so that clients can go before.

#include <netinet/in.h>

#include "eal.h"
#include <rte_malloc.h>

#include "base/clock.h"
#include "ctl_kit.h"
#include "pfcp/n4.h"
#include "pfcp/n4_session.h"
#include "pipeline/pipeline.h"
#include "worker/mailbox.h"
#include "worker/ring.h"
#include "worker/worker.h"

#define WORKERS 2
#define SLOTS 4
#define FLOWS 700
#define VERSION 9

static const struct flow_profile_conf profile = {.timeout_ms = {5000, 120000, 7440000}};
static struct worker *workers[WORKERS];
static struct ctl_view view;

static struct worker *worker_open(unsigned id)
{
	const struct flows_conf conf = {
		.n = FLOWS,
		.per_session = FLOWS,
		.profiles = &profile,
		.n_profiles = 1,
		.services = dispatch_order()->for_flows,
		.not_of_errors = dispatch_order()->not_of_errors,
	};
	struct worker *w = rte_zmalloc("worker", sizeof(*w), 64);

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	w->id = id;
	w->now = clock_now_ns() * METER_UNITS_PER_NS;
	w->mailbox.waiting_tail = &w->mailbox.waiting;
	w->mailbox.to_worker = ring_new(16, sizeof(void *), SOCKET_ID_ANY);
	w->mailbox.to_control = ring_new(16, sizeof(void *), SOCKET_ID_ANY);
	CU_ASSERT_EQUAL_FATAL(session_table_init(&w->table, SLOTS, 0, SOCKET_ID_ANY), 0);
	for (unsigned i = 0; i < SLOTS; i++)
		w->table.cold[i].version = VERSION;
	CU_ASSERT_EQUAL_FATAL(flows_init(&w->flows, &conf, SLOTS, w->now, SOCKET_ID_ANY), 0);
	return w;
}

static void open_all(void)
{
	static bool ready;
	unsigned n;
	const struct service *const *services = service_registry(&n);
	char why[200];

	unit_eal("128");
	if (!ready)
		CU_ASSERT_EQUAL_FATAL(dispatch_init(services, n, why, sizeof(why)), 0);
	ready = true;
	clock_stop();
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i] = worker_open(i);
	view = (struct ctl_view){.version = "t",
				 .workers = workers,
				 .n_workers = WORKERS,
				 .services = dispatch_order()};
}

static void close_all(void)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		flows_fini(&workers[i]->flows);
		session_table_fini(&workers[i]->table);
		rte_free(workers[i]->mailbox.to_worker);
		rte_free(workers[i]->mailbox.to_control);
		rte_free(workers[i]);
	}
	clock_start();
}

// Flow number i of a worker's session `slot`.
static uint32_t flow_new(unsigned worker, uint32_t slot, uint16_t i)
{
	struct worker *w = workers[worker];
	struct flow_order order = {
		.key = {.where = flow_key_where(slot, IPPROTO_UDP),
			.ue_port = i,
			.remote_port = 53},
		.chain = SERVICE_MASK(l4_lifecycle),
		.slot = slot,
		.up = true,
	};
	uint32_t number = 0;

	order.key.v4.ue = RTE_BE32(0x0a2d0001) + rte_cpu_to_be_32(slot);
	order.key.v4.remote = RTE_BE32(0xc000020a);
	order.hash = flow_hash(&w->flows.table, &order.key);
	CU_ASSERT_EQUAL(flows_make(w, &order, &number), FLOW_MADE);
	return number;
}

// --- asking ----------------------------------------------------------------------------------------------

static struct call *over; // what has ended

static void ended(struct call *call, void *ctx)
{
	over = call;
}

static unsigned turns(void)
{
	unsigned n = 0;

	for (bool owes = true; owes; n++) {
		owes = false;
		for (unsigned i = 0; i < WORKERS; i++) {
			mailbox_run(workers[i], WORKER_MAILS);
			mailbox_collect(workers[i]);
			owes |= mailbox_owes(workers[i]);
		}
	}
	return n;
}

// The answer to a line, valid until the next; its status in *ret_status.
static const char *ask(const char *line, int *ret_status)
{
	static char text[1 << 20];
	struct call *call = call_new(&view, REPLY_JSON, line, strlen(line));

	over = NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(call);
	if (!call_run(call, ended, NULL)) {
		turns();
		CU_ASSERT_PTR_EQUAL_FATAL(over, call);
	}
	snprintf(text, sizeof(text), "%s", strbuf_text(&call->reply.out));
	*ret_status = (int)call->reply.status;
	call_free(call);
	return text;
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
		n++;
	return n;
}

static unsigned used(void)
{
	return workers[0]->flows.table.used + workers[1]->flows.table.used;
}

// --- tests -----------------------------------------------------------------------------------------------

static void test_row(void)
{
	int status;
	const char *text;

	open_all();
	CU_ASSERT_STRING_EQUAL(ask("show flows", &status), "{\"flows\":[],\"next\":null}\n");
	flow_new(1, 2, 1000);
	clock_warp_ns(1500 * (int64_t)NS_PER_MS);
	workers[1]->now = clock_now_ns() * METER_UNITS_PER_NS;
	flows_turn(workers[1]);
	text = ask("show flows", &status);
	CU_ASSERT_EQUAL(status, CTL_OK);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "{\"flows\":[{\"id\":\"0x0100000100000001\",\"seid\":null,"
			     "\"kind\":\"tuple\",\"protocol\":\"udp\",\"ue\":\"10.45.0.3:1000\","
			     "\"remote\":\"192.0.2.10:53\",\"began\":\"up\","
			     "\"class\":\"embryonic\",\"state\":null,\"age_ms\":1"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"left_ms\":35"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "\"chain\":[\"l4_lifecycle\"],\"outside\":null}],\"next\":null}\n"));
	close_all();
}

// Pages of all flows of both workers: each flow stands in exactly one.
static void test_pages(void)
{
	char line[64] = "show flows limit 100";
	unsigned rows = 0, pages = 0;
	const char *next;
	int status;

	open_all();
	for (uint16_t i = 0; i < 600; i++)
		flow_new(0, i % SLOTS, i);
	for (uint16_t i = 0; i < 150; i++)
		flow_new(1, i % SLOTS, i);
	for (;;) {
		const char *text = ask(line, &status);

		CU_ASSERT_EQUAL_FATAL(status, CTL_OK);
		pages++;
		rows += count(text, "\"id\":");
		next = strstr(text, "\"next\":\"");
		if (!next)
			break;
		snprintf(line, sizeof(line), "show flows limit 100 from %.18s", next + 8);
	}
	CU_ASSERT_EQUAL(rows, 750);
	CU_ASSERT_TRUE(pages >= 8 && pages <= 9);
	ask("show flows from 0x0300000100000000", &status);
	CU_ASSERT_EQUAL(status, CTL_FAILED);
	close_all();
}

static void test_clear_one(void)
{
	char line[64];
	uint32_t number;
	uint64_t id;
	int status;

	open_all();
	number = flow_new(1, 0, 1);
	flow_new(1, 0, 2);
	id = flow_id(&workers[1]->flows.table, 1, number);
	snprintf(line, sizeof(line), "clear flow 0x%llx", (unsigned long long)id);
	CU_ASSERT_STRING_EQUAL(ask(line, &status), "{\"cleared\":1}\n");
	CU_ASSERT_EQUAL(used(), 1);
	ask(line, &status); // it has gone
	CU_ASSERT_EQUAL(status, CTL_FAILED);
	flow_new(1, 0, 3); // its number lives again, as another's
	ask(line, &status);
	CU_ASSERT_EQUAL(status, CTL_FAILED);
	ask("clear flow 0x0700000100000001", &status); // of no worker
	CU_ASSERT_EQUAL(status, CTL_FAILED);
	ask("clear flow 0x01ffffff00000001", &status); // of no number
	CU_ASSERT_EQUAL(status, CTL_FAILED);
	CU_ASSERT_EQUAL(used(), 2);
	close_all();
}

// More than a turn ends, of both workers; and a client that goes before.
static void test_clear_all(void)
{
	struct call *call;
	int status;

	open_all();
	CU_ASSERT_STRING_EQUAL(ask("clear flows", &status), "{\"cleared\":0}\n");
	for (uint16_t i = 0; i < 500; i++)
		flow_new(i % 2, i % SLOTS, i);
	CU_ASSERT_STRING_EQUAL(ask("clear flows", &status), "{\"cleared\":500}\n");
	CU_ASSERT_EQUAL(used(), 0);
	flow_new(0, 0, 1);
	call = call_new(&view, REPLY_JSON, "show flows", 10);
	CU_ASSERT_FALSE_FATAL(call_run(call, ended, NULL));
	call_abandon(call);
	turns();
	ask("show flows ue 10.45.0.1", &status); // there is no N4
	CU_ASSERT_EQUAL(status, CTL_FAILED);
	close_all();
}

// What `ue` comes to, by the mail: one session's flows, the oldest last, and their end, but not that of those made since.
static void test_session(void)
{
	struct flow_row rows[100];
	struct flows_look look = {.slot = 1, .version = VERSION, .most = 60, .rows = rows};
	struct worker *w;

	open_all();
	w = workers[0];
	for (uint16_t i = 0; i < 400; i++)
		flow_new(0, i % SLOTS, i);
	CU_ASSERT_EQUAL(flows_look(w, &look), 0);
	CU_ASSERT_EQUAL(look.n, 60);
	CU_ASSERT_EQUAL(rows[0].key.ue_port, 397);
	CU_ASSERT_EQUAL(rows[59].key.ue_port, 397 - 59 * SLOTS);
	CU_ASSERT_NOT_EQUAL(look.next, 0);
	CU_ASSERT_EQUAL(flows_look(w, &look), 0);
	CU_ASSERT_EQUAL(look.n, 40);
	CU_ASSERT_EQUAL(rows[39].key.ue_port, 1);
	CU_ASSERT_EQUAL(look.next, 0);
	look.version++;
	CU_ASSERT_EQUAL(flows_look(w, &look), -ENOENT);
	CU_ASSERT_TRUE(flows_clear(w, &look));
	CU_ASSERT_EQUAL(used(), 400);
	look = (struct flows_look){.slot = 1, .version = VERSION};
	w->flows.left = 30;
	CU_ASSERT_FALSE(flows_clear(w, &look));
	flow_new(0, 1, 1000);
	flows_allow(&w->flows);
	CU_ASSERT_TRUE(flows_clear(w, &look));
	CU_ASSERT_EQUAL(look.ended, 100);
	CU_ASSERT_EQUAL(used(), 301);
	CU_ASSERT_EQUAL(w->flows.sessions[1].n, 1);
	close_all();
}

// Blocks of outside ports of both workers, a page at a time; a session's UE and its ports in use stand beside them.
static void test_nat(void)
{
	struct nat_pool_conf conf = {.addrs = {.len = 31},
				     .port_low = 1024,
				     .port_high = 1024 + 4 * 64 - 1,
				     .block_ports = 64,
				     .blocks_per_session = 1};
	static struct nat_pools pools = {.n = 1};
	char line[64] = "show nat limit 3";
	unsigned rows = 0, pages = 0;
	int status;

	open_all();
	CU_ASSERT_STRING_EQUAL(ask("show nat", &status),
			       "{\"blocks\":[],\"logged\":0,\"unlogged\":0,\"next\":null}\n");
	conf.addrs.addr = addr_v4(RTE_BE32(0xc6336400));
	CU_ASSERT_EQUAL_FATAL(nat_pool_init(&pools.pools[0], &conf), 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		struct worker *w = workers[i];

		CU_ASSERT_EQUAL_FATAL(
			nat_init(&w->nat, &pools, i, WORKERS, 16, SLOTS, SOCKET_ID_ANY), 0);
		for (uint32_t slot = 0; slot < SLOTS; slot++) {
			struct nat_place place;

			w->table.up[slot].up.ue_v4 = RTE_BE32(0x0a2d0000 + slot + 1);
			CU_ASSERT_TRUE(nat_port_take(&w->nat.ports[0], &w->nat.sessions[slot],
						     session_ref_make(i, slot, VERSION), NAT_UDP,
						     1024, &place));
		}
	}
	while (pages++ < 10) {
		const char *text = ask(line, &status);
		const char *next = strstr(text, "\"next\":\"");

		CU_ASSERT_EQUAL(status, CTL_OK);
		rows += count(text, "\"udp\":1,\"echo\":0}");
		CU_ASSERT_EQUAL(count(text, "\"ue\":\"10.45.0."), count(text, "\"tcp\":0"));
		if (!next)
			break;
		snprintf(line, sizeof(line), "show nat limit 3 from %.18s", next + 8);
	}
	CU_ASSERT_EQUAL(rows, WORKERS * SLOTS);
	CU_ASSERT_EQUAL(pages, 3);
	ask("show nat from 0x7000000000000000", &status);
	CU_ASSERT_EQUAL(status, CTL_FAILED);
	for (unsigned i = 0; i < WORKERS; i++)
		nat_fini(&workers[i]->nat);
	nat_pool_fini(&pools.pools[0]);
	close_all();
}

// What each kind of key leads to, and the newest key that any worker has missed. A client may go before.
static void test_keys(void)
{
	struct flow_key key = {.where = flow_key_where(1, IPPROTO_UDP),
			       .ue_port = 5000,
			       .remote_port = 53,
			       .v4 = {.ue = RTE_BE32(0x0a2d0001), .remote = RTE_BE32(0xc000020a)}};
	struct call *call;
	const char *text;
	int status;

	open_all();
	text = ask("show keys", &status);
	CU_ASSERT_EQUAL(status, CTL_OK);
	CU_ASSERT_EQUAL(count(text, "\"leads_to\":\"session\""), KEY_KIND_FLOWS);
	CU_ASSERT_EQUAL(count(text, "\"leads_to\":\"flow\""), KEY_KINDS_OWN - KEY_KIND_FLOWS);
	CU_ASSERT_EQUAL(count(text, "\"missed_ue\":null,\"missed_remote\":null,\"worker\":null,"
				    "\"age_ms\":null"),
			KEY_KINDS_OWN);
	for (unsigned i = 0; i < WORKERS; i++) {
		key.ue_port++;
		key_missed_flow(workers[i], &key, false);
		for (unsigned k = 0; k < WORKERS; k++)
			workers[k]->now += 50 * NS_PER_MS * METER_UNITS_PER_NS;
	}
	text = ask("show keys", &status);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text, "{\"kind\":\"tuple\",\"leads_to\":\"flow\",\"missed_ue\":\"10.45.0.1:5002\","
		      "\"missed_remote\":\"192.0.2.10:53\",\"worker\":1,\"age_ms\":50,"));
	call = call_new(&view, REPLY_JSON, "show keys", 9);
	CU_ASSERT_FALSE_FATAL(call_run(call, ended, NULL));
	call_abandon(call);
	turns();
	close_all();
}

static CU_TestInfo tests[] = {
	{"a row", test_row},           {"pages", test_pages},
	{"one ends", test_clear_one},  {"all end", test_clear_all},
	{"a session's", test_session}, {"blocks of outside ports", test_nat},
	{"kinds of keys", test_keys},  CU_TEST_INFO_NULL,
};

UNIT_MAIN("ctl: flows")
