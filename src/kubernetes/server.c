/* Finds the API server from the files of a pod's service account or from a kubeconfig. */
#include "config.h"

#include "kubernetes/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/text.h"
#include "config/yaml.h"

enum { CONFIG_MAX = 1 << 20 };

void ath_kube_server_free(struct ath_kube_server *server)
{
    if (!server)
        return;
    free(server->url);
    free(server->ca_file);
    free(server->token_file);
    if (server->token)
        explicit_bzero(server->token, strlen(server->token));
    free(server->token);
    free(server->certificate_file);
    free(server->key_file);
    *server = (struct ath_kube_server){ 0 };
}

int ath_kube_server_of_pod(const char *folder, struct ath_kube_server *out, struct ath_err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");

    if (!host || !*host || !port || !*port) {
        ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                    _("this is no pod of Kubernetes: KUBERNETES_SERVICE_HOST is not set"));
        return ath_err_hint(err, -ENOENT, _("name the API server with --kubeconfig FILE"));
    }
    *out = (struct ath_kube_server){ 0 };
    out->url = strchr(host, ':') ? ath_xasprintf("https://[%s]:%s", host, port)
                                 : ath_xasprintf("https://%s:%s", host, port);
    out->ca_file = ath_xasprintf("%s/ca.crt", folder);
    out->token_file = ath_xasprintf("%s/token", folder);
    return 0;
}

/* ---- kubeconfig ---- */

struct config {
    const char *path;
    struct ath_err *err;
};

static int refuse(const struct config *config, const char *key, const char *why)
{
    return ath_err_set(config->err, -EINVAL, ATH_E_VALUE_INVALID, "'%s': '%s' %s", config->path,
                       key, why);
}

static const char *text_of(const struct ath_yaml *mapping, const char *key)
{
    const struct ath_yaml *value = ath_yaml_get(mapping, key);
    return value && value->kind == ATH_YAML_SCALAR && value->text && *value->text ? value->text
                                                                                  : NULL;
}

/* Returns the member of the entry with a name, in a list of { name, member }; NULL if there is
 * none. */
static const struct ath_yaml *entry_of(const struct ath_yaml *root, const char *list,
                                       const char *name, const char *member)
{
    const struct ath_yaml *entries = ath_yaml_get(root, list);
    for (size_t i = 0; entries && entries->kind == ATH_YAML_LIST && i < entries->child_count; i++) {
        const char *text = text_of(&entries->children[i], "name");
        if (text && !strcmp(text, name))
            return ath_yaml_get(&entries->children[i], member);
    }
    return NULL;
}

/* Returns the path in a value; a relative one begins at the folder of the file. */
static char *path_of(const struct config *config, const char *value)
{
    const char *slash = strrchr(config->path, '/');
    if (!value)
        return NULL;
    if (*value == '/' || !slash)
        return ath_xstrdup(value);
    return ath_xasprintf("%.*s/%s", (int)(slash - config->path), config->path, value);
}

/* Refuses keys that would change who asks, or whom. */
static int check_keys(const struct config *config, const struct ath_yaml *mapping)
{
    static const char *const unknown[] = { "certificate-authority-data",
                                           "client-certificate-data",
                                           "client-key-data",
                                           "insecure-skip-tls-verify",
                                           "exec",
                                           "auth-provider",
                                           "username",
                                           "proxy-url",
                                           "tls-server-name" };
    for (size_t i = 0; i < ATH_COUNT(unknown); i++)
        if (ath_yaml_get(mapping, unknown[i]))
            return refuse(config, unknown[i],
                          _("is not supported: give server, certificate-authority, and token, "
                            "tokenFile or client-certificate with client-key"));
    return 0;
}

static int read_config(const struct config *config, const struct ath_yaml *root,
                       struct ath_kube_server *out)
{
    const char *name = text_of(root, "current-context");
    const struct ath_yaml *context = name ? entry_of(root, "contexts", name, "context") : NULL;
    const char *cluster_name = text_of(context, "cluster"), *user_name = text_of(context, "user");
    const struct ath_yaml *cluster =
        cluster_name ? entry_of(root, "clusters", cluster_name, "cluster") : NULL;
    const struct ath_yaml *user = user_name ? entry_of(root, "users", user_name, "user") : NULL;
    const char *url = text_of(cluster, "server");

    if (!context)
        return refuse(config, "current-context", _("names no context"));
    if (!url)
        return refuse(config, "server", _("is missing"));
    if (check_keys(config, cluster) || check_keys(config, user))
        return -EINVAL;
    if (!text_of(user, "client-certificate") != !text_of(user, "client-key"))
        return refuse(config, "client-certificate", _("and client-key need each other"));
    *out = (struct ath_kube_server){
        .url = ath_xstrdup(url),
        .ca_file = path_of(config, text_of(cluster, "certificate-authority")),
        .token = ath_xstrdup(text_of(user, "token")),
        .token_file = path_of(config, text_of(user, "tokenFile")),
        .certificate_file = path_of(config, text_of(user, "client-certificate")),
        .key_file = path_of(config, text_of(user, "client-key")),
    };
    for (size_t length = strlen(out->url); length && out->url[length - 1] == '/'; length--)
        out->url[length - 1] = '\0';
    return 0;
}

int ath_kube_server_of_config(const char *path, struct ath_kube_server *out, struct ath_err *err)
{
    const struct config config = { path, err };
    ATH_AUTO(ath_faults) faults = { 0 };
    ATH_AUTO(ath_yaml) root = { 0 };
    ath_auto_free char *text = NULL;
    size_t length;

    int status = ath_file_read(path, CONFIG_MAX, &text, &length, err);
    if (status)
        return status;
    if (!ath_yaml_parse(text, length, &root, &faults) || root.kind != ATH_YAML_MAPPING)
        return refuse(&config, "kubeconfig", _("is no YAML mapping"));
    return read_config(&config, &root, out);
}
