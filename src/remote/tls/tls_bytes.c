/*
 * The bytes of a TLS connection, on their way between GnuTLS, the socket and the caller.
 *
 * GnuTLS asks for the five bytes of a record's head and then for the rest, and each would be a
 * system call. So bytes are read ahead: a small record comes with one call, and several large ones
 * do, too. Records that follow each other are sent with MSG_MORE, so that the kernel makes large
 * packets of them.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "remote/tls/gnutls.h"
#include "remote/tls/tls.h"
#include "remote/tls/tls_internal.h"

enum { DIRECT = 4096 /* from these bytes on a copy costs more than a longer system call */ };

/* ---- between GnuTLS and the socket ---- */

static ssize_t note_received(struct ath_tls *tls, ssize_t got)
{
    tls->pull_error = got < 0 ? errno : 0;
    tls->is_at_end = tls->is_at_end || !got;
    return got;
}

/* Receives a record's rest to its place, and what is behind it ahead. Returns the bytes at `to`. */
static ssize_t receive_rest(struct ath_tls *tls, void *to, size_t length)
{
    struct iovec places[] = { { to, length }, { tls->ahead, sizeof tls->ahead } };
    struct msghdr message = { .msg_iov = places, .msg_iovlen = 2 };
    ssize_t got = note_received(tls, recvmsg(tls->fd, &message, tls->pull_flags));
    if (got <= (ssize_t)length)
        return got;
    tls->begin = 0;
    tls->end = (size_t)got - length;
    return (ssize_t)length;
}

/* Looks whether the server's first answer is a frame and no TLS: a refusal in plain words. Returns
 * 1 if it is TLS, 0 at the end of the connection, or -1 with errno: nothing has come yet, or a
 * frame. */
static ssize_t look_at_answer(struct ath_tls *tls)
{
    uint8_t first = ATH_TLS_FIRST_BYTE;
    if (tls->has_answer || tls->is_server)
        return 1;
    ssize_t got = note_received(tls, recv(tls->fd, &first, 1, MSG_PEEK | tls->pull_flags));
    tls->has_answer = got == 1;
    tls->is_frame = tls->has_answer && first == 0;
    if (!tls->is_frame)
        return got;
    errno = EPROTONOSUPPORT;
    return -1;
}

ssize_t ath_tls_pull(gnutls_transport_ptr_t context, void *to, size_t length)
{
    struct ath_tls *tls = context;
    if (tls->begin == tls->end) {
        ssize_t got = look_at_answer(tls);
        if (got <= 0)
            return got;
        if (length >= DIRECT)
            return receive_rest(tls, to, length);
        got = note_received(tls, recv(tls->fd, tls->ahead, sizeof tls->ahead, tls->pull_flags));
        if (got <= 0)
            return got;
        tls->begin = 0;
        tls->end = (size_t)got;
    }
    size_t taken = tls->end - tls->begin < length ? tls->end - tls->begin : length;
    memcpy(to, tls->ahead + tls->begin, taken);
    tls->begin += taken;
    return (ssize_t)taken;
}

ssize_t ath_tls_push(gnutls_transport_ptr_t context, const giovec_t *parts, int count)
{
    struct ath_tls *tls = context;
    struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count };
    int more = tls->has_more ? MSG_MORE : 0;
    ssize_t sent = sendmsg(tls->fd, &message, MSG_NOSIGNAL | tls->push_flags | more);
    tls->push_error = sent < 0 ? errno : 0;
    return sent;
}

/* ---- between GnuTLS and the caller ---- */

/* Sets errno for a code of GnuTLS. error is the socket's own. Returns -1. */
static ssize_t fail(ssize_t code, int error)
{
    switch (code) {
    case GNUTLS_E_AGAIN:
        errno = EAGAIN;
        break;
    case GNUTLS_E_INTERRUPTED:
        errno = EINTR;
        break;
    case GNUTLS_E_INVALID_SESSION: /* the thread of the other direction has the reason */
        errno = ECONNRESET;
        break;
    default:
        errno = error ? error : EPROTO;
    }
    return -1;
}

ssize_t ath_tls_receive(struct ath_tls *tls, void *bytes, size_t length, int flags)
{
    ssize_t got;
    tls->pull_flags = flags;
    tls->pull_error = 0;
    do /* GnuTLS also says "again" when it has dealt with a message of its own */
        got = ath_gnutls.gnutls_record_recv(tls->session, bytes, length);
    while (got == GNUTLS_E_AGAIN && !tls->pull_error);
    if (got >= 0)
        return got;
    /* An end without TLS's own word for it is as good as one with it: frames have lengths. */
    if (tls->is_at_end)
        return 0;
    return fail(got, tls->pull_error);
}

/* The caller's parts that are left to send. */
struct rest {
    const struct iovec *part;
    size_t offset; /* in the part */
    size_t length; /* of all together */
};

static void skip(struct rest *rest, size_t length)
{
    rest->length -= length;
    while (rest->length && rest->part->iov_len - rest->offset <= length) {
        length -= rest->part->iov_len - rest->offset;
        rest->part++;
        rest->offset = 0;
    }
    rest->offset += length;
}

/* The bytes of the next record: from a part itself if that has all of them, or many small parts
 * together. */
static const void *next_record(struct ath_tls *tls, struct rest rest, size_t *out_length)
{
    size_t length = rest.length < ATH_TLS_RECORD_BYTES ? rest.length : ATH_TLS_RECORD_BYTES;
    *out_length = length;
    skip(&rest, 0); /* empty parts */
    if (rest.part->iov_len - rest.offset >= length)
        return (const uint8_t *)rest.part->iov_base + rest.offset;
    for (size_t at = 0, taken; at < length; at += taken) {
        size_t there = rest.part->iov_len - rest.offset;
        taken = there < length - at ? there : length - at;
        memcpy(tls->gathered + at, (const uint8_t *)rest.part->iov_base + rest.offset, taken);
        skip(&rest, taken);
    }
    return tls->gathered;
}

ssize_t ath_tls_send(struct ath_tls *tls, const struct iovec *parts, size_t count, int flags)
{
    struct rest rest = { .part = parts };
    size_t done = 0;
    for (size_t i = 0; i < count; i++)
        rest.length += parts[i].iov_len;
    tls->push_flags = flags;
    while (rest.length) {
        size_t length = tls->unsent;
        const void *bytes = length ? NULL : next_record(tls, rest, &length);
        tls->has_more = rest.length > length;
        ssize_t sent = ath_gnutls.gnutls_record_send(tls->session, bytes, bytes ? length : 0);
        bool must_repeat = sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED;
        tls->unsent = must_repeat ? length : 0;
        if (sent < 0)
            return must_repeat && done ? (ssize_t)done : fail(sent, tls->push_error);
        skip(&rest, (size_t)sent);
        done += (size_t)sent;
    }
    return (ssize_t)done;
}

bool ath_tls_has_bytes(const struct ath_tls *tls)
{
    return tls->begin < tls->end || ath_gnutls.gnutls_record_check_pending(tls->session) > 0;
}
