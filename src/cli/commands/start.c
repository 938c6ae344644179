/* aitherion start: starts one runtime for each NUMA entry, placed, connected, and waited for. Also
 * the work of aitherion restart. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/level.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/start_work.h"
#include "cli/identities.h"
#include "cli/output/start_plan.h"
#include "cli/watch.h"
#include "config/forms.h"

enum { TIMEOUT_S = 60, TIMEOUT_S_MAX = 86400, MEMORY_POLL_MS = 500 };

static void work_free(struct ath_start_work *work)
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

/* ---- a dry run ---- */

/* A dry run plans for the engine that a start would use. For a capture, or if Docker does not
 * answer, it plans for a current Docker. */
static int plan_only(struct ath_start_work *work, struct ath_err *err)
{
    bool is_live = work->nodes.machine->source == ATH_SOURCE_LIVE;
    bool is_process = work->options->engine == ATH_ENGINE_PROCESS ||
                      (work->options->engine == ATH_ENGINE_AUTO &&
                       work->nodes.document->engine.kind == ATH_ENGINE_PROCESS);

    if (is_live && ath_nodes_open_engine(&work->nodes, (enum ath_engine_kind)work->options->engine,
                                         &work->engine, err))
        ath_log(ath_nodes_log_level(&work->nodes), _("planned without asking the engine: %s"),
                err->message);
    ath_start_set_plan_options(work, is_process);
    int status = ath_start_make_plan(work, err);
    if (!status && work->engine)
        status = ath_start_settle(work, err);
    if (!status && work->engine)
        status = ath_start_foresee(work, err);
    if (status)
        return status;
    ath_auto_free char *identities = ath_identities_rows(work->nodes.document);
    const struct ath_start_plan_report report = { .plan = &work->plan,
                                                  .identities = identities,
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
static int wait_for_memory(struct ath_start_work *work, struct ath_err *err)
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
            status = ath_start_make_plan(work, err);
    }
    ath_bar_end(&work->bar.bar);
    return status; /* nodes that still wait are refused one by one */
}

/* ---- starting ---- */

static int ask(void *context, const struct ath_plan_node *node, struct ath_err *err)
{
    const struct ath_start_work *work = context;
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
    struct ath_start_work *work = context;
    ath_start_bar_show(&work->bar, node, step);
}

static int start_nodes(struct ath_start_work *work, struct ath_err *err)
{
    struct ath_start_options options = ath_start_engine_options(work);
    options.probe = ask;
    options.progress = show_step;
    options.may_end = ath_start_may_end;

    int status = ath_start_foresee(work, err);
    if (!status)
        status = ath_ending_confirm(work->cli, &work->ending, err);
    if (!status)
        status = ath_start_set_identities(work, false, err);
    if (status)
        return status;
    ath_start_bar_begin(&work->bar, &work->plan);
    ath_start_results_free(&work->results);
    status = ath_engine_start(work->engine, &work->plan, &options, &work->results, err);
    ath_bar_end(&work->bar.bar);
    if (!status)
        status = ath_start_set_shares(work, &work->results, false, err);
    if (!status)
        ath_start_note_identities(work, &work->results);
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

static int start_all(struct ath_start_work *work, struct ath_err *err)
{
    int status = start_nodes(work, err);
    if (status || work->plan.is_process || work->plan_options.engine.is_limited ||
        !is_limited(&work->results))
        return status;
    work->plan_options.engine.is_limited = true;
    status = ath_start_make_plan(work, err);
    return status ? status : start_nodes(work, err);
}

static int prepare(struct ath_start_work *work, struct ath_err *err)
{
    int status = ath_start_take_engine(work, (enum ath_engine_kind)work->options->engine, err);
    if (!status)
        status = ath_start_settle(work, err);
    if (!status)
        status = wait_for_memory(work, err);
    if (!status)
        status = ath_start_need_key(work, err);
    if (!status)
        status = ath_start_need_certificate(work, err);
    return status ? status : ath_start_need_image(work, err);
}

static int start(struct ath_start_work *work, struct ath_err *err)
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

/* Plans and comparisons read the document, so the options change the document in memory. */
static void take_log_level(struct ath_start_work *work)
{
    enum ath_level level;
    if (work->options->log_level &&
        !ath_level_read("--log-level", work->options->log_level, &level, NULL))
        work->nodes.own_document.log_level = (int)level;
}

/* The first entry gets the port, each further one the next port. */
static int take_metrics(struct ath_start_work *work, struct ath_err *err)
{
    const struct ath_document *document = &work->nodes.own_document;
    const char *wanted = work->options->metrics;
    char address[ATH_FORM_ADDRESS_BYTES];
    int port;

    if (wanted && (ath_form_listen(wanted, address, &port) ||
                   document->numa.count > (size_t)(ATH_FORM_PORT_MAX - port) + 1)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), wanted,
                    "metrics");
        return ath_err_hint(err, -EINVAL,
                            _("[ADDRESS:]PORT, such as 10.0.0.1:9460; each entry has a port of its "
                              "own, at most %d"),
                            ATH_FORM_PORT_MAX);
    }
    for (size_t i = 0; wanted && i < document->numa.count; i++) {
        const char *colon = strrchr(wanted, ':');
        int length = colon ? (int)(colon - wanted) + 1 : 0;
        struct ath_document_numa *entry = &document->numa.items[i];
        free(entry->metrics);
        entry->metrics = ath_xasprintf("%.*s%d", length, wanted, port + (int)i);
    }
    return 0;
}

int ath_start_run(struct ath_cli *cli, const struct ath_start_flags *options, bool is_restart,
                  struct ath_err *err)
{
    __attribute__((cleanup(work_free))) struct ath_start_work work = { .cli = cli,
                                                                       .options = options,
                                                                       .is_restart = is_restart };

    int status = parse_timeout(work.options->timeout, &work.timeout_ms, err);
    if (!status)
        status = ath_nodes_open(cli, true, &work.nodes, err);
    if (!status)
        status = ath_nodes_read_machine(&work.nodes, err);
    if (!status)
        status = take_metrics(&work, err);
    if (status)
        return status;
    take_log_level(&work);
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
    { .name = "log-level",
      .type = ATH_OPTION_TEXT,
      .choices = ath_level_names,
      .offset = offsetof(struct ath_start_flags, log_level),
      .help = N_("the lines of the runtimes' logs, in place of log_level of the document; a "
                 "runtime with another level is restarted (-q and -v are of this command)") },
    { .name = "metrics",
      .type = ATH_OPTION_TEXT,
      .metavar = "[ADDRESS:]PORT",
      .offset = offsetof(struct ath_start_flags, metrics),
      .help = N_("where Prometheus reads the metrics of the document's first entry, in place of "
                 "its metrics; each further entry has the next port; a runtime with another "
                 "address is restarted") },
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
        "are changed while it runs; one that lost its macvlan gets it back. A node that runs with "
        "--sim keeps its simulated GPUs. If a node fails, what was made for it is undone, and the "
        "others "
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
