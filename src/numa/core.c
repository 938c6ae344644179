/*
 * Cores are read from the kernel's lists of sibling threads: core_cpus_list, or
 * thread_siblings_list before Linux 5.3 (Documentation/admin-guide/cputopology.rst).
 */
#include "config.h"

#include "numa/core.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "numa/profile.h"

void ath_cores_add(struct ath_machine *machine, const struct ath_idset *threads)
{
    ath_idset_copy(threads, ath_push(&machine->cores, &machine->core_count, sizeof *threads));
}

void ath_cores_forget(struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->core_count; i++)
        ath_idset_free(&machine->cores[i]);
    free(machine->cores);
    machine->cores = NULL;
    machine->core_count = 0;
}

/* Reads the threads of a CPU's core. Returns false if there is no list that has the CPU. */
static bool read_core(const struct ath_root *root, int cpu, struct ath_idset *out)
{
    static const char *const names[] = { "core_cpus_list", "thread_siblings_list" };

    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        ATH_AUTO(ath_idset) threads = { 0 };
        ath_auto_free char *text =
            ath_root_read(root, "sys/devices/system/cpu/cpu%d/topology/%s", cpu, names[i]);
        if (!text || ath_idset_parse_list(text, &threads) || !ath_idset_has(&threads, cpu))
            continue;
        ath_idset_copy(&threads, out);
        return true;
    }
    return false;
}

static const struct ath_idset *online_cpus(const struct ath_numa_node *node)
{
    return node->has_cpus_online ? &node->cpus_online : &node->cpus;
}

/* Returns false if a CPU's core is not known. */
static bool read_cores(const struct ath_root *root, struct ath_machine *machine)
{
    ATH_AUTO(ath_idset) seen = { 0 };

    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_idset *cpus = online_cpus(&machine->nodes[i]);
        for (int cpu = ath_idset_next(cpus, -1); cpu >= 0; cpu = ath_idset_next(cpus, cpu)) {
            ATH_AUTO(ath_idset) threads = { 0 };
            if (ath_idset_has(&seen, cpu))
                continue;
            if (!read_core(root, cpu, &threads))
                return false;
            ath_cores_add(machine, &threads);
            for (int id = ath_idset_next(&threads, -1); id >= 0; id = ath_idset_next(&threads, id))
                ath_idset_add(&seen, id, id);
        }
    }
    return true;
}

/* Cores by the processor's number of threads: the threads of a core are numbered in a row, and each
 * core begins at a multiple of that number. */
static void count_cores(struct ath_machine *machine)
{
    int threads = ath_profile_threads(machine->profile), last = -1;

    for (size_t i = 0; i < machine->node_count && threads > 0; i++) {
        const struct ath_idset *cpus = &machine->nodes[i].cpus;
        for (int cpu = ath_idset_next(cpus, -1); cpu >= 0; cpu = ath_idset_next(cpus, last)) {
            ATH_AUTO(ath_idset) core = { 0 };
            last = cpu / threads * threads + threads - 1;
            ath_idset_add(&core, last - threads + 1, last);
            ath_cores_add(machine, &core);
        }
    }
}

void ath_cores_read(const struct ath_root *root, struct ath_machine *machine)
{
    if (machine->core_count || (root && read_cores(root, machine)))
        return;
    ath_cores_forget(machine);
    count_cores(machine);
}
