// The rules of a session as its SMF gave them (TS 29.244 7.5.2, 7.5.4).
//
// Control thread only. A request is applied to a clone, which is checked and compiled as a whole; the
// clone takes the model's place only when the owner worker has switched. Ids are per session.
// All rules stand in small arrays of their own that grow by need: most sessions have four PDRs.

#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/addr.h"
#include "rules/fault.h"
#include "rules/sdf.h"

// Limits of the format of compiled rules; the configuration may set lower ones.
#define RULES_MAX_PDRS 256
#define RULES_MAX_FILTERS 16
#define RULES_MAX_PLACES 255   // QERs, and URRs, of one session: struct pdr names them in an octet
#define RULES_MAX_PDR_REFS 4   // QERs, and URRs, that one PDR may name
#define RULES_MAX_PREDEFINED 8 // predefined rules that one PDR may activate
#define RULES_MAX_TUNNELS 16   // local F-TEIDs of one session
#define RULES_MAX_UES 8        // addresses of the UE, of one session
#define RULES_MAX_FRAMED 16    // framed routes of one session
#define RULES_MAX_COPIES 4     // duplicating destinations of one FAR
#define RULES_NI_NONE 0xffff   // no Network Instance was given
#define RULES_PPI_NONE 0xff    // no Paging Policy Indicator was given
#define RULES_MAX_EVENTS 32    // of a URR, that one report tells of
#define RULES_MAX_NEXTS 4      // monitoring times to come, of one URR
#define RULES_APP_NONE 0       // no Application ID was given

// Source Interface and Destination Interface values (TS 29.244 8.2.2, 8.2.24).
enum interface_value {
	IF_ACCESS = 0,
	IF_CORE = 1,
	IF_SGI_LAN = 2, // SGi-LAN / N6-LAN
	IF_CP_FUNCTION = 3,
	IF_LI_FUNCTION = 4, // destination only
	IF_5G_VN_INTERNAL = 5,
};

// Apply Action bits, first octet low (TS 29.244 8.2.26).
#define APPLY_DROP 0x01
#define APPLY_FORW 0x02
#define APPLY_BUFF 0x04
#define APPLY_NOCP 0x08
#define APPLY_DUPL 0x10
#define APPLY_IPMA 0x20
#define APPLY_IPMD 0x40
#define APPLY_DFRT 0x80

struct fteid {
	bool choose; // CH: the UPF picks the TEID; after it has, `teid`, `v4`, `v6` hold what was picked
	bool has_v4, has_v6;
	bool has_choose_id;
	uint8_t choose_id;
	uint32_t teid; // host order
	struct in_addr v4;
	struct in6_addr v6;
};

struct ue_ip {
	bool has_v4, has_v6;
	bool choose_v4,
		choose_v6; // CHV4, CHV6: we pick; when we have, `v4`, `v6` hold what was picked
	bool delegated;    // the prefix's length came as delegation bits (IPv6D)
	uint16_t pool; // network instance whose pool we pick from; RULES_NI_NONE: that of the PDI
	bool destination; // S/D bit: the address is the packet's destination. Kept for show: the PDR's
			  // source interface says on which side the UE is
	uint8_t v6_prefix; // bits; 64 when the IE gave none
	struct in_addr v4;
	struct in6_addr v6; // as given, interface identifier included
};

struct pdi {
	uint8_t source; // enum interface_value
	bool has_fteid, has_ue_ip;
	uint16_t ni;        // index of the network instance in the configuration
	bool has_endpoint;  // a traffic endpoint gives F-TEID, Network Instance and UE IP Address
	bool endpoint_qfis; // and the QFIs
	uint8_t endpoint;   // its Traffic Endpoint ID
	struct fteid fteid;
	struct ue_ip ue_ip;
	// Further prefixes of the UE beside ue_ip, and routes behind it: host bits zero. Heap, owned by the PDR.
	uint8_t n_more, n_framed;
	struct prefix *more, *framed;
	uint64_t qfis; // bit per QFI that matches; 0: any
	uint8_t n_filters;
	struct sdf *filters; // any matches; none: every packet does. Heap, owned by the PDR
	// Number of the application whose traffic it matches, besides the filters, or RULES_APP_NONE. What its
	// traffic is, is not the model's to know: compile_conf.app_flows does.
	uint16_t app;
};

// A Traffic Endpoint (TS 29.244 7.5.2.7): what several PDRs have in common of their PDIs. Only the parts of
// `pdi` that a PDR may leave to it are used. rules/endpoint.h writes them into the PDRs that name it.
struct endpoint_rule {
	uint8_t id;
	uint8_t tunnel; // which of the session's tunnels its F-TEID is, from 1; 0: none, or not yet
	struct pdi pdi;
};

struct pdr_rule {
	uint16_t id;
	uint32_t precedence; // lower value goes first (TS 29.244 8.2.11)
	struct pdi pdi;
	int16_t outer_header_removal; // description value, -1: none
	uint8_t tunnel; // which of the session's tunnels the F-TEID is, from 1; 0: none
	bool has_far;
	uint32_t far;
	uint8_t n_qers, n_urrs;
	uint32_t qers[RULES_MAX_PDR_REFS];
	uint32_t urrs[RULES_MAX_PDR_REFS];
	bool has_from,
		has_until; // Activation Time, Deactivation Time: when it takes packets, wall clock
	time_t from_s, until_s;
	bool by_predefined; // it has activated predefined rules, now or before: see rules/expand.h
	uint8_t n_predefined;
	uint8_t predefined[RULES_MAX_PREDEFINED]; // places in the configuration's list
	bool asleep; // only after rules_expand(): it keeps its UE addresses and takes no packets
};

// Outer Header Creation Description, first octet (TS 29.244 8.2.56).
#define OHC_GTPU_UDP_V4 0x01
#define OHC_GTPU_UDP_V6 0x02
#define OHC_UDP_V4 0x04
#define OHC_UDP_V6 0x08

// Where packets are redirected to (TS 29.244 8.2.20): to another address, another port, or both. What is 0 stays.
struct redirect_rule {
	struct in_addr v4;
	struct in6_addr v6;
	uint16_t port; // host order
};

struct far_rule {
	uint32_t id;
	uint8_t action;      // APPLY_ bits
	bool has_parameters; // Forwarding Parameters were given
	uint8_t destination; // enum interface_value
	uint16_t ni;
	bool has_bar;
	uint8_t bar;
	bool has_endpoint; // Linked Traffic Endpoint ID: where packets of the other direction come in
	uint8_t endpoint;
	uint8_t ohc;    // OHC_ bits, 0: no outer header is created
	uint8_t dscp;   // Transport Level Marking, the DSCP; 0xff: none
	uint8_t policy; // number of the forwarding policy, from 1; 0: none
	uint32_t teid;  // host order
	uint16_t port;
	struct in_addr v4;
	struct in6_addr v6;
	struct redirect_rule redirect;
	// Duplicating Parameters: each destination as a FAR of the same id that forwards there and has none itself.
	uint8_t n_copies;
	struct far_rule *copies; // heap, owned by the FAR
};

// The state of a QER or URR stands at a place of its session's (session/policy.h), given by
// rules_places_assign() and kept for as long as the rule lives: place n is number n - 1 there.
struct qer_rule {
	uint32_t id;
	uint8_t place; // from 1; 0: none, it limits no rate
	bool fresh;    // made by the change that is under way: it has no state yet
	bool has_mbr, has_gbr, has_qfi, rqi; // no MBR: no limit; an MBR of 0 lets nothing pass
	uint8_t gate_up, gate_down;          // 0 open, 1 closed
	uint8_t qfi;
	uint8_t ppi; // Paging Policy Indicator, or RULES_PPI_NONE
	uint32_t correlation_id;
	uint64_t mbr_up_bps, mbr_down_bps, gbr_up_bps, gbr_down_bps;
	uint16_t packet_rate_up, packet_rate_down; // packets in each time unit, 0: no limit
	uint32_t packet_unit_up_s, packet_unit_down_s;
	uint32_t averaging_window_ms;
};

// Measurement Method (TS 29.244 8.2.40).
#define METHOD_DURAT 0x01
#define METHOD_VOLUM 0x02
#define METHOD_EVENT 0x04

// Reporting Triggers (TS 29.244 8.2.19).
#define TRIGGER_PERIO 0x0001
#define TRIGGER_VOLTH 0x0002
#define TRIGGER_TIMTH 0x0004
#define TRIGGER_QUHTI 0x0008
#define TRIGGER_START 0x0010
#define TRIGGER_STOPT 0x0020
#define TRIGGER_DROTH 0x0040
#define TRIGGER_LIUSA 0x0080
#define TRIGGER_EVETH 0x1000

// Measurement Information (TS 29.244 8.2.68).
#define MEASURE_BEFORE 0x01  // MBQE: before QoS enforcement
#define MEASURE_NOT 0x02     // INAM: measuring pauses
#define MEASURE_START 0x08   // ISTM: time is measured from the start, not from the first packet on
#define MEASURE_PACKETS 0x10 // MNOP: packets are reported beside bytes

struct urr_volumes {
	uint8_t flags; // 1 total, 2 up, 4 down; packets: 8, 16, 32; 0: not given
	uint64_t total, up, down;
};

// Downlink packets that are dropped because their UE cannot be reached (Dropped DL Traffic Threshold).
struct urr_drops {
	uint8_t flags; // 1 packets, 2 bytes; 0: not given
	uint64_t packets, bytes;
};

struct urr_rule {
	uint32_t id;
	uint8_t place;   // from 1; 0: none yet
	uint16_t serial; // given with the place, and different from any other of the session's
	bool fresh;
	bool quota_given;  // the change that is under way gives a new volume quota
	bool resumed;      // or a quota of any kind: what has stopped goes on
	uint8_t method;    // Measurement Method: 1 DURAT, 2 VOLUM, 4 EVENT
	uint32_t triggers; // Reporting Triggers, first octet in the low byte
	uint32_t period_s, time_threshold_s, time_quota_s, quota_holding_s, quota_validity_s;
	uint32_t
		inactivity_s; // Inactivity Detection Time: a silence after which no time is measured
	uint32_t event_threshold, event_quota; // 0: none
	struct urr_volumes threshold, quota;
	struct urr_drops drops;
	uint8_t n_linked;
	uint32_t linked[RULES_MAX_PDR_REFS];
	bool has_quota_far;
	uint32_t quota_far;
	uint8_t measurement_info;
};

// A monitoring time of a URR: what was counted until then is told apart from what comes after, for which these stand
// in the place of the URR's own from then on. It goes when it has come.
struct urr_next {
	uint32_t urr;                        // URR ID
	bool additional;                     // of an Additional Monitoring Time
	uint32_t at;                         // NTP seconds
	struct urr_volumes threshold, quota; // flags 0: as before
	uint32_t time_threshold_s, time_quota_s, event_threshold, event_quota; // 0: as before
};

struct bar_rule {
	uint8_t id;
	uint8_t ddn_delay_50ms;
	bool has_suggested, has_duration;
	uint16_t suggested_packets;
	uint32_t duration_s; // DL Buffering Duration; all ones: no end
};

// One local F-TEID of the session. tunnels[0] is number 1, the one whose TEID stands in the session's up
// line; further ones have records of their own (session/session.h).
struct tunnel_rule {
	uint8_t number; // 1.., as in pdr_rule.tunnel and in struct pdr
	bool given;     // the SMF chose the TEID
	bool up;        // its PDRs' source is the access side
	bool has_choose_id;
	uint8_t choose_id;
	uint8_t iface;   // interface whose address it has
	uint32_t teid;   // host order
	uint32_t record; // index of its tunnel record; meaningless for number 1 unless given
	bool has_v4, has_v6;
	struct in_addr v4;
	struct in6_addr v6;
};

// An address, or IPv6 prefix, of the UE that we picked: one for all PDRs that ask for its like.
struct picked_ue {
	struct prefix prefix;
	uint16_t pool; // network instance
	bool is_new;   // by the change under way
};

struct rules {
	uint16_t n_pdrs, n_fars, n_qers, n_urrs, n_nexts, n_bars, n_endpoints, n_tunnels, n_picked;
	struct pdr_rule *pdrs; // in the order given
	struct far_rule *fars;
	struct qer_rule *qers;
	struct urr_rule *urrs;
	struct urr_next *nexts;
	struct bar_rule *bars;
	struct endpoint_rule *endpoints;
	struct tunnel_rule *tunnels;
	struct picked_ue *picked;
	uint32_t inactivity_s; // User Plane Inactivity Timer, 0: none
	uint16_t last_serial;  // that a URR got
};

// Whether it redirects at all.
bool far_redirects(const struct far_rule *far);

// A deep copy; NULL without memory.
struct rules *rules_clone(const struct rules *rules);
struct rules *rules_new(void);
void rules_free(struct rules *rules);

// NULL where the session has no such rule.
struct pdr_rule *rules_pdr_lookup(const struct rules *rules, uint16_t id);
struct far_rule *rules_far_lookup(const struct rules *rules, uint32_t id);
struct qer_rule *rules_qer_lookup(const struct rules *rules, uint32_t id);
struct urr_rule *rules_urr_lookup(const struct rules *rules, uint32_t id);
struct bar_rule *rules_bar_lookup(const struct rules *rules, uint8_t id);
struct endpoint_rule *rules_endpoint_lookup(const struct rules *rules, uint8_t id);

// Add a zeroed rule with this id: NULL without memory. The id must be new (callers look first). Pointers
// to rules of the same kind are invalid afterwards.
struct pdr_rule *rules_pdr_add(struct rules *rules, uint16_t id);
struct far_rule *rules_far_add(struct rules *rules, uint32_t id);
struct qer_rule *rules_qer_add(struct rules *rules, uint32_t id);
struct urr_rule *rules_urr_add(struct rules *rules, uint32_t id);
struct bar_rule *rules_bar_add(struct rules *rules, uint8_t id);
struct endpoint_rule *rules_endpoint_add(struct rules *rules, uint8_t id);
struct tunnel_rule *rules_tunnel_add(struct rules *rules);
// NULL also beyond RULES_MAX_UES.
struct picked_ue *rules_picked_add(struct rules *rules);

// A URR's monitoring time, zeroed but for its URR. NULL beyond RULES_MAX_NEXTS or without memory. Pointers to others
// are invalid afterwards.
struct urr_next *rules_next_add(struct rules *rules, uint32_t urr);
void rules_next_del(struct rules *rules, struct urr_next *next);
// The first of the URR's to come, or NULL.
struct urr_next *rules_next_first(const struct rules *rules, uint32_t urr);

// Put a copy of these filters in the place of the PDR's. 0, -E2BIG beyond RULES_MAX_FILTERS, or -ENOMEM;
// then the PDR is as before.
int rules_pdr_filters_set(struct pdr_rule *pdr, const struct sdf *filters, unsigned n);

// The same for the further prefixes of its UE. -E2BIG beyond RULES_MAX_UES.
int rules_pdr_more_set(struct pdr_rule *pdr, const struct prefix *more, unsigned n);
// The same for its framed routes of one family. -E2BIG beyond RULES_MAX_FRAMED of both.
int rules_pdr_framed_set(struct pdr_rule *pdr, uint8_t family, const struct prefix *framed,
			 unsigned n);
// Adds a duplicating destination, zeroed but for id and action: NULL beyond RULES_MAX_COPIES or without memory.
// Pointers to others are invalid afterwards.
struct far_rule *rules_far_copy_add(struct far_rule *far);
void rules_far_copy_del(struct far_rule *far, unsigned i);

// Gives it copies of another PDR's further prefixes and framed routes in the place of its own. -ENOMEM.
int rules_pdr_prefixes_copy(struct pdr_rule *pdr, const struct pdr_rule *from);

// Gives a place to each QER that limits a rate and to each URR, the lowest that is free; RULES_MAX_PLACES of
// either always have one. The first two of meters, and the first of usage, are the fast ones.
void rules_places_assign(struct rules *rules);
bool qer_has_packet_rate(const struct qer_rule *qer);
// Whether a URR counts nothing but bytes: then the one at the first place stands in the session's lines.
bool urr_is_plain(const struct urr_rule *urr);
// Whether its first packet matters: it is reported, or time is measured from there on.
bool urr_awaits(const struct urr_rule *urr);
bool urr_measures_time(const struct urr_rule *urr);
// Whether it counts nothing and measures no time now.
bool urr_is_paused(const struct urr_rule *urr);
// Whether dropped downlink packets are counted for it.
bool urr_counts_drops(const struct urr_rule *urr);
// Whether it may stop traffic: it has a quota of any kind.
bool urr_has_quota(const struct urr_rule *urr);
// The highest place in use.
unsigned rules_meter_places(const struct rules *rules);
unsigned rules_usage_places(const struct rules *rules);
// What was made is no longer fresh: the owner has it.
void rules_settled(struct rules *rules);

// The prefixes that a PDR gives as its UE's own, all beyond their lengths zero. Their number.
#define RULES_MAX_PDR_UES (2 + RULES_MAX_UES)
unsigned rules_pdr_ues(const struct pdr_rule *pdr, struct prefix ret[RULES_MAX_PDR_UES]);

// The filter that this one stands for: itself, or for one with only a BID the session's filter that has
// this BID and a Flow Description; NULL where there is none.
const struct sdf *rules_filter_resolve(const struct rules *rules, const struct sdf *sdf);

// 0, or -ENOENT.
int rules_pdr_del(struct rules *rules, uint16_t id);
int rules_far_del(struct rules *rules, uint32_t id);
int rules_qer_del(struct rules *rules, uint32_t id);
int rules_urr_del(struct rules *rules, uint32_t id);
int rules_bar_del(struct rules *rules, uint8_t id);
// The PDRs that name it stay as they are: see rules/endpoint.h.
int rules_endpoint_del(struct rules *rules, uint8_t id);
