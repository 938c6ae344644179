/* Sorting and filtering the sessions of the model. */
#include "config.h"

#include "cli/top/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

const char *ath_top_from(const struct ath_top_session *session)
{
    return session->facts->host ? session->facts->host : session->facts->peer;
}

static const char *text_of(const struct ath_top *top, const struct ath_top_session *session,
                           enum ath_top_sort key)
{
    const char *text = key == ATH_TOP_PROGRAM    ? session->facts->program
                       : key == ATH_TOP_IDENTITY ? session->facts->identity
                       : key == ATH_TOP_FROM     ? ath_top_from(session)
                       : key == ATH_TOP_SERVER   ? top->servers[session->server].name
                                                 : NULL;
    return text ? text : "";
}

static int64_t number_of(const struct ath_top_session *session, enum ath_top_sort key)
{
    switch (key) {
    case ATH_TOP_ID:
        return (int64_t)session->id;
    case ATH_TOP_GPU:
        return session->gpu;
    case ATH_TOP_MEMORY:
        return session->memory_bytes;
    case ATH_TOP_BUSY:
        return session->busy_percent;
    case ATH_TOP_GPU_TIME:
        return session->gpu_time_us;
    case ATH_TOP_CALLS:
        return session->calls_s;
    case ATH_TOP_TRAFFIC:
        return session->traffic_bytes_s;
    case ATH_TOP_WAIT:
        return session->wait_us;
    case ATH_TOP_SHARE:
        return session->share_percent;
    case ATH_TOP_HELD:
        return session->held_percent;
    case ATH_TOP_QUEUED:
        return session->queued_percent;
    case ATH_TOP_AGE:
        return (int64_t)session->facts->age_ms;
    default:
        return 0;
    }
}

static bool is_text(enum ath_top_sort key)
{
    return key == ATH_TOP_PROGRAM || key == ATH_TOP_IDENTITY || key == ATH_TOP_FROM ||
           key == ATH_TOP_SERVER;
}

/* Numbers that only name something go upwards; quantities have the greatest first. */
static bool goes_up(enum ath_top_sort key)
{
    return is_text(key) || key == ATH_TOP_ID || key == ATH_TOP_GPU;
}

struct sorting {
    const struct ath_top *top;
    const struct ath_top_order *order;
};

static int compare(const void *left, const void *right, void *data)
{
    const struct sorting *sorting = data;
    const struct ath_top_order *order = sorting->order;
    size_t indexes[] = { *(const size_t *)left, *(const size_t *)right };
    const struct ath_top_session *a = &sorting->top->sessions[indexes[0]],
                                 *b = &sorting->top->sessions[indexes[1]];
    int64_t numbers[] = { number_of(a, order->key), number_of(b, order->key) };
    int result = is_text(order->key) ? strcmp(text_of(sorting->top, a, order->key),
                                              text_of(sorting->top, b, order->key))
                                     : (numbers[0] > numbers[1]) - (numbers[0] < numbers[1]);

    if (goes_up(order->key) == order->is_reversed)
        result = -result;
    return result ? result : (indexes[0] > indexes[1]) - (indexes[0] < indexes[1]);
}

/* A number is that of a session: the digits of addresses do not count. */
static bool is_wanted(const struct ath_top *top, const struct ath_top_session *session,
                      const char *filter)
{
    static const enum ath_top_sort texts[] = { ATH_TOP_PROGRAM, ATH_TOP_IDENTITY, ATH_TOP_FROM,
                                               ATH_TOP_SERVER };
    ath_auto_free char *id = ath_xasprintf("%" PRIu64, session->id);
    if (!filter || !*filter || !strcmp(id, filter))
        return true;
    if (!filter[strspn(filter, "0123456789")])
        return false;
    for (size_t i = 0; i < ATH_COUNT(texts); i++)
        if (strcasestr(text_of(top, session, texts[i]), filter))
            return true;
    return session->facts->peer && strcasestr(session->facts->peer, filter);
}

size_t *ath_top_sorted(const struct ath_top *top, const struct ath_top_order *order,
                       size_t *out_count)
{
    struct sorting sorting = { top, order };
    size_t *indexes = ath_xalloc(top->session_count * sizeof *indexes), count = 0;

    for (size_t i = 0; i < top->session_count; i++)
        if (is_wanted(top, &top->sessions[i], order->filter))
            indexes[count++] = i;
    qsort_r(indexes, count, sizeof *indexes, compare, &sorting);
    *out_count = count;
    return indexes;
}
