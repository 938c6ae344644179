/*
 * A fingerprint of 128 bits: equal content has equal fingerprints, and different content has
 * different ones except by chance (once in 2 to the power of 64 pairs). It is fast, 8 bytes a
 * nanosecond and more, and no protection against an attacker who searches for two contents with one
 * fingerprint. Little-endian machines only, as the whole program. One thread for each fingerprint.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct ath_fingerprint {
    uint64_t lanes[4];
    uint64_t length;
};

struct ath_fingerprint_value {
    uint64_t a, b;
};

#define ATH_FINGERPRINT_START                                                                      \
    {                                                                                              \
        { UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344),                              \
          UINT64_C(0xa4093822299f31d0), UINT64_C(0x082efa98ec4e6c89) },                            \
            0                                                                                      \
    }

/* Adds content. Two calls differ from one call with both contents. */
void ath_fingerprint_add(struct ath_fingerprint *print, const void *content, size_t length);
struct ath_fingerprint_value ath_fingerprint_end(const struct ath_fingerprint *print);

/* The fingerprint of one content. */
struct ath_fingerprint_value ath_fingerprint_of(const void *content, size_t length);
