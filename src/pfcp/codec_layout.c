// The engine under the codec, see pfcp/codec_layout.h: layout.def as data, and the two passes over it.
//
// Any thread, no state. Reads stay within the cursor they are given; TS 29.244 8.1.1, 8.2.

#include "pfcp/codec_layout.h"

#include <assert.h>
#include <string.h>

// Conditions of layout.def.
#define ALWAYS .when = PFCP_WHEN_ALWAYS
#define IF(flags) .when = PFCP_WHEN_ANY, .mask = (flags)
#define IF_NOT(flags, others) .when = PFCP_WHEN_ANY, .mask = (flags), .none = (others)
#define UNLESS(flags) .when = PFCP_WHEN_ALL, .mask = 0, .none = (flags)
#define ALL(flags) .when = PFCP_WHEN_ALL, .mask = (flags)
#define TAIL .when = PFCP_WHEN_TAIL

// Wires that carry their size.
#define PFCP_WIRE_BYTES(octets) PFCP_WIRE_BYTES, .arg = (octets)

#define MEMBER(st, member)                                                                         \
	.name = #member, .offset = offsetof(struct pfcp_##st, member),                             \
	.size = sizeof(((struct pfcp_##st *)0)->member)

// Fields of layout.def.
#define F(st, member, WIRE, ...) {MEMBER(st, member), .wire = PFCP_WIRE_##WIRE, __VA_ARGS__},
#define FLAGS(st, member, WIRE, SET)                                                               \
	{MEMBER(st, member), .wire = PFCP_WIRE_##WIRE, .role = PFCP_ROLE_FLAGS,                    \
	 .names = PFCP_IE_##SET},
#define BITS(st, member, mask_, SET)                                                               \
	{MEMBER(st, member), .wire = PFCP_WIRE_BITS, .arg = (mask_), .names = PFCP_IE_##SET},
#define SELECT(st, member, mask_, SET)                                                             \
	{MEMBER(st, member), .wire = PFCP_WIRE_BITS, .arg = (mask_), .role = PFCP_ROLE_SELECT,     \
	 .names = PFCP_IE_##SET},
#define COUNT(st, member, mask_)                                                                   \
	{MEMBER(st, member), .wire = PFCP_WIRE_BITS, .arg = (mask_), .role = PFCP_ROLE_COUNT},
#define ITEMS(st, member, octets) {MEMBER(st, member), .wire = PFCP_WIRE_ITEMS, .arg = (octets)},
#define N(title, WIRE, ...) {.name = title, .wire = PFCP_WIRE_##WIRE, __VA_ARGS__},
#define NFLAGS(WIRE, SET)                                                                          \
	{.name = "flags",                                                                          \
	 .wire = PFCP_WIRE_##WIRE,                                                                 \
	 .role = PFCP_ROLE_FLAGS,                                                                  \
	 .names = PFCP_IE_##SET},
#define NBITS(title, mask_, SET)                                                                   \
	{.name = title, .wire = PFCP_WIRE_BITS, .arg = (mask_), .names = PFCP_IE_##SET},
#define NCOUNT_IF(title, flags)                                                                    \
	{.name = title, .wire = PFCP_WIRE_U8, .role = PFCP_ROLE_COUNT, IF(flags)},
#define NITEMS(title, octets) {.name = title, .wire = PFCP_WIRE_ITEMS, .arg = (octets)},
#define NEXT {.wire = PFCP_WIRE_NEXT},
#define SPARE {.wire = PFCP_WIRE_SPARE},

#define PLAIN(IE, ...) static const struct pfcp_field fields_##IE[] = {__VA_ARGS__};
#define LAYOUT(IE, st, ...) PLAIN(IE, __VA_ARGS__)
#include "pfcp/layout.def"
#undef LAYOUT
#undef PLAIN

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct pfcp_layout layouts[PFCP_IE_COUNT] = {
#define LAYOUT(IE, st, ...)                                                                        \
	[PFCP_IE_##IE] = {fields_##IE, LENGTH(fields_##IE), sizeof(struct pfcp_##st)},
#define PLAIN(IE, ...) [PFCP_IE_##IE] = {fields_##IE, LENGTH(fields_##IE), 0},
#include "pfcp/layout.def"
#undef PLAIN
#undef LAYOUT
};

#define LAYOUT(IE, st, ...) PLAIN(IE, )
#define PLAIN(IE, ...)                                                                             \
	static_assert(LENGTH(fields_##IE) <= PFCP_FIELDS_MAX, "room for every field's value");
#include "pfcp/layout.def"
#undef PLAIN
#undef LAYOUT

// Kinds that are one field.
#define ONE(KIND, WIRE)                                                                            \
	[PFCP_KIND_##KIND] = {(const struct pfcp_field[]){{.name = "", .wire = PFCP_WIRE_##WIRE}}, \
			      1, 0}
static const struct pfcp_layout kind_layouts[] = {
	ONE(U8, U8),
	ONE(U16, U16),
	ONE(U24, U24),
	ONE(U32, U32),
	ONE(U64, U64),
	ONE(COUNT, COUNT),
	ONE(FLAGS, FLAGS),
	ONE(FEATURES, FLAGS),
	ONE(TYPE, TYPE),
	ONE(TIME, TIME),
	ONE(TIMER, TIMER),
	ONE(NAME, NAME),
	ONE(TEXT, TEXT),
	ONE(OCTETS, OCTETS),
	// The mask is that of the value's names.
	[PFCP_KIND_ENUM] = {(const struct pfcp_field[]){{.name = "", .wire = PFCP_WIRE_BITS},
							{.wire = PFCP_WIRE_NEXT}},
			    2, 0},
};
#undef ONE

// Octets of a number, or of octets whose number is fixed; 0: it varies.
static const uint8_t wire_octets[] = {
	[PFCP_WIRE_U8] = 1,    [PFCP_WIRE_U16] = 2,   [PFCP_WIRE_U24] = 3,    [PFCP_WIRE_U32] = 4,
	[PFCP_WIRE_U64] = 8,   [PFCP_WIRE_I32] = 4,   [PFCP_WIRE_I64] = 8,    [PFCP_WIRE_HEX16] = 2,
	[PFCP_WIRE_HEX24] = 3, [PFCP_WIRE_HEX32] = 4, [PFCP_WIRE_HEX64] = 8,  [PFCP_WIRE_TYPE] = 2,
	[PFCP_WIRE_TIME] = 4,  [PFCP_WIRE_TIMER] = 1, [PFCP_WIRE_KBPS] = 5,   [PFCP_WIRE_IP4] = 4,
	[PFCP_WIRE_IP6] = 16,  [PFCP_WIRE_MAC] = 6,   [PFCP_WIRE_OCTETS] = 0,
};

const struct pfcp_layout *pfcp_layout_lookup(uint16_t type)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(type);

	if (info == NULL || info->kind == PFCP_KIND_GROUP || info->kind == PFCP_KIND_CREATE)
		return NULL;
	return info->kind == PFCP_KIND_LAYOUT ? &layouts[type] : &kind_layouts[info->kind];
}

static uint8_t field_mask(const struct pfcp_field *f, uint16_t type)
{
	return f->arg ? f->arg : pfcp_value_names_get(f->names ? f->names : type)->mask;
}

// Where in its octet a masked number begins.
static unsigned mask_shift(uint8_t mask)
{
	return mask ? (unsigned)__builtin_ctz(mask) : 0;
}

// What the values read so far say of those to come.
struct state {
	uint64_t selector;
	uint64_t count;
};

static bool field_is_here(const struct pfcp_field *f, const struct state *state, bool tail)
{
	if (state->selector & f->none)
		return false;
	switch (f->when) {
	case PFCP_WHEN_ANY:
		return state->selector & f->mask;
	case PFCP_WHEN_ALL:
		return (state->selector & f->mask) == f->mask;
	case PFCP_WHEN_TAIL:
		return tail;
	default:
		return true;
	}
}

static void state_follow(struct state *state, const struct pfcp_field *f, uint64_t number)
{
	if (f->role == PFCP_ROLE_FLAGS)
		state->selector = number;
	else if (f->role == PFCP_ROLE_SELECT)
		state->selector = 1ull << (number & 63);
	else if (f->role == PFCP_ROLE_COUNT)
		state->count = number;
}

static int number_take(struct pfcp_cursor *c, size_t octets, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (pfcp_cursor_left(c) < octets)
		return -EBADMSG;
	for (size_t i = 0; i < octets; i++)
		number = number << 8 | c->at[i];
	c->at += octets;
	*ret_number = number;
	return 0;
}

// Flags: the first octet is the low byte; what is beyond eight octets nobody has named.
static int flags_take(struct pfcp_cursor *c, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t left = pfcp_cursor_left(c);

	for (size_t i = 0; i < left && i < 8; i++)
		number |= (uint64_t)c->at[i] << (8 * i);
	c->at = c->end;
	*ret_number = number;
	return 0;
}

static int wire_number_take(const struct pfcp_field *f, uint16_t type, struct pfcp_cursor *c,
			    uint64_t *ret_number)
{
	size_t left = pfcp_cursor_left(c);
	uint8_t mask;
	int rc;

	switch (f->wire) {
	case PFCP_WIRE_NEXT:
	case PFCP_WIRE_SPARE:
		*ret_number = 0;
		c->at += left > 0;
		return left < 1 ? -EBADMSG : 0;
	case PFCP_WIRE_BITS:
		if (left < 1)
			return -EBADMSG;
		mask = field_mask(f, type);
		*ret_number = (uint64_t)(c->at[0] & mask) >> mask_shift(mask);
		return 0;
	case PFCP_WIRE_FLAGS:
		return flags_take(c, ret_number);
	case PFCP_WIRE_COUNT:
		return left < 1 ? -EBADMSG : number_take(c, left < 2 ? 1 : 2, ret_number);
	case PFCP_WIRE_KBPS:
		rc = number_take(c, wire_octets[f->wire], ret_number);
		if (rc == 0)
			*ret_number *= 1000;
		return rc;
	case PFCP_WIRE_U16:
		// As flags (Outer Header Creation) its first octet is the low byte like everywhere.
		rc = number_take(c, 2, ret_number);
		if (rc == 0 && f->role == PFCP_ROLE_FLAGS)
			*ret_number = __builtin_bswap16((uint16_t)*ret_number);
		return rc;
	default:
		return number_take(c, wire_octets[f->wire], ret_number);
	}
}

// How many octets a value of octets has; takes the length that stands before it.
static int wire_length_take(const struct pfcp_field *f, uint64_t count, struct pfcp_cursor *c,
			    uint64_t *ret_len)
{
	int rc = 0;

	switch (f->wire) {
	case PFCP_WIRE_BYTES:
		*ret_len = f->arg;
		break;
	case PFCP_WIRE_ITEMS:
		*ret_len = f->arg * count;
		break;
	case PFCP_WIRE_TEXT8:
	case PFCP_WIRE_BCD8:
	case PFCP_WIRE_OCTETS8:
		rc = number_take(c, 1, ret_len);
		break;
	case PFCP_WIRE_ADDRESS6:
		rc = number_take(c, 1, ret_len);
		if (rc == 0)
			*ret_len &= 0x3f;
		break;
	case PFCP_WIRE_TEXT16:
	case PFCP_WIRE_OCTETS16:
		rc = number_take(c, 2, ret_len);
		break;
	case PFCP_WIRE_TEXT:
	case PFCP_WIRE_NAME:
	case PFCP_WIRE_OCTETS:
		*ret_len = pfcp_cursor_left(c);
		break;
	default:
		*ret_len = wire_octets[f->wire];
	}
	return rc;
}

static int field_take(const struct pfcp_field *f, uint16_t type, const struct state *state,
		      struct pfcp_cursor *c, struct pfcp_value *value)
{
	uint64_t len;

	if (!pfcp_wire_is_octets(f->wire))
		return wire_number_take(f, type, c, &value->number);
	if (wire_length_take(f, state->count, c, &len) < 0 || len > pfcp_cursor_left(c))
		return -EBADMSG;
	value->data = c->at;
	value->len = (uint16_t)len; // an IE's value has no more
	c->at += len;
	return 0;
}

int pfcp_fields_decode(const struct pfcp_layout *layout, uint16_t type, struct pfcp_cursor value,
		       struct pfcp_value values[PFCP_FIELDS_MAX])
{
	struct state state = {0, 0};

	for (unsigned i = 0; i < layout->count; i++) {
		const struct pfcp_field *f = &layout->fields[i];

		values[i] = (struct pfcp_value){0};
		if (!field_is_here(f, &state, pfcp_cursor_left(&value) > 0))
			continue;
		if (field_take(f, type, &state, &value, &values[i]) < 0)
			return -EBADMSG;
		values[i].present = f->wire != PFCP_WIRE_NEXT && f->wire != PFCP_WIRE_SPARE;
		state_follow(&state, f, values[i].number);
	}
	return 0;
}

static void number_put(struct pfcp_writer *w, size_t octets, uint64_t number)
{
	uint8_t wire[8];

	if (octets < 8 && number >> (8 * octets))
		w->failed = true; // it would read back as another number
	for (size_t i = 0; i < octets; i++)
		wire[i] = (uint8_t)(number >> (8 * (octets - 1 - i)));
	pfcp_bytes_put(w, wire, octets);
}

// Octets that a set of flags takes: all that Release 17 has names for, since some peers want no fewer;
// feature lists grow with every release and are no longer than needed, in 3GPP's pairs (8.2.25).
static unsigned flags_octets(uint16_t type, uint64_t number)
{
	const struct pfcp_flag_names *names = pfcp_flag_names_get(type);
	unsigned needed = number ? (unsigned)(64 - __builtin_clzll(number) + 7) / 8 : 1;

	if (pfcp_ie_info_lookup(type)->kind == PFCP_KIND_FEATURES)
		return needed + needed % 2;
	for (unsigned i = 0; i < names->count; i++)
		if (needed <= names->flags[i].bit / 8u)
			needed = names->flags[i].bit / 8u + 1;
	return needed;
}

static void flags_put(struct pfcp_writer *w, uint16_t type, uint64_t number)
{
	for (unsigned i = flags_octets(type, number); i > 0; i--) {
		uint8_t octet = (uint8_t)number;

		pfcp_bytes_put(w, &octet, 1);
		number >>= 8;
	}
}

static void wire_number_put(struct pfcp_writer *w, const struct pfcp_field *f, uint16_t type,
			    uint64_t number)
{
	switch (f->wire) {
	case PFCP_WIRE_FLAGS:
		flags_put(w, type, number);
		break;
	case PFCP_WIRE_COUNT:
		number_put(w, number > UINT8_MAX ? 2 : 1, number);
		break;
	case PFCP_WIRE_KBPS:
		number_put(w, wire_octets[f->wire], number / 1000);
		break;
	case PFCP_WIRE_I32:
		number_put(w, 4, (uint32_t)number);
		break;
	case PFCP_WIRE_U16:
		if (f->role == PFCP_ROLE_FLAGS && number <= UINT16_MAX)
			number = __builtin_bswap16((uint16_t)number);
		number_put(w, 2, number);
		break;
	default:
		number_put(w, wire_octets[f->wire], number);
	}
}

static void wire_octets_put(struct pfcp_writer *w, const struct pfcp_field *f, uint64_t count,
			    const struct pfcp_value *value)
{
	switch (f->wire) {
	case PFCP_WIRE_TEXT8:
	case PFCP_WIRE_BCD8:
	case PFCP_WIRE_OCTETS8:
		number_put(w, 1, value->len);
		break;
	case PFCP_WIRE_TEXT16:
	case PFCP_WIRE_OCTETS16:
		number_put(w, 2, value->len);
		break;
	case PFCP_WIRE_ADDRESS6:
		w->failed |= value->len != 4 && value->len != 16;
		number_put(w, 1, value->len == 4 ? 4 : 1 << 6 | 16);
		break;
	case PFCP_WIRE_ITEMS:
		w->failed |= value->len != f->arg * count;
		break;
	case PFCP_WIRE_BYTES:
		w->failed |= value->len != f->arg;
		break;
	default:
		w->failed |= wire_octets[f->wire] && value->len != wire_octets[f->wire];
	}
	pfcp_bytes_put(w, value->data, value->len);
}

// Whether this field or one after it has something to say; a tail is written up to the last that has.
static bool tail_is_given(const struct pfcp_layout *layout, unsigned i,
			  const struct pfcp_value values[PFCP_FIELDS_MAX])
{
	for (; i < layout->count; i++)
		if (values[i].number || values[i].len)
			return true;
	return false;
}

void pfcp_fields_encode(struct pfcp_writer *w, const struct pfcp_layout *layout, uint16_t type,
			const struct pfcp_value values[PFCP_FIELDS_MAX])
{
	struct state state = {0, 0};
	uint8_t bits = 0; // of the octet that BITS fields are filling

	for (unsigned i = 0; i < layout->count; i++) {
		const struct pfcp_field *f = &layout->fields[i];
		const struct pfcp_value *value = &values[i];

		if (!field_is_here(f, &state, tail_is_given(layout, i, values)))
			continue;
		state_follow(&state, f, value->number);
		if (f->wire == PFCP_WIRE_BITS) {
			uint8_t mask = field_mask(f, type);

			w->failed |= value->number > (uint64_t)mask >> mask_shift(mask);
			bits |= (uint8_t)(value->number << mask_shift(mask));
		} else if (f->wire == PFCP_WIRE_NEXT || f->wire == PFCP_WIRE_SPARE) {
			pfcp_bytes_put(w, &bits, 1);
			bits = 0;
		} else if (pfcp_wire_is_octets(f->wire)) {
			wire_octets_put(w, f, state.count, value);
		} else {
			wire_number_put(w, f, type, value->number);
		}
	}
}
