/*
 * The pieces of a large frame that goes by several connections of different speed. A connection
 * that is free takes the next piece, and sends the piece's head in front of it, which says where it
 * belongs. Behind its last piece of a round each connection sends a head without units, which says
 * whether its line loses segments on the way from the writer. If a connection fails, the others
 * carry in a further round what has not come.
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

enum { ATH_PIECES_UNITS_MAX = 16384, ATH_PIECE_HEAD = 8, ATH_PIECE_PARTS = 10000 };

struct ath_pieces {
    size_t length, unit; /* bytes of the frame and of a unit; the last unit may be shorter */
    uint32_t units;
    _Atomic uint32_t next; /* the first unit that no connection has taken in this round */
    _Atomic uint32_t come; /* units that have come, by the reader's word, and a bit for each */
    _Atomic uint64_t seen[ATH_PIECES_UNITS_MAX / 64];
};

struct ath_piece {
    /* Units. count 0: the end; then first is the part of TCP's segments, in ATH_PIECE_PARTS, that
     * the line loses (line_loss.h), or 0. Older versions write 0 there, and do not read it. */
    uint32_t first, count;
    size_t begin, end; /* bytes of the frame */
};

/* Divides a frame of this many bytes. Both sides come to the same units. */
void ath_pieces_init(struct ath_pieces *pieces, size_t length);

/* Takes the next piece of those that have not come, for one of this many connections, of about so
 * many bytes at most; false: all are taken. Any thread. */
bool ath_pieces_take(struct ath_pieces *pieces, size_t connections, size_t most,
                     struct ath_piece *out);

/* The bytes behind the last piece that was taken. */
size_t ath_pieces_left(const struct ath_pieces *pieces);

/* Lets those be taken again that have not come. */
void ath_pieces_begin_round(struct ath_pieces *pieces);

/* Writes a piece's head. */
void ath_piece_write_head(const struct ath_piece *piece, uint8_t out[ATH_PIECE_HEAD]);

/* Reads a head, and finds the place of its piece. Returns 0, or -EBADMSG if there is no such place
 * or a part of it has come before. Any thread. */
int ath_pieces_place(const struct ath_pieces *pieces, const uint8_t head[ATH_PIECE_HEAD],
                     struct ath_piece *out);

/* Notes that the first bytes of a piece have come; a unit counts when it is whole. Returns false if
 * one of these has come before. Any thread. */
bool ath_pieces_see(struct ath_pieces *pieces, const struct ath_piece *piece, size_t bytes);

/* The number of units that have not come. */
uint32_t ath_pieces_missing(const struct ath_pieces *pieces);

/* The bits of the units that have come, for the writer: 64 in each word, little-endian. */
void ath_pieces_put_seen(const struct ath_pieces *pieces, uint64_t *out);

/* Takes over such bits, and begins a round. Returns the number of units that have not come. */
uint32_t ath_pieces_take_seen(struct ath_pieces *pieces, const uint64_t *bits);
