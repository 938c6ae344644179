/* Reads /proc, as described by proc(5) and Documentation/networking/proc_net_tcp.rst. */
#include "config.h"

#include "container/engine/process_facts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/process_name.h"
#include "base/text.h"
#include "base/unknown.h"

enum { PROC_FILE_MAX = 1 << 20 };

/* Returns a whole file of /proc, which the caller frees, or NULL if it cannot be read. */
static char *read_proc(const char *path, size_t *out_length)
{
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    ATH_AUTO(ath_text) text = { 0 };
    char chunk[16384];
    ssize_t got;

    if (fd < 0)
        return NULL;
    while ((got = read(fd, chunk, sizeof chunk)) > 0 && text.length < PROC_FILE_MAX)
        ath_text_add_bytes(&text, chunk, (size_t)got);
    if (got < 0)
        return NULL;
    if (out_length)
        *out_length = text.length;
    return ath_text_take(&text);
}

static char *read_of(int pid, const char *name, size_t *out_length)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return read_proc(path, out_length);
}

/* ---- one process ---- */

void ath_process_free(struct ath_process *process)
{
    if (!process)
        return;
    free(process->cpus);
    free(process->memory_nodes);
    *process = (struct ath_process){ 0 };
}

/* Returns the value after "Name:" in /proc/PID/status, which the caller frees, or NULL. */
static char *status_value(const char *status, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = status; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) || line[length] != ':')
            continue;
        const char *value = line + length + 1;
        value += strspn(value, " \t");
        return ath_xasprintf("%.*s", (int)strcspn(value, "\n"), value);
    }
    return NULL;
}

/* Returns the word at an index of a line with blanks between words, or "" if the line is
 * shorter. */
static const char *word_at(const char *line, int index)
{
    line += strspn(line, " ");
    for (; index > 0; index--) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return line;
}

/* Returns the number at the start of word, up to one of ends; missing if it is no number. */
static uint64_t number_at(const char *word, const char *ends, int base, uint64_t missing)
{
    char digits[24];
    size_t length = strcspn(word, ends);
    uint64_t value;

    if (length >= sizeof digits)
        return missing;
    memcpy(digits, word, length);
    digits[length] = '\0';
    return ath_parse_u64(digits, base, &value) ? missing : value;
}

/* The process's name, in parentheses, may contain anything. The fields follow the last ')'. */
static int read_stat(struct ath_process *process)
{
    enum { STATE, PARENT, SESSION = 3, START_TIME = 19 };
    ath_auto_free char *stat = read_of(process->pid, "stat", NULL);
    const char *rest = stat ? strrchr(stat, ')') : NULL;

    if (!rest || !*word_at(rest + 1, START_TIME))
        return -ESRCH;
    process->state = *word_at(rest + 1, STATE);
    process->parent = (int)number_at(word_at(rest + 1, PARENT), " ", 10, 0);
    process->session = (int)number_at(word_at(rest + 1, SESSION), " ", 10, 0);
    process->start_ticks = number_at(word_at(rest + 1, START_TIME), " ", 10, 0);
    return process->state == 'Z' || process->state == 'X' ? -ESRCH : 0;
}

static int64_t boot_time_s(void)
{
    ath_auto_free char *stat = read_proc("/proc/stat", NULL);
    const char *line = stat ? strstr(stat, "\nbtime ") : NULL;
    return line ? strtoll(line + 7, NULL, 10) : ATH_UNKNOWN;
}

static int64_t memlock_of(int pid)
{
    static const char name[] = "Max locked memory";
    ath_auto_free char *limits = read_of(pid, "limits", NULL);
    const char *line = limits ? strstr(limits, name) : NULL;
    uint64_t value;

    if (!line)
        return ATH_UNKNOWN;
    line += sizeof name - 1;
    line += strspn(line, " ");
    if (ath_starts_with(line, "unlimited"))
        return INT64_MAX;
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)strcspn(line, " "), line);
    return ath_parse_u64(digits, 10, &value) || value > INT64_MAX ? ATH_UNKNOWN : (int64_t)value;
}

static uint64_t netns_of(int pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
    return stat(path, &status) ? 0 : status.st_ino;
}

int ath_process_read(int pid, struct ath_process *out)
{
    ATH_AUTO(ath_process) process = { .pid = pid };
    if (pid <= 0 || read_stat(&process))
        return -ESRCH;

    ath_auto_free char *status = read_of(pid, "status", NULL);
    int64_t boot_s = boot_time_s();
    process.cpus = status_value(status, "Cpus_allowed_list");
    process.memory_nodes = status_value(status, "Mems_allowed_list");
    ath_auto_free char *capabilities = status_value(status, "CapEff");
    if (capabilities)
        ath_parse_u64(capabilities, 16, &process.capabilities);
    process.memlock_bytes = memlock_of(pid);
    process.netns = netns_of(pid);
    process.started_s = boot_s == ATH_UNKNOWN
                            ? ATH_UNKNOWN
                            : boot_s + (int64_t)process.start_ticks / sysconf(_SC_CLK_TCK);
    *out = process;
    process = (struct ath_process){ 0 };
    return 0;
}

bool ath_process_is(int pid, uint64_t start_ticks)
{
    struct ath_process process = { .pid = pid };
    return pid > 0 && !read_stat(&process) && process.start_ticks == start_ticks;
}

bool ath_process_is_named(int pid, const char *name)
{
    enum { SHOWN = 15 }; /* TASK_COMM_LEN of linux/sched.h, without its NUL */
    ath_auto_free char *text = name ? read_of(pid, "comm", NULL) : NULL;
    if (!text)
        return false;
    text[strcspn(text, "\n")] = '\0';
    return !strncmp(text, name, SHOWN);
}

char *ath_boot_id(void)
{
    ath_auto_free char *text = read_proc("/proc/sys/kernel/random/boot_id", NULL);
    return text ? ath_xasprintf("%.*s", (int)strcspn(text, "\n"), text) : ath_xstrdup("");
}

bool ath_process_is_in_container(int pid, const char *container_id)
{
    ath_auto_free char *groups = pid > 0 && container_id ? read_of(pid, "cgroup", NULL) : NULL;
    return groups && *container_id && strstr(groups, container_id);
}

/* file: one that holds texts, each with its NUL. */
static bool has_text(int pid, const char *file, const char *text)
{
    size_t length;
    ath_auto_free char *texts = read_of(pid, file, &length);

    if (!texts)
        return false;
    for (size_t at = 0; at < length; at += strlen(texts + at) + 1)
        if (!strcmp(texts + at, text))
            return true;
    return false;
}

bool ath_process_has_variable(int pid, const char *pair)
{
    return has_text(pid, "environ", pair);
}

char *ath_process_variable(int pid, const char *name)
{
    size_t bytes, length = strlen(name);
    ath_auto_free char *texts = read_of(pid, "environ", &bytes);

    for (size_t at = 0; texts && at < bytes; at += strlen(texts + at) + 1)
        if (!strncmp(texts + at, name, length) && texts[at + length] == '=')
            return ath_xstrdup(texts + at + length + 1);
    return NULL;
}

bool ath_process_has_argument(int pid, const char *text)
{
    return has_text(pid, "cmdline", text);
}

static int by_number(const void *a, const void *b)
{
    const int *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

static bool has_name(int pid, const char *line)
{
    ath_auto_free char *name = read_of(pid, "comm", NULL);
    return name && !strncmp(name, line, strlen(line));
}

int ath_process_sessions(int pid)
{
    ath_auto_free char *name = ath_xasprintf("task/%d/children", pid);
    ath_auto_free char *list = read_of(pid, name, NULL);
    char *rest = list, *word;
    int count = 0, child;
    bool has_sampler = false, has_arbiter = false, has_datagrams = false;

    while (rest && (word = strsep(&rest, " "))) /* "345 346 " */
        if (!ath_parse_int(word, 1, INT32_MAX, &child)) {
            count++;
            has_sampler = has_sampler || has_name(child, ATH_SAMPLER_NAME "\n");
            has_arbiter = has_arbiter || has_name(child, ATH_ARBITER_NAME "\n");
            has_datagrams = has_datagrams || has_name(child, ATH_DATAGRAMS_NAME "\n");
        }
    /* a session may take a name */
    return list ? count - has_sampler - has_arbiter - has_datagrams : ATH_UNKNOWN;
}

void ath_process_ids(int **out, size_t *out_count)
{
    ath_auto_closedir DIR *folder = opendir("/proc");
    const struct dirent *entry;
    int pid;

    *out = NULL;
    *out_count = 0;
    while (folder && (entry = readdir(folder)))
        if (!ath_parse_int(entry->d_name, 1, INT32_MAX, &pid))
            *(int *)ath_push(out, out_count, sizeof pid) = pid;
    if (*out_count)
        qsort(*out, *out_count, sizeof **out, by_number);
}

/* ---- sockets ---- */

/* A socket of TCP that listens, or one of UDP that takes datagrams of all peers. */
struct listener {
    int family;
    bool is_udp;
    uint32_t words[4];
    unsigned int port;
    uint64_t inode;
};

/* Reads a line of /proc/net/tcp, tcp6, udp or udp6: an address is written as the words in memory,
 * in hexadecimal. A socket of UDP that has no peer is in TCP's state "close". */
static bool read_listener(const char *line, int family, bool is_udp, struct listener *out)
{
    enum { ADDRESS = 1, STATE = 3, INODE = 9, CLOSE = 0x07, LISTEN = 0x0a, DIGITS = 8 };
    size_t count = family == AF_INET ? 1 : 4;
    const char *address = word_at(line, ADDRESS);
    struct listener one = { .family = family,
                            .is_udp = is_udp,
                            .inode = number_at(word_at(line, INODE), " ", 10, 0) };

    if (number_at(word_at(line, STATE), " ", 16, 0) != (is_udp ? CLOSE : LISTEN) ||
        strcspn(address, ":") != count * DIGITS)
        return false;
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *digits = ath_xasprintf("%.*s", DIGITS, address + i * DIGITS);
        one.words[i] = (uint32_t)number_at(digits, "", 16, 0);
    }
    one.port = (unsigned int)number_at(address + count * DIGITS + 1, " ", 16, 0);
    *out = one;
    return true;
}

/* process: a pid, or "self" for the namespace of this process. */
static void read_listeners(const char *process, struct listener **out, size_t *out_count)
{
    static const struct {
        const char *file;
        int family;
        bool is_udp;
    } tables[] = { { "tcp", AF_INET, false },
                   { "tcp6", AF_INET6, false },
                   { "udp", AF_INET, true },
                   { "udp6", AF_INET6, true } };

    for (size_t i = 0; i < ATH_COUNT(tables); i++) {
        ath_auto_free char *path = ath_xasprintf("/proc/%s/net/%s", process, tables[i].file);
        ath_auto_free char *text = read_proc(path, NULL);
        struct listener one;
        for (char *line = text, *next; line && *line; line = next) {
            next = line + strcspn(line, "\n");
            if (*next)
                *next++ = '\0';
            if (read_listener(line, tables[i].family, tables[i].is_udp, &one))
                *(struct listener *)ath_push(out, out_count, sizeof one) = one;
        }
    }
}

static char *listener_text(const struct listener *listener)
{
    char address[INET6_ADDRSTRLEN];
    inet_ntop(listener->family, listener->words, address, sizeof address);
    return ath_xasprintf(listener->family == AF_INET ? "%s:%u%s" : "[%s]:%u%s", address,
                         listener->port, listener->is_udp ? "/udp" : "");
}

/* Returns true if a process has the socket open. */
static bool holds_socket(int pid, uint64_t inode)
{
    ath_auto_free char *path = ath_xasprintf("/proc/%d/fd", pid);
    ath_auto_free char *wanted = ath_xasprintf("socket:[%" PRIu64 "]", inode);
    ath_auto_closedir DIR *folder = opendir(path);
    const struct dirent *entry;
    char target[64];

    while (folder && (entry = readdir(folder))) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (length <= 0)
            continue;
        target[length] = '\0';
        if (!strcmp(target, wanted))
            return true;
    }
    return false;
}

void ath_process_listening(int pid, struct ath_texts *out)
{
    ath_auto_free struct listener *listeners = NULL;
    ath_auto_free char *process = ath_xasprintf("%d", pid);
    size_t count = 0;

    read_listeners(process, &listeners, &count);
    for (size_t i = 0; i < count; i++) {
        if (!holds_socket(pid, listeners[i].inode))
            continue;
        ath_auto_free char *text = listener_text(&listeners[i]);
        if (!ath_texts_has(out, text)) /* several sockets of UDP share a port */
            ath_texts_add(out, text);
    }
}

static char *name_of(int pid)
{
    ath_auto_free char *text = read_of(pid, "comm", NULL);
    return text ? ath_xasprintf("%.*s", (int)strcspn(text, "\n"), text) : ath_xstrdup("?");
}

/* Returns the pid, or -1 if no process that we may look into has the socket open. */
static int holder_of(uint64_t inode)
{
    ath_auto_free int *pids = NULL;
    size_t count;

    ath_process_ids(&pids, &count);
    for (size_t i = 0; i < count; i++)
        if (holds_socket(pids[i], inode))
            return pids[i];
    return -1;
}

char *ath_port_owner(int port, bool is_udp, const char *except_pair)
{
    ath_auto_free struct listener *listeners = NULL;
    size_t count = 0;

    read_listeners("self", &listeners, &count);
    for (size_t i = 0; i < count; i++) {
        if (listeners[i].port != (unsigned int)port || listeners[i].is_udp != is_udp)
            continue;
        int pid = holder_of(listeners[i].inode);
        if (pid < 0)
            return ath_xstrdup(_("another user's process"));
        if (except_pair && ath_process_has_variable(pid, except_pair))
            continue;
        ath_auto_free char *name = name_of(pid);
        return ath_xasprintf(_("%s (process %d)"), name, pid);
    }
    return NULL;
}

/* Returns true if the links of the process can be read: those of its open files need the same right
 * as this one (proc(5), PTRACE_MODE_READ_FSCREDS). */
static bool may_look_into(int pid)
{
    char path[64], target[1];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    return readlink(path, target, sizeof target) > 0;
}

/*
 * Returns the inode of a socket that listens at the path, or 0. A line of /proc/net/unix is "Num:
 * RefCount Protocol Flags Type St Inode Path" (unix(7)). The flags of a listening socket contain
 * __SO_ACCEPTCON of linux/net.h.
 */
static uint64_t listener_at(const char *line, const char *path)
{
    enum { FLAGS = 3, INODE = 6, PATH = 7, ACCEPTS = 1 << 16 };
    bool is_wanted =
        number_at(word_at(line, FLAGS), " ", 16, 0) & ACCEPTS && !strcmp(word_at(line, PATH), path);
    return is_wanted ? number_at(word_at(line, INODE), " ", 10, 0) : 0;
}

bool ath_process_is_listener(int pid, const char *path)
{
    ath_auto_free char *text = path ? read_of(pid, "net/unix", NULL) : NULL;
    for (char *line = text, *next; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        uint64_t inode = listener_at(line, path);
        if (inode && (holds_socket(pid, inode) || !may_look_into(pid)))
            return true;
    }
    return false;
}

char *ath_time_text(int64_t seconds)
{
    char text[32];
    time_t moment = (time_t)seconds;
    struct tm parts;

    if (seconds == ATH_UNKNOWN || !gmtime_r(&moment, &parts))
        return NULL;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return ath_xstrdup(text);
}
