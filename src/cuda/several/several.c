/* Loads one copy of the client's library for each server. The copies are copies of one file, since
 * the dynamic linker loads a file only once (it compares device and inode, glibc elf/dl-load.c),
 * and each server needs its own variables. */
#include "config.h"

#include "cuda/several/several.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cuda/several/addresses.h"
#include "remote/session/open.h"

enum { PATH_BYTES = 4096 };

struct ath_several ath_several_all[ATH_SERVERS_MAX];

static struct ath_servers servers;
static atomic_size_t loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

size_t ath_several_count(void)
{
    return atomic_load_explicit(&loaded, memory_order_acquire);
}

CUresult ath_several_refuse(const char *function, const char *reason)
{
    if (ath_client_logs_calls())
        fprintf(stderr, "aitherion: %s is not supported: %s\n", function, reason);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- errors of work in streams ---- */

void ath_several_failed(struct ath_several *at, CUresult status)
{
    int none = CUDA_SUCCESS;
    atomic_compare_exchange_strong(&at->failure, &none, (int)status);
}

/* Printed once, since the condition lasts until the process ends. */
static void say_fault(const struct ath_several *at)
{
    static atomic_bool is_said;
    if (ath_several_has_others(at) && !atomic_exchange(&is_said, true))
        fprintf(stderr,
                "aitherion: a kernel at '%s' used an address that it does not reach; what another "
                "server gave out is such a one, managed and pinned memory too\n",
                at->self.server);
}

CUresult ath_several_waited(struct ath_several *at, CUresult status)
{
    if (status == CUDA_ERROR_ILLEGAL_ADDRESS)
        say_fault(at);
    return status ? status : (CUresult)atomic_exchange(&at->failure, CUDA_SUCCESS);
}

static atomic_bool is_exiting;

static void note_switch_exit(void)
{
    is_exiting = true;
}

bool ath_several_is_exiting(void)
{
    return is_exiting;
}

/* ---- loading ---- */

/* Finds the library for one server: FOLDER/libcuda.so.1 beside this FOLDER/several/libcuda.so.1. */
static int find_library(char out[PATH_BYTES], struct ath_err *err)
{
    Dl_info self;
    char path[PATH_BYTES];
    if (!dladdr((void *)&ath_several_all, &self) || !realpath(self.dli_fname, path))
        return ath_err_system(err, -errno, "%s", _("cannot find the library's own folder"));
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
    if (snprintf(out, PATH_BYTES, "%s/libcuda.so.1", path) >= PATH_BYTES)
        return ath_err_system(err, -ENAMETOOLONG, "%s", path);
    return 0;
}

static int copy_library(const char *path, struct ath_err *err)
{
    struct stat facts;
    ath_auto_close int from = open(path, O_RDONLY | O_CLOEXEC);
    ath_auto_close int to = from < 0 ? -1 : memfd_create("aitherion-libcuda", MFD_CLOEXEC);
    if (to < 0 || fstat(from, &facts))
        return ath_err_system(err, -errno, _("cannot copy '%s'"), path);
    for (off_t done = 0; done < facts.st_size;) {
        ssize_t count = sendfile(to, from, NULL, (size_t)(facts.st_size - done));
        if (count <= 0)
            return ath_err_system(err, count ? -errno : -EIO, _("cannot copy '%s'"), path);
        done += count;
    }
    return ath_steal_fd(&to);
}

static int take_calls(void *library, struct ath_several_calls *out, struct ath_err *err)
{
    for (size_t i = 0; i < ath_several_name_count; i++) {
        void *function = dlsym(library, ath_several_names[i]);
        if (!function)
            return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("libcuda.so.1 lacks '%s'"),
                               ath_several_names[i]);
        memcpy((char *)out + i * sizeof function, &function, sizeof function);
    }
    return 0;
}

/* The library is never unloaded, since its own threads run in it. The linker does not load the same
 * name twice, so each copy needs another descriptor; the caller closes them all at the end. */
static int load_copy(const char *path, unsigned int index, int *fd, struct ath_err *err)
{
    void (*tell)(const struct ath_instance *);
    struct ath_several *one = &ath_several_all[index];
    char name[64];
    *fd = copy_library(path, err);
    if (*fd < 0)
        return *fd;
    snprintf(name, sizeof name, "/proc/self/fd/%d", *fd);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *entry = library ? dlsym(library, "aitherion_instance") : NULL;
    if (!entry)
        return ath_err_set(err, -ELIBACC, ATH_E_NOT_FOUND, _("cannot load '%s': %s"), path,
                           dlerror());
    one->self = (struct ath_instance){ .server = servers.items[index],
                                       .index = index,
                                       .device_to_own = ath_several_device_to_own,
                                       .device_to_wire = ath_several_device_to_wire };
    memcpy(&tell, &entry, sizeof tell);
    tell(&one->self);
    return take_calls(library, &one->calls, err);
}

static int load_all(struct ath_err *err)
{
    char path[PATH_BYTES];
    int fds[ATH_SERVERS_MAX];
    size_t count = 0;
    int status = ath_client_servers(&servers, err);
    if (!status)
        status = find_library(path, err);
    while (!status && count < servers.count) {
        status = load_copy(path, (unsigned int)count, &fds[count], err);
        count++;
    }
    while (count)
        ath_close_p(&fds[--count]);
    if (!status)
        atomic_store_explicit(&loaded, servers.count, memory_order_release);
    return status;
}

static CUresult result_of_load(int status)
{
    return !status             ? CUDA_SUCCESS
           : status == -ENODEV ? CUDA_ERROR_NO_DEVICE
                               : CUDA_ERROR_SYSTEM_NOT_READY;
}

CUresult ath_several_load(void)
{
    static bool is_tried;
    static int outcome;
    if (ath_several_count())
        return CUDA_SUCCESS;
    struct ath_err err = { 0 };
    pthread_mutex_lock(&lock);
    if (!is_tried) {
        outcome = load_all(&err);
        atexit(note_switch_exit);
    }
    if (outcome && !is_tried && !ath_client_is_disabled())
        ath_client_complain(&err);
    is_tried = true;
    int status = outcome;
    pthread_mutex_unlock(&lock);
    return result_of_load(status);
}
