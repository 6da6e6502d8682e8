// parse(): every frame of tests/golden/frames.txt (made and judged by scapy), each cut at every length,
// and random changes of them. Every frame lies at the end of its allocation, so that AddressSanitizer
// sees the first byte too far.

#include <stdio.h>

#include "random.h"
#include "unit.h"

#include "pkt_check.h"

#define FRAMES_MAX 1024
#define FRAME_BYTES_MAX 2048
#define MUTATIONS 2000000

struct frame {
	char name[48];
	const struct parse_conf *conf;
	struct pkt want; // the fields that a row gives
	uint32_t len;
	uint8_t *data;
};

static struct frame frames[FRAMES_MAX];
static unsigned n_frames;

static const char *const kind_names[PKT_KINDS] = {
	[PKT_BAD] = "bad",
	[PKT_GPDU] = "gpdu",
	[PKT_PLAIN] = "plain",
	[PKT_ECHO_REQUEST] = "echo_request",
	[PKT_ECHO_RESPONSE] = "echo_response",
	[PKT_ERROR_INDICATION] = "error_indication",
	[PKT_END_MARKER] = "end_marker",
	[PKT_ARP] = "arp",
	[PKT_ND] = "nd",
	[PKT_ICMP_ECHO] = "icmp_echo",
};

static const struct {
	char letter;
	uint8_t flag;
} flag_letters[] = {
	{'u', PKT_F_UP},  {'f', PKT_F_FRAGMENT},  {'n', PKT_F_NO_L4},
	{'p', PKT_F_PSC}, {'t', PKT_F_TUNNELLED},
};

static uint8_t flags_of(const char *letters)
{
	uint8_t flags = 0;

	for (unsigned i = 0; i < sizeof(flag_letters) / sizeof(flag_letters[0]); i++)
		if (strchr(letters, flag_letters[i].letter))
			flags |= flag_letters[i].flag;
	return flags;
}

static const struct parse_conf *conf_of(const char *name)
{
	for (unsigned i = 0; i < CHECK_IFACES; i++)
		if (!strcmp(check_ifaces[i].name, name))
			return &check_ifaces[i].conf;
	return NULL;
}

static uint8_t kind_of(const char *name)
{
	for (uint8_t kind = 0; kind < PKT_KINDS; kind++)
		if (!strcmp(kind_names[kind], name))
			return kind;
	return PKT_KINDS;
}

static uint8_t drop_of(const char *name)
{
	for (unsigned drop = 1; drop < DROP_REASONS; drop++)
		if (!strcmp(drop_str((enum drop)drop), name))
			return (uint8_t)drop;
	return DROP_NONE;
}

static uint32_t hex_decode(const char *hex, uint8_t *data)
{
	uint32_t len = 0;

	for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		data[len++] = (uint8_t)byte;
	return len;
}

// Reads one row; false when it is not one.
static bool row_read(char *row, struct frame *f)
{
	char iface[8], kind[24], drop[32], flags[16];
	int at = 0;
	struct pkt *p = &f->want;
	uint8_t data[FRAME_BYTES_MAX];

	if (sscanf(row, "%47s %7s %23s %n", f->name, iface, kind, &at) != 3)
		return false;
	f->conf = conf_of(iface);
	p->kind = kind_of(kind);
	row += at;
	if (p->kind == PKT_BAD) {
		if (sscanf(row, "%31s %n", drop, &at) != 1)
			return false;
		p->drop = drop_of(drop);
	} else {
		if (sscanf(row, "%u %hhu %hu %hu %hu %hu %hu %hhu %hhu %15s %n", &p->teid, &p->qfi,
			   &p->user, &p->l4, &p->user_bytes, &p->sport, &p->dport, &p->family,
			   &p->proto, flags, &at) != 10)
			return false;
		p->flags = flags_of(flags);
	}
	f->len = hex_decode(row + at, data);
	f->data = malloc(f->len);
	memcpy(f->data, data, f->len);
	return f->conf && p->kind < PKT_KINDS && (p->kind != PKT_BAD || p->drop);
}

static void frames_load(void)
{
	char path[512], row[2 * FRAME_BYTES_MAX + 256];
	const char *folder = getenv("TEST_GOLDEN");

	snprintf(path, sizeof(path), "%s/frames.txt", folder ? folder : "tests/golden");
	FILE *file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	while (fgets(row, sizeof(row), file)) {
		if (row[0] == '#')
			continue;
		CU_ASSERT_FATAL(n_frames < FRAMES_MAX);
		if (row_read(row, &frames[n_frames])) {
			n_frames++;
		} else {
			printf("\nnot a row: %.80s\n", row);
			CU_FAIL("row");
		}
	}
	fclose(file);
	CU_ASSERT(n_frames > 300);
}

static bool same(const struct pkt *got, const struct pkt *want)
{
	if (got->kind != want->kind || got->drop != want->drop)
		return false;
	if (want->kind == PKT_BAD)
		return true;
	return got->teid == want->teid && got->qfi == want->qfi && got->user == want->user &&
	       got->l4 == want->l4 && got->user_bytes == want->user_bytes &&
	       got->sport == want->sport && got->dport == want->dport &&
	       got->family == want->family && got->proto == want->proto &&
	       got->flags == want->flags;
}

static void show(const char *what, const struct pkt *p)
{
	printf("  %s: %s %s teid %u qfi %u user %u l4 %u bytes %u ports %u %u family %u proto %u flags %x\n",
	       what, kind_names[p->kind], p->drop ? drop_str(p->drop) : "-", p->teid, p->qfi,
	       p->user, p->l4, p->user_bytes, p->sport, p->dport, p->family, p->proto, p->flags);
}

static void test_golden(void)
{
	for (unsigned i = 0; i < n_frames; i++) {
		const struct frame *f = &frames[i];
		struct pkt got = {0};
		const char *wrong = check_parse(f->conf, f->data, f->len, &got);

		if (wrong || !same(&got, &f->want)) {
			printf("\n%s: %s\n", f->name, wrong ? wrong : "not as scapy says");
			show("want", &f->want);
			show("got ", &got);
		}
		CU_ASSERT(!wrong && same(&got, &f->want));
	}
}

// Every reason of parse() and every kind is met by a golden frame.
static void test_coverage(void)
{
	static const enum drop elsewhere[] = {DROP_NONE, DROP_multi_segment, DROP_other_mac};
	bool kinds[PKT_KINDS] = {0}, drops[DROP_REASONS] = {0};

	for (unsigned i = 0; i < n_frames; i++) {
		kinds[frames[i].want.kind] = true;
		drops[frames[i].want.drop] = true;
	}
	for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		drops[elsewhere[i]] = true;
	for (unsigned kind = 0; kind < PKT_KINDS; kind++)
		CU_ASSERT(kinds[kind]);
	for (unsigned drop = 0; drop <= DROP_not_for_us; drop++) {
		if (!drops[drop])
			printf("\nno frame for %s\n", drop_str((enum drop)drop));
		CU_ASSERT(drops[drop]);
	}
}

// An interface that knows its link address takes what is sent to it, to a group or to all; no other's.
static void test_link_address(void)
{
	static const struct {
		uint8_t first, last; // octets of the destination
		bool taken;
	} rows[] = {{0x02, 0x05, true},  {0xff, 0xff, true},  {0x01, 0x05, true},
		    {0x02, 0x04, false}, {0x06, 0x05, false}, {0x00, 0x00, false}};
	const uint8_t own[8] = {0x02, 0, 0, 0, 0, 0x05};

	for (unsigned i = 0; i < n_frames; i++) {
		struct parse_conf conf = *frames[i].conf;
		uint8_t data[2048];

		if (frames[i].len < ETH_BYTES || frames[i].len > sizeof(data))
			continue;
		memcpy(data, frames[i].data, frames[i].len);
		conf.mac = eth_dst(own);
		for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
			struct pkt p;

			memcpy(data, own, ETH_MAC_BYTES);
			data[0] = rows[k].first;
			data[5] = rows[k].last;
			parse(&conf, data, (uint32_t)frames[i].len, &p);
			CU_ASSERT_EQUAL(p.kind == PKT_BAD && p.drop == DROP_other_mac,
					!rows[k].taken);
		}
	}
}

// How much of the frame its outermost header speaks of; what is beyond may go.
static uint32_t said_bytes(const struct frame *f, const struct pkt *p)
{
	const uint8_t *ip = f->data + p->outer;

	if (p->kind == PKT_ARP)
		return (uint32_t)p->outer + ARP_BYTES;
	return p->outer + (*ip >> 4 == 4 ? 0u : IP6_BYTES) +
	       be16_get(*ip >> 4 == 4 ? ip + 2 : ip + 4);
}

static void test_truncated(void)
{
	unsigned cuts = 0;

	for (unsigned i = 0; i < n_frames; i++) {
		const struct frame *f = &frames[i];
		for (uint32_t len = 0; len < f->len; len++) {
			struct pkt got = {0};
			uint8_t *data = malloc(len ? len : 1); // exact, so that ASan guards its end
			memcpy(data, f->data, len);
			const char *wrong = check_parse(f->conf, len ? data : data + 1, len, &got);
			free(data);
			if (!wrong && f->want.kind != PKT_BAD && got.kind != PKT_BAD &&
			    (len < said_bytes(f, &got) || !same(&got, &f->want)))
				wrong = "took a frame that is not all there";
			if (wrong)
				printf("\n%s cut at %u: %s\n", f->name, len, wrong);
			CU_ASSERT_FATAL(!wrong);
			cuts++;
		}
	}
	CU_ASSERT(cuts > 10000);
}

static uint64_t random_next(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	return random_step(&state);
}

// Puts the outer IPv4 checksum right again, so that changes get past it.
static void mend(const struct parse_conf *conf, uint8_t *data, uint32_t len)
{
	uint32_t at = conf->vlan_tci_id ? ETH_BYTES + ETH_TAG_BYTES : ETH_BYTES;
	struct ip4_head *ip = (struct ip4_head *)(data + at);

	if (len >= at + IP4_BYTES && at + ip4_header_bytes(ip) <= len)
		ip->cksum = ip4_cksum(ip);
}

static void test_mutated(void)
{
	static const uint8_t nasty[] = {0,    1,    2,    4,    7,    8,    0x3f, 0x40,
					0x45, 0x60, 0x7f, 0x80, 0x85, 0xfe, 0xff};
	uint8_t *buffer = malloc(FRAME_BYTES_MAX);
	unsigned good = 0;

	for (unsigned i = 0; i < MUTATIONS; i++) {
		const struct frame *f = &frames[random_next() % n_frames];
		uint64_t r = random_next();
		uint32_t len = r & 3 || !f->len ? f->len : (uint32_t)(r >> 8) % f->len;
		uint8_t *data = buffer + FRAME_BYTES_MAX - len;

		memcpy(data, f->data, len);
		for (unsigned n = 1 + (r >> 2 & 3); n && len; n--) {
			uint64_t c = random_next();
			data[(c >> 16) % len] = c & 1 ? nasty[(c >> 8) % sizeof(nasty)]
						      : (uint8_t)(c >> 8);
		}
		if (r & 16)
			mend(f->conf, data, len);
		struct pkt got = {0};
		const char *wrong = check_parse(f->conf, data, len, &got);
		if (wrong)
			printf("\n%s, change %u: %s\n", f->name, i, wrong);
		CU_ASSERT_FATAL(!wrong);
		good += got.kind != PKT_BAD;
	}
	free(buffer);
	CU_ASSERT(good > MUTATIONS / 10);
	CU_ASSERT(good < MUTATIONS);
}

// A local sender over veth leaves the pseudo-header's sum in the UDP checksum; a port that checks
// checksums itself spares us the work.
static void test_udp_cksum(void)
{
	const struct frame *f = NULL;

	for (unsigned i = 0; i < n_frames; i++)
		if (!strcmp(frames[i].name, "udp_cksum"))
			f = &frames[i];
	CU_ASSERT_FATAL(f != NULL);
	struct pkt p = {0};
	struct parse_conf conf = *f->conf;
	const struct ip4_head *ip = (const struct ip4_head *)(f->data + ETH_BYTES);
	struct udp_head *udp = (struct udp_head *)(f->data + ETH_BYTES + IP4_BYTES);
	rte_be16_t right = udp->cksum;

	CU_ASSERT(right != 0);
	udp->cksum =
		cksum_fold(cksum_pseudo4(ip->src, ip->dst, IPPROTO_UDP, be16_get(&udp->bytes)));
	CU_ASSERT(udp->cksum != right);
	CU_ASSERT_EQUAL(parse(&conf, f->data, f->len, &p), PKT_GPDU);
	udp->cksum = (rte_be16_t)(right + 1);
	CU_ASSERT_EQUAL(parse(&conf, f->data, f->len, &p), PKT_BAD);
	CU_ASSERT_EQUAL(p.drop, DROP_bad_udp_checksum);
	conf.udp_cksum_done = true;
	CU_ASSERT_EQUAL(parse(&conf, f->data, f->len, &p), PKT_GPDU);
	udp->cksum = right;
}

static void test_free(void)
{
	for (unsigned i = 0; i < n_frames; i++)
		free(frames[i].data);
	CU_PASS("all given back");
}

static CU_TestInfo tests[] = {
	{"golden frames are read", frames_load},
	{"golden frames are parsed as scapy says", test_golden},
	{"golden frames meet every kind and reason", test_coverage},
	{"frames cut at every length", test_truncated},
	{"frames changed at random", test_mutated},
	{"the link address of another host", test_link_address},
	{"outer UDP checksum", test_udp_cksum},
	{"frames are given back", test_free},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("parse")
