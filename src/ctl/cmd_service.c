// show services: the stages of a chain, in the order of a packet's way, and which of those for flows each network
// instance has. Control thread.
//
// What the registry resolved at start: the lowest bit goes first, in the chains of all network instances.

#include "ctl/cmd.h"
#include "pfcp/n4_session.h"
#include "service/service.h"

static const char *const columns[] = {"bit", "name", "after", "before", "terminal", "help", NULL};

static const char *const chain_columns[] = {"network_instance", "bits", "chain", NULL};

static void names_put(struct reply *r, const char *const *names)
{
	reply_list_open(r, NULL);
	for (; names && *names; names++)
		reply_str(r, NULL, *names);
	reply_list_close(r);
}

static void chain_put(struct reply *r, const struct service_order *order, const struct n4_ni *ni)
{
	reply_row(r);
	reply_str(r, NULL, ni->name);
	reply_printf(r, NULL, "0x%llx", (unsigned long long)ni->services);
	reply_list_open(r, NULL);
	for (uint64_t bits = ni->services; bits; bits &= bits - 1)
		reply_str(r, NULL, order->services[__builtin_ctzll(bits)]->name);
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
	if (order && call->view->n4) {
		const struct n4_env *env = &call->view->n4->env;

		reply_table_open(r, "chains", chain_columns);
		for (unsigned i = 0; i < env->n_nis; i++)
			chain_put(r, order, &env->nis[i]);
		reply_table_close(r);
	}
	reply_object_close(r);
	return true;
}
