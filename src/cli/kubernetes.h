/* For the commands that run inside Kubernetes: the API server that they ask. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "kubernetes/api.h"

/* A row for a command's option table. The command's option struct has `const char *kubeconfig`. */
#define ATH_KUBECONFIG_OPTION(target)                                                              \
    {                                                                                              \
        .name = "kubeconfig", .type = ATH_OPTION_TEXT, .metavar = "FILE",                          \
        .completion = ATH_COMPLETE_FILE, .offset = offsetof(target, kubeconfig),                   \
        .help = N_("the API server and who asks it; default: KUBECONFIG, else the service "        \
                   "account of the pod")                                                           \
    }

/* Finds the API server: in the file kubeconfig, or if that is NULL in KUBECONFIG, or by the service
 * account of this pod. *out lives as long as the process. Returns 0, or a negative errno with err.
 */
int ath_cli_kubernetes(const char *kubeconfig, const struct ath_kube_api **out,
                       struct ath_err *err);

/* Returns whether a host of an endpoint is this machine alone. */
bool ath_cli_kubernetes_is_loopback(const char *host);
