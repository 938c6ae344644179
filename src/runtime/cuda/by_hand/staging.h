/*
 * Large copies of ordinary memory, where the transport has memory that both sides see: the
 * program's bytes pass through a few parts of such memory, and while the GPU copies one of them the
 * next is filled or emptied here. One copy at a time has the parts; others go in messages
 * meanwhile.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "runtime/cuda/cuda_api.h"

/* Whether a copy of so many bytes goes this way; then one of the next two ends it. Any thread. */
bool ath_cuda_staging_take(size_t bytes);

/* Return when it has been done. */
CUresult ath_cuda_staged_to(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                            CUstream stream);
CUresult ath_cuda_staged_from(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream);

/* As memcpy(), by several processors where there is much. Any thread. */
void ath_cuda_copy_widely(void *to, const void *from, size_t bytes);

/* Forgets the parts: the link is gone. */
void ath_cuda_staging_clear(void);

/* Copies of memory that the server reaches by itself: posted, in client_copy.c. */
CUresult ath_cuda_direct_to(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                            CUstream stream);
CUresult ath_cuda_direct_from(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream);
