// The bytes of the traffic's frames: writing them, and judging what comes back (traffic.h).
//
// Pure. The judging reads the octets itself, after RFC 791, RFC 768, TS 29.281 5.1 and TS 38.415 5.5.2, and nothing
// of Sluice's own parser.

#include <stddef.h>
#include <string.h>

#include "n4.h"
#include "packet/eth.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"
#include "traffic.h"

#define TTL 64
#define ETH_CHECKSUM_BYTES 4
#define UE_PORT 10000
#define OTHER_PORT 5001 // of odd flows: not the first PDR's filter
#define TUNNEL_BYTES (IP4_BYTES + UDP_BYTES + GTPU_BYTES + 8)
#define UPLINK_PDU 0x10

const char *const traffic_fault_names[TRAFFIC_FAULTS] = {
	"foreign", "malformed", "wrong_ue", "wrong_qfi", "duplicate", "reordered",
};

static rte_be32_t ue_of(const struct traffic_conf *conf, uint32_t flow)
{
	return rte_cpu_to_be_32(rte_be_to_cpu_32(conf->ue_base.v4) + flow / conf->flows);
}

static uint16_t dn_port(uint32_t flow)
{
	return flow % 2 ? OTHER_PORT : N4_FILTER_PORT;
}

// --- writing ---------------------------------------------------------------------------------------------

static void ip_udp_write(uint8_t *ip, rte_be32_t src, rte_be32_t dst, uint16_t sport,
			 uint16_t dport, uint32_t payload)
{
	struct ip4_head *head = (struct ip4_head *)ip;
	struct udp_head *udp = (struct udp_head *)(ip + IP4_BYTES);

	ip4_write(head, src, dst, IPPROTO_UDP, UDP_BYTES + payload);
	*udp = (struct udp_head){
		.sport = rte_cpu_to_be_16(sport),
		.dport = rte_cpu_to_be_16(dport),
		.bytes = rte_cpu_to_be_16((uint16_t)(UDP_BYTES + payload)),
	};
}

uint32_t traffic_stamp_at(enum traffic_way way)
{
	return ETH_BYTES + (way == TRAFFIC_UP ? TUNNEL_BYTES : 0) + IP4_BYTES + UDP_BYTES;
}

uint32_t traffic_frame_write(const struct traffic_conf *conf, const struct traffic_ends *ends,
			     enum traffic_way way, uint32_t flow, uint32_t teid, uint16_t size,
			     uint8_t *frame)
{
	uint32_t user_bytes = size - ETH_CHECKSUM_BYTES - ETH_BYTES;
	uint32_t payload = user_bytes - IP4_BYTES - UDP_BYTES;
	uint16_t ue_port = (uint16_t)(UE_PORT + flow % conf->flows);
	uint32_t at = eth_write(frame, ends->peer[way], ends->mac[way], 0, ETH_TYPE_IP4);

	if (way == TRAFFIC_UP) {
		uint8_t *gtpu = frame + at + IP4_BYTES + UDP_BYTES;

		ip_udp_write(frame + at, conf->gnb.v4, conf->n3.v4, GTPU_PORT, GTPU_PORT,
			     TUNNEL_BYTES - IP4_BYTES - UDP_BYTES + user_bytes);
		gtpu_gpdu_write(gtpu, teid, user_bytes, N4_QFI, false);
		gtpu[GTPU_BYTES + GTPU_OPTION_BYTES + 1] = UPLINK_PDU;
		at += TUNNEL_BYTES;
		ip_udp_write(frame + at, ue_of(conf, flow), conf->server.v4, ue_port, dn_port(flow),
			     payload);
	} else {
		ip_udp_write(frame + at, conf->server.v4, ue_of(conf, flow), dn_port(flow), ue_port,
			     payload);
	}
	return at + user_bytes;
}

// --- judging ---------------------------------------------------------------------------------------------

static uint32_t be32_at(const uint8_t *at)
{
	return (uint32_t)be16_get(at) << 16 | be16_get(at + 2);
}

// Of an IPv4 header without options: it sums up to all ones.
static bool sum_is_right(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < IP4_BYTES; i += 2)
		sum += be16_get(ip + i);
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

// An IPv4 packet with UDP of exactly `bytes`, or of fewer where Ethernet has padded it.
static bool is_udp(const uint8_t *ip, uint32_t bytes, bool padded)
{
	uint32_t total;

	if (bytes < IP4_BYTES + UDP_BYTES || ip[0] != 0x45 || ip[9] != IPPROTO_UDP)
		return false;
	total = be16_get(ip + 2);
	return (padded ? total <= bytes : total == bytes) && total >= IP4_BYTES + UDP_BYTES &&
	       be16_get(ip + IP4_BYTES + 4) == total - IP4_BYTES;
}

struct tunnel_read {
	uint32_t teid;
	uint8_t qfi;
};

// The G-PDU at `ip`, with a PDU Session Container as its one extension header; moves on to the user packet.
static bool tunnel_read(const uint8_t **ip, uint32_t *bytes, struct tunnel_read *ret)
{
	const uint8_t *gtpu = *ip + IP4_BYTES + UDP_BYTES;

	if (!is_udp(*ip, *bytes, true) || *bytes < TUNNEL_BYTES ||
	    be16_get(*ip + IP4_BYTES + 2) != 2152)
		return false;
	*bytes = be16_get(*ip + 2) - TUNNEL_BYTES;
	if (gtpu[0] != 0x34 || gtpu[1] != 255 || be16_get(gtpu + 2) != *bytes + 8 ||
	    gtpu[11] != 0x85 || gtpu[12] != 1 || gtpu[15] != 0 || !sum_is_right(*ip))
		return false;
	ret->teid = be32_at(gtpu + 4);
	ret->qfi = gtpu[14] & 0x3f;
	*ip += TUNNEL_BYTES;
	return true;
}

// The user packet is the flow's, whole, and one hop further on.
static enum traffic_fault user_judge(const struct traffic_conf *conf, enum traffic_way way,
				     const uint8_t *ip, uint32_t flow)
{
	const uint8_t *ue = way == TRAFFIC_UP ? ip + 12 : ip + 16;
	const uint8_t *server = way == TRAFFIC_UP ? ip + 16 : ip + 12;
	const uint8_t *udp = ip + IP4_BYTES;
	uint16_t ue_port = be16_get(way == TRAFFIC_UP ? udp : udp + 2);
	uint16_t port = be16_get(way == TRAFFIC_UP ? udp + 2 : udp);
	rte_be32_t expected = ue_of(conf, flow);

	if (memcmp(ue, &expected, sizeof(expected)) != 0)
		return TRAFFIC_WRONG_UE;
	if (ip[8] != TTL - !conf->reflected || !sum_is_right(ip) ||
	    memcmp(server, &conf->server.v4, sizeof(conf->server.v4)) != 0 ||
	    port != dn_port(flow) || ue_port != UE_PORT + flow % conf->flows)
		return TRAFFIC_MALFORMED;
	return TRAFFIC_FAULTS;
}

static enum traffic_fault tunnel_judge(const struct traffic_conf *conf, const uint8_t *outer,
				       const struct tunnel_read *tunnel, uint32_t flow)
{
	if (conf->reflected)
		return TRAFFIC_FAULTS;
	if (memcmp(outer + 16, &conf->gnb.v4, sizeof(conf->gnb.v4)) != 0 ||
	    memcmp(outer + 12, &conf->n3.v4, sizeof(conf->n3.v4)) != 0)
		return TRAFFIC_MALFORMED;
	if (tunnel->teid != N4_GNB_TEID + flow / conf->flows)
		return TRAFFIC_WRONG_UE;
	return tunnel->qfi == N4_QFI ? TRAFFIC_FAULTS : TRAFFIC_WRONG_QFI;
}

enum traffic_fault traffic_frame_read(const struct traffic_conf *conf, enum traffic_way way,
				      const uint8_t *frame, uint32_t bytes,
				      struct traffic_stamp *ret_stamp)
{
	bool tunnelled = (way == TRAFFIC_DOWN) != conf->reflected;
	const uint8_t *outer = frame + ETH_BYTES, *ip = outer;
	struct tunnel_read tunnel = {0};
	enum traffic_fault fault;
	uint32_t flow;

	if (bytes < ETH_BYTES || be16_get(frame + ETH_BYTES - 2) != ETH_TYPE_IP4)
		return TRAFFIC_FOREIGN;
	bytes -= ETH_BYTES;
	if (tunnelled && !tunnel_read(&ip, &bytes, &tunnel))
		return TRAFFIC_FOREIGN;
	if (!is_udp(ip, bytes, !tunnelled) ||
	    be16_get(ip + 2) < IP4_BYTES + UDP_BYTES + sizeof(*ret_stamp))
		return TRAFFIC_FOREIGN;
	memcpy(ret_stamp, ip + IP4_BYTES + UDP_BYTES, sizeof(*ret_stamp));
	flow = ret_stamp->flow & ~TRAFFIC_DOWN_BIT;
	if (flow >= conf->ues * conf->flows ||
	    (ret_stamp->flow & TRAFFIC_DOWN_BIT) != (way == TRAFFIC_DOWN ? TRAFFIC_DOWN_BIT : 0))
		return TRAFFIC_FOREIGN;
	fault = tunnelled ? tunnel_judge(conf, outer, &tunnel, flow) : TRAFFIC_FAULTS;
	return fault == TRAFFIC_FAULTS ? user_judge(conf, way, ip, flow) : fault;
}

// --- order -----------------------------------------------------------------------------------------------

enum traffic_fault traffic_seen_take(struct traffic_seen *seen, uint32_t number)
{
	uint32_t back = seen->next - 1 - number;

	if (number >= seen->next) {
		uint32_t on = number - seen->next + 1;

		seen->last = (on < 64 ? seen->last << on : 0) | 1;
		seen->next = number + 1;
		return TRAFFIC_FAULTS;
	}
	if (back < 64) {
		if (seen->last >> back & 1)
			return TRAFFIC_DUPLICATE;
		seen->last |= 1ull << back;
	}
	return TRAFFIC_REORDERED;
}
