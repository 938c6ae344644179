/* Looks at a first message. */
#include "config.h"

#include "runtime/first_message.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/control.h"
#include "remote/wire/frame.h"

static struct ath_first_message of_kind(enum ath_first_message_kind kind)
{
    return (struct ath_first_message){ .kind = kind };
}

/* Has poll(2) wait for that many bytes (socket(7), SO_RCVLOWAT). */
static struct ath_first_message await(int fd, size_t bytes)
{
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &(int){ (int)bytes }, sizeof(int));
    return of_kind(ATH_FIRST_MESSAGE_INCOMPLETE);
}

static struct ath_first_message of_whole(int fd, enum ath_first_message_kind kind)
{
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &(int){ 1 }, sizeof(int));
    return of_kind(kind);
}

/* Takes the message from the socket: what follows belongs to the session. */
static struct ath_first_message of_join(int fd, struct ath_control_join join, size_t length)
{
    uint8_t taken[ATH_CONTROL_HELLO_FRAME_BYTES];
    struct ath_first_message first = of_whole(fd, ATH_FIRST_MESSAGE_JOIN);
    struct ath_wire_bytes mac = ath_control_join_mac(join);
    if (mac.length != sizeof first.joining.proof ||
        recv(fd, taken, length, MSG_DONTWAIT) != (ssize_t)length)
        return of_kind(ATH_FIRST_MESSAGE_WRONG);
    first.session = ath_control_join_session(join);
    first.joining.number = ath_control_join_number(join);
    memcpy(first.joining.proof, mac.data, mac.length);
    return first;
}

struct ath_first_message ath_first_message_look(int fd)
{
    _Alignas(8) uint8_t bytes[ATH_CONTROL_HELLO_FRAME_BYTES];
    uint32_t head[2]; /* segments less one, words */
    struct ath_control_message message;

    ssize_t got = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return of_kind(ATH_FIRST_MESSAGE_INCOMPLETE);
    if (got <= 0)
        return of_kind(ATH_FIRST_MESSAGE_GONE);
    if (bytes[0] == ATH_TLS_FIRST_BYTE)
        return of_whole(fd, ATH_FIRST_MESSAGE_HELLO);
    if ((size_t)got < sizeof head)
        return await(fd, sizeof head);
    memcpy(head, bytes, sizeof head);
    uint32_t words = le32toh(head[1]);
    size_t length = (size_t)words * 8; /* behind the head */
    if (head[0] || !words || words > sizeof bytes / 8 - 1)
        return of_kind(ATH_FIRST_MESSAGE_WRONG);
    if ((size_t)got < ATH_FRAME_HEAD + length)
        return await(fd, ATH_FRAME_HEAD + length);
    if (ath_control_message_open(bytes + ATH_FRAME_HEAD, length, &message))
        return of_kind(ATH_FIRST_MESSAGE_WRONG);
    if (ath_control_message_which(message) == ATH_CONTROL_MESSAGE_JOIN)
        return of_join(fd, ath_control_message_join(message), ATH_FRAME_HEAD + length);
    return ath_control_message_which(message) == ATH_CONTROL_MESSAGE_HELLO
               ? of_whole(fd, ATH_FIRST_MESSAGE_HELLO)
               : of_kind(ATH_FIRST_MESSAGE_WRONG);
}

struct ath_first_message ath_first_message_any(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0)
        return of_kind(ATH_FIRST_MESSAGE_HELLO);
    return of_kind(got < 0 && (errno == EAGAIN || errno == EINTR) ? ATH_FIRST_MESSAGE_INCOMPLETE
                                                                  : ATH_FIRST_MESSAGE_GONE);
}
