/* Kernels that are compiled and linked while the program runs: NVRTC, nvJitLink, the driver. */
#include <string>

#include <nvJitLink.h>
#include <nvrtc.h>

#include "driver.cuh"

#define rtc_ok(call)                                                                               \
    do {                                                                                           \
        nvrtcResult got_ = (call);                                                                 \
        if (got_ != NVRTC_SUCCESS)                                                                 \
            fail("%s: %s", #call, nvrtcGetErrorString(got_));                                      \
    } while (0)
#define link_ok(call)                                                                              \
    do {                                                                                           \
        nvJitLinkResult got_ = (call);                                                             \
        if (got_ != NVJITLINK_SUCCESS)                                                             \
            fail("%s: %d", #call, got_);                                                           \
    } while (0)

enum { N = 4096 };

static const char plain_source[] =
    "extern \"C\" __global__ void scale(float *x, float by, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) x[i] = by * i;\n}\n"
    "__constant__ int facts[4] = { 1, 2, 3, 4 };\n"
    "__device__ int counter = 7;\n";
static const char template_source[] =
    "template <typename T, int BY> __global__ void scale(T *x, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) x[i] = (T)(BY * i);\n}\n";
static const char caller_source[] =
    "__device__ float helped(int i);\n"
    "extern \"C\" __global__ void scale(float *x, float by, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) x[i] = by * helped(i);\n}\n";
static const char helper_source[] = "__device__ float helped(int i) { return i; }\n";

static std::string architecture(const char *kind)
{
    int major, minor;
    ok(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    ok(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    return kind + std::to_string(10 * major + minor);
}

using getter = nvrtcResult (*)(nvrtcProgram, char *);
using sizer = nvrtcResult (*)(nvrtcProgram, size_t *);

/* Compiles a source, and returns the result. *mangled gets the mangled name of `name`. */
static std::vector<char> compiled(const char *source, std::vector<const char *> options,
                                  sizer size_of, getter get, const char *name = nullptr,
                                  std::string *mangled = nullptr)
{
    nvrtcProgram program;
    size_t size;
    const char *lowered;
    rtc_ok(nvrtcCreateProgram(&program, source, "source.cu", 0, nullptr, nullptr));
    if (name)
        rtc_ok(nvrtcAddNameExpression(program, name));
    rtc_ok(nvrtcCompileProgram(program, (int)options.size(), options.data()));
    if (name) {
        rtc_ok(nvrtcGetLoweredName(program, name, &lowered));
        *mangled = lowered;
    }
    rtc_ok(size_of(program, &size));
    std::vector<char> image(size);
    rtc_ok(get(program, image.data()));
    rtc_ok(nvrtcDestroyProgram(&program));
    return image;
}

static CUfunction function_of(CUmodule module, const char *name)
{
    CUfunction function;
    cu_ok(driver(cuModuleGetFunction)(&function, module, name));
    return function;
}

static void run(CUfunction function, float by)
{
    int n = N;
    float *x = on_device<float>(N);
    void *args[] = { &x, &by, &n };
    cu_ok(driver(cuLaunchKernel)(function, N / 256, 1, 1, 256, 1, 1, 0, nullptr, args, nullptr));
    std::vector<float> got = read(x, N);
    for (int i = 0; i < N; i++)
        check(got[(size_t)i] == by * (float)i);
}

static CUmodule loaded(const void *image)
{
    CUmodule module;
    ok(cudaFree(nullptr)); /* the driver's functions need a context */
    cu_ok(driver(cuModuleLoadData)(&module, image));
    return module;
}

static void compiled_to_ptx()
{
    needs_a_gpu();
    std::string arch = "--gpu-architecture=" + architecture("compute_");
    CUmodule module =
        loaded(compiled(plain_source, { arch.c_str() }, nvrtcGetPTXSize, nvrtcGetPTX).data());
    run(function_of(module, "scale"), 3);
    CUdeviceptr place;
    size_t bytes;
    int facts[4];
    cu_ok(driver(cuModuleGetGlobal)(&place, &bytes, module, "facts"));
    check(bytes == sizeof facts);
    cu_ok(driver(cuMemcpyDtoH)(facts, place, bytes));
    check(facts[3] == 4);
    cu_gives(CUDA_ERROR_NOT_FOUND,
             driver(cuModuleGetGlobal)(&place, &bytes, module, "no such thing"));
    unsigned count;
    cu_ok(driver(cuModuleGetFunctionCount)(&count, module));
    check(count == 1);
    cu_ok(driver(cuModuleUnload)(module));
}

static void compiled_to_machine_code()
{
    needs_a_gpu();
    std::string arch = "--gpu-architecture=" + architecture("sm_"), name;
    CUmodule module = loaded(compiled(template_source, { arch.c_str(), "--std=c++17" },
                                      nvrtcGetCUBINSize, nvrtcGetCUBIN, "scale<float, 5>", &name)
                                 .data());
    int n = N;
    float *x = on_device<float>(N);
    void *args[] = { &x, &n };
    cu_ok(driver(cuLaunchKernel)(function_of(module, name.c_str()), N / 256, 1, 1, 256, 1, 1, 0,
                                 nullptr, args, nullptr));
    check(read(x, N)[N - 1] == 5 * (N - 1));
}

static void linked_with_optimization()
{
    needs_a_gpu();
    std::string arch = "--gpu-architecture=" + architecture("compute_"),
                target = "-arch=" + architecture("sm_");
    nvJitLinkHandle link;
    const char *options[] = { "-lto", target.c_str() };
    size_t size;
    link_ok(nvJitLinkCreate(&link, 2, options));
    for (const char *source : { caller_source, helper_source }) {
        std::vector<char> part = compiled(source, { arch.c_str(), "-dlto", "-rdc=true" },
                                          nvrtcGetLTOIRSize, nvrtcGetLTOIR);
        link_ok(nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, part.data(), part.size(), "part"));
    }
    link_ok(nvJitLinkComplete(link));
    link_ok(nvJitLinkGetLinkedCubinSize(link, &size));
    std::vector<char> image(size);
    link_ok(nvJitLinkGetLinkedCubin(link, image.data()));
    link_ok(nvJitLinkDestroy(&link));
    run(function_of(loaded(image.data()), "scale"), 4);
}

static std::vector<char> part_of(const char *source)
{
    std::string arch = "--gpu-architecture=" + architecture("compute_");
    return compiled(source, { arch.c_str(), "-rdc=true" }, nvrtcGetPTXSize, nvrtcGetPTX);
}

static void linked_by_the_driver_with_options()
{
    needs_a_gpu();
    std::string target = "--gpu-architecture=" + architecture("sm_");
    std::vector<char> caller = compiled(caller_source, { target.c_str(), "-rdc=true" },
                                        nvrtcGetCUBINSize, nvrtcGetCUBIN),
                      helper = part_of(helper_source);
    static char info[8192], errors[8192];
    float ms = -1;
    CUjit_option names[] = { CU_JIT_WALL_TIME,
                             CU_JIT_INFO_LOG_BUFFER,
                             CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                             CU_JIT_ERROR_LOG_BUFFER,
                             CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                             CU_JIT_LOG_VERBOSE };
    void *values[] = {
        nullptr, info, (void *)sizeof info, errors, (void *)sizeof errors, (void *)1
    };
    CUlinkState link;
    void *image;
    size_t bytes;
    ok(cudaFree(nullptr));
    cu_ok(driver(cuLinkCreate)(6, names, values, &link));
    cu_ok(driver(cuLinkAddData)(link, CU_JIT_INPUT_CUBIN, caller.data(), caller.size(), "caller", 0,
                                nullptr, nullptr));
    cu_ok(driver(cuLinkAddData)(link, CU_JIT_INPUT_PTX, helper.data(), helper.size(), "helper", 0,
                                nullptr, nullptr));
    cu_ok(driver(cuLinkComplete)(link, &image, &bytes));
    memcpy(&ms, values, sizeof ms);
    printf("linked in %.1f ms: %s\n", ms, info);
    printf("= %s to tell\n", *info ? "something" : "nothing");
    check(ms >= 0 && !*errors);
    CUmodule module = loaded(image);
    cu_ok(driver(cuLinkDestroy)(link));
    run(function_of(module, "scale"), 6);
}

static void what_the_compiler_says()
{
    needs_a_gpu();
    static char info[8192], errors[8192];
    CUmodule module;
    CUjit_option names[] = { CU_JIT_INFO_LOG_BUFFER,  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                             CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                             CU_JIT_LOG_VERBOSE,      CU_JIT_MAX_REGISTERS };
    void *values[] = { info,      (void *)sizeof info, errors, (void *)sizeof errors,
                       (void *)1, (void *)32 };
    ok(cudaFree(nullptr));
    CUresult got = driver(cuModuleLoadDataEx)(
        &module, ".version 7.0\n.target sm_75\n.address_size 64\nnonsense;\n", 6, names, values);
    printf("= nonsense: %d\n%s\n", got, errors);
    check(got == CUDA_ERROR_INVALID_PTX && strstr(errors, "nonsense"));
    errors[0] = 0;
    values[1] = (void *)sizeof info;
    values[3] = (void *)sizeof errors;
    cu_ok(driver(cuModuleLoadDataEx)(&module, part_of(plain_source).data(), 6, names, values));
    printf("%s\n", info);
    check(!*errors);
    run(function_of(module, "scale"), 2);
    int registers;
    cu_ok(driver(cuFuncGetAttribute)(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                     function_of(module, "scale")));
    check(registers > 0 && registers <= 32);
    cu_gives(CUDA_ERROR_INVALID_IMAGE, driver(cuModuleLoadData)(&module, "neither PTX nor ELF"));
}

/* As Triton and PyTorch's Inductor do: a file of machine code. */
static void loaded_from_a_file()
{
    needs_a_gpu();
    std::string arch = "--gpu-architecture=" + architecture("sm_");
    std::vector<char> image =
        compiled(plain_source, { arch.c_str() }, nvrtcGetCUBINSize, nvrtcGetCUBIN);
    FILE *file = fopen("scale.cubin", "wb");
    check(file && fwrite(image.data(), 1, image.size(), file) == image.size() && !fclose(file));
    CUmodule module;
    ok(cudaFree(nullptr));
    cu_ok(driver(cuModuleLoad)(&module, "scale.cubin"));
    run(function_of(module, "scale"), 8);
    CUlibrary library;
    CUkernel kernel;
    cu_ok(driver(cuLibraryLoadFromFile)(&library, "scale.cubin", nullptr, nullptr, 0, nullptr,
                                        nullptr, 0));
    check(!unlink("scale.cubin"));
    cu_ok(driver(cuLibraryGetKernel)(&kernel, library, "scale"));
    run((CUfunction)kernel, 9);
    cu_gives(CUDA_ERROR_FILE_NOT_FOUND, driver(cuModuleLoad)(&module, "no such file"));
}

static void libraries_of_the_runtime()
{
    needs_a_gpu();
    cudaLibrary_t library;
    cudaKernel_t kernel;
    void *place;
    size_t bytes;
    unsigned count;
    int n = N, value = 0;
    float by = 5, *x = on_device<float>(N);
    void *args[] = { &x, &by, &n };
    std::vector<char> image = part_of(plain_source);
    ok(cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    ok(cudaLibraryGetKernelCount(&count, library));
    check(count == 1);
    ok(cudaLibraryGetKernel(&kernel, library, "scale"));
    ok(cudaLaunchKernel((const void *)kernel, dim3(N / 256), dim3(256), args, 0, nullptr));
    check(read(x, N)[N - 1] == 5 * (N - 1));
    ok(cudaLibraryGetGlobal(&place, &bytes, library, "counter"));
    ok(cudaMemcpy(&value, place, sizeof value, cudaMemcpyDeviceToHost));
    check(value == 7 && bytes == sizeof value);
    ok(cudaLibraryUnload(library));
}

static const test tests[] = {
    { "compiled to PTX", compiled_to_ptx },
    { "compiled to machine code", compiled_to_machine_code },
    { "linked with optimization", linked_with_optimization },
    { "linked by the driver with options", linked_by_the_driver_with_options },
    { "what the driver's compiler says", what_the_compiler_says },
    { "machine code from a file", loaded_from_a_file },
    { "libraries of the runtime", libraries_of_the_runtime },
};

int main(int argc, char **argv)
{
    return run_tests(argc, argv, tests);
}
