// Framed routes: prefixes behind a UE, in the text of RADIUS (RFC 2865 5.22, RFC 3162 2.5; TS 29.244 8.2.109).
//
// Pure functions, any thread.

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define FRAMED_TEXT_MAX 253 // octets of a RADIUS attribute

// "address[/length] [gateway [metric …]]" of this family. The gateway is the UE whatever is named, and there is
// one way to each route, so both only have to be well formed. An IPv4 address without a length is a network of
// its class; host bits are cleared. 0, or -EINVAL with the reason in *ret_why.
int framed_parse(const char *text, size_t len, uint8_t family, struct prefix *ret,
		 const char **ret_why);
