/* cuBLAS and cuBLASLt. */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include "test.cuh"

#define blas_ok(call)                                                                              \
    do {                                                                                           \
        cublasStatus_t got_ = (call);                                                              \
        if (got_ != CUBLAS_STATUS_SUCCESS)                                                         \
            fail("%s: %s", #call, cublasGetStatusString(got_));                                    \
    } while (0)

enum { N = 256 };

template <typename T> static T *ones()
{
    std::vector<T> values(N * N, T(1));
    T *device = on_device<T>(N * N);
    ok(cudaMemcpy(device, values.data(), N * N * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

static cublasHandle_t start()
{
    needs_a_gpu();
    cublasHandle_t handle;
    blas_ok(cublasCreate(&handle));
    return handle;
}

static void single()
{
    cublasHandle_t handle = start();
    float *a = ones<float>(), *b = ones<float>(), *c = ones<float>(), alpha = 2, beta = 1, dot;
    for (int i = 0; i < 10; i++)
        blas_ok(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, N, N, N, &alpha, a, N, b, N, &beta, c,
                            N));
    check(all_are(read(c, N * N).data(), N * N, 1.0f + 10 * 2 * N));
    blas_ok(cublasSdot(handle, N * N, a, 1, b, 1, &dot));
    check(dot == N * N);
    blas_ok(cublasSaxpy(handle, N * N, &alpha, a, 1, b, 1));
    check(read(b, 1)[0] == 3);
    blas_ok(cublasDestroy(handle));
}

static void half_on_a_stream()
{
    cublasHandle_t handle = start();
    cudaStream_t stream;
    __half *a = ones<__half>(), *b = ones<__half>();
    float *c = ones<float>(), alpha = 1, beta = 0;
    ok(cudaStreamCreate(&stream));
    blas_ok(cublasSetStream(handle, stream));
    blas_ok(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &alpha, a, CUDA_R_16F, N, b,
                         CUDA_R_16F, N, &beta, c, CUDA_R_32F, N, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT));
    ok(cudaStreamSynchronize(stream));
    check(all_are(read(c, N * N).data(), N * N, (float)N));
}

static void light()
{
    needs_a_gpu();
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t layout;
    cublasLtMatmulPreference_t wish;
    cublasLtMatmulHeuristicResult_t found[4];
    int count;
    size_t room = 32 << 20;
    float *a = ones<float>(), *b = ones<float>(), *c = ones<float>(), alpha = 1, beta = 0;
    char *workspace = on_device<char>(room);
    blas_ok(cublasLtCreate(&handle));
    blas_ok(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    blas_ok(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, N, N, N));
    blas_ok(cublasLtMatmulPreferenceCreate(&wish));
    blas_ok(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                 &room, sizeof room));
    blas_ok(cublasLtMatmulAlgoGetHeuristic(handle, product, layout, layout, layout, layout, wish, 4,
                                           found, &count));
    check(count > 0);
    for (int i = 0; i < count; i++)
        blas_ok(cublasLtMatmul(handle, product, &alpha, a, layout, b, layout, &beta, c, layout, c,
                               layout, &found[i].algo, workspace, room, nullptr));
    check(all_are(read(c, N * N).data(), N * N, (float)N));
}

static void batched()
{
    cublasHandle_t handle = start();
    double *a = ones<double>(), *b = ones<double>(), *c = ones<double>(), alpha = 1, beta = 0;
    blas_ok(cublasDgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &alpha, a, 16,
                                      256, b, 16, 256, &beta, c, 16, 256, 256));
    check(all_are(read(c, N * N).data(), N * N, 16.0));
}

static const test tests[] = {
    { "products of single precision", single },
    { "half precision on a stream", half_on_a_stream },
    { "cuBLASLt with its heuristics", light },
    { "256 small products at once", batched },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
