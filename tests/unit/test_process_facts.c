/* Processes in /proc, ports and their owners, and the state that a supervisor writes. */
#include "config.h"

#include "container/engine/process_facts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/process_name.h"
#include "base/unknown.h"
#include "container/engine/cgroup.h"
#include "container/engine/kinds.h"
#include "container/engine/process_state.h"
#include "container/engine/run_folder.h"
#include "tree.h"
#include "unit.h"

TEST(reads_itself)
{
    ATH_AUTO(ath_process) self = { 0 };
    if (getenv("EXE_WRAPPER")) {
        puts("skipped test: reads_itself: qemu's user emulation makes its own /proc/self/stat");
        return;
    }
    ck_assert_int_eq(ath_process_read(getpid(), &self), 0);
    ck_assert_int_eq(self.parent, getppid());
    ck_assert_int_eq(self.session, getsid(0));
    ck_assert_ptr_nonnull(self.cpus);
    ck_assert_uint_ne(self.netns, 0);
    ck_assert_int_ne(self.memlock_bytes, ATH_UNKNOWN);
    ck_assert(self.started_s > 1000000000);
    ck_assert(ath_process_is(getpid(), self.start_ticks));
    ck_assert(!ath_process_is(getpid(), self.start_ticks + 1));
    ck_assert(!ath_process_is(ATH_UNKNOWN, self.start_ticks));
}

/* Its name ends the part of /proc/PID/stat that names may break. */
TEST(reads_a_process_of_any_name)
{
    ATH_AUTO(ath_process) child = { 0 };
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (!pid) {
        FILE *comm = fopen("/proc/self/comm", "w");
        if (!comm || fputs("a) R 1 (b\n", comm) < 0 || fclose(comm) || write(ends[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    char byte;
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    ck_assert_int_eq(ath_process_read(pid, &child), 0);
    ck_assert_int_eq(child.parent, getpid());
    kill(pid, SIGKILL);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    ATH_AUTO(ath_process) zombie = { 0 };
    ck_assert_int_eq(ath_process_read(pid, &zombie), -ESRCH);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(ath_process_read(pid, &zombie), -ESRCH);
    close(ends[0]);
    close(ends[1]);
}

static int listen_on(int family, int type, int *out_port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = { 0 };
    socklen_t length = family == AF_INET ? sizeof address.four : sizeof address.six;
    int fd = socket(family, type, 0);

    if (family == AF_INET)
        address.four = (struct sockaddr_in){ .sin_family = AF_INET,
                                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    else
        address.six =
            (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    if (fd < 0 || bind(fd, &address.any, length) || (type == SOCK_STREAM && listen(fd, 1)) ||
        getsockname(fd, &address.any, &length))
        return -1;
    *out_port = ntohs(family == AF_INET ? address.four.sin_port : address.six.sin6_port);
    return fd;
}

static bool has_text(const struct ath_texts *texts, const char *wanted)
{
    for (size_t i = 0; i < texts->count; i++)
        if (!strcmp(texts->items[i], wanted))
            return true;
    return false;
}

TEST(sees_listening_sockets)
{
    struct ath_texts seen = { 0 };
    int four = 0, six = 0;
    int fd = listen_on(AF_INET, SOCK_STREAM, &four), other = listen_on(AF_INET6, SOCK_STREAM, &six);
    ck_assert_int_ge(fd, 0);
    ath_process_listening(getpid(), &seen);
    ath_auto_free char *text = ath_xasprintf("127.0.0.1:%d", four);
    ck_assert(has_text(&seen, text));
    if (other >= 0) {
        ath_auto_free char *text_six = ath_xasprintf("[::1]:%d", six);
        ck_assert(has_text(&seen, text_six));
        close(other);
    }
    ath_auto_free char *owner = ath_port_owner(four, false, NULL);
    ath_auto_free char *self = ath_xasprintf("(process %d)", getpid());
    ck_assert_ptr_nonnull(owner);
    ck_assert_ptr_nonnull(strstr(owner, self));
    close(fd);
    ck_assert_ptr_null(ath_port_owner(four, false, NULL));
    ath_texts_free(&seen);
}

/* Two sockets with one port are one address; a socket with a peer takes no datagrams of others. */
TEST(sees_sockets_of_datagrams)
{
    ATH_AUTO(ath_texts) seen = { 0 };
    const int on = 1;
    int port = 0, other_port = 0;
    int fd = listen_on(AF_INET, SOCK_DGRAM, &port), twin = dup(fd);
    int other = listen_on(AF_INET, SOCK_DGRAM, &other_port);
    struct sockaddr_in peer = { .sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    ck_assert_int_eq(connect(other, (struct sockaddr *)&peer, sizeof peer), 0);
    int shared = socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert_int_eq(setsockopt(shared, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    ck_assert_int_eq(bind(shared, (struct sockaddr *)&peer, sizeof peer), 0);
    ath_process_listening(getpid(), &seen);
    ath_auto_free char *text = ath_xasprintf("127.0.0.1:%d/udp", port);
    ath_auto_free char *absent = ath_xasprintf("127.0.0.1:%d/udp", other_port);
    size_t count = 0;
    for (size_t i = 0; i < seen.count; i++)
        count += !strcmp(seen.items[i], text);
    ck_assert_uint_eq(count, 1);
    ck_assert(!has_text(&seen, absent));
    ath_auto_free char *owner = ath_port_owner(port, true, NULL);
    ck_assert_ptr_nonnull(owner);
    ck_assert_ptr_null(ath_port_owner(port, false, NULL));
    close(fd);
    close(twin);
    close(shared);
    close(other);
}

TEST(sees_a_unix_listener)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char folder[] = "/tmp/ath-facts-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/a socket", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert(!ath_process_is_listener(getpid(), address.sun_path)); /* bound, but not listening */
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert(ath_process_is_listener(getpid(), address.sun_path));
    ck_assert(!ath_process_is_listener(getppid(), address.sun_path));
    ck_assert(!ath_process_is_listener(getpid(), folder));
    ck_assert(!ath_process_is_listener(getpid(), NULL));
    close(fd);
    ck_assert(!ath_process_is_listener(getpid(), address.sun_path));
    unlink(address.sun_path);
    rmdir(folder);
}

TEST(knows_the_owner_of_a_process)
{
    ck_assert(!ath_process_is_in_container(getpid(), "0123456789abcdef0123456789abcdef"));
    ck_assert(!ath_process_is_in_container(getpid(), ""));
    ck_assert(!ath_process_is_in_container(ATH_UNKNOWN, "x"));
    const char *path = getenv("PATH");
    ath_auto_free char *pair = ath_xasprintf("PATH=%s", path);
    ck_assert(ath_process_has_variable(getpid(), pair));
    ck_assert(!ath_process_has_variable(getpid(), "PATH"));
    ck_assert(ath_process_has_argument(getpid(), program_invocation_name));
    ck_assert(!ath_process_has_argument(getpid(), "no such argument"));
}

TEST(keeps_the_last_lines)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        { "", "" },
        { "\n", "" },
        { "a", "a|" },
        { "a\n", "a|" },
        { "a\nb\r\nc", "b|c|" },
        { "a\n\nb\n", "|b|" },
    };
    for (size_t i = 0; i < ATH_COUNT(cases); i++) {
        struct ath_texts lines = { 0 };
        struct ath_text all = { 0 };
        ath_log_tail(cases[i].text, strlen(cases[i].text), 2, &lines);
        for (size_t j = 0; j < lines.count; j++)
            ath_text_add(&all, "%s|", lines.items[j]);
        ath_auto_free char *got = ath_text_take(&all);
        ck_assert_str_eq(got, cases[i].wanted);
        ath_texts_free(&lines);
    }
}

TEST(formats_times)
{
    ath_auto_free char *text = ath_time_text(86399);
    ck_assert_str_eq(text, "1970-01-01T23:59:59Z");
    ck_assert_ptr_null(ath_time_text(ATH_UNKNOWN));
}

TEST(reads_back_a_state)
{
    char folder[] = "/tmp/ath-state-XXXXXX";
    struct ath_err err;
    ATH_AUTO(ath_process) self = { 0 };
    ATH_AUTO(ath_process_state)
    state = { .id = 3,
              .name = ath_xstrdup("aitherion-numa3"),
              .boot_id = ath_boot_id(),
              .supervisor = getpid(),
              .session = getsid(0),
              .runtime = ATH_UNKNOWN,
              .started_s = 5,
              .exit_code = ATH_UNKNOWN,
              .plan = ath_xstrdup("0123") };
    ATH_AUTO(ath_process_state) back = { 0 };

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(ath_process_read(getpid(), &self), 0);
    state.supervisor_ticks = self.start_ticks;
    ath_texts_add(&state.cgroups, "/sys/fs/cgroup/x");
    ck_assert_int_eq(ath_process_state_read(folder, &back, &err), -ENOENT);
    ck_assert_int_eq(ath_process_state_write(folder, &state, &err), 0);
    ck_assert_int_eq(ath_process_state_read(folder, &back, &err), 0);
    ck_assert_int_eq(back.id, 3);
    ck_assert_str_eq(back.plan, "0123");
    ck_assert_ptr_null(back.macvlans);
    ck_assert_int_eq(back.exit_code, ATH_UNKNOWN);
    ck_assert_uint_eq(back.cgroups.count, 1);
    /* A process with another name is another process, whatever the file has. */
    ck_assert(!ath_process_state_is_supervised(&back));
    prctl(PR_SET_NAME, "aitherion-numa3");
    ck_assert(ath_process_state_is_supervised(&back));
    ck_assert(!ath_process_state_has_runtime(&back));
    back.boot_id[0] ^= 1; /* of another boot */
    ck_assert(!ath_process_state_is_supervised(&back));
    ath_process_state_remove(folder);
    ck_assert_int_eq(rmdir(folder), 0);
}

TEST(refuses_a_state_that_others_could_write)
{
    char folder[] = "/tmp/ath-state-XXXXXX";
    struct ath_process_state state = { .id = 3, .name = (char[]){ "aitherion-numa3" } };
    ATH_AUTO(ath_process_state) back = { 0 };
    struct ath_err err;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ath_auto_free char *path = ath_xasprintf("%s/state.json", folder);
    ath_auto_free char *other = ath_xasprintf("%s/other.json", folder);
    ck_assert_int_eq(ath_process_state_write(folder, &state, &err), 0);
    ck_assert_int_eq(chmod(path, 0664), 0);
    ck_assert_int_eq(ath_process_state_read(folder, &back, &err), -EPERM);
    ck_assert_int_eq(err.code, ATH_E_FOREIGN);
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert_int_eq(ath_process_state_read(folder, &back, &err), -EPERM);
    ck_assert_int_eq(chmod(folder, 0700), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, 65534, 65534), 0);
        ck_assert_int_eq(ath_process_state_read(folder, &back, &err), -EPERM);
        ck_assert_int_eq(chown(path, 0, 0), 0);
    }
    ck_assert_int_eq(rename(path, other), 0);
    ck_assert_int_eq(symlink(other, path), 0);
    ck_assert_int_eq(ath_process_state_read(folder, &back, &err), -ELOOP);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rename(other, path), 0);
    ck_assert_int_eq(ath_process_state_read(folder, &back, &err), 0);
    ath_process_state_remove(folder);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* Starts a process of this name that waits for its end. */
static pid_t start_named(const char *name)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, name);
        if (write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

TEST(counts_sessions_without_helpers)
{
    if (getenv("EXE_WRAPPER")) {
        puts("skipped test: counts_sessions_without_helpers: names are those of the emulator");
        return;
    }
    int before = ath_process_sessions(getpid());
    if (before == ATH_UNKNOWN) {
        puts("skipped test: counts_sessions_without_helpers: no CONFIG_PROC_CHILDREN");
        return;
    }
    pid_t children[] = { start_named("aitherion-runti"), start_named(ATH_SAMPLER_NAME),
                         start_named(ATH_SAMPLER_NAME "x"), start_named(ATH_ARBITER_NAME),
                         start_named(ATH_ARBITER_NAME) };
    ck_assert_int_eq(ath_process_sessions(getpid()), before + 3); /* one of each is no session */
    for (size_t i = 0; i < ATH_COUNT(children); i++) {
        kill(children[i], SIGKILL);
        ck_assert_int_eq(waitpid(children[i], NULL, 0), children[i]);
    }
}

TEST(removes_only_our_own_control_group)
{
    char folder[] = "/tmp/aitherion-numa-XXXXXX";
    struct ath_err err;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ath_auto_free char *around =
        ath_xasprintf("/sys/fs/cgroup/cpuset/aitherion-numa0/../../../../..%s", folder);
    ck_assert_int_eq(ath_cgroup_remove(folder, &err), -EPERM);
    ck_assert_int_eq(err.code, ATH_E_FOREIGN);
    ck_assert_int_eq(ath_cgroup_remove(around, &err), -EPERM);
    ck_assert_int_eq(ath_cgroup_remove("/sys/fs/cgroup/cpuset/somebody", &err), -EPERM);
    ck_assert_int_eq(ath_cgroup_remove("/sys/fs/cgroup/memory/aitherion-numa0-gone", &err), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

TEST(refuses_a_run_folder_of_others)
{
    char folder[] = "/tmp/ath-run-XXXXXX";
    struct ath_err err;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ath_auto_free char *link = ath_xasprintf("%s-link", folder);
    ck_assert_int_eq(ath_run_folder_check(folder, &err), 0);
    ck_assert_int_eq(ath_run_folder_check("/no/such/folder", &err), 0);
    ck_assert_int_eq(chmod(folder, 0770), 0);
    ck_assert_int_eq(ath_run_folder_check(folder, &err), -EPERM);
    ck_assert_ptr_nonnull(strstr(err.hint, "chmod go-w "));
    ck_assert_int_eq(chmod(folder, 0700), 0);
    ck_assert_int_eq(symlink(folder, link), 0);
    ck_assert_int_eq(ath_run_folder_check(link, &err), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(lchown(link, 65534, 65534), 0);
        ck_assert_int_eq(ath_run_folder_check(link, &err), -EPERM);
        ck_assert_int_eq(chown(folder, 65534, 65534), 0);
        ck_assert_int_eq(ath_run_folder_check(folder, &err), -EPERM);
        ck_assert_ptr_nonnull(strstr(err.message, "65534"));
    }
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* The runtime in a container has a user and a group of its own, and makes its socket there. */
TEST(gives_a_nodes_folder_to_its_user)
{
    struct tree tree;
    struct stat status;
    struct ath_err err = { 0 };
    tree_make(&tree);
    ath_auto_free char *folder = ath_xasprintf("%s/numa0", tree.path);
    const struct ath_plan_node node = { .folder = folder, .user = (char *)"4711:4712" };

    if (geteuid() == 0) {
        ck_assert_msg(!ath_node_make_folder(&node, &err), "%s", err.message);
        ck_assert_int_eq(stat(folder, &status), 0);
        ck_assert_uint_eq(status.st_uid, 4711);
        ck_assert_uint_eq(status.st_gid, 4712);
        ck_assert_uint_eq(status.st_mode & 07777, 0755);
    } else {
        ck_assert_int_eq(ath_node_make_folder(&node, &err), -EPERM);
        ck_assert_ptr_nonnull(strstr(err.hint, "sudo"));
    }
    tree_remove(&tree);
}

TEST(refuses_a_file_that_is_no_state)
{
    static const char *const texts[] = { "", "{", "[]", "null", "{\"schema\":\"x/1\"}" };
    char folder[] = "/tmp/ath-state-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ath_auto_free char *path = ath_xasprintf("%s/state.json", folder);
    for (size_t i = 0; i < ATH_COUNT(texts); i++) {
        ATH_AUTO(ath_process_state) back = { 0 };
        struct ath_err err;
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_ge(fputs(texts[i], file), 0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_int_eq(ath_process_state_read(folder, &back, &err), -EBADMSG);
    }
    ath_process_state_remove(folder);
    rmdir(folder);
}
