// The vocabulary of PFCP: types of IEs and messages, flag bits, and the structs that IEs are read into.
//
// Everything here comes from the tables ie.def, msg.def and flag.def; layout.def says how each struct
// stands on the wire. Numbers are in host order, addresses in network order. A text points into the
// datagram it was read from and is not terminated. TS 29.244 7.3, 8.1, 8.2.

#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "rules/fault.h"

enum pfcp_ie_type {
	PFCP_IE_NONE = 0, // reserved by 3GPP
#define IE(type, NAME, title, KIND, least, clause) PFCP_IE_##NAME = type,
#include "pfcp/ie.def"
#undef IE
	PFCP_IE_COUNT,
};

// From here on a type is a vendor's; its value begins with a two-octet enterprise number (8.1.1).
#define PFCP_IE_VENDOR 0x8000u

enum pfcp_msg_type {
#define MSG(type, NAME, title, SCOPE, DIRECTION, clause, ...) PFCP_##NAME = type,
#include "pfcp/msg.def"
#undef MSG
	PFCP_MSG_COUNT,
};

// PFCP_<IE>_<FLAG>, the first octet in the low byte. One enum for each IE: those with more than 31 bits
// become wider than int.
#define FLAG(IE, octet, bit, NAME) PFCP_##IE##_##NAME = 1ll << (((octet)-5) * 8 + (bit)-1),
#define FLAGS(IE, ...) enum { __VA_ARGS__ };
#include "pfcp/flag.def"
#undef FLAGS
#undef FLAG

// How the value of an IE is built.
enum pfcp_kind {
	PFCP_KIND_UNKNOWN, // no such IE
	PFCP_KIND_GROUP,   // IEs
	PFCP_KIND_CREATE, // IEs of a rule that is made: nothing to take away, so no empty ones (5.6.3)
	PFCP_KIND_LAYOUT, // fields, see layout.def
	PFCP_KIND_U8,
	PFCP_KIND_U16,
	PFCP_KIND_U24,
	PFCP_KIND_U32,
	PFCP_KIND_U64,
	PFCP_KIND_COUNT,    // a number in one or two octets
	PFCP_KIND_FLAGS,    // one to eight octets of flags; absent ones are 0
	PFCP_KIND_FEATURES, // flags too; written no longer than needed, in pairs of octets
	PFCP_KIND_ENUM,     // a number with names in value.def
	PFCP_KIND_TYPE,     // an IE type
	PFCP_KIND_TIME,     // seconds since 1900 (RFC 5905)
	PFCP_KIND_TIMER,    // unit and value in one octet
	PFCP_KIND_NAME,     // a domain name, as labels or as plain text
	PFCP_KIND_TEXT,
	PFCP_KIND_OCTETS,
};

struct pfcp_octets {
	const uint8_t *data;
	uint16_t len;
};

// Outer Header Creation: which descriptions ask for which field (8.2.56).
#define PFCP_OHC_GTPU                                                                              \
	(PFCP_OUTER_HEADER_CREATION_GTPU_UDP_IPV4 | PFCP_OUTER_HEADER_CREATION_GTPU_UDP_IPV6)
#define PFCP_OHC_UDP (PFCP_OUTER_HEADER_CREATION_UDP_IPV4 | PFCP_OUTER_HEADER_CREATION_UDP_IPV6)
#define PFCP_OHC_V4                                                                                \
	(PFCP_OUTER_HEADER_CREATION_GTPU_UDP_IPV4 | PFCP_OUTER_HEADER_CREATION_UDP_IPV4 |          \
	 PFCP_OUTER_HEADER_CREATION_IPV4)
#define PFCP_OHC_V6                                                                                \
	(PFCP_OUTER_HEADER_CREATION_GTPU_UDP_IPV6 | PFCP_OUTER_HEADER_CREATION_UDP_IPV6 |          \
	 PFCP_OUTER_HEADER_CREATION_IPV6)

enum pfcp_node_id_type {
	PFCP_NODE_ID_IPV4 = 0,
	PFCP_NODE_ID_IPV6 = 1,
	PFCP_NODE_ID_FQDN = 2,
};

// Additional Usage Reports Information (8.2.91): the number of reports stands below this bit.
#define PFCP_ADDITIONAL_REPORTS_AURI 0x8000u

#define PFCP_TIMER_INFINITE UINT32_MAX
#define PFCP_NTP_UNIX_OFFSET 2208988800u // seconds from 1900 to 1970

// The structs. `flags` has the PFCP_<IE>_ bits of the IE, and says which of the other members mean
// something; the writer writes just those. Decoders zero the rest.

struct pfcp_f_teid {
	uint8_t flags;
	uint8_t choose_id;
	uint32_t teid;
	struct in_addr v4;
	struct in6_addr v6;
};

struct pfcp_f_seid {
	uint8_t flags;
	uint64_t seid;
	struct in_addr v4;
	struct in6_addr v6;
};

struct pfcp_node_id {
	uint8_t type; // enum pfcp_node_id_type
	struct in_addr v4;
	struct in6_addr v6;
	struct pfcp_octets fqdn; // as labels: see pfcp_name_text
};

struct pfcp_ue_ip_address {
	uint8_t flags;
	uint8_t delegation_bits; // fewer than /64, with IPV6D
	uint8_t prefix_len;      // with IP6PL
	struct in_addr v4;
	struct in6_addr v6;
};

struct pfcp_sdf_filter {
	uint8_t flags;
	uint16_t tos; // ToS or traffic class, then its mask
	uint32_t spi;
	uint32_t flow_label; // 20 bits
	uint32_t id;
	struct pfcp_octets description; // an IPFilterRule; may hold any octet
};

struct pfcp_outer_header_creation {
	uint16_t description; // PFCP_OUTER_HEADER_CREATION_ bits
	uint16_t port;
	uint32_t teid;
	uint32_t c_tag, s_tag; // the three octets of the C-TAG and S-TAG IEs
	struct in_addr v4;
	struct in6_addr v6;
};

struct pfcp_outer_header_removal {
	uint8_t description;
	uint8_t deletion; // GTP-U extension headers to delete; 0: octet absent
};

struct pfcp_gate_status {
	uint8_t up, down; // 0 is open, all else closed
};

struct pfcp_bit_rates {
	uint64_t up_bps, down_bps; // whole kilobits
};

struct pfcp_volume {
	uint8_t flags; // PFCP_VOLUME_THRESHOLD_ bits, for quotas too
	uint64_t total, up, down;
};

struct pfcp_volume_measurement {
	uint8_t flags;
	uint64_t total, up, down;
	uint64_t total_packets, up_packets, down_packets;
};

struct pfcp_dropped_threshold {
	uint8_t flags;
	uint64_t packets, bytes;
};

struct pfcp_redirect {
	uint8_t type;
	uint16_t port;
	struct pfcp_octets server, other_server;
};

struct pfcp_forwarding_policy {
	struct pfcp_octets id;
};

struct pfcp_header_enrichment {
	uint8_t type;
	struct pfcp_octets name, value;
};

struct pfcp_remote_peer {
	uint8_t flags;
	struct in_addr v4;
	struct in6_addr v6;
	struct pfcp_octets destination;      // as the Destination Interface IE
	struct pfcp_octets network_instance; // as the Network Instance IE
};

struct pfcp_downlink_data_service {
	uint8_t flags;
	uint8_t ppi, qfi;
};

struct pfcp_packet_rate {
	uint8_t flags;
	uint8_t up_unit, down_unit, more_up_unit, more_down_unit;
	uint16_t up, down, more_up, more_down;
};

struct pfcp_packet_rate_status {
	uint8_t flags;
	uint16_t up, more_up, down, more_down;
	uint64_t validity; // NTP, 32.32 bits
};

struct pfcp_dl_flow_marking {
	uint8_t flags;
	uint16_t tos;
	uint16_t service_class;
};

struct pfcp_fq_csid {
	uint8_t type; // 0 and 2: v4 holds the node's four octets; 1: v6
	uint8_t count;
	uint8_t node_type; // since Release 15; 0 when absent
	struct in_addr v4;
	struct in6_addr v6;
	struct pfcp_octets ids; // count times two octets
};

struct pfcp_failed_rule {
	uint8_t type; // enum rule_type
	uint32_t id;
};

// An address of the control plane: Alternative SMF, CP PFCP Entity, CP IP Address.
struct pfcp_cp_address {
	uint8_t flags; // PFCP_ALTERNATIVE_SMF_IP_ADDRESS_ bits
	struct in_addr v4;
	struct in6_addr v6;
};

struct pfcp_source_ip_address {
	uint8_t flags;
	uint8_t prefix_len;
	struct in_addr v4;
	struct in6_addr v6;
};

struct pfcp_s_nssai {
	uint8_t sst;
	uint32_t sd; // 0xffffff: none
};

struct pfcp_pool_identity {
	struct pfcp_octets id;
};

struct pfcp_number_of_addresses {
	uint8_t flags;
	uint32_t v4, v6;
};

struct pfcp_pfd_contents {
	uint8_t flags;
	struct pfcp_octets flow, url, domain, custom, protocol;
	struct pfcp_octets more_flows, more_urls,
		more_domains; // each a run of 2-octet lengths and texts
};

struct pfcp_flow_information {
	uint8_t direction;
	struct pfcp_octets description;
};

struct pfcp_time_quota_mechanism {
	uint8_t type;
	uint32_t interval_s;
};

struct pfcp_multiplier {
	int64_t digits;
	int32_t exponent; // of 10
};

struct pfcp_user_id {
	uint8_t flags;
	struct pfcp_octets imsi, imei, msisdn; // digits, two an octet, low nibble first
	struct pfcp_octets nai, supi, gpsi, pei;
};

struct pfcp_offending_ie_information {
	uint16_t type;
	struct pfcp_octets value;
};

struct pfcp_mac_addresses {
	uint8_t count;
	struct pfcp_octets macs; // count times six octets
	struct pfcp_octets c_tag, s_tag;
};

// Every struct above with the IE it belongs to, and those that serve several. Used to declare a decoder
// and an encoder for each (pfcp/codec.h, pfcp/writer.h).
#define PFCP_TYPED(X)                                                                              \
	X(f_teid, F_TEID)                                                                          \
	X(f_seid, F_SEID)                                                                          \
	X(node_id, NODE_ID)                                                                        \
	X(ue_ip_address, UE_IP_ADDRESS)                                                            \
	X(sdf_filter, SDF_FILTER)                                                                  \
	X(outer_header_creation, OUTER_HEADER_CREATION)                                            \
	X(outer_header_removal, OUTER_HEADER_REMOVAL)                                              \
	X(gate_status, GATE_STATUS)                                                                \
	X(volume_measurement, VOLUME_MEASUREMENT)                                                  \
	X(dropped_threshold, DROPPED_DL_TRAFFIC_THRESHOLD)                                         \
	X(redirect, REDIRECT_INFORMATION)                                                          \
	X(forwarding_policy, FORWARDING_POLICY)                                                    \
	X(header_enrichment, HEADER_ENRICHMENT)                                                    \
	X(remote_peer, REMOTE_GTP_U_PEER)                                                          \
	X(downlink_data_service, DOWNLINK_DATA_SERVICE_INFORMATION)                                \
	X(packet_rate, PACKET_RATE)                                                                \
	X(packet_rate_status, PACKET_RATE_STATUS)                                                  \
	X(dl_flow_marking, DL_FLOW_LEVEL_MARKING)                                                  \
	X(fq_csid, FQ_CSID)                                                                        \
	X(failed_rule, FAILED_RULE_ID)                                                             \
	X(source_ip_address, SOURCE_IP_ADDRESS)                                                    \
	X(s_nssai, S_NSSAI)                                                                        \
	X(pool_identity, UE_IP_ADDRESS_POOL_IDENTITY)                                              \
	X(number_of_addresses, NUMBER_OF_UE_IP_ADDRESSES)                                          \
	X(pfd_contents, PFD_CONTENTS)                                                              \
	X(flow_information, FLOW_INFORMATION)                                                      \
	X(time_quota_mechanism, TIME_QUOTA_MECHANISM)                                              \
	X(multiplier, MULTIPLIER)                                                                  \
	X(user_id, USER_ID)                                                                        \
	X(offending_ie_information, OFFENDING_IE_INFORMATION)

#define PFCP_TYPED_SHARED(X)                                                                       \
	X(bit_rates)     /* MBR, GBR */                                                            \
	X(volume)        /* volume thresholds and quotas */                                        \
	X(cp_address)    /* Alternative SMF, CP PFCP Entity and CP IP Address */                   \
	X(mac_addresses) /* MAC Addresses Detected and Removed */
