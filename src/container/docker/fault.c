/*
 * Turns failures of requests into messages, from libcurl's codes (libcurl-errors(3)) and from the
 * daemon's answers (an object with "message").
 */
#include "config.h"

#include "container/docker/fault.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

/* ---- no complete answer ---- */

/* A rootless daemon listens in the user's own folder (docs.docker.com/engine/security/rootless). */
static int hint_start(const struct ath_docker_host *host, int status, struct ath_err *err)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    ath_auto_free char *rootless = ath_xasprintf("%s/docker.sock", folder ? folder : "");
    if (folder && *folder && host->socket && strcmp(rootless, host->socket) &&
        !access(rootless, F_OK))
        return ath_err_hint(err, status, "export DOCKER_HOST=unix://%s", rootless);
    if (host->socket)
        return ath_err_hint(err, status,
                            _("start the daemon, sudo systemctl start docker, or set DOCKER_HOST "
                              "to its address"));
    return ath_err_hint(err, status,
                        _("check that the daemon runs there and listens on the network (dockerd "
                          "--host), and that no firewall blocks it"));
}

static int fail_to_connect(const struct ath_docker_host *host, const char *what, const char *why,
                           struct ath_err *err)
{
    ath_err_set(err, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE, _("%s: no answer at '%s': %s"), what,
                host->text, why);
    return hint_start(host, -ECONNREFUSED, err);
}

static int deny_socket(const struct ath_docker_host *host, const char *what, struct ath_err *err)
{
    ath_err_set(err, -EACCES, ATH_E_ENGINE_DENIED, _("%s: you may not use the socket '%s': %s"),
                what, host->socket, strerror(EACCES));
    return ath_err_hint(err, -EACCES,
                        _("run the same command with sudo, or join the group docker (sudo usermod "
                          "-aG docker \"$USER\", then log in again)"));
}

static int fail_tls(const struct ath_docker_host *host, const char *what, const char *text,
                    struct ath_err *err)
{
    ath_err_set(err, -ECONNABORTED, ATH_E_ENGINE_UNREACHABLE, _("%s: TLS with '%s' failed: %s"),
                what, host->text, text);
    return ath_err_hint(err, -ECONNABORTED,
                        _("check the certificates in DOCKER_CERT_PATH: ca.pem must have signed the "
                          "daemon's certificate, cert.pem and key.pem are yours"));
}

static int time_out(const struct ath_docker_host *host, const struct ath_docker_request *request,
                    struct ath_err *err)
{
    int limit_ms = request->timeout_ms ? request->timeout_ms : request->idle_timeout_ms;
    ath_err_set(err, -ETIMEDOUT, ATH_E_ENGINE_TIMEOUT,
                _("%s: no complete answer from '%s' within %g s"), request->what, host->text,
                limit_ms / 1000.0);
    return ath_err_hint(err, -ETIMEDOUT,
                        _("the daemon's log may say why: sudo journalctl -u docker"));
}

/* format takes what failed and the daemon's address. */
__attribute__((format(printf, 3, 0))) static int hang_up(const struct ath_docker_host *host,
                                                         const char *what, const char *format,
                                                         struct ath_err *err)
{
    ath_err_set(err, -ECONNREFUSED, ATH_E_ENGINE_UNREACHABLE, format, what, host->text);
    return ath_err_hint(err, -ECONNREFUSED,
                        _("check whether the daemon still runs, systemctl status docker, and try "
                          "again"));
}

int ath_docker_fault_transfer(const struct ath_docker_host *host,
                              const struct ath_docker_request *request, CURLcode code,
                              const char *text, int os_errno, struct ath_err *err)
{
    const char *what = request->what;
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        if (host->socket && (os_errno == EACCES || os_errno == EPERM))
            return deny_socket(host, what, err);
        return fail_to_connect(host, what, os_errno ? strerror(os_errno) : text, err);
    case CURLE_COULDNT_RESOLVE_HOST:
        return fail_to_connect(host, what, _("the host name is unknown"), err);
    case CURLE_OPERATION_TIMEDOUT:
        return time_out(host, request, err);
    case CURLE_GOT_NOTHING:
        return hang_up(host, what, _("%s: '%s' closed the connection without an answer"), err);
    case CURLE_SEND_ERROR:
        return hang_up(host, what,
                       _("%s: '%s' closed the connection before it had read the request"), err);
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        return hang_up(host, what, _("%s: '%s' closed the connection in the middle of its answer"),
                       err);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_SHUTDOWN_FAILED:
    case CURLE_PEER_FAILED_VERIFICATION:
        return fail_tls(host, what, text, err);
    default:
        return ath_err_set(err, -EBADMSG, ATH_E_ENGINE_INVALID,
                           _("%s: the server at '%s' is not Docker: %s"), what, host->text, text);
    }
}

/* ---- an answer that refuses ---- */

/* Returns the text in one line, without control characters. The caller frees it. */
static char *tidy(const char *text, size_t length)
{
    char *line = ath_xalloc(length + 1);
    size_t end = 0;
    for (size_t i = 0; i < length; i++) {
        char letter = iscntrl((unsigned char)text[i]) ? ' ' : text[i];
        if (letter != ' ' || (end && line[end - 1] != ' '))
            line[end++] = letter;
    }
    while (end && line[end - 1] == ' ')
        end--;
    line[end] = '\0';
    return line;
}

/* Returns the daemon's message, which the caller frees, or NULL if the answer has another form. */
static char *words_of(const char *body, size_t length)
{
    json_error_t fault;
    json_auto_t *json = json_loadb(body ? body : "", length, 0, &fault);
    const char *message = json_string_value(json_object_get(json, "message"));
    return message ? tidy(message, strlen(message)) : NULL;
}

struct verdict {
    int status;
    enum ath_error code;
};

static struct verdict judge(const struct ath_docker_request *request, int http_status,
                            bool is_docker)
{
    if (http_status < 400)
        return (struct verdict){ -EBADMSG, ATH_E_ENGINE_INVALID };
    switch (http_status) {
    case 400:
        return (struct verdict){ -EINVAL, ATH_E_ENGINE_ERROR };
    case 401:
    case 403:
        return (struct verdict){ -EACCES, ATH_E_ENGINE_DENIED };
    case 404:
        if (!is_docker)
            return (struct verdict){ -EBADMSG, ATH_E_ENGINE_INVALID };
        return (struct verdict){ -ENOENT, ATH_E_NOT_FOUND };
    case 409:
        return (struct verdict){ request->conflict == ATH_E_EXISTS ? -EEXIST : -EBUSY,
                                 request->conflict };
    default:
        return (struct verdict){ -EIO, ATH_E_ENGINE_ERROR };
    }
}

int ath_docker_fault_http(const struct ath_docker_request *request, int http_status,
                          const char *body, size_t length, struct ath_err *err)
{
    ath_auto_free char *words = words_of(body, length);
    struct verdict verdict = judge(request, http_status, words != NULL);

    if (words && verdict.code != ATH_E_ENGINE_INVALID)
        return ath_err_set(err, verdict.status, verdict.code, _("%s: Docker says: %s"),
                           request->what, words);
    if (http_status < 400)
        return ath_err_set(err, verdict.status, verdict.code,
                           _("%s: the server redirects (HTTP %d), which Docker never does"),
                           request->what, http_status);
    return ath_err_set(err, verdict.status, verdict.code,
                       _("%s: the answer is HTTP %d, without a message of Docker"), request->what,
                       http_status);
}
