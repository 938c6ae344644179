/*
 * Ends a test of the network whose server keeps the client waiting. A thread shuts the test's
 * connections when a step has taken too long, so that whatever waits for them fails.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "remote/net_test/lanes.h"

struct ath_net_limit {
    const struct ath_lane *lanes; /* not owned; the first one has the stream */
    size_t count;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t until_ms; /* of ath_now_ms(); UINT64_MAX: no limit */
    bool is_begun, is_over, has_passed;
};

/* Begins the thread, with no limit yet. The lanes must outlive it. Returns 0 or a negative errno.
 * One that failed, or {}, need not be ended. */
int ath_net_limit_begin(struct ath_net_limit *limit, const struct ath_lane *lanes, size_t count);

/* Gives the next step so many milliseconds from now on; 0: no limit. */
void ath_net_limit_set(struct ath_net_limit *limit, uint64_t ms);

/* Returns the status of a step, or -ETIMEDOUT if the step failed because its time had passed. */
int ath_net_limit_judge(struct ath_net_limit *limit, int status);

/* Ends the thread. */
void ath_net_limit_end(struct ath_net_limit *limit);
