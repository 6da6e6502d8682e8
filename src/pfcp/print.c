// PFCP messages as text, see pfcp/print.h. The values come from the same pass over layout.def that the
// decoders use.

#include "pfcp/print.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "pfcp/codec_layout.h"

#define DUMP_MAX 32  // octets of a value that are shown
#define TEXT_MAX 512 // characters of one

struct out {
	char *text;
	size_t size;
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) out_printf(struct out *o, const char *fmt, ...)
{
	size_t room = o->size - o->len;
	va_list args;
	int n;

	if (room <= 1)
		return;
	va_start(args, fmt);
	n = vsnprintf(o->text + o->len, room, fmt, args);
	va_end(args);
	if (n > 0)
		o->len += (size_t)n < room ? (size_t)n : room - 1;
}

static void out_hex(struct out *o, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len && i < DUMP_MAX; i++)
		out_printf(o, "%02x", data[i]);
	if (len > DUMP_MAX)
		out_printf(o, "...");
}

static void out_text(struct out *o, const uint8_t *data, size_t len)
{
	out_printf(o, "\"");
	for (size_t i = 0; i < len && i < TEXT_MAX; i++) {
		bool plain = data[i] >= ' ' && data[i] < 0x7f && data[i] != '"' && data[i] != '\\';

		out_printf(o, plain ? "%c" : "\\x%02x", data[i]);
	}
	out_printf(o, len > TEXT_MAX ? "...\"" : "\"");
}

static void out_name(struct out *o, const uint8_t *data, size_t len)
{
	char name[PFCP_NAME_MAX];

	if (pfcp_name_text(data, len, name, sizeof(name)) == 0)
		out_text(o, (const uint8_t *)name, __builtin_strlen(name));
	else
		out_hex(o, data, len);
}

// Digits, two an octet, low nibble first; 0xf fills the last.
static void out_bcd(struct out *o, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < 2 * len && i < DUMP_MAX; i++) {
		unsigned digit = data[i / 2] >> (i % 2 * 4) & 0xf;

		if (digit < 10)
			out_printf(o, "%u", digit);
	}
}

static void out_address(struct out *o, const uint8_t *data, size_t len)
{
	char text[INET6_ADDRSTRLEN];

	if (len != 4 && len != 16)
		out_hex(o, data, len);
	else if (inet_ntop(len == 4 ? AF_INET : AF_INET6, data, text, sizeof(text)))
		out_printf(o, "%s", text);
}

static void out_flags(struct out *o, const struct pfcp_flag_names *names, uint64_t number)
{
	const char *join = "";

	for (unsigned i = 0; i < names->count; i++) {
		if (!(number & 1ull << names->flags[i].bit))
			continue;
		out_printf(o, "%s%s", join, names->flags[i].name);
		join = "|";
		number &= ~(1ull << names->flags[i].bit);
	}
	if (number || !*join)
		out_printf(o, "%s0x%" PRIx64, join, number);
}

const char *pfcp_flag_str(uint16_t ie_type, unsigned bit)
{
	const struct pfcp_flag_names *names = pfcp_flag_names_get(ie_type);

	for (unsigned i = 0; i < names->count; i++) {
		if (names->flags[i].bit == bit)
			return names->flags[i].name;
	}
	return NULL;
}

static const char *value_str(uint16_t type, uint64_t number)
{
	const struct pfcp_value_names *names = pfcp_value_names_get(type);

	for (unsigned i = 0; i < names->count; i++)
		if (names->values[i].number == number)
			return names->values[i].name;
	return "?";
}

static void out_bits(struct out *o, uint16_t type, uint64_t number)
{
	out_printf(o, "%" PRIu64, number);
	if (pfcp_value_names_get(type)->count)
		out_printf(o, " (%s)", value_str(type, number));
}

static void out_timer(struct out *o, uint64_t octet)
{
	uint32_t seconds = pfcp_timer_seconds((uint8_t)octet);

	if (seconds == PFCP_TIMER_INFINITE)
		out_printf(o, "infinite");
	else
		out_printf(o, "%" PRIu32 " s", seconds);
}

// NTP seconds; 0 and times before 1970 are not dates.
static void out_time(struct out *o, uint64_t ntp_s)
{
	time_t unix_s = (time_t)ntp_s - PFCP_NTP_UNIX_OFFSET;
	struct tm tm;

	if (unix_s < 0 || gmtime_r(&unix_s, &tm) == NULL)
		out_printf(o, "%" PRIu64, ntp_s);
	else
		out_printf(o, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
			   tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void out_number(struct out *o, const struct pfcp_field *f, uint16_t names, uint64_t number)
{
	if (f->role == PFCP_ROLE_FLAGS || f->wire == PFCP_WIRE_FLAGS) {
		out_flags(o, pfcp_flag_names_get(names), number);
		return;
	}
	switch (f->wire) {
	case PFCP_WIRE_BITS:
		out_bits(o, names, number);
		break;
	case PFCP_WIRE_HEX16:
	case PFCP_WIRE_HEX24:
	case PFCP_WIRE_HEX32:
	case PFCP_WIRE_HEX64:
		out_printf(o, "0x%" PRIx64, number);
		break;
	case PFCP_WIRE_I32:
		out_printf(o, "%" PRId32, (int32_t)number);
		break;
	case PFCP_WIRE_I64:
		out_printf(o, "%" PRId64, (int64_t)number);
		break;
	case PFCP_WIRE_TYPE:
		out_printf(o, "%" PRIu64 " (%s)", number, pfcp_ie_type_str((uint16_t)number));
		break;
	case PFCP_WIRE_TIME:
		out_time(o, number);
		break;
	case PFCP_WIRE_TIMER:
		out_timer(o, number);
		break;
	case PFCP_WIRE_KBPS:
		out_printf(o, "%" PRIu64 " kb/s", number / 1000);
		break;
	default:
		out_printf(o, "%" PRIu64, number);
	}
}

static void out_octets(struct out *o, const struct pfcp_field *f, const struct pfcp_value *value)
{
	switch (f->wire) {
	case PFCP_WIRE_IP4:
	case PFCP_WIRE_IP6:
	case PFCP_WIRE_ADDRESS6:
		out_address(o, value->data, value->len);
		break;
	case PFCP_WIRE_TEXT:
	case PFCP_WIRE_TEXT8:
	case PFCP_WIRE_TEXT16:
		out_text(o, value->data, value->len);
		break;
	case PFCP_WIRE_NAME:
		out_name(o, value->data, value->len);
		break;
	case PFCP_WIRE_BCD8:
		out_bcd(o, value->data, value->len);
		break;
	default:
		out_hex(o, value->data, value->len);
	}
}

static void out_fields(struct out *o, const struct pfcp_ie *ie, const struct pfcp_layout *layout)
{
	struct pfcp_value values[PFCP_FIELDS_MAX];
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(ie->type);

	if (ie->len == 0 && info->least > 0) {
		out_printf(o, " empty");
		return;
	}
	if (ie->len < info->least ||
	    pfcp_fields_decode(layout, ie->type, pfcp_ie_members(ie), values) < 0) {
		out_printf(o, " BROKEN ");
		out_hex(o, ie->data, ie->len);
		return;
	}
	for (unsigned i = 0; i < layout->count; i++) {
		const struct pfcp_field *f = &layout->fields[i];

		if (!values[i].present)
			continue;
		out_printf(o, *f->name ? " %s=" : " %s", f->name);
		if (pfcp_wire_is_octets(f->wire))
			out_octets(o, f, &values[i]);
		else
			out_number(o, f, f->names || *f->name ? f->names : ie->type,
				   values[i].number);
	}
}

static void out_ies(struct out *o, struct pfcp_cursor ies, unsigned depth);

static void out_ie(struct out *o, const struct pfcp_ie *ie, unsigned depth)
{
	const struct pfcp_layout *layout = pfcp_layout_lookup(ie->type);
	bool group = pfcp_ie_is_group(ie);

	out_printf(o, "%*s%s [%u] len=%u", (int)(2 * depth), "", pfcp_ie_type_str(ie->type),
		   ie->type, ie->len);
	if (ie->type >= PFCP_IE_VENDOR)
		out_printf(o, " enterprise=%u", ie->enterprise);
	if (!group)
		out_printf(o, ":");
	if (layout) {
		out_fields(o, ie, layout);
	} else if (!group || depth >= PFCP_DEPTH_MAX) {
		out_printf(o, " ");
		out_hex(o, ie->data, ie->len);
	}
	out_printf(o, "\n");
	if (group && depth < PFCP_DEPTH_MAX)
		out_ies(o, pfcp_ie_members(ie), depth + 1);
}

static void out_ies(struct out *o, struct pfcp_cursor ies, unsigned depth)
{
	struct pfcp_ie ie;
	int rc;

	while ((rc = pfcp_ie_next(&ies, &ie)) > 0)
		out_ie(o, &ie, depth);
	if (rc == 0)
		return;
	out_printf(o, "%*s%s [%u] BROKEN ", (int)(2 * depth), "", pfcp_ie_type_str(ie.type),
		   ie.type);
	out_hex(o, ies.at, pfcp_cursor_left(&ies));
	out_printf(o, "\n");
}

static void out_msg(struct out *o, const struct pfcp_msg *msg, size_t octets)
{
	out_printf(o, "%s [%u]", pfcp_msg_type_str(msg->type), msg->type);
	if (msg->has_seid)
		out_printf(o, " seid=0x%" PRIx64, msg->seid);
	out_printf(o, " seq=%" PRIu32, msg->seq);
	if (msg->has_priority)
		out_printf(o, " priority=%u", msg->priority);
	out_printf(o, " len=%zu\n", octets);
	out_ies(o, msg->ies, 1);
}

static struct out out_of(char *text, size_t size)
{
	if (size)
		text[0] = '\0';
	return (struct out){text, size, 0};
}

size_t pfcp_msg_print(const struct pfcp_msg *msg, char *text, size_t size)
{
	struct out o = out_of(text, size);

	out_msg(&o, msg, pfcp_cursor_left(&msg->ies) + (msg->has_seid ? 16 : 8));
	return o.len;
}

size_t pfcp_ie_print(const struct pfcp_ie *ie, char *text, size_t size)
{
	struct out o = out_of(text, size);

	out_ie(&o, ie, 0);
	return o.len;
}

size_t pfcp_datagram_print(const void *data, size_t len, char *text, size_t size)
{
	struct out o = out_of(text, size);
	struct pfcp_cursor datagram = pfcp_cursor_of(data, len);
	const uint8_t *at;
	struct pfcp_msg msg;
	int rc;

	do {
		at = datagram.at;
		rc = pfcp_msg_decode(&datagram, &msg);
		if (rc == 0)
			out_msg(&o, &msg, (size_t)(datagram.at - at));
	} while (rc == 0 && msg.more);
	if (rc < 0) {
		out_printf(&o, "not PFCP (%s): ",
			   rc == -EPROTONOSUPPORT ? "version"
			   : rc == -ENOMSG        ? "message type"
						  : "header");
		out_hex(&o, at, (size_t)(datagram.end - at));
		out_printf(&o, "\n");
	}
	return o.len;
}

const char *pfcp_cause_str(uint8_t cause)
{
	return value_str(PFCP_IE_CAUSE, cause);
}

const char *pfcp_ie_type_str(uint16_t type)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(type);

	return info ? info->title : type >= PFCP_IE_VENDOR ? "Vendor IE" : "?";
}

const char *pfcp_msg_type_str(uint8_t type)
{
	const struct pfcp_msg_info *info = pfcp_msg_info_lookup(type);

	return info ? info->title : "?";
}
