// The table of kinds (key_kind.h), and the rows of the tree.
// Any thread, but for its making; pure.

#include "session/key_kind.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/addr.h"
#include "packet/icmp.h"

static bool is_icmp(uint8_t proto)
{
	return proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;
}

void key_address_add(struct strbuf *to, const struct flow_key *key, bool v6, bool of_ue)
{
	struct addr addr = v6 ? addr_v6(of_ue ? key->v6.ue : key->v6.remote)
			      : addr_v4(of_ue ? key->v4.ue : key->v4.remote);
	char text[ADDR_STRLEN];

	strbuf_add_str(to, addr_str(text, &addr));
}

static void addresses_print(const struct flow_key *key, bool v6, struct strbuf *ue,
			    struct strbuf *remote)
{
	key_address_add(ue, key, v6, true);
	key_address_add(remote, key, v6, false);
}

// --- kinds that lead to sessions -------------------------------------------------------------------------

// The tunnel's own addresses: ours at the UE's side, the sender's at the other.
static bool teid_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	const uint8_t *outer = user - p->user + p->outer;
	const struct pkt tunnel = {.family = *outer >> 4, .proto = IPPROTO_UDP};

	flow_key_addresses(&tunnel, outer, false, p->iface, key);
	flow_key_number_set(key, p->teid);
	return true;
}

static void teid_print(const struct flow_key *key, bool v6, struct strbuf *ue,
		       struct strbuf *remote)
{
	strbuf_printf(ue, "0x%08x at ", flow_key_number(key));
	addresses_print(key, v6, ue, remote);
}

static bool ue_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	flow_key_addresses(p, user, false, p->iface, key);
	return true;
}

static bool outside_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	flow_key_of(p, user, false, p->iface, key);
	return true;
}

// --- error -----------------------------------------------------------------------------------------------

// What is quoted went the other way. An error about an error is nobody's.
static bool error_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	struct pkt quoted;

	if (!icmp_is_error(p) || !icmp_quote_read(user, p, &quoted) || icmp_is_error(&quoted))
		return false;
	flow_key_of(&quoted, user + (quoted.user - p->user), false, flow_key_context(key), key);
	return true;
}

// The quoted packet's whole key turns around.
static void error_normalise(struct flow_key *key, bool v6)
{
	const struct key_kind *kind = key_kind_at(key_kind_of(key));
	struct flow_key was = *key;

	if (v6) {
		memcpy(key->v6.ue, was.v6.remote, sizeof(key->v6.ue));
		memcpy(key->v6.remote, was.v6.ue, sizeof(key->v6.remote));
	} else {
		key->v4.ue = was.v4.remote;
		key->v4.remote = was.v4.ue;
	}
	if (kind->normalise)
		kind->normalise(key, v6);
}

// --- tuple -----------------------------------------------------------------------------------------------

static bool tuple_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	if ((p->flags & PKT_F_NO_L4) || is_icmp(p->proto))
		return false;
	key->ue_port = p->sport;
	key->remote_port = p->dport;
	return true;
}

static void tuple_normalise(struct flow_key *key, bool v6)
{
	uint16_t ue_port = key->ue_port;

	key->ue_port = key->remote_port;
	key->remote_port = ue_port;
}

static bool tuple_is(const struct flow_key *key)
{
	return (key->ue_port | key->remote_port) && !is_icmp(flow_key_proto(key));
}

static void port_address_add(struct strbuf *to, const struct flow_key *key, bool v6, bool of_ue)
{
	strbuf_add_str(to, v6 ? "[" : "");
	key_address_add(to, key, v6, of_ue);
	strbuf_add_str(to, v6 ? "]" : "");
	strbuf_printf(to, ":%u", of_ue ? key->ue_port : key->remote_port);
}

static void tuple_print(const struct flow_key *key, bool v6, struct strbuf *ue,
			struct strbuf *remote)
{
	port_address_add(ue, key, v6, true);
	port_address_add(remote, key, v6, false);
}

// --- echo ------------------------------------------------------------------------------------------------

// Of a first fragment the identifier may be missing.
static bool echo_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	unsigned at = (unsigned)(p->l4 - p->user);
	uint8_t type = (uint8_t)(p->dport >> 8);
	bool asks = type == (p->family == 4 ? ICMP4_TYPE_ECHO : ICMP6_TYPE_ECHO);
	bool answers = type == (p->family == 4 ? ICMP4_TYPE_REPLY : ICMP6_TYPE_REPLY);

	if ((p->flags & PKT_F_NO_L4) || !(asks || answers) || at + ICMP_BYTES > p->user_bytes)
		return false;
	key->ue_port = be16_get(user + at + 4);
	key->remote_port = asks ? KEY_ECHO_BY_UE : KEY_ECHO_BY_REMOTE;
	return true;
}

static void echo_normalise(struct flow_key *key, bool v6)
{
	key->remote_port ^= KEY_ECHO_BY_UE ^ KEY_ECHO_BY_REMOTE;
}

static bool echo_is(const struct flow_key *key)
{
	return is_icmp(flow_key_proto(key)) && key->remote_port;
}

static void echo_print(const struct flow_key *key, bool v6, struct strbuf *ue,
		       struct strbuf *remote)
{
	addresses_print(key, v6, ue, remote);
	strbuf_printf(key->remote_port == KEY_ECHO_BY_UE ? ue : remote, " id %u", key->ue_port);
}

// --- pair ------------------------------------------------------------------------------------------------

static bool pair_extract(const struct pkt *p, const uint8_t *user, struct flow_key *key)
{
	return true;
}

static bool pair_is(const struct flow_key *key)
{
	return true;
}

// --- the table -------------------------------------------------------------------------------------------

// Both ports 0 make a pair of what has ports, too: where none is another's, pair is everyone's.
static const struct key_kind own[KEY_KINDS_OWN] = {
	[KEY_KIND_teid] = {"teid", teid_extract, NULL, NULL, teid_print,
			   "the TEID of a tunnel, and the address that it came to"},
	[KEY_KIND_ue] = {"ue", ue_extract, NULL, NULL, addresses_print, "the address of a UE"},
	[KEY_KIND_outside] = {"outside", outside_extract, NULL, NULL, flow_key_print,
			      "address and port, or echo identifier, of a UE behind NAT"},
	[KEY_KIND_pair] = {"pair", pair_extract, NULL, pair_is, addresses_print,
			   "addresses and protocol of what has nothing more"},
	[KEY_KIND_echo] = {"echo", echo_extract, echo_normalise, echo_is, echo_print,
			   "addresses and identifier of a ping, and who asks"},
	[KEY_KIND_tuple] = {"tuple", tuple_extract, tuple_normalise, tuple_is, tuple_print,
			    "addresses, ports and protocol"},
	[KEY_KIND_error] = {"error", error_extract, error_normalise, NULL, NULL,
			    "the key of the packet that an ICMP error is about"},
};

// Written at start.
static const struct key_kind *brought[KEY_KINDS_BROUGHT];
static unsigned n_brought;

unsigned key_kinds(void)
{
	return KEY_KINDS_OWN + n_brought;
}

const struct key_kind *key_kind_at(unsigned number)
{
	return number < KEY_KINDS_OWN ? &own[number] : brought[number - KEY_KINDS_OWN];
}

__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t why_bytes,
							const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, why_bytes, fmt, args);
	va_end(args);
	return -EINVAL;
}

static bool has_name(const char *name)
{
	for (unsigned i = 0; i < key_kinds(); i++)
		if (strcmp(key_kind_at(i)->name, name) == 0)
			return true;
	return false;
}

int key_kinds_init(const struct key_kind *const kinds[], unsigned n, char *why, size_t why_bytes)
{
	n_brought = 0;
	if (n > KEY_KINDS_BROUGHT)
		return refuse(why, why_bytes, "%u kinds of keys, services may bring %d", n,
			      KEY_KINDS_BROUGHT);
	for (unsigned i = 0; i < n; i++) {
		const struct key_kind *kind = kinds[i];

		if (!kind->name || !kind->extract || !kind->is || !kind->print)
			return refuse(why, why_bytes,
				      "kind of keys %s: needs name, extract, is and print",
				      kind->name ? kind->name : "without a name");
		if (has_name(kind->name))
			return refuse(why, why_bytes, "kind of keys %s: there is one already",
				      kind->name);
		brought[n_brought++] = kind;
	}
	return 0;
}

unsigned key_kind_of(const struct flow_key *key)
{
	unsigned number = key_kinds() - 1;

	while (!key_kind_at(number)->is || !key_kind_at(number)->is(key))
		number--;
	return number;
}

bool flow_key_rare(const struct pkt *p, const uint8_t *user, bool up, struct flow_key *key)
{
	const struct key_kind *kind;
	unsigned number = key_kinds();

	do
		kind = key_kind_at(--number);
	while (!kind->extract(p, user, key));
	if (!up && kind->normalise)
		kind->normalise(key, p->family == 6);
	return number == KEY_KIND_error;
}

const char *flow_key_kind(const struct flow_key *key)
{
	return key_kind_at(key_kind_of(key))->name;
}

void flow_key_print(const struct flow_key *key, bool v6, struct strbuf *ue, struct strbuf *remote)
{
	key_kind_at(key_kind_of(key))->print(key, v6, ue, remote);
}

// Of a quote that was cut short less is there than its header says, so this asks the header alone.
static bool is_later(const struct pkt *p, const uint8_t *user)
{
	struct ip6_end end;

	if (!(p->flags & PKT_F_FRAGMENT))
		return false;
	if (p->family == 4)
		return ((const struct ip4_head *)user)->fragment & RTE_BE16(IP4_OFFSET_MASK);
	return ip6_walk((const struct ip6_head *)user, p->user_bytes, &end) != DROP_NONE ||
	       end.later;
}

const uint8_t *key_l4(const struct pkt *p, const uint8_t *user, uint32_t bytes)
{
	uint32_t at = (uint32_t)(p->l4 - p->user);

	return at + bytes > p->user_bytes || is_later(p, user) ? NULL : user + at;
}
