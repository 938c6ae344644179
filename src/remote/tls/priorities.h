/* The methods that an end offers to the other one. For this folder only. */
#pragma once
#include <stdbool.h>

/*
 * ATH_TLS_BY_KEY          a key, with fresh secrets
 * ATH_TLS_BY_FRESH_KEY    a key that is fresh itself
 * ATH_TLS_BY_CERTIFICATE  the server's certificate: for a client that wants one
 * ATH_TLS_BY_EITHER       the first and the third: for a server that has a certificate
 */
enum ath_tls_way {
    ATH_TLS_BY_KEY,
    ATH_TLS_BY_FRESH_KEY,
    ATH_TLS_BY_CERTIFICATE,
    ATH_TLS_BY_EITHER,
    ATH_TLS_WAYS
};

enum { ATH_TLS_PRIORITIES_BYTES = 512 };

/* Writes GnuTLS's words for a way. has_aes: AES is fast here. Returns out. */
const char *ath_tls_priorities(enum ath_tls_way way, bool has_aes,
                               char out[ATH_TLS_PRIORITIES_BYTES]);

/* Returns whether the processor has instructions for AES and for GCM's multiplication. */
bool ath_tls_has_aes(void);
