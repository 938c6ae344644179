/* cuFFT: there and back, and what is known of a cosine. */
#include <cmath>
#include <cufft.h>

#include "test.cuh"

#define fft_ok(call)                                                                               \
    do {                                                                                           \
        cufftResult got_ = (call);                                                                 \
        if (got_ != CUFFT_SUCCESS)                                                                 \
            fail("%s: %d", #call, got_);                                                           \
    } while (0)

static void there_and_back(int n)
{
    needs_a_gpu();
    std::vector<float> wave((size_t)n);
    for (int i = 0; i < n; i++)
        wave[(size_t)i] = (float)std::cos(2 * M_PI * 5 * i / n);
    float *x = on_device<float>((size_t)n + 2);
    cufftComplex *y = on_device<cufftComplex>((size_t)n / 2 + 1);
    ok(cudaMemcpy(x, wave.data(), (size_t)n * 4, cudaMemcpyHostToDevice));
    cufftHandle forward, inverse;
    fft_ok(cufftPlan1d(&forward, n, CUFFT_R2C, 1));
    fft_ok(cufftPlan1d(&inverse, n, CUFFT_C2R, 1));
    fft_ok(cufftExecR2C(forward, x, y));
    std::vector<cufftComplex> spectrum = read(y, (size_t)n / 2 + 1);
    check(std::fabs(spectrum[5].x - n / 2.0f) < n * 1e-3f && std::fabs(spectrum[9].x) < n * 1e-3f);
    fft_ok(cufftExecC2R(inverse, y, x));
    std::vector<float> back = read(x, (size_t)n);
    for (int i = 0; i < n; i++)
        check(std::fabs(back[(size_t)i] / n - wave[(size_t)i]) < 1e-3f);
    fft_ok(cufftDestroy(forward));
    fft_ok(cufftDestroy(inverse));
}

static void power_of_two()
{
    there_and_back(1 << 16);
}

static void prime()
{
    there_and_back(10007);
}

static void cube()
{
    needs_a_gpu();
    cufftHandle plan;
    cufftDoubleComplex *x = on_device<cufftDoubleComplex>(64 * 64 * 64), one = { 1, 0 };
    ok(cudaMemcpy(x, &one, sizeof one, cudaMemcpyHostToDevice));
    fft_ok(cufftPlan3d(&plan, 64, 64, 64, CUFFT_Z2Z));
    fft_ok(cufftExecZ2Z(plan, x, x, CUFFT_FORWARD));
    for (const cufftDoubleComplex &value : read(x, 64 * 64 * 64))
        check(std::fabs(value.x - 1) < 1e-9 && std::fabs(value.y) < 1e-9);
}

static const test tests[] = {
    { "a power of two", power_of_two },
    { "a prime length", prime },
    { "three dimensions", cube },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
