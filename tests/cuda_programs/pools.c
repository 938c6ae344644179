/* Stream-ordered memory and its pools. */
#include "config.h"

#include "gpu.h"

enum { N = 1000, BYTES = N * sizeof(float) };

static CUstream stream, other;

static void setup(void)
{
    int is_there;
    ok(cuDeviceGetAttribute(&is_there, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
    if (!is_there)
        skip("the device has no memory pools");
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
}

static void used_in_order(void)
{
    CUdeviceptr a, b = allocate(BYTES);
    ok(cuMemAllocAsync(&a, BYTES, stream));
    ok(launch_fill(a, 3, N, stream));
    ok(cuMemcpyDtoDAsync_v2(b, a, BYTES, stream));
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
    same(all_of(b, N), 3);
}

/* The free waits for its turn, and the memory stays until then. */
static void freed_in_order(void)
{
    struct gate gate = GATE;
    CUdeviceptr a, b = allocate(BYTES);
    ok(cuMemAllocAsync(&a, BYTES, stream));
    ok(launch_fill(a, 4, N, stream));
    close_gate(&gate, stream);
    ok(cuMemcpyDtoDAsync_v2(b, a, BYTES, stream));
    ok(cuMemFreeAsync(a, stream));
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    open_gate(&gate);
    ok(cuStreamSynchronize(stream));
    same(all_of(b, N), 4);
}

static void freed_by_another(void)
{
    CUdeviceptr a;
    CUevent event;
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuMemAllocAsync(&a, BYTES, stream));
    ok(launch_fill(a, 4, N, stream));
    ok(cuEventRecord(event, stream));
    ok(cuStreamWaitEvent(other, event, 0));
    ok(cuMemFreeAsync(a, other));
    ok(cuStreamSynchronize(other));
    ok(cuMemAllocAsync(&a, BYTES, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuMemFree_v2(a)); /* as well */
}

static const CUmemPoolProps of_device = {
    .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
    uint64_t value;
    ok(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void own_pool(void)
{
    CUmemoryPool pool;
    CUdeviceptr a;
    ok(cuMemPoolCreate(&pool, &of_device));
    ok(cuMemAllocFromPoolAsync(&a, BYTES, pool, stream));
    ok(launch_fill(a, 5, N, stream));
    ok(cuStreamSynchronize(stream));
    same(all_of(a, N), 5);
    check(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= BYTES);
    check(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= BYTES);
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
    same(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    check(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= BYTES);
    ok(cuMemPoolDestroy(pool));
}

/* Freed memory stays with the pool up to its threshold, and is used again. */
static void threshold(void)
{
    enum { LARGE = 32 << 20 };
    uint64_t all = ~(uint64_t)0, got;
    CUmemoryPool pool;
    CUdeviceptr a;
    ok(cuMemPoolCreate(&pool, &of_device));
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    ok(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &got));
    check(got == all);
    ok(cuMemAllocFromPoolAsync(&a, LARGE, pool, stream));
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
    check(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= LARGE);
    ok(cuMemPoolTrimTo(pool, 0));
    same(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    ok(cuMemPoolDestroy(pool));
}

static void without_threshold(void)
{
    CUmemoryPool pool;
    CUdeviceptr a;
    ok(cuMemPoolCreate(&pool, &of_device));
    ok(cuMemAllocFromPoolAsync(&a, BYTES, pool, stream));
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
    same(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    ok(cuMemPoolDestroy(pool));
}

static void current_pool(void)
{
    CUmemoryPool pool, normal, got;
    CUdeviceptr a;
    ok(cuDeviceGetDefaultMemPool(&normal, 0));
    ok(cuDeviceGetMemPool(&got, 0));
    check(got == normal);
    ok(cuMemPoolCreate(&pool, &of_device));
    ok(cuDeviceSetMemPool(0, pool));
    ok(cuDeviceGetMemPool(&got, 0));
    check(got == pool);
    ok(cuMemAllocAsync(&a, BYTES, stream));
    ok(cuStreamSynchronize(stream));
    check(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= BYTES);
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuDeviceSetMemPool(0, normal));
    ok(cuMemPoolDestroy(pool));
}

static void too_much(void)
{
    CUdeviceptr a;
    size_t free_bytes, total;
    ok(cuMemGetInfo_v2(&free_bytes, &total));
    gives(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&a, 2 * total, stream));
    ok(cuMemAllocAsync(&a, BYTES, stream));
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
}

static void facts(void)
{
    CUmemoryPool normal, got = NULL;
    CUdeviceptr a;
    CUmemAccess_flags access;
    CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    ok(cuDeviceGetDefaultMemPool(&normal, 0));
    ok(cuMemPoolGetAccess(&access, normal, &here));
    same(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok(cuMemAllocAsync(&a, BYTES, stream));
    ok(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    check(got == normal);
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
}

static CUdeviceptr take(size_t bytes, CUstream from)
{
    CUdeviceptr address;
    ok(cuMemAllocAsync(&address, bytes, from));
    return address;
}

static CUmemoryPool pool_of(CUdeviceptr address)
{
    CUmemoryPool pool = NULL;
    ok(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    return pool;
}

static size_t size_of(CUdeviceptr address)
{
    CUdeviceptr base;
    size_t bytes;
    ok(cuMemGetAddressRange_v2(&base, &bytes, address));
    check(base == address);
    return bytes;
}

static void taken_again(void)
{
    CUdeviceptr sum = allocate(BYTES);
    ok(launch_fill(sum, 0, N, stream));
    for (int i = 0; i < 100; i++) {
        CUdeviceptr a = take(BYTES, stream), b = take(2 * BYTES, stream);
        ok(launch_fill(a, 1, N, stream));
        ok(launch_fill(b, 2, 2 * N, stream));
        ok(launch_saxpy(N, 1, a, sum, stream));
        ok(cuMemFreeAsync(a, stream));
        ok(launch_saxpy(N, 1, b, sum, stream));
        ok(cuMemFreeAsync(b, stream));
    }
    ok(cuStreamSynchronize(stream));
    same(all_of(sum, N), 300);
}

/* The first stream still reads the memory when the second asks for as much. */
static void not_taken_too_early(void)
{
    struct gate gate = GATE;
    CUdeviceptr a = take(BYTES, stream), b = allocate(BYTES);
    ok(launch_fill(a, 7, N, stream));
    close_gate(&gate, stream);
    ok(cuMemcpyDtoDAsync_v2(b, a, BYTES, stream));
    ok(cuMemFreeAsync(a, stream));
    CUdeviceptr c = take(BYTES, other);
    ok(launch_fill(c, 8, N, other));
    reach_gate(&gate);
    open_gate(&gate);
    ok(cuStreamSynchronize(stream));
    ok(cuStreamSynchronize(other));
    same(all_of(b, N), 7);
    same(all_of(c, N), 8);
}

static CUresult freed_twice(void)
{
    CUdeviceptr a = take(BYTES, stream);
    ok(cuMemFreeAsync(a, stream));
    CUresult status = cuMemFreeAsync(a, stream);
    return status ? status : cuStreamSynchronize(stream);
}

static void free_of_none(void)
{
    CUdeviceptr a = take(BYTES, stream);
    gives(CUDA_ERROR_INVALID_VALUE, freed_twice());
    ok(cuMemFreeAsync(a, stream));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(a));
    gives(CUDA_ERROR_INVALID_HANDLE,
          cuMemFreeAsync(take(BYTES, stream), (CUstream)(uintptr_t)4096));
}

/* Freed memory counts as freed, and is gone at the next wait. */
static void told_as_freed(void)
{
    CUmemoryPool normal;
    size_t before, after, total;
    ok(cuDeviceGetDefaultMemPool(&normal, 0));
    ok(cuMemGetInfo_v2(&before, &total));
    for (int i = 0; i < 3; i++)
        ok(cuMemFreeAsync(take(1 << 20, stream), stream));
    ok(cuStreamSynchronize(stream));
    same(attribute(normal, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    same(attribute(normal, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    ok(cuMemGetInfo_v2(&after, &total));
    same(after, before);
}

/* A copy that has waited leaves the stream at rest; the wait behind the free counts all the same.
 */
static void freed_at_rest(void)
{
    CUmemoryPool normal;
    float values[N];
    ok(cuDeviceGetDefaultMemPool(&normal, 0));
    CUdeviceptr a = take(BYTES, stream);
    ok(launch_fill(a, 2, N, stream));
    ok(cuMemcpyDtoHAsync_v2(values, a, BYTES, stream));
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
    same(attribute(normal, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
}

static void of_the_pool_that_is_chosen(void)
{
    CUmemoryPool pool, normal;
    CUdeviceptr a, old = take(BYTES, stream);
    ok(cuDeviceGetDefaultMemPool(&normal, 0));
    ok(cuMemPoolCreate(&pool, &of_device));
    ok(cuMemFreeAsync(take(BYTES, stream), stream));
    ok(cuMemAllocFromPoolAsync(&a, BYTES, pool, stream));
    check(pool_of(a) == pool);
    ok(cuMemFreeAsync(a, stream));
    check(pool_of(take(BYTES, stream)) == normal);
    ok(cuDeviceSetMemPool(0, pool));
    ok(cuMemFreeAsync(old, stream));
    a = take(BYTES, stream);
    check(pool_of(a) == pool);
    ok(cuMemPoolDestroy(pool)); /* the default one is chosen again */
    ok(cuMemFreeAsync(a, stream));
    check(pool_of(take(BYTES, stream)) == normal);
}

/* An address that was freed in another way may come back with another size. */
static void freed_in_another_way(void)
{
    CUdeviceptr gone = take(BYTES, stream);
    ok(cuMemFree_v2(gone));
    CUresult status = cuMemFreeAsync(gone, stream);
    check(size_of(take(BYTES, stream)) >= BYTES);
    gives(CUDA_ERROR_INVALID_VALUE, status ? status : cuStreamSynchronize(stream));
    for (int i = 0; i < 4; i++) {
        CUdeviceptr a = take(BYTES, stream), b;
        ok(cuMemFree_v2(a));
        b = allocate(4 * BYTES);
        ok(cuMemFreeAsync(b, stream));
        a = take(BYTES, stream);
        check(size_of(a) >= BYTES);
        b = take(4 * BYTES, stream);
        check(size_of(b) >= 4 * BYTES);
        ok(cuMemFreeAsync(a, stream));
        ok(cuMemFreeAsync(b, stream));
    }
    ok(cuStreamSynchronize(stream));
}

static void not_taken_by_a_capture(void)
{
    CUgraph graph;
    CUgraphExec ready;
    size_t nodes;
    CUdeviceptr a, b = allocate(BYTES);
    ok(cuMemFreeAsync(take(BYTES, stream), stream));
    ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuMemAllocAsync(&a, BYTES, stream));
    ok(launch_fill(a, 6, N, stream));
    ok(cuMemcpyDtoDAsync_v2(b, a, BYTES, stream));
    ok(cuMemFreeAsync(a, stream));
    ok(cuMemFreeAsync(take(BYTES, stream), stream));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphGetNodes(graph, NULL, &nodes));
    same(nodes, 6);
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    for (int i = 0; i < 2; i++) {
        CUdeviceptr c = take(BYTES, stream);
        check(c != a);
        ok(launch_fill(c, 9, N, stream));
        ok(cuGraphLaunch(ready, stream));
        ok(cuMemFreeAsync(c, stream));
    }
    ok(cuStreamSynchronize(stream));
    same(all_of(b, N), 6);
}

static void stream_ends(void)
{
    for (int i = 0; i < 8; i++) {
        CUstream own;
        ok(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
        CUdeviceptr a = take(BYTES, own);
        ok(launch_fill(a, 1, N, own));
        ok(cuMemFreeAsync(a, own));
        ok(cuStreamDestroy_v2(own));
        gives(CUDA_ERROR_INVALID_HANDLE, cuMemFreeAsync(take(BYTES, stream), own));
    }
    ok(cuCtxSynchronize());
}

static void context_ends(void)
{
    CUcontext made;
    CUstream own;
    for (int i = 0; i < 2; i++) {
        ok(cuCtxCreate_v2(&made, 0, 0));
        ok(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
        ok(cuMemFreeAsync(take(BYTES, own), own));
        ok(cuMemFreeAsync(take(BYTES, NULL), NULL));
        ok(cuCtxDestroy_v2(made));
        ok(cuCtxSetCurrent(context));
        CUdeviceptr a = take(BYTES, NULL);
        ok(launch_fill(a, 4, N, NULL));
        same(all_of(a, N), 4);
        ok(cuMemFreeAsync(a, NULL));
    }
    ok(cuCtxSynchronize());
}

/* Memory that is freed and not yet waited for is room for another kind, and for another size. */
static void there_is_room(void)
{
    size_t free_bytes, total;
    CUdeviceptr a, b;
    ok(cuMemGetInfo_v2(&free_bytes, &total));
    size_t part = free_bytes / 8 & ~(size_t)0xfffff;
    if (part > (size_t)64 << 20)
        part = (size_t)64 << 20;
    CUdeviceptr rest = take(free_bytes - 2 * part, stream);
    ok(cuMemFreeAsync(take(part, stream), stream));
    ok(cuMemAllocAsync(&a, part + (part >> 1), stream));
    ok(cuMemFreeAsync(a, stream));
    ok(cuMemAlloc_v2(&b, part));
    ok(cuMemFree_v2(b));
    ok(cuMemFreeAsync(rest, stream));
    ok(cuStreamSynchronize(stream));
}

static void many_sizes(void)
{
    enum { SIZES = 100 };
    CUdeviceptr sum = allocate(BYTES);
    ok(launch_fill(sum, 0, N, stream));
    for (int round = 0; round < 3; round++) {
        CUdeviceptr taken[SIZES];
        for (int i = 0; i < SIZES; i++) {
            taken[i] = take(BYTES + (size_t)i * 512, stream);
            ok(launch_fill(taken[i], 1, N, stream));
        }
        for (int i = 0; i < SIZES; i++) {
            ok(launch_saxpy(N, 1, taken[i], sum, stream));
            ok(cuMemFreeAsync(taken[i], stream));
        }
    }
    ok(cuStreamSynchronize(stream));
    same(all_of(sum, N), 300);
}

static void *take_and_give(void *argument)
{
    CUstream on = *(CUstream *)argument;
    ok(cuCtxSetCurrent(context));
    CUdeviceptr sum = allocate(BYTES);
    ok(launch_fill(sum, 0, N, on));
    for (int i = 0; i < 200; i++) {
        CUdeviceptr a = take(BYTES, on);
        ok(launch_fill(a, 1, N, on));
        ok(launch_saxpy(N, 1, a, sum, on));
        ok(cuMemFreeAsync(a, on));
        if (i % 50 == 49)
            ok(cuStreamSynchronize(on));
    }
    ok(cuStreamSynchronize(on));
    float values[N];
    ok(cuMemcpyDtoHAsync_v2(values, sum, BYTES, on));
    ok(cuStreamSynchronize(on));
    for (int i = 0; i < N; i++)
        same(values[i], 200);
    return NULL;
}

static void in_threads(CUstream *streams, size_t count)
{
    pthread_t threads[8];
    for (size_t i = 0; i < count; i++)
        check(!pthread_create(&threads[i], NULL, take_and_give, &streams[i]));
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void by_threads(void)
{
    CUstream apart[] = { stream, other, CU_STREAM_PER_THREAD, CU_STREAM_PER_THREAD };
    in_threads(apart, COUNT(apart));
}

static void from_thread_to_thread(void)
{
    for (int i = 0; i < 4; i++)
        in_threads(&stream, 1);
    for (int i = 0; i < 4; i++)
        in_threads((CUstream[]){ CU_STREAM_PER_THREAD }, 1);
}

static const struct test tests[] = {
    { "memory of a stream is used in its order", used_in_order, 0 },
    { "it is freed in its order", freed_in_order, 0 },
    { "another stream may free it", freed_by_another, 0 },
    { "a pool counts what it gives", own_pool, 0 },
    { "a pool keeps what its threshold says", threshold, 0 },
    { "a pool without one gives all back", without_threshold, 0 },
    { "a device's pool can be chosen", current_pool, 0 },
    { "more than the device has is out of memory", too_much, 0 },
    { "says which pool memory is of", facts, 0 },
    { "what a stream freed, it takes again", taken_again, 0 },
    { "another stream does not take it while it is used", not_taken_too_early, 0 },
    { "a second free is an error", free_of_none, ONLY_SIMULATED },
    { "freed memory counts as free", told_as_freed, ONLY_SIMULATED },
    { "a wait behind the free gives it back", freed_at_rest, 0 },
    { "a stream takes memory of the pool that is chosen", of_the_pool_that_is_chosen, 0 },
    { "an address that was freed in another way has its new size", freed_in_another_way,
      ONLY_SIMULATED },
    { "a capture takes none that was freed before", not_taken_by_a_capture, 0 },
    { "a stream ends with what it freed", stream_ends, ONLY_SIMULATED },
    { "so does a context", context_ends, 0 },
    { "freed memory is room for other memory", there_is_room, ONLY_SIMULATED },
    { "many sizes at once", many_sizes, 0 },
    { "threads take and free in their streams", by_threads, 0 },
    { "one thread after another does so in one stream", from_thread_to_thread, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
