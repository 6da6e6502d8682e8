// The kinds of keys, a row each (flow_key.h): whose packets they are of, what stands in the ports, how it is shown.
// Any thread, pure.

#include "session/flow_key.h"

#include <netinet/in.h>

#include "base/addr.h"
#include "packet/icmp.h"

struct flow_kind {
	const char *name;
	// Fills the ports where the packet is of this kind.
	bool (*extract)(const struct pkt *p, const uint8_t *user, bool up, struct flow_key *key);
	// Whether a key is of this kind. NULL: none is, packets of it have other packets' keys.
	bool (*is)(const struct flow_key *key);
	// What is shown behind the addresses; `v6` where they are.
	void (*print)(const struct flow_key *key, bool v6, struct strbuf *ue,
		      struct strbuf *remote);
};

static bool is_icmp(uint8_t proto)
{
	return proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;
}

static void addr_add(struct strbuf *to, const struct flow_key *key, bool v6, bool of_ue)
{
	struct addr addr = v6 ? addr_v6(of_ue ? key->v6.ue : key->v6.remote)
			      : addr_v4(of_ue ? key->v4.ue : key->v4.remote);
	char text[ADDR_STRLEN];

	strbuf_add_str(to, addr_str(text, &addr));
}

// --- error -----------------------------------------------------------------------------------------------

// What is quoted went the other way. An error about an error is nobody's.
static bool error_extract(const struct pkt *p, const uint8_t *user, bool up, struct flow_key *key)
{
	struct pkt quoted;

	if (!icmp_is_error(p) || !icmp_quote_read(user, p, &quoted) || icmp_is_error(&quoted))
		return false;
	flow_key_of(&quoted, user + (quoted.user - p->user), !up, flow_key_context(key), key);
	return true;
}

// --- tuple -----------------------------------------------------------------------------------------------

static bool tuple_extract(const struct pkt *p, const uint8_t *user, bool up, struct flow_key *key)
{
	if ((p->flags & PKT_F_NO_L4) || is_icmp(p->proto))
		return false;
	key->ue_port = up ? p->sport : p->dport;
	key->remote_port = up ? p->dport : p->sport;
	return true;
}

static bool tuple_is(const struct flow_key *key)
{
	return (key->ue_port | key->remote_port) && !is_icmp(flow_key_proto(key));
}

static void port_addr_add(struct strbuf *to, const struct flow_key *key, bool v6, bool of_ue)
{
	strbuf_add_str(to, v6 ? "[" : "");
	addr_add(to, key, v6, of_ue);
	strbuf_add_str(to, v6 ? "]" : "");
	strbuf_printf(to, ":%u", of_ue ? key->ue_port : key->remote_port);
}

static void tuple_print(const struct flow_key *key, bool v6, struct strbuf *ue,
			struct strbuf *remote)
{
	port_addr_add(ue, key, v6, true);
	port_addr_add(remote, key, v6, false);
}

// --- echo ------------------------------------------------------------------------------------------------

// Of a first fragment the identifier may be missing.
static bool echo_extract(const struct pkt *p, const uint8_t *user, bool up, struct flow_key *key)
{
	unsigned at = (unsigned)(p->l4 - p->user);
	uint8_t type = (uint8_t)(p->dport >> 8);
	bool asks = type == (p->family == 4 ? ICMP4_TYPE_ECHO : ICMP6_TYPE_ECHO);
	bool answers = type == (p->family == 4 ? ICMP4_TYPE_REPLY : ICMP6_TYPE_REPLY);

	if ((p->flags & PKT_F_NO_L4) || !(asks || answers) || at + ICMP_BYTES > p->user_bytes)
		return false;
	key->ue_port = be16_get(user + at + 4);
	key->remote_port = asks == up ? FLOW_ECHO_BY_UE : FLOW_ECHO_BY_REMOTE;
	return true;
}

static bool echo_is(const struct flow_key *key)
{
	return is_icmp(flow_key_proto(key)) && key->remote_port;
}

static void echo_print(const struct flow_key *key, bool v6, struct strbuf *ue,
		       struct strbuf *remote)
{
	bool by_ue = key->remote_port == FLOW_ECHO_BY_UE;

	addr_add(ue, key, v6, true);
	addr_add(remote, key, v6, false);
	strbuf_printf(by_ue ? ue : remote, " id %u", key->ue_port);
}

// --- pair ------------------------------------------------------------------------------------------------

static bool pair_extract(const struct pkt *p, const uint8_t *user, bool up, struct flow_key *key)
{
	return true;
}

static bool pair_is(const struct flow_key *key)
{
	return true;
}

static void pair_print(const struct flow_key *key, bool v6, struct strbuf *ue,
		       struct strbuf *remote)
{
	addr_add(ue, key, v6, true);
	addr_add(remote, key, v6, false);
}

// --- the table -------------------------------------------------------------------------------------------

// The first that takes a packet, or a key, is its kind. Both ports 0 make a pair of what has ports, too.
static const struct flow_kind kinds[] = {
	{"error", error_extract, NULL, NULL},
	{"tuple", tuple_extract, tuple_is, tuple_print},
	{"echo", echo_extract, echo_is, echo_print},
	{"pair", pair_extract, pair_is, pair_print},
};

static const struct flow_kind *kind_of(const struct flow_key *key)
{
	const struct flow_kind *kind = kinds;

	while (!kind->is || !kind->is(key))
		kind++;
	return kind;
}

bool flow_key_rare(const struct pkt *p, const uint8_t *user, bool up, struct flow_key *key)
{
	const struct flow_kind *kind = kinds;

	while (!kind->extract(p, user, up, key))
		kind++;
	return !kind->is;
}

const char *flow_key_kind(const struct flow_key *key)
{
	return kind_of(key)->name;
}

void flow_key_print(const struct flow_key *key, bool v6, struct strbuf *ue, struct strbuf *remote)
{
	kind_of(key)->print(key, v6, ue, remote);
}
