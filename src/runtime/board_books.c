/* The books as an ops table over the board of sessions. */
#include "config.h"

#include "runtime/board_books.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "runtime/event_log.h"
#include "runtime/memory_limits.h"
#include "runtime/part_table.h"
#include "runtime/share_request.h"

/* Memory beyond this is more than any GPU has. The limit keeps the sum of all sessions' bytes small
 * enough to be counted. */
enum { BYTES_MAX_SHIFT = 48 };

/* The functions of the table leave no room for a pointer to it. */
static const struct ath_server *at;

static void look(size_t device, struct ath_books_page *out)
{
    const struct ath_session_board *board = at->board;
    struct ath_books_room *own = &out->of[ATH_BOOKS_SESSION];
    struct ath_books_room *identity = &out->of[ATH_BOOKS_IDENTITY];
    own->used_bytes = ath_session_board_own(board, at->entry, device);
    own->limit_bytes = atomic_load(&at->entry->limit_bytes[device]);
    ath_session_board_of_identity(board, at->entry, device, &identity->used_bytes,
                                  &identity->limit_bytes);
    out->of[ATH_BOOKS_ALL] = (struct ath_books_room){
        .used_bytes = ath_session_board_memory(board, device, &out->sessions),
        .limit_bytes = ath_memory_limits_all(at, device),
    };
}

/* ---- the log ---- */

/* Returns whose limit refuses bytes, or would refuse them: the narrowest kind first. */
static enum ath_books_owner find_refusing(const struct ath_books_page *page, int64_t asked_bytes)
{
    for (enum ath_books_owner i = ATH_BOOKS_SESSION; i < ATH_BOOKS_ALL; i++) {
        const struct ath_books_room *room = &page->of[i];
        if (room->limit_bytes >= 0 && asked_bytes > room->limit_bytes - room->used_bytes)
            return i;
    }
    return ATH_BOOKS_ALL;
}

static void log_limit(const char *event, size_t device, int64_t asked_bytes)
{
    static const char *const owners[] = { "session", "identity", "share" };
    struct ath_books_page page;
    look(device, &page);
    enum ath_books_owner owner = find_refusing(&page, asked_bytes);
    const long long numbers[] = { (long long)device, (long long)asked_bytes,
                                  (long long)page.of[owner].used_bytes,
                                  (long long)page.of[owner].limit_bytes };
    char text[ATH_COUNT(numbers)][24];
    for (size_t i = 0; i < ATH_COUNT(numbers); i++)
        snprintf(text[i], sizeof text[i], "%lld", numbers[i]);
    ath_event_log(ATH_EVENT_WARNING, event, "peer", at->entry->peer, "device", text[0],
                  "asked_bytes", text[1], "allocated_bytes", text[2], "limit_bytes", text[3],
                  "limit", owners[owner], NULL);
}

static void log_no_context(size_t device)
{
    struct ath_books_page page;
    look(device, &page);
    char which[24], count[24], used[24];
    snprintf(which, sizeof which, "%zu", device);
    snprintf(count, sizeof count, "%u", (unsigned int)page.sessions);
    snprintf(used, sizeof used, "%lld", (long long)page.of[ATH_BOOKS_ALL].used_bytes);
    ath_event_log(ATH_EVENT_WARNING, "no-memory-for-context", "peer", at->entry->peer, "device",
                  which, "sessions", count, "allocated_bytes", used, NULL);
}

static void log_event(enum ath_books_event event, size_t device, int64_t asked_bytes)
{
    if (event == ATH_BOOKS_SHARE_REACHED)
        log_limit("share-reached", device, asked_bytes);
    else
        log_no_context(device);
}

/* ---- memory ---- */

static void note(size_t device)
{
    atomic_fetch_or(&at->entry->devices, UINT64_C(1) << device);
}

/* Takes what the limits refuse, for a server that does not enforce them. */
static bool take_beyond(size_t device, int64_t bytes)
{
    static atomic_bool is_logged;
    if (!at->only_counts || bytes > INT64_C(1) << BYTES_MAX_SHIFT)
        return false;
    if (!atomic_exchange(&is_logged, true))
        log_limit("limit-exceeded", device, bytes);
    ath_session_board_give_memory(at->entry, device, -bytes);
    note(device);
    return true;
}

static bool take(size_t device, int64_t bytes)
{
    return ath_session_board_take_memory(at->board, at->entry, device, bytes,
                                         ath_memory_limits_all(at, device)) ||
           take_beyond(device, bytes);
}

static void give(size_t device, int64_t bytes)
{
    ath_session_board_give_memory(at->entry, device, bytes);
}

/* ---- multiprocessors ---- */

static uint64_t take_part(size_t device, const struct ath_books_part *part)
{
    uint64_t bits = ath_part_request(at, device, part->groups, part->wanted);
    atomic_store(&at->entry->processors[device], bits ? part->processors : 0);
    atomic_store(&at->entry->processors_total[device], bits ? part->total : 0);
    return bits;
}

/* ---- shares ---- */

static uint64_t share_make(size_t device, int64_t bytes)
{
    return ath_share_request_make(at, device, bytes);
}

static void share_name(uint64_t share, uint64_t name)
{
    ath_share_request_name(at, share, name);
}

static uint64_t share_find(uint64_t name)
{
    return ath_share_request_find(at, name);
}

static bool share_hold(uint64_t share)
{
    return ath_share_request_hold(at, share);
}

static void share_drop(uint64_t share)
{
    ath_share_request_drop(at, share);
}

const struct ath_books *ath_board_books(const struct ath_server *server)
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
    };
    at = server;
    books.only_counts = server->only_counts;
    return &books;
}
