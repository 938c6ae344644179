/* The speed of copies of many sizes, with pinned and pageable memory, to the device and from it. */
#include "config.h"

#include "../tests/cuda_programs/gpu.h"
#include "load.h"

enum { KIB = 1024, MIB = 1024 * KIB };
#define GIB ((size_t)1024 * MIB)
static const struct size {
    const char *name;
    size_t bytes;
} sizes[] = {
    { "4 KiB", 4 * KIB },   { "64 KiB", 64 * KIB },   { "1 MiB", MIB },
    { "16 MiB", 16 * MIB }, { "256 MiB", 256 * MIB }, { "1 GiB", GIB },
};

/* Each size is copied often enough for this many bytes, within these limits. */
enum { AT_LEAST = 3, AT_MOST = 200 };
#define TOGETHER ((size_t)256 * MIB)

static struct {
    CUdeviceptr device;
    void *host[2];
    void *now; /* one of these */
    size_t bytes;
} on;
static const char *const kinds[] = { "pinned", "pageable" };

static void give(void)
{
    ok(cuMemcpyHtoD_v2(on.device, on.now, on.bytes));
}

static void take(void)
{
    ok(cuMemcpyDtoH_v2(on.now, on.device, on.bytes));
}

static int times(void)
{
    size_t wanted = TOGETHER / on.bytes;
    return load_times(wanted < AT_LEAST ? AT_LEAST : wanted > AT_MOST ? AT_MOST : (int)wanted);
}

static double speed(void (*call)(void))
{
    return (double)on.bytes / load_single_us(call, times()) / 1e3; /* bytes a microsecond */
}

static void measure_size(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        on.now = on.host[i];
        load_row(speed(give), "GB/s", "%s %s to device", name, kinds[i]);
        load_row(speed(take), "GB/s", "%s %s from device", name, kinds[i]);
    }
}

static size_t largest(void)
{
    return load_number("BENCH_LARGEST", GIB);
}

static void measure(void)
{
    for (size_t i = 0; i < COUNT(sizes) && sizes[i].bytes <= largest(); i++) {
        on.bytes = sizes[i].bytes;
        measure_size(sizes[i].name);
    }
}

int main(void)
{
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    on.device = allocate(largest());
    ok(cuMemHostAlloc(&on.host[0], largest(), 0));
    on.host[1] = malloc(largest());
    check(on.host[1]);
    for (size_t i = 0; i < COUNT(on.host); i++)
        memset(on.host[i], 1, largest()); /* makes the pages exist */
    return load_serve(measure);
}
