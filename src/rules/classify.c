// A packet's rows and what they have in common, see classify.h.
// Worker threads. Not inlined into the packet's way: ordinary sessions never come here.

#include "rules/classify.h"

#include "rules/match.h"

static const void *part(const struct classifier *c, uint32_t at)
{
	return (const uint8_t *)c + (size_t)8 * at;
}

// How many of the bounds are not above the key. The comparison's outcome is added rather than branched on:
// it is random, and searches of several fields can overlap.
#define BOUNDS_FIND(name, type)                                                                    \
	static inline unsigned name(const type *bounds, unsigned n, type key)                      \
	{                                                                                          \
		unsigned at = 0;                                                                   \
                                                                                                   \
		while (n > 1) {                                                                    \
			unsigned half = n / 2;                                                     \
                                                                                                   \
			at += half & -(unsigned)(bounds[at + half - 1] <= key);                    \
			n -= half;                                                                 \
		}                                                                                  \
		return at + (n != 0 && bounds[at] <= key);                                         \
	}

BOUNDS_FIND(bounds_find, uint32_t)
BOUNDS_FIND(bounds_find_wide, uint64_t)

static inline unsigned class_of(const struct classifier *c, const struct class_field *f, unsigned i)
{
	const uint16_t *classes = part(c, f->classes_at);

	return classes[i];
}

static inline unsigned row_of(const struct classifier *c, const struct class_field *f, uint32_t key)
{
	return class_of(c, f, bounds_find(part(c, f->bounds_at), f->n_bounds, key));
}

// Of eight octets of an IPv6 address.
static inline unsigned row_of_half(const struct classifier *c, const struct class_field *f,
				   const uint8_t *half)
{
	uint64_t key = rte_be_to_cpu_64(word64_get(half));

	return class_of(c, f, bounds_find_wide(part(c, f->bounds_at), f->n_bounds, key));
}

static inline unsigned row_of_port(const struct classifier *c, const struct class_field *f,
				   const struct pkt *p, uint16_t port)
{
	return match_has_ports(p) ? row_of(c, f, port) : f->absent;
}

static unsigned row_of_spi(const struct classifier *c, const struct class_field *f,
			   const struct pkt *p, const uint8_t *user)
{
	uint32_t spi;

	return match_spi_get(p, user, &spi) ? row_of(c, f, spi) : f->absent;
}

static unsigned l4_key(const struct pkt *p, const uint8_t *user)
{
	unsigned key = match_later_fragment(p, user) ? CLASSIFY_L4_FRAGMENT : 0;
	uint8_t tcp;

	if (!match_tcp_flags_get(p, user, &tcp))
		return key;
	return key | (match_tcp_setup(tcp) ? CLASSIFY_L4_SETUP : 0) |
	       (match_tcp_established(tcp) ? CLASSIFY_L4_ESTABLISHED : 0);
}

static inline unsigned row_number(const struct classifier *c, const struct class_field *f, bool up,
				  const struct pkt *p, const uint8_t *user)
{
	switch ((enum class_kind)f->kind) {
	case CLASS_TUNNEL:
		return class_of(c, f, p->tunnel);
	case CLASS_QFI:
		return class_of(c, f, p->flags & PKT_F_PSC ? p->qfi & 63 : CLASSIFY_QFI_NONE);
	case CLASS_PROTO:
		return class_of(c, f, p->proto);
	case CLASS_TOS:
		return class_of(c, f, match_tos(p, user));
	case CLASS_L4:
		return class_of(c, f, l4_key(p, user));
	case CLASS_REMOTE:
		return row_of(c, f, be32_get(user + MATCH_V4_REMOTE(up)));
	case CLASS_LOCAL:
		return row_of(c, f, be32_get(user + MATCH_V4_LOCAL(up)));
	case CLASS_REMOTE_PORT:
		return row_of_port(c, f, p, up ? p->dport : p->sport);
	case CLASS_LOCAL_PORT:
		return row_of_port(c, f, p, up ? p->sport : p->dport);
	case CLASS_SPI:
		return row_of_spi(c, f, p, user);
	case CLASS_FLOW_LABEL:
		return row_of(c, f, match_flow_label(user));
	case CLASS_REMOTE_HIGH:
		return row_of_half(c, f, user + MATCH_V6_REMOTE(up));
	case CLASS_REMOTE_LOW:
		return row_of_half(c, f, user + MATCH_V6_REMOTE(up) + 8);
	case CLASS_LOCAL_HIGH:
		return row_of_half(c, f, user + MATCH_V6_LOCAL(up));
	case CLASS_LOCAL_LOW:
		return row_of_half(c, f, user + MATCH_V6_LOCAL(up) + 8);
	case CLASS_KINDS:
		break;
	}
	assert(false);
	return 0;
}

// The lowest alternative that all rows have, or n_alternatives.
static inline unsigned first_common(const struct classifier *c, const struct class_row **rows,
				    uint64_t live)
{
	for (; live != 0; live &= live - 1) {
		unsigned chunk = (unsigned)__builtin_ctzll(live);
		uint64_t common = UINT64_MAX;

		for (unsigned i = 0; i < c->n_fields; i++) {
			const struct class_field *f = &c->fields[i];
			const uint64_t *words = part(c, f->words_at);

			common &= words[chunk * f->width + rows[i]->words[chunk]];
		}
		if (common != 0)
			return chunk * CLASSIFY_CHUNK + (unsigned)__builtin_ctzll(common);
	}
	return c->n_alternatives;
}

const struct pdr *ruleset_classify(const struct ruleset *rs, bool up, const struct pkt *p,
				   const uint8_t *user)
{
	const struct classifiers *all = ruleset_classifiers(rs);
	uint32_t at = all->at[up][p->family == 6];
	const struct classifier *c;
	const struct class_row *rows[CLASS_KINDS];
	uint64_t live = UINT64_MAX;
	unsigned first;

	if (at == 0)
		return NULL;
	c = (const struct classifier *)(const void *)((const uint8_t *)all +
						      (size_t)at * RULESET_UNIT);
	for (unsigned i = 0; i < c->n_fields; i++) {
		const struct class_field *f = &c->fields[i];
		const uint8_t *field_rows = part(c, f->rows_at);

		rows[i] = (const void *)(field_rows +
					 (size_t)row_number(c, f, up, p, user) * c->row_bytes);
		live &= rows[i]->live;
	}
	if (live == 0)
		return NULL;
	if (c->n_chunks == 0)
		first = (unsigned)__builtin_ctzll(live);
	else
		first = first_common(c, rows, live);
	if (first >= c->n_alternatives)
		return NULL;
	return &rs->pdrs[((const uint16_t *)part(c, c->owners_at))[first]];
}
