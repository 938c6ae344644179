/* A table of refused calls, and the filter that libseccomp makes of it. */
#include "config.h"

#include "runtime/sandbox/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"

/* Refused with EPERM, whatever the arguments. libseccomp leaves out a name that the machine does
 * not have. */
static const char *const refused[] = {
    /* other programs and processes: a session is one process, which ends with the listener */
    "execve",
    "execveat",
    "fork",
    "vfork",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "kcmp",
    "pidfd_getfd",
    "pidfd_send_signal",
    /* They would map more of the file behind a mapping, with its rights: the rest of the board
     * behind the session's own entry (session_board.h). realloc() copies if it may not move
     * pages. */
    "mremap",
    "remap_file_pages",
    /* file systems and namespaces */
    "mount",
    "umount",
    "umount2",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "pivot_root",
    "chroot",
    "unshare",
    "setns",
    "name_to_handle_at",
    "open_by_handle_at",
    "mknod",
    "mknodat",
    "quotactl",
    "quotactl_fd",
    "fanotify_init",
    "swapon",
    "swapoff",
    "acct",
    /* another user */
    "setuid",
    "setgid",
    "setreuid",
    "setregid",
    "setresuid",
    "setresgid",
    "setgroups",
    "setfsuid",
    "setfsgid",
    "capset",
    /* the kernel's larger interfaces */
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "add_key",
    "request_key",
    "keyctl",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "create_module",
    "iopl",
    "ioperm",
    "modify_ldt",
    "pciconfig_read",
    "pciconfig_write",
    "pciconfig_iobase",
    "lookup_dcookie",
    "syslog",
    "uselib",
    "ustat",
    "sysfs",
    "nfsservctl",
    "vm86",
    "vm86old",
    /* the machine */
    "reboot",
    "sethostname",
    "setdomainname",
    "settimeofday",
    "stime",
    "clock_settime",
    "clock_settime64",
    "adjtimex",
    "clock_adjtime",
    "clock_adjtime64",
    "vhangup",
    "personality",
    "sched_setscheduler",
    "sched_setparam",
    "sched_setattr",
    "ioprio_set",
    "migrate_pages",
};

/* Refused if an argument has, or has not, a value. */
struct condition {
    const char *call;
    unsigned int argument;
    enum { IS, IS_NOT, IS_NOT_OWN_PROCESS, LACKS_BIT } kind;
    uint64_t value;
    int error;
};

static const struct condition conditions[] = {
    /* Threads only. glibc makes them by clone() if clone3(), whose flags lie in memory, is not
     * there. */
    { "clone", 0, LACKS_BIT, CLONE_THREAD, EPERM },
    { "kill", 0, IS_NOT_OWN_PROCESS, 0, EPERM },
    { "tgkill", 0, IS_NOT_OWN_PROCESS, 0, EPERM },
    { "rt_sigqueueinfo", 0, IS_NOT_OWN_PROCESS, 0, EPERM },
    { "rt_tgsigqueueinfo", 0, IS_NOT_OWN_PROCESS, 0, EPERM },
    /* Signals about a descriptor go to any process of the same user. */
    { "fcntl", 1, IS, F_SETOWN, EPERM },
    { "fcntl", 1, IS, F_SETOWN_EX, EPERM },
    { "ioctl", 1, IS, FIOSETOWN, EPERM },
    { "ioctl", 1, IS, SIOCSPGRP, EPERM },
    { "prlimit64", 0, IS_NOT, 0, EPERM }, /* 0: the process itself */
    { "setpriority", 1, IS_NOT, 0, EPERM },
    { "socket", 0, IS_NOT, AF_UNIX, EAFNOSUPPORT },
    { "prctl", 0, IS, PR_SET_PDEATHSIG, EPERM },
    { "prctl", 0, IS, PR_SET_DUMPABLE, EPERM },
    { "prctl", 0, IS, PR_SET_MM, EPERM },
    { "prctl", 0, IS, PR_SET_PTRACER, EPERM },
};

/* A terminal takes typed input from each process that has it open. */
static const struct condition of_terminals[] = {
    { "ioctl", 1, IS, TIOCSTI, EPERM },
    { "ioctl", 1, IS, TIOCLINUX, EPERM },
};

/* Without a user of its own a session owns the pipe to the arbiter, which it may write only
 * (arbiter.c). */
static const char *const of_owners[] = { "chmod", "fchmod", "fchmodat", "fchmodat2" };

/* Refused with ENOSYS, so that the C library uses an older call that can be filtered. tkill() names
 * a thread of any process. */
static const char *const missing[] = { "clone3", "tkill" };

bool ath_sandbox_filters_calls(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 &&
           (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) >= 0 || errno == EFAULT);
}

static int refuse(scmp_filter_ctx filter, const char *call, int error, unsigned int count,
                  struct scmp_arg_cmp compared)
{
    int number = seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR)
        return 0;
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)error), number, count, compared);
}

static struct scmp_arg_cmp comparison(const struct condition *condition)
{
    struct scmp_arg_cmp compared = { .arg = condition->argument,
                                     .op = SCMP_CMP_NE,
                                     .datum_a = condition->value };
    /* The kernel looks at the lower 32 bits of these arguments, so the filter must, too. */
    const struct scmp_arg_cmp is_value = { .arg = condition->argument,
                                           .op = SCMP_CMP_MASKED_EQ,
                                           .datum_a = UINT32_MAX, /* the mask */
                                           .datum_b = condition->value };
    if (condition->kind == IS)
        return is_value;
    if (condition->kind == IS_NOT_OWN_PROCESS)
        compared.datum_a = (uint64_t)getpid();
    else if (condition->kind == LACKS_BIT)
        compared.op = SCMP_CMP_MASKED_EQ; /* no bit of the mask is set */
    return compared;
}

static int add_conditions(scmp_filter_ctx filter, const struct condition *list, size_t count)
{
    int status = 0;
    for (size_t i = 0; !status && i < count; i++)
        status = refuse(filter, list[i].call, list[i].error, 1, comparison(&list[i]));
    return status;
}

static int refuse_all(scmp_filter_ctx filter, const char *const *calls, size_t count, int error)
{
    static const struct scmp_arg_cmp any;
    int status = 0;
    for (size_t i = 0; !status && i < count; i++)
        status = refuse(filter, calls[i], error, 0, any);
    return status;
}

static int add_rules(scmp_filter_ctx filter, bool has_own_user)
{
    int status = refuse_all(filter, refused, ATH_COUNT(refused), EPERM);
    if (!status)
        status = refuse_all(filter, missing, ATH_COUNT(missing), ENOSYS);
    if (!status && !has_own_user)
        status = refuse_all(filter, of_owners, ATH_COUNT(of_owners), EPERM);
    if (!status)
        status = add_conditions(filter, conditions, ATH_COUNT(conditions));
    if (!status && (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO)))
        status = add_conditions(filter, of_terminals, ATH_COUNT(of_terminals));
    return status;
}

/* Without the mitigation of speculative stores, which Linux before 5.16 gives to each process with
 * a filter and which costs several percent of its speed. A session trusts its own process. */
static int set_up(scmp_filter_ctx filter)
{
    int status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    if (!status || status == -EOPNOTSUPP)
        status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1);
    if (!status)
        status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    return status;
}

int ath_sandbox_filter_calls(bool has_own_user)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return -ENOMEM;
    int status = set_up(filter);
    if (!status)
        status = add_rules(filter, has_own_user);
    if (!status)
        status = seccomp_load(filter);
    seccomp_release(filter);
    return status;
}
