/* aitherion kubernetes scheduler: the extender of kube-scheduler. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/kubernetes.h"
#include "kubernetes/scheduler.h"
#include "remote/wire/endpoint.h"

static const char usual_address[] = "127.0.0.1:9480";
static const char usual_lease[] = "kube-system/aitherion-scheduler";

struct options {
    const char *listen, *web, *kubeconfig, *lease;
};

/* Reads NAMESPACE/NAME. The texts live as long as the process. */
static int read_lease(const char *text, struct ath_kube_lease *out, struct ath_err *err)
{
    char *space = ath_xstrdup(text), *slash = strchr(space, '/');

    if (slash)
        *slash = '\0';
    if (!slash || !ath_kube_is_name(space) || !ath_kube_is_name(slash + 1)) {
        free(space);
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not NAMESPACE/NAME"), text);
    }
    *out = (struct ath_kube_lease){ .space = space, .name = slash + 1 };
    return 0;
}

static int start(const struct options *options, struct ath_metrics_web *web,
                 struct ath_kube_lease *lease, int *out_listener, struct ath_err *err)
{
    /* A program that reaches /bind binds pods with the rights of this process. */
    const struct ath_cli_kubernetes_service service = {
        .address = options->listen ? options->listen : usual_address,
        .web = options->web,
        .caller = N_("kube-scheduler"),
        .needs_authority = true,
        .danger = N_("at '%s' every host of the network could bind pods"),
        .hint = N_("give --web FILE with cert_file, key_file and client_ca_file, or listen at "
                   "127.0.0.1"),
    };
    const struct ath_kube_api *api = NULL;
    char text[ATH_ENDPOINT_TEXT];

    int status = read_lease(options->lease ? options->lease : usual_lease, lease, err);
    if (!status)
        status = ath_cli_kubernetes_listen(&service, web, out_listener, err);
    if (!status)
        status = ath_cli_kubernetes(options->kubeconfig, &api, err);
    if (status)
        return status;
    lease->identity = ath_kube_lease_identity(ath_endpoint_of_socket(*out_listener, false, text));
    return ath_kube_scheduler_start(*out_listener, web, api, lease, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    /* Threads outlive this call. */
    static struct ath_metrics_web web;
    static struct ath_kube_lease lease;
    int listener = -1;
    (void)cli;

    int status = start(data, &web, &lease, &listener, err);
    if (status)
        return status;
    ath_cli_kubernetes_wait(_("extender"), listener, &web);
    ath_kube_scheduler_end(&lease);
    _exit(0); /* without waiting for connections */
}

static const struct ath_option option_table[] = {
    { .name = "listen",
      .type = ATH_OPTION_TEXT,
      .metavar = "ADDRESS:PORT",
      .offset = offsetof(struct options, listen),
      .help = N_("address for kube-scheduler; default: 127.0.0.1:9480") },
    { .name = "web",
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, web),
      .help = N_("TLS, and the authority of kube-scheduler's certificate: a web configuration file "
                 "as Prometheus' exporters have it. Addresses outside this host need it") },
    ATH_KUBECONFIG_OPTION(struct options),
    { .name = "lease",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAMESPACE/NAME",
      .offset = offsetof(struct options, lease),
      .help = N_("the Lease of the extender that binds pods; default: "
                 "kube-system/aitherion-scheduler") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion kubernetes scheduler", N_("in a pod, beside kube-scheduler") },
    { "aitherion kubernetes scheduler --kubeconfig scheduler.conf", N_("outside a pod") },
    { .command = NULL },
};

const struct ath_command ath_command_kubernetes_scheduler = {
    .name = "scheduler",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("choose GPUs for pods, as an extender of kube-scheduler"),
    .description = N_(
        "Answers kube-scheduler's requests filter, prioritize, preempt and bind, until it is "
        "stopped. It "
        "knows the GPUs of all nodes from their ComputeNodes and the GPUs of pods from an "
        "annotation, chooses the GPUs of a pod by their links, NUMA nodes and health, and writes "
        "them to the pod with its binding. kube-scheduler must send names of nodes only: "
        "nodeCacheCapable: true in its configuration. docs/cluster.md has that configuration, "
        "the resources and annotations of pods, and the rights that the command needs.\n\n"
        "Several may run: the one whose kube-scheduler asks holds a Lease, and only the holder "
        "binds pods. "
        "GET /metrics, /healthz and /readyz are answered as well."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
