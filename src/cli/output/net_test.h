/* Shows a test of the network between this host and a runtime. */
#pragma once
#include "cli/output/bar.h"
#include "cli/output/output.h"
#include "remote/net_test/net_test.h"

struct ath_net_test_report {
    const char *server;
    bool is_dry_run; /* the paths were found, and not measured */
    bool wants_udp;
    double time_seconds; /* for each speed; 0: by bytes */
    uint64_t bytes;      /* for each speed; 0: by time */
    struct ath_net_test test;
};

extern const struct ath_view ath_net_test_view; /* of a struct ath_net_test_report */

/* A callback for struct ath_net_plan; context is a struct ath_bar. */
void ath_net_test_bar_show(void *context, const struct ath_net_step *step);
