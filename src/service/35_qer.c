// The row and the batch form of qer, and its rarer parts (35_qer.h).
//
// Workers run it; see service.h for what a service is.

#include "service/35_qer.h"

SERVICE_RUN(qer_run, qer_one)

const struct service service_qer = {
	.name = "qer",
	.bit = SERVICE_BIT_qer,
	.run = qer_run,
	.after = SERVICES("pdr"),
	.before = SERVICES("far"),
	.help = "drops what a QER's closed gate or rate stops",
};

static enum side side_of(const struct pkt *p)
{
	return (p->flags & PKT_F_UP) ? SIDE_UP : SIDE_DOWN;
}

static const struct policy *policy_of(const struct worker *w, const struct pkt *p)
{
	return w->table.cold[session_ref_index(p->ref)].policy;
}

static struct meter *meter_of(const struct worker *w, const struct pkt *p, unsigned number)
{
	return policy_meter(policy_of(w, p), number, side_of(p));
}

// NULL where there is no packet rate.
static struct packet_meter *packets_of(const struct worker *w, const struct pkt *p, unsigned number)
{
	const struct policy *policy = policy_of(w, p);
	struct packet_meter *packets = policy->form.packets
					       ? policy_packets(policy, number, side_of(p))
					       : NULL;

	return packets && packets->units ? packets : NULL;
}

// A meter of the first places may be listed too, for its packet rate: its bytes are the line's.
static uint64_t *tat_of(const struct worker *w, const struct pkt *p, unsigned number)
{
	return number < POLICY_LINE_METERS
		       ? &p->line->tat[number]
		       : &policy_meter_full(policy_of(w, p), number, side_of(p))->tat;
}

static bool listed_passes(const struct worker *w, const struct pkt *p, unsigned number)
{
	const struct packet_meter *packets = packets_of(w, p, number);

	return meter_passes(*tat_of(w, p, number), w->now, w->meter_burst) &&
	       (!packets || meter_passes(packets->tat, w->now, packets->burst));
}

bool qer_listed_pass(struct worker *w, const struct pkt *p)
{
	const uint8_t *meters = p->pdr->meters;

	for (unsigned i = 0; i < sizeof(p->pdr->meters) && meters[i] != PDR_NO_PLACE; i++)
		if (!listed_passes(w, p, meters[i]))
			return false;
	return true;
}

void qer_listed_charge(struct worker *w, const struct pkt *p)
{
	const uint8_t *meters = p->pdr->meters;

	for (unsigned i = 0; i < sizeof(p->pdr->meters) && meters[i] != PDR_NO_PLACE; i++) {
		struct packet_meter *packets = packets_of(w, p, meters[i]);
		const struct meter *meter = meter_of(w, p, meters[i]);
		uint64_t *tat = tat_of(w, p, meters[i]);

		*tat = meter_charge_bytes(*tat, w->now, w->meter_burst, meter->cost, p->user_bytes);
		if (packets)
			packets->tat = meter_charge(packets->tat, w->now, packets->units);
	}
}

static void count_dropped(struct worker *w, const struct pkt *p, unsigned number)
{
	struct meter *meter = meter_of(w, p, number);

	meter->dropped++;
	meter->dropped_bytes += p->user_bytes;
}

void qer_drop(struct worker *w, struct pkt *p)
{
	const uint8_t *meters = p->pdr->meters;
	unsigned policy = p->pdr->policy;
	uint64_t limit = w->now + w->meter_burst;

	if ((policy & PDR_POLICY_METER_0) && p->line->tat[0] > limit)
		count_dropped(w, p, 0);
	if ((policy & PDR_POLICY_METER_1) && p->line->tat[1] > limit)
		count_dropped(w, p, 1);
	for (unsigned i = 0; i < sizeof(p->pdr->meters) && meters[i] != PDR_NO_PLACE; i++)
		if (!listed_passes(w, p, meters[i]))
			count_dropped(w, p, meters[i]);
	pkt_drop(w, p, DROP_rate_exceeded);
}
