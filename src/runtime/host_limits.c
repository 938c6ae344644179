/* Limits of a session's process. */
#include "config.h"

#include "runtime/host_limits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/unknown.h"
#include "runtime/event_log.h"

/* The limits of this process, which has one session. */
static struct {
    const struct ath_server *server;
    struct ath_session_board_entry *entry;
    int64_t own_bytes, all_bytes; /* ATH_UNKNOWN: no limit */
    atomic_bool is_logged[ATH_HOST_KINDS];
} host;

/* ---- memory of the host ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a == ATH_UNKNOWN || (b != ATH_UNKNOWN && b < a) ? b : a;
}

/* Version 2 says "max" for no limit, version 1 the largest number of pages. */
static int64_t read_limit(const struct ath_root *root, const char *folder, const char *file)
{
    ath_auto_free char *text = ath_root_read(root, "%s/%s", folder, file);
    uint64_t bytes;
    return text && !ath_parse_u64(text, 10, &bytes) && bytes < INT64_MAX / 2 ? (int64_t)bytes
                                                                             : ATH_UNKNOWN;
}

/* The smallest limit of a control group and of those above it. Within a container the group's path
 * may be the host's, and only the root folder is there. */
static int64_t group_limit(const struct ath_root *root, const char *base, const char *path,
                           const char *file)
{
    ath_auto_free char *folder = ath_xasprintf("%s%s", base, path);
    int64_t limit_bytes = read_limit(root, base, file);
    for (size_t length = strlen(folder); length > strlen(base); folder[length] = '\0') {
        limit_bytes = smaller(limit_bytes, read_limit(root, folder, file));
        while (length > strlen(base) && folder[--length] != '/')
            ;
    }
    return limit_bytes;
}

/* A line of /proc/self/cgroup is "number:controllers:path", without controllers for version 2
 * (cgroups(7)). */
static int64_t limit_of_line(const struct ath_root *root, char *line)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return ATH_UNKNOWN;
    if (path == controllers + 1)
        return group_limit(root, "sys/fs/cgroup", path + 1, "memory.max");
    return ath_starts_with(controllers, ":memory:")
               ? group_limit(root, "sys/fs/cgroup/memory", path + 1, "memory.limit_in_bytes")
               : ATH_UNKNOWN;
}

int64_t ath_host_limits_memory(const struct ath_root *root)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    int64_t bytes = pages > 0 && page_bytes > 0 ? (int64_t)pages * page_bytes : ATH_UNKNOWN;
    ath_auto_free char *groups = ath_root_read(root, "proc/self/cgroup");
    char *rest = groups, *line;
    while (rest && (line = strsep(&rest, "\n")))
        bytes = smaller(bytes, limit_of_line(root, line));
    return bytes;
}

/* ---- taking ---- */

/* Sums the amounts that sessions have beyond the part that each may have. */
static int64_t taken_by_all(enum ath_host_kind kind, int64_t own)
{
    const struct ath_session_board *board = host.server->board;
    int64_t sum = 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        const struct ath_session_board_entry *entry = &board->slots[i].entry;
        int64_t taken = atomic_load(&entry->id) ? atomic_load(&entry->host_taken[kind]) : 0;
        sum += taken > own ? taken - own : 0;
    }
    return sum;
}

static bool fits(enum ath_host_kind kind, int64_t taken)
{
    if (kind == ATH_HOST_THREADS)
        return taken <= ATH_HOST_THREADS_OWN ||
               taken_by_all(kind, ATH_HOST_THREADS_OWN) <= ATH_HOST_THREADS_ALL;
    return host.own_bytes == ATH_UNKNOWN ||
           (taken <= host.own_bytes && taken_by_all(kind, 0) <= host.all_bytes);
}

static void log_full(enum ath_host_kind kind, int64_t amount)
{
    static const char *const words[] = {
        [ATH_HOST_BYTES] = "memory", [ATH_HOST_THREADS] = "threads"
    };
    char asked[24], taken[24], limit[24];
    int64_t most = kind == ATH_HOST_BYTES ? host.own_bytes : ATH_HOST_THREADS_OWN;
    if (atomic_exchange(&host.is_logged[kind], true))
        return;
    snprintf(asked, sizeof asked, "%" PRId64, amount);
    snprintf(taken, sizeof taken, "%" PRId64, atomic_load(&host.entry->host_taken[kind]));
    snprintf(limit, sizeof limit, "%" PRId64, most);
    ath_event_log(ATH_EVENT_WARNING, "host-limit-reached", "peer", host.entry->peer, "of",
                  words[kind], "asked", asked, "taken", taken, "limit", limit, NULL);
}

/* Two sessions that take at the same moment may both be refused. */
static bool take(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    if (amount <= INT64_MAX / ATH_SESSION_BOARD_MAX) { /* so that no sum overflows */
        int64_t before = atomic_fetch_add(&host.entry->host_taken[kind], amount);
        if (fits(kind, before + amount))
            return true;
        atomic_fetch_sub(&host.entry->host_taken[kind], amount);
    }
    log_full(kind, amount);
    return false;
}

static void give(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    atomic_fetch_sub(&host.entry->host_taken[kind], amount);
}

/* ---- the process ---- */

static void limit_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur <= ATH_HOST_DESCRIPTORS)
        return;
    limit.rlim_cur = limit.rlim_max = ATH_HOST_DESCRIPTORS;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Every process may raise its own score (proc(5)). It stays as it is where /proc is read-only. */
static void raise_oom_score(void)
{
    char text[12];
    ath_auto_close int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (length < 0)
        return;
    text[length] = '\0';
    if (strtol(text, NULL, 10) >= ATH_HOST_OOM_SCORE)
        return;
    length = snprintf(text, sizeof text, "%d", ATH_HOST_OOM_SCORE);
    (void)!pwrite(fd, text, (size_t)length, 0);
}

void ath_host_limits_apply(const struct ath_server *server, struct ath_session_board_entry *entry)
{
    static const struct ath_host_budget budget = { .take = take, .give = give };
    ATH_AUTO(ath_root) root = { .fd = -1 };
    (void)ath_root_open("/", &root, NULL); /* without it the machine's memory counts */
    int64_t memory_bytes = ath_host_limits_memory(&root);
    host.server = server;
    host.entry = entry;
    host.own_bytes = host.all_bytes = ATH_UNKNOWN;
    if (memory_bytes != ATH_UNKNOWN) {
        host.own_bytes = (int64_t)((double)memory_bytes * server->host_fraction);
        host.all_bytes = memory_bytes / 8 * 7;
    }
    limit_descriptors();
    raise_oom_score();
    ath_host_budget_set(&budget);
}
