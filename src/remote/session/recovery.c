/* The thread that makes lost channels again, and the times at which it tries. */
#include "config.h"

#include "remote/session/recovery.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "remote/session/retry.h"

enum {
    LOOK_MS = 100, /* how often a wait for a path looks for the end */
    PATH_MS = 1000,
    JOIN_MS = 2000,
};

struct recovery {
    struct ath_channels *channels;
    struct ath_stripes_owner owner;
    struct ath_ticket ticket;
    struct ath_data_path paths[ATH_DATA_PATHS_MAX];
    size_t path_of[ATH_STRIPES_MAX];
    size_t connections; /* of the session beside its first one */
    /* How often each channel was made, with the attempts that the server may have seen. Only the
     * thread uses it. */
    uint32_t generations[ATH_STRIPES_MAX];
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t wake;
    struct ath_retry retries[ATH_STRIPES_MAX];
    bool has_thread, is_over;
    pthread_t thread;
};

static bool is_over(struct recovery *recovery)
{
    pthread_mutex_lock(&recovery->lock);
    bool yes = recovery->is_over || ath_channels_are_shut(recovery->channels);
    pthread_mutex_unlock(&recovery->lock);
    return yes;
}

static int await_path(struct recovery *recovery, struct ath_opening *opening,
                      const struct ath_data_path *path)
{
    const uint64_t end_ms = ath_now_ms() + PATH_MS;
    int status = -ETIMEDOUT;
    while (status == -ETIMEDOUT && ath_now_ms() < end_ms && !is_over(recovery))
        status = ath_stripe_await_path(opening, path, &recovery->owner, ath_now_ms() + LOOK_MS);
    return status;
}

static int join_again(struct recovery *recovery, size_t slot, int fd)
{
    struct ath_socket socket;
    uint32_t generation = ++recovery->generations[slot];
    uint32_t number = (uint32_t)(slot + 1 + (generation - 1) * recovery->connections);
    int status =
        ath_stripe_join_again(fd, &recovery->owner, number, ath_now_ms() + JOIN_MS, &socket);
    if (status)
        return status;
    status = ath_channels_offer(recovery->channels, slot, generation, socket);
    if (status)
        ath_tls_free(socket.tls);
    return status;
}

static int make_again(struct recovery *recovery, size_t slot)
{
    const struct ath_data_path *path = &recovery->paths[recovery->path_of[slot]];
    struct ath_opening opening;
    int status = ath_opening_begin(path, &opening);
    if (status)
        return status;
    status = await_path(recovery, &opening, path);
    ath_opening_give_up(&opening);
    if (!status)
        status = join_again(recovery, slot, opening.fd);
    if (status)
        close(opening.fd);
    return status;
}

/* Returns whether a channel should be made again now. Then it counts as made, because it may be
 * lost again at once. */
static bool begin_try(struct recovery *recovery, size_t slot)
{
    pthread_mutex_lock(&recovery->lock);
    bool is_due = ath_retry_begin(&recovery->retries[slot], ath_now_ms());
    pthread_mutex_unlock(&recovery->lock);
    return is_due;
}

static void end_try(struct recovery *recovery, size_t slot, int status)
{
    if (!status) {
        ath_log(ATH_LOG_VERBOSE, _("channel %zu is back"), slot + 1);
        return;
    }
    pthread_mutex_lock(&recovery->lock);
    ath_retry_failed(&recovery->retries[slot], ath_now_ms());
    pthread_mutex_unlock(&recovery->lock);
}

/* Tries each lost channel that is due. After a failure the other channels of the same path wait for
 * the next round. */
static void try_all(struct recovery *recovery)
{
    unsigned int failed_paths = 0;
    for (size_t slot = 0; slot < ATH_STRIPES_MAX && !is_over(recovery); slot++) {
        const unsigned int path = 1u << recovery->path_of[slot];
        if (failed_paths & path || !begin_try(recovery, slot))
            continue;
        int status = make_again(recovery, slot);
        end_try(recovery, slot, status);
        failed_paths |= status ? path : 0;
    }
}

/* Waits for the next loss, or until a lost channel is due. The caller has the lock. */
static void rest(struct recovery *recovery)
{
    uint64_t next_ms = UINT64_MAX;
    for (size_t i = 0; i < ATH_STRIPES_MAX; i++)
        if (recovery->retries[i].is_lost && recovery->retries[i].next_ms < next_ms)
            next_ms = recovery->retries[i].next_ms;
    if (next_ms == UINT64_MAX) {
        pthread_cond_wait(&recovery->wake, &recovery->lock);
        return;
    }
    const struct timespec until = { .tv_sec = (time_t)(next_ms / 1000),
                                    .tv_nsec = (long)(next_ms % 1000) * 1000000 };
    pthread_cond_timedwait(&recovery->wake, &recovery->lock, &until);
}

static void *recover(void *argument)
{
    struct recovery *recovery = argument;
    for (;;) {
        try_all(recovery);
        pthread_mutex_lock(&recovery->lock);
        if (!recovery->is_over && !ath_channels_are_shut(recovery->channels))
            rest(recovery);
        bool is_done = recovery->is_over || ath_channels_are_shut(recovery->channels);
        pthread_mutex_unlock(&recovery->lock);
        if (is_done)
            return NULL;
    }
}

/* The thread takes no signals: they are for the program's threads. The caller has the lock. */
static void start_thread(struct recovery *recovery)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    recovery->has_thread = !pthread_create(&recovery->thread, NULL, recover, recovery);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void note_lost(void *context, size_t slot)
{
    struct recovery *recovery = context;
    ath_log(ATH_LOG_VERBOSE, _("channel %zu is lost: copies go by the others"), slot + 1);
    pthread_mutex_lock(&recovery->lock);
    ath_retry_lost(&recovery->retries[slot], ath_now_ms());
    if (!recovery->has_thread && !recovery->is_over)
        start_thread(recovery);
    pthread_cond_signal(&recovery->wake);
    pthread_mutex_unlock(&recovery->lock);
}

static void end(void *context)
{
    struct recovery *recovery = context;
    pthread_mutex_lock(&recovery->lock);
    recovery->is_over = true;
    pthread_cond_signal(&recovery->wake);
    pthread_mutex_unlock(&recovery->lock);
    if (recovery->has_thread)
        pthread_join(recovery->thread, NULL);
    pthread_mutex_destroy(&recovery->lock);
    pthread_cond_destroy(&recovery->wake);
    explicit_bzero(&recovery->ticket, sizeof recovery->ticket);
    free(recovery);
}

int ath_recovery_begin(struct ath_channels *channels, const struct ath_stripes *stripes,
                       const struct ath_stripes_owner *owner)
{
    pthread_condattr_t by_monotonic;
    struct recovery *recovery = channels ? calloc(1, sizeof *recovery) : NULL;
    if (!recovery)
        return channels ? -ENOMEM : 0;
    recovery->channels = channels;
    recovery->owner = *owner;
    recovery->owner.fd = -1;
    recovery->ticket = *owner->ticket;
    recovery->owner.ticket = &recovery->ticket;
    memcpy(recovery->paths, stripes->paths, sizeof recovery->paths);
    memcpy(recovery->path_of, stripes->path_of, sizeof recovery->path_of);
    recovery->connections = stripes->count;
    for (size_t i = 0; i < ATH_STRIPES_MAX; i++)
        recovery->generations[i] = 1;
    pthread_mutex_init(&recovery->lock, NULL);
    pthread_condattr_init(&by_monotonic);
    pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&recovery->wake, &by_monotonic);
    pthread_condattr_destroy(&by_monotonic);
    ath_channels_watch(channels, &(struct ath_channels_watcher){
                                     .lost = note_lost, .end = end, .context = recovery });
    return 0;
}
