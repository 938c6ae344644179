/* Memory that the program and the GPU write at the same time. */
#include "config.h"

#include "gpu.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1024 * 1024, LARGE = 8 * MIB, CELLS = LARGE / sizeof(float), TIMES = 16 };

static CUstream stream;
static CUdeviceptr ones, sums;

static void setup(void)
{
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ones = allocate(TIMES * sizeof(float));
    sums = allocate(TIMES * sizeof(float));
    ok(launch_fill(ones, 1, TIMES, NULL));
    ok(launch_fill(sums, 1, TIMES, NULL));
    ok(cuCtxSynchronize());
}

/* With a remote GPU the kernel tells which pages were written: from Linux 6.7 on, if permitted. */
static void need_written_pages(void)
{
    const uint64_t wp_async = (uint64_t)1 << 15; /* UFFD_FEATURE_WP_ASYNC */
    struct uffdio_api api = { .api = UFFD_API, .features = wp_async };
    int is_concurrent = 0;
    ok(cuDeviceGetAttribute(&is_concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0));
    if (is_concurrent)
        return;
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
        skip("the kernel does not say which pages were written");
    close(fd);
}

static float *allocate_managed(size_t bytes)
{
    CUdeviceptr p;
    ok(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    return (float *)(uintptr_t)p;
}

/* Adds a value to the next sum, on a stream that may be blocked. */
static void add(int i, const float *value)
{
    ok(launch_saxpy(1, 1, (CUdeviceptr)(uintptr_t)value, sums + (size_t)i * sizeof(float), stream));
}

/* Writes cells far apart one by one, each right before the launch that reads it. */
static void write_and_launch(float *values)
{
    struct gate gate = GATE;
    close_gate(&gate, stream);
    reach_gate(&gate);
    for (int i = 0; i < TIMES; i++) {
        float *value = &values[(size_t)i * (CELLS / TIMES) + 77];
        *value = (float)i;
        add(i, value);
    }
    open_gate(&gate);
    ok(cuStreamSynchronize(stream));
    float got[TIMES];
    ok(cuMemcpyDtoH_v2(got, sums, sizeof got));
    for (int i = 0; i < TIMES; i++)
        same(got[i], i + 1);
}

static void managed_written_meanwhile(void)
{
    need_written_pages();
    float *values = allocate_managed(LARGE);
    write_and_launch(values);
    ok(cuMemFree_v2((CUdeviceptr)(uintptr_t)values));
}

static void mapped_written_meanwhile(void)
{
    float *values;
    ok(cuMemHostAlloc((void **)&values, LARGE, CU_MEMHOSTALLOC_DEVICEMAP));
    write_and_launch(values);
    ok(cuMemFreeHost(values));
}

/* The content of pinned memory counts from the first kernel that gets it. */
static void written_before_it_is_mapped(void)
{
    float *values = allocate_pinned(LARGE), got;
    for (size_t i = 0; i < CELLS; i++)
        values[i] = (float)(i % 1000);
    add(0, &values[CELLS - 1]);
    add(0, &values[CELLS / 2]);
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpyDtoH_v2(&got, sums, sizeof got));
    same(got, 1 + (CELLS - 1) % 1000 + CELLS / 2 % 1000);
    ok(cuMemFreeHost(values));
}

/* Pieces of managed memory, which read() fills while the GPU works on others. */
static void filled_by_system_calls(void)
{
    enum { SENT = 4096 };
    need_written_pages();
    float *values = allocate_managed(LARGE), sent[SENT / sizeof(float)];
    int ends[2];
    check(!pipe(ends));
    for (int i = 0; i < TIMES; i++) {
        float *piece = &values[(size_t)i * (CELLS / TIMES) + 7];
        for (size_t j = 0; j < COUNT(sent); j++)
            sent[j] = (float)(100 * i);
        check(write(ends[1], sent, sizeof sent) == SENT);
        check(read(ends[0], piece, SENT) == SENT);
        add(i, &piece[COUNT(sent) - 1]);
    }
    ok(cuStreamSynchronize(stream));
    float got[TIMES];
    ok(cuMemcpyDtoH_v2(got, sums, sizeof got));
    for (int i = 0; i < TIMES; i++)
        same(got[i], 100 * i + 1);
    close(ends[0]);
    close(ends[1]);
    ok(cuMemFree_v2((CUdeviceptr)(uintptr_t)values));
}

/* The program clears memory that had other values before it was freed. The GPU sees zeros. */
static void cleared_by_the_program(void)
{
    enum { FEW = 8 };
    float got[FEW];
    for (int i = 0; i < TIMES; i++) {
        float *values = allocate_managed(FEW * sizeof(float));
        memset(values, 0, FEW * sizeof(float));
        ok(cuMemcpyDtoD_v2(sums, (CUdeviceptr)(uintptr_t)values, sizeof got));
        ok(cuMemcpyDtoH_v2(got, sums, sizeof got));
        for (int j = 0; j < FEW; j++)
            same(got[j], 0);
        ok(launch_fill((CUdeviceptr)(uintptr_t)values, 3, FEW, stream));
        ok(cuStreamSynchronize(stream));
        same(values[FEW - 1], 3);
        ok(cuMemFree_v2((CUdeviceptr)(uintptr_t)values));
    }
}

/* ---- two threads ---- */

enum { PAIRS = 256 * 1024 };

/* A sanitizer makes a round some ten times as long. */
static unsigned int rounds_of(unsigned int usual)
{
    return getenv("AITHERION_SANITIZED") ? usual / 10 : usual;
}

static struct {
    unsigned int (*pairs)[2]; /* the program's and the GPU's */
    atomic_bool is_over;
    unsigned int written, lost;
} both;

static void *write_first_ones(void *unused)
{
    (void)unused;
    while (!both.is_over) {
        both.written++;
        for (size_t i = 0; i < PAIRS; i++)
            ((volatile unsigned int(*)[2])both.pairs)[i][0] = both.written;
        for (size_t i = 0; i < PAIRS; i++)
            both.lost += ((volatile unsigned int(*)[2])both.pairs)[i][0] != both.written;
        sleep_ms(1);
    }
    return NULL;
}

/* One thread writes, the other has the GPU write the words between, and waits for it. */
static void between_each_other(void *memory)
{
    const unsigned int rounds = rounds_of(60);
    pthread_t writer;
    unsigned int(*got)[2] = malloc(PAIRS * sizeof *got);
    both.pairs = memory;
    check(got && !pthread_create(&writer, NULL, write_first_ones, NULL));
    for (unsigned int round = 1; round <= rounds; round++) {
        ok(cuMemsetD2D32Async((CUdeviceptr)(uintptr_t)&both.pairs[0][1], sizeof *both.pairs, round,
                              1, PAIRS, stream));
        ok(cuStreamSynchronize(stream));
        for (size_t i = 0; i < PAIRS; i++)
            same(both.pairs[i][1], round);
    }
    both.is_over = true;
    pthread_join(writer, NULL);
    same(both.lost, 0);
    CUdeviceptr copy = allocate(PAIRS * sizeof *got);
    ok(cuMemcpyDtoDAsync_v2(copy, (CUdeviceptr)(uintptr_t)both.pairs, PAIRS * sizeof *got, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpyDtoH_v2(got, copy, PAIRS * sizeof *got));
    for (size_t i = 0; i < PAIRS; i++) {
        same(got[i][0], both.written);
        same(got[i][1], rounds);
    }
    free(got);
}

static void managed_between_each_other(void)
{
    void *memory = allocate_managed(PAIRS * sizeof *both.pairs);
    between_each_other(memory);
    ok(cuMemFree_v2((CUdeviceptr)(uintptr_t)memory));
}

static void registered_between_each_other(void)
{
    void *memory = aligned_alloc(4096, PAIRS * sizeof *both.pairs);
    memset(memory, 0, PAIRS * sizeof *both.pairs);
    ok(cuMemHostRegister_v2(memory, PAIRS * sizeof *both.pairs, CU_MEMHOSTREGISTER_DEVICEMAP));
    between_each_other(memory);
    ok(cuMemHostUnregister(memory));
    free(memory);
}

static void *make_and_end(void *unused)
{
    (void)unused;
    ok(cuCtxSetCurrent(context));
    while (!both.is_over) {
        float *values = allocate_managed(LARGE);
        values[CELLS - 1] = 1;
        ok(launch_fill((CUdeviceptr)(uintptr_t)values, 2, 10, NULL));
        ok(cuMemFree_v2((CUdeviceptr)(uintptr_t)values));
    }
    return NULL;
}

/* Managed memory comes and goes on one thread, in use, while another waits for its own. */
static void others_come_and_go(void)
{
    pthread_t other;
    int total = 0;
    float *values = allocate_managed(MIB);
    check(!pthread_create(&other, NULL, make_and_end, NULL));
    const int rounds = (int)rounds_of(60);
    for (int round = 1; round <= rounds; round++) {
        values[5] = (float)round;
        ok(launch_saxpy(1, 1, (CUdeviceptr)(uintptr_t)&values[5],
                        (CUdeviceptr)(uintptr_t)&values[MIB / sizeof(float) - 1], stream));
        ok(cuStreamSynchronize(stream));
        total += round;
        same(values[MIB / sizeof(float) - 1], total);
    }
    both.is_over = true;
    pthread_join(other, NULL);
    ok(cuMemFree_v2((CUdeviceptr)(uintptr_t)values));
}

/* A context ends with memory in it that both sides use. */
static void goes_with_its_context(void)
{
    for (int i = 0; i < 3; i++) {
        CUcontext made;
        ok(cuCtxCreate_v2(&made, 0, 0));
        float *values = allocate_managed(LARGE), *mapped;
        ok(cuMemHostAlloc((void **)&mapped, LARGE, CU_MEMHOSTALLOC_DEVICEMAP));
        values[CELLS - 1] = mapped[CELLS - 1] = 1;
        ok(cuMemcpy((CUdeviceptr)(uintptr_t)values, (CUdeviceptr)(uintptr_t)mapped, LARGE / 2));
        ok(cuMemsetD8_v2((CUdeviceptr)(uintptr_t)values, 1, LARGE / 4));
        ok(cuCtxDestroy_v2(made));
        ok(cuCtxSetCurrent(context));
        values = allocate_managed(MIB);
        values[3] = (float)i;
        add(0, &values[3]);
        ok(cuStreamSynchronize(stream));
        ok(cuMemFree_v2((CUdeviceptr)(uintptr_t)values));
    }
    float got;
    ok(cuMemcpyDtoH_v2(&got, sums, sizeof got));
    same(got, 1 + 0 + 1 + 2);
}

/* The same by the last release of a primary context, and work after it. */
static void goes_with_the_last_release(void)
{
    unsigned int flags;
    int is_active;
    float *values = allocate_managed(MIB), *mapped, got;
    ok(cuMemHostAlloc((void **)&mapped, MIB, CU_MEMHOSTALLOC_DEVICEMAP));
    values[3] = mapped[3] = 1;
    ok(cuCtxSynchronize());
    for (is_active = 1; is_active;) {
        ok(cuDevicePrimaryCtxRelease_v2(0));
        ok(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
    }
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    CUdeviceptr p = allocate(sizeof(float));
    ok(cuMemsetD32_v2(p, 0x40a00000 /* 5 */, 1));
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH_v2(&got, p, sizeof got));
    same(got, 5);
}

/* The two ends of large memory, which fill only parts of a page. */
static void ends_written_meanwhile(float *values, CUdeviceptr as_seen, int n)
{
    for (int i = 0; i < n; i++)
        values[i] = 0;
    ok(cuCtxSynchronize());
    for (int i = 0; i < 3; i++) {
        int at = n - 1 - i;
        values[at] = (float)(i + 1);
        ok(launch_saxpy(1, 1, as_seen + (size_t)at * sizeof(float), sums, stream));
    }
    float got;
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpyDtoH_v2(&got, sums, sizeof got));
    same(got, 1 + 1 + 2 + 3);
    ok(launch_fill(sums, 1, TIMES, NULL));
    ok(cuCtxSynchronize());
}

static void ends_are_seen(void)
{
    enum { ODD = 25000 };
    CUdeviceptr as_seen;
    need_written_pages();
    float *managed = allocate_managed(ODD * sizeof(float)), *mapped;
    ends_written_meanwhile(managed, (CUdeviceptr)(uintptr_t)managed, ODD);
    ok(cuMemHostAlloc((void **)&mapped, ODD * sizeof(float), CU_MEMHOSTALLOC_DEVICEMAP));
    ok(cuMemHostGetDevicePointer_v2(&as_seen, mapped, 0));
    ends_written_meanwhile(mapped, as_seen, ODD);
}

static void *make_fill_and_free(void *unused)
{
    (void)unused;
    ok(cuCtxSetCurrent(context));
    for (int i = 0; !both.is_over; i++) {
        float *values = allocate_managed(2000 * sizeof(float));
        memset(values, i, 2000 * sizeof(float));
        ok(cuMemFree_v2((CUdeviceptr)(uintptr_t)values));
    }
    return NULL;
}

/* One thread frees managed memory that was written while another thread launches. */
static void goes_while_others_launch(void)
{
    pthread_t other;
    const int n = 500;
    float *x = allocate_managed((size_t)n * sizeof(float));
    float *y = allocate_managed((size_t)n * sizeof(float));
    check(!pthread_create(&other, NULL, make_fill_and_free, NULL));
    const int rounds = (int)rounds_of(1200);
    for (int round = 1; round <= rounds; round++) {
        for (int i = 0; i < n; i++) {
            x[i] = (float)round;
            y[i] = 1;
        }
        ok(launch_saxpy(n, 2, (CUdeviceptr)(uintptr_t)x, (CUdeviceptr)(uintptr_t)y, stream));
        ok(cuStreamSynchronize(stream));
        for (int i = 0; i < n; i++)
            same(y[i], 1 + 2 * round);
    }
    both.is_over = true;
    pthread_join(other, NULL);
}

/* ---- calls that wait without saying so ---- */

static struct {
    float *managed, *mapped;
    float written;
} tacit;

static void write_both(void)
{
    tacit.written++;
    ok(launch_fill((CUdeviceptr)(uintptr_t)tacit.managed, tacit.written, TIMES, NULL));
    ok(launch_fill((CUdeviceptr)(uintptr_t)tacit.mapped, tacit.written, TIMES, NULL));
}

static void check_both(void)
{
    same(tacit.managed[TIMES - 1], tacit.written);
    same(tacit.mapped[TIMES - 1], tacit.written);
}

static void seen_after_tacit_waits(void)
{
    enum { LONG = 9 * MIB };
    CUdeviceptr p = allocate(LONG);
    CUmodule module;
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR shape = { .Width = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    char *image = read_kernels(), *source = calloc(1, LONG);
    tacit.managed = allocate_managed(MIB);
    ok(cuMemHostAlloc((void **)&tacit.mapped, MIB, CU_MEMHOSTALLOC_DEVICEMAP));
    ok(cuModuleLoadData(&module, image));
    ok(cuArrayCreate_v2(&array, &shape));
    ok(cuCtxSynchronize());
    for (size_t bytes = 4; bytes <= LONG; bytes = bytes == 4 ? MIB : bytes + 8 * MIB) {
        write_both();
        ok(cuMemcpyHtoD_v2(p, source, bytes));
        check_both();
    }
    write_both();
    ok(cuMemcpyHtoA_v2(array, 0, source, 4));
    check_both();
    write_both();
    ok(cuMemFree_v2(p));
    check_both();
    write_both();
    ok(cuModuleUnload(module));
    check_both();
    ok(cuArrayDestroy(array));
    free(image);
    free(source);
}

/* The simulated GPU is a thread, and its writes at the same time are no race here. */
__attribute__((noinline, no_sanitize("thread"))) static float look_at(const volatile float *word)
{
    return *word;
}

/* Waits for an idle stream until another stream's kernel has written. */
static void seen_by_a_loop_that_waits(void)
{
    struct gate gate = GATE;
    CUstream other;
    volatile float *word;
    float got;
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ok(cuMemHostAlloc((void **)&word, sizeof *word, CU_MEMHOSTALLOC_DEVICEMAP));
    *word = 0;
    close_gate(&gate, other);
    ok(launch_fill((CUdeviceptr)(uintptr_t)word, 5, 1, other));
    ok(cuMemcpyDtoHAsync_v2(&got, ones, sizeof got, stream));
    ok(cuStreamSynchronize(stream));
    same(look_at(word), 0);
    open_gate(&gate);
    while (look_at(word) != 5)
        ok(cuStreamSynchronize(stream));
    ok(cuStreamSynchronize(other));
    ok(cuStreamDestroy_v2(other));
    ok(cuMemFreeHost((void *)(uintptr_t)word)); // NOLINT(performance-no-int-to-ptr)
}

static const struct test tests[] = {
    { "much managed memory is written while the GPU works", managed_written_meanwhile, 0 },
    { "much mapped memory is written while the GPU works", mapped_written_meanwhile, 0 },
    { "the content of pinned memory counts before a kernel gets it", written_before_it_is_mapped,
      0 },
    { "system calls fill managed memory while the GPU works", filled_by_system_calls, 0 },
    { "managed memory that the program clears is clear", cleared_by_the_program, 0 },
    { "a thread writes managed memory beside what the GPU writes", managed_between_each_other, 0 },
    { "a thread writes registered memory beside what the GPU writes", registered_between_each_other,
      0 },
    { "the GPU's writes are visible after calls that wait implicitly", seen_after_tacit_waits, 0 },
    { "a loop that waits sees what another stream writes", seen_by_a_loop_that_waits, 0 },
    { "a context ends with memory of both sides in it", goes_with_its_context, 0 },
    { "managed memory comes and goes while a thread waits for its own", others_come_and_go, 0 },
    { "the last release of a context ends memory of both sides in it", goes_with_the_last_release,
      0 },
    { "the ends of large memory are written while the GPU works", ends_are_seen, 0 },
    { "managed memory that was written goes while others launch", goes_while_others_launch, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
