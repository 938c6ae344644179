/*
 * The pieces of a large frame that goes by several connections of different speed. A connection
 * that is free takes the next piece, and sends the piece's head in front of it, which says where it
 * belongs. Behind its last piece of a frame each connection sends a head without units.
 *
 * A piece is a run of units, of 64 KiB each (of more in frames of more than 1 GiB). Pieces are
 * large at the beginning and small at the end, so that all connections are done at about the same
 * time.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATH_PIECES_UNITS_MAX = 16384, ATH_PIECE_HEAD = 8 };

struct ath_pieces {
    size_t length, unit; /* bytes of the frame and of a unit; the last unit may be shorter */
    uint32_t units;
    _Atomic uint32_t next; /* the first unit that no connection has taken; of the writer */
    _Atomic uint32_t come; /* units that have a place; of the reader, as seen is */
    _Atomic uint64_t seen[ATH_PIECES_UNITS_MAX / 64];
};

struct ath_piece {
    uint32_t first, count; /* units; count 0: the end */
    size_t begin, end;     /* bytes of the frame */
};

/* Divides a frame of this many bytes. Both sides come to the same units. */
void ath_pieces_init(struct ath_pieces *pieces, size_t length);

/* Takes the next piece for one of this many connections, of about so many bytes at most; false: all
 * are taken. Any thread. */
bool ath_pieces_take(struct ath_pieces *pieces, size_t connections, size_t most,
                     struct ath_piece *out);

/* The bytes that no connection has taken. */
size_t ath_pieces_left(const struct ath_pieces *pieces);

/* Writes a piece's head. */
void ath_piece_write_head(const struct ath_piece *piece, uint8_t out[ATH_PIECE_HEAD]);

/* Reads a head, and finds the place of its piece. Returns 0, or -EBADMSG if there is no such place
 * or a part of it has come before. Any thread. */
int ath_pieces_place(struct ath_pieces *pieces, const uint8_t head[ATH_PIECE_HEAD],
                     struct ath_piece *out);

/* Whether each unit has come. */
bool ath_pieces_are_whole(const struct ath_pieces *pieces);
