/* The figures are sums, so each judgement is of their growth. */
#include "config.h"

#include "remote/transport/line_loss.h"

enum {
    SEGMENTS_LEAST = 2000,
    ONE_IN = 200,
    QUEUE_NS = 1000 * 1000, /* of a smoothed round trip: delayed acknowledgements are in it */
};

/* A queue whose losses hold TCP back is never empty for long. */
static bool has_queue(const struct ath_line_loss *loss, const struct ath_stripe_state *state)
{
    return loss->latency_ns - state->least_latency_ns > state->least_latency_ns / 4 + QUEUE_NS;
}

bool ath_line_loss_look(struct ath_line_loss *loss, const struct ath_stripe_state *state,
                        double *out_part)
{
    const struct ath_line_loss now = { state->segments, state->sent_again, state->needless,
                                       state->latency_ns, true };
    const bool is_known = !state->is_lost && !state->is_udp && state->segments >= 0 &&
                          state->sent_again >= 0 && state->latency_ns >= 0;
    const bool goes_on = is_known && loss->has_begun && now.segments >= loss->segments &&
                         now.sent_again >= loss->sent_again; /* else it is another connection */
    if (!goes_on) {
        *loss = is_known ? now : (struct ath_line_loss){ 0 };
        return false;
    }
    /* The peer's word that a segment was needless comes later, maybe after a judgement. */
    const int64_t segments = now.segments - loss->segments,
                  needed = now.sent_again - loss->sent_again - (now.needless - loss->needless),
                  lost = needed > 0 ? needed : 0;
    if (state->latency_ns < loss->latency_ns)
        loss->latency_ns = state->latency_ns;
    if (segments < SEGMENTS_LEAST)
        return false;
    const bool is_by_line = lost * ONE_IN > segments && !has_queue(loss, state);
    *out_part = (double)lost / (double)segments;
    *loss = now;
    return is_by_line;
}
