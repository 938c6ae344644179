/* Shows an RDMA test: its result and its progress. */
#pragma once
#include <stdbool.h>

#include "cli/output/bar.h"
#include "cli/output/output.h"
#include "roce/perf.h"

enum ath_roce_test_role { ATH_ROCE_TEST_PAIR, ATH_ROCE_TEST_CLIENT, ATH_ROCE_TEST_SERVER };

struct ath_roce_test_report {
    enum ath_roce_test_role role;
    bool is_dry_run; /* then result has only the plan and the ends */
    bool has_remote; /* false for the plan of a test with another host */
    struct ath_perf_result result;
};

extern const struct ath_view ath_roce_test_view; /* of a struct ath_roce_test_report */

/* A callback for ath_perf_watch; context is a struct ath_bar. */
void ath_roce_test_bar_show(void *context, const struct ath_perf_progress *progress);
