/* Memory of graphs: allocations that are captured or added as nodes. Their addresses are listed as
 * long as no later allocation has them, since executable graphs outlive their graph. */
#include "config.h"

#include "cuda/client/graph_memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "proto/cuda-client.h"

struct range {
    struct range *next;
    CUdeviceptr base;
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges; /* which do not overlap */

static void remove_overlaps(CUdeviceptr base, size_t bytes)
{
    for (struct range **at = &ranges; *at;) {
        struct range *one = *at;
        if (one->base < base + bytes && base < one->base + one->bytes) {
            *at = one->next;
            free(one);
        } else {
            at = &one->next;
        }
    }
}

static void note(CUdeviceptr base, size_t bytes)
{
    struct range *made = malloc(sizeof *made);
    if (!made)
        return;
    pthread_mutex_lock(&lock);
    remove_overlaps(base, bytes);
    *made = (struct range){ ranges, base, bytes };
    ranges = made;
    pthread_mutex_unlock(&lock);
}

bool ath_cuda_is_graph_memory(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    const struct range *range = ranges;
    while (range && !(address >= range->base && address - range->base < range->bytes))
        range = range->next;
    pthread_mutex_unlock(&lock);
    return range;
}

CUresult ath_cuda_by_hand_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph,
                                                 const CUgraphNode *dependencies,
                                                 size_t dependency_count,
                                                 CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    CUresult status =
        ath_cuda_do_cuGraphAddMemAllocNode(node, graph, dependencies, dependency_count, params);
    if (!status)
        note(params->dptr, params->bytesize);
    return status;
}

void ath_cuda_graph_memory_note(CUdeviceptr address, size_t bytes)
{
    if (ath_cuda_is_any_capturing())
        note(address, bytes);
}
