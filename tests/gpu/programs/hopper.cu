/* What Hopper brought: clusters that share memory, tensor maps, bulk copies, launches that overlap,
 * and the other attributes of a launch. */
#include <cooperative_groups.h>

#include "driver.cuh"

namespace cg = cooperative_groups;

static void needs_hopper()
{
    int major;
    needs_a_gpu();
    ok(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9)
        skip("needs compute capability 9.0");
}

struct launch : cudaLaunchConfig_t {
    cudaLaunchAttribute kept[4] = {};

    launch(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t on = nullptr)
        : cudaLaunchConfig_t()
    {
        gridDim = grid;
        blockDim = block;
        dynamicSmemBytes = shared;
        stream = on;
        attrs = kept;
    }
    cudaLaunchAttributeValue &with(cudaLaunchAttributeID id)
    {
        kept[numAttrs].id = id;
        return kept[numAttrs++].val;
    }
    launch(const launch &) = delete;
};

/* ---- clusters ---- */

/* Each block has a slice of the histogram in its own shared memory, and counts into all of them. */
__global__ void count_in_cluster(const int *values, int count, int *bins, int slice)
{
#if __CUDA_ARCH__ >= 900
    extern __shared__ int mine[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < slice; i += blockDim.x)
        mine[i] = 0;
    cluster.sync();
    for (int i = (int)cluster.thread_rank(); i < count; i += (int)cluster.num_threads())
        atomicAdd(cluster.map_shared_rank(mine, values[i] / slice) + values[i] % slice, 1);
    cluster.sync();
    for (int i = threadIdx.x; i < slice; i += blockDim.x)
        bins[(int)cluster.block_rank() * slice + i] = mine[i];
#endif
}

static void count_with(int blocks)
{
    enum { COUNT = 100000, SLICE = 64 };
    std::vector<int> values(COUNT), wanted((size_t)blocks * SLICE);
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = (int)(i * i % wanted.size());
        wanted[(size_t)values[i]]++;
    }
    int *device = on_device<int>(COUNT), *bins = on_device<int>(wanted.size());
    ok(cudaMemcpy(device, values.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice));
    launch how(blocks, 256, SLICE * sizeof(int));
    how.with(cudaLaunchAttributeClusterDimension).clusterDim = { (unsigned)blocks, 1, 1 };
    ok(cudaLaunchKernelEx(&how, count_in_cluster, (const int *)device, (int)COUNT, bins,
                          (int)SLICE));
    check(read(bins, wanted.size()) == wanted);
}

static void distributed_shared_memory()
{
    needs_hopper();
    count_with(2);
    count_with(8);
    ok(cudaFuncSetAttribute(count_in_cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    count_with(16);
}

static void sizes_of_clusters()
{
    needs_hopper();
    int most, active;
    launch how(64, 256, 64 * sizeof(int));
    ok(cudaOccupancyMaxPotentialClusterSize(&most, count_in_cluster, &how));
    how.with(cudaLaunchAttributeClusterDimension).clusterDim = { 4, 1, 1 };
    ok(cudaOccupancyMaxActiveClusters(&active, count_in_cluster, &how));
    printf("= clusters: %d of at most %d blocks\n", active, most);
    check(most >= 8 && active > 0);
    for (dim3 grid : { dim3(4), dim3(8), dim3(4096), dim3(64, 3, 5) }) { /* it does not matter */
        int as_many = -1;
        launch other(grid, 256, 64 * sizeof(int));
        other.with(cudaLaunchAttributeClusterDimension).clusterDim = { 4, 1, 1 };
        ok(cudaOccupancyMaxActiveClusters(&as_many, count_in_cluster, &other));
        check(as_many == active);
    }
    how.attrs[0].val.clusterDim = { 16, 1, 1 }; /* not allowed until the function says so */
    printf("= refused: %s\n",
           cudaGetErrorName(cudaLaunchKernelEx(&how, count_in_cluster, (const int *)nullptr, 0,
                                               (int *)nullptr, 64)));
    how.attrs[0].val.clusterDim = { 3, 1, 1 }; /* 64 blocks are no multiple */
    printf("= refused: %s\n",
           cudaGetErrorName(cudaLaunchKernelEx(&how, count_in_cluster, (const int *)nullptr, 0,
                                               (int *)nullptr, 64)));
    cudaGetLastError();
    ok(cudaDeviceSynchronize());
}

/* cuBLAS asks about one length after another; those that are too large are refused. */
static void rows_of_clusters()
{
    needs_hopper();
    launch how(1, 128, 48 * 1024);
    cudaLaunchAttributeValue &size = how.with(cudaLaunchAttributeClusterDimension);
    for (int allowed : { 0, 1 }) {
        ok(cudaFuncSetAttribute(count_in_cluster, cudaFuncAttributeNonPortableClusterSizeAllowed,
                                allowed));
        printf("= clusters of 1 to 32 blocks, %sportable:", allowed ? "not " : "");
        for (unsigned int length = 1; length <= 32; length++) {
            int fit = -1;
            how.gridDim = { length, 1, 1 };
            size.clusterDim = { length, 1, 1 };
            cudaError_t status = cudaOccupancyMaxActiveClusters(&fit, count_in_cluster, &how);
            printf(" %s%d", status ? "error " : "", status ? (int)status : fit);
        }
        printf("\n");
    }
    cudaGetLastError();
}

static __global__ void idle()
{
}

/* Each setting leaves the other ones as they are, and is read back as it was set. */
static void settings_of_a_kernel()
{
    static const struct {
        CUfunction_attribute attribute;
        int value;
    } settings[] = {
        { CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1 },
        { CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2 },
        { CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0 },
        { CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100 },
        { CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 33 },
        { CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101 },
        { CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1 },
        { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024 },
        { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30 },
        { CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
          CU_CLUSTER_SCHEDULING_POLICY_SPREAD },
        { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2 },
    };
    needs_hopper();
    auto set = driver(cuKernelSetAttribute);
    auto get = driver(cuKernelGetAttribute);
    cudaKernel_t kernel;
    ok(cudaGetKernel(&kernel, (const void *)idle));
    for (const auto &setting : settings) {
        CUresult status = set(setting.attribute, setting.value, (CUkernel)kernel, 0);
        printf("= attribute %d to %d gives %d, attributes from %d on:", setting.attribute,
               setting.value, status, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
        for (int i = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
             i <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE; i++) {
            int value = -1;
            cu_ok(get(&value, (CUfunction_attribute)i, (CUkernel)kernel, 0));
            printf(" %d", value);
        }
        printf("\n");
    }
}

static __global__ void with_shared(int *out)
{
    __shared__ int cells[5000];
    cells[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    *out = cells[blockDim.x - 1 - threadIdx.x];
}

/* Before a setting a function has the limit of its kernel. */
static void limits_of_functions()
{
    const void *kernels[] = { (const void *)idle, (const void *)with_shared };
    ok(cudaFree(NULL)); /* a context */
    for (const void *code : kernels) {
        cudaKernel_t kernel;
        CUfunction function;
        int of_kernel = -1, of_function = -2;
        ok(cudaGetKernel(&kernel, code));
        cu_ok(driver(cuKernelGetFunction)(&function, (CUkernel)kernel));
        cu_ok(driver(cuFuncGetAttribute)(
            &of_function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
        cu_ok(driver(cuKernelGetAttribute)(
            &of_kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (CUkernel)kernel, 0));
        printf("= a function's limit is %d\n", of_function);
        check(of_function == of_kernel);
    }
}

/* ---- tensor maps ---- */

enum { WIDTH = 512, HEIGHT = 256, TILE_X = 64, TILE_Y = 32 };

#if __CUDA_ARCH__ >= 900
static __device__ unsigned at(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

static __device__ void expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

static __device__ void await(unsigned barrier)
{
    for (unsigned is_done = 0; !is_done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(is_done)
                     : "r"(barrier)
                     : "memory");
}
#endif

__device__ void double_tile(const CUtensorMap *from, const CUtensorMap *to)
{
#if __CUDA_ARCH__ >= 900
    __shared__ alignas(128) float tile[TILE_Y * TILE_X];
    __shared__ alignas(8) unsigned long long barrier;
    int x = blockIdx.x * TILE_X, y = blockIdx.y * TILE_Y;
    if (!threadIdx.x) {
        expect(at(&barrier), sizeof tile);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx"
                     "::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at(tile)),
                     "l"(from), "r"(x), "r"(y), "r"(at(&barrier))
                     : "memory");
    }
    __syncthreads();
    await(at(&barrier));
    for (int i = threadIdx.x; i < TILE_Y * TILE_X; i += blockDim.x)
        tile[i] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (!threadIdx.x)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                     " [%0, {%1, %2}], [%3];\n cp.async.bulk.commit_group;\n"
                     " cp.async.bulk.wait_group 0;" ::"l"(to),
                     "r"(x), "r"(y), "r"(at(tile))
                     : "memory");
#endif
}

__global__ void double_tiles(const __grid_constant__ CUtensorMap from,
                             const __grid_constant__ CUtensorMap to)
{
    double_tile(&from, &to);
}

__constant__ CUtensorMap kept_from, kept_to;

__global__ void double_tiles_of_constants()
{
    double_tile(&kept_from, &kept_to);
}

static CUtensorMap map_of(float *memory)
{
    CUtensorMap map;
    cuuint64_t sizes[] = { WIDTH, HEIGHT }, strides[] = { WIDTH * sizeof(float) };
    cuuint32_t box[] = { TILE_X, TILE_Y }, steps[] = { 1, 1 };
    cu_ok(driver(cuTensorMapEncodeTiled)(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, memory, sizes, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

static void tensor_maps()
{
    needs_hopper();
    const dim3 tiles(WIDTH / TILE_X, HEIGHT / TILE_Y);
    std::vector<float> values(WIDTH * HEIGHT);
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (float)i;
    float *from = on_device<float>(values.size()), *to = on_device<float>(values.size());
    ok(cudaMemcpy(from, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUtensorMap map_from = map_of(from), map_to = map_of(to);
    double_tiles<<<tiles, 128>>>(map_from, map_to);
    ok(cudaGetLastError());
    std::vector<float> got = read(to, values.size());
    for (size_t i = 0; i < values.size(); i++)
        check(got[i] == 2 * values[i]);
    ok(cudaMemcpyToSymbol(kept_from, &map_to, sizeof map_to));
    ok(cudaMemcpyToSymbol(kept_to, &map_from, sizeof map_from));
    double_tiles_of_constants<<<tiles, 128>>>();
    ok(cudaGetLastError());
    got = read(from, values.size());
    for (size_t i = 0; i < values.size(); i++)
        check(got[i] == 4 * values[i]);
}

static void wrong_tensor_maps()
{
    needs_hopper();
    CUtensorMap map;
    float *memory = on_device<float>(4096);
    cuuint64_t sizes[] = { 64, 64 }, strides[] = { 256 };
    cuuint32_t box[] = { 512, 32 }, steps[] = { 1, 1 }; /* a box of more than 256 */
    auto *encode = driver(cuTensorMapEncodeTiled);
    CUresult got = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, memory, sizes, strides, box,
                          steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                          CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    check(got != CUDA_SUCCESS);
    printf("= a large box: %d\n", got);
    box[0] = 32;
    strides[0] = 100; /* no multiple of 16 */
    got = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, memory, sizes, strides, box, steps,
                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    check(got != CUDA_SUCCESS);
    printf("= an odd stride: %d\n", got);
}

/* ---- launches that overlap ---- */

enum { N = 1 << 16 };

__global__ void add_one(int *values)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize(); /* what the kernel before has written is seen from here on */
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    values[blockIdx.x * blockDim.x + threadIdx.x]++;
}

static void add_one_early(int *values, cudaStream_t stream)
{
    launch how(N / 256, 256, 0, stream);
    how.with(cudaLaunchAttributeProgrammaticStreamSerialization)
        .programmaticStreamSerializationAllowed = 1;
    ok(cudaLaunchKernelEx(&how, add_one, values));
}

static void dependent_launches()
{
    needs_hopper();
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    int *values = on_device<int>(N);
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++)
        add_one_early(values, stream);
    ok(cudaStreamSynchronize(stream));
    check(all_are(read(values, N).data(), N, 100));

    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 20; i++)
        add_one_early(values, stream);
    ok(cudaStreamEndCapture(stream, &graph));
    size_t count;
    ok(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
    check(count == 19);
    std::vector<cudaGraphNode_t> from(count), to(count);
    std::vector<cudaGraphEdgeData> edges(count);
    ok(cudaGraphGetEdges(graph, from.data(), to.data(), edges.data(), &count));
    printf("= edges: %d %d\n", edges[0].type, edges[0].from_port);
    check(edges[18].type == cudaGraphDependencyTypeProgrammatic);
    ok(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 5; i++)
        ok(cudaGraphLaunch(ready, stream));
    ok(cudaStreamSynchronize(stream));
    check(all_are(read(values, N).data(), N, 200));
}

__global__ void wait_and_set(int *value, long long ticks)
{
    long long begin = clock64();
    while (clock64() - begin < ticks)
        ;
    *value = 1;
}

__global__ void copy_value(const int *from, int *to)
{
    *to = *from;
}

static void events_of_launches()
{
    needs_hopper();
    cudaStream_t a, b;
    cudaEvent_t begun, done;
    int *value = on_device<int>(2);
    ok(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    ok(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    ok(cudaDeviceSynchronize());
    launch how(1, 1, 0, a);
    how.with(cudaLaunchAttributeLaunchCompletionEvent).launchCompletionEvent = { begun, 0 };
    ok(cudaLaunchKernelEx(&how, wait_and_set, value, 20000000LL));
    ok(cudaEventRecord(done, a));
    ok(cudaStreamWaitEvent(b, done, 0));
    copy_value<<<1, 1, 0, b>>>(value, value + 1);
    ok(cudaEventSynchronize(begun));
    ok(cudaStreamSynchronize(b));
    check(read(value, 2)[1] == 1);
}

/* ---- other attributes ---- */

__global__ void sum_over_grid(int *values, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    for (int i = 0; i < rounds; i++) {
        if (!threadIdx.x)
            atomicAdd(&values[i], 1);
        grid.sync();
        if (!grid.thread_rank() && values[i] != (int)gridDim.x)
            values[i] = -1;
    }
}

static void as_many_blocks_as_fit_together()
{
    needs_hopper();
    int blocks, processors, *values = on_device<int>(10);
    ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum_over_grid, 256, 0));
    ok(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    launch how(blocks * processors, 256);
    how.with(cudaLaunchAttributeCooperative).cooperative = 1;
    ok(cudaLaunchKernelEx(&how, sum_over_grid, values, 10));
    ok(cudaDeviceSynchronize());
    check(all_are(read(values, 10).data(), 10, blocks * processors));
    how.gridDim.x++;
    cudaError_t got = cudaLaunchKernelEx(&how, sum_over_grid, values, 10);
    printf("= one block more: %s\n", cudaGetErrorName(got));
    check(got == cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();
    ok(cudaDeviceSynchronize());
}

static void domains_and_priorities()
{
    needs_hopper();
    int domains, low, high, *values = on_device<int>(N);
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {}, got = {};
    ok(cudaDeviceGetAttribute(&domains, cudaDevAttrMemSyncDomainCount, 0));
    ok(cudaDeviceGetStreamPriorityRange(&low, &high));
    printf("= domains: %d\n", domains);
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    value.memSyncDomainMap = { 0, (unsigned char)(domains - 1) };
    ok(cudaStreamSetAttribute(stream, cudaLaunchAttributeMemSyncDomainMap, &value));
    ok(cudaStreamGetAttribute(stream, cudaLaunchAttributeMemSyncDomainMap, &got));
    check(got.memSyncDomainMap.remote == domains - 1);
    ok(cudaDeviceSynchronize());
    launch how(N / 256, 256, 0, stream);
    how.with(cudaLaunchAttributeMemSyncDomain).memSyncDomain = cudaLaunchMemSyncDomainRemote;
    how.with(cudaLaunchAttributePriority).priority = high;
    ok(cudaLaunchKernelEx(&how, add_one, values));
    ok(cudaStreamSynchronize(stream));
    check(all_are(read(values, N).data(), N, 1));
}

static void windows_of_the_l2_cache()
{
    needs_hopper();
    size_t size;
    int most, *values = on_device<int>(N);
    cudaStream_t stream;
    cudaLaunchAttributeValue value = {}, got = {};
    ok(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0));
    ok(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)most / 2));
    ok(cudaDeviceGetLimit(&size, cudaLimitPersistingL2CacheSize));
    printf("= set aside: %zu of %d\n", size, most);
    ok(cudaStreamCreate(&stream));
    value.accessPolicyWindow = { values, N * sizeof(int), 0.5f, cudaAccessPropertyPersisting,
                                 cudaAccessPropertyStreaming };
    ok(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    ok(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &got));
    check(got.accessPolicyWindow.base_ptr == values && got.accessPolicyWindow.hitRatio == 0.5f);
    add_one<<<N / 256, 256, 0, stream>>>(values);
    launch how(N / 256, 256, 0, stream);
    how.with(cudaLaunchAttributeAccessPolicyWindow).accessPolicyWindow = value.accessPolicyWindow;
    ok(cudaLaunchKernelEx(&how, add_one, values));
    ok(cudaStreamSynchronize(stream));
    check(all_are(read(values, N).data(), N, 2));
    ok(cudaCtxResetPersistingL2Cache());
}

static const test tests[] = {
    { "blocks reach each other's shared memory", distributed_shared_memory },
    { "sizes of clusters", sizes_of_clusters },
    { "rows of clusters", rows_of_clusters },
    { "settings of a kernel", settings_of_a_kernel },
    { "limits of functions", limits_of_functions },
    { "tiles come and go by tensor maps", tensor_maps },
    { "wrong tensor maps are refused", wrong_tensor_maps },
    { "dependent launches overlap, also in graphs", dependent_launches },
    { "a launch that records an event", events_of_launches },
    { "as many blocks as fit together", as_many_blocks_as_fit_together },
    { "domains and priorities of launches", domains_and_priorities },
    { "windows of the L2 cache", windows_of_the_l2_cache },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
