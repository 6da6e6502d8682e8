// UP Function Features, see features.h (TS 29.244 8.2.25).
//
// Control thread. The features that an SMF most often asks for stand here with what is true of them; those of
// access types and protocols that Sluice does not know (Ethernet, TSN, ATSSS, L2TP, MBS) have no row.

#include "pfcp/features.h"

#include <stddef.h>

#include "pfcp/ie.h"
#include "pfcp/n4.h"
#include "pfcp/writer.h"

#define FEATURE(name, works, help)                                                                 \
	{                                                                                          \
#name, (uint64_t)PFCP_UP_FUNCTION_FEATURES_##name, works, help                     \
	}

static bool always(const struct n4_env *env)
{
	(void)env;
	return true;
}

static bool never(const struct n4_env *env)
{
	(void)env;
	return false;
}

// Some network instance has the service.
static bool redirects(const struct n4_env *env)
{
	for (unsigned i = 0; i < env->n_nis; i++)
		if (env->nis[i].redirects)
			return true;
	return false;
}

static const struct up_feature features[] = {
	FEATURE(FTUP, always, "TEIDs are picked by the UPF"),
	FEATURE(BUCP, never, "packets are buffered by the SMF"),
	FEATURE(DDND, always, "downlink data notifications can be delayed"),
	FEATURE(DLBD, always, "buffering can be limited in time"),
	FEATURE(TRST, always, "traffic is steered by policies of the UPF"),
	FEATURE(PFDM, always, "packet flow descriptions are managed"),
	FEATURE(TREU, redirects, "traffic is redirected to other addresses"),
	FEATURE(EMPU, always, "End Markers are sent by the UPF"),
	FEATURE(PDIU, always, "traffic endpoints shorten PDIs"),
	FEATURE(QUOAC, always, "a FAR says what happens when a quota is used up"),
	FEATURE(TRACE, never, "sessions can be traced"),
	FEATURE(FRRT, always, "framed routes"),
	FEATURE(PFDE, always, "a PFD may have several values of a kind"),
	FEATURE(EPFAR, never, "an association can be released with final reports"),
	FEATURE(UEIP, always, "UE addresses are picked by the UPF"),
	FEATURE(SSET, never, "a set of SMFs shares an association"),
	FEATURE(MPAS, never, "SMFs of a set have associations of their own"),
	FEATURE(MNOP, always, "packets are counted beside bytes"),
	FEATURE(BUNDL, always, "several messages to a datagram"),
	FEATURE(VTIME, always, "quotas have a validity time"),
	FEATURE(DPDRA, always, "PDRs can become active, or inactive, at a given time"),
	FEATURE(ADPDP, always, "predefined rules are activated by name"),
	FEATURE(RATP, redirects, "traffic is redirected to other ports"),
	FEATURE(IP6PL, always, "a UE's IPv6 prefix may be other than /64"),
};

#define N_FEATURES (sizeof(features) / sizeof(features[0]))

const struct up_feature *up_feature_get(unsigned i)
{
	return i < N_FEATURES ? &features[i] : NULL;
}

uint64_t up_features(const struct n4_env *env)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < N_FEATURES; i++)
		bits |= features[i].works(env) ? features[i].bit : 0;
	return bits;
}

// The first version of the IE had two octets, so no fewer are sent.
void up_features_encode(struct pfcp_writer *w, const struct n4_env *env)
{
	uint64_t bits = up_features(env);
	uint8_t octets[8];
	size_t len = 0;

	do {
		octets[len] = (uint8_t)(bits >> (8 * len));
		len++;
	} while (len < sizeof(octets) && (len < 2 || bits >> (8 * len)));
	pfcp_octets_encode(w, PFCP_IE_UP_FUNCTION_FEATURES, octets, len);
}
