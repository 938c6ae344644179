/*
 * Copies from the GPU to pinned memory that only the client has, whose call does not wait: as with
 * CUDA, cuStreamQuery() then says that the stream is busy. The data arrive ahead of the answer to a
 * call that synchronizes (mirror_pull.c). Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cuda/api/cuda_api.h"

/* Begins such a copy, if the memory and the number of bytes suit it. Returns false if the copy must
 * be done in another way; *out_status is set otherwise. */
bool ath_cuda_deferred_copy(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                            CUstream stream, CUresult *out_status);

/* Waits for copies into any of these bytes, before the client reads or writes them, or the server
 * maps them. */
CUresult ath_cuda_deferred_copies_await(const void *address, size_t byte_count);

/* The same for all copies of streams of a context that is about to end. */
void ath_cuda_deferred_copies_end_in(CUcontext context);

/* Returns whether any copy has not arrived. */
bool ath_cuda_has_deferred_copies(void);

/* Stores the data of a copy. */
void ath_cuda_deferred_copy_arrived(uintptr_t address, const void *data, size_t byte_count);

/* Forgets all after the link has ended. */
void ath_cuda_deferred_copies_clear(void);
