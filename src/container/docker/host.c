/*
 * Reads DOCKER_HOST and related variables
 * (docs.docker.com/reference/cli/docker/#environment-variables).
 *
 * Docker's client verifies no certificate if only DOCKER_CERT_PATH is set; aitherion always
 * verifies.
 */
#include "config.h"

#include "container/docker/host.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

enum { PORT_PLAIN = 2375, PORT_TLS = 2376 };

void ath_docker_host_free(struct ath_docker_host *host)
{
    if (!host)
        return;
    free(host->text);
    free(host->socket);
    free(host->base);
    free(host->ca);
    free(host->cert);
    free(host->key);
    *host = (struct ath_docker_host){ 0 };
}

/* Returns an environment variable, or NULL if it is missing or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int refuse(const char *text, const char *origin, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, _("%s: '%s' is not an address of Docker"),
                origin, text);
    if (ath_starts_with(text, "ssh://"))
        return ath_err_hint(
            err, -EINVAL,
            _("forward the socket, ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock "
              "%s, and use unix:///tmp/docker.sock"),
            text + strlen("ssh://"));
    return ath_err_hint(err, -EINVAL,
                        _("allowed are unix:///PATH, tcp://HOST:PORT, http://HOST:PORT and "
                          "https://HOST:PORT"));
}

/* Refuses characters that would end a line, a URL's host, or a header. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

static int read_socket(const char *path, const char *origin, struct ath_docker_host *host,
                       struct ath_err *err)
{
    size_t most = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (*path != '/' || !path[1])
        return refuse(host->text, origin, err);
    if (strlen(path) > most)
        return ath_err_set(
            err, -ENAMETOOLONG, ATH_E_VALUE_INVALID,
            _("%s: the socket's path '%s' is longer than the %zu bytes that the kernel allows"),
            origin, path, most);
    host->socket = ath_xstrdup(path);
    host->base = ath_xstrdup("http://docker");
    return 0;
}

/* Accepts HOST, HOST:PORT, [IPV6], [IPV6]:PORT; *out_port is NULL if no port is given. */
static bool split_authority(const char *text, const char **out_port)
{
    const char *end = text;
    if (*text == '[') {
        end = strchr(text, ']');
        if (!end || end == text + 1)
            return false;
        end++;
    } else {
        end += strcspn(text, ":");
    }
    if (end == text || strpbrk(text, "/?#@\\"))
        return false;
    int port;
    if (*end && (*end != ':' || ath_parse_int(end + 1, 1, 65535, &port)))
        return false;
    *out_port = *end ? end + 1 : NULL;
    return true;
}

static int check_file(const char *path, struct ath_err *err)
{
    if (!access(path, R_OK))
        return 0;
    int status = -errno;
    ath_err_system(err, status, _("cannot read '%s', which TLS with Docker needs"), path);
    return ath_err_hint(err, status,
                        _("set DOCKER_CERT_PATH to the folder with ca.pem, cert.pem and key.pem"));
}

/* ca.pem must exist. cert.pem and key.pem may both be missing, because a daemon need not ask for a
 * client certificate; only one of them is an error. */
static int read_certificates(struct ath_docker_host *host, struct ath_err *err)
{
    const char *folder = variable("DOCKER_CERT_PATH"), *home = variable("HOME");
    if (!folder && !variable("DOCKER_TLS_VERIFY"))
        return 0;
    ath_auto_free char *fallback = ath_xasprintf("%s/.docker", home ? home : "");
    if (!folder)
        folder = fallback;

    host->ca = ath_xasprintf("%s/ca.pem", folder);
    ath_auto_free char *cert = ath_xasprintf("%s/cert.pem", folder);
    ath_auto_free char *key = ath_xasprintf("%s/key.pem", folder);
    int status = check_file(host->ca, err);
    if (status || (access(cert, F_OK) && access(key, F_OK)))
        return status;
    status = check_file(cert, err);
    if (!status)
        status = check_file(key, err);
    host->cert = ath_steal(&cert);
    host->key = ath_steal(&key);
    return status;
}

static int read_network(const char *authority, bool is_tcp, const char *origin,
                        struct ath_docker_host *host, struct ath_err *err)
{
    const char *port;
    ath_auto_free char *plain = ath_xstrdup(authority);
    size_t length = strlen(plain);
    if (length && plain[length - 1] == '/')
        plain[length - 1] = '\0';
    if (!split_authority(plain, &port))
        return refuse(host->text, origin, err);

    const char *scheme = host->is_tls ? "https" : "http";
    if (port || !is_tcp)
        host->base = ath_xasprintf("%s://%s", scheme, plain);
    else
        host->base =
            ath_xasprintf("%s://%s:%d", scheme, plain, host->is_tls ? PORT_TLS : PORT_PLAIN);
    return host->is_tls ? read_certificates(host, err) : 0;
}

static int read_text(const char *text, const char *origin, struct ath_docker_host *host,
                     struct ath_err *err)
{
    host->text = ath_xstrdup(text);
    if (!is_plain(text))
        return refuse(text, origin, err);
    if (ath_starts_with(text, "unix://"))
        return read_socket(text + strlen("unix://"), origin, host, err);

    host->is_tls = ath_starts_with(text, "https://") || variable("DOCKER_TLS_VERIFY");
    static const char *const schemes[] = { "tcp://", "http://", "https://" };
    for (size_t i = 0; i < ATH_COUNT(schemes); i++)
        if (ath_starts_with(text, schemes[i]))
            return read_network(text + strlen(schemes[i]), i == 0, origin, host, err);
    return refuse(text, origin, err);
}

int ath_docker_host_find(const char *flag, const char *document, struct ath_docker_host *out,
                         struct ath_err *err)
{
    const char *const texts[] = { flag, variable("DOCKER_HOST"), document,
                                  ATH_DOCKER_HOST_DEFAULT };
    const char *const origins[] = { _("the command line"), "DOCKER_HOST",
                                    _("the document's engine.docker_host"), "" };
    size_t i = 0;
    while (!texts[i] || !*texts[i])
        i++;

    ATH_AUTO(ath_docker_host) host = { 0 };
    int status = read_text(texts[i], origins[i], &host, err);
    if (status)
        return status;
    *out = host;
    host = (struct ath_docker_host){ 0 };
    return 0;
}
