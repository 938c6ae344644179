#include "config.h"

#include "kubernetes/http.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/late.h"

enum {
    CONNECTIONS_MAX = 512,
    IDLE_S = 120,
    CONNECTION_BYTES = 64 << 10, /* for heads */
    OPTIONS_MAX = 5,
    TOO_LARGE = 413, /* whose name has changed in libmicrohttpd */
};

#define MHD_FUNCTIONS(F)                                                                           \
    F(MHD_start_daemon)                                                                            \
    F(MHD_create_response_from_buffer)                                                             \
    F(MHD_add_response_header)                                                                     \
    F(MHD_queue_response)                                                                          \
    F(MHD_get_connection_info)                                                                     \
    F(MHD_destroy_response)

static struct {
    MHD_FUNCTIONS(ATH_LATE_MEMBER)
} mhd;

/* Of GnuTLS, which libmicrohttpd uses: only for certificates of clients. */
#define GNUTLS_FUNCTIONS(F) F(gnutls_certificate_verify_peers2)
static struct {
    GNUTLS_FUNCTIONS(ATH_LATE_MEMBER)
} gnutls;

struct server {
    struct ath_kube_extender *extender;
    const struct ath_metrics_web *web;
};

/* A request on its way. */
struct request {
    struct ath_text body;
    bool is_too_large;
};

static enum MHD_Result answer(struct MHD_Connection *to, unsigned int code, const char *type,
                              const struct ath_text *body)
{
    struct MHD_Response *response = mhd.MHD_create_response_from_buffer(
        body->length, (void *)(body->data ? body->data : ""), MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    mhd.MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result result = mhd.MHD_queue_response(to, code, response);
    mhd.MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_line(struct MHD_Connection *to, unsigned int code, const char *line)
{
    struct ath_text body = { 0 };
    ath_text_add(&body, "%s\n", line);
    enum MHD_Result result = answer(to, code, "text/plain; charset=utf-8", &body);
    ath_text_free(&body);
    return result;
}

/* ---- pages ---- */

static enum MHD_Result show_metrics(struct server *server, struct MHD_Connection *to)
{
    struct ath_kube_cache_counts counts;
    struct ath_text body = { 0 };

    ath_kube_cache_count(server->extender->cache, &counts);
    ath_kube_figures_write(&server->extender->figures, &counts, &body);
    enum MHD_Result result = answer(to, MHD_HTTP_OK, "text/plain; version=0.0.4", &body);
    ath_text_free(&body);
    return result;
}

static enum MHD_Result show_health(struct server *server, struct MHD_Connection *to)
{
    (void)server;
    return answer_line(to, MHD_HTTP_OK, "ok");
}

static enum MHD_Result show_readiness(struct server *server, struct MHD_Connection *to)
{
    bool is_ready = ath_kube_cache_is_ready(server->extender->cache);
    return answer_line(to, is_ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                       is_ready ? "ok" : "the nodes and pods of the cluster are not known yet");
}

static const struct page {
    const char *path;
    bool is_open; /* also without a certificate */
    enum MHD_Result (*show)(struct server *server, struct MHD_Connection *to);
} pages[] = {
    { "/metrics", false, show_metrics },
    { "/healthz", true, show_health },
    { "/readyz", true, show_readiness },
};

static const struct page *page_of(const char *url)
{
    for (size_t i = 0; i < ATH_COUNT(pages); i++)
        if (!strcmp(url, pages[i].path))
            return &pages[i];
    return NULL;
}

/* Returns the verb of "/filter", or ATH_KUBE_VERBS. */
static enum ath_kube_verb verb_of(const char *url)
{
    int verb = 0;
    while (verb < ATH_KUBE_VERBS &&
           (url[0] != '/' || strcmp(url + 1, ath_kube_verb_word((enum ath_kube_verb)verb)) != 0))
        verb++;
    return (enum ath_kube_verb)verb;
}

/* ---- requests ---- */

/* Whether the client has a certificate that one of the authorities has signed. */
static bool has_certificate(struct MHD_Connection *of)
{
    const union MHD_ConnectionInfo *info =
        mhd.MHD_get_connection_info(of, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned int faults = 1;
    return info && !gnutls.gnutls_certificate_verify_peers2(info->tls_session, &faults) && !faults;
}

/* Refuses a request by its head. Returns 0 if it is welcome. */
static unsigned int fault_of(const struct server *server, struct MHD_Connection *from,
                             const char *url, const char *method, const char **out_why)
{
    const struct page *page = page_of(url);
    bool is_verb = verb_of(url) != ATH_KUBE_VERBS;

    if (!page && !is_verb) {
        *out_why = "here are /filter, /prioritize, /bind, /metrics, /healthz and /readyz";
        return MHD_HTTP_NOT_FOUND;
    }
    if (server->web && server->web->authorities && !(page && page->is_open) &&
        !has_certificate(from)) {
        *out_why = "a certificate of the client is wanted";
        return MHD_HTTP_FORBIDDEN;
    }
    if (strcmp(method, page ? MHD_HTTP_METHOD_GET : MHD_HTTP_METHOD_POST) != 0) {
        *out_why = page ? "only GET is answered here" : "only POST is answered here";
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    }
    return 0;
}

static enum MHD_Result answer_verb(struct server *server, struct MHD_Connection *to,
                                   enum ath_kube_verb verb, const struct request *request)
{
    struct ath_text body = { 0 };

    if (request->is_too_large)
        return answer_line(to, TOO_LARGE, "the body is larger than 8 MiB");
    unsigned int code = ath_kube_extender_answer(server->extender, verb,
                                                 request->body.data ? request->body.data : "",
                                                 request->body.length, &body);
    enum MHD_Result result = answer(
        to, code, code == MHD_HTTP_OK ? "application/json" : "text/plain; charset=utf-8", &body);
    ath_text_free(&body);
    return result;
}

/* Called for the head of a request, for each part of the body, and at its end. */
static enum MHD_Result take_request(void *context, struct MHD_Connection *from, const char *url,
                                    const char *method, const char *version, const char *bytes,
                                    size_t *length, void **state)
{
    struct server *server = context;
    struct request *request = *state;
    const char *why = NULL;
    (void)version;

    if (!request) {
        unsigned int fault = fault_of(server, from, url, method, &why);
        if (fault)
            return answer_line(from, fault, why);
        *state = ath_xalloc(sizeof *request);
        return MHD_YES;
    }
    if (*length) {
        request->is_too_large =
            request->is_too_large || *length > ATH_KUBE_BODY_MAX - request->body.length;
        if (!request->is_too_large)
            ath_text_add_bytes(&request->body, bytes, *length);
        *length = 0;
        return MHD_YES;
    }
    const struct page *page = page_of(url);
    return page ? page->show(server, from) : answer_verb(server, from, verb_of(url), request);
}

static void end_request(void *context, struct MHD_Connection *of, void **state,
                        enum MHD_RequestTerminationCode code)
{
    struct request *request = *state;
    (void)context;
    (void)of;
    (void)code;
    if (request)
        ath_text_free(&request->body);
    free(request);
    *state = NULL;
}

/* ---- the daemon ---- */

/* Fills in the options of TLS. Returns whether there is TLS. */
static bool add_tls(const struct ath_metrics_web *web, struct MHD_OptionItem out[OPTIONS_MAX])
{
    static const char tls13[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";
    static const char tls12[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
    size_t count = 0;

    if (web && web->certificate) {
        out[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, web->certificate };
        out[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, web->key };
        out[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_PRIORITIES, 0,
                                                (void *)(web->needs_tls13 ? tls13 : tls12) };
        if (web->authorities)
            out[count++] =
                (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0, web->authorities };
    }
    out[count] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
    return count > 0;
}

static int load_libraries(const struct ath_metrics_web *web, struct ath_err *err)
{
    static const char *const names[] = { MHD_FUNCTIONS(ATH_LATE_NAME) NULL };
    static const char *const gnutls_names[] = { GNUTLS_FUNCTIONS(ATH_LATE_NAME) NULL };
    int status = ath_late_load("libmicrohttpd.so.12", "libmicrohttpd12", names, &mhd, err);
    if (!status && web && web->authorities)
        status = ath_late_load("libgnutls.so.30", "libgnutls30", gnutls_names, &gnutls, err);
    return status;
}

int ath_kube_http_start(int listener, const struct ath_metrics_web *web,
                        struct ath_kube_extender *extender, struct ath_err *err)
{
    struct MHD_OptionItem options[OPTIONS_MAX];
    int status = load_libraries(web, err);
    if (status)
        return status;

    struct server *server = ath_xalloc(sizeof *server); /* as long as the process */
    *server = (struct server){ .extender = extender, .web = web };
    bool has_tls = add_tls(web, options);
    unsigned int flags =
        (unsigned int)(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                       MHD_USE_POLL | (has_tls ? MHD_USE_TLS : 0));
    if (mhd.MHD_start_daemon(flags, 0, NULL, NULL, take_request, server, MHD_OPTION_LISTEN_SOCKET,
                             listener, MHD_OPTION_NOTIFY_COMPLETED, end_request, server,
                             MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                             MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
                             MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_S, MHD_OPTION_ARRAY,
                             options, MHD_OPTION_END))
        return 0;
    free(server);
    return ath_err_set(err, -EINVAL, ATH_E_WEB, "%s",
                       _("the server cannot start: the certificate and its key may not fit each "
                         "other"));
}
