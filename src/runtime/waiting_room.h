/*
 * Connections that the listening process has accepted and for which it has no process yet: their
 * first message has not come, or they join a session whose client has not proven itself.
 *
 * The room has a fixed number of seats. A source that has its share of them loses a connection of
 * its own, chosen at random, for each further one; a full room loses any. So a connection that
 * speaks soon is rarely the one that is lost, however many others stay silent.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/wire/source.h"
#include "runtime/fd_passing.h"

enum {
    ATH_WAITING_MOST = 256,
    ATH_WAITING_MOST_OF_SOURCE = 64,
    ATH_WAITING_MOST_JOINS = 9, /* of one source for one session */
};

struct ath_waiting {
    int fd;
    int way;      /* the listening socket: the caller's number */
    bool is_data; /* as in struct ath_joining */
    struct ath_source source;
    uint64_t since_ms;
    uint64_t session; /* that the connection joins; 0: its first message has not come */
    struct ath_joining joining;
};

/* A room that is {} is empty. */
struct ath_waiting_room {
    size_t count;
    struct ath_waiting items[ATH_WAITING_MOST];
};

/* Takes in a connection; the room owns its descriptor. random chooses the connection that must
 * leave, if one must. Returns whether one left. */
bool ath_waiting_room_add(struct ath_waiting_room *room, const struct ath_waiting *waiting,
                          uint32_t random);

/* Lets a connection out, at an index. The caller owns its descriptor. The last connection takes
 * its index. */
struct ath_waiting ath_waiting_room_take(struct ath_waiting_room *room, size_t at);

/* The number of a source's connections that wait to join a session. */
size_t ath_waiting_room_joins(const struct ath_waiting_room *room, struct ath_source source,
                              uint64_t session);

/* The moment when the first connection came; UINT64_MAX if the room is empty. */
uint64_t ath_waiting_room_first_ms(const struct ath_waiting_room *room);

/* Closes all connections, in a process that does not serve them. */
void ath_waiting_room_clear(struct ath_waiting_room *room);
