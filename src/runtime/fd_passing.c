/* Each session has a pair of unix sockets. A message is passed whole or not at all (unix(7),
 * SOCK_SEQPACKET). */
#include "config.h"

#include "runtime/fd_passing.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/transport/shm.h"

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void ath_fd_passing_init(struct ath_fd_passing *passing)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        passing->outer[i] = -1;
    passing->inner = -1;
}

void ath_fd_passing_add(struct ath_fd_passing *passing, size_t slot)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
        return;
    ath_fd_passing_remove(passing, slot);
    passing->outer[slot] = pair[0];
    passing->inner = pair[1];
}

void ath_fd_passing_keep_outer(struct ath_fd_passing *passing)
{
    close_end(&passing->inner);
}

void ath_fd_passing_close(struct ath_fd_passing *passing)
{
    close_end(&passing->inner);
}

void ath_fd_passing_keep_inner(struct ath_fd_passing *passing)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        close_end(&passing->outer[i]);
}

void ath_fd_passing_remove(struct ath_fd_passing *passing, size_t slot)
{
    close_end(&passing->outer[slot]);
}

int ath_fd_passing_pass(const struct ath_fd_passing *passing, size_t slot,
                        const struct ath_joining *joining, int fd)
{
    struct pollfd one = { .fd = passing->outer[slot], .events = POLLOUT };
    if (one.fd < 0)
        return -ENOENT;
    if (poll(&one, 1, 0) != 1) /* more messages wait than the session has connections */
        return -EAGAIN;
    return ath_shm_send(one.fd, joining, sizeof *joining, fd);
}

int ath_fd_passing_take(const struct ath_fd_passing *passing, uint64_t deadline_ms,
                        struct ath_joining *out, int *out_fd)
{
    struct pollfd one = { .fd = passing->inner, .events = POLLIN };
    for (;;) {
        uint64_t now_ms = ath_now_ms();
        int ready = now_ms < deadline_ms ? poll(&one, 1, (int)(deadline_ms - now_ms)) : 0;
        if (!ready)
            return -ETIMEDOUT;
        if (ready > 0)
            return ath_shm_receive(passing->inner, out, sizeof *out, out_fd);
        if (errno != EINTR)
            return -errno;
    }
}
