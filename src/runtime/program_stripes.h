/* The connections of a program beyond the first one. */
#pragma once
#include "remote/transport/channels.h"
#include "remote/transport/stream.h"
#include "remote/wire/secret.h"
#include "runtime/fd_passing.h"

struct ath_program_stripes {
    struct ath_socket sockets[ATH_STRIPES_MAX]; /* fd -1: missing */
    struct ath_tls_key keys[ATH_STRIPES_MAX];   /* with TLS, until its handshakes are over */
    size_t count;
    enum ath_stripes_way way;
};

/* The rules for further connections of a session. */
struct ath_program_stripes_wanted {
    size_t announced;
    const struct ath_ticket *ticket; /* the session's */
    bool is_encrypted;               /* they will be */
    bool must_not_leak;              /* plain ones must stay on this host */
    const char *peer;                /* for the log */
};

/* Takes all connections that the client announced, or none: all by the session's address, or by
 * data addresses except the last one. Waits for them while the driver loads, and logs those that it
 * refuses. */
void ath_program_stripes_take(struct ath_program_stripes *stripes,
                              struct ath_fd_passing *fd_passing,
                              const struct ath_program_stripes_wanted *wanted);

/* Answers the clients' first messages of TLS without waiting, so that all connections are ready
 * when the client has the answer to its question. Returns 0 or a negative errno. */
int ath_program_stripes_begin_tls(struct ath_program_stripes *stripes,
                                  const struct ath_ticket *ticket);

/* Ends the handshakes, and forgets their keys. Returns 0 or a negative errno. */
int ath_program_stripes_finish_tls(struct ath_program_stripes *stripes, uint64_t deadline_ms);

/* Returns the status of the first connection that failed; 0: all are fine. For connections that are
 * no channels. */
int ath_program_stripes_look(const struct ath_program_stripes *stripes);

/* Takes a connection that comes again for a channel that was lost, which the listening process has
 * passed; logs it, or why it is refused. Takes at most two seconds. */
void ath_program_stripes_take_again(const struct ath_program_stripes *stripes,
                                    const struct ath_fd_passing *fd_passing,
                                    const struct ath_program_stripes_wanted *wanted,
                                    struct ath_channels *channels);
