/* Finds the machine's driver and a runtime for `aitherion run --local`; starts a private runtime if
 * none runs. */
#include "config.h"

#include "cli/commands/run_local.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "container/engine/engine.h"
#include "remote/session/open.h"
#include "remote/wire/endpoint.h"

#define SONAME "libcuda.so.1"

enum { START_MS = 30000, LOCK_MS = START_MS + 5000, PAUSE_US = 20000, TRY_MS = 2000 };
enum { END_MS = 10000 }; /* of an unused runtime, with its sessions */

/* ---- the driver ---- */

static int missing(const char *reason, struct ath_err *err)
{
    ath_err_set(err, -ENOENT, ATH_E_LIBRARY, _("this machine's GPU driver is not found: %s"),
                reason);
    return ath_err_hint(err, -ENOENT, "AITHERION_DRIVER=/PATH/" SONAME);
}

/* The simulator lies where the server looks for it (runtime/driver_library.c). */
static char *simulated_path(void)
{
    const char *folder = getenv("AITHERION_SIM_FOLDER");
    return folder && *folder ? ath_xasprintf("%s/" SONAME, folder)
                             : ath_path_library("sim/" SONAME);
}

/* Returns whether a file is one of aitherion's own that stand in for the driver's. */
static bool is_own(const char *path)
{
    static const char *const names[] = { SONAME, "several/" SONAME, "local/" SONAME };
    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        ath_auto_free char *own = ath_path_library(names[i]);
        ath_auto_free char *real = own ? realpath(own, NULL) : NULL;
        if (real && !strcmp(real, path))
            return true;
    }
    return false;
}

/* As the dynamic linker finds it for any program: this process becomes one in a moment. */
static int linked_path(char **out, struct ath_err *err)
{
    struct link_map *map = NULL;
    void *library = dlopen(SONAME, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return missing(dlerror(), err);
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !map)
        return missing(SONAME, err);
    ath_auto_free char *path = realpath(map->l_name, NULL);
    if (!path || is_own(path))
        return missing(_("the linker finds aitherion's own library first"), err);
    *out = ath_steal(&path);
    return 0;
}

int ath_run_local_driver(bool is_simulated, char **out, struct ath_err *err)
{
    const char *variable = ath_client_variable("AITHERION_DRIVER");
    if (!variable && !is_simulated)
        return linked_path(out, err);
    ath_auto_free char *path = variable ? ath_xstrdup(variable) : simulated_path();
    *out = path ? realpath(path, NULL) : NULL;
    return *out ? 0 : missing(path ? path : SONAME, err);
}

/* ---- the user's own runtime ---- */

static char *folder_path(void)
{
    ath_auto_free char *base = ath_engine_run_folder();
    return ath_xasprintf("%s-local", base);
}

char *ath_run_local_socket(void)
{
    ath_auto_free char *folder = folder_path();
    return ath_xasprintf("%s/socket", folder);
}

/* The folder may lie in /tmp, so it must be this user's. */
static int make_folder(const char *folder, struct ath_err *err)
{
    struct stat facts;
    if (mkdir(folder, 0700) && errno != EEXIST)
        return ath_err_system(err, -errno, _("cannot make the folder '%s'"), folder);
    if (lstat(folder, &facts))
        return ath_err_system(err, -errno, "%s", folder);
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || facts.st_mode & 077) {
        ath_err_set(err, -EPERM, ATH_E_FOREIGN, _("'%s' is not a folder of this user's alone"),
                    folder);
        return ath_err_hint(err, -EPERM, "AITHERION_RUN_FOLDER=/PATH");
    }
    return 0;
}

static int does_not_end(const char *path, struct ath_err *err)
{
    ath_err_set(err, -EAGAIN, ATH_E_BUSY,
                _("the last runtime for local programs has not ended in %d s, and keeps '%s'"),
                END_MS / 1000, path);
    return ath_err_hint(err, -EAGAIN, "fuser -k %s", path);
}

/* Takes a user's lock. An unused runtime that is just ending keeps it until it has ended. */
static int use(const char *folder, struct ath_err *err)
{
    ath_auto_free char *path = ath_xasprintf("%s/users", folder);
    int opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int fd = opened < 0 ? -1 : fcntl(opened, F_DUPFD, 3); /* not the program's standard input */
    int status = fd < 0 ? ath_err_system(err, -errno, _("cannot open '%s'"), path) : 0;
    if (opened >= 0)
        close(opened);
    if (status)
        return status;
    for (uint64_t end_ms = ath_now_ms() + END_MS; flock(fd, LOCK_SH | LOCK_NB);) {
        if (errno == EWOULDBLOCK && ath_now_ms() >= end_ms)
            return does_not_end(path, err);
        if (errno != EWOULDBLOCK && errno != EINTR)
            return ath_err_system(err, -errno, _("cannot lock '%s'"), path);
        usleep(PAUSE_US);
    }
    return 0;
}

static bool answers(const char *socket)
{
    struct ath_endpoint endpoint;
    ATH_AUTO(ath_session) session = { .fd = -1 };
    struct ath_err err;
    return !ath_endpoint_of_path(socket, &endpoint, &err) &&
           !ath_session_open(&endpoint, NULL, (struct ath_encryption){ ATH_ENCRYPT_AUTO, NULL },
                             NULL, TRY_MS, &session, &err);
}

__attribute__((noreturn)) static void become_runtime(const char *program, const char *folder,
                                                     const char *socket)
{
    ath_auto_free char *users = ath_xasprintf("%s/users", folder);
    ath_auto_free char *log = ath_xasprintf("%s/log", folder);
    int null_fd = open("/dev/null", O_RDONLY);
    int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    static const char *const of_program[] = { "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                              "VRAM_FRACTION" };
    for (size_t i = 0; i < ATH_COUNT(of_program); i++)
        unsetenv(of_program[i]);
    if (null_fd >= 0)
        dup2(null_fd, 0);
    if (log_fd < 0)
        log_fd = open("/dev/null", O_WRONLY);
    if (log_fd >= 0) {
        dup2(log_fd, 1);
        dup2(log_fd, 2);
    }
    ath_close_from(3); /* the lock of a user among them */
    (void)!chdir("/");
    execl(program, "aitherion-runtime", "serve", "--listen", "none", "--socket", socket,
          "--no-auth", "--until-unused", users, (char *)NULL);
    _exit(127);
}

/* Starts a runtime that is no child of this process, which becomes the program. Returns its process
 * id, or a negative errno. */
static pid_t begin_runtime(const char *program, const char *folder, const char *socket)
{
    int pipe_fds[2];
    pid_t runtime = -EAGAIN;
    if (pipe2(pipe_fds, O_CLOEXEC))
        return -errno;
    pid_t pid = fork();
    if (!pid) {
        setsid();
        pid_t second = fork();
        if (!second)
            become_runtime(program, folder, socket);
        _exit(write(pipe_fds[1], &second, sizeof second) != sizeof second);
    }
    close(pipe_fds[1]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (read(pipe_fds[0], &runtime, sizeof runtime) != sizeof runtime || runtime < 0)
        runtime = -EAGAIN;
    close(pipe_fds[0]);
    return runtime;
}

/* Waits until the runtime answers, or has ended. */
static int await_runtime(pid_t runtime, const char *folder, const char *socket, struct ath_err *err)
{
    for (uint64_t end_ms = ath_now_ms() + START_MS; !answers(socket);) {
        if (kill(runtime, 0) && errno == ESRCH) {
            ath_err_set(err, -ECHILD, ATH_E_START_FAILED, "%s",
                        _("the runtime for local programs has ended at once"));
            return ath_err_hint(err, -ECHILD, "cat %s/log", folder);
        }
        if (ath_now_ms() >= end_ms) {
            ath_err_set(err, -ETIMEDOUT, ATH_E_START_TIMEOUT,
                        _("the runtime for local programs does not answer within %d s"),
                        START_MS / 1000);
            return ath_err_hint(err, -ETIMEDOUT, "cat %s/log", folder);
        }
        usleep(PAUSE_US);
    }
    return 0;
}

static int launch(const char *folder, const char *socket, struct ath_err *err)
{
    ath_auto_free char *program = ath_path_program("aitherion-runtime");
    if (!program)
        return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, "%s",
                           _("'aitherion-runtime' is not installed"));
    pid_t runtime = begin_runtime(program, folder, socket);
    return runtime < 0 ? ath_err_system(err, (int)runtime, _("cannot start '%s'"), program)
                       : await_runtime(runtime, folder, socket, err);
}

int ath_run_local_start(struct ath_err *err)
{
    ath_auto_free char *folder = folder_path(), *socket = ath_run_local_socket();
    ath_auto_close int lock = -1;
    int status = make_folder(folder, err);
    if (!status)
        status = use(folder, err);
    if (!status)
        status = ath_file_lock(socket, LOCK_MS, &lock, err);
    if (!status && !answers(socket))
        status = launch(folder, socket, err);
    return status;
}
