/*
 * The server of CUDA's calls: takes frames of one session, calls the loaded driver, makes answers.
 *
 * A session's calls are given to ath_cuda_serve() in their order. Those of one client thread that
 * wait for the GPU (ath_cuda_methods[].is_blocking), or may have to (ath_cuda_may_wait()), may be
 * served by a worker of their own while others go on: a worker is one thread of the server, with
 * the context and the capture mode that it left in the driver.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "proto/cuda-server.h"
#include "runtime/cuda/captures.h"
#include "runtime/cuda/side.h"

/* Fills *out from an opened libcuda.so.1; what it does not have is NULL. */
void ath_cuda_driver_load(void *library, struct ath_cuda_driver *out);

struct ath_cuda_served;
struct ath_cuda_thread_stream;
struct ath_cuda_noted;
struct ath_cuda_region;
struct ath_cuda_image;
struct ath_cuda_callbacks;
struct ath_cuda_shares;

/* Memory that the client shared through the transport (ath_cuda_link_ops.share). */
struct ath_cuda_shared {
    /* Its address, which is the client's too, and its size; NULL where there is none. Any thread.
     */
    void *(*find)(struct ath_cuda_shared *shared, uint64_t id, size_t *out_bytes);
};

/*
 * Who keeps count of memory that is handed from one session to another, by a number which all
 * sessions of the server have for it (0: it is not counted). A descriptor that is kept for others
 * has the memory as a handle has: exported() counts one, until forgotten(). imported() fails where
 * the memory cannot be counted, and has released the handle then. Any thread.
 */
struct ath_cuda_books {
    CUresult (*exported)(CUmemGenericAllocationHandle handle, uint64_t *out_share);
    void (*forgotten)(uint64_t share);
    CUresult (*imported)(CUmemGenericAllocationHandle handle, uint64_t share);
};

struct ath_cuda_session {
    const struct ath_cuda_driver *driver;
    const struct ath_cuda_books *books;     /* NULL: nobody counts */
    pthread_mutex_t lock;                   /* of what follows */
    struct ath_cuda_thread_stream *streams; /* the clients' threads' default streams */
    struct ath_cuda_noted *ended, *green;   /* contexts */
    atomic_bool has_green;                  /* then there are some of them */
    CUresult deferred; /* the first failure of a call without an answer, until it is told */
    _Atomic(const char *) failed;    /* the function of the first such call of all; NULL: none */
    CUresult failed_status;          /* what it said */
    struct ath_cuda_shared *shared;  /* NULL: the transport has none */
    struct ath_cuda_region *regions; /* by_hand/regions.h */
    struct ath_cuda_image *images;   /* by_hand/server_module.c */
    struct ath_cuda_callbacks *callbacks; /* by_hand/server_callback.c; made when first wanted */
    struct ath_cuda_shares *shares;       /* by_hand/server_share.c; the same */
    struct ath_cuda_captures captures;
    atomic_ullong epoch; /* changes when contexts may have gone: workers take up theirs anew */
};

/*
 * Copies of rectangles as they came: host memory that they name must be the client's from the first
 * byte that is reached to the last, or the client could read and write the server's. served->side
 * gets the status where it is not.
 */
void ath_cuda_check_memcpy2d(struct ath_cuda_served *served, CUDA_MEMCPY2D *copy);
void ath_cuda_check_memcpy3d(struct ath_cuda_served *served, CUDA_MEMCPY3D *copy);
void ath_cuda_check_memcpy3d_peer(struct ath_cuda_served *served, CUDA_MEMCPY3D_PEER *copy);

/* A context is a green one: while it is current to a worker it is to no other. */
CUresult ath_cuda_note_green(struct ath_cuda_session *session, CUcontext context);

void ath_cuda_session_init(struct ath_cuda_session *session, const struct ath_cuda_driver *driver);

/* Frees what the session holds beside the driver's things, which end with the process. */
void ath_cuda_session_free(struct ath_cuda_session *session);

struct ath_cuda_worker {
    struct ath_cuda_session *session;
    CUcontext context;            /* current in this thread of the driver */
    struct ath_cuda_noted *green; /* that is this one, and is held; NULL: it is none */
    CUstreamCaptureMode mode;
    uint64_t epoch; /* of the session, when the context was taken up */
    bool may_lend;  /* answers may end in what is lent (ath_wire_lend()): in room */
    uint8_t *room;  /* malloc()ed, for the data of one answer; kept for the next */
    size_t room_bytes;
};

/* Memory for the data of a call's answer, from which it is sent without a copy where the worker's
 * owner can: it stays until the worker serves its next call. NULL: there is none, and the call is
 * refused. */
void *ath_cuda_answer_room(struct ath_cuda_served *served, uint64_t bytes);

/* A call while it is served; what hand-written functions get. */
struct ath_cuda_served {
    struct ath_cuda_side side; /* first: its handles are translated for this call */
    struct ath_cuda_session *session;
    struct ath_cuda_worker *worker;
    const struct ath_cuda_driver *driver;
    struct ath_cuda_wire_call call;
    struct ath_cuda_wire_answer_builder answer;
    CUresult status;         /* to be set by whoever serves it */
    CUresult context_status; /* why the client's thread's context is not current */
};

/*
 * Serves one message (a Call without its frame's head) and builds the answer. Returns 1 where there
 * is an answer to send, 0 where none is wanted, -EBADMSG where it is no Call. A failing driver is
 * no failure here.
 */
int ath_cuda_serve(struct ath_cuda_worker *worker, const uint8_t *message, size_t length,
                   struct ath_wire_builder *answer);

/* Whether a function of the program's may be due in this process. Then the driver may wait for it
 * in any call (it may have to, to unload or free something), and no call that is asked may hold up
 * the one which tells that it returned. Any thread. */
bool ath_cuda_functions_due(void);

/* Whether a method begins a capture, or ends one. */
bool ath_cuda_begins_capture(int method);
bool ath_cuda_ends_capture(int method);

/* Whether the parameters were bad or without memory; then the status says so. */
static inline bool ath_cuda_refused(struct ath_cuda_served *served)
{
    served->status = served->side.status;
    return served->status;
}
