/*
 * The shared key, and the proofs of it at the start of a session (proto/control.capnp).
 *
 * libnettle provides HMAC-SHA-256 (RFC 2104) and the comparison.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/key_name.h"
#include "remote/wire/frame.h"

enum {
    ATH_NONCE_BYTES = 32,
    ATH_PROOF_BYTES = 32,
    ATH_SECRET_BYTES_MIN = 16,
    ATH_SECRET_BYTES_MAX = 65536
};

/* A key: the bytes of its file. Without bytes there is no key. */
struct ath_secret {
    uint8_t *bytes;
    size_t length;
    char name[ATH_KEY_NAME_BYTES]; /* that the client tells the server; empty: the default key */
};

/*
 * Finds the file of a key. For a folder of keys: the file that AITHERION_KEY_NAME names; else
 * `default`, else the first by name, of those that this user may read. Otherwise path itself.
 * Returns 0, or a negative errno with err.
 */
int ath_secret_find(const char *path, char *out, size_t out_size, struct ath_err *err);

/* Reads a key, which ath_secret_find() finds. Its name is AITHERION_KEY_NAME, or the file's; there
 * is none if the file is called "key" or by no valid name. A link counts as the file that it
 * leads to. Returns 0, or a negative errno with err if the file is missing, unreadable,
 * empty or too large. */
int ath_secret_load(const char *path, struct ath_secret *out, struct ath_err *err);

/*
 * Refuses a key that a server must not use: other users may change its file, or it has fewer bytes
 * than ATH_SECRET_BYTES_MIN, so that it can be guessed from a handshake. Returns 0, or -EPERM or
 * -EINVAL with err.
 */
int ath_secret_check_file(const char *path, const struct ath_secret *secret, struct ath_err *err);

/* Overwrites the key, then frees it. */
void ath_secret_free(struct ath_secret *secret);

enum ath_side { ATH_SIDE_CLIENT, ATH_SIDE_SERVER };

/* The data of a proof: the frames, and for the server's proof also the client's proof. */
struct ath_transcript {
    const struct ath_frame *hello, *challenge;
    const uint8_t *client_proof; /* ATH_PROOF_BYTES; NULL for the client's proof */
};

void ath_secret_prove(const struct ath_secret *secret, enum ath_side side,
                      const struct ath_transcript *transcript, uint8_t out[ATH_PROOF_BYTES]);

/* Whether the other side's proof is right. The time does not depend on where it differs. */
bool ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                      const struct ath_transcript *transcript, const uint8_t *proof, size_t length);

/*
 * The secret by which further connections of a session prove themselves. hello and challenge are
 * the session's. If secret has no bytes, the nonces in these frames, which no other client has
 * seen, are the only protection.
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

/* Makes random bytes by the kernel. Returns 0 or a negative errno with err. */
int ath_nonce_make(uint8_t out[ATH_NONCE_BYTES], struct ath_err *err);
