/* Rings, shared memory, and the socket that goes with them. */
#include "config.h"

#include "remote/transport/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/cleanup.h"
#include "base/host_budget.h"
#include "remote/transport/ring.h"
#include "remote/transport/size_limit.h"

enum {
    TO_SERVER,
    TO_CLIENT,
    RINGS,
    SHARES_MAX = 65536,
    ADDRESS_TRIES = 64,
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};

/* The first address to try for shared memory: far from the heap, the libraries and CUDA's
 * reservations, and below the end of every 64-bit Linux process. */
#define ADDRESS_FIRST UINT64_C(0x100000000000)
#define ADDRESS_STEP UINT64_C(0x200000)

struct share {
    struct share *next;
    uint64_t id;
    void *address;
    size_t bytes;
};

struct shm {
    struct ath_stream stream;
    int fd;
    atomic_bool is_over;
    struct ath_ring in, out;
    struct ath_ring_shared *shared; /* of both rings */
    pthread_mutex_t lock; /* for the shares, and for the client's use of the socket for them */
    struct share *shares;
    size_t share_count;
    uint64_t last_id, next_address;
};

/* A request on the socket. Both sides run on one machine, so it is a plain struct. bytes 0: ends
 * the share. */
struct request {
    uint64_t id, address, bytes, offset;
    uint64_t is_file; /* a file of the program's, unsealed; the address is only a wish */
};

struct reply {
    uint64_t id;
    int64_t status;
};

/* ---- the socket ---- */

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

static int is_gone(void *context)
{
    const struct shm *shm = context;
    struct pollfd one = { .fd = shm->fd, .events = POLLRDHUP };
    return poll(&one, 1, 0) > 0 && one.revents & (POLLRDHUP | POLLHUP | POLLERR) ? -ENODATA : 0;
}

/* ---- the stream ---- */

/* A ring calls this before its writer sleeps. */
static int before_wait(void *context)
{
    const struct shm *shm = context;
    if (shm->stream.before_wait)
        shm->stream.before_wait(shm->stream.context);
    return 0;
}

static int shm_write(struct ath_stream *stream, const struct iovec *parts, size_t count)
{
    struct shm *shm = (struct shm *)stream;
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = ath_ring_write(&shm->out, parts[i].iov_base, parts[i].iov_len);
    return status == -ENODATA ? -ECONNRESET : status;
}

static int shm_read(struct ath_stream *stream, void *bytes, size_t length)
{
    struct shm *shm = (struct shm *)stream;
    return ath_ring_read(&shm->in, bytes, length);
}

static void shm_shut(struct ath_stream *stream)
{
    struct shm *shm = (struct shm *)stream;
    shm->is_over = true;
    shutdown(shm->fd, SHUT_RDWR);
    ath_ring_wake(shm->in.shared);
    ath_ring_wake(shm->out.shared);
}

static void shm_abandon(struct ath_stream *stream)
{
    struct shm *shm = (struct shm *)stream;
    shm->is_over = true;
    close(shm->fd);
    shm->fd = -1;
}

static void shm_close(struct ath_stream *stream)
{
    struct shm *shm = (struct shm *)stream;
    for (struct share *one = shm->shares, *next; one; one = next) {
        next = one->next;
        munmap(one->address, one->bytes);
        free(one);
    }
    munmap(shm->shared, RINGS * sizeof *shm->shared);
    pthread_mutex_destroy(&shm->lock);
    if (shm->fd >= 0)
        close(shm->fd);
    free(shm);
}

/* ---- shared memory ---- */

static struct share **place_of(struct shm *shm, uint64_t id)
{
    struct share **at = &shm->shares;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static int add_share(struct shm *shm, uint64_t id, void *address, size_t bytes)
{
    struct share *share = malloc(sizeof *share);
    if (!share)
        return -ENOMEM;
    *share = (struct share){ .next = shm->shares, .id = id, .address = address, .bytes = bytes };
    shm->shares = share;
    shm->share_count++;
    return 0;
}

static void remove_share(struct shm *shm, uint64_t id)
{
    struct share **at = place_of(shm, id), *share = *at;
    if (!share)
        return;
    *at = share->next;
    shm->share_count--;
    munmap(share->address, share->bytes);
    free(share);
}

/* Maps at the address only, and never over another mapping. */
static int map_at(int memory, uint64_t offset, uint64_t address, size_t bytes, void **out)
{
    void *wanted = (void *)(uintptr_t)address;
    void *mapped = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
                        memory, (off_t)offset);
    if (mapped == MAP_FAILED)
        return -errno;
    if (mapped != wanted) { /* kernels before 4.17 take the address as a wish */
        munmap(mapped, bytes);
        return -EEXIST;
    }
    *out = mapped;
    return 0;
}

static int make_memory(const char *name, size_t bytes, int *out_fd)
{
    ath_auto_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    sigset_t mask;
    ath_size_limit_hold(&mask);
    int status =
        fd < 0 || ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, SEALS) ? -errno : 0;
    ath_size_limit_release(&mask);
    if (status)
        return status;
    *out_fd = ath_steal_fd(&fd);
    return 0;
}

/* Whether the memory is sealed against shrinking and has this many bytes. */
static bool is_sealed(int memory, size_t bytes)
{
    struct stat status;
    int seals = fcntl(memory, F_GET_SEALS);
    return seals >= 0 && seals & F_SEAL_SHRINK && !fstat(memory, &status) &&
           (uint64_t)status.st_size >= bytes;
}

/*
 * Checks whether the server may map a file of the program's: it must be in memory. A file system in
 * user space, or a disk, might never deliver a page, and then the session's process would hang
 * forever. mmap() needs the file open for writing, and the program has that right itself.
 */
static int check_file(int memory, const struct request *request)
{
    struct statfs system;
    struct stat status;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (fstatfs(memory, &system) || system.f_type != TMPFS_MAGIC || fstat(memory, &status) ||
        !S_ISREG(status.st_mode))
        return -ENOTSUP;
    uint64_t end = ((uint64_t)status.st_size + page - 1) / page * page;
    return request->offset > end || request->bytes > end - request->offset ? -EINVAL : 0;
}

/* ---- the client asks ---- */

static int ask_to_share(struct shm *shm, const struct request *request, int memory)
{
    struct reply reply;
    int none;
    int status = ath_shm_send(shm->fd, request, sizeof *request, memory);
    if (!status)
        status = ath_shm_receive(shm->fd, &reply, sizeof reply, &none);
    if (status)
        return status;
    if (none >= 0)
        close(none);
    return reply.id == request->id ? (int)reply.status : -EBADMSG;
}

/* Maps the memory on both sides at one address. */
static int share_at_address(struct shm *shm, int memory, uint64_t address, size_t bytes, void **out)
{
    struct request request = { .id = shm->last_id + 1, .address = address, .bytes = bytes };
    int status = map_at(memory, 0, address, bytes, out);
    if (status)
        return status;
    status = ask_to_share(shm, &request, memory);
    if (!status)
        status = add_share(shm, request.id, *out, bytes);
    if (status)
        munmap(*out, bytes);
    else
        shm->last_id = request.id;
    return status;
}

static int share_somewhere(struct shm *shm, int memory, size_t bytes, void **out)
{
    int status = -EEXIST;
    for (int i = 0; i < ADDRESS_TRIES && status == -EEXIST; i++) {
        uint64_t address = shm->next_address;
        shm->next_address += (bytes + ADDRESS_STEP - 1) / ADDRESS_STEP * ADDRESS_STEP;
        status = share_at_address(shm, memory, address, bytes, out);
    }
    return status;
}

static int shm_share(struct ath_stream *stream, size_t bytes, void *wanted, void **out_address,
                     uint64_t *out_id)
{
    struct shm *shm = (struct shm *)stream;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ath_auto_close int memory = -1;
    void *address = NULL;

    if (!bytes || bytes > SIZE_MAX / 2)
        return -EINVAL;
    bytes = (bytes + page - 1) / page * page;
    int status = make_memory("aitherion-shared", bytes, &memory);
    if (status)
        return status;
    pthread_mutex_lock(&shm->lock);
    status = shm->is_over ? -ESHUTDOWN
             : wanted     ? share_at_address(shm, memory, (uintptr_t)wanted, bytes, &address)
                          : share_somewhere(shm, memory, bytes, &address);
    *out_address = address;
    *out_id = shm->last_id;
    pthread_mutex_unlock(&shm->lock);
    return status;
}

static int shm_share_file(struct ath_stream *stream, int fd, uint64_t offset, size_t bytes,
                          const void *wanted, uint64_t *out_id)
{
    struct shm *shm = (struct shm *)stream;
    pthread_mutex_lock(&shm->lock);
    struct request request = { .id = shm->last_id + 1,
                               .address = (uintptr_t)wanted,
                               .bytes = bytes,
                               .offset = offset,
                               .is_file = true };
    int status = shm->is_over ? -ESHUTDOWN : ask_to_share(shm, &request, fd);
    if (!status)
        *out_id = shm->last_id = request.id;
    pthread_mutex_unlock(&shm->lock);
    return status;
}

static void shm_unshare(struct ath_stream *stream, uint64_t id)
{
    struct shm *shm = (struct shm *)stream;
    pthread_mutex_lock(&shm->lock);
    if (!shm->is_over)
        (void)ask_to_share(shm, &(struct request){ .id = id }, -1);
    remove_share(shm, id);
    pthread_mutex_unlock(&shm->lock);
}

/* ---- the server answers ---- */

static int map_file(int memory, const struct request *request, void **out)
{
    int status = map_at(memory, request->offset, request->address, request->bytes, out);
    if (status != -EEXIST)
        return status;
    *out = mmap(NULL, request->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory,
                (off_t)request->offset);
    return *out == MAP_FAILED ? -errno : 0;
}

static int check_share(int memory, const struct request *request)
{
    if (request->is_file)
        return check_file(memory, request);
    return is_sealed(memory, request->bytes) ? 0 : -EINVAL;
}

static int take_share(struct shm *shm, const struct request *request, int memory)
{
    void *address = NULL;
    if (!request->bytes) {
        const struct share *share = *place_of(shm, request->id);
        if (share)
            ath_host_give(ATH_HOST_BYTES, share->bytes);
        remove_share(shm, request->id);
        return 0;
    }
    if (memory < 0 || *place_of(shm, request->id))
        return -EINVAL;
    if (shm->share_count == SHARES_MAX)
        return -ENOSPC;
    int status = check_share(memory, request);
    if (status)
        return status;
    if (!ath_host_take(ATH_HOST_BYTES, request->bytes))
        return -ENOMEM;
    status = request->is_file ? map_file(memory, request, &address)
                              : map_at(memory, 0, request->address, request->bytes, &address);
    if (!status) {
        status = add_share(shm, request->id, address, request->bytes);
        if (status)
            munmap(address, request->bytes);
    }
    if (status)
        ath_host_give(ATH_HOST_BYTES, request->bytes);
    return status;
}

int ath_shm_serve_share(struct ath_stream *stream)
{
    struct shm *shm = (struct shm *)stream;
    struct request request;
    ath_auto_close int memory = -1;
    int status = ath_shm_receive(shm->fd, &request, sizeof request, &memory);
    if (status)
        return status;
    pthread_mutex_lock(&shm->lock);
    struct reply reply = { request.id, take_share(shm, &request, memory) };
    pthread_mutex_unlock(&shm->lock);
    return ath_shm_send(shm->fd, &reply, sizeof reply, -1);
}

void *ath_shm_find(struct ath_stream *stream, uint64_t id, size_t *out_bytes)
{
    struct shm *shm = (struct shm *)stream;
    pthread_mutex_lock(&shm->lock);
    const struct share *share = *place_of(shm, id);
    void *address = share ? share->address : NULL;
    *out_bytes = share ? share->bytes : 0;
    pthread_mutex_unlock(&shm->lock);
    return address;
}

/* ---- making a stream ---- */

static const struct ath_stream_ops ops = {
    .name = "shm",
    .write = shm_write,
    .read = shm_read,
    .shut = shm_shut,
    .share = shm_share,
    .share_file = shm_share_file,
    .unshare = shm_unshare,
    .abandon = shm_abandon,
    .close = shm_close,
};

static int open_stream(int fd, int memory, bool is_server, struct ath_stream **out_stream)
{
    struct ath_ring_shared *shared =
        mmap(NULL, RINGS * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (shared == MAP_FAILED)
        return -errno;
    struct shm *shm = calloc(1, sizeof *shm);
    if (!shm) {
        munmap(shared, RINGS * sizeof *shared);
        return -ENOMEM;
    }
    shm->stream.ops = &ops;
    shm->fd = fd;
    shm->shared = shared;
    shm->next_address = ADDRESS_FIRST;
    pthread_mutex_init(&shm->lock, NULL);
    shm->stream.patience_us = ath_stream_patience_us(ATH_STREAM_IDLE);
    struct ath_ring ring = { .is_over = &shm->is_over,
                             .context = shm,
                             .patience_us = &shm->stream.patience_us };
    /* The server needs none: a thread of its own waits for the end of the connection. */
    if (!is_server)
        ring.is_gone = is_gone;
    shm->in = shm->out = ring;
    if (is_server)
        shm->out.is_gone = before_wait;
    shm->in.shared = &shared[is_server ? TO_SERVER : TO_CLIENT];
    shm->out.shared = &shared[is_server ? TO_CLIENT : TO_SERVER];
    *out_stream = &shm->stream;
    return 0;
}

int ath_shm_make(int fd, int *out_memory, struct ath_stream **out_stream)
{
    ath_auto_close int memory = -1;
    int status = make_memory("aitherion-rings", RINGS * sizeof(struct ath_ring_shared), &memory);
    if (!status)
        status = open_stream(fd, memory, true, out_stream);
    if (!status)
        *out_memory = ath_steal_fd(&memory);
    return status;
}

int ath_shm_take(int fd, int memory, struct ath_stream **out_stream)
{
    if (!is_sealed(memory, RINGS * sizeof(struct ath_ring_shared)))
        return -EBADMSG;
    return open_stream(fd, memory, false, out_stream);
}
