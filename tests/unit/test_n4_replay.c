// What a real SMF said, said again: the SMF's side of captures of an Open5GS SMF driving another UPF.
//
// Each request is sent as it was, with our SEID in the place of the other UPF's, and our answer is held
// against that UPF's: accepted as there, with an F-TEID for each PDR that got one there, and the same TEID
// where it was the same there, for the session's life.

#include "session_kit.h"

#define SMF "127.0.0.4"
#define PFCP_REQUEST(type) ((type) == 50 || (type) == 52 || (type) == 54)

static const struct kit_conf conf = KIT_CONF;

static const struct capture {
	const char *file;
	unsigned requests; // session requests of the SMF in it
} captures[] = {
	{"open5gs-assoc", 0},  {"open5gs-errind", 4},        {"open5gs-framed", 3},
	{"open5gs-gbr", 9},    {"open5gs-idle", 5},          {"open5gs-ipv4", 3},
	{"open5gs-ipv4v6", 3}, {"open5gs-ipv6", 3},          {"open5gs-multi", 7},
	{"open5gs-uerel", 3},  {"open5gs-noftup-ipv4v6", 3},
};

// One PFCP message of a capture.
struct said {
	bool by_smf;
	const uint8_t *at;
	size_t len;
};

static uint8_t file[65536];
static size_t file_len;

static void file_read(const char *name)
{
	const char *folder = getenv("TEST_GOLDEN");
	char path[512];
	FILE *in;

	CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
	snprintf(path, sizeof(path), "%s/%s.pcap", folder, name);
	in = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	file_len = fread(file, 1, sizeof(file), in);
	fclose(in);
	CU_ASSERT_FATAL(file_len >= 24 && file_len < sizeof(file));
}

static uint32_t little(const uint8_t *at)
{
	return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

// The next UDP datagram to or from port 8805. The captures have Ethernet and IPv4 without options.
static bool said_next(size_t *at, struct said *ret)
{
	while (*at + 16 < file_len) {
		size_t len = little(file + *at + 8);
		const uint8_t *frame = file + *at + 16;
		const uint8_t *udp = frame + 34;

		*at += 16 + len;
		if (len < 50 || number_at(frame + 12, 2) != 0x0800 || frame[14] != 0x45 ||
		    frame[23] != 17)
			continue;
		if (number_at(udp, 2) != 8805 && number_at(udp + 2, 2) != 8805)
			continue;
		ret->by_smf = number_at(frame + 26, 4) == ntohl(inet_addr(SMF));
		ret->at = udp + 8;
		ret->len = number_at(udp + 4, 2) - 8;
		return true;
	}
	return false;
}

// The other UPF's answer to the request with this type and sequence number.
static struct found said_answer(unsigned type, uint32_t seq)
{
	struct said said;
	size_t at = 24;

	while (said_next(&at, &said))
		if (!said.by_smf && said.at[1] == type + 1 && number_at(said.at + 12, 3) == seq)
			return (struct found){said.at, said.len};
	return (struct found){NULL, 0};
}

// TEIDs of theirs and ours that stand for each other.
static struct {
	uint32_t theirs, ours;
} pairs[16];
static unsigned n_pairs;

static void pair(uint32_t theirs, uint32_t ours)
{
	CU_ASSERT(theirs != 0 && ours != 0);
	for (unsigned i = 0; i < n_pairs; i++) {
		if (pairs[i].theirs != theirs && pairs[i].ours != ours)
			continue;
		CU_ASSERT(pairs[i].theirs == theirs && pairs[i].ours == ours);
		return;
	}
	CU_ASSERT_FATAL(n_pairs < 16);
	pairs[n_pairs].theirs = theirs;
	pairs[n_pairs++].ours = ours;
}

static void compare(struct found theirs)
{
	struct found ies = {theirs.at + 16, theirs.len - 16};
	unsigned n = 0;
	struct found group;

	CU_ASSERT_EQUAL(answer_type(), theirs.at[1]);
	CU_ASSERT_EQUAL(answer_seid(), number_at(theirs.at + 4, 8)); // the SMF's SEID
	CU_ASSERT_EQUAL(number_at(kit.answer + 12, 3), number_at(theirs.at + 12, 3));
	CU_ASSERT_EQUAL(answer_cause(), find_ie(ies, 19, 0).at[0]);
	for (; (group = find_ie(ies, 8, n)).at; n++) {
		struct found id = find_ie(group, 56, 0);
		struct found fteid = find_ie(group, 21, 0);

		pair((uint32_t)number_at(fteid.at + 1, 4),
		     created_teid((unsigned)number_at(id.at, 2)));
	}
	CU_ASSERT_EQUAL(created_count(), n);
	if (answer_type() == 51)
		CU_ASSERT(up_seid() != 0 && answer_ie(60).len > 0);
}

static void say(const struct said *said, uint64_t *seid)
{
	unsigned type = said->at[1];

	memcpy(kit.out, said->at, said->len);
	if (type == 52 || type == 54)
		for (unsigned i = 0; i < 8; i++)
			kit.out[4 + i] = (uint8_t)(*seid >> (56 - 8 * i));
	msg_deliver(kit.out, said->len);
	if (type == 50)
		*seid = up_seid();
}

static void replay(const struct capture *capture)
{
	struct kit_counts before, after;
	unsigned requests = 0;
	uint64_t seid = 0;
	struct said said;
	size_t at = 24;

	file_read(capture->file);
	n_pairs = 0;
	kit_open(&conf);
	before = kit_counts();
	while (said_next(&at, &said)) {
		struct found theirs;

		if (!said.by_smf || (said.at[1] != 5 && !PFCP_REQUEST(said.at[1])))
			continue;
		say(&said, &seid);
		if (said.at[1] == 5)
			continue;
		theirs = said_answer(said.at[1], (uint32_t)number_at(said.at + 12, 3));
		CU_ASSERT_PTR_NOT_NULL_FATAL(theirs.at);
		compare(theirs);
		requests++;
		CU_ASSERT_EQUAL(n4_session_count(kit.n4), said.at[1] == 54 ? 0 : 1);
	}
	CU_ASSERT_EQUAL(requests, capture->requests);
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	kit_close();
}

static void test_captures(void)
{
	for (unsigned i = 0; i < sizeof(captures) / sizeof(captures[0]); i++) {
		unsigned failed = CU_get_number_of_failures();

		replay(&captures[i]);
		if (CU_get_number_of_failures() != failed)
			fprintf(stderr, "\n  in %s\n", captures[i].file);
	}
}

// What is about to be said again is a new request.
static void seq_renew(void)
{
	kit.seq++;
	for (unsigned i = 0; i < 3; i++)
		kit.out[12 + i] = (uint8_t)(kit.seq >> (16 - 8 * i));
}

// The request with one octet changed, or cut, as a new one. Sessions that come of it are deleted again.
static void deliver_changed(const struct said *said, size_t at, uint8_t value, size_t len,
			    uint64_t seid)
{
	unsigned type = said->at[1];

	memcpy(kit.out, said->at, said->len);
	for (unsigned i = 0; i < 8 && type != 50; i++)
		kit.out[4 + i] = (uint8_t)(seid >> (56 - 8 * i));
	seq_renew();
	kit.out[at] ^= value;
	if (len < said->len) {
		kit.out[2] = (uint8_t)((len - 4) >> 8);
		kit.out[3] = (uint8_t)(len - 4);
	}
	kit.n_sent = 0;
	kit.answer_len = 0;
	msg_deliver(kit.out, len);
	CU_ASSERT(kit.n_sent <= 1);
	if (answer_type() == 51 && answer_cause() == 1)
		delete_session(up_seid());
}

static void change_all(const struct said *said, uint64_t seid)
{
	static const uint8_t values[] = {0x01, 0x80, 0xff, 0x10, 0x04};

	for (size_t at = 16; at < said->len; at++) {
		for (unsigned v = 0; v < sizeof(values); v++)
			deliver_changed(said, at, values[v], said->len, seid);
		deliver_changed(said, at, 0, at, seid);
	}
}

// Every octet of what it said, changed in several ways, and every length: whatever comes of it, there is one
// answer or none, and nothing is left when the sessions have gone.
static void test_changed_octets(void)
{
	struct kit_counts before, after;
	struct said said, first = {0};
	size_t at = 24;
	uint64_t seid;

	file_read("open5gs-gbr");
	kit_open(&conf);
	before = kit_counts();
	while (said_next(&at, &said)) {
		if (!said.by_smf || !PFCP_REQUEST(said.at[1]) || said.at[1] == 54)
			continue;
		if (said.at[1] == 50)
			first = said;
		CU_ASSERT_PTR_NOT_NULL_FATAL(first.at);
		seid = 0;
		if (said.at[1] == 52) { // on a session as the SMF first made it
			memcpy(kit.out, first.at, first.len);
			seq_renew();
			msg_deliver(kit.out, first.len);
			seid = up_seid();
			CU_ASSERT(answer_cause() == 1 && seid != 0);
		}
		change_all(&said, seid);
		if (seid) {
			delete_session(seid);
			CU_ASSERT_EQUAL(answer_cause(), 1);
		}
	}
	after = kit_counts();
	CU_ASSERT(kit_counts_eq(&before, &after));
	kit_close();
}

static CU_TestInfo tests[] = {
	{"captures", test_captures},
	{"captures, every octet changed", test_changed_octets},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("n4_replay")
