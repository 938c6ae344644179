/* cuSOLVER: equations and eigenvalues whose answers are known. */
#include <cmath>
#include <cusolverDn.h>

#include "test.cuh"

#define solver_ok(call)                                                                            \
    do {                                                                                           \
        cusolverStatus_t got_ = (call);                                                            \
        if (got_ != CUSOLVER_STATUS_SUCCESS)                                                       \
            fail("%s: %d", #call, got_);                                                           \
    } while (0)

enum { N = 200 };

/* Twos on the diagonal and minus ones beside it; the eigenvalues are 2 - 2 cos(k pi / (N + 1)). */
static double *matrix()
{
    std::vector<double> values(N * N, 0.0);
    for (int i = 0; i < N; i++) {
        values[(size_t)(i * N + i)] = 2;
        if (i)
            values[(size_t)(i * N + i - 1)] = values[(size_t)((i - 1) * N + i)] = -1;
    }
    double *device = on_device<double>(N * N);
    ok(cudaMemcpy(device, values.data(), N * N * sizeof(double), cudaMemcpyHostToDevice));
    return device;
}

static cusolverDnHandle_t start()
{
    needs_a_gpu();
    cusolverDnHandle_t handle;
    solver_ok(cusolverDnCreate(&handle));
    return handle;
}

static void equations()
{
    cusolverDnHandle_t handle = start();
    double *a = matrix(), *b = on_device<double>(N), last = N + 1;
    int size, *pivots = on_device<int>(N), *info = on_device<int>(1);
    ok(cudaMemcpy(b + N - 1, &last, sizeof last, cudaMemcpyHostToDevice)); /* x_i = i + 1 */
    solver_ok(cusolverDnDgetrf_bufferSize(handle, N, N, a, N, &size));
    double *work = on_device<double>((size_t)size);
    solver_ok(cusolverDnDgetrf(handle, N, N, a, N, work, pivots, info));
    solver_ok(cusolverDnDgetrs(handle, CUBLAS_OP_N, N, 1, a, N, pivots, b, N, info));
    std::vector<double> x = read(b, N);
    for (int i = 0; i < N; i++)
        check(std::fabs(x[(size_t)i] - (i + 1)) < 1e-8);
    check(read(info, 1)[0] == 0);
}

static void eigenvalues()
{
    cusolverDnHandle_t handle = start();
    double *a = matrix(), *w = on_device<double>(N);
    int size, *info = on_device<int>(1);
    solver_ok(cusolverDnDsyevd_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                                          N, a, N, w, &size));
    double *work = on_device<double>((size_t)size);
    solver_ok(cusolverDnDsyevd(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, N, a, N, w,
                               work, size, info));
    std::vector<double> values = read(w, N);
    for (int k = 0; k < N; k++)
        check(std::fabs(values[(size_t)k] - (2 - 2 * std::cos((k + 1) * M_PI / (N + 1)))) < 1e-9);
    check(read(info, 1)[0] == 0);
}

static const test tests[] = {
    { "equations by LU", equations },
    { "eigenvalues", eigenvalues },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
