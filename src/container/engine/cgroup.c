/* Makes, finds and removes control groups through their files. */
#include "config.h"

#include "container/engine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/root.h"
#include "base/text.h"
#include "base/unknown.h"

#define ROOT "/sys/fs/cgroup"
#define PREFIX "aitherion-numa" /* of the names that process_engine.c chooses */

enum { CGROUP2 = 0x63677270 }; /* CGROUP2_SUPER_MAGIC of linux/magic.h */

void ath_cgroup_free(struct ath_cgroup *group)
{
    if (!group)
        return;
    ath_texts_free(&group->folders);
    free(group->lack);
    *group = (struct ath_cgroup){ 0 };
}

static int write_file(const char *folder, const char *name, const char *text)
{
    ath_auto_free char *path = ath_xasprintf("%s/%s", folder, name);
    ath_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static void add_lack(struct ath_cgroup *group, const char *what, int status)
{
    struct ath_text text = { 0 };
    ath_text_add_part(&text, "; ", "%s", group->lack ? group->lack : "");
    ath_text_add_part(&text, "; ", "%s: %s", what, strerror(-status));
    free(group->lack);
    group->lack = ath_text_take(&text);
}

/* Returns 0 with the folder in *out, or a negative errno. */
static int make_folder(const char *below, const char *name, struct ath_cgroup *group, char **out)
{
    ath_auto_free char *folder = ath_xasprintf("%s/%s", below, name);
    if (mkdir(folder, 0755) && errno != EEXIST)
        return -errno;
    ath_texts_add(&group->folders, folder);
    *out = ath_steal(&folder);
    return 0;
}

/* Versions 1 and 2 use the same file names here. */
static int set_cpuset(const char *folder, const struct ath_cgroup_wanted *wanted)
{
    ath_auto_free char *cpus = ath_idset_format(wanted->cpus);
    ath_auto_free char *nodes = ath_idset_format(wanted->memory_nodes);
    int status = write_file(folder, "cpuset.mems", nodes);
    return status ? status : write_file(folder, "cpuset.cpus", cpus);
}

static int set_limit(const char *folder, const struct ath_cgroup_wanted *wanted, const char *file)
{
    char text[24] = "max";
    if (wanted->limit_bytes != ATH_UNKNOWN)
        snprintf(text, sizeof text, "%" PRId64, wanted->limit_bytes);
    else if (strcmp(file, "memory.max") != 0)
        snprintf(text, sizeof text, "-1");
    return write_file(folder, file, text);
}

static int set_pids(const char *folder, const struct ath_cgroup_wanted *wanted)
{
    char text[24] = "max";
    if (wanted->pids)
        snprintf(text, sizeof text, "%d", wanted->pids);
    return write_file(folder, "pids.max", text);
}

static bool is_version_2(void)
{
    struct statfs status;
    return !statfs(ROOT, &status) && status.f_type == CGROUP2;
}

static void note(struct ath_cgroup *group, bool *has, const char *what, int status)
{
    *has = !status;
    if (status)
        add_lack(group, what, status);
}

/* A group that could not be set up is removed: a cpuset without memory takes no process. */
static void drop(struct ath_cgroup *group, const char *folder)
{
    if (!folder)
        return;
    rmdir(folder);
    free(group->folders.items[--group->folders.count]);
}

static void make_version_1(const struct ath_cgroup_wanted *wanted, struct ath_cgroup *out)
{
    ath_auto_free char *cpuset = NULL;
    ath_auto_free char *memory = NULL;
    ath_auto_free char *pids = NULL;

    int status = make_folder(ROOT "/cpuset", wanted->name, out, &cpuset);
    if (!status)
        status = set_cpuset(cpuset, wanted);
    if (status)
        drop(out, cpuset);
    note(out, &out->has_cpuset, _("no cpuset"), status);

    status = make_folder(ROOT "/memory", wanted->name, out, &memory);
    if (!status)
        status = set_limit(memory, wanted, "memory.limit_in_bytes");
    if (status)
        drop(out, memory);
    note(out, &out->has_limit, _("no memory limit"), status);

    status = make_folder(ROOT "/pids", wanted->name, out, &pids);
    if (!status)
        status = set_pids(pids, wanted);
    if (status)
        drop(out, pids);
    note(out, &out->has_pids, _("no limit of threads"), status);
}

/* The parent must enable the controllers. systemd enables only those that it uses. */
static void make_version_2(const struct ath_cgroup_wanted *wanted, struct ath_cgroup *out)
{
    ath_auto_free char *folder = NULL;
    int cpuset = write_file(ROOT, "cgroup.subtree_control", "+cpuset");
    int memory = write_file(ROOT, "cgroup.subtree_control", "+memory");
    int pids = write_file(ROOT, "cgroup.subtree_control", "+pids");
    int status = make_folder(ROOT, wanted->name, out, &folder);

    if (!status)
        cpuset = set_cpuset(folder, wanted);
    if (!status)
        memory = set_limit(folder, wanted, "memory.max");
    if (!status)
        pids = set_pids(folder, wanted);
    note(out, &out->has_cpuset, _("no cpuset"), status ? status : cpuset);
    note(out, &out->has_limit, _("no memory limit"), status ? status : memory);
    note(out, &out->has_pids, _("no limit of threads"), status ? status : pids);
}

void ath_cgroup_make(const struct ath_cgroup_wanted *wanted, struct ath_cgroup *out)
{
    *out = (struct ath_cgroup){ 0 };
    if (is_version_2())
        make_version_2(wanted, out);
    else
        make_version_1(wanted, out);
}

/* Returns true for "ROOT/cpuset/aitherion-numa0-0123abcd": a name with our prefix, in one of our
 * places. A path from a state file may be anything. */
static bool is_ours(const char *folder)
{
    static const char *const parents[] = { ROOT "/", ROOT "/cpuset/", ROOT "/memory/",
                                           ROOT "/pids/" };
    for (size_t i = 0; i < ATH_COUNT(parents); i++) {
        const char *name = folder + strlen(parents[i]);
        if (ath_starts_with(folder, parents[i]) && ath_starts_with(name, PREFIX) &&
            !strchr(name, '/'))
            return true;
    }
    return false;
}

/* Files of versions 2 and 1. A folder has one of them at most. */
static const char *const limit_files[] = { "memory.max", "memory.limit_in_bytes", NULL };
static const char *const usage_files[] = { "memory.current", "memory.usage_in_bytes", NULL };

/* Returns the path of the first file that exists in one of the folders, or NULL. The caller frees
 * it. */
static char *find_file(const struct ath_texts *folders, const char *const *names)
{
    for (size_t i = 0; i < folders->count; i++)
        for (const char *const *name = names; *name && is_ours(folders->items[i]); name++) {
            ath_auto_free char *path = ath_xasprintf("%s/%s", folders->items[i], *name);
            if (!access(path, F_OK))
                return ath_steal(&path);
        }
    return NULL;
}

/* Version 2 says "max" for no limit, version 1 the largest number of pages. */
static int64_t read_bytes(const struct ath_texts *folders, const char *const *names)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ath_auto_free char *path = find_file(folders, names);
    uint64_t bytes;

    if (!path || ath_root_open("/", &root, NULL))
        return ATH_UNKNOWN;
    ath_auto_free char *text = ath_root_read(&root, "%s", path + 1);
    if (!text)
        return ATH_UNKNOWN;
    if (!strcmp(text, "max") || ath_parse_u64(text, 10, &bytes) || bytes > INT64_MAX / 2)
        return INT64_MAX;
    return (int64_t)bytes;
}

int64_t ath_cgroup_limit(const struct ath_texts *folders)
{
    return read_bytes(folders, limit_files);
}

int64_t ath_cgroup_usage(const struct ath_texts *folders)
{
    return read_bytes(folders, usage_files);
}

int ath_cgroup_set_limit(const struct ath_texts *folders, int64_t limit_bytes, struct ath_err *err)
{
    ath_auto_free char *path = find_file(folders, limit_files);
    ath_auto_free char *text = ath_xasprintf("%" PRId64, limit_bytes);
    ath_auto_close int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;

    if (!path)
        return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("there is no control group"));
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return ath_err_system(err, -errno, _("cannot write to '%s'"), path);
    return 0;
}

int ath_cgroup_enter(const struct ath_texts *folders)
{
    for (size_t i = 0; i < folders->count; i++) {
        int status = write_file(folders->items[i], "cgroup.procs", "0");
        if (status)
            return status;
    }
    return 0;
}

/* Returns the number between before and behind, or ATH_UNKNOWN for another name. */
static int number_in(const char *name, const char *before, const char *behind)
{
    size_t begin = strlen(before), digits;
    int number;

    if (!ath_starts_with(name, before))
        return ATH_UNKNOWN;
    digits = strspn(name + begin, "0123456789");
    ath_auto_free char *text = ath_xasprintf("%.*s", (int)digits, name + begin);
    if (strcmp(name + begin + digits, behind) != 0 || ath_parse_int(text, 0, ATH_ID_MAX, &number))
        return ATH_UNKNOWN;
    return number;
}

static void find_in(const char *parent, const char *before, const char *behind,
                    void (*function)(void *context, int number, const char *folder), void *context)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    char **names;
    size_t count;

    if (ath_root_open(parent, &root, NULL))
        return;
    ath_root_list(&root, ".", &names, &count);
    for (size_t i = 0; i < count; i++) {
        int number = number_in(names[i], before, behind);
        ath_auto_free char *folder = ath_xasprintf("%s/%s", parent, names[i]);
        if (number != ATH_UNKNOWN)
            function(context, number, folder);
    }
    ath_names_free(names, count);
}

void ath_cgroup_find(const char *before, const char *behind,
                     void (*function)(void *context, int number, const char *folder), void *context)
{
    find_in(ROOT, before, behind, function, context);
    if (is_version_2())
        return;
    find_in(ROOT "/cpuset", before, behind, function, context);
    find_in(ROOT "/memory", before, behind, function, context);
    find_in(ROOT "/pids", before, behind, function, context);
}

/* Retries rmdir(): the kernel needs a moment after the last process has left. */
int ath_cgroup_remove(const char *folder, struct ath_err *err)
{
    enum { TRIES = 100 };
    if (!is_ours(folder))
        return ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                           _("'%s' is not a control group of aitherion"), folder);
    for (int i = 0; rmdir(folder); i++) {
        if (errno == ENOENT)
            return 0;
        if (errno != EBUSY || i == TRIES)
            return ath_err_system(err, -errno, _("cannot remove the control group '%s'"), folder);
        nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000000L }, NULL);
    }
    return 0;
}
