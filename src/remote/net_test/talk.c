/* Builds, sends and receives the messages of a test. */
#include "config.h"

#include "remote/net_test/talk.h"

#include <errno.h>

void ath_net_talk_free(struct ath_net_talk *talk)
{
    ath_wire_builder_free(&talk->builder);
    ath_frame_free(&talk->frame);
}

struct ath_control_message_builder ath_net_talk_begin(struct ath_net_talk *talk)
{
    talk->builder.max_bytes = ATH_CONTROL_HELLO_FRAME_BYTES;
    return ath_control_message_start(&talk->builder);
}

int ath_net_talk_send(struct ath_net_talk *talk)
{
    size_t length;
    int status;
    const uint8_t *bytes = ath_wire_finish(&talk->builder, &length, &status);
    if (!bytes)
        return status;
    struct iovec part = { (void *)(uintptr_t)bytes, length };
    return talk->stream->ops->write(talk->stream, &part, 1);
}

int ath_net_talk_await(struct ath_net_talk *talk, enum ath_control_message_which wanted,
                       struct ath_control_message *out)
{
    int status = ath_stream_read_frame(talk->stream, ATH_CONTROL_HELLO_FRAME_BYTES, &talk->frame);
    if (status)
        return status;
    return ath_control_message_open(ath_frame_message(&talk->frame),
                                    ath_frame_message_length(&talk->frame), out) ||
                   ath_control_message_which(*out) != wanted
               ? -EBADMSG
               : 0;
}
