/* Memory beyond cudaMalloc: pools, advice, what host and kernel share while both run, batches,
 * registered and virtual memory. */
#include <sys/mman.h>

#include "driver.cuh"

enum { N = 1 << 18, BLOCKS = N / 256 };

__global__ void add(int *values, int by)
{
    values[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

static cudaStream_t new_stream()
{
    cudaStream_t stream;
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static const cudaMemLocation THE_GPU = { cudaMemLocationTypeDevice, 0 },
                             THE_HOST = { cudaMemLocationTypeHost, 0 };

/* ---- pools ---- */

static void use(int *memory, cudaStream_t stream)
{
    ok(cudaMemsetAsync(memory, 0, N * sizeof(int), stream));
    add<<<BLOCKS, 256, 0, stream>>>(memory, 7);
    ok(cudaGetLastError());
    ok(cudaStreamSynchronize(stream));
    check(all_are(read(memory, N).data(), N, 7));
}

static void pools_of_its_own()
{
    needs_a_gpu();
    cudaMemPool_t pool, before, now;
    cudaMemPoolProps props = {};
    cudaStream_t stream = new_stream();
    int *a, *b, is_on = 0;
    unsigned long long threshold = 64 << 20, got, used;
    props.allocType = cudaMemAllocationTypePinned;
    props.location = THE_GPU;
    props.maxSize = 256 << 20;
    ok(cudaMemPoolCreate(&pool, &props));
    ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    ok(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &is_on));
    ok(cudaMallocFromPoolAsync((void **)&a, N * sizeof(int), pool, stream));
    use(a, stream);
    ok(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    check(used >= N * sizeof(int));
    ok(cudaFreeAsync(a, stream));
    ok(cudaStreamSynchronize(stream));
    ok(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &got));
    printf("= used %llu, kept %llu\n", used, got);
    ok(cudaMemPoolTrimTo(pool, 0));
    ok(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &got));
    check(!got);
    cudaError_t error = cudaMallocFromPoolAsync((void **)&a, 512 << 20, pool, stream);
    printf("= more than there may be: %s\n", cudaGetErrorName(error));
    check(error == cudaErrorMemoryAllocation);
    cudaGetLastError();
    ok(cudaDeviceGetMemPool(&before, 0));
    ok(cudaDeviceSetMemPool(0, pool));
    ok(cudaMallocAsync(&b, N * sizeof(int), stream));
    ok(cudaDeviceGetMemPool(&now, 0));
    check(now == pool);
    use(b, stream);
    cudaMemAccessFlags access;
    cudaMemLocation where = THE_GPU;
    ok(cudaMemPoolGetAccess(&access, pool, &where));
    check(access == cudaMemAccessFlagsProtReadWrite);
    cudaPointerAttributes facts;
    ok(cudaPointerGetAttributes(&facts, b));
    check(facts.type == cudaMemoryTypeDevice);
    ok(cudaFree(b));
    ok(cudaDeviceSetMemPool(0, before));
    ok(cudaMemPoolDestroy(pool));
}

static void a_pool_by_its_descriptor()
{
    needs_a_gpu();
    int can, handle;
    ok(cudaDeviceGetAttribute(&can, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    printf("= handles: %d\n", can & cudaMemHandleTypePosixFileDescriptor);
    if (!(can & cudaMemHandleTypePosixFileDescriptor))
        skip("the GPU's pools have no file descriptors");
    cudaMemPool_t pool, same;
    cudaMemPoolProps props = {};
    cudaMemPoolPtrExportData place;
    cudaStream_t stream = new_stream();
    int *memory, *seen;
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    props.location = THE_GPU;
    ok(cudaMemPoolCreate(&pool, &props));
    ok(cudaMallocFromPoolAsync((void **)&memory, N * sizeof(int), pool, stream));
    use(memory, stream);
    ok(cudaMemPoolExportToShareableHandle(&handle, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    ok(cudaMemPoolExportPointer(&place, memory));
    check(handle >= 0);
    ok(cudaMemPoolImportFromShareableHandle(&same, (void *)(long)handle,
                                            cudaMemHandleTypePosixFileDescriptor, 0));
    ok(cudaMemPoolImportPointer((void **)&seen, same, &place));
    add<<<BLOCKS, 256, 0, stream>>>(seen, 1);
    ok(cudaGetLastError());
    ok(cudaStreamSynchronize(stream));
    check(all_are(read(memory, N).data(), N, 8));
    ok(cudaFreeAsync(seen, stream));
    ok(cudaFreeAsync(memory, stream));
    ok(cudaStreamSynchronize(stream));
    check(!close(handle));
}

/* ---- managed ---- */

static void advice_and_prefetches()
{
    needs_a_gpu();
    int *memory, mostly = -1, where = -1;
    cudaStream_t stream = new_stream();
    ok(cudaMallocManaged(&memory, N * sizeof(int)));
    for (int i = 0; i < N; i++)
        memory[i] = i;
    ok(cudaMemAdvise(memory, N * sizeof(int), cudaMemAdviseSetReadMostly, THE_GPU));
    ok(cudaMemRangeGetAttribute(&mostly, sizeof mostly, cudaMemRangeAttributeReadMostly, memory,
                                N * sizeof(int)));
    ok(cudaMemAdvise(memory, N * sizeof(int), cudaMemAdviseUnsetReadMostly, THE_GPU));
    ok(cudaMemAdvise(memory, N * sizeof(int), cudaMemAdviseSetPreferredLocation, THE_GPU));
    ok(cudaMemRangeGetAttribute(&where, sizeof where, cudaMemRangeAttributePreferredLocation,
                                memory, N * sizeof(int)));
    printf("= read mostly: %d\n= preferred: %d\n", mostly, where);
    ok(cudaMemAdvise(memory, N * sizeof(int), cudaMemAdviseSetAccessedBy, THE_HOST));
    for (int round = 1; round < 4; round++) {
        ok(cudaMemPrefetchAsync(memory, N * sizeof(int), THE_GPU, 0, stream));
        add<<<BLOCKS, 256, 0, stream>>>(memory, 1);
        ok(cudaMemPrefetchAsync(memory, N * sizeof(int), THE_HOST, 0, stream));
        ok(cudaStreamSynchronize(stream));
        for (int i = 0; i < N; i += 1013)
            check(memory[i] == i + round);
    }
    ok(cudaFree(memory));
}

static void attached_to_a_stream()
{
    needs_a_gpu();
    int *memory, *other;
    cudaStream_t stream = new_stream();
    ok(cudaMallocManaged(&memory, N * sizeof(int), cudaMemAttachHost));
    ok(cudaMallocManaged(&other, N * sizeof(int)));
    memset(memory, 0, N * sizeof(int));
    memset(other, 0, N * sizeof(int));
    ok(cudaStreamAttachMemAsync(stream, memory));
    ok(cudaStreamSynchronize(stream));
    for (int i = 0; i < 10; i++) {
        add<<<BLOCKS, 256, 0, stream>>>(memory, 1);
        add<<<BLOCKS, 256, 0, stream>>>(other, 2);
    }
    ok(cudaStreamSynchronize(stream));
    check(all_are(memory, N, 10) && all_are(other, N, 20));
    ok(cudaStreamAttachMemAsync(nullptr, memory, 0, cudaMemAttachGlobal));
    ok(cudaDeviceSynchronize());
    memory[5] = 50;
    add<<<BLOCKS, 256>>>(memory, 1);
    ok(cudaDeviceSynchronize());
    check(memory[5] == 51 && memory[6] == 11);
}

/* ---- host and kernel at once ---- */

static void needs_one_memory()
{
    const char *mode = getenv("AITHERION_TEST_MODE");
    needs_a_gpu();
    if (mode && !strcmp(mode, "tcp"))
        skip("over TCP, pinned memory is two copies: a kernel sees what was there when it began");
}

__global__ void answer(volatile int *mailbox, int rounds)
{
    for (int i = 1; i <= rounds; i++) {
        while (mailbox[0] != i)
            ;
        mailbox[1] = 10 * i;
        __threadfence_system();
    }
}

static void a_kernel_that_polls()
{
    needs_one_memory();
    int *mailbox, *there;
    ok(cudaHostAlloc(&mailbox, 4096, cudaHostAllocMapped));
    mailbox[0] = mailbox[1] = 0;
    ok(cudaHostGetDevicePointer(&there, mailbox, 0));
    answer<<<1, 1>>>(there, 100);
    ok(cudaGetLastError());
    cudaStreamQuery(nullptr);
    for (int i = 1; i <= 100; i++) {
        ((volatile int *)mailbox)[0] = i;
        while (((volatile int *)mailbox)[1] != 10 * i)
            ;
    }
    ok(cudaDeviceSynchronize());
    check(mailbox[1] == 1000);
}

static void streams_wait_for_values()
{
    needs_a_gpu();
    int *flag = on_device<int>(1), *values = on_device<int>(N);
    cudaStream_t a = new_stream(), b = new_stream();
    add<<<BLOCKS, 256>>>(values, 0); /* loads it, which may wait for all streams */
    ok(cudaDeviceSynchronize());
    cu_ok(driver(cuStreamWaitValue32)(a, (CUdeviceptr)flag, 5, CU_STREAM_WAIT_VALUE_EQ));
    add<<<BLOCKS, 256, 0, a>>>(values, 1);
    check(cudaStreamQuery(a) == cudaErrorNotReady);
    cu_ok(driver(cuStreamWriteValue32)(b, (CUdeviceptr)flag, 5, 0));
    ok(cudaStreamSynchronize(a));
    check(all_are(read(values, N).data(), N, 1));
}

/* ---- batches ---- */

static void copies_in_a_batch()
{
    needs_a_gpu();
    enum { COUNT = 20 };
    cudaStream_t stream = new_stream();
    std::vector<std::vector<int>> from, to(COUNT);
    std::vector<const void *> sources, middles_read;
    std::vector<void *> middles, targets;
    std::vector<size_t> sizes;
    for (int i = 0; i < COUNT; i++) {
        from.emplace_back(1000 + 77 * i, i);
        to[(size_t)i].resize(from.back().size());
        sizes.push_back(from.back().size() * sizeof(int));
        middles.push_back(on_device<int>(from.back().size()));
        middles_read.push_back(middles.back());
        targets.push_back(to[(size_t)i].data());
    }
    for (auto &one : from)
        sources.push_back(one.data());
    ok(cudaDeviceSynchronize());
    cudaMemcpyAttributes how = {};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t first = 0;
    ok(cudaMemcpyBatchAsync(middles.data(), sources.data(), sizes.data(), COUNT, &how, &first, 1,
                            stream));
    ok(cudaMemcpyBatchAsync(targets.data(), middles_read.data(), sizes.data(), COUNT, &how, &first,
                            1, stream));
    ok(cudaStreamSynchronize(stream));
    check(from == to);
}

static void cubes_in_a_batch()
{
    needs_a_gpu();
    enum { SIDE = 16, CUBE = SIDE * SIDE * SIDE };
    cudaStream_t stream = new_stream();
    std::vector<int> from(CUBE), to(CUBE);
    for (int i = 0; i < CUBE; i++)
        from[(size_t)i] = i;
    int *device = on_device<int>(CUBE);
    ok(cudaDeviceSynchronize());
    auto copy = [&](void *source, cudaMemLocation of, void *target, cudaMemLocation there) {
        cudaMemcpy3DBatchOp one = {};
        one.src.type = one.dst.type = cudaMemcpyOperandTypePointer;
        one.src.op.ptr = { source, SIDE * sizeof(int), SIDE, of };
        one.dst.op.ptr = { target, SIDE * sizeof(int), SIDE, there };
        one.extent = { SIDE * sizeof(int), SIDE, SIDE };
        one.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        return cudaMemcpy3DBatchAsync(1, &one, 0, stream);
    };
    ok(copy(from.data(), THE_HOST, device, THE_GPU));
    ok(copy(device, THE_GPU, to.data(), THE_HOST));
    ok(cudaStreamSynchronize(stream));
    check(from == to);
}

/* ---- what pointers are ---- */

static void say(const char *name, const void *pointer)
{
    cudaPointerAttributes facts;
    cudaError_t error = cudaPointerGetAttributes(&facts, pointer);
    printf("= %s: %s type %d device %d host %d same %d\n", name, cudaGetErrorName(error),
           facts.type, facts.device, facts.hostPointer != nullptr,
           facts.hostPointer == facts.devicePointer);
}

static void kinds_of_pointers()
{
    needs_a_gpu();
    static int plain[1000];
    int *device = on_device<int>(1000), *managed, *pinned, *registered, *there;
    unsigned flags;
    size_t bytes = 1 << 20;
    registered =
        (int *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(cudaMallocManaged(&managed, bytes));
    ok(cudaHostAlloc(&pinned, bytes, cudaHostAllocPortable | cudaHostAllocWriteCombined));
    ok(cudaHostRegister(registered, bytes, cudaHostRegisterMapped));
    say("device", device + 999);
    say("managed", managed + 7);
    say("pinned", pinned + 7);
    say("registered", registered + 7);
    say("plain", plain);
    say("none", nullptr);
    ok(cudaHostGetFlags(&flags, pinned));
    printf("= flags: %u\n", flags & ~cudaHostAllocMapped);
    ok(cudaHostGetDevicePointer(&there, registered, 0));
    cudaError_t got = cudaHostRegister(registered, bytes, 0);
    printf("= twice: %s\n", cudaGetErrorName(got));
    cudaGetLastError();
    ok(cudaMemcpy(device, registered, 4000, cudaMemcpyDefault));
    ok(cudaHostUnregister(registered));
    got = cudaHostUnregister(registered);
    printf("= not registered: %s\n", cudaGetErrorName(got));
    cudaGetLastError();
    say("no more", registered);
    ok(cudaFreeHost(pinned));
    ok(cudaFree(managed));
    got = cudaFree((char *)device + 4);
    printf("= freed from within: %s\n", cudaGetErrorName(got));
    cudaGetLastError();
    ok(cudaFree(device));
    got = cudaFree(device);
    printf("= freed twice: %s\n", cudaGetErrorName(got));
    cudaGetLastError();
    ok(cudaFree(nullptr));
}

/* ---- virtual memory ---- */

static void addresses_grow()
{
    needs_a_gpu();
    size_t grain;
    CUmemAllocationProp what = {};
    CUmemAccessDesc who = {};
    CUdeviceptr base;
    CUmemGenericAllocationHandle parts[4];
    ok(cudaFree(nullptr));
    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    who.location = what.location;
    who.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    cu_ok(
        driver(cuMemGetAllocationGranularity)(&grain, &what, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    printf("= granularity: %zu\n", grain);
    cu_ok(driver(cuMemAddressReserve)(&base, 4 * grain, 0, 0, 0));
    for (size_t i = 0; i < 4; i++) {
        cu_ok(driver(cuMemCreate)(&parts[i], grain, &what, 0));
        cu_ok(driver(cuMemMap)(base + i * grain, grain, 0, parts[i], 0));
        cu_ok(driver(cuMemSetAccess)(base + i * grain, grain, &who, 1));
        size_t count = (i + 1) * grain / sizeof(int);
        ok(cudaMemset((void *)base, 0, count * sizeof(int)));
        add<<<(unsigned)(count / 256), 256>>>((int *)base, (int)i);
        ok(cudaDeviceSynchronize());
        check(read((int *)base, count)[count - 1] == (int)i);
    }
    cu_ok(driver(cuMemUnmap)(base, 4 * grain));
    cu_ok(driver(cuMemMap)(base, grain, 0, parts[3], 0)); /* the last is now the first */
    cu_ok(driver(cuMemSetAccess)(base, grain, &who, 1));
    check(read((int *)base, 100)[99] == 3);
    cu_ok(driver(cuMemUnmap)(base, grain));
    for (CUmemGenericAllocationHandle part : parts)
        cu_ok(driver(cuMemRelease)(part));
    cu_ok(driver(cuMemAddressFree)(base, 4 * grain));
}

static const test tests[] = {
    { "pools of its own", pools_of_its_own },
    { "a pool by a file descriptor", a_pool_by_its_descriptor },
    { "advice and prefetches", advice_and_prefetches },
    { "managed memory of a stream", attached_to_a_stream },
    { "a kernel that polls", a_kernel_that_polls },
    { "streams wait for values", streams_wait_for_values },
    { "copies in a batch", copies_in_a_batch },
    { "cubes in a batch", cubes_in_a_batch },
    { "kinds of pointers", kinds_of_pointers },
    { "addresses that grow", addresses_grow },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
