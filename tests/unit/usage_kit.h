// Usage for tests of N4: packets that a session's owner counts, and an SMF that reads every usage report there is.
//
// Packets are counted by the functions that services call, at the PDR of the compiled rules that has this id. The
// SMF's book is kept from the octets of reports and answers: UR-SEQNs of a URR come in order, and one that comes again
// counts once.

#pragma once

#include "session_kit.h"

#include "pfcp/usage.h"
#include "rules/ruleset.h"
#include "session/usage.h"
#include "worker/usage_mark.h"

#define BOOK_URRS 8192
#define BOOK_SESSIONS 4096

#define PERIO 0x01
#define VOLTH 0x02
#define TIMTH 0x04
#define QUHTI 0x08
#define START 0x10
#define STOPT 0x20
#define IMMER 0x80
#define VOLQU 0x0100
#define TIMQU 0x0200
#define LIUSA 0x0400
#define TERMR 0x0800
#define MONIT 0x1000
#define EVETH 0x8000
#define EVEQU 0x010000
#define QUVTI 0x080000

struct usage_sum {
	uint64_t cp_seid;
	uint32_t urr;
	unsigned n;    // reports
	uint32_t next; // UR-SEQN that has not come yet
	uint64_t total, up, down, up_packets, down_packets, duration_s;
	// Of the latest report.
	uint32_t trigger, start, end, reference, first_packet, last_packet;
	uint64_t last_total;
	bool has_volume, has_packets, has_duration;
	uint8_t information;
	unsigned n_events;
	uint32_t events[32];
};

static struct {
	unsigned n;
	struct usage_sum sums[BOOK_URRS];
	uint64_t up_seids[BOOK_SESSIONS]; // by CP SEID
	bool mute;                        // the SMF answers no report
	unsigned requests;                // Session Report Requests with usage
} book;

// The entry of a URR's latest life, made if there is none.
static inline struct usage_sum *book_of(uint64_t cp_seid, uint32_t urr)
{
	for (unsigned i = book.n; i-- > 0;)
		if (book.sums[i].cp_seid == cp_seid && book.sums[i].urr == urr)
			return &book.sums[i];
	CU_ASSERT_FATAL(book.n < BOOK_URRS);
	book.sums[book.n] = (struct usage_sum){.cp_seid = cp_seid, .urr = urr};
	return &book.sums[book.n++];
}

static inline uint64_t member(struct found group, unsigned type)
{
	struct found f = find_ie(group, type, 0);

	return f.at ? number_at(f.at, (unsigned)f.len) : 0;
}

static inline uint64_t volume_at(struct found volume, unsigned n)
{
	return number_at(volume.at + 1 + 8 * n, 8);
}

// The octets of Usage Report Trigger as flag bytes, the first lowest.
static inline uint32_t trigger_of(struct found group)
{
	struct found f = find_ie(group, 63, 0);
	uint32_t trigger = 0;

	CU_ASSERT_FATAL(f.at != NULL && f.len >= 2 && f.len <= 3);
	for (unsigned i = 0; i < f.len; i++)
		trigger |= (uint32_t)f.at[i] << 8 * i;
	return trigger;
}

static inline void book_volume(struct usage_sum *s, struct found volume)
{
	bool packets = volume.at && volume.at[0] & 0x38;

	s->has_volume = volume.at != NULL;
	s->has_packets = packets;
	if (!volume.at)
		return;
	CU_ASSERT_FATAL(volume.at[0] == (packets ? 0x3f : 0x07));
	CU_ASSERT_EQUAL_FATAL(volume.len, packets ? 49 : 25);
	CU_ASSERT_EQUAL(volume_at(volume, 0), volume_at(volume, 1) + volume_at(volume, 2));
	s->last_total = volume_at(volume, 0);
	s->total += volume_at(volume, 0);
	s->up += volume_at(volume, 1);
	s->down += volume_at(volume, 2);
	if (packets) {
		s->up_packets += volume_at(volume, 4);
		s->down_packets += volume_at(volume, 5);
	}
}

static inline void book_one(uint64_t cp_seid, struct found group)
{
	struct usage_sum *s = book_of(cp_seid, (uint32_t)member(group, 81));
	uint32_t sequence = (uint32_t)member(group, 104);

	if (sequence < s->next)
		return; // it came before
	s->next = sequence + 1;
	s->n++;
	s->trigger = trigger_of(group);
	s->start = (uint32_t)member(group, 75);
	s->end = (uint32_t)member(group, 76);
	s->first_packet = (uint32_t)member(group, 69);
	s->last_packet = (uint32_t)member(group, 70);
	s->reference = (uint32_t)member(group, 125);
	s->information = (uint8_t)member(group, 90);
	s->has_duration = find_ie(group, 67, 0).at != NULL;
	s->duration_s += member(group, 67);
	for (s->n_events = 0; find_ie(group, 156, s->n_events).at; s->n_events++)
		s->events[s->n_events] = (uint32_t)number_at(find_ie(group, 156, s->n_events).at,
							     4);
	book_volume(s, find_ie(group, 66, 0));
}

// Reads what the latest message has of usage; answers it if it is a report.
static inline void book_read(void)
{
	uint64_t cp_seid = answer_seid();
	unsigned type = answer_type(), n = 0;
	unsigned usage = type == 53 ? 78 : type == 55 ? 79 : type == 56 ? 80 : 0;
	struct found group;

	if (!usage)
		return;
	while ((group = find_ie(answer_ies(), usage, n)).at) {
		book_one(cp_seid, group);
		n++;
	}
	book.requests += type == 56 && n > 0;
}

static void kit_events(void *ctx, struct worker *w)
{
	struct usage_event event;

	while (usage_events_take(w, &event, 1) == 1)
		n4_usage_event(kit.n4, w->id, &event);
}

static inline void usage_open(const struct kit_conf *conf)
{
	kit_open(conf);
	kit.n4->conf.heartbeat_s = 0; // the peer answers none
	memset(&book, 0, sizeof(book));
	for (unsigned i = 0; i < KIT_WORKERS; i++)
		kit.workers[i]->mailbox.before = kit_events;
}

// Ends the tests' context; what was asked of owners is answered.
static inline void usage_close(void)
{
	kit_run();
	kit_close();
}

// The control thread's tick; a report that goes out is read and, unless the SMF is mute, accepted.
static inline void usage_tick_once(void)
{
	kit.n_sent = 0;
	kit.answer_len = 0;
	n4_tick(kit.n4);
	if (kit.n_sent > 0 && answer_type() == 56) {
		uint64_t cp_seid = answer_seid();

		book_read();
		if (!book.mute)
			report_answer(book.up_seids[cp_seid], answer_seq(), 1, "");
	}
}

// --- packets ---------------------------------------------------------------------------------------------

static inline const struct pdr *compiled_pdr(const struct worker *w,
					     const struct session_line *line, unsigned id)
{
	const struct ruleset *rs = line_rules(w, line);

	for (unsigned i = 0; i < (unsigned)rs->n_up + rs->n_down; i++)
		if (rs->pdrs[i].id == id)
			return &rs->pdrs[i];
	CU_FAIL_FATAL("no such PDR");
	return NULL;
}

// A packet of this PDR of the session. False: a quota stops it.
static inline bool packet(uint64_t seid, unsigned pdr_id, bool is_up, uint32_t bytes)
{
	const struct slot *slot = &session_of(seid)->slot;
	struct worker *w = kit.workers[slot->owner];
	struct session_line *line = is_up ? &w->table.up[slot->index] : &w->table.down[slot->index];
	struct pkt p = {.ref = session_ref_make(slot->owner, slot->index, slot->version),
			.line = line,
			.pdr = compiled_pdr(w, line, pdr_id),
			.user_bytes = (uint16_t)bytes,
			.flags = is_up ? PKT_F_UP : 0};
	const struct policy *policy = w->table.cold[slot->index].policy;

	w->now = clock_now_ns() * METER_UNITS_PER_NS;
	if (p.pdr->policy & PDR_POLICY_USAGE_LINE &&
	    policy_usage(policy, 0)->flags & USAGE_F_STOPPED)
		return false;
	for (unsigned i = 0; i < 4 && p.pdr->usages[i] != PDR_NO_PLACE; i++)
		if (policy_usage(policy, p.pdr->usages[i])->flags & USAGE_F_STOPPED)
			return false;
	if (p.pdr->policy & PDR_POLICY_USAGE_LINE && usage_count_line(line, bytes))
		usage_mark(w, &p, 0);
	if (p.pdr->policy & PDR_POLICY_USAGES) {
		usage_count_listed(w, &p, true);
		usage_count_listed(w, &p, false);
	}
	return true;
}
