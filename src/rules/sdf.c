// SDF filters: the parser of Flow Descriptions and the printer, see sdf.h.
// Control thread. TS 29.212 5.4.2 takes from IPFilterRule (RFC 6733 4.3.1) only "permit out", and neither
// "!" and few options; what goes beyond is refused by name.

#include "rules/sdf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SDF_MAX_BYTES 1024
#define SDF_MAX_TOKENS 64
#define SDF_MIN_TOKENS 7 // permit out <proto> from <addr> to <addr>

// Names of protocols, besides "ip"; the first of a number is the one that is printed.
struct proto_row {
	uint8_t proto;
	uint8_t family; // the only one that it goes with, ADDR_NONE: both
	bool ports;
	const char *name;
};

static const struct proto_row proto_rows[] = {
	{1, ADDR_V4, false, "icmp"},     {2, ADDR_V4, false, "igmp"},
	{4, ADDR_NONE, false, "ipip"},   {6, ADDR_NONE, true, "tcp"},
	{17, ADDR_NONE, true, "udp"},    {33, ADDR_NONE, false, "dccp"},
	{41, ADDR_NONE, false, "ipv6"},  {46, ADDR_NONE, false, "rsvp"},
	{47, ADDR_NONE, false, "gre"},   {50, ADDR_NONE, false, "esp"},
	{51, ADDR_NONE, false, "ah"},    {58, ADDR_V6, false, "icmp6"},
	{58, ADDR_V6, false, "icmpv6"},  {58, ADDR_V6, false, "ipv6-icmp"},
	{89, ADDR_NONE, false, "ospf"},  {103, ADDR_NONE, false, "pim"},
	{112, ADDR_NONE, false, "vrrp"}, {115, ADDR_NONE, false, "l2tp"},
	{132, ADDR_NONE, true, "sctp"},  {136, ADDR_NONE, true, "udplite"},
};

// The options of RFC 6733. Each lets fewer packets match, so none may be left out: those without a bit are
// refused.
struct option_row {
	const char *name;
	uint8_t bit;
	const char *why;
};

static const struct option_row option_rows[] = {
	{"frag", SDF_OPTION_FRAG, NULL},
	{"established", SDF_OPTION_ESTABLISHED, NULL},
	{"setup", SDF_OPTION_SETUP, NULL},
	{"ipoptions", 0, "option ipoptions is not honoured"},
	{"tcpoptions", 0, "option tcpoptions is not honoured"},
	{"tcpflags", 0, "option tcpflags is not honoured"},
	{"icmptypes", 0, "option icmptypes is not honoured"},
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

struct token {
	const char *at; // not NUL-terminated
	size_t len;
};

struct parser {
	struct token tokens[SDF_MAX_TOKENS];
	unsigned n, next;
	const char *why;
};

static const struct proto_row *proto_row_lookup(uint8_t proto)
{
	for (unsigned i = 0; i < ROWS(proto_rows); i++) {
		if (proto_rows[i].proto == proto)
			return &proto_rows[i];
	}
	return NULL;
}

bool sdf_proto_has_ports(uint8_t proto)
{
	const struct proto_row *row = proto_row_lookup(proto);

	return row != NULL && row->ports;
}

static int refuse(struct parser *ps, const char *why)
{
	ps->why = why;
	return -EINVAL;
}

static int split(struct parser *ps, const char *text, size_t len)
{
	size_t i = 0;

	if (len > SDF_MAX_BYTES)
		return refuse(ps, "longer than 1024 octets");
	while (i < len) {
		size_t start = i;

		while (i < len && text[i] > ' ' && text[i] <= '~')
			i++;
		if (i == start) {
			if (text[i] != ' ' && text[i] != '\t')
				return refuse(ps, "a character that is not printable");
			i++;
			continue;
		}
		if (ps->n == SDF_MAX_TOKENS)
			return refuse(ps, "more than 64 words");
		ps->tokens[ps->n++] = (struct token){text + start, i - start};
	}
	return 0;
}

static bool token_is(const struct token *t, const char *word)
{
	return t->len == strlen(word) && strncasecmp(t->at, word, t->len) == 0;
}

// Whether the next word is this one; then it is taken.
static bool take_word(struct parser *ps, const char *word)
{
	if (ps->next == ps->n || !token_is(&ps->tokens[ps->next], word))
		return false;
	ps->next++;
	return true;
}

// A number at the front of *t up to max; it is taken off.
static bool take_number(struct token *t, unsigned max, unsigned *ret_number)
{
	unsigned number = 0;
	size_t i = 0;

	for (; i < t->len && t->at[i] >= '0' && t->at[i] <= '9'; i++) {
		number = number * 10 + (unsigned)(t->at[i] - '0');
		if (number > max)
			return false;
	}
	*t = (struct token){t->at + i, t->len - i};
	*ret_number = number;
	return i > 0;
}

static int parse_proto(struct parser *ps, struct sdf *sdf)
{
	struct token t = ps->tokens[ps->next++];
	struct token rest = t;
	unsigned number;

	if (token_is(&t, "ip")) {
		sdf->any_proto = true;
		return 0;
	}
	if (take_number(&rest, 255, &number) && rest.len == 0) {
		// 0 is no packet's own protocol, though some read it as "any": neither guess is right.
		if (number == 0)
			return refuse(ps, "protocol 0 is none (any is written \"ip\")");
		sdf->proto = (uint8_t)number;
		return 0;
	}
	for (unsigned i = 0; i < ROWS(proto_rows); i++) {
		if (token_is(&t, proto_rows[i].name)) {
			sdf->proto = proto_rows[i].proto;
			return 0;
		}
	}
	return refuse(ps, "unknown protocol");
}

static int parse_address(struct parser *ps, struct sdf_side *side)
{
	char text[PREFIX_STRLEN];
	const struct token *t = &ps->tokens[ps->next];

	if (ps->next == ps->n)
		return refuse(ps, "an address is missing");
	ps->next++;
	if (token_is(t, "any")) {
		side->any = true;
		return 0;
	}
	if (token_is(t, "assigned")) {
		side->assigned = true;
		return 0;
	}
	if (t->at[0] == '!')
		return refuse(ps, "\"!\" is not allowed (TS 29.212 5.4.2)");
	if (t->len >= sizeof(text))
		return refuse(ps, "not an address");
	memcpy(text, t->at, t->len);
	text[t->len] = '\0';
	if (prefix_parse(text, &side->prefix) != 0)
		return refuse(ps, "not an address");
	return 0;
}

// "80", "1000-2000", "5060,5061,6000-6010".
static int parse_ports(struct parser *ps, struct token t, struct sdf_side *side)
{
	for (;;) {
		unsigned low, high;

		if (!take_number(&t, UINT16_MAX, &low))
			return refuse(ps, "not a port");
		high = low;
		if (t.len > 0 && t.at[0] == '-') {
			t = (struct token){t.at + 1, t.len - 1};
			if (!take_number(&t, UINT16_MAX, &high) || high < low)
				return refuse(ps, "not a range of ports");
		}
		if (side->n_ports == SDF_MAX_PORTS)
			return refuse(ps, "more than 8 ranges of ports on a side");
		side->ports[side->n_ports++] = (struct sdf_port_range){(uint16_t)low,
								       (uint16_t)high};
		if (t.len == 0)
			return 0;
		if (t.at[0] != ',')
			return refuse(ps, "not a port");
		t = (struct token){t.at + 1, t.len - 1};
	}
}

// An address, and ports when the next word starts like one.
static int parse_side(struct parser *ps, struct sdf_side *side)
{
	const struct token *t;

	if (parse_address(ps, side) != 0)
		return -EINVAL;
	if (ps->next == ps->n)
		return 0;
	t = &ps->tokens[ps->next];
	if (t->at[0] < '0' || t->at[0] > '9')
		return 0;
	ps->next++;
	return parse_ports(ps, *t, side);
}

static const struct option_row *option_row_lookup(const struct token *token)
{
	for (unsigned i = 0; i < ROWS(option_rows); i++) {
		if (token_is(token, option_rows[i].name))
			return &option_rows[i];
	}
	return NULL;
}

static int parse_options(struct parser *ps, struct sdf *sdf)
{
	for (; ps->next < ps->n; ps->next++) {
		const struct option_row *row = option_row_lookup(&ps->tokens[ps->next]);

		if (row == NULL)
			return refuse(ps, "a word too many at the end");
		if (row->bit == 0)
			return refuse(ps, row->why);
		if (sdf->options & row->bit)
			return refuse(ps, "an option twice");
		sdf->options |= row->bit;
	}
	return 0;
}

// Later fragments have no ports and no TCP flags, and no packet both opens a connection and belongs to one.
static int agree_options(struct parser *ps, const struct sdf *sdf)
{
	const uint8_t tcp = SDF_OPTION_ESTABLISHED | SDF_OPTION_SETUP;

	if ((sdf->options & SDF_OPTION_FRAG) &&
	    ((sdf->options & tcp) || sdf->from.n_ports || sdf->to.n_ports))
		return refuse(ps, "option frag together with ports or TCP options");
	if ((sdf->options & tcp) == tcp)
		return refuse(ps, "options established and setup together");
	if ((sdf->options & tcp) && (sdf->any_proto || sdf->proto != IPPROTO_TCP))
		return refuse(ps, "a TCP option with another protocol");
	return 0;
}

// What each part says must be able to be true together: a filter that can match nothing is a mistake.
static int agree(struct parser *ps, const struct sdf *sdf)
{
	const struct proto_row *row = sdf->any_proto ? NULL : proto_row_lookup(sdf->proto);
	uint8_t from = sdf->from.prefix.addr.family, to = sdf->to.prefix.addr.family;
	uint8_t family = from != ADDR_NONE ? from : to;

	if (from != ADDR_NONE && to != ADDR_NONE && from != to)
		return refuse(ps, "IPv4 on one side and IPv6 on the other");
	if (sdf->from.assigned)
		return refuse(ps, "\"from\" is the remote side, which is not assigned");
	if (row != NULL && row->family != ADDR_NONE && family != ADDR_NONE && row->family != family)
		return refuse(ps, "a protocol that does not go with the addresses' family");
	if ((sdf->from.n_ports || sdf->to.n_ports) && !sdf->any_proto &&
	    !sdf_proto_has_ports(sdf->proto))
		return refuse(ps, "ports with a protocol of which none are read");
	return agree_options(ps, sdf);
}

static int parse(struct parser *ps, struct sdf *sdf)
{
	if (ps->n == 0)
		return refuse(ps, "empty");
	if (!take_word(ps, "permit"))
		return refuse(ps, take_word(ps, "deny")
					  ? "action deny is not allowed (TS 29.212 5.4.2)"
					  : "does not start with \"permit\"");
	if (!take_word(ps, "out"))
		return refuse(ps, take_word(ps, "in")
					  ? "direction in is not allowed (TS 29.212 5.4.2)"
					  : "no \"out\" after \"permit\"");
	if (ps->n < SDF_MIN_TOKENS)
		return refuse(ps, "too short");
	if (parse_proto(ps, sdf) != 0)
		return -EINVAL;
	if (!take_word(ps, "from"))
		return refuse(ps, "no \"from\" after the protocol");
	if (parse_side(ps, &sdf->from) != 0)
		return -EINVAL;
	if (!take_word(ps, "to"))
		return refuse(ps, "no \"to\" after the remote side");
	if (parse_side(ps, &sdf->to) != 0 || parse_options(ps, sdf) != 0)
		return -EINVAL;
	return agree(ps, sdf);
}

int sdf_parse(const char *text, size_t len, struct sdf *sdf, const char **ret_why)
{
	struct parser ps = {.n = 0};
	struct sdf flow = {.has_flow = true};

	if (split(&ps, text, len) != 0 || parse(&ps, &flow) != 0) {
		*ret_why = ps.why;
		return -EINVAL;
	}
	sdf->has_flow = true;
	sdf->any_proto = flow.any_proto;
	sdf->proto = flow.proto;
	sdf->options = flow.options;
	sdf->from = flow.from;
	sdf->to = flow.to;
	return 0;
}

// Text that is cut where the buffer ends.
struct out {
	char *buf;
	size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void out_add(struct out *out, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(out->buf + out->len, out->size - out->len, fmt, args);
	va_end(args);
	if (n > 0)
		out->len += (size_t)n < out->size - out->len ? (size_t)n : out->size - out->len - 1;
}

static void out_side(struct out *out, const char *word, const struct sdf_side *side)
{
	char text[PREFIX_STRLEN];

	out_add(out, " %s %s", word,
		side->any        ? "any"
		: side->assigned ? "assigned"
				 : prefix_str(text, &side->prefix));
	for (unsigned i = 0; i < side->n_ports; i++) {
		out_add(out, "%s%u", i == 0 ? " " : ",", side->ports[i].low);
		if (side->ports[i].high != side->ports[i].low)
			out_add(out, "-%u", side->ports[i].high);
	}
}

static void out_flow(struct out *out, const struct sdf *sdf)
{
	const struct proto_row *row = proto_row_lookup(sdf->proto);

	if (sdf->any_proto)
		out_add(out, "permit out ip");
	else if (row != NULL)
		out_add(out, "permit out %s", row->name);
	else
		out_add(out, "permit out %u", sdf->proto);
	out_side(out, "from", &sdf->from);
	out_side(out, "to", &sdf->to);
	for (unsigned i = 0; i < ROWS(option_rows); i++)
		if (sdf->options & option_rows[i].bit)
			out_add(out, " %s", option_rows[i].name);
}

void sdf_str(const struct sdf *sdf, char *buf, size_t size)
{
	struct out out = {.buf = buf, .size = size};

	if (size == 0)
		return;
	buf[0] = '\0';
	if (sdf->has_flow)
		out_flow(&out, sdf);
	if (sdf->has_tos)
		out_add(&out, "%stos 0x%02x/0x%02x", out.len ? " " : "", sdf->tos, sdf->tos_mask);
	if (sdf->has_spi)
		out_add(&out, "%sspi 0x%08x", out.len ? " " : "", sdf->spi);
	if (sdf->has_flow_label)
		out_add(&out, "%sflow label 0x%05x", out.len ? " " : "", sdf->flow_label);
	if (sdf->has_bid)
		out_add(&out, "%sbid %u", out.len ? " " : "", sdf->bid);
}
