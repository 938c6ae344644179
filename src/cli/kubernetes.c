/* Opens the API server, listens with or without TLS, and waits for the end, for commands in
 * Kubernetes. */
#include "config.h"

#include "cli/kubernetes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/watch.h"
#include "kubernetes/client.h"
#include "remote/wire/endpoint.h"

enum { POLL_MS = 200 };

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

/* Returns whether a host of an endpoint is this machine alone. */
static bool is_loopback(const char *host)
{
    struct in_addr four;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return !strcmp(host, "::1");
}

static int check_access(const struct ath_cli_kubernetes_service *service,
                        const struct ath_endpoint *endpoint, const struct ath_metrics_web *web,
                        struct ath_err *err)
{
    if (web->user_count)
        return ath_err_set(
            err, -EINVAL, ATH_E_WEB,
            _("%s sends no passwords: use client_ca_file instead of basic_auth_users"),
            _(service->caller));
    if (endpoint->is_unix)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("%s needs an address of the network"),
                           _(service->caller));
    if (is_loopback(endpoint->host) ||
        (service->needs_authority ? web->authorities : web->certificate))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_NOT_ENCRYPTED, _(service->danger), endpoint->host);
    return ath_err_hint(err, -EINVAL, "%s", _(service->hint));
}

int ath_cli_kubernetes_listen(const struct ath_cli_kubernetes_service *service,
                              struct ath_metrics_web *web, int *out_listener, struct ath_err *err)
{
    struct ath_endpoint endpoint;
    int status = service->web ? ath_metrics_web_load(service->web, web, err) : 0;

    if (!status)
        status = ath_endpoint_parse(service->address, &endpoint, err);
    if (!status)
        status = check_access(service, &endpoint, web, err);
    return status ? status : ath_endpoint_listen(&endpoint, 0600, out_listener, err);
}

void ath_cli_kubernetes_wait(const char *name, int listener, const struct ath_metrics_web *web)
{
    char text[ATH_ENDPOINT_TEXT];

    ath_stop_catch();
    fprintf(stdout, _("%s at %s://%s\n"), name, web->certificate ? "https" : "http",
            ath_endpoint_of_socket(listener, false, text));
    fflush(stdout);
    while (!ath_stop_is_wanted(NULL))
        (void)poll(NULL, 0, POLL_MS);
}
