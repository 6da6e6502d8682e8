// The frames of sluice-perf's traffic: what a UPF makes of them is taken, and each thing that may be wrong with
// them is found. The UPF's part is written here by hand, octet by octet.
// One thread, without EAL.

#include "traffic.h"

#include <string.h>

#include "n4.h"
#include "unit.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define UP_USER_AT 58u // Ethernet, IPv4, UDP, GTP-U with a PDU Session Container
#define FLOW 2469u     // the UE 1234's second

static struct traffic_conf conf;
static const struct traffic_ends ends = {.mac = {{2, 1}, {2, 2}}, .peer = {{2, 3}, {2, 4}}};

static struct addr addr_of(const char *text)
{
	struct addr addr = {0};

	CU_ASSERT_EQUAL(addr_parse(text, &addr), 0);
	return addr;
}

static void conf_set(bool reflected)
{
	conf = (struct traffic_conf){
		.gnb = addr_of("10.10.3.2"),
		.n3 = addr_of("10.10.3.1"),
		.dn = addr_of("10.10.6.2"),
		.n6 = addr_of("10.10.6.1"),
		.server = addr_of("192.0.2.10"),
		.ue_base = addr_of("10.128.0.1"),
		.ues = 2000,
		.flows = 2,
		.reflected = reflected,
	};
}

static uint32_t written(enum traffic_way way, uint16_t size, uint8_t *frame)
{
	struct traffic_stamp stamp = {.mark = 7,
				      .flow = FLOW | (way == TRAFFIC_DOWN ? TRAFFIC_DOWN_BIT : 0),
				      .number = 99,
				      .tsc = 12345};
	uint32_t bytes = traffic_frame_write(&conf, &ends, way, FLOW, 0xabcd, size, frame);

	memcpy(frame + traffic_stamp_at(way), &stamp, sizeof(stamp));
	return bytes;
}

static uint16_t sum16(const uint8_t *at, unsigned bytes)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < bytes; i += 2)
		sum += (uint32_t)(at[i] << 8 | at[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void ip_sum_set(uint8_t *ip)
{
	uint16_t sum;

	ip[10] = ip[11] = 0;
	sum = sum16(ip, 20);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

static void be16_set(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

// What a UPF makes of an uplink frame: the user packet, a hop on. Gives its length.
static uint32_t forwarded_up(const uint8_t *in, uint32_t bytes, uint8_t *out)
{
	memcpy(out, in, 14);
	memcpy(out + 14, in + UP_USER_AT, bytes - UP_USER_AT);
	out[14 + 8]--;
	ip_sum_set(out + 14);
	return 14 + bytes - UP_USER_AT;
}

// And of a downlink one: in a tunnel to the gNB.
static uint32_t forwarded_down(const uint8_t *in, uint32_t bytes, uint8_t *out)
{
	static const uint8_t head[] = {
		0x45, 0,   0,  0,    0,    0,    0x40,   0,    64, 17,   0, 0, 10, 10,
		3,    1,   10, 10,   3,    2,    8,      0x68, 8,  0x68, 0, 0, 0,  0, // UDP, 2152
		0x34, 255, 0,  0,    0x01, 0x00, 0x04,   0xd2, // G-PDU to the UE's TEID, 1234
		0,    0,   0,  0x85, 1,    0,    N4_QFI, 0,    // PDU Session Container
	};
	uint32_t user = bytes - 14;

	memcpy(out, in, 14);
	memcpy(out + 14, head, sizeof(head));
	memcpy(out + UP_USER_AT, in + 14, user);
	be16_set(out + 14 + 2, 44 + user);
	be16_set(out + 14 + 24, 24 + user);
	be16_set(out + 14 + 30, 8 + user);
	ip_sum_set(out + 14);
	out[UP_USER_AT + 8]--;
	ip_sum_set(out + UP_USER_AT);
	return UP_USER_AT + user;
}

static void test_sizes(void)
{
	static const uint16_t sizes[] = {64, 65, 128, 570, 1518};
	uint8_t in[2048], out[2048];
	struct traffic_stamp stamp;

	conf_set(false);
	for (unsigned i = 0; i < N(sizes); i++) {
		uint32_t bytes = written(TRAFFIC_UP, sizes[i], in);

		CU_ASSERT_EQUAL(bytes, sizes[i] - 4 + 44);
		CU_ASSERT_EQUAL(sum16(in + 14, 20), 0);
		CU_ASSERT_EQUAL(sum16(in + UP_USER_AT, 20), 0);
		bytes = forwarded_up(in, bytes, out);
		CU_ASSERT_EQUAL(traffic_frame_read(&conf, TRAFFIC_UP, out, bytes, &stamp),
				TRAFFIC_FAULTS);
		CU_ASSERT_TRUE(stamp.mark == 7 && stamp.number == 99 && stamp.tsc == 12345 &&
			       stamp.flow == FLOW);
		bytes = written(TRAFFIC_DOWN, sizes[i], in);
		CU_ASSERT_EQUAL(bytes, sizes[i] - 4);
		bytes = forwarded_down(in, bytes, out);
		CU_ASSERT_EQUAL(traffic_frame_read(&conf, TRAFFIC_DOWN, out, bytes, &stamp),
				TRAFFIC_FAULTS);
		CU_ASSERT_EQUAL(stamp.flow, FLOW | TRAFFIC_DOWN_BIT);
	}
}

static void test_reflected(void)
{
	uint8_t frame[2048];
	struct traffic_stamp stamp;

	conf_set(true);
	for (enum traffic_way way = 0; way < TRAFFIC_WAYS; way++) {
		uint32_t bytes = written(way, 64, frame);

		CU_ASSERT_EQUAL(traffic_frame_read(&conf, way, frame, bytes, &stamp),
				TRAFFIC_FAULTS);
		conf.reflected = false; // a UPF that forwards frames as they are
		CU_ASSERT_EQUAL(traffic_frame_read(&conf, way, frame, bytes, &stamp),
				TRAFFIC_FOREIGN);
		conf.reflected = true;
	}
}

// Where a frame is changed, to what, whether its IP header's sum is made right again, and what it is then.
struct damage {
	enum traffic_way way;
	unsigned at;
	uint8_t to;
	unsigned ip_at; // 0: the sum is left
	enum traffic_fault fault;
};

#define IP 14u
#define USER UP_USER_AT

static const struct damage damages[] = {
	{TRAFFIC_UP, IP + 8, 64, IP, TRAFFIC_MALFORMED},        // TTL not lowered
	{TRAFFIC_UP, IP + 8, 62, IP, TRAFFIC_MALFORMED},        // lowered twice
	{TRAFFIC_UP, IP + 11, 0x55, 0, TRAFFIC_MALFORMED},      // checksum
	{TRAFFIC_UP, IP + 15, 9, IP, TRAFFIC_WRONG_UE},         // source
	{TRAFFIC_UP, IP + 19, 9, IP, TRAFFIC_MALFORMED},        // destination
	{TRAFFIC_UP, IP + 21, 9, 0, TRAFFIC_MALFORMED},         // the UE's port
	{TRAFFIC_UP, IP + 23, 9, 0, TRAFFIC_MALFORMED},         // the other port
	{TRAFFIC_UP, IP + 3, 30, IP, TRAFFIC_FOREIGN},          // length
	{TRAFFIC_UP, IP + 9, 6, IP, TRAFFIC_FOREIGN},           // not UDP
	{TRAFFIC_UP, 13, 6, 0, TRAFFIC_FOREIGN},                // ARP
	{TRAFFIC_UP, IP + 28 + 5, 0xff, 0, TRAFFIC_FOREIGN},    // flow beyond all
	{TRAFFIC_DOWN, IP + 19, 3, IP, TRAFFIC_MALFORMED},      // another gNB
	{TRAFFIC_DOWN, IP + 15, 3, IP, TRAFFIC_MALFORMED},      // not the UPF's address
	{TRAFFIC_DOWN, IP + 11, 0x55, 0, TRAFFIC_FOREIGN},      // outer checksum
	{TRAFFIC_DOWN, IP + 28 + 7, 9, 0, TRAFFIC_WRONG_UE},    // TEID
	{TRAFFIC_DOWN, IP + 28 + 14, 5, 0, TRAFFIC_WRONG_QFI},  // QFI
	{TRAFFIC_DOWN, IP + 28 + 1, 254, 0, TRAFFIC_FOREIGN},   // an End Marker
	{TRAFFIC_DOWN, IP + 28 + 3, 9, 0, TRAFFIC_FOREIGN},     // GTP-U length
	{TRAFFIC_DOWN, IP + 28 + 11, 0x40, 0, TRAFFIC_FOREIGN}, // another extension
	{TRAFFIC_DOWN, IP + 23, 9, 0, TRAFFIC_FOREIGN},         // another port
	{TRAFFIC_DOWN, USER + 8, 64, USER, TRAFFIC_MALFORMED},
	{TRAFFIC_DOWN, USER + 19, 9, USER, TRAFFIC_WRONG_UE},
	{TRAFFIC_DOWN, USER + 15, 9, USER, TRAFFIC_MALFORMED},
};

static void test_damage(void)
{
	conf_set(false);
	for (unsigned i = 0; i < N(damages); i++) {
		const struct damage *d = &damages[i];
		uint8_t in[2048], out[2048];
		struct traffic_stamp stamp;
		uint32_t bytes = written(d->way, 64, in);

		bytes = d->way == TRAFFIC_UP ? forwarded_up(in, bytes, out)
					     : forwarded_down(in, bytes, out);
		out[d->at] = d->to;
		if (d->ip_at)
			ip_sum_set(out + d->ip_at);
		CU_ASSERT_EQUAL(traffic_frame_read(&conf, d->way, out, bytes, &stamp), d->fault);
	}
}

// No frame that is cut off is more than foreign, nor read beyond its end.
static void test_cut(void)
{
	conf_set(false);
	for (enum traffic_way way = 0; way < TRAFFIC_WAYS; way++) {
		uint8_t in[2048], out[2048];
		struct traffic_stamp stamp;
		uint32_t bytes = written(way, 64, in);

		bytes = way == TRAFFIC_UP ? forwarded_up(in, bytes, out)
					  : forwarded_down(in, bytes, out);
		for (uint32_t n = 0; n < bytes; n++)
			CU_ASSERT_EQUAL(traffic_frame_read(&conf, way, out, n, &stamp),
					TRAFFIC_FOREIGN);
	}
}

static void test_order(void)
{
	static const struct {
		uint32_t number;
		enum traffic_fault fault;
	} steps[] = {
		{0, TRAFFIC_FAULTS},      {1, TRAFFIC_FAULTS},      {1, TRAFFIC_DUPLICATE},
		{4, TRAFFIC_FAULTS},      {2, TRAFFIC_REORDERED},   {2, TRAFFIC_DUPLICATE},
		{0, TRAFFIC_DUPLICATE},   {67, TRAFFIC_FAULTS},     {4, TRAFFIC_DUPLICATE},
		{3, TRAFFIC_REORDERED},   {500, TRAFFIC_FAULTS},    {437, TRAFFIC_REORDERED},
		{500, TRAFFIC_DUPLICATE}, {437, TRAFFIC_DUPLICATE},
	};
	struct traffic_seen seen = {0};

	for (unsigned i = 0; i < N(steps); i++)
		CU_ASSERT_EQUAL(traffic_seen_take(&seen, steps[i].number), steps[i].fault);
}

static CU_TestInfo tests[] = {
	{"sizes", test_sizes}, {"reflected", test_reflected}, {"damage", test_damage},
	{"cut", test_cut},     {"order", test_order},         CU_TEST_INFO_NULL,
};

UNIT_MAIN("perf_traffic")
