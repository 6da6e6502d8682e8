// GTP-U beyond the ordinary G-PDU: extension headers, path messages (TS 29.281 5.2, 7.2, 7.3).
// Workers and the control thread, pure; lengths from the network are checked before each use.

#include "packet/gtpu.h"

#include <errno.h>

#include "packet/ip.h"
#include "packet/l4.h"

// Information elements (TS 29.281 8.1). Types below 128 have a fixed length, the others say theirs.
enum gtpu_ie {
	GTPU_IE_RECOVERY = 14,    // 1 octet
	GTPU_IE_TEID = 16,        // 4 octets
	GTPU_IE_PEER = 133,       // 2 octets of length, then an IPv4 or IPv6 address
	GTPU_IE_EXTENSIONS = 141, // 1 octet of length, then extension header types
};

// Extension headers that this UPF understands. All but the PDU Session Container and the UDP Port speak
// to the radio network; a UPF has nothing to do about them, so taking them off is all there is to do.
static const uint8_t understood[] = {
	GTPU_EXT_UDP_PORT,
	GTPU_EXT_RAN_CONTAINER,
	GTPU_EXT_LONG_PDCP,
	GTPU_EXT_XW_RAN_CONTAINER,
	GTPU_EXT_NR_RAN_CONTAINER,
	GTPU_EXT_PSC,
	GTPU_EXT_PDCP,
};

// The two high bits of a type say whether the receiver must understand it: 10 and 11 yes (5.2.1).
static bool may_skip(uint8_t type)
{
	if (!(type & 0x80))
		return true;
	for (unsigned i = 0; i < sizeof(understood); i++)
		if (understood[i] == type)
			return true;
	return false;
}

enum drop gtpu_extensions_walk(const uint8_t *gtpu, uint32_t bytes, uint32_t *ret_bytes,
			       uint8_t *ret_qfi)
{
	uint32_t at = GTPU_BYTES + GTPU_OPTION_BYTES;
	uint8_t qfi = PKT_QFI_NONE;

	if (bytes < at)
		return DROP_bad_gtpu_extension;
	// Without the flag the octet is there but means nothing (5.1).
	uint8_t type = gtpu[0] & GTPU_F_EXTENSION ? gtpu[at - 1] : GTPU_EXT_NONE;
	for (unsigned n = 0; type != GTPU_EXT_NONE; n++) {
		if (n == GTPU_EXTENSIONS || at == bytes)
			return DROP_bad_gtpu_extension;
		uint32_t length = gtpu[at] * 4u;
		if (!length || length > bytes - at)
			return DROP_bad_gtpu_extension;
		if (!may_skip(type))
			return DROP_gtpu_extension_required;
		// PDU types other than downlink and uplink information are not defined.
		if (type == GTPU_EXT_PSC && gtpu[at + 1] >> 4 <= 1)
			qfi = gtpu[at + 2] & GTPU_QFI_MASK;
		at += length;
		type = gtpu[at - 1];
	}
	*ret_bytes = at;
	*ret_qfi = qfi;
	return DROP_NONE;
}

// Writes a header with a sequence number, `bytes` long in all with what follows it.
static void head_write(uint8_t *to, uint8_t flags, uint8_t type, uint32_t teid, uint32_t bytes)
{
	to[0] = GTPU_VERSION | flags;
	to[1] = type;
	be16_put(to + 2, (uint16_t)(bytes - GTPU_BYTES));
	be32_put(to + 4, teid);
}

static void option_write(uint8_t *to, uint16_t sequence, uint8_t next)
{
	be16_put(to + GTPU_BYTES, sequence);
	to[GTPU_BYTES + 2] = 0;
	to[GTPU_BYTES + 3] = next;
}

uint32_t gtpu_echo_request_build(uint8_t *to, uint16_t sequence)
{
	uint32_t bytes = GTPU_BYTES + GTPU_OPTION_BYTES;

	head_write(to, GTPU_F_SEQUENCE, GTPU_ECHO_REQUEST, 0, bytes);
	option_write(to, sequence, GTPU_EXT_NONE);
	return bytes;
}

uint32_t gtpu_end_marker_build(uint8_t *to, uint32_t teid)
{
	head_write(to, 0, GTPU_END_MARKER, teid, GTPU_BYTES);
	return GTPU_BYTES;
}

uint32_t gtpu_error_indication_build(uint8_t *to, uint32_t teid, const struct addr *local,
				     uint16_t sport)
{
	uint32_t peer_bytes = addr_bits(local) / 8;
	uint32_t at = GTPU_BYTES + GTPU_OPTION_BYTES;

	option_write(to, 0, GTPU_EXT_UDP_PORT);
	to[at] = 1;
	be16_put(to + at + 1, sport);
	to[at + 3] = GTPU_EXT_NONE;
	at += 4;
	to[at] = GTPU_IE_TEID;
	be32_put(to + at + 1, teid);
	at += 5;
	to[at] = GTPU_IE_PEER;
	be16_put(to + at + 1, (uint16_t)peer_bytes);
	memcpy(to + at + 3, local->v6, peer_bytes); // v4 stands in the same bytes
	at += 3 + peer_bytes;
	head_write(to, GTPU_F_SEQUENCE | GTPU_F_EXTENSION, GTPU_ERROR_INDICATION, 0, at);
	return at;
}

// The length of an information element with its type and length octets; 0: cut off or unknown.
static uint32_t ie_bytes(const uint8_t *ie, uint32_t left)
{
	uint32_t bytes = 0;

	if (ie[0] == GTPU_IE_RECOVERY)
		bytes = 2;
	else if (ie[0] == GTPU_IE_TEID)
		bytes = 5;
	else if (ie[0] == GTPU_IE_EXTENSIONS && left >= 2)
		bytes = 2u + ie[1];
	else if (ie[0] >= 128 && left >= 3)
		bytes = 3u + be16_get(ie + 1);
	return bytes <= left ? bytes : 0;
}

int gtpu_error_indication_decode(const uint8_t *data, uint32_t len, uint32_t *ret_teid,
				 struct addr *ret_peer)
{
	struct addr peer = {0};
	uint32_t teid = 0;
	bool has_teid = false;

	for (uint32_t at = 0, bytes; at < len; at += bytes) {
		const uint8_t *ie = data + at;
		bytes = ie_bytes(ie, len - at);
		if (!bytes)
			return -EBADMSG;
		if (ie[0] == GTPU_IE_TEID && !has_teid) {
			teid = be32_get(ie + 1);
			has_teid = true;
		} else if (ie[0] == GTPU_IE_PEER && !peer.family) {
			if (bytes != 3 + 4 && bytes != 3 + 16)
				return -EBADMSG;
			peer = bytes == 3 + 4 ? addr_v4(word32_get(ie + 3)) : addr_v6(ie + 3);
		}
	}
	if (!has_teid || !peer.family)
		return -EBADMSG;
	*ret_teid = teid;
	*ret_peer = peer;
	return 0;
}

int gtpu_echo_response_decode(const uint8_t *frame, const struct pkt *p, uint16_t *ret_sequence,
			      uint8_t *ret_recovery)
{
	const uint8_t *gtpu = frame + p->l4 + UDP_BYTES;
	const uint8_t *ies = frame + p->user;

	if (!(gtpu[0] & GTPU_F_SEQUENCE))
		return -EBADMSG;
	*ret_sequence = be16_get(gtpu + GTPU_BYTES);
	*ret_recovery = 0;
	for (uint32_t at = 0, bytes; at < p->user_bytes; at += bytes) {
		bytes = ie_bytes(ies + at, p->user_bytes - at);
		if (!bytes)
			return -EBADMSG;
		if (ies[at] == GTPU_IE_RECOVERY)
			*ret_recovery = ies[at + 1];
	}
	return 0;
}

// Where a reply's GTP-U message goes: behind an IP header without options. NULL: there is no room.
static uint8_t *reply_at(uint8_t *frame, uint32_t room, const struct pkt *p, uint32_t bytes)
{
	uint32_t at = p->outer + udp_turn_at(frame, p);

	return at + bytes <= room ? frame + at : NULL;
}

// The outer UDP header's source port, of any GTP-U frame that parse() went through.
static uint16_t outer_sport(const uint8_t *frame, const struct pkt *p)
{
	const uint8_t *ip = frame + p->outer;
	struct ip6_end end;

	if (*ip >> 4 == 4)
		return be16_get(ip + ip4_header_bytes((const void *)ip));
	if (ip6_walk((const void *)ip, IP6_BYTES + (uint32_t)be16_get(ip + 4), &end))
		return GTPU_PORT; // never: parse() has walked it
	return be16_get(ip + end.bytes);
}

uint32_t gtpu_echo_response(uint8_t *frame, uint32_t room, const struct pkt *p)
{
	const uint8_t *request = frame + p->l4 + UDP_BYTES;
	uint32_t bytes = GTPU_BYTES + GTPU_OPTION_BYTES + 2;
	uint8_t *to = reply_at(frame, room, p, bytes);
	uint16_t sequence = request[0] & GTPU_F_SEQUENCE ? be16_get(request + GTPU_BYTES) : 0;
	uint16_t port = p->sport;

	if (!to)
		return 0;
	head_write(to, GTPU_F_SEQUENCE, GTPU_ECHO_RESPONSE, 0, bytes);
	option_write(to, sequence, GTPU_EXT_NONE);
	to[bytes - 2] = GTPU_IE_RECOVERY;
	to[bytes - 1] = 0; // the value is not used any more, and 0 by rule (7.2.2, 8.2)
	return udp_turn(frame, p, GTPU_PORT, port, bytes);
}

uint32_t gtpu_error_indication(uint8_t *frame, uint32_t room, const struct pkt *p)
{
	struct addr local = ip_destination(frame + p->outer);
	uint16_t sport = outer_sport(frame, p);
	uint8_t message[GTPU_MESSAGE_BYTES_MAX];
	uint32_t bytes = gtpu_error_indication_build(message, p->teid, &local, sport);
	uint8_t *to = reply_at(frame, room, p, bytes);

	if (!to)
		return 0;
	memcpy(to, message, bytes);
	return udp_turn(frame, p, GTPU_PORT, GTPU_PORT, bytes);
}

uint32_t gtpu_supported_extensions(uint8_t *frame, uint32_t room, const struct pkt *p)
{
	uint32_t bytes = GTPU_BYTES + GTPU_OPTION_BYTES + 2 + sizeof(understood);
	uint8_t *to = reply_at(frame, room, p, bytes);

	if (!to)
		return 0;
	head_write(to, GTPU_F_SEQUENCE, GTPU_SUPPORTED_EXTENSIONS, 0, bytes);
	option_write(to, 0, GTPU_EXT_NONE);
	to[12] = GTPU_IE_EXTENSIONS;
	to[13] = sizeof(understood);
	memcpy(to + 14, understood, sizeof(understood));
	return udp_turn(frame, p, GTPU_PORT, GTPU_PORT, bytes);
}
