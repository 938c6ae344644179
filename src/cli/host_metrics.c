/* One thread for each runtime. A thread that comes too late for its page outlives the page. */
#include "config.h"

#include "cli/host_metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/thread.h"
#include "remote/session/figures.h"

enum { WAIT_S = 4 }; /* Prometheus waits for 10 seconds */

struct answer {
    struct ath_session_group group;
    struct ath_figures figures;
    bool has_figures; /* older runtimes have none */
    bool is_here;
};

/* The questions of one page. The page and each thread hold it; the last one frees it. */
struct asking {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t holders, pending;
    struct ath_reach reach;
    struct answer *answers; /* by the reach's servers */
};

struct question {
    struct asking *asking;
    size_t number; /* of the server */
};

static void free_answer(struct answer *answer)
{
    ath_session_group_free(&answer->group);
    ath_figures_free(&answer->figures);
}

/* Gives up one hold of the questions. */
static void leave(struct asking *asking)
{
    pthread_mutex_lock(&asking->lock);
    bool is_last = --asking->holders == 0;
    pthread_mutex_unlock(&asking->lock);
    if (!is_last)
        return;
    for (size_t i = 0; asking->answers && i < asking->reach.count; i++)
        free_answer(&asking->answers[i]);
    free(asking->answers);
    ath_reach_free(&asking->reach);
    pthread_cond_destroy(&asking->changed);
    pthread_mutex_destroy(&asking->lock);
    free(asking);
}

static void ask_server(const struct asking *asking, size_t number, struct answer *out)
{
    const struct ath_reach_server *server = &asking->reach.items[number];
    ATH_AUTO(ath_session) session = { .fd = -1 };
    struct ath_session_group *group = &out->group;
    struct ath_err ignored;

    *out = (struct answer){ .group = { .id = server->id, .server = server->server } };
    group->status = ath_reach_session(&asking->reach, server, &session, &group->err);
    if (!group->status)
        group->status = ath_session_health(&session, &group->health, &group->err);
    if (!group->status)
        group->status = ath_session_list(&session, &group->sessions, &group->err);
    if (!group->status)
        out->has_figures = !ath_session_figures(&session, &out->figures, &ignored);
}

static void *run_question(void *argument)
{
    ath_auto_free struct question *question = argument;
    struct asking *asking = question->asking;
    struct answer answer;
    ask_server(asking, question->number, &answer);
    answer.is_here = true;
    pthread_mutex_lock(&asking->lock);
    asking->answers[question->number] = answer;
    asking->pending--;
    pthread_cond_signal(&asking->changed);
    pthread_mutex_unlock(&asking->lock);
    leave(asking);
    return NULL;
}

/* Without a thread the answer stays missing. */
static void begin_question(struct asking *asking, size_t number)
{
    pthread_attr_t detached;
    pthread_t thread;
    struct question *question = ath_xalloc(sizeof *question);
    *question = (struct question){ asking, number };
    pthread_mutex_lock(&asking->lock);
    asking->holders++;
    asking->pending++;
    pthread_mutex_unlock(&asking->lock);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int status = pthread_create(&thread, &detached, run_question, question);
    pthread_attr_destroy(&detached);
    if (!status)
        return;
    free(question);
    pthread_mutex_lock(&asking->lock);
    asking->holders--;
    asking->pending--;
    pthread_mutex_unlock(&asking->lock);
}

static struct asking *begin(struct ath_cli *cli, const struct ath_reach_options *options,
                            struct ath_err *err)
{
    struct asking *asking = ath_xalloc(sizeof *asking);
    *asking = (struct asking){ .holders = 1 };
    pthread_mutex_init(&asking->lock, NULL);
    ath_cond_init(&asking->changed);
    if (ath_reach_open(cli, options, ATH_REACH_ALL, &asking->reach, err)) {
        leave(asking);
        return NULL;
    }
    asking->answers = ath_xalloc(asking->reach.count * sizeof *asking->answers);
    for (size_t i = 0; i < asking->reach.count; i++)
        begin_question(asking, i);
    return asking;
}

/* Waits with the lock held until all have answered, or the time is over. */
static void await(struct asking *asking)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += WAIT_S;
    while (asking->pending &&
           pthread_cond_timedwait(&asking->changed, &asking->lock, &end) != ETIMEDOUT)
        ;
}

/* ---- the page ---- */

static int64_t faults_of(const struct ath_runtime_health *health)
{
    int64_t count = 0;
    for (size_t i = 0; i < health->problem_count; i++)
        count += health->problems[i].is_fault;
    return count;
}

static struct ath_watch_device *devices_of(const struct ath_runtime_health *health)
{
    struct ath_watch_device *devices = ath_xalloc(health->device_count * sizeof *devices);
    for (size_t i = 0; i < health->device_count; i++)
        devices[i] = (struct ath_watch_device){ health->devices[i].uuid, health->devices[i].pci };
    return devices;
}

static void describe(const struct asking *asking, size_t number, struct ath_watch_server *out)
{
    const struct ath_reach_server *server = &asking->reach.items[number];
    const struct answer *answer = &asking->answers[number];
    const struct ath_runtime_health *health = &answer->group.health;
    *out = (struct ath_watch_server){ .server = server->server,
                                      .node = server->id == ATH_UNSET
                                                  ? NULL
                                                  : ath_xasprintf("%d", server->id),
                                      .uptime_ms = ATH_UNKNOWN,
                                      .device_count = ATH_UNKNOWN,
                                      .faults = ATH_UNKNOWN,
                                      .programs = ATH_UNKNOWN };
    if (!answer->is_here || answer->group.status)
        return;
    if (!out->node && health->node)
        out->node = ath_xstrdup(health->node);
    out->up = 1;
    out->uptime_ms = (int64_t)health->uptime_ms;
    out->device_count = (int64_t)health->device_count;
    out->faults = faults_of(health);
    out->programs = (int64_t)answer->group.sessions.count;
    out->devices = devices_of(health);
    out->sessions = &answer->group.sessions;
    out->figures = answer->has_figures ? &answer->figures : NULL;
}

static void write_page(const struct asking *asking, struct ath_page_host *host,
                       enum ath_metrics_format format, struct ath_text *out)
{
    size_t count = asking->reach.count;
    ath_auto_free struct ath_watch_server *servers = ath_xalloc(count * sizeof *servers);
    for (size_t i = 0; i < count; i++)
        describe(asking, i, &servers[i]);
    ath_page_host_read(host);
    ath_metrics_write(servers, count, &host->facts, format, out);
    for (size_t i = 0; i < count; i++) {
        free((void *)servers[i].devices);
        free((void *)servers[i].node);
    }
}

static void warn_of_silent(const struct asking *asking)
{
    if (!asking->reach.count)
        ath_log(ATH_LOG_NORMAL, "%s", _("no runtime runs here"));
    for (size_t i = 0; i < asking->reach.count; i++) {
        const struct answer *answer = &asking->answers[i];
        if (!answer->is_here)
            ath_log(ATH_LOG_NORMAL, _("'%s' has not answered within %d seconds"),
                    asking->reach.items[i].server, WAIT_S);
        else if (answer->group.status)
            ath_log(ATH_LOG_NORMAL, "%s", answer->group.err.message);
    }
}

int ath_host_metrics_write(struct ath_cli *cli, const struct ath_reach_options *options,
                           struct ath_page_host *host, bool warns, enum ath_metrics_format format,
                           struct ath_text *out, struct ath_err *err)
{
    struct asking *asking = begin(cli, options, err);
    if (!asking)
        return -EIO;
    pthread_mutex_lock(&asking->lock);
    await(asking);
    write_page(asking, host, format, out);
    if (warns)
        warn_of_silent(asking);
    pthread_mutex_unlock(&asking->lock);
    leave(asking);
    return 0;
}
