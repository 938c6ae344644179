/* Binding the calling thread, and the programs that it becomes or starts, to CPUs and NUMA
 * nodes. */
#pragma once
#include "base/idset.h"

/* The NUMA nodes that the kernel takes memory from (set_mempolicy(2)). */
enum ath_memory_policy {
    ATH_MEMORY_LOCAL,     /* the node of the CPU that touches a page first */
    ATH_MEMORY_PREFERRED, /* one node; another one if it is full */
    ATH_MEMORY_BIND,      /* these nodes alone: without free memory there, programs are killed */
};

/* Binds the thread to CPUs; the empty set changes nothing. Returns 0 or a negative errno: -EINVAL
 * if the thread may run on none of them. */
int ath_bind_cpus(const struct ath_idset *cpus);

/* Sets the memory policy of the thread. PREFERRED takes the first node of the set, LOCAL none.
 * Returns 0 or a negative errno. */
int ath_bind_memory(enum ath_memory_policy policy, const struct ath_idset *nodes);

/* Fills *out, which the caller frees, with the CPUs that the thread may run on. Returns 0 or a
 * negative errno. */
int ath_bind_allowed(struct ath_idset *out);
