/* Showing an RDMA test: its result, and how far it is. */
#pragma once
#include <stdbool.h>

#include "cli/output/output.h"
#include "roce/perf.h"

enum ath_roce_test_role { ATH_ROCE_TEST_PAIR, ATH_ROCE_TEST_CLIENT, ATH_ROCE_TEST_SERVER };

struct ath_roce_test_report {
    enum ath_roce_test_role role;
    bool is_dry_run; /* then only the plan and the ends are filled */
    bool has_remote; /* false for a plan whose other side is another host */
    struct ath_perf_result result;
};

extern const struct ath_view ath_roce_test_view; /* of a struct ath_roce_test_report */

/* A bar on a terminal, a line for each phase elsewhere; both on standard error. */
struct ath_roce_test_bar {
    bool is_silent, is_terminal;
    int columns;
    const char *phase; /* that was told last */
};

/* As ath_perf_watch wants it; context is a struct ath_roce_test_bar. */
void ath_roce_test_bar_show(void *context, const struct ath_perf_progress *progress);

/* Takes the bar away. */
void ath_roce_test_bar_end(struct ath_roce_test_bar *bar);
