/* Moves frames through a socket. */
#include "config.h"

#include "remote/wire/frame.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/i18n.h"

void ath_frame_free(struct ath_frame *frame)
{
    if (!frame)
        return;
    free(frame->bytes);
    *frame = (struct ath_frame){ 0 };
}

static int grow_bytes(struct ath_frame *frame, size_t length)
{
    if (length <= frame->capacity)
        return 0;
    uint8_t *bytes = realloc(frame->bytes, length);
    if (!bytes)
        return -ENOMEM;
    frame->bytes = bytes;
    frame->capacity = length;
    return 0;
}

int ath_frame_copy(struct ath_frame *frame, const uint8_t *bytes, size_t length)
{
    int status = grow_bytes(frame, length);
    if (status)
        return status;
    memcpy(frame->bytes, bytes, length);
    frame->length = length;
    return 0;
}

/*
 * Reads length bytes. *out_got is the number that came before a failure. Returns -ENODATA if the
 * peer ended the connection.
 */
static int read_all(struct ath_socket from, uint8_t *bytes, size_t length, uint64_t deadline_ms,
                    size_t *out_got)
{
    for (*out_got = 0; *out_got < length;) {
        ssize_t got = ath_socket_receive(from, bytes + *out_got, length - *out_got, MSG_DONTWAIT);
        int status = got > 0 ? 0 : got == 0 ? -ENODATA : -errno;
        if (status == -EAGAIN || status == -EINTR)
            status = ath_socket_wait(from.fd, POLLIN, deadline_ms);
        if (status)
            return status;
        *out_got += got > 0 ? (size_t)got : 0;
        if (*out_got < length && ath_now_ms() >= deadline_ms)
            return -ETIMEDOUT;
    }
    return 0;
}

static int report(struct ath_err *err, int status)
{
    switch (status) {
    case -ENODATA:
        return ath_err_set(err, status, ATH_E_PEER_FAILED, _("the peer closed the connection"));
    case -ETIMEDOUT:
        return ath_err_set(err, status, ATH_E_PEER_FAILED, _("the peer took too long"));
    case -EPROTO:
        return ath_err_set(err, status, ATH_E_PEER_PROTOCOL,
                           _("a message was changed on the way, or is not the peer's"));
    case -EBADMSG:
        return ath_err_set(err, status, ATH_E_PEER_PROTOCOL,
                           _("the peer closed the connection in the middle of a message"));
    default:
        return ath_err_system(err, status, "%s", _("the connection broke"));
    }
}

/* The length of a frame with this head. */
static int frame_length(const uint8_t head[ATH_FRAME_HEAD], size_t max_bytes, size_t *out_length,
                        struct ath_err *err)
{
    uint32_t words[2];
    memcpy(words, head, sizeof words);
    if (words[0])
        return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                           _("the peer sent something that is no message of aitherion"));
    *out_length = ATH_FRAME_HEAD + (size_t)le32toh(words[1]) * 8;
    if (*out_length > max_bytes)
        return ath_err_set(err, -EMSGSIZE, ATH_E_PEER_PROTOCOL,
                           _("the peer's message has %zu bytes; at most %zu are allowed here"),
                           *out_length, max_bytes);
    return 0;
}

int ath_frame_receive(struct ath_socket from, size_t max_bytes, uint64_t deadline_ms,
                      struct ath_frame *frame, struct ath_err *err)
{
    uint8_t head[ATH_FRAME_HEAD];
    size_t length = 0, got = 0;

    frame->length = 0;
    int status = read_all(from, head, sizeof head, deadline_ms, &got);
    if (status)
        return report(err, status == -ENODATA && got ? -EBADMSG : status);
    status = frame_length(head, max_bytes, &length, err);
    if (status)
        return status;
    status = grow_bytes(frame, length);
    if (status)
        return report(err, status);
    memcpy(frame->bytes, head, sizeof head);
    status = read_all(from, frame->bytes + sizeof head, length - sizeof head, deadline_ms, &got);
    if (status)
        return report(err, status == -ENODATA ? -EBADMSG : status);
    frame->length = length;
    return 0;
}

int ath_frame_send(struct ath_socket to, const uint8_t *bytes, size_t length, uint64_t deadline_ms,
                   struct ath_err *err)
{
    for (size_t done = 0; done < length;) {
        struct iovec part = { (void *)(bytes + done), length - done };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        ssize_t sent = ath_socket_send(to, &message, MSG_DONTWAIT);
        int status = sent >= 0 ? 0 : -errno;
        if (status == -EAGAIN || status == -EINTR)
            status = ath_socket_wait(to.fd, POLLOUT, deadline_ms);
        if (status)
            return report(err, status);
        done += sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}
