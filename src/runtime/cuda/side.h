/*
 * One side's view of what travels in a call: how its own handles and addresses become the wire's,
 * and the memory that a call needs until it is over. The client and the server each make one for
 * every call; the functions that proto/cuda_generate.py writes use it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/cuda-methods.h"
#include "runtime/cuda/cuda_api.h"
#include "runtime/wire/builder.h"

enum {
    ATH_CUDA_ITEMS_MAX = 1 << 28,        /* of a list: beyond what a message may be */
    ATH_CUDA_ROOM_MAX = 64 * 1024 * 1024 /* bytes that a result may ask for */
};

struct ath_cuda_side {
    uint64_t (*to_wire)(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own);
    uint64_t (*to_own)(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire);
    void *blocks;    /* what ath_cuda_room() gave */
    CUresult status; /* the first thing that was wrong; set by whoever finds it */
};

static inline uint64_t ath_cuda_to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind,
                                        uint64_t own)
{
    return side->to_wire(side, kind, own);
}

static inline uint64_t ath_cuda_to_own(struct ath_cuda_side *side, enum ath_cuda_kind kind,
                                       uint64_t wire)
{
    return side->to_own(side, kind, wire);
}

/* Memory of zeros for count things, until ath_cuda_side_free(); never NULL for a count of 0. NULL
 * with side->status where it is too much or there is none. */
void *ath_cuda_room(struct ath_cuda_side *side, uint64_t count, size_t size);
void ath_cuda_side_free(struct ath_cuda_side *side);

/* The blocks of ath_cuda_room() freed, for memory that was taken out of a side. */
void ath_cuda_blocks_free(void *blocks);

/* Whether a call of a method may wait until the GPU has done what was asked of it before: to free
 * memory that this may use, to have more of it, to copy, or to end a context. */
bool ath_cuda_may_wait(enum ath_cuda_method method);

/* Whether what the GPU changed in host memory until then is there when a call of a method has
 * returned with success (docs.nvidia.com/cuda/cuda-driver-api, "API synchronization behavior"). */
bool ath_cuda_synchronizes(enum ath_cuda_method method);

/* Fills to with bytes that travelled; what they do not reach is zero. */
void ath_cuda_copy_bytes(void *to, size_t size, struct ath_wire_bytes from);

/* A text with its NUL byte into room of size bytes, cut where it is too long. */
void ath_cuda_copy_text(char *to, size_t size, const char *from);

static inline uint64_t ath_cuda_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A count as a list's length; what no message can hold is more than a builder takes. */
static inline uint32_t ath_cuda_items(uint64_t count)
{
    return (uint32_t)ath_cuda_least(count, ATH_CUDA_ITEMS_MAX);
}

static inline uint64_t ath_cuda_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
