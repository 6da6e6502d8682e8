// show services: the stages of a chain, in the order of a packet's way. Control thread.
//
// What the registry resolved at start: the lowest bit goes first.

#include "ctl/cmd.h"
#include "service/service.h"

static const char *const columns[] = {"bit", "name", "after", "before", "terminal", "help", NULL};

static void names_put(struct reply *r, const char *const *names)
{
	reply_list_open(r, NULL);
	for (; names && *names; names++)
		reply_str(r, NULL, *names);
	reply_list_close(r);
}

bool cmd_show_services(struct call *call)
{
	const struct service_order *order = call->view->services;
	struct reply *r = &call->reply;

	reply_object_open(r, NULL);
	reply_table_open(r, "services", columns);
	for (unsigned bit = 0; order && bit < SERVICES_MAX; bit++) {
		const struct service *service = order->services[bit];

		if (!service)
			continue;
		reply_row(r);
		reply_uint(r, NULL, bit);
		reply_str(r, NULL, service->name);
		names_put(r, service->after);
		names_put(r, service->before);
		reply_bool(r, NULL, bit == order->terminal);
		reply_str(r, NULL, service->help);
	}
	reply_table_close(r);
	reply_object_close(r);
	return true;
}
