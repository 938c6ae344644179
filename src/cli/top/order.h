/* The table of sessions in `aitherion top`: which sessions it has, and in which order. */
#pragma once
#include "cli/top/model.h"

enum ath_top_sort {
    ATH_TOP_BUSY, /* unless the user chooses */
    ATH_TOP_ID,
    ATH_TOP_PROGRAM,
    ATH_TOP_IDENTITY,
    ATH_TOP_FROM,
    ATH_TOP_SERVER,
    ATH_TOP_GPU,
    ATH_TOP_MEMORY,
    ATH_TOP_GPU_TIME,
    ATH_TOP_CALLS,
    ATH_TOP_TRAFFIC,
    ATH_TOP_WAIT,
    ATH_TOP_SHARE,
    ATH_TOP_HELD,
    ATH_TOP_QUEUED,
    ATH_TOP_AGE,
    ATH_TOP_SORT_COUNT
};

/* The choice of the sessions that are shown, and their order. */
struct ath_top_order {
    enum ath_top_sort key;
    bool is_reversed;   /* against the order that the key has by itself: greatest number first, text
                           from a to z */
    const char *filter; /* only sessions in whose texts it occurs, in any case; NULL or "": all */
};

/*
 * Returns the indexes of the sessions to show, and their number. Sessions that compare equal are in
 * the order of the model, so that rows do not jump. The caller frees the result.
 */
size_t *ath_top_sorted(const struct ath_top *top, const struct ath_top_order *order,
                       size_t *out_count);

/* Returns where a session's program runs: its host, else its address. Not owned by the caller; NULL
 * if unknown. */
const char *ath_top_from(const struct ath_top_session *session);
