/*
 * Code of an attacker who has taken over a session's process. Preloaded into the server, it runs
 * when a session that is locked in loads its driver, if the client set CUDA_AUTO_BOOST to "attack",
 * "spoil" or "stay". It tells each attack and its result to the abstract unix socket ATTACK_SOCKET,
 * one line each: "NAME held ERRNO" or "NAME done"; it gets the process id of another session there.
 * "spoil" also overwrites all memory that it shares
 * with others, and sends garbage to the listening process. "stay" attacks nothing, but ignores each
 * signal that can be ignored.
 *
 * ATTACK_FILES  files and folders that it tries to open, separated by colons
 * ATTACK_KEY    a key file of the server
 */
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int told = -1; /* the test's connection */

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (send(told, line, (size_t)length, MSG_NOSIGNAL) < 0)
        _exit(7);
}

/* is_done: the attack succeeded. */
static void result(const char *name, bool is_done)
{
    int error = errno;
    if (is_done)
        tell("%s done\n", name);
    else
        tell("%s held %s\n", name, strerrorname_np(error));
}

static bool opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return fd >= 0;
}

/* ---- files ---- */

static void attack_files(void)
{
    const char *key = getenv("ATTACK_KEY");
    char *files = strdup(getenv("ATTACK_FILES")), *rest = files, *file;
    char name[512], made[512];
    result("read-key", opens(key, O_RDONLY));
    result("write-key", opens(key, O_WRONLY));
    result("read-shadow", opens("/etc/shadow", O_RDONLY));
    result("write-passwd", opens("/etc/passwd", O_WRONLY));
    result("make-file-in-etc", opens("/etc/ath-attack", O_WRONLY | O_CREAT));
    result("make-file-in-var-tmp", opens("/var/tmp/ath-attack", O_WRONLY | O_CREAT));
    result("make-device", !mknod("/dev/shm/ath-attack", S_IFBLK | 0600, 0x800));
    result("read-memory", opens("/dev/mem", O_RDONLY));
    while ((file = strsep(&rest, ":"))) {
        snprintf(name, sizeof name, "write-%s", file);
        result(name, opens(file, O_WRONLY) || opens(file, O_WRONLY | O_CREAT));
        snprintf(made, sizeof made, "%s/ath-attack", file);
        snprintf(name, sizeof name, "make-in-%s", file);
        result(name, opens(made, O_WRONLY | O_CREAT));
    }
    free(files);
}

/* ---- other processes ---- */

static void attack_process(const char *who, pid_t pid)
{
    static const char *const parts[] = { "mem", "environ", "maps", "fd/2", "root" };
    char name[64], path[64], bytes[16];
    struct iovec own = { bytes, sizeof bytes }, other = { (void *)0x400000, sizeof bytes };
    siginfo_t info = { .si_code = SI_QUEUE };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, parts[i]);
        snprintf(name, sizeof name, "%s-proc-%s", who, parts[i]);
        result(name, opens(path, O_RDONLY));
    }
#define ATTACK(what, expression)                                                                   \
    snprintf(name, sizeof name, "%s-%s", who, what);                                               \
    result(name, expression)
    ATTACK("kill", !kill(pid, SIGKILL));
    ATTACK("tgkill", !syscall(SYS_tgkill, pid, pid, SIGKILL));
    ATTACK("tkill", !syscall(SYS_tkill, pid, SIGKILL));
    ATTACK("sigqueue", !syscall(SYS_rt_sigqueueinfo, pid, SIGKILL, &info));
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    ATTACK("pidfd-signal", !syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0));
    ATTACK("pidfd-getfd", syscall(SYS_pidfd_getfd, pidfd, 0, 0) >= 0);
    ATTACK("ptrace", !ptrace(PTRACE_ATTACH, pid, NULL, NULL));
    ATTACK("seize", !ptrace(PTRACE_SEIZE, pid, NULL, NULL));
    ATTACK("vm-read", process_vm_readv(pid, &own, 1, &other, 1, 0) >= 0);
    ATTACK("vm-write", process_vm_writev(pid, &own, 1, &other, 1, 0) >= 0);
    ATTACK("prlimit", !prlimit(pid, RLIMIT_NOFILE, &(struct rlimit){ 0, 0 }, NULL));
    ATTACK("setown", !fcntl(told, F_SETOWN, pid));
    ATTACK("setown-ex", !fcntl(told, F_SETOWN_EX, &(struct f_owner_ex){ F_OWNER_PID, pid }));
    ATTACK("setown-by-ioctl", !ioctl(told, FIOSETOWN, &pid));
    ATTACK("setown-by-socket", !ioctl(told, SIOCSPGRP, &pid));
#undef ATTACK
    if (pidfd >= 0)
        close(pidfd);
}

static void attack_processes(void)
{
    char neighbour[16] = "";
    if (recv(told, neighbour, sizeof neighbour - 1, 0) <= 0)
        _exit(9);
    attack_process("listener", getppid());
    attack_process("init", 1);
    attack_process("neighbour", atoi(neighbour));
    result("kill-all", !kill(-1, SIGKILL));
    result("kill-group", !kill(0, SIGKILL));
}

/* ---- rights ---- */

static void attack_rights(void)
{
    result("setuid", !setuid(0));
    result("setresuid", !setresuid(0, 0, 0));
    result("setgroups", !setgroups(0, NULL));
    result("unshare-user", !unshare(CLONE_NEWUSER));
    result("unshare-mount", !unshare(CLONE_NEWNS));
    result("clone-user", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0);
    result("setns", !setns(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC), 0));
    result("mount", !mount("x", "/tmp", "tmpfs", 0, NULL));
    result("remount", !mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    result("umount", !umount2("/proc", MNT_DETACH));
    result("chroot", !chroot("/tmp"));
    result("fork", fork() >= 0);
    result("exec", execl("/bin/true", "true", (char *)NULL) >= 0);
    result("internet", socket(AF_INET, SOCK_STREAM, 0) >= 0);
    result("netlink", socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
    result("packet", socket(AF_PACKET, SOCK_RAW, 0) >= 0);
    result("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, NULL, 0) >= 0);
    result("perf", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) >= 0);
    result("userfaultfd", syscall(SYS_userfaultfd, 0) >= 0);
    result("io-uring", syscall(SYS_io_uring_setup, 1, NULL) >= 0);
    result("keyctl", syscall(SYS_keyctl, 0, -3, 0) >= 0);
    result("open-by-handle", syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0) >= 0);
    result("module", !syscall(SYS_finit_module, -1, "", 0));
    result("reboot", !syscall(SYS_reboot, 0, 0, 0, NULL));
    result("address-0", mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
    result("dumpable", !prctl(PR_SET_DUMPABLE, 1));
    result("dumpable-by-64-bits", !syscall(SYS_prctl, 1L << 32 | PR_SET_DUMPABLE, 1L, 0L, 0L, 0L));
    result("outlive-by-64-bits", !syscall(SYS_prctl, 1L << 32 | PR_SET_PDEATHSIG, 0L, 0L, 0L, 0L));
    result("outlive", !prctl(PR_SET_PDEATHSIG, 0));
    result("core", !setrlimit(RLIMIT_CORE, &(struct rlimit){ 4096, 4096 }));
}

/* ---- what it has ---- */

/* Whether another one of the server's own descriptors is open: a listening socket, or more than the
 * client's connection and the socket to the listening process (and to take connections). */
static void attack_descriptors(void)
{
    int sockets = 0, listening = 0, value;
    for (int fd = 3; fd < 1024; fd++) {
        socklen_t length = sizeof value;
        if (fd == told || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length))
            continue;
        sockets++;
        listening += value;
    }
    errno = 0;
    result("listening-sockets", listening);
    result("more-sockets", sockets > 3);
}

/* Opens a pipe of which it has the writing end again, to take out what others write. */
static void attack_pipes(void)
{
    char path[64];
    for (int fd = 3; fd < 1024; fd++) {
        struct stat file;
        if (fstat(fd, &file) || !S_ISFIFO(file.st_mode))
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        result("chmod-pipe", !fchmod(fd, 0666) || !chmod(path, 0666));
        result("read-pipe", opens(path, O_RDONLY | O_NONBLOCK));
    }
}

/* Maps more of the board behind its own entry, or other pages in its place. */
static void attack_entry(void *entry, size_t bytes)
{
    result("grow-entry", mremap(entry, bytes, bytes * 2, MREMAP_MAYMOVE) != MAP_FAILED);
    result("copy-entry", mremap(entry, 0, bytes * 2, MREMAP_MAYMOVE) != MAP_FAILED);
    result("move-entry", !syscall(SYS_remap_file_pages, entry, bytes, 0, 0, 0));
}

/* Writes a word of a page as it is, past the rights of the mapping. */
static bool writes_through_proc(uintptr_t page)
{
    char bytes[8];
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    bool is_done = fd >= 0 && pread(fd, bytes, sizeof bytes, (off_t)page) == sizeof bytes &&
                   pwrite(fd, bytes, sizeof bytes, (off_t)page) == sizeof bytes;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return is_done;
}

/* Makes the board's pages writable, and (spoils) overwrites those that are. */
static void attack_board(bool spoils)
{
    char line[512], rights[5];
    uintptr_t begin, end, own_begin = 0, own_end = 0, others = 0;
    int writable = 0, opened = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        if (!strstr(line, "/memfd:aitherion-board") ||
            sscanf(line, "%zx-%zx %4s", &begin, &end, rights) != 3)
            continue;
        writable += rights[1] == 'w' ? (int)((end - begin) >> 16) : 0;
        opened += rights[1] != 'w' && !mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE);
        if (rights[1] == 'w') {
            own_begin = begin;
            own_end = end;
        } else {
            others = begin;
        }
        if (spoils && rights[1] == 'w')
            memset((void *)begin, 0x7f, end - begin);
    }
    if (maps)
        fclose(maps);
    result("open-board", opened);
    result("more-of-the-board", writable != 1);
    result("board-by-proc", others && writes_through_proc(others));
    attack_entry((void *)own_begin, own_end - own_begin);
}

static void send_garbage(void)
{
    char bytes[512];
    for (int fd = 3; fd < 1024; fd++) {
        int type = 0;
        socklen_t length = sizeof type;
        if (fd == told || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) ||
            type != SOCK_SEQPACKET)
            continue;
        for (size_t i = 0; i < 2000; i++) {
            for (size_t at = 0; at < sizeof bytes; at++)
                bytes[at] = (char)(i % 5 ? at * i : 0xff);
            send(fd, bytes, i % sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
}

static void attack(bool spoils)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *name = getenv("ATTACK_SOCKET");
    memcpy(address.sun_path + 1, name, strlen(name));
    told = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(told, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))))
        _exit(8);
    attack_files();
    attack_processes();
    attack_rights();
    attack_descriptors();
    attack_pipes();
    attack_board(spoils);
    if (spoils)
        send_garbage();
    tell("end\n");
    close(told);
}

static void ignore_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_IGN);
}

/* A session loads its driver after it has been locked in; the server's other processes never have
 * the client's variable. */
void *dlopen(const char *path, int flags)
{
    static bool has_attacked;
    static void *(*next)(const char *, int);
    const char *wanted = getenv("CUDA_AUTO_BOOST");
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    if (wanted && !has_attacked && (!strcmp(wanted, "attack") || !strcmp(wanted, "spoil"))) {
        has_attacked = true;
        attack(!strcmp(wanted, "spoil"));
    }
    if (wanted && !strcmp(wanted, "stay"))
        ignore_signals();
    return next(path, flags);
}
