/*
 * TLS 1.3 on a connected TCP socket, whose two ends know a key already (RFC 8446, PSK). The key
 * proves both ends, so no certificates are needed. A client can also have a certificate prove which
 * server it is; then the proofs of the key are made inside TLS (ath_tls_export()).
 *
 * GnuTLS does the work. It is loaded when the first connection needs it, because most programs that
 * load the client library never do, and programs bring TLS libraries of their own.
 *
 * Threads: during the handshake one thread. After it one thread may send while another receives.
 * A child of fork() must not use the connection, only close its descriptor.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

struct ath_tls;

enum {
    ATH_TLS_KEY_BYTES = 32,
    ATH_TLS_EXPORT_BYTES = 32,
    ATH_TLS_IDENTITY_BYTES = 64, /* with the NUL byte */
    ATH_TLS_FIRST_BYTE = 0x16    /* the first byte of a handshake; a frame begins with 0 */
};

/* Loads GnuTLS. Returns 0, or -ENOENT with err. Later calls do nothing. Any thread. */
int ath_tls_load(struct ath_err *err);

/* The client's half of a key: the name that the server finds the key by, and its bytes. */
struct ath_tls_key {
    char identity[ATH_TLS_IDENTITY_BYTES];
    uint8_t bytes[ATH_TLS_KEY_BYTES];
};

/* Looks up the key of an identity for a server. Returns whether there is one. */
typedef bool ath_tls_find_key(void *context, const char *identity, uint8_t out[ATH_TLS_KEY_BYTES]);

/*
 * The secrets of a connection. ATH_TLS_FORWARD: fresh ones, so that a key that is stolen later
 * opens nothing that was recorded before. ATH_TLS_QUICK: they come from the key alone, which must
 * be fresh itself.
 */
enum ath_tls_secrecy { ATH_TLS_FORWARD, ATH_TLS_QUICK };

/* A server's certificate, with those between it and an authority behind it, and its private key:
 * files in PEM form. */
struct ath_tls_certificate {
    const char *file, *key_file;
};

/* The check of a server's certificate: by the authorities of a file in PEM form, for the name or
 * the address that the client has of the server. */
struct ath_tls_trust {
    const char *file, *host;
};

/*
 * Makes one end. fd stays the caller's, and may be blocking or not. find() is called during the
 * handshake with context. Returns 0, or a negative errno with err: -ENOENT without GnuTLS, -ENOMEM.
 */
int ath_tls_make_client(int fd, enum ath_tls_secrecy secrecy, const struct ath_tls_key *key,
                        struct ath_tls **out, struct ath_err *err);
int ath_tls_make_server(int fd, enum ath_tls_secrecy secrecy, ath_tls_find_key *find, void *context,
                        struct ath_tls **out, struct ath_err *err);

/*
 * The same with a certificate. This client proves no key, and its secrets are fresh. This server
 * also takes clients that prove a key, with fresh secrets. certificate and trust must stay until
 * the end of the handshake. Errors are also those of ath_tls_certificate_check(), and the same for
 * the file of authorities.
 */
int ath_tls_make_certified_client(int fd, const struct ath_tls_trust *trust, struct ath_tls **out,
                                  struct ath_err *err);
int ath_tls_make_certified_server(int fd, ath_tls_find_key *find, void *context,
                                  const struct ath_tls_certificate *certificate,
                                  struct ath_tls **out, struct ath_err *err);

/* Checks that a server can use its certificate now, and will be able to for days_ahead days.
 * Returns 0, or a negative errno with err: "certificate-invalid" (no certificate or key, they do
 * not belong together, other users may read the key; -EKEYEXPIRED: not valid at that time), or the
 * errors of reading the files. */
int ath_tls_certificate_check(const struct ath_tls_certificate *certificate, int days_ahead,
                              struct ath_err *err);

/* Frees the end without a word to the peer. No thread may be in another function. */
void ath_tls_free(struct ath_tls *tls);

/*
 * Does the handshake until deadline_ms (of ath_now_ms()). With 0 it does what can be done without
 * waiting, and returns -EAGAIN, without err, if there is more to do.
 *
 * Returns 0, or with err: -ETIMEDOUT; -ENODATA or -ECONNRESET (the peer closed the connection);
 * -EACCES (the ends do not have the same key by the same name); -EKEYREJECTED (the client does not
 * trust the server's certificate, or the server has none); -EPROTONOSUPPORT (the server answers a
 * client with a frame, which has not been read yet); -EPROTO (no TLS, or it was changed on the
 * way).
 */
int ath_tls_handshake(struct ath_tls *tls, uint64_t deadline_ms, struct ath_err *err);

/* The identity of the client's key, at the server after the handshake; empty for a client that
 * wanted a certificate. */
const char *ath_tls_identity(const struct ath_tls *tls);

/* Bytes that only the two ends of this connection have, different for each label (RFC 8446, 7.5).
 * Returns 0 or -EPROTO. */
int ath_tls_export(struct ath_tls *tls, const char *label, uint8_t out[ATH_TLS_EXPORT_BYTES]);

/*
 * As recv(2) and sendmsg(2) on the socket itself, with 0 or MSG_DONTWAIT, and never SIGPIPE.
 *
 * Receiving returns 0 at the end of the connection. errno EPROTO: a message was changed, repeated,
 * left out, or is not the peer's. After EAGAIN or EINTR of sending, the caller sends the
 * same bytes again.
 */
ssize_t ath_tls_receive(struct ath_tls *tls, void *bytes, size_t length, int flags);
ssize_t ath_tls_send(struct ath_tls *tls, const struct iovec *parts, size_t count, int flags);

/* Returns whether bytes of the peer lie here, so that poll(2) on the socket need not see them. */
bool ath_tls_has_bytes(const struct ath_tls *tls);
