/* Computes the times of collective operations by the ring's least time and by NCCL's model
 * (tuning.cc). */
#include "config.h"

#include "place/estimate.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/unknown.h"
#include "numa/gpu_links.h"
#include "place/capability.h"
#include "place/chip.h"
#include "place/gpu_pair.h"

/*
 * The figures and the model are those of NCCL 2.22, src/graph/tuning.cc and topo.h. Times are in
 * us, bandwidths in GB/s. The model's limits of a channel are left out: NCCL divides a node's
 * bandwidth into channels that stay below them. Between machines NCCL may use LL128 as well, if
 * the network port is at the GPU's own switch: that is not known here, and left out.
 */
static const double base_us[ATH_NCCL_ALGORITHM_COUNT][ATH_NCCL_PROTOCOL_COUNT] = {
    [ATH_NCCL_TREE] = { 6.8, 14, 0 },
    [ATH_NCCL_RING] = { 6.6, 14, 8.4 },
};

enum way { WAY_NVLINK, WAY_PCI, WAY_NETWORK, WAY_COUNT };
static const double step_us[WAY_COUNT][ATH_NCCL_ALGORITHM_COUNT][ATH_NCCL_PROTOCOL_COUNT] = {
    [WAY_NVLINK] = { [ATH_NCCL_TREE] = { 0.6, 1.25, 28 }, [ATH_NCCL_RING] = { 0.6, 1.9, 3.4 } },
    [WAY_PCI] = { [ATH_NCCL_TREE] = { 1, 1.9, 28 }, [ATH_NCCL_RING] = { 1, 2.5, 5.7 } },
    [WAY_NETWORK] = { [ATH_NCCL_TREE] = { 5, 8.5, 28 }, [ATH_NCCL_RING] = { 2.7, 4, 14 } },
};

/* The most that LL reaches with two machines, and with more of them. Inside them, a step of LL
 * takes longer as soon as there is a network. */
static const double network_most_ll[] = { 39.0, 20.4 };
#define NETWORK_LL_STEP 1.8

/* The part of its bandwidth that a tree reaches at each size: 64 bytes, 128, ..., 256 MiB. */
enum { TREE_SIZES = 23, TREE_FIRST_SHIFT = 6 };
static const double tree_factors[ATH_NCCL_PROTOCOL_COUNT][TREE_SIZES] = {
    [ATH_NCCL_LL] = { 1,   1,   1,   1,   0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
                      0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1,   1,   1,   1 },
    [ATH_NCCL_LL128] = { 1,   1,   1,   1,   1,   0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
                         0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1,   1 },
    [ATH_NCCL_SIMPLE] = { 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
                          0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9 },
};

/* NCCL's figure for one NVLink (topo.h), and the most that LL reaches (tuning.cc, one node). */
static const struct {
    int capability;
    double nvlink, most_ll;
    bool has_ll128; /* over NVLink */
} generations[] = {
    { 60, 18.0, 39.0, false }, { 70, 20.0, 39.0, true },     { 75, 20.0, 39.0, false },
    { 80, 20.0, 87.7, true },  { 86, 12.0, 87.7, false },    { 89, 20.0, 87.7, false },
    { 90, 20.6, 87.7, true },  { ATH_UNKNOWN, 0, 0, false }, /* any other */
};

/* NCCL counts 12 GB/s where PCIe 3.0 x16 has 15.754, and as much less for others. */
#define PCI_SHARE (12 / 15.754)
/* And 12 GB/s for a network of 100 Gb/s. */
#define NETWORK_SHARE (12 / 12.5)
#define GB 1e9

static size_t generation_of(int capability)
{
    size_t i = 0;
    while (i < ATH_COUNT(generations) - 1 && generations[i].capability != capability)
        i++;
    return i;
}

/* ---- looking at a ring ---- */

static void look_at_gpus(const struct ath_machine *machine, const size_t *ring,
                         struct ath_estimate_facts *facts)
{
    for (size_t i = 0; i < facts->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[ring[i]];
        int capability = ath_compute_capability(gpu->vendor_id, ath_gpu_chip(gpu));

        if (gpu->vendor_id != ATH_VENDOR_NVIDIA)
            facts->lack = ATH_NCCL_NOT_NVIDIA;
        else if (capability == ATH_UNKNOWN && !facts->lack)
            facts->lack = ATH_NCCL_NO_CAPABILITY;
        if (!i || capability < facts->lowest_capability)
            facts->lowest_capability = capability;
        if (!i || capability > facts->highest_capability)
            facts->highest_capability = capability;
    }
}

/* NCCL's figure for a pair whose bandwidth is known; 0 if there is none. */
static double nccl_pair(const struct ath_machine *machine, const struct ath_gpu_pair *pair,
                        int capability)
{
    double own = (double)pair->bandwidth_bytes_per_s / GB;

    if (pair->knows_links && pair->links)
        return pair->links > 0 ? pair->links * generations[generation_of(capability)].nvlink : 0;
    if (pair->class == ATH_PCI_SYS && pair->source == ATH_FIGURE_TABLE)
        return own; /* of sockets: NCCL's own figure */
    if (pair->source == ATH_FIGURE_MEASURED)
        return own; /* the overhead of PCIe is in it */
    bool is_pcie = !ath_gpu_is_linked_to_processor(&machine->gpus[pair->a]) &&
                   !ath_gpu_is_linked_to_processor(&machine->gpus[pair->b]);
    return is_pcie ? own * PCI_SHARE : 0;
}

static void add_pair(const struct ath_machine *machine, const size_t *ring, size_t edge,
                     struct ath_estimate_facts *facts)
{
    struct ath_gpu_pair pair;
    ath_gpu_pair_look(machine, ring[edge], ring[(edge + 1) % facts->gpu_count], &pair);
    double nccl = nccl_pair(machine, &pair, facts->lowest_capability);
    bool is_known = facts->ring_bytes_per_s >= 0;

    facts->is_nvlink = facts->is_nvlink && pair.knows_links && pair.links;
    if (!edge || (is_known && pair.bandwidth_bytes_per_s < facts->ring_bytes_per_s)) {
        facts->ring_bytes_per_s = pair.bandwidth_bytes_per_s;
        facts->slowest = edge;
    }
    if (!edge || nccl < facts->nccl_gb_per_s)
        facts->nccl_gb_per_s = nccl;
}

void ath_estimate_look(const struct ath_machine *machine, const size_t *ring, size_t count,
                       struct ath_estimate_facts *out)
{
    *out = (struct ath_estimate_facts){
        .gpu_count = count,
        .node_count = 1,
        .ring_bytes_per_s = ATH_UNKNOWN,
        .is_nvlink = true,
        .is_power = machine->arch && ath_starts_with(machine->arch, "ppc64"),
    };
    look_at_gpus(machine, ring, out);
    for (size_t i = 0; i < count && count > 1; i++)
        add_pair(machine, ring, i, out);
    bool is_switched =
        out->is_nvlink && ath_gpu_has_links(&machine->gpus[ring[0]], ATH_PEER_SWITCH);
    out->may_sum = is_switched && out->lowest_capability >= 90 && count > 2;
    out->has_chords = out->is_nvlink && !is_switched && count > 3;
    if (count == 1)
        out->lack = ATH_NCCL_ONE_GPU;
    else if (out->lack != ATH_NCCL_NOT_NVIDIA && out->ring_bytes_per_s < 0)
        out->lack = ATH_NCCL_NO_BANDWIDTH;
    else if (!out->lack && out->nccl_gb_per_s <= 0)
        out->lack = ATH_NCCL_NO_LINKS;
}

/* ---- several machines ---- */

/* Adds a machine to the facts of the others. A single GPU has no ring inside its machine. */
static void join(const struct ath_estimate_facts *machine, struct ath_estimate_facts *facts)
{
    bool has_ring = machine->gpu_count > 1;

    if (machine->lack > ATH_NCCL_ONE_GPU && facts->lack != ATH_NCCL_NOT_NVIDIA)
        facts->lack = machine->lack;
    if (!facts->gpu_count || machine->lowest_capability < facts->lowest_capability)
        facts->lowest_capability = machine->lowest_capability;
    if (!facts->gpu_count || machine->highest_capability > facts->highest_capability)
        facts->highest_capability = machine->highest_capability;
    facts->gpu_count += machine->gpu_count;
    facts->node_count++;
    facts->is_power = facts->is_power || machine->is_power;
    if (!has_ring)
        return;
    facts->is_nvlink = facts->is_nvlink && machine->is_nvlink;
    if (machine->ring_bytes_per_s < facts->ring_bytes_per_s)
        facts->ring_bytes_per_s = machine->ring_bytes_per_s;
    if (machine->nccl_gb_per_s < facts->nccl_gb_per_s)
        facts->nccl_gb_per_s = machine->nccl_gb_per_s;
}

void ath_estimate_join(const struct ath_estimate_facts *machines, size_t count,
                       int64_t network_bytes_per_s, struct ath_estimate_facts *out)
{
    *out = (struct ath_estimate_facts){
        .ring_bytes_per_s = network_bytes_per_s,
        .nccl_gb_per_s = (double)network_bytes_per_s / GB * NETWORK_SHARE,
        .is_nvlink = true,
    };
    for (size_t i = 0; i < count; i++)
        join(&machines[i], out);
    if (network_bytes_per_s < 0 && out->lack != ATH_NCCL_NOT_NVIDIA)
        out->lack = ATH_NCCL_NO_BANDWIDTH;
}

/* ---- times ---- */

double ath_collective_share(enum ath_collective collective, size_t gpu_count)
{
    double others = (double)(gpu_count - 1) / (double)gpu_count;

    if (collective == ATH_ALL_REDUCE)
        return 2 * others;
    return collective == ATH_BROADCAST ? 1 : others;
}

static const struct ath_estimate no_estimate = { ATH_UNKNOWN, ATH_UNKNOWN, ATH_UNKNOWN };

static struct ath_estimate estimate_of(const struct ath_estimate_facts *facts,
                                       enum ath_collective collective, uint64_t size_bytes,
                                       double seconds)
{
    double own = (double)size_bytes / seconds;

    if (seconds * GB > (double)(INT64_MAX / 2))
        return no_estimate;
    return (struct ath_estimate){
        .time_ns = (int64_t)(seconds * GB + 0.5),
        .algorithm_bytes_per_s = (int64_t)(own + 0.5),
        .bus_bytes_per_s =
            (int64_t)(own * ath_collective_share(collective, facts->gpu_count) + 0.5),
    };
}

struct ath_estimate ath_estimate_ring(const struct ath_estimate_facts *facts,
                                      enum ath_collective collective, uint64_t size_bytes)
{
    if (facts->gpu_count == 1)
        return (struct ath_estimate){ 0, ATH_UNKNOWN, ATH_UNKNOWN };
    if (facts->ring_bytes_per_s <= 0)
        return no_estimate;
    double seconds = ath_collective_share(collective, facts->gpu_count) * (double)size_bytes /
                     (double)facts->ring_bytes_per_s;
    return estimate_of(facts, collective, size_bytes, seconds);
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The most that LL reaches. */
static double most_ll(const struct ath_estimate_facts *facts)
{
    if (facts->node_count > 1)
        return network_most_ll[facts->node_count > 2];
    return generations[generation_of(facts->lowest_capability)].most_ll;
}

/* A step inside a machine. */
static double inner_step(const struct ath_estimate_facts *facts, enum ath_nccl_algorithm algorithm,
                         enum ath_nccl_protocol protocol)
{
    enum way way = facts->is_nvlink ? WAY_NVLINK : WAY_PCI;
    bool is_longer = facts->node_count > 1 && protocol == ATH_NCCL_LL;
    return step_us[way][algorithm][protocol] * (is_longer ? NETWORK_LL_STEP : 1);
}

/* The latency of all steps of a ring. In an all-reduce, NCCL counts two steps of the network for
 * each machine. A broadcast is one step if all rings are the same. */
static double ring_latency(const struct ath_estimate_facts *facts, enum ath_collective collective,
                           enum ath_nccl_protocol protocol, double steps)
{
    bool has_network = facts->node_count > 1;
    double inner = inner_step(facts, ATH_NCCL_RING, protocol);
    double outer = step_us[WAY_NETWORK][ATH_NCCL_RING][protocol];
    double outer_steps = !has_network                   ? 0
                         : collective == ATH_ALL_REDUCE ? 2 * (double)facts->node_count
                                                        : (double)facts->node_count - 1;

    if (collective == ATH_BROADCAST)
        return base_us[ATH_NCCL_RING][protocol] + (has_network ? outer : inner);
    if (outer_steps > steps)
        outer_steps = steps;
    return base_us[ATH_NCCL_RING][protocol] + (steps - outer_steps) * inner + outer_steps * outer;
}

static double ring_us(const struct ath_estimate_facts *facts, enum ath_collective collective,
                      enum ath_nccl_protocol protocol, uint64_t size_bytes)
{
    enum { PLATEAU_BYTES = 64 }; /* for each GPU: from there on NCCL counts more latency */
    double bandwidth = facts->nccl_gb_per_s, gpus = (double)facts->gpu_count;
    bool has_network = facts->node_count > 1;
    double steps = collective == ATH_ALL_REDUCE  ? 2 * (gpus - 1)
                   : collective == ATH_BROADCAST ? gpus
                                                 : gpus - 1;
    double latency = ring_latency(facts, collective, protocol, steps);

    if (protocol == ATH_NCCL_LL)
        bandwidth = smaller(most_ll(facts),
                            bandwidth / (collective == ATH_ALL_REDUCE || has_network ? 4 : 3));
    else if (protocol == ATH_NCCL_LL128)
        bandwidth *= 0.92;
    else if (has_network && collective == ATH_ALL_REDUCE &&
             size_bytes / facts->gpu_count >= PLATEAU_BYTES)
        latency *= facts->lowest_capability < 80 ? 1.9 : 1.4;
    return latency + (double)size_bytes / (1000 * bandwidth * gpus / steps);
}

static double tree_factor(enum ath_nccl_protocol protocol, uint64_t size_bytes)
{
    size_t i = 0;
    while (i < TREE_SIZES && size_bytes >> TREE_FIRST_SHIFT >> i > 1)
        i++;
    return i < TREE_SIZES ? tree_factors[protocol][i] : 1;
}

/* The levels of the tree of machines, as NCCL counts them: log2, rounded down. */
static double levels_of(size_t node_count)
{
    double levels = 0;
    for (; node_count > 1; node_count /= 2)
        levels++;
    return levels;
}

static double tree_us(const struct ath_estimate_facts *facts, enum ath_nccl_protocol protocol,
                      uint64_t size_bytes)
{
    double bandwidth = 0.92 * facts->nccl_gb_per_s;
    double step = inner_step(facts, ATH_NCCL_TREE, protocol);
    size_t inner_steps = facts->gpu_count / facts->node_count - 1; /* rounded down, as in NCCL */

    if (protocol == ATH_NCCL_LL)
        bandwidth = smaller(most_ll(facts), bandwidth / 3.8);
    else if (protocol == ATH_NCCL_LL128)
        bandwidth *= 7.0 / 9;
    else if (!facts->is_nvlink && facts->is_power)
        step = step_us[WAY_PCI][ATH_NCCL_RING][protocol];
    double latency =
        base_us[ATH_NCCL_TREE][protocol] +
        2 * ((double)inner_steps * step +
             levels_of(facts->node_count) * step_us[WAY_NETWORK][ATH_NCCL_TREE][protocol]);
    return latency +
           (double)size_bytes / (1000 * bandwidth * 0.5 * tree_factor(protocol, size_bytes));
}

struct ath_nccl_estimate ath_estimate_nccl(const struct ath_estimate_facts *facts,
                                           enum ath_collective collective, uint64_t size_bytes)
{
    struct ath_nccl_estimate best = { .estimate = no_estimate };
    double best_us = 0;

    if (facts->lack)
        return best;
    bool has_ll128 = facts->is_nvlink && facts->node_count == 1 &&
                     facts->lowest_capability == facts->highest_capability &&
                     generations[generation_of(facts->lowest_capability)].has_ll128;
    for (int a = collective == ATH_ALL_REDUCE ? ATH_NCCL_TREE : ATH_NCCL_RING;
         a < ATH_NCCL_ALGORITHM_COUNT; a++)
        for (int p = 0; p < ATH_NCCL_PROTOCOL_COUNT; p++) {
            enum ath_nccl_protocol protocol = (enum ath_nccl_protocol)p;
            double us = a == ATH_NCCL_TREE ? tree_us(facts, protocol, size_bytes)
                                           : ring_us(facts, collective, protocol, size_bytes);
            if ((p == ATH_NCCL_LL128 && !has_ll128) || (best_us > 0 && us >= best_us))
                continue;
            best_us = us;
            best.algorithm = (enum ath_nccl_algorithm)a;
            best.protocol = protocol;
        }
    best.estimate = estimate_of(facts, collective, size_bytes, best_us / 1e6);
    return best;
}

/* ---- words ---- */

const char *const ath_collectives[] = { "all-reduce", "all-gather", "reduce-scatter", "broadcast",
                                        NULL };

const char *ath_collective_word(enum ath_collective collective)
{
    return ath_collectives[collective];
}

const char *ath_nccl_algorithm_word(enum ath_nccl_algorithm algorithm)
{
    return algorithm == ATH_NCCL_TREE ? "tree" : "ring";
}

const char *ath_nccl_protocol_word(enum ath_nccl_protocol protocol)
{
    static const char *const words[ATH_NCCL_PROTOCOL_COUNT] = { "LL", "LL128", "Simple" };
    return words[protocol];
}
