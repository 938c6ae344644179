/*
 * Which of some bytes differ, as a bit for each (MemoryPart's mask in proto/cuda.capnp). Both sides
 * change host memory that each has a copy of, and neither may touch the bytes between.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Eight bytes at once; the first is the lowest bit. */
static inline uint8_t ath_changed_bits(const uint8_t *now, const uint8_t *same)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t a, b;
    memcpy(&a, now, sizeof a);
    memcpy(&b, same, sizeof b);
    uint64_t differ = a ^ b; /* in each byte all bits come down to its lowest */
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

static inline size_t ath_changed_mask_bytes(size_t length)
{
    return (length + 7) / 8;
}

/* Fills the mask. Returns how many bytes differ. */
static inline size_t ath_changed_mask(const uint8_t *now, const uint8_t *same, size_t length,
                                      uint8_t *mask)
{
    size_t count = 0, i = 0;
    for (; i + 8 <= length; i += 8) {
        mask[i / 8] = ath_changed_bits(now + i, same + i);
        count += (size_t)__builtin_popcount(mask[i / 8]);
    }
    if (i < length)
        mask[i / 8] = 0;
    for (; i < length; i++) {
        mask[i / 8] |= (uint8_t)((now[i] != same[i]) << i % 8);
        count += now[i] != same[i];
    }
    return count;
}
