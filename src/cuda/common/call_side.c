/* Memory that lasts as long as a call, and copies of bytes and texts that travelled. */
#include "config.h"

#include "cuda/common/call_side.h"

#include <stdlib.h>

#include "base/host_budget.h"

/* The head of a block. The memory behind the head is aligned for anything: a tensor map needs 64
 * bytes. */
enum { ALIGNMENT = 64 };
struct block {
    struct block *next;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

/* Counts memory that a side takes in the process's budget. Returns false if it is not there. A look
 * at the budget costs a microsecond, and a side may have thousands of blocks (mirror_changes.c). */
static bool count_bytes(struct ath_cuda_side *side, uint64_t bytes)
{
    enum { UNCOUNTED = 64 * 1024, STEP = 1024 * 1024 };
    const uint64_t all = side->bytes + bytes, there = UNCOUNTED + side->counted_bytes;
    if (all > there) {
        uint64_t missing = (all - there + STEP - 1) / STEP * STEP;
        if (!ath_host_take(ATH_HOST_BYTES, missing))
            return false;
        side->counted_bytes += missing;
    }
    side->bytes = all;
    return true;
}

void *ath_cuda_room(struct ath_cuda_side *side, uint64_t count, size_t size)
{
    if (count > ATH_CUDA_ROOM_MAX / size) {
        side->status = CUDA_ERROR_INVALID_VALUE;
        return NULL;
    }
    size_t bytes =
        (sizeof(struct block) + (size_t)count * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct block *block = count_bytes(side, bytes) ? aligned_alloc(ALIGNMENT, bytes) : NULL;
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
    if (side->counted_bytes)
        ath_host_give(ATH_HOST_BYTES, side->counted_bytes);
    side->bytes = side->counted_bytes = 0;
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
