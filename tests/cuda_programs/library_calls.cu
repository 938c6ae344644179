/*
 * The calls by which cuBLAS prepares itself. On the simulated driver its kernels do
 * nothing (AITHERION_SIM_UNKNOWN=ignore): the statuses count, not the numbers.
 */
#include <cstdio>

#include <cublas_v2.h>
#include <cuda_runtime.h>

static int passed, failed;

static void check(const char *what, int status)
{
    if (status)
        printf("  FAILED '%s': status %d\n", what, status);
    passed += !status;
    failed += status != 0;
}
#define ok(call) check(#call, (int)(call))

int main()
{
    enum { N = 256 };
    cublasHandle_t handle = NULL;
    float *a, *b, *c, one = 1, zero = 0, dot;
    cudaStream_t stream;
    ok(cudaStreamCreate(&stream));
    ok(cudaMalloc(&a, N * N * sizeof *a));
    ok(cudaMalloc(&b, N * N * sizeof *b));
    ok(cudaMalloc(&c, N * N * sizeof *c));
    ok(cublasCreate(&handle));
    ok(cublasSetStream(handle, stream));
    ok(cublasSscal(handle, N, &one, a, 1));
    ok(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, b, N, &zero, c, N));
    ok(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, N, 128, 64, &one, a, CUDA_R_16F, 64, b,
                    CUDA_R_16F, 64, &zero, c, CUDA_R_16F, N, CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT));
    /* memory of cuBLAS's own for each stream */
    for (cudaStream_t one_of : { (cudaStream_t)NULL, stream, cudaStreamPerThread }) {
        ok(cublasSetStream(handle, one_of));
        ok(cublasSdot(handle, N * N, a, 1, b, 1, &dot));
    }
    ok(cudaStreamSynchronize(stream));
    ok(cublasDestroy(handle));
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed ? 1 : 0;
}
