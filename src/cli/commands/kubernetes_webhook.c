/* aitherion kubernetes webhook: the admission webhook. */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/kubernetes.h"
#include "kubernetes/review_json.h"
#include "kubernetes/webhook.h"

static const char usual_address[] = "127.0.0.1:9443";

struct options {
    const char *listen, *web, *image, *scheduler, *secret, *binder, *agent;
};

static int start(const struct options *options, struct ath_metrics_web *web, int *out_listener,
                 struct ath_err *err)
{
    static struct ath_kube_webhook webhook; /* of the process */
    static const struct ath_kube_service service = { .pages = ath_kube_webhook_pages,
                                                     .self = &webhook };
    /* The API server calls webhooks by HTTPS only; plain HTTP is for trying things out. */
    const struct ath_cli_kubernetes_service listening = {
        .address = options->listen ? options->listen : usual_address,
        .web = options->web,
        .caller = N_("the API server"),
        .danger = N_("the API server does not call a webhook at '%s' without TLS"),
        .hint = N_("give --web FILE with cert_file and key_file"),
    };

    if (!options->image) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is missing"), "--image");
        return ath_err_hint(err, -EINVAL, _("name the image with aitherion's client library"));
    }
    webhook.injection = (struct ath_kube_injection){
        .image = options->image,
        .scheduler = options->scheduler,
        .secret = options->secret ? options->secret : "aitherion-key",
    };
    webhook.guard = (struct ath_kube_guard){ .binder = options->binder, .agent = options->agent };
    ath_kube_json_limit();
    int status = ath_cli_kubernetes_listen(&listening, web, out_listener, err);
    return status ? status : ath_kube_http_start(*out_listener, web, &service, err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    static struct ath_metrics_web web; /* of the process: threads outlive this call */
    int listener = -1;
    (void)cli;

    int status = start(data, &web, &listener, err);
    if (status)
        return status;
    ath_cli_kubernetes_wait(_("webhook"), listener, &web);
    _exit(0); /* without waiting for connections */
}

static const struct ath_option option_table[] = {
    { .name = "image",
      .type = ATH_OPTION_TEXT,
      .metavar = "IMAGE",
      .offset = offsetof(struct options, image),
      .help =
          N_("image with Debian's folders and aitherion's client library, which an init container "
             "copies into pods (packaging/kubernetes/Dockerfile)") },
    { .name = "scheduler",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .offset = offsetof(struct options, scheduler),
      .help = N_("schedulerName for pods that ask for GPUs and name no scheduler; default: none is "
                 "set") },
    { .name = "secret",
      .type = ATH_OPTION_TEXT,
      .metavar = "NAME",
      .offset = offsetof(struct options, secret),
      .help = N_("Secret in the namespace of a pod with the key of the runtimes, in the member "
                 "'key'; default: aitherion-key") },
    { .name = "binder",
      .type = ATH_OPTION_TEXT,
      .metavar = "USER",
      .offset = offsetof(struct options, binder),
      .help = N_("the only user who may bind pods with the annotations of aitherion: the "
                 "extender's, system:serviceaccount:NAMESPACE:NAME") },
    { .name = "agent",
      .type = ATH_OPTION_TEXT,
      .metavar = "USER",
      .offset = offsetof(struct options, agent),
      .help = N_("user of the agents: each may write the ComputeNode of its own node alone") },
    { .name = "listen",
      .type = ATH_OPTION_TEXT,
      .metavar = "ADDRESS:PORT",
      .offset = offsetof(struct options, listen),
      .help = N_("address for the API server; default: 127.0.0.1:9443") },
    { .name = "web",
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, web),
      .help = N_("the certificate and its key: a web configuration file as Prometheus' exporters "
                 "have it. Addresses outside this host need it") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion kubernetes webhook --image registry/aitherion:1", N_("to try it out") },
    { "aitherion kubernetes webhook --image NAME --listen 0.0.0.0:9443 --web FILE",
      N_("in a pod") },
    { .command = NULL },
};

const struct ath_command ath_command_kubernetes_webhook = {
    .name = "webhook",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("give pods what remote GPUs need, and refuse what may not be written"),
    .description = N_(
        "Answers the API server's admission reviews until it is stopped. /mutate gives pods that "
        "ask for GPUs the client library, the key of the runtimes and variables that name the "
        "runtime, the GPUs and the limits. /validate refuses annotations that only the extender "
        "may write, requests that cannot be met, and ComputeNodes of other nodes.\n\n"
        "The command sends no requests to the API server and needs no rights. docs/cluster.md says "
        "how to set it up.\n\n"
        "GET /metrics, /healthz and /readyz are answered as well."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
