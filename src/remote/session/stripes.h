/*
 * Further connections of a program's session, which carry shares of its large frames
 * (proto/control.capnp, Join). They are begun behind the hello and join behind the proof, so they
 * cost no round trip. A session without them is only slower.
 */
#pragma once
#include "remote/transport/stream.h"
#include "remote/wire/secret.h"

struct ath_stripes {
    struct ath_socket sockets[ATH_STRIPES_MAX - 1];
    size_t count;
};

/* The number of further connections: three; with encryption up to seven, one connection for two
 * processors that the calling thread may use. One thread sends each share, and it encrypts 2 to 3
 * GB/s (measured beside an H200), which is half of what it sends without encryption. */
size_t ath_stripes_wanted(bool is_encrypted);

/* Begins connections to the peer of the TCP socket fd. *out stays empty for any other socket, if
 * a connection cannot be begun, or if stripes are switched off. */
void ath_stripes_begin(int fd, bool is_encrypted, struct ath_stripes *out);

/* Waits until the connections are made, and joins the session with each. For an encrypted session
 * begins to encrypt them. Returns 0, or a negative errno; the server then misses a connection. */
int ath_stripes_join(struct ath_stripes *stripes, uint64_t session, const struct ath_ticket *ticket,
                     bool is_encrypted);

/* Ends the handshakes of TLS that were begun, if any. Returns 0, or a negative errno with err. */
int ath_stripes_finish(const struct ath_stripes *stripes, uint64_t deadline_ms,
                       struct ath_err *err);

/* Closes the connections. */
void ath_stripes_free(struct ath_stripes *stripes);
