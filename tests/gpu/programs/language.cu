/* The language of kernels: arguments, classes, asserts, memory of their own, large grids; and
 * the state after a fault. */
#include <cassert>

#include <cuda_fp16.h>

#include "driver.cuh"

/* ---- arguments ---- */

struct mixed {
    char letter;
    double number;
    short pair[3];
    int *out;
};

struct __align__(16) quad
{
    float x, y, z, w;
};

__global__ void take_many(char a, mixed b, short c, quad d, bool e, __half f, mixed g, char last)
{
    b.out[0] = a + b.letter + (int)b.number + b.pair[2] + c + (int)d.w + e + (int)__half2float(f);
    g.out[1] = g.letter + (int)g.number + g.pair[0] + last;
}

static void arguments_of_all_kinds()
{
    needs_a_gpu();
    int *out = on_device<int>(2);
    mixed one = { 1, 20, { 0, 0, 300 }, out }, other = { 4, 50, { 600, 0, 0 }, out };
    take_many<<<1, 1>>>(1, one, 2, { 0, 0, 0, 4000 }, true, __float2half(5), other, 7);
    ok(cudaGetLastError());
    std::vector<int> got = read(out, 2);
    check(got[0] == 1 + 1 + 20 + 300 + 2 + 4000 + 1 + 5 && got[1] == 4 + 50 + 600 + 7);
}

struct most_there_is {
    int *out;
    int values[(32760 - sizeof(int *)) / sizeof(int)];
};

__global__ void take_most(const __grid_constant__ most_there_is argument)
{
    int sum = 0;
    for (int value : argument.values)
        sum += value;
    *argument.out = sum;
}

static void arguments_of_32_kib()
{
    needs_a_gpu();
    static most_there_is argument;
    int sum = 0;
    argument.out = on_device<int>(1);
    for (size_t i = 0; i < sizeof argument.values / sizeof(int); i++)
        sum += argument.values[i] = (int)i;
    take_most<<<1, 1>>>(argument);
    ok(cudaGetLastError());
    check(read(argument.out, 1)[0] == sum);
}

/* ---- classes, lambdas ---- */

struct shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~shape()
    {
    }
};

struct square : shape {
    float side;
    __device__ explicit square(float of) : side(of)
    {
    }
    __device__ float area() const override
    {
        return side * side;
    }
};

struct rectangle : square {
    float other;
    __device__ rectangle(float a, float b) : square(a), other(b)
    {
    }
    __device__ float area() const override
    {
        return side * other;
    }
};

__global__ void make_shapes(shape **shapes)
{
    shapes[0] = new square(3);
    shapes[1] = new rectangle(4, 5);
}

__global__ void sum_areas(shape **shapes, float *out)
{
    *out = 0;
    for (int i = 0; i < 2; i++) {
        *out += shapes[i]->area();
        delete shapes[i];
    }
}

static void virtual_functions()
{
    needs_a_gpu();
    shape **shapes = on_device<shape *>(2);
    float *out = on_device<float>(1);
    make_shapes<<<1, 1>>>(shapes);
    sum_areas<<<1, 1>>>(shapes, out);
    check(read(out, 1)[0] == 29);
}

template <typename F> __global__ void for_each(int *values, int count, F function)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] = function(i);
}

static void lambdas()
{
    needs_a_gpu();
    int *values = on_device<int>(1000), factor = 7;
    for_each<<<4, 256>>>(values, 1000, [=] __device__(int i) { return i * factor; });
    ok(cudaGetLastError());
    std::vector<int> got = read(values, 1000);
    for (int i = 0; i < 1000; i++)
        check(got[(size_t)i] == 7 * i);
}

/* ---- variables ---- */

__constant__ int table[16384]; /* all 64 KiB */
__device__ int counters[1000];
__managed__ int shared_with_host = 5;

__global__ void read_table(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[i] + counters[i % 1000] + shared_with_host;
}

static void variables()
{
    needs_a_gpu();
    cudaStream_t stream;
    std::vector<int> values(16384);
    int *out = on_device<int>(values.size());
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (int)i * 3;
    ok(cudaStreamCreate(&stream));
    ok(cudaMemcpyToSymbolAsync(table, values.data(), sizeof table, 0, cudaMemcpyHostToDevice,
                               stream));
    void *address;
    size_t bytes;
    ok(cudaGetSymbolAddress(&address, counters));
    ok(cudaGetSymbolSize(&bytes, counters));
    check(bytes == sizeof counters);
    ok(cudaMemsetAsync(address, 0, bytes, stream));
    int ten = 10;
    ok(cudaMemcpyToSymbolAsync(counters, &ten, sizeof ten, 999 * sizeof ten, cudaMemcpyHostToDevice,
                               stream));
    shared_with_host++;
    read_table<<<64, 256, 0, stream>>>(out);
    ok(cudaStreamSynchronize(stream));
    std::vector<int> got = read(out, values.size());
    printf("%d %d %d %d at %p %p\n", got[0], got[1], got[999], got[16383], address,
           (void *)&shared_with_host);
    check(got[0] == 6 && got[999] == 2997 + 16 && got[16383] == 16383 * 3 + 6);
    ok(cudaMemcpyFromSymbol(&ten, table, sizeof ten, 77 * sizeof ten));
    check(ten == 231);
}

/* ---- grids ---- */

__global__ void count_blocks(unsigned long long *count)
{
    if (!threadIdx.x && !threadIdx.y && !threadIdx.z)
        atomicAdd(count, 1ULL);
}

static void large_grids()
{
    needs_a_gpu();
    unsigned long long *count = on_device<unsigned long long>(1), wanted = 0;
    for (dim3 grid : { dim3(20000000), dim3(3, 65535), dim3(2, 3, 65535), dim3(1000, 1000, 4) }) {
        count_blocks<<<grid, dim3(2, 2, 2)>>>(count);
        ok(cudaGetLastError());
        wanted += (unsigned long long)grid.x * grid.y * grid.z;
    }
    count_blocks<<<1, dim3(8, 8, 16)>>>(count);
    check(read(count, 1)[0] == wanted + 1);
}

__global__ void tell(unsigned long long *out)
{
    unsigned processor;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out[0]));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));
    out[1] = processor;
    out[2] = (unsigned long long)clock64();
    __nanosleep(1000);
    out[3] = (unsigned long long)clock64();
}

static void clocks()
{
    needs_a_gpu();
    unsigned long long *out = on_device<unsigned long long>(4);
    int processors;
    tell<<<1, 1>>>(out);
    std::vector<unsigned long long> first = read(out, 4);
    tell<<<1, 1>>>(out);
    std::vector<unsigned long long> next = read(out, 4);
    ok(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    check(next[0] > first[0] && next[1] < (unsigned)processors && next[3] > next[2]);
}

__global__ void carve(int *out)
{
    extern __shared__ int memory[];
    memory[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (!threadIdx.x)
        *out = memory[blockDim.x - 1];
}

static void settings_of_functions()
{
    needs_a_gpu();
    int *out = on_device<int>(1), blocks, least, best;
    size_t bytes;
    cudaFuncAttributes facts;
    ok(cudaFuncSetCacheConfig(carve, cudaFuncCachePreferShared));
    ok(cudaFuncSetAttribute(carve, cudaFuncAttributePreferredSharedMemoryCarveout,
                            cudaSharedmemCarveoutMaxShared));
    ok(cudaFuncSetAttribute(carve, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    ok(cudaFuncGetAttributes(&facts, carve));
    check(facts.maxDynamicSharedSizeBytes == 100 << 10);
    carve<<<1, 256, 100 << 10>>>(out);
    ok(cudaGetLastError());
    check(read(out, 1)[0] == 255);
    ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, carve, 256, 100 << 10));
    ok(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, carve, 2, 256));
    ok(cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        &least, &best, carve, [] __host__ __device__(int threads) { return (size_t)threads * 4; }));
    printf("= blocks %d, bytes %zu, least %d, best %d\n", blocks, bytes, least, best);
    const char *name;
    ok(cudaFuncGetName(&name, (const void *)carve));
    printf("= name: %s\n", name);
}

/* ---- faults ---- */

__global__ void demand(int limit)
{
    int i = threadIdx.x;
    assert(i < limit);
}

static void asserts()
{
    needs_a_gpu();
    int *out = on_device<int>(1);
    demand<<<1, 32>>>(32);
    ok(cudaDeviceSynchronize());
    demand<<<1, 32>>>(31);
    gives(cudaErrorAssert, cudaDeviceSynchronize());
    gives(cudaErrorAssert, cudaMemset(out, 0, 4));
    gives(cudaErrorAssert, cudaGetLastError());
    gives(cudaErrorAssert, cudaMalloc(&out, 4)); /* it stays */
}

__global__ void store(int *place)
{
    *place = 1;
}

static void a_reset_after_a_fault()
{
    needs_a_gpu();
    cudaStream_t stream;
    ok(cudaStreamCreate(&stream));
    store<<<1, 1, 0, stream>>>((int *)0x10);
    cudaError_t got = cudaStreamSynchronize(stream);
    printf("= the fault: %s\n", cudaGetErrorName(got));
    check(got == cudaErrorIllegalAddress);
    printf("= another call: %s\n", cudaGetErrorName(cudaFree(nullptr)));
    cudaEvent_t event;
    printf("= a new event: %s\n", cudaGetErrorName(cudaEventCreate(&event)));
    printf("= a stream's end: %s\n", cudaGetErrorName(cudaStreamDestroy(stream)));
    printf("= a reset: %s\n", cudaGetErrorName(cudaDeviceReset()));
    int *place = nullptr;
    got = cudaMalloc(&place, 4);
    printf("= after it: %s\n", cudaGetErrorName(got));
    if (got)
        return;
    store<<<1, 1>>>(place);
    ok(cudaDeviceSynchronize());
    check(read(place, 1)[0] == 1);
}

/* The answers that the runtime gets after a fault while it looks for a device that still works,
 * also through the tables that only the runtime asks for. */
static void answers_after_a_fault()
{
    needs_a_gpu();
    static const unsigned char primary_table[] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
    static const unsigned char check_table[] = { 0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43,
                                                 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e };
    int count, active;
    unsigned flags, version;
    void *const *primaries, *const *checks;
    CUcontext first, current, again, other = nullptr;
    CUdeviceptr memory;
    ok(cudaGetDeviceCount(&count));
    ok(cudaFree(nullptr));
    auto get_current = driver(cuCtxGetCurrent);
    auto set_current = driver(cuCtxSetCurrent);
    auto api_version = driver(cuCtxGetApiVersion);
    auto state = driver(cuDevicePrimaryCtxGetState);
    auto retain = driver(cuDevicePrimaryCtxRetain);
    auto allocate = driver(cuMemAlloc);
    auto reset = driver(cuDevicePrimaryCtxReset);
    auto table = driver(cuGetExportTable);
    cu_ok(table((const void **)&primaries, (const CUuuid *)primary_table));
    cu_ok(table((const void **)&checks, (const CUuuid *)check_table));
    auto primary = (CUresult(*)(CUcontext *, CUdevice))primaries[2];
    auto check_context = (CUresult(*)(CUcontext, unsigned *, const void **))checks[2];
    auto say_check = [&](CUcontext context) {
        unsigned flag = 0;
        const void *more = nullptr;
        printf("check %d, ", check_context(context, &flag, &more));
        printf("flag %u\n", flag);
    };
    cu_ok(get_current(&first));
    store<<<1, 1>>>((int *)0x10);
    check(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    for (int round = 0; round < 2; round++) {
        printf("= version %d\n", api_version(first, &version));
        printf("= current %d, ", get_current(&current));
        printf("the first %d, ", current == first);
        say_check(first);
        printf("= memory %d\n", allocate(&memory, 4));
        printf("= set none %d\n", set_current(nullptr));
        printf("= set the first %d\n", set_current(first));
        for (int i = 0; i < count; i++) {
            printf("= device %d: state %d, ", i, state(i, &flags, &active));
            printf("retain %d, ", retain(&again, i));
            printf("primary %d, ", primary(&other, i));
            if (!other)
                continue;
            printf("set %d, ", set_current(other));
            printf("memory %d, ", allocate(&memory, 4));
            say_check(other);
            other = nullptr;
        }
        printf("\n= reset %d\n", reset(0));
    }
}

static void a_reset_in_the_middle()
{
    needs_a_gpu();
    for (int round = 0; round < 3; round++) {
        cudaStream_t stream;
        cudaEvent_t event;
        int *place = on_device<int>(1), value = 40, *pinned;
        ok(cudaStreamCreate(&stream));
        ok(cudaEventCreate(&event));
        ok(cudaMallocHost(&pinned, 1 << 20));
        check(shared_with_host >= 5);
        ok(cudaMemcpyToSymbol(counters, &value, sizeof value));
        store<<<1, 1, 0, stream>>>(place);
        ok(cudaEventRecord(event, stream)); /* no call waits for this event */
        ok(cudaDeviceReset());
        check(cudaEventQuery(event) != cudaSuccess);
        cudaGetLastError();
        value = 1;
        ok(cudaMemcpyFromSymbol(&value, counters, sizeof value)); /* loaded again */
        check(!value);
    }
}

static void misaligned()
{
    needs_a_gpu();
    int *memory = on_device<int>(2);
    store<<<1, 1>>>((int *)((char *)memory + 1));
    gives(cudaErrorMisalignedAddress, cudaDeviceSynchronize());
    gives(cudaErrorMisalignedAddress, cudaGetLastError());
}

static const test tests[] = {
    { "arguments of all kinds", arguments_of_all_kinds },
    { "arguments of 32 KiB", arguments_of_32_kib },
    { "virtual functions", virtual_functions },
    { "lambdas", lambdas },
    { "variables", variables },
    { "large grids", large_grids },
    { "clocks", clocks },
    { "settings of functions", settings_of_functions },
    { "asserts of kernels", asserts },
    { "a reset after a fault", a_reset_after_a_fault },
    { "answers after a fault", answers_after_a_fault },
    { "a reset in the middle", a_reset_in_the_middle },
    { "a misaligned access", misaligned },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
