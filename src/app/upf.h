// The whole daemon: every part, made from the configuration, and the order of starting and stopping.
//
// Control thread (EAL's main lcore). Whoever needs a part gets it from here; nobody below includes this.

#pragma once

#include "config/config.h"
#include "pfcp/n4.h"
#include "port/port.h"
#include "rules/acl.h"
#include "rules/arena.h"
#include "rules/expand.h"
#include "session/locator.h"
#include "session/slots.h"
#include "session/ue_pool.h"
#include "worker/control.h"
#include "worker/worker.h"

struct event;
struct event_base;
struct rte_rcu_qsbr;

struct upf {
	struct config config;

	// Ports.
	struct rte_mempool *pools[MAX_WORKERS];
	struct rte_mempool *buffer_pools[MAX_WORKERS]; // of downlink packets that wait
	struct iface *ifaces[CONFIG_IFACES_MAX];
	unsigned n_ifaces;

	// What sessions are made of.
	struct rte_rcu_qsbr *qsbr;
	struct locator *locator;
	struct ue_pools *ue_pools;
	struct rule_arena arena;
	struct slots *slots;
	uint32_t recovery; // our Recovery Time Stamp: the second after the start
	struct n4 *n4;
	struct n4_iface n4_ifaces[CONFIG_IFACES_MAX];
	struct n4_ni n4_nis[CONFIG_NIS_MAX];
	struct n4_policy n4_policies[CONFIG_POLICIES_MAX];
	struct predefined_rule predefined[PREDEFINED_MAX_RULES];
	struct flow_profile_conf flow_profiles[CONFIG_NIS_MAX];
	struct acl acls[FLOW_PROFILES]; // by network instance
	struct nat_pools nat;
	uint64_t nat_unlogged; // as it was last told

	// Workers, neighbours, and the rings between them and the control thread.
	struct control control;
	unsigned n_workers;   // configured
	uint32_t gather_seed; // by which tunnels' fragments find their worker
	bool launched;

	// The control thread's own.
	struct event_base *base;
	uint64_t heard;       // of the workers, at the last look
	unsigned quiet_looks; // since when nothing was
	struct event *timers[2];
	struct event *signals[2];
	struct event *copies[CONFIG_IFACES_MAX];
	bool carrier[CONFIG_IFACES_MAX]; // as it was last told
	struct ctl *ctl;
	bool leaving; // told to stop: SMFs release their associations first
	bool stop;
};

// Everything up to packets flowing. 0, or -1 after an error line that says what to do; then upf_stop() takes
// down what stands.
int upf_start(struct upf *upf);
// Runs until a signal or upf->stop.
void upf_run(struct upf *upf);
void upf_stop(struct upf *upf);

// start_ports.c: EAL, buffers, interfaces.
int upf_ports_open(struct upf *upf);
int upf_ports_start(struct upf *upf);
void upf_ports_close(struct upf *upf);
// start_flows.c: what the configuration says of flows, for one worker, and for a network instance's sessions.
void upf_flows_fill(struct upf *upf, struct flows_conf *ret);
uint64_t upf_flow_services(const struct config_ni *ni);
int upf_acls_make(struct upf *upf);
void upf_acls_free(struct upf *upf);
// After the locator; freed after the workers.
int upf_nat_make(struct upf *upf);
void upf_nat_free(struct upf *upf);
// nat_log.c: from now on blocks of outside ports are logged as they come and go; what could not be is told of.
void upf_nat_log_start(struct upf *upf);
void upf_nat_log_lost(struct upf *upf);
// start_sessions.c: tables, workers, N4.
int upf_sessions_make(struct upf *upf);
void upf_sessions_free(struct upf *upf);
int upf_workers_launch(struct upf *upf);
void upf_workers_stop(struct upf *upf);
// control.c: what the control thread does in turns.
int upf_control_start(struct upf *upf);
void upf_control_stop(struct upf *upf);
