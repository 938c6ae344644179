/*
 * Compares two runs of bytes and makes a mask with one bit for each byte (MemoryPart's mask in
 * proto/cuda.capnp). The client and the server each have a copy of host memory, and each changes
 * its own bytes: neither may touch the bytes between.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compares eight bytes at once. The first byte is the lowest bit. */
static inline uint8_t ath_byte_mask_of_eight(const uint8_t *now, const uint8_t *same)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t a, b;
    memcpy(&a, now, sizeof a);
    memcpy(&b, same, sizeof b);
    uint64_t differ = a ^ b; /* fold all bits of each byte into its lowest bit */
    differ |= differ >> 4;
    differ |= differ >> 2;
    differ |= differ >> 1;
    differ &= UINT64_C(0x0101010101010101);
    return (uint8_t)(differ * UINT64_C(0x0102040810204080) >> 56);
#else
    uint8_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits |= (uint8_t)((now[i] != same[i]) << i);
    return bits;
#endif
}

static inline size_t ath_byte_mask_bytes(size_t length)
{
    return (length + 7) / 8;
}

/* Fills the mask. Returns whether all bytes differ. */
static inline bool ath_byte_mask_fill(const uint8_t *now, const uint8_t *same, size_t length,
                                      uint8_t *mask)
{
    uint8_t all = UINT8_MAX;
    size_t i = 0;
    for (; i + 8 <= length; i += 8)
        all &= mask[i / 8] = ath_byte_mask_of_eight(now + i, same + i);
    if (i < length)
        mask[i / 8] = 0;
    for (; i < length; i++) {
        bool differs = now[i] != same[i];
        mask[i / 8] |= (uint8_t)(differs << i % 8);
        all &= differs ? UINT8_MAX : 0;
    }
    return all == UINT8_MAX;
}

/*
 * Gives shadow the bytes of data that the mask names (NULL: all), and also now where it still has
 * shadow's byte. No other byte is written: another thread may be writing it.
 */
static inline void ath_byte_mask_apply(uint8_t *now, uint8_t *shadow, const uint8_t *data,
                                       size_t length, const uint8_t *mask)
{
    for (size_t i = 0; i < length; i += 8) {
        const size_t count = length - i < 8 ? length - i : 8;
        unsigned int bits = mask ? mask[i / 8] : UINT8_MAX;
        if (bits == UINT8_MAX && count == 8 && !memcmp(now + i, shadow + i, 8)) {
            memcpy(now + i, data + i, 8);
            memcpy(shadow + i, data + i, 8);
            continue;
        }
        for (; bits; bits &= bits - 1) {
            const size_t at = i + (size_t)__builtin_ctz(bits);
            if (at >= length)
                break;
            if (now[at] == shadow[at])
                now[at] = data[at];
            shadow[at] = data[at];
        }
    }
}
