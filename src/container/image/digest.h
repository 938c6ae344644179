/* SHA-256 (FIPS 180-4) with libnettle, which is loaded on first use. */
#pragma once
#include <nettle/sha2.h>
#include <stddef.h>

#include "base/err.h"

enum { ATH_DIGEST_TEXT = 2 * SHA256_DIGEST_SIZE + 1 };

struct ath_digest {
    struct sha256_ctx state;
};

/* Returns 0, or -ENOENT with err "library-missing". */
int ath_digest_begin(struct ath_digest *digest, struct ath_err *err);
void ath_digest_add(struct ath_digest *digest, const void *bytes, size_t length);

/* Writes 64 hexadecimal digits and a NUL. ath_digest_begin() may follow. */
void ath_digest_end(struct ath_digest *digest, char out[ATH_DIGEST_TEXT]);
