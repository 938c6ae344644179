/*
 * A map of the blocks that the program has, and a list of those that it has freed.
 *
 * A block is kept only for the stream that freed it: what follows in the stream also follows the
 * free. While a stream captures, nothing is kept, since allocations may belong to a graph.
 */
#include "config.h"

#include "cuda/client/memory_reuse.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/map.h"
#include "cuda/client/allocate.h"
#include "cuda/client/answer_cache.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/connection.h"
#include "cuda/client/graph_memory.h"
#include "cuda/client/handles.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

enum { HELD_MAX = 64, HELD_BYTES_MAX = 256 * 1024 * 1024, FREE_BYTES_MAX = 4096 };

/* The stream, context and thread from which a call comes. */
struct origin {
    CUstream stream;
    CUcontext context;
    uint32_t thread;
    CUstreamCaptureMode mode;
};

struct block {
    struct ath_map_entry entry; /* by the address */
    size_t bytes;
    CUmemoryPool pool; /* NULL: the device's current one */
    uint64_t age;
    struct origin freed; /* of a block that is held */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_map blocks = ATH_MAP(10);
static struct {
    struct block *blocks[HELD_MAX]; /* the last one was freed last */
    size_t bytes;
    atomic_size_t count; /* read without the lock, too */
} held;
static atomic_ullong pool_changes;

/* Blocks of another age may have ended with their context, or be of a pool that is no longer
 * current. */
static uint64_t age_now(void)
{
    return ath_cuda_forgotten() + pool_changes;
}

static bool is_stream(CUstream stream)
{
    struct ath_cuda_handle_facts facts;
    return (uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD ||
           (ath_cuda_handle_find((uintptr_t)stream, &facts) && facts.kind == ATH_CUDA_KIND_STREAM);
}

/* Returns false if the call must be sent. */
static bool find_origin(enum ath_cuda_method method, CUstream stream, struct origin *out)
{
    if (ath_is_off(ATH_SWITCH_REUSE) || ath_cuda_may(method) || ath_cuda_is_lost() ||
        ath_cuda_is_any_capturing() || ath_cuda_known_fault(ath_cuda_own_context()) ||
        !is_stream(stream))
        return false;
    const struct ath_cuda_thread *thread = ath_cuda_own_thread();
    *out = (struct origin){ .stream = stream,
                            .context = ath_cuda_thread_context(thread),
                            .thread = thread->id,
                            .mode = thread->mode };
    return out->context;
}

static bool is_same_origin(const struct origin *a, const struct origin *b)
{
    return a->stream == b->stream && a->context == b->context &&
           (a->stream != CU_STREAM_PER_THREAD || a->thread == b->thread);
}

/* ---- blocks that are held; the caller has the lock ---- */

static struct block *take_held(size_t index)
{
    struct block *taken = held.blocks[index];
    held.bytes -= taken->bytes;
    held.count--;
    for (size_t i = index; i < held.count; i++)
        held.blocks[i] = held.blocks[i + 1];
    return taken;
}

static bool has_room(size_t bytes)
{
    return held.count < HELD_MAX && bytes <= HELD_BYTES_MAX - held.bytes;
}

static bool is_held(CUdeviceptr address)
{
    for (size_t i = 0; i < held.count; i++)
        if (held.blocks[i]->entry.key == address)
            return true;
    return false;
}

static void add_block(struct block *block, CUdeviceptr address)
{
    free(ath_map_take(ath_map_at(&blocks, address)));
    ath_map_add(&blocks, &block->entry, address);
}

/* ---- sending frees ---- */

/* The caller holds `order`, which guards the builder too. */
static void send_free(const struct block *block)
{
    static struct ath_wire_builder builder = { .max_bytes = FREE_BYTES_MAX };
    struct ath_cuda_side side = { .to_wire = ath_cuda_client_to_wire };
    struct ath_cuda_wire_call_builder call =
        ath_cuda_own_call_start(&builder, block->freed.context);
    ath_cuda_wire_call_set_thread(call, block->freed.thread);
    ath_cuda_wire_call_set_capture_mode(call, (uint32_t)block->freed.mode);
    struct ath_cuda_wire_mem_free_async_builder free_call =
        ath_cuda_wire_call_init_mem_free_async(call);
    ath_cuda_wire_mem_free_async_set_address(free_call, block->entry.key);
    ath_cuda_wire_mem_free_async_set_stream(
        free_call, ath_cuda_to_wire(&side, ATH_CUDA_KIND_STREAM, (uintptr_t)block->freed.stream));
    ath_cuda_own_call_post(&builder, ATH_CUDA_METHOD_cuMemFreeAsync);
}

/* Returns NULL if none is held. */
static struct block *take_first(void)
{
    pthread_mutex_lock(&lock);
    struct block *first = held.count ? take_held(0) : NULL;
    pthread_mutex_unlock(&lock);
    return first;
}

/* The caller holds `order`. Returns whether there was a free to send. */
static bool send_held(void)
{
    bool is_any = false;
    for (struct block *block; (block = take_first()); free(block)) {
        send_free(block);
        is_any = true;
    }
    return is_any;
}

static bool send_now(void)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    bool is_any = send_held();
    pthread_mutex_unlock(&ath_cuda_connection.order);
    return is_any;
}

void ath_cuda_memory_reuse_send(enum ath_cuda_method method, bool is_asked)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    if (facts->changes_pools)
        pool_changes++;
    if (held.count && (is_asked ? !facts->reuses : facts->records || facts->ends_handle))
        send_held();
}

bool ath_cuda_memory_reuse_holds(void)
{
    return held.count;
}

/* ---- freeing ---- */

/* Returns CUDA_ERROR_NOT_FOUND if the free must be sent. */
static CUresult hold(CUdeviceptr address, const struct origin *origin)
{
    CUresult status = CUDA_ERROR_NOT_FOUND;
    pthread_mutex_lock(&lock);
    struct block *block = ath_map_take(ath_map_at(&blocks, address));
    if (!block) {
        status = is_held(address) ? CUDA_ERROR_INVALID_VALUE : status;
    } else if (block->age == age_now() && has_room(block->bytes)) {
        block->freed = *origin;
        block->entry.key = address;
        held.bytes += block->bytes;
        held.blocks[held.count++] = block;
        block = NULL;
        status = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    free(block);
    return status;
}

/* Sends the frees if there is no room for one more. */
static void make_room(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    const struct block *block = ath_map_find(&blocks, address);
    bool wants_room = block && block->bytes <= HELD_BYTES_MAX && !has_room(block->bytes);
    pthread_mutex_unlock(&lock);
    if (wants_room)
        send_now();
}

CUresult ath_cuda_by_hand_cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    struct origin origin;
    if (!find_origin(ATH_CUDA_METHOD_cuMemFreeAsync, stream, &origin)) {
        ath_cuda_memory_reuse_forget(address);
        return ath_cuda_do_cuMemFreeAsync(address, stream);
    }
    make_room(address);
    CUresult status = hold(address, &origin);
    if (!status)
        ath_cuda_answer_cache_forget(ATH_CUDA_METHOD_cuMemFreeAsync);
    return status == CUDA_ERROR_NOT_FOUND ? ath_cuda_do_cuMemFreeAsync(address, stream) : status;
}

void ath_cuda_memory_reuse_forget(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    free(ath_map_take(ath_map_at(&blocks, address)));
    pthread_mutex_unlock(&lock);
}

void ath_cuda_memory_reuse_clear(void)
{
    pthread_mutex_lock(&lock);
    while (held.count)
        free(take_held(0));
    ATH_MAP_EACH(&blocks, at)
    free(ath_map_take(at));
    pthread_mutex_unlock(&lock);
}

/* ---- allocating ---- */

/* Returns 0 if no block fits. */
static CUdeviceptr reuse(size_t bytes, CUmemoryPool pool, const struct origin *origin)
{
    CUdeviceptr address = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = held.count; i-- > 0 && !address;) {
        const struct block *block = held.blocks[i];
        if (block->bytes == bytes && block->pool == pool && is_same_origin(&block->freed, origin)) {
            address = block->entry.key;
            add_block(take_held(i), address);
        }
    }
    pthread_mutex_unlock(&lock);
    return address;
}

/* If memory runs out, the block is not known, and its free is sent. */
static void note_block(CUdeviceptr address, size_t bytes, CUmemoryPool pool, uint64_t age)
{
    struct block *block = ath_cuda_allocate(sizeof *block);
    if (!block)
        return;
    *block = (struct block){ .bytes = bytes, .pool = pool, .age = age };
    pthread_mutex_lock(&lock);
    add_block(block, address);
    pthread_mutex_unlock(&lock);
}

static CUresult ask_for(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    CUresult status = pool ? ath_cuda_do_cuMemAllocFromPoolAsync(address, bytes, pool, stream)
                           : ath_cuda_do_cuMemAllocAsync(address, bytes, stream);
    if (!status && address)
        ath_cuda_graph_memory_note(*address, bytes);
    return status;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    struct origin origin;
    if (!address || !find_origin(ATH_CUDA_METHOD_cuMemAllocAsync, stream, &origin))
        return ask_for(address, bytes, pool, stream);
    CUdeviceptr reused = reuse(bytes, pool, &origin);
    if (reused) {
        *address = reused;
        return CUDA_SUCCESS;
    }
    uint64_t age = age_now();
    CUresult status = ask_for(address, bytes, pool, stream);
    if (status == CUDA_ERROR_OUT_OF_MEMORY && send_now())
        status = ask_for(address, bytes, pool, stream);
    if (!status)
        note_block(*address, bytes, pool, age);
    return status;
}

CUresult ath_cuda_by_hand_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    return allocate(address, bytes, NULL, stream);
}

CUresult ath_cuda_by_hand_cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes,
                                                  CUmemoryPool pool, CUstream stream)
{
    return pool ? allocate(address, bytes, pool, stream)
                : ath_cuda_do_cuMemAllocFromPoolAsync(address, bytes, pool, stream);
}
