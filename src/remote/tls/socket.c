/* Waits for sockets, and closes them. */
#include "config.h"

#include "remote/tls/socket.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

int ath_socket_wait(int fd, short events, uint64_t deadline_ms)
{
    for (;;) {
        uint64_t now = ath_now_ms();
        if (now >= deadline_ms)
            return -ETIMEDOUT;
        uint64_t left = deadline_ms - now;
        struct pollfd one = { .fd = fd, .events = events };
        int ready = poll(&one, 1, left > INT_MAX ? INT_MAX : (int)left);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
}

void ath_socket_close(struct ath_socket *closed)
{
    ath_tls_free(closed->tls);
    if (closed->fd >= 0)
        close(closed->fd);
    *closed = (struct ath_socket){ .fd = -1 };
}
