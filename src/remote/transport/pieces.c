/* Divides a frame into pieces, places those that arrive, and finds what is missing. */
#include "config.h"

#include "remote/transport/pieces.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
    UNIT = 64 * 1024,
    UNITS_OF_PIECE = 16,
    ROUNDS = 2, /* a piece is the part of the rest that leaves each connection another one */
};

void ath_pieces_init(struct ath_pieces *pieces, size_t length)
{
    size_t least = (length + ATH_PIECES_UNITS_MAX - 1) / ATH_PIECES_UNITS_MAX;
    pieces->length = length;
    pieces->unit = least > UNIT ? least : UNIT;
    pieces->units = (uint32_t)((length + pieces->unit - 1) / pieces->unit);
    atomic_init(&pieces->next, 0);
    atomic_init(&pieces->come, 0);
    for (size_t i = 0; i <= pieces->units / 64 && i < ATH_PIECES_UNITS_MAX / 64; i++)
        atomic_init(&pieces->seen[i], 0);
}

static size_t byte_of(const struct ath_pieces *pieces, uint32_t unit)
{
    return unit < pieces->units ? unit * pieces->unit : pieces->length;
}

static void find_bytes(const struct ath_pieces *pieces, struct ath_piece *piece)
{
    piece->begin = byte_of(pieces, piece->first);
    piece->end = byte_of(pieces, piece->first + piece->count);
}

static uint32_t smaller(uint32_t one, size_t other)
{
    return one < other ? one : (uint32_t)other;
}

static uint32_t units_of_next(uint32_t left, size_t connections, size_t most)
{
    uint32_t count = smaller(left / (uint32_t)(ROUNDS * connections), most);
    return !count ? 1 : smaller(count, UNITS_OF_PIECE);
}

size_t ath_pieces_left(const struct ath_pieces *pieces)
{
    return pieces->length - byte_of(pieces, pieces->next);
}

static bool is_seen(const struct ath_pieces *pieces, uint32_t unit)
{
    return pieces->seen[unit / 64] >> unit % 64 & 1;
}

/* The units from first on, up to most, that have not come. */
static uint32_t run_of(const struct ath_pieces *pieces, uint32_t first, uint32_t most)
{
    uint32_t count = 0;
    while (count < most && first + count < pieces->units && !is_seen(pieces, first + count))
        count++;
    return count;
}

bool ath_pieces_take(struct ath_pieces *pieces, size_t connections, size_t most,
                     struct ath_piece *out)
{
    uint32_t next = pieces->next, first, count;
    do {
        for (first = next; first < pieces->units && is_seen(pieces, first);)
            first++;
        if (first >= pieces->units) {
            pieces->next = pieces->units; /* nothing is left, also for ath_pieces_left() */
            return false;
        }
        count = run_of(pieces, first,
                       units_of_next(pieces->units - first, connections, most / pieces->unit));
    } while (!atomic_compare_exchange_weak(&pieces->next, &next, first + count));
    *out = (struct ath_piece){ .first = first, .count = count };
    find_bytes(pieces, out);
    return true;
}

void ath_pieces_begin_round(struct ath_pieces *pieces)
{
    pieces->next = 0;
}

void ath_piece_write_head(const struct ath_piece *piece, uint8_t out[ATH_PIECE_HEAD])
{
    const uint32_t words[] = { htole32(piece->first), htole32(piece->count) };
    _Static_assert(sizeof words == ATH_PIECE_HEAD, "two words");
    memcpy(out, words, sizeof words);
}

int ath_pieces_place(const struct ath_pieces *pieces, const uint8_t head[ATH_PIECE_HEAD],
                     struct ath_piece *out)
{
    uint32_t words[2];
    memcpy(words, head, sizeof words);
    *out = (struct ath_piece){ .first = le32toh(words[0]), .count = le32toh(words[1]) };
    if (!out->count)
        return 0;
    if (out->first >= pieces->units || out->count > pieces->units - out->first ||
        run_of(pieces, out->first, out->count) < out->count)
        return -EBADMSG;
    find_bytes(pieces, out);
    return 0;
}

bool ath_pieces_see(struct ath_pieces *pieces, const struct ath_piece *piece, size_t bytes)
{
    uint32_t count =
        piece->begin + bytes == piece->end ? piece->count : (uint32_t)(bytes / pieces->unit);
    for (uint32_t unit = piece->first; unit < piece->first + count; unit++)
        if (atomic_fetch_or(&pieces->seen[unit / 64], UINT64_C(1) << unit % 64) >> unit % 64 & 1)
            return false;
    atomic_fetch_add(&pieces->come, count);
    return true;
}

uint32_t ath_pieces_missing(const struct ath_pieces *pieces)
{
    return pieces->units - pieces->come;
}

void ath_pieces_put_seen(const struct ath_pieces *pieces, uint64_t *out)
{
    for (size_t i = 0; i * 64 < pieces->units; i++)
        out[i] = htole64(pieces->seen[i]);
}

uint32_t ath_pieces_take_seen(struct ath_pieces *pieces, const uint64_t *bits)
{
    uint32_t come = 0;
    for (size_t i = 0; i * 64 < pieces->units; i++)
        pieces->seen[i] = le64toh(bits[i]);
    for (uint32_t unit = 0; unit < pieces->units; unit++)
        come += is_seen(pieces, unit);
    pieces->come = come;
    ath_pieces_begin_round(pieces);
    return pieces->units - come;
}
