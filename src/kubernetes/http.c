/* Takes requests from libmicrohttpd, and answers them by the table of pages. */
#include "config.h"

#include "kubernetes/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/late.h"
#include "watch/tls.h"

enum {
    CONNECTIONS_MAX = 512,
    ADDRESS_CONNECTIONS_MAX = 128, /* the API server comes from one address, or from few */
    IDLE_MS = 120000,              /* between requests: API servers close after 90 s */
    REQUEST_MS = 30000,            /* the longest time that an API server waits for a webhook */
    ROOM_FIRST = 64 << 10,
    ROOMS_MAX = 64 << 20,
    CONNECTION_BYTES = 64 << 10, /* for heads */
    TOO_LARGE = 413,             /* whose name has changed in libmicrohttpd */
};

/* Room for a body doubles until it has this size. */
_Static_assert(ATH_KUBE_BODY_MAX % ROOM_FIRST == 0 &&
                   !(ATH_KUBE_BODY_MAX / ROOM_FIRST & (ATH_KUBE_BODY_MAX / ROOM_FIRST - 1)),
               "doubling the first room ends at the largest body");

#define MHD_FUNCTIONS(F)                                                                           \
    F(MHD_start_daemon)                                                                            \
    F(MHD_create_response_from_buffer)                                                             \
    F(MHD_add_response_header)                                                                     \
    F(MHD_queue_response)                                                                          \
    F(MHD_get_connection_info)                                                                     \
    F(MHD_set_connection_option)                                                                   \
    F(MHD_destroy_response)

static struct {
    MHD_FUNCTIONS(ATH_LATE_MEMBER)
} mhd;

struct server {
    const struct ath_kube_service *service;
    const struct ath_metrics_web *web;
    /* The rooms of all bodies, without the first ROOM_FIRST bytes of each: CONNECTIONS_MAX bounds
     * those, and small bodies are answered while large ones fill the rest. Changed by atomic
     * operations. */
    size_t rooms_bytes;
};

/* A request on its way. */
struct request {
    uint64_t end_ms; /* the connection is closed if the request is not answered then */
    char *body;      /* NULL if refused */
    size_t length, room;
    unsigned int refused; /* 0, or the status for a body that is not taken */
};

static enum MHD_Result answer(struct MHD_Connection *to, unsigned int code, const char *type,
                              const struct ath_text *body)
{
    struct MHD_Response *response = mhd.MHD_create_response_from_buffer(
        body->length, (void *)(body->data ? body->data : ""), MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    if (code == MHD_HTTP_SERVICE_UNAVAILABLE) /* API servers ask again then */
        mhd.MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
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

/* ---- bodies ---- */

static void drop_body(struct server *server, struct request *request)
{
    if (request->room > ROOM_FIRST)
        __atomic_fetch_sub(&server->rooms_bytes, request->room - ROOM_FIRST, __ATOMIC_RELAXED);
    free(request->body);
    request->body = NULL;
    request->length = request->room = 0;
}

static void refuse_body(struct server *server, struct request *request, unsigned int status)
{
    drop_body(server, request);
    request->refused = status;
}

/* Doubles the room of a body. Returns false if the bodies of all requests have no room left. */
static bool grow(struct server *server, struct request *request)
{
    size_t room = request->room ? request->room * 2 : ROOM_FIRST, more = room - request->room;

    if (request->room &&
        __atomic_add_fetch(&server->rooms_bytes, more, __ATOMIC_RELAXED) > (size_t)ROOMS_MAX) {
        __atomic_fetch_sub(&server->rooms_bytes, more, __ATOMIC_RELAXED);
        return false;
    }
    request->body = ath_xrealloc(request->body, room);
    request->room = room;
    return true;
}

/* Adds a part to the body. The rest of a body that is refused is read and dropped, so that the
 * client gets the answer. */
static void take_part(struct server *server, struct request *request, const char *bytes,
                      size_t length)
{
    if (!request->refused && length > ATH_KUBE_BODY_MAX - request->length)
        refuse_body(server, request, TOO_LARGE);
    while (!request->refused && length > request->room - request->length)
        if (!grow(server, request))
            refuse_body(server, request, MHD_HTTP_SERVICE_UNAVAILABLE);
    if (request->refused)
        return;
    memcpy(request->body + request->length, bytes, length);
    request->length += length;
}

/* ---- pages ---- */

static const struct ath_kube_page *page_of(const struct server *server, const char *path)
{
    for (const struct ath_kube_page *page = server->service->pages; page->path; page++)
        if (!strcmp(path, page->path))
            return page;
    return NULL;
}

static enum MHD_Result answer_unknown(const struct server *server, struct MHD_Connection *to)
{
    ATH_AUTO(ath_text) line = { 0 }, paths = { 0 };

    for (const struct ath_kube_page *page = server->service->pages; page->path; page++)
        ath_text_add_part(&paths, ", ", "%s", page->path);
    ath_text_add(&line, "the pages here are %s", paths.data);
    return answer_line(to, MHD_HTTP_NOT_FOUND, line.data);
}

static enum MHD_Result answer_page(struct server *server, struct MHD_Connection *to,
                                   const struct ath_kube_page *page, struct request *request)
{
    ATH_AUTO(ath_text) body = { 0 };

    if (request->refused == TOO_LARGE)
        return answer_line(to, TOO_LARGE, "the body is larger than 8 MiB");
    if (request->refused)
        return answer_line(to, request->refused, "other bodies fill the memory: ask again");
    unsigned int code = page->answer(server->service->self, request->body ? request->body : "",
                                     request->length, &body);
    drop_body(server, request);
    return answer(to, code, code == MHD_HTTP_OK ? page->type : "text/plain; charset=utf-8", &body);
}

/* ---- requests ---- */

static void end_after(struct MHD_Connection *connection, uint64_t idle_ms)
{
    mhd.MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                  (unsigned int)((idle_ms + 999) / 1000));
}

/* Returns whether the client has a certificate that one of the authorities has signed. */
static bool has_certificate(struct MHD_Connection *of)
{
    return ath_metrics_tls_is_signed(
        mhd.MHD_get_connection_info(of, MHD_CONNECTION_INFO_GNUTLS_SESSION));
}

/* Refuses a request by its head. Returns NULL if it is welcome. */
static const char *fault_of(const struct server *server, struct MHD_Connection *from,
                            const struct ath_kube_page *page, const char *method,
                            unsigned int *out_code)
{
    if (server->web && server->web->authorities && !page->is_open && !has_certificate(from)) {
        *out_code = MHD_HTTP_FORBIDDEN;
        return "a certificate of the client is wanted";
    }
    if (!strcmp(method, page->method))
        return NULL;
    *out_code = MHD_HTTP_METHOD_NOT_ALLOWED;
    return !strcmp(page->method, MHD_HTTP_METHOD_GET) ? "only GET is answered here"
                                                      : "only POST is answered here";
}

/* Called for the head of a request, for each part of the body, and at its end. */
static enum MHD_Result take_request(void *context, struct MHD_Connection *from, const char *url,
                                    const char *method, const char *version, const char *bytes,
                                    size_t *length, void **state)
{
    struct server *server = context;
    struct request *request = *state;
    const struct ath_kube_page *page = page_of(server, url);
    (void)version;

    if (!page)
        return answer_unknown(server, from);
    if (!request) {
        unsigned int code;
        const char *why = fault_of(server, from, page, method, &code);
        if (why)
            return answer_line(from, code, why);
        request = *state = ath_xalloc(sizeof *request);
        request->end_ms = ath_now_ms() + REQUEST_MS;
        end_after(from, REQUEST_MS);
        return MHD_YES;
    }
    uint64_t now_ms = ath_now_ms();
    if (now_ms >= request->end_ms)
        return MHD_NO;
    end_after(from, request->end_ms - now_ms);
    if (*length) {
        take_part(server, request, bytes, *length);
        *length = 0;
        return MHD_YES;
    }
    return answer_page(server, from, page, request);
}

static void end_request(void *context, struct MHD_Connection *of, void **state,
                        enum MHD_RequestTerminationCode code)
{
    struct request *request = *state;
    if (!request)
        return;
    drop_body(context, request);
    free(request);
    *state = NULL;
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        end_after(of, IDLE_MS);
}

/* ---- the daemon ---- */

static int load_libraries(const struct ath_metrics_web *web, struct ath_err *err)
{
    static const char *const names[] = { MHD_FUNCTIONS(ATH_LATE_NAME) NULL };
    int status = ath_late_load("libmicrohttpd.so.12", "libmicrohttpd12", names, &mhd, err);
    return status ? status : ath_metrics_tls_load(web, err);
}

unsigned int ath_kube_http_show_health(void *self, const char *body, size_t length,
                                       struct ath_text *out)
{
    (void)self;
    (void)body;
    (void)length;
    ath_text_add(out, "ok\n");
    return MHD_HTTP_OK;
}

int ath_kube_http_start(int listener, const struct ath_metrics_web *web,
                        const struct ath_kube_service *service, struct ath_err *err)
{
    struct MHD_OptionItem options[ATH_METRICS_TLS_OPTIONS];
    int status = load_libraries(web, err);
    if (status)
        return status;

    struct server *server = ath_xalloc(sizeof *server); /* as long as the process */
    *server = (struct server){ .service = service, .web = web };
    unsigned int flags = (unsigned int)(MHD_USE_INTERNAL_POLLING_THREAD |
                                        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL) |
                         ath_metrics_tls_options(web, options);
    if (mhd.MHD_start_daemon(
            flags, 0, NULL, NULL, take_request, server, MHD_OPTION_LISTEN_SOCKET, listener,
            MHD_OPTION_NOTIFY_COMPLETED, end_request, server, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
            MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned int)ADDRESS_CONNECTIONS_MAX,
            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)(IDLE_MS / 1000), MHD_OPTION_ARRAY,
            options, MHD_OPTION_END))
        return 0;
    free(server);
    return ath_err_set(err, -EINVAL, ATH_E_WEB, "%s",
                       _("the server cannot start: the certificate and its key may not fit each "
                         "other"));
}
