/* Messages with descriptors over the unix socket of two processes. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "remote/transport/shm.h"

static int send_small_message(int fd, struct msghdr *message)
{
    for (;;) {
        ssize_t sent = sendmsg(fd, message, MSG_NOSIGNAL);
        if (sent >= 0) /* a few bytes are sent whole or not at all */
            return (size_t)sent == message->msg_iov->iov_len ? 0 : -EIO;
        if (errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
        else if (errno != EINTR)
            return errno == EPIPE ? -ECONNRESET : -errno;
    }
}

int ath_shm_send(int fd, const void *bytes, size_t length, int memory)
{
    struct iovec part = { (void *)(uintptr_t)bytes, length };
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = { { 0 } };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    if (memory >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &memory, sizeof memory);
    }
    return send_small_message(fd, &message);
}

/* The first descriptor. Our messages have room for one, and the kernel drops any others. */
static int descriptor_of(struct msghdr *message)
{
    int memory = -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && memory < 0)
            memcpy(&memory, CMSG_DATA(head), sizeof memory);
    return memory;
}

int ath_shm_receive(int fd, void *bytes, size_t length, int *out_memory)
{
    size_t done = 0;
    ath_auto_close int memory = -1;

    *out_memory = -1;
    while (done < length) {
        struct iovec part = { (uint8_t *)bytes + done, length - done };
        union {
            char room[CMSG_LEN(sizeof(int))];
            struct cmsghdr align;
        } control;
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = control.room,
                                  .msg_controllen = sizeof control.room };
        ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0)
            return got ? -errno : done ? -EBADMSG : -ENODATA;
        done += (size_t)got;
        int came = descriptor_of(&message);
        if (came >= 0 && memory >= 0) {
            close(came);
            return -EBADMSG;
        }
        memory = memory < 0 ? came : memory;
    }
    *out_memory = ath_steal_fd(&memory);
    return 0;
}
