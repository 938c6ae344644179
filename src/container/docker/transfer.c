/* Sends a request with libcurl, and receives its answer. */
#include "config.h"

#include "container/docker/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "container/docker/fault.h"

enum { CONNECT_TIMEOUT_MS = 10 * 1000, HEADERS_MAX = 64 << 10, FAULT_MAX = 64 << 10 };

/* ---- receiving ---- */

/* Ends the transfer from within a callback: libcurl takes 0 as a failed write. */
static size_t give_up(struct ath_docker_transfer *transfer, int status)
{
    transfer->is_enough = status == ATH_DOCKER_ENOUGH;
    transfer->status = status < 0 ? status : 0;
    return 0;
}

/* Returns the value in a header line "Name: value\r\n", which has no NUL; NULL for another name. */
static const char *header_value(const char *line, size_t length, const char *name,
                                size_t *out_length)
{
    size_t start = strlen(name);
    if (length <= start || strncasecmp(line, name, start) || line[start] != ':')
        return NULL;
    for (start++; start < length && line[start] == ' ';)
        start++;
    while (length > start && strchr(" \r\n", line[length - 1]))
        length--;
    *out_length = length - start;
    return line + start;
}

static size_t take_header(char *line, size_t one, size_t length, void *context)
{
    static const char frames[] = "application/vnd.docker.multiplexed-stream";
    struct ath_docker_transfer *transfer = context;
    size_t size;

    transfer->header_bytes += length * one;
    if (transfer->header_bytes > HEADERS_MAX)
        return give_up(transfer, ath_err_set(&transfer->err, -EBADMSG, ATH_E_ENGINE_INVALID,
                                             _("the answer begins with more than %d bytes of "
                                               "headers"),
                                             HEADERS_MAX));
    transfer->has_headers = *line == '\r' || *line == '\n';
    const char *value = header_value(line, length, "Api-Version", &size);
    if (value)
        snprintf(transfer->api, sizeof transfer->api, "%.*s", (int)size, value);
    /* Since API 1.42 the Content-Type tells whether the answer comes in frames. */
    value = header_value(line, length, "Content-Type", &size);
    if (value && size == sizeof frames - 1 && !strncasecmp(value, frames, size))
        transfer->frames.is_raw = false;
    return length;
}

static size_t keep(struct ath_docker_transfer *transfer, const char *bytes, size_t length)
{
    size_t most = transfer->request->answer_max;
    if (length > most - transfer->answer.length)
        return give_up(transfer, ath_err_set(&transfer->err, -EBADMSG, ATH_E_ENGINE_INVALID,
                                             _("the answer is larger than %zu bytes"), most));
    ath_text_add_bytes(&transfer->answer, bytes, length);
    return length;
}

/* Keeps only the beginning of an error's body. */
static size_t keep_fault(struct ath_docker_transfer *transfer, const char *bytes, size_t length)
{
    size_t room = FAULT_MAX - transfer->answer.length;
    ath_text_add_bytes(&transfer->answer, bytes, length < room ? length : room);
    return length;
}

/* Returns the error in a progress line: the daemon reports it long after HTTP 200. NULL for
 * none. */
static const char *fault_in(const json_t *line)
{
    const char *words =
        json_string_value(json_object_get(json_object_get(line, "errorDetail"), "message"));
    return words ? words : json_string_value(json_object_get(line, "error"));
}

static int take_line(void *context, json_t *value, struct ath_err *err)
{
    const struct ath_docker_request *request = ((struct ath_docker_transfer *)context)->request;
    const char *words = request->shape == ATH_DOCKER_PROGRESS ? fault_in(value) : NULL;
    if (words)
        return ath_err_set(err, -EIO, ATH_E_ENGINE_ERROR, _("Docker says: %s"), words);
    return request->on_json ? request->on_json(request->context, value, err) : ATH_DOCKER_GO_ON;
}

static int take_output(void *context, enum ath_docker_stream stream, const char *bytes,
                       size_t length, struct ath_err *err)
{
    const struct ath_docker_request *request = ((struct ath_docker_transfer *)context)->request;
    return request->on_output ? request->on_output(request->context, stream, bytes, length, err)
                              : ATH_DOCKER_GO_ON;
}

static long http_status_of(const struct ath_docker_transfer *transfer)
{
    return ath_curl_number(transfer->curl, transfer->easy, CURLINFO_RESPONSE_CODE);
}

static size_t take_body(char *bytes, size_t one, size_t count, void *context)
{
    struct ath_docker_transfer *transfer = context;
    size_t length = one * count;
    int status = 0;

    if (http_status_of(transfer) >= 300)
        return keep_fault(transfer, bytes, length);
    switch (transfer->request->shape) {
    case ATH_DOCKER_NOTHING:
        return length;
    case ATH_DOCKER_OBJECT:
    case ATH_DOCKER_ARRAY:
        return keep(transfer, bytes, length);
    case ATH_DOCKER_JSON_LINES:
    case ATH_DOCKER_PROGRESS:
        status = ath_docker_lines_feed(&transfer->lines, bytes, length, take_line, transfer,
                                       &transfer->err);
        break;
    case ATH_DOCKER_OUTPUT:
        status = ath_docker_frames_feed(&transfer->frames, bytes, length, take_output, transfer,
                                        &transfer->err);
        break;
    }
    return status ? give_up(transfer, status) : length;
}

/* ---- sending ---- */

static ssize_t fill(struct ath_docker_transfer *transfer, char *buffer, size_t size)
{
    const struct ath_docker_request *request = transfer->request;
    ssize_t length = request->upload(request->context, buffer, size, &transfer->err);
    if (length < 0)
        return length;
    transfer->uploaded_bytes += length;
    bool is_end = length == 0;
    if (request->upload_bytes != ATH_UNKNOWN &&
        (transfer->uploaded_bytes > request->upload_bytes ||
         (is_end && transfer->uploaded_bytes < request->upload_bytes)))
        return ath_err_set(&transfer->err, -EIO, ATH_E_IO,
                           _("%lld bytes were announced, and %lld are available"),
                           (long long)request->upload_bytes, (long long)transfer->uploaded_bytes);
    return length;
}

static size_t give_upload(char *buffer, size_t one, size_t count, void *context)
{
    struct ath_docker_transfer *transfer = context;
    ssize_t length = fill(transfer, buffer, one * count);
    if (length >= 0)
        return (size_t)length;
    give_up(transfer, (int)length);
    return CURL_READFUNC_ABORT;
}

/* Does what libcurl does, and keeps child processes from inheriting the socket. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void add_header(struct ath_docker_transfer *transfer, const char *line)
{
    struct curl_slist *headers = transfer->curl->curl_slist_append(transfer->headers, line);
    if (!headers)
        abort();
    transfer->headers = headers;
}

static void set_content(struct ath_docker_transfer *transfer)
{
    const struct ath_curl *curl = transfer->curl;
    const struct ath_docker_request *request = transfer->request;
    CURL *easy = transfer->easy;

    ath_curl_set_number(curl, easy, CURLOPT_POST, 1);
    /* Do not wait for "100 Continue". */
    add_header(transfer, "Expect:");
    if (request->upload) {
        add_header(transfer, "Content-Type: application/x-tar");
        ath_curl_set_transfer(curl, easy, CURLOPT_READFUNCTION, give_upload);
        ath_curl_set_data(curl, easy, CURLOPT_READDATA, transfer);
        if (request->upload_bytes == ATH_UNKNOWN)
            add_header(transfer, "Transfer-Encoding: chunked");
        else
            ath_curl_set_size(curl, easy, CURLOPT_POSTFIELDSIZE_LARGE, request->upload_bytes);
        return;
    }
    transfer->body = request->body ? json_dumps(request->body, JSON_COMPACT) : ath_xstrdup("");
    if (!transfer->body)
        abort();
    add_header(transfer, request->body ? "Content-Type: application/json" : "Content-Type:");
    ath_curl_set_size(curl, easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(transfer->body));
    ath_curl_set_data(curl, easy, CURLOPT_POSTFIELDS, transfer->body);
}

static void set_host(struct ath_docker_transfer *transfer, const char *api)
{
    const struct ath_curl *curl = transfer->curl;
    const struct ath_docker_host *host = transfer->host;
    const struct ath_docker_request *request = transfer->request;
    CURL *easy = transfer->easy;

    ath_auto_free char *url = request->is_unversioned
                                  ? ath_xasprintf("%s%s", host->base, request->path)
                                  : ath_xasprintf("%s/v%s%s", host->base, api, request->path);
    ath_curl_set_text(curl, easy, CURLOPT_URL, url);
    ath_curl_set_number(curl, easy, CURLOPT_PATH_AS_IS, 1);
    ath_curl_set_text(curl, easy, CURLOPT_PROXY, "");
    if (host->socket)
        ath_curl_set_text(curl, easy, CURLOPT_UNIX_SOCKET_PATH, host->socket);
    if (host->ca)
        ath_curl_set_text(curl, easy, CURLOPT_CAINFO, host->ca);
    if (host->cert) {
        ath_curl_set_text(curl, easy, CURLOPT_SSLCERT, host->cert);
        ath_curl_set_text(curl, easy, CURLOPT_SSLKEY, host->key);
    }
}

static void set_limits(struct ath_docker_transfer *transfer)
{
    const struct ath_curl *curl = transfer->curl;
    const struct ath_docker_request *request = transfer->request;
    CURL *easy = transfer->easy;

    ath_curl_set_number(curl, easy, CURLOPT_NOSIGNAL, 1);
    ath_curl_set_number(curl, easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    ath_curl_set_number(curl, easy, CURLOPT_TIMEOUT_MS, request->timeout_ms);
    ath_curl_set_number(curl, easy, CURLOPT_LOW_SPEED_TIME,
                        (request->idle_timeout_ms + 999) / 1000);
    ath_curl_set_number(curl, easy, CURLOPT_LOW_SPEED_LIMIT, request->idle_timeout_ms ? 1 : 0);
    ath_curl_set_number(curl, easy, CURLOPT_TCP_KEEPALIVE, 1);
    /* A reused connection may have died, and libcurl would then send the request again. */
    ath_curl_set_number(curl, easy, CURLOPT_FRESH_CONNECT, 1);
    ath_curl_set_number(curl, easy, CURLOPT_FORBID_REUSE, 1);
    ath_curl_set_number(curl, easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    ath_curl_set_number(curl, easy, CURLOPT_HTTP09_ALLOWED, 0);
}

void ath_docker_transfer_begin(struct ath_docker_transfer *transfer, const struct ath_curl *curl,
                               const struct ath_docker_host *host, const char *api)
{
    CURL *easy = curl->curl_easy_init();
    if (!easy)
        abort();
    transfer->curl = curl;
    transfer->host = host;
    transfer->easy = easy;
    transfer->frames.is_raw = transfer->request->is_raw;

    ath_curl_set_data(curl, easy, CURLOPT_PRIVATE, transfer);
    ath_curl_set_data(curl, easy, CURLOPT_ERRORBUFFER, transfer->curl_words);
    ath_curl_set_text(curl, easy, CURLOPT_USERAGENT, "aitherion/" PACKAGE_VERSION);
    ath_curl_set_opener(curl, easy, open_socket);
    ath_curl_set_transfer(curl, easy, CURLOPT_HEADERFUNCTION, take_header);
    ath_curl_set_data(curl, easy, CURLOPT_HEADERDATA, transfer);
    ath_curl_set_transfer(curl, easy, CURLOPT_WRITEFUNCTION, take_body);
    ath_curl_set_data(curl, easy, CURLOPT_WRITEDATA, transfer);
    set_host(transfer, api);
    set_limits(transfer);
    if (!strcmp(transfer->request->method, "POST"))
        set_content(transfer);
    else
        ath_curl_set_text(curl, easy, CURLOPT_CUSTOMREQUEST, transfer->request->method);
    ath_curl_set_data(curl, easy, CURLOPT_HTTPHEADER, transfer->headers);
}

/* ---- making and freeing ---- */

struct ath_docker_transfer *ath_docker_transfer_new(struct ath_docker_request *request,
                                                    ath_docker_done *done, void *context)
{
    struct ath_docker_transfer *transfer = ath_xalloc(sizeof *transfer);
    transfer->request = request;
    transfer->done = done;
    transfer->context = context;
    transfer->due_ms = ath_now_ms() + (uint64_t)request->delay_ms;
    return transfer;
}

void ath_docker_transfer_free(struct ath_docker_transfer *transfer)
{
    if (!transfer)
        return;
    if (transfer->easy) {
        transfer->curl->curl_easy_cleanup(transfer->easy);
        transfer->curl->curl_slist_free_all(transfer->headers);
    }
    free(transfer->body);
    ath_text_free(&transfer->answer);
    ath_docker_lines_free(&transfer->lines);
    ath_docker_frames_free(&transfer->frames);
    ath_docker_request_free(transfer->request);
    free(transfer);
}

/* ---- the result ---- */

static const char *kind_word(enum ath_docker_shape shape)
{
    return shape == ATH_DOCKER_ARRAY ? _("a JSON list") : _("a JSON object");
}

/* 204 and 304 have no content, and Go writes an empty list as null. */
static int read_json(struct ath_docker_transfer *transfer, long http_status, json_t **out)
{
    enum ath_docker_shape shape = transfer->request->shape;
    if (http_status == 204 || http_status == 304)
        return 0;
    json_error_t fault;
    json_auto_t *json =
        json_loadb(transfer->answer.data ? transfer->answer.data : "", transfer->answer.length,
                   JSON_DECODE_ANY | JSON_ALLOW_NUL, &fault);
    if (!json)
        return ath_err_set(&transfer->err, -EBADMSG, ATH_E_ENGINE_INVALID,
                           _("the answer is not JSON: %s"), fault.text);
    if (shape == ATH_DOCKER_ARRAY && json_is_null(json)) {
        *out = json_array();
        return 0;
    }
    if (shape == ATH_DOCKER_ARRAY ? !json_is_array(json) : !json_is_object(json))
        return ath_err_set(&transfer->err, -EBADMSG, ATH_E_ENGINE_INVALID,
                           _("the answer is JSON, but not %s"), kind_word(shape));
    *out = ath_steal(&json);
    return 0;
}

static int read_end(struct ath_docker_transfer *transfer, long http_status, json_t **out)
{
    switch (transfer->request->shape) {
    case ATH_DOCKER_NOTHING:
        return 0;
    case ATH_DOCKER_OBJECT:
    case ATH_DOCKER_ARRAY:
        return read_json(transfer, http_status, out);
    case ATH_DOCKER_JSON_LINES:
    case ATH_DOCKER_PROGRESS:
        return ath_docker_lines_end(&transfer->lines, take_line, transfer, &transfer->err);
    case ATH_DOCKER_OUTPUT:
        return ath_docker_frames_end(&transfer->frames, &transfer->err);
    }
    return 0;
}

static int conclude(struct ath_docker_transfer *transfer, CURLcode code, json_t **out)
{
    const struct ath_docker_request *request = transfer->request;
    long http_status = http_status_of(transfer);
    bool is_refusal = http_status >= 300 && http_status != 304;

    if (transfer->is_enough)
        return 0;
    /* libcurl takes headers that were cut off as an answer without content. */
    if (code == CURLE_OK && !transfer->has_headers)
        code = CURLE_PARTIAL_FILE;
    if (transfer->status)
        return ath_err_wrap(&transfer->err, transfer->status, "%s", request->what);
    /* A daemon may refuse before it has read the whole request, and close the connection. */
    if (is_refusal && (code == CURLE_OK || code == CURLE_SEND_ERROR))
        return ath_docker_fault_http(request, (int)http_status, transfer->answer.data,
                                     transfer->answer.length, &transfer->err);
    if (code != CURLE_OK) {
        const char *words =
            *transfer->curl_words ? transfer->curl_words : transfer->curl->curl_easy_strerror(code);
        int os_errno = (int)ath_curl_number(transfer->curl, transfer->easy, CURLINFO_OS_ERRNO);
        return ath_docker_fault_transfer(transfer->host, request, code, words, os_errno,
                                         &transfer->err);
    }
    int status = read_end(transfer, http_status, out);
    return status < 0 ? ath_err_wrap(&transfer->err, status, "%s", request->what) : 0;
}

void ath_docker_transfer_end(struct ath_docker_transfer *transfer, CURLcode code,
                             struct ath_docker_answer *out)
{
    *out = (struct ath_docker_answer){ .api = transfer->api, .err = &transfer->err };
    out->status = conclude(transfer, code, &out->json);
    out->http_status = (int)http_status_of(transfer);
}
