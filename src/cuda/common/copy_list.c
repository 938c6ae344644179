/* CUDA allows any order of a batch's copies, also the order of the list. The attributes about
 * lifetime and place of the sources are hints. */
#include "config.h"

#include "cuda/common/copy_list.h"

#include <stdint.h>

#include "cuda/common/copy_box.h"
#include "proto/cuda-client.h"

/* NOLINTBEGIN(readability-non-const-parameter): as CUDA declares them */
CUresult ath_cuda_by_hand_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                                size_t count, CUmemcpyAttributes *attributes,
                                                size_t *attribute_indexes, size_t attribute_count,
                                                CUstream stream)
{
    if (!count || !dsts || !srcs || !sizes || !stream ||
        !ath_cuda_are_batch_attributes(attributes, attribute_indexes, attribute_count, count))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = ath_cuda_refuse_capture(stream);
    for (size_t i = 0; !status && i < count; i++)
        status = ath_cuda_by_hand_cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
    return status;
}

CUresult ath_cuda_by_hand_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                             size_t count, CUmemcpyAttributes *attributes,
                                             size_t *attribute_indexes, size_t attribute_count,
                                             size_t *fail_index, CUstream stream)
{
    CUresult status = ath_cuda_by_hand_cuMemcpyBatchAsync_v2(
        dsts, srcs, sizes, count, attributes, attribute_indexes, attribute_count, stream);
    if (status && fail_index)
        *fail_index = SIZE_MAX; /* no particular copy */
    return status;
}
/* NOLINTEND(readability-non-const-parameter) */
