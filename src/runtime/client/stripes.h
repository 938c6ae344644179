/*
 * More connections of a program's session, for shares of its large frames (proto/control.capnp,
 * Join). They are begun behind the hello and join behind the proof, so that they cost no round
 * trip; without them the session only has less speed.
 */
#pragma once
#include "runtime/transport/stream.h"
#include "runtime/wire/secret.h"

struct ath_stripes {
    int fds[ATH_STRIPES_MAX - 1];
    size_t count;
};

/* Begins connections to where the one at fd goes. Only of TCP: *out has none of another kind, where
 * one cannot be begun, or where they are switched off. */
void ath_stripes_begin(int fd, struct ath_stripes *out);

/* Waits until they are connected, and joins a session on each. Returns 0 or a negative errno, with
 * which the server will miss one. */
int ath_stripes_join(const struct ath_stripes *stripes, uint64_t session,
                     const struct ath_ticket *ticket);

/* Closes them. */
void ath_stripes_free(struct ath_stripes *stripes);
