/* aitherion kubernetes scheduler: the extender of kube-scheduler. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/kubernetes.h"
#include "cli/watch.h"
#include "kubernetes/scheduler.h"
#include "remote/wire/endpoint.h"

enum { POLL_MS = 200 };

static const char usual_address[] = "127.0.0.1:9480";

struct options {
    const char *listen, *web, *kubeconfig;
};

/* A program that reaches /bind binds pods with the rights of this process. */
static int check_access(const struct ath_endpoint *endpoint, const struct ath_metrics_web *web,
                        struct ath_err *err)
{
    if (web->user_count)
        return ath_err_set(err, -EINVAL, ATH_E_WEB, "%s",
                           _("kube-scheduler sends no passwords: use client_ca_file instead of "
                             "basic_auth_users"));
    if (endpoint->is_unix)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s",
                           _("kube-scheduler needs an address of the network"));
    if (ath_cli_kubernetes_is_loopback(endpoint->host) || web->authorities)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_NOT_ENCRYPTED,
                _("at '%s' every host of the network could bind pods"), endpoint->host);
    return ath_err_hint(err, -EINVAL,
                        _("give --web FILE with cert_file, key_file and client_ca_file, or listen "
                          "at 127.0.0.1"));
}

static int start(const struct options *options, struct ath_metrics_web *web, int *out_listener,
                 struct ath_err *err)
{
    const char *address = options->listen ? options->listen : usual_address;
    const struct ath_kube_api *api = NULL;
    struct ath_endpoint endpoint;

    int status = options->web ? ath_metrics_web_load(options->web, web, err) : 0;
    if (!status)
        status = ath_endpoint_parse(address, &endpoint, err);
    if (!status)
        status = check_access(&endpoint, web, err);
    if (!status)
        status = ath_cli_kubernetes(options->kubeconfig, &api, err);
    if (!status)
        status = ath_endpoint_listen(&endpoint, 0600, out_listener, err);
    return status ? status : ath_kube_scheduler_start(*out_listener, web, api, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    static struct ath_metrics_web web; /* of the process: threads outlive this call */
    char text[ATH_ENDPOINT_TEXT];
    int listener = -1;
    (void)cli;

    int status = start(data, &web, &listener, err);
    if (status)
        return status;
    ath_stop_catch();
    fprintf(stdout, _("extender at %s://%s\n"), web.certificate ? "https" : "http",
            ath_endpoint_of_socket(listener, false, text));
    fflush(stdout);
    while (!ath_stop_is_wanted(NULL))
        (void)poll(NULL, 0, POLL_MS);
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
        "Answers kube-scheduler's requests filter, prioritize and bind, until it is stopped. It "
        "knows the GPUs of all nodes from their ComputeNodes and the GPUs of pods from an "
        "annotation, chooses the GPUs of a pod by their links, NUMA nodes and health, and writes "
        "them to the pod with its binding. kube-scheduler must send names of nodes only: "
        "nodeCacheCapable: true in its configuration. docs/cluster.md has that configuration, "
        "the resources and annotations of pods, and the rights that the command needs.\n\n"
        "GET /metrics, /healthz and /readyz are answered as well."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
