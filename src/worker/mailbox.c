// Commands to a worker and their answers (mailbox.h).
//
// The upper part runs on the control thread, the lower on the worker.

#include "worker/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "worker/end_marker.h"
#include "worker/usage_mark.h"
#include "worker/worker.h"

// --- control thread --------------------------------------------------------------------------------------

struct mail *mail_new(enum mail_type type, void (*done)(struct mail *, void *), void *ctx)
{
	struct mail *mail = calloc(1, sizeof(*mail));

	if (mail) {
		mail->type = type;
		mail->done = done;
		mail->ctx = ctx;
	}
	return mail;
}

// Moves queued mails into the ring while it takes them. The ring of answers is as large as the ring of
// commands, and no more mails are under way than it holds, so a worker never finds it full.
static void flush(struct mailbox *box)
{
	while (box->waiting && box->outstanding < rte_ring_get_capacity(box->to_control)) {
		struct mail *mail = box->waiting;

		if (rte_ring_sp_enqueue(box->to_worker, mail) != 0)
			return;
		box->outstanding++;
		box->waiting = mail->next;
		if (!box->waiting)
			box->waiting_tail = &box->waiting;
	}
}

void mail_post(struct worker *w, struct mail *mail)
{
	struct mailbox *box = &w->mailbox;

	mail->next = NULL;
	*box->waiting_tail = mail;
	box->waiting_tail = &mail->next;
	flush(box);
}

unsigned mailbox_collect(struct worker *w)
{
	struct mailbox *box = &w->mailbox;
	void *back[WORKER_MAILS];
	unsigned n = rte_ring_sc_dequeue_burst(box->to_control, back, WORKER_MAILS, NULL);

	if (box->before)
		box->before(box->before_ctx, w);
	box->outstanding -= n;
	flush(box);
	for (unsigned i = 0; i < n; i++) {
		struct mail *mail = back[i];

		if (mail->done)
			mail->done(mail, mail->ctx);
		else
			free(mail);
	}
	return n;
}

bool mailbox_owes(const struct worker *w)
{
	return w->mailbox.outstanding > 0 || w->mailbox.waiting;
}

unsigned mailbox_outstanding(const struct worker *w)
{
	unsigned n = w->mailbox.outstanding;

	for (const struct mail *mail = w->mailbox.waiting; mail; mail = mail->next)
		n++;
	return n;
}

// --- worker ----------------------------------------------------------------------------------------------

// Whether the slot is still the session's that the mail is about.
static bool is_current(const struct worker *w, const struct session_image *image)
{
	return w->table.cold[image->slot].version == image->version;
}

static void write_tunnels(struct worker *w, const struct mail *mail)
{
	for (unsigned i = 0; i < mail->session.n_tunnels; i++)
		tunnel_set(&w->table, mail->session.tunnels[i].record,
			   &mail->session.tunnels[i].tunnel);
}

static void policy_exchange(struct worker *w, struct mail *mail)
{
	if (mail->session.policy_new)
		mail->session.policy = session_policy_set(&w->table, mail->session.image.slot,
							  mail->session.policy, w->now,
							  w->meter_burst);
}

// The down line is closed again while packets that were held go first, so this comes last.
static void session_install(struct worker *w, struct mail *mail)
{
	const struct session_image *image = &mail->session.image;

	if (!is_current(w, image))
		buffer_end(w, image->slot);
	if (mail->session.buffer_drop)
		buffer_drop(w, image->slot);
	session_set(&w->table, image);
	policy_exchange(w, mail);
	write_tunnels(w, mail);
	buffer_rules_changed(w, image->slot);
}

static int buffer_mail(struct worker *w, const struct mail *mail)
{
	const struct session_image *image = &mail->session.image;

	if (!is_current(w, image))
		return -ENOENT;
	if (mail->type == MAIL_BUFFER_DROP)
		buffer_drop(w, image->slot);
	else
		buffer_again(w, image->slot);
	return 0;
}

static bool resumes(const struct policy *policy)
{
	for (unsigned i = 0; policy && i < policy->form.n_usages; i++)
		if (policy_usage(policy, i)->flags & USAGE_F_RESUME)
			return true;
	return false;
}

// -EAGAIN: not all could be told, it is to be carried out once more.
static int policy_mail(struct worker *w, struct mail *mail)
{
	const struct session_image *image = &mail->session.image;
	bool resumed;

	if (!is_current(w, image))
		return -ENOENT;
	if (!usage_splits_tell(w, image->slot, mail->session.policy))
		return -EAGAIN;
	resumed = resumes(mail->session.policy);
	policy_exchange(w, mail);
	if (resumed) // what a used up quota held back
		buffer_rules_changed(w, image->slot);
	return 0;
}

static int carry_out(struct worker *w, struct mail *mail)
{
	const struct session_image *image = &mail->session.image;

	switch (mail->type) {
	case MAIL_SESSION_SET:
		for (uint32_t i = 0; i < mail->session.n_end_markers; i++)
			end_marker_send(w, mail->session.end_markers[i]);
		session_install(w, mail);
		return 0;
	case MAIL_POLICY_SET:
		return policy_mail(w, mail);
	case MAIL_SESSION_CLEAR:
		write_tunnels(w, mail);
		if (is_current(w, image))
			buffer_end(w, image->slot);
		return session_clear(&w->table, image->slot, image->version, &mail->session.counts,
				     &mail->session.policy);
	case MAIL_SESSION_COUNT:
		session_counts_get(&w->table, image->slot, &mail->session.counts);
		buffer_counts_get(w, image->slot, &mail->session.buffer);
		if (!mail->session.policy)
			return 0;
		if (!is_current(w, image))
			return -ENOENT;
		return session_policy_look(&w->table, image->slot, mail->session.policy);
	case MAIL_BUFFER_DROP:
	case MAIL_BUFFER_AGAIN:
		return buffer_mail(w, mail);
	case MAIL_PEER_SET:
		w->peers[mail->peer.index] = mail->peer.peer;
		return 0;
	case MAIL_FLOWS_LOOK:
		return flows_look(w, &mail->flows);
	case MAIL_NAT_LOOK:
		nat_look(w, &mail->nat);
		return 0;
	case MAIL_KEYS_LOOK:
		key_misses_look(w, mail->misses);
		return 0;
	case MAIL_FLOW_CLEAR:
		return flows_clear_one(w, &mail->flows);
	case MAIL_FLOWS_CLEAR: // work() does it
	case MAIL_NOTHING:
		return 0;
	}
	return -EINVAL;
}

// Whether the session leaves a network instance with NAT: what its flows are outside is that one's.
static bool leaves_nat(const struct worker *w, const struct session_image *image)
{
	const struct nat_pools *nat = w->nat.pools;
	unsigned profile;

	if (!nat || !is_current(w, image))
		return false;
	profile = line_rules(w, &w->table.down[image->slot])->profile;
	return profile < nat->n && nat->pools[profile].n_addrs > 0 &&
	       profile != rule_arena_at(w->arena, image->rules)->profile;
}

// Whether the mail has been dealt with. What has no room in a ring now is tried again. Flows are ended so many a turn:
// that may take more than this one. Those of a session that ends are ended before its end is answered, so that whoever
// gets its slot next meets none of them; those of one that leaves NAT before it has its new rules.
static bool work(struct worker *w, struct mail *mail)
{
	if (mail->type == MAIL_SESSION_SET && leaves_nat(w, &mail->session.image) &&
	    !flows_end_session(w, mail->session.image.slot)) {
		mail->result = -EAGAIN;
		return false;
	}
	if (mail != w->mailbox.unfinished || mail->result == -EAGAIN)
		mail->result = carry_out(w, mail);
	if (mail->result == -EAGAIN)
		return false;
	if (mail->type == MAIL_FLOWS_CLEAR)
		return flows_clear(w, &mail->flows);
	return mail->type != MAIL_SESSION_CLEAR || mail->result != 0 ||
	       flows_end_session(w, mail->session.image.slot);
}

void mailbox_run(struct worker *w, unsigned most)
{
	struct mailbox *box = &w->mailbox;
	void *back[WORKER_MAILS];
	unsigned n = 0;

	flows_allow(&w->flows);
	while (n < RTE_MIN(most, (unsigned)WORKER_MAILS)) {
		void *mail = box->unfinished;

		if (!mail && rte_ring_sc_dequeue(box->to_worker, &mail) != 0)
			break;
		box->unfinished = work(w, mail) ? NULL : mail;
		if (box->unfinished)
			break;
		back[n++] = mail;
		worker_count(w, COUNTER_mails, 1);
	}
	if (n)
		rte_ring_sp_enqueue_bulk(box->to_control, back, n, NULL);
}
