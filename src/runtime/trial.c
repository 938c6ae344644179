/* A table of what is tried, and a process for each trial. */
#include "config.h"

#include "runtime/trial.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "cuda/api/cuda_api.h"
#include "runtime/driver_library.h"

enum { TRIAL_S = 60 }; /* a driver without persistence mode takes seconds for each GPU */

/* The parts that a trial keeps, from all to none. */
struct trial {
    bool has_filter, has_landlock, has_view, changes_user;
    const char *problem; /* what is left out; NULL: nothing */
};

static const struct trial trials[] = {
    { true, true, true, true, NULL },
    { true, false, true, true,
      N_("the driver does not work inside the full sandbox, so sessions run without Landlock") },
    { false, true, true, true,
      N_("the driver does not work inside the full sandbox, so sessions run without the filter of "
         "system calls") },
    { true, true, false, true,
      N_("the driver does not work inside the full sandbox, so sessions run without namespaces") },
    { false, false, false, true,
      N_("the driver does not work inside the full sandbox, so sessions run without the filter of "
         "system calls, Landlock and namespaces") },
    { false, false, false, false,
      N_("the driver does not work inside a sandbox, so sessions run without any") },
};

/* The sandbox with the parts of a trial. Shares the descriptors of the view. */
static struct ath_sandbox with_parts(const struct ath_sandbox *whole, const struct trial *trial)
{
    struct ath_sandbox made = *whole;
    made.has_filter = made.has_filter && trial->has_filter;
    made.landlock_version = trial->has_landlock ? made.landlock_version : 0;
    made.view.is_made = made.view.is_made && trial->has_view;
    made.changes_user = made.changes_user && trial->changes_user;
    return made;
}

/* Takes a little memory of the first GPU. A GPU without free memory is no fault of the sandbox. */
static bool use_gpu(void *library)
{
    typeof(cuInit) *init = (typeof(cuInit) *)dlsym(library, "cuInit");
    typeof(cuDeviceGet) *get = (typeof(cuDeviceGet) *)dlsym(library, "cuDeviceGet");
    typeof(cuDevicePrimaryCtxRetain) *retain =
        (typeof(cuDevicePrimaryCtxRetain) *)dlsym(library, "cuDevicePrimaryCtxRetain");
    typeof(cuCtxSetCurrent) *set = (typeof(cuCtxSetCurrent) *)dlsym(library, "cuCtxSetCurrent");
    typeof(cuMemAlloc_v2) *allocate = (typeof(cuMemAlloc_v2) *)dlsym(library, "cuMemAlloc_v2");
    CUdeviceptr memory;
    CUcontext context;
    CUdevice device;
    if (!init || !get || !retain || !set || !allocate)
        return false;
    CUresult status = init(0);
    if (!status)
        status = get(&device, 0);
    if (!status)
        status = retain(&context, device);
    if (!status)
        status = set(context);
    if (!status)
        status = allocate(&memory, 1);
    return !status || status == CUDA_ERROR_OUT_OF_MEMORY;
}

/* Runs in the process of a trial, as a session does (lock_in.h). */
__attribute__((noreturn)) static void run(const struct ath_server *server, uid_t user,
                                          const struct ath_sandbox *sandbox)
{
    static const char soname[] = "libcuda.so.1";
    struct ath_err err;
    void *library;
    const int kept[] = { ath_driver_library_keep(server->is_simulated, soname) };
    const struct ath_sandbox_plan plan = { .sandbox = sandbox,
                                           .user = user,
                                           .identity = ATH_KEY_NAME_DEFAULT,
                                           .kept = kept,
                                           .kept_count = ATH_COUNT(kept) };
    alarm(TRIAL_S);
    bool works = !ath_sandbox_enter(&plan, &err) &&
                 !ath_driver_library_open(server->is_simulated, soname, &library, &err) &&
                 use_gpu(library);
    _exit(works ? 0 : 1);
}

static bool works_with(const struct ath_server *server, uid_t user,
                       const struct ath_sandbox *sandbox)
{
    int status = -1;
    pid_t child = fork();
    if (!child)
        run(server, user, sandbox);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void leave_out(struct ath_sandbox *sandbox, const struct trial *trial,
                      struct ath_devices *problems)
{
    struct ath_sandbox left = with_parts(sandbox, trial);
    if (sandbox->view.is_made && !left.view.is_made)
        ath_sandbox_view_free(&sandbox->view);
    left.view = sandbox->view;
    *sandbox = left;
    ath_devices_add_problem(problems, true, "sandbox-driver", "", "%s", trial->problem);
}

void ath_sandbox_try(const struct ath_server *server, uid_t user, struct ath_sandbox *sandbox,
                     struct ath_devices *problems)
{
    for (size_t i = 0; server->devices.count && i < ATH_COUNT(trials); i++) {
        struct ath_sandbox tried = with_parts(sandbox, &trials[i]);
        if (!works_with(server, user, &tried))
            continue;
        if (trials[i].problem)
            leave_out(sandbox, &trials[i], problems);
        return;
    }
}
