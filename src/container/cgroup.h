/*
 * A control group for a process: its CPUs, memory nodes and memory limit, by version 1 or 2 of the
 * kernel's interface (Documentation/admin-guide/cgroup-v1/cpusets.rst, cgroup-v2.rst), where the
 * caller may write there. Private to container.
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
    int64_t limit_bytes; /* ATH_UNKNOWN: none */
};

struct ath_cgroup {
    struct ath_texts folders; /* "/sys/fs/cgroup/cpuset/aitherion-numa0"; none where nothing can be
                                 written */
    bool has_cpuset, has_limit;
    char *lack; /* translated: what could not be had, and why; NULL */
};

/* Makes it, or makes one that is there as it is to be. Never fails: see lack. */
void ath_cgroup_make(const struct ath_cgroup_wanted *wanted, struct ath_cgroup *out);
void ath_cgroup_free(struct ath_cgroup *group);

/* Puts the calling process into the groups. Returns 0 or a negative errno. */
int ath_cgroup_enter(const struct ath_texts *folders);

/* Told of each folder of a group called before, a number, behind ("aitherion-numa", "-0123abcd").
 */
void ath_cgroup_find(const char *before, const char *behind,
                     void (*function)(void *context, int number, const char *folder),
                     void *context);

/* Removes one folder, which must have no process. Returns 0 or a negative errno with err; -EPERM
 * "foreign" where the path is none that ath_cgroup_make() gives a group. */
int ath_cgroup_remove(const char *folder, struct ath_err *err);
