// IP addresses, prefixes and endpoints as values: parse, print, compare.
//
// Pure functions, any thread. Every maker leaves unused bytes zero, so these structs may be hashed
// and compared as bytes.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum addr_family {
	ADDR_NONE = 0,
	ADDR_V4 = 4,
	ADDR_V6 = 6,
};

struct addr {
	uint8_t family; // enum addr_family
	uint8_t zero[3];
	union {
		uint32_t v4; // network order
		uint8_t v6[16];
	};
};

// len counts bits; the address may have bits beyond it (10.0.0.1/24 names a host and its net).
struct prefix {
	struct addr addr;
	uint8_t len;
	uint8_t zero[3];
};

struct endpoint {
	struct addr addr;
	uint16_t port; // host order
	uint8_t zero[2];
};

_Static_assert(sizeof(struct addr) == 20, "no hidden padding");
_Static_assert(sizeof(struct prefix) == 24, "no hidden padding");
_Static_assert(sizeof(struct endpoint) == 24, "no hidden padding");

#define ADDR_STRLEN 46                    // of the longest IPv6 address, with its NUL
#define PREFIX_STRLEN (ADDR_STRLEN + 4)   // "/128"
#define ENDPOINT_STRLEN (ADDR_STRLEN + 8) // "[]:65535"

struct addr addr_v4(uint32_t v4_be);
struct addr addr_v6(const uint8_t v6[16]);

// Parsers take the whole text, give 0 or -EINVAL, and write only on success.
int addr_parse(const char *text, struct addr *ret_addr);

// "address/len", or an address alone for its full length.
int prefix_parse(const char *text, struct prefix *ret_prefix);

// "a.b.c.d:port", "[v6]:port", or an address alone (IPv6 with or without []) for default_port.
int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *ret_endpoint);

// Printers fill and return buf; ADDR_NONE prints as "none".
char *addr_str(char buf[ADDR_STRLEN], const struct addr *addr);
char *prefix_str(char buf[PREFIX_STRLEN], const struct prefix *prefix);
char *endpoint_str(char buf[ENDPOINT_STRLEN], const struct endpoint *endpoint);

bool addr_eq(const struct addr *a, const struct addr *b);
bool prefix_eq(const struct prefix *a, const struct prefix *b);
// Whether one of n prefixes equals this one.
bool prefixes_have(const struct prefix *prefixes, unsigned n, const struct prefix *prefix);
bool endpoint_eq(const struct endpoint *a, const struct endpoint *b);

// Orders by family, then as unsigned network-order numbers: below, at or above 0.
int addr_cmp(const struct addr *a, const struct addr *b);

bool addr_is_unspecified(const struct addr *addr); // 0.0.0.0, ::
bool addr_is_multicast(const struct addr *addr);   // 224.0.0.0/4, ff00::/8
bool addr_is_link_local(const struct addr *addr);  // 169.254.0.0/16, fe80::/10

// Bits in an address of this family: 32, 128, or 0 for ADDR_NONE.
uint8_t addr_bits(const struct addr *addr);

// The address with all bits beyond the first len cleared.
struct addr addr_mask(const struct addr *addr, uint8_t len);

// False for another family.
bool prefix_contains(const struct prefix *prefix, const struct addr *addr);
bool prefix_overlaps(const struct prefix *a, const struct prefix *b);

// Whether no bit is set beyond the prefix's length.
bool prefix_is_network(const struct prefix *prefix);

// To and from the kernel's form. endpoint_to_sockaddr gives the length of what it wrote, 0 for
// ADDR_NONE; endpoint_from_sockaddr gives -EAFNOSUPPORT for what is not IP.
socklen_t endpoint_to_sockaddr(const struct endpoint *endpoint, struct sockaddr_storage *ret_sa);
int endpoint_from_sockaddr(const struct sockaddr *sa, struct endpoint *ret_endpoint);
