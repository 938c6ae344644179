/* Memory and events of one process in another. */
#include "test.cuh"

__global__ void fill(float *p, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = v;
}

enum { N = 1 << 20 };

static void tell(int end, const void *data, size_t bytes)
{
    check(write(end, data, bytes) == (ssize_t)bytes);
}

static void hear(int end, void *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t got = ::read(end, (char *)data + at, bytes - at);
        check(got > 0);
        at += (size_t)got;
    }
}

struct handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

/* The other process: fills the memory and records the event. It ends with the first if that says
 * nothing. */
static void fill_it(int in, int out)
{
    handles got;
    float *x;
    cudaEvent_t event;
    hear(in, &got, sizeof got);
    ok(cudaIpcOpenMemHandle((void **)&x, got.memory, cudaIpcMemLazyEnablePeerAccess));
    ok(cudaIpcOpenEventHandle(&event, got.event));
    check(all_are(read(x, N).data(), N, 1.0f));
    fill<<<N / 256, 256>>>(x, 7.0f, N);
    ok(cudaEventRecord(event));
    tell(out, "x", 1);
    char word;
    hear(in, &word, 1);
    ok(cudaIpcCloseMemHandle(x));
}

static void between_processes()
{
    int there[2], back[2];
    check(!pipe(there) && !pipe(back));
    pid_t child = fork(); /* before either uses the GPU */
    if (!child) {
        fill_it(there[0], back[1]);
        exit(0);
    }
    handles given;
    cudaEvent_t event;
    char word;
    needs_a_gpu(); /* the simulated driver's memory is its process's own */
    float *x = on_device<float>(N);
    fill<<<N / 256, 256>>>(x, 1.0f, N);
    ok(cudaDeviceSynchronize());
    ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    ok(cudaIpcGetMemHandle(&given.memory, x));
    ok(cudaIpcGetEventHandle(&given.event, event));
    tell(there[1], &given, sizeof given);
    close(back[1]);
    hear(back[0], &word, 1);
    ok(cudaEventSynchronize(event));
    check(all_are(read(x, N).data(), N, 7.0f));
    tell(there[1], "x", 1);
    int status = 1;
    waitpid(child, &status, 0);
    check(status == 0);
}

static void peers()
{
    int count, can;
    ok(cudaGetDeviceCount(&count));
    if (count < 2)
        skip("one GPU here");
    float *x = on_device<float>(N), *y;
    fill<<<N / 256, 256>>>(x, 3.0f, N);
    ok(cudaDeviceSynchronize());
    ok(cudaDeviceCanAccessPeer(&can, 1, 0));
    printf("= peers: %d\n", can);
    ok(cudaSetDevice(1));
    ok(cudaMalloc(&y, N * sizeof(float)));
    if (can)
        ok(cudaDeviceEnablePeerAccess(0, 0));
    ok(cudaMemcpyPeer(y, 1, x, 0, N * sizeof(float)));
    check(all_are(read(y, N).data(), N, 3.0f));
    if (!can)
        return;
    fill<<<N / 256, 256>>>(x, 5.0f, N);
    ok(cudaDeviceSynchronize());
    check(all_are(read(x, N).data(), N, 5.0f));
}

static const test tests[] = {
    { "memory and events go to another process", between_processes },
    { "a GPU reaches another's memory", peers },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
