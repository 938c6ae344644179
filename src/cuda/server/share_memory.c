/*
 * The server's side of memory that is handed on by file descriptor (memory_token.h).
 *
 * A token says where the session that exported it listens (an abstract unix socket, whose name the
 * kernel chose: unix(7), autobind), which of its descriptors it means, and a secret that cannot be
 * guessed: having the token is the right to the memory, as having the descriptor is natively. Both
 * processes check each other's identity, since everyone on the host can reach such a socket.
 */
#include "config.h"

#include "cuda/common/memory_token.h"

#include <errno.h>
#include <nettle/memops.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-wire.h"
#include "remote/transport/shm.h"

enum {
    NAME = 5, /* hexadecimal digits, after a NUL byte */
    PATIENCE_MS = 5000,
    AGAIN_NS = 10 * 1000 * 1000,
};

struct token {
    uint64_t number;
    uint64_t share; /* of the books' (ath_cuda_session.books) */
    uint8_t secret[16];
    char name[8];
};
_Static_assert(sizeof(struct token) <= ATH_CUDA_TOKEN_MAX, "it fits");

struct parked {
    struct parked *next;
    struct token token;
    int fd;
};

struct ath_cuda_shares {
    pthread_mutex_t lock;
    pthread_t thread;
    int listener;
    char name[8];
    uint64_t last_number;
    struct parked *parked;
};

/* ---- the other sessions ask ---- */

static struct parked **place_of(struct ath_cuda_shares *shares, const struct token *token)
{
    struct parked **at = &shares->parked;
    while (*at && !memeql_sec(&(*at)->token, token, sizeof *token))
        at = &(*at)->next;
    return at;
}

static bool is_of_ours(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.uid == geteuid();
}

static bool is_readable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    return poll(&one, 1, PATIENCE_MS) > 0;
}

static void answer(struct ath_cuda_shares *shares, int fd)
{
    struct token token;
    if (!is_of_ours(fd) || !is_readable(fd) ||
        recv(fd, &token, sizeof token, MSG_DONTWAIT) != (ssize_t)sizeof token)
        return;
    pthread_mutex_lock(&shares->lock);
    const struct parked *parked = *place_of(shares, &token);
    if (parked)
        (void)ath_shm_send(fd, "", 1, parked->fd);
    pthread_mutex_unlock(&shares->lock);
}

static void *listen_on(void *argument)
{
    struct ath_cuda_shares *shares = argument;
    for (;;) {
        ath_auto_close int fd = accept4(shares->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno == EINVAL) /* shut */
            return NULL;
        if (fd >= 0)
            answer(shares, fd);
        else /* no descriptor is free: the asking process must wait */
            nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
    }
}

/* ---- this session's own ---- */

static void shares_free(struct ath_cuda_shares *shares)
{
    for (struct parked *one = shares->parked, *next; one; one = next) {
        next = one->next;
        close(one->fd);
        free(one);
    }
    if (shares->listener >= 0)
        close(shares->listener);
    pthread_mutex_destroy(&shares->lock);
    free(shares);
}

void ath_cuda_shares_end(struct ath_cuda_session *session)
{
    if (!session->shares)
        return;
    shutdown(session->shares->listener, SHUT_RDWR);
    pthread_join(session->shares->thread, NULL);
    shares_free(session->shares);
    session->shares = NULL;
}

static bool begin_listening(struct ath_cuda_shares *shares)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t length = sizeof address;
    shares->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (shares->listener < 0 ||
        bind(shares->listener, (struct sockaddr *)&address, sizeof address.sun_family) ||
        listen(shares->listener, SOMAXCONN) ||
        getsockname(shares->listener, (struct sockaddr *)&address, &length) ||
        length != offsetof(struct sockaddr_un, sun_path) + 1 + NAME)
        return false;
    memcpy(shares->name, address.sun_path + 1, NAME);
    return !pthread_create(&shares->thread, NULL, listen_on, shares);
}

/* Returns the session's state, made when first wanted; NULL if the system refuses. */
static struct ath_cuda_shares *shares_of(struct ath_cuda_session *session)
{
    pthread_mutex_lock(&session->lock);
    struct ath_cuda_shares *shares = session->shares;
    if (!shares && (shares = calloc(1, sizeof *shares))) {
        pthread_mutex_init(&shares->lock, NULL);
        if (!begin_listening(shares)) {
            shares_free(shares);
            shares = NULL;
        }
        session->shares = shares;
    }
    pthread_mutex_unlock(&session->lock);
    return shares;
}

/* Keeps a descriptor, which belongs to the session from here on. */
static CUresult park(struct ath_cuda_session *session, int fd, uint64_t share, struct token *out)
{
    ath_auto_close int owned = fd;
    struct ath_cuda_shares *shares = shares_of(session);
    struct parked *made = shares ? calloc(1, sizeof *made) : NULL;
    if (fd < 0 || !made ||
        getrandom(made->token.secret, sizeof made->token.secret, 0) !=
            (ssize_t)sizeof made->token.secret) {
        free(made);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    made->fd = ath_steal_fd(&owned);
    made->token.share = share;
    memcpy(made->token.name, shares->name, sizeof made->token.name);
    pthread_mutex_lock(&shares->lock);
    made->token.number = ++shares->last_number;
    made->next = shares->parked;
    shares->parked = made;
    *out = made->token;
    pthread_mutex_unlock(&shares->lock);
    return CUDA_SUCCESS;
}

static bool is_name(const char name[8])
{
    return strspn(name, "0123456789abcdef") == NAME; /* it has a NUL byte behind */
}

/* Returns a descriptor of the session that a token names, this one or another; -1 if there is none.
 *  */
static int fetch(const struct token *token)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char byte;
    int came;
    ath_auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path + 1, token->name, NAME);
    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address,
                offsetof(struct sockaddr_un, sun_path) + 1 + NAME) ||
        !is_of_ours(fd) || ath_shm_send(fd, token, sizeof *token, -1) || !is_readable(fd) ||
        ath_shm_receive(fd, &byte, sizeof byte, &came))
        return -1;
    return came;
}

/* ---- handles of the driver ---- */

/* A handle of the driver's, of one of the types that can travel. */
struct shareable {
    int fd;
    CUmemFabricHandle fabric;
};

static void shareable_end(const struct shareable *shareable)
{
    if (shareable->fd >= 0)
        close(shareable->fd);
}

/* Returns where the driver writes the handle; NULL for a type that Linux does not have. */
static void *room_of(struct shareable *shareable, CUmemAllocationHandleType type)
{
    switch ((int)type) {
    case CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return &shareable->fd;
    case CU_MEM_HANDLE_TYPE_FABRIC:
        return &shareable->fabric;
    default:
        return NULL;
    }
}

/* Puts the handle, or a token for a descriptor, into the answer. */
static CUresult tell(struct ath_cuda_served *served, struct shareable *made,
                     CUmemAllocationHandleType type, uint64_t share, struct ath_wire_bytes *out)
{
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
        *out = (struct ath_wire_bytes){ made->fabric.data, sizeof made->fabric };
        return CUDA_SUCCESS;
    }
    struct token *token = ath_cuda_room(&served->side, 1, sizeof *token);
    if (!token)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (struct ath_wire_bytes){ (const uint8_t *)token, sizeof *token };
    return park(served->session, ath_steal_fd(&made->fd), share, token);
}

/* Returns what the driver reads: the descriptor itself, or a pointer to the other handle. Returns
 * NULL and sets *out_status if there is none. The share of a fabric handle is unknown: it may come
 * from another machine. */
static void *take(struct ath_wire_bytes told, CUmemAllocationHandleType type, struct shareable *out,
                  uint64_t *out_share, CUresult *out_status)
{
    struct token token;
    *out_status = CUDA_ERROR_INVALID_VALUE;
    if (type == CU_MEM_HANDLE_TYPE_FABRIC && told.length == sizeof out->fabric) {
        memcpy(&out->fabric, told.data, sizeof out->fabric);
        return &out->fabric;
    }
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || told.length != sizeof token)
        return NULL;
    memcpy(&token, told.data, sizeof token);
    if (is_name(token.name))
        out->fd = fetch(&token);
    *out_share = token.share; /* only its own session knows the whole token */
    return out->fd > 0 ? (void *)(intptr_t)out->fd : NULL; /* 0 is taken in a server */
}

#define SHAREABLE __attribute__((cleanup(shareable_end))) struct shareable shareable = { .fd = -1 }

static void forget(const struct ath_cuda_session *session, uint64_t share)
{
    if (share)
        session->books->forgotten(share);
}

/* Only a descriptor keeps the memory; nothing is counted for a fabric handle. */
static CUresult tell_memory(struct ath_cuda_served *served, CUmemGenericAllocationHandle handle,
                            struct shareable *made, CUmemAllocationHandleType type,
                            struct ath_wire_bytes *out)
{
    const struct ath_cuda_books *books = served->session->books;
    bool is_counted = books && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    uint64_t share = 0;
    CUresult status = is_counted ? books->exported(handle, &share) : CUDA_SUCCESS;
    if (status)
        return status;
    status = tell(served, made, type, share, out);
    if (status)
        forget(served->session, share);
    return status;
}

void ath_cuda_serve_cuMemExportToShareableHandle(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemExportToShareableHandle)
    struct ath_cuda_wire_mem_export_to_shareable_handle call =
        ath_cuda_wire_call_mem_export_to_shareable_handle(served->call);
    CUmemAllocationHandleType type =
        (CUmemAllocationHandleType)ath_cuda_wire_mem_export_to_shareable_handle_type(call);
    CUmemGenericAllocationHandle handle =
        ath_cuda_to_own(&served->side, ATH_CUDA_KIND_MEM_GENERIC_ALLOCATION_HANDLE,
                        ath_cuda_wire_mem_export_to_shareable_handle_handle(call));
    SHAREABLE;
    struct ath_wire_bytes token;
    void *room = room_of(&shareable, type);
    if (ath_cuda_refused(served))
        return;
    served->status =
        room ? served->driver->cuMemExportToShareableHandle(
                   room, handle, type, ath_cuda_wire_mem_export_to_shareable_handle_flags(call))
             : CUDA_ERROR_INVALID_VALUE;
    if (!served->status)
        served->status = tell_memory(served, handle, &shareable, type, &token);
    if (!served->status)
        ath_cuda_wire_mem_export_to_shareable_handle_result_set_token(
            ath_cuda_wire_answer_init_mem_export_to_shareable_handle(served->answer), token);
}

void ath_cuda_serve_cuMemPoolExportToShareableHandle(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemPoolExportToShareableHandle)
    struct ath_cuda_wire_mem_pool_export_to_shareable_handle call =
        ath_cuda_wire_call_mem_pool_export_to_shareable_handle(served->call);
    CUmemAllocationHandleType type =
        (CUmemAllocationHandleType)ath_cuda_wire_mem_pool_export_to_shareable_handle_type(call);
    CUmemoryPool pool = (CUmemoryPool)(uintptr_t)ath_cuda_to_own(
        &served->side, ATH_CUDA_KIND_MEMORY_POOL,
        ath_cuda_wire_mem_pool_export_to_shareable_handle_pool(call));
    SHAREABLE;
    struct ath_wire_bytes token;
    void *room = room_of(&shareable, type);
    if (ath_cuda_refused(served))
        return;
    served->status =
        room ? served->driver->cuMemPoolExportToShareableHandle(
                   room, pool, type, ath_cuda_wire_mem_pool_export_to_shareable_handle_flags(call))
             : CUDA_ERROR_INVALID_VALUE;
    if (!served->status)
        served->status = tell(served, &shareable, type, 0, &token);
    if (!served->status)
        ath_cuda_wire_mem_pool_export_to_shareable_handle_result_set_token(
            ath_cuda_wire_answer_init_mem_pool_export_to_shareable_handle(served->answer), token);
}

void ath_cuda_serve_cuMemImportFromShareableHandle(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemImportFromShareableHandle)
    struct ath_cuda_wire_mem_import_from_shareable_handle call =
        ath_cuda_wire_call_mem_import_from_shareable_handle(served->call);
    CUmemAllocationHandleType type =
        (CUmemAllocationHandleType)ath_cuda_wire_mem_import_from_shareable_handle_type(call);
    SHAREABLE;
    CUmemGenericAllocationHandle handle = 0;
    uint64_t share = 0;
    void *taken = take(ath_cuda_wire_mem_import_from_shareable_handle_token(call), type, &shareable,
                       &share, &served->status);
    if (taken)
        served->status = served->driver->cuMemImportFromShareableHandle(&handle, taken, type);
    if (!served->status && share && served->session->books)
        served->status = served->session->books->imported(handle, share);
    if (!served->status)
        ath_cuda_wire_mem_import_from_shareable_handle_result_set_handle(
            ath_cuda_wire_answer_init_mem_import_from_shareable_handle(served->answer),
            ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_MEM_GENERIC_ALLOCATION_HANDLE, handle));
}

void ath_cuda_serve_cuMemPoolImportFromShareableHandle(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemPoolImportFromShareableHandle)
    struct ath_cuda_wire_mem_pool_import_from_shareable_handle call =
        ath_cuda_wire_call_mem_pool_import_from_shareable_handle(served->call);
    CUmemAllocationHandleType type =
        (CUmemAllocationHandleType)ath_cuda_wire_mem_pool_import_from_shareable_handle_type(call);
    SHAREABLE;
    CUmemoryPool pool = NULL;
    uint64_t unused;
    void *taken = take(ath_cuda_wire_mem_pool_import_from_shareable_handle_token(call), type,
                       &shareable, &unused, &served->status);
    if (taken)
        served->status = served->driver->cuMemPoolImportFromShareableHandle(
            &pool, taken, type, ath_cuda_wire_mem_pool_import_from_shareable_handle_flags(call));
    if (!served->status)
        ath_cuda_wire_mem_pool_import_from_shareable_handle_result_set_pool(
            ath_cuda_wire_answer_init_mem_pool_import_from_shareable_handle(served->answer),
            ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_MEMORY_POOL, (uintptr_t)pool));
}

/* The program has closed it everywhere. */
void ath_cuda_serve_athForgetShare(struct ath_cuda_served *served)
{
    struct ath_wire_bytes told =
        ath_cuda_wire_forget_share_token(ath_cuda_wire_call_forget_share(served->call));
    struct ath_cuda_shares *shares = served->session->shares;
    struct token token;
    if (!shares || told.length != sizeof token)
        return;
    memcpy(&token, told.data, sizeof token);
    pthread_mutex_lock(&shares->lock);
    struct parked **at = place_of(shares, &token), *found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&shares->lock);
    if (!found)
        return;
    close(found->fd);
    forget(served->session, found->token.share);
    free(found);
}
