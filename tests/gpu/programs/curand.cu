/* cuRAND: generators of the host and of kernels. */
#include <curand.h>
#include <curand_kernel.h>

#include "test.cuh"

#define rand_ok(call)                                                                              \
    do {                                                                                           \
        curandStatus_t got_ = (call);                                                              \
        if (got_ != CURAND_STATUS_SUCCESS)                                                         \
            fail("%s: %d", #call, got_);                                                           \
    } while (0)

enum { N = 1 << 18 };

static void generators()
{
    needs_a_gpu();
    struct {
        const char *name;
        curandRngType_t type;
    } kinds[] = { { "XORWOW", CURAND_RNG_PSEUDO_XORWOW },
                  { "MRG32K3A", CURAND_RNG_PSEUDO_MRG32K3A },
                  { "MTGP32", CURAND_RNG_PSEUDO_MTGP32 },
                  { "MT19937", CURAND_RNG_PSEUDO_MT19937 },
                  { "Philox", CURAND_RNG_PSEUDO_PHILOX4_32_10 } };
    float *values = on_device<float>(N);
    for (const auto &kind : kinds) {
        curandGenerator_t generator;
        rand_ok(curandCreateGenerator(&generator, kind.type));
        rand_ok(curandSetPseudoRandomGeneratorSeed(generator, 42));
        rand_ok(curandGenerateUniform(generator, values, N));
        std::vector<float> got = read(values, N);
        double sum = 0;
        for (float value : got)
            sum += value;
        printf("= %s: %a %a\n", kind.name, got[0], got[N - 1]);
        check(sum / N > 0.49 && sum / N < 0.51);
        rand_ok(curandGenerateNormal(generator, values, N, 3, 2));
        printf("= %s: %a\n", kind.name, read(values, N)[N / 2]);
        rand_ok(curandDestroyGenerator(generator));
    }
}

static void even_generators()
{
    needs_a_gpu();
    curandGenerator_t generator;
    double *values = on_device<double>(N);
    rand_ok(curandCreateGenerator(&generator, CURAND_RNG_QUASI_SOBOL64));
    rand_ok(curandSetQuasiRandomGeneratorDimensions(generator, 2));
    rand_ok(curandGenerateUniformDouble(generator, values, N));
    std::vector<double> got = read(values, N);
    printf("= Sobol: %a %a\n", got[1000], got[N - 1]);
    rand_ok(curandDestroyGenerator(generator));
}

__global__ void throw_darts(int rounds, unsigned long long *inside)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, hits = 0;
    curandStatePhilox4_32_10_t state;
    curand_init(7, thread, 0, &state);
    for (int i = 0; i < rounds; i++) {
        float x = curand_uniform(&state), y = curand_uniform(&state);
        hits += x * x + y * y < 1;
    }
    atomicAdd(inside, (unsigned long long)hits);
}

static void in_kernels()
{
    needs_a_gpu();
    unsigned long long *inside = on_device<unsigned long long>(1);
    throw_darts<<<64, 256>>>(1000, inside);
    ok(cudaGetLastError());
    unsigned long long got = read(inside, 1)[0];
    double pi = 4.0 * (double)got / (64.0 * 256 * 1000);
    printf("= hits: %llu\n", got);
    check(pi > 3.14 && pi < 3.143);
}

static const test tests[] = {
    { "generators of the host", generators },
    { "numbers that are spread evenly", even_generators },
    { "generators of kernels", in_kernels },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
