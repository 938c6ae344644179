/* Shared by both engines: opening, the lock, lists of nodes. */
#include "config.h"

#include "container/engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unknown.h"
#include "container/engine/kinds.h"
#include "container/engine/process_state.h"
#include "container/engine/run_folder.h"

/* A slice ends before ath_file_lock() logs that it waits (after one second). */
enum { LOCK_TIMEOUT_MS = 10 * 1000, LOCK_SLICE_MS = 800 };

/* ---- opening ---- */

char *ath_engine_run_folder(void)
{
    const char *given = getenv("AITHERION_RUN_FOLDER"), *runtime = getenv("XDG_RUNTIME_DIR");

    if (given && *given == '/')
        return ath_xstrdup(given);
    if (geteuid() == 0)
        return ath_xstrdup(ATH_PLAN_RUN_FOLDER);
    if (runtime && *runtime == '/')
        return ath_xasprintf("%s/aitherion", runtime);
    ath_auto_free char *session = ath_xasprintf("/run/user/%d", (int)geteuid());
    return access(session, F_OK) ? ath_xasprintf("/tmp/aitherion-%d", (int)geteuid())
                                 : ath_xasprintf("%s/aitherion", session);
}

/* Returns whether a process was started in the folder. A start that failed leaves logs alone. */
static bool has_process(const char *folder)
{
    ath_auto_free int *ids = NULL;
    size_t count = 0;
    bool is_ours, is_any = false;

    ath_run_folder_ids(folder, &ids, &count, &is_ours);
    for (size_t i = 0; i < count && !is_any; i++) {
        ath_auto_free char *state = ath_run_folder_state(folder, ids[i]);
        is_any = ath_process_state_exists(state);
    }
    return is_any;
}

char *ath_engine_seen_folder(bool needs_process)
{
    ath_auto_free char *own = ath_engine_run_folder();
    bool is_told = getenv("AITHERION_RUN_FOLDER") != NULL;
    bool has_own = !access(own, F_OK) && (!needs_process || has_process(own));
    return is_told || has_own || access(ATH_PLAN_RUN_FOLDER, F_OK)
               ? ath_steal(&own)
               : ath_xstrdup(ATH_PLAN_RUN_FOLDER);
}

static int open_one(const struct ath_engine_ops *ops, const struct ath_engine_options *options,
                    struct ath_engine **out, struct ath_err *err)
{
    ath_auto_engine struct ath_engine *engine = ath_xalloc(sizeof *engine);
    engine->ops = ops;
    engine->options = *options;
    engine->folder =
        options->run_folder ? ath_xstrdup(options->run_folder) : ath_engine_run_folder();
    int status = ops->open(engine, err);
    if (!status)
        *out = ath_steal(&engine);
    return status;
}

int ath_engine_open(enum ath_engine_kind kind, const struct ath_engine_options *options,
                    struct ath_engine **out, struct ath_err *err)
{
    if (kind == ATH_ENGINE_AUTO && !open_one(&ath_engine_docker, options, out, NULL))
        return 0;
    return open_one(kind == ATH_ENGINE_DOCKER ? &ath_engine_docker : &ath_engine_process, options,
                    out, err);
}

void ath_engine_close(struct ath_engine *engine)
{
    if (!engine)
        return;
    engine->ops->close(engine);
    free(engine->folder);
    free(engine->where);
    free(engine);
}

void ath_engines_open(enum ath_engine_kind kind, const struct ath_engine_options *options,
                      struct ath_engines *out)
{
    *out = (struct ath_engines){ 0 };
    if (kind != ATH_ENGINE_PROCESS) {
        out->docker_status =
            open_one(&ath_engine_docker, options, &out->items[out->count], &out->docker_err);
        out->count += !out->docker_status;
    }
    if (kind != ATH_ENGINE_DOCKER &&
        !open_one(&ath_engine_process, options, &out->items[out->count], NULL))
        out->count++;
}

void ath_engines_free(struct ath_engines *engines)
{
    if (!engines)
        return;
    for (size_t i = 0; i < engines->count; i++)
        ath_engine_close(engines->items[i]);
    *engines = (struct ath_engines){ 0 };
}

const char *ath_engine_name(const struct ath_engine *engine)
{
    return engine->ops->name;
}

bool ath_engine_is_process(const struct ath_engine *engine)
{
    return engine->ops->is_process;
}

const char *ath_engine_where(const struct ath_engine *engine)
{
    return engine->where;
}

struct ath_plan_engine ath_engine_abilities(const struct ath_engine *engine)
{
    return engine->abilities;
}

const char *ath_engine_folder(const struct ath_engine *engine)
{
    return engine->folder;
}

bool ath_engine_is_stopped(const struct ath_engine *engine)
{
    return engine->options.is_stopped && engine->options.is_stopped(engine->options.context);
}

int ath_engine_check_image(struct ath_engine *engine, const char *image, struct ath_err *err)
{
    return engine->ops->check_image(engine, image, err);
}

int ath_engine_check_folder(const struct ath_engine *engine, struct ath_err *err)
{
    ath_auto_free char *states = ath_run_folder_states(engine->folder);
    int status = ath_run_folder_check(engine->folder, err);
    return status ? status : ath_run_folder_check(states, err);
}

/* Logs a message of its own, because the lock's name means nothing to a user. */
static int wait_for_lock(const struct ath_engine *engine, const char *path, int *out_fd,
                         struct ath_err *err)
{
    uint64_t end = ath_now_ms() + LOCK_TIMEOUT_MS;
    bool has_said = false;

    for (;;) {
        int status = ath_file_lock(path, LOCK_SLICE_MS, out_fd, err);
        if (status != -EAGAIN || ath_now_ms() >= end || ath_engine_is_stopped(engine))
            return status;
        if (!has_said)
            ath_log(ATH_LOG_NORMAL,
                    _("waiting for another aitherion that starts, stops or cleans in '%s'"),
                    engine->folder);
        has_said = true;
    }
}

int ath_engine_lock(const struct ath_engine *engine, int *out_fd, struct ath_err *err)
{
    ath_auto_free char *path = ath_xasprintf("%s/" ATH_RUN_LOCK, engine->folder);
    bool was_there = !access(engine->folder, F_OK);
    int status = ath_engine_check_folder(engine, err);
    if (status)
        return status;
    status = wait_for_lock(engine, path, out_fd, err);
    /* Independent of the umask: other users' programs must reach the runtimes' sockets. */
    if (!status && !was_there && chmod(engine->folder, 0755))
        status = ath_err_system(err, -errno, _("cannot make the folder '%s'"), engine->folder);
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    if (status == -EAGAIN) {
        ath_err_set(err, status, ATH_E_LOCKED,
                    _("another aitherion starts, stops or cleans right now"));
        return ath_err_hint(err, status,
                            _("wait until it ends (fuser '%s/.engine.lock' shows its process)"),
                            engine->folder);
    }
    return status ? status : ath_engine_check_folder(engine, err);
}

bool ath_engine_is_busy(const struct ath_engine *engine)
{
    ath_auto_free char *path = ath_xasprintf("%s/" ATH_RUN_LOCK_FILE, engine->folder);
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

/* ---- survey ---- */

struct ath_engine *ath_engines_find(const struct ath_engines *engines, const char *name)
{
    for (size_t i = 0; i < engines->count; i++)
        if (!strcmp(ath_engine_name(engines->items[i]), name))
            return engines->items[i];
    return NULL;
}

bool ath_engine_wants(const int *ids, size_t id_count, int id)
{
    for (size_t i = 0; i < id_count; i++)
        if (ids[i] == id)
            return true;
    return !id_count;
}

static void status_free(struct ath_node_status *status)
{
    char *const texts[] = { status->name,           status->container_id, status->pause_name,
                            status->pause_id,       status->image,        status->image_id,
                            status->started_at,     status->base,         status->pause_plan,
                            status->document,       status->socket,       status->network_mode,
                            status->memory_percent, status->cpus,         status->memory_nodes,
                            status->limits,         status->problem,      status->hint,
                            status->log_file };
    for (size_t i = 0; i < ATH_COUNT(texts); i++)
        free(texts[i]);
    for (size_t i = 0; i < status->macvlan_count; i++) {
        free(status->macvlans[i].name);
        free(status->macvlans[i].address);
    }
    free(status->macvlans);
    ath_texts_free(&status->ports);
    ath_texts_free(&status->listening);
    ath_texts_free(&status->log);
}

void ath_node_statuses_free(struct ath_node_statuses *statuses)
{
    if (!statuses)
        return;
    for (size_t i = 0; i < statuses->count; i++)
        status_free(&statuses->items[i]);
    free(statuses->items);
    *statuses = (struct ath_node_statuses){ 0 };
}

struct ath_node_status *ath_node_status_add(struct ath_node_statuses *statuses, int id,
                                            const char *engine)
{
    struct ath_node_status *status =
        ath_push(&statuses->items, &statuses->count, sizeof *statuses->items);
    *status = (struct ath_node_status){
        .id = id,
        .engine = engine,
        .name = ath_xasprintf("aitherion-numa%d", id),
        .pid = ATH_UNKNOWN,
        .control_port = ATH_UNKNOWN,
        .pause_pid = ATH_UNKNOWN,
        .supervisor_pid = ATH_UNKNOWN,
        .sessions = ATH_UNKNOWN,
        .restarts = ATH_UNKNOWN,
        .memlock_bytes = ATH_UNKNOWN,
        .memory_limit_bytes = ATH_UNKNOWN,
        .exit_code = ATH_UNKNOWN,
        .is_oom_killed = ATH_UNKNOWN,
    };
    return status;
}

const struct ath_node_status *ath_node_statuses_find(const struct ath_node_statuses *statuses,
                                                     int id)
{
    const struct ath_node_status *found = NULL;
    for (size_t i = 0; i < statuses->count; i++) {
        const struct ath_node_status *one = &statuses->items[i];
        if (one->id == id && (!found || found->state <= ATH_NODE_STOPPED))
            found = one;
    }
    return found;
}

static int by_id(const void *a, const void *b)
{
    const struct ath_node_status *one = a, *other = b;
    int ids = (one->id > other->id) - (one->id < other->id);
    return ids ? ids : strcmp(one->engine, other->engine);
}

int ath_engine_survey(struct ath_engine *engine, struct ath_node_statuses *out, struct ath_err *err)
{
    /* Docker's answers do not depend on the run folder. */
    int status = engine->ops->is_process ? ath_engine_check_folder(engine, err) : 0;
    if (!status)
        status = engine->ops->survey(engine, out, err);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_id);
    return status;
}

int ath_engines_survey(const struct ath_engines *engines, struct ath_node_statuses *out,
                       struct ath_err *err)
{
    int status = 0;
    for (size_t i = 0; i < engines->count && !status; i++)
        status = ath_engine_survey(engines->items[i], out, err);
    return status;
}

/* ---- logs ---- */

void ath_node_logs_free(struct ath_node_logs *logs)
{
    if (!logs)
        return;
    for (size_t i = 0; i < logs->count; i++) {
        free(logs->items[i].name);
        free(logs->items[i].place);
    }
    free(logs->items);
    *logs = (struct ath_node_logs){ 0 };
}

int ath_engine_logs(struct ath_engine *engine, struct ath_node_logs *out, struct ath_err *err)
{
    int status = engine->ops->is_process ? ath_engine_check_folder(engine, err) : 0;
    return status ? status : engine->ops->find_logs(engine, out, err);
}

static bool runs(struct ath_engine *engine, int id)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    if (ath_engine_survey(engine, &statuses, NULL))
        return false;
    const struct ath_node_status *status = ath_node_statuses_find(&statuses, id);
    return status && status->state > ATH_NODE_STOPPED;
}

int ath_engine_next_log(struct ath_engine *engine, const struct ath_node_log *old,
                        struct ath_node_log *out)
{
    ATH_AUTO(ath_node_logs) logs = { 0 };

    do /* a runtime that ends again and again is not asked for without a pause */
        nanosleep(&(struct timespec){ .tv_nsec = ATH_ENGINE_POLL_MS * 1000000L }, NULL);
    while (ath_engine_is_busy(engine) && !ath_engine_is_stopped(engine));
    if (ath_engine_is_stopped(engine) || ath_engine_logs(engine, &logs, NULL))
        return -ENOENT;
    for (size_t i = 0; i < logs.count; i++) {
        struct ath_node_log *log = &logs.items[i];
        if (log->id != old->id || (!strcmp(log->place, old->place) && !runs(engine, old->id)))
            continue;
        *out = *log;
        log->name = log->place = NULL;
        return 0;
    }
    return -ENOENT;
}

int ath_engine_read_log(struct ath_engine *engine, const struct ath_node_log *log,
                        const struct ath_log_wanted *wanted, ath_log_output *output, void *context,
                        struct ath_err *err)
{
    return engine->ops->read_log(engine, log, wanted, output, context, err);
}

/* ---- drift ---- */

char *ath_node_drift(const struct ath_node_status *status, const struct ath_plan *plan,
                     const struct ath_plan_node *node, bool *out_needs_restart)
{
    const char *image = plan->image ? plan->image : ""; /* NULL for processes */
    ath_auto_free char *wanted = ath_docker_base(node, image);
    ath_auto_free char *pause = ath_docker_fingerprint(node, image, ATH_DOCKER_PAUSE);
    const char *macvlans = ath_plan_label(node, ATH_PLAN_LABEL_MACVLANS);
    struct ath_text names = { 0 };

    *out_needs_restart = status->state != ATH_NODE_ABSENT;
    if (status->state == ATH_NODE_ABSENT)
        return NULL;
    if (status->base && strcmp(status->base, wanted))
        return ath_xstrdup(_("its settings have changed since it was started"));
    if (!pause != !status->pause_id ||
        (pause && status->pause_plan && strcmp(pause, status->pause_plan)))
        return ath_xstrdup(_("its network settings have changed since it was started"));
    for (size_t i = 0; i < status->macvlan_count; i++)
        ath_text_add_part(&names, ",", "%s", status->macvlans[i].name);
    ath_auto_free char *present = ath_text_take(&names);
    if (strcmp(present, macvlans ? macvlans : ""))
        return ath_xstrdup(_("its macvlans have changed since it was started"));
    if (status->is_image_old)
        return ath_xasprintf(_("the image '%s' was built again since it was started"), plan->image);
    *out_needs_restart = false;
    if (ath_node_percent_differs(node, status->memory_percent, status->memory_limit_bytes))
        return ath_xstrdup(_("its memory limit has changed since it was started"));
    return NULL;
}

/* ---- start and stop ---- */

static void start_result_free(struct ath_start_result *result)
{
    free(result->reason);
    free(result->limits);
    ath_texts_free(&result->log);
}

void ath_start_results_free(struct ath_start_results *results)
{
    if (!results)
        return;
    for (size_t i = 0; i < results->count; i++)
        start_result_free(&results->items[i]);
    free(results->items);
    *results = (struct ath_start_results){ 0 };
}

int ath_engine_start(struct ath_engine *engine, const struct ath_plan *plan,
                     const struct ath_start_options *options, struct ath_start_results *out,
                     struct ath_err *err)
{
    ath_auto_close int locked = -1;
    struct ath_start_options all = *options;

    *out = (struct ath_start_results){ 0 };
    if (!all.timeout_ms)
        all.timeout_ms = ATH_ENGINE_TIMEOUT_MS;
    for (size_t i = 0; i < plan->node_count; i++) {
        struct ath_start_result *result = ath_push(&out->items, &out->count, sizeof *out->items);
        result->id = plan->nodes[i].id;
        result->status = ath_err_set(&result->err, -EINTR, ATH_E_INTERRUPTED, _("interrupted"));
    }
    if (all.is_dry_run)
        return engine->ops->start(engine, plan, &all, out, err);
    int status = ath_engine_lock(engine, &locked, err);
    if (status)
        return status;
    ath_auto_free char *mark = ath_xasprintf("%s/" ATH_RUN_MARK, engine->folder);
    ath_auto_close int marked =
        open(mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    status = engine->ops->start(engine, plan, &all, out, err);
    if (marked >= 0)
        unlink(mark);
    return status;
}

void ath_stop_results_free(struct ath_stop_results *results)
{
    if (!results)
        return;
    free(results->items);
    *results = (struct ath_stop_results){ 0 };
}

int ath_engine_stop(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                    struct ath_stop_results *out, struct ath_err *err)
{
    ath_auto_close int locked = -1;
    *out = (struct ath_stop_results){ 0 };
    /* Without the folder no start can be running, and a stop need not make it. */
    bool has_folder = !access(engine->folder, F_OK);
    int status = has_folder ? ath_engine_lock(engine, &locked, err) : 0;
    return status ? status : engine->ops->stop(engine, ids, id_count, grace_s, out, err);
}
