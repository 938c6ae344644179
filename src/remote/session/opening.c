/* Begins a connection over TCP or as a channel of UDP, waits until it is made, and gives it up. */
#include "config.h"

#include "remote/session/opening.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "remote/udp/carrier.h"
#include "remote/wire/frame.h"

static int begin_channel(const struct ath_data_path *path, struct ath_opening *out)
{
    const struct ath_carrier_settings settings = { .buffer_bytes = ATH_CARRIER_BUFFER_BYTES,
                                                   .unsent_most = ATH_CARRIER_UNSENT_BYTES };
    const struct ath_peer peer = { .address = path->to, .length = path->length };
    ath_auto_close int fd = ath_data_path_bind(path);
    int status = fd < 0 ? fd : ath_carrier_make(fd, &settings, &out->carrier);
    if (status)
        return status;
    (void)ath_steal_fd(&fd);
    status = ath_carrier_begin(out->carrier, &peer, &out->number, &out->fd);
    if (status) {
        ath_carrier_free(out->carrier);
        out->carrier = NULL;
    }
    return status;
}

int ath_opening_begin(const struct ath_data_path *path, struct ath_opening *out)
{
    *out = (struct ath_opening){ .fd = -1 };
    if (path->is_udp)
        return begin_channel(path, out);
    int fd = ath_data_path_connect(path);
    if (fd < 0)
        return fd;
    out->fd = fd;
    return 0;
}

static int await_connection(int fd, uint64_t deadline_ms)
{
    int failure = 0;
    socklen_t length = sizeof failure;
    int status = ath_socket_wait(fd, POLLOUT, deadline_ms);
    if (status)
        return status;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) ? -errno : -failure;
}

int ath_opening_await(struct ath_opening *opening, uint64_t deadline_ms)
{
    if (!opening->carrier)
        return await_connection(opening->fd, deadline_ms);
    int status = ath_carrier_look(opening->carrier, opening->number, deadline_ms);
    if (status != -ETIMEDOUT)
        ath_opening_give_up(opening);
    return status;
}

void ath_opening_give_up(struct ath_opening *opening)
{
    if (!opening->carrier)
        return;
    (void)ath_carrier_await(opening->carrier, opening->number, 0);
    ath_carrier_release(opening->carrier);
    opening->carrier = NULL;
}
