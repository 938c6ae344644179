/*
 * Further connections of a program's session, which carry large frames (proto/control.capnp, Join).
 * They are begun behind the hello and join behind the proof, so they cost no round trip. A session
 * without them is only slower.
 *
 * They go to the address of the session itself. If the challenge names data addresses, others are
 * begun to these, by each path in turn, which costs a round trip. One of these that is lost later
 * is made again (recovery.h).
 */
#pragma once
#include "remote/session/opening.h"
#include "remote/tls/policy.h"
#include "remote/transport/stream.h"
#include "remote/wire/secret.h"

struct ath_stripes {
    struct ath_socket sockets[ATH_STRIPES_MAX];
    struct ath_opening openings[ATH_STRIPES_MAX]; /* of the same connections, until they are made */
    size_t count;
    enum ath_stripes_way way;
    bool has_back;   /* the last one goes where the session goes, and carries verdicts alone */
    bool is_udp;     /* they go by UDP, the last one by TCP if has_back */
    bool may_change; /* to UDP, while the session goes on (recovery.h) */
    /* The paths to data addresses, and the path of each connection. */
    struct ath_data_path paths[ATH_DATA_PATHS_MAX];
    size_t path_count;
    size_t path_of[ATH_STRIPES_MAX];
    /* The paths that are not used, and why: a negative errno, -ENOKEY if they would carry in the
     * open what must not leave this host. */
    struct ath_data_path left_out[ATH_DATA_PATHS_MAX];
    int left_out_why[ATH_DATA_PATHS_MAX];
    size_t left_out_count;
};

/* The session that stripes belong to. */
struct ath_stripes_owner {
    int fd;             /* its socket */
    bool is_encrypted;  /* so are its stripes */
    bool must_not_leak; /* the session has a key, and plain connections must stay on this host */
    uint64_t session;
    const struct ath_ticket *ticket;
};

/* The number of further connections by one path: three; with encryption up to seven, one connection
 * for two processors that the calling thread may use. One thread sends each share, and it encrypts
 * 2 to 3 GB/s (measured beside an H200), which is half of what it sends without encryption. */
size_t ath_stripes_wanted(bool is_encrypted);

/* Begins connections for a session over TCP, to data addresses if there are any (a list with
 * commas; empty: none). *out stays empty for any other socket, if connections cannot be begun, or
 * if stripes are switched off. */
void ath_stripes_begin(const struct ath_stripes_owner *owner, const char *data_addresses,
                       struct ath_stripes *out);

/* The same by UDP (remote/udp/carrier.h), to data addresses if there are any, else to a port of the
 * session's own address. Waits for a second until the connections are made; a data address that
 * does not answer sooner is left out. Returns 0, or a negative errno if no answer comes or UDP
 * cannot be used; *out is empty then. */
int ath_stripes_begin_udp(const struct ath_stripes_owner *owner, const char *data_addresses,
                          uint16_t port, struct ath_stripes *out);

/* Waits until the connections are made, and joins the session with each. A data address that does
 * not answer soon is left out, and the connections go by the others; without any they go to the
 * session's own address. For an encrypted session begins to encrypt them. Returns 0, or a negative
 * errno; the server then misses a connection. */
int ath_stripes_join(struct ath_stripes *stripes, const struct ath_stripes_owner *owner);

/* Ends the handshakes of TLS that were begun, if any. Returns 0, or a negative errno with err. */
int ath_stripes_finish(const struct ath_stripes *stripes, uint64_t deadline_ms,
                       struct ath_err *err);

/* Closes the connections. */
void ath_stripes_free(struct ath_stripes *stripes);

/* The two halves of one connection by a path that joins a session under a number: waiting for the
 * path (ath_opening_await()); and joining, with its encryption, until the server says that it has
 * the connection. Each returns 0 or a negative errno; the first one -EPERM if the connection would
 * carry in the open what must not leave this host. The descriptor stays the caller's until the
 * second one succeeds. */
int ath_stripe_await_path(struct ath_opening *opening, const struct ath_data_path *path,
                          const struct ath_stripes_owner *owner, uint64_t deadline_ms);
int ath_stripe_join_again(int fd, const struct ath_stripes_owner *owner, uint32_t number,
                          uint64_t deadline_ms, struct ath_socket *out);
