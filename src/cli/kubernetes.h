/* For the commands that run inside Kubernetes: the API server that they ask. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "kubernetes/api.h"
#include "watch/web.h"

/* A row for a command's option table. The command's option struct has `const char *kubeconfig`. */
#define ATH_KUBECONFIG_OPTION(target)                                                              \
    {                                                                                              \
        .name = "kubeconfig", .type = ATH_OPTION_TEXT, .metavar = "FILE",                          \
        .completion = ATH_COMPLETE_FILE, .offset = offsetof(target, kubeconfig),                   \
        .help = N_("the API server and who asks it; default: KUBECONFIG, else the service "        \
                   "account of the pod")                                                           \
    }

/* Finds the API server: in the file kubeconfig, or if that is NULL in KUBECONFIG, or by the service
 * account of this pod. *out lives as long as the process. Returns 0, or a negative errno with
 * err. */
int ath_cli_kubernetes(const char *kubeconfig, const struct ath_kube_api **out,
                       struct ath_err *err);

/* How a server in Kubernetes listens. The texts of errors are marked with N_(). */
struct ath_cli_kubernetes_service {
    const char *address, *web; /* of --listen, or the usual one; of --web, or NULL */
    const char *caller;        /* "kube-scheduler" */
    bool needs_authority;      /* at other addresses than those of this host, callers need a
                                  certificate; else the server alone does */
    const char *danger;        /* why it is refused there without: one %s is the host */
    const char *hint;
};

/* Reads the web configuration, checks who could reach the address, and listens. *web lives as long
 * as the server. Returns 0, or a negative errno with err. */
int ath_cli_kubernetes_listen(const struct ath_cli_kubernetes_service *service,
                              struct ath_metrics_web *web, int *out_listener, struct ath_err *err);

/* Says where the server answers, "extender at https://127.0.0.1:9480", and waits for the signal to
 * stop. */
void ath_cli_kubernetes_wait(const char *name, int listener, const struct ath_metrics_web *web);
