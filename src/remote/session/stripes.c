/* All connections are begun before the first wait, so that they are made at the same time. */
#include "config.h"

#include "remote/session/stripes.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proto/control.h"
#include "remote/switches.h"

enum { STRIPES = 3 /* in addition to the first connection */, CONNECT_MS = 5000 };

void ath_stripes_free(struct ath_stripes *stripes)
{
    while (stripes->count)
        close(stripes->fds[--stripes->count]);
}

void ath_stripes_begin(int fd, struct ath_stripes *out)
{
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof address;
    *out = (struct ath_stripes){ 0 };
    if (ath_is_off(ATH_SWITCH_STRIPES) || getpeername(fd, (struct sockaddr *)&address, &length) ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6))
        return;
    while (out->count < STRIPES) {
        ath_auto_close int one =
            socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (one < 0 ||
            (connect(one, (struct sockaddr *)&address, length) && errno != EINPROGRESS)) {
            ath_stripes_free(out);
            return;
        }
        out->fds[out->count++] = ath_steal_fd(&one);
    }
}

static int await_stripe(int fd, uint64_t deadline_ms)
{
    struct pollfd one = { .fd = fd, .events = POLLOUT };
    int failure = 0;
    socklen_t length = sizeof failure;
    for (;;) {
        uint64_t now_ms = ath_now_ms();
        int ready = now_ms < deadline_ms ? poll(&one, 1, (int)(deadline_ms - now_ms)) : 0;
        if (!ready)
            return -ETIMEDOUT;
        if (ready > 0)
            return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) ? -errno : -failure;
        if (errno != EINTR)
            return -errno;
    }
}

static int join(int fd, uint64_t session, const struct ath_ticket *ticket, uint32_t number,
                uint64_t deadline_ms)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = ATH_CONTROL_HELLO_FRAME_BYTES };
    uint8_t proof[ATH_PROOF_BYTES];
    size_t length;
    int status;
    struct ath_err err;
    struct ath_control_join_builder told =
        ath_control_message_init_join(ath_control_message_start(&builder));
    ath_ticket_prove(ticket, number, proof);
    ath_control_join_set_session(told, session);
    ath_control_join_set_number(told, number);
    ath_control_join_set_mac(told, (struct ath_wire_bytes){ proof, sizeof proof });
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    return bytes ? ath_frame_write(fd, bytes, length, deadline_ms, &err) : status;
}

int ath_stripes_join(const struct ath_stripes *stripes, uint64_t session,
                     const struct ath_ticket *ticket)
{
    uint64_t deadline_ms = ath_now_ms() + CONNECT_MS;
    int status = 0;
    for (size_t i = 0; i < stripes->count && !status; i++) {
        status = await_stripe(stripes->fds[i], deadline_ms);
        if (!status)
            status = join(stripes->fds[i], session, ticket, (uint32_t)i + 1, deadline_ms);
    }
    return status;
}
