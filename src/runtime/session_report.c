/* A message is one packet, whole or not at all (unix(7), SOCK_SEQPACKET). */
#include "config.h"

#include "runtime/session_report.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/clock.h"

enum { ANSWER_MS = 10000 };

int ath_session_report_pair(int out[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, out) ? -errno : 0;
}

int ath_session_report_send(int fd, const struct ath_session_report *report)
{
    ssize_t sent = send(fd, report, sizeof *report, MSG_NOSIGNAL);
    return sent == sizeof *report ? 0 : sent < 0 ? -errno : -EIO;
}

int ath_session_report_answer(int fd, uint64_t answer)
{
    ssize_t sent = send(fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == sizeof answer ? 0 : sent < 0 ? -errno : -EIO;
}

static int wait_until(int fd, short events, uint64_t deadline_ms)
{
    for (uint64_t now_ms; (now_ms = ath_now_ms()) < deadline_ms;) {
        struct pollfd one = { .fd = fd, .events = events };
        int ready = poll(&one, 1, (int)(deadline_ms - now_ms));
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
    return -ETIMEDOUT;
}

int ath_session_report_ask(int fd, const struct ath_session_report *question, uint64_t *out_answer)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    uint64_t answer, deadline_ms = ath_now_ms() + ANSWER_MS;
    if (fd < 0)
        return -ENOTCONN;
    pthread_mutex_lock(&one_at_a_time);
    int status = wait_until(fd, POLLOUT, deadline_ms);
    if (!status)
        status = ath_session_report_send(fd, question);
    if (!status)
        status = wait_until(fd, POLLIN, deadline_ms);
    if (!status && recv(fd, &answer, sizeof answer, MSG_DONTWAIT) != sizeof answer)
        status = -ECONNRESET;
    pthread_mutex_unlock(&one_at_a_time);
    if (!status)
        *out_answer = answer;
    return status;
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
