// Damage to PFCP messages, see mutate.h.
//
// A message is first read into a list of its IEs, groups before what is in them (read()). A damage then
// edits the bytes: by edit(), which keeps the lengths of all that encloses the place true, so that the
// decoder gets further than the first of them, or without, where the lie is the point.

#include "mutate.h"

#include <stdbool.h>
#include <string.h>

#define IES_MAX 256
#define IE_HEADER 4
#define DEPTH_MAX 12
#define TYPES 330 // IE types of Release 17, and some beyond

struct ie {
	size_t at, len; // of its value
	int parent;     // its group's place in the list, -1: the message
};

struct view {
	uint8_t *bytes;
	size_t len, room;
	size_t body; // where the IEs begin
	struct ie ies[IES_MAX];
	int n;
};

uint64_t mutate_next(struct mutate *m)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return m->state * 0x2545f4914f6cdd1dull;
}

uint32_t mutate_below(struct mutate *m, uint32_t n)
{
	return n ? (uint32_t)(mutate_next(m) >> 33) % n : 0;
}

static unsigned get16(const uint8_t *at)
{
	return (unsigned)(at[0] << 8 | at[1]);
}

static void put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static size_t header_len(const uint8_t *bytes, size_t len)
{
	return len > 0 && bytes[0] & MUTATE_HEADER_S ? 16 : 8;
}

// --- reading ---------------------------------------------------------------------------------------------

static bool is_group(const uint8_t *at, size_t len)
{
	size_t next = 0;

	while (next + IE_HEADER <= len && get16(at + next) > 0 && get16(at + next) < TYPES)
		next += IE_HEADER + get16(at + next + 2);
	return len > 0 && next == len;
}

static void read_level(struct view *v, size_t at, size_t end, int parent, unsigned depth)
{
	while (at + IE_HEADER <= end && v->n < IES_MAX) {
		size_t len = get16(v->bytes + at + 2);
		int self = v->n;

		at += IE_HEADER;
		if (len > end - at)
			return;
		v->ies[v->n++] = (struct ie){at, len, parent};
		if (depth < DEPTH_MAX && is_group(v->bytes + at, len))
			read_level(v, at, at + len, self, depth + 1);
		at += len;
	}
}

static void read(struct view *v, uint8_t *bytes, size_t len, size_t room)
{
	size_t header = header_len(bytes, len);

	*v = (struct view){.bytes = bytes, .len = len, .room = room};
	v->body = header < len ? header : len;
	read_level(v, v->body, len, -1, 0);
}

// --- editing ---------------------------------------------------------------------------------------------

// Replaces `old` octets at a place by others, which are not in the message; the groups from `parent` up, and
// the message, keep true lengths. False: no room.
static bool edit(struct view *v, size_t at, size_t old, const uint8_t *with, size_t len, int parent)
{
	if (at + old > v->len || v->len - old + len > v->room)
		return false;
	memmove(v->bytes + at + len, v->bytes + at + old, v->len - at - old);
	if (len)
		memcpy(v->bytes + at, with, len);
	v->len = v->len - old + len;
	for (; parent >= 0; parent = v->ies[parent].parent) {
		v->ies[parent].len = v->ies[parent].len - old + len;
		put16(v->bytes + v->ies[parent].at - 2, v->ies[parent].len);
	}
	mutate_length_set(v->bytes, v->len);
	return true;
}

static const struct ie *pick(struct mutate *m, const struct view *v)
{
	return v->n ? &v->ies[mutate_below(m, (uint32_t)v->n)] : NULL;
}

// A place where an IE may begin, and its group: before an IE, or at the end of its level.
static size_t gap(struct mutate *m, const struct view *v, int *ret_parent)
{
	const struct ie *ie = pick(m, v);
	unsigned where = mutate_below(m, 4);

	*ret_parent = -1;
	if (!ie || where == 0)
		return v->len;
	if (where == 1 && is_group(v->bytes + ie->at, ie->len)) {
		*ret_parent = (int)(ie - v->ies);
		return ie->at + ie->len;
	}
	*ret_parent = ie->parent;
	return ie->at - IE_HEADER;
}

// Octets that numbers and lengths are often wrong with.
static uint64_t odd_number(struct mutate *m)
{
	static const uint64_t odd[] = {0,          1,          2,
				       0x7f,       0x80,       0xff,
				       0x7fff,     0x8000,     0xffff,
				       0xfffe,     0x7fffffff, 0x80000000,
				       0xffffffff, UINT64_MAX, UINT64_MAX - 1};

	if (mutate_below(m, 4) == 0)
		return mutate_next(m);
	return odd[mutate_below(m, sizeof(odd) / sizeof(odd[0]))];
}

// --- the damages -----------------------------------------------------------------------------------------

static void bits(struct mutate *m, struct view *v)
{
	for (unsigned n = 1 + mutate_below(m, 8); n > 0 && v->len > 0; n--) {
		size_t from = mutate_below(m, 16) ? v->body : 0;
		size_t at = from + mutate_below(m, (uint32_t)(v->len - from));

		if (at < v->len)
			v->bytes[at] ^= (uint8_t)(1u << mutate_below(m, 8));
	}
}

static void octet(struct mutate *m, struct view *v)
{
	if (v->len > v->body)
		v->bytes[v->body + mutate_below(m, (uint32_t)(v->len - v->body))] =
			(uint8_t)odd_number(m);
}

static void header_bits(struct mutate *m, struct view *v)
{
	if (v->len > 1)
		v->bytes[mutate_below(m, 2)] ^= (uint8_t)(1u << mutate_below(m, 8));
}

static void header_length(struct mutate *m, struct view *v)
{
	if (v->len >= 4)
		put16(v->bytes + 2,
		      mutate_below(m, 2) ? v->len - 5 + mutate_below(m, 3) : odd_number(m));
}

static void length_lie(struct mutate *m, struct view *v)
{
	const struct ie *ie = pick(m, v);

	if (ie)
		put16(v->bytes + ie->at - 2,
		      mutate_below(m, 2) ? ie->len - 1 + mutate_below(m, 3) : odd_number(m));
}

static void number(struct mutate *m, struct view *v)
{
	const struct ie *ie = pick(m, v);
	uint64_t value = odd_number(m);

	for (size_t i = 0; ie && i < ie->len && i < 8; i++)
		v->bytes[ie->at + ie->len - 1 - i] = (uint8_t)(value >> (8 * i));
}

static void type(struct mutate *m, struct view *v)
{
	const struct ie *ie = pick(m, v);

	if (ie)
		put16(v->bytes + ie->at - 4,
		      mutate_below(m, 8) ? mutate_below(m, TYPES) : odd_number(m));
}

static void cut_message(struct mutate *m, struct view *v)
{
	v->len = mutate_below(m, (uint32_t)v->len + 1);
	if (mutate_below(m, 4))
		mutate_length_set(v->bytes, v->len);
}

static void cut_value(struct mutate *m, struct view *v)
{
	const struct ie *ie = pick(m, v);
	size_t left = ie ? mutate_below(m, (uint32_t)ie->len + 1) : 0;

	if (ie)
		edit(v, ie->at + left, ie->len - left, NULL, 0, (int)(ie - v->ies));
}

static void grow_value(struct mutate *m, struct view *v)
{
	const struct ie *ie = pick(m, v);
	uint8_t more[64];
	size_t len = 1 + mutate_below(m, sizeof(more));

	for (size_t i = 0; i < len; i++)
		more[i] = (uint8_t)mutate_next(m);
	if (ie)
		edit(v, ie->at + mutate_below(m, (uint32_t)ie->len + 1), 0, more, len,
		     (int)(ie - v->ies));
}

static void leave_out(struct mutate *m, struct view *v)
{
	const struct ie *ie = pick(m, v);

	if (ie)
		edit(v, ie->at - IE_HEADER, IE_HEADER + ie->len, NULL, 0, ie->parent);
}

// Copies an IE into a buffer; its octets with the header, 0: none, or too long.
static size_t ie_copy(struct mutate *m, const struct view *v, uint8_t *copy, size_t room)
{
	const struct ie *ie = pick(m, v);

	if (!ie || ie->len + IE_HEADER > room)
		return 0;
	memcpy(copy, v->bytes + ie->at - IE_HEADER, ie->len + IE_HEADER);
	return ie->len + IE_HEADER;
}

static void insert(struct mutate *m, struct view *v, const uint8_t *with, size_t len)
{
	int parent;
	size_t at = gap(m, v, &parent);

	if (len)
		edit(v, at, 0, with, len, parent);
}

static void again(struct mutate *m, struct view *v)
{
	uint8_t copy[2048];

	insert(m, v, copy, ie_copy(m, v, copy, sizeof(copy)));
}

static void again_often(struct mutate *m, struct view *v)
{
	unsigned times = 2 + mutate_below(m, mutate_below(m, 8) ? 20 : 400);
	uint8_t copy[2048];
	size_t len = ie_copy(m, v, copy, sizeof(copy));
	int parent;
	size_t at = gap(m, v, &parent);

	while (len && times-- > 0) {
		// The copies differ in their first number, mostly an id.
		for (size_t i = 2 * IE_HEADER; i < len && i < 3 * IE_HEADER; i++)
			copy[i] = (uint8_t)mutate_next(m);
		if (!edit(v, at, 0, copy, len, parent))
			return;
	}
}

// Takes an IE from where it is to somewhere else.
static void move(struct mutate *m, struct view *v)
{
	const struct ie *ie = pick(m, v);
	uint8_t copy[2048];
	size_t room = v->room, len;

	if (!ie || ie->len + IE_HEADER > sizeof(copy))
		return;
	len = ie->len + IE_HEADER;
	memcpy(copy, v->bytes + ie->at - IE_HEADER, len);
	edit(v, ie->at - IE_HEADER, len, NULL, 0, ie->parent);
	read(v, v->bytes, v->len, room);
	insert(m, v, copy, len);
}

// Puts an IE into groups around it.
static void nest(struct mutate *m, struct view *v)
{
	static const uint16_t groups[] = {1, 2, 3, 4, 6, 7, 9, 10, 11, 85, 127, 163, 83, 58};
	unsigned depth = 1 + mutate_below(m, mutate_below(m, 4) ? 3 : 40);
	const struct ie *ie = pick(m, v);
	size_t len;

	if (!ie)
		return;
	len = ie->len + IE_HEADER;
	for (; depth > 0 && len <= UINT16_MAX; depth--, len += IE_HEADER) {
		uint8_t header[IE_HEADER];

		put16(header, groups[mutate_below(m, sizeof(groups) / sizeof(groups[0]))]);
		put16(header + 2, len);
		if (!edit(v, ie->at - IE_HEADER, 0, header, sizeof(header), ie->parent))
			return;
	}
}

// A piece of another message: an IE, or all of them from one on.
static void splice(struct mutate *m, struct view *v)
{
	const struct mutate_msg *other;
	uint8_t copy[4096];
	struct view from;
	const struct ie *ie;

	if (!m->n_pool)
		return;
	other = &m->pool[mutate_below(m, (uint32_t)m->n_pool)];
	if (other->len > sizeof(copy))
		return;
	memcpy(copy, other->bytes, other->len);
	read(&from, copy, other->len, sizeof(copy));
	ie = pick(m, &from);
	if (!ie)
		return;
	if (mutate_below(m, 8))
		insert(m, v, copy + ie->at - IE_HEADER, IE_HEADER + ie->len);
	else
		insert(m, v, copy + ie->at - IE_HEADER, other->len - ie->at + IE_HEADER);
}

// Another message in the same datagram.
static void bundle(struct mutate *m, struct view *v)
{
	const struct mutate_msg *other;

	if (!m->n_pool || v->len < 8)
		return;
	other = &m->pool[mutate_below(m, (uint32_t)m->n_pool)];
	if (v->len + other->len > v->room)
		return;
	mutate_length_set(v->bytes, v->len);
	v->bytes[0] |= 0x04;
	memcpy(v->bytes + v->len, other->bytes, other->len);
	v->len += other->len;
}

static void strange(struct mutate *m, struct view *v)
{
	uint8_t ie[32] = {0};
	size_t len = mutate_below(m, sizeof(ie) - IE_HEADER);

	put16(ie, mutate_below(m, 2) ? 0x8000 + mutate_below(m, 0x8000) : mutate_below(m, TYPES));
	put16(ie + 2, len);
	insert(m, v, ie, IE_HEADER + len);
}

size_t mutate_once(struct mutate *m, uint8_t *bytes, size_t len, size_t room)
{
	static void (*const damages[])(struct mutate * m, struct view * v) = {
		bits,        bits,      bits,   octet,       number,        number,
		number,      type,      type,   cut_value,   cut_value,     grow_value,
		leave_out,   leave_out, again,  again_often, move,          move,
		nest,        splice,    splice, splice,      length_lie,    length_lie,
		cut_message, strange,   bundle, header_bits, header_length,
	};
	struct view v;

	read(&v, bytes, len, room);
	damages[mutate_below(m, sizeof(damages) / sizeof(damages[0]))](m, &v);
	return v.len;
}

// --- stamps ----------------------------------------------------------------------------------------------

void mutate_length_set(uint8_t *bytes, size_t len)
{
	if (len >= 4)
		put16(bytes + 2, len - 4);
}

void mutate_seid_set(uint8_t *bytes, size_t len, uint64_t seid)
{
	if (len < 16 || !(bytes[0] & MUTATE_HEADER_S))
		return;
	for (unsigned i = 0; i < 8; i++)
		bytes[4 + i] = (uint8_t)(seid >> (56 - 8 * i));
}

void mutate_seq_set(uint8_t *bytes, size_t len, uint32_t seq)
{
	size_t header = header_len(bytes, len);

	if (len < header)
		return;
	for (unsigned i = 0; i < 3; i++)
		bytes[header - 4 + i] = (uint8_t)(seq >> (16 - 8 * i));
}
