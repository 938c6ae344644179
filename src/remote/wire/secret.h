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

/* The bytes that tie a handshake and a ticket to the TLS connection that they are made on. */
struct ath_binding {
    uint8_t channel[ATH_TLS_EXPORT_BYTES]; /* RFC 9266, tls-exporter */
    uint8_t ticket[ATH_TLS_EXPORT_BYTES];
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

/*
 * The data of a proof: the frames, what only this connection has (ath_binding_find()), and for the
 * server's proof also the client's proof. So a proof is worth nothing on another connection.
 */
struct ath_transcript {
    const struct ath_frame *hello, *challenge;
    const uint8_t *client_proof;       /* ATH_PROOF_BYTES; NULL for the client's proof */
    const struct ath_binding *binding; /* NULL: the connection is plain */
};

void ath_secret_prove(const struct ath_secret *secret, enum ath_side side,
                      const struct ath_transcript *transcript, uint8_t out[ATH_PROOF_BYTES]);

/* Returns whether the other side's proof is right. The time does not depend on where it differs. */
bool ath_secret_check(const struct ath_secret *secret, enum ath_side side,
                      const struct ath_transcript *transcript, const uint8_t *proof, size_t length);

/* Fills the binding of a TLS connection after its handshake. Returns 0 or -EPROTO. */
int ath_binding_find(struct ath_tls *tls, struct ath_binding *out);

/* The key of a TLS connection between two ends that have the secret, with the secret's name. */
void ath_secret_tls_key(const struct ath_secret *secret, struct ath_tls_key *out);

/*
 * A name for what a client keeps on disk of the servers with this secret: what one of them said
 * must not reach sessions with servers that have another one. certified: the name in the server's
 * certificate, which the client has checked, or NULL. The secret cannot be found from it except by
 * guessing. Without a secret the name is of the address.
 */
struct ath_fingerprint_value;
void ath_secret_trace(const struct ath_secret *secret, const char *certified, const char *address,
                      struct ath_fingerprint_value *out);

/*
 * The secret by which further connections of a session prove themselves. hello and challenge are
 * the session's, and so is binding (NULL: the connection is plain). If secret has no bytes and
 * binding is NULL, the nonces in these frames, which no other client has seen, are the only
 * protection.
 */
struct ath_ticket {
    uint8_t bytes[ATH_PROOF_BYTES];
};
void ath_ticket_make(const struct ath_secret *secret, const struct ath_frame *hello,
                     const struct ath_frame *challenge, const struct ath_binding *binding,
                     struct ath_ticket *out);
void ath_ticket_prove(const struct ath_ticket *ticket, uint32_t number,
                      uint8_t out[ATH_PROOF_BYTES]);
bool ath_ticket_check(const struct ath_ticket *ticket, uint32_t number, const uint8_t *proof,
                      size_t length);

/* The TLS key of the session's further connection of this number. */
void ath_ticket_tls_key(const struct ath_ticket *ticket, uint32_t number, struct ath_tls_key *out);

/* Makes random bytes by the kernel. Returns 0 or a negative errno with err. */
int ath_nonce_make(uint8_t out[ATH_NONCE_BYTES], struct ath_err *err);
