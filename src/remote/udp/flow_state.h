/* The state of flow.h, for its own files: flow_send.c and flow_loss.c have the sender,
 * flow_receive.c the receiver. */
#pragma once
#include "remote/udp/congestion.h"
#include "remote/udp/flow.h"
#include "remote/udp/path_mtu.h"

enum {
    FLOW_SENT_MAX = ATH_NUMBERS_KEPT / 2, /* datagrams that the sender waits for */
    FLOW_SPANS_MAX = 256,                 /* pieces of the stream behind a gap */
    FLOW_REORDERING_FIRST = 3,            /* later datagrams (RFC 9002, 6.1.1) */
    FLOW_ROOM_FIRST = 64 * 1024,          /* bytes that the receiver takes at first */
};

#define FLOW_IDLE_NS INT64_C(4000000000)     /* after so long without bytes the peer is asked */
#define FLOW_TRIP_FIRST_NS INT64_C(50000000) /* of a round trip, until one is measured */

/* A datagram that was sent. */
enum flow_sent_state {
    FLOW_FORGOTTEN, /* needs no acknowledgement, or is sent again with another number */
    FLOW_TRAVELS,
    FLOW_CAME,
    FLOW_LOST, /* waits in the queue of lost datagrams */
};

struct flow_sent {
    enum flow_sent_state state;
    enum ath_datagram_kind kind;
    uint64_t offset;
    size_t length; /* of the payload */
    int64_t sent_ns;
    bool was_lost;
};

struct flow_sender {
    uint8_t *bytes;
    uint64_t next_number, oldest;      /* no datagram before the oldest travels or is lost */
    uint64_t came_until;               /* above the largest number that came */
    uint64_t acknowledged, begun, end; /* offsets: the peer has, was sent once, was written */
    uint64_t limit;                    /* the peer takes bytes before it */
    bool is_finished, is_end_sent, is_end_acknowledged;
    size_t travelling; /* bytes with heads */
    size_t lost_begin, lost_count;
    uint64_t lost[FLOW_SENT_MAX]; /* numbers */
    struct flow_sent sent[FLOW_SENT_MAX];
    uint32_t reordering;                        /* later datagrams that make one lost */
    int64_t trip_ns, variance_ns, last_trip_ns; /* trip_ns 0: not measured */
    int64_t paced_ns;   /* when the bytes that were sent so far are gone by the rate */
    int64_t awaited_ns; /* since when something travels without news */
    int64_t lost_at_ns; /* when the oldest datagram counts as lost; INT64_MAX: never */
    int timeouts;       /* since news */
    int extra;          /* datagrams that may go beyond the window */
    bool wants_probe;
};

struct flow_span {
    uint64_t begin, end;
};

struct flow_receiver {
    uint8_t *bytes;
    struct ath_numbers numbers;
    uint64_t taken, received; /* offsets: the program took, came without a gap */
    uint64_t limit;           /* that the peer knows */
    uint64_t end;             /* of the stream; UINT64_MAX: not known */
    size_t span_count;
    struct flow_span spans[FLOW_SPANS_MAX]; /* behind received; apart and in order */
    unsigned int unanswered;                /* datagrams that ask for an acknowledgement */
    int64_t first_ns;                       /* the first of these came */
    int64_t largest_ns;                     /* the largest number came */
    bool is_urgent;
};

struct ath_flow {
    struct ath_flow_settings settings;
    int64_t heard_ns;  /* the last datagram of the peer */
    int64_t spoken_ns; /* the last datagram that asks for an acknowledgement */
    int failure;
    struct ath_flow_counters counters;
    struct ath_congestion congestion;
    struct ath_path_mtu path;
    struct flow_sender sender;
    struct flow_receiver receiver;
    uint8_t ack[ATH_ACK_BYTES_MAX];
};

/* ---- flow_loss.c ---- */

void ath_flow_take_ack(struct ath_flow *flow, const struct ath_datagram *datagram, int64_t now_ns);

/* Finds what is lost, or has timed out, as time passes. Sets the flow's failure if the peer is
 * dead. */
void ath_flow_pass(struct ath_flow *flow, int64_t now_ns);

/* Whether something waits for the peer: bytes, or the room to send them. */
bool ath_flow_waits(const struct ath_flow *flow);

/* Returns when a flow that waits times out. */
int64_t ath_flow_timeout_at(const struct ath_flow *flow);

void ath_flow_advance_oldest(struct flow_sender *sender);

/* ---- flow_receive.c ---- */

bool ath_flow_owes_ack(const struct ath_flow *flow, int64_t now_ns);
int64_t ath_flow_ack_when(const struct ath_flow *flow);
void ath_flow_make_ack(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns);
uint64_t ath_flow_limit(const struct ath_flow *flow);

static inline struct flow_sent *flow_sent_of(struct flow_sender *sender, uint64_t number)
{
    return &sender->sent[number % FLOW_SENT_MAX];
}

static inline int64_t flow_trip_of(const struct flow_sender *sender)
{
    return sender->trip_ns ? sender->trip_ns : FLOW_TRIP_FIRST_NS;
}

static inline size_t ath_flow_place(const struct ath_flow *flow, uint64_t offset)
{
    return (size_t)(offset & (flow->settings.buffer_bytes - 1));
}

static inline size_t ath_flow_lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The room at the begin, the same at both ends. */
static inline size_t ath_flow_first_room(const struct ath_flow_settings *settings)
{
    return ath_flow_lesser(settings->buffer_bytes, FLOW_ROOM_FIRST);
}

/* Finds a range of a ring: up to the end of its memory, and from the beginning.
 * NOLINTNEXTLINE(readability-non-const-parameter): the parts may be written */
static inline void ath_flow_parts(const struct ath_flow *flow, uint8_t *ring, uint64_t offset,
                                  size_t bytes, struct iovec parts[2])
{
    const size_t at = ath_flow_place(flow, offset);
    size_t first = ath_flow_lesser(bytes, flow->settings.buffer_bytes - at);
    parts[0] = (struct iovec){ ring + at, first };
    parts[1] = (struct iovec){ ring, bytes - first };
}
