/* Features that kernels use: printf, assert, shared memory, groups, textures, surfaces, atomics,
 * streams of their own. */
#include <cooperative_groups.h>

#include "driver.cuh"

namespace cg = cooperative_groups;

/* ---- output ---- */

__global__ void say(int n)
{
    printf("thread %d of %s says %.3f\n", threadIdx.x, "block", 0.5 * n);
}

/* Returns the bytes that `run` writes to standard output. */
static std::vector<char> caught(void (*run)())
{
    int ends[2], before = dup(1);
    check(!pipe(ends));
    fflush(stdout);
    dup2(ends[1], 1);
    run();
    fflush(stdout);
    dup2(before, 1);
    close(ends[1]);
    std::vector<char> text(65536);
    ssize_t size = ::read(ends[0], text.data(), text.size() - 1);
    check(size >= 0);
    text[(size_t)size] = 0;
    return text;
}

static void device_printf()
{
    needs_a_gpu();
    std::vector<char> text = caught([] {
        say<<<1, 4>>>(3);
        ok(cudaDeviceSynchronize());
    });
    printf("%s", text.data());
    check(strstr(text.data(), "thread 0 of block says 1.500"));
    check(strstr(text.data(), "thread 3 of block says 1.500"));
}

__global__ void assert_below(int limit)
{
    if ((int)threadIdx.x >= limit)
        __trap();
}

static void traps()
{
    needs_a_gpu();
    assert_below<<<1, 32>>>(16);
    check(cudaDeviceSynchronize() != cudaSuccess);
    check(cudaGetLastError() != cudaSuccess);
    check(cudaDeviceSynchronize() != cudaSuccess);
}

/* ---- shared memory ---- */

__global__ void reverse(int *values, int n)
{
    extern __shared__ int shared[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        shared[i] = values[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        values[i] = shared[n - 1 - i];
}

static void dynamic_shared_memory()
{
    needs_a_gpu();
    int most;
    ok(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    int n = most / 4;
    std::vector<int> values((size_t)n);
    for (int i = 0; i < n; i++)
        values[(size_t)i] = i;
    int *device = on_device<int>((size_t)n);
    ok(cudaMemcpy(device, values.data(), (size_t)n * 4, cudaMemcpyHostToDevice));
    ok(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, n * 4));
    reverse<<<1, 256, (size_t)n * 4>>>(device, n);
    ok(cudaGetLastError());
    std::vector<int> got = read(device, (size_t)n);
    for (int i = 0; i < n; i++)
        check(got[(size_t)i] == n - 1 - i);
    reverse<<<1, 256, (size_t)most + 4>>>(device, n);
    check(cudaGetLastError() == cudaErrorInvalidValue);
    ok(cudaDeviceSynchronize());
}

/* ---- groups ---- */

__global__ void sum_in_steps(int *values, int n)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int step = 1; step < n; step *= 2) {
        if (i + step < n && i % (2 * step) == 0)
            values[i] += values[i + step];
        grid.sync();
    }
}

static void cooperative_launch()
{
    needs_a_gpu();
    int can, n = 4096;
    ok(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    if (!can)
        skip("the GPU has no cooperative launch");
    std::vector<int> values((size_t)n, 1);
    int *device = on_device<int>((size_t)n);
    ok(cudaMemcpy(device, values.data(), (size_t)n * 4, cudaMemcpyHostToDevice));
    void *args[] = { &device, &n };
    ok(cudaLaunchCooperativeKernel((void *)sum_in_steps, dim3(16), dim3(256), args, 0, 0));
    check(read(device, 1)[0] == n);
}

__global__ void __cluster_dims__(2, 1, 1) number_clusters(int *out)
{
#if __CUDA_ARCH__ >= 900
    cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    out[blockIdx.x] = (int)cluster.block_rank() + 10 * (int)cluster.num_blocks();
#endif
}

static void clusters()
{
    needs_a_gpu();
    int major;
    ok(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9)
        skip("the GPU has no clusters");
    int *out = on_device<int>(4);
    number_clusters<<<4, 32>>>(out);
    ok(cudaGetLastError());
    std::vector<int> got = read(out, 4);
    check(got[0] == 20 && got[1] == 21 && got[2] == 20 && got[3] == 21);
}

/* ---- textures and surfaces ---- */

__global__ void look_up(cudaTextureObject_t texture, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width)
        out[y * width + x] = tex2D<float>(texture, x + 1.0f, y + 0.5f);
}

static void textures()
{
    needs_a_gpu();
    enum { WIDTH = 64, HEIGHT = 16 };
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::vector<float> values(WIDTH * HEIGHT);
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (float)(2 * i);
    ok(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    ok(cudaMemcpy2DToArray(array, 0, 0, values.data(), WIDTH * 4, WIDTH * 4, HEIGHT,
                           cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    ok(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    float *out = on_device<float>(values.size());
    look_up<<<dim3(1, HEIGHT), WIDTH>>>(texture, out, WIDTH, HEIGHT);
    std::vector<float> got = read(out, values.size());
    check(got[5] == 11 && got[WIDTH + 5] == 2 * WIDTH + 11); /* between 5 and 6 */
    cudaResourceDesc back;
    ok(cudaGetTextureObjectResourceDesc(&back, texture));
    check(back.resType == cudaResourceTypeArray && back.res.array.array == array);
    ok(cudaDestroyTextureObject(texture));
}

__global__ void draw(cudaSurfaceObject_t surface, int width)
{
    int x = threadIdx.x;
    if (x < width)
        surf2Dwrite<float>((float)(x * 3), surface, x * 4, blockIdx.x);
}

static void surfaces()
{
    needs_a_gpu();
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    ok(cudaMallocArray(&array, &format, 32, 8, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    ok(cudaCreateSurfaceObject(&surface, &resource));
    draw<<<8, 32>>>(surface, 32);
    std::vector<float> got(32 * 8);
    ok(cudaMemcpy2DFromArray(got.data(), 128, array, 0, 0, 128, 8, cudaMemcpyDeviceToHost));
    check(got[31] == 93 && got[32 * 7 + 10] == 30);
}

/* ---- symbols, atomics, function pointers, heap ---- */

__constant__ float factors[8];
__device__ unsigned long long total;
__device__ float (*chosen)(float);
__device__ float twice(float x)
{
    return 2 * x;
}
__device__ float (*const twice_there)(float) = twice;

__global__ void scale(float *values)
{
    values[threadIdx.x] *= factors[threadIdx.x % 8];
    atomicAdd(&total, (unsigned long long)threadIdx.x);
}

static void constants_and_atomics()
{
    needs_a_gpu();
    float host[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    std::vector<float> ones(1024, 1);
    unsigned long long sum = 0;
    float *device = on_device<float>(1024);
    ok(cudaMemcpyToSymbol(factors, host, sizeof host));
    ok(cudaMemcpyToSymbol(total, &sum, sizeof sum));
    ok(cudaMemcpy(device, ones.data(), 4096, cudaMemcpyHostToDevice));
    scale<<<1, 1024>>>(device);
    ok(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    check(sum == 1023 * 512);
    check(read(device, 1024)[1023] == 8);
}

__global__ void through_pointer(float (*function)(float), float *out)
{
    *out = function(21);
}

static void function_pointers()
{
    needs_a_gpu();
    float (*function)(float);
    float *out = on_device<float>(1);
    ok(cudaMemcpyFromSymbol(&function, twice_there, sizeof function));
    through_pointer<<<1, 1>>>(function, out);
    check(read(out, 1)[0] == 42);
}

__global__ void on_the_heap(int **keep, int *out)
{
    if (!*keep) {
        *keep = (int *)malloc(100 * sizeof(int));
        for (int i = 0; i < 100; i++)
            (*keep)[i] = i;
        return;
    }
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += (*keep)[i];
    free(*keep);
    *out = sum;
}

static void heap_of_the_device()
{
    needs_a_gpu();
    ok(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    int **keep = on_device<int *>(1), *out = on_device<int>(1);
    on_the_heap<<<1, 1>>>(keep, out);
    on_the_heap<<<1, 1>>>(keep, out);
    check(read(out, 1)[0] == 4950);
}

__global__ void leaf(int *out)
{
    atomicAdd(out, 1);
}

__global__ void branch(int *out)
{
    leaf<<<4, 32>>>(out);
}

static void kernels_launch_kernels()
{
    needs_a_gpu();
    int *out = on_device<int>(1);
    branch<<<1, 2>>>(out);
    ok(cudaDeviceSynchronize());
    check(read(out, 1)[0] == 256);
}

struct large {
    double values[400];
};

__global__ void take_large(large argument, double *out)
{
    double sum = 0;
    for (double value : argument.values)
        sum += value;
    *out = sum;
}

static void large_arguments()
{
    needs_a_gpu();
    large argument;
    double *out = on_device<double>(1);
    for (int i = 0; i < 400; i++)
        argument.values[i] = i;
    take_large<<<1, 1>>>(argument, out);
    check(read(out, 1)[0] == 79800);
}

static void occupancy()
{
    needs_a_gpu();
    int blocks, grid, block;
    cudaFuncAttributes attributes;
    ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 1024));
    ok(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
    ok(cudaFuncGetAttributes(&attributes, take_large));
    printf("= occupancy: %d %d %d\n= registers: %d %d\n", blocks, grid, block, attributes.numRegs,
           attributes.maxThreadsPerBlock);
    check(blocks > 0 && block > 0 && attributes.numRegs > 0);
}

__global__ void tell_time(long long *out)
{
    *out = clock64();
}

static void launches_out_of_bounds()
{
    needs_a_gpu();
    long long *out = on_device<long long>(1);
    for (dim3 grid :
         { dim3(1), dim3(0), dim3(1, 65536) }) { /* which error it is, the runtime decides */
        tell_time<<<grid, grid.x ? 2048 : 1>>>(out);
        cudaError_t got = cudaGetLastError();
        check(got != cudaSuccess);
        printf("= refused: %s\n", cudaGetErrorName(got));
    }
    tell_time<<<1, 1>>>(out);
    ok(cudaGetLastError());
    check(read(out, 1)[0] != 0);
}

/* ---- PTX that the driver links ---- */

static const char twice_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .func (.param .b32 r) linked_twice(.param .b32 x) {\n"
    "  .reg .b32 %a; ld.param.b32 %a, [x]; add.s32 %a, %a, %a; st.param.b32 [r], %a; ret;\n}\n";
static const char caller_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 r) linked_twice(.param .b32 x);\n"
    ".visible .entry go(.param .u64 out) {\n"
    "  .reg .b32 %a; .reg .u64 %p; ld.param.u64 %p, [out]; cvta.to.global.u64 %p, %p; mov.b32 %a, "
    "21;\n"
    "  { .param .b32 x0; .param .b32 r0; st.param.b32 [x0], %a; call (r0), linked_twice, (x0);\n"
    "    ld.param.b32 %a, [r0]; }\n"
    "  st.global.u32 [%p], %a; ret;\n}\n";

static void linked_by_the_driver()
{
    needs_a_gpu();
    int *out = on_device<int>(1);
    void *image, *args[] = { &out };
    size_t bytes;
    CUlinkState state;
    CUmodule module;
    CUfunction function;
    cu_ok(driver(cuLinkCreate)(0, nullptr, nullptr, &state));
    cu_ok(driver(cuLinkAddData)(state, CU_JIT_INPUT_PTX, (void *)twice_ptx, sizeof twice_ptx,
                                "twice", 0, nullptr, nullptr));
    cu_ok(driver(cuLinkAddData)(state, CU_JIT_INPUT_PTX, (void *)caller_ptx, sizeof caller_ptx,
                                "caller", 0, nullptr, nullptr));
    cu_ok(driver(cuLinkComplete)(state, &image, &bytes));
    check(bytes > 100);
    cu_ok(driver(cuModuleLoadData)(&module, image));
    cu_ok(driver(cuLinkDestroy)(state));
    cu_ok(driver(cuModuleGetFunction)(&function, module, "go"));
    cu_ok(driver(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    check(read(out, 1)[0] == 42);
}

static const test tests[] = {
    { "printf of kernels", device_printf },
    { "a kernel that traps", traps },
    { "dynamic shared memory, all there is", dynamic_shared_memory },
    { "cooperative launch", cooperative_launch },
    { "clusters of blocks", clusters },
    { "texture objects", textures },
    { "surface objects", surfaces },
    { "constants and atomics", constants_and_atomics },
    { "function pointers", function_pointers },
    { "the device's heap", heap_of_the_device },
    { "kernels launch kernels", kernels_launch_kernels },
    { "arguments of 3200 bytes", large_arguments },
    { "occupancy and attributes", occupancy },
    { "launches out of bounds", launches_out_of_bounds },
    { "PTX that the driver links", linked_by_the_driver },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
