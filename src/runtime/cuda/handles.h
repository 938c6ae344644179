/*
 * The streams, events and executable graphs that the program has, so that a call without an answer
 * can say at once that one does not exist, as CUDA does: the server's answer would come with a call
 * that has nothing to do with it. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/cuda/cuda_api.h"

/* One that the server has made. context NULL: not known. */
void ath_cuda_handle_add(uint64_t handle, CUcontext context);

/* false: there is none; *out_context is its context, or NULL, *out_is_shared what was said. */
bool ath_cuda_handle_find(uint64_t handle, CUcontext *out_context, bool *out_is_shared);

/* An event that other processes have as well: what one of them hears of it from another, its server
 * must know already. */
void ath_cuda_handle_share(uint64_t handle);

/* It ends now: before the server is told, since it may give the number to another one at once. */
void ath_cuda_handle_remove(uint64_t handle);

/* Those of a context end with it. */
void ath_cuda_handles_end(CUcontext context);

/* Counts changes: what was found stays so as long as this stays. */
uint64_t ath_cuda_handles_age(void);

void ath_cuda_handles_clear(void);
