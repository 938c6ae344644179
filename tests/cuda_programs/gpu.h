/*
 * Shared by the programs in this folder: checks, a device with its kernels, a gate that holds a
 * stream, and main().
 *
 * They are plain programs of the driver API, linked to libcuda.so.1: LD_LIBRARY_PATH chooses
 * whether they run on the simulated driver, through the remoting client, or on a GPU. A test that
 * asks for what only the simulated driver does says so (ONLY_SIMULATED) and is skipped elsewhere.
 *
 *     PROGRAM          each test in a process of its own; the last line counts them
 *     PROGRAM --list   their names
 *     PROGRAM NAME     one of them, in this process
 *
 * kernels.ptx is looked for in tests/cuda_programs below $srcdir (.).
 */
#pragma once
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda/api/cuda_api.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- checks: what does not hold ends the process with a line that says so ---- */

/* Prints FILE:LINE and the rest, and ends the process. */
__attribute__((noreturn, format(printf, 3, 4))) void failed(const char *file, int line,
                                                            const char *format, ...);
/* Ends the process; the test counts as skipped. */
__attribute__((noreturn)) void skip(const char *reason);
/* CUDA's name of an error. */
const char *error_name(CUresult status);

#define gives(wanted, call)                                                                        \
    do {                                                                                           \
        CUresult got_ = (call);                                                                    \
        if (got_ != (wanted))                                                                      \
            failed(__FILE__, __LINE__, "%s: %s, not %s", #call, error_name(got_),                  \
                   error_name(wanted));                                                            \
    } while (0)
#define ok(call) gives(CUDA_SUCCESS, call)
#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            failed(__FILE__, __LINE__, "not so: %s", #condition);                                  \
    } while (0)
/* Fails unless two numbers are equal. */
#define same(got, wanted)                                                                          \
    do {                                                                                           \
        double got_ = (double)(got), wanted_ = (double)(wanted);                                   \
        if (!(got_ == wanted_))                                                                    \
            failed(__FILE__, __LINE__, "%s is %.9g, not %.9g", #got, got_, wanted_);               \
    } while (0)

/* ---- the device ---- */

extern CUcontext context; /* the primary one of device 0, current in the first thread */
bool is_simulated(void);  /* also through the remoting client */

/* A kernel of kernels.ptx, which is loaded before a test begins. */
CUfunction kernel(const char *name);
char *read_kernels(void); /* the text; the caller frees it */
CUresult launch(CUfunction function, int n, CUstream stream, void **params); /* n threads */
CUresult launch_fill(CUdeviceptr p, float v, int n, CUstream stream);        /* p = v */
CUresult launch_saxpy(int n, float a, CUdeviceptr x, CUdeviceptr y, CUstream stream); /* y += a x */

CUdeviceptr allocate(size_t bytes);
void *allocate_pinned(size_t bytes);
/* The value that all n floats have; NAN if they differ. Waits for the legacy stream. */
float all_of(CUdeviceptr p, int n);

void sleep_ms(int ms);
double now_ms(void);
/* Seconds to wait for an event that comes at once or never: AITHERION_PATIENCE, or 60. */
unsigned int patience_s(void);
/* Waits that long for *flag to have the value. Returns whether it did. */
bool becomes(const int *flag, int value);

/* ---- a gate in a stream: one at a time, since a driver may call host functions one by one ---- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool is_open, is_reached;
};
#define GATE                                                                                       \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false                          \
    }

void close_gate(struct gate *gate, CUstream stream); /* the stream stops here until it is opened */
void open_gate(struct gate *gate);
void reach_gate(struct gate *gate); /* waits until the stream has reached the gate */

/* Whether the GPU and the program look at the same pages at the same time: no server on another
 * host is between them. */
bool has_shared_pages(void);

/* ---- main ---- */

struct test {
    const char *name; /* the fact that the test shows */
    void (*run)(void);
    enum {
        ONLY_SIMULATED = 1,
        CRASHES = 2, /* ends with SIGSEGV */
        NO_SETUP = 4,
        SHARED_PAGES = 8, /* the GPU and the program look at the same memory at the same time */
        SAME_PLACES = 16, /* much of the program's memory is at the same address in the server */
        FORKS = 32,       /* and the child allocates */
    } flags;
};

/* Before each test cuInit() and the primary context, then setup (NULL: nothing). */
int run_tests(int argc, char **argv, void (*setup)(void), const struct test *tests, size_t count);
