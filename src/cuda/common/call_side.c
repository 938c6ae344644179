/* Memory that lasts as long as a call, and copies of bytes and texts that travelled. */
#include "config.h"

#include "cuda/common/call_side.h"

#include <stdlib.h>

#include "base/host_budget.h"

/* The head of a block. The memory behind the head is aligned for anything: a tensor map needs 64
 * bytes. */
enum { ALIGNMENT = 64, UNCOUNTED_BYTES = 64 * 1024 /* of a side */ };
struct block {
    struct block *next;
    size_t counted_bytes; /* taken from the process's budget */
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

/* Returns a block of so many bytes with its head, or NULL. */
static struct block *make_block(size_t bytes, size_t counted_bytes)
{
    if (counted_bytes && !ath_host_take(ATH_HOST_BYTES, counted_bytes))
        return NULL;
    struct block *block = aligned_alloc(ALIGNMENT, bytes);
    if (block) {
        memset(block, 0, bytes);
        block->counted_bytes = counted_bytes;
    } else if (counted_bytes) {
        ath_host_give(ATH_HOST_BYTES, counted_bytes);
    }
    return block;
}

void *ath_cuda_room(struct ath_cuda_side *side, uint64_t count, size_t size)
{
    if (count > ATH_CUDA_ROOM_MAX / size) {
        side->status = CUDA_ERROR_INVALID_VALUE;
        return NULL;
    }
    size_t bytes =
        (sizeof(struct block) + (size_t)count * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct block *block = make_block(bytes, side->bytes + bytes > UNCOUNTED_BYTES ? bytes : 0);
    if (!block) {
        side->status = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    side->bytes += bytes;
    block->next = side->blocks;
    side->blocks = block;
    return block->bytes;
}

void ath_cuda_blocks_free(void *blocks)
{
    for (struct block *block = blocks, *next; block; block = next) {
        next = block->next;
        if (block->counted_bytes)
            ath_host_give(ATH_HOST_BYTES, block->counted_bytes);
        free(block);
    }
}

void ath_cuda_side_free(struct ath_cuda_side *side)
{
    ath_cuda_blocks_free(side->blocks);
    side->blocks = NULL;
    side->bytes = 0;
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
