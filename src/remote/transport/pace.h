/*
 * How fast the connections of a stream are, and which one should take the next piece of a large
 * frame. A connection that needs longer for the bytes that it has than all together need for the
 * whole rest takes no more: the others are done sooner.
 *
 * A connection's speed is measured while it has bytes that wait: the bytes that its socket got rid
 * of (SIOCOUTQ, which TCP and unix sockets have). While speeds are not known, each takes what it
 * can.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One connection. Its own writer changes it; other writers of the same frame read it. */
struct ath_pace {
    int fd;                   /* -1: it carries nothing */
    _Atomic uint64_t rate;    /* bytes in a second; 0: not known */
    _Atomic uint64_t pending; /* bytes of a piece that it writes now */
    uint64_t given;           /* bytes that its socket got */
    uint64_t since_ns, gone; /* the begin of the measurement, and what the socket was rid of then */
};

/* The bytes that wait in a socket, or are on their way. */
uint64_t ath_pace_waiting(int fd);

void ath_pace_init(struct ath_pace *pace, int fd);

/* Called before a connection's first piece of a frame, before each piece, and behind it. */
void ath_pace_begin_frame(struct ath_pace *pace);
void ath_pace_begin_piece(struct ath_pace *pace, size_t bytes);
void ath_pace_end_piece(struct ath_pace *pace, size_t bytes);

/* The bytes, of those that are left of a frame, that a connection should take now; 0: none now. */
size_t ath_pace_room(const struct ath_pace *paces, size_t count, size_t which, size_t left);
