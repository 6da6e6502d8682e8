// IP addresses, prefixes and endpoints, see addr.h. Any thread.
//
// inet_pton and inet_ntop know the forms of addresses (RFC 4291, RFC 5952); lengths and ports are
// read here, as digits alone.

#include "base/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

struct addr addr_v4(uint32_t v4_be)
{
	return (struct addr){.family = ADDR_V4, .v4 = v4_be};
}

struct addr addr_v6(const uint8_t v6[16])
{
	struct addr a = {.family = ADDR_V6};

	memcpy(a.v6, v6, sizeof(a.v6));
	return a;
}

// The address's bytes in network order, and how many.
static const uint8_t *addr_bytes(const struct addr *addr, unsigned *ret_n)
{
	*ret_n = addr_bits(addr) / 8;
	return addr->family == ADDR_V4 ? (const uint8_t *)&addr->v4 : addr->v6;
}

int addr_parse(const char *text, struct addr *ret_addr)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		*ret_addr = addr_v4(v4.s_addr);
	else if (inet_pton(AF_INET6, text, &v6) == 1)
		*ret_addr = addr_v6(v6.s6_addr);
	else
		return -EINVAL;
	return 0;
}

// A decimal number of digits alone, up to max.
static int addr_number(const char *text, unsigned max, unsigned *ret_number)
{
	unsigned n = 0;

	if (*text == '\0' || (text[0] == '0' && text[1] != '\0'))
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		n = n * 10 + (unsigned)(*text - '0');
		if (n > max)
			return -EINVAL;
	}
	*ret_number = n;
	return 0;
}

// Parses the address in the first len bytes of text.
static int addr_parse_part(const char *text, size_t len, struct addr *ret_addr)
{
	char buf[ADDR_STRLEN];

	if (len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = '\0';
	return addr_parse(buf, ret_addr);
}

int prefix_parse(const char *text, struct prefix *ret_prefix)
{
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	struct addr addr;
	unsigned len;

	if (addr_parse_part(text, n, &addr) < 0)
		return -EINVAL;
	len = addr_bits(&addr);
	if (slash && addr_number(slash + 1, len, &len) < 0)
		return -EINVAL;
	*ret_prefix = (struct prefix){.addr = addr, .len = (uint8_t)len};
	return 0;
}

int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *ret_endpoint)
{
	const char *start = text, *end, *colon;
	uint8_t family = ADDR_NONE;
	unsigned port = default_port;
	struct addr addr;

	if (*text == '[') {
		start = text + 1;
		end = strchr(start, ']');
		if (end == NULL)
			return -EINVAL;
		colon = end + 1;
		family = ADDR_V6;
	} else if ((colon = strchr(text, ':')) && strchr(colon + 1, ':') == NULL) {
		end = colon;
		family = ADDR_V4;
	} else {
		end = text + strlen(text); // an address alone
		colon = end;
	}

	if (addr_parse_part(start, (size_t)(end - start), &addr) < 0)
		return -EINVAL;
	if (family != ADDR_NONE && addr.family != family)
		return -EINVAL;
	if (*colon != '\0' && (*colon != ':' || addr_number(colon + 1, UINT16_MAX, &port) < 0))
		return -EINVAL;
	*ret_endpoint = (struct endpoint){.addr = addr, .port = (uint16_t)port};
	return 0;
}

char *addr_str(char buf[ADDR_STRLEN], const struct addr *addr)
{
	if (addr->family == ADDR_V4)
		inet_ntop(AF_INET, &addr->v4, buf, ADDR_STRLEN);
	else if (addr->family == ADDR_V6)
		inet_ntop(AF_INET6, addr->v6, buf, ADDR_STRLEN);
	else
		strcpy(buf, "none");
	return buf;
}

char *prefix_str(char buf[PREFIX_STRLEN], const struct prefix *prefix)
{
	addr_str(buf, &prefix->addr);
	if (prefix->addr.family != ADDR_NONE) {
		size_t n = strlen(buf);
		snprintf(buf + n, PREFIX_STRLEN - n, "/%u", prefix->len);
	}
	return buf;
}

char *endpoint_str(char buf[ENDPOINT_STRLEN], const struct endpoint *endpoint)
{
	char addr[ADDR_STRLEN];

	addr_str(addr, &endpoint->addr);
	if (endpoint->addr.family == ADDR_NONE)
		strcpy(buf, addr);
	else if (endpoint->addr.family == ADDR_V6)
		snprintf(buf, ENDPOINT_STRLEN, "[%s]:%u", addr, endpoint->port);
	else
		snprintf(buf, ENDPOINT_STRLEN, "%s:%u", addr, endpoint->port);
	return buf;
}

int addr_cmp(const struct addr *a, const struct addr *b)
{
	const uint8_t *ab, *bb;
	unsigned n;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	ab = addr_bytes(a, &n);
	bb = addr_bytes(b, &n);
	return n ? memcmp(ab, bb, n) : 0;
}

bool addr_eq(const struct addr *a, const struct addr *b)
{
	return addr_cmp(a, b) == 0;
}

bool prefix_eq(const struct prefix *a, const struct prefix *b)
{
	return a->len == b->len && addr_eq(&a->addr, &b->addr);
}

bool prefixes_have(const struct prefix *prefixes, unsigned n, const struct prefix *prefix)
{
	for (unsigned i = 0; i < n; i++)
		if (prefix_eq(&prefixes[i], prefix))
			return true;
	return false;
}

bool endpoint_eq(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && addr_eq(&a->addr, &b->addr);
}

bool addr_is_unspecified(const struct addr *addr)
{
	static const uint8_t zeros[16];
	unsigned n;
	const uint8_t *bytes = addr_bytes(addr, &n);

	return n && memcmp(bytes, zeros, n) == 0;
}

bool addr_is_multicast(const struct addr *addr)
{
	if (addr->family == ADDR_V4)
		return (ntohl(addr->v4) >> 28) == 0xe;
	return addr->family == ADDR_V6 && addr->v6[0] == 0xff;
}

bool addr_is_link_local(const struct addr *addr)
{
	if (addr->family == ADDR_V4)
		return (ntohl(addr->v4) >> 16) == 0xa9fe;
	return addr->family == ADDR_V6 && addr->v6[0] == 0xfe && (addr->v6[1] & 0xc0) == 0x80;
}

uint8_t addr_bits(const struct addr *addr)
{
	return addr->family == ADDR_V4 ? 32 : addr->family == ADDR_V6 ? 128 : 0;
}

struct addr addr_mask(const struct addr *addr, uint8_t len)
{
	struct addr masked = *addr;
	unsigned n;
	uint8_t *bytes = (uint8_t *)(uintptr_t)addr_bytes(&masked, &n);

	for (unsigned i = 0; i < n; i++) {
		unsigned first = i * 8; // the number of bits before this byte

		if (len <= first)
			bytes[i] = 0;
		else if (len - first < 8)
			bytes[i] &= (uint8_t)(0xff00u >> (len - first));
	}
	return masked;
}

bool prefix_contains(const struct prefix *prefix, const struct addr *addr)
{
	struct addr net, other;

	if (prefix->addr.family == ADDR_NONE || prefix->addr.family != addr->family)
		return false;
	net = addr_mask(&prefix->addr, prefix->len);
	other = addr_mask(addr, prefix->len);
	return addr_eq(&net, &other);
}

bool prefix_overlaps(const struct prefix *a, const struct prefix *b)
{
	return a->len <= b->len ? prefix_contains(a, &b->addr) : prefix_contains(b, &a->addr);
}

bool prefix_is_network(const struct prefix *prefix)
{
	struct addr net = addr_mask(&prefix->addr, prefix->len);

	return addr_eq(&net, &prefix->addr);
}

socklen_t endpoint_to_sockaddr(const struct endpoint *endpoint, struct sockaddr_storage *ret_sa)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(endpoint->port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(endpoint->port)};

	memset(ret_sa, 0, sizeof(*ret_sa));
	if (endpoint->addr.family == ADDR_V4) {
		in.sin_addr.s_addr = endpoint->addr.v4;
		memcpy(ret_sa, &in, sizeof(in));
		return sizeof(in);
	}
	if (endpoint->addr.family == ADDR_V6) {
		memcpy(in6.sin6_addr.s6_addr, endpoint->addr.v6, 16);
		memcpy(ret_sa, &in6, sizeof(in6));
		return sizeof(in6);
	}
	return 0;
}

int endpoint_from_sockaddr(const struct sockaddr *sa, struct endpoint *ret_endpoint)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		*ret_endpoint = (struct endpoint){.addr = addr_v4(in.sin_addr.s_addr),
						  .port = ntohs(in.sin_port)};
		return 0;
	}
	if (sa->sa_family == AF_INET6) {
		memcpy(&in6, sa, sizeof(in6));
		*ret_endpoint = (struct endpoint){.addr = addr_v6(in6.sin6_addr.s6_addr),
						  .port = ntohs(in6.sin6_port)};
		return 0;
	}
	return -EAFNOSUPPORT;
}
