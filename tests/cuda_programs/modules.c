/* Modules, libraries and kernels, and finding the driver's functions. */
#include "config.h"

#include "gpu.h"

enum { N = 256, BYTES = N * sizeof(float) };

static CUdeviceptr a;

static void setup(void)
{
    a = allocate(BYTES);
}

static CUmodule load_module(void)
{
    CUmodule module;
    char *text = read_kernels();
    ok(cuModuleLoadData(&module, text));
    free(text);
    return module;
}

static CUlibrary load_library(void)
{
    CUlibrary library;
    char *text = read_kernels();
    ok(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    free(text);
    return library;
}

static void module(void)
{
    CUmodule loaded = load_module();
    CUfunction function;
    CUmodule of;
    const char *name;
    float v = 2;
    int n = N;
    ok(cuModuleGetFunction(&function, loaded, "fill"));
    ok(cuFuncGetModule(&of, function));
    check(of == loaded);
    ok(cuFuncGetName(&name, function));
    check(!strcmp(name, "fill"));
    ok(launch(function, N, NULL, (void *[]){ &a, &v, &n }));
    same(all_of(a, N), 2);
    gives(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, loaded, "nothing_of_the_kind"));
    ok(cuModuleUnload(loaded));
}

static void from_file(void)
{
    char path[4096];
    const char *source = getenv("srcdir");
    CUmodule loaded;
    CUfunction function;
    snprintf(path, sizeof path, "%s/tests/cuda_programs/kernels.ptx", source ? source : ".");
    ok(cuModuleLoad(&loaded, path));
    ok(cuModuleGetFunction(&function, loaded, "saxpy"));
    ok(cuModuleUnload(loaded));
    gives(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&loaded, "/nonexistent/kernels.ptx"));
}

/* With kernelParams, and with all parameters in one piece. */
static void parameters(void)
{
    CUfunction fill = kernel("fill");
    struct {
        CUdeviceptr p;
        float v;
        int n;
    } packed = { a, 3, N };
    size_t bytes = sizeof packed;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    ok(cuLaunchKernel(fill, 1, 1, 1, N, 1, 1, 0, NULL, NULL, extra));
    same(all_of(a, N), 3);
    packed.v = 4;
    CUlaunchConfig config = {
        .gridDimX = 1,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = N,
        .blockDimY = 1,
        .blockDimZ = 1,
    };
    ok(cuLaunchKernelEx(&config, fill, (void *[]){ &packed.p, &packed.v, &packed.n }, NULL));
    same(all_of(a, N), 4);
    packed.v = 5;
    ok(cuLaunchKernelEx(&config, fill, NULL, extra));
    same(all_of(a, N), 5);
}

static void parameter_facts(void)
{
    size_t offset, bytes;
    CUfunction saxpy = kernel("saxpy");
    static const size_t offsets[] = { 0, 4, 8, 16 }, sizes[] = { 4, 4, 8, 8 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        ok(cuFuncGetParamInfo(saxpy, i, &offset, &bytes));
        same(offset, offsets[i]);
        same(bytes, sizes[i]);
    }
    gives(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(saxpy, COUNT(sizes), &offset, &bytes));
}

static void matrices(void)
{
    enum { SIDE = 16 };
    float x[SIDE][SIDE], y[SIDE][SIDE], got[SIDE][SIDE];
    CUdeviceptr dx = allocate(sizeof x), dy = allocate(sizeof y), dz = allocate(sizeof got);
    int n = SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) {
        x[i / SIDE][i % SIDE] = (float)(i % 7);
        y[i / SIDE][i % SIDE] = (float)(i % 5);
    }
    ok(cuMemcpyHtoD_v2(dx, x, sizeof x));
    ok(cuMemcpyHtoD_v2(dy, y, sizeof y));
    ok(cuLaunchKernel(kernel("matmul"), 2, 2, 1, 8, 8, 1, 0, NULL, (void *[]){ &dx, &dy, &dz, &n },
                      NULL));
    ok(cuMemcpyDtoH_v2(got, dz, sizeof got));
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            float sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += x[row][k] * y[k][column];
            same(got[row][column], sum);
        }
}

static void sums(void)
{
    CUdeviceptr out = allocate(sizeof(float)), b = allocate(BYTES);
    int n = N;
    ok(launch_fill(a, 2, N, NULL));
    ok(launch_fill(b, 3, N, NULL));
    ok(launch(kernel("vector_add"), N, NULL, (void *[]){ &a, &b, &a, &n }));
    ok(launch(kernel("reduce_sum"), 1, NULL, (void *[]){ &a, &out, &n }));
    same(all_of(out, 1), 5 * N);
}

static void library(void)
{
    CUlibrary loaded = load_library();
    CUkernel fill, list[16];
    CUfunction function;
    unsigned int count;
    const char *name;
    size_t offset, bytes;
    float v = 6;
    int n = N;
    ok(cuLibraryGetKernel(&fill, loaded, "fill"));
    ok(cuKernelGetName(&name, fill));
    check(!strcmp(name, "fill"));
    ok(cuKernelGetFunction(&function, fill));
    ok(launch(function, N, NULL, (void *[]){ &a, &v, &n }));
    same(all_of(a, N), 6);
    v = 7;
    ok(launch((CUfunction)fill, N, NULL, (void *[]){ &a, &v, &n })); /* a kernel is one, too */
    same(all_of(a, N), 7);
    ok(cuKernelGetParamInfo(fill, 1, &offset, &bytes));
    same(offset, 8);
    same(bytes, 4);
    ok(cuLibraryGetKernelCount(&count, loaded));
    check(count >= 7 && count <= COUNT(list));
    ok(cuLibraryEnumerateKernels(list, count, loaded));
    gives(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&fill, loaded, "nothing_of_the_kind"));
    ok(cuLibraryUnload(loaded));
}

static void variables(void)
{
    CUmodule loaded = load_module();
    CUlibrary of_library = load_library();
    CUdeviceptr address, other;
    size_t bytes;
    float value = 0;
    ok(cuModuleGetGlobal_v2(&address, &bytes, loaded, "table"));
    same(bytes, 16 * sizeof(float));
    ok(cuMemcpyHtoD_v2(address + 4, &(float){ 5 }, sizeof value));
    ok(cuMemcpyDtoH_v2(&value, address + 4, sizeof value));
    same(value, 5);
    ok(cuMemcpyDtoH_v2(&value, address, sizeof value));
    same(value, 0);
    ok(cuLibraryGetGlobal(&other, &bytes, of_library, "table"));
    same(bytes, 16 * sizeof(float));
    check(other != address);
    gives(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal_v2(&address, &bytes, loaded, "no_table"));
    ok(cuModuleUnload(loaded));
    ok(cuLibraryUnload(of_library));
}

static void attributes(void)
{
    CUfunction fill = kernel("fill");
    int value;
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fill));
    same(value, 1024);
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fill));
    same(value, 0);
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, fill));
    check(value > 0 && value <= 255);
    ok(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 4096));
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, fill));
    same(value, 4096);
    gives(CUDA_ERROR_INVALID_VALUE,
          cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30));
    ok(cuFuncSetCacheConfig(fill, CU_FUNC_CACHE_PREFER_L1));
}

static int shared_of(CUkernel kernel)
{
    int value = -1;
    ok(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    return value;
}

static CUresult share(CUkernel kernel, int bytes)
{
    return cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes, kernel, 0);
}

/* As cuDNN does before its launches: the same value again and again, sometimes another. */
static void attributes_set_often(void)
{
    CUlibrary library = load_library();
    CUkernel fill, saxpy;
    CUfunction of_fill;
    int value, before;
    ok(cuLibraryGetKernel(&fill, library, "fill"));
    ok(cuLibraryGetKernel(&saxpy, library, "saxpy"));
    before = shared_of(saxpy);
    for (int round = 0; round < 3; round++) {
        for (int bytes = 4096; bytes <= 12288; bytes += 4096) {
            ok(share(fill, bytes));
            ok(share(fill, bytes));
            same(shared_of(fill), bytes);
            same(shared_of(saxpy), before);
            gives(CUDA_ERROR_INVALID_VALUE, share(fill, 1 << 30));
            same(shared_of(fill), bytes);
        }
    }
    ok(cuKernelGetFunction(&of_fill, fill));
    ok(cuFuncSetAttribute(of_fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2048));
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, of_fill));
    same(value, 2048);
    printf("= by the kernel then: %d\n", shared_of(fill));
    ok(share(fill, 12288));
    same(shared_of(fill), 12288);
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, of_fill));
    printf("= by the function then: %d\n", value);
    ok(cuLibraryUnload(library));
}

/* A kernel of a library that is loaded and unloaded, its other name, and the values set for it. */
struct named {
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    int bytes;
};

static void look_at(const struct named *one)
{
    int value;
    same(shared_of(one->kernel), one->bytes);
    if (!one->function)
        return;
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, one->function));
    same(value, one->bytes);
}

/* Handles are used again for other objects, and each kernel is set by both its names. The client
 * must not mix up its remembered values. */
static void attributes_of_what_comes_and_goes(void)
{
    enum { LIBRARIES = 4, STEPS = 3000, KINDS = 6 };
    struct named all[LIBRARIES] = { 0 };
    uint32_t random = 1;
    for (int i = 0; i < STEPS; i++) {
        random = random * 1664525 + 1013904223;
        struct named *one = &all[(random >> 28) % LIBRARIES];
        int bytes = 4096 * (1 + (int)(random >> 16 & 3));
        if (!one->library) {
            *one = (struct named){ .library = load_library() };
            ok(cuLibraryGetKernel(&one->kernel, one->library, "fill"));
            one->bytes = shared_of(one->kernel);
        } else if ((random >> 8) % KINDS == 0) {
            ok(cuLibraryUnload(one->library));
            one->library = NULL;
        } else if ((random >> 8) % KINDS == 1) {
            ok(cuKernelGetFunction(&one->function, one->kernel));
        } else if ((random >> 8) % KINDS == 2) {
            ok(share(one->kernel, bytes));
            one->bytes = bytes;
        } else if ((random >> 8) % KINDS == 3 && one->function) {
            ok(cuFuncSetAttribute(one->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  bytes));
            one->bytes = bytes;
        } else {
            look_at(one);
        }
    }
    for (int i = 0; i < LIBRARIES; i++)
        if (all[i].library)
            ok(cuLibraryUnload(all[i].library));
}

/* A function has the same values in every context. */
static void attributes_in_two_contexts(void)
{
    CUfunction fill = kernel("fill");
    CUcontext other;
    const int of_each[] = { 4096, 8192, 4096, 4096, 8192 };
    int value;
    ok(cuCtxCreate_v2(&other, 0, 0));
    for (size_t i = 0; i < COUNT(of_each); i++) {
        ok(cuCtxSetCurrent(i % 2 ? other : context));
        ok(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, of_each[i]));
        ok(cuCtxSetCurrent(i % 2 ? context : other));
        ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, fill));
        same(value, of_each[i]);
    }
    ok(cuCtxSetCurrent(context));
    ok(cuCtxDestroy_v2(other));
}

static size_t no_memory(int threads)
{
    (void)threads;
    return 0;
}

static void occupancy(void)
{
    CUfunction fill = kernel("fill");
    int blocks, grid, block;
    size_t bytes;
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
    check(blocks >= 1 && blocks <= 64);
    ok(cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, NULL, 0, 0));
    check(grid >= 1 && block >= 32 && block <= 1024);
    ok(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, fill, 1, 256));
    check(bytes > 0);
    ok(cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, no_memory, 0, 1));
    gives(CUDA_ERROR_INVALID_VALUE,
          cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, no_memory, 0, -1));
}

/* Whether a launch of this many blocks with dynamic shared memory is refused, without later
 * effects. */
static bool is_refused(CUlaunchAttribute attribute, int blocks, unsigned int shared,
                       CUresult wanted)
{
    float v = 6;
    int n = N;
    CUlaunchConfig config = { .gridDimX = (unsigned int)blocks,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = 256,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = shared,
                              .attrs = &attribute,
                              .numAttrs = 1 };
    CUresult status = cuLaunchKernelEx(&config, kernel("fill"), (void *[]){ &a, &v, &n }, NULL);
    if (wanted && status)
        same(status, wanted);
    ok(cuCtxSynchronize());
    return status != CUDA_SUCCESS;
}

/* Their blocks must be there at once: a launch that does not fit fails itself. */
static void launches_that_do_not_fit(void)
{
    CUlaunchAttribute together = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 };
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                  .value.clusterDim = { 2, 1, 1 } };
    const unsigned int much = 100 * 1024; /* a kernel has 48 KiB unless it asks for more */
    int blocks, processors, major;
    CUdevice device;
    ok(cuCtxGetDevice(&device));
    ok(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    ok(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel("fill"), 256, 0));
    for (int round = 0; round < 3; round++) {
        check(!is_refused(together, blocks * processors, 0, CUDA_SUCCESS));
        check(is_refused(together, blocks * processors + 1, 0,
                         CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
        check(is_refused(together, 1, much, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
        if (major < 9)
            continue;
        check(!is_refused(cluster, 4, 0, CUDA_SUCCESS));
        check(is_refused(cluster, 5, 0, CUDA_SUCCESS));
    }
    same(all_of(a, N), 6);
}

/* ---- wrong images ---- */

static void wrong_images(void)
{
    CUmodule loaded;
    CUresult status = cuModuleLoadData(&loaded, "this is no module\n");
    check(status == CUDA_ERROR_INVALID_IMAGE || status == CUDA_ERROR_INVALID_PTX);
    ok(launch_fill(a, 1, N, NULL)); /* and launches still work */
    same(all_of(a, N), 1);
}

static void unknown_kernel(void)
{
    CUfunction function;
    gives(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, load_module(), "unknown"));
}

/* ---- finding functions ---- */

static CUresult query(const char *name, int version, uint64_t flags, void **out,
                      CUdriverProcAddressQueryResult *status)
{
    return cuGetProcAddress_v2(name, out, version, flags, status);
}

static void *found(const char *name, int version, uint64_t flags)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status;
    ok(query(name, version, flags, &function, &status));
    same(status, CU_GET_PROC_ADDRESS_SUCCESS);
    check(function != NULL);
    return function;
}

static void proc_addresses(void)
{
    void *function = &function;
    CUdriverProcAddressQueryResult status;
    check(found("cuMemAlloc", 13000, 0) == found("cuMemAlloc", 3020, 0));
    check(found("cuMemAlloc", 2000, 0) != found("cuMemAlloc", 3020, 0));
    check(found("cuStreamBeginCapture", 10000, 0) != found("cuStreamBeginCapture", 10010, 0));
    check(found("cuStreamSynchronize", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) !=
          found("cuStreamSynchronize", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM));
    ok(query("cuNothing", 13000, 0, &function, &status));
    same(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    check(function == NULL);
    check(
        found("cuStreamSynchronize", 13000,
              CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM | CU_GET_PROC_ADDRESS_LEGACY_STREAM) ==
        found("cuStreamSynchronize", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
    gives(CUDA_ERROR_INVALID_VALUE, query("cuMemAlloc", 13000, 4, &function, &status));
    ok(query("cuLibraryLoadData", 11000, 0, &function, &status));
    same(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    check(function == NULL);
}

/* A driver knows no version that is later than its own. */
static void later_versions(void)
{
    void *function;
    int version;
    CUdriverProcAddressQueryResult status;
    ok(cuDriverGetVersion(&version));
    found("cuMemAlloc", version, 0);
    gives(CUDA_ERROR_INVALID_VALUE, query("cuMemAlloc", version + 1, 0, &function, &status));
    gives(CUDA_ERROR_INVALID_VALUE, query("cuNothing", version + 1, 0, &function, &status));
    gives(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuMemAlloc", &function, version + 1, 0));
}

/* The name that is found is the given name. */
static void found_functions_work(void)
{
    void *address = found("cuDeviceGetCount", 13000, 0);
    CUresult (*get_count)(int *);
    int count = 0;
    memcpy(&get_count, &address, sizeof address);
    ok(get_count(&count));
    check(count >= 1);
}

static void errors(void)
{
    const char *text;
    ok(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    check(!strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY"));
    ok(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    check(text[0]);
    gives(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)123456, &text));
    check(text == NULL);
}

/* A file of its own, since a pipe may be too small for text that is read later. */
static char *written_by(int stream, int blocks, int threads, int value)
{
    FILE *file = tmpfile();
    int before = dup(stream);
    check(file && before >= 0);
    fflush(stdout);
    check(dup2(fileno(file), stream) >= 0);
    CUresult launched =
        cuLaunchKernel(kernel("say"), (unsigned int)blocks, 1, 1, (unsigned int)threads, 1, 1, 0,
                       NULL, (void *[]){ &value }, NULL);
    CUresult waited = cuCtxSynchronize();
    fflush(stdout);
    dup2(before, stream);
    close(before);
    ok(launched);
    ok(waited);
    long length = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    check(length >= 0);
    char *text = calloc(1, (size_t)length + 1);
    check(text);
    rewind(file);
    check(fread(text, 1, (size_t)length, file) == (size_t)length);
    fclose(file);
    return text;
}

static char *printed_by(int blocks, int threads, int value)
{
    return written_by(STDOUT_FILENO, blocks, threads, value);
}

/* The simulated kernel writes negative values to standard error, as a driver does with the text of
 * a failed assert(). */
static void kernels_complain(void)
{
    char *text = written_by(STDERR_FILENO, 1, 1, -3);
    check(!strcmp(text, "thread 0 of block 0 says -3\n"));
    free(text);
    text = written_by(STDOUT_FILENO, 1, 1, -4);
    check(!*text);
    free(text);
}

static void kernels_print(void)
{
    for (int value = 1; value <= 3; value++) {
        char *text = printed_by(1, 2, value), line[64];
        size_t expected = 0;
        for (int thread = 0; thread < 2; thread++) {
            expected += (size_t)sprintf(line, "thread %d of block 0 says %d\n", thread, value);
            check(strstr(text, line));
        }
        same(strlen(text), expected);
        free(text);
    }
}

/* More text than a message or a pipe has room for. */
static void kernels_print_much(void)
{
    enum { BLOCKS = 64, THREADS = 128 };
    char *text = printed_by(BLOCKS, THREADS, 7);
    size_t lines = 0;
    for (const char *at = text; (at = strstr(at, " says 7\n")); at++)
        lines++;
    same(lines, BLOCKS * THREADS);
    check(strstr(text, "thread 127 of block 63 says 7\n"));
    free(text);
}

static const struct test tests[] = {
    { "output of kernels is there after a wait", kernels_print, 0 },
    { "errors of kernels go to standard error", kernels_complain, ONLY_SIMULATED },
    { "kernels print much", kernels_print_much, 0 },
    { "a module's kernel runs", module, 0 },
    { "a module is loaded from a file", from_file, 0 },
    { "parameters are passed singly and in one piece", parameters, 0 },
    { "parameters have places and sizes", parameter_facts, 0 },
    { "matrices are multiplied", matrices, 0 },
    { "vectors are added and summed", sums, 0 },
    { "a library's kernel runs", library, 0 },
    { "modules have variables", variables, 0 },
    { "functions have attributes", attributes, 0 },
    { "attributes are set again and again", attributes_set_often, 0 },
    { "attributes belong to modules that come and go", attributes_of_what_comes_and_goes,
      ONLY_SIMULATED },
    { "a function's attributes are the same in two contexts", attributes_in_two_contexts, 0 },
    { "occupancy is reported", occupancy, 0 },
    { "launches that do not fit are refused at once", launches_that_do_not_fit, 0 },
    { "data that is no image is refused", wrong_images, 0 },
    { "a kernel that is not simulated is not found", unknown_kernel, ONLY_SIMULATED },
    { "functions are found by version", proc_addresses, 0 },
    { "functions of a later driver are refused", later_versions, 0 },
    { "found functions work", found_functions_work, 0 },
    { "errors have names", errors, 0 },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, setup, tests, COUNT(tests));
}
