/*
 * Memory that two processes map: the client makes it or has a file of it, asks the server over the
 * socket to map it too, and both keep a list.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/cleanup.h"
#include "base/host_budget.h"
#include "remote/transport/shm.h"
#include "remote/transport/shm_internal.h"
#include "remote/transport/size_limit.h"

enum {
    SHARES_MAX = 65536,
    ADDRESS_TRIES = 64,
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};

#define ADDRESS_STEP UINT64_C(0x200000)

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

/* ---- the list, and mapping ---- */

static struct ath_shm_piece **place_of(struct ath_shm *shm, uint64_t id)
{
    struct ath_shm_piece **at = &shm->shares;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static int add_share(struct ath_shm *shm, uint64_t id, void *address, size_t bytes)
{
    struct ath_shm_piece *share = malloc(sizeof *share);
    if (!share)
        return -ENOMEM;
    *share =
        (struct ath_shm_piece){ .next = shm->shares, .id = id, .address = address, .bytes = bytes };
    shm->shares = share;
    shm->share_count++;
    return 0;
}

static void remove_share(struct ath_shm *shm, uint64_t id)
{
    struct ath_shm_piece **at = place_of(shm, id), *share = *at;
    if (!share)
        return;
    *at = share->next;
    shm->share_count--;
    munmap(share->address, share->bytes);
    free(share);
}

void ath_shm_end_shares(struct ath_shm *shm)
{
    for (struct ath_shm_piece *one = shm->shares, *next; one; one = next) {
        next = one->next;
        munmap(one->address, one->bytes);
        free(one);
    }
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

int ath_shm_make_memory(const char *name, size_t bytes, int *out_fd)
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

bool ath_shm_is_sealed(int memory, size_t bytes)
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

static int ask_to_share(struct ath_shm *shm, const struct request *request, int memory)
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
static int share_at_address(struct ath_shm *shm, int memory, uint64_t address, size_t bytes,
                            void **out)
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

static int share_somewhere(struct ath_shm *shm, int memory, size_t bytes, void **out)
{
    int status = -EEXIST;
    for (int i = 0; i < ADDRESS_TRIES && status == -EEXIST; i++) {
        uint64_t address = shm->next_address;
        shm->next_address += (bytes + ADDRESS_STEP - 1) / ADDRESS_STEP * ADDRESS_STEP;
        status = share_at_address(shm, memory, address, bytes, out);
    }
    return status;
}

int ath_shm_share(struct ath_stream *stream, size_t bytes, void *wanted, void **out_address,
                  uint64_t *out_id)
{
    struct ath_shm *shm = (struct ath_shm *)stream;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ath_auto_close int memory = -1;
    void *address = NULL;

    if (!bytes || bytes > SIZE_MAX / 2)
        return -EINVAL;
    bytes = (bytes + page - 1) / page * page;
    int status = ath_shm_make_memory("aitherion-shared", bytes, &memory);
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

int ath_shm_share_file(struct ath_stream *stream, int fd, uint64_t offset, size_t bytes,
                       const void *wanted, uint64_t *out_id)
{
    struct ath_shm *shm = (struct ath_shm *)stream;
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

void ath_shm_unshare(struct ath_stream *stream, uint64_t id)
{
    struct ath_shm *shm = (struct ath_shm *)stream;
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
    return ath_shm_is_sealed(memory, request->bytes) ? 0 : -EINVAL;
}

static int take_share(struct ath_shm *shm, const struct request *request, int memory)
{
    void *address = NULL;
    if (!request->bytes) {
        const struct ath_shm_piece *share = *place_of(shm, request->id);
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
    struct ath_shm *shm = (struct ath_shm *)stream;
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
    struct ath_shm *shm = (struct ath_shm *)stream;
    pthread_mutex_lock(&shm->lock);
    const struct ath_shm_piece *share = *place_of(shm, id);
    void *address = share ? share->address : NULL;
    *out_bytes = share ? share->bytes : 0;
    pthread_mutex_unlock(&shm->lock);
    return address;
}
