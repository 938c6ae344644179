/*
 * The profile table.
 *
 * IBM's AC922 is the 8335-GTC, -GTG and -GTH (air cooled), -GTW and -GTX (water cooled), IBM
 * Redbooks REDP-5472 and REDP-5494. Its firmware calls the board Witherspoon (skiboot,
 * platforms/astbmc/witherspoon.c: "ibm,witherspoon"). The model in the device tree is "8335-GTW".
 */
#include "config.h"

#include "numa/profile.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/unknown.h"

static const struct {
    const char *mark, *profile;
} marks[] = {
    { "8335-GTC", "ac922" },    { "8335-GTG", "ac922" }, { "8335-GTH", "ac922" },
    { "8335-GTW", "ac922" },    { "8335-GTX", "ac922" }, { "AC922", "ac922" },
    { "witherspoon", "ac922" },
};

const char *ath_profile_of(const char *model, const char *compatible)
{
    for (size_t i = 0; i < ATH_COUNT(marks); i++)
        if ((model && strcasestr(model, marks[i].mark)) ||
            (compatible && strcasestr(compatible, marks[i].mark)))
            return marks[i].profile;
    return "generic";
}

/* The memory of a V100 is a NUMA node if NVLink connects the GPU to a POWER9 processor. Ids:
 * pci.ids, Tesla V100 SXM2 16GB and 32GB. */
static const struct {
    const char *profile;
    int device_ids[3];
} gpus_with_nodes[] = {
    { "ac922", { 0x1db1, 0x1db5, 0x1df5 } },
};

/* The SMT4 cores of POWER9 in a bare-metal system (POWER9 Processor User's Manual). Linux numbers
 * the threads of a core in a row (arch/powerpc, cpu_first_thread_sibling()). */
static const struct {
    const char *profile;
    int threads;
} cores[] = { { "ac922", 4 } };

int ath_profile_threads(const char *profile)
{
    for (size_t i = 0; profile && i < ATH_COUNT(cores); i++)
        if (!strcmp(cores[i].profile, profile))
            return cores[i].threads;
    return ATH_UNKNOWN;
}

bool ath_profile_has_gpu_node(const char *profile, int device_id)
{
    for (size_t i = 0; profile && i < ATH_COUNT(gpus_with_nodes); i++)
        for (size_t j = 0; j < ATH_COUNT(gpus_with_nodes[i].device_ids); j++)
            if (!strcmp(gpus_with_nodes[i].profile, profile) &&
                (device_id == ATH_UNKNOWN || gpus_with_nodes[i].device_ids[j] == device_id))
                return true;
    return false;
}
