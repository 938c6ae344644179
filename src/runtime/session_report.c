/* A message is one packet, whole or not at all (unix(7), SOCK_SEQPACKET). */
#include "config.h"

#include "runtime/session_report.h"

#include <errno.h>
#include <sys/socket.h>

int ath_session_report_pair(int out[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, out) ? -errno : 0;
}

int ath_session_report_send(int fd, const struct ath_session_report *report)
{
    ssize_t sent = send(fd, report, sizeof *report, MSG_NOSIGNAL);
    return sent == sizeof *report ? 0 : sent < 0 ? -errno : -EIO;
}

int ath_session_report_take(int fd, struct ath_session_report *out)
{
    struct ath_session_report report;
    ssize_t got = recv(fd, &report, sizeof report, MSG_DONTWAIT);
    if (got <= 0)
        return got < 0 ? -errno : -ENODATA;
    if (got != sizeof report)
        return -EBADMSG;
    report.identity[sizeof report.identity - 1] = '\0';
    if (*report.identity && !ath_key_name_is_valid(report.identity))
        return -EBADMSG;
    *out = report;
    return 0;
}
