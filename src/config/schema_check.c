// Checks of texts, see schema_check.h.
// Pure functions, any thread.

#include "config/schema_check.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/addr.h"

// Every byte of text is a letter, a digit or one of `others`.
static bool schema_only(const char *text, const char *others)
{
	for (; *text; text++) {
		if (!isalnum((unsigned char)*text) && strchr(others, *text) == NULL)
			return false;
	}
	return true;
}

// Labels of letters, digits and inner hyphens (RFC 1123 2.1), with dots between.
static bool schema_is_name(const char *text)
{
	size_t label = 0; // its length so far

	for (const char *c = text;; c++) {
		if (*c == '.' || *c == '\0') {
			if (label == 0 || label > 63 || c[-1] == '-')
				return false;
			if (*c == '\0')
				return true;
			label = 0;
			continue;
		}
		if (!isalnum((unsigned char)*c) && (*c != '-' || label == 0))
			return false;
		label++;
	}
}

const char *schema_check_node_id(const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr) == 0) {
		if (addr_is_unspecified(&addr) || addr_is_multicast(&addr))
			return "is not the address of a node";
		return NULL;
	}
	// What has digits only was meant to be an address.
	if (!schema_is_name(text) || strspn(text, "0123456789.") == strlen(text))
		return "is neither an address nor a domain name";
	return NULL;
}

const char *schema_check_name(const char *text)
{
	return schema_is_name(text) ? NULL : "is not a name of letters, digits, '-' and '.'";
}

const char *schema_check_iface_name(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) &&
		    strchr("_-", *c) == NULL)
			return "may have a-z, 0-9, '_' and '-' only";
	}
	return *text ? NULL : "must not be empty";
}

const char *schema_check_device(const char *text)
{
	return *text ? NULL : "must not be empty";
}

const char *schema_check_ni_name(const char *text)
{
	return *text && strchr(text, ' ') == NULL ? NULL : "must be a name without spaces";
}

const char *schema_check_file_prefix(const char *text)
{
	return *text && schema_only(text, "_-") ? NULL
						: "may have letters, digits, '_' and '-' only";
}

const char *schema_check_path(const char *text)
{
	return *text == '/' && text[1] ? NULL : "must be an absolute path";
}

const char *schema_check_group(const char *text)
{
	return schema_only(text, "_-.") ? NULL : "is not the name of a group";
}
