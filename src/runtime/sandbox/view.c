/* A child process makes the namespaces (unshare(2), mount_setattr(2)). The listening process opens
 * them through /proc before the child ends. */
#include "config.h"

#include "runtime/sandbox/view.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"

/* From linux/mount.h and linux/fcntl.h, which older systems do not have. */
enum { SYSTEM_MOUNT_SETATTR = 442, MOUNT_RECURSIVE = 0x8000 };
enum { MOUNT_READ_ONLY = 1, MOUNT_NO_SETUID = 2 };
struct mount_attributes {
    uint64_t set, clear, propagation, userns_fd;
};

struct mounting {
    const char *target, *type, *options;
    unsigned long flags;
    bool for_root, for_users;
};

static const struct mounting mountings[] = {
    { "/tmp", "tmpfs", "mode=1777,size=1g", MS_NOSUID | MS_NODEV, true, true },
    { "/dev/shm", "tmpfs", "mode=1777,size=1g", MS_NOSUID | MS_NODEV, true, true },
    { "/dev/pts", "tmpfs", "mode=555,size=4k", MS_NOSUID | MS_NODEV | MS_RDONLY, true, true },
    { "/run", "tmpfs", "mode=555,size=4k", MS_NOSUID | MS_NODEV | MS_RDONLY, false, true },
    { "/proc", "proc", "hidepid=2", MS_NOSUID | MS_NODEV | MS_NOEXEC, true, false },
};

static int write_text(const char *path, const char *text)
{
    ath_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(text);
    if (fd < 0)
        return -errno;
    return write(fd, text, length) == (ssize_t)length ? 0 : -errno;
}

/* The user keeps the own id, so the GPU driver sees the same user as outside. */
static int map_user(uid_t user, gid_t group)
{
    ath_auto_free char *users = ath_xasprintf("%u %u 1", user, user);
    ath_auto_free char *groups = ath_xasprintf("%u %u 1", group, group);
    int status = write_text("/proc/self/setgroups", "deny");
    if (!status || status == -ENOENT)
        status = write_text("/proc/self/uid_map", users);
    return status ? status : write_text("/proc/self/gid_map", groups);
}

static int arrange_files(bool is_root)
{
    struct mount_attributes read_only = { .set = MOUNT_READ_ONLY | MOUNT_NO_SETUID };
    struct mount_attributes writable = { .clear = MOUNT_READ_ONLY };
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
        syscall(SYSTEM_MOUNT_SETATTR, AT_FDCWD, "/", MOUNT_RECURSIVE, &read_only, sizeof read_only))
        return -errno;
    /* The driver writes the names of its threads there (sandbox.c). A user namespace may not mount
     * another one. */
    if (!is_root && syscall(SYSTEM_MOUNT_SETATTR, AT_FDCWD, "/proc", 0, &writable, sizeof writable))
        return -errno;
    for (size_t i = 0; i < ATH_COUNT(mountings); i++) {
        const struct mounting *one = &mountings[i];
        bool is_wanted = is_root ? one->for_root : one->for_users;
        if (is_wanted && mount("aitherion", one->target, one->type, one->flags, one->options) &&
            errno != ENOENT)
            return -errno;
    }
    return 0;
}

static int arrange(bool is_root)
{
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare((is_root ? 0 : CLONE_NEWUSER) | CLONE_NEWNS | CLONE_NEWIPC))
        return -errno;
    int status = is_root ? 0 : map_user(user, group);
    return status ? status : arrange_files(is_root);
}

static int open_namespace(pid_t child, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)child, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_view(pid_t child, bool is_root, struct ath_sandbox_view *out)
{
    *out = (struct ath_sandbox_view){ .user = is_root ? -1 : open_namespace(child, "user"),
                                      .mounts = open_namespace(child, "mnt"),
                                      .ipc = open_namespace(child, "ipc"),
                                      .is_made = true };
    int status = out->mounts < 0 ? out->mounts : out->ipc < 0 ? out->ipc : 0;
    if (!is_root && out->user < 0)
        status = out->user;
    if (status)
        ath_sandbox_view_free(out);
    return status;
}

/* The child reports its status and waits until the other end of go_on is closed. */
__attribute__((noreturn)) static void run_child(bool is_root, int report, int go_on)
{
    char nothing;
    int status = arrange(is_root);
    if (write(report, &status, sizeof status) == sizeof status)
        (void)!read(go_on, &nothing, 1);
    _exit(0);
}

int ath_sandbox_view_make(bool is_root, struct ath_sandbox_view *out)
{
    int report[2], go_on[2];
    int status;
    *out = (struct ath_sandbox_view){ .user = -1, .mounts = -1, .ipc = -1 };
    if (pipe2(report, O_CLOEXEC))
        return -errno;
    ath_auto_close int report_out = report[0];
    ath_auto_close int report_in = report[1];
    if (pipe2(go_on, O_CLOEXEC))
        return -errno;
    ath_auto_close int go_on_out = go_on[0];
    ath_auto_close int go_on_in = go_on[1];
    pid_t child = fork();
    if (child < 0)
        return -errno;
    if (!child) {
        close(go_on_in);
        run_child(is_root, report_in, go_on_out);
    }
    close(ath_steal_fd(&report_in));
    if (read(report_out, &status, sizeof status) != sizeof status)
        status = -ECHILD;
    if (!status)
        status = open_view(child, is_root, out);
    close(ath_steal_fd(&go_on_in));
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void ath_sandbox_view_free(struct ath_sandbox_view *view)
{
    if (!view->is_made)
        return;
    close_one(&view->user);
    close_one(&view->mounts);
    close_one(&view->ipc);
    view->is_made = false;
}

int ath_sandbox_view_enter(const struct ath_sandbox_view *view)
{
    if (!view->is_made)
        return 0;
    if ((view->user >= 0 && setns(view->user, CLONE_NEWUSER)) || setns(view->ipc, CLONE_NEWIPC) ||
        setns(view->mounts, CLONE_NEWNS) || chdir("/"))
        return -errno;
    return 0;
}
