/* Sends calls to the API server by libcurl, with the certificate and the token of the program. */
#include "config.h"

#include "kubernetes/client.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/curl.h"
#include "base/file.h"
#include "base/i18n.h"

enum {
    TOKEN_MAX = 64 << 10,
    TOKEN_MS = 60 * 1000,
    CONNECT_MS = 5000,
    OVER_MS = 20,         /* between two questions whether a call is over */
    FAULT_MAX = 64 << 10, /* of the body of an error */
    HANDLES_MAX = 64,     /* idle ones that are kept, with their connections */
    RETRY_AFTER_MAX = 3600,
};

struct ath_kube_client {
    struct ath_kube_api api;
    const struct ath_curl *curl;
    struct ath_kube_server server;
    pthread_mutex_t lock; /* guards all below */
    CURL *handles[HANDLES_MAX];
    size_t handle_count;
    char *token; /* of the file */
    uint64_t token_ms;
};

/* A call on its way. */
struct transfer {
    struct ath_kube_client *client;
    const struct ath_kube_call *call;
    struct ath_kube_reply *reply;
    CURL *easy;
    struct curl_slist *headers;
    struct ath_text line; /* the beginning of a line */
    bool is_too_large, is_ended;
};

static void transfer_free(struct transfer *transfer)
{
    struct ath_kube_client *client = transfer->client;

    client->curl->curl_slist_free_all(transfer->headers);
    ath_text_free(&transfer->line);
    pthread_mutex_lock(&client->lock);
    bool is_kept = client->handle_count < HANDLES_MAX;
    if (is_kept)
        client->handles[client->handle_count++] = transfer->easy;
    pthread_mutex_unlock(&client->lock);
    if (!is_kept)
        client->curl->curl_easy_cleanup(transfer->easy);
}

static CURL *take_handle(struct ath_kube_client *client)
{
    CURL *easy = NULL;

    pthread_mutex_lock(&client->lock);
    if (client->handle_count)
        easy = client->handles[--client->handle_count];
    pthread_mutex_unlock(&client->lock);
    if (!easy)
        return client->curl->curl_easy_init();
    client->curl->curl_easy_reset(easy);
    return easy;
}

/* ---- the token ---- */

/* Reads the file again if it is time. A file that cannot be read leaves the old token: kubelet
 * replaces it at four fifths of its life. */
static void refresh_token(struct ath_kube_client *client)
{
    char *text = NULL;
    size_t length;

    if (!client->server.token_file ||
        (client->token && ath_now_ms() - client->token_ms < TOKEN_MS) ||
        ath_file_read(client->server.token_file, TOKEN_MAX, &text, &length, NULL))
        return;
    text[strcspn(text, "\r\n")] = '\0';
    free(client->token);
    client->token = text;
    client->token_ms = ath_now_ms();
}

/* Returns the header with the token, or NULL. The caller frees it. */
static char *authorization_of(struct ath_kube_client *client)
{
    pthread_mutex_lock(&client->lock);
    refresh_token(client);
    const char *token = client->server.token ? client->server.token : client->token;
    char *header = token ? ath_xasprintf("Authorization: Bearer %s", token) : NULL;
    pthread_mutex_unlock(&client->lock);
    return header;
}

/* ---- the answer ---- */

static long status_of(const struct transfer *transfer)
{
    return ath_curl_number(transfer->client->curl, transfer->easy, CURLINFO_RESPONSE_CODE);
}

/* Keeps bytes of the body, or of a line. Returns false if they are too many. */
static bool keep(struct transfer *transfer, struct ath_text *text, const char *bytes, size_t length,
                 size_t max)
{
    transfer->is_too_large = length > max || text->length > max - length;
    if (!transfer->is_too_large)
        ath_text_add_bytes(text, bytes, length);
    return !transfer->is_too_large;
}

/* Gives whole lines to the caller. Returns false to end the transfer. */
static bool take_lines(struct transfer *transfer, const char *bytes, size_t length)
{
    const struct ath_kube_call *call = transfer->call;

    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) : length;
        if (!keep(transfer, &transfer->line, bytes, part, call->answer_max))
            return false;
        if (!end)
            return true;
        transfer->is_ended =
            call->on_line(call->context, transfer->line.data ? transfer->line.data : "",
                          transfer->line.length) != 0;
        if (transfer->is_ended)
            return false;
        transfer->line.length = 0;
        bytes += part + 1;
        length -= part + 1;
    }
    return true;
}

static size_t take_body(char *bytes, size_t one, size_t count, void *context)
{
    struct transfer *transfer = context;
    const struct ath_kube_call *call = transfer->call;
    size_t length = one * count;
    bool is_fine = status_of(transfer) < 300;
    bool goes_on = true;

    if (call->on_line && is_fine)
        goes_on = take_lines(transfer, bytes, length);
    else
        goes_on = keep(transfer, &transfer->reply->body, bytes, length,
                       is_fine ? call->answer_max : FAULT_MAX);
    return goes_on ? length : 0;
}

/* ---- the call ---- */

static void add_header(struct transfer *transfer, const char *line)
{
    struct curl_slist *headers = transfer->client->curl->curl_slist_append(transfer->headers, line);
    if (!headers)
        abort();
    transfer->headers = headers;
}

/* Does what libcurl does, and keeps child processes from inheriting the socket. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void set_tls(const struct transfer *transfer)
{
    const struct ath_curl *curl = transfer->client->curl;
    const struct ath_kube_server *server = &transfer->client->server;

    ath_curl_set_number(curl, transfer->easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    if (server->ca_file)
        ath_curl_set_text(curl, transfer->easy, CURLOPT_CAINFO, server->ca_file);
    if (server->certificate_file) {
        ath_curl_set_text(curl, transfer->easy, CURLOPT_SSLCERT, server->certificate_file);
        ath_curl_set_text(curl, transfer->easy, CURLOPT_SSLKEY, server->key_file);
    }
}

static void set_request(struct transfer *transfer)
{
    const struct ath_curl *curl = transfer->client->curl;
    const struct ath_kube_call *call = transfer->call;
    CURL *easy = transfer->easy;
    ath_auto_free char *url = ath_xasprintf("%s%s", transfer->client->server.url, call->path);
    ath_auto_free char *authorization = authorization_of(transfer->client);

    ath_curl_set_text(curl, easy, CURLOPT_URL, url);
    add_header(transfer, "Accept: application/json");
    if (authorization)
        add_header(transfer, authorization);
    if (call->body) {
        /* Do not wait for "100 Continue". */
        add_header(transfer, "Expect:");
        ath_auto_free char *type = ath_xasprintf(
            "Content-Type: %s", call->body_type ? call->body_type : "application/json");
        add_header(transfer, type);
        ath_curl_set_size(curl, easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(call->body));
        ath_curl_set_data(curl, easy, CURLOPT_POSTFIELDS, (void *)call->body);
    }
    ath_curl_set_text(curl, easy, CURLOPT_CUSTOMREQUEST, call->method);
    ath_curl_set_data(curl, easy, CURLOPT_HTTPHEADER, transfer->headers);
    ath_curl_set_number(curl, easy, CURLOPT_NOSIGNAL, 1);
    ath_curl_set_number(curl, easy, CURLOPT_TCP_KEEPALIVE, 1);
    ath_curl_set_number(curl, easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    ath_curl_set_number(curl, easy, CURLOPT_TIMEOUT_MS, call->timeout_ms);
    ath_curl_set_transfer(curl, easy, CURLOPT_WRITEFUNCTION, take_body);
    ath_curl_set_data(curl, easy, CURLOPT_WRITEDATA, transfer);
    ath_curl_set_opener(curl, easy, open_socket);
}

static int retry_after_of(const struct transfer *transfer)
{
    curl_off_t seconds = 0;
    if ((transfer->client->curl->curl_easy_getinfo)(transfer->easy, CURLINFO_RETRY_AFTER,
                                                    &seconds) != CURLE_OK ||
        seconds < 0)
        return 0;
    return seconds < RETRY_AFTER_MAX ? (int)seconds : RETRY_AFTER_MAX;
}

static int finish(const struct transfer *transfer, CURLcode result, struct ath_err *err)
{
    const struct ath_kube_client *client = transfer->client;

    transfer->reply->status = status_of(transfer);
    transfer->reply->retry_after_s = retry_after_of(transfer);
    if (result == CURLE_OK || transfer->is_ended)
        return 0;
    if (transfer->is_too_large)
        return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                           "the answer of '%s' to '%.200s' is too large", client->server.url,
                           transfer->call->path);
    return ath_err_set(err, -EIO, ATH_E_PEER_UNREACHABLE, "the API server '%s' does not answer: %s",
                       client->server.url, client->curl->curl_easy_strerror(result));
}

/* Makes a call that is_over may end. A progress function of libcurl would be asked only once a
 * second while nothing comes. */
static CURLcode perform_until_over(struct transfer *transfer)
{
    const struct ath_curl *curl = transfer->client->curl;
    CURLM *multi = curl->curl_multi_init();
    CURLcode result = CURLE_OUT_OF_MEMORY;
    int count = 1;

    if (!multi)
        return result;
    curl->curl_multi_add_handle(multi, transfer->easy);
    while (count && !transfer->is_ended) {
        result = CURLE_ABORTED_BY_CALLBACK;
        if (curl->curl_multi_perform(multi, &count) != CURLM_OK)
            break;
        const CURLMsg *message = count ? NULL : curl->curl_multi_info_read(multi, &count);
        if (message)
            result = message->data.result;
        else if (transfer->call->is_over(transfer->call->context))
            transfer->is_ended = true;
        else
            curl->curl_multi_poll(multi, NULL, 0, OVER_MS, NULL);
    }
    curl->curl_multi_remove_handle(multi, transfer->easy);
    curl->curl_multi_cleanup(multi);
    return result;
}

static int call_server(void *self, const struct ath_kube_call *call, struct ath_kube_reply *out,
                       struct ath_err *err)
{
    struct ath_kube_client *client = self;
    struct transfer transfer = { .client = client, .call = call, .reply = out };

    transfer.easy = take_handle(client);
    if (!transfer.easy)
        return ath_err_set(err, -ENOMEM, ATH_E_INTERNAL, "libcurl has no memory");
    set_request(&transfer);
    set_tls(&transfer);
    CURLcode result = call->is_over ? perform_until_over(&transfer)
                                    : client->curl->curl_easy_perform(transfer.easy);
    int status = finish(&transfer, result, err);
    transfer_free(&transfer);
    return status;
}

/* A token is a secret, so it never travels in the clear. */
static int check_server(const struct ath_kube_server *server, struct ath_err *err)
{
    bool is_plain = ath_starts_with(server->url, "http://");

    if (!is_plain && !ath_starts_with(server->url, "https://"))
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID, _("'%s' is no URL of an API server"),
                           server->url);
    if (is_plain && (server->token || server->token_file))
        return ath_err_set(err, -EINVAL, ATH_E_NOT_ENCRYPTED,
                           _("a token is not sent to '%s', which is not encrypted"), server->url);
    return 0;
}

int ath_kube_client_make(struct ath_kube_server *server, struct ath_kube_client **out,
                         struct ath_err *err)
{
    int status = check_server(server, err);
    const struct ath_curl *curl = status ? NULL : ath_curl_load(err);

    if (!curl)
        return status ? status : -ENOENT;
    struct ath_kube_client *client = ath_xalloc(sizeof *client);
    pthread_mutex_init(&client->lock, NULL);
    client->curl = curl;
    client->server = *server;
    *server = (struct ath_kube_server){ 0 };
    client->api = (struct ath_kube_api){ .call = call_server, .self = client };
    *out = client;
    return 0;
}

const struct ath_kube_api *ath_kube_client_api(struct ath_kube_client *client)
{
    return &client->api;
}
