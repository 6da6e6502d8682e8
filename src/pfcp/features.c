// UP Function Features, see features.h (TS 29.244 8.2.25).
//
// Control thread. The features that an SMF most often asks for stand here with what is true of them; those of
// access types and protocols that Sluice does not know (Ethernet, TSN, ATSSS, L2TP, MBS) have no row.

#include "pfcp/features.h"

#include <stddef.h>

#include "pfcp/ie.h"
#include "pfcp/writer.h"

#define FEATURE(name, works, help)                                                                 \
	{                                                                                          \
#name, (uint64_t)PFCP_UP_FUNCTION_FEATURES_##name, works, help                     \
	}

static const struct up_feature features[] = {
	FEATURE(FTUP, true, "TEIDs are picked by the UPF"),
	FEATURE(BUCP, false, "packets are buffered by the SMF"),
	FEATURE(DDND, true, "downlink data notifications can be delayed"),
	FEATURE(DLBD, true, "buffering can be limited in time"),
	FEATURE(TRST, true, "traffic is steered by policies of the UPF"),
	FEATURE(PFDM, true, "packet flow descriptions are managed"),
	FEATURE(EMPU, true, "End Markers are sent by the UPF"),
	FEATURE(PDIU, true, "traffic endpoints shorten PDIs"),
	FEATURE(QUOAC, true, "a FAR says what happens when a quota is used up"),
	FEATURE(TRACE, false, "sessions can be traced"),
	FEATURE(FRRT, true, "framed routes"),
	FEATURE(PFDE, true, "a PFD may have several values of a kind"),
	FEATURE(EPFAR, false, "an association can be released with final reports"),
	FEATURE(UEIP, true, "UE addresses are picked by the UPF"),
	FEATURE(SSET, false, "a set of SMFs shares an association"),
	FEATURE(MPAS, false, "SMFs of a set have associations of their own"),
	FEATURE(MNOP, true, "packets are counted beside bytes"),
	FEATURE(BUNDL, true, "several messages to a datagram"),
	FEATURE(VTIME, true, "quotas have a validity time"),
	FEATURE(DPDRA, true, "PDRs can become active, or inactive, at a given time"),
	FEATURE(ADPDP, true, "predefined rules are activated by name"),
	FEATURE(IP6PL, true, "a UE's IPv6 prefix may be other than /64"),
};

#define N_FEATURES (sizeof(features) / sizeof(features[0]))

const struct up_feature *up_feature_get(unsigned i)
{
	return i < N_FEATURES ? &features[i] : NULL;
}

uint64_t up_features(void)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < N_FEATURES; i++)
		bits |= features[i].works ? features[i].bit : 0;
	return bits;
}

// The first version of the IE had two octets, so no fewer are sent.
void up_features_encode(struct pfcp_writer *w)
{
	uint64_t bits = up_features();
	uint8_t octets[8];
	size_t len = 0;

	do {
		octets[len] = (uint8_t)(bits >> (8 * len));
		len++;
	} while (len < sizeof(octets) && (len < 2 || bits >> (8 * len)));
	pfcp_octets_encode(w, PFCP_IE_UP_FUNCTION_FEATURES, octets, len);
}
