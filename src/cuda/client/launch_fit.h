/*
 * Launches that surely fit. The limits for clusters and cooperative launches differ between GPUs
 * and kernels, a driver may not know an attribute, and CUDA reports a launch that does not fit at
 * once. So the first launch of each shape waits for its answer, unless it needs no more than one
 * that fitted. Some limits of a kernel are no attributes (.maxclusterrank and .reqntid of PTX): a
 * launch beyond these is reported by the next call that waits. Any thread; the lock is a leaf.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"

/* The needs of a cluster's blocks, which the multiprocessors have to meet. */
struct ath_cuda_launch_need {
    CUcontext context;
    unsigned int cluster[3]; /* blocks */
    uint64_t threads, registers /* of a thread */, shared_bytes;
};

struct ath_cuda_launch_fit {
    uint64_t shape;   /* 0: it does not wait */
    uint64_t lasting; /* the shape's number that is the same for all copies of equal code */
    bool is_sure;     /* one that needs as much or more fitted */
    bool has_need;
    struct ath_cuda_launch_need need;
};

/* Looks up a launch. Not between ath_cuda_begin() and ath_cuda_end(). */
struct ath_cuda_launch_fit ath_cuda_launch_fit_of(const CUlaunchConfig *config,
                                                  CUfunction function);

/* Notes that the launch fitted. */
void ath_cuda_launch_fit_note(const struct ath_cuda_launch_fit *fit);

/* Forgets what fitted: a context ended, and its handle may be another one's. */
void ath_cuda_launch_fit_forget(void);

/*
 * Returns whether the grid is made of whole clusters, so that only one thing is not known: whether
 * a cluster fits. That does not depend on the grid, so the smallest grid stands for all. CUTLASS
 * asks about the smallest one too (kernel_hardware_info.h); tests/gpu/programs/hopper.cu compares
 * several. It depends on the stream only if that is one of a green context. cuDNN asks for each
 * layer with a stream of its own.
 */
bool ath_cuda_launch_is_about_cluster(const CUlaunchConfig *config, CUlaunchConfig *out_smallest);

/* Asks for a function's limit of dynamic shared memory. On a slow line a limit that was set is not
 * asked for; on others the thread's own memo of the answer is faster. */
CUresult ath_cuda_launch_shared_limit(int *out, CUfunction function);

/* Returns a number for the shape of a launch that may not fit; 0 for other launches. */
uint64_t ath_cuda_launch_shape(const CUlaunchConfig *config, CUfunction function);
