/* Memory in stream order, and the pools that it comes from. */
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

/* What is freed stays with the pool up to its threshold, and is used again. */
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

static const struct test tests[] = {
    { "memory of a stream is used in its order", used_in_order, 0 },
    { "it is freed in its order", freed_in_order, 0 },
    { "another stream may free it", freed_by_another, 0 },
    { "a pool counts what it gives", own_pool, 0 },
    { "a pool keeps what its threshold says", threshold, 0 },
    { "a pool without one gives all back", without_threshold, 0 },
    { "a device's pool can be chosen", current_pool, 0 },
    { "more than there is is out of memory", too_much, 0 },
    { "says which pool memory is of", facts, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
