/* Loads the machine's driver into the program. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/i18n.h"
#include "cuda/local/local.h"
#include "remote/session/open.h"

struct ath_local ath_local;

atomic_uint ath_local_captures;

CUresult ath_local_began_capture(CUresult status)
{
    if (!status)
        atomic_fetch_add(&ath_local_captures, 1);
    return status;
}

/* A spoilt capture is over as well. One that ended with its stream stays counted, which only leaves
 * pools' unused memory with them. A call that ended none is not counted: another stream's capture
 * goes on. */
CUresult ath_local_ended_capture(CUresult status)
{
    const bool is_over = !status || status == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                         status == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    unsigned int count = atomic_load(&ath_local_captures);
    while (is_over && count &&
           !atomic_compare_exchange_weak(&ath_local_captures, &count, count - 1))
        ;
    return status;
}

/* Copies the first path of a list with colons whose file is there; the last path if none is. */
static bool first_path(const char *list, char out[PATH_MAX])
{
    for (const char *end = list; *end; list = end + 1) {
        end = strchrnul(list, ':');
        if (snprintf(out, PATH_MAX, "%.*s", (int)(end - list), list) >= PATH_MAX)
            return false;
        if (!access(out, F_OK) || !*end)
            break;
    }
    return strchr(out, '/');
}

/* Paths, not names: under the name libcuda.so.1 the linker knows this library. */
static int open_driver(void **out, struct ath_err *err)
{
    const char *list = ath_client_variable("AITHERION_DRIVER");
    char path[PATH_MAX] = "";
    if (!list || !first_path(list, path)) {
        ath_err_set(err, -ENOENT, ATH_E_LIBRARY, "%s",
                    _("AITHERION_DRIVER does not name the file of the GPU's driver"));
        return ath_err_hint(err, -ENOENT, "aitherion run --local");
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return ath_err_set(err, -ENOENT, ATH_E_LIBRARY, _("'%s' cannot be loaded: %s"), path,
                           dlerror());
    void *init = dlsym(library, "cuInit");
    if (!init)
        return ath_err_set(err, -ENOENT, ATH_E_LIBRARY, _("'%s' is no CUDA driver"), path);
    if (init == (void *)(uintptr_t)cuInit)
        return ath_err_set(err, -ENOENT, ATH_E_LIBRARY,
                           _("'%s' is aitherion's library, not the driver's"), path);
    *out = library;
    return 0;
}

static void take_functions(void *library)
{
    for (size_t i = 0; i < ATH_CUDA_DRIVER_COUNT; i++) {
        void *function = dlsym(library, ath_local_names[i]);
        memcpy((char *)&ath_local.driver + i * sizeof function, &function, sizeof function);
    }
}

static void load(void)
{
    struct ath_err err = { 0 };
    void *library = NULL;
    int status = open_driver(&library, &err);
    if (!status)
        take_functions(library);
    else
        ath_client_complain(&err);
    atomic_store_explicit(&ath_local.state, status ? ATH_LOCAL_FAILED : ATH_LOCAL_READY,
                          memory_order_release);
}

bool ath_local_must_stop(enum ath_local_kind kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    int state = atomic_load(&ath_local.state);
    switch (state) {
    case ATH_LOCAL_READY:
        return false;
    case ATH_LOCAL_ENDED:
        return kind == ATH_LOCAL_USES;
    case ATH_LOCAL_FORKED:
        return kind != ATH_LOCAL_TELLS;
    default:
        return true;
    }
}

CUresult ath_local_why(void)
{
    switch (atomic_load(&ath_local.state)) {
    case ATH_LOCAL_ENDED:
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    case ATH_LOCAL_FORKED:
        return CUDA_ERROR_NOT_INITIALIZED; /* as the driver says */
    default:
        return CUDA_ERROR_SYSTEM_NOT_READY;
    }
}

void ath_local_forked(void)
{
    atomic_store(&ath_local.state, ATH_LOCAL_FORKED);
}

void ath_local_end(void)
{
    int ready = ATH_LOCAL_READY;
    atomic_compare_exchange_strong(&ath_local.state, &ready, ATH_LOCAL_ENDED);
}
