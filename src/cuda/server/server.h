/*
 * The server of CUDA's calls: takes frames of one session, calls the loaded driver, makes answers.
 *
 * ath_cuda_serve() gets a session's calls in their order. Calls that wait for the GPU
 * (ath_cuda_methods[].waits), or may have to (may_wait there), may be served by another worker
 * while the order goes on. A worker is one thread of the server, with the context and the capture
 * mode that it left in the driver.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "cuda/common/call_side.h"
#include "cuda/common/capture_list.h"
#include "cuda/server/object_table.h"
#include "proto/cuda-server.h"
#include "proto/cuda-wire-types.h"

/* Fills *out from an opened libcuda.so.1. Functions that it lacks become NULL. */
void ath_cuda_driver_load(void *library, struct ath_cuda_driver *out);

struct ath_cuda_served;
struct ath_cuda_thread_stream;
struct ath_cuda_noted;
struct ath_cuda_region;
struct ath_cuda_image;
struct ath_cuda_linker;
struct ath_cuda_callbacks;
struct ath_cuda_shares;
struct ath_pinned_room;

/* Memory that the client shared through the transport (ath_cuda_link_ops.share). */
struct ath_cuda_shared {
    /* Returns its address, which is the same in the client, and its size; NULL if there is none.
     * Any thread. */
    void *(*find)(struct ath_cuda_shared *shared, uint64_t id, size_t *out_bytes);
};

/*
 * Counts memory that one session hands to another, by a number which all sessions of the server
 * have for it (0: not counted). A descriptor that is kept for other sessions holds the memory as a
 * handle does: exported() counts one reference, until forgotten(). imported() fails if the memory
 * cannot be counted, and has released the handle then. Any thread.
 */
struct ath_cuda_books {
    CUresult (*exported)(CUmemGenericAllocationHandle handle, uint64_t *out_share);
    void (*forgotten)(uint64_t share);
    CUresult (*imported)(CUmemGenericAllocationHandle handle, uint64_t share);
};

struct ath_cuda_session {
    const struct ath_cuda_driver *driver;
    /* the same without the session's limits, for questions about what the program does not have */
    const struct ath_cuda_driver *uncounted;
    /* the same without the gate of turns, for marks behind the program's work: they need no turn,
     * and wait for no other work */
    const struct ath_cuda_driver *ungated;
    const struct ath_cuda_books *books;     /* NULL: memory is not counted */
    pthread_mutex_t lock;                   /* of what follows */
    struct ath_cuda_thread_stream *streams; /* the clients' threads' default streams */
    struct ath_cuda_noted *ended, *green;   /* contexts */
    atomic_bool has_green;                  /* then there are some of them */
    CUresult deferred; /* the first failure of a call without an answer, until a call reports it */
    _Atomic(const char *) failed;    /* the function of the session's first such call; NULL: none */
    CUresult failed_status;          /* what it said */
    struct ath_cuda_shared *shared;  /* NULL: the transport has none */
    struct ath_cuda_region *regions; /* regions.h */
    struct ath_cuda_image *images;   /* code_image.h */
    struct ath_cuda_linker *linkers; /* linker.h */
    struct ath_cuda_callbacks *callbacks; /* host_callback.c; made when first wanted */
    struct ath_cuda_shares *shares;       /* share_memory.c; the same */
    struct ath_cuda_capture_list captures;
    struct ath_cuda_object_table objects;
    atomic_ullong epoch; /* changes when contexts may have ended: workers then renew theirs */
};

/*
 * Checks copies of rectangles from a client: host memory that they name must be the client's from
 * the first byte that is reached to the last, or the client could read and write the server's
 * memory. Sets the status of served->side if it is not.
 */
void ath_cuda_check_memcpy2d(struct ath_cuda_served *served, CUDA_MEMCPY2D *copy);
void ath_cuda_check_memcpy3d(struct ath_cuda_served *served, CUDA_MEMCPY3D *copy);
void ath_cuda_check_memcpy3d_peer(struct ath_cuda_served *served, CUDA_MEMCPY3D_PEER *copy);

void ath_cuda_session_init(struct ath_cuda_session *session, const struct ath_cuda_driver *driver);

/* Frees what the session holds, except what the driver made, which ends with the process. */
void ath_cuda_session_free(struct ath_cuda_session *session);

struct ath_cuda_worker {
    struct ath_cuda_session *session;
    CUcontext context;            /* current in this thread of the driver */
    struct ath_cuda_noted *green; /* this context if it is green, held here; NULL: it is not */
    CUstreamCaptureMode mode;
    uint64_t epoch;   /* the session's, when the context was made current */
    CUresult refuses; /* every call is answered with this status and not served; 0: none is */
    bool may_lend;    /* answers may end in lent memory (ath_wire_lend()), which is room */
    uint8_t *room;    /* malloc()ed, for the data of one answer; kept for the next */
    size_t room_bytes;
    struct ath_pinned_room *pinned; /* the same for large data (call_rooms.h); NULL */
};

/* Returns memory for the data of a call's answer. If the worker's owner can, the data is sent from
 * there without a copy; it stays until the worker serves its next call. On failure it returns NULL
 * and the call is refused. */
void *ath_cuda_answer_room(struct ath_cuda_served *served, uint64_t bytes);

/* A call while it is served: the argument of hand-written functions. */
struct ath_cuda_served {
    struct ath_cuda_side side; /* first: its handles are translated for this call */
    struct ath_cuda_session *session;
    struct ath_cuda_worker *worker;
    const struct ath_cuda_driver *driver;
    struct ath_cuda_wire_call call;
    enum ath_cuda_method method;
    struct ath_cuda_object_name first, graph; /* the first object of the call, and its last graph */
    uint64_t promised; /* the client's own handle for what the call loads or finds; 0: none */
    struct ath_cuda_wire_answer_builder answer;
    CUresult status;         /* set by the function that serves it */
    CUresult context_status; /* why the context of the client's thread is not current */
};

/*
 * Serves one message (a Call without its frame's head) and builds the answer. Returns 1 if there is
 * an answer to send, 0 if none is wanted, -EBADMSG if it is no Call. A failing driver is no failure
 * here.
 */
int ath_cuda_serve(struct ath_cuda_worker *worker, const uint8_t *message, size_t length,
                   struct ath_wire_builder *answer);

/* Returns whether a function of the program may be due in this process. The driver may then wait
 * for the function in any call (to unload or free something), so no call with an answer may hold up
 * the call which tells that the function has returned. Any thread. */
bool ath_cuda_functions_due(void);

/* Returns whether the parameters were bad or memory was short; the status then says so. */
static inline bool ath_cuda_refused(struct ath_cuda_served *served)
{
    served->status = served->side.status;
    return served->status;
}
