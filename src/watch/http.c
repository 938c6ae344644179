/* One daemon of libmicrohttpd for each connection: it never listens, and runs in the caller's
 * thread. */
#include "config.h"

#include "watch/http.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/late.h"
#include "watch/tls.h"

enum {
    CONNECTION_BYTES = 32 << 10, /* for the head of a request and of its answer */
    PAGE_MS = 100,               /* from one page of a connection to the next */
};

#define MHD_FUNCTIONS(F)                                                                           \
    F(MHD_start_daemon)                                                                            \
    F(MHD_stop_daemon)                                                                             \
    F(MHD_add_connection)                                                                          \
    F(MHD_run)                                                                                     \
    F(MHD_get_timeout)                                                                             \
    F(MHD_get_daemon_info)                                                                         \
    F(MHD_lookup_connection_value)                                                                 \
    F(MHD_create_response_from_buffer)                                                             \
    F(MHD_add_response_header)                                                                     \
    F(MHD_queue_response)                                                                          \
    F(MHD_get_connection_info)                                                                     \
    F(MHD_basic_auth_get_username_password)                                                        \
    F(MHD_free)                                                                                    \
    F(MHD_destroy_response)

ATH_LATE_NOTE(microhttpd_note, "libmicrohttpd.so.12", "required");

static struct {
    MHD_FUNCTIONS(ATH_LATE_MEMBER)
} mhd;

/* A connection on its way. */
struct connection {
    const struct ath_metrics_http *http;
    uint64_t deadline_ms; /* of the current step */
    uint64_t last_ms;     /* a request after this time is the last one */
    uint64_t page_ms;     /* of the last page; 0: there was none */
    int fd;
    bool is_answering, is_closed;
    char *authorization; /* the header with the password that was right; NULL: none yet */
};

static const char *header(struct MHD_Connection *of, const char *name)
{
    return mhd.MHD_lookup_connection_value(of, MHD_HEADER_KIND, name);
}

static enum MHD_Result answer(struct connection *connection, struct MHD_Connection *to,
                              unsigned int code, const char *type, const char *body, size_t length)
{
    struct MHD_Response *response =
        mhd.MHD_create_response_from_buffer(length, (void *)body, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    mhd.MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        mhd.MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (code == MHD_HTTP_UNAUTHORIZED)
        mhd.MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                    "Basic realm=\"aitherion metrics\"");
    if (code != MHD_HTTP_OK || ath_now_ms() >= connection->last_ms)
        mhd.MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    connection->deadline_ms = ath_now_ms() + (uint64_t)connection->http->answer_ms;
    connection->is_answering = true;
    enum MHD_Result result = mhd.MHD_queue_response(to, code, response);
    mhd.MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct connection *connection, struct MHD_Connection *to,
                              unsigned int code, const char *message)
{
    return answer(connection, to, code, "text/plain; charset=utf-8", message, strlen(message));
}

/* A connection that asks without pause gets its pages slowly. */
static void pause_between_pages(struct connection *connection)
{
    uint64_t now_ms = ath_now_ms(), next_ms = connection->page_ms + PAGE_MS;
    if (connection->page_ms && now_ms < next_ms)
        (void)poll(NULL, 0, (int)(next_ms - now_ms));
    connection->page_ms = ath_now_ms();
}

static enum MHD_Result answer_page(struct connection *connection, struct MHD_Connection *to)
{
    ATH_AUTO(ath_text) body = { 0 };
    enum ath_metrics_format format = ath_metrics_format_of(header(to, MHD_HTTP_HEADER_ACCEPT));
    pause_between_pages(connection);
    if (connection->http->make(connection->http->context, format, &body))
        return refuse(connection, to, MHD_HTTP_SERVICE_UNAVAILABLE,
                      "the runtimes cannot be listed; the log of this server says why\n");
    return answer(connection, to, MHD_HTTP_OK, ath_metrics_content_type(format),
                  body.data ? body.data : "", body.length);
}

static bool has_body(struct MHD_Connection *request)
{
    const char *length = header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
           (length && strcmp(length, "0") != 0);
}

/* ---- who may read ---- */

/* Returns whether the client has a certificate that one of the authorities has signed. */
static bool has_certificate(struct MHD_Connection *of)
{
    return ath_metrics_tls_is_signed(
        mhd.MHD_get_connection_info(of, MHD_CONNECTION_INFO_GNUTLS_SESSION));
}

/* Compares two texts in a time that depends on their lengths only. */
static bool is_same_secret(const char *a, const char *b)
{
    size_t length = strlen(a);
    unsigned int difference = 0;
    if (strlen(b) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned int)((unsigned char)a[i] ^ (unsigned char)b[i]);
    return !difference;
}

/* Checks the password of a request. A wrong one costs this process its time, at the lowest
 * priority, and the connection ends: other connections have processes of their own. */
static bool has_password(struct connection *connection, struct MHD_Connection *of)
{
    const char *text = header(of, MHD_HTTP_HEADER_AUTHORIZATION);
    char *password = NULL, *user;
    if (text && connection->authorization && is_same_secret(text, connection->authorization))
        return true;
    user = mhd.MHD_basic_auth_get_username_password(of, &password);
    (void)setpriority(PRIO_PROCESS, 0, 19);
    bool is_right =
        text && user && password && ath_metrics_web_knows(connection->http->web, user, password);
    if (is_right && !connection->authorization)
        connection->authorization = ath_xstrdup(text);
    mhd.MHD_free(user);
    mhd.MHD_free(password);
    return is_right;
}

/* Called for the head of a request, and again at its end. A refusal at the first call ends the
 * connection, so a body is never read. */
static enum MHD_Result take_request(void *context, struct MHD_Connection *from, const char *url,
                                    const char *method, const char *version, const char *body,
                                    size_t *body_bytes, void **state)
{
    struct connection *connection = context;
    const struct ath_metrics_web *web = connection->http->web;
    bool is_head_only = !strcmp(method, MHD_HTTP_METHOD_HEAD);
    (void)version;
    (void)body;
    *body_bytes = 0;
    if (*state)
        return answer_page(connection, from);
    if (web && web->authorities && !has_certificate(from))
        return refuse(connection, from, MHD_HTTP_FORBIDDEN,
                      "a certificate of the client is wanted\n");
    if (web && web->user_count && !has_password(connection, from))
        return refuse(connection, from, MHD_HTTP_UNAUTHORIZED,
                      "a user and a password are wanted\n");
    if (!is_head_only && strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return refuse(connection, from, MHD_HTTP_METHOD_NOT_ALLOWED,
                      "only GET and HEAD are answered here\n");
    if (strcmp(url, "/metrics") != 0)
        return refuse(connection, from, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics\n");
    if (has_body(from))
        return refuse(connection, from, MHD_HTTP_BAD_REQUEST, "a request has no body here\n");
    *state = connection;
    return MHD_YES;
}

static void note_completed(void *context, struct MHD_Connection *of, void **state,
                           enum MHD_RequestTerminationCode code)
{
    struct connection *connection = context;
    (void)of;
    (void)code;
    *state = NULL;
    connection->is_answering = false;
    connection->deadline_ms = ath_now_ms() + (uint64_t)connection->http->idle_ms;
}

static void note_connection(void *context, struct MHD_Connection *of, void **state,
                            enum MHD_ConnectionNotificationCode code)
{
    struct connection *connection = context;
    (void)of;
    (void)state;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        connection->is_closed = true;
}

/* ---- the daemon ---- */

static struct MHD_Daemon *start(struct connection *connection)
{
    struct MHD_OptionItem options[ATH_METRICS_TLS_OPTIONS];
    unsigned int tls = ath_metrics_tls_options(connection->http->web, options);
    return mhd.MHD_start_daemon((unsigned int)(MHD_USE_NO_LISTEN_SOCKET | MHD_USE_EPOLL) | tls, 0,
                                NULL, NULL, take_request, connection, MHD_OPTION_NOTIFY_COMPLETED,
                                note_completed, connection, MHD_OPTION_NOTIFY_CONNECTION,
                                note_connection, connection, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                (size_t)CONNECTION_BYTES, MHD_OPTION_ARRAY, options,
                                MHD_OPTION_END);
}

static int load_libraries(const struct ath_metrics_web *web, struct ath_err *err)
{
    static const char *const names[] = { MHD_FUNCTIONS(ATH_LATE_NAME) NULL };
    int status =
        mhd.MHD_run ? 0 : ath_late_load("libmicrohttpd.so.12", "libmicrohttpd12", names, &mhd, err);
    return status ? status : ath_metrics_tls_load(web, err);
}

/* Tries the certificate and its key. */
static int try_tls(const struct ath_metrics_web *web, struct ath_err *err)
{
    const struct ath_metrics_http http = { .web = web };
    struct connection connection = { .http = &http };
    struct MHD_Daemon *daemon = start(&connection);
    if (!daemon)
        return ath_err_set(err, -EINVAL, ATH_E_WEB, "%s",
                           _("cert_file, key_file or client_ca_file holds no certificate or key "
                             "that fit each other"));
    mhd.MHD_stop_daemon(daemon);
    return 0;
}

int ath_metrics_http_load(const struct ath_metrics_web *web, struct ath_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int status = load_libraries(web, err);
    pthread_mutex_unlock(&lock);
    return !status && web && web->certificate ? try_tls(web, err) : status;
}

/* ---- a connection ---- */

/* Waits until the daemon has something to do, or the deadline. Returns false if the peer has ended
 * its direction between two requests: the daemon does not see an end that came with a request. */
static bool await(struct MHD_Daemon *daemon, const struct connection *connection, uint64_t wait_ms)
{
    const union MHD_DaemonInfo *info = mhd.MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd both[] = {
        { .fd = info ? info->epoll_fd : -1, .events = POLLIN },
        { .fd = connection->is_answering ? -1 : connection->fd, .events = POLLRDHUP },
    };
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    if (mhd.MHD_get_timeout(daemon, &timeout_ms) == MHD_YES && timeout_ms < wait_ms)
        wait_ms = timeout_ms;
    (void)poll(both, ATH_COUNT(both), (int)wait_ms);
    return !wait_ms || both[0].revents || !both[1].revents;
}

static void run(struct MHD_Daemon *daemon, const struct connection *connection)
{
    for (;;) {
        mhd.MHD_run(daemon);
        uint64_t now_ms = ath_now_ms();
        if (connection->is_closed || now_ms >= connection->deadline_ms ||
            !await(daemon, connection, connection->deadline_ms - now_ms))
            return;
    }
}

void ath_metrics_http_serve(int fd, const struct ath_metrics_http *http)
{
    uint64_t now_ms = ath_now_ms();
    struct connection connection = { .http = http,
                                     .fd = fd,
                                     .deadline_ms = now_ms + (uint64_t)http->request_ms,
                                     .last_ms = now_ms + (uint64_t)http->connection_ms };
    struct sockaddr_storage peer = { 0 };
    socklen_t length = sizeof peer;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the daemon closes it */
    struct MHD_Daemon *daemon = own < 0 ? NULL : start(&connection);
    if (!daemon) {
        if (own >= 0)
            close(own);
        return;
    }
    (void)getpeername(fd, (struct sockaddr *)&peer, &length);
    if (mhd.MHD_add_connection(daemon, own, (struct sockaddr *)&peer, length) == MHD_YES)
        run(daemon, &connection);
    mhd.MHD_stop_daemon(daemon);
    free(connection.authorization);
}
