/*
 * Adds two vectors on a GPU, with CUDA's driver API only: a first program for `aitherion run`.
 *
 *     cc vector_add.c -o vector_add -lcuda            with NVIDIA's driver or toolkit installed; or
 *     cc vector_add.c -o vector_add .../lib/aitherion/libcuda.so.1
 *     (in the Debian package: /usr/lib/x86_64-linux-gnu/aitherion/libcuda.so.1)
 *
 *     aitherion run --server HOST:PORT -- ./vector_add
 *
 * It is an ordinary CUDA program and knows nothing about aitherion: without `aitherion run` it uses
 * the GPU of the machine that it runs on. The parts of <cuda.h> that it needs are declared here,
 * because that header comes with the CUDA toolkit only (names and numbers are those of the CUDA
 * Driver API manual, docs.nvidia.com/cuda/cuda-driver-api). The exit code is 0 if the sums are
 * right.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef int CUresult; /* 0: CUDA_SUCCESS */
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

CUresult cuInit(unsigned int flags);
CUresult cuGetErrorName(CUresult error, const char **out_name);
CUresult cuDeviceGet(CUdevice *out, int number);
CUresult cuDeviceGetName(char *out, int bytes, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *out_bytes, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuModuleLoadData(CUmodule *out, const void *image);
CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name);
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr memory);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void **arguments, void **more);

/*
 * The output of `nvcc -ptx` for
 *
 *     extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
 *     {
 *         int i = blockIdx.x * blockDim.x + threadIdx.x;
 *         if (i < n)
 *             c[i] = a[i] + b[i];
 *     }
 *
 * The driver next to the GPU compiles it for that GPU.
 */
static const char kernel[] = ".version 6.0\n"
                             ".target sm_50\n"
                             ".address_size 64\n"
                             ".visible .entry vector_add(.param .u64 a, .param .u64 b,\n"
                             "                           .param .u64 c, .param .u32 n)\n"
                             "{\n"
                             "    .reg .pred %outside;\n"
                             "    .reg .f32 %x, %y;\n"
                             "    .reg .b32 %i, %n, %block, %threads, %thread;\n"
                             "    .reg .b64 %from, %to, %offset;\n"
                             "    ld.param.u32 %n, [n];\n"
                             "    mov.u32 %block, %ctaid.x;\n"
                             "    mov.u32 %threads, %ntid.x;\n"
                             "    mov.u32 %thread, %tid.x;\n"
                             "    mad.lo.s32 %i, %block, %threads, %thread;\n"
                             "    setp.ge.s32 %outside, %i, %n;\n"
                             "    @%outside bra DONE;\n"
                             "    mul.wide.s32 %offset, %i, 4;\n"
                             "    ld.param.u64 %from, [a];\n"
                             "    cvta.to.global.u64 %from, %from;\n"
                             "    add.s64 %from, %from, %offset;\n"
                             "    ld.global.f32 %x, [%from];\n"
                             "    ld.param.u64 %from, [b];\n"
                             "    cvta.to.global.u64 %from, %from;\n"
                             "    add.s64 %from, %from, %offset;\n"
                             "    ld.global.f32 %y, [%from];\n"
                             "    add.f32 %x, %x, %y;\n"
                             "    ld.param.u64 %to, [c];\n"
                             "    cvta.to.global.u64 %to, %to;\n"
                             "    add.s64 %to, %to, %offset;\n"
                             "    st.global.f32 [%to], %x;\n"
                             "DONE:\n"
                             "    ret;\n"
                             "}\n";

enum { COUNT = 1 << 20, BYTES = COUNT * sizeof(float), THREADS = 256 };

static float a[COUNT], b[COUNT], sum[COUNT];

/* Prints the driver's name of the error and ends the program. */
static void check(CUresult result, const char *call)
{
    const char *word = NULL;
    if (!result)
        return;
    if (cuGetErrorName(result, &word) || !word)
        word = "unknown error";
    fprintf(stderr, "vector_add: %s: %s\n", call, word);
    exit(1);
}

#define CHECK(call) check(call, #call)

static CUdevice choose_device(void)
{
    CUdevice device;
    size_t bytes;
    char name[128];

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDeviceTotalMem_v2(&bytes, device));
    printf("GPU 0: %s, %.1f GiB\n", name, (double)bytes / (1 << 30));
    return device;
}

static CUdeviceptr copy_there(const float *vector)
{
    CUdeviceptr memory;
    CHECK(cuMemAlloc_v2(&memory, BYTES));
    CHECK(cuMemcpyHtoD_v2(memory, vector, BYTES));
    return memory;
}

static void add_on_gpu(void)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr on_gpu[] = { copy_there(a), copy_there(b), copy_there(sum) };
    int count = COUNT;
    void *arguments[] = { &on_gpu[0], &on_gpu[1], &on_gpu[2], &count };

    CHECK(cuModuleLoadData(&module, kernel));
    CHECK(cuModuleGetFunction(&function, module, "vector_add"));
    CHECK(cuLaunchKernel(function, COUNT / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoH_v2(sum, on_gpu[2], BYTES));
    for (int i = 0; i < 3; i++)
        CHECK(cuMemFree_v2(on_gpu[i]));
}

/* All of these numbers are integers that a float holds exactly. */
static int count_wrong(void)
{
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += sum[i] != 3.0F * (float)i;
    return wrong;
}

int main(void)
{
    CUcontext context;

    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = 2.0F * (float)i;
    }
    CUdevice device = choose_device();
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    add_on_gpu();
    CHECK(cuDevicePrimaryCtxRelease_v2(device));
    int wrong = count_wrong();
    printf("%d + %d = %.0f, and %d sums like it: %s\n", COUNT - 1, 2 * (COUNT - 1),
           (double)sum[COUNT - 1], COUNT - 1, wrong ? "WRONG" : "right");
    return wrong ? 1 : 0;
}
