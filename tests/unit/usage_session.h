// A session with one URR, for tests of what is reported of that: its packets, the time that passes, and the SMF's requests.
// See usage_kit.h for the SMF's book.

#pragma once

#include "usage_kit.h"

static const struct kit_conf conf = KIT_CONF;

#define CP_SEID 9
#define URR 1
#define DOWN 1 // PDRs
#define UP 2

#define VOLUM "003e000102"
#define DURAT "003e000101"
#define BOTH "003e000103"
#define ISTM "0064000108"
#define MNOP "0064000110"

// A session whose URR is `hex`, named by both PDRs.
static inline uint64_t session(uint64_t cp_seid, const char *hex)
{
	char ue[32];

	snprintf(ue, sizeof(ue), "10.45.%u.%u", (unsigned)cp_seid >> 8, (unsigned)cp_seid & 255);
	establish_begin(cp_seid);
	PDR(.id = DOWN, .source = CORE, .ni = "internet", .ue_v4 = ue, .far = 1, .urrs = {URR});
	PDR(.id = UP, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2, .urrs = {URR});
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 0xa000001,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
	put_urr(6, URR, hex);
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	book.up_seids[cp_seid] = up_seid();
	return up_seid();
}

// Seconds of two clocks, whose second begins at different moments.
static inline bool about(uint32_t a, uint32_t b)
{
	return a + 1 >= b && b + 1 >= a;
}

static inline const struct usage_sum *sum(void)
{
	return book_of(CP_SEID, URR);
}

static inline void ticks(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		usage_tick_once();
		kit_run();
	}
}

// Lets so much time pass in steps, as the daemon does.
static inline void after_ms_of(uint64_t ms)
{
	for (; ms > 0; ms -= ms < 100 ? ms : 100) {
		clock_warp_ns((int64_t)((ms < 100 ? ms : 100) * NS_PER_MS));
		ticks(3);
	}
}

static inline void modify_urr(uint64_t seid, const char *hex)
{
	msg_begin(52, seid);
	put_urr(13, URR, hex);
	msg_send();
	CU_ASSERT_EQUAL(answer_cause(), 1);
	book_read();
}

static inline void end(uint64_t seid)
{
	delete_session(seid);
	CU_ASSERT_EQUAL(answer_cause(), 1);
	book_read();
}
