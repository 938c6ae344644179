/* Pageable memory in graphs. */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/client/capture_state.h"
#include "cuda/client/captured_copy.h"
#include "cuda/client/client.h"
#include "cuda/client/mirror.h"
#include "cuda/client/pinned_memory.h"
#include "cuda/client/staging.h"
#include "cuda/common/copy_box.h"
#include "cuda/common/copy_list.h"
#include "proto/cuda-client.h"

/* One copy of a graph: its pinned memory, and the rows that are moved to or from that memory. */
struct moved {
    struct moved *next;
    struct ath_cuda_host_memory room; /* no bytes if both ends are the program's memory */
    CUDA_MEMCPY3D_PEER rows;
    bool is_node; /* of the program's, which may ask for the copy: */
    CUDA_MEMCPY3D asked;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct moved *in_graphs; /* listed so that leak checkers see them in use */
static struct moved *left;      /* their graphs have ended */
static size_t node_count;       /* copies in graphs that are nodes of the program's */

static void move_rows(void *memory)
{
    const struct moved *moved = memory;
    ath_cuda_box_move(&moved->rows);
}

/* The last graph that had this copy has ended. The pinned memory stays for the next copy: freeing
 * it may wait for the GPU, and neither this callback nor a capture may wait. */
static void leave_graph(void *memory)
{
    struct moved *moved = memory, **at = &in_graphs;
    pthread_mutex_lock(&lock);
    while (*at != moved)
        at = &(*at)->next;
    *at = moved->next;
    node_count -= moved->is_node;
    moved->next = left;
    left = moved;
    pthread_mutex_unlock(&lock);
}

/* Returns whether the pinned memory still exists: it may have ended with its context. */
static bool has_room(const struct moved *moved)
{
    struct ath_cuda_host_memory now;
    return ath_cuda_host_find((const void *)moved->room.address, &now) && now.id == moved->room.id;
}

/* Rounds up to few sizes, by at most a quarter, so that many copies can reuse the memory. */
static size_t round_up(size_t bytes)
{
    const size_t least = 4096;
    size_t step = least;
    while (step < bytes / 8)
        step *= 2;
    return bytes > SIZE_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

/* Takes the smallest unused copy that has enough room and not more than twice as much. Returns NULL
 * if there is none. */
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

static CUresult make_room(size_t bytes, struct ath_cuda_host_memory *out)
{
    void *room = NULL;
    CUresult status = ath_cuda_host_alloc(&room, round_up(bytes), CU_MEMHOSTALLOC_PORTABLE);
    if (!status && !ath_cuda_host_find(room, out))
        status = CUDA_ERROR_INVALID_CONTEXT; /* another thread has ended the context */
    return status;
}

static CUresult make_copy(size_t bytes, struct moved **out)
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
 * Ties the copy to the graph that the stream captures into, and so to the executable graphs made of
 * it. Drivers before CUDA 11.3 have no user objects: there the copy stays until the process ends.
 */
static void bind_to_graph(struct moved *moved, CUstream stream)
{
    CUstreamCaptureStatus capture;
    CUuserObject object;
    uint64_t id;
    CUgraph graph = NULL;
    if (!ath_cuda_by_hand_cuStreamGetCaptureInfo_v2(stream, &capture, &id, &graph, NULL, NULL) &&
        graph &&
        !ath_cuda_by_hand_cuUserObjectCreate(&object, moved, leave_graph, 1,
                                             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
        ath_cuda_do_cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
}

/* Gets pinned memory for a copy of a stream's graph; bytes 0: no memory is needed. The relaxed mode
 * keeps the allocation from breaking the capture, as an allocation by the program would. */
static CUresult begin_move(size_t bytes, const CUDA_MEMCPY3D *asked, CUstream stream,
                           struct moved **out)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUstreamCaptureMode mode = thread->mode;
    thread->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    struct moved *moved = bytes ? take_left(bytes) : NULL;
    CUresult status = moved ? CUDA_SUCCESS : make_copy(bytes, &moved);
    thread->mode = mode;
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    moved->is_node = asked;
    moved->asked = asked ? *asked : (CUDA_MEMCPY3D){ 0 };
    node_count += moved->is_node;
    moved->next = in_graphs;
    in_graphs = moved;
    pthread_mutex_unlock(&lock);
    bind_to_graph(moved, stream);
    *out = moved;
    return CUDA_SUCCESS;
}

bool ath_cuda_is_stream_capturing(CUstream stream)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    return ath_cuda_is_any_capturing() && !ath_cuda_do_cuStreamIsCapturing(stream, &capture) &&
           capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* A wait cannot be captured, and asks nothing else of the driver then. */
CUresult ath_cuda_refuse_capture(CUstream stream)
{
    return ath_cuda_is_stream_capturing(stream) ? ath_cuda_do_cuStreamSynchronize(stream)
                                                : CUDA_SUCCESS;
}

/* A row is copied as one dimension, since a pitch has a limit. */
static CUresult copy_box_there(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
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

/* asked: the copy of a node of the program's, or NULL. */
static CUresult capture(const CUDA_MEMCPY3D_PEER *copy, const CUDA_MEMCPY3D *asked, CUstream stream)
{
    struct moved *moved;
    CUDA_MEMCPY3D_PEER there = *copy;
    bool is_given = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    bool is_here = is_given && copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    size_t bytes = is_here ? 0 : copy->WidthInBytes * copy->Height * copy->Depth;
    CUresult status = begin_move(bytes, asked, stream, &moved);
    if (status)
        return status;
    moved->rows = *copy;
    if (is_here)
        return ath_cuda_by_hand_cuLaunchHostFunc(stream, move_rows, moved);
    void *room = (void *)moved->room.address;
    if (is_given) {
        ath_cuda_box_pack_target(&moved->rows, room);
        ath_cuda_box_pack_source(&there, room);
        status = ath_cuda_by_hand_cuLaunchHostFunc(stream, move_rows, moved);
        return status ? status : copy_box_there(&there, stream);
    }
    ath_cuda_box_pack_source(&moved->rows, room);
    ath_cuda_box_pack_target(&there, room);
    status = copy_box_there(&there, stream);
    return status ? status : ath_cuda_by_hand_cuLaunchHostFunc(stream, move_rows, moved);
}

CUresult ath_cuda_captured_copy(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    return capture(copy, NULL, stream);
}

/* A host function without rows marks the node. Its place is that of the function which moves rows,
 * so that an executable graph can change from one to the other. */
static CUresult capture_marked(const CUDA_MEMCPY3D *asked, CUstream stream)
{
    struct moved *moved;
    CUresult status = begin_move(0, asked, stream, &moved);
    if (status)
        return status;
    moved->rows = (CUDA_MEMCPY3D_PEER){ 0 };
    bool is_last = asked->dstMemoryType == CU_MEMORYTYPE_HOST;
    if (is_last)
        status = ath_cuda_do_cuMemcpy3DAsync_v2(asked, stream);
    if (!status)
        status = ath_cuda_by_hand_cuLaunchHostFunc(stream, move_rows, moved);
    return status || is_last ? status : ath_cuda_do_cuMemcpy3DAsync_v2(asked, stream);
}

CUresult ath_cuda_captured_node(const CUDA_MEMCPY3D *copy, bool is_pageable, CUstream stream)
{
    size_t bytes;
    CUDA_MEMCPY3D_PEER box = ath_cuda_box_of_3d(copy);
    if (__builtin_mul_overflow(copy->WidthInBytes, copy->Height, &bytes) ||
        __builtin_mul_overflow(bytes, copy->Depth, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return bytes && is_pageable ? capture(&box, copy, stream) : capture_marked(copy, stream);
}

bool ath_cuda_captured_node_of(CUhostFn function, const void *data, CUDA_MEMCPY3D *out)
{
    if (function != move_rows)
        return false;
    pthread_mutex_lock(&lock);
    const struct moved *moved = in_graphs;
    while (moved && moved != data)
        moved = moved->next;
    bool is_node = moved && moved->is_node;
    if (is_node)
        *out = moved->asked;
    pthread_mutex_unlock(&lock);
    return is_node;
}

bool ath_cuda_is_any_node_captured(void)
{
    pthread_mutex_lock(&lock);
    bool is_any = node_count;
    pthread_mutex_unlock(&lock);
    return is_any;
}
