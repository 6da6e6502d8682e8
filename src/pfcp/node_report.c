// Node Reports of ours, see node_report.h.
//
// Control thread only. Who is to be told is found when it is told, by one walk over the sessions for all changes of
// a second: what sessions hold says which peers they use (pfcp/n4_session.h).

#include "pfcp/node_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pfcp/apply.h"
#include "pfcp/assoc.h"
#include "pfcp/n4_session.h"
#include "pfcp/writer.h"
#include "pfcp/xact.h"
#include "session/peer.h"

#define REPORT_PERIOD_NS NS_PER_SEC
#define REPORT_PEERS 32 // of each kind in one message
#define REPORT_BYTES 2048

// What is to be told of a peer's path.
struct path_news {
	struct addr addr;
	bool news;
	bool up;
	uint32_t seen; // the round in which it was put into a message last
};

struct node_reports {
	struct path_news *paths; // by peer
	uint32_t n_paths;
	bool news; // of any
	uint64_t next_ns;
	uint32_t round; // counts the associations that were gone through
};

// A message that is being filled.
struct report {
	struct n4 *n4;
	const struct assoc *assoc;
	unsigned n[2]; // by `up`
	struct pfcp_remote_peer peers[2][REPORT_PEERS];
};

struct node_reports *node_reports_new(void)
{
	return calloc(1, sizeof(struct node_reports));
}

void node_reports_free(struct node_reports *reports)
{
	if (reports)
		free(reports->paths);
	free(reports);
}

// Makes room up to this peer: indices are few, and given out from the lowest.
static bool paths_grow(struct node_reports *reports, uint16_t peer)
{
	uint32_t n = reports->n_paths ? reports->n_paths : 64;
	struct path_news *paths;

	while (n <= peer)
		n *= 2;
	if (n == reports->n_paths)
		return true;
	paths = realloc(reports->paths, n * sizeof(*paths));
	if (!paths)
		return false;
	memset(paths + reports->n_paths, 0, (n - reports->n_paths) * sizeof(*paths));
	reports->paths = paths;
	reports->n_paths = n;
	return true;
}

void node_report_path(struct n4 *n4, uint16_t peer, const struct addr *addr, bool up)
{
	struct node_reports *reports = n4->reports;

	if (!paths_grow(reports, peer)) {
		n4_count(n4, N4_COUNT_node_reports_failed);
		log_error_limited("N4: out of memory: a GTP-U path's state is not reported");
		return;
	}
	reports->paths[peer] = (struct path_news){.addr = *addr, .news = true, .up = up};
	reports->news = true;
}

// --- messages --------------------------------------------------------------------------------------------

// The association may have gone meanwhile, so nothing of it is kept.
static void report_done(struct n4 *n4, const struct pfcp_msg *answer, void *ctx)
{
	struct pfcp_ie ie;

	if (answer && pfcp_ie_find(answer->ies, PFCP_IE_CAUSE, &ie) == 0 && ie.len == 1 &&
	    ie.data[0] == PFCP_CAUSE_ACCEPTED)
		return;
	n4_count(n4, N4_COUNT_node_reports_failed);
	if (answer)
		log_warn_limited("N4: an SMF does not accept a Node Report");
	else
		log_warn_limited("N4: an SMF does not answer a Node Report");
}

static size_t report_write(const struct report *r, uint8_t *bytes)
{
	unsigned type = (r->n[false] ? PFCP_NODE_REPORT_TYPE_UPFR : 0u) |
			(r->n[true] ? PFCP_NODE_REPORT_TYPE_UPRR : 0u);
	struct pfcp_writer w;

	pfcp_writer_init(&w, bytes, REPORT_BYTES);
	pfcp_msg_begin(&w, PFCP_NODE_REPORT_REQUEST, 0, 0);
	node_id_encode(&w, &r->n4->conf.node_id);
	pfcp_uint_encode(&w, PFCP_IE_NODE_REPORT_TYPE, type);
	if (r->n[false])
		pfcp_path_report_encode(&w, PFCP_IE_USER_PLANE_PATH_FAILURE_REPORT, r->peers[false],
					r->n[false]);
	if (r->n[true])
		pfcp_path_report_encode(&w, PFCP_IE_USER_PLANE_PATH_RECOVERY_REPORT, r->peers[true],
					r->n[true]);
	return pfcp_msg_end(&w);
}

// Sends what the message has, if anything.
static void report_send(struct report *r)
{
	struct endpoint to = r->assoc->addr;
	uint8_t bytes[REPORT_BYTES];
	uint32_t request;
	size_t len;

	if (r->n[false] + r->n[true] == 0)
		return;
	len = report_write(r, bytes);
	to.port = PFCP_PORT;
	if (len == 0 || xact_request(r->n4, &to, bytes, len, report_done, NULL, &request) < 0) {
		n4_count(r->n4, N4_COUNT_node_reports_failed);
		log_warn_limited("N4: no room for a Node Report");
	}
	r->n[false] = r->n[true] = 0;
}

static struct pfcp_remote_peer peer_of(const struct addr *addr)
{
	struct pfcp_remote_peer peer = {.flags = PFCP_REMOTE_GTP_U_PEER_V4};

	if (addr->family == ADDR_V4) {
		peer.v4.s_addr = addr->v4;
		return peer;
	}
	peer.flags = PFCP_REMOTE_GTP_U_PEER_V6;
	memcpy(&peer.v6, addr->v6, sizeof(peer.v6));
	return peer;
}

static void report_peer(struct report *r, uint16_t peer)
{
	struct node_reports *reports = r->n4->reports;
	struct path_news *path;

	if (peer == PEER_NONE || peer >= reports->n_paths)
		return;
	path = &reports->paths[peer];
	if (!path->news || path->seen == reports->round)
		return;
	path->seen = reports->round;
	r->peers[path->up][r->n[path->up]++] = peer_of(&path->addr);
	if (r->n[path->up] == REPORT_PEERS)
		report_send(r);
}

static void report_holding(struct report *r, const struct n4_holding *holding)
{
	report_peer(r, holding->line_peer);
	for (unsigned i = 0; i < SESSION_PLACES; i++)
		report_peer(r, holding->place_peers[i]);
}

static bool report_assoc(void *ctx, const struct assoc *assoc)
{
	struct n4 *n4 = ctx;
	struct report report = {.n4 = n4, .assoc = assoc};
	const struct n4_session *session;

	if (assoc->state == ASSOC_ENDING)
		return true;
	n4->reports->round++;
	LIST_FOREACH(session, &assoc->sessions, of_assoc) {
		report_holding(&report, &session->holding);
		if (session->change)
			report_holding(&report, &session->change->holding);
	}
	report_send(&report);
	return true;
}

void node_report_tick(struct n4 *n4)
{
	struct node_reports *reports = n4->reports;
	uint64_t now_ns = clock_now_ns();

	if (!reports->news || now_ns < reports->next_ns)
		return;
	reports->next_ns = now_ns + REPORT_PERIOD_NS;
	assoc_each(n4, report_assoc, n4);
	for (uint32_t i = 0; i < reports->n_paths; i++)
		reports->paths[i].news = false;
	reports->news = false;
}
