/* The window: slow start, CUBIC, and which losses are congestion. */
#include "config.h"

#include "remote/udp/congestion.h"

enum {
    SEGMENTS_FIRST = 32,
    SEGMENTS_LEAST = 4,
    LOST_LEAST = 8, /* fewer losses have no rate */
    LOST_PERCENT = 3,
    LATEST = 1024,           /* datagrams that count for the rate of losses */
    QUEUE_NS = 200000,       /* of a round trip, that a queue takes: for losses */
    FULL_QUEUE_NS = 1000000, /* and for the end of the slow start without any loss */
    LEAST_SPAN_S = 10,
};

static const double keep = 0.7, steepness = 0.4; /* beta and C of RFC 9438 */
static const double second = 1e9;

void ath_congestion_begin(struct ath_congestion *congestion, uint64_t segment, uint64_t fixed_rate,
                          int64_t now_ns)
{
    *congestion = (struct ath_congestion){
        .fixed_rate = fixed_rate,
        .window = SEGMENTS_FIRST * segment,
        .threshold = UINT64_MAX,
        .segment = segment,
        .round_least_ns = INT64_MAX,
        .last_least_ns = INT64_MAX,
        .least_ns = { INT64_MAX, INT64_MAX },
        .least_since_ns = now_ns,
    };
}

static void keep_least(struct ath_congestion *congestion)
{
    const uint64_t least = SEGMENTS_LEAST * congestion->segment;
    if (congestion->window < least)
        congestion->window = least;
}

void ath_congestion_resize(struct ath_congestion *congestion, uint64_t segment)
{
    congestion->segment = segment;
    keep_least(congestion);
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t least_trip(const struct ath_congestion *congestion)
{
    return lesser(congestion->least_ns[0], congestion->least_ns[1]);
}

/* Whether each round trip of a round had to wait in a queue. */
static bool has_queue(const struct ath_congestion *congestion, int64_t round_least_ns,
                      int64_t queue_ns)
{
    int64_t least = least_trip(congestion);
    return round_least_ns < INT64_MAX && round_least_ns - least > least / 4 + queue_ns;
}

static void end_round(struct ath_congestion *congestion, uint64_t next)
{
    if (congestion->window < congestion->threshold &&
        has_queue(congestion, congestion->round_least_ns, FULL_QUEUE_NS))
        congestion->threshold = congestion->window; /* the path is full before it loses anything */
    congestion->round_end = next;
    congestion->last_least_ns = congestion->round_least_ns;
    congestion->round_least_ns = INT64_MAX;
}

void ath_congestion_measured(struct ath_congestion *congestion, int64_t trip_ns, uint64_t newest,
                             uint64_t next, int64_t now_ns)
{
    if (now_ns - congestion->least_since_ns > LEAST_SPAN_S * (int64_t)second) {
        congestion->least_ns[1] = congestion->least_ns[0];
        congestion->least_ns[0] = INT64_MAX;
        congestion->least_since_ns = now_ns;
    }
    congestion->least_ns[0] = lesser(congestion->least_ns[0], trip_ns);
    congestion->round_least_ns = lesser(congestion->round_least_ns, trip_ns);
    if (newest >= congestion->round_end)
        end_round(congestion, next);
}

/* Newton's method; value is at least 0. */
static double cube_root(double value)
{
    double root = value > 1 ? value / 3 + 1 : 1;
    for (int i = 0; i < 40; i++)
        root = (2 * root + value / (root * root)) / 3;
    return value > 0 ? root : 0;
}

static double cubic(const struct ath_congestion *congestion, double seconds)
{
    const double segment = (double)congestion->segment;
    double missing = congestion->top * (1 - keep) / segment;
    double from_top = seconds - cube_root(missing / steepness);
    return congestion->top + steepness * from_top * from_top * from_top * segment;
}

static void avoid(struct ath_congestion *congestion, double bytes, int64_t trip_ns, int64_t now_ns)
{
    const double slope = 3 * (1 - keep) / (1 + keep), window = (double)congestion->window;
    if (!congestion->reduced_ns) {
        congestion->reduced_ns = now_ns;
        congestion->friendly = window;
        if (congestion->top < window)
            congestion->top = window;
    }
    congestion->friendly += slope * (double)congestion->segment * bytes / congestion->friendly;
    double target = cubic(congestion, (double)(now_ns - congestion->reduced_ns + trip_ns) / second);
    target = target > congestion->friendly ? target : congestion->friendly;
    target = target < 1.5 * window ? target : 1.5 * window;
    if (target > window)
        congestion->window += (uint64_t)((target - window) * bytes / window + 0.5);
}

static void forget_old(struct ath_congestion *congestion)
{
    if (congestion->came + congestion->lost > LATEST) {
        congestion->came /= 2;
        congestion->lost /= 2;
    }
}

void ath_congestion_came(struct ath_congestion *congestion, uint64_t bytes, bool is_used,
                         int64_t trip_ns, int64_t now_ns)
{
    congestion->came++;
    forget_old(congestion);
    if (!is_used)
        return;
    if (congestion->window < congestion->threshold)
        congestion->window += bytes;
    else
        avoid(congestion, (double)bytes, trip_ns, now_ns);
}

static void reduce(struct ath_congestion *congestion)
{
    const double window = (double)congestion->window;
    /* A window that is smaller than at the last reduction makes room for others (RFC 9438 4.7). */
    congestion->top = window < congestion->top ? window * (1 + keep) / 2 : window;
    congestion->window = (uint64_t)(window * keep);
    keep_least(congestion);
    congestion->threshold = congestion->window;
    congestion->reduced_ns = 0;
}

void ath_congestion_lost(struct ath_congestion *congestion, uint64_t number, uint64_t next)
{
    congestion->lost++;
    forget_old(congestion);
    if (number < congestion->recovery)
        return;
    const uint32_t all = congestion->came + congestion->lost;
    bool is_much = congestion->lost >= LOST_LEAST &&
                   (uint64_t)congestion->lost * 100 > (uint64_t)all * LOST_PERCENT;
    if (!is_much && !has_queue(congestion, congestion->last_least_ns, QUEUE_NS))
        return;
    congestion->recovery = next;
    congestion->came = congestion->lost = 0;
    reduce(congestion);
}

void ath_congestion_silent(struct ath_congestion *congestion)
{
    reduce(congestion);
    congestion->window = SEGMENTS_LEAST * congestion->segment;
}

uint64_t ath_congestion_rate(const struct ath_congestion *congestion, int64_t trip_ns)
{
    if (congestion->fixed_rate)
        return congestion->fixed_rate;
    double window = (double)congestion->window;
    double much = congestion->window < congestion->threshold ? 2 : 1.25;
    return (uint64_t)(much * window * second / (double)(trip_ns > 1000 ? trip_ns : 1000)) + 1;
}

uint64_t ath_congestion_window(const struct ath_congestion *congestion)
{
    return congestion->fixed_rate ? UINT64_MAX : congestion->window;
}
