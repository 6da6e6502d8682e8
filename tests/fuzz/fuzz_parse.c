// libFuzzer target of parse(): the first byte picks the interface, the rest is the frame. What must hold
// is tests/unit/pkt_check.h; replies and decoders run on what they would be given.
//
//	fuzz_parse tests/fuzz/corpus/parse

#include "../unit/pkt_check.h"

#include "packet/icmp.h"
#include "packet/nd.h"

#define REPLY_ROOM 64 // bytes behind a frame, as an mbuf has them

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

// Calls what the pipeline calls for this packet, on a copy that ends where its room ends.
static void use(const uint8_t *data, uint32_t len, const struct pkt *p)
{
	uint32_t room = len + REPLY_ROOM, reply = 0, teid;
	uint8_t *frame = malloc(room);
	struct nd_message message;
	struct addr peer;
	uint16_t sequence;
	uint8_t recovery;

	memcpy(frame, data, len);
	if (p->kind == PKT_ECHO_REQUEST)
		reply = gtpu_echo_response(frame, room, p);
	else if (p->kind == PKT_GPDU)
		reply = gtpu_error_indication(frame, room, p);
	else if (p->kind == PKT_ICMP_ECHO)
		reply = icmp_echo_reply(frame, p);
	else if (p->kind == PKT_ND)
		(void)nd_decode(frame, p, &message);
	else if (p->kind == PKT_ECHO_RESPONSE)
		(void)gtpu_echo_response_decode(frame, p, &sequence, &recovery);
	else if (p->kind == PKT_ERROR_INDICATION)
		(void)gtpu_error_indication_decode(frame + p->user, p->user_bytes, &teid, &peer);
	else if (p->kind == PKT_BAD && p->drop == DROP_gtpu_extension_required)
		reply = gtpu_supported_extensions(frame, room, p);
	if (reply > room)
		abort();
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct pkt p;

	if (!size)
		return 0;
	const struct parse_conf *conf = &check_ifaces[input[0] % CHECK_IFACES].conf;
	if (check_parse(conf, input + 1, (uint32_t)size - 1, &p))
		abort();
	use(input + 1, (uint32_t)size - 1, &p);
	return 0;
}
