/*
 * The messages of tests of the network (proto/control.capnp, NetTest) on the connection of the
 * calls. Used by both sides. One thread.
 */
#pragma once
#include "proto/control.h"
#include "remote/transport/stream.h"

struct ath_net_talk {
    struct ath_stream *stream; /* not owned */
    struct ath_wire_builder builder;
    struct ath_frame frame;
};
void ath_net_talk_free(struct ath_net_talk *talk);

/* Begins a message, and sends what was begun. Returns 0 or a negative errno. */
struct ath_control_message_builder ath_net_talk_begin(struct ath_net_talk *talk);
int ath_net_talk_send(struct ath_net_talk *talk);

/* Waits for a message, which stays in the talk's memory until the next one. Returns 0, -ENODATA if
 * the peer has ended the session, -EBADMSG for another message, or another negative errno. */
int ath_net_talk_await(struct ath_net_talk *talk, enum ath_control_message_which wanted,
                       struct ath_control_message *out);
