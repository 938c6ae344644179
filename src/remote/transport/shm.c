/* The stream over rings in shared memory, and the end of its peer. */
#include "config.h"

#include "remote/transport/shm.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "remote/transport/shm_internal.h"

enum { TO_SERVER, TO_CLIENT, RINGS };

static int is_gone(void *context)
{
    const struct ath_shm *shm = context;
    struct pollfd one = { .fd = shm->fd, .events = POLLRDHUP };
    return poll(&one, 1, 0) > 0 && one.revents & (POLLRDHUP | POLLHUP | POLLERR) ? -ENODATA : 0;
}

/* ---- the stream ---- */

/* A ring calls this before its writer sleeps. */
static int before_wait(void *context)
{
    const struct ath_shm *shm = context;
    if (shm->stream.before_wait)
        shm->stream.before_wait(shm->stream.context);
    return 0;
}

static int shm_write(struct ath_stream *stream, const struct iovec *parts, size_t count)
{
    struct ath_shm *shm = (struct ath_shm *)stream;
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = ath_ring_write(&shm->out, parts[i].iov_base, parts[i].iov_len);
    return status == -ENODATA ? -ECONNRESET : status;
}

static int shm_read(struct ath_stream *stream, void *bytes, size_t length)
{
    struct ath_shm *shm = (struct ath_shm *)stream;
    return ath_ring_read(&shm->in, bytes, length);
}

static void shm_shut(struct ath_stream *stream)
{
    struct ath_shm *shm = (struct ath_shm *)stream;
    shm->is_over = true;
    shutdown(shm->fd, SHUT_RDWR);
    ath_ring_wake(shm->in.shared);
    ath_ring_wake(shm->out.shared);
}

static void shm_abandon(struct ath_stream *stream)
{
    struct ath_shm *shm = (struct ath_shm *)stream;
    shm->is_over = true;
    close(shm->fd);
    shm->fd = -1;
}

static void shm_close(struct ath_stream *stream)
{
    struct ath_shm *shm = (struct ath_shm *)stream;
    ath_shm_end_shares(shm);
    munmap(shm->shared, RINGS * sizeof *shm->shared);
    pthread_mutex_destroy(&shm->lock);
    if (shm->fd >= 0)
        close(shm->fd);
    free(shm);
}

/* ---- making a stream ---- */

static const struct ath_stream_ops ops = {
    .name = "shm",
    .write = shm_write,
    .read = shm_read,
    .shut = shm_shut,
    .share = ath_shm_share,
    .share_file = ath_shm_share_file,
    .unshare = ath_shm_unshare,
    .abandon = shm_abandon,
    .close = shm_close,
};

static int open_stream(int fd, int memory, bool is_server, struct ath_stream **out_stream)
{
    struct ath_ring_shared *shared =
        mmap(NULL, RINGS * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (shared == MAP_FAILED)
        return -errno;
    struct ath_shm *shm = calloc(1, sizeof *shm);
    if (!shm) {
        munmap(shared, RINGS * sizeof *shared);
        return -ENOMEM;
    }
    shm->stream.ops = &ops;
    shm->fd = fd;
    shm->shared = shared;
    shm->next_address = ATH_SHM_ADDRESS_FIRST;
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
    int status =
        ath_shm_make_memory("aitherion-rings", RINGS * sizeof(struct ath_ring_shared), &memory);
    if (!status)
        status = open_stream(fd, memory, true, out_stream);
    if (!status)
        *out_memory = ath_steal_fd(&memory);
    return status;
}

int ath_shm_take(int fd, int memory, struct ath_stream **out_stream)
{
    if (!ath_shm_is_sealed(memory, RINGS * sizeof(struct ath_ring_shared)))
        return -EBADMSG;
    return open_stream(fd, memory, false, out_stream);
}
