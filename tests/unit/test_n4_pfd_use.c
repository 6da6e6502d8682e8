// Sessions whose rules name applications: what is compiled, and that they follow when PFDs change, are busy
// meanwhile, or cannot (TS 29.244 6.2.5.3, 7.5.2.2).

#include "pfd_msg.h"

static const struct kit_conf conf = KIT_CONF;

#define ONE "permit out ip from 192.0.2.1 to assigned"
#define TWO "permit out 17 from 192.0.2.2 53 to assigned"

// A session that has an application's traffic and the rest apart, both ways; `sdf` may be NULL.
static uint64_t establish_app(uint64_t cp_seid, const char *ue, const char *app, const char *sdf)
{
	establish_begin(cp_seid);
	put_plain(ue);
	PDR(.id = 5, .source = CORE, .ni = "internet", .flows = {sdf}, .app = app, .precedence = 10,
	    .far = 1);
	PDR(.id = 6, .source = ACCESS, .fteid = CH_V4 | CHID, .choose_id = 7, .flows = {sdf},
	    .app = app, .precedence = 10, .removal = true, .far = 2);
	msg_send();
	return answer_cause() == 1 ? up_seid() : 0;
}

static const struct ruleset *block_of(uint64_t seid)
{
	return rule_arena_at(&kit.arena, session_of(seid)->holding.rules);
}

static const struct pdr *pdr_of(uint64_t seid, unsigned id)
{
	const struct ruleset *rs = block_of(seid);

	for (unsigned i = 0; i < (unsigned)rs->n_up + rs->n_down; i++)
		if (rs->pdrs[i].id == id)
			return &rs->pdrs[i];
	CU_FAIL_FATAL("no such PDR");
	return NULL;
}

// The last octet of the remote address of each compiled filter of a PDR: "1 2"; "-": the PDR matches nothing;
// "": it matches everything.
static const char *remotes(uint64_t seid, unsigned id)
{
	static char text[256];
	const struct pdr *pdr = pdr_of(seid, id);
	size_t at = 0;

	if (pdr->families == 0)
		return "-";
	text[0] = '\0';
	for (unsigned i = 0; i < pdr->n_filters; i++) {
		const struct filter *f = ruleset_filter(block_of(seid), pdr->first_filter + i);

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u", at ? " " : "",
				       rte_be_to_cpu_32(f->v4.remote) & 0xff);
	}
	return text;
}

static void tick(void)
{
	n4_tick(kit.n4);
	kit_run();
}

// --- rules that name applications --------------------------------------------------------------------------

static void test_named(void)
{
	struct kit_counts before, after;
	uint64_t seid;

	kit_open(&conf);
	before = kit_counts();
	CU_ASSERT_EQUAL(establish_app(1, "10.45.0.2", "web", NULL), 0);
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 24);
	CU_ASSERT(failed_kind() == 0 && failed_id() == 5);
	PFDS("web", ONE, TWO);
	seid = establish_app(1, "10.45.0.2", "web", NULL);
	CU_ASSERT_FATAL(seid != 0);
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "1 2");
	CU_ASSERT_STRING_EQUAL(remotes(seid, 6), "1 2");
	CU_ASSERT_STRING_EQUAL(remotes(seid, 1), "");
	CU_ASSERT_EQUAL(app_of("web")->users, 2);
	CU_ASSERT_EQUAL(establish_app(2, "10.45.0.3", "WEB", NULL), 0); // as given, octet by octet
	CU_ASSERT_EQUAL(answer_cause(), 73);
	delete_session(seid);
	CU_ASSERT_EQUAL(app_of("web")->users, 0);
	no_apps();
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	kit_close();
}

// A packet must match a filter of the PDR and a flow of the application.
static void test_with_filter(void)
{
	uint64_t seid;

	kit_open(&conf);
	PFDS("web", ONE, TWO, "permit out ip from 198.51.100.9 to assigned");
	seid = establish_app(1, "10.45.0.2", "web", "permit out 17 from 192.0.2.0/24 to assigned");
	CU_ASSERT_FATAL(seid != 0);
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "1 2");
	msg_begin(52, seid);
	PDR(.id = 5, .update = true, .source = CORE, .no_precedence = true, .no_far = true,
	    .flows = {"permit out 6 from any to assigned"});
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "1 9"); // TWO is UDP
	CU_ASSERT_EQUAL(app_of("web")->users, 2);
	kit_close();
}

// What is not detected whole is stored, but no rule may name it.
static void test_undetectable(void)
{
	static const struct {
		unsigned flag;
		const char *value;
	} rows[] = {{URL, "^http://a.example/"}, {DN, "a.example"}, {CUSTOM, "own"}};

	kit_open(&conf);
	for (unsigned i = 0; i < 3; i++) {
		size_t app;

		pfd_begin();
		app = app_begin("web");
		put_pfd(FD, ONE);
		put_pfd(rows[i].flag, rows[i].value);
		ie_end(app);
		msg_send();
		CU_ASSERT_EQUAL(answer_cause(), 1);
		CU_ASSERT_EQUAL(app_of("web")->given->n_values, 2);
		CU_ASSERT_EQUAL(establish_app(1, "10.45.0.2", "web", NULL), 0);
		CU_ASSERT(answer_cause() == 73 && answer_number(40) == 24);
		CU_ASSERT(failed_kind() == 0 && failed_id() == 5);
	}
	kit_close();
}

// An update changes the application, leaves it or takes it away; a PDR removed names it no longer.
static void test_update(void)
{
	uint64_t seid;

	kit_open(&conf);
	PFDS("web", ONE);
	PFDS("dns", TWO);
	seid = establish_app(1, "10.45.0.2", "web", NULL);
	msg_begin(52, seid);
	PDR(.id = 5, .update = true, .source = CORE, .no_precedence = true, .no_far = true,
	    .app = "dns");
	PDR(.id = 6, .update = true, .source = ACCESS, .no_precedence = true, .no_far = true);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "2");
	CU_ASSERT_STRING_EQUAL(remotes(seid, 6), "1");
	CU_ASSERT(app_of("web")->users == 1 && app_of("dns")->users == 1);
	msg_begin(52, seid);
	PDR(.id = 5, .update = true, .source = CORE, .no_precedence = true, .no_far = true,
	    .app = "");
	remove_pdr(6);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "");
	CU_ASSERT(app_of("web")->users == 0 && app_of("dns")->users == 0);
	CU_ASSERT_EQUAL(session_of(seid)->renewal->apps_generation, 0);
	msg_begin(52, seid);
	PDR(.id = 5, .update = true, .source = CORE, .no_precedence = true, .no_far = true,
	    .app = "none");
	msg_send();
	CU_ASSERT(answer_cause() == 73 && answer_number(40) == 24 && failed_id() == 5);
	CU_ASSERT_EQUAL(app_of("web")->users, 0);
	kit_close();
}

// --- PFDs that change --------------------------------------------------------------------------------------

// A living session follows; while its application has no PFDs, nothing is the application's traffic.
static void test_follow(void)
{
	uint64_t seid, other;

	kit_open(&conf);
	PFDS("web", ONE);
	PFDS("dns", TWO);
	seid = establish_app(1, "10.45.0.2", "web", NULL);
	other = establish_app(2, "10.45.0.3", "dns", NULL);
	PFDS("web", TWO, ONE);
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "1"); // until the next tick
	tick();
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "2 1");
	CU_ASSERT_STRING_EQUAL(remotes(seid, 6), "2 1");
	CU_ASSERT_STRING_EQUAL(remotes(other, 5), "2");
	NO_PFDS("web");
	CU_ASSERT_EQUAL(answer_cause(), 1);
	tick();
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "-");
	CU_ASSERT_STRING_EQUAL(remotes(seid, 6), "-");
	CU_ASSERT_EQUAL(establish_app(3, "10.45.0.4", "web", NULL), 0); // unknown, though named
	CU_ASSERT_EQUAL(answer_cause(), 73);
	CU_ASSERT_EQUAL(kit.n4->env.pfds->n_apps, 2);
	PFDS("web", ONE);
	tick();
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "1");
	no_apps();
	tick();
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "-");
	CU_ASSERT_STRING_EQUAL(remotes(other, 5), "-");
	delete_session(seid);
	delete_session(other);
	CU_ASSERT_EQUAL(kit.n4->env.pfds->n_apps, 0);
	kit_close();
}

// A session is being made, changed or deleted while the PFDs change: what it then has is of the new ones.
static void test_busy(void)
{
	uint64_t seid, gone;

	kit_open(&conf);
	PFDS("web", ONE);
	seid = establish_app(1, "10.45.0.2", "web", NULL);
	gone = establish_app(2, "10.45.0.3", "web", NULL);
	kit.hold = true;
	msg_begin(52, seid);
	PDR(.id = 5, .update = true, .source = CORE, .no_precedence = true, .no_far = true,
	    .flows = {"permit out 17 from any to assigned"});
	msg_send();
	delete_session(gone);
	establish_app(3, "10.45.0.4", "web", NULL);
	PFDS("web", TWO);
	n4_tick(kit.n4);
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "1");
	kit_run();
	CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "2");
	CU_ASSERT_EQUAL(n4_session_count(kit.n4), 2);
	CU_ASSERT_EQUAL(app_of("web")->users, 4);
	for (const struct n4_renewal *r = TAILQ_FIRST(&kit.n4->sessions->of_apps); r;
	     r = TAILQ_NEXT(r, of_apps))
		CU_ASSERT_STRING_EQUAL(remotes(r->session->seid, 6), "2");
	kit_close();
}

// PFDs that cannot be detected are refused while rules name the application.
static void test_in_use(void)
{
	uint64_t seid;
	size_t app;

	kit_open(&conf);
	PFDS("web", ONE);
	seid = establish_app(1, "10.45.0.2", "web", NULL);
	for (unsigned i = 0; i < 2; i++) {
		pfd_begin();
		app = app_begin("other");
		put_pfd(FD, TWO);
		ie_end(app);
		app = app_begin("web");
		put_pfd(URL, "^http://a.example/");
		ie_end(app);
		msg_send();
		CU_ASSERT_EQUAL(answer_cause(), i == 0 ? 76 : 1);
		CU_ASSERT_EQUAL(answer_number(40), i == 0 ? 61 : 0);
		CU_ASSERT_EQUAL(app_of("other") != NULL, i == 1);
		tick();
		if (i == 0) {
			CU_ASSERT_STRING_EQUAL(remotes(seid, 5), "1");
			delete_session(seid);
		}
	}
	kit_close();
}

// What no longer fits: the session keeps what it has, and its next request says why.
static void test_does_not_fit(void)
{
	static const char wide[] = "permit out 17 from 192.0.2.7 1,3,5,7,9,11,13,15 to "
				   "assigned 1,3,5,7,9,11,13,15";
	uint64_t seid;
	uint32_t rules;

	kit_open(&conf);
	PFDS("web", ONE);
	establish_begin(1);
	put_plain("10.45.0.2");
	for (unsigned i = 0; i < 17; i++)
		PDR(.id = 5 + i, .source = CORE, .ni = "internet", .app = "web",
		    .precedence = 10 + i, .far = 1,
		    .flows = {"permit out ip from any to assigned",
			      "permit out ip from 192.0.0.0/8 to assigned",
			      "permit out ip from 192.0.2.0/24 to assigned",
			      "permit out 17 from any to assigned"});
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	rules = session_of(seid)->holding.rules;
	log_level_set(LOG_LEVEL_ERROR - 1);
	PFDS("web", wide);
	CU_ASSERT_EQUAL(answer_cause(), 1);
	tick();
	CU_ASSERT_EQUAL(session_of(seid)->holding.rules, rules);
	msg_begin(52, seid);
	FAR(.id = 1, .update = true, .action = DROP);
	msg_send();
	CU_ASSERT(answer_cause() == 75 && answer_number(40) == 24 && failed_id() >= 5);
	CU_ASSERT_EQUAL(session_of(seid)->holding.rules, rules);
	PFDS("web", TWO);
	tick();
	CU_ASSERT_NOT_EQUAL(session_of(seid)->holding.rules, rules);
	CU_ASSERT_EQUAL(app_of("web")->users, 17);
	kit_close();
}

// Many sessions follow, a bounded number a tick; those that name no application are not touched.
static void test_many(void)
{
	struct kit_conf many = conf;
	uint64_t seids[300], plain;
	unsigned behind, ticks = 0, most = 0, last = 300;
	uint64_t users;

	many.slots = 160;
	many.tunnels = 200;
	many.arena_bytes = 4u << 20;
	kit_open(&many);
	PFDS("web", ONE);
	plain = establish_plain(1000, "10.45.9.9");
	for (unsigned i = 0; i < 300; i++) {
		char ue[ADDR_STRLEN];

		snprintf(ue, sizeof(ue), "10.45.%u.%u", i / 250, i % 250 + 1);
		seids[i] = establish_app(i + 1, ue, "web", NULL);
		CU_ASSERT_FATAL(seids[i] != 0);
	}
	users = app_of("web")->users;
	CU_ASSERT_EQUAL(users, 600);
	PFDS("web", TWO);
	do {
		tick();
		behind = 0;
		for (unsigned i = 0; i < 300; i++)
			behind += strcmp(remotes(seids[i], 5), "2") != 0;
		most = last - behind > most ? last - behind : most;
		last = behind;
	} while (behind > 0 && ++ticks < 300);
	CU_ASSERT(behind == 0 && most <= 64);
	CU_ASSERT_EQUAL(app_of("web")->users, users);
	CU_ASSERT_PTR_NULL(session_of(plain)->renewal); // it was never due, and names none
	kit_close();
}

// The context ends while sessions, changes and marks are there.
static void test_context_ends(void)
{
	kit_open(&conf);
	PFDS("web", ONE);
	establish_app(1, "10.45.0.2", "web", NULL);
	PFDS("web", TWO);
	kit.hold = true;
	n4_tick(kit.n4);
	establish_app(2, "10.45.0.3", "web", NULL);
	n4_free(kit.n4);
	for (unsigned i = 0; i < KIT_WORKERS; i++) { // what was posted comes back to nobody
		mailbox_run(kit.workers[i], 16);
		mailbox_collect(kit.workers[i]);
	}
	kit.n4 = NULL;
	kit_close();
}

static CU_TestInfo tests[] = {
	{"named by a PDR", test_named},
	{"together with an SDF filter", test_with_filter},
	{"more than flow descriptions", test_undetectable},
	{"an update of a PDR", test_update},
	{"sessions follow", test_follow},
	{"busy sessions follow", test_busy},
	{"not while in use", test_in_use},
	{"what does not fit", test_does_not_fit},
	{"many sessions follow", test_many},
	{"the context ends", test_context_ends},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_pfd_use")
