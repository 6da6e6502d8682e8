// GTP-U: layout, extension headers, the messages of the tunnel's path (TS 29.281, TS 38.415).
//
// Readers trust no length. Writers give the number of bytes that they wrote; a message's writer writes
// from the GTP-U header on, a reply's writer turns a received frame around in place. Workers and the
// control thread, pure.

#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "base/addr.h"
#include "packet/be.h"
#include "packet/pkt.h"
#include "stats/stats.h"

#define GTPU_PORT 2152

struct gtpu_head {
	uint8_t flags;    // version 1, protocol type 1, and GTPU_F_ bits
	uint8_t type;     // enum gtpu_type
	rte_be16_t bytes; // of all that follows these 8 octets
	rte_be32_t teid;
} __attribute__((packed));

// What stands behind the header when any of the three flags is set.
struct gtpu_option {
	rte_be16_t sequence;
	uint8_t npdu;
	uint8_t next; // type of the first extension header, when GTPU_F_EXTENSION is set
} __attribute__((packed));

// PDU Session Container, as far as every one has it (TS 38.415 5.5.2).
struct gtpu_psc {
	uint8_t length;   // in units of 4 octets
	uint8_t pdu_type; // in the high four bits: 0 downlink, 1 uplink
	uint8_t qfi;      // in the low six bits; of a downlink one also GTPU_PSC_RQI
	uint8_t next;
} __attribute__((packed));

#define GTPU_BYTES 8
#define GTPU_OPTION_BYTES 4
#define GTPU_PSC_BYTES 4
#define GTPU_PSC_RQI 0x40
#define GTPU_QFI_MASK 0x3f
#define GTPU_EXTENSIONS 8 // most that a message may carry

#define GTPU_VERSION 0x30 // version 1, protocol type 1
#define GTPU_F_EXTENSION 0x04
#define GTPU_F_SEQUENCE 0x02
#define GTPU_F_NPDU 0x01
#define GTPU_F_OPTION 0x07

static_assert(sizeof(struct gtpu_head) == GTPU_BYTES, "as on the wire");
static_assert(sizeof(struct gtpu_option) == GTPU_OPTION_BYTES, "as on the wire");
static_assert(sizeof(struct gtpu_psc) == GTPU_PSC_BYTES, "as on the wire");

// Message types (TS 29.281 6.1).
enum gtpu_type {
	GTPU_ECHO_REQUEST = 1,
	GTPU_ECHO_RESPONSE = 2,
	GTPU_ERROR_INDICATION = 26,
	GTPU_SUPPORTED_EXTENSIONS = 31,
	GTPU_END_MARKER = 254,
	GTPU_GPDU = 255,
};

// Extension header types (TS 29.281 5.2.1).
enum gtpu_extension {
	GTPU_EXT_NONE = 0,
	GTPU_EXT_UDP_PORT = 0x40,
	GTPU_EXT_RAN_CONTAINER = 0x81,
	GTPU_EXT_LONG_PDCP = 0x82,
	GTPU_EXT_XW_RAN_CONTAINER = 0x83,
	GTPU_EXT_NR_RAN_CONTAINER = 0x84,
	GTPU_EXT_PSC = 0x85,
	GTPU_EXT_PDCP = 0xc0,
};

// Reads what follows the header of a message with any of the flags set: `bytes` counts from the header's
// first octet. On DROP_NONE *ret_bytes is where the payload starts and *ret_qfi the PDU Session
// Container's QFI or PKT_QFI_NONE.
enum drop gtpu_extensions_walk(const uint8_t *gtpu, uint32_t bytes, uint32_t *ret_bytes,
			       uint8_t *ret_qfi);

// Writes a downlink PDU Session Container, the only extension header.
static inline void gtpu_psc_write(struct gtpu_psc *psc, uint8_t qfi, bool rqi)
{
	psc->length = 1;
	psc->pdu_type = 0;
	psc->qfi = (uint8_t)((qfi & GTPU_QFI_MASK) | (rqi ? GTPU_PSC_RQI : 0));
	psc->next = GTPU_EXT_NONE;
}

// Writes a G-PDU's headers for a user packet of `user_bytes`: 8 bytes, or 16 with a PDU Session Container
// when `qfi` is not PKT_QFI_NONE.
static inline uint32_t gtpu_gpdu_write(uint8_t *to, uint32_t teid, uint32_t user_bytes, uint8_t qfi,
				       bool rqi)
{
	struct gtpu_head *head = (struct gtpu_head *)to;
	uint32_t bytes = GTPU_BYTES;

	if (qfi != PKT_QFI_NONE) {
		bytes = GTPU_BYTES + GTPU_OPTION_BYTES + GTPU_PSC_BYTES;
		*(struct gtpu_option *)(to + GTPU_BYTES) =
			(struct gtpu_option){.next = GTPU_EXT_PSC};
		gtpu_psc_write((struct gtpu_psc *)(to + GTPU_BYTES + GTPU_OPTION_BYTES), qfi, rqi);
	}
	head->flags = bytes == GTPU_BYTES ? GTPU_VERSION : GTPU_VERSION | GTPU_F_EXTENSION;
	head->type = GTPU_GPDU;
	head->bytes = rte_cpu_to_be_16((uint16_t)(bytes - GTPU_BYTES + user_bytes));
	head->teid = rte_cpu_to_be_32(teid);
	return bytes;
}

#define GTPU_MESSAGE_BYTES_MAX 64 // room that any message below fits in

uint32_t gtpu_echo_request_build(uint8_t *to, uint16_t sequence);
uint32_t gtpu_end_marker_build(uint8_t *to, uint32_t teid);

// An Error Indication for a G-PDU with `teid` that came to `local` from `sport` (7.3.1, 5.2.2.1).
uint32_t gtpu_error_indication_build(uint8_t *to, uint32_t teid, const struct addr *local,
				     uint16_t sport);

// Reads the information elements of an Error Indication, `len` bytes at pkt.user. 0, or -EBADMSG when
// the mandatory ones are not there once and whole.
int gtpu_error_indication_decode(const uint8_t *data, uint32_t len, uint32_t *ret_teid,
				 struct addr *ret_peer);

// Reads an Echo Response (7.2.2): the sequence number that it answers, and its Recovery counter, 0 where there
// is none. -EBADMSG without a sequence number.
int gtpu_echo_response_decode(const uint8_t *frame, const struct pkt *p, uint16_t *ret_sequence,
			      uint8_t *ret_recovery);

// Replies in place. Each takes the frame that `p` describes and the room from its start to the buffer's
// end, and gives the reply's length, or 0 when there is no room or the sender may not be answered.
uint32_t gtpu_echo_response(uint8_t *frame, uint32_t room, const struct pkt *p);
// To a G-PDU of unknown TEID.
uint32_t gtpu_error_indication(uint8_t *frame, uint32_t room, const struct pkt *p);
// To a message that parse() refused with DROP_gtpu_extension_required (7.2.3).
uint32_t gtpu_supported_extensions(uint8_t *frame, uint32_t room, const struct pkt *p);
