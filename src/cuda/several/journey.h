/* A copy between two servers: from one GPU into a buffer of the program's process, and on to the
 * other GPU. All copies are boxes (CUDA_MEMCPY3D_PEER). Any thread. */
#pragma once
#include "cuda/several/several.h"

/* One end of a copy; at NULL: the program's own memory. */
struct ath_several_end {
    struct ath_several *at;
    CUcontext context;
};

struct ath_several_journey {
    CUDA_MEMCPY3D_PEER box;
    struct ath_several_end from, to;
};

/* Finds the ends of a copy. */
struct ath_several_journey ath_several_journey_of(const CUDA_MEMCPY3D_PEER *box);

/* Copies from one server to another, in parts, by a stream on each side, and waits. */
CUresult ath_several_carry(const struct ath_several_journey *journey, CUstream from, CUstream to);

/* Copies if one end is the program's memory: the other end's server makes the copy alone. */
CUresult ath_several_carry_own(const struct ath_several_journey *journey);
