/*
 * Helpers that the programs of this folder share. They are plain programs of the CUDA runtime:
 *
 *     PROGRAM NAME     one test, in this process; 77: it cannot run here
 *     PROGRAM          all of them, each in a process of its own
 *
 * A program defines `tests` and includes this file first. Kernels named as in
 * tests/cuda_programs/kernels.cu are known to the simulated driver as well.
 */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 };

#define fail(...)                                                                                  \
    do {                                                                                           \
        printf("%s:%d: ", __FILE__, __LINE__);                                                     \
        printf(__VA_ARGS__);                                                                       \
        putchar('\n');                                                                             \
        fflush(stdout);                                                                            \
        _exit(1);                                                                                  \
    } while (0)
#define gives(wanted, call)                                                                        \
    do {                                                                                           \
        cudaError_t got_ = (call);                                                                 \
        if (got_ != (wanted))                                                                      \
            fail("%s: %s", #call, cudaGetErrorName(got_));                                         \
    } while (0)
#define ok(call) gives(cudaSuccess, call)
#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail("not so: %s", #condition);                                                        \
    } while (0)

[[noreturn]] static inline void skip(const char *reason)
{
    printf("skipped: %s\n", reason);
    fflush(stdout);
    _exit(SKIPPED);
}

static inline bool is_simulated()
{
    cudaDeviceProp prop;
    ok(cudaGetDeviceProperties(&prop, 0));
    return strstr(prop.name, "simulated") != nullptr;
}

/* The simulated driver knows a few kernels by name, and does not do all else either. */
static inline void needs_a_gpu()
{
    if (is_simulated())
        skip("the simulated driver does not do this");
}

template <typename T> static T *on_device(size_t count)
{
    T *memory;
    ok(cudaMalloc(&memory, count * sizeof(T)));
    ok(cudaMemset(memory, 0, count * sizeof(T)));
    return memory;
}

template <typename T> static std::vector<T> read(const T *memory, size_t count)
{
    std::vector<T> values(count);
    ok(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

/* Whether all of an array's values are one. */
template <typename T> static bool all_are(const T *values, size_t count, T value)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != value)
            return false;
    return true;
}

struct test {
    const char *name;
    void (*run)();
};

template <size_t COUNT> static int run_tests(int argc, char **argv, const test (&tests)[COUNT])
{
    int passed = 0, bad = 0, skipped = 0;
    for (const test &one : tests) {
        if (argc > 1) {
            if (strcmp(argv[1], one.name))
                continue;
            one.run();
            return 0;
        }
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            one.run();
            exit(0);
        }
        int status = 1;
        waitpid(child, &status, 0);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        printf("%s: %s\n", one.name, !code ? "passed" : code == SKIPPED ? "skipped" : "FAILED");
        passed += !code;
        skipped += code == SKIPPED;
        bad += code && code != SKIPPED;
    }
    if (argc > 1)
        return 2;
    printf("%d passed, %d failed, %d skipped\n", passed, bad, skipped);
    return bad != 0;
}
