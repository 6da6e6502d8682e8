// What the rows of schema.c ask of texts: each function says what is wrong with one, or NULL.
//
// Pure functions, any thread.

#pragma once

const char *schema_check_node_id(const char *text);
const char *schema_check_name(const char *text);
const char *schema_check_iface_name(const char *text);
const char *schema_check_device(const char *text);
const char *schema_check_ni_name(const char *text);
const char *schema_check_file_prefix(const char *text);
const char *schema_check_path(const char *text);
const char *schema_check_group(const char *text);
