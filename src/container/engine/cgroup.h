/*
 * Control groups for a process: its CPUs, memory nodes, memory limit and number of tasks, with
 * version 1 or 2 of the kernel's interface (Documentation/admin-guide/cgroup-v1/cpusets.rst,
 * cgroup-v2.rst). Works only if the caller may write there. Private to container.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/idset.h"
#include "config/schema.h"

struct ath_cgroup_wanted {
    const char *name; /* "aitherion-numa0" */
    const struct ath_idset *cpus, *memory_nodes;
    int64_t limit_bytes; /* ATH_UNKNOWN: no limit */
    int pids;            /* processes and threads; 0: no limit */
};

struct ath_cgroup {
    struct ath_texts folders; /* "/sys/fs/cgroup/cpuset/aitherion-numa0"; none without the right to
                                 write */
    bool has_cpuset, has_limit, has_pids;
    char *lack; /* translated: the missing settings, each with its reason; NULL */
};

/* Makes the groups, or adapts existing ones. Never fails: see lack. */
void ath_cgroup_make(const struct ath_cgroup_wanted *wanted, struct ath_cgroup *out);
void ath_cgroup_free(struct ath_cgroup *group);

/* Return the memory limit of the groups (INT64_MAX: none) and the memory that their processes use;
 * ATH_UNKNOWN if no group has them. */
int64_t ath_cgroup_limit(const struct ath_texts *folders);
int64_t ath_cgroup_usage(const struct ath_texts *folders);

/* Changes the memory limit. Returns 0, or a negative errno with err. */
int ath_cgroup_set_limit(const struct ath_texts *folders, int64_t limit_bytes, struct ath_err *err);

/* Moves the calling process into the groups. Returns 0 or a negative errno. */
int ath_cgroup_enter(const struct ath_texts *folders);

/* Calls function for each folder whose name is before, a number, behind ("aitherion-numa",
 * "-0123abcd"). */
void ath_cgroup_find(const char *before, const char *behind,
                     void (*function)(void *context, int number, const char *folder),
                     void *context);

/* Removes one folder, which must have no process. Returns 0, or a negative errno with err: -EPERM
 * "foreign" if ath_cgroup_make() makes no group with this path. */
int ath_cgroup_remove(const char *folder, struct ath_err *err);
