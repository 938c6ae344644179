/*
 * The runtime's process between fork and exec.
 *
 * The kernel kills the runtime when the supervisor is killed: PR_SET_PDEATHSIG (prctl(2)).
 *
 * The runtime has the same few rights as in a container: no new privileges, and of root's
 * capabilities only those that is_kept() names.
 */
#include "config.h"

#include "container/engine/supervisor_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bind.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "container/engine/kinds.h"

enum { EXEC_FAILED = 127 };

/* Raises the limit as far as possible. A failure is ignored, because few users may raise it. */
static void raise_memlock(void)
{
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    if (!setrlimit(RLIMIT_MEMLOCK, &limit) || getrlimit(RLIMIT_MEMLOCK, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
}

/* The runtime gives each session a user of its own, puts it into namespaces, and ends it. The
 * processes of sessions have no capability (runtime/sandbox). */
static bool is_kept(int capability)
{
    static const int kept[] = { CAP_IPC_LOCK, CAP_NET_BIND_SERVICE, CAP_KILL,      CAP_SETGID,
                                CAP_SETUID,   CAP_SYS_ADMIN,        CAP_SYS_CHROOT };
    for (size_t i = 0; i < ATH_COUNT(kept); i++)
        if (kept[i] == capability)
            return true;
    return false;
}

static void drop_rights(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
        if (!is_kept(capability))
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static int become(const struct ath_plan_node *node)
{
    uid_t user;
    gid_t group;
    if (geteuid() != 0 || !ath_node_user(node, &user, &group))
        return 0;
    return setgroups(0, NULL) || setgid(group) || setuid(user) ? -errno : 0;
}

static int enter_netns(const char *path, struct ath_err *err)
{
    if (!path)
        return 0;
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET))
        return ath_err_system(err, -errno, _("cannot enter the network namespace '%s'"), path);
    return 0;
}

static int place(const struct ath_supervisor_job *job, struct ath_err *err)
{
    const struct ath_plan_node *node = job->node;
    int status = enter_netns(job->state->netns, err);
    if (status)
        return status;
    status = ath_cgroup_enter(&job->cgroup->folders);
    if (status)
        return ath_err_system(err, status, _("cannot enter the control group of '%s'"), node->name);
    /* Entering a cpuset resets the CPUs to all of the set, so binding comes afterwards. */
    status = ath_bind_cpus(&node->cpus);
    if (status)
        return ath_err_system(err, status, _("cannot run '%s' on its CPUs"), node->name);
    if (!job->cgroup->has_cpuset)
        status = ath_bind_memory(ATH_MEMORY_BIND, &node->memory_nodes);
    if (status)
        return ath_err_system(err, status, _("cannot bind '%s' to its memory nodes"), node->name);
    raise_memlock();
    status = become(node);
    return status ? ath_err_system(err, status, _("cannot run '%s' as %s"), node->name, node->user)
                  : 0;
}

/* Returns the plan's environment and the few variables of the caller that a program may need. */
static char **environment_of(const struct ath_plan_node *node)
{
    static const char *const kept[] = { "PATH", "HOME",  "LANG", "LC_ALL", "LD_LIBRARY_PATH",
                                        "TZ",   "TMPDIR" };
    char **list = ath_xalloc((node->environment.count + ATH_COUNT(kept) + 1) * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < ATH_COUNT(kept); i++)
        if (getenv(kept[i]))
            list[count++] = ath_xasprintf("%s=%s", kept[i], getenv(kept[i]));
    for (size_t i = 0; i < node->environment.count; i++)
        list[count++] = ath_xasprintf("%s=%s", node->environment.items[i].name,
                                      node->environment.items[i].value);
    return list;
}

static char **arguments_of(const struct ath_plan_node *node)
{
    char **list = ath_xalloc((node->command.count + 1) * sizeof *list);
    for (size_t i = 0; i < node->command.count; i++)
        list[i] = node->command.items[i];
    return list;
}

static void die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(EXEC_FAILED);
}

void ath_supervisor_be_runtime(const struct ath_supervisor_job *job, int log, int report_fd,
                               pid_t parent)
{
    struct ath_supervisor_report report = { 0 };
    sigset_t none;

    die_with(parent);
    setpgid(0, 0);
    report.status = place(job, &report.err);
    if (!report.status) {
        drop_rights();
        die_with(parent); /* changing the user clears the death signal (prctl(2)) */
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(job->program, arguments_of(job->node), environment_of(job->node));
        report.status = ath_err_system(&report.err, -errno, _("cannot run '%s'"), job->program);
    }
    if (write(report_fd, &report, sizeof report) < 0)
        _exit(EXEC_FAILED);
    _exit(EXEC_FAILED);
}
