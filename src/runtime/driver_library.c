/* Finding and loading the driver's libraries. */
#include "config.h"

#include "runtime/driver_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/paths.h"

static int kept_fd = -1;

int ath_driver_library_keep(bool is_simulated, const char *soname)
{
    ath_auto_free char *path = is_simulated ? ath_driver_library_path(true, soname) : NULL;
    kept_fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return kept_fd;
}

int ath_driver_library_keep_gpu(bool is_simulated)
{
    static int gpu_fd = -1;
    const char *path = getenv("AITHERION_SIM_GPU");
    if (!is_simulated || gpu_fd >= 0 || !path || !*path)
        return gpu_fd;
    gpu_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (gpu_fd >= 0) {
        ath_auto_free char *setting = ath_xasprintf("fd:%d", gpu_fd);
        setenv("AITHERION_SIM_GPU", setting, 1);
    }
    return gpu_fd;
}

/* The argument for dlopen(). The kernel opens a kept file by its descriptor, whatever the folders
 * above it allow. */
static char *openable_path(bool is_simulated, const char *soname)
{
    if (kept_fd >= 0)
        return ath_xasprintf("/proc/self/fd/%d", kept_fd);
    return ath_driver_library_path(is_simulated, soname);
}

char *ath_driver_library_path(bool is_simulated, const char *soname)
{
    const char *folder = getenv("AITHERION_SIM_FOLDER");
    if (!is_simulated)
        return ath_xstrdup(soname);
    if (folder && *folder)
        return ath_xasprintf("%s/%s", folder, soname);
    ath_auto_free char *name = ath_xasprintf("sim/%s", soname);
    return ath_path_library(name);
}

/* Returns whether a library is the client library that programs get in place of the driver. Loading
 * that one would make the server ask a server. */
static bool is_own_client(void *library, const char *soname)
{
    struct link_map *map = NULL;
    ath_auto_free char *own = ath_path_library(soname);
    if (!own || dlinfo(library, RTLD_DI_LINKMAP, &map) || !map)
        return false;
    ath_auto_free char *own_real = realpath(own, NULL);
    ath_auto_free char *real = realpath(map->l_name, NULL);
    return own_real && real && !strcmp(own_real, real);
}

int ath_driver_library_open(bool is_simulated, const char *soname, void **out_library,
                            struct ath_err *err)
{
    ath_auto_free char *path = openable_path(is_simulated, soname);
    if (!path)
        return ath_err_set(err, -ENOENT, ATH_E_LIBRARY,
                           _("the simulator's '%s' is not installed here"), soname);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return ath_err_set(err, -ENOENT, ATH_E_LIBRARY, _("'%s' cannot be loaded: %s"), soname,
                           dlerror());
    if (!is_simulated && is_own_client(library, soname)) {
        dlclose(library);
        ath_err_set(err, -ENOENT, ATH_E_LIBRARY,
                    _("the '%s' found here is aitherion's client library, not the driver's"),
                    soname);
        return ath_err_hint(err, -ENOENT, "unset LD_LIBRARY_PATH");
    }
    *out_library = library;
    return 0;
}

/* The variables in a row, in the order of the environment. */
static void add_variables(struct ath_fingerprint *print)
{
    for (char *const *at = environ; at && *at; at++)
        if (!strncmp(*at, "CUDA_", 5) || !strncmp(*at, "NVIDIA_", 7))
            ath_fingerprint_add(print, *at, strlen(*at));
}

/* Finds the path of the file that has the function. A kept file's path may be hidden by now. */
static char *find_file(const void *function, struct stat *out)
{
    char kept[PATH_MAX];
    Dl_info info;
    if (kept_fd >= 0) {
        ath_auto_free char *link = ath_xasprintf("/proc/self/fd/%d", kept_fd);
        ssize_t length = readlink(link, kept, sizeof kept - 1);
        kept[length < 0 ? 0 : length] = '\0';
        return length > 0 && !fstat(kept_fd, out) ? ath_xstrdup(kept) : NULL;
    }
    if (!function || !dladdr(function, &info) || !info.dli_fname)
        return NULL;
    ath_auto_free char *path = realpath(info.dli_fname, NULL);
    return path && !stat(path, out) ? ath_steal(&path) : NULL;
}

bool ath_driver_library_fingerprint(const void *function, uint32_t version,
                                    struct ath_fingerprint_value *out)
{
    struct ath_fingerprint print = ATH_FINGERPRINT_START;
    struct stat status;
    ath_auto_free char *path = find_file(function, &status);
    if (!path)
        return false;
    const int64_t numbers[] = { (int64_t)version, (int64_t)status.st_size,
                                (int64_t)status.st_mtim.tv_sec, (int64_t)status.st_mtim.tv_nsec };
    ath_fingerprint_add(&print, numbers, sizeof numbers);
    ath_fingerprint_add(&print, path, strlen(path));
    ath_fingerprint_add(&print, PACKAGE_STRING, strlen(PACKAGE_STRING));
    add_variables(&print);
    *out = ath_fingerprint_end(&print);
    return true;
}
