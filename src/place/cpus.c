/* Choosing CPUs: shares of the nodes, then threads in an order that uses all cores first. */
#include "config.h"

#include "place/cpus.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "numa/usable.h"

void ath_place_cpus_free(struct ath_place_cpus *cpus)
{
    if (!cpus)
        return;
    ath_idset_free(&cpus->cpus);
    ath_idset_free(&cpus->nodes);
    ath_idset_free(&cpus->others);
}

int ath_place_node_of(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    int only = ATH_UNKNOWN;

    if (gpu->numa_node != ATH_UNKNOWN)
        return gpu->numa_node;
    for (size_t i = 0; i < machine->node_count; i++) {
        if (machine->nodes[i].kind != ATH_NODE_CPU)
            continue;
        if (only != ATH_UNKNOWN)
            return ATH_UNKNOWN;
        only = machine->nodes[i].id;
    }
    return only;
}

/* ---- the order of a node's CPUs ---- */

struct thread {
    int cpu;
    size_t place; /* among the threads of its core that may be used: 0 for the first */
};

struct share {
    const struct ath_numa_node *node;
    size_t gpu_count;
    int distance;           /* to the nearest node of a GPU */
    struct thread *threads; /* in the order in which they are taken */
    size_t thread_count;
    size_t taken;
};

static const struct ath_idset *core_of(const struct ath_machine *machine, int cpu)
{
    for (size_t i = 0; i < machine->core_count; i++)
        if (ath_idset_has(&machine->cores[i], cpu))
            return &machine->cores[i];
    return NULL;
}

static int compare_threads(const void *a, const void *b)
{
    const struct thread *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* Lists the CPUs of a node that programs can use. */
static void list_threads(const struct ath_machine *machine, const struct ath_idset *allowed,
                         struct share *share)
{
    const struct ath_numa_node *node = share->node;
    const struct ath_idset *cpus = node->has_cpus_online ? &node->cpus_online : &node->cpus;

    for (int cpu = ath_idset_next(cpus, -1); cpu >= 0; cpu = ath_idset_next(cpus, cpu)) {
        const struct ath_idset *core = core_of(machine, cpu);
        if (allowed && !ath_idset_has(allowed, cpu))
            continue;
        struct thread *thread = ath_push(&share->threads, &share->thread_count, sizeof *thread);
        thread->cpu = cpu;
        for (int id = core ? ath_idset_next(core, -1) : cpu; id >= 0 && id < cpu;
             id = ath_idset_next(core, id))
            thread->place += ath_idset_has(cpus, id) && (!allowed || ath_idset_has(allowed, id));
    }
    if (share->thread_count)
        qsort(share->threads, share->thread_count, sizeof *share->threads, compare_threads);
}

/* ---- shares of the nodes ---- */

struct shares {
    struct share *items;
    size_t count;
};

static void shares_free(struct shares *shares)
{
    for (size_t i = 0; i < shares->count; i++)
        free(shares->items[i].threads);
    free(shares->items);
}

/* The nodes of GPUs come first, those with more GPUs before others; then the nearest. */
static int compare_shares(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (x->gpu_count != y->gpu_count)
        return x->gpu_count > y->gpu_count ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return (x->node->id > y->node->id) - (x->node->id < y->node->id);
}

static int distance_to_gpus(const struct ath_machine *machine, int node, const size_t *gpus,
                            size_t gpu_count)
{
    int nearest = INT_MAX;
    for (size_t i = 0; i < gpu_count; i++) {
        int from = ath_place_node_of(machine, &machine->gpus[gpus[i]]);
        int distance = ath_machine_distance(machine, from, node);
        if (distance != ATH_UNKNOWN && distance < nearest)
            nearest = distance;
    }
    return nearest;
}

static void list_shares(const struct ath_machine *machine, const size_t *gpus, size_t gpu_count,
                        const struct ath_idset *allowed, struct shares *out)
{
    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        if (ath_node_lack(node) != ATH_NODE_LACKS_NOTHING)
            continue;
        struct share *share = ath_push(&out->items, &out->count, sizeof *share);
        share->node = node;
        share->distance = distance_to_gpus(machine, node->id, gpus, gpu_count);
        for (size_t j = 0; j < gpu_count; j++)
            share->gpu_count += ath_place_node_of(machine, &machine->gpus[gpus[j]]) == node->id;
        list_threads(machine, allowed, share);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_shares);
}

static size_t gpus_of(const struct shares *shares)
{
    size_t count = 0;
    for (size_t i = 0; i < shares->count; i++)
        count += shares->items[i].gpu_count;
    return count;
}

/* Takes one CPU at a time from the node of GPUs that lies furthest below its share. If these nodes
 * have too few CPUs, the nearest other nodes give the rest. */
static void take_by_share(struct shares *shares, size_t wanted)
{
    for (; wanted; wanted--) {
        struct share *next = NULL;
        for (size_t i = 0; i < shares->count; i++) {
            struct share *share = &shares->items[i];
            if (!share->gpu_count || share->taken == share->thread_count)
                continue;
            if (!next || share->taken * next->gpu_count < next->taken * share->gpu_count)
                next = share;
        }
        if (!next)
            break;
        next->taken++;
    }
    for (size_t i = 0; i < shares->count && wanted; i++) {
        struct share *share = &shares->items[i];
        size_t left = share->thread_count - share->taken;
        size_t more = left < wanted ? left : wanted;
        share->taken += more;
        wanted -= more;
    }
}

/* ---- the result ---- */

static void add_share(const struct ath_machine *machine, const struct share *share,
                      struct ath_place_cpus *out)
{
    if (!share->taken)
        return;
    ath_idset_add(&out->nodes, share->node->id, share->node->id);
    if (!share->gpu_count)
        ath_idset_add(&out->others, share->node->id, share->node->id);
    for (size_t i = 0; i < share->taken; i++) {
        int cpu = share->threads[i].cpu;
        ath_idset_add(&out->cpus, cpu, cpu);
        out->core_count += share->threads[i].place == 0;
        out->knows_cores = out->knows_cores && core_of(machine, cpu);
    }
}

int ath_place_choose_cpus(const struct ath_machine *machine, const size_t *gpus, size_t gpu_count,
                          size_t wanted, const struct ath_idset *allowed,
                          struct ath_place_cpus *out, struct ath_err *err)
{
    ATH_AUTO(shares) shares = { 0 };
    size_t usable = 0, near = 0;

    list_shares(machine, gpus, gpu_count, allowed, &shares);
    for (size_t i = 0; i < shares.count; i++) {
        usable += shares.items[i].thread_count;
        near += shares.items[i].gpu_count ? shares.items[i].thread_count : 0;
    }
    if (wanted > usable) {
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    allowed ? _("cannot take %zu CPUs: this process may use %zu")
                            : _("cannot take %zu CPUs: the machine has %zu online"),
                    wanted, usable);
        return ath_err_hint(err, -EINVAL, "--cpus %zu", usable);
    }
    take_by_share(&shares, wanted ? wanted : gpus_of(&shares) && near ? near : usable);
    struct ath_place_cpus cpus = { .knows_cores = true };
    for (size_t i = 0; i < shares.count; i++)
        add_share(machine, &shares.items[i], &cpus);
    *out = cpus;
    return 0;
}

/* ---- several groups ---- */

/* Lists the cores of a node in the order of their CPUs, with those threads that may be used. If
 * cores are not known, each CPU is one. */
static struct ath_idset *list_cores(const struct ath_machine *machine, const struct share *share,
                                    size_t *out_count)
{
    struct ath_idset *cores = NULL;
    ATH_AUTO(ath_idset) cpus = { 0 }, seen = { 0 };

    for (size_t i = 0; i < share->thread_count; i++)
        ath_idset_add(&cpus, share->threads[i].cpu, share->threads[i].cpu);
    *out_count = 0;
    for (int cpu = ath_idset_next(&cpus, -1); cpu >= 0; cpu = ath_idset_next(&cpus, cpu)) {
        const struct ath_idset *core = core_of(machine, cpu);
        if (ath_idset_has(&seen, cpu))
            continue;
        struct ath_idset *item = ath_push(&cores, out_count, sizeof *item);
        if (core)
            ath_idset_intersect(core, &cpus, item);
        else
            ath_idset_add(item, cpu, cpu);
        for (int id = ath_idset_next(item, -1); id >= 0; id = ath_idset_next(item, id))
            ath_idset_add(&seen, id, id);
    }
    return cores;
}

/* Returns how many GPUs of a group are on the share's node; 1 if it has none of any group. */
static size_t weight_of(const struct ath_machine *machine, const struct share *share,
                        const size_t *gpus, size_t size)
{
    size_t weight = 0;
    for (size_t i = 0; i < size; i++)
        weight += ath_place_node_of(machine, &machine->gpus[gpus[i]]) == share->node->id;
    return share->gpu_count ? weight : 1;
}

static void divide_node(const struct ath_machine *machine, const struct share *share,
                        const size_t *gpus, size_t size, size_t group_count, struct ath_idset *out)
{
    size_t count, before = 0, all = share->gpu_count ? share->gpu_count : group_count;
    struct ath_idset *cores = list_cores(machine, share, &count);

    for (size_t group = 0; group < group_count; group++) {
        size_t weight = weight_of(machine, share, &gpus[group * size], size);
        size_t first = count * before / all, end = count * (before + weight) / all;
        if (weight && end == first && count)
            end++; /* there are fewer cores than groups */
        for (size_t i = first; i < end; i++)
            for (int id = ath_idset_next(&cores[i], -1); id >= 0;
                 id = ath_idset_next(&cores[i], id))
                ath_idset_add(&out[group], id, id);
        before += weight;
    }
    for (size_t i = 0; i < count; i++)
        ath_idset_free(&cores[i]);
    free(cores);
}

void ath_place_divide_cpus(const struct ath_machine *machine, const size_t *gpus, size_t size,
                           size_t group_count, const struct ath_idset *allowed,
                           struct ath_idset *out)
{
    ATH_AUTO(shares) shares = { 0 };

    list_shares(machine, gpus, size * group_count, allowed, &shares);
    for (size_t i = 0; i < shares.count; i++)
        divide_node(machine, &shares.items[i], gpus, size, group_count, out);
}
