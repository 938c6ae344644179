/* A pair of unix sockets each; a message is passed whole or not at all (unix(7), SOCK_SEQPACKET).
 */
#include "config.h"

#include "runtime/server/doors.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/transport/shm.h"

static void drop(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void ath_doors_init(struct ath_doors *doors)
{
    for (size_t i = 0; i < ATH_BOARD_MAX; i++)
        doors->outer[i] = -1;
    doors->inner = -1;
}

void ath_doors_add(struct ath_doors *doors, size_t place)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
        return;
    ath_doors_remove(doors, place);
    doors->outer[place] = pair[0];
    doors->inner = pair[1];
}

void ath_doors_are_outside(struct ath_doors *doors)
{
    drop(&doors->inner);
}

void ath_doors_close(struct ath_doors *doors)
{
    drop(&doors->inner);
}

void ath_doors_are_inside(struct ath_doors *doors)
{
    for (size_t i = 0; i < ATH_BOARD_MAX; i++)
        drop(&doors->outer[i]);
}

void ath_doors_remove(struct ath_doors *doors, size_t place)
{
    drop(&doors->outer[place]);
}

int ath_doors_pass(const struct ath_doors *doors, size_t place, const struct ath_joining *joining,
                   int fd)
{
    struct pollfd one = { .fd = doors->outer[place], .events = POLLOUT };
    if (one.fd < 0)
        return -ENOENT;
    if (poll(&one, 1, 0) != 1) /* more wait there than the session has connections */
        return -EAGAIN;
    return ath_shm_send(one.fd, joining, sizeof *joining, fd);
}

int ath_doors_take(const struct ath_doors *doors, uint64_t deadline_ms, struct ath_joining *out,
                   int *out_fd)
{
    struct pollfd one = { .fd = doors->inner, .events = POLLIN };
    for (;;) {
        uint64_t now_ms = ath_now_ms();
        int ready = now_ms < deadline_ms ? poll(&one, 1, (int)(deadline_ms - now_ms)) : 0;
        if (!ready)
            return -ETIMEDOUT;
        if (ready > 0)
            return ath_shm_receive(doors->inner, out, sizeof *out, out_fd);
        if (errno != EINTR)
            return -errno;
    }
}
