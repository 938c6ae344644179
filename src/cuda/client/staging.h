/* Large copies of pageable memory if the transport has memory that both sides see. The program's
 * bytes pass through a few parts of this memory: while the GPU copies one part, the client fills or
 * empties the next. One copy at a time uses the parts; others travel in messages meanwhile. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cuda/api/cuda_api.h"

struct ath_team;

/* Returns whether a copy of so many bytes is staged. If so, the caller must call one of the next
 * two functions. Any thread. */
bool ath_cuda_staging_take(size_t bytes);

/* Return when the copy is complete. */
CUresult ath_cuda_staged_to(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                            CUstream stream);
CUresult ath_cuda_staged_from(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream);

/* The threads that help with large memory, for the whole process; NULL if there are none. Any
 * thread. */
struct ath_team *ath_cuda_helpers(void);

/* As memcpy(), by several processors for many bytes. Any thread. */
void ath_cuda_copy_widely(void *to, const void *from, size_t bytes);

/* Forgets the parts after the link has ended. */
void ath_cuda_staging_clear(void);

/* Copies of memory that the server reaches itself. Posted, not waited for (copy.c). */
CUresult ath_cuda_direct_to(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                            CUstream stream);
CUresult ath_cuda_direct_from(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream);
