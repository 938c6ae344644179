/* Shows what `aitherion top` knows, once or for each interval. */
#pragma once
#include "cli/output/output.h"
#include "cli/top/order.h"

struct ath_top_report {
    const struct ath_top *top;
    int64_t time_ms;                         /* since 1970 */
    const struct ath_top_session **sessions; /* in the order to show */
    size_t session_count;
};

/* Fills a report about the model in an order. The caller releases it with ath_top_report_free(). */
void ath_top_report_make(const struct ath_top *top, const struct ath_top_order *order,
                         struct ath_top_report *out);
void ath_top_report_free(struct ath_top_report *report);

extern const struct ath_view ath_top_view; /* of a struct ath_top_report */
