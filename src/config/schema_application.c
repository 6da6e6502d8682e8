// The keys of an application (schema.h). Constant: any thread.
//
// A flow description is parsed here already, so that one that is wrong is found with its line, before anything
// starts.

#include <string.h>

#include "config/config.h"
#include "config/schema_row.h"
#include "rules/sdf.h"

static const char *schema_check_app_name(const char *text)
{
	return *text ? NULL : "must not be empty";
}

static const char *schema_check_flow(const char *text)
{
	const char *why = NULL;
	struct sdf sdf = {0};

	return sdf_parse(text, strlen(text), &sdf, &why) == 0 ? NULL : why;
}

const struct schema_key schema_application[] = {
	{.name = "name",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_application, name),
	 .check = schema_check_app_name,
	 .sample = {"resolver"},
	 .help = "The Application ID. Several elements with one name describe one application."},
	{.name = "flow",
	 .type = SCHEMA_TEXT,
	 .required = true,
	 FIELD(config_application, flow),
	 .check = schema_check_flow,
	 .sample = {"permit out 17 from 198.51.100.53 53 to assigned"},
	 .help = "A flow description (TS 29.212 5.4.2), from the network's side to the UE's, which is "
		 "\"assigned\". It is for packets of both directions."},
	{0},
};
