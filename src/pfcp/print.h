// PFCP messages as text, for logs and the CLI: one line an IE, members of groups indented.
//
//	Session Report Request [56] seid=0x66c seq=2 len=38
//	  Report Type [39] len=1: ERIR
//	  Error Indication Report [99] len=13
//	    F-TEID [21] len=9: flags=V4 teid=167772161 v4=127.0.0.50
//
// As safe as the decoder: it prints what can be read of anything, says where an IE is broken, never
// writes beyond the buffer and writes printable ASCII only. Any thread.

#pragma once

#include <stddef.h>

#include "pfcp/codec.h"

// Each fills text with a terminated string, cut off where it does not fit, and gives the length that
// stands there.
size_t pfcp_msg_print(const struct pfcp_msg *msg, char *text, size_t size);
size_t pfcp_ie_print(const struct pfcp_ie *ie, char *text, size_t size);

// Decodes and prints what came from the network: every message of a datagram, or why it is none.
size_t pfcp_datagram_print(const void *data, size_t len, char *text, size_t size);

// A name for a log line: "Request accepted", "Create PDR"; "?" for numbers without a name.
const char *pfcp_cause_str(uint8_t cause);
// The name of one bit of an IE of flags or features, NULL for one without a name.
const char *pfcp_flag_str(uint16_t ie_type, unsigned bit);
const char *pfcp_ie_type_str(uint16_t type);
const char *pfcp_msg_type_str(uint8_t type);
