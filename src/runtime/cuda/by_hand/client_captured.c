/* Pageable memory in graphs. */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cuda-client.h"
#include "runtime/cuda/by_hand/capture.h"
#include "runtime/cuda/by_hand/captured.h"
#include "runtime/cuda/by_hand/staging.h"
#include "runtime/cuda/client.h"

struct moved {
    struct moved *next; /* of all, so that tools see that they are in use */
    void *to;
    const void *from;
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct moved *all;

static void move(void *memory)
{
    const struct moved *moved = memory;
    memcpy(moved->to, moved->from, moved->bytes);
}

/* A node of the captured graph that does it. */
static CUresult add_move(void *to, const void *from, size_t bytes, CUstream stream)
{
    struct moved *made = malloc(sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    *made = (struct moved){ all, to, from, bytes };
    all = made;
    pthread_mutex_unlock(&lock);
    return ath_cuda_by_hand_cuLaunchHostFunc(stream, move, made);
}

/* Pinned memory; to get some does not break the capture, as it would if the program did it. */
static CUresult make_room(size_t bytes, void **out)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUstreamCaptureMode mode = thread->mode;
    thread->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult status = ath_cuda_by_hand_cuMemHostAlloc(out, bytes, CU_MEMHOSTALLOC_PORTABLE);
    thread->mode = mode;
    return status;
}

bool ath_cuda_is_captured(CUstream stream, CUresult status)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    return status == CUDA_ERROR_NOT_SUPPORTED && ath_cuda_is_capturing() &&
           !ath_cuda_do_cuStreamIsCapturing(stream, &capture) &&
           capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult ath_cuda_captured_to(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    void *room = NULL;
    CUresult status = make_room(bytes, &room);
    if (!status)
        status = add_move(room, from, bytes, stream);
    return status ? status : ath_cuda_by_hand_cuMemcpyHtoDAsync_v2(to, room, bytes, stream);
}

CUresult ath_cuda_captured_from(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    void *room = NULL;
    CUresult status = make_room(bytes, &room);
    if (!status)
        status = ath_cuda_by_hand_cuMemcpyDtoHAsync_v2(room, from, bytes, stream);
    return status ? status : add_move(to, room, bytes, stream);
}
