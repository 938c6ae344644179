/*
 * One side's view of what travels in a call: how its own handles and addresses become the wire's,
 * and the memory that a call needs until it is over. The client and the server each make a side for
 * every call, and the functions that proto/cuda_generate.py writes use it. The conversions only
 * convert: ath_cuda_check_handle() of the client checks handles.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"
#include "remote/wire/builder.h"

enum {
    ATH_CUDA_ITEMS_MAX = 1 << 28,        /* of a list: beyond what a message may be */
    ATH_CUDA_ROOM_MAX = 64 * 1024 * 1024 /* bytes that a result may ask for */
};

struct ath_cuda_side {
    uint64_t (*to_wire)(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own);
    uint64_t (*to_own)(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire);
    bool is_server;
    void *blocks;           /* what ath_cuda_room() gave, */
    uint64_t bytes;         /* how much that is, */
    uint64_t counted_bytes; /* and what was taken for it from the process's budget */
    CUresult status;        /* the first error that a conversion or ath_cuda_room() found */
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

/* Returns zeroed memory for count things, which lasts until ath_cuda_side_free(). A count of 0
 * gives memory, too. Beyond 64 KiB of a side the memory counts in the process's budget
 * (base/host_budget.h), in steps of 1 MiB: a short message may ask for much. On failure (too large,
 * or out of memory) it returns NULL and sets side->status. */
void *ath_cuda_room(struct ath_cuda_side *side, uint64_t count, size_t size);
void ath_cuda_side_free(struct ath_cuda_side *side);

/* Frees blocks of ath_cuda_room() that were taken out of a side. */
void ath_cuda_blocks_free(void *blocks);

/* Copies bytes that travelled to to, and zeroes the rest. */
void ath_cuda_copy_bytes(void *to, size_t size, struct ath_wire_bytes from);

/* Copies a text with its NUL byte into size bytes, cut if it is too long. */
void ath_cuda_copy_text(char *to, size_t size, const char *from);

/* Returns whether a number lies in 0..most. */
static inline bool ath_cuda_is_within(int64_t number, int64_t most)
{
    return number >= 0 && number <= most;
}

static inline uint64_t ath_cuda_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns a count as a list's length. More than a message can hold becomes more than a builder
 * takes. */
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
