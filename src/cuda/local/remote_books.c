/* The books as an ops table: each function asks the node's runtime over the connection. */
#include "config.h"

#include "cuda/local/remote_books.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cuda/local/connection.h"

static void read_value(struct ath_control_books_answer answer, void *context)
{
    *(uint64_t *)context = ath_control_books_answer_value(answer);
}

/* Returns the answer; 0 if none comes. */
static uint64_t ask(const struct ath_local_question *question)
{
    uint64_t value = 0;
    ath_local_ask(question, read_value, &value);
    return value;
}

static bool take(size_t device, int64_t bytes)
{
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_TAKE,
                                                 .device = device,
                                                 .bytes = bytes };
    return ask(&question);
}

/* No GPU has more, and the runtime ends a session that says so. */
static int64_t clamp(int64_t bytes)
{
    const int64_t most = INT64_C(1) << 48;
    return bytes > most ? most : bytes < -most ? -most : bytes;
}

static void give(size_t device, int64_t bytes)
{
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_GIVE,
                                                 .device = device,
                                                 .bytes = clamp(bytes) };
    if (bytes)
        ath_local_tell(&question);
}

/* The runtime gets each device once. */
static void note(size_t device)
{
    static _Atomic uint64_t noted;
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_NOTE,
                                                 .device = device };
    uint64_t bit = UINT64_C(1) << device;
    if (!(atomic_fetch_or(&noted, bit) & bit))
        ath_local_tell(&question);
}

static void read_page(struct ath_control_books_answer answer, void *context)
{
    struct ath_books_page *page = context;
    struct ath_wire_list rooms = ath_control_books_answer_rooms(answer);
    for (uint32_t i = 0; i < ATH_BOOKS_OWNERS && i < rooms.count; i++) {
        struct ath_control_books_room room = ath_control_books_room_item(rooms, i);
        page->of[i].used_bytes = ath_control_books_room_used_bytes(room);
        page->of[i].limit_bytes = ath_control_books_room_limit_bytes(room);
    }
    page->sessions = ath_control_books_answer_sessions(answer);
}

static void look(size_t device, struct ath_books_page *out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct ath_books_page last[ATH_DEVICES_MAX];
    static bool is_known[ATH_DEVICES_MAX];
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_LOOK,
                                                 .device = device };
    *out = (struct ath_books_page){ .of = { { 0, -1 }, { 0, -1 }, { 0, -1 } } };
    bool is_answered = ath_local_ask(&question, read_page, out);
    pthread_mutex_lock(&lock);
    if (is_answered)
        last[device] = *out;
    else if (is_known[device])
        *out = last[device];
    is_known[device] = is_known[device] || is_answered;
    pthread_mutex_unlock(&lock);
}

static void log_event(enum ath_books_event event, size_t device, int64_t asked_bytes)
{
    const struct ath_local_question question = {
        .asks = ATH_CONTROL_BOOKS_ASK_LOG, .device = device, .bytes = asked_bytes, .object = event
    };
    ath_local_tell(&question);
}

/* ---- multiprocessors ---- */

static uint64_t take_part(size_t device, const struct ath_books_part *part)
{
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_TAKE_PART,
                                                 .device = device,
                                                 .part = *part };
    return ask(&question);
}

/* ---- shares ---- */

static uint64_t share_make(size_t device, int64_t bytes)
{
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_SHARE_MAKE,
                                                 .device = device,
                                                 .bytes = bytes };
    return ask(&question);
}

static void share_name(uint64_t share, uint64_t name)
{
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_SHARE_NAME,
                                                 .object = share,
                                                 .name = name };
    ath_local_tell(&question);
}

static uint64_t share_find(uint64_t name)
{
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_SHARE_FIND,
                                                 .name = name };
    return ask(&question);
}

static bool share_hold(uint64_t share)
{
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_SHARE_HOLD,
                                                 .object = share };
    return ask(&question);
}

static void share_drop(uint64_t share)
{
    const struct ath_local_question question = { .asks = ATH_CONTROL_BOOKS_ASK_SHARE_DROP,
                                                 .object = share };
    ath_local_tell(&question);
}

const struct ath_books *ath_local_books(bool only_counts)
{
    static struct ath_books books = {
        .take = take,
        .give = give,
        .note = note,
        .look = look,
        .log = log_event,
        .take_part = take_part,
        .share_make = share_make,
        .share_name = share_name,
        .share_find = share_find,
        .share_hold = share_hold,
        .share_drop = share_drop,
        .has_unseen_contexts = true,
    };
    books.only_counts = only_counts;
    return &books;
}
