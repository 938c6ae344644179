/* The steps of locking a session in, in the order that each of them needs. */
#include "config.h"

#include "runtime/sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "runtime/sandbox/system_calls.h"

enum {
    JIT_CACHE_BYTES = 256 << 20,
    /* Processes and threads of one identity: 8192 threads of its programs and 16 of each of its 256
     * sessions (host_limits.h). A runtime may have 16384. */
    THREADS_MAX = 12288,
};

/* ---- what the host can do ---- */

static bool has_capability(unsigned int capability)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };
    return !syscall(SYS_capget, &header, data) &&
           data[capability / 32].effective >> capability % 32 & 1;
}

static bool has_group(const struct ath_sandbox *sandbox, gid_t group)
{
    for (size_t i = 0; i < sandbox->group_count; i++)
        if (sandbox->groups[i] == group)
            return true;
    return false;
}

/* Device files have mode 0666, unless the administrator gave them to a group or to root alone
 * (NVreg_DeviceFileMode, NVreg_DeviceFileGID). */
static void find_group(struct ath_sandbox *out, const char *path, struct ath_devices *problems)
{
    enum { ALL = S_IROTH | S_IWOTH, GROUP = S_IRGRP | S_IWGRP };
    struct stat file;
    if (stat(path, &file) || !S_ISCHR(file.st_mode) || (file.st_mode & ALL) == ALL)
        return;
    if (has_group(out, file.st_gid))
        return;
    if ((file.st_mode & GROUP) == GROUP && file.st_gid && out->group_count < ATH_COUNT(out->groups))
        out->groups[out->group_count++] = file.st_gid;
    else
        ath_devices_add_problem(
            problems, true, "sandbox-device", path,
            N_("sessions have no privileges and cannot open this device file: set mode 0666 or a "
               "group other than root (NVreg_DeviceFileMode, NVreg_DeviceFileGID)"));
}

void ath_sandbox_find_groups(struct ath_sandbox *out, const char *folder,
                             struct ath_devices *problems)
{
    ath_auto_closedir DIR *open = opendir(folder);
    const struct dirent *entry;
    while (open && (entry = readdir(open))) {
        ath_auto_free char *path = ath_xasprintf("%s/%s", folder, entry->d_name);
        if (!strncmp(entry->d_name, "nvidia", strlen("nvidia")))
            find_group(out, path, problems);
    }
}

/* A container with a read-only root file system is a view of its own. */
static bool has_narrow_root(void)
{
    struct statvfs root;
    return !statvfs("/", &root) && root.f_flag & ST_RDONLY;
}

static void find_view(struct ath_sandbox *out, struct ath_devices *problems)
{
    bool is_root = has_capability(CAP_SYS_ADMIN) && has_capability(CAP_SYS_CHROOT);
    int status = -EPERM;
    if (!out->changes_user || is_root) /* other users are not in a user namespace of one user */
        status = ath_sandbox_view_make(out->changes_user, &out->view);
    if (status && !has_narrow_root())
        ath_devices_add_problem(problems, false, "sandbox-files", "",
                                N_("sessions see all files of this host, because the server may "
                                   "make no namespaces for them: %s"),
                                strerror(-status));
}

void ath_sandbox_prepare(struct ath_sandbox *out, size_t user_count, struct ath_devices *problems)
{
    *out = (struct ath_sandbox){ .listener = getpid(),
                                 .has_filter = ath_sandbox_filters_calls(),
                                 .landlock_version = ath_sandbox_landlock_version(),
                                 .changes_user = user_count && has_capability(CAP_SETUID) &&
                                                 has_capability(CAP_SETGID) &&
                                                 has_capability(CAP_KILL) };
    if (out->changes_user)
        ath_sandbox_find_groups(out, "/dev", problems);
    else
        ath_devices_add_problem(
            problems, false, "sandbox-users", "",
            N_("sessions run as the server's own user; start the server as root "
               "to give each identity a user of its own"));
    find_view(out, problems);
    if (!out->has_filter)
        ath_devices_add_problem(problems, false, "sandbox-calls", "",
                                N_("this kernel does not filter the system calls of sessions"));
    if (!out->landlock_version && !out->changes_user)
        ath_devices_add_problem(problems, false, "sandbox-landlock", "",
                                N_("this kernel has no Landlock, so sessions may read and change "
                                   "files of the server's user"));
}

void ath_sandbox_free(struct ath_sandbox *sandbox)
{
    ath_sandbox_view_free(&sandbox->view);
}

/* ---- locking in ---- */

static bool is_kept(const struct ath_sandbox_plan *plan, int libraries, int fd)
{
    for (size_t i = 0; i < plan->kept_count; i++)
        if (plan->kept[i] == fd)
            return true;
    return fd <= STDERR_FILENO || fd == libraries;
}

/* Closes what the process inherited: the listener's ends of other sessions' sockets among it. */
static int close_others(const struct ath_sandbox_plan *plan, int libraries)
{
    ath_auto_closedir DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    if (!folder)
        return -errno;
    while ((entry = readdir(folder))) {
        uint64_t number;
        if (ath_parse_u64(entry->d_name, 10, &number)) /* "." and ".." */
            continue;
        int fd = (int)number;
        if (fd != dirfd(folder) && !is_kept(plan, libraries, fd))
            close(fd);
    }
    return 0;
}

int ath_sandbox_close_inherited(void)
{
    return close_others(&(struct ath_sandbox_plan){ 0 }, -1);
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    const struct __user_cap_data_struct none[2] = { 0 };
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* Without rights from here on. */
static int become_user(const struct ath_sandbox_plan *plan)
{
    const struct ath_sandbox *sandbox = plan->sandbox;
    if (sandbox->changes_user && (setgroups(sandbox->group_count, sandbox->groups) ||
                                  setresgid(plan->user, plan->user, plan->user) ||
                                  setresuid(plan->user, plan->user, plan->user)))
        return -errno;
    int status = drop_capabilities();
    if (status)
        return status;
    return sandbox->changes_user && !setresuid(0, 0, 0) ? -ENOTRECOVERABLE : 0;
}

/*
 * The kernel forgets both settings when a process changes its user (prctl(2)). The files below
 * /proc/self of a process that is not "dumpable" belong to root. NVIDIA's driver writes the names
 * of its threads there since version 570, and cuInit() fails with CUDA_ERROR_OPERATING_SYSTEM if it
 * may not (seen with driver 580 on an H200). Another identity has another user, and another session
 * of this identity is in a Landlock domain of its own, so neither may read this process's memory.
 */
static int follow_listener(pid_t listener)
{
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
        return -errno;
    return getppid() == listener ? 0 : -ESRCH;
}

/* The kernel counts threads by user, so the limit is of use where the user is the session's own. */
static int limit_threads(bool has_own_user)
{
    struct rlimit limit;
    if (!has_own_user || getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_max <= THREADS_MAX)
        return 0;
    limit.rlim_cur = limit.rlim_max = THREADS_MAX;
    return setrlimit(RLIMIT_NPROC, &limit) ? -errno : 0;
}

static int limit_process(bool has_own_user)
{
    static const struct rlimit none = { 0, 0 };
    if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    return limit_threads(has_own_user);
}

/* A folder that another user has made there is not used. */
static char *make_folder(const struct ath_sandbox_plan *plan)
{
    struct stat folder;
    ath_auto_free char *path =
        plan->sandbox->changes_user
            ? ath_xasprintf("/tmp/aitherion-%u", (unsigned int)plan->user)
            : ath_xasprintf("/tmp/aitherion-%u-%s", (unsigned int)geteuid(), plan->identity);
    mkdir(path, 0700);
    if (lstat(path, &folder) || !S_ISDIR(folder.st_mode) || folder.st_uid != geteuid() ||
        folder.st_mode & (S_IRWXG | S_IRWXO))
        return NULL;
    return ath_steal(&path);
}

/* The driver keeps compiled kernels in a cache. */
static void name_folder(const char *folder)
{
    if (!folder) {
        setenv("CUDA_CACHE_DISABLE", "1", true);
        return;
    }
    ath_auto_free char *most = ath_xasprintf("%d", JIT_CACHE_BYTES);
    setenv("HOME", folder, true);
    setenv("TMPDIR", folder, true);
    setenv("CUDA_CACHE_PATH", folder, true);
    setenv("CUDA_CACHE_MAXSIZE", most, false);
}

static int fail(struct ath_err *err, int status, const char *step)
{
    return ath_err_system(err, status, "the session cannot be locked in: %s", step);
}

int ath_sandbox_enter(const struct ath_sandbox_plan *plan, struct ath_err *err)
{
    const struct ath_sandbox *sandbox = plan->sandbox;
    ath_auto_close int libraries =
        ath_sandbox_open_libraries(); /* the view may hide their folder */
    int status = ath_sandbox_view_enter(&sandbox->view);
    if (status)
        return fail(err, status, "namespaces");
    status = close_others(plan, libraries);
    if (status)
        return fail(err, status, "descriptors");
    status = limit_process(sandbox->changes_user);
    if (!status)
        status = become_user(plan);
    if (status)
        return fail(err, status, "user");
    status = follow_listener(sandbox->listener);
    if (status)
        return fail(err, status, "listener");
    ath_auto_free char *folder = make_folder(plan);
    name_folder(folder);
    if (sandbox->landlock_version)
        status = ath_sandbox_limit_files(sandbox->landlock_version, sandbox->changes_user,
                                         libraries, folder);
    if (status)
        return fail(err, status, "files");
    status = sandbox->has_filter ? ath_sandbox_filter_calls(sandbox->changes_user) : 0;
    return status ? fail(err, status, "system calls") : 0;
}
