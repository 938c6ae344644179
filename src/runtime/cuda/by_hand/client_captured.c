/* Pageable memory in graphs. */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cuda-client.h"
#include "runtime/cuda/box.h"
#include "runtime/cuda/by_hand/capture.h"
#include "runtime/cuda/by_hand/captured.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/cuda/by_hand/staging.h"
#include "runtime/cuda/client.h"

/* One copy of a graph: its pinned memory, and what moves bytes to or from it. */
struct moved {
    struct moved *next;
    struct ath_cuda_host room; /* of no bytes where all is the program's memory */
    CUDA_MEMCPY3D_PEER rows;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct moved *in_graphs; /* so that tools see that they are in use */
static struct moved *left;      /* their graphs are gone */

static void move(void *memory)
{
    const struct moved *moved = memory;
    ath_cuda_box_move(&moved->rows);
}

/* The last graph that had it is gone. Its room is for the next copy: to free it may wait for the
 * GPU, which neither this function nor a capture may do. */
static void leave(void *memory)
{
    struct moved *moved = memory, **at = &in_graphs;
    pthread_mutex_lock(&lock);
    while (*at != moved)
        at = &(*at)->next;
    *at = moved->next;
    moved->next = left;
    left = moved;
    pthread_mutex_unlock(&lock);
}

/* Whether the room is there still: it may have ended with its context. */
static bool has_room(const struct moved *moved)
{
    struct ath_cuda_host now;
    return ath_cuda_host_find((const void *)moved->room.address, &now) && now.id == moved->room.id;
}

/* In few sizes, up to a quarter more, so that many copies can use it in turn. */
static size_t round_up(size_t bytes)
{
    const size_t least = 4096;
    size_t step = least;
    while (step < bytes / 8)
        step *= 2;
    return bytes > SIZE_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

/* The least of those left with enough room, and not much too much; NULL. */
static struct moved *take_left(size_t bytes)
{
    struct moved **best = NULL;
    pthread_mutex_lock(&lock);
    for (struct moved **at = &left; *at;) {
        struct moved *one = *at;
        if (!has_room(one)) {
            *at = one->next;
            free(one);
            continue;
        }
        if (bytes <= one->room.bytes && one->room.bytes / 2 <= round_up(bytes) &&
            (!best || one->room.bytes < (*best)->room.bytes))
            best = at;
        at = &one->next;
    }
    struct moved *found = best ? *best : NULL;
    if (found)
        *best = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

static CUresult make_room(size_t bytes, struct ath_cuda_host *out)
{
    void *room = NULL;
    CUresult status =
        ath_cuda_by_hand_cuMemHostAlloc(&room, round_up(bytes), CU_MEMHOSTALLOC_PORTABLE);
    if (!status && !ath_cuda_host_find(room, out))
        status = CUDA_ERROR_INVALID_CONTEXT; /* another thread has ended it */
    return status;
}

static CUresult make(size_t bytes, struct moved **out)
{
    struct moved *made = calloc(1, sizeof *made);
    CUresult status = made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!status && bytes)
        status = make_room(bytes, &made->room);
    if (status)
        free(made);
    else
        *out = made;
    return status;
}

/*
 * The graph that the stream captures into has it until it ends, and so has what is made of that.
 * A driver that knows no such objects (before CUDA 11.3) leaves it as long as the process.
 */
static void bind(struct moved *moved, CUstream stream)
{
    CUstreamCaptureStatus capture;
    CUuserObject object;
    uint64_t id;
    CUgraph graph = NULL;
    if (!ath_cuda_by_hand_cuStreamGetCaptureInfo_v2(stream, &capture, &id, &graph, NULL, NULL) &&
        graph &&
        !ath_cuda_by_hand_cuUserObjectCreate(&object, moved, leave, 1,
                                             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
        ath_cuda_do_cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
}

/* One with room for a copy of a stream's graph; 0: it needs none. To get it does not break the
 * capture, as it would if the program did it. */
static CUresult begin_move(size_t bytes, CUstream stream, struct moved **out)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUstreamCaptureMode mode = thread->mode;
    thread->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    struct moved *moved = bytes ? take_left(bytes) : NULL;
    CUresult status = moved ? CUDA_SUCCESS : make(bytes, &moved);
    thread->mode = mode;
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    moved->next = in_graphs;
    in_graphs = moved;
    pthread_mutex_unlock(&lock);
    bind(moved, stream);
    *out = moved;
    return CUDA_SUCCESS;
}

bool ath_cuda_captures(CUstream stream)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    return ath_cuda_is_capturing() && !ath_cuda_do_cuStreamIsCapturing(stream, &capture) &&
           capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* A row goes as one: its pitch would have a limit. */
static CUresult copy_there(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    const struct ath_cuda_rows from = ath_cuda_box_rows(copy, true);
    const struct ath_cuda_rows to = ath_cuda_box_rows(copy, false);
    bool is_row = copy->Height == 1 && copy->Depth == 1;
    if (is_row && copy->dstMemoryType == CU_MEMORYTYPE_DEVICE)
        return ath_cuda_by_hand_cuMemcpyHtoDAsync_v2(copy->dstDevice + (uintptr_t)to.first,
                                                     from.first, copy->WidthInBytes, stream);
    if (is_row && copy->srcMemoryType == CU_MEMORYTYPE_DEVICE)
        return ath_cuda_by_hand_cuMemcpyDtoHAsync_v2(
            to.first, copy->srcDevice + (uintptr_t)from.first, copy->WidthInBytes, stream);
    return ath_cuda_by_hand_cuMemcpy3DPeerAsync(copy, stream);
}

CUresult ath_cuda_captured_box(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    struct moved *moved;
    CUDA_MEMCPY3D_PEER there = *copy;
    bool is_given = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    bool is_here = is_given && copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    size_t bytes = is_here ? 0 : copy->WidthInBytes * copy->Height * copy->Depth;
    CUresult status = begin_move(bytes, stream, &moved);
    if (status)
        return status;
    moved->rows = *copy;
    if (is_here)
        return ath_cuda_by_hand_cuLaunchHostFunc(stream, move, moved);
    void *room = (void *)moved->room.address;
    if (is_given) {
        ath_cuda_box_pack_target(&moved->rows, room);
        ath_cuda_box_pack_source(&there, room);
        status = ath_cuda_by_hand_cuLaunchHostFunc(stream, move, moved);
        return status ? status : copy_there(&there, stream);
    }
    ath_cuda_box_pack_source(&moved->rows, room);
    ath_cuda_box_pack_target(&there, room);
    status = copy_there(&there, stream);
    return status ? status : ath_cuda_by_hand_cuLaunchHostFunc(stream, move, moved);
}
