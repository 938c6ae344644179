/*
 * How fast the connections of a stream are, and which one should take the next piece of a large
 * frame. A connection takes no more if the others have sent the whole rest before it has sent one
 * unit more. Before that it takes half of its part of the rest, so that an error of its speed shows
 * while there is still time.
 *
 * A connection's speed is measured while it has bytes that wait: the bytes that its socket got rid
 * of and that the peer has, as the kernel counts them for TCP (SIOCOUTQ). A UDP channel's socket
 * leads to its carrier, which counts what it has taken from there (udp_figures.h). While speeds are
 * not known, each takes what it can.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/udp_figures.h"

/* One connection. Its own writer changes it; other writers of the same frame read it. */
struct ath_pace {
    int fd;                   /* -1: it carries nothing */
    struct ath_udp_place udp; /* of a UDP channel */
    _Atomic uint64_t rate;    /* bytes in a second; 0: not known */
    _Atomic uint64_t pending; /* bytes of a piece that it writes now */
    uint64_t given;           /* bytes that its socket got */
    uint64_t since_ns, gone; /* the begin of the measurement, and what the socket was rid of then */
    double moved_bytes, moved_ns; /* in the measurements of late */
};

/* The bytes that wait in a socket, or are on their way. udp: of the same socket. */
uint64_t ath_pace_waiting(int fd, const struct ath_udp_place *udp);

void ath_pace_init(struct ath_pace *pace, int fd);

/* Called before a connection's first piece of a frame, before each piece, and behind it. */
void ath_pace_begin_frame(struct ath_pace *pace);
void ath_pace_begin_piece(struct ath_pace *pace, size_t bytes);
void ath_pace_end_piece(struct ath_pace *pace, size_t bytes);

/* Returns the bytes, of those that are left of a frame, that a connection should take now, at least
 * one unit; 0: none now. */
size_t ath_pace_room(const struct ath_pace *paces, size_t count, size_t which, size_t left,
                     size_t unit);

/* Returns the time that a connection needs for the bytes that it has and for so many more; 0: its
 * speed is not known. */
uint64_t ath_pace_ns(const struct ath_pace *pace, size_t bytes);
