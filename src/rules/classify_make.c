// The maker of classifiers, see classify_make.h and classify.h.
// Control thread. For each field, the alternatives' ranges are swept from the lowest value to the highest;
// what they are at a value makes its row, and rows and words that are there already are used again.

#include "rules/classify_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_jhash.h>

#include "packet/be.h"

#define ALTERNATIVES CLASSIFY_MAX_ALTERNATIVES
#define CHUNKS CLASSIFY_MAX_CHUNKS
#define VALUES 256                      // of a field whose classes are indexed by the value
#define WORDS 256                       // of a chunk: 129 at most of ranges, VALUES of others
#define ROWS_MAX (2 * ALTERNATIVES + 3) // of each class, of packets without the field, one to try
#define ROW_BYTES_MAX (sizeof(struct class_row) + CHUNKS)
#define BUCKETS 32768 // a power of two, some more than rows

// The values of a field that an alternative suits, ends included.
struct range {
	uint64_t low, high;
	bool absent; // and packets that do not have the field
};

// Where an alternative's range begins or ends.
struct event {
	uint64_t at;
	uint16_t alternative;
};

// A field that is being made, and where the sweep stands.
struct sweep {
	unsigned n_chunks; // of words in use, also of few alternatives
	bool flat;         // no chunks in the rows
	uint64_t bits[CHUNKS];
	uint8_t numbers[CHUNKS]; // of bits[] among words[]
	uint16_t n_words[CHUNKS];
	uint64_t words[CHUNKS][WORDS];

	unsigned n_rows, row_bytes;
	uint8_t rows[ROWS_MAX * ROW_BYTES_MAX];
	uint16_t buckets[BUCKETS]; // 1 + number of a row, 0: free

	unsigned n_events;
	struct event events[2 * ALTERNATIVES];
	struct range ranges[ALTERNATIVES];
	uint64_t values[CHUNKS][VALUES];

	unsigned n_bounds;
	uint64_t bounds[2 * ALTERNATIVES];
	uint16_t classes[2 * ALTERNATIVES + 1];
	uint16_t absent;
};

struct maker {
	struct alternative alternatives[ALTERNATIVES]; // of the family
	unsigned n;
	uint8_t family;
	struct blob *blob;
	size_t at; // of the classifier in the blob
	struct sweep sweep;
};

// Kept from its first use on: to take its pages anew each time costs more than the work in it.
static struct maker *workshop;

void blob_empty(struct blob *blob)
{
	if (blob->n != 0)
		memset(blob->bytes, 0, blob->n);
	blob->n = 0;
}

int blob_grow(struct blob *blob, size_t bytes, size_t align, size_t *ret_at)
{
	size_t at = (blob->n + align - 1) / align * align;
	size_t end = at + bytes;

	if (end > blob->room) {
		size_t room = end > 2 * blob->room ? end : 2 * blob->room;
		uint8_t *grown = realloc(blob->bytes, room);

		if (grown == NULL)
			return -ENOMEM;
		memset(grown + blob->room, 0, room - blob->room);
		blob->bytes = grown;
		blob->room = room;
	}
	blob->n = end;
	*ret_at = at;
	return 0;
}

// --- what an alternative says of a field -----------------------------------------------------------------

static const struct range all = {0, UINT64_MAX, true};

// The values that begin as `value` does, of `width` bits.
static struct range range_of_prefix(uint64_t value, unsigned bits, unsigned width)
{
	uint64_t rest = bits >= width ? 0 : UINT64_MAX >> (64 - width) >> bits;

	return (struct range){value & ~rest, value | rest, true};
}

static unsigned bits_of_mask(rte_be32_t mask)
{
	return (unsigned)__builtin_popcount(mask);
}

// Of half an IPv6 address, the octets from `from` on, of a prefix of `bits`.
static struct range range_of_half(const uint8_t *addr, unsigned bits, unsigned from)
{
	unsigned before = from * 8;

	return range_of_prefix(rte_be_to_cpu_64(word64_get(addr + from)),
			       bits < before ? 0 : RTE_MIN(bits - before, 64u), 64);
}

static struct range range_of_one(uint32_t value)
{
	return (struct range){value, value, false};
}

static struct range filter_range(const struct filter *f, enum class_kind kind)
{
	bool ports = f->flags & FILTER_F_PORTS;
	bool v4 = f->family == 4, v6 = f->family == 6;

	switch (kind) {
	case CLASS_REMOTE:
		return v4 ? range_of_prefix(rte_be_to_cpu_32(f->v4.remote),
					    bits_of_mask(f->v4.remote_mask), 32)
			  : all;
	case CLASS_LOCAL:
		return v4 ? range_of_prefix(rte_be_to_cpu_32(f->v4.local),
					    bits_of_mask(f->v4.local_mask), 32)
			  : all;
	case CLASS_REMOTE_PORT:
		return ports ? (struct range){f->remote_low, f->remote_high, false} : all;
	case CLASS_LOCAL_PORT:
		return ports ? (struct range){f->local_low, f->local_high, false} : all;
	case CLASS_SPI:
		return f->flags & FILTER_F_SPI ? range_of_one(f->spi) : all;
	case CLASS_FLOW_LABEL:
		return f->flags & FILTER_F_FLOW_LABEL ? range_of_one(f->flow_label) : all;
	case CLASS_REMOTE_HIGH:
		return v6 ? range_of_half(f->v6.remote, f->remote_bits, 0) : all;
	case CLASS_REMOTE_LOW:
		return v6 ? range_of_half(f->v6.remote, f->remote_bits, 8) : all;
	case CLASS_LOCAL_HIGH:
		return v6 ? range_of_half(f->v6.local, f->local_bits, 0) : all;
	case CLASS_LOCAL_LOW:
		return v6 ? range_of_half(f->v6.local, f->local_bits, 8) : all;
	default:
		return all;
	}
}

static bool l4_accepts(uint8_t flags, unsigned key)
{
	if ((flags & FILTER_F_FRAG) && !(key & CLASSIFY_L4_FRAGMENT))
		return false;
	if (flags & FILTER_F_SETUP)
		return key & CLASSIFY_L4_SETUP;
	return !(flags & FILTER_F_ESTABLISHED) || (key & CLASSIFY_L4_ESTABLISHED);
}

// Whether the alternative takes only some values of a field by value.
static bool restricts(const struct alternative *a, enum class_kind kind)
{
	uint8_t flags = a->filter ? a->filter->flags : 0;

	switch (kind) {
	case CLASS_TUNNEL:
		return true;
	case CLASS_QFI:
		return a->pdr->qfis != UINT64_MAX;
	case CLASS_PROTO:
		return flags & FILTER_F_PROTO;
	case CLASS_TOS:
		return flags & FILTER_F_TOS;
	default:
		return flags & (FILTER_F_FRAG | FILTER_F_SETUP | FILTER_F_ESTABLISHED);
	}
}

// The values that one which does takes, in `ret`, and how many they are.
static unsigned values_taken(const struct alternative *a, enum class_kind kind, uint8_t ret[VALUES])
{
	uint8_t rest = kind == CLASS_TOS ? (uint8_t)~a->filter->tos_mask : 0;
	uint8_t some = rest;
	unsigned n = 0;

	switch (kind) {
	case CLASS_TUNNEL:
		ret[n++] = a->pdr->tunnel;
		break;
	case CLASS_QFI:
		for (uint64_t qfis = a->pdr->qfis; qfis != 0; qfis &= qfis - 1)
			ret[n++] = (uint8_t)__builtin_ctzll(qfis);
		break;
	case CLASS_PROTO:
		ret[n++] = a->filter->proto;
		break;
	case CLASS_TOS: // with each choice of the bits that do not matter, from all of them down to none
		do {
			ret[n++] = a->filter->tos | some;
			some = (uint8_t)(some - 1) & rest;
		} while (some != rest);
		break;
	default:
		for (unsigned key = 0; key < CLASSIFY_L4_KEYS; key++) {
			if (l4_accepts(a->filter->flags, key))
				ret[n++] = (uint8_t)key;
		}
	}
	return n;
}

// --- words and rows --------------------------------------------------------------------------------------

static uint8_t word_number(struct sweep *s, unsigned chunk)
{
	uint64_t word = s->bits[chunk];
	unsigned n = s->n_words[chunk], i = 0;

	while (i < n && s->words[chunk][i] != word)
		i++;
	if (i == n) {
		assert(n < WORDS);
		s->words[chunk][s->n_words[chunk]++] = word;
	}
	return (uint8_t)i;
}

static void chunk_set(struct sweep *s, unsigned chunk, uint64_t bits)
{
	s->bits[chunk] = bits;
	if (!s->flat)
		s->numbers[chunk] = word_number(s, chunk);
}

// The number of the row of what the sweep has now, which is made where there is none.
static uint16_t row_number(struct sweep *s)
{
	uint8_t *row = s->rows + (size_t)s->n_rows * s->row_bytes;
	uint64_t live = s->flat ? s->bits[0] : 0;
	uint32_t bucket;

	for (unsigned i = 0; i < s->n_chunks && !s->flat; i++)
		live |= (uint64_t)(s->bits[i] != 0) << i;
	memset(row, 0, s->row_bytes);
	memcpy(row, &live, sizeof(live));
	if (!s->flat)
		memcpy(row + sizeof(live), s->numbers, s->n_chunks);

	bucket = rte_jhash(row, s->row_bytes, 0) % BUCKETS;
	while (s->buckets[bucket] != 0) {
		unsigned number = s->buckets[bucket] - 1u;

		if (memcmp(s->rows + (size_t)number * s->row_bytes, row, s->row_bytes) == 0)
			return (uint16_t)number;
		bucket = (bucket + 1) % BUCKETS;
	}
	assert(s->n_rows + 1 < ROWS_MAX);
	s->buckets[bucket] = (uint16_t)++s->n_rows;
	return (uint16_t)(s->n_rows - 1);
}

static void sweep_start(struct sweep *s, unsigned n)
{
	s->flat = n <= CLASSIFY_CHUNK;
	s->n_chunks = (n + CLASSIFY_CHUNK - 1) / CLASSIFY_CHUNK;
	s->row_bytes = (unsigned)sizeof(struct class_row) +
		       (s->flat ? 0 : (unsigned)RTE_ALIGN_CEIL(s->n_chunks, 8));
	s->n_rows = s->n_events = s->n_bounds = 0;
	memset(s->n_words, 0, sizeof(s->n_words));
	memset(s->buckets, 0, sizeof(s->buckets));
}

// --- fields by value -------------------------------------------------------------------------------------

// What alternatives take each value. False: none restricts the field.
static bool values_collect(struct maker *m, enum class_kind kind, unsigned n_values)
{
	struct sweep *s = &m->sweep;
	uint64_t free[CHUNKS] = {0}; // those that do not restrict it
	uint8_t taken[VALUES];
	bool restricted = false;

	for (unsigned i = 0; i < m->n; i++) {
		bool restrict_it = restricts(&m->alternatives[i], kind);

		restricted |= restrict_it;
		free[i / CLASSIFY_CHUNK] |= (uint64_t)!restrict_it << i % CLASSIFY_CHUNK;
	}
	if (!restricted)
		return false;
	for (unsigned chunk = 0; chunk < s->n_chunks; chunk++) {
		for (unsigned v = 0; v < n_values; v++)
			s->values[chunk][v] = free[chunk];
	}
	for (unsigned i = 0; i < m->n; i++) {
		unsigned chunk = i / CLASSIFY_CHUNK, n;
		uint64_t bit = 1ull << i % CLASSIFY_CHUNK;

		if (free[chunk] & bit)
			continue;
		n = values_taken(&m->alternatives[i], kind, taken);
		for (unsigned k = 0; k < n; k++)
			s->values[chunk][taken[k]] |= bit;
	}
	return true;
}

static void values_sweep(struct sweep *s, unsigned n_values)
{
	for (unsigned v = 0; v < n_values; v++) {
		for (unsigned i = 0; i < s->n_chunks; i++) {
			if (v == 0 || s->values[i][v] != s->bits[i])
				chunk_set(s, i, s->values[i][v]);
		}
		s->classes[v] = row_number(s);
	}
	s->absent = 0; // every packet has the field
}

// --- fields by range -------------------------------------------------------------------------------------

static int event_cmp(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (int)x->alternative - (int)y->alternative;
}

// Where alternatives begin and end, in order. False: none restricts the field.
static bool events_collect(struct maker *m, enum class_kind kind, uint64_t max)
{
	struct sweep *s = &m->sweep;
	bool restricted = false;

	for (unsigned i = 0; i < m->n; i++) {
		const struct filter *f = m->alternatives[i].filter;
		struct range r = f ? filter_range(f, kind) : all;

		if (r.low > r.high) // no value: it begins behind the last
			r.low = r.high = UINT64_MAX;
		s->ranges[i] = r;
		restricted |= r.low > 0 || r.high < max || !r.absent;
		if (r.low > 0 && r.low <= max)
			s->events[s->n_events++] = (struct event){r.low, (uint16_t)i};
		if (r.high < max)
			s->events[s->n_events++] = (struct event){r.high + 1, (uint16_t)i};
	}
	qsort(s->events, s->n_events, sizeof(s->events[0]), event_cmp);
	return restricted;
}

// The row of the alternatives that take what `suits` asks for.
static uint16_t row_where(struct maker *m, bool (*suits)(const struct range *r))
{
	struct sweep *s = &m->sweep;

	for (unsigned chunk = 0; chunk < s->n_chunks; chunk++) {
		unsigned first = chunk * CLASSIFY_CHUNK;
		unsigned end = RTE_MIN(first + CLASSIFY_CHUNK, m->n);
		uint64_t bits = 0;

		for (unsigned i = first; i < end; i++)
			bits |= suits(&s->ranges[i]) ? 1ull << (i - first) : 0;
		chunk_set(s, chunk, bits);
	}
	return row_number(s);
}

static bool suits_absent(const struct range *r)
{
	return r->absent;
}

static bool suits_zero(const struct range *r)
{
	return r->low == 0;
}

static void ranges_sweep(struct maker *m)
{
	struct sweep *s = &m->sweep;

	s->absent = row_where(m, suits_absent);
	s->classes[0] = row_where(m, suits_zero);
	for (unsigned e = 0; e < s->n_events;) {
		uint64_t at = s->events[e].at, dirty = 0;
		uint16_t row;

		for (; e < s->n_events && s->events[e].at == at; e++) {
			unsigned i = s->events[e].alternative;

			s->bits[i / CLASSIFY_CHUNK] ^= 1ull << i % CLASSIFY_CHUNK;
			dirty |= 1ull << i / CLASSIFY_CHUNK;
		}
		for (; dirty != 0; dirty &= dirty - 1) {
			unsigned chunk = (unsigned)__builtin_ctzll(dirty);

			chunk_set(s, chunk, s->bits[chunk]);
		}
		row = row_number(s);
		if (row == s->classes[s->n_bounds])
			continue; // one took over where another ended, or the like
		s->bounds[s->n_bounds++] = at;
		s->classes[s->n_bounds] = row;
	}
}

// --- the classifier --------------------------------------------------------------------------------------

// Appends these bytes; `ret_at` is their place as struct class_field has it.
static int part_add(struct maker *m, const void *bytes, size_t n, uint32_t *ret_at)
{
	size_t at;

	if (blob_grow(m->blob, n, 8, &at) != 0)
		return -ENOMEM;
	memcpy(m->blob->bytes + at, bytes, n);
	*ret_at = (uint32_t)((at - m->at) / 8);
	return 0;
}

static int bounds_add(struct maker *m, bool wide, struct class_field *field)
{
	struct sweep *s = &m->sweep;
	uint32_t *narrow = (uint32_t *)s->bounds;

	if (wide)
		return part_add(m, s->bounds, s->n_bounds * sizeof(s->bounds[0]),
				&field->bounds_at);
	for (unsigned i = 0; i < s->n_bounds; i++)
		narrow[i] = (uint32_t)s->bounds[i];
	return part_add(m, narrow, s->n_bounds * sizeof(narrow[0]), &field->bounds_at);
}

static int words_add(struct maker *m, struct class_field *field)
{
	struct sweep *s = &m->sweep;
	unsigned width = 0;
	size_t at;

	for (unsigned i = 0; i < s->n_chunks; i++)
		width = RTE_MAX(width, (unsigned)s->n_words[i]);
	if (blob_grow(m->blob, (size_t)s->n_chunks * width * sizeof(uint64_t), 8, &at) != 0)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n_chunks; i++)
		memcpy(m->blob->bytes + at + (size_t)i * width * sizeof(uint64_t), s->words[i],
		       s->n_words[i] * sizeof(uint64_t));
	field->width = (uint16_t)width;
	field->words_at = (uint32_t)((at - m->at) / 8);
	return 0;
}

static const struct field_kind {
	uint8_t family;    // 0: of both
	unsigned n_values; // 0: a field by range
	uint64_t max;      // of such a field
} kinds[CLASS_KINDS] = {
	[CLASS_TUNNEL] = {0, VALUES, 0},         [CLASS_QFI] = {0, CLASSIFY_QFI_NONE + 1, 0},
	[CLASS_PROTO] = {0, VALUES, 0},          [CLASS_TOS] = {0, VALUES, 0},
	[CLASS_L4] = {0, CLASSIFY_L4_KEYS, 0},   [CLASS_REMOTE] = {4, 0, UINT32_MAX},
	[CLASS_LOCAL] = {4, 0, UINT32_MAX},      [CLASS_REMOTE_PORT] = {0, 0, UINT16_MAX},
	[CLASS_LOCAL_PORT] = {0, 0, UINT16_MAX}, [CLASS_SPI] = {0, 0, UINT32_MAX},
	[CLASS_FLOW_LABEL] = {6, 0, 0xfffff},    [CLASS_REMOTE_HIGH] = {6, 0, UINT64_MAX},
	[CLASS_REMOTE_LOW] = {6, 0, UINT64_MAX}, [CLASS_LOCAL_HIGH] = {6, 0, UINT64_MAX},
	[CLASS_LOCAL_LOW] = {6, 0, UINT64_MAX},
};

// Appends the field, if any alternative restricts it.
static int field_make(struct maker *m, enum class_kind kind)
{
	const struct field_kind *k = &kinds[kind];
	struct sweep *s = &m->sweep;
	struct class_field field = {.kind = (uint8_t)kind};
	struct classifier *c;
	unsigned n_classes;

	sweep_start(s, m->n);
	if (k->n_values) {
		if (!values_collect(m, kind, k->n_values))
			return 0;
		values_sweep(s, k->n_values);
		n_classes = k->n_values;
	} else {
		if (!events_collect(m, kind, k->max))
			return 0;
		ranges_sweep(m);
		n_classes = s->n_bounds + 1;
	}
	field.absent = s->absent;
	field.n_bounds = (uint16_t)s->n_bounds;
	if (bounds_add(m, k->max == UINT64_MAX, &field) != 0 ||
	    part_add(m, s->classes, n_classes * sizeof(s->classes[0]), &field.classes_at) != 0 ||
	    part_add(m, s->rows, (size_t)s->n_rows * s->row_bytes, &field.rows_at) != 0)
		return -ENOMEM;
	if (!s->flat && words_add(m, &field) != 0)
		return -ENOMEM;
	c = (void *)(m->blob->bytes + m->at);
	c->fields[c->n_fields++] = field;
	return 0;
}

static int maker_run(struct maker *m)
{
	uint16_t owners[ALTERNATIVES];
	struct classifier head = {.n_alternatives = (uint16_t)m->n};
	size_t bytes = sizeof(head) + CLASS_KINDS * sizeof(struct class_field);

	// Fields that nobody restricts leave their room empty: it is little.
	if (blob_grow(m->blob, bytes, RULESET_UNIT, &m->at) != 0)
		return -ENOMEM;
	for (unsigned i = 0; i < m->n; i++)
		owners[i] = m->alternatives[i].owner;
	if (part_add(m, owners, m->n * sizeof(owners[0]), &head.owners_at) != 0)
		return -ENOMEM;
	sweep_start(&m->sweep, m->n);
	head.n_chunks = (uint16_t)(m->sweep.flat ? 0 : m->sweep.n_chunks);
	head.row_bytes = (uint16_t)m->sweep.row_bytes;
	memcpy(m->blob->bytes + m->at, &head, sizeof(head));
	for (unsigned kind = 0; kind < CLASS_KINDS; kind++) {
		if (kinds[kind].family != 0 && kinds[kind].family != m->family)
			continue;
		if (field_make(m, (enum class_kind)kind) != 0)
			return -ENOMEM;
	}
	return 0;
}

static bool is_for(const struct alternative *a, uint8_t family)
{
	if (!(a->pdr->families & (family == 4 ? PDR_V4 : PDR_V6)))
		return false;
	return a->filter == NULL || a->filter->family == 0 || a->filter->family == family;
}

// The classifier of those that are for the family.
static int family_make(struct maker *m, uint8_t family, const struct alternative *alternatives,
		       unsigned n, size_t *ret_at)
{
	m->family = family;
	m->n = 0;
	for (unsigned i = 0; i < n; i++) {
		if (is_for(&alternatives[i], family))
			m->alternatives[m->n++] = alternatives[i];
	}
	*ret_at = 0;
	if (m->n == 0)
		return 0;
	if (maker_run(m) != 0)
		return -ENOMEM;
	*ret_at = m->at;
	return 0;
}

static bool all_for_both(const struct alternative *alternatives, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!is_for(&alternatives[i], 4) || !is_for(&alternatives[i], 6))
			return false;
	}
	return true;
}

int classifiers_make(struct blob *blob, const struct alternative *alternatives, unsigned n,
		     size_t ret_at[2])
{
	int rc;

	assert(n <= ALTERNATIVES);
	if (workshop == NULL)
		workshop = malloc(sizeof(*workshop));
	if (workshop == NULL)
		return -ENOMEM;
	workshop->blob = blob;
	rc = family_make(workshop, 4, alternatives, n, &ret_at[0]);
	if (rc != 0)
		return rc;
	if (!all_for_both(alternatives, n))
		return family_make(workshop, 6, alternatives, n, &ret_at[1]);
	ret_at[1] = ret_at[0];
	return 0;
}
