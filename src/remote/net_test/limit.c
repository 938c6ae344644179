/* Waits for the end of a step's time, and shuts the connections then. */
#include "config.h"

#include "remote/net_test/limit.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/thread.h"

static void shut_all(const struct ath_net_limit *limit)
{
    for (size_t i = 0; i < limit->count; i++) {
        if (limit->lanes[i].stream)
            limit->lanes[i].stream->ops->shut(limit->lanes[i].stream);
        else if (limit->lanes[i].socket.fd >= 0)
            shutdown(limit->lanes[i].socket.fd, SHUT_RDWR);
    }
}

/* Waits for a change, or until the time has passed. The caller has the lock. */
static void wait_for_change(struct ath_net_limit *limit)
{
    const struct timespec until = ath_moment(limit->until_ms);
    if (limit->until_ms == UINT64_MAX)
        pthread_cond_wait(&limit->changed, &limit->lock);
    else
        pthread_cond_timedwait(&limit->changed, &limit->lock, &until);
}

static void *watch(void *argument)
{
    struct ath_net_limit *limit = argument;
    pthread_mutex_lock(&limit->lock);
    while (!limit->is_over && !limit->has_passed) {
        wait_for_change(limit);
        limit->has_passed = !limit->is_over && ath_now_ms() >= limit->until_ms;
    }
    if (limit->has_passed)
        shut_all(limit);
    pthread_mutex_unlock(&limit->lock);
    return NULL;
}

int ath_net_limit_begin(struct ath_net_limit *limit, const struct ath_lane *lanes, size_t count)
{
    *limit = (struct ath_net_limit){ .lanes = lanes, .count = count, .until_ms = UINT64_MAX };
    pthread_mutex_init(&limit->lock, NULL);
    ath_cond_init(&limit->changed);
    int status = ath_thread_start(&limit->thread, watch, limit);
    limit->is_begun = !status;
    return status;
}

void ath_net_limit_set(struct ath_net_limit *limit, uint64_t ms)
{
    pthread_mutex_lock(&limit->lock);
    limit->until_ms = ms ? ath_now_ms() + ms : UINT64_MAX;
    pthread_cond_signal(&limit->changed);
    pthread_mutex_unlock(&limit->lock);
}

int ath_net_limit_judge(struct ath_net_limit *limit, int status)
{
    pthread_mutex_lock(&limit->lock);
    if (status && limit->has_passed)
        status = -ETIMEDOUT;
    pthread_mutex_unlock(&limit->lock);
    return status;
}

void ath_net_limit_end(struct ath_net_limit *limit)
{
    if (!limit->is_begun)
        return;
    pthread_mutex_lock(&limit->lock);
    limit->is_over = true;
    pthread_cond_signal(&limit->changed);
    pthread_mutex_unlock(&limit->lock);
    pthread_join(limit->thread, NULL);
    pthread_cond_destroy(&limit->changed);
    pthread_mutex_destroy(&limit->lock);
    limit->is_begun = false;
}
