/*
 * Rooms: pinned memory of the session, which its data pass on their way between the network and
 * the GPU. The driver copies pinned memory without a copy of its own and without waiting.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-server.h"

struct ath_pinned_room {
    size_t capacity;
    uint8_t *memory;
    _Atomic uint32_t *is_done; /* behind the memory: the GPU has passed the last mark */
    CUdeviceptr flag;          /* its address for the GPU; 0: a host function sets it */
    bool is_registered;        /* with the driver */
    uint64_t epoch;            /* of the session, when that was done */
};

/* Makes a room, without the driver. Its memory counts for the session's share of the host. Returns
 * false if there is no memory. */
bool ath_pinned_room_make(struct ath_pinned_room *room, size_t capacity);

/* Registers a room with the driver, or again after a context has ended. Without it the driver waits
 * in copies, which is right but slow. A context is current. */
void ath_pinned_room_register(struct ath_pinned_room *room, const struct ath_cuda_driver *driver,
                              uint64_t epoch);

/*
 * Has is_done set when a stream has passed the work that was issued until now. The GPU sets it: a
 * host function would hold the stream for some ten microseconds, which is more than a copy of 64
 * KiB takes. A driver without such writes (before CUDA 12 they are an option of the kernel module)
 * gets a host function. Returns false if neither is possible; the caller then waits for the stream.
 */
bool ath_pinned_room_mark(struct ath_pinned_room *room, const struct ath_cuda_driver *driver,
                          CUstream stream);

/* Frees the room's memory. A context is current. */
void ath_pinned_room_end(struct ath_pinned_room *room, const struct ath_cuda_driver *driver);
