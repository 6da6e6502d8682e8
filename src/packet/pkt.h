// What the pipeline knows of one packet: one 64-byte entry of the turn's array.
//
// parse() fills the part that follows from the bytes, locate the session, the services the rest. The
// entry lives in the worker's turn; it is copied into the mbuf's private area only when the packet is
// handed off, held or punted. Each entry is touched by one thread at a time.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

struct rte_mbuf;
struct session_line;
struct pdr;

// Where a session's line (or a tunnel record) is: its owner, its index there, and what must stand in it.
// `check` is the line's `check` field: the local TEID of an up line, the slot's version of a down line.
// The reference is valid only while both agree; 0 is never valid.
struct session_ref {
	uint32_t where; // owner << 24 | index
	uint32_t check;
};

#define SESSION_REF_INDEX_BITS 24
#define SESSION_REF_INDEX_MASK ((1u << SESSION_REF_INDEX_BITS) - 1)

static inline struct session_ref session_ref_make(unsigned owner, uint32_t index, uint32_t check)
{
	return (struct session_ref){(uint32_t)owner << SESSION_REF_INDEX_BITS | index, check};
}

static inline unsigned session_ref_owner(struct session_ref r)
{
	return r.where >> SESSION_REF_INDEX_BITS;
}

static inline uint32_t session_ref_index(struct session_ref r)
{
	return r.where & SESSION_REF_INDEX_MASK;
}

// What the packet is for us. The destination address decides first, never the UDP port alone.
enum pkt_kind {
	PKT_BAD,              // not to be handled: `drop` says why
	PKT_GPDU,             // a G-PDU to a local N3/N9 address; `user` is the packet inside
	PKT_PLAIN,            // an IP packet to no address of ours: from the core to a UE
	PKT_ECHO_REQUEST,     // GTP-U Echo Request to a local N3/N9 address (TS 29.281 7.2.1)
	PKT_ECHO_RESPONSE,    // GTP-U Echo Response (7.2.2)
	PKT_ERROR_INDICATION, // GTP-U Error Indication (7.3.1)
	PKT_END_MARKER,       // GTP-U End Marker (7.3.2)
	PKT_ARP,              // ARP, request or reply, on Ethernet for IPv4
	PKT_ND,               // IPv6 neighbour solicitation or advertisement (RFC 4861)
	PKT_ICMP_ECHO,        // ICMP or ICMPv6 echo request to a local address
	PKT_KINDS
};

// Flags of `struct pkt`.
#define PKT_F_UP 0x01       // from the access side; otherwise down
#define PKT_F_FRAGMENT 0x02 // the user packet is a fragment (also the first)
#define PKT_F_NO_L4 0x04 // no L4 header can be read (later fragment, unknown protocol): ports are 0
#define PKT_F_PSC 0x08   // the G-PDU carried a PDU Session Container (TS 38.415); `qfi` is its QFI
#define PKT_F_SPOOFED 0x10   // the user's source address is not the session's
#define PKT_F_TUNNELLED 0x20 // the user packet stands in a GTP-U tunnel header that decap takes off
#define PKT_F_HANDED 0x40    // it came from another worker
#define PKT_F_ROUTED 0x80 // its hop is behind it: from another UE, a piece of a packet, or our own

#define PKT_QFI_NONE 0xff

struct pkt {
	struct rte_mbuf *mbuf;
	struct session_line *line; // set by locate, on the owner, after the version check
	uint64_t chain;            // services still to visit; 0: the packet has ended
	struct session_ref ref;
	const struct pdr *pdr; // set by the pdr service
	union {
		uint32_t teid; // host order, of a GTP-U message; else 0. Set by far: where it goes
		uint32_t flow; // its flow's number, set by the flow service; until far
	};
	uint16_t user;         // offset of the user's IP packet from the start of the frame
	uint16_t l4;           // offset of its L4 header
	uint16_t user_bytes;   // its length by its own header, IP header included
	uint16_t sport, dport; // host order; for ICMP: 0 and type << 8 | code
	uint16_t peer;         // where it leaves, set by far
	uint8_t kind;          // enum pkt_kind
	uint8_t family;        // of the user packet: 4 or 6
	uint8_t proto;         // its L4 protocol, after IPv6 extension headers
	uint8_t flags;
	uint8_t qfi;   // of the PDU Session Container, or PKT_QFI_NONE
	uint8_t iface; // the interface that it came in by
	uint8_t outer; // offset of the frame's first IP (or ARP) header
	union {
		uint8_t drop;   // parse: why it is PKT_BAD (enum drop)
		uint8_t tunnel; // locate: which of the session's tunnels it came by; 0: none
		uint8_t punt;   // on its way to the control thread: why (enum punt)
	};
};
static_assert(sizeof(struct pkt) == 64, "one cache line a packet");
