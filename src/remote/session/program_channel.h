/*
 * The way of a program's session from the answer to openChannel (proto/control.capnp) to a stream:
 * of the session's own socket, and of the connections that joined. Used by each client that opens
 * such a session.
 */
#pragma once
#include "remote/session/session.h"

/*
 * Waits for the answer to openChannel, which the caller has sent with this transport. If the server
 * misses a connection, the session has none of them from then on. *out stays in the session's
 * memory. Returns 0, or a negative errno with err: those of ath_session_await(), and -EBADMSG
 * "peer-protocol" if the answer does not fit the question.
 */
int ath_program_channel_await(struct ath_session *session, enum ath_control_transport transport,
                              struct ath_control_channel *out, struct ath_err *err);

/* Makes the stream of the session's own socket, or of the server's shared memory. On success the
 * stream owns the session's socket. Returns 0, or a negative errno with err. */
int ath_program_channel_stream(struct ath_session *session, enum ath_control_transport transport,
                               struct ath_stream **out, struct ath_err *err);

/* Spreads large frames over the connections that joined, and makes those again that are lost
 * (recovery.h). owner is the session before ath_program_channel_stream(). On success the stream
 * owns the connections; after a failure it can only be closed. Returns 0, or a negative errno with
 * err. */
int ath_program_channel_spread(struct ath_stream *stream, struct ath_stripes *stripes,
                               const struct ath_stripes_owner *owner, struct ath_err *err);
