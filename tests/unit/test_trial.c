/* Parts that are left out of the sandbox for a driver that does not work inside it. The linker
 * gives trial.c the functions below instead of the sandbox and the library. */
#include "config.h"

#include "runtime/trial.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cuda/api/cuda_functions.h"
#include "runtime/driver_library.h"
#include "runtime/sandbox/sandbox.h"

#include "unit.h"

enum { USER = 4711, FULL_LANDLOCK = 3 };
enum part { FILTER = 1, LANDLOCK = 2, VIEW = 4, USERS = 8, ALL = 15 };

/* The driver of a test: what it does where one of the parts is there. */
enum fault { FAILS, DIES, HAS_NO_MEMORY, HAS_NO_LIBRARY, SANDBOX_FAILS };
static struct {
    unsigned int hates; /* parts */
    enum fault fault;
} driver;

static unsigned int around; /* the parts that the trial's process is in */

static unsigned int parts_of(const struct ath_sandbox *sandbox)
{
    return (sandbox->has_filter ? FILTER : 0) | (sandbox->landlock_version ? LANDLOCK : 0) |
           (sandbox->view.is_made ? VIEW : 0) | (sandbox->changes_user ? USERS : 0);
}

static bool does(enum fault fault)
{
    return driver.fault == fault && around & driver.hates;
}

int __wrap_ath_sandbox_enter(const struct ath_sandbox_plan *plan, struct ath_err *err);
int __wrap_ath_sandbox_enter(const struct ath_sandbox_plan *plan, struct ath_err *err)
{
    (void)err;
    around = parts_of(plan->sandbox);
    return plan->user != USER || does(SANDBOX_FAILS) ? -EPERM : 0;
}

int __wrap_ath_driver_library_open(bool is_simulated, const char *soname, void **out_library,
                                   struct ath_err *err);
int __wrap_ath_driver_library_open(bool is_simulated, const char *soname, void **out_library,
                                   struct ath_err *err)
{
    (void)is_simulated, (void)soname, (void)err;
    *out_library = dlopen(NULL, RTLD_NOW);
    return does(HAS_NO_LIBRARY) ? -ENOENT : 0;
}

#pragma GCC visibility push(default)

CUresult cuInit(unsigned int flags)
{
    (void)flags;
    if (does(DIES))
        raise(SIGKILL); /* as the filter of system calls may do */
    return does(FAILS) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = (CUcontext)(uintptr_t)8;
    return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    *address = bytes;
    return does(HAS_NO_MEMORY) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

#pragma GCC visibility pop

static struct ath_devices problems;

/* Tries a driver in the whole sandbox. Returns the parts that sessions have then. A view that is
 * left out is closed, and its numbers forgotten: they may soon be those of other files. */
static unsigned int tried(size_t gpus, unsigned int hates, enum fault fault)
{
    const int mounts = open("/", O_PATH), ipc = open("/", O_PATH);
    struct ath_sandbox sandbox = { .has_filter = true,
                                   .landlock_version = FULL_LANDLOCK,
                                   .view = { true, -1, mounts, ipc },
                                   .changes_user = true };
    const struct ath_server server = { .devices.count = gpus };

    driver.hates = hates;
    driver.fault = fault;
    problems.problem_count = 0;
    ath_sandbox_try(&server, USER, &sandbox, &problems);
    const unsigned int parts = parts_of(&sandbox);
    ck_assert(sandbox.landlock_version == 0 || sandbox.landlock_version == FULL_LANDLOCK);
    ck_assert((fcntl(mounts, F_GETFD) < 0) == !sandbox.view.is_made);
    ck_assert_int_eq(sandbox.view.mounts, sandbox.view.is_made ? mounts : -1);
    ath_sandbox_view_free(&sandbox.view);
    return parts;
}

TEST(a_driver_that_works_keeps_all)
{
    ck_assert_uint_eq(tried(1, 0, FAILS), ALL);
    ck_assert_uint_eq(problems.problem_count, 0);
}

/* No driver is touched for a server without GPUs. */
TEST(without_gpus_nothing_is_tried)
{
    ck_assert_uint_eq(tried(0, ALL, FAILS), ALL);
    ck_assert_uint_eq(problems.problem_count, 0);
}

/* A GPU that is full is no fault of the sandbox. */
TEST(a_gpu_without_memory_keeps_all)
{
    ck_assert_uint_eq(tried(1, ALL, HAS_NO_MEMORY), ALL);
    ck_assert_uint_eq(problems.problem_count, 0);
}

static const struct {
    unsigned int hates, left;
    const char *words;
} rows[] = {
    { LANDLOCK, ALL & ~LANDLOCK, "without Landlock" },
    { FILTER, ALL & ~FILTER, "without the filter of system calls" },
    { VIEW, ALL & ~VIEW, "without namespaces" },
    { FILTER | VIEW, USERS, "without the filter of system calls, Landlock and namespaces" },
    { USERS, 0, "without any" },
};

/* Only what the driver does not bear is left out, and an administrator reads of it. A driver that
 * the sandbox kills works as little as one with an error. */
LOOP_TEST(leaves_out_what_the_driver_does_not_bear, 0, ATH_COUNT(rows) * 4)
{
    static const enum fault faults[] = { FAILS, DIES, HAS_NO_LIBRARY, SANDBOX_FAILS };
    size_t row = (size_t)_i / ATH_COUNT(faults);

    ck_assert_uint_eq(tried(1, rows[row].hates, faults[(size_t)_i % ATH_COUNT(faults)]),
                      rows[row].left);
    ck_assert_uint_eq(problems.problem_count, 1);
    ck_assert_str_eq(problems.problems[0].code, "sandbox-driver");
    ck_assert(problems.problems[0].is_fault);
    ck_assert_msg(strstr(problems.problems[0].message, rows[row].words), "%s",
                  problems.problems[0].message);
}
