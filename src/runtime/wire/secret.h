/*
 * The shared key, and the proofs of having it that begin a session (proto/control.capnp).
 *
 * HMAC-SHA-256 (RFC 2104) and the comparison are libnettle's.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "runtime/wire/frame.h"

enum { ATH_NONCE_BYTES = 32, ATH_PROOF_BYTES = 32, ATH_SECRET_BYTES_MAX = 65536 };

/* A key: any bytes, the whole of its file. No bytes: there is none. */
struct ath_secret {
    uint8_t *bytes;
    size_t length;
};

/* Reads a key file. Returns 0, or a negative errno with err: missing, unreadable, empty, too
 * large. */
int ath_secret_load(const char *path, struct ath_secret *out, struct ath_err *err);

/* Overwrites the key before it lets it go. */
void ath_secret_free(struct ath_secret *secret);

enum ath_side { ATH_SIDE_CLIENT, ATH_SIDE_SERVER };

/* The frames that a proof is about, and for the server's the client's proof. */
struct ath_transcript {
    const struct ath_frame *hello, *challenge;
    const uint8_t *client_proof; /* ATH_PROOF_BYTES; NULL for the client's own */
};

void ath_secret_prove(const struct ath_secret *secret, enum ath_side side,
                      const struct ath_transcript *transcript, uint8_t out[ATH_PROOF_BYTES]);

/* Whether the other side's proof is right, in a time that does not depend on where it differs. */
bool ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                      const struct ath_transcript *transcript, const uint8_t *proof, size_t length);

/*
 * What more connections of a session prove themselves with. hello and challenge are the session's;
 * secret may have no bytes: then the nonces in those, which no other client has seen, are what it
 * hangs on.
 */
struct ath_ticket {
    uint8_t bytes[ATH_PROOF_BYTES];
};
void ath_ticket_make(const struct ath_secret *secret, const struct ath_frame *hello,
                     const struct ath_frame *challenge, struct ath_ticket *out);
void ath_ticket_prove(const struct ath_ticket *ticket, uint32_t number,
                      uint8_t out[ATH_PROOF_BYTES]);
bool ath_ticket_check(const struct ath_ticket *ticket, uint32_t number, const uint8_t *proof,
                      size_t length);

/* Fresh random bytes from the kernel. Returns 0 or a negative errno with err. */
int ath_nonce_make(uint8_t out[ATH_NONCE_BYTES], struct ath_err *err);
