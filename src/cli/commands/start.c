/* aitherion start: starts one runtime for each NUMA entry, placed, connected, and waited for. Also
 * the work of aitherion restart. */
#include "config.h"

#include "cli/commands/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/commands/commands.h"
#include "cli/commands/image_docker.h"
#include "cli/ending.h"
#include "cli/identities.h"
#include "cli/nodes.h"
#include "cli/output/image.h"
#include "cli/output/start.h"
#include "cli/output/start_plan.h"
#include "cli/share.h"
#include "cli/watch.h"
#include "config/key_file.h"
#include "remote/tls/tls.h"

enum { TIMEOUT_S = 60, TIMEOUT_S_MAX = 86400, MEMORY_POLL_MS = 500 };

/* The state of one start. */
struct work {
    struct ath_cli *cli;
    const struct ath_start_flags *options;
    bool is_restart;
    int timeout_ms;
    struct ath_nodes nodes;
    struct ath_engine *engine;
    char *user;
    struct ath_plan_options plan_options;
    int *sim_ids; /* nodes that run with --sim, and keep it */
    size_t sim_id_count;
    struct ath_plan plan;
    int *fixed_ids; /* nodes that need a restart for another share of GPU memory */
    size_t fixed_id_count;
    int *row_ids; /* nodes that got other rows of identities */
    size_t row_id_count;
    struct ath_start_results foreseen; /* what the start will do */
    struct ath_ending ending;          /* the programs that it ends */
    struct ath_start_results results;
    struct ath_start_bar bar;
    bool is_key_new, is_image_built;
};

static void work_free(struct work *work)
{
    ath_start_bar_free(&work->bar);
    ath_start_results_free(&work->results);
    ath_ending_free(&work->ending);
    ath_start_results_free(&work->foreseen);
    ath_plan_free(&work->plan);
    free(work->fixed_ids);
    free(work->row_ids);
    free(work->sim_ids);
    free(work->user);
    ath_engine_close(work->engine);
    ath_nodes_free(&work->nodes);
}

static int parse_timeout(const char *text, int *out_ms, struct ath_err *err)
{
    int seconds = TIMEOUT_S;

    if (text && ath_parse_int(text, 1, TIMEOUT_S_MAX, &seconds)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), text,
                    "timeout");
        return ath_err_hint(err, -EINVAL, _("a whole number from %d to %d"), 1, TIMEOUT_S_MAX);
    }
    *out_ms = seconds * 1000;
    return 0;
}

/* ---- the plan ---- */

static int make_plan(struct work *work, struct ath_err *err)
{
    struct ath_plan plan = { 0 };
    int status = ath_nodes_plan(&work->nodes, &work->plan_options, &plan, err);
    if (status)
        return status;
    ath_plan_free(&work->plan);
    work->plan = plan;
    return 0;
}

/* A start without --sim does not change a runtime that runs with --sim. */
static void find_sims(struct work *work)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };

    work->sim_id_count = 0;
    if (!work->engine || work->options->is_sim ||
        ath_engine_survey(work->engine, &statuses, NULL)) /* the start reports the error */
        return;
    for (size_t i = 0; i < statuses.count; i++)
        if (statuses.items[i].has_sim_flag && statuses.items[i].state > ATH_NODE_STOPPED)
            *(int *)ath_push(&work->sim_ids, &work->sim_id_count, sizeof *work->sim_ids) =
                statuses.items[i].id;
}

static void set_plan_options(struct work *work, bool is_process)
{
    find_sims(work);
    free(ath_steal(&work->user));
    work->plan_options =
        ath_nodes_plan_options(&work->nodes, work->engine, is_process, &work->user);
    work->plan_options.is_sim = work->options->is_sim;
    work->plan_options.sim_ids = work->sim_ids;
    work->plan_options.sim_id_count = work->sim_id_count;
}

/* Says which nodes keep their simulated GPUs. */
static void say_sims(const struct work *work)
{
    ATH_AUTO(ath_text) names = { 0 };

    for (size_t i = 0; i < work->sim_id_count; i++)
        if (ath_engine_wants(work->nodes.ids, work->nodes.id_count, work->sim_ids[i]))
            ath_text_add_part(&names, ", ", "NUMA%d", work->sim_ids[i]);
    if (!names.length)
        return;
    ath_auto_free char *text = ath_xasprintf(
        _("%s: simulated GPUs stay, because --sim started the runtime; for the GPUs of the "
          "document: aitherion stop, then aitherion start"),
        names.data);
    ath_auto_free char *whole = ath_style_suggest(&work->cli->style, text);
    ath_log(ath_nodes_log_level(&work->nodes), "%s", whole);
}

/* ---- the engine ---- */

static int take_engine(struct work *work, enum ath_engine_kind kind, struct ath_err *err)
{
    ath_engine_close(ath_steal(&work->engine));
    int status = ath_nodes_open_engine(&work->nodes, kind, &work->engine, err);
    if (status)
        return status;
    set_plan_options(work, false);
    return make_plan(work, err);
}

/* Returns the first of the plan's nodes that runs in an engine, or ATH_UNKNOWN. */
static int find_running(const struct work *work, struct ath_engine *engine)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };

    if (ath_engine_survey(engine, &statuses, NULL))
        return ATH_UNKNOWN; /* the start reports the error if it matters */
    for (size_t i = 0; i < statuses.count; i++)
        for (size_t j = 0; j < work->plan.node_count; j++)
            if (work->plan.nodes[j].id == statuses.items[i].id &&
                statuses.items[i].state > ATH_NODE_STOPPED)
                return statuses.items[i].id;
    return ATH_UNKNOWN;
}

/*
 * A node runs in one engine at a time. If the user did not choose an engine, running nodes stay
 * where they are: after a boot at which Docker came late they run as processes, and a later start
 * must not try containers.
 */
static int settle_engine(struct work *work, struct ath_err *err)
{
    ath_auto_engine struct ath_engine *other = NULL;
    struct ath_engine_options options = ath_nodes_engine_options(&work->nodes);
    bool is_auto = work->options->engine == ATH_ENGINE_AUTO &&
                   work->nodes.document->engine.kind == ATH_ENGINE_AUTO;
    bool is_process = !ath_engine_is_process(work->engine);
    enum ath_engine_kind kind = is_process ? ATH_ENGINE_PROCESS : ATH_ENGINE_DOCKER;

    if (ath_engine_open(kind, &options, &other, NULL))
        return 0;
    int id = find_running(work, other);
    if (id == ATH_UNKNOWN)
        return 0;
    if (is_auto && find_running(work, work->engine) == ATH_UNKNOWN) {
        ath_log(ath_nodes_log_level(&work->nodes),
                is_process ? _("staying with processes: NUMA%d already runs as a process")
                           : _("staying with Docker: NUMA%d already runs in Docker"),
                id);
        return take_engine(work, kind, err);
    }
    ath_err_set(err, -EBUSY, ATH_E_BUSY,
                is_process ? _("NUMA%d already runs as a process")
                           : _("NUMA%d already runs in Docker"),
                id);
    return ath_err_hint(err, -EBUSY, "aitherion stop %d", id);
}

static bool locks_memory(const struct ath_plan *plan)
{
    bool is_any = false;
    for (size_t i = 0; i < plan->node_count; i++)
        is_any |= plan->nodes[i].has_memlock;
    return is_any && !plan->is_process;
}

/* Nodes that run in a Docker that may not raise limits are compared with a plan without them. */
static int take_limits(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    struct ath_plan_options limited = work->plan_options;

    if (!locks_memory(&work->plan) || ath_engine_survey(work->engine, &statuses, NULL))
        return 0; /* the start reports the engine's error */
    limited.engine.is_limited = true;
    for (size_t i = 0; i < work->plan.node_count; i++) {
        const struct ath_plan_node *node = &work->plan.nodes[i];
        const struct ath_node_status *status = ath_node_statuses_find(&statuses, node->id);
        if (!node->has_memlock || !status || status->state == ATH_NODE_ABSENT ||
            !ath_nodes_is_as(&work->nodes, status, &limited))
            continue;
        work->plan_options = limited;
        return make_plan(work, err);
    }
    return 0;
}

/* Chooses the engine and the limits by what runs. */
static int settle(struct work *work, struct ath_err *err)
{
    int status = settle_engine(work, err);
    if (!status)
        status = take_limits(work, err);
    if (!status)
        say_sims(work);
    return status;
}

/* ---- what a start ends ---- */

static bool must_restart(void *context, const struct ath_plan_node *node, const char **out_reason)
{
    const struct work *work = context;
    if (work->is_restart)
        return true;
    if (!work->fixed_id_count || !ath_engine_wants(work->fixed_ids, work->fixed_id_count, node->id))
        return false;
    *out_reason = _("its share of GPU memory cannot be changed while it runs");
    return true;
}

static struct ath_start_options start_options(struct work *work)
{
    return (struct ath_start_options){ .must_restart = must_restart,
                                       .is_waiting = !work->options->is_not_waiting,
                                       .timeout_ms = work->timeout_ms,
                                       .takes_over = work->cli->globals.is_yes,
                                       .context = work };
}

/* Gives the runtimes the document's share of GPU memory, and notes it in the results of those that
 * go on. A dry run notes those that need a restart for that. */
static int set_shares(struct work *work, struct ath_start_results *results, bool is_dry_run,
                      struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    int status = ath_engine_survey(work->engine, &statuses, err);

    for (size_t i = 0; i < results->count && !status; i++) {
        struct ath_start_result *one = &results->items[i];
        const struct ath_node_status *found = ath_node_statuses_find(&statuses, one->id);
        bool goes_on = one->outcome == ATH_START_SAME || one->outcome == ATH_START_CHANGED;
        if (!found || one->status || (is_dry_run && !goes_on))
            continue;
        int share = ath_share_set(&work->nodes, found, work->plan.nodes[i].vram_fraction,
                                  is_dry_run, &one->err);
        if (share == ATH_SHARE_CHANGED && goes_on)
            ath_start_changed(one, _("share of GPU memory"));
        if (share == ATH_SHARE_FIXED && is_dry_run)
            *(int *)ath_push(&work->fixed_ids, &work->fixed_id_count, sizeof(int)) = one->id;
        if (share >= 0)
            continue;
        one->outcome = ATH_START_FAILED;
        one->status = ath_err_hint(&one->err, share, "aitherion restart %d", one->id);
    }
    return status;
}

/* Gives the runtimes the document's rows of identities. Runtimes that go on take them at once. A
 * dry run only compares the rows. */
static int set_identities(struct work *work, bool is_dry_run, struct ath_err *err)
{
    int status = 0;
    work->row_id_count = 0;
    for (size_t i = 0; i < work->plan.node_count && !status; i++) {
        bool has_changed;
        status = ath_identities_write(work->nodes.document, work->plan.nodes[i].folder, is_dry_run,
                                      &has_changed, err);
        if (!status && has_changed)
            *(int *)ath_push(&work->row_ids, &work->row_id_count, sizeof(int)) =
                work->plan.nodes[i].id;
    }
    return status;
}

static void note_identities(const struct work *work, struct ath_start_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        struct ath_start_result *one = &results->items[i];
        bool goes_on = one->outcome == ATH_START_SAME || one->outcome == ATH_START_CHANGED;
        if (goes_on && !one->status && work->row_id_count &&
            ath_engine_wants(work->row_ids, work->row_id_count, one->id))
            ath_start_changed(one, _("identities"));
    }
}

static int foresee_nodes(struct work *work, struct ath_err *err)
{
    struct ath_start_options options = start_options(work);
    size_t fixed = work->fixed_id_count;

    options.is_dry_run = true;
    ath_start_results_free(&work->foreseen);
    int status = ath_engine_start(work->engine, &work->plan, &options, &work->foreseen, err);
    if (!status)
        status = set_shares(work, &work->foreseen, true, err);
    if (!status && work->fixed_id_count == fixed)
        status = set_identities(work, true, err);
    if (!status && work->fixed_id_count == fixed)
        note_identities(work, &work->foreseen);
    return status || work->fixed_id_count == fixed ? status : foresee_nodes(work, err);
}

/* Finds what the start will do with each node, and the programs that it would end. */
static int foresee(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };

    ath_ending_free(&work->ending);
    int status = foresee_nodes(work, err);
    if (!status)
        status = ath_engine_survey(work->engine, &statuses, err);
    if (status)
        return status;
    for (size_t i = 0; i < work->foreseen.count; i++) {
        const struct ath_start_result *one = &work->foreseen.items[i];
        const struct ath_node_status *found = ath_node_statuses_find(&statuses, one->id);
        if (one->ends_runtime && found)
            ath_ending_add(&work->ending, found);
    }
    ath_ending_ask(&work->ending, &work->nodes);
    return 0;
}

/* The user has agreed to the end of the runtimes that were foreseen, and to no other. */
static bool may_end(void *context, const struct ath_plan_node *node)
{
    const struct work *work = context;
    for (size_t i = 0; i < work->foreseen.count; i++)
        if (work->foreseen.items[i].id == node->id)
            return work->foreseen.items[i].ends_runtime;
    return false;
}

/* ---- a dry run ---- */

/* A dry run plans for the engine that a start would use. For a capture, or if Docker does not
 * answer, it plans for a current Docker. */
static int plan_only(struct work *work, struct ath_err *err)
{
    bool is_live = work->nodes.machine->source == ATH_SOURCE_LIVE;
    bool is_process = work->options->engine == ATH_ENGINE_PROCESS ||
                      (work->options->engine == ATH_ENGINE_AUTO &&
                       work->nodes.document->engine.kind == ATH_ENGINE_PROCESS);

    if (is_live && ath_nodes_open_engine(&work->nodes, (enum ath_engine_kind)work->options->engine,
                                         &work->engine, err))
        ath_log(ath_nodes_log_level(&work->nodes), _("planned without asking the engine: %s"),
                err->message);
    set_plan_options(work, is_process);
    int status = make_plan(work, err);
    if (!status && work->engine)
        status = settle(work, err);
    if (!status && work->engine)
        status = foresee(work, err);
    if (status)
        return status;
    const struct ath_start_plan_report report = { .plan = &work->plan,
                                                  .foreseen = &work->foreseen,
                                                  .ends = &work->ending.report };
    return ath_cli_show(work->cli, &ath_start_plan_view, &report, ath_cli_format(work->cli), err);
}

static int interrupted(struct ath_err *err)
{
    return ath_err_set(err, -EINTR, ATH_E_INTERRUPTED, _("interrupted"));
}

/* GPU memory that is a NUMA node comes online some time after the driver is loaded. A container
 * made before that would never see it. */
static int wait_for_memory(struct work *work, struct ath_err *err)
{
    const struct ath_bar_step step = { .phase = _("GPU memory"), .fraction = -1 };
    uint64_t end = ath_now_ms() + (uint64_t)work->timeout_ms;
    int status = 0;

    while (!status && ath_nodes_wait(&work->plan) && ath_now_ms() < end) {
        ath_bar_show(&work->bar.bar, &step, _("waiting for the memory of GPUs to come online"));
        nanosleep(&(struct timespec){ .tv_nsec = MEMORY_POLL_MS * 1000000L }, NULL);
        if (ath_stop_is_wanted(NULL))
            status = interrupted(err);
        if (!status)
            status = ath_nodes_read_machine(&work->nodes, err);
        if (!status)
            status = make_plan(work, err);
    }
    ath_bar_end(&work->bar.bar);
    return status; /* nodes that still wait are refused one by one */
}

/* ---- what a start needs ---- */

static int check_key(struct work *work, const struct ath_secret *secret, struct ath_err *err)
{
    const char *path = work->nodes.key_path;
    int status = ath_secret_check_file(path, secret, err);
    if (!status && ath_nodes_is_key_open(&work->nodes))
        ath_log(ath_nodes_log_level(&work->nodes),
                _("other users may read the shared key '%s', and so use the GPUs: chmod 600 %s"),
                path, path);
    return status;
}

static int need_key(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    unsigned char key[ATH_KEY_BYTES];
    const char *path = work->nodes.key_path;
    int status = 0;

    if (!work->nodes.has_key) {
        status = ath_key_make(key, err);
        if (!status)
            status = ath_key_file_write(path, key, sizeof key, false, err);
        explicit_bzero(key, sizeof key);
        work->is_key_new = !status;
        if (status == -EEXIST) /* another process made the key first */
            status = 0;
    }
    if (!status)
        status = ath_secret_load(path, &secret, err);
    if (!status)
        return check_key(work, &secret, err);
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    return status;
}

/* Root in a container has no right to read the files of other users. */
static int check_reader(const struct work *work, const char *path, struct ath_err *err)
{
    const char *user = work->plan.node_count ? work->plan.nodes[0].user : NULL;
    char *rest = NULL;
    struct stat file;
    if (work->plan.is_process || (!user && geteuid()) || stat(path, &file))
        return 0; /* the first one reads it here, the second may be another user's root */
    unsigned long uid = user ? strtoul(user, &rest, 10) : 0;
    unsigned long gid = user && *rest == ':' ? strtoul(rest + 1, NULL, 10) : 0;
    if (file.st_uid == uid || file.st_mode & S_IROTH ||
        (file.st_gid == gid && file.st_mode & S_IRGRP))
        return 0;
    ath_err_set(err, -EACCES, ATH_E_NO_ACCESS,
                _("the containers run as user %lu and could not read '%s'"), uid, path);
    return ath_err_hint(err, -EACCES, "chown %lu %s", uid, path);
}

/* Without GnuTLS here a container, which has its own, finds out for itself. */
static int need_certificate(const struct work *work, struct ath_err *err)
{
    const struct ath_document *document = work->nodes.document;
    const struct ath_tls_certificate files = { document->tls_certificate, document->tls_key };
    int status = files.file ? ath_tls_certificate_check(&files, 0, err) : 0;
    if (status && err->code != ATH_E_LIBRARY)
        return status;
    status = files.file ? check_reader(work, files.file, err) : 0;
    return status || !files.file ? status : check_reader(work, files.key_file, err);
}

static int build_image(struct work *work, struct ath_err *err)
{
    ath_auto_docker struct ath_docker *docker = NULL;
    ath_auto_image struct ath_image *image = NULL;
    struct ath_image_bar bar = { .bar = ath_cli_bar(work->cli) };
    const struct ath_image_watch watch = { .progress = ath_image_bar_show, .context = &bar };
    const struct ath_image_recipe recipe = { .tag = work->plan.image };

    if (!bar.bar.is_silent)
        ath_log(ATH_LOG_NORMAL, _("Docker does not have the image '%s' yet: building it"),
                work->plan.image);
    int status = ath_image_make(&recipe, &image, err);
    if (!status)
        status = ath_image_docker(work->nodes.document, &docker, err);
    if (!status)
        status = ath_image_load(docker, image, &watch, err);
    ath_bar_end(&bar.bar);
    work->is_image_built = !status;
    return status;
}

static int need_image(struct work *work, struct ath_err *err)
{
    if (work->plan.is_process)
        return 0;
    int status = ath_engine_check_image(work->engine, work->plan.image, err);
    if (status && err->code == ATH_E_IMAGE_MISSING && ath_engine_is_own_image(work->plan.image))
        return build_image(work, err);
    return status;
}

/* ---- starting ---- */

static int ask(void *context, const struct ath_plan_node *node, struct ath_err *err)
{
    const struct work *work = context;
    struct ath_probe probe = { .key_path = work->nodes.key_path, .timeout_ms = ATH_PROBE_TRY_MS };
    bool unused;
    /* before its first client: the folder of a new runtime was not there yet */
    (void)ath_identities_write(work->nodes.document, node->folder, false, &unused, NULL);
    int status = ath_probe_node(&probe, node, err);
    if (status && err->code == ATH_E_KEY_REFUSED) /* it read an older key when it started */
        return ath_err_hint(err, status, "aitherion restart %d", node->id);
    return status;
}

static void show_step(void *context, const struct ath_plan_node *node, enum ath_engine_step step)
{
    struct work *work = context;
    ath_start_bar_show(&work->bar, node, step);
}

static int start_nodes(struct work *work, struct ath_err *err)
{
    struct ath_start_options options = start_options(work);
    options.probe = ask;
    options.progress = show_step;
    options.may_end = may_end;

    int status = foresee(work, err);
    if (!status)
        status = ath_ending_confirm(work->cli, &work->ending, err);
    if (!status)
        status = set_identities(work, false, err);
    if (status)
        return status;
    ath_start_bar_begin(&work->bar, &work->plan);
    ath_start_results_free(&work->results);
    status = ath_engine_start(work->engine, &work->plan, &options, &work->results, err);
    ath_bar_end(&work->bar.bar);
    if (!status)
        status = set_shares(work, &work->results, false, err);
    if (!status)
        note_identities(work, &work->results);
    return status;
}

/* runc's error if Docker itself runs in a container without CAP_SYS_RESOURCE. */
static bool is_limited(const struct ath_start_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->items[i].outcome == ATH_START_FAILED &&
            strstr(results->items[i].err.message, "error setting rlimit type 8"))
            return true;
    return false;
}

static int start_all(struct work *work, struct ath_err *err)
{
    int status = start_nodes(work, err);
    if (status || work->plan.is_process || work->plan_options.engine.is_limited ||
        !is_limited(&work->results))
        return status;
    work->plan_options.engine.is_limited = true;
    status = make_plan(work, err);
    return status ? status : start_nodes(work, err);
}

static int prepare(struct work *work, struct ath_err *err)
{
    int status = take_engine(work, (enum ath_engine_kind)work->options->engine, err);
    if (!status)
        status = settle(work, err);
    if (!status)
        status = wait_for_memory(work, err);
    if (!status)
        status = need_key(work, err);
    if (!status)
        status = need_certificate(work, err);
    return status ? status : need_image(work, err);
}

static int start(struct work *work, struct ath_err *err)
{
    ath_auto_free char *next = ath_cli_suggest(work->cli, "status");

    if (work->nodes.machine->source != ATH_SOURCE_LIVE) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("a captured machine can only be planned, not started"));
        return ath_err_hint(err, -EINVAL, _("add --dry-run"));
    }
    ath_stop_catch();
    work->bar.bar = ath_cli_bar(work->cli);
    int status = prepare(work, err);
    if (!status)
        status = start_all(work, err);
    if (status)
        return status;
    const struct ath_start_report report = { .engine = ath_engine_name(work->engine),
                                             .where = ath_engine_where(work->engine),
                                             .document = work->nodes.path,
                                             .key_path = work->nodes.key_path,
                                             .is_key_new = work->is_key_new,
                                             .is_image_built = work->is_image_built,
                                             .ends = &work->ending.report,
                                             .plan = &work->plan,
                                             .results = &work->results,
                                             .next = next };
    if (!ath_start_has_failed(&work->results))
        return ath_cli_show_done(work->cli, &ath_start_view, &report, err);
    /* print failures even with -q */
    status = ath_cli_show(work->cli, &ath_start_view, &report, ath_cli_format(work->cli), err);
    return status ? status : ATH_EXIT_FAILED;
}

int ath_start_run(struct ath_cli *cli, const struct ath_start_flags *options, bool is_restart,
                  struct ath_err *err)
{
    __attribute__((cleanup(work_free))) struct work work = { .cli = cli,
                                                             .options = options,
                                                             .is_restart = is_restart };

    int status = parse_timeout(work.options->timeout, &work.timeout_ms, err);
    if (!status)
        status = ath_nodes_open(cli, true, &work.nodes, err);
    if (!status)
        status = ath_nodes_read_machine(&work.nodes, err);
    if (status)
        return status;
    return cli->globals.is_dry_run ? plan_only(&work, err) : start(&work, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    return ath_start_run(cli, data, false, err);
}

const struct ath_option ath_start_flag_table[] = {
    { .name = "engine",
      .type = ATH_OPTION_CHOICE,
      .choices = ath_nodes_engines,
      .offset = offsetof(struct ath_start_flags, engine),
      .help = N_("the engine that runs them (default: auto, which is engine.kind of the document; "
                 "if that is auto too, Docker if it answers, else processes)") },
    { .name = "sim",
      .offset = offsetof(struct ath_start_flags, is_sim),
      .help = N_("use simulated GPUs, for a machine without GPUs; they run only the kernels of "
                 "aitherion's own examples and tests, by name") },
    { .name = "no-wait",
      .offset = offsetof(struct ath_start_flags, is_not_waiting),
      .help = N_("return as soon as the runtimes run, without waiting until they answer") },
    { .name = "timeout",
      .type = ATH_OPTION_TEXT,
      .metavar = "S",
      .offset = offsetof(struct ath_start_flags, timeout),
      .help = N_("seconds to wait for the memory of GPUs, and again until all runtimes answer "
                 "(default: 60)") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion start", N_("all entries of the document") },
    { "aitherion start 0 --engine docker", N_("one entry, in Docker or not at all") },
    { "aitherion start --sim", N_("with simulated GPUs") },
    { "aitherion start --dry-run", N_("the plan, and the `docker run` lines that do the same") },
    { "aitherion start --dry-run --root ac922-4gpu -c etc/ac922_topology.yaml --json",
      N_("the request bodies for a captured machine") },
    { .command = NULL },
};

const struct ath_command ath_command_start = {
    .name = "start",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("start the runtime of each NUMA entry, near its GPUs and its network card"),
    .description = N_(
        "Starts one runtime for each entry of the document, all at the same time. A runtime is "
        "bound to the CPUs of its NUMA node and to the memory of that node and its GPUs, and gets "
        "its GPUs, RDMA devices and interfaces. A document that does not fit this machine is "
        "refused with file, line and column.\n\n"
        "A node that already runs as the document says is left alone; one that runs differently "
        "is restarted, except that the memory limit, the share of GPU memory and the identities "
        "are "
        "changed while it runs; one that lost its macvlan gets it back. A node that runs with "
        "--sim keeps "
        "its simulated GPUs. If a node fails, what was made for it is undone, and the others "
        "continue. A node that another document started, or a user with another run folder, is "
        "refused; --yes takes it over.\n\n"
        "If a restart would end running programs, the command shows them and asks; without a "
        "terminal it needs --yes. A dry run shows them too.\n\n"
        "The first start makes what is missing: the shared key (mode 0600), and the image "
        "aitherion-runtime from the installed files. In Docker, a node with a macvlan has two "
        "containers: a pause container that owns the network, and the runtime in its network.\n\n"
        "A simulated GPU (--sim) runs no code of a program. It has a built-in function for each "
        "kernel of aitherion's own examples and tests, finds the function by the kernel's name, "
        "and ignores the kernel's code. So a changed kernel gives the old result, and a kernel "
        "with another name fails with CUDA_ERROR_NOT_FOUND; standard error of the program and the "
        "runtime's log name the kernel."),
    .arguments = ath_nodes_arguments,
    .options = ath_start_flag_table,
    .options_size = sizeof(struct ath_start_flags),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
