/* Sends and receives batches of datagrams. */
#include "config.h"

#include "remote/udp/batch.h"

#include <errno.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

enum {
    CONTROL_BYTES = 64,
    ROOM_BYTES = 8 << 20, /* of the kernel's buffers */
};

bool ath_peer_is(const struct ath_peer *peer, const struct ath_peer *other)
{
    if (peer->address.ss_family != other->address.ss_family)
        return false;
    if (peer->address.ss_family == AF_INET) {
        const struct sockaddr_in *a = (const struct sockaddr_in *)&peer->address,
                                 *b = (const struct sockaddr_in *)&other->address;
        return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)&peer->address,
                              *b = (const struct sockaddr_in6 *)&other->address;
    return a->sin6_port == b->sin6_port && a->sin6_scope_id == b->sin6_scope_id &&
           !memcmp(&a->sin6_addr, &b->sin6_addr, sizeof a->sin6_addr);
}

/* ---- sending ---- */

bool ath_outgoing_add(struct ath_outgoing *batch, const struct ath_peer *to,
                      const struct ath_datagram *datagram)
{
    const size_t bytes = ATH_DATAGRAM_HEAD_BYTES + datagram->length;
    size_t which = batch->count - 1;
    bool joins = batch->count && !batch->cuts_nothing && !batch->messages[which].is_full &&
                 bytes <= batch->messages[which].segment_bytes &&
                 batch->messages[which].bytes + bytes <= ATH_BATCH_BYTES &&
                 ath_peer_is(&batch->messages[which].to, to);
    if (!joins) {
        if (batch->count == ATH_BATCH_MESSAGES)
            return false;
        which = batch->count++;
        batch->messages[which].to = *to;
        batch->messages[which].segments = batch->messages[which].bytes = 0;
        batch->messages[which].segment_bytes = bytes;
    }
    size_t segment = batch->messages[which].segments++;
    uint8_t *head = batch->messages[which].heads[segment];
    ath_datagram_encode(datagram, head);
    batch->messages[which].parts[2 * segment] = (struct iovec){ head, ATH_DATAGRAM_HEAD_BYTES };
    batch->messages[which].parts[2 * segment + 1] =
        (struct iovec){ (void *)(uintptr_t)datagram->payload, datagram->length };
    batch->messages[which].bytes += bytes;
    batch->messages[which].is_full =
        segment + 1 == ATH_BATCH_SEGMENTS || bytes < batch->messages[which].segment_bytes;
    return true;
}

static void ask_for_cuts(struct msghdr *message, uint8_t control[CONTROL_BYTES], uint16_t bytes)
{
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(sizeof bytes);
    struct cmsghdr *cut = CMSG_FIRSTHDR(message);
    cut->cmsg_level = SOL_UDP;
    cut->cmsg_type = UDP_SEGMENT;
    cut->cmsg_len = CMSG_LEN(sizeof bytes);
    memcpy(CMSG_DATA(cut), &bytes, sizeof bytes);
}

/* Sends each datagram of a message by itself. */
static void send_apart(struct ath_outgoing *batch, size_t which, int fd)
{
    for (size_t i = 0; i < batch->messages[which].segments; i++) {
        const struct msghdr message = { .msg_name = &batch->messages[which].to.address,
                                        .msg_namelen = batch->messages[which].to.length,
                                        .msg_iov = &batch->messages[which].parts[2 * i],
                                        .msg_iovlen = 2 };
        (void)!sendmsg(fd, &message, 0);
    }
}

/* Goes on after a message that the system refuses. A card or kernel that cannot cut says so. */
static void take_refusal(struct ath_outgoing *batch, size_t which, int fd, int error)
{
    if (batch->messages[which].segments == 1)
        return;
    if (error == EIO || error == EINVAL || error == ENOPROTOOPT)
        batch->cuts_nothing = true;
    send_apart(batch, which, fd);
}

void ath_outgoing_send(struct ath_outgoing *batch, int fd)
{
    struct mmsghdr headers[ATH_BATCH_MESSAGES];
    _Alignas(struct cmsghdr) uint8_t controls[ATH_BATCH_MESSAGES][CONTROL_BYTES];
    memset(headers, 0, sizeof headers);
    memset(controls, 0, sizeof controls);
    for (size_t i = 0; i < batch->count; i++) {
        struct msghdr *message = &headers[i].msg_hdr;
        message->msg_name = &batch->messages[i].to.address;
        message->msg_namelen = batch->messages[i].to.length;
        message->msg_iov = batch->messages[i].parts;
        message->msg_iovlen = 2 * batch->messages[i].segments;
        if (batch->messages[i].segments > 1)
            ask_for_cuts(message, controls[i], (uint16_t)batch->messages[i].segment_bytes);
    }
    for (size_t done = 0; done < batch->count;) {
        int sent = sendmmsg(fd, headers + done, (unsigned int)(batch->count - done), 0);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            take_refusal(batch, done, fd, errno);
        done += sent > 0 ? (size_t)sent : 1;
    }
    batch->count = 0;
}

/* ---- receiving ---- */

struct ath_incoming {
    struct mmsghdr headers[ATH_BATCH_MESSAGES];
    struct iovec parts[ATH_BATCH_MESSAGES];
    struct ath_peer from[ATH_BATCH_MESSAGES];
    _Alignas(struct cmsghdr) uint8_t controls[ATH_BATCH_MESSAGES][CONTROL_BYTES];
    uint8_t bytes[ATH_BATCH_MESSAGES][65536];
};

struct ath_incoming *ath_incoming_make(void)
{
    return calloc(1, sizeof(struct ath_incoming));
}

void ath_incoming_free(struct ath_incoming *incoming)
{
    free(incoming);
}

/* The size of the datagrams that the kernel joined. */
static size_t segment_bytes(struct msghdr *message, size_t all)
{
    for (struct cmsghdr *one = CMSG_FIRSTHDR(message); one; one = CMSG_NXTHDR(message, one)) {
        int bytes;
        if (one->cmsg_level != SOL_UDP || one->cmsg_type != UDP_GRO ||
            one->cmsg_len < CMSG_LEN(sizeof bytes))
            continue;
        memcpy(&bytes, CMSG_DATA(one), sizeof bytes);
        return bytes > 0 ? (size_t)bytes : all;
    }
    return all;
}

bool ath_incoming_take(struct ath_incoming *incoming, int fd,
                       void (*take)(void *context, const struct ath_peer *from,
                                    const uint8_t *bytes, size_t length),
                       void *context)
{
    for (size_t i = 0; i < ATH_BATCH_MESSAGES; i++) {
        incoming->parts[i] = (struct iovec){ incoming->bytes[i], sizeof incoming->bytes[i] };
        incoming->headers[i].msg_hdr =
            (struct msghdr){ .msg_name = &incoming->from[i].address,
                             .msg_namelen = sizeof incoming->from[i].address,
                             .msg_iov = &incoming->parts[i],
                             .msg_iovlen = 1,
                             .msg_control = incoming->controls[i],
                             .msg_controllen = CONTROL_BYTES };
    }
    int got = recvmmsg(fd, incoming->headers, ATH_BATCH_MESSAGES, MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; i++) {
        struct msghdr *message = &incoming->headers[i].msg_hdr;
        size_t left = incoming->headers[i].msg_len, at = 0;
        size_t each = segment_bytes(message, left);
        incoming->from[i].length = message->msg_namelen;
        do {
            each = each < left ? each : left;
            take(context, &incoming->from[i], incoming->bytes[i] + at, each);
            left -= each;
            at += each;
        } while (left);
    }
    return got == ATH_BATCH_MESSAGES;
}

/* ---- sockets ---- */

static void set(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

static void make_room(int fd, int forced, int name)
{
    const int bytes = ROOM_BYTES;
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes)) /* root only */
        set(fd, SOL_SOCKET, name, bytes);
}

void ath_batch_tune(int fd)
{
    set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    set(fd, SOL_UDP, UDP_GRO, 1);
    make_room(fd, SO_RCVBUFFORCE, SO_RCVBUF);
    make_room(fd, SO_SNDBUFFORCE, SO_SNDBUF);
}
