/* Loads Nettle's functions, and formats their result. */
#include "config.h"

#include "container/image/digest.h"

#include <stdint.h>

#include "base/late.h"

/* The real names of the functions; the header hides them behind macros. */
#define NETTLE_FUNCTIONS(F) F(nettle_sha256_init) F(nettle_sha256_update) F(nettle_sha256_digest)

static struct nettle {
    NETTLE_FUNCTIONS(ATH_LATE_MEMBER)
} nettle;
static const char *const nettle_names[] = { NETTLE_FUNCTIONS(ATH_LATE_NAME) NULL };

int ath_digest_begin(struct ath_digest *digest, struct ath_err *err)
{
    int status = nettle.nettle_sha256_init
                     ? 0
                     : ath_late_load("libnettle.so.8", "libnettle8", nettle_names, &nettle, err);
    if (!status)
        nettle.nettle_sha256_init(&digest->state);
    return status;
}

void ath_digest_add(struct ath_digest *digest, const void *bytes, size_t length)
{
    nettle.nettle_sha256_update(&digest->state, length, bytes);
}

void ath_digest_end(struct ath_digest *digest, char out[ATH_DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SHA256_DIGEST_SIZE];

    nettle.nettle_sha256_digest(&digest->state, sizeof bytes, bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * sizeof bytes] = '\0';
}
