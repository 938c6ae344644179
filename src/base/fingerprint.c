/* Four lanes, so that a processor multiplies for all of them at the same time. A step of a lane can
 * be undone, so two contents that differ in one word never have equal lanes. */
#include "config.h"

#include "base/fingerprint.h"

#include <string.h>

enum { LANES = 4, WORD = sizeof(uint64_t), BLOCK = LANES * WORD };

static const uint64_t factors[LANES] = { UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9),
                                         UINT64_C(0x94d049bb133111eb),
                                         UINT64_C(0xd6e8feb86659fd93) };

static uint64_t step(uint64_t lane, uint64_t word, uint64_t factor)
{
    lane = (lane ^ word) * factor;
    return lane ^ lane >> 32;
}

static void add_block(uint64_t lanes[LANES], const uint8_t *block)
{
    for (size_t i = 0; i < LANES; i++) {
        uint64_t word;
        memcpy(&word, block + i * WORD, sizeof word);
        lanes[i] = step(lanes[i], word, factors[i]);
    }
}

void ath_fingerprint_add(struct ath_fingerprint *print, const void *content, size_t length)
{
    uint64_t lanes[LANES];
    uint8_t end[BLOCK] = { 0 };
    const uint8_t *at = content;
    size_t left = length;
    memcpy(lanes, print->lanes, sizeof lanes);
    for (; left >= BLOCK; left -= BLOCK, at += BLOCK)
        add_block(lanes, at);
    if (left)
        memcpy(end, at, left);
    add_block(lanes, end);
    for (size_t i = 0; i < LANES; i++) /* where a content ends counts, too */
        lanes[i] = step(lanes[i], length, factors[LANES - 1 - i]);
    memcpy(print->lanes, lanes, sizeof lanes);
    print->length += length;
}

struct ath_fingerprint_value ath_fingerprint_end(const struct ath_fingerprint *print)
{
    uint64_t a = print->length, b = ~print->length;
    for (size_t i = 0; i < LANES; i++) {
        a = step(a, print->lanes[i], factors[i]);
        b = step(b, print->lanes[LANES - 1 - i], factors[i]);
    }
    return (struct ath_fingerprint_value){ a, b };
}

struct ath_fingerprint_value ath_fingerprint_of(const void *content, size_t length)
{
    struct ath_fingerprint print = ATH_FINGERPRINT_START;
    ath_fingerprint_add(&print, content, length);
    return ath_fingerprint_end(&print);
}
