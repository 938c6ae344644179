/* The streams, events and executable graphs that the program has. A call without an answer can so
 * report a handle that does not exist at once, as CUDA does: the server's error would come with an
 * unrelated call. Any thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"

/* The facts about a handle. */
struct ath_cuda_handle_facts {
    enum ath_cuda_kind kind;
    CUcontext context; /* NULL: not known */
    bool is_shared;    /* see ath_cuda_handle_share() */
};

/* Adds a handle that the server made. */
void ath_cuda_handle_add(uint64_t handle, enum ath_cuda_kind kind, CUcontext context);

/* Finds a handle. Returns false if there is none. */
bool ath_cuda_handle_find(uint64_t handle, struct ath_cuda_handle_facts *out);

/* Marks an event that other processes have too. Records of it are waited for: another process may
 * act on a record as soon as it learns of it. */
void ath_cuda_handle_share(uint64_t handle);

/* Removes a handle before the server gets the call, since the server may reuse its value at
 * once. */
void ath_cuda_handle_remove(uint64_t handle);

/* Removes the handles of a context that ended. */
void ath_cuda_handles_end(CUcontext context);

/* Counts changes: a result of ath_cuda_handle_find() holds as long as this number stays the
 * same. */
uint64_t ath_cuda_handles_age(void);

void ath_cuda_handles_clear(void);
