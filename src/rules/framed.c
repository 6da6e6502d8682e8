// Framed routes, see framed.h.
// Pure functions: the text is read word by word.

#include "rules/framed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BLANKS " \t"

static int bad(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EINVAL;
}

// The length that RFC 2865 gives to an address without one.
static uint8_t class_len(const struct addr *addr)
{
	uint8_t first = (uint8_t)(ntohl(addr->v4) >> 24);

	return first < 128 ? 8 : first < 192 ? 16 : 24;
}

static int prefix_read(const char *word, uint8_t family, struct prefix *ret, const char **ret_why)
{
	if (prefix_parse(word, ret) < 0)
		return bad(ret_why, "framed route that does not begin with a prefix");
	if (ret->addr.family != family)
		return bad(ret_why, "framed route of the other family");
	if (!strchr(word, '/')) {
		if (family == ADDR_V6)
			return bad(ret_why, "framed IPv6 route without a length");
		ret->len = class_len(&ret->addr);
	}
	ret->addr = addr_mask(&ret->addr, ret->len);
	if (ret->len == 0)
		return bad(ret_why, "framed route to everything");
	if (addr_is_unspecified(&ret->addr) || addr_is_multicast(&ret->addr) ||
	    addr_is_link_local(&ret->addr))
		return bad(ret_why, "framed route to what is no network behind a UE");
	return 0;
}

static bool is_gateway(const char *word, uint8_t family)
{
	struct addr addr;

	return addr_parse(word, &addr) == 0 && addr.family == family;
}

static bool is_number(const char *word)
{
	size_t digits = strspn(word, "0123456789");

	return digits > 0 && digits <= 10 && word[digits] == '\0';
}

int framed_parse(const char *text, size_t len, uint8_t family, struct prefix *ret,
		 const char **ret_why)
{
	char copy[FRAMED_TEXT_MAX + 1], *rest, *word;
	struct prefix prefix = {0};

	if (len == 0 || len > FRAMED_TEXT_MAX)
		return bad(ret_why, "framed route of no or too many octets");
	if (memchr(text, '\0', len))
		return bad(ret_why, "framed route with a NUL in it");
	memcpy(copy, text, len);
	copy[len] = '\0';
	word = strtok_r(copy, BLANKS, &rest);
	if (!word || prefix_read(word, family, &prefix, ret_why) < 0)
		return word ? -EINVAL : bad(ret_why, "framed route of blanks");
	word = strtok_r(NULL, BLANKS, &rest);
	if (word && !is_gateway(word, family))
		return bad(ret_why, "framed route whose gateway is no address of its family");
	while (word && (word = strtok_r(NULL, BLANKS, &rest)) != NULL)
		if (!is_number(word))
			return bad(ret_why, "framed route whose metric is no number");
	*ret = prefix;
	return 0;
}
