/* Memory of a call, and bytes in and out of it. */
#include "config.h"

#include "runtime/cuda/side.h"

#include <stdlib.h>

/* In front of what was asked for, which is aligned for anything: a tensor map wants 64 bytes. */
enum { ALIGNMENT = 64 };
struct block {
    struct block *next;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

void *ath_cuda_room(struct ath_cuda_side *side, uint64_t count, size_t size)
{
    if (count > ATH_CUDA_ROOM_MAX / size) {
        side->status = CUDA_ERROR_INVALID_VALUE;
        return NULL;
    }
    size_t bytes =
        (sizeof(struct block) + (size_t)count * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct block *block = aligned_alloc(ALIGNMENT, bytes);
    if (!block) {
        side->status = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    memset(block, 0, bytes);
    block->next = side->blocks;
    side->blocks = block;
    return block->bytes;
}

void ath_cuda_blocks_free(void *blocks)
{
    for (struct block *block = blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
}

void ath_cuda_side_free(struct ath_cuda_side *side)
{
    ath_cuda_blocks_free(side->blocks);
    side->blocks = NULL;
}

void ath_cuda_copy_bytes(void *to, size_t size, struct ath_wire_bytes from)
{
    size_t length = from.length < size ? from.length : size;
    if (length)
        memcpy(to, from.data, length);
    if (size > length)
        memset((char *)to + length, 0, size - length);
}

void ath_cuda_copy_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (!size)
        return;
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

/* It does not say so, but programs see that it waits. */
static bool waits_tacitly(enum ath_cuda_method method)
{
    switch (method) {
    case ATH_CUDA_METHOD_cuArrayDestroy:
    case ATH_CUDA_METHOD_cuLibraryUnload:
    case ATH_CUDA_METHOD_cuMemcpyHtoAAsync_v2: /* one that is waited for */
    case ATH_CUDA_METHOD_cuMemcpyHtoDAsync_v2:
    case ATH_CUDA_METHOD_cuMemFree:
    case ATH_CUDA_METHOD_cuMemFree_v2:
    case ATH_CUDA_METHOD_cuMipmappedArrayDestroy:
    case ATH_CUDA_METHOD_cuModuleUnload:
        return true;
    default:
        return false;
    }
}

bool ath_cuda_may_wait(enum ath_cuda_method method)
{
    switch (method) {
    case ATH_CUDA_METHOD_cuArray3DCreate_v2:
    case ATH_CUDA_METHOD_cuArrayCreate_v2:
    case ATH_CUDA_METHOD_cuCtxDestroy_v2:
    case ATH_CUDA_METHOD_cuCtxDetach:
    case ATH_CUDA_METHOD_cuDevicePrimaryCtxRelease_v2:
    case ATH_CUDA_METHOD_cuDevicePrimaryCtxReset_v2:
    case ATH_CUDA_METHOD_cuGreenCtxDestroy:
    case ATH_CUDA_METHOD_cuIpcCloseMemHandle:
    case ATH_CUDA_METHOD_cuLibraryLoadData:
    case ATH_CUDA_METHOD_cuMemAlloc:
    case ATH_CUDA_METHOD_cuMemAlloc_v2:
    case ATH_CUDA_METHOD_cuMemAllocAsync:
    case ATH_CUDA_METHOD_cuMemAllocFromPoolAsync:
    case ATH_CUDA_METHOD_cuMemAllocManaged:
    case ATH_CUDA_METHOD_cuMemAllocPitch:
    case ATH_CUDA_METHOD_cuMemAllocPitch_v2:
    case ATH_CUDA_METHOD_cuMemCreate:
    case ATH_CUDA_METHOD_cuMemPoolDestroy:
    case ATH_CUDA_METHOD_cuMemPoolTrimTo:
    case ATH_CUDA_METHOD_cuMemRelease:
    case ATH_CUDA_METHOD_cuMemUnmap:
    case ATH_CUDA_METHOD_cuMipmappedArrayCreate:
    case ATH_CUDA_METHOD_cuModuleLoadData:
    case ATH_CUDA_METHOD_cuModuleLoadDataEx:
    case ATH_CUDA_METHOD_cuModuleLoadFatBinary:
        return true;
    default:
        return waits_tacitly(method) ||
               !strncmp(ath_cuda_methods[method].name, "cuMemcpy", strlen("cuMemcpy"));
    }
}

bool ath_cuda_synchronizes(enum ath_cuda_method method)
{
    switch (method) {
    case ATH_CUDA_METHOD_athNextCallback:
        return false; /* it waits for no stream */
    case ATH_CUDA_METHOD_athPullMemory:
    case ATH_CUDA_METHOD_cuEventQuery:
    case ATH_CUDA_METHOD_cuStreamQuery:
        return true;
    default:
        return ath_cuda_methods[method].is_blocking || waits_tacitly(method) ||
               !strncmp(ath_cuda_methods[method].name, "cuMemsetD", strlen("cuMemsetD"));
    }
}
