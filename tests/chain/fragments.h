// Fragments for chain tests: of a user's packet, each in a frame of its own, and of a tunnel's packet.
//
// Cut by packet/fragment.h, which has tests of its own (tests/unit/test_fragment.c).

#pragma once

#include "chain.h"
#include "packet/fragment.h"
#include "packet/gtpu.h"
#include "packet/ip.h"
#include "packet/l4.h"

#define PIECES_MAX 32

struct pieces {
	unsigned n;
	size_t bytes[PIECES_MAX];
	uint8_t frames[PIECES_MAX][RIG_FRAME_MAX];
	uint32_t at; // where the packet that was cut stands in each frame
};

static inline void ip4_sum_right(uint8_t *ip)
{
	((struct ip4_head *)ip)->cksum = ip4_cksum((struct ip4_head *)ip);
}

// The next piece of the packet at `ip`, at most `mtu` long: its length, 0 at the end.
static inline uint32_t pieces_next(uint8_t *ip, uint32_t mtu, uint32_t id, uint32_t *at,
				   uint8_t *to)
{
	if (*ip >> 4 == 6)
		return fragment6_next((const struct ip6_head *)ip, mtu, id, at, to);
	((struct ip4_head *)ip)->id = rte_cpu_to_be_16((uint16_t)id);
	((struct ip4_head *)ip)->fragment = 0;
	return fragment4_next((const struct ip4_head *)ip, mtu, at, to);
}

// A user packet of the flow in pieces, as they come in.
static inline void pieces_of_user(const struct rig *rig, const struct rig_session *s, bool up,
				  const struct rig_flow *flow, uint32_t mtu, uint32_t id,
				  struct pieces *ret)
{
	uint8_t frame[RIG_FRAME_MAX];
	uint32_t at = 0, bytes;

	chain_frame(rig, s, up, flow, frame);
	*ret = (struct pieces){.at = up ? rig_user_at(rig, flow->qfi) : ETH_BYTES};
	while ((bytes = pieces_next(frame + ret->at, mtu, id, &at,
				    ret->frames[ret->n] + ret->at))) {
		uint8_t *out = ret->frames[ret->n];
		uint8_t *gtpu = out + rig_gtpu_at(rig);

		memcpy(out, frame, ret->at);
		if (up) {
			be16_put(gtpu + 2,
				 (uint16_t)(ret->at - rig_gtpu_at(rig) - GTPU_BYTES + bytes));
			rig_outer_write(rig, GTPU_PORT, ret->at - rig_gtpu_at(rig) + bytes, out);
		}
		ret->bytes[ret->n++] = ret->at + bytes;
	}
}

// An uplink G-PDU of the flow whose tunnel's packet comes in pieces.
static inline void pieces_of_tunnel(const struct rig *rig, const struct rig_session *s,
				    const struct rig_flow *flow, uint32_t mtu, uint32_t id,
				    struct pieces *ret)
{
	uint8_t frame[RIG_FRAME_MAX];
	uint32_t at = 0, bytes;

	rig_frame_up(rig, s, flow, frame);
	*ret = (struct pieces){.at = ETH_BYTES};
	while ((bytes = pieces_next(frame + ETH_BYTES, mtu, id, &at,
				    ret->frames[ret->n] + ETH_BYTES))) {
		memcpy(ret->frames[ret->n], frame, ETH_BYTES);
		ret->bytes[ret->n++] = ETH_BYTES + bytes;
	}
}

static inline void piece_send(struct rig *rig, unsigned iface, const struct pieces *pieces,
			      unsigned i, unsigned via)
{
	rig_send(rig, iface, via % rig->conf.n_workers, pieces->frames[i], pieces->bytes[i]);
}

static inline struct rig_flow fragment_flow(bool v6, uint16_t dn_port, unsigned payload)
{
	return (struct rig_flow){.proto = IPPROTO_UDP,
				 .ue_port = 4000,
				 .dn_port = dn_port,
				 .ttl = 64,
				 .payload = (uint16_t)payload,
				 .qfi = 1,
				 .v6 = v6};
}
