/* Lists a resource in pages, follows its watch, and hands each object to the cache. */
#include "config.h"

#include "kubernetes/watch.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum {
    PAGE = 500,       /* objects of one answer */
    PAGES_MAX = 1000, /* of a list */
    PAGE_BYTES_MAX = 64 << 20,
    LINE_BYTES_MAX = 4 << 20, /* etcd keeps objects of 1.5 MiB at most */
    VERSION_MAX = 256,
    CONTINUE_MAX = 16 << 10,
    LIST_MS = 60 * 1000,
    WATCH_S = 240,
    WATCH_MS = (WATCH_S + 30) * 1000,
    WAIT_MS = 100, /* after the first failure; then twice as long each time */
    WAIT_MS_MAX = 30 * 1000,
    WAITS = 9,
    UNKNOWN_KIND = 1,
    PATIENCE = 5, /* failures until a list is made again, whatever the reason is */
};

static void forget_version(struct ath_kube_watch *watch)
{
    free(watch->version);
    watch->version = NULL;
}

void ath_kube_watch_free(struct ath_kube_watch *watch)
{
    forget_version(watch);
}

static void set_version(struct ath_kube_watch *watch, const char *version)
{
    char *copy = ath_xstrdup(version);
    free(watch->version);
    watch->version = copy;
}

static const char *version_of(const json_t *object)
{
    return ath_kube_text(json_object_get(object, "metadata"), "resourceVersion", VERSION_MAX);
}

static char *url_of(const struct ath_kube_watch *watch, const char *query)
{
    return ath_xasprintf("%s?%s%s%s", watch->path, query, watch->selector ? "&" : "",
                         watch->selector ? watch->selector : "");
}

/* Fills err for an answer that is an error. */
static int refuse(const struct ath_kube_watch *watch, const struct ath_kube_reply *reply,
                  struct ath_err *err)
{
    ath_auto_free char *message = ath_kube_reply_message(reply);
    return ath_err_set(err, -EPROTO, ATH_E_PEER_FAILED, "the API server refuses '%s': %s",
                       watch->path, message);
}

static int garbled(const struct ath_kube_watch *watch, struct ath_err *err)
{
    return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                       "the answer of the API server about '%s' is not what Kubernetes sends",
                       watch->path);
}

/* Takes an object into the cache. A fault of one object does not end the watch. */
static void take(struct ath_kube_watch *watch, const json_t *object)
{
    if (ath_kube_cache_take(watch->cache, watch->kind, object, NULL))
        watch->faults++;
}

/* ---- lists ---- */

struct page {
    char *next;    /* the rest; NULL after the last page */
    char *version; /* of the list */
};

static void page_free(struct page *page)
{
    free(page->next);
    free(page->version);
    *page = (struct page){ 0 };
}

static int read_page(struct ath_kube_watch *watch, const struct ath_kube_reply *reply,
                     struct page *page, struct ath_err *err)
{
    json_auto_t *list = json_loadb(reply->body.data ? reply->body.data : "", reply->body.length,
                                   JSON_ALLOW_NUL, NULL);
    const json_t *items = json_object_get(list, "items");
    const char *version = version_of(list);
    const char *next = ath_kube_text(json_object_get(list, "metadata"), "continue", CONTINUE_MAX);

    /* Go writes an empty list as null in some answers. */
    if (!version || !(json_is_array(items) || json_is_null(items)))
        return garbled(watch, err);
    for (size_t i = 0; i < json_array_size(items); i++)
        take(watch, json_array_get(items, i));
    page_free(page);
    page->version = ath_xstrdup(version);
    page->next = ath_xstrdup(next);
    return 0;
}

static int fetch_page(struct ath_kube_watch *watch, struct page *page, int *retry_after_s,
                      struct ath_err *err)
{
    ATH_AUTO(ath_text) query = { 0 };
    ATH_AUTO(ath_kube_reply) reply = { 0 };

    ath_text_add(&query, "limit=%d", PAGE);
    if (page->next) {
        ath_text_add(&query, "&continue=");
        ath_kube_add_escaped(&query, page->next);
    }
    ath_auto_free char *url = url_of(watch, query.data);
    const struct ath_kube_call call = {
        .method = "GET", .path = url, .answer_max = PAGE_BYTES_MAX, .timeout_ms = LIST_MS
    };
    int status = watch->api->call(watch->api->self, &call, &reply, err);
    *retry_after_s = reply.retry_after_s;
    if (!status && reply.status == 404 && watch->is_optional)
        return UNKNOWN_KIND;
    if (!status && reply.status != 200)
        status = refuse(watch, &reply, err);
    return status ? status : read_page(watch, &reply, page, err);
}

static int list(struct ath_kube_watch *watch, int *retry_after_s, struct ath_err *err)
{
    ATH_AUTO(page) page = { 0 };
    int status = 0;

    ath_kube_cache_begin(watch->cache, watch->kind);
    for (int i = 0; !status && (!i || page.next); i++)
        status = i < PAGES_MAX ? fetch_page(watch, &page, retry_after_s, err) : garbled(watch, err);
    if (status && status != UNKNOWN_KIND)
        return status;
    ath_kube_cache_end(watch->cache, watch->kind);
    watch->lists++;
    if (!status)
        set_version(watch, page.version);
    return status;
}

/* ---- watches ---- */

struct stream {
    struct ath_kube_watch *watch;
    size_t line_count;
    int status; /* of the line that ended the call */
    struct ath_err *err;
};

/* The server ends a watch with an error, whose object is a Status. */
static int take_error(struct ath_kube_watch *watch, const json_t *object, struct ath_err *err)
{
    const char *message = ath_kube_text(object, "message", LINE_BYTES_MAX);
    if (json_integer_value(json_object_get(object, "code")) == 410)
        forget_version(watch);
    return ath_err_set(err, -EPROTO, ATH_E_PEER_FAILED,
                       "the API server ends the watch of '%s': %.512s", watch->path,
                       message ? message : "it gives no reason");
}

static int take_event(struct ath_kube_watch *watch, const json_t *event, struct ath_err *err)
{
    const char *type = ath_kube_text(event, "type", 32);
    const json_t *object = json_object_get(event, "object");

    if (!type || !json_is_object(object))
        return garbled(watch, err);
    if (!strcmp(type, "ERROR"))
        return take_error(watch, object, err);
    const char *version = version_of(object);
    if (!version)
        return garbled(watch, err);
    if (!strcmp(type, "ADDED") || !strcmp(type, "MODIFIED"))
        take(watch, object);
    else if (!strcmp(type, "DELETED"))
        ath_kube_cache_drop(watch->cache, watch->kind, object);
    else if (strcmp(type, "BOOKMARK") != 0)
        return garbled(watch, err);
    watch->events++;
    set_version(watch, version);
    return 0;
}

static int take_line(void *context, const char *line, size_t length)
{
    struct stream *stream = context;
    json_auto_t *event = NULL;

    if (!length)
        return 0;
    event = json_loadb(line, length, JSON_ALLOW_NUL, NULL);
    stream->status =
        event ? take_event(stream->watch, event, stream->err) : garbled(stream->watch, stream->err);
    stream->line_count += !stream->status;
    return stream->status;
}

static bool is_list_wanted(void *context)
{
    const struct ath_kube_watch *watch = ((const struct stream *)context)->watch;
    return ath_kube_cache_wants_list(watch->cache, watch->kind);
}

static int follow(struct ath_kube_watch *watch, int *retry_after_s, struct ath_err *err)
{
    ATH_AUTO(ath_text) query = { 0 };
    ATH_AUTO(ath_kube_reply) reply = { 0 };
    struct stream stream = { .watch = watch, .err = err };

    ath_text_add(&query, "watch=1&timeoutSeconds=%d%s&resourceVersion=", WATCH_S,
                 watch->has_no_bookmarks ? "" : "&allowWatchBookmarks=true");
    ath_kube_add_escaped(&query, watch->version);
    ath_auto_free char *url = url_of(watch, query.data);
    const struct ath_kube_call call = { .method = "GET",
                                        .path = url,
                                        .answer_max = LINE_BYTES_MAX,
                                        .timeout_ms = WATCH_MS,
                                        .on_line = take_line,
                                        .is_over = is_list_wanted,
                                        .context = &stream };
    int status = watch->api->call(watch->api->self, &call, &reply, err);
    *retry_after_s = reply.retry_after_s;
    if (stream.line_count)
        watch->failures = 0;
    if (stream.status)
        return stream.status;
    if (is_list_wanted(&stream))
        return 0;
    if (status || reply.status == 200)
        return status ? status : (stream.line_count ? 0 : 1);
    /* etcd 3.4 cannot send bookmarks, and the server then answers 500. */
    if (reply.status == 500)
        watch->has_no_bookmarks = true;
    if (reply.status == 410 || reply.status == 400)
        forget_version(watch);
    return refuse(watch, &reply, err);
}

/* ---- steps ---- */

static unsigned int wait_after(struct ath_kube_watch *watch, int retry_after_s)
{
    unsigned int wait_ms = WAIT_MS_MAX, wished_ms = 0;

    if (watch->failures < WAITS)
        wait_ms = (unsigned int)WAIT_MS << watch->failures;
    if (retry_after_s > 0)
        wished_ms =
            retry_after_s < WAIT_MS_MAX / 1000 ? (unsigned int)retry_after_s * 1000 : WAIT_MS_MAX;
    watch->failures++;
    if (watch->failures % PATIENCE == 0)
        forget_version(watch);
    if (wait_ms > WAIT_MS_MAX)
        wait_ms = WAIT_MS_MAX;
    return wait_ms > wished_ms ? wait_ms : wished_ms;
}

unsigned int ath_kube_watch_step(struct ath_kube_watch *watch, struct ath_err *err)
{
    int retry_after_s = 0;

    *err = (struct ath_err){ 0 };
    if (ath_kube_cache_wants_list(watch->cache, watch->kind))
        forget_version(watch);
    int status =
        watch->version ? follow(watch, &retry_after_s, err) : list(watch, &retry_after_s, err);
    if (!status)
        watch->failures = 0;
    /* An empty watch: a server that ends each at once must not be asked all the time. Or a kind
     * that the server does not know yet. */
    if (status > 0)
        return watch->version ? WAIT_MS : WAIT_MS_MAX;
    return status ? wait_after(watch, retry_after_s) : 0;
}
