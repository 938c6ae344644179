/* Asking servers in threads. */
#include "config.h"

#include "cli/top/watcher.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/thread.h"

enum {
    LEAVE_MS = 300,      /* threads that only sleep end within this time */
    KEPT_MS = 20 * 1000, /* a session is kept open between samples that are closer */
};

enum order_state { ORDER_NONE, ORDER_GIVEN, ORDER_DONE };

/* A server, or this host. */
struct source {
    struct shared *shared;
    size_t index;               /* of the server; the host is behind the last one */
    struct ath_session session; /* its thread's own; fd -1: none is open */
    /* The lock guards the rest. */
    struct ath_top_answer answer; /* of the server */
    struct ath_host_counts host;  /* of the host */
    bool has_result;
    enum order_state order_state;
    struct ath_top_command order;
};

/* Belongs to the watcher and to all threads; the last of them frees it. */
struct shared {
    struct ath_reach reach; /* not changed after the start */
    struct ath_root root;
    struct source *sources;
    size_t source_count; /* the servers, then the host */
    int event;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The lock guards the rest. */
    size_t users;
    int interval_ms;
    unsigned int pace; /* counts changes of the interval */
    bool is_over;
};

struct ath_watcher {
    struct shared *shared;
};

/* ---- sharing ---- */

static void free_shared(struct shared *shared)
{
    for (size_t i = 0; i < shared->source_count; i++) {
        ath_top_answer_free(&shared->sources[i].answer);
        ath_host_counts_free(&shared->sources[i].host);
        ath_session_free(&shared->sources[i].session);
    }
    free(shared->sources);
    close(shared->event);
    ath_root_free(&shared->root);
    ath_reach_free(&shared->reach);
    pthread_cond_destroy(&shared->changed);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
}

/* Called with the lock, which it releases. */
static void leave(struct shared *shared)
{
    bool is_last = --shared->users == 0;
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
    if (is_last)
        free_shared(shared);
}

static void wake(const struct shared *shared)
{
    uint64_t one = 1;
    if (write(shared->event, &one, sizeof one) < 0)
        return; /* the counter is full, so the descriptor is readable */
}

/* ---- asking ---- */

static void close_session(struct source *source)
{
    ath_session_free(&source->session);
    source->session = (struct ath_session){ .fd = -1 };
}

static int open_session(struct source *source, struct ath_err *err)
{
    const struct ath_reach *reach = &source->shared->reach;
    if (source->session.fd >= 0)
        return 0;
    return ath_reach_session(reach, &reach->items[source->index], &source->session, err);
}

/* A server that is too old for figures still has the rest. */
static int ask_figures(struct source *source, struct ath_top_answer *out)
{
    int status = ath_session_figures(&source->session, &out->figures, &out->group.err);
    out->has_figures = !status;
    return status == -ENOTSUP ? 0 : status;
}

static int ask_all(struct source *source, struct ath_top_answer *out)
{
    struct ath_session_group *group = &out->group;
    int status = open_session(source, &group->err);
    if (!status)
        status = ath_session_health(&source->session, &group->health, &group->err);
    if (!status)
        status = ath_session_list(&source->session, &group->sessions, &group->err);
    if (!status)
        status = ask_figures(source, out);
    return status;
}

/* The server closes sessions that were silent for long (a stopped screen, a long interval), so an
 * open session may fail once. One that hangs is not asked twice. */
static void ask_server(struct source *source, struct ath_top_answer *out)
{
    const struct ath_reach_server *server = &source->shared->reach.items[source->index];

    for (bool was_open = true; was_open;) {
        was_open = source->session.fd >= 0;
        ath_top_answer_free(out);
        out->group.id = server->id;
        out->group.server = server->server;
        out->group.status = ask_all(source, out);
        if (!out->group.status)
            break;
        close_session(source);
        was_open = was_open && out->group.status != -ETIMEDOUT;
    }
    out->at_ms = ath_now_ms();
}

/* Notes the priority that the session has now, which its key may bound. */
static void note_priority(struct source *source, struct ath_top_command *order)
{
    ATH_AUTO(ath_runtime_sessions) sessions = { 0 };
    struct ath_err ignored;

    if (ath_session_list(&source->session, &sessions, &ignored))
        return;
    for (size_t i = 0; i < sessions.count; i++)
        if (sessions.items[i].id == order->id && sessions.items[i].turn.claim.priority)
            order->claim.priority = sessions.items[i].turn.claim.priority;
}

static int obey(struct source *source, struct ath_top_command *order, struct ath_err *err)
{
    int status = open_session(source, err);
    if (status)
        return status;
    status = order->kind == ATH_TOP_END_SESSION ? ath_session_end(&source->session, order->id, err)
             : order->is_claim
                 ? ath_session_change_claim(&source->session, order->id, &order->claim, err)
                 : ath_session_limit(&source->session, order->id, (uint32_t)order->device,
                                     order->limit_bytes, err);
    if (status && status != -ENOENT)
        close_session(source);
    if (!status && order->is_claim && order->claim.priority)
        note_priority(source, order);
    return status;
}

static void do_order(struct source *source)
{
    struct shared *shared = source->shared;

    pthread_mutex_lock(&shared->lock);
    bool is_given = source->order_state == ORDER_GIVEN;
    struct ath_top_command order = source->order;
    pthread_mutex_unlock(&shared->lock);
    if (!is_given)
        return;
    order.status = obey(source, &order, &order.err);
    pthread_mutex_lock(&shared->lock);
    source->order = order;
    source->order_state = ORDER_DONE;
    pthread_mutex_unlock(&shared->lock);
    wake(shared);
}

static void sample_server(struct source *source)
{
    struct ath_top_answer answer = { 0 };

    do_order(source);
    ask_server(source, &answer);
    pthread_mutex_lock(&source->shared->lock);
    ath_top_answer_free(&source->answer);
    source->answer = answer;
    source->has_result = true;
    pthread_mutex_unlock(&source->shared->lock);
}

static void sample_host(struct source *source, struct ath_host_counts *host)
{
    struct ath_host_counts copy;

    ath_host_counts_read(&source->shared->root, host);
    ath_host_counts_copy(host, &copy);
    pthread_mutex_lock(&source->shared->lock);
    ath_host_counts_free(&source->host);
    source->host = copy;
    source->has_result = true;
    pthread_mutex_unlock(&source->shared->lock);
}

/* ---- the threads ---- */

/* A server ends a session that is silent for half a minute, and counts it as broken. */
static void close_before_long_pause(struct source *source)
{
    pthread_mutex_lock(&source->shared->lock);
    bool is_long = source->shared->interval_ms >= KEPT_MS;
    pthread_mutex_unlock(&source->shared->lock);
    if (is_long)
        close_session(source);
}

/* Sleeps until the next sample, an order, another interval or the end. Returns false at the end,
 * with the lock. */
static bool may_go_on(struct source *source, uint64_t begin_ms)
{
    struct shared *shared = source->shared;

    pthread_mutex_lock(&shared->lock);
    unsigned int pace = shared->pace;
    while (!shared->is_over && source->order_state != ORDER_GIVEN && pace == shared->pace) {
        const struct timespec until = ath_moment(begin_ms + (uint64_t)shared->interval_ms);
        if (pthread_cond_timedwait(&shared->changed, &shared->lock, &until) == ETIMEDOUT)
            break;
    }
    if (shared->is_over)
        return false;
    pthread_mutex_unlock(&shared->lock);
    return true;
}

static void *watch_server(void *argument)
{
    struct source *source = argument;
    uint64_t begin_ms;

    do {
        begin_ms = ath_now_ms();
        sample_server(source);
        close_before_long_pause(source);
        wake(source->shared);
    } while (may_go_on(source, begin_ms));
    leave(source->shared);
    return NULL;
}

static void *watch_host(void *argument)
{
    struct source *source = argument;
    struct ath_host_counts host = { 0 };
    uint64_t begin_ms;

    ath_host_counts_find(&source->shared->root, &host);
    do {
        begin_ms = ath_now_ms();
        sample_host(source, &host);
        wake(source->shared);
    } while (may_go_on(source, begin_ms));
    leave(source->shared);
    ath_host_counts_free(&host);
    return NULL;
}

/* Without a thread the server counts as lost. */
static void report_no_thread(struct source *source, int status)
{
    source->answer.group.status = status;
    source->answer.at_ms = ath_now_ms();
    ath_err_system(&source->answer.group.err, status, _("cannot start a thread"));
    source->has_result = true;
    source->shared->users--;
}

static void start_thread(struct source *source, void *(*work)(void *))
{
    source->shared->users++;
    int status = ath_thread_start(NULL, work, source);
    if (status)
        report_no_thread(source, status);
}

static void start_threads(struct shared *shared)
{
    pthread_mutex_lock(&shared->lock);
    for (size_t i = 0; i < shared->source_count; i++)
        start_thread(&shared->sources[i], i + 1 < shared->source_count ? watch_server : watch_host);
    pthread_mutex_unlock(&shared->lock);
}

/* ---- the main thread ---- */

struct ath_watcher *ath_watcher_start(struct ath_reach *reach, int interval_ms)
{
    struct ath_watcher *watcher = ath_xalloc(sizeof *watcher);
    struct shared *shared = watcher->shared = ath_xalloc(sizeof *shared);
    struct ath_err err = { 0 };

    shared->reach = *reach;
    *reach = (struct ath_reach){ 0 };
    if (ath_root_open("/", &shared->root, &err))
        shared->root.fd = -1;
    shared->source_count = shared->reach.count + 1;
    shared->sources = ath_xalloc(shared->source_count * sizeof *shared->sources);
    for (size_t i = 0; i < shared->source_count; i++)
        shared->sources[i] =
            (struct source){ .shared = shared, .index = i, .session = { .fd = -1 } };
    shared->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    shared->interval_ms = interval_ms;
    shared->users = 1;
    pthread_mutex_init(&shared->lock, NULL);
    ath_cond_init(&shared->changed);
    start_threads(shared);
    return watcher;
}

void ath_watcher_end(struct ath_watcher *watcher)
{
    if (!watcher)
        return;
    struct shared *shared = watcher->shared;
    const struct timespec until = ath_moment(ath_now_ms() + LEAVE_MS);

    pthread_mutex_lock(&shared->lock);
    shared->is_over = true;
    pthread_cond_broadcast(&shared->changed);
    while (shared->users > 1 &&
           pthread_cond_timedwait(&shared->changed, &shared->lock, &until) != ETIMEDOUT)
        ;
    leave(shared);
    free(watcher);
}

void ath_watcher_describe(const struct ath_watcher *watcher, struct ath_top *top)
{
    const struct ath_reach *reach = &watcher->shared->reach;
    for (size_t i = 0; i < reach->count; i++)
        ath_top_add_server(top, reach->items[i].id, reach->items[i].server);
}

int ath_watcher_fd(const struct ath_watcher *watcher)
{
    return watcher->shared->event;
}

static void take_result(struct ath_top *top, struct source *source)
{
    if (source->index < top->server_count)
        ath_top_take(top, source->index, &source->answer);
    else
        ath_top_take_host(top, &source->host);
    source->has_result = false;
}

bool ath_watcher_take(struct ath_watcher *watcher, struct ath_top *top)
{
    struct shared *shared = watcher->shared;
    uint64_t count;
    bool is_any = false;

    if (read(shared->event, &count, sizeof count) < 0 && errno != EAGAIN)
        return false;
    pthread_mutex_lock(&shared->lock);
    for (size_t i = 0; i < shared->source_count; i++)
        if (shared->sources[i].has_result) {
            take_result(top, &shared->sources[i]);
            is_any = true;
        }
    pthread_mutex_unlock(&shared->lock);
    return is_any;
}

void ath_watcher_pace(struct ath_watcher *watcher, int interval_ms)
{
    struct shared *shared = watcher->shared;

    pthread_mutex_lock(&shared->lock);
    shared->interval_ms = interval_ms;
    shared->pace++;
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
}

bool ath_watcher_order(struct ath_watcher *watcher, const struct ath_top_command *command)
{
    struct shared *shared = watcher->shared;
    struct source *source = &shared->sources[command->server];

    pthread_mutex_lock(&shared->lock);
    bool is_free = source->order_state == ORDER_NONE;
    if (is_free) {
        source->order = *command;
        source->order_state = ORDER_GIVEN;
        pthread_cond_broadcast(&shared->changed);
    }
    pthread_mutex_unlock(&shared->lock);
    return is_free;
}

bool ath_watcher_done(struct ath_watcher *watcher, struct ath_top_command *out)
{
    struct shared *shared = watcher->shared;
    bool is_any = false;

    pthread_mutex_lock(&shared->lock);
    for (size_t i = 0; i < shared->source_count && !is_any; i++)
        if (shared->sources[i].order_state == ORDER_DONE) {
            *out = shared->sources[i].order;
            shared->sources[i].order_state = ORDER_NONE;
            is_any = true;
        }
    pthread_mutex_unlock(&shared->lock);
    return is_any;
}

const struct ath_reach_server *ath_watcher_server(const struct ath_watcher *watcher, size_t index)
{
    return &watcher->shared->reach.items[index];
}
