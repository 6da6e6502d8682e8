// The table of meters (meters_put.h). Control thread.
//
// The rate is the one that the SMF gave, not what it was rounded to; bytes and packets left are what would pass
// at once, now.

#include "ctl/meters_put.h"

#include "ctl/reply.h"
#include "rules/model.h"
#include "session/policy.h"

static void row_put(struct reply *r, const struct qer_rule *qer, enum side side,
		    const struct meter_full *meter, uint64_t now, uint64_t burst)
{
	bool up = side == SIDE_UP;
	uint64_t bps = up ? qer->mbr_up_bps : qer->mbr_down_bps;
	uint16_t packets = up ? qer->packet_rate_up : qer->packet_rate_down;

	reply_row(r);
	reply_uint(r, NULL, qer->id);
	reply_str(r, NULL, up ? "up" : "down");
	reply_uint_if(r, NULL, qer->has_mbr, bps);
	reply_uint_if(r, NULL, qer->has_mbr && meter,
		      meter && bps ? meter_bytes_left(meter->tat, now, burst, meter->meter.cost)
				   : 0);
	reply_uint_if(r, NULL, packets != 0, packets);
	reply_uint_if(r, NULL, packets != 0, up ? qer->packet_unit_up_s : qer->packet_unit_down_s);
	reply_uint_if(r, NULL, meter != NULL, meter ? meter->meter.dropped : 0);
	reply_uint_if(r, NULL, meter != NULL, meter ? meter->meter.dropped_bytes : 0);
}

void meters_put(struct reply *r, const struct rules *rules, const struct policy *policy,
		uint64_t now, uint64_t burst)
{
	static const char *const columns[] = {
		"qer",           "direction",       "rate_bps",      "bytes_left", "packet_rate",
		"packet_rate_s", "dropped_packets", "dropped_bytes", NULL,
	};

	reply_table_open(r, "meters", columns);
	for (unsigned i = 0; i < rules->n_qers; i++)
		for (unsigned side = 0; side < SIDES; side++) {
			const struct qer_rule *qer = &rules->qers[i];
			const struct meter_full *meter =
				policy && qer->place && qer->place <= policy->form.n_meters
					? policy_meter_full(policy, qer->place - 1u, side)
					: NULL;

			row_put(r, qer, side, meter, now, burst);
		}
	reply_table_close(r);
}
