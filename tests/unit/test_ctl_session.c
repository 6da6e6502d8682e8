// ctl: show sessions and show session over a table of PFCP sessions and one worker's mailbox.
//
// The worker carries out its mails when a test says so, so that clients and sessions can go before.

#include <arpa/inet.h>

#include "ctl_kit.h"

#include <stdalign.h>

#include "base/clock.h"
#include "base/kept.h"
#include "pfcp/assoc.h"
#include "pfcp/call.h"
#include "pfcp/n4.h"
#include "pfcp/n4_session.h"
#include "pfcp/pfd.h"
#include "pfcp/usage_state.h"
#include "rules_kit.h"
#include "session/policy_rules.h"
#include "worker/mailbox.h"
#include "worker/worker.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define SLOTS 8
#define RING 8

static const struct n4_iface ifaces[] = {{.name = "n3", .roles = N4_ROLE_N3},
					 {.name = "n6", .roles = N4_ROLE_N6}};
static const struct n4_ni nis[] = {{"internet", 1}};

static struct n4 n4;
static struct assoc assoc;
static struct worker worker;
static struct worker *workers[] = {&worker};
static struct session_line up[SLOTS], down[SLOTS];
static struct session_cold cold[SLOTS];
static struct buffer held; // the record of the session in slot 3
static struct rte_mbuf oldest = {.hash.usr = 1000};
static struct ctl_view view;
static alignas(128) uint8_t ring_memory[2][4096];

static struct rte_ring *ring_make(unsigned i)
{
	struct rte_ring *ring = (struct rte_ring *)ring_memory[i];

	CU_ASSERT_TRUE_FATAL(rte_ring_get_memsize(RING) <= (ssize_t)sizeof(ring_memory[i]));
	CU_ASSERT_EQUAL_FATAL(rte_ring_init(ring, "test", RING, RING_F_SP_ENQ | RING_F_SC_DEQ), 0);
	return ring;
}

static const struct n4_policy policies[] = {{.name = "inspection"}};

static void parts_open(void)
{
	clock_stop();
	memset(&worker, 0, sizeof(worker));
	worker.mailbox = (struct mailbox){.to_worker = ring_make(0), .to_control = ring_make(1)};
	worker.mailbox.waiting_tail = &worker.mailbox.waiting;
	worker.table =
		(struct session_table){.n_slots = SLOTS, .up = up, .down = down, .cold = cold};
	worker.buffers.records = &held;
	memset(&n4, 0, sizeof(n4));
	n4.conf.max_sessions = 100000;
	n4.env = (struct n4_env){.workers = workers,
				 .n_workers = 1,
				 .ifaces = ifaces,
				 .n_ifaces = 2,
				 .nis = nis,
				 .n_nis = 1,
				 .policies = policies,
				 .n_policies = 1};
	CU_ASSERT_EQUAL_FATAL(n4_sessions_init(&n4), 0);
	assoc = (struct assoc){.n4 = &n4};
	CU_ASSERT_EQUAL_FATAL(node_id_parse("smf.example", &assoc.id), 0);
	view = (struct ctl_view){.version = "t", .workers = workers, .n_workers = 1, .n4 = &n4};
}

static void parts_close(void)
{
	while (!LIST_EMPTY(&assoc.sessions))
		n4_session_free(&n4, LIST_FIRST(&assoc.sessions));
	n4_sessions_fini(&n4);
	clock_start();
}

static struct n4_session *session_make(uint64_t seid, struct rules *rules)
{
	struct n4_session *session = n4_session_new(&n4, &assoc, seid);
	struct addr cp_addr;

	CU_ASSERT_PTR_NOT_NULL_FATAL(session);
	session->cp_seid = 0x77;
	session->rules = rules;
	session->n_open = 1; // for good: its usage is the test's
	session->slot = (struct slot){.owner = 0, .index = 3, .version = 9};
	session->since_s = 1800000000;
	addr_parse("192.0.2.4", &cp_addr);
	session->cp_addr = kept_take(&cp_addr);
	return session;
}

static void copies_add(struct far_rule *far)
{
	struct far_rule *copy;

	far->action |= APPLY_DUPL;
	for (unsigned i = 0; i < 2; i++) {
		copy = rules_far_copy_add(far);
		CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
		copy->destination = i ? IF_CORE : IF_LI_FUNCTION;
		copy->ohc = i ? OHC_UDP_V6 : OHC_GTPU_UDP_V4;
		copy->dscp = i ? 46 : 0xff;
		copy->teid = 77;
		copy->port = 4711;
		copy->v4 = kit_v4("192.0.2.60");
		inet_pton(AF_INET6, "2001:db8:9::9", &copy->v6);
	}
}

static struct n4_session *session_open5gs(uint64_t seid)
{
	struct rules *rules = kit_open5gs("10.45.0.2", "2001:db8:cafe:2::");
	struct tunnel_rule *t;

	for (uint8_t number = 1; number <= 2; number++) {
		t = rules_tunnel_add(rules);
		t->number = number;
		t->up = number == 1;
		t->teid = 0xfeed0000u + number;
		t->has_v4 = true;
		t->v4 = kit_v4("192.0.2.1");
		t->has_v6 = number == 2;
		inet_pton(AF_INET6, "2001:db8:3::1", &t->v6);
	}
	kit_open5gs_gnb(rules, 0x1234, "192.0.2.99");
	copies_add(rules_far_lookup(rules, 1));
	rules_far_lookup(rules, 2)->policy = 1;
	rules_far_lookup(rules, 3)->redirect = (struct redirect_rule){
		.v4 = kit_v4("198.51.100.80"), .v6.s6_addr = {0x20, 1, [15] = 8}, .port = 8080};
	return session_make(seid, rules);
}

static struct urr_state urr = {.id = 1, .sequence = 4};
static struct n4_usage usage = {.n = 1, .urrs = &urr};

// What its owner has of its QER: the uplink meter has dropped, and the bucket of the downlink's is half empty; and of its
// URR: some of its threshold.
static struct policy *policy_give(struct n4_session *session)
{
	const struct qer_rule *qer = session->rules->qers;
	struct urr_rule *rule = session->rules->urrs;
	struct urr_next *next;
	struct policy_form form;
	struct policy *policy;
	struct usage *counted;

	rule->method |= METHOD_DURAT | METHOD_EVENT;
	rule->triggers |= TRIGGER_DROTH;
	rule->time_threshold_s = 100;
	rule->time_quota_s = 40;
	rule->event_quota = 5;
	rule->drops = (struct urr_drops){.flags = 1, .packets = 20};
	next = rules_next_add(session->rules, rule->id);
	CU_ASSERT_PTR_NOT_NULL_FATAL(next);
	next->at = clock_ntp_s() + 90;
	next->threshold = (struct urr_volumes){.flags = 1, .total = 5000};
	next->time_quota_s = 60;
	rules_places_assign(session->rules);
	CU_ASSERT_TRUE_FATAL(policy_form_of(session->rules, &form));
	policy = policy_new(&form);
	CU_ASSERT_PTR_NOT_NULL_FATAL(policy);
	worker.meter_burst = METER_UNITS_PER_SEC / 5;
	*policy_meter(policy, 0, SIDE_UP) = (struct meter){
		.cost = meter_cost_of(qer->mbr_up_bps), .dropped = 3, .dropped_bytes = 4200};
	policy_meter(policy, 0, SIDE_DOWN)->cost = meter_cost_of(qer->mbr_down_bps);
	down[3].tat[0] = clock_now_ns() * METER_UNITS_PER_NS + worker.meter_burst / 2;
	counted = policy_usage(policy, 0);
	*counted = (struct usage){
		.bytes = {1000, 3857600},
		.dropped = 7,
		.flags = 1u << USAGE_LIMIT_SHIFT | 1u << (USAGE_LIMIT_SHIFT + USAGE_LIMITS - 1),
	};
	counted->limits[0] = (int64_t)session->rules->urrs[0].threshold.total;
	counted->limits[1] = 0; // the downlink quota
	*policy_drops(policy, 0) = (struct usage_drops){.packets = 12,
							.bytes = 1200,
							.packets_threshold = rule->drops.packets,
							.bytes_threshold = USAGE_NONE};
	urr.since_ns = clock_now_ns() - 61 * NS_PER_SEC;
	urr.runs_ns = clock_now_ns() - 8 * NS_PER_SEC;
	urr.timed_ns = 25 * NS_PER_SEC;
	urr.since_timed_ns = urr.threshold_timed_ns = 12 * NS_PER_SEC;
	urr.n_events = 2;
	urr.events_used = 3;
	session->usage = &usage;
	cold[3] = (struct session_cold){.policy = policy, .version = session->slot.version};
	return policy;
}

static void mail_run(void)
{
	mailbox_run(&worker, 16);
	mailbox_collect(&worker);
	ctl_kit_run();
}

// --- one session ---

static void test_show_session(void)
{
	struct n4_session *session;
	struct policy *policy;
	int status;
	bool end;
	int fd;

	parts_open();
	ctl_kit_open(&view);
	up[3] = (struct session_line){.packets = 12, .bytes = 3400};
	down[3] = (struct session_line){.packets = 5, .bytes = 600};
	session = session_open5gs(0xabcdef0123456789);
	policy = policy_give(session);
	cold[3].buffer = 1;
	held = (struct buffer){.packets = 3, .bytes = 700, .held.first = &oldest};
	worker.now = 1234 * NS_PER_MS * METER_UNITS_PER_NS;
	fd = peer_open();
	peer_send(fd, "text show session 0xabcdef0123456789\n", 37);
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), ""); // its owner has not told yet
	CU_ASSERT_EQUAL(mailbox_outstanding(&worker), 1);
	mail_run();
	CU_ASSERT_TRUE(golden_is("ctl-session.txt", strchr(peer_read(fd, &end), '\n') + 1));
	// Those that follow it wait their turn.
	peer_send(fd, "json show session 12379813738877118345\nprompt\n", 46);
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end), "");
	mail_run();
	{
		char *text = strchr(peer_read(fd, &end), '\n') + 1;
		char *rest = strstr(text, "\n0 6\nsluice");

		CU_ASSERT_PTR_NOT_NULL_FATAL(rest);
		rest[1] = '\0';
		CU_ASSERT_TRUE(golden_is("ctl-session.json", text));
	}
	CU_ASSERT_PTR_NOT_NULL(peer_ask(fd, "text show session 0xabc\n", &status));
	CU_ASSERT_EQUAL(status, CTL_FAILED);
	close(fd);
	ctl_kit_run();
	ctl_kit_close();
	session->usage = NULL;
	policy_free(policy);
	cold[3] = (struct session_cold){0};
	parts_close();
}

// What may go while the owner is being asked.
static void test_gone_meanwhile(void)
{
	static const char request[] = "text show session 0x1\n";
	struct n4_session *session;
	bool end;
	int fd;

	parts_open();
	ctl_kit_open(&view);
	// The session.
	session = session_open5gs(1);
	fd = peer_open();
	peer_send(fd, request, strlen(request));
	n4_session_free(&n4, session);
	mail_run();
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end),
			       "1 40\nno session with SEID 0x0000000000000001\n");
	// The session, and another has its SEID.
	session = session_open5gs(1);
	peer_send(fd, request, strlen(request));
	session->slot.version++;
	mail_run();
	CU_ASSERT_STRING_EQUAL(peer_read(fd, &end),
			       "1 40\nno session with SEID 0x0000000000000001\n");
	// The client. One that has only stopped asking gets its answer.
	peer_send(fd, request, strlen(request));
	shutdown(fd, SHUT_WR);
	ctl_kit_run();
	mail_run();
	CU_ASSERT_EQUAL(strncmp(peer_read(fd, &end), "0 ", 2), 0);
	CU_ASSERT_TRUE(end);
	close(fd);
	fd = peer_open();
	peer_send(fd, request, strlen(request));
	close(fd);
	ctl_kit_run();
	mail_run();
	CU_ASSERT_EQUAL(ctl_clients(ctl_kit.ctl), 0);
	// The server.
	fd = peer_open();
	peer_send(fd, request, strlen(request));
	CU_ASSERT_EQUAL(mailbox_outstanding(&worker), 1);
	ctl_kit_close();
	mailbox_run(&worker, 16);
	CU_ASSERT_EQUAL(mailbox_collect(&worker), 1);
	close(fd);
	parts_close();
}

// --- pages ---

#define MANY 2500

// Reads pages with this command and where each one says the next begins; how many rows in all.
static unsigned pages_read(const char *command, unsigned limit, unsigned *ret_pages)
{
	char line[200];
	unsigned rows = 0;

	snprintf(line, sizeof(line), "%s", command);
	for (*ret_pages = 1; *ret_pages < 10000; ++*ret_pages) {
		const char *text = strbuf_text(&call_line(&view, REPLY_JSON, line)->out);
		unsigned on_page = 0;
		const char *next = strstr(text, "\"next\":\"");

		for (const char *at = text; (at = strstr(at, "{\"seid\":")); at++)
			on_page++;
		CU_ASSERT_TRUE(on_page <= limit);
		rows += on_page;
		if (!next)
			break;
		snprintf(line, sizeof(line), "%s from %.18s", command, next + 8);
	}
	return rows;
}

static void test_pages(void)
{
	const char *text;
	unsigned pages;

	parts_open();
	for (unsigned i = 1; i <= MANY; i++) {
		struct rules *rules = rules_new();
		char ue[20];

		snprintf(ue, sizeof(ue), "10.45.%u.%u", i >> 8, i & 0xff);
		kit_ue_set(kit_pdr_down(rules, 1, 1, 1), ue, NULL);
		session_make(0, rules);
	}
	CU_ASSERT_EQUAL(pages_read("show sessions", CTL_ROWS_MAX, &pages), MANY);
	CU_ASSERT_EQUAL(pages, 3);
	CU_ASSERT_EQUAL(pages_read("show sessions limit 7", 7, &pages), MANY);
	CU_ASSERT_EQUAL(pages, (MANY + 6) / 7);
	CU_ASSERT_EQUAL(pages_read("show sessions ue 10.45.1.2", CTL_ROWS_MAX, &pages), 1);
	CU_ASSERT_EQUAL(pages_read("show sessions ue 10.46.1.2", CTL_ROWS_MAX, &pages), 0);
	// One that is only being made is not shown.
	session_make(0, NULL);
	CU_ASSERT_EQUAL(pages_read("show sessions", CTL_ROWS_MAX, &pages), MANY);
	text = strbuf_text(&call_line(&view, REPLY_TEXT, "show sessions limit 1")->out);
	CU_ASSERT_EQUAL(strncmp(text, "SEID ", 5), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "total  2501\nnext   0x"));
	parts_close();
}

// Sessions of one bucket are in order, so a page may end and begin among them.
static void test_pages_in_a_bucket(void)
{
	unsigned pages;

	parts_open();
	n4_sessions_fini(&n4);
	n4.conf.max_sessions = 1; // the fewest buckets that there are
	CU_ASSERT_EQUAL_FATAL(n4_sessions_init(&n4), 0);
	for (unsigned i = 0; i < 1000; i++)
		session_make(0, rules_new());
	CU_ASSERT_EQUAL(pages_read("show sessions limit 1", 1, &pages), 1000);
	CU_ASSERT_EQUAL(pages, 1000);
	parts_close();
}

// --- associations and counters ---

static void test_associations(void)
{
	static const char want[] =
		"{\"associations\":[{\"node_id\":\"192.0.2.4\",\"address\":\"192.0.2.4:8805\","
		"\"local\":\"none\",\"state\":\"releasing\",\"set_up_by\":\"smf\",\"sessions\":0,"
		"\"since\":\"2027-01-15T08:00:00Z\",\"recovery\":\"2023-06-08T16:14:12Z\","
		"\"heard_ms\":1500,\"release_ms\":500,\"requests\":7,\"heartbeats_rx\":0,"
		"\"heartbeats_tx\":0,\"path_failures\":0,"
		"\"cp_features\":[\"LOAD\",\"PSUCC\",\"0x8000000000\"]}],"
		"\"smfs\":[{\"smf\":\"192.0.2.4\",\"state\":\"waiting\",\"tries\":0,\"failures\":0,"
		"\"cause\":null,\"next_ms\":0}],\"up_features\":[\"DDND\",\"DLBD\",\"TRST\",";
	struct prefix smf;
	struct endpoint from;
	struct node_id id;
	struct assoc *a;
	const char *text;

	parts_open();
	n4.conf.max_assocs = 4;
	n4.conf.max_assocs_per_addr = 4;
	n4.conf.smfs = &smf;
	n4.conf.n_smfs = 1;
	CU_ASSERT_EQUAL_FATAL(prefix_parse("192.0.2.4", &smf), 0);
	n4.calls = call_table_new(&n4.conf);
	n4.assocs = assoc_table_new();
	CU_ASSERT_PTR_NOT_NULL_FATAL(n4.assocs);
	CU_ASSERT_EQUAL_FATAL(endpoint_parse("192.0.2.4:8805", 0, &from), 0);
	CU_ASSERT_EQUAL_FATAL(node_id_parse("192.0.2.4", &id), 0);
	a = assoc_add(&n4, &id, &from);
	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	a->since_s = 1800000000;
	a->recovery = 0xe82c7cd4;
	a->releasing = true;
	a->release_ns = clock_now_ns() + 2 * NS_PER_SEC;
	a->cp_features = 0x8000000101;
	a->requests = 7;
	clock_warp_ns(1500 * (int64_t)NS_PER_MS);
	text = strbuf_text(&call_line(&view, REPLY_JSON, "show associations")->out);
	CU_ASSERT_EQUAL(strncmp(text, want, sizeof(want) - 1), 0);
	printf("%s", strncmp(text, want, sizeof(want) - 1) ? text : "");
	n4.counters.counter[N4_COUNT_timeouts] = 2;
	n4.counters.rx[50] = 3;
	n4.counters.tx[51] = 3;
	n4.counters.causes_tx[1] = 2;
	n4.counters.causes_tx[65] = 1;
	text = strbuf_text(&call_line(&view, REPLY_TEXT, "show pfcp counters")->out);
	CU_ASSERT_STRING_EQUAL(text, "timeouts  2  requests of ours that nobody answered\n"
				     "\n"
				     "messages:\n"
				     "  TYPE  MESSAGE                         RX  TX\n"
				     "    50  Session Establishment Request    3   0\n"
				     "    51  Session Establishment Response   0   3\n"
				     "\n"
				     "causes:\n"
				     "  VALUE  CAUSE                      RX  TX\n"
				     "      1  Request accepted            0   2\n"
				     "     65  Session context not found   0   1\n");
	printf("%s", strstr(text, "65  Session context not found   0   1\n") ? "" : text);
	assoc_table_free(&n4);
	call_table_free(n4.calls);
	n4.calls = NULL;
	parts_close();
}

// Pages end behind a whole application, and go on with the next that is there.
static void test_applications(void)
{
	static const struct {
		const char *line, *text;
	} rows[] = {
		{"show applications limit 1",
		 "{\"applications\":["
		 "{\"number\":1,\"application\":\"web\",\"source\":\"config\",\"detected\":true,"
		 "\"pdrs\":1,\"pfd\":1,\"kind\":\"flow\",\"value\":\"permit out ip from any to "
		 "assigned\"},"
		 "{\"number\":1,\"application\":\"web\",\"source\":\"config\",\"detected\":true,"
		 "\"pdrs\":1,\"pfd\":1,\"kind\":\"flow\",\"value\":\"permit out 17 from any to "
		 "assigned\"}],\"total\":3,\"bytes\":0,\"next\":3}\n"},
		{"show applications from 2",
		 "{\"applications\":["
		 "{\"number\":3,\"application\":\"dns\",\"source\":\"192.0.2.4\",\"detected\":false,"
		 "\"pdrs\":0,\"pfd\":2,\"kind\":\"url\",\"value\":\"a.example\"},"
		 "{\"number\":4,\"application\":\"gone\",\"source\":null,\"detected\":false,"
		 "\"pdrs\":1,\"pfd\":null,\"kind\":null,\"value\":null}],"
		 "\"total\":3,\"bytes\":0,\"next\":null}\n"},
	};
	static struct pfd_app web = {.name = (char *)(uintptr_t) "web", .users = 1},
			      dns = {.name = (char *)(uintptr_t) "dns"},
			      gone = {.name = (char *)(uintptr_t) "gone", .users = 1};
	struct pfd_app *apps[] = {&web, NULL, &dns, &gone};
	struct pfd_table table = {.apps = apps, .n_apps = 3, .room = 4};
	static const char one[] = "permit out ip from any to assigned";
	static const char two[] = "permit out 17 from any to assigned";
	const char *why;

	parts_open();
	web.own = pfd_set_new();
	dns.given = pfd_set_new();
	CU_ASSERT_EQUAL(node_id_parse("192.0.2.4", &dns.giver), 0);
	CU_ASSERT_EQUAL(pfd_set_add(web.own, PFD_FLOW, 1, (const uint8_t *)one, strlen(one), &why),
			0);
	CU_ASSERT_EQUAL(pfd_set_add(web.own, PFD_FLOW, 1, (const uint8_t *)two, strlen(two), &why),
			0);
	CU_ASSERT_EQUAL(pfd_set_add(dns.given, PFD_URL, 2, (const uint8_t *)"a.example", 9, &why),
			0);
	n4.env.pfds = &table;
	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT_STRING_EQUAL(
			strbuf_text(&call_line(&view, REPLY_JSON, rows[i].line)->out),
			rows[i].text);
	pfd_set_free(web.own);
	pfd_set_free(dns.given);
	n4.env.pfds = NULL;
	parts_close();
}

static CU_TestInfo tests[] = {
	{"show session", test_show_session},
	{"gone meanwhile", test_gone_meanwhile},
	{"pages", test_pages},
	{"pages in a bucket", test_pages_in_a_bucket},
	{"associations", test_associations},
	{"show applications", test_applications},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("ctl_session")
