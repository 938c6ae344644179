/* aitherion kubernetes agent: publishes what a node has, for the scheduler's extender. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/kubernetes.h"
#include "cli/output/json_yaml.h"
#include "cli/watch.h"
#include "kubernetes/agent.h"
#include "kubernetes/pod.h"
#include "kubernetes/report.h"
#include "remote/wire/endpoint.h"

enum {
    INTERVAL_S = 10,
    INTERVAL_S_MAX = 3600,
    POLL_MS = 200,
    RUNTIME_MS = 2000, /* for the runtime to take a connection */
};

struct options {
    const char *node, *runtime, *interval, *kubeconfig;
    bool is_once;
};

struct work {
    struct ath_cli *cli;
    const struct options *options;
    struct ath_endpoint runtime;
    int interval_s;
    char host[ATH_KUBE_NAME_MAX + 1]; /* the name of this machine */
    struct ath_kube_agent agent;
    json_t *status, *labels; /* of the last look */
};

static void work_free(struct work *work)
{
    ath_kube_agent_free(&work->agent);
    json_decref(work->status);
    json_decref(work->labels);
}

/* ---- reading the command line ---- */

/* A name of Kubernetes: small letters, digits, '-' and '.'. It becomes part of a path. */
static bool is_name(const char *text)
{
    return *text && *text != '.' && strlen(text) <= ATH_KUBE_NAME_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(text);
}

static int find_node(struct work *work, struct ath_err *err)
{
    const char *variable = getenv("NODE_NAME");
    const char *name = work->options->node ? work->options->node : variable;

    if (!name || !*name) {
        if (gethostname(work->host, sizeof work->host))
            return ath_err_system(err, -errno, "gethostname");
        name = work->host;
    }
    work->agent.node = name;
    if (is_name(name))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%.*s' is no name of a node"), ATH_KUBE_NAME_MAX,
                name);
    return ath_err_hint(err, -EINVAL, "kubectl get nodes");
}

static int read_options(struct work *work, struct ath_err *err)
{
    const struct options *options = work->options;

    work->interval_s = INTERVAL_S;
    if (options->interval &&
        ath_parse_int(options->interval, 1, INTERVAL_S_MAX, &work->interval_s)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no number for %s"), options->interval,
                    "--interval");
        return ath_err_hint(err, -EINVAL, _("give a number from 1 to %d"), INTERVAL_S_MAX);
    }
    int status = options->runtime ? ath_endpoint_parse(options->runtime, &work->runtime, err) : 0;
    if (!status && work->runtime.is_unix)
        status = ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                             _("pods of other nodes need the runtime's address in the network"));
    return status ? status : find_node(work, err);
}

/* ---- looking at the node ---- */

/* Returns why the runtime cannot be used, or NULL. The caller frees the text. */
static char *fault_of_runtime(const struct work *work)
{
    struct ath_err err;
    int fd;

    if (!work->options->runtime)
        return NULL;
    if (ath_endpoint_connect(&work->runtime, ath_now_ms() + RUNTIME_MS, &fd, &err))
        return ath_xasprintf("the runtime does not answer: %s", err.message);
    close(fd);
    return NULL;
}

static int look(struct work *work, struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    int result = ath_cli_machine(work->cli, &machine, err);
    if (result)
        return result;
    ath_auto_free char *fault = fault_of_runtime(work);
    const struct ath_kube_report_options options = { .runtime = work->options->runtime,
                                                     .fault = fault };
    json_decref(work->status);
    json_decref(work->labels);
    work->status = ath_kube_report_status(&machine, &options);
    work->labels = ath_kube_report_labels(work->status);
    return 0;
}

/* ---- publishing ---- */

static int show(struct work *work, struct ath_err *err)
{
    int result = look(work, err);
    if (result)
        return result;
    json_auto_t *object = ath_kube_agent_object(work->agent.node, work->status);
    if (ath_cli_format(work->cli) != ATH_FORMAT_JSON)
        return ath_json_write_yaml(object, stdout, err);
    ath_auto_free char *text = json_dumps(object, JSON_INDENT(2));
    return puts(text) < 0 ? ath_err_system(err, -errno, _("cannot write the output")) : 0;
}

static int publish_once(struct work *work, struct ath_err *err)
{
    unsigned int wait_ms;
    int result = look(work, err);
    return result ? result
                  : ath_kube_agent_step(&work->agent, work->status, work->labels, &wait_ms, err);
}

static void pause_for(uint64_t wait_ms)
{
    uint64_t end_ms = ath_now_ms() + wait_ms;
    while (!ath_stop_is_wanted(NULL) && ath_now_ms() < end_ms)
        (void)poll(NULL, 0, POLL_MS);
}

/* A machine that cannot be read, and an API server that fails, are tried again. */
static int publish(struct work *work)
{
    bool has_failed = true;

    ath_stop_catch();
    while (!ath_stop_is_wanted(NULL)) {
        struct ath_err err = { 0 };
        unsigned int wait_ms = 0;
        int result = look(work, &err);
        if (!result)
            result = ath_kube_agent_step(&work->agent, work->status, work->labels, &wait_ms, &err);
        if (result)
            ath_log(ATH_LOG_NORMAL, "%s", err.message);
        else if (has_failed)
            ath_log(ATH_LOG_VERBOSE, _("the ComputeNode '%s' is published"), work->agent.node);
        has_failed = result != 0;
        pause_for(wait_ms ? wait_ms : (uint64_t)work->interval_s * 1000);
    }
    return 0;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(work) work = { .cli = cli, .options = data };

    work.agent.clock = ath_now_ms;
    int status = read_options(&work, err);
    if (status)
        return status;
    if (cli->globals.is_dry_run)
        return show(&work, err);
    status = ath_cli_kubernetes(work.options->kubeconfig, &work.agent.api, err);
    if (status)
        return status;
    return work.options->is_once ? publish_once(&work, err) : publish(&work);
}

static const struct ath_option option_table[] = {
    { .name = "node",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .offset = offsetof(struct options, node),
      .help = N_("name of the Node; default: NODE_NAME, else the name of this host") },
    { .name = "runtime",
      .type = ATH_OPTION_TEXT,
      .metavar = "ADDRESS:PORT",
      .offset = offsetof(struct options, runtime),
      .help = N_("address of this node's aitherion-runtime, for pods. While it takes no "
                 "connections, no pod is placed on the node's GPUs") },
    { .name = "interval",
      .type = ATH_OPTION_TEXT,
      .metavar = "SECONDS",
      .offset = offsetof(struct options, interval),
      .help = N_("how often to look at the node; default: 10") },
    { .name = "once",
      .type = ATH_OPTION_FLAG,
      .offset = offsetof(struct options, is_once),
      .help = N_("publish once, and end") },
    ATH_KUBECONFIG_OPTION(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion kubernetes agent --dry-run", N_("show this node's ComputeNode") },
    { "aitherion kubernetes agent --runtime 10.0.0.1:50051", N_("in a pod on each node") },
    { .command = NULL },
};

const struct ath_command ath_command_kubernetes_agent = {
    .name = "agent",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("publish this node's GPUs in Kubernetes"),
    .description = N_(
        "Writes a ComputeNode with this node's GPUs (UUID, model, memory, NUMA node, health "
        "score), the links between them, its NUMA nodes and the address of its runtime, and "
        "labels the Node. It looks at the node every ten seconds, until it is stopped, and sends "
        "what has changed. The ComputeNode and the labels stay when it ends.\n\n"
        "The command needs no rights on the node except access to NVIDIA's driver, which names "
        "the GPUs. docs/cluster.md says which rights it needs in the cluster."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
