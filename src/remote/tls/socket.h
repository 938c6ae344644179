/*
 * A connected socket, plain or with TLS on it. Frames and transports move bytes through it and need
 * not know which of the two it is.
 */
#pragma once
#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

#include "remote/tls/tls.h"

struct ath_socket {
    int fd;
    struct ath_tls *tls; /* NULL: plain */
};

/* As recv(2), with 0 or MSG_DONTWAIT. */
static inline ssize_t ath_socket_receive(struct ath_socket from, void *bytes, size_t length,
                                         int flags)
{
    return from.tls ? ath_tls_receive(from.tls, bytes, length, flags)
                    : recv(from.fd, bytes, length, flags);
}

/* As sendmsg(2) of the message's parts, with 0 or MSG_DONTWAIT, and never SIGPIPE. After EAGAIN or
 * EINTR the caller sends the same bytes again. */
static inline ssize_t ath_socket_send(struct ath_socket to, const struct msghdr *message, int flags)
{
    return to.tls ? ath_tls_send(to.tls, message->msg_iov, message->msg_iovlen, flags)
                  : sendmsg(to.fd, message, flags | MSG_NOSIGNAL);
}

/* Waits with poll(2) for events on the descriptor. Returns 0, -ETIMEDOUT after deadline_ms (of
 * ath_now_ms()), or poll()'s error. */
int ath_socket_wait(int fd, short events, uint64_t deadline_ms);

/* Frees the TLS and closes the descriptor. */
void ath_socket_close(struct ath_socket *closed);
