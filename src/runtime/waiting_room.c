/* The seats of the waiting room. */
#include "config.h"

#include "runtime/waiting_room.h"

#include <unistd.h>

static size_t count_source(const struct ath_waiting_room *room, struct ath_source source)
{
    size_t count = 0;
    for (size_t i = 0; i < room->count; i++)
        count += ath_source_is(room->items[i].source, source);
    return count;
}

/* The index of a source's connection, by its number among them. */
static size_t nth_of_source(const struct ath_waiting_room *room, struct ath_source source, size_t n)
{
    size_t at = 0;
    while (!ath_source_is(room->items[at].source, source) || n--)
        at++;
    return at;
}

bool ath_waiting_room_add(struct ath_waiting_room *room, const struct ath_waiting *waiting,
                          uint32_t random)
{
    size_t of_source = count_source(room, waiting->source), at = room->count;
    if (of_source >= ATH_WAITING_MOST_OF_SOURCE)
        at = nth_of_source(room, waiting->source, random % of_source);
    else if (room->count == ATH_WAITING_MOST)
        at = random % room->count;
    bool is_replaced = at < room->count;
    if (is_replaced)
        close(room->items[at].fd);
    else
        room->count++;
    room->items[at] = *waiting;
    return is_replaced;
}

struct ath_waiting ath_waiting_room_take(struct ath_waiting_room *room, size_t at)
{
    struct ath_waiting taken = room->items[at];
    room->items[at] = room->items[--room->count];
    return taken;
}

size_t ath_waiting_room_joins(const struct ath_waiting_room *room, struct ath_source source,
                              uint64_t session)
{
    size_t count = 0;
    for (size_t i = 0; i < room->count; i++)
        count += room->items[i].session == session && ath_source_is(room->items[i].source, source);
    return count;
}

uint64_t ath_waiting_room_first_ms(const struct ath_waiting_room *room)
{
    uint64_t first_ms = UINT64_MAX;
    for (size_t i = 0; i < room->count; i++)
        if (room->items[i].since_ms < first_ms)
            first_ms = room->items[i].since_ms;
    return first_ms;
}

void ath_waiting_room_clear(struct ath_waiting_room *room)
{
    while (room->count)
        close(room->items[--room->count].fd);
}
