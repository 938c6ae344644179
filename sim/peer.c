/*
 * Descriptors for other processes of the same user. A thread listens on an abstract unix socket
 * whose name the kernel chose (unix(7), autobind), and each IPC handle has the name. Both sides
 * compare the other's user with their own, as NVIDIA's driver does: /proc/PID/fd, which would do
 * the same, is closed to a session that is locked in.
 */
#include "config.h"

#include "sim/peer.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 5, RETRY_NS = 10 * 1000 * 1000 };

static int listener = -1;
static char own_name[SIM_PEER_NAME];

static bool is_same_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.uid == geteuid();
}

/* Returns whether a descriptor is memory of the simulator, and not something else of the
 * program's. */
static bool is_ours(int fd)
{
    static const char begin[] = "/memfd:aitherion-sim";
    char path[64], target[sizeof begin] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, target, sizeof target - 1) > 0 && !strcmp(target, begin);
}

static void answer(int connection)
{
    static const struct timeval patience = { .tv_sec = PATIENCE_S };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    int wanted;
    struct iovec part = { &wanted, sizeof wanted };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!is_same_user(connection) || recv(connection, &wanted, sizeof wanted, 0) != sizeof wanted ||
        !is_ours(wanted))
        return;
    control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof wanted),
                                     .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.head), &wanted, sizeof wanted);
    (void)!sendmsg(connection, &message, MSG_NOSIGNAL);
}

static void *serve(void *unused)
{
    for (;;) {
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0) {
            answer(connection);
            close(connection);
        } else {
            nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
        }
    }
    return unused;
}

/* The caller has the lock. */
static bool begin(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t length = sizeof address;
    sigset_t all, old;
    pthread_t thread;

    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) ||
        listen(listener, SOMAXCONN) || getsockname(listener, (struct sockaddr *)&address, &length))
        return false;
    memcpy(own_name, address.sun_path, sizeof own_name);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool is_made = !pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (is_made)
        pthread_detach(thread);
    return is_made;
}

bool sim_peer_name(char out[SIM_PEER_NAME])
{
    if (listener < 0 && !begin()) {
        if (listener >= 0)
            close(listener);
        listener = -1;
        return false;
    }
    memcpy(out, own_name, SIM_PEER_NAME);
    return true;
}

static int receive(int connection)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    int number, fd;
    struct iovec part = { &number, sizeof number };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != sizeof number ||
        control.head.cmsg_len != CMSG_LEN(sizeof fd) || control.head.cmsg_type != SCM_RIGHTS)
        return -1;
    memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    return fd;
}

int sim_peer_open(const char name[SIM_PEER_NAME], int wanted)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    static const struct timeval patience = { .tv_sec = PATIENCE_S };
    int fd = -1, connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connection < 0)
        return -1;
    memcpy(address.sun_path, name, SIM_PEER_NAME);
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (!name[0] &&
        !connect(connection, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + SIM_PEER_NAME)) &&
        is_same_user(connection) &&
        send(connection, &wanted, sizeof wanted, MSG_NOSIGNAL) == sizeof wanted)
        fd = receive(connection);
    close(connection);
    return fd;
}
