/* Skips and cuts lists of parts. */
#include "config.h"

#include "remote/transport/parts.h"

#include <stdint.h>

void ath_parts_skip(struct msghdr *message, size_t sent)
{
    while (message->msg_iovlen && sent >= message->msg_iov->iov_len) {
        sent -= message->msg_iov->iov_len;
        message->msg_iov++;
        message->msg_iovlen--;
    }
    if (message->msg_iovlen) {
        message->msg_iov->iov_base = (uint8_t *)message->msg_iov->iov_base + sent;
        message->msg_iov->iov_len -= sent;
    }
}

size_t ath_parts_cut(const struct iovec *parts, size_t count, size_t from, size_t to,
                     struct iovec *out)
{
    size_t at = 0, made = 0;
    for (size_t i = 0; i < count; at += parts[i++].iov_len) {
        size_t begin = from > at ? from - at : 0;
        size_t end = to < at + parts[i].iov_len ? to - (to > at ? at : to) : parts[i].iov_len;
        if (begin < end)
            out[made++] = (struct iovec){ (uint8_t *)parts[i].iov_base + begin, end - begin };
    }
    return made;
}
