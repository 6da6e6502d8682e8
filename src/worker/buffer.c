// Held packets, see buffer.h.
// Worker, but for making, freeing and the taking of events. While a packet is held, mbuf->next leads to the one
// behind it, hash.usr says when it came, in milliseconds of the worker's clock, modulo 2^32, and packet_type, if not 0,
// that it has been duplicated.

#include "worker/buffer.h"

#include <errno.h>

#include <rte_malloc.h>

#include "base/clock.h"
#include "packet/be.h"
#include "rules/model.h"
#include "rules/ruleset.h"
#include "worker/ring.h"
#include "worker/usage_mark.h"
#include "worker/worker.h"

#define SWEEP_SESSIONS 16    // that one turn looks at for packets that are too old
#define SWEEP_PACKETS 64     // that it drops at most
#define PEER_WAIT_MS 1000    // that a release waits for the link address of its gNB
#define RECORDS_PER_PACKET 4 // an episode may outlive its packets

// --- records ---------------------------------------------------------------------------------------------

int buffers_init(struct buffers *buffers, const struct buffer_limits *limits,
		 struct rte_mempool *pool, uint32_t n_slots, int socket)
{
	uint64_t n = (uint64_t)limits->all_packets * RECORDS_PER_PACKET;

	*buffers = (struct buffers){.limits = *limits, .pool = pool};
	TAILQ_INIT(&buffers->unused);
	TAILQ_INIT(&buffers->used);
	TAILQ_INIT(&buffers->releasing);
	buffers->n_records = pool ? (uint32_t)RTE_MIN(n, (uint64_t)n_slots) : 0;
	if (buffers->n_records == 0)
		return 0;
	buffers->records = rte_zmalloc_socket("buffers", buffers->n_records * sizeof(struct buffer),
					      RTE_CACHE_LINE_SIZE, socket);
	if (!buffers->records)
		return -ENOMEM;
	for (uint32_t i = 0; i < buffers->n_records; i++)
		TAILQ_INSERT_TAIL(&buffers->unused, &buffers->records[i], of_used);
	return 0;
}

void buffers_fini(struct buffers *buffers)
{
	struct rte_mbuf *m;

	for (uint32_t i = 0; i < buffers->n_records; i++) {
		while ((m = mbuf_list_take(&buffers->records[i].held)))
			rte_pktmbuf_free_seg(m);
		while ((m = mbuf_list_take(&buffers->records[i].pending)))
			rte_pktmbuf_free_seg(m);
	}
	rte_free(buffers->records);
	*buffers = (struct buffers){0};
}

static struct buffer *buffer_of(const struct worker *w, uint32_t slot)
{
	uint32_t number = w->table.cold[slot].buffer;

	return number ? &w->buffers.records[number - 1] : NULL;
}

// The session's record, made for it if it has none. NULL when all are in use.
static struct buffer *buffer_get(struct worker *w, uint32_t slot)
{
	struct buffers *all = &w->buffers;
	struct buffer *b = buffer_of(w, slot);

	if (b)
		return b;
	b = TAILQ_FIRST(&all->unused);
	if (!b)
		return NULL;
	TAILQ_REMOVE(&all->unused, b, of_used);
	*b = (struct buffer){.slot = slot, .hold_ms = all->limits.ms, .episode_ms = all->limits.ms};
	TAILQ_INSERT_TAIL(&all->used, b, of_used);
	w->table.cold[slot].buffer = (uint32_t)(b - all->records) + 1;
	return b;
}

// Without packets and without an episode a record is of no use.
static void buffer_settle(struct worker *w, struct buffer *b)
{
	if (b->packets || b->n_told || b->releasing)
		return;
	w->table.cold[b->slot].buffer = 0;
	TAILQ_REMOVE(&w->buffers.used, b, of_used);
	TAILQ_INSERT_HEAD(&w->buffers.unused, b, of_used);
}

// --- packets in and out ----------------------------------------------------------------------------------

static void count_in(struct worker *w, struct buffer *b, uint32_t bytes)
{
	b->packets++;
	b->bytes += bytes;
	w->buffers.packets++;
	w->buffers.bytes += bytes;
	worker_count(w, COUNTER_held, 1);
}

static struct pkt *take(struct worker *w, struct buffer *b, struct mbuf_list *list)
{
	struct rte_mbuf *m = mbuf_list_take(list);
	struct pkt *p;

	if (!m)
		return NULL;
	p = pkt_private(m);
	b->packets--;
	b->bytes -= p->user_bytes;
	w->buffers.packets--;
	w->buffers.bytes -= p->user_bytes;
	w->stats.counter[COUNTER_held]--;
	return p;
}

// A packet whose PDR is that of rules which its session still has: URRs of it may count what is dropped.
static void matched_drop(struct worker *w, struct pkt *p, enum drop reason)
{
	if (p->pdr->flags & PDR_F_DROPS)
		usage_count_dropped(w, p);
	pkt_drop(w, p, reason);
}

// What waits in `held` has such a PDR. What is pending will meet another.
static void waiting_drop(struct worker *w, const struct buffer *b, const struct mbuf_list *list,
			 struct pkt *p, enum drop reason)
{
	if (list == &b->held)
		matched_drop(w, p, reason);
	else
		pkt_drop(w, p, reason);
}

static void list_drop(struct worker *w, struct buffer *b, struct mbuf_list *list, bool ends)
{
	struct pkt *p;

	while ((p = take(w, b, list)))
		if (ends)
			pkt_drop(w, p, DROP_buffer_dropped);
		else
			waiting_drop(w, b, list, p, DROP_buffer_dropped);
}

// Why no further packet of so many bytes can be held, or DROP_NONE. What is held anew is not hindered by what is
// still pending behind it.
static enum drop room_for(const struct worker *w, const struct buffer *b,
			  const struct mbuf_list *list, uint32_t packets, uint32_t bytes)
{
	const struct buffer_limits *limits = &w->buffers.limits;

	if ((list == &b->held ? list->n : b->packets) >= packets ||
	    b->bytes + bytes > limits->bytes)
		return DROP_buffer_full;
	if (w->buffers.packets >= limits->all_packets ||
	    w->buffers.bytes + bytes > limits->all_bytes)
		return DROP_buffer_no_room;
	return DROP_NONE;
}

// What was released once is in the pool already.
static bool is_copy(const struct worker *w, const struct pkt *p)
{
	return p->mbuf->pool == w->buffers.pool;
}

// Puts the packet into the pool. False when that has no room for it.
static bool copy(struct worker *w, struct pkt *p)
{
	struct rte_mbuf *from = p->mbuf;
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->buffers.pool);

	if (!m)
		return false;
	if (rte_pktmbuf_tailroom(m) < from->data_len) {
		rte_pktmbuf_free_seg(m);
		return false;
	}
	memcpy(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(from, const void *), from->data_len);
	m->data_len = from->data_len;
	m->pkt_len = from->data_len;
	m->hash.usr = worker_ms(w);
	rte_pktmbuf_free_seg(from);
	p->mbuf = m;
	return true;
}

// The packet's end, or its place in the list. One that was held before keeps its age.
static void put(struct worker *w, struct buffer *b, struct mbuf_list *list, struct pkt *p,
		uint32_t packets, bool copied)
{
	enum drop why = room_for(w, b, list, packets, p->user_bytes);

	if (why == DROP_NONE && !is_copy(w, p)) {
		if (copy(w, p))
			worker_count(w, COUNTER_buffered, 1);
		else
			why = DROP_buffer_no_room;
	}
	if (why != DROP_NONE) {
		waiting_drop(w, b, list, p, why);
		return;
	}
	p->chain = 0;
	*pkt_private(p->mbuf) = *p;
	count_in(w, b, p->user_bytes);
	p->mbuf->packet_type |= copied;
	mbuf_list_put(list, p->mbuf);
}

// --- episodes --------------------------------------------------------------------------------------------

static uint8_t dscp_of(const struct pkt *p)
{
	const uint8_t *user = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->user);

	return p->family == 4 ? user[1] >> 2 : (uint8_t)(be16_get(user) >> 6 & 0x3f);
}

static bool event_post(struct worker *w, const struct buffer *b, const struct pkt *p)
{
	struct buffer_event event = {
		.slot = b->slot,
		.version = w->table.cold[b->slot].version,
		.pdr = p->pdr->id,
		.dscp = dscp_of(p),
	};

	return rte_ring_sp_enqueue_elem(w->buffer_events, &event, sizeof(event)) == 0;
}

static void told_del(struct buffer *b, unsigned i)
{
	b->told[i] = b->told[--b->n_told];
}

static void told_expire(struct worker *w, struct buffer *b)
{
	uint32_t now = worker_ms(w);

	for (unsigned i = b->n_told; b->episode_ms != UINT32_MAX && i-- > 0;)
		if (now - b->told[i].ms >= b->episode_ms)
			told_del(b, i);
}

// With as many episodes as are kept, the SMF knows of the session well enough. With the ring full the next packet
// tries again.
static void tell(struct worker *w, struct buffer *b, const struct pkt *p, const struct far *far)
{
	told_expire(w, b);
	for (unsigned i = 0; i < b->n_told; i++)
		if (b->told[i].far == far->id)
			return;
	if (b->n_told == BUFFER_TOLD)
		return;
	if (!event_post(w, b, p)) {
		worker_count(w, COUNTER_buffer_events_late, 1);
		return;
	}
	worker_count(w, COUNTER_buffer_events, 1);
	b->told[b->n_told].far = far->id;
	b->told[b->n_told++].ms = worker_ms(w);
}

static uint32_t far_ms(uint32_t seconds)
{
	return seconds < UINT32_MAX / 1000 ? seconds * 1000 : UINT32_MAX;
}

// What the BAR says lowers what the configuration allows; how long the SMF is not told again it alone decides.
static void limits_take(struct worker *w, struct buffer *b, const struct far *far)
{
	const struct buffer_limits *limits = &w->buffers.limits;

	b->hold_ms = limits->ms;
	b->episode_ms = limits->ms;
	if (far->flags & FAR_F_BUFFER_TIME) {
		b->episode_ms = far_ms(far->buffer_s);
		b->hold_ms = RTE_MIN(limits->ms, b->episode_ms);
	}
}

bool buffer_has_copies(const struct worker *w, const struct pkt *p)
{
	return is_copy(w, p) && p->mbuf->packet_type != 0;
}

void buffer_hold(struct worker *w, struct pkt *p, const struct far *far)
{
	struct buffer *b = buffer_get(w, session_ref_index(p->ref));
	uint32_t packets = w->buffers.limits.packets;

	if (!b) {
		matched_drop(w, p, DROP_buffer_no_room);
		return;
	}
	limits_take(w, b, far);
	if (far->action & APPLY_NOCP)
		tell(w, b, p, far);
	if (far->flags & FAR_F_BUFFER_PACKETS)
		packets = RTE_MIN(packets, (uint32_t)far->buffer_packets);
	put(w, b, &b->held, p, packets, far->flags & FAR_F_COPY);
	buffer_settle(w, b);
}

// --- release ---------------------------------------------------------------------------------------------

static void line_close(struct worker *w, struct buffer *b)
{
	w->table.down[b->slot].check = 0;
	if (b->releasing)
		return;
	b->releasing = true;
	b->release_ms = worker_ms(w);
	TAILQ_INSERT_TAIL(&w->buffers.releasing, b, of_releasing);
}

static void line_open(struct worker *w, struct buffer *b)
{
	if (!b->releasing)
		return;
	w->table.down[b->slot].check = w->table.cold[b->slot].version;
	b->releasing = false;
	TAILQ_REMOVE(&w->buffers.releasing, b, of_releasing);
}

bool buffer_behind(struct worker *w, struct pkt *p)
{
	uint32_t slot = session_ref_index(p->ref);
	struct buffer *b = buffer_of(w, slot);

	if (!b || !b->releasing || w->table.cold[slot].version != p->ref.check)
		return false;
	put(w, b, &b->pending, p, w->buffers.limits.packets, false);
	return true;
}

static bool peer_waits(const struct worker *w, uint16_t peer)
{
	return peer != PEER_NONE && w->peers[peer].state == PEER_WAIT;
}

// Packets to a gNB whose link address is being asked for would be too many for those who wait for that.
static bool release_waits(const struct worker *w, const struct buffer *b)
{
	const struct session_cold *cold = &w->table.cold[b->slot];
	bool waits = peer_waits(w, w->table.down[b->slot].down.peer);

	for (unsigned i = 0; i < SESSION_PLACES; i++)
		waits |= peer_waits(w, cold->places[i].peer);
	return waits && worker_ms(w) - b->release_ms < PEER_WAIT_MS;
}

unsigned buffer_release(struct worker *w, struct pkt *pkts, unsigned n, struct buffer **ret)
{
	struct buffer *b = TAILQ_FIRST(&w->buffers.releasing);
	const struct pkt *p;
	unsigned got = 0;

	if (!b)
		return 0;
	TAILQ_REMOVE(&w->buffers.releasing, b, of_releasing);
	TAILQ_INSERT_TAIL(&w->buffers.releasing, b, of_releasing);
	if (release_waits(w, b))
		return 0;
	while (got < n && (p = take(w, b, &b->pending))) {
		pkts[got] = *p;
		pkts[got++].line = &w->table.down[b->slot];
	}
	*ret = b;
	return got;
}

void buffer_release_end(struct worker *w, struct buffer *b)
{
	if (b->pending.first)
		return;
	line_open(w, b);
	// A FAR for quota action goes on to buffer, but a quota that is used up again is another episode.
	if (b->packets == 0 && b->episode_ms == w->buffers.limits.ms)
		b->n_told = 0;
	buffer_settle(w, b);
}

// Episodes go on for FARs that buffer still.
static void told_match(struct buffer *b, const struct ruleset *rs)
{
	for (unsigned i = b->n_told; i-- > 0;) {
		bool buffers = false;

		for (unsigned k = 0; k < rs->n_fars; k++) {
			const struct far *far = ruleset_far(rs, k);

			buffers |= far->id == b->told[i].far && far->action & APPLY_BUFF;
		}
		if (!buffers)
			told_del(b, i);
	}
}

void buffer_rules_changed(struct worker *w, uint32_t slot)
{
	struct buffer *b = buffer_of(w, slot);

	if (!b)
		return;
	told_match(b, line_rules(w, &w->table.down[slot]));
	if (b->held.first) {
		b->held.last->next = b->pending.first;
		if (!b->pending.first)
			b->pending.last = b->held.last;
		b->pending.first = b->held.first;
		b->pending.n += b->held.n;
		b->held = (struct mbuf_list){0};
	}
	if (b->pending.first)
		line_close(w, b);
	buffer_settle(w, b);
}

// --- ends ------------------------------------------------------------------------------------------------

// What goes with its session is no loss that anybody is told of.
static void empty(struct worker *w, struct buffer *b, bool ends)
{
	list_drop(w, b, &b->held, ends);
	list_drop(w, b, &b->pending, ends);
	line_open(w, b);
}

// An SMF that says how long it is not to be told is not told for so long.
void buffer_drop(struct worker *w, uint32_t slot)
{
	struct buffer *b = buffer_of(w, slot);

	if (!b)
		return;
	empty(w, b, false);
	if (b->episode_ms == w->buffers.limits.ms)
		b->n_told = 0;
	buffer_settle(w, b);
}

void buffer_end(struct worker *w, uint32_t slot)
{
	struct buffer *b = buffer_of(w, slot);

	if (!b)
		return;
	empty(w, b, true);
	b->n_told = 0;
	buffer_settle(w, b);
}

void buffer_again(struct worker *w, uint32_t slot)
{
	struct buffer *b = buffer_of(w, slot);

	if (!b)
		return;
	b->n_told = 0;
	buffer_settle(w, b);
}

static void list_expire(struct worker *w, struct buffer *b, struct mbuf_list *list, unsigned *left)
{
	uint32_t now = worker_ms(w);

	while (*left > 0 && list->first && now - list->first->hash.usr >= b->hold_ms) {
		waiting_drop(w, b, list, take(w, b, list), DROP_buffer_timeout);
		(*left)--;
	}
}

void buffer_sweep(struct worker *w)
{
	struct buffer_queue *used = &w->buffers.used;
	struct buffer *last = TAILQ_LAST(used, buffer_queue);
	unsigned left = SWEEP_PACKETS;

	for (unsigned n = 0; last && n < SWEEP_SESSIONS && left > 0; n++) {
		struct buffer *b = TAILQ_FIRST(used);
		bool done = b == last;

		TAILQ_REMOVE(used, b, of_used);
		TAILQ_INSERT_TAIL(used, b, of_used);
		list_expire(w, b, &b->held, &left);
		if (!b->held.first)
			list_expire(w, b, &b->pending, &left);
		told_expire(w, b);
		if (b->releasing)
			buffer_release_end(w, b);
		else
			buffer_settle(w, b);
		if (done)
			return;
	}
}

void buffer_counts_get(const struct worker *w, uint32_t slot, struct buffer_counts *ret)
{
	const struct buffer *b = buffer_of(w, slot);
	const struct rte_mbuf *oldest;

	*ret = (struct buffer_counts){0};
	if (!b)
		return;
	oldest = b->held.first ? b->held.first : b->pending.first;
	ret->packets = b->packets;
	ret->bytes = b->bytes;
	ret->oldest_ms = oldest ? worker_ms(w) - oldest->hash.usr : 0;
}

unsigned buffer_events_take(struct worker *w, struct buffer_event *ret, unsigned n)
{
	return rte_ring_sc_dequeue_burst_elem(w->buffer_events, ret, sizeof(*ret), n, NULL);
}
