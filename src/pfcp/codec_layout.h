// The engine under the codec: values of IEs as lists of fields, driven by layout.def.
//
// One pass over a layout reads the fields into an array of values (pfcp_fields_decode); another writes
// them (pfcp_fields_encode). Decoders, encoders, checks and the printer are all made from these two.
// Inside pfcp/ only.

#pragma once

#include "pfcp/codec.h"
#include "pfcp/writer.h"

#define PFCP_FIELDS_MAX 16

enum pfcp_wire {
	PFCP_WIRE_U8,
	PFCP_WIRE_U16,
	PFCP_WIRE_U24,
	PFCP_WIRE_U32,
	PFCP_WIRE_U64,
	PFCP_WIRE_I32,
	PFCP_WIRE_I64,
	PFCP_WIRE_HEX16, // numbers that people read in hexadecimal
	PFCP_WIRE_HEX24,
	PFCP_WIRE_HEX32,
	PFCP_WIRE_HEX64,
	PFCP_WIRE_TYPE,  // 2 octets, an IE type
	PFCP_WIRE_TIME,  // 4 octets, NTP seconds
	PFCP_WIRE_TIMER, // 1 octet, unit and value
	PFCP_WIRE_KBPS,  // 5 octets of kb/s; the value is in b/s
	PFCP_WIRE_COUNT, // 1 or 2 octets, all that there are
	PFCP_WIRE_FLAGS, // all that there are, first octet low, at most 8 of them
	PFCP_WIRE_BITS,  // some bits of the octet under the cursor, which stays
	PFCP_WIRE_NEXT,  // on to the next octet; no value
	PFCP_WIRE_SPARE, // an octet without a value
	PFCP_WIRE_BYTES, // from here on values are octets: `arg` of them
	PFCP_WIRE_IP4,
	PFCP_WIRE_IP6,
	PFCP_WIRE_MAC,
	PFCP_WIRE_ITEMS, // `arg` octets times the count read before
	PFCP_WIRE_TEXT8, // after a length of one octet
	PFCP_WIRE_BCD8,
	PFCP_WIRE_OCTETS8,
	PFCP_WIRE_TEXT16, // after a length of two octets
	PFCP_WIRE_OCTETS16,
	PFCP_WIRE_ADDRESS6, // after two bits of type and six of length
	PFCP_WIRE_TEXT,     // all that is left
	PFCP_WIRE_NAME,
	PFCP_WIRE_OCTETS,
};

enum pfcp_role {
	PFCP_ROLE_NONE,
	PFCP_ROLE_FLAGS,  // conditions look at its bits
	PFCP_ROLE_SELECT, // conditions look at bit number <value>
	PFCP_ROLE_COUNT,  // counts the items that follow
};

enum pfcp_when {
	PFCP_WHEN_ALWAYS,
	PFCP_WHEN_ANY,  // of `mask` is set, and none of `none`
	PFCP_WHEN_ALL,  // of `mask` are set
	PFCP_WHEN_TAIL, // octets are left; when writing: the value is not zero
};

struct pfcp_field {
	const char *name;
	uint8_t wire; // enum pfcp_wire
	uint8_t arg;  // mask of BITS, size of BYTES and of one of the ITEMS
	uint8_t role; // enum pfcp_role
	uint8_t when; // enum pfcp_when
	uint16_t mask, none;
	uint16_t
		names; // IE whose flags or values name it; PFCP_IE_NONE: the IE itself has the names
	uint16_t offset; // of the member in the struct
	uint16_t size;   // of it; 0: no member
};

struct pfcp_layout {
	const struct pfcp_field *fields;
	uint8_t count;
	uint16_t size; // of the struct; 0: none
};

struct pfcp_value {
	bool present;
	uint16_t len; // octets
	uint64_t number;
	const uint8_t *data; // octets
};

struct pfcp_flag_names {
	const struct pfcp_flag_name {
		const char *name;
		uint8_t bit; // 0 is bit 1 of octet 5
	} * flags;
	uint8_t count;
};

struct pfcp_value_names {
	const struct pfcp_value_name {
		const char *name;
		uint8_t number;
	} * values;
	uint8_t count;
	uint8_t mask;
};

static inline bool pfcp_wire_is_octets(uint8_t wire)
{
	return wire >= PFCP_WIRE_BYTES;
}

// The fields of an IE that is not a group. NULL for groups and unknown types.
const struct pfcp_layout *pfcp_layout_lookup(uint16_t type);

// Have count 0 where an IE has none.
const struct pfcp_flag_names *pfcp_flag_names_get(uint16_t type);
const struct pfcp_value_names *pfcp_value_names_get(uint16_t type);

// Reads the fields of a value; values[i] belongs to fields[i]. -EBADMSG when octets are missing; octets
// behind the last field are ignored, a later release may have put them there.
int pfcp_fields_decode(const struct pfcp_layout *layout, uint16_t type, struct pfcp_cursor value,
		       struct pfcp_value values[PFCP_FIELDS_MAX]);

// Writes the fields that the flags among the values ask for.
void pfcp_fields_encode(struct pfcp_writer *w, const struct pfcp_layout *layout, uint16_t type,
			const struct pfcp_value values[PFCP_FIELDS_MAX]);

// Appends octets to what is being written.
void pfcp_bytes_put(struct pfcp_writer *w, const void *data, size_t len);
