// Writing PFCP: messages, groups and the values of IEs (TS 29.244 7.2, 8.1). See pfcp/writer.h.
//
// Every octet goes through pfcp_bytes_put, which knows the end of the buffer. Any thread.

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pfcp/codec_layout.h"

#define HEADER_FIXED 4
#define IE_HEADER 4

void pfcp_writer_init(struct pfcp_writer *w, void *data, size_t size)
{
	*w = (struct pfcp_writer){.data = data, .size = size};
}

void pfcp_bytes_put(struct pfcp_writer *w, const void *data, size_t len)
{
	if (len > w->size - w->len)
		w->failed = true;
	if (w->failed || len == 0)
		return;
	memcpy(w->data + w->len, data, len);
	w->len += len;
}

static void u16_put(struct pfcp_writer *w, uint16_t number)
{
	const uint8_t wire[] = {(uint8_t)(number >> 8), (uint8_t)number};

	pfcp_bytes_put(w, wire, sizeof(wire));
}

// Puts the length of what was written since `begin` into the two octets before it.
static void length_set(struct pfcp_writer *w, size_t begin)
{
	size_t len = w->len - begin;

	if (len > UINT16_MAX)
		w->failed = true;
	if (w->failed)
		return;
	w->data[begin - 2] = (uint8_t)(len >> 8);
	w->data[begin - 1] = (uint8_t)len;
}

void pfcp_msg_begin(struct pfcp_writer *w, uint8_t type, uint64_t seid, uint32_t seq)
{
	bool session = pfcp_msg_info_lookup(type)->session;
	const uint8_t head[] = {PFCP_VERSION << 5 | session, type, 0, 0};
	const uint8_t tail[] = {(uint8_t)(seq >> 16), (uint8_t)(seq >> 8), (uint8_t)seq, 0};

	w->msg = w->len;
	pfcp_bytes_put(w, head, sizeof(head));
	for (int shift = 56; session && shift >= 0; shift -= 8) {
		uint8_t octet = (uint8_t)(seid >> shift);

		pfcp_bytes_put(w, &octet, 1);
	}
	pfcp_bytes_put(w, tail, sizeof(tail));
}

size_t pfcp_msg_end(struct pfcp_writer *w)
{
	length_set(w, w->msg + HEADER_FIXED);
	return w->failed ? 0 : w->len - w->msg;
}

size_t pfcp_group_begin(struct pfcp_writer *w, uint16_t type)
{
	u16_put(w, type);
	u16_put(w, 0);
	return w->len;
}

void pfcp_group_end(struct pfcp_writer *w, size_t mark)
{
	length_set(w, mark);
}

void pfcp_uint_encode(struct pfcp_writer *w, uint16_t type, uint64_t value)
{
	const struct pfcp_layout *layout = pfcp_layout_lookup(type);
	const struct pfcp_value values[PFCP_FIELDS_MAX] = {{.present = true, .number = value}};
	size_t mark = pfcp_group_begin(w, type);

	assert(layout && layout->size == 0 && !pfcp_wire_is_octets(layout->fields[0].wire));
	pfcp_fields_encode(w, layout, type, values);
	pfcp_group_end(w, mark);
}

void pfcp_octets_encode(struct pfcp_writer *w, uint16_t type, const void *data, size_t len)
{
	size_t mark = pfcp_group_begin(w, type);

	pfcp_bytes_put(w, data, len);
	pfcp_group_end(w, mark);
}

int pfcp_name_labels(const char *text, uint8_t *ret_labels, size_t size)
{
	size_t out = 0;

	while (*text) {
		size_t len = strcspn(text, ".");

		if (len == 0 || len > 63 || out + 1 + len > size)
			return -EINVAL;
		ret_labels[out] = (uint8_t)len;
		memcpy(ret_labels + out + 1, text, len);
		out += 1 + len;
		text += len;
		if (*text == '.')
			text++;
	}
	return (int)out;
}

void pfcp_name_encode(struct pfcp_writer *w, uint16_t type, const char *text)
{
	uint8_t labels[PFCP_NAME_MAX];
	int len = pfcp_name_labels(text, labels, sizeof(labels));

	if (len < 0)
		w->failed = true;
	else
		pfcp_octets_encode(w, type, labels, (size_t)len);
}

// Reads a value from its member.
static struct pfcp_value member_load(const void *st, const struct pfcp_field *f)
{
	const uint8_t *member = (const uint8_t *)st + f->offset;
	struct pfcp_value value = {.present = true};
	struct pfcp_octets octets;

	if (f->wire == PFCP_WIRE_IP4 || f->wire == PFCP_WIRE_IP6) {
		value.data = member;
		value.len = f->size;
	} else if (pfcp_wire_is_octets(f->wire)) {
		memcpy(&octets, member, sizeof(octets));
		value.data = octets.data;
		value.len = octets.len;
	} else if (f->size == 1) {
		value.number = *member;
	} else if (f->size == 2) {
		value.number = *(const uint16_t *)(const void *)member;
	} else if (f->size == 4) {
		value.number = *(const uint32_t *)(const void *)member;
	} else {
		value.number = *(const uint64_t *)(const void *)member;
	}
	return value;
}

static void struct_encode(struct pfcp_writer *w, uint16_t type, const void *st, size_t size)
{
	const struct pfcp_layout *layout = pfcp_layout_lookup(type);
	struct pfcp_value values[PFCP_FIELDS_MAX];
	size_t mark = pfcp_group_begin(w, type);

	assert(layout && layout->size == size);
	for (unsigned i = 0; i < layout->count; i++)
		values[i] = layout->fields[i].size ? member_load(st, &layout->fields[i])
						   : (struct pfcp_value){0};
	pfcp_fields_encode(w, layout, type, values);
	pfcp_group_end(w, mark);
}

#define ENCODE(name, IE)                                                                           \
	void pfcp_##name##_encode(struct pfcp_writer *w, const struct pfcp_##name *name)           \
	{                                                                                          \
		struct_encode(w, PFCP_IE_##IE, name, sizeof(*name));                               \
	}
PFCP_TYPED(ENCODE)

#define ENCODE_SHARED(name)                                                                        \
	void pfcp_##name##_encode(struct pfcp_writer *w, uint16_t type,                            \
				  const struct pfcp_##name *name)                                  \
	{                                                                                          \
		struct_encode(w, type, name, sizeof(*name));                                       \
	}
PFCP_TYPED_SHARED(ENCODE_SHARED)
