/* Answers the questions about books of a program of `aitherion run --local`. */
#include "config.h"

#include "runtime/local_session.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "proto/control.h"
#include "runtime/board_books.h"

struct local_session {
    struct ath_socket socket;
    const struct ath_server *server;
    const struct ath_books *books;
    uint64_t devices;
    uint64_t logged; /* a bit for each event that is in the log */
    struct ath_frame frame;
    struct ath_wire_builder builder;
};

static void local_session_free(struct local_session *session)
{
    ath_frame_free(&session->frame);
    ath_wire_builder_free(&session->builder);
}

/* A program may be silent for as long as it lives. */
static int await(const struct local_session *session)
{
    struct pollfd one = { .fd = session->socket.fd, .events = POLLIN };
    while (poll(&one, 1, -1) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static void put_page(struct ath_control_books_answer_builder to, const struct ath_books_page *page)
{
    struct ath_wire_array rooms = ath_control_books_answer_init_rooms(to, ATH_BOOKS_OWNERS);
    for (uint32_t i = 0; i < rooms.count; i++) {
        struct ath_control_books_room_builder room = ath_control_books_room_place(rooms, i);
        ath_control_books_room_set_used_bytes(room, page->of[i].used_bytes);
        ath_control_books_room_set_limit_bytes(room, page->of[i].limit_bytes);
    }
    ath_control_books_answer_set_sessions(to, page->sessions);
}

static int answer(struct local_session *session, uint64_t value, const struct ath_books_page *page)
{
    struct ath_control_books_answer_builder to =
        ath_control_message_init_books_answer(ath_control_message_start(&session->builder));
    size_t length;
    int status;
    struct ath_err err;
    ath_control_books_answer_set_value(to, value);
    if (page)
        put_page(to, page);
    const uint8_t *bytes = ath_wire_finish(&session->builder, &length, &status);
    return bytes ? ath_frame_send(session->socket, bytes, length,
                                  ath_now_ms() + (uint64_t)session->server->answer_ms, &err)
                 : status;
}

/* ---- bytes ---- */

/* Bytes of all sessions are added up, so one session must not name any number. No GPU has more. */
static const int64_t most_bytes = INT64_C(1) << 48;

static bool are_bytes(int64_t bytes)
{
    return bytes >= -most_bytes && bytes <= most_bytes;
}

/* Bytes that the session has taken and not shared. Only this process writes it. */
static int64_t taken(const struct local_session *session, size_t device)
{
    return atomic_load(&session->server->entry->used_bytes[device]);
}

static int64_t total_of(const struct ath_server *server, size_t device)
{
    int64_t total = device < server->devices.count
                        ? server->devices.items[device].memory_total_bytes
                        : ATH_UNKNOWN;
    return total == ATH_UNKNOWN ? most_bytes : total;
}

static int take(struct local_session *session, size_t device, int64_t bytes)
{
    struct ath_books_page page;
    session->books->look(device, &page);
    bool is_taken = bytes >= 0 && are_bytes(bytes) &&
                    bytes <= most_bytes - page.of[ATH_BOOKS_SESSION].used_bytes &&
                    session->books->take(device, bytes);
    return answer(session, is_taken, NULL);
}

static int look(struct local_session *session, size_t device)
{
    struct ath_books_page page;
    session->books->look(device, &page);
    return answer(session, 0, &page);
}

/* Bytes that the session does not have, or has shared already, may not leave it: they would be
 * others'. */
static int share_make(struct local_session *session, size_t device, int64_t bytes)
{
    bool is_own = bytes >= 0 && bytes <= taken(session, device);
    return answer(session, is_own ? session->books->share_make(device, bytes) : 0, NULL);
}

/* A session that says that the driver has taken memory (negative) cannot claim more than the device
 * has. Threads that count the same thing may give before they take. */
static int give(struct local_session *session, size_t device, int64_t bytes)
{
    if (!are_bytes(bytes))
        return -EBADMSG;
    int64_t before = taken(session, device), after = before - bytes;
    int64_t most = total_of(session->server, device);
    if (bytes < 0 && after > most)
        after = before > most ? before : most;
    if (after < -most_bytes)
        after = -most_bytes;
    session->books->give(device, before - after);
    return 0;
}

/* ---- questions ---- */

/* A session writes one line for an event, and not as many as it likes. */
static int note_event(struct local_session *session, uint64_t event, size_t device, int64_t bytes)
{
    if (event > ATH_BOOKS_NO_MEMORY_FOR_CONTEXT)
        return -EBADMSG;
    if (!(session->logged >> event & 1))
        session->books->log((enum ath_books_event)event, device, bytes);
    session->logged |= UINT64_C(1) << event;
    return 0;
}

/* A sum over all sessions must not overflow, whatever a session says. */
static uint64_t bounded(uint64_t count)
{
    const uint64_t most = UINT64_C(1) << 54;
    return count < most ? count : most;
}

static int note_counts(const struct local_session *session, uint64_t calls, int64_t to_gpu_bytes,
                       uint64_t from_gpu_bytes)
{
    struct ath_call_counts *counts = &session->server->entry->counts;
    if (to_gpu_bytes < 0)
        return -EBADMSG;
    atomic_store(&counts->calls, bounded(calls));
    atomic_store(&counts->received_bytes, bounded((uint64_t)to_gpu_bytes));
    atomic_store(&counts->sent_bytes, bounded(from_gpu_bytes));
    return 0;
}

static int take_part(struct local_session *session, size_t device,
                     struct ath_control_books_part asked)
{
    const struct ath_books_part part = { .groups = ath_control_books_part_groups(asked),
                                         .wanted = ath_control_books_part_wanted(asked),
                                         .processors = ath_control_books_part_processors(asked),
                                         .total = ath_control_books_part_total(asked) };
    return answer(session, session->books->take_part(device, &part), NULL);
}

/* A question about a share has no device. */
static bool has_device(enum ath_control_books_ask asks)
{
    return asks <= ATH_CONTROL_BOOKS_ASK_SHARE_MAKE || asks == ATH_CONTROL_BOOKS_ASK_TAKE_PART;
}

static int serve(struct local_session *session, struct ath_control_books_question question)
{
    const struct ath_books *books = session->books;
    size_t device = ath_control_books_question_device(question);
    int64_t bytes = ath_control_books_question_bytes(question);
    uint64_t object = ath_control_books_question_object(question);
    uint64_t name = ath_control_books_question_name(question);

    enum ath_control_books_ask asks = ath_control_books_question_asks(question);

    if (has_device(asks) && (device >= ATH_DEVICES_MAX || !(session->devices >> device & 1)))
        return -EBADMSG;
    switch (asks) {
    case ATH_CONTROL_BOOKS_ASK_TAKE:
        return take(session, device, bytes);
    case ATH_CONTROL_BOOKS_ASK_GIVE:
        return give(session, device, bytes);
    case ATH_CONTROL_BOOKS_ASK_NOTE:
        books->note(device);
        return 0;
    case ATH_CONTROL_BOOKS_ASK_LOOK:
        return look(session, device);
    case ATH_CONTROL_BOOKS_ASK_LOG:
        return note_event(session, object, device, bytes);
    case ATH_CONTROL_BOOKS_ASK_SHARE_MAKE:
        return share_make(session, device, bytes);
    case ATH_CONTROL_BOOKS_ASK_SHARE_NAME:
        books->share_name(object, name);
        return 0;
    case ATH_CONTROL_BOOKS_ASK_SHARE_FIND:
        return answer(session, books->share_find(name), NULL);
    case ATH_CONTROL_BOOKS_ASK_SHARE_HOLD:
        return answer(session, books->share_hold(object), NULL);
    case ATH_CONTROL_BOOKS_ASK_SHARE_DROP:
        books->share_drop(object);
        return 0;
    case ATH_CONTROL_BOOKS_ASK_TAKE_PART:
        return take_part(session, device, ath_control_books_question_part(question));
    case ATH_CONTROL_BOOKS_ASK_COUNT:
        return note_counts(session, object, bytes, name);
    default:
        return -EBADMSG;
    }
}

static int take_question(struct local_session *session)
{
    struct ath_control_message message;
    struct ath_err err;
    int status = await(session);
    if (!status)
        status = ath_frame_receive(session->socket, ATH_CONTROL_HELLO_FRAME_BYTES,
                                   ath_now_ms() + (uint64_t)session->server->answer_ms,
                                   &session->frame, &err);
    if (status)
        return status;
    if (ath_control_message_open(ath_frame_message(&session->frame),
                                 ath_frame_message_length(&session->frame), &message) ||
        ath_control_message_which(message) != ATH_CONTROL_MESSAGE_BOOKS)
        return -EBADMSG;
    return serve(session, ath_control_message_books(message));
}

int ath_local_session_serve(struct ath_socket socket, const struct ath_server *server,
                            uint64_t devices)
{
    ATH_AUTO(local_session)
    session = {
        .socket = socket,
        .server = server,
        .books = ath_board_books(server),
        .devices = devices,
        .builder.max_bytes = ATH_CONTROL_HELLO_FRAME_BYTES,
    };
    int status = 0;
    while (!status)
        status = take_question(&session);
    return status;
}
