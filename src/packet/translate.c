// Translation beyond TCP and UDP over IPv4, see translate.h.
//
// Workers, pure. Each change of a word is told as what it adds to a sum over it, ~before + after, so that sums of
// headers, of what is behind them and of what stands around them follow from the same few numbers.

#include "packet/translate.h"

#include <stddef.h>

#include "packet/icmp.h"

#define NOT_THERE UINT32_MAX

// Where a protocol's header has what changes.
struct l4_row {
	uint8_t proto;
	uint8_t cksum_at;
	bool tuple;    // two ports at its start, which may be changed
	bool echo;     // an identifier, where its type says so
	bool pseudo;   // its checksum covers the addresses
	bool optional; // its checksum is never computed as 0, which says that there is none
};

// SCTP is not here: its checksum does not cover addresses, and could not follow a change of its ports.
static const struct l4_row l4_rows[] = {
	{IPPROTO_TCP, 16, true, false, true, false},
	{IPPROTO_UDP, 6, true, false, true, true},
	{IPPROTO_ICMP, 2, false, true, false, false},
	{IPPROTO_ICMPV6, 2, false, true, true, false},
	{IPPROTO_DCCP, 6, false, false, true, false},
	{IPPROTO_UDPLITE, 6, false, false, true, true},
};

// What is changed of a packet's L4 header.
struct l4_change {
	uint8_t *cksum;    // NULL: none
	uint8_t *port;     // NULL: none
	uint32_t cksum_at; // from the IP header, whether it is there or not
	bool pseudo, optional;
};

static uint64_t word_write(uint8_t *at, uint16_t to)
{
	uint16_t from = word16_get(at);

	memcpy(at, &to, sizeof(to));
	return (uint64_t)(uint16_t)~from + to;
}

// A checksum over what has changed by `sum`.
static uint64_t cksum_write(uint8_t *at, uint64_t sum, bool optional)
{
	uint16_t cksum = word16_get(at);
	uint64_t after = (uint64_t)(uint16_t)~cksum + sum;

	if (optional && cksum == 0)
		return 0;
	return word_write(at, optional ? cksum_finish_udp(after) : cksum_finish(after));
}

static const uint8_t *addr_at(const uint8_t *ip, unsigned family, enum translate_side side)
{
	return side == TRANSLATE_SOURCE ? ip_source_at(ip, family) : ip_destination_at(ip, family);
}

static uint64_t addr_write(uint8_t *ip, unsigned family, enum translate_side side,
			   const uint8_t *addr)
{
	size_t at = (size_t)(addr_at(ip, family, side) - ip);
	uint64_t sum = 0;

	for (unsigned i = 0; i < ip_address_bytes(family); i += 2)
		sum += word_write(ip + at + i, word16_get(addr + i));
	return sum;
}

static bool is_later_fragment(const uint8_t *ip, const struct pkt *p)
{
	struct ip6_end end;

	if (!(p->flags & PKT_F_NO_L4))
		return false;
	if (p->family == 4)
		return ((const struct ip4_head *)ip)->fragment & RTE_BE16(IP4_OFFSET_MASK);
	return ip6_walk((const struct ip6_head *)ip, p->user_bytes, &end) != DROP_NONE || end.later;
}

static bool is_echo(const struct pkt *p)
{
	uint8_t type = (uint8_t)(p->dport >> 8);

	return p->family == 4 ? type == ICMP4_TYPE_ECHO || type == ICMP4_TYPE_REPLY
			      : type == ICMP6_TYPE_ECHO || type == ICMP6_TYPE_REPLY;
}

// Where in the header the port or identifier is.
static uint32_t port_at(const struct l4_row *row, const struct pkt *p, enum translate_side side)
{
	if (p->flags & PKT_F_NO_L4)
		return NOT_THERE;
	if (row->tuple)
		return side == TRANSLATE_SOURCE ? 0 : 2;
	return row->echo && is_echo(p) ? 4 : NOT_THERE;
}

static struct l4_change l4_change_of(uint8_t *ip, const struct pkt *p, enum translate_side side,
				     bool with_port)
{
	uint32_t l4 = (uint32_t)(p->l4 - p->user);
	struct l4_change change = {0};
	const struct l4_row *row = NULL;
	uint32_t at;

	for (unsigned i = 0; i < sizeof(l4_rows) / sizeof(l4_rows[0]); i++)
		if (l4_rows[i].proto == p->proto)
			row = &l4_rows[i];
	if (!row || is_later_fragment(ip, p))
		return change;
	change.pseudo = row->pseudo;
	change.optional = row->optional;
	change.cksum_at = l4 + row->cksum_at;
	if (change.cksum_at + 2 <= p->user_bytes)
		change.cksum = ip + change.cksum_at;
	at = with_port ? port_at(row, p, side) : NOT_THERE;
	if (at != NOT_THERE && l4 + at + 2 <= p->user_bytes)
		change.port = ip + l4 + at;
	return change;
}

// Gives what all changes together add to a sum around the packet.
static uint64_t change_write(uint8_t *ip, struct pkt *p, enum translate_side side,
			     const struct translation *to, const struct l4_change *change)
{
	uint64_t addr = addr_write(ip, p->family, side, to->addr), port = 0, around = addr;

	if (p->family == 4)
		around += cksum_write(ip + offsetof(struct ip4_head, cksum), addr, false);
	if (change->port) {
		port = word_write(change->port, rte_cpu_to_be_16(to->port));
		if (p->proto == IPPROTO_TCP || p->proto == IPPROTO_UDP)
			*(side == TRANSLATE_SOURCE ? &p->sport : &p->dport) = to->port;
	}
	if (change->cksum)
		around += cksum_write(change->cksum, port + (change->pseudo ? addr : 0),
				      change->optional);
	return around + port;
}

bool translate_packet(uint8_t *user, struct pkt *p, enum translate_side side,
		      const struct translation *to)
{
	struct l4_change change = l4_change_of(user, p, side, to->with_port);

	if (change.cksum_at && !change.cksum && (change.pseudo || change.port))
		return false;
	change_write(user, p, side, to, &change);
	return true;
}

void translate_error(uint8_t *user, const struct pkt *p, struct pkt *quoted,
		     enum translate_side side, const struct translation *to)
{
	enum translate_side other = side == TRANSLATE_SOURCE ? TRANSLATE_DESTINATION
							     : TRANSLATE_SOURCE;
	uint8_t *quote = user + (quoted->user - p->user);
	bool same = memcmp(addr_at(user, p->family, side), addr_at(quote, p->family, other),
			   ip_address_bytes(p->family)) == 0;
	struct l4_change change = l4_change_of(quote, quoted, other, to->with_port);
	uint64_t inside = change_write(quote, quoted, other, to, &change);
	uint64_t addr = same ? addr_write(user, p->family, side, to->addr) : 0;

	if (p->family == 4)
		cksum_write(user + offsetof(struct ip4_head, cksum), addr, false);
	cksum_write(user + (p->l4 - p->user) + 2, inside + (p->family == 6 ? addr : 0), false);
}
