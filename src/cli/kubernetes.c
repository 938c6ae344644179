#include "config.h"

#include "cli/kubernetes.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kubernetes/client.h"

static const char account_folder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

int ath_cli_kubernetes(const char *kubeconfig, const struct ath_kube_api **out, struct ath_err *err)
{
    const char *config = kubeconfig ? kubeconfig : getenv("KUBECONFIG");
    ATH_AUTO(ath_kube_server) server = { 0 };
    static struct ath_kube_client *client; /* of the process */
    int status = config && *config ? ath_kube_server_of_config(config, &server, err)
                                   : ath_kube_server_of_pod(account_folder, &server, err);

    if (!status)
        status = ath_kube_client_make(&server, &client, err);
    if (!status)
        *out = ath_kube_client_api(client);
    return status;
}

bool ath_cli_kubernetes_is_loopback(const char *host)
{
    struct in_addr four;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return !strcmp(host, "::1");
}
