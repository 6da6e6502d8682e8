// Session messages put together and taken apart octet by octet, for session_kit.h, which includes this.
// Knows what an SMF writes and what it looks for in an answer.

#pragma once

// --- writing ---------------------------------------------------------------------------------------------

static inline void put(uint64_t value, unsigned octets)
{
	while (octets-- > 0)
		kit.out[kit.len++] = (uint8_t)(value >> (8 * octets));
}

static inline void put_text(const char *text, size_t len)
{
	memcpy(kit.out + kit.len, text, len);
	kit.len += len;
}

static inline void put_hex(const char *hex)
{
	for (; *hex; hex++)
		if (*hex != ' ') {
			put(strtoul((char[]){hex[0], hex[1], 0}, NULL, 16), 1);
			hex++;
		}
}

static inline void put_v4(const char *text)
{
	inet_pton(AF_INET, text, kit.out + kit.len);
	kit.len += 4;
}

static inline void put_v6(const char *text)
{
	inet_pton(AF_INET6, text, kit.out + kit.len);
	kit.len += 16;
}

// An IE from its begin to its end; groups are IEs with IEs in them.
static inline size_t ie_begin(unsigned type)
{
	put(type, 2);
	put(0, 2);
	return kit.len;
}

static inline void ie_end(size_t mark)
{
	kit.out[mark - 2] = (uint8_t)((kit.len - mark) >> 8);
	kit.out[mark - 1] = (uint8_t)(kit.len - mark);
}

static inline void ie_number(unsigned type, uint64_t value, unsigned octets)
{
	put(type, 2);
	put(octets, 2);
	put(value, octets);
}

static inline void ie_hex(unsigned type, const char *hex)
{
	size_t mark = ie_begin(type);

	put_hex(hex);
	ie_end(mark);
}

static inline void ie_labels(unsigned type, const char *name)
{
	size_t mark = ie_begin(type);

	while (*name) {
		size_t len = strcspn(name, ".");

		put(len, 1);
		put_text(name, len);
		name += len + (name[len] == '.');
	}
	ie_end(mark);
}

static inline void ie_text(unsigned type, const char *text)
{
	size_t mark = ie_begin(type);

	put_text(text, strlen(text));
	ie_end(mark);
}

static inline void ie_sdf(const char *flow, uint32_t bid)
{
	size_t mark = ie_begin(23);

	put((flow ? 1u : 0u) | (bid ? 0x10u : 0u), 1);
	put(0, 1);
	if (flow) {
		put(strlen(flow), 2);
		put_text(flow, strlen(flow));
	}
	if (bid)
		put(bid, 4);
	ie_end(mark);
}

static inline void msg_begin(unsigned type, uint64_t seid)
{
	kit.len = 0;
	put(0x21, 1);
	put(type, 1);
	put(0, 2);
	put(seid, 8);
	put(++kit.seq, 3);
	put(0, 1);
}

// The bytes as they stand, from a block of just their size, so that a sanitizer sees a byte too many.
static inline void msg_deliver(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len);

	memcpy(copy, bytes, len);
	n4_datagram(kit.n4, &kit.peer, copy, len);
	free(copy);
	if (!kit.hold)
		kit_run();
}

static inline void msg_send(void)
{
	kit.out[2] = (uint8_t)((kit.len - 4) >> 8);
	kit.out[3] = (uint8_t)(kit.len - 4);
	msg_deliver(kit.out, kit.len);
}

// A node's message, and its Node ID.
static inline void node_begin(unsigned type, const char *node_id)
{
	kit.len = 0;
	put(0x20, 1);
	put(type, 1);
	put(0, 2);
	put(++kit.seq, 3);
	put(0, 1);
	if (node_id)
		ie_hex(60, node_id);
}

static inline void setup_begin(const char *node_id)
{
	node_begin(5, node_id);
	ie_number(96, RECOVERY, 4);
}

static inline void kit_setup(void)
{
	setup_begin("007f000004");
	ie_number(89, 0, 1);
	msg_send();
}

static inline void kit_release(void)
{
	node_begin(9, "007f000004");
	msg_send();
}

static inline void ie_f_seid(uint64_t seid)
{
	size_t mark = ie_begin(57);

	put(2, 1);
	put(seid, 8);
	put_v4("127.0.0.4");
	ie_end(mark);
}

static inline void establish_begin(uint64_t cp_seid)
{
	msg_begin(50, 0);
	ie_hex(60, "007f000004");
	ie_f_seid(cp_seid);
}

// --- rules -----------------------------------------------------------------------------------------------

#define ACCESS 0
#define CORE 1
#define CP 3
#define CH_V4 0x05 // F-TEID flags: CHOOSE with V4
#define CH_V6 0x06
#define CH_V46 0x07
#define CHID 0x08
#define GIVEN_V4 0x01

struct pdr_spec {
	unsigned id;
	bool update;
	bool no_precedence, no_pdi, no_far;
	uint32_t precedence; // 0: 255
	unsigned source;
	unsigned fteid; // flags, 0: none
	uint8_t choose_id;
	uint32_t teid;
	const char *fteid_v4; // NULL: that of N3
	const char *ue_v4, *ue_v6;
	const char *ni;
	const char *flows[4];
	uint32_t bids[4]; // of these; without a flow a reference
	const char *app;
	unsigned qfi;
	bool removal; // outer header removal 6
	unsigned far;
	unsigned qers[5], urrs[5];
	const char *pdi_hex, *hex; // further IEs
};

static inline void put_fteid(const struct pdr_spec *p)
{
	size_t mark = ie_begin(21);

	put(p->fteid, 1);
	if (!(p->fteid & 4)) {
		put(p->teid, 4);
		put_v4(p->fteid_v4 ? p->fteid_v4 : "127.0.0.7");
	}
	if (p->fteid & CHID)
		put(p->choose_id, 1);
	ie_end(mark);
}

static inline void put_ue(const struct pdr_spec *p)
{
	size_t mark = ie_begin(93);

	put((p->ue_v4 ? 2u : 0u) | (p->ue_v6 ? 1u : 0u) | (p->source == ACCESS ? 0u : 4u), 1);
	if (p->ue_v4)
		put_v4(p->ue_v4);
	if (p->ue_v6)
		put_v6(p->ue_v6);
	ie_end(mark);
}

static inline void put_pdi(const struct pdr_spec *p)
{
	size_t mark = ie_begin(2);

	ie_number(20, p->source, 1);
	if (p->fteid)
		put_fteid(p);
	if (p->ni)
		ie_labels(22, p->ni);
	if (p->ue_v4 || p->ue_v6)
		put_ue(p);
	for (unsigned i = 0; i < 4; i++)
		if (p->flows[i] || p->bids[i])
			ie_sdf(p->flows[i], p->bids[i]);
	if (p->app)
		ie_text(24, p->app);
	if (p->qfi)
		ie_number(124, p->qfi, 1);
	if (p->pdi_hex)
		put_hex(p->pdi_hex);
	ie_end(mark);
}

static inline void put_pdr(const struct pdr_spec *p)
{
	size_t mark = ie_begin(p->update ? 9 : 1);

	ie_number(56, p->id, 2);
	if (!p->no_precedence)
		ie_number(29, p->precedence ? p->precedence : 255, 4);
	if (!p->no_pdi)
		put_pdi(p);
	if (p->removal)
		ie_number(95, 6, 1);
	if (!p->no_far)
		ie_number(108, p->far, 4);
	for (unsigned i = 0; i < 5; i++)
		if (p->urrs[i])
			ie_number(81, p->urrs[i], 4);
	for (unsigned i = 0; i < 5; i++)
		if (p->qers[i])
			ie_number(109, p->qers[i], 4);
	if (p->hex)
		put_hex(p->hex);
	ie_end(mark);
}

#define PDR(...) put_pdr(&(struct pdr_spec){__VA_ARGS__})

#define DROP 1
#define FORW 2
#define BUFF 4
#define NOCP 8

struct far_spec {
	uint32_t id;
	bool update;
	unsigned action; // 0: no Apply Action
	bool to;         // with forwarding parameters:
	unsigned destination;
	const char *ni;
	uint32_t teid;
	const char *peer; // outer header creation to this address
	unsigned bar;
	const char *to_hex, *hex; // further IEs
};

static inline void put_far(const struct far_spec *f)
{
	size_t mark = ie_begin(f->update ? 10 : 3);

	ie_number(108, f->id, 4);
	if (f->action)
		ie_number(44, f->action, 1);
	if (f->to) {
		size_t to = ie_begin(f->update ? 11 : 4);

		ie_number(42, f->destination, 1);
		if (f->ni)
			ie_labels(22, f->ni);
		if (f->peer) {
			size_t ohc = ie_begin(84);

			put(0x0100, 2);
			put(f->teid, 4);
			put_v4(f->peer);
			ie_end(ohc);
		}
		if (f->to_hex)
			put_hex(f->to_hex);
		ie_end(to);
	}
	if (f->bar)
		ie_number(88, f->bar, 1);
	if (f->hex)
		put_hex(f->hex);
	ie_end(mark);
}

#define FAR(...) put_far(&(struct far_spec){__VA_ARGS__})

static inline void put_qer(unsigned type, uint32_t id, const char *hex)
{
	size_t mark = ie_begin(type);

	ie_number(109, id, 4);
	put_hex(hex);
	ie_end(mark);
}

static inline void put_urr(unsigned type, uint32_t id, const char *hex)
{
	size_t mark = ie_begin(type);

	ie_number(81, id, 4);
	put_hex(hex);
	ie_end(mark);
}

#define QER_OPEN "0019000100"                                           // gate status
#define URR_VOLUME "003e000102 002500020200 001f0009010000000006400000" // 100 MiB, total

static inline void put_remove(unsigned type, unsigned id_type, uint32_t id, unsigned octets)
{
	size_t mark = ie_begin(type);

	ie_number(id_type, id, octets);
	ie_end(mark);
}

static inline void remove_pdr(uint32_t id)
{
	put_remove(15, 56, id, 2);
}

static inline void remove_far(uint32_t id)
{
	put_remove(16, 108, id, 4);
}

// The rules of an ordinary session with this UE: PDR 1 down, PDR 2 up, FAR 1 to a gNB, FAR 2 to the core.
static inline void put_plain(const char *ue_v4)
{
	PDR(.id = 1, .source = CORE, .ni = "internet", .ue_v4 = ue_v4, .far = 1);
	PDR(.id = 2, .source = ACCESS, .fteid = CH_V4, .removal = true, .far = 2);
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .teid = 0xa000001,
	    .peer = "127.0.0.50");
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE);
}

// --- reading ---------------------------------------------------------------------------------------------

struct found {
	const uint8_t *at;
	size_t len;
};

static inline uint64_t number_at(const uint8_t *at, unsigned octets)
{
	uint64_t value = 0;

	while (octets-- > 0)
		value = value << 8 | *at++;
	return value;
}

// The n-th IE of a type, from 0, among these octets; at NULL: not there.
static inline struct found find_ie(struct found in, unsigned type, unsigned n)
{
	size_t at = 0;

	while (in.at && at + 4 <= in.len) {
		size_t len = (size_t)number_at(in.at + at + 2, 2);

		if (number_at(in.at + at, 2) == type && n-- == 0)
			return (struct found){in.at + at + 4, len};
		at += 4 + len;
	}
	return (struct found){NULL, 0};
}

static inline struct found answer_ies(void)
{
	size_t header = kit.answer[0] & 1 ? 16 : 8; // with or without SEID

	return (struct found){kit.answer + header,
			      kit.answer_len > header ? kit.answer_len - header : 0};
}

static inline struct found answer_ie(unsigned type)
{
	return find_ie(answer_ies(), type, 0);
}

static inline uint64_t answer_number(unsigned type)
{
	struct found f = answer_ie(type);

	return f.at && f.len <= 8 ? number_at(f.at, (unsigned)f.len) : 0;
}

static inline unsigned answer_type(void)
{
	return kit.answer_len ? kit.answer[1] : 0;
}

static inline uint64_t answer_seid(void)
{
	return number_at(kit.answer + 4, 8);
}

static inline uint32_t answer_seq(void) // of a message with SEID
{
	return (uint32_t)number_at(kit.answer + 12, 3);
}

static inline unsigned answer_cause(void)
{
	return (unsigned)answer_number(19);
}

static void kit_log(void)
{
	unsigned n = kit.n_sent++ % (sizeof(kit.log) / sizeof(kit.log[0]));

	kit.log[n].type = kit.answer[1];
	kit.log[n].cause = (uint8_t)answer_cause();
	kit.log[n].seq = answer_seq();
}

// The Failed Rule ID: its kind and id, or -1.
static inline int failed_kind(void)
{
	struct found f = answer_ie(114);

	return f.at ? f.at[0] & 0x1f : -1;
}

static inline int64_t failed_id(void)
{
	struct found f = answer_ie(114);

	return f.at ? (int64_t)number_at(f.at + 1, (unsigned)f.len - 1) : -1;
}

// The UP F-SEID of an establishment answer.
static inline uint64_t up_seid(void)
{
	struct found f = answer_ie(57);

	return f.at && f.len >= 9 ? number_at(f.at + 1, 8) : 0;
}

// The TEID in the Created PDR (8) or Updated PDR (256) of this id; 0: none.
static inline uint32_t picked_teid(unsigned type, unsigned pdr_id)
{
	for (unsigned n = 0;; n++) {
		struct found group = find_ie(answer_ies(), type, n);
		struct found id = find_ie(group, 56, 0);
		struct found fteid = find_ie(group, 21, 0);

		if (!group.at)
			return 0;
		if (!id.at || number_at(id.at, 2) != pdr_id || !fteid.at)
			continue;
		CU_ASSERT(fteid.len == 9 && fteid.at[0] == 1); // V4 and nothing else
		return (uint32_t)number_at(fteid.at + 1, 4);
	}
}

static inline uint32_t created_teid(unsigned pdr_id)
{
	return picked_teid(8, pdr_id);
}

static inline unsigned created_count(void)
{
	unsigned n = 0;

	while (find_ie(answer_ies(), 8, n).at)
		n++;
	return n;
}

// --- short ways ------------------------------------------------------------------------------------------

// Establishes a plain session: its SEID, 0 when it is refused.
static inline uint64_t establish_plain(uint64_t cp_seid, const char *ue_v4)
{
	establish_begin(cp_seid);
	put_plain(ue_v4);
	msg_send();
	return answer_cause() == 1 ? up_seid() : 0;
}

static inline void delete_session(uint64_t seid)
{
	msg_begin(54, seid);
	msg_send();
}

// The SMF answers the Session Report Request of this sequence number: a cause, 0 for none, and further IEs.
static inline void report_answer(uint64_t seid, uint32_t seq, unsigned cause, const char *hex)
{
	msg_begin(57, seid);
	kit.len = 12;
	put(seq, 3);
	put(0, 1);
	if (cause)
		ie_number(19, cause, 1);
	put_hex(hex);
	msg_send();
}

static inline const struct session_line *up_line(const struct n4_session *s)
{
	return &kit.workers[s->slot.owner]->table.up[s->slot.index];
}

static inline const struct session_line *down_line(const struct n4_session *s)
{
	return &kit.workers[s->slot.owner]->table.down[s->slot.index];
}

static inline const struct n4_session *session_of(uint64_t seid)
{
	const struct n4_session *s = n4_session_lookup(kit.n4, seid);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	return s;
}

// Its rules; the test may look at them until it has asked for so many others.
static inline struct rules *rules_of(const struct n4_session *s)
{
	struct rules **copy = &kit.copies[kit.n_copies++ % KIT_COPIES];

	rules_free(*copy);
	*copy = n4_session_rules(s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(*copy);
	return *copy;
}

// A session with rules of every kind, whose owner has counted packets.
static inline uint64_t establish_rich(void)
{
	struct session_line *line;
	uint64_t seid;

	establish_begin(1);
	PDR(.id = 1, .source = CORE, .ni = "internet", .ue_v4 = "10.45.0.2", .far = 1, .qers = {1},
	    .urrs = {1});
	PDR(.id = 2, .source = ACCESS, .ni = "internet", .fteid = CH_V4 | CHID, .choose_id = 5,
	    .qfi = 1, .removal = true, .far = 2, .qers = {1});
	PDR(.id = 5, .source = CORE, .ni = "internet",
	    .flows = {"permit out 17 from 10.9.9.0/24 5000-5010 to assigned"}, .bids = {1},
	    .precedence = 100, .far = 1, .qers = {2});
	PDR(.id = 6, .source = ACCESS, .ni = "internet", .fteid = CH_V4 | CHID, .choose_id = 5,
	    .bids = {1}, .qfi = 2, .precedence = 100, .removal = true, .far = 2, .qers = {2});
	FAR(.id = 1, .action = FORW, .to = true, .destination = ACCESS, .ni = "internet", .teid = 7,
	    .peer = "127.0.0.50", .bar = 1);
	FAR(.id = 2, .action = FORW, .to = true, .destination = CORE, .ni = "internet");
	put_qer(7, 1, QER_OPEN "001a000a 000000c350 00000186a0");
	put_qer(7, 2,
		QER_OPEN
		"001a000a 00000007d0 0000000fa0 001b000a 00000003e8 00000007d0 007c000102");
	put_urr(6, 1, URR_VOLUME);
	ie_hex(85, "0058000101");
	msg_send();
	CU_ASSERT_EQUAL_FATAL(answer_cause(), 1);
	seid = up_seid();
	line = &kit.workers[session_of(seid)->slot.owner]->table.up[session_of(seid)->slot.index];
	line->packets = 77;
	line->bytes = 7777;
	return seid;
}
