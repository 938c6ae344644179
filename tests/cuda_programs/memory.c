/* Memory of every kind: device, pinned, registered, managed, and the attributes of pointers. */
#include "config.h"

#include "gpu.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

enum { N = 1000, BYTES = N * sizeof(float) };

static CUstream stream;
static CUdeviceptr a, b;

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    a = allocate(BYTES);
    b = allocate(BYTES);
    ok(launch_fill(a, 1, N, NULL));
    ok(launch_fill(b, 1, N, NULL));
    ok(cuCtxSynchronize());
}

static CUdeviceptr on_device(void *pinned)
{
    CUdeviceptr address;
    ok(cuMemHostGetDevicePointer_v2(&address, pinned, 0));
    return address;
}

/* ---- copies ---- */

static void there_and_back(void)
{
    enum { LARGE = 3 << 20 }; /* floats; 12 MiB */
    float *from = malloc(LARGE * sizeof *from), *to = calloc(LARGE, sizeof *to);
    check(from && to);
    for (int i = 0; i < LARGE; i++)
        from[i] = (float)i;
    CUdeviceptr p = allocate(LARGE * sizeof *from);
    ok(cuMemcpyHtoD_v2(p, from, LARGE * sizeof *from));
    ok(cuMemcpyDtoH_v2(to, p, LARGE * sizeof *to));
    check(!memcmp(from, to, LARGE * sizeof *from));
    ok(cuMemcpyDtoH_v2(to, p + 4, 12)); /* a piece */
    same(to[0], 1);
    same(to[2], 3);
    ok(cuMemFree_v2(p));
    free(from);
    free(to);
}

/* Copies in several large parts, with small work before, between and behind them. */
static void large_in_order(void)
{
    enum { LARGE = 5 << 20, HALF = LARGE / 2, PART = 3 << 20, LITTLE = 1000 }; /* floats */
    float *from = malloc(LARGE * sizeof *from), *wanted = malloc(LARGE * sizeof *wanted),
          *to = calloc(LARGE, sizeof *to);
    CUdeviceptr p = allocate(LARGE * sizeof *from);
    check(from && wanted && to);
    for (int round = 1; round < 5; round++) {
        int at = round * 300001; /* within the first half */
        for (int i = 0; i < LARGE; i++)
            from[i] = wanted[i] = (float)(round + i % 1009);
        for (int i = 0; i < HALF; i++)
            wanted[i] = -1;
        for (int i = 0; i < PART; i++)
            wanted[at + i] = -2;
        for (int i = 0; i < LITTLE; i++)
            wanted[at + PART - LITTLE + i] = -3;
        ok(launch_fill(p, 5, LARGE, stream));
        ok(cuMemcpyHtoDAsync_v2(p, from, LARGE * sizeof *from, stream));
        ok(launch_fill(p, -1, HALF, stream));
        for (int i = 0; i < PART; i++) /* pageable memory may be written when the copy returns */
            from[i] = -2;
        ok(cuMemcpyHtoDAsync_v2(p + (size_t)at * sizeof *from, from, PART * sizeof *from, stream));
        memset(from, 0, LARGE * sizeof *from);
        ok(launch_fill(p + (size_t)(at + PART - LITTLE) * sizeof *from, -3, LITTLE, stream));
        ok(cuMemcpyDtoHAsync_v2(to, p, LARGE * sizeof *to, stream));
        ok(cuStreamSynchronize(stream));
        check(!memcmp(to, wanted, LARGE * sizeof *to));
    }
    ok(cuMemFree_v2(p));
    free(from);
    free(wanted);
    free(to);
}

enum { CROWD = 6, CROWD_BYTES = 20 << 20 };

/* One of many threads: copies to the GPU with and without a wait, and from it. */
static void *copy_for_a_while(void *argument)
{
    enum { ROUNDS = 3 };
    int way = (int)(intptr_t)argument;
    unsigned char *host = malloc(CROWD_BYTES);
    CUdeviceptr p;
    CUstream own;
    check(host);
    memset(host, way + 1, CROWD_BYTES);
    ok(cuCtxSetCurrent(context));
    ok(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    ok(cuMemAlloc_v2(&p, CROWD_BYTES));
    ok(cuMemcpyHtoD_v2(p, host, CROWD_BYTES));
    for (int i = 0; i < ROUNDS; i++)
        if (way % 3 == 0)
            ok(cuMemcpyHtoD_v2(p, host, CROWD_BYTES));
        else if (way % 3 == 1)
            ok(cuMemcpyHtoDAsync_v2(p, host, CROWD_BYTES, own));
        else
            ok(cuMemcpyDtoHAsync_v2(host, p, CROWD_BYTES, own));
    memset(host, 0, CROWD_BYTES);
    ok(cuMemcpyDtoHAsync_v2(host, p, CROWD_BYTES, own));
    ok(cuStreamSynchronize(own));
    for (size_t i = 0; i < CROWD_BYTES; i++)
        check(host[i] == way + 1);
    ok(cuMemFree_v2(p));
    ok(cuStreamDestroy_v2(own));
    free(host);
    return NULL;
}

static void crowded(void)
{
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        check(!pthread_create(&threads[i], NULL, copy_for_a_while, (void *)(intptr_t)i));
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
}

/* Lengths on both sides of the length from which copies go in parts. */
static void any_length(void)
{
    enum { KIB = 1024, MIB = 1024 * 1024, MOST = 21 * MIB };
    static const size_t lengths[] = { 512 * KIB - 1, 512 * KIB,   2 * MIB, 2 * MIB + 1,
                                      8 * MIB,       8 * MIB + 5, MOST };
    unsigned char *from = malloc(MOST), *to = malloc(MOST);
    CUdeviceptr p = allocate(MOST);
    check(from && to);
    for (size_t i = 0; i < MOST; i++)
        from[i] = (unsigned char)(i * 7 + i / 4096);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        size_t length = lengths[i];
        memset(to, 0, MOST);
        from[0] = (unsigned char)(100 + i);
        ok(cuMemcpyHtoDAsync_v2(p, from, length, stream));
        ok(cuMemcpyDtoHAsync_v2(to, p, length, stream));
        ok(cuStreamSynchronize(stream));
        check(!memcmp(from, to, length));
        check(length == MOST || !to[length]);
    }
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, NULL, MOST));
    gives(CUDA_ERROR_INVALID_VALUE,
          cuMemcpyHtoD_v2(16, from, MOST)); /* reported at once, and once */
    ok(cuCtxSynchronize());
    ok(cuMemFree_v2(p));
    free(from);
    free(to);
}

/* A copy larger than its target: refused before the program's bytes are read, since the program has
 * fewer. */
static void more_than_there_is(void)
{
    enum { MINE = 256 * 1024, THERE = 1024 * 1024, TOO_MUCH = 8 * 1024 * 1024 };
    uint8_t *from =
        mmap(NULL, TOO_MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr p = allocate(THERE);
    check(from != MAP_FAILED && !munmap(from + MINE, TOO_MUCH - MINE));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, from, TOO_MUCH));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync_v2(p, from, TOO_MUCH, stream));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p + THERE - 8, from, MINE));
    ok(cuMemcpyHtoD_v2(p + THERE - MINE, from, MINE));
    ok(cuStreamSynchronize(stream));
    ok(cuMemFree_v2(p));
    check(!munmap(from, MINE));
}

/* The same with rows. */
static void more_rows_than_there_are(void)
{
    enum { MINE = 256 * 1024, WIDTH = 4096, ROWS = 256, TOO_MANY = 2048 };
    uint8_t *from = mmap(NULL, (size_t)WIDTH * TOO_MANY, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr p = allocate((size_t)WIDTH * ROWS);
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = from,
                           .srcPitch = WIDTH,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = p,
                           .dstPitch = WIDTH,
                           .WidthInBytes = WIDTH - 1,
                           .Height = TOO_MANY };
    check(from != MAP_FAILED && !munmap(from + MINE, (size_t)WIDTH * TOO_MANY - MINE));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DAsync_v2(&copy, stream));
    copy.Height = MINE / WIDTH;
    copy.dstY = ROWS - copy.Height;
    ok(cuMemcpy2D_v2(&copy));
    copy.dstY++;
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    ok(cuStreamSynchronize(stream));
    ok(cuMemFree_v2(p));
    check(!munmap(from, MINE));
}

/* Pinned memory has one address for the program and the GPU. */
static void pinned_for_device(void)
{
    float *pinned = allocate_pinned(BYTES), *other = allocate_pinned(BYTES);
    CUdeviceptr address = (uintptr_t)pinned, elsewhere = (uintptr_t)other;
    float from[N], to[N];
    for (int i = 0; i < N; i++)
        from[i] = (float)i;
    ok(cuMemcpyHtoD_v2(address, from, BYTES));
    same(pinned[N - 1], N - 1);
    ok(cuMemcpyDtoHAsync_v2(to, address, BYTES, stream));
    ok(cuStreamSynchronize(stream));
    check(!memcmp(from, to, BYTES));
    ok(cuMemcpyHtoDAsync_v2(a, pinned, BYTES, stream));
    ok(cuMemcpyDtoDAsync_v2(elsewhere, a, BYTES, stream));
    ok(cuStreamSynchronize(stream));
    check(!memcmp(from, other, BYTES));
    ok(cuMemsetD32Async(address + 4, 0, 1, stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[1], 0);
    same(pinned[2], 2);
    ok(cuMemFreeHost(pinned));
    ok(cuMemFreeHost(other));
}

/* cuMemcpy finds the direction by the addresses. */
static void by_address(void)
{
    float from[4] = { 1, 2, 3, 4 }, to[4] = { 0 };
    ok(cuMemcpy(a, (CUdeviceptr)(uintptr_t)from, sizeof from));
    ok(cuMemcpy(b, a, sizeof from));
    ok(cuMemcpy((CUdeviceptr)(uintptr_t)to, b, sizeof to));
    check(!memcmp(from, to, sizeof to));
    memset(to, 0, sizeof to);
    ok(cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, b, sizeof to, stream));
    ok(cuStreamSynchronize(stream));
    check(!memcmp(from, to, sizeof to));
}

static void pageable_source(void)
{
    struct gate gate = GATE;
    float source[N], target[N];
    for (int i = 0; i < N; i++)
        source[i] = 3;
    close_gate(&gate, stream);
    ok(cuMemcpyHtoDAsync_v2(a, source, sizeof source, stream));
    memset(source, 0, sizeof source);
    open_gate(&gate);
    ok(cuMemcpyDtoHAsync_v2(target, a, sizeof target, stream)); /* complete when the call returns */
    same(target[0], 3);
    same(target[N - 1], 3);
}

static void fill_host(void *memory)
{
    for (int i = 0; i < N; i++)
        ((float *)memory)[i] = 7;
}

static void pinned_source(void)
{
    float *pinned = allocate_pinned(BYTES);
    ok(cuLaunchHostFunc(stream, fill_host, pinned));
    ok(cuMemcpyHtoDAsync_v2(a, pinned, BYTES, stream));
    ok(cuStreamSynchronize(stream));
    same(all_of(a, N), 7);
    ok(cuMemFreeHost(pinned));
}

static float seen;

static void look(void *memory)
{
    seen = ((float *)memory)[N - 1];
}

/* A host function finds the data of a copy before it. */
static void pinned_target(void)
{
    float *pinned = allocate_pinned(BYTES);
    ok(launch_fill(a, 9, N, stream));
    ok(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, stream));
    ok(cuLaunchHostFunc(stream, look, pinned));
    ok(cuStreamSynchronize(stream));
    same(seen, 9);
    same(pinned[0], 9);
    ok(cuMemFreeHost(pinned));
}

/* After an event, and after a successful query, data is visible as after a synchronize. */
static void arrives_with_events(void)
{
    float *pinned = allocate_pinned(2 * BYTES);
    CUevent event;
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(launch_fill(a, 4, N, stream));
    ok(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, stream));
    ok(cuEventRecord(event, stream));
    ok(cuEventSynchronize(event));
    same(pinned[N - 1], 4);
    ok(cuMemcpyDtoHAsync_v2(pinned + N, a, BYTES, stream));
    CUresult status;
    while ((status = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
        sleep_ms(1);
    ok(status);
    same(pinned[2 * N - 1], 4);
    ok(cuEventDestroy_v2(event));
    ok(cuMemFreeHost(pinned));
}

/* Waiting for another stream that waits for the copy also brings its data. */
static void arrives_by_another_stream(void)
{
    float *pinned = allocate_pinned(BYTES);
    CUstream other;
    CUevent event;
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(launch_fill(a, 5, N, stream));
    ok(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, stream));
    ok(cuEventRecord(event, stream));
    ok(cuStreamWaitEvent(other, event, 0));
    ok(cuStreamSynchronize(other));
    same(pinned[N - 1], 5);
    ok(cuMemFreeHost(pinned));
}

static void two_dimensions(void)
{
    enum { WIDTH = 5, HEIGHT = 3 };
    float from[HEIGHT][WIDTH], to[HEIGHT][WIDTH] = { 0 };
    CUdeviceptr p;
    size_t pitch;
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        from[i / WIDTH][i % WIDTH] = (float)i;
    ok(cuMemAllocPitch_v2(&p, &pitch, WIDTH * sizeof(float), HEIGHT, 4));
    check(pitch >= WIDTH * sizeof(float));
    const uintptr_t stray = 0x7fff0000; /* fields that a kind of memory does not use are ignored */
    CUDA_MEMCPY2D in = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = from,
        .srcDevice = stray,
        .srcArray = (CUarray)stray,
        .srcPitch = sizeof from[0],
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstHost = (void *)stray,
        .dstDevice = p,
        .dstArray = (CUarray)stray,
        .dstPitch = pitch,
        .WidthInBytes = sizeof from[0],
        .Height = HEIGHT,
    };
    ok(cuMemcpy2D_v2(&in));
    CUDA_MEMCPY2D out = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcHost = (void *)stray,
        .srcDevice = p,
        .srcPitch = pitch,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = to,
        .dstDevice = stray,
        .dstPitch = sizeof to[0],
        .WidthInBytes = sizeof to[0],
        .Height = HEIGHT,
    };
    ok(cuMemcpy2DAsync_v2(&out, stream));
    ok(cuStreamSynchronize(stream));
    check(!memcmp(from, to, sizeof to));
    ok(cuMemsetD2D32_v2(p, pitch, 0, WIDTH - 1, HEIGHT));
    ok(cuMemcpy2D_v2(&out));
    same(to[1][0], 0);
    same(to[2][WIDTH - 1], HEIGHT * WIDTH - 1);
    CUDA_MEMCPY2D within = out;
    within.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    within.dstDevice = p + pitch * (HEIGHT - 1);
    within.dstHost = (void *)stray;
    within.Height = 1;
    ok(cuMemcpy2DUnaligned_v2(&within));
    out.dstPitch = sizeof to[0] - 1; /* rows would overlap */
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&out));
    in.srcPitch = sizeof from[0] - 1;
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DAsync_v2(&in, stream));
    in.dstMemoryType = CU_MEMORYTYPE_HOST;
    in.dstHost = to;
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&in));
    ok(cuMemFree_v2(p));
}

static void arrays(void)
{
    enum { WIDTH = 8, HEIGHT = 4 };
    float from[HEIGHT][WIDTH], to[HEIGHT][WIDTH] = { 0 };
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR asked = { WIDTH, HEIGHT, CU_AD_FORMAT_FLOAT, 1 }, told;
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        from[i / WIDTH][i % WIDTH] = (float)i;
    ok(cuArrayCreate_v2(&array, &asked));
    ok(cuArrayGetDescriptor_v2(&told, array));
    same(told.Width, WIDTH);
    same(told.Height, HEIGHT);
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = from,
        .srcPitch = sizeof from[0],
        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
        .dstArray = array,
        .WidthInBytes = sizeof from[0],
        .Height = HEIGHT,
    };
    ok(cuMemcpy2D_v2(&copy));
    copy = (CUDA_MEMCPY2D){
        .srcMemoryType = CU_MEMORYTYPE_ARRAY,
        .srcArray = array,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = to,
        .dstPitch = sizeof to[0],
        .WidthInBytes = sizeof to[0],
        .Height = HEIGHT,
    };
    ok(cuMemcpy2D_v2(&copy));
    check(!memcmp(from, to, sizeof to));
    ok(cuArrayDestroy(array));
}

/* Batches of copies: host to array, array to device, device to host. */
static void batch(void)
{
    enum { WIDTH = 20, HEIGHT = 10, PITCH = 24 };
    float rows[HEIGHT][PITCH] = { { 0 } }, back[HEIGHT][WIDTH] = { { 0 } };
    const CUDA_ARRAY3D_DESCRIPTOR descriptor = {
        .Width = WIDTH, .Height = HEIGHT, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
    };
    CUarray array;
    size_t failed_at = 99;
    for (int i = 0; i < HEIGHT * PITCH; i++)
        rows[i / PITCH][i % PITCH] = (float)i;
    ok(cuArray3DCreate_v2(&array, &descriptor));
    CUdeviceptr memory = allocate(sizeof back);
    const CUextent3D extent = { WIDTH, HEIGHT, 1 };
    CUmemcpy3DOperand host = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
                      cells = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY }, device = host,
                      target = host;
    host.op.ptr.ptr = (uintptr_t)rows;
    host.op.ptr.rowLength = PITCH;
    host.op.ptr.layerHeight = HEIGHT;
    cells.op.array.array = array;
    device.op.ptr.ptr = memory;
    target.op.ptr.ptr = (uintptr_t)back;
    CUDA_MEMCPY3D_BATCH_OP copies[] = {
        { .src = host, .dst = cells, .extent = extent },
        { .src = cells, .dst = device, .extent = extent },
        { .src = device, .dst = target, .extent = { sizeof back, 1, 1 } },
    };
    for (size_t i = 0; i < COUNT(copies); i++) {
        copies[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        ok(cuMemcpy3DBatchAsync_v2(1, &copies[i], 0,
                                   stream)); /* the copies of one batch have no order */
    }
    ok(cuStreamSynchronize(stream));
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        same(back[i / WIDTH][i % WIDTH], i / WIDTH * PITCH + i % WIDTH);
    copies[0].src.type = (CUmemcpy3DOperandType)77;
    check(cuMemcpy3DBatchAsync(1, copies, &failed_at, 0, stream));
    check(failed_at == 0 || failed_at == SIZE_MAX);
    ok(cuArrayDestroy(array));
}

static void sets(void)
{
    unsigned char bytes[16];
    ok(cuMemsetD8_v2(a, 0x11, 16));
    ok(cuMemsetD16_v2(a + 4, 0x2233, 2));
    ok(cuMemsetD32Async(a + 8, 0x44556677, 1, NULL));
    ok(cuMemcpyDtoH_v2(bytes, a, sizeof bytes));
    static const unsigned char wanted[16] = { 0x11, 0x11, 0x11, 0x11, 0x33, 0x22, 0x33, 0x22,
                                              0x77, 0x66, 0x55, 0x44, 0x11, 0x11, 0x11, 0x11 };
    check(!memcmp(bytes, wanted, sizeof wanted));
}

/* ---- allocating ---- */

static void counted(void)
{
    enum { LARGE = 64 << 20 };
    size_t before, after, total, of_device;
    ok(cuMemGetInfo_v2(&before, &total));
    ok(cuDeviceTotalMem_v2(&of_device, 0));
    check(before <= total && total <= of_device);
    CUdeviceptr p = allocate(LARGE);
    ok(cuMemGetInfo_v2(&after, &total));
    check(after <= before - LARGE);
    ok(cuMemFree_v2(p));
    ok(cuMemGetInfo_v2(&after, &total));
    same(after, before);
}

static void too_much(void)
{
    CUdeviceptr p;
    size_t free_bytes, total;
    ok(cuMemGetInfo_v2(&free_bytes, &total));
    gives(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&p, total + 1));
    gives(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&p, (size_t)1 << 50));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&p, 0));
    p = allocate(4); /* and nothing is broken */
    ok(cuMemFree_v2(p));
}

static void ranges(void)
{
    CUdeviceptr base;
    size_t bytes;
    ok(cuMemGetAddressRange_v2(&base, &bytes, a + 100));
    check(base == a);
    same(bytes, BYTES);
    gives(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(a + 4));
    ok(cuMemFree_v2(0));
    ok(cuMemFree_v2(a));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(a));
    gives(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2(&base, &bytes, a));
}

/* ---- memory that both sides see ---- */

static void mapped(void)
{
    float *pinned = allocate_pinned(BYTES);
    CUdeviceptr p = on_device(pinned);
    ok(launch_fill(p, 6, N, stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[0], 6);
    same(pinned[N - 1], 6);
    pinned[1] = 10;
    ok(launch_saxpy(N, 1, p, a, stream));
    ok(cuStreamSynchronize(stream));
    float values[2];
    ok(cuMemcpyDtoH_v2(values, a, sizeof values));
    same(values[0], 7);
    same(values[1], 11);
    ok(cuMemFreeHost(pinned));
}

/* With one address on both sides, a program may pass the host's address. */
static void one_address(void)
{
    float *pinned = allocate_pinned(BYTES);
    check(on_device(pinned) == (CUdeviceptr)(uintptr_t)pinned);
    ok(launch_fill((CUdeviceptr)(uintptr_t)pinned, 6, N, stream));
    ok(cuStreamSynchronize(stream));
    same(pinned[N - 1], 6);
    ok(cuMemFreeHost(pinned));
}

/* All pinned memory is mapped if both sides have one address, and managed memory counts as pinned.
 */
static void flags_of_pinned(void)
{
    static char registered_bytes[8192];
    unsigned int flags;
    void *pinned;
    CUdeviceptr managed;
    ok(cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_PORTABLE));
    ok(cuMemHostGetFlags(&flags, (char *)pinned + 50));
    same(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    ok(cuMemFreeHost(pinned));
    ok(cuMemAllocHost_v2(&pinned, 100));
    ok(cuMemHostGetFlags(&flags, pinned));
    same(flags, CU_MEMHOSTALLOC_DEVICEMAP);
    ok(cuMemFreeHost(pinned));
    ok(cuMemHostRegister_v2(registered_bytes, sizeof registered_bytes, 0));
    ok(cuMemHostGetFlags(&flags, registered_bytes + 50));
    same(flags, CU_MEMHOSTREGISTER_DEVICEMAP);
    ok(cuMemHostUnregister(registered_bytes));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, registered_bytes));
    ok(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemHostGetFlags(&flags, (void *)(uintptr_t)managed)); // NOLINT(performance-no-int-to-ptr)
    same(flags, CU_MEMHOSTALLOC_DEVICEMAP);
    ok(cuMemFree_v2(managed));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&pinned, 100, 0x1000));
}

static void registered(void)
{
    const size_t bytes = 1 << 16;
    float *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED);
    memory[5] = 3;
    ok(cuMemHostRegister_v2(memory, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
    gives(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(memory, bytes, 0));
    CUdeviceptr p = on_device(memory);
    ok(launch_saxpy(10, 2, p, a, stream)); /* the GPU sees earlier writes */
    ok(launch_fill(p, 8, 5, stream));
    ok(cuStreamSynchronize(stream));
    float values[6];
    ok(cuMemcpyDtoH_v2(values, a, sizeof values));
    same(values[5], 7);
    same(memory[4], 8);
    same(memory[5], 3);
    ok(cuMemHostUnregister(memory));
    gives(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory));
    same(memory[4], 8);
    munmap(memory, bytes);
}

/* A range that begins in registered memory and ends behind it: a driver may refuse that. */
static void more_than_registered(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int n = (int)(page / sizeof(float));
    float got = 0, *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED);
    ok(cuMemHostRegister_v2(memory, page, CU_MEMHOSTREGISTER_DEVICEMAP));
    CUdeviceptr p = on_device(memory), copy = allocate(2 * page);
    const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = memory,
                                 .srcPitch = page,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = copy,
                                 .dstPitch = page,
                                 .WidthInBytes = page,
                                 .Height = 2 };
    for (int i = 1; i < 3; i++) {
        ok(launch_fill(p, (float)i, n, NULL));
        CUresult status = i == 1 ? cuMemcpyHtoD_v2(copy, memory, 2 * page) : cuMemcpy2D_v2(&rows);
        if (status == CUDA_ERROR_INVALID_VALUE)
            continue;
        ok(status);
        ok(cuMemcpyDtoH_v2(&got, copy, sizeof got));
        same(got, i);
    }
    ok(cuCtxSynchronize());
    ok(cuMemHostUnregister(memory));
    munmap(memory, 2 * page);
}

/* A case in which the GPU's process has a mapping at the program's address. */
static void registered_elsewhere(void)
{
    const size_t bytes = 2 << 20;
    float values[2] = { 0 };
    CUdeviceptr taken;
    ok(cuMemAddressReserve(&taken, bytes, 0, 0, 0));
    void *wanted = (void *)(uintptr_t)taken;
    float *memory = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED) /* the process is the program's own */
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED);
    ok(cuMemHostRegister_v2(memory, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
    CUdeviceptr p = on_device(memory);
    memory[0] = 3;
    ok(cuMemcpyAsync(a, p, sizeof(float), stream));
    ok(cuMemcpyAsync(p + sizeof(float), a, sizeof(float), stream));
    const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .srcDevice = p,
                                 .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .dstDevice = p,
                                 .dstXInBytes = 2 * sizeof(float),
                                 .WidthInBytes = 2 * sizeof(float),
                                 .Height = 1 };
    ok(cuMemcpy2DAsync_v2(&copy, stream));
    ok(cuMemcpyAsync((uintptr_t)values, p + 2 * sizeof(float), sizeof values, stream));
    ok(cuStreamSynchronize(stream));
    same(memory[1], 3);
    same(memory[2], 3);
    same(values[1], 3);
    ok(cuMemHostUnregister(memory));
    munmap(memory, bytes);
    ok(cuMemAddressFree(taken, bytes));
}

/* Memory that the program does not have, or not all of it, and unknown flags. */
static void registered_wrongly(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED && !munmap(memory + page, page));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(memory, 2 * page, 0));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(memory + page, page, 0));
    gives(CUDA_ERROR_INVALID_VALUE,
          cuMemHostRegister_v2(memory, page, 0x100 | CU_MEMHOSTREGISTER_IOMEMORY));
    ok(cuMemHostRegister_v2(memory, page, 0));
    ok(cuMemHostUnregister(memory));
    check(!munmap(memory, page));
}

/* A copy that begins in registered memory ends there. One that begins before may end anywhere. */
static void registered_in_part(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr p = allocate(4 * page);
    check(memory != MAP_FAILED);
    ok(cuMemHostRegister_v2(memory + page, page, 0));
    ok(cuMemHostRegister_v2(memory + 2 * page, page, 0));
    uint8_t *inside = memory + 2 * page - 100;
    ok(cuMemcpyHtoDAsync_v2(p, inside, 100, stream));
    ok(cuStreamSynchronize(stream)); /* the null stream does not wait for it */
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync_v2(p, inside, 101, stream));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync_v2(inside, p, 101, stream));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, inside, 101));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(inside, p, 101));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyAsync(p, (uintptr_t)inside, 101, stream));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy((uintptr_t)inside, p, 101));
    ok(cuMemcpyHtoD_v2(p, memory, 3 * page));
    ok(cuMemcpyDtoHAsync_v2(memory, p, 2 * page, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuCtxSetCurrent(NULL)); /* unregistering needs no context */
    gives(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory));
    ok(cuMemHostUnregister(memory + page));
    ok(cuCtxSetCurrent(context));
    ok(cuMemHostUnregister(memory + 2 * page));
    ok(cuMemFree_v2(p));
    munmap(memory, 4 * page);
}

/* The errors of driver 580: for memory that CUDA allocated, and inside of a registration. */
static void registered_in_other_memory(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *allocated = allocate_pinned(4 * page);
    uint8_t *memory =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED);
    gives(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(allocated + page, page, 0));
    gives(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory));
    ok(cuMemHostRegister_v2(memory + page, 2 * page, 0));
    gives(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemHostUnregister(memory + page + 1));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemHostUnregister(memory + 3 * page - 1));
    gives(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory + 3 * page));
    ok(cuMemHostUnregister(memory + page));
    gives(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory + page));
    ok(cuMemFreeHost(allocated));
    check(!munmap(memory, 4 * page));
}

static CUresult copy_described(CUdeviceptr p, const CUmemcpyAttributes *attributes, size_t second,
                               size_t count)
{
    CUdeviceptr to[] = { p, p + 8, p + 16 }, from[] = { p + 24, p + 32, p + 40 };
    size_t bytes[] = { 8, 8, 8 }, begins[] = { 0, second };
    return cuMemcpyBatchAsync_v2(to, from, bytes, COUNT(to), (CUmemcpyAttributes *)attributes,
                                 begins, count, stream);
}

/* A batch's attributes: an order of access that does not exist, and copies in a wrong order. */
static void batch_attributes(void)
{
    CUdeviceptr p = allocate(64);
    const CUmemcpyAttributes good[] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
                                        { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY } };
    const CUmemcpyAttributes none[] = { good[0],
                                        { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID } };
    const CUmemcpyAttributes high[] = { good[0], { .srcAccessOrder = 4 } };
    ok(copy_described(p, good, 1, 2));
    ok(copy_described(p, good, 2, 2));
    gives(CUDA_ERROR_INVALID_VALUE, copy_described(p, good, 0, 2));
    gives(CUDA_ERROR_INVALID_VALUE, copy_described(p, good, 3, 2));
    gives(CUDA_ERROR_INVALID_VALUE, copy_described(p, none, 1, 2));
    gives(CUDA_ERROR_INVALID_VALUE, copy_described(p, high, 1, 2));
    ok(copy_described(p, none, 1, 1));
    ok(cuStreamSynchronize(stream));
    ok(cuMemFree_v2(p));
}

/* The second range may be the larger or the smaller one. */
static void registered_twice(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED);
    ok(cuMemHostRegister_v2(memory + page, 2 * page, 0));
    gives(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(memory, 4 * page, 0));
    gives(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(memory, 2 * page, 0));
    gives(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
          cuMemHostRegister_v2(memory + 2 * page, page, 0));
    ok(cuMemHostRegister_v2(memory, page, 0));
    ok(cuMemHostRegister_v2(memory + 3 * page, page, 0));
    for (size_t at = 0; at < 4; at += at ? 2 : 1)
        ok(cuMemHostUnregister(memory + at * page));
    check(!munmap(memory, 4 * page));
}

/* Whether the GPU has written a value. There is no order, so ThreadSanitizer would complain. */
__attribute__((noinline, no_sanitize("thread"))) static bool has_come(const volatile float *cell,
                                                                      float value)
{
    return *cell == value;
}

/* A program that frees memory which is still registered goes on, whatever else is registered. */
static void registered_and_unmapped(void)
{
    const size_t bytes = 1 << 20;
    float *gone = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    float *left = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(gone != MAP_FAILED && left != MAP_FAILED);
    ok(cuMemHostRegister_v2(gone, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
    ok(cuMemHostRegister_v2(left, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
    CUdeviceptr written = on_device(gone), p = on_device(left);
    ok(launch_fill(written, 4, 10, stream));
    ok(cuStreamSynchronize(stream));
    same(gone[9], 4);
    ok(launch_fill(written, 5, 10, stream));
    for (int i = 0; i < 100 && !has_come(&gone[9], 5); i++)
        sleep_ms(5); /* remotely the value comes with a call that waits, which finds no memory */
    check(!munmap(gone, bytes));
    left[5] = 3;
    ok(launch_saxpy(10, 2, p, a, stream));
    ok(cuStreamSynchronize(stream));
    float values[6];
    ok(cuMemcpyDtoH_v2(values, a, sizeof values));
    same(values[5], 7);
    ok(launch_fill(p, 8, 5, stream));
    ok(cuStreamSynchronize(stream));
    same(left[4], 8);
    ok(cuMemHostUnregister(gone));
    ok(cuMemHostUnregister(left));
    check(!munmap(left, bytes));
}

/* With copies on two hosts a kernel would wait forever for what another process writes into a
 * file: that is refused. Memory without a file for the server is refused, too. */
static CUresult wanted_of_file(int fd)
{
    const char *server = getenv("AITHERION_SERVER"); /* without one the driver itself is asked */
    struct statfs system;
    bool is_in_memory = !fstatfs(fd, &system) && system.f_type == TMPFS_MAGIC;
    return !server || !*server || (is_in_memory && has_shared_pages()) ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_NOT_SUPPORTED;
}

/* For kernels, and for copies, for which a mirror is enough. */
static void register_file(float *memory, size_t bytes, CUresult wanted)
{
    CUdeviceptr device;
    check(memory != MAP_FAILED);
    gives(wanted, cuMemHostRegister_v2(memory, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
    if (wanted == CUDA_SUCCESS)
        ok(cuMemHostUnregister(memory));
    ok(cuMemHostRegister_v2(memory, bytes, 0));
    ok(launch_fill(a, 7, 10, stream));
    ok(cuMemcpyDtoHAsync_v2(memory, a, 10 * sizeof *memory, stream));
    ok(cuStreamSynchronize(stream));
    same(memory[9], 7);
    gives(wanted, cuMemHostGetDevicePointer_v2(&device, memory, 0));
    ok(cuMemHostUnregister(memory));
    munmap(memory, bytes);
}

enum { FILE_BYTES = 5000 }; /* no whole pages */

static void registered_files(void)
{
    const int protection = PROT_READ | PROT_WRITE;
    int memory = memfd_create("test", MFD_CLOEXEC), disk = fileno(tmpfile());
    check(memory >= 0 && !ftruncate(memory, FILE_BYTES));
    check(disk >= 0 && !ftruncate(disk, FILE_BYTES));
    register_file(mmap(NULL, FILE_BYTES, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0), FILE_BYTES,
                  wanted_of_file(-1));
    register_file(mmap(NULL, FILE_BYTES, protection, MAP_SHARED, memory, 0), FILE_BYTES,
                  wanted_of_file(memory));
    if (wanted_of_file(disk)) /* since Linux 6.5 no driver may pin pages of a file on a disk */
        register_file(mmap(NULL, FILE_BYTES, protection, MAP_SHARED, disk, 0), FILE_BYTES,
                      CUDA_ERROR_NOT_SUPPORTED);
    int *words = mmap(NULL, FILE_BYTES, protection, MAP_SHARED, memory, 0);
    close(memory); /* and no process has it open */
    check(words != MAP_FAILED);
    gives(wanted_of_file(-1),
          cuMemHostRegister_v2(words, FILE_BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
}

/* Two parts in one page, behind the file's first page: the server maps each at another address. */
static void parts_of_a_file(void)
{
    enum { PART_BYTES = 100 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = memfd_create("test", MFD_CLOEXEC);
    check(fd >= 0 && !ftruncate(fd, (off_t)(3 * page)));
    float *whole = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    float *parts[] = { whole + page / sizeof *whole + 5, whole + page / sizeof *whole + 50 };
    check(whole != MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        parts[i][9] = 3;
        ok(cuMemHostRegister_v2(parts[i], PART_BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
    }
    for (int i = 0; i < 2; i++) {
        ok(launch_fill(on_device(parts[i]), (float)(7 + i), 9, stream));
        ok(launch_saxpy(10, 2, on_device(parts[i]), a, stream)); /* 1 + 2 * 7 + 2 * 8 */
        ok(cuMemcpyDtoHAsync_v2(parts[i] + 10, a + 8 * sizeof(float), 2 * sizeof(float), stream));
    }
    ok(cuStreamSynchronize(stream));
    for (int i = 0; i < 2; i++) {
        same(parts[i][8], 7 + i);
        same(parts[i][9], 3);
        same(parts[i][10], i ? 31 : 15);
        same(parts[i][11], i ? 13 : 7);
        ok(cuMemHostUnregister(parts[i]));
    }
    same(parts[0][8], 7);
    munmap(whole, 3 * page);
    close(fd);
}

static void file_too_short(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = memfd_create("test", MFD_CLOEXEC);
    check(fd >= 0 && !ftruncate(fd, 1));
    float *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED);
    gives(CUDA_ERROR_INVALID_VALUE,
          cuMemHostRegister_v2(memory, 2 * page, CU_MEMHOSTREGISTER_DEVICEMAP));
    gives(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory));
    ok(cuMemHostRegister_v2(memory, page, CU_MEMHOSTREGISTER_DEVICEMAP));
    ok(cuMemHostUnregister(memory));
    munmap(memory, 2 * page);
    close(fd);
}

static void managed(void)
{
    CUdeviceptr p;
    ok(cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL));
    float *values = (float *)(uintptr_t)p;
    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    ok(launch_saxpy(N, 2, p, a, stream)); /* 1 + 2 i */
    ok(launch_saxpy(N, 1, a, p, stream)); /* i + 1 + 2 i */
    ok(cuStreamSynchronize(stream));
    same(values[0], 1);
    same(values[N - 1], 3 * (N - 1) + 1);
    values[0] = 100; /* and on */
    ok(launch_saxpy(1, 1, p, b, stream));
    ok(cuStreamSynchronize(stream));
    same(all_of(b, 1), 101);
    ok(cuMemFree_v2(p));
}

/* Between launches without a wait. */
static void managed_meanwhile(void)
{
    enum { TIMES = 8 };
    CUdeviceptr p;
    ok(cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL));
    float *values = (float *)(uintptr_t)p;
    for (size_t i = 0; i < TIMES; i++) {
        values[i] = 5;
        ok(launch_saxpy(1, 1, p + i * sizeof(float), b + i * sizeof(float), stream)); /* 1 + 5 */
    }
    ok(cuStreamSynchronize(stream));
    same(all_of(b, TIMES), 6);
    ok(cuMemFree_v2(p));
}

/* Only written pages need room. */
static void managed_beyond_the_host(void)
{
    struct sysinfo host;
    CUdeviceptr p;
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "r");
    int mode = file ? fgetc(file) : '0';
    if (file)
        fclose(file);
    if (mode == '2')
        skip("this system gives no more memory than it has");
    check(!sysinfo(&host));
    size_t bytes = (size_t)(host.totalram + host.totalswap) * host.mem_unit + (1 << 30);
    ok(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    *(float *)(uintptr_t)(p + bytes / 2) = 1;
    ok(cuMemFree_v2(p));
}

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    check(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* There is room for the memory, but not for its shadow copy as well. */
static void managed_without_room(void)
{
    const size_t bytes = (size_t)256 << 20, before = address_space();
    struct rlimit room, all;
    CUdeviceptr p;
    check(!getrlimit(RLIMIT_AS, &all));
    room = all;
    room.rlim_cur = before + bytes * 3 / 2;
    check(!setrlimit(RLIMIT_AS, &room));
    CUresult status = cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL);
    check(!setrlimit(RLIMIT_AS, &all));
    if (status != CUDA_ERROR_OUT_OF_MEMORY) {
        ok(status);
        ok(cuMemFree_v2(p));
    }
    check(address_space() < before + bytes / 2);
    ok(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemFree_v2(p));
}

/* Pieces that share a page are used and freed independently. */
static void managed_pieces(void)
{
    enum { PIECES = 40 };
    CUdeviceptr pieces[PIECES];
    for (int i = 0; i < PIECES; i++) {
        ok(cuMemAllocManaged(&pieces[i], (size_t)(i + 1) * sizeof(float), CU_MEM_ATTACH_GLOBAL));
        *(float *)(uintptr_t)pieces[i] = (float)i;
    }
    for (int i = 0; i < PIECES; i += 2)
        ok(cuMemFree_v2(pieces[i]));
    for (int i = 1; i < PIECES; i += 2)
        ok(launch_saxpy(1, 1, a, pieces[i], stream)); /* + 1 */
    ok(cuStreamSynchronize(stream));
    for (int i = 1; i < PIECES; i += 2)
        same(*(float *)(uintptr_t)pieces[i], i + 1);
    for (int i = 1; i < PIECES; i += 2)
        ok(cuMemFree_v2(pieces[i]));
}

/* Copies rows of pageable memory into memory that the program has written. */
static void managed_rows(void)
{
    enum { WIDTH = 10, HEIGHT = 20 };
    float rows[HEIGHT][WIDTH];
    CUdeviceptr p;
    ok(cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL));
    float *values = (float *)(uintptr_t)p;
    for (int round = 1; round < 4; round++) {
        for (int i = 0; i < N; i++)
            values[i] = (float)(100 * round);
        for (int i = 0; i < HEIGHT * WIDTH; i++)
            rows[i / WIDTH][i % WIDTH] = (float)(round * i);
        const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                                     .srcHost = rows,
                                     .srcPitch = sizeof *rows,
                                     .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                     .dstDevice = p,
                                     .dstPitch = 2 * sizeof *rows,
                                     .WidthInBytes = sizeof *rows,
                                     .Height = HEIGHT };
        ok(cuMemcpy2D_v2(&copy));
        for (int y = 0; y < HEIGHT; y++) {
            same(values[2 * WIDTH * y + 3], round * (WIDTH * y + 3));
            same(values[2 * WIDTH * y + WIDTH], 100 * round);
        }
        ok(cuMemcpyHtoD_v2(p, rows, sizeof rows));
        same(values[HEIGHT * WIDTH - 1], round * (HEIGHT * WIDTH - 1));
    }
    ok(cuMemFree_v2(p));
}

/* Both sides write into one allocation, each its own bytes. */
static void side_by_side(void)
{
    float *host = allocate_pinned(16 * sizeof(float));
    const CUdeviceptr first = on_device(host);
    for (int i = 0; i < 16; i++)
        host[i] = 1;
    ok(launch_fill(first + sizeof(float), 7, 1, stream)); /* the second is the GPU's */
    host[0] = 5;
    ok(launch_saxpy(1, 1, a, first + 2 * sizeof(float), stream));
    ok(cuStreamSynchronize(stream));
    same(host[0], 5);
    same(host[1], 7);
    same(host[2], 2);
    host[3] = 9;
    ok(launch_saxpy(4, 1, first, b, stream));
    ok(cuStreamSynchronize(stream));
    same(host[1], 7);
    float got[4];
    ok(cuMemcpyDtoH_v2(got, b, sizeof got));
    same(got[0], 6);
    same(got[1], 8);
    same(got[3], 10);
    ok(cuMemFreeHost(host));
}

/* A later copy on the stream takes what a kernel wrote into pinned memory. */
static void copied_after_a_kernel(void)
{
    float *host = allocate_pinned(BYTES);
    for (int round = 1; round < 4; round++) {
        host[0] = -1;
        ok(launch_fill((CUdeviceptr)(uintptr_t)host, (float)round, N, stream));
        ok(cuMemcpyHtoDAsync_v2(b, host, BYTES, stream));
        ok(cuStreamSynchronize(stream));
        same(all_of(b, N), round);
    }
    ok(cuMemFreeHost(host));
}

/* ---- any work on any memory, in any order, against what it must come to ---- */

enum { KINDS = 8, PAGEABLE = KINDS - 1, CELLS = 512, STEPS = 120 };

static struct {
    float *memory[KINDS]; /* device twice, managed twice, pinned, mapped, registered, pageable */
    float wanted[KINDS][CELLS];
    uint64_t random;
} mix;

static unsigned int any(unsigned int below)
{
    mix.random = mix.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned int)(mix.random >> 33) % below;
}

static CUdeviceptr cell(unsigned int kind, unsigned int at)
{
    return (uintptr_t)(mix.memory[kind] + at);
}

static void make_mix(void)
{
    CUdeviceptr managed;
    for (int i = 0; i < 2; i++) {
        mix.memory[i] = (float *)(uintptr_t)allocate(CELLS * sizeof(float));
        ok(cuMemAllocManaged(&managed, CELLS * sizeof(float), CU_MEM_ATTACH_GLOBAL));
        mix.memory[2 + i] = (float *)(uintptr_t)managed;
    }
    mix.memory[4] = allocate_pinned(CELLS * sizeof(float));
    ok(cuMemHostAlloc((void **)&mix.memory[5], CELLS * sizeof(float), CU_MEMHOSTALLOC_DEVICEMAP));
    mix.memory[6] = aligned_alloc(4096, 4096);
    ok(cuMemHostRegister_v2(mix.memory[6], CELLS * sizeof(float), CU_MEMHOSTREGISTER_DEVICEMAP));
    mix.memory[PAGEABLE] = malloc(CELLS * sizeof(float));
    for (unsigned int i = 0; i < KINDS; i++)
        ok(cuMemcpy(cell(i, 0), (uintptr_t)mix.wanted[i], CELLS * sizeof(float)));
    ok(cuCtxSynchronize());
}

static void host_step(unsigned int kind, unsigned int at, unsigned int n, float value)
{
    ok(cuCtxSynchronize());
    for (unsigned int i = 0; i < CELLS; i++)
        same(mix.memory[kind][i], mix.wanted[kind][i]);
    for (unsigned int i = 0; i < n; i++)
        mix.memory[kind][at + i] = mix.wanted[kind][at + i] = value + (float)(i % 5);
}

/* The memory that the program may name as its own. */
static CUmemorytype any_type(unsigned int kind)
{
    return kind > 1 && any(2) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
}

static void copy_rows(unsigned int to, unsigned int from)
{
    const unsigned int width = 1 + any(8), height = 1 + any(12);
    const CUDA_MEMCPY2D copy = { .srcMemoryType = any_type(from),
                                 .srcHost = mix.memory[from],
                                 .srcDevice = cell(from, 0),
                                 .srcPitch = 16 * sizeof(float),
                                 .dstMemoryType = any_type(to),
                                 .dstHost = mix.memory[to],
                                 .dstDevice = cell(to, 0),
                                 .dstPitch = 24 * sizeof(float),
                                 .WidthInBytes = width * sizeof(float),
                                 .Height = height };
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpy2D_v2(&copy));
    ok(cuStreamSynchronize(NULL));
    for (unsigned int y = 0; y < height; y++)
        memcpy(&mix.wanted[to][24 * y], &mix.wanted[from][16 * y], width * sizeof(float));
}

static void copy_now(unsigned int to, unsigned int from, unsigned int at, unsigned int n)
{
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpy(cell(to, at), cell(from, 0), n * sizeof(float)));
    ok(cuStreamSynchronize(NULL));
    memcpy(&mix.wanted[to][at], mix.wanted[from], n * sizeof(float));
}

static void gpu_step(unsigned int to, unsigned int from, unsigned int at, unsigned int n, float v)
{
    switch (any(4)) {
    case 0:
        ok(launch_fill(cell(to, at), v, (int)n, stream));
        for (unsigned int i = 0; i < n; i++)
            mix.wanted[to][at + i] = v;
        break;
    case 1:
        ok(cuMemsetD32Async(cell(to, at), 0, n, stream));
        memset(&mix.wanted[to][at], 0, n * sizeof(float));
        break;
    case 2:
        if (to == from)
            break;
        ok(cuMemcpyAsync(cell(to, at), cell(from, 0), n * sizeof(float), stream));
        memcpy(&mix.wanted[to][at], mix.wanted[from], n * sizeof(float));
        break;
    default: /* halves it first, so that the sums stay small */
        if (to == from)
            break;
        ok(launch_saxpy((int)n, -0.5F, cell(to, at), cell(to, at), stream));
        ok(launch_saxpy((int)n, 0.25F, cell(from, 0), cell(to, at), stream));
        for (unsigned int i = 0; i < n; i++) {
            mix.wanted[to][at + i] += -0.5F * mix.wanted[to][at + i];
            mix.wanted[to][at + i] += 0.25F * mix.wanted[from][i];
        }
    }
}

static void mixed(void)
{
    make_mix();
    for (mix.random = 1; mix.random < 5; mix.random++) {
        const uint64_t seed = mix.random;
        for (int i = 0; i < STEPS; i++) {
            unsigned int n = 1 + any(CELLS), at = any(CELLS - n + 1), to = any(KINDS),
                         from = any(KINDS), what = any(8);
            if (what == 0 && to > 1)
                host_step(to, at, n, (float)any(100));
            else if (what == 1 && to != from)
                copy_rows(to, from);
            else if (what == 2 && to != from)
                copy_now(to, from, at, n);
            else if (what > 2 && to != PAGEABLE && from != PAGEABLE)
                gpu_step(to, from, at, n, (float)any(100));
        }
        for (unsigned int i = 2; i < KINDS; i++)
            host_step(i, 0, 0, 0);
        mix.random = seed;
    }
}

static void managed_copies(void)
{
    CUdeviceptr p;
    float value = 0;
    ok(cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL));
    float *values = (float *)(uintptr_t)p;
    ok(cuMemsetD32_v2(p, 0x40400000, N)); /* 3.0 */
    ok(cuCtxSynchronize());
    same(values[N - 1], 3);
    values[N - 1] = 4;
    ok(cuMemcpyDtoD_v2(a, p, BYTES));
    ok(cuMemcpyDtoH_v2(&value, a + BYTES - sizeof value, sizeof value));
    same(value, 4);
    ok(cuMemcpyHtoD_v2(p, &(float){ 5 }, sizeof value));
    ok(cuCtxSynchronize());
    same(values[0], 5);
    ok(cuMemFree_v2(p));
}

/* Pointers stored in memory are valid on both sides. */
static void nested(void)
{
    float **list = allocate_pinned(4 * sizeof *list);
    float *values = allocate_pinned(4 * sizeof *values);
    CUdeviceptr from = on_device(list), managed_list, device_list = allocate(4 * sizeof *list);
    int n = 4;
    for (int i = 0; i < n; i++) {
        values[i] = (float)(i + 1);
        list[i] = &values[n - 1 - i];
    }
    ok(launch(kernel("gather"), n, stream, (void *[]){ &from, &a, &n }));
    ok(cuStreamSynchronize(stream));
    float got[4];
    ok(cuMemcpyDtoH_v2(got, a, sizeof got));
    same(got[0], 4);
    same(got[3], 1);
    ok(cuMemcpyHtoD_v2(device_list, list, 4 * sizeof *list)); /* from the device to the host */
    values[3] = 40;
    ok(launch(kernel("gather"), n, stream, (void *[]){ &device_list, &a, &n }));
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpyDtoH_v2(got, a, sizeof got));
    same(got[0], 40);
    ok(cuMemAllocManaged(&managed_list, 4 * sizeof *list, CU_MEM_ATTACH_GLOBAL));
    memcpy((void *)(uintptr_t)managed_list, list, 4 * sizeof *list);
    ok(launch(kernel("gather"), n, stream, (void *[]){ &managed_list, &b, &n }));
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpyDtoH_v2(got, b, sizeof got));
    same(got[0], 40);
    ok(cuMemFree_v2(managed_list));
}

/* As NCCL does: a kernel keeps running while the host writes the value that it waits for. */
static void polled(void)
{
    int *words = allocate_pinned(2 * sizeof *words), value = 5;
    CUdeviceptr flag = on_device(&words[0]), answer = on_device(&words[1]);
    ok(launch(kernel("await_value"), 1, stream, (void *[]){ &flag, &value, &answer }));
    sleep_ms(20);
    gives(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(&words[0], value, __ATOMIC_RELEASE);
    check(becomes(&words[1], value)); /* without a call of the driver */
    ok(cuStreamSynchronize(stream));
    ok(cuMemFreeHost(words));
}

static void *open_later(void *word)
{
    sleep_ms(100);
    __atomic_store_n((int *)word, 5, __ATOMIC_RELEASE);
    return NULL;
}

/* The stream is held while the bytes are taken: what they pass through must not be filled again
 * before it is read. */
static void taken_behind_a_kernel(void)
{
    enum { LENGTH = 24 * 1024 * 1024 };
    int *words = allocate_pinned(2 * sizeof *words), value = 5;
    CUdeviceptr flag = on_device(&words[0]), answer = on_device(&words[1]), p = allocate(LENGTH);
    unsigned char *from = malloc(LENGTH), *to = calloc(1, LENGTH);
    pthread_t opener;
    check(from && to);
    for (size_t i = 0; i < LENGTH; i++)
        from[i] = (unsigned char)(i * 7 + i / 4093); /* no two parts are the same */
    ok(launch(kernel("await_value"), 1, stream, (void *[]){ &flag, &value, &answer }));
    check(!pthread_create(&opener, NULL, open_later, words));
    ok(cuMemcpyHtoDAsync_v2(p, from, LENGTH, stream));
    ok(cuMemcpyDtoHAsync_v2(to, p, LENGTH, stream));
    ok(cuStreamSynchronize(stream));
    check(!memcmp(from, to, LENGTH));
    pthread_join(opener, NULL);
    ok(cuMemFree_v2(p));
    ok(cuMemFreeHost(words));
    free(from);
    free(to);
}

/* ---- what pointers say ---- */

static void attributes(void)
{
    unsigned int type = 0, is_managed = 1, access = 0;
    int device = -1;
    CUdeviceptr start = 0;
    size_t bytes = 0;
    void *host = NULL;
    CUcontext of = NULL;
    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 8));
    same(type, CU_MEMORYTYPE_DEVICE);
    ok(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, a));
    check(of == context);
    CUpointer_attribute list[] = { CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED };
    void *out[] = { &device, &start, &bytes, &is_managed };
    ok(cuPointerGetAttributes(COUNT(list), list, out, a + 8));
    same(device, 0);
    check(start == a);
    same(bytes, BYTES);
    same(is_managed, 0);
    float *pinned = allocate_pinned(BYTES);
    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                             (CUdeviceptr)(uintptr_t)pinned));
    same(type, CU_MEMORYTYPE_HOST);
    ok(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, on_device(pinned + 2)));
    check(host == pinned + 2);
    ok(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, on_device(pinned)));
    same(access, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    ok(cuMemFreeHost(pinned));
}

static void attributes_of_strangers(void)
{
    static float pageable;
    unsigned int type = 77;
    CUpointer_attribute list[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE };
    void *out[] = { &type };
    CUdeviceptr p = (CUdeviceptr)(uintptr_t)&pageable;
    gives(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    ok(cuPointerGetAttributes(COUNT(list), list, out, p)); /* as programs ask */
    same(type, 0);
}

static void attributes_of_managed(void)
{
    unsigned int type, is_managed;
    CUdeviceptr p;
    ok(cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL));
    ok(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    same(is_managed, 1);
    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    same(type, CU_MEMORYTYPE_DEVICE);
    ok(cuMemFree_v2(p));
}

/* Copies of more than a part of 8 MiB, from the middle of an array on. */
static void large_arrays(void)
{
    enum { CELL = 16, WIDTH = 15 * 65536, OFFSET = 3 * CELL, LARGE = (WIDTH - 7) * CELL };
    const CUDA_ARRAY_DESCRIPTOR asked = { .Width = WIDTH,
                                          .Format = CU_AD_FORMAT_FLOAT,
                                          .NumChannels = 4 };
    uint8_t *from = malloc(LARGE), *to = malloc(LARGE), edge[OFFSET] = { 0 };
    CUarray array;
    if (cuArrayCreate_v2(&array, &asked) == CUDA_ERROR_INVALID_VALUE)
        skip("an array of one dimension cannot have 15 MiB here");
    check(from && to);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < LARGE; i++)
            from[i] = (uint8_t)(i * 7 + i / 4099 + (size_t)turn);
        memset(to, 0, LARGE);
        ok(cuMemcpyHtoA_v2(array, 0, edge, OFFSET));
        if (turn) {
            ok(cuMemcpyHtoAAsync_v2(array, OFFSET, from, LARGE, stream));
            ok(cuMemcpyAtoHAsync_v2(to, array, OFFSET, LARGE, stream));
            ok(cuStreamSynchronize(stream));
        } else {
            ok(cuMemcpyHtoA_v2(array, OFFSET, from, LARGE));
            ok(cuMemcpyAtoH_v2(to, array, OFFSET, LARGE));
        }
        check(!memcmp(from, to, LARGE));
        ok(cuMemcpyAtoH_v2(to, array, 0, OFFSET + 1));
        check(!memcmp(to, edge, OFFSET) && to[OFFSET] == from[0]);
    }
    ok(cuArrayDestroy(array));
    free(from);
    free(to);
}

/* Each level is an array of half the size and has cells of its own. */
static void mipmapped(void)
{
    enum { WIDTH = 8, LEVELS = 3 };
    const CUDA_ARRAY3D_DESCRIPTOR asked = {
        .Width = WIDTH, .Height = WIDTH, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
    };
    CUmipmappedArray whole;
    CUarray level;
    ok(cuMipmappedArrayCreate(&whole, &asked, LEVELS));
    for (unsigned int i = 0; i < LEVELS; i++) {
        CUDA_ARRAY_DESCRIPTOR told;
        float from[WIDTH], to[WIDTH] = { 0 };
        ok(cuMipmappedArrayGetLevel(&level, whole, i));
        ok(cuArrayGetDescriptor_v2(&told, level));
        same(told.Width, WIDTH >> i);
        same(told.Height, WIDTH >> i);
        for (int j = 0; j < WIDTH; j++)
            from[j] = (float)(10 * i) + (float)j;
        size_t row = sizeof *from * told.Width;
        ok(cuMemcpyHtoA_v2(level, 0, from, row));
        ok(cuMemcpyAtoH_v2(to, level, 0, row));
        check(!memcmp(from, to, row));
    }
    gives(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, whole, LEVELS));
    ok(cuMipmappedArrayDestroy(whole));
}

/* Data that the program writes behind a wait counts, even if nothing was left to wait for. */
static void written_at_rest(void)
{
    enum { MANY = 1 << 18 };
    CUdeviceptr managed, sum = allocate(sizeof(float));
    float got;
    ok(cuMemAllocManaged(&managed, MANY * sizeof(float), CU_MEM_ATTACH_GLOBAL));
    ok(launch_fill(sum, 0, 1, stream));
    ok(cuCtxSynchronize());
    for (int turn = 1; turn <= 5; turn++) {
        for (int i = 0; i < MANY; i++)
            ((volatile float *)(uintptr_t)managed)[i] = (float)turn;
        ok(launch_saxpy(1, 1, managed, sum, stream));
        ok(cuMemcpyDtoHAsync_v2(&got, sum, sizeof got, stream));
        ok(cuStreamSynchronize(stream));
        same(got, turn * (turn + 1) / 2);
    }
    ok(cuMemFree_v2(managed));
    ok(cuMemFree_v2(sum));
}

/* Returns memory whose second half is not there. */
static char *half_there(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED);
    check(!munmap(memory + bytes / 2, bytes / 2));
    return memory;
}

static void copies_beyond(size_t bytes)
{
    char *memory = half_there(bytes);
    CUdeviceptr p = allocate(bytes);
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR row = {
        .Width = bytes / 2048, .Height = 2048 / 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
    };
    CUDA_MEMCPY2D in = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = memory,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = p,
                         .WidthInBytes = bytes / 4,
                         .Height = 4 };
    CUDA_MEMCPY2D out = { .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = memory,
                          .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = p,
                          .WidthInBytes = bytes / 4,
                          .Height = 4 };
    ok(cuArrayCreate_v2(&array, &row));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, memory, bytes));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync_v2(p, memory, bytes, stream));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(memory, p, bytes));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync_v2(memory, p, bytes, stream));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy((uintptr_t)p, (uintptr_t)memory, bytes));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyAsync((uintptr_t)memory, (uintptr_t)p, bytes, stream));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_v2(array, 0, memory + bytes / 2, 4));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoH_v2(memory + bytes / 2, array, 0, 4));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&in));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&out));
    ok(cuMemcpyHtoD_v2(p, memory, bytes / 2)); /* and the half that is there */
    ok(cuMemcpyDtoH_v2(memory, p, bytes / 2));
    ok(cuMemFree_v2(p));
}

static bool is_the_simulated_driver_itself(void)
{
    return is_simulated() && !getenv("AITHERION_SERVER");
}

static void beyond_the_memory(void)
{
    if (is_the_simulated_driver_itself())
        skip("the simulated driver reads what it is given");
    copies_beyond(12 << 20);
    if (getenv("AITHERION_SERVER")) /* a GPU's driver may copy a little itself */
        copies_beyond(1 << 16);
}

static void wrong_direction(void)
{
    enum { MOST = 1 << 20 };
    if (is_the_simulated_driver_itself())
        skip("the simulated driver reads what it is given");
    const char *text = "a constant";
    char *memory = malloc(MOST);
    CUdeviceptr p = allocate(MOST);
    check(memory != NULL);
    for (size_t bytes = 16; bytes <= MOST; bytes *= MOST / 16) {
        gives(CUDA_ERROR_INVALID_VALUE,
              cuMemcpyHtoD_v2((uintptr_t)memory, (void *)(uintptr_t)p, bytes));
        gives(CUDA_ERROR_INVALID_VALUE,
              cuMemcpyDtoH_v2((void *)(uintptr_t)p, (uintptr_t)memory, bytes));
    }
    if (getenv("AITHERION_SERVER"))
        gives(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2((void *)(uintptr_t)text, p, 4));
    free(memory);
    ok(cuMemFree_v2(p));
}

/* A run on a GPU must show which other functions need no context. */
static void freed_without_a_context(void)
{
    void *memory = allocate_pinned(1 << 20), *other = allocate_pinned(4096);
    ok(cuCtxSetCurrent(NULL));
    ok(cuMemFreeHost(memory));
    gives(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(memory));
    ok(cuMemFreeHost(other));
    CUcontext now;
    ok(cuCtxGetCurrent(&now));
    check(!now);
}

/* They may make the server register memory with the driver, which would break the capture. */
static void large_beside_a_capture(void)
{
    enum { LARGE = 6 << 20, ROUNDS = 3, TIMES = 6 };
    unsigned char *bytes = malloc(LARGE), *got = malloc(LARGE);
    CUdeviceptr p = allocate(LARGE), small = allocate(sizeof(float));
    CUstream captured, other;
    CUgraph graph;
    check(bytes && got);
    ok(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    for (int round = 1; round <= ROUNDS; round++) {
        memset(bytes, round, LARGE);
        ok(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
        ok(launch_fill(small, 1, 1, captured));
        for (int i = 0; i < TIMES; i++)
            ok(cuMemcpyHtoDAsync_v2(p, bytes, LARGE, other));
        ok(cuStreamEndCapture(captured, &graph));
        check(graph);
        ok(cuGraphDestroy(graph));
        ok(cuStreamSynchronize(other));
        ok(cuMemcpyDtoH_v2(got, p, LARGE));
        check(!memcmp(got, bytes, LARGE));
    }
    free(bytes);
    free(got);
    ok(cuMemFree_v2(p));
    ok(cuMemFree_v2(small));
}

static const struct test tests[] = {
    { "pinned memory is freed without a context", freed_without_a_context, 0 },
    { "a copy of memory that is not there is refused", beyond_the_memory, 0 },
    { "a copy in the wrong direction is refused", wrong_direction, 0 },
    { "12 MiB go there and back", there_and_back, 0 },
    { "large copies keep their place among other work", large_in_order, 0 },
    { "threads copy much at once, in every way", crowded, 0 },
    { "pageable copies of any length", any_length, 0 },
    { "a copy of more than the memory", more_than_there_is, 0 },
    { "rows of more than the allocation are refused", more_rows_than_there_are, 0 },
    { "pinned memory's address is the GPU's too", pinned_for_device, 0 },
    { "cuMemcpy goes by the addresses", by_address, 0 },
    { "pageable memory is taken at the call", pageable_source, 0 },
    { "pinned memory is read when its turn comes", pinned_source, 0 },
    { "a host function finds what was copied before it", pinned_target, 0 },
    { "data is visible after an event, or a query", arrives_with_events, 0 },
    { "data is visible after a stream that waited for it", arrives_by_another_stream, 0 },
    { "copies of two dimensions", two_dimensions, 0 },
    { "copies to and from an array", arrays, 0 },
    { "batches of copies of three dimensions", batch, 0 },
    { "large copies to and from an array", large_arrays, 0 },
    { "an array of levels", mipmapped, 0 },
    { "sets of 8, 16 and 32 bits", sets, 0 },
    { "allocated memory is counted", counted, 0 },
    { "more than the device has is out of memory", too_much, 0 },
    { "ranges are known", ranges, 0 },
    { "mapped memory is seen on both sides", mapped, 0 },
    { "pinned memory has one address", one_address, 0 },
    { "pinned memory has flags", flags_of_pinned, 0 },
    { "registered memory is seen on both sides", registered, 0 },
    { "a copy of more than is registered takes what the GPU wrote", more_than_registered, 0 },
    { "registered memory may have another address there", registered_elsewhere, 0 },
    { "memory that does not exist is not registered", registered_wrongly, 0 },
    { "registering and unregistering in other memory", registered_in_other_memory, 0 },
    { "a copy does not leave registered memory", registered_in_part, 0 },
    { "attributes of a batch of copies", batch_attributes, 0 },
    { "memory is registered once", registered_twice, 0 },
    { "registered memory may be unmapped", registered_and_unmapped, ONLY_SIMULATED },
    { "files are registered where the GPU can have them", registered_files, 0 },
    { "parts of a file are registered", parts_of_a_file, SHARED_PAGES },
    { "a file that is too short is not registered", file_too_short, SHARED_PAGES | ONLY_SIMULATED },
    { "managed memory is seen on both sides", managed, 0 },
    { "a little managed memory is written while the GPU works", managed_meanwhile, 0 },
    { "managed memory may be more than the host's", managed_beyond_the_host, ONLY_SIMULATED },
    { "managed memory that the program has no room for is freed", managed_without_room,
      ONLY_SIMULATED },
    { "small pieces of managed memory live side by side", managed_pieces, 0 },
    { "rows go into managed memory", managed_rows, 0 },
    { "large copies beside a capture leave it whole", large_beside_a_capture, ONLY_SIMULATED },
    { "both sides write into one piece of memory", side_by_side, 0 },
    { "a copy takes what a kernel wrote into pinned memory", copied_after_a_kernel, 0 },
    { "any work on any memory comes out right", mixed, SAME_PLACES },
    { "managed memory can be copied", managed_copies, 0 },
    { "nested pointers work", nested, 0 },
    { "a kernel sees what the host writes while it runs", polled, SHARED_PAGES | SAME_PLACES },
    { "managed memory is written after a stream that rests", written_at_rest, 0 },
    { "pageable bytes are taken while the stream is held", taken_behind_a_kernel,
      SHARED_PAGES | SAME_PLACES },
    { "pointers have attributes", attributes, 0 },
    { "unknown pointers are no error", attributes_of_strangers, 0 },
    { "managed pointers are reported as managed", attributes_of_managed, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
