/* The thread that makes lost channels again, and those that change to UDP. */
#include "config.h"

#include "remote/session/recovery.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/thread.h"
#include "remote/session/retry.h"

enum {
    LOOK_MS = 100, /* how often a wait for a path looks for the end */
    PATH_MS = 1000,
    JOIN_MS = 2000,
    FRAMES_LEAST = 16, /* that tell the speed by UDP */
};

/* A path that goes by UDP because its line loses on one way. */
struct change {
    enum ath_channels_way way;
    bool is_done;        /* or was begun, and taken back: it does not change again */
    bool is_tried;       /* a connection by UDP has been made */
    unsigned int frames; /* of that way, since then */
    uint64_t before;     /* their speed before, bytes a second; 0: not known */
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
    bool may_change;
    pthread_mutex_t lock; /* guards the rest, and is_udp of the paths */
    pthread_cond_t wake;
    struct change changes[ATH_DATA_PATHS_MAX];
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

static struct ath_data_path path_now(struct recovery *recovery, size_t slot)
{
    pthread_mutex_lock(&recovery->lock);
    const struct ath_data_path path = recovery->paths[recovery->path_of[slot]];
    pthread_mutex_unlock(&recovery->lock);
    return path;
}

static int make_again(struct recovery *recovery, size_t slot)
{
    const struct ath_data_path path = path_now(recovery, slot);
    struct ath_opening opening;
    int status = ath_opening_begin(&path, &opening);
    if (status)
        return status;
    status = await_path(recovery, &opening, &path);
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

static bool is_lost(const struct recovery *recovery, size_t slot)
{
    struct ath_stripe_state state;
    return ath_channels_state(recovery->channels, slot, &state) && state.is_lost;
}

/* A path by which no connection by UDP can be made stays with TCP. Channels that have gone on by it
 * are not made again. The caller has the lock. */
static void take_back(struct recovery *recovery, size_t path, int status)
{
    char to[ATH_ENDPOINT_TEXT];
    ath_log(ATH_LOG_VERBOSE, _("no way by UDP to %s: %s: copies go on by TCP"),
            ath_data_path_text(&recovery->paths[path], to), strerror(-status));
    recovery->paths[path].is_udp = false;
    for (size_t slot = 0; slot + 1 < recovery->connections; slot++)
        if (recovery->path_of[slot] == path)
            recovery->retries[slot].is_lost = is_lost(recovery, slot);
}

static void end_try(struct recovery *recovery, size_t slot, int status)
{
    const size_t path = recovery->path_of[slot];
    struct change *change = &recovery->changes[path];
    pthread_mutex_lock(&recovery->lock);
    const bool is_udp = recovery->paths[path].is_udp;
    if (!status)
        change->is_tried = true;
    else if (change->is_done && is_udp && !change->is_tried)
        take_back(recovery, path, status);
    else
        ath_retry_failed(&recovery->retries[slot], ath_now_ms());
    pthread_mutex_unlock(&recovery->lock);
    if (!status && recovery->may_change)
        ath_log(ATH_LOG_VERBOSE, _("channel %zu is back, by %s"), slot + 1, is_udp ? "udp" : "tcp");
    else if (!status)
        ath_log(ATH_LOG_VERBOSE, _("channel %zu is back"), slot + 1);
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
    const struct timespec until = ath_moment(next_ms);
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

/* Lets the thread look at the retries. The caller has the lock. */
static void wake_thread(struct recovery *recovery)
{
    if (!recovery->has_thread && !recovery->is_over)
        recovery->has_thread = !ath_thread_start(&recovery->thread, recover, recovery);
    pthread_cond_signal(&recovery->wake);
}

static void note_lost(void *context, size_t slot)
{
    struct recovery *recovery = context;
    ath_log(ATH_LOG_VERBOSE, _("channel %zu is lost: copies go by the others"), slot + 1);
    pthread_mutex_lock(&recovery->lock);
    ath_retry_lost(&recovery->retries[slot], ath_now_ms());
    wake_thread(recovery);
    pthread_mutex_unlock(&recovery->lock);
}

/* ---- lines that lose ---- */

/* Has all channels of a path made again, by TCP or by UDP. The caller has the lock. */
static void change_path(struct recovery *recovery, size_t path, bool is_udp)
{
    recovery->paths[path].is_udp = is_udp;
    for (size_t slot = 0; slot + 1 < recovery->connections; slot++)
        if (recovery->path_of[slot] == path)
            recovery->retries[slot] = (struct ath_retry){ .is_lost = true };
    wake_thread(recovery);
}

/* Changes back to TCP if the frames since the change were slower. The caller has the lock. */
static void compare(struct recovery *recovery, size_t path, uint64_t speed)
{
    struct change *change = &recovery->changes[path];
    char to[ATH_ENDPOINT_TEXT];
    if (!change->is_tried || !recovery->paths[path].is_udp || ++change->frames != FRAMES_LEAST)
        return;
    if (speed >= change->before)
        return;
    ath_log(ATH_LOG_VERBOSE,
            _("copies are slower with UDP to %s: %.1f MB/s after %.1f: back to TCP"),
            ath_data_path_text(&recovery->paths[path], to), (double)speed / 1e6,
            (double)change->before / 1e6);
    change_path(recovery, path, false);
}

static void note_moved(void *context, enum ath_channels_way way)
{
    struct recovery *recovery = context;
    const uint64_t speed = ath_channels_bytes_per_s(recovery->channels, way);
    pthread_mutex_lock(&recovery->lock);
    for (size_t path = 0; path < ATH_DATA_PATHS_MAX; path++)
        if (recovery->changes[path].way == way)
            compare(recovery, path, speed);
    pthread_mutex_unlock(&recovery->lock);
}

/* The caller has the lock. */
static void begin_change(struct recovery *recovery, size_t path, enum ath_channels_way way,
                         double part)
{
    char text[ATH_ENDPOINT_TEXT];
    ath_log(ATH_LOG_VERBOSE,
            way == ATH_CHANNELS_READ
                ? _("the line from %s loses %.1f %% of TCP's segments without a queue: its "
                    "channels change to UDP")
                : _("the line to %s loses %.1f %% of TCP's segments without a queue: its channels "
                    "change to UDP"),
            ath_data_path_text(&recovery->paths[path], text), part * 100);
    recovery->changes[path] = (struct change){
        .way = way, .is_done = true, .before = ath_channels_bytes_per_s(recovery->channels, way)
    };
    change_path(recovery, path, true);
}

static void note_loss(void *context, enum ath_channels_way way, size_t slot, double part)
{
    struct recovery *recovery = context;
    const size_t path = recovery->path_of[slot];
    pthread_mutex_lock(&recovery->lock);
    if (!recovery->changes[path].is_done)
        begin_change(recovery, path, way, part);
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
    recovery->may_change = stripes->may_change;
    for (size_t i = 0; i < ATH_STRIPES_MAX; i++)
        recovery->generations[i] = 1;
    pthread_mutex_init(&recovery->lock, NULL);
    ath_cond_init(&recovery->wake);
    ath_channels_watch(
        channels, &(struct ath_channels_watcher){ .lost = note_lost,
                                                  .loses = recovery->may_change ? note_loss : NULL,
                                                  .moved = recovery->may_change ? note_moved : NULL,
                                                  .end = end,
                                                  .context = recovery });
    return 0;
}
