/* The smallest of four limits: the program's, what it asks for, its identity's, the server's. */
#include "config.h"

#include "runtime/memory_room.h"

#include <string.h>

#include "base/unknown.h"
#include "proto/gpu-control.h"
#include "runtime/memory_limits.h"
#include "runtime/server.h"

struct room {
    int64_t limit_bytes, left_bytes; /* INT64_MAX: no limit */
};

static void narrow(struct room *room, int64_t used_bytes, int64_t limit_bytes)
{
    if (limit_bytes < 0)
        return;
    int64_t left_bytes = used_bytes < limit_bytes ? limit_bytes - used_bytes : 0;
    room->limit_bytes = limit_bytes < room->limit_bytes ? limit_bytes : room->limit_bytes;
    room->left_bytes = left_bytes < room->left_bytes ? left_bytes : room->left_bytes;
}

/* Returns whether an entry is the session of the process that asks. Host and process are what
 * clients say, so they only choose among the sessions of one key. */
static bool is_of_asker(const struct ath_server *server,
                        const struct ath_session_board_entry *entry)
{
    return entry->is_proven && entry->purpose == ATH_GPU_PURPOSE_CUDA && entry->process &&
           entry->process == server->entry->process && *entry->host &&
           !strcmp(entry->host, server->entry->host) && !strcmp(entry->identity, server->identity);
}

/* Narrows to the limits of the program's sessions. Returns false if it has none. */
static bool narrow_to_program(const struct ath_server *server, size_t device, struct room *room)
{
    struct ath_session_board_entry entry;
    bool has_any = false;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        if (!ath_session_board_read(server->board, i, &entry) || !is_of_asker(server, &entry))
            continue;
        narrow(room, atomic_load(&entry.used_bytes[device]),
               atomic_load(&entry.limit_bytes[device]));
        has_any = true;
    }
    return has_any;
}

bool ath_memory_room_find(const void *data, size_t device, const struct ath_memory_limit *asked,
                          int64_t *out_limit_bytes, int64_t *out_left_bytes)
{
    const struct ath_server *server = data;
    struct room room = { INT64_MAX, INT64_MAX };
    int64_t used_bytes, limit_bytes;

    if (server->only_counts)
        return false;
    if (!narrow_to_program(server, device, &room))
        narrow(&room, 0,
               ath_memory_limit_bytes(asked, server->devices.items[device].memory_total_bytes));
    ath_session_board_of_identity(server->board, server->entry, device, &used_bytes, &limit_bytes);
    narrow(&room, used_bytes, limit_bytes);
    ath_memory_limits_of_device(server, device, &used_bytes, &limit_bytes);
    narrow(&room, used_bytes, limit_bytes);
    *out_limit_bytes = room.limit_bytes;
    *out_left_bytes = room.left_bytes;
    return room.limit_bytes != INT64_MAX;
}
