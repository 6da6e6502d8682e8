// libFuzzer target of the PFCP codec. The first byte says how the rest is read: as a datagram, or as the
// value of an IE whose type is the two bytes after it.
//
// Everything that takes what a peer sends is run on it: the header, the check by the tables, the decoder of
// each IE of whatever type, and the printer, into buffers that end where they say. What a decoder takes must
// be written back so that it reads again (unless what was ignored was needed for its least length); what is
// refused must come with a cause.

#include <stdlib.h>
#include <string.h>

#include "../hostile/mutate.h"
#include "must.h"
#include "pfcp/codec.h"
#include "pfcp/codec_layout.h"
#include "pfcp/print.h"
#include "pfcp/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

#define TEXT_MAX 65536

static void fault_is_whole(int rc, const struct pfcp_fault *fault)
{
	must(rc == -EINVAL && fault->cause >= PFCP_CAUSE_REJECTED);
	must(memchr(fault->text, '\0', sizeof(fault->text)) != NULL);
}

// --- typed values ----------------------------------------------------------------------------------------

// Every struct decodes, and what it says is written and read again as the same.
#define ROUND(name, ENCODE)                                                                        \
	static void round_##name(const struct pfcp_ie *ie)                                         \
	{                                                                                          \
		struct pfcp_##name first, second;                                                  \
		struct pfcp_fault fault = {0};                                                     \
		uint8_t bytes[TEXT_MAX];                                                           \
		struct pfcp_cursor again;                                                          \
		struct pfcp_writer w;                                                              \
		struct pfcp_ie written;                                                            \
		int rc = pfcp_##name##_decode(ie, &first, &fault);                                 \
                                                                                                   \
		if (rc < 0) {                                                                      \
			fault_is_whole(rc, &fault);                                                \
			return;                                                                    \
		}                                                                                  \
		pfcp_writer_init(&w, bytes, sizeof(bytes));                                        \
		ENCODE;                                                                            \
		must(!w.failed);                                                                   \
		again = pfcp_cursor_of(bytes, w.len);                                              \
		must(pfcp_ie_next(&again, &written) == 1 && written.type == ie->type);             \
		must(pfcp_##name##_decode(&written, &second, &fault) == 0 ||                       \
		     written.len < pfcp_ie_info_lookup(ie->type)->least);                          \
	}
#define ROUND_ONE(name, IE) ROUND(name, pfcp_##name##_encode(&w, &first))
#define ROUND_SHARED(name) ROUND(name, pfcp_##name##_encode(&w, ie->type, &first))
PFCP_TYPED(ROUND_ONE)
PFCP_TYPED_SHARED(ROUND_SHARED)

static void typed(const struct pfcp_ie *ie)
{
	switch (ie->type) {
#define ONE(name, IE)                                                                              \
	case PFCP_IE_##IE:                                                                         \
		round_##name(ie);                                                                  \
		break;
		PFCP_TYPED(ONE)
#undef ONE
	case PFCP_IE_MBR:
	case PFCP_IE_GBR:
		round_bit_rates(ie);
		break;
	case PFCP_IE_VOLUME_THRESHOLD:
	case PFCP_IE_VOLUME_QUOTA:
	case PFCP_IE_SUBSEQUENT_VOLUME_THRESHOLD:
	case PFCP_IE_SUBSEQUENT_VOLUME_QUOTA:
		round_volume(ie);
		break;
	case PFCP_IE_ALTERNATIVE_SMF_IP_ADDRESS:
	case PFCP_IE_CP_PFCP_ENTITY_IP_ADDRESS:
	case PFCP_IE_CP_IP_ADDRESS:
		round_cp_address(ie);
		break;
	case PFCP_IE_MAC_ADDRESSES_DETECTED:
	case PFCP_IE_MAC_ADDRESSES_REMOVED:
		round_mac_addresses(ie);
		break;
	default:
		break;
	}
}

static void printed(const char *text, size_t len, size_t size)
{
	must(len < size && strlen(text) == len);
	for (size_t i = 0; i < len; i++)
		must(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
}

static void value(const struct pfcp_ie *ie)
{
	const struct pfcp_ie_info *info = pfcp_ie_info_lookup(ie->type);
	char name[PFCP_NAME_MAX], text[512];
	struct pfcp_fault fault = {0};
	uint64_t number;

	if (pfcp_name_decode(ie, name, sizeof(name), &fault) == 0)
		must(strlen(name) < sizeof(name));
	printed(text, pfcp_ie_print(ie, text, sizeof(text)), sizeof(text));
	if (!info || !pfcp_layout_lookup(ie->type))
		return;
	fault = (struct pfcp_fault){0};
	if (pfcp_ie_check(ie, &fault) < 0)
		fault_is_whole(-EINVAL, &fault);
	if (info->kind >= PFCP_KIND_U8 && info->kind <= PFCP_KIND_TIMER &&
	    pfcp_uint_decode(ie, &number, &fault) < 0)
		fault_is_whole(-EINVAL, &fault);
	typed(ie);
}

static void values(struct pfcp_cursor ies, unsigned depth)
{
	struct pfcp_ie ie;

	while (pfcp_ie_next(&ies, &ie) > 0) {
		value(&ie);
		if (pfcp_ie_is_group(&ie) && depth < PFCP_DEPTH_MAX)
			values(pfcp_ie_members(&ie), depth + 1);
	}
}

// --- inputs ----------------------------------------------------------------------------------------------

static void datagram(const uint8_t *bytes, size_t len)
{
	struct pfcp_cursor left = pfcp_cursor_of(bytes, len);
	static char text[TEXT_MAX];
	struct pfcp_msg msg;
	char cut[40];

	printed(text, pfcp_datagram_print(bytes, len, text, sizeof(text)), sizeof(text));
	printed(cut, pfcp_datagram_print(bytes, len, cut, sizeof(cut)), sizeof(cut));
	must(strncmp(cut, text, sizeof(cut) - 1) == 0);
	do {
		struct pfcp_fault fault = {0};

		if (pfcp_msg_decode(&left, &msg) < 0)
			return;
		must(msg.info && left.at <= left.end && msg.ies.end <= left.at);
		if (pfcp_msg_check(&msg, &fault) < 0)
			fault_is_whole(-EINVAL, &fault);
		values(msg.ies, 0);
	} while (msg.more);
	must(left.at == left.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	size_t skip = size > 0 && input[0] & 1 ? 3 : 1;
	uint8_t *copy; // of just the size, so that a sanitizer sees a byte too many

	if (size < skip || size - skip > UINT16_MAX)
		return 0;
	copy = malloc(size - skip);
	if (size > skip)
		memcpy(copy, input + skip, size - skip);
	if (skip == 1)
		datagram(copy, size - skip);
	else
		value(&(struct pfcp_ie){.type = (uint16_t)(input[1] << 8 | input[2]) %
						PFCP_IE_VENDOR,
					.len = (uint16_t)(size - skip),
					.data = copy});
	free(copy);
	return 0;
}

// Damages a datagram as a message half of the time, and as bytes otherwise.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	struct mutate m = {.state = seed + 1ull};

	if (size < 9 || data[0] & 1 || mutate_below(&m, 2))
		return LLVMFuzzerMutate(data, size, most);
	return 1 + mutate_once(&m, data + 1, size - 1, most - 1);
}
