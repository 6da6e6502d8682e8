// sluice-sim: a small SMF, gNB and UE, to try a UPF without a 5G core.
//
// Exit status: 0 when all went well, 1 when something did not, 2 for a wrong command line or file.

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "gnb.h"
#include "scenario.h"
#include "sim.h"
#include "smf.h"
#include "ue_tun.h"

#define UES_TOLD 20 // with more UEs, lines about each would hide the rest

void sim_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

void sim_say_ue(const struct sim *sim, const struct ue *ue, const char *fmt, ...)
{
	char text[256];
	va_list args;

	if (sim->options.ues > UES_TOLD && sim->options.log < LOG_LEVEL_DEBUG)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sim_say("ue %u: %s", ue->index + 1, text);
}

void sim_say_counters(const struct sim *sim)
{
	const char *comma = "";

	printf("counted:");
#define COUNTER_SAY(name, text)                                                                    \
	if (sim->counters.name) {                                                                  \
		printf("%s %s %llu", comma, text, (unsigned long long)sim->counters.name);         \
		comma = ",";                                                                       \
	}
	SIM_COUNTERS(COUNTER_SAY)
#undef COUNTER_SAY
	sim_say("%s", *comma ? "" : " nothing");
}

void sim_stop(struct sim *sim, bool failed)
{
	sim->failed |= failed;
	event_base_loopbreak(sim->base);
}

static void end_signal(evutil_socket_t number, short what, void *ctx)
{
	sim_say("ending: %s", strsignal((int)number));
	scenario_end(ctx);
}

static void counters_signal(evutil_socket_t number, short what, void *ctx)
{
	sim_say_counters(ctx);
}

static const struct {
	int number;
	event_callback_fn call;
} signals[] = {
	{SIGINT, end_signal},
	{SIGTERM, end_signal},
	{SIGHUP, end_signal},
	{SIGUSR1, counters_signal},
};
#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

// The loop, until sim_stop().
static int sim_loop(struct sim *sim)
{
	struct event *events[N_SIGNALS] = {NULL};
	int rc = -1;

	for (unsigned i = 0; i < N_SIGNALS; i++) {
		events[i] = evsignal_new(sim->base, signals[i].number, signals[i].call, sim);
		if (!events[i] || event_add(events[i], NULL) < 0)
			goto out;
	}
	smf_associate(sim->smf);
	rc = event_base_dispatch(sim->base);
	sim_say_counters(sim);
out:
	for (unsigned i = 0; i < N_SIGNALS; i++) {
		if (events[i])
			event_free(events[i]);
	}
	return rc;
}

static int sim_run(struct sim *sim)
{
	int rc = -1;

	TAILQ_INIT(&sim->ready);
	sim->seid_tag = rand_u32() | 1;
	sim->base = event_base_new();
	if (!sim->base)
		return -1;
	sim->ues = ues_new(sim);
	sim->scenario = scenario_new(sim);
	if (!sim->ues || !sim->scenario) {
		log_error("not enough memory");
		goto out;
	}
	sim->smf = smf_new(sim);
	if (!sim->smf || !gnbs_new(sim))
		goto out;
	sim->tun = ue_tun_new(sim);
	if (sim->tun)
		rc = sim_loop(sim);
out:
	ue_tun_free(sim->tun);
	gnbs_free(sim);
	smf_free(sim->smf);
	scenario_free(sim->scenario);
	free(sim->ues);
	event_base_free(sim->base);
	return rc < 0 || sim->failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	static struct sim sim;
	int rc = options_parse(argc, argv, &sim.options);

	if (rc != 0)
		return rc > 0 ? 0 : 2;
	log_level_set(sim.options.log);
	return sim_run(&sim);
}
