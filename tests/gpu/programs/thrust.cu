/* Thrust and CUB: their kernels, their allocators, their streams. */
#include <algorithm>
#include <numeric>

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/universal_vector.h>

#include "test.cuh"

static constexpr int N = 1000003;

static thrust::host_vector<int> numbers()
{
    thrust::host_vector<int> values(N);
    unsigned state = 1;
    for (int &value : values)
        value = (int)((state = state * 1664525u + 1013904223u) >> 8);
    return values;
}

static void sorts()
{
    needs_a_gpu();
    thrust::host_vector<int> values = numbers();
    thrust::device_vector<int> device = values;
    thrust::sort(device.begin(), device.end());
    std::sort(values.begin(), values.end());
    check(device == values);
    thrust::device_vector<int> keys(N), places(N);
    for (int i = 0; i < N; i += 1000)
        keys[(size_t)i] = i; /* each a copy of its own */
    thrust::sequence(places.begin(), places.end());
    thrust::stable_sort_by_key(keys.begin(), keys.end(), places.begin(), thrust::greater<int>());
    check(places[0] == N - N % 1000 && keys[1] == keys[0] - 1000);
}

struct squared {
    __host__ __device__ long operator()(int x) const
    {
        return (long)x * x;
    }
};

static void scans_and_reductions()
{
    needs_a_gpu();
    thrust::host_vector<int> values = numbers();
    thrust::device_vector<int> device = values;
    thrust::device_vector<long> sums(N);
    check(thrust::transform_reduce(device.begin(), device.end(), squared(), 0L,
                                   thrust::plus<long>()) ==
          std::accumulate(values.begin(), values.end(), 0L,
                          [](long sum, int x) { return sum + (long)x * x; }));
    thrust::transform_inclusive_scan(device.begin(), device.end(), sums.begin(), squared(),
                                     thrust::plus<long>());
    long sum = sums[N - 1];
    check(sum == thrust::transform_reduce(values.begin(), values.end(), squared(), 0L,
                                          thrust::plus<long>()));
    thrust::device_vector<int> keys(N), ones(N, 1), out_keys(N), out(N);
    thrust::transform(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(N),
                      keys.begin(), [] __device__(int i) { return i / 1000; });
    auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), ones.begin(), out_keys.begin(),
                                      out.begin());
    check(ends.first - out_keys.begin() == 1001);
    check(out[0] == 1000 && out[1000] == N % 1000);
    check(*thrust::max_element(device.begin(), device.end()) ==
          *std::max_element(values.begin(), values.end()));
}

static void universal_vectors()
{
    needs_a_gpu();
    thrust::universal_vector<int> values(N);
    thrust::sequence(thrust::device, values.begin(), values.end());
    ok(cudaDeviceSynchronize());
    check(values[N - 1] == N - 1);
    for (int &value : values)
        value *= 2;
    check(thrust::reduce(thrust::device, values.begin(), values.end(), 0L) == (long)N * (N - 1));
}

static void on_streams()
{
    needs_a_gpu();
    cudaStream_t stream;
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    auto here = thrust::cuda::par_nosync.on(stream);
    thrust::device_vector<int> device(N);
    thrust::sequence(here, device.begin(), device.end());
    thrust::transform(here, device.begin(), device.end(), device.begin(),
                      [] __device__(int x) { return N - x; });
    thrust::sort(here, device.begin(), device.end());
    ok(cudaStreamSynchronize(stream));
    check(device[0] == 1 && device[N - 1] == N);
}

/* ---- CUB ---- */

template <typename F> static void with_memory(F function)
{
    size_t bytes = 0;
    void *memory;
    ok(function(nullptr, bytes));
    ok(cudaMallocAsync(&memory, bytes, nullptr));
    ok(function(memory, bytes));
    ok(cudaFreeAsync(memory, nullptr));
}

static void cub_of_the_device()
{
    needs_a_gpu();
    thrust::host_vector<int> values = numbers();
    thrust::device_vector<int> in = values, out(N), bins(16), count(1);
    int *from = thrust::raw_pointer_cast(in.data()), *to = thrust::raw_pointer_cast(out.data());
    int *many = thrust::raw_pointer_cast(count.data());
    with_memory([&](void *memory, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(memory, bytes, from, to, N, 0, 24);
    });
    std::sort(values.begin(), values.end());
    check(out == values);
    with_memory([&](void *memory, size_t &bytes) {
        return cub::DeviceSelect::If(memory, bytes, from, to, many, N,
                                     [] __device__(int x) { return x % 2 == 0; });
    });
    long even = std::count_if(values.begin(), values.end(), [](int x) { return x % 2 == 0; });
    check(count[0] == even);
    with_memory([&](void *memory, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(
            memory, bytes, from, thrust::raw_pointer_cast(bins.data()), 17, 0, 1 << 24, N);
    });
    check(thrust::reduce(bins.begin(), bins.end()) == N);
    with_memory([&](void *memory, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(memory, bytes, from, to, 1000);
    });
    with_memory([&](void *memory, size_t &bytes) {
        return cub::DeviceReduce::Max(memory, bytes, from, many, N);
    });
    check(count[0] == values[N - 1]);
}

/* The caching allocator frees and takes by events of streams. */
static void cub_caches_memory()
{
    needs_a_gpu();
    cub::CachingDeviceAllocator cache;
    void *memory = nullptr, *before = nullptr;
    for (int i = 0; i < 10; i++) {
        ok(cache.DeviceAllocate(&memory, 1 << 20));
        check(!i || memory == before);
        ok(cudaMemsetAsync(memory, i, 1 << 20));
        before = memory;
        ok(cache.DeviceFree(memory));
    }
    ok(cudaDeviceSynchronize());
}

static void errors_are_exceptions()
{
    needs_a_gpu();
    bool is_told = false;
    try {
        thrust::device_vector<char> much((size_t)1 << 45);
    } catch (const std::bad_alloc &error) {
        is_told = true;
    }
    check(is_told);
    cudaGetLastError();
    thrust::device_vector<int> little(100, 3);
    check(thrust::reduce(little.begin(), little.end()) == 300);
}

static const test tests[] = {
    { "sorts", sorts },
    { "scans and reductions", scans_and_reductions },
    { "universal vectors", universal_vectors },
    { "on streams", on_streams },
    { "CUB of the device", cub_of_the_device },
    { "CUB caches memory", cub_caches_memory },
    { "errors are exceptions", errors_are_exceptions },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
