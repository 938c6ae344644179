/* CPU affinity and memory policy, which exec keeps. */
#include "config.h"

#include "base/bind.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

int ath_bind_cpus(const struct ath_idset *cpus)
{
    size_t last = 0;
    if (!cpus->range_count)
        return 0;
    for (int id = ath_idset_next(cpus, -1); id >= 0; id = ath_idset_next(cpus, id))
        last = (size_t)id;
    size_t size = CPU_ALLOC_SIZE(last + 1);
    ath_auto_free cpu_set_t *set = ath_xalloc(size);
    for (int id = ath_idset_next(cpus, -1); id >= 0; id = ath_idset_next(cpus, id))
        CPU_SET_S((size_t)id, size, set);
    return sched_setaffinity(0, size, set) ? -errno : 0;
}

int ath_bind_memory(enum ath_memory_policy policy, const struct ath_idset *nodes)
{
    static const int modes[] = { [ATH_MEMORY_LOCAL] = MPOL_LOCAL,
                                 [ATH_MEMORY_PREFERRED] = MPOL_PREFERRED,
                                 [ATH_MEMORY_BIND] = MPOL_BIND };
    enum { BITS = 8 * sizeof(unsigned long), MASK_NODES = 4096 };
    unsigned long mask[MASK_NODES / BITS] = { 0 };

    if (policy == ATH_MEMORY_LOCAL)
        return syscall(SYS_set_mempolicy, MPOL_LOCAL, NULL, 0ul) ? -errno : 0;
    for (int id = ath_idset_next(nodes, -1); id >= 0 && id < MASK_NODES;
         id = policy == ATH_MEMORY_PREFERRED ? -1 : ath_idset_next(nodes, id))
        mask[(size_t)id / BITS] |= 1ul << ((size_t)id % BITS);
    return syscall(SYS_set_mempolicy, modes[policy], mask, (unsigned long)MASK_NODES) ? -errno : 0;
}

int ath_bind_allowed(struct ath_idset *out)
{
    enum { FIRST_CPUS = 1024 };

    /* EINVAL: the kernel's mask is larger */
    for (size_t cpus = FIRST_CPUS; cpus <= ATH_ID_MAX; cpus *= 2) {
        size_t size = CPU_ALLOC_SIZE(cpus);
        ath_auto_free cpu_set_t *set = ath_xalloc(size);
        if (sched_getaffinity(0, size, set)) {
            if (errno != EINVAL)
                return -errno;
            continue;
        }
        struct ath_idset found = { 0 };
        for (size_t id = 0; id < cpus; id++)
            if (CPU_ISSET_S(id, size, set))
                ath_idset_add(&found, (int)id, (int)id);
        *out = found;
        return 0;
    }
    return -EINVAL;
}
