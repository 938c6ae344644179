/* aitherion start: one runtime per NUMA entry, placed, wired, and waited for. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/commands/commands.h"
#include "cli/commands/image_docker.h"
#include "cli/nodes.h"
#include "cli/output/image.h"
#include "cli/output/start.h"
#include "cli/output/start_plan.h"
#include "cli/watch.h"
#include "config/key_file.h"

enum { TIMEOUT_S = 60, TIMEOUT_S_MAX = 86400, MEMORY_POLL_MS = 500 };

struct options {
    int engine; /* enum ath_engine_kind */
    bool is_sim, is_not_waiting;
    const char *timeout;
};

/* All of one start. */
struct work {
    struct ath_cli *cli;
    const struct options *options;
    int timeout_ms;
    struct ath_nodes nodes;
    struct ath_engine *engine;
    char *user;
    struct ath_plan_options plan_options;
    struct ath_plan plan;
    struct ath_start_results results;
    struct ath_start_bar bar;
    bool is_key_new, is_image_built;
};

static void work_free(struct work *work)
{
    ath_start_bar_free(&work->bar);
    ath_start_results_free(&work->results);
    ath_plan_free(&work->plan);
    free(work->user);
    ath_engine_close(work->engine);
    ath_nodes_free(&work->nodes);
}

static int parse_timeout(const char *text, int *out_ms, struct ath_err *err)
{
    int seconds = TIMEOUT_S;

    if (text && ath_parse_int(text, 1, TIMEOUT_S_MAX, &seconds)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no value for '--%s'"), text, "timeout");
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

static void set_plan_options(struct work *work, bool is_process)
{
    work->plan_options =
        ath_nodes_plan_options(&work->nodes, work->engine, is_process, &work->user);
    work->plan_options.is_sim = work->options->is_sim;
}

/* A dry run asks the engine that a start would take; of a capture, and where Docker does not
 * answer, it shows what a Docker of today would be told. */
static int plan_only(struct work *work, struct ath_err *err)
{
    bool is_live = work->nodes.machine->source == ATH_SOURCE_LIVE;
    bool is_process = work->options->engine == ATH_ENGINE_PROCESS ||
                      (work->options->engine == ATH_ENGINE_AUTO &&
                       work->nodes.document->engine.kind == ATH_ENGINE_PROCESS);

    if (is_live && ath_nodes_open_engine(&work->nodes, (enum ath_engine_kind)work->options->engine,
                                         &work->engine, err))
        ath_log(ath_nodes_log_level(&work->nodes), _("planned without asking: %s"), err->message);
    set_plan_options(work, is_process);
    int status = make_plan(work, err);
    return status ? status
                  : ath_cli_show(work->cli, &ath_start_plan_view, &work->plan,
                                 ath_cli_format(work->cli), err);
}

static int interrupted(struct ath_err *err)
{
    return ath_err_set(err, -EINTR, ATH_E_INTERRUPTED, _("interrupted"));
}

/* The memory of GPUs that is a NUMA node of its own comes online some time after the driver is
 * loaded; a container made before would never see it. */
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
    return status; /* nodes that wait still are refused one by one */
}

static bool locks_memory(const struct ath_plan *plan)
{
    bool is_any = false;
    for (size_t i = 0; i < plan->node_count; i++)
        is_any |= plan->nodes[i].has_memlock;
    return is_any && !plan->is_process;
}

/* Nodes that were started by a Docker that may not raise limits run as that plan has them. */
static int take_limits(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    struct ath_plan_options limited = work->plan_options;
    struct ath_err unused;

    if (!locks_memory(&work->plan) || ath_engine_survey(work->engine, &statuses, &unused))
        return 0; /* start says what is wrong with the engine */
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

/* ---- what a start needs ---- */

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
        if (status == -EEXIST) /* somebody else was first */
            status = 0;
    }
    if (!status)
        status = ath_secret_load(path, &secret, err);
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    if (!status && ath_nodes_is_key_open(&work->nodes))
        ath_log(ath_nodes_log_level(&work->nodes),
                _("others may read the shared key '%s', and so use the GPUs: chmod 600 %s"), path,
                path);
    return status;
}

static int build_image(struct work *work, struct ath_err *err)
{
    ath_auto_docker struct ath_docker *docker = NULL;
    ath_auto_image struct ath_image *image = NULL;
    struct ath_image_bar bar = { .bar = ath_cli_bar(work->cli) };
    const struct ath_image_watch watch = { .progress = ath_image_bar_show, .context = &bar };
    const struct ath_image_recipe recipe = { .tag = work->plan.image };

    if (!bar.bar.is_silent)
        ath_log(ATH_LOG_NORMAL, _("Docker has no image '%s' yet: making it"), work->plan.image);
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
    int status = ath_probe_node(&probe, node, err);
    if (status && err->code == ATH_E_KEY_REFUSED) /* it read the key when it began */
        return ath_err_hint(err, status, "aitherion stop %d && aitherion start %d", node->id,
                            node->id);
    return status;
}

static void show_step(void *context, const struct ath_plan_node *node, enum ath_engine_step step)
{
    struct work *work = context;
    ath_start_bar_show(&work->bar, node, step);
}

static int start_nodes(struct work *work, struct ath_err *err)
{
    const struct ath_start_options options = { .is_waiting = !work->options->is_not_waiting,
                                               .timeout_ms = work->timeout_ms,
                                               .takes_over = work->cli->globals.is_yes,
                                               .probe = ask,
                                               .progress = show_step,
                                               .context = work };

    ath_start_bar_begin(&work->bar, &work->plan);
    ath_start_results_free(&work->results);
    int status = ath_engine_start(work->engine, &work->plan, &options, &work->results, err);
    ath_bar_end(&work->bar.bar);
    return status;
}

/* The words of runc where Docker itself is in a container without CAP_SYS_RESOURCE. */
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

/* Of the plan's nodes, the first that runs in an engine; ATH_UNKNOWN. */
static int find_running(const struct work *work, struct ath_engine *engine)
{
    ATH_AUTO(ath_node_statuses) statuses = { 0 };
    struct ath_err unused;

    if (ath_engine_survey(engine, &statuses, &unused))
        return ATH_UNKNOWN; /* if it matters, start says what is wrong */
    for (size_t i = 0; i < statuses.count; i++)
        for (size_t j = 0; j < work->plan.node_count; j++)
            if (work->plan.nodes[j].id == statuses.items[i].id &&
                statuses.items[i].state > ATH_NODE_STOPPED)
                return statuses.items[i].id;
    return ATH_UNKNOWN;
}

/*
 * A node runs in one engine at a time. Where nobody asked for one, what runs stays where it is: a
 * boot at which Docker came late has processes, and a start after it must not try containers.
 */
static int settle_engine(struct work *work, struct ath_err *err)
{
    ath_auto_engine struct ath_engine *other = NULL;
    struct ath_engine_options options = ath_nodes_engine_options(&work->nodes);
    bool is_auto = work->options->engine == ATH_ENGINE_AUTO &&
                   work->nodes.document->engine.kind == ATH_ENGINE_AUTO;
    bool is_process = !ath_engine_is_process(work->engine);
    enum ath_engine_kind kind = is_process ? ATH_ENGINE_PROCESS : ATH_ENGINE_DOCKER;
    struct ath_err unused;

    if (ath_engine_open(kind, &options, &other, &unused))
        return 0;
    int id = find_running(work, other);
    if (id == ATH_UNKNOWN)
        return 0;
    if (is_auto && find_running(work, work->engine) == ATH_UNKNOWN) {
        ath_log(ath_nodes_log_level(&work->nodes),
                is_process ? _("staying with processes, as which NUMA%d runs already")
                           : _("staying with Docker, in which NUMA%d runs already"),
                id);
        return take_engine(work, kind, err);
    }
    ath_err_set(err, -EBUSY, ATH_E_BUSY,
                is_process ? _("NUMA%d runs already, as a process")
                           : _("NUMA%d runs already, in Docker"),
                id);
    return ath_err_hint(err, -EBUSY, "aitherion stop %d", id);
}

static int prepare(struct work *work, struct ath_err *err)
{
    int status = take_engine(work, (enum ath_engine_kind)work->options->engine, err);
    if (!status)
        status = settle_engine(work, err);
    if (!status)
        status = take_limits(work, err);
    if (!status)
        status = wait_for_memory(work, err);
    if (!status)
        status = need_key(work, err);
    return status ? status : need_image(work, err);
}

static int start(struct work *work, struct ath_err *err)
{
    ath_auto_free char *next = ath_cli_suggest(work->cli, "status");

    if (work->nodes.machine->source != ATH_SOURCE_LIVE) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    _("nothing can be started on a captured machine, only planned"));
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
                                             .plan = &work->plan,
                                             .results = &work->results,
                                             .next = next };
    if (!ath_start_has_failed(&work->results))
        return ath_cli_show_done(work->cli, &ath_start_view, &report, err);
    /* With -q, too: the failures are in it. */
    status = ath_cli_show(work->cli, &ath_start_view, &report, ath_cli_format(work->cli), err);
    return status ? status : ATH_EXIT_FAILED;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    __attribute__((cleanup(work_free))) struct work work = { .cli = cli, .options = data };

    int status = parse_timeout(work.options->timeout, &work.timeout_ms, err);
    if (!status)
        status = ath_nodes_open(cli, true, &work.nodes, err);
    if (!status)
        status = ath_nodes_read_machine(&work.nodes, err);
    if (status)
        return status;
    return cli->globals.is_dry_run ? plan_only(&work, err) : start(&work, err);
}

static const struct ath_option option_table[] = {
    { .name = "engine",
      .type = ATH_OPTION_CHOICE,
      .choices = ath_nodes_engines,
      .offset = offsetof(struct options, engine),
      .help = N_("what runs them (default: auto, as engine.kind of the document says; where that "
                 "is auto too, Docker where it answers, else processes)") },
    { .name = "sim",
      .offset = offsetof(struct options, is_sim),
      .help = N_("simulated GPUs, on a machine without any") },
    { .name = "no-wait",
      .offset = offsetof(struct options, is_not_waiting),
      .help = N_("return as soon as they run, without waiting until they answer") },
    { .name = "timeout",
      .type = ATH_OPTION_TEXT,
      .metavar = "S",
      .offset = offsetof(struct options, timeout),
      .help = N_("seconds to wait for the memory of GPUs, and then until all answer (default: "
                 "60)") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion start", N_("all entries of the document") },
    { "aitherion start 0 --engine docker", N_("one, in Docker or not at all") },
    { "aitherion start --sim", N_("without a GPU: simulated ones") },
    { "aitherion start --dry-run", N_("the plan, and the docker run lines that do the same") },
    { "aitherion start --dry-run --root ac922-4gpu -c etc/ac922_topology.yaml --json",
      N_("the very request bodies, for a captured machine") },
    { .command = NULL },
};

const struct ath_command ath_command_start = {
    .name = "start",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("start the runtime of each NUMA entry, near its GPUs and its network card"),
    .description = N_(
        "Starts one runtime per entry of the document, all at the same time: bound to the CPUs of "
        "its NUMA node and to the memory of that node and its GPUs, with its GPUs and RDMA "
        "devices, on its interfaces. A document that does not fit this machine is refused, with "
        "file, line and column. What runs already as the document has it stays as it is; what "
        "runs otherwise is started anew; a node that lost its macvlan gets it back. Where a node "
        "fails, what was made for it is taken back and the others go on. A node that another "
        "document started, or somebody with another run folder, is refused; --yes takes it "
        "over.\n\n"
        "The first start makes what is missing: the shared key (mode 0600), and the image "
        "aitherion-runtime from what is installed here. In Docker a node with a macvlan is two "
        "containers: a pause container that owns the network, and the runtime in it."),
    .arguments = ath_nodes_arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
