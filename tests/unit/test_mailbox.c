// Rings, mailbox and handoff between two real threads, without EAL: nothing is lost, doubled or out of order, and what
// one side hands over the other gets as it was.
//
// `tools/dev check tsan` builds it with -Db_sanitize=thread (and -DRTE_USE_C11_MEM_MODEL, for TSan to see what the
// rings order).

#include "worker/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/4_handoff.h"
#include "unit.h"
#include "worker/worker.h"

#define RING 16 // small, so that it is often full
#define MAILS 50000
#define PACKETS 50000
#define SLOTS 8

static struct rte_ring *ring_make(uint32_t entry_bytes)
{
	size_t bytes = (size_t)rte_ring_get_memsize_elem(entry_bytes, RING);
	struct rte_ring *ring = aligned_alloc(RTE_CACHE_LINE_SIZE,
					      RTE_ALIGN_CEIL(bytes, (size_t)RTE_CACHE_LINE_SIZE));

	CU_ASSERT_PTR_NOT_NULL_FATAL(ring);
	CU_ASSERT_EQUAL_FATAL(rte_ring_init(ring, "test", RING, RING_F_SP_ENQ | RING_F_SC_DEQ), 0);
	return ring;
}

static struct worker *worker_make(unsigned id, unsigned n_workers)
{
	struct worker *w = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*w));

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	memset(w, 0, sizeof(*w));
	w->id = id;
	w->n_workers = n_workers;
	w->burst = 8;
	w->mailbox.waiting_tail = &w->mailbox.waiting;
	w->mailbox.to_worker = ring_make(sizeof(void *));
	w->mailbox.to_control = ring_make(sizeof(void *));
	w->n_peers = SLOTS;
	w->peers = aligned_alloc(RTE_CACHE_LINE_SIZE, SLOTS * sizeof(struct peer));
	w->table.n_slots = SLOTS;
	w->table.up = aligned_alloc(RTE_CACHE_LINE_SIZE, SLOTS * sizeof(struct session_line));
	w->table.down = aligned_alloc(RTE_CACHE_LINE_SIZE, SLOTS * sizeof(struct session_line));
	w->table.cold = calloc(SLOTS, sizeof(struct session_cold));
	w->handoff_out = calloc(n_workers, sizeof(struct handoff_out));
	CU_ASSERT_TRUE_FATAL(w->peers && w->table.up && w->table.down && w->table.cold &&
			     w->handoff_out);
	memset(w->table.up, 0, SLOTS * sizeof(struct session_line));
	memset(w->table.down, 0, SLOTS * sizeof(struct session_line));
	return w;
}

static void worker_end(struct worker *w)
{
	free(w->mailbox.to_worker);
	free(w->mailbox.to_control);
	free(w->peers);
	free(w->table.up);
	free(w->table.down);
	free(w->table.cold);
	free(w->handoff_out);
	free(w);
}

// --- rings -----------------------------------------------------------------------------------------------

#define ENTRIES 200000

// An entry as those of usage and buffer events are: some words, which belong together.
struct entry {
	uint64_t number, words[5];
};

struct stream {
	struct rte_ring *ring;
	bool done;            // the producer is
	uint64_t got, wrong;  // the consumer's
	uint64_t given, full; // the producer's: entries put, and times that there was no room
};

static void stream_take(struct stream *s, const struct entry *entry)
{
	s->wrong += entry->number != s->got++;
	for (unsigned k = 0; k < RTE_DIM(entry->words); k++)
		s->wrong += entry->words[k] != entry->number * (k + 3);
}

static void *stream_thread(void *arg)
{
	struct stream *s = arg;
	bool done;

	do {
		struct entry entries[5];
		unsigned n;

		done = __atomic_load_n(&s->done,
				       __ATOMIC_ACQUIRE); // before the ring is found empty
		n = rte_ring_sc_dequeue_burst_elem(s->ring, entries, sizeof(entries[0]),
						   RTE_DIM(entries), NULL);
		for (unsigned i = 0; i < n; i++)
			stream_take(s, &entries[i]);
		if (n)
			done = false;
		else
			sched_yield();
	} while (!done);
	return NULL;
}

// As the sides of a ring do it: bursts into one that is often full, bursts out of one that is often empty.
static void ring_between_threads(void)
{
	struct stream s = {.ring = ring_make(sizeof(struct entry))};
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, stream_thread, &s), 0);
	while (s.given < ENTRIES) {
		struct entry entries[3];
		unsigned n;

		for (unsigned i = 0; i < RTE_DIM(entries); i++) {
			entries[i].number = s.given + i;
			for (unsigned k = 0; k < RTE_DIM(entries[i].words); k++)
				entries[i].words[k] = entries[i].number * (k + 3);
		}
		n = rte_ring_sp_enqueue_burst_elem(s.ring, entries, sizeof(entries[0]),
						   RTE_DIM(entries), NULL);
		s.given += n;
		s.full += n < RTE_DIM(entries);
		if (n == 0)
			sched_yield();
	}
	__atomic_store_n(&s.done, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(s.got, s.given);
	CU_ASSERT_EQUAL(s.wrong, 0);
	CU_ASSERT_TRUE(s.full > 0);
	free(s.ring);
}

// --- mailbox ---------------------------------------------------------------------------------------------

static void *mail_thread(void *arg)
{
	struct worker *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		mailbox_run(w, WORKER_MAILS);
		sched_yield();
	}
	return NULL;
}

struct seen {
	uint64_t n;
	bool wrong;
};

static void mail_back(struct mail *mail, void *ctx)
{
	struct seen *seen = ctx;

	// They come back in their order, each carried out.
	if (mail->session.image.ue_v6 != seen->n || mail->result != 0)
		seen->wrong = true;
	seen->n++;
	free(mail);
}

static void mails_between_threads(void)
{
	struct worker *w = worker_make(0, 1);
	struct seen seen = {0};
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, mail_thread, w), 0);
	for (uint64_t i = 0; i < MAILS; i++) {
		// Each session is installed and cleared in turn.
		struct mail *mail = mail_new(i & 1 ? MAIL_SESSION_CLEAR : MAIL_SESSION_SET,
					     mail_back, &seen);

		CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
		mail->session.image.ue_v6 = i;
		mail->session.image.slot = (uint32_t)(i / 2 % SLOTS);
		mail->session.image.version = (uint32_t)(i / 2) + 1;
		mail_post(w, mail);
		if (i % 64 == 0)
			mailbox_collect(w);
	}
	while (mailbox_outstanding(w) > 0) {
		mailbox_collect(w);
		sched_yield();
	}
	__atomic_store_n(&w->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CU_ASSERT_FALSE(seen.wrong);
	CU_ASSERT_EQUAL(seen.n, MAILS);
	CU_ASSERT_EQUAL(w->stats.counter[COUNTER_mails], MAILS);
	CU_ASSERT_EQUAL(w->table.used, 0);
	worker_end(w);
}

static void results(void)
{
	struct worker *w = worker_make(0, 1);
	struct mail *clear = mail_new(MAIL_SESSION_CLEAR, NULL, NULL);

	clear->session.image.version = 7; // there is none
	mail_post(w, clear);
	CU_ASSERT_EQUAL(mailbox_outstanding(w), 1);
	mailbox_run(w, WORKER_MAILS);
	CU_ASSERT_EQUAL(clear->result, -ENOENT); // it is back in the ring, and still there
	CU_ASSERT_EQUAL(mailbox_collect(w), 1);  // frees it
	CU_ASSERT_EQUAL(mailbox_outstanding(w), 0);
	CU_ASSERT_EQUAL(mailbox_collect(w), 0);
	worker_end(w);
}

// More than the rings hold wait for their turn; a worker carries out no more than it is told to.
static void beyond_the_ring(void)
{
	enum { SENT = 5 * RING };
	struct worker *w = worker_make(0, 1);
	struct seen seen = {0};
	unsigned turns = 0;

	for (unsigned i = 0; i < SENT; i++) {
		struct mail *mail = mail_new(MAIL_SESSION_COUNT, mail_back, &seen);

		mail->session.image.ue_v6 = i;
		mail_post(w, mail);
	}
	CU_ASSERT_EQUAL(mailbox_outstanding(w), SENT);
	for (; mailbox_outstanding(w) > 0; turns++) {
		uint64_t before = w->stats.counter[COUNTER_mails];

		mailbox_run(w, 3);
		CU_ASSERT_TRUE(w->stats.counter[COUNTER_mails] - before <= 3);
		if (turns & 1)
			mailbox_collect(w);
	}
	CU_ASSERT_EQUAL(seen.n, SENT);
	CU_ASSERT_FALSE(seen.wrong);
	worker_end(w);
}

// --- handoff ---------------------------------------------------------------------------------------------

#define MBUFS 12 // fewer than the ring holds, which is thus never full

struct handover {
	struct worker *from, *to;
	uint64_t got;
	bool wrong;
	// Of buffers: 1 while one is on its way. A buffer is used again only when it has arrived.
	struct {
		struct rte_mbuf mbuf;
		struct pkt priv;
		uint32_t busy;
	} buffers[MBUFS];
};

static void *handoff_thread(void *arg)
{
	struct handover *h = arg;
	struct turn *t = calloc(1, sizeof(*t));

	while (t && h->got < PACKETS) {
		turn_reset(t);
		handoff_gather(h->to, t);
		for (unsigned i = 0; i < t->up.n_ready + t->down.n_ready; i++) {
			bool up = i < t->up.n_ready;
			const struct pkt *p = up ? t->up.ready[i]
						 : t->down.ready[i - t->up.n_ready];

			h->wrong |= p->teid != p->ref.check || !(p->flags & PKT_F_HANDED) ||
				    session_ref_owner(p->ref) != 1;
			h->wrong |= up != (p->teid % 3 == 0) ||
				    session_ref_index(p->ref) != p->teid % SLOTS;
			__atomic_store_n(&h->buffers[p->l4].busy, 0, __ATOMIC_RELEASE);
		}
		h->got += t->n;
		sched_yield();
	}
	free(t);
	return NULL;
}

static void handoff_between_threads(void)
{
	struct handover *h = aligned_alloc(RTE_CACHE_LINE_SIZE,
					   RTE_ALIGN_CEIL(sizeof(*h), (size_t)RTE_CACHE_LINE_SIZE));
	pthread_t thread;

	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	memset(h, 0, sizeof(*h));
	h->from = worker_make(0, 2);
	h->to = worker_make(1, 2);
	h->from->handoff_to[1] = h->to->handoff_from[0] = ring_make(sizeof(struct handoff));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, handoff_thread, h), 0);
	for (uint32_t i = 1; i <= PACKETS; i++) {
		unsigned k = i % MBUFS;
		struct pkt p = {.mbuf = &h->buffers[k].mbuf,
				.kind = PKT_GPDU,
				.teid = i,
				.l4 = (uint16_t)k};

		while (__atomic_load_n(&h->buffers[k].busy, __ATOMIC_ACQUIRE)) {
			handoff_flush(h->from);
			sched_yield();
		}
		h->buffers[k].busy = 1;
		p.ref = session_ref_make(1, i % SLOTS, i);
		handoff_put(h->from, &p, 1, i % 3 == 0);
		if (i % 5 == 0)
			handoff_flush(h->from);
	}
	handoff_flush(h->from);
	pthread_join(thread, NULL);
	CU_ASSERT_FALSE(h->wrong);
	CU_ASSERT_EQUAL(h->got, PACKETS);
	CU_ASSERT_EQUAL(h->from->stats.counter[COUNTER_handoff_out], PACKETS);
	CU_ASSERT_EQUAL(h->to->stats.counter[COUNTER_handoff_in], PACKETS);
	CU_ASSERT_TRUE(h->to->stats.counter[COUNTER_handoff_high] < RING);
	free(h->from->handoff_to[1]);
	worker_end(h->from);
	worker_end(h->to);
	free(h);
}

static CU_TestInfo tests[] = {
	{"a ring between threads", ring_between_threads},
	{"mails between threads", mails_between_threads},
	{"results", results},
	{"more mails than the ring holds", beyond_the_ring},
	{"handoff between threads", handoff_between_threads},
	CU_TEST_INFO_NULL,
};

UNIT_MAIN("mailbox")
