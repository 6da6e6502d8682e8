// The registry of services: an order is found, or what is wrong is refused by name (service/service.h).
// Pure: one thread, no worker.

#include "service/service.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

#define MOST 4
#define END .terminal = true

struct row {
	const char *what;
	struct service services[MOST];
	const char *why; // must stand in the message; NULL: resolves
	int bits[MOST];  // expected
};

static const struct row rows[] = {
	{"one", {{"a", 3, END}}, NULL, {3}},
	{"in between",
	 {{"a", 1}, {"x", -1, .after = SERVICES("a"), .before = SERVICES("b")}, {"b", 9, END}},
	 NULL,
	 {1, 2, 9}},
	{"before all",
	 {{"a", 1}, {"x", -1, .before = SERVICES("a")}, {"b", 9, END}},
	 NULL,
	 {1, 0, 9}},
	{"a chain of free ones",
	 {{"y", -1, .after = SERVICES("x"), .before = SERVICES("b")},
	  {"x", -1, .after = SERVICES("a")},
	  {"a", 4},
	  {"b", 7, END}},
	 NULL,
	 {6, 5, 4, 7}},
	{"unknown after", {{"a", 1, .after = SERVICES("nobody")}, {"b", 9, END}}, "nobody"},
	{"unknown before", {{"a", 1, .before = SERVICES("nobody")}, {"b", 9, END}}, "nobody"},
	{"twice", {{"a", 1}, {"a", 2}, {"b", 9, END}}, "a: registered twice"},
	{"bit taken", {{"a", 1}, {"c", 1}, {"b", 9, END}}, "c: bit 1"},
	{"bit too high", {{"a", 64}, {"b", 9, END}}, "a: bit 64"},
	{"before itself", {{"a", 1, .before = SERVICES("a")}, {"b", 9, END}}, "services a: "},
	{"cycle of two",
	 {{"a", -1, .before = SERVICES("c")}, {"c", -1, .before = SERVICES("a")}, {"b", 9, END}},
	 "services a, c: before and after make a cycle"},
	{"cycle of three",
	 {{"a", -1, .before = SERVICES("c")},
	  {"c", -1, .before = SERVICES("d")},
	  {"d", -1, .before = SERVICES("a")},
	  {"b", 9, END}},
	 "services a, c, d: before and after make a cycle"},
	{"cycle among others",
	 {{"a", 1, .before = SERVICES("c")},
	  {"c", -1, .after = SERVICES("a"), .before = SERVICES("d")},
	  {"d", -1, .before = SERVICES("c")},
	  {"b", 9, .after = SERVICES("d"), END}},
	 "services c, d: before and after make a cycle"},
	{"bits against the order",
	 {{"a", 5, .before = SERVICES("c")}, {"c", 2}, {"b", 9, END}},
	 "c: its bit"},
	{"bits against the order, over a free one",
	 {{"a", 5, .before = SERVICES("x")},
	  {"x", -1, .before = SERVICES("c")},
	  {"c", 2},
	  {"b", 9, END}},
	 "no free bit"},
	{"no bit between",
	 {{"a", 4},
	  {"x", -1, .after = SERVICES("a"), .before = SERVICES("c")},
	  {"c", 5},
	  {"b", 9, END}},
	 "no free bit"},
	{"one bit for two",
	 {{"a", 7},
	  {"x", -1, .after = SERVICES("a"), .before = SERVICES("b")},
	  {"y", -1, .after = SERVICES("a"), .before = SERVICES("b")},
	  {"b", 9, END}},
	 "y: no free bit"},
	{"no terminal", {{"a", 1}, {"b", 9}}, "0 services are terminal"},
	{"two terminals", {{"a", 1, END}, {"b", 9, END}}, "2 services are terminal"},
	{"after the terminal", {{"a", 1, END}, {"b", 9}}, "b runs after the terminal a"},
	{"none", {{NULL}}, "0 services are terminal"},
};

static void check_row(const struct row *row)
{
	const struct service *services[MOST];
	struct service_order order;
	char why[200] = "";
	unsigned n = 0;
	int rc;

	for (; n < MOST && row->services[n].name; n++)
		services[n] = &row->services[n];
	rc = service_order_resolve(services, n, &order, why, sizeof(why));
	CU_ASSERT_EQUAL(rc, row->why ? -EINVAL : 0);
	if (row->why) {
		CU_ASSERT_PTR_NOT_NULL(strstr(why, row->why));
		if (!strstr(why, row->why))
			fprintf(stderr, "%s: %s\n", row->what, why);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		CU_ASSERT_PTR_EQUAL(order.services[row->bits[i]], services[i]);
	CU_ASSERT_TRUE(order.services[order.terminal]->terminal);
}

static void all_rows(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

// The services of the tree resolve, and have the bits that are known when compiled; each says what it does.
static void tree(void)
{
	static const struct {
		int bit;
		const char *name;
	} own[] = {
#define SERVICE(bit, name) {bit, #name},
#include "service/service.def"
#undef SERVICE
	};
	struct service_order order;
	char why[200];
	unsigned n;
	const struct service *const *services = service_registry(&n);

	CU_ASSERT_EQUAL_FATAL(n, sizeof(own) / sizeof(own[0]));
	CU_ASSERT_EQUAL_FATAL(service_order_resolve(services, n, &order, why, sizeof(why)), 0);
	for (unsigned i = 0; i < n; i++) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(order.services[own[i].bit]);
		CU_ASSERT_STRING_EQUAL(order.services[own[i].bit]->name, own[i].name);
		CU_ASSERT_PTR_NOT_NULL(order.services[own[i].bit]->run);
		CU_ASSERT_TRUE(order.services[own[i].bit]->help &&
			       *order.services[own[i].bit]->help);
	}
}

// A service from outside may stand between any two neighbours of the tree.
static void room_for_others(void)
{
	const struct service *services[SERVICES_MAX];
	struct service_order order;
	char why[200];
	unsigned n;
	const struct service *const *own = service_registry(&n);

	memcpy(services, own, n * sizeof(own[0]));
	for (unsigned i = 0; i + 1 < n; i++) {
		const char *after[] = {own[i]->name, NULL}, *before[] = {own[i + 1]->name, NULL};
		const struct service other = {
			.name = "other", .bit = SERVICE_BIT_ANY, .after = after, .before = before};

		services[n] = &other;
		CU_ASSERT_EQUAL(service_order_resolve(services, n + 1, &order, why, sizeof(why)),
				0);
		CU_ASSERT_PTR_EQUAL(order.services[own[i]->bit + 1], &other);
	}
}

static CU_TestInfo tests[] = {
	{"orders found and refused", all_rows},
	{"the services of the tree", tree},
	{"room for others", room_for_others},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("service_order")
