/*
 * Chooses the methods.
 *
 * AES-128-GCM goes first where the processor has it: one core of 2020 encrypts several GB/s, and
 * less than half of that with ChaCha20. Without such instructions ChaCha20 is the faster one, and a
 * server that lacks them overrules its client. TLS 1.3 begins with SHA-256 for a key from outside
 * (RFC 8446, 4.2.11), so that the cipher suites with SHA-384 cannot be used.
 */
#include "config.h"

#include "remote/tls/priorities.h"

#include <stdio.h>
#include <sys/auxv.h>

#define AES ":+AES-128-GCM"
#define CHACHA ":+CHACHA20-POLY1305"
#define GROUPS ":+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1"
#define CERTIFICATE ":+ECDHE-ECDSA:+ECDHE-RSA" GROUPS ":+CTYPE-X509:+SIGN-ALL"
/* GnuTLS wants a signature to be named, even if nothing is signed. */
#define NO_SIGNATURE ":+SIGN-EDDSA-ED25519"

static const char *const exchanges[ATH_TLS_WAYS] = {
    [ATH_TLS_BY_KEY] = ":+ECDHE-PSK" GROUPS NO_SIGNATURE,
    [ATH_TLS_BY_FRESH_KEY] = ":+PSK" NO_SIGNATURE,
    [ATH_TLS_BY_CERTIFICATE] = CERTIFICATE,
    [ATH_TLS_BY_EITHER] = ":+ECDHE-PSK" CERTIFICATE,
};

const char *ath_tls_priorities(enum ath_tls_way way, bool has_aes,
                               char out[ATH_TLS_PRIORITIES_BYTES])
{
    snprintf(out, ATH_TLS_PRIORITIES_BYTES, "NONE:+VERS-TLS1.3%s:+AEAD%s%s",
             has_aes ? AES CHACHA : CHACHA AES, exchanges[way],
             has_aes ? "" : ":%SERVER_PRECEDENCE");
    return out;
}

bool ath_tls_has_aes(void)
{
#if defined __x86_64__
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined __powerpc64__
    return getauxval(AT_HWCAP2) & PPC_FEATURE2_HAS_VEC_CRYPTO;
#else
    return true;
#endif
}
