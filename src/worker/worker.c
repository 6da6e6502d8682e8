// Making a worker, its rings and its interfaces, and the end of a packet (worker.h).
//
// Making and freeing are the control thread's, at start and after the end; packets end on the worker.

#include "worker/worker.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_ring_elem.h>

#include "base/clock.h"
#include "base/rand.h"
#include "worker/nat_event.h"
#include "worker/ring.h"
#include "worker/usage_mark.h"

void pkt_drop(struct worker *w, struct pkt *p, enum drop reason)
{
	w->stats.drop[reason]++;
	p->chain = 0;
	rte_pktmbuf_free_seg(p->mbuf);
}

void pkt_consume(struct worker *w, struct pkt *p)
{
	w->stats.counter[COUNTER_consumed]++;
	p->chain = 0;
	rte_pktmbuf_free_seg(p->mbuf);
}

struct worker *worker_new(const struct worker_conf *conf)
{
	uint64_t now = clock_now_ns() * METER_UNITS_PER_NS;
	struct worker *w = rte_zmalloc_socket("worker", sizeof(*w), RTE_CACHE_LINE_SIZE,
					      conf->socket);

	if (!w)
		return NULL;
	w->id = conf->id;
	w->n_workers = conf->n_workers;
	w->burst = conf->burst;
	w->meter_burst = conf->meter_burst_us * NS_PER_US * METER_UNITS_PER_NS;
	w->sleep = conf->sleep;
	w->sample_every = w->until_sample = conf->sample_every;
	w->turn_start = rte_rdtsc();
	w->arena = conf->arena;
	w->locator = conf->locator;
	w->teids = *conf->teids;
	w->pool = conf->pool;
	w->acls = conf->acls;
	w->qsbr = conf->qsbr;
	w->n_peers = conf->n_peers;
	w->error_limit = limit_make(conf->error_rate, METER_UNITS_PER_SEC,
				    now + conf->error_quiet_ms * NS_PER_MS * METER_UNITS_PER_NS);
	w->extension_limit = limit_make(conf->extension_rate, METER_UNITS_PER_SEC, now);
	w->icmp_limit = limit_make(conf->icmp_rate, METER_UNITS_PER_SEC, now);
	w->gather_seed = conf->gather_seed;
	w->fragment_outer = conf->fragment_outer;
	w->fragment_id = (uint32_t)rand_u64() * conf->n_workers + conf->id;
	w->mailbox.waiting_tail = &w->mailbox.waiting;
	w->peers = rte_zmalloc_socket("peers", conf->n_peers * sizeof(struct peer),
				      RTE_CACHE_LINE_SIZE, conf->socket);
	w->tx = rte_zmalloc_socket("worker_tx", WORKER_IFACES * sizeof(struct worker_tx),
				   RTE_CACHE_LINE_SIZE, conf->socket);
	w->handoff_out = rte_zmalloc_socket("handoff_out",
					    conf->n_workers * sizeof(struct handoff_out),
					    RTE_CACHE_LINE_SIZE, conf->socket);
	w->punt = ring_new(conf->punt_ring, sizeof(void *), conf->socket);
	w->inject = ring_new(conf->punt_ring, sizeof(void *), conf->socket);
	w->usage_events = ring_new(conf->usage_ring, sizeof(struct usage_event), conf->socket);
	w->buffer_events = ring_new(conf->buffer_ring, sizeof(struct buffer_event), conf->socket);
	w->nat_events = ring_new(conf->nat_ring, sizeof(struct nat_event), conf->socket);
	w->mailbox.to_worker = ring_new(conf->mail_ring, sizeof(void *), conf->socket);
	w->mailbox.to_control = ring_new(conf->mail_ring, sizeof(void *), conf->socket);
	if (!w->peers || !w->tx || !w->handoff_out || !w->punt || !w->inject || !w->usage_events ||
	    !w->buffer_events || !w->nat_events ||
	    buffers_init(&w->buffers, &conf->buffer_limits, conf->buffer_pool, conf->n_slots,
			 conf->socket) != 0 ||
	    flows_init(&w->flows, &conf->flows, conf->n_slots, now, conf->socket) != 0 ||
	    nat_init(&w->nat, conf->nat, conf->id, conf->n_workers, conf->flows.n, conf->n_slots,
		     conf->socket) != 0 ||
	    gather_init(&w->inner, &conf->gather_limits, conf->socket) != 0 ||
	    gather_init(&w->outer, &conf->gather_limits, conf->socket) != 0 ||
	    !w->mailbox.to_worker || !w->mailbox.to_control ||
	    session_table_init(&w->table, conf->n_slots, conf->n_tunnels, conf->socket) != 0) {
		worker_free(w);
		return NULL;
	}
	return w;
}

static void ring_drain(struct rte_ring *ring)
{
	void *mbuf;

	while (ring && rte_ring_sc_dequeue(ring, &mbuf) == 0)
		rte_pktmbuf_free(mbuf);
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	ring_drain(w->punt);
	ring_drain(w->inject);
	buffers_fini(&w->buffers);
	flows_fini(&w->flows);
	nat_fini(&w->nat);
	gather_fini(&w->inner);
	gather_fini(&w->outer);
	session_table_fini(&w->table);
	rte_free(w->peers);
	rte_free(w->tx);
	rte_free(w->handoff_out);
	rte_free(w->punt);
	rte_free(w->inject);
	rte_free(w->usage_events);
	rte_free(w->buffer_events);
	rte_free(w->nat_events);
	rte_free(w->mailbox.to_worker);
	rte_free(w->mailbox.to_control);
	rte_free(w);
}

int workers_connect(struct worker *workers[], unsigned n, uint32_t ring_entries)
{
	for (unsigned from = 0; from < n; from++)
		for (unsigned to = 0; to < n; to++) {
			struct rte_ring *ring;

			if (from == to)
				continue;
			ring = ring_new(ring_entries, sizeof(struct handoff), SOCKET_ID_ANY);
			if (!ring) {
				workers_disconnect(workers, n);
				return -ENOMEM;
			}
			workers[from]->handoff_to[to] = ring;
			workers[to]->handoff_from[from] = ring;
		}
	return 0;
}

void workers_disconnect(struct worker *workers[], unsigned n)
{
	for (unsigned from = 0; from < n; from++)
		for (unsigned to = 0; to < n; to++) {
			struct rte_ring *ring = workers[from]->handoff_to[to];
			struct handoff h;

			while (ring && rte_ring_sc_dequeue_elem(ring, &h, sizeof(h)) == 0)
				rte_pktmbuf_free(h.mbuf);
			rte_free(ring);
			workers[from]->handoff_to[to] = NULL;
			workers[to]->handoff_from[from] = NULL;
		}
}

static struct worker_rx *rx_get(struct worker *w, struct port_queue queue)
{
	for (unsigned i = 0; i < w->n_rx; i++)
		if (w->rx[i].queue.port_id == queue.port_id &&
		    w->rx[i].queue.queue_id == queue.queue_id)
			return &w->rx[i];
	w->rx[w->n_rx].queue = queue;
	return &w->rx[w->n_rx++];
}

// As eth_dst() reads it from a frame.
static uint64_t mac_number(const struct rte_ether_addr *mac)
{
	uint8_t bytes[8] = {0};

	memcpy(bytes, mac->addr_bytes, sizeof(mac->addr_bytes));
	return eth_dst(bytes);
}

int worker_iface_add(struct worker *w, unsigned index, const struct parse_conf *parse,
		     const struct rte_ether_addr *mac, struct port_queue rx, struct port_queue tx)
{
	struct worker_rx *r;

	if (index >= WORKER_IFACES)
		return -ENOSPC;
	r = rx_get(w, rx);
	if (r->n_ifaces == PORT_MAX_IFACES)
		return -ENOSPC;
	r->ifaces[r->n_ifaces++] = (uint8_t)index;
	w->parse[index] = *parse;
	w->parse[index].mac = mac_number(mac);
	w->mac[index] = *mac;
	w->tx[index].queue = tx;
	if (w->n_ifaces <= index)
		w->n_ifaces = index + 1;
	return 0;
}
