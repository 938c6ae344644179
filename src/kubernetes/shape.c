/* Shares shapes among nodes, and keeps the best set for each mask of free GPUs. */
#include "config.h"

#include "kubernetes/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/unknown.h"
#include "place/cpus.h"

enum {
    BITS = 10,
    CHOICES_MAX = 1 << 14, /* of a shape: then all are forgotten */
};

struct entry {
    struct ath_map_entry link;
    uint64_t among;
    size_t count;
    enum ath_place_policy policy;
    struct ath_kube_choice choice;
};

struct ath_kube_shape {
    size_t node_count;
    struct ath_machine machine; /* only what a choice needs */
    int64_t *bandwidths;
    int *numa_nodes;
    struct ath_map choices;
    size_t choice_count;
};

static void forget(struct ath_kube_shape *shape)
{
    ATH_MAP_EACH(&shape->choices, at)
    free(ath_map_take(at));
    shape->choice_count = 0;
}

static void free_shape(struct ath_kube_shape *shape)
{
    forget(shape);
    free(shape->choices.buckets);
    ath_machine_free(&shape->machine);
    free(shape->bandwidths);
    free(shape->numa_nodes);
    free(shape);
}

void ath_kube_shapes_free(struct ath_kube_shapes *shapes)
{
    for (size_t i = 0; i < shapes->count; i++)
        free_shape(shapes->items[i]);
    free(shapes->items);
    *shapes = (struct ath_kube_shapes){ 0 };
}

static bool is_shape_of(const struct ath_kube_shape *shape, const struct ath_kube_node *node)
{
    size_t count = node->machine.gpu_count;

    if (shape->machine.gpu_count != count ||
        memcmp(shape->bandwidths, node->bandwidths, count * count * sizeof *node->bandwidths) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (shape->machine.gpus[i].health.score != node->machine.gpus[i].health.score ||
            shape->numa_nodes[i] != ath_place_node_of(&node->machine, &node->machine.gpus[i]))
            return false;
    return true;
}

static struct ath_kube_shape *make(const struct ath_kube_node *node)
{
    size_t count = node->machine.gpu_count;
    struct ath_kube_shape *shape = ath_xalloc(sizeof *shape);

    shape->bandwidths = ath_xalloc(count * count * sizeof *shape->bandwidths);
    memcpy(shape->bandwidths, node->bandwidths, count * count * sizeof *shape->bandwidths);
    shape->numa_nodes = ath_xalloc(count * sizeof *shape->numa_nodes);
    shape->choices.bits = BITS;
    shape->choices.buckets = ath_xalloc(sizeof *shape->choices.buckets << BITS);
    for (size_t i = 0; i < count; i++) {
        const struct ath_pci key = ath_pci_numbered((uint32_t)i);
        struct ath_gpu *gpu = ath_machine_add_gpu(&shape->machine, &key);
        shape->numa_nodes[i] = ath_place_node_of(&node->machine, &node->machine.gpus[i]);
        gpu->vendor_id = ATH_VENDOR_NVIDIA;
        gpu->numa_node = shape->numa_nodes[i];
        gpu->health.score = node->machine.gpus[i].health.score;
    }
    return shape;
}

struct ath_kube_shape *ath_kube_shape_join(struct ath_kube_shapes *shapes,
                                           const struct ath_kube_node *node)
{
    struct ath_kube_shape *shape = NULL;

    for (size_t i = 0; !shape && i < shapes->count; i++)
        if (is_shape_of(shapes->items[i], node))
            shape = shapes->items[i];
    if (!shape) {
        struct ath_kube_shape **slot = ath_push(&shapes->items, &shapes->count, sizeof *slot);
        shape = *slot = make(node);
    }
    shape->node_count++;
    return shape;
}

void ath_kube_shape_leave(struct ath_kube_shapes *shapes, struct ath_kube_shape *shape)
{
    if (--shape->node_count)
        return;
    for (size_t i = 0; i < shapes->count; i++)
        if (shapes->items[i] == shape) {
            shapes->items[i] = shapes->items[--shapes->count];
            break;
        }
    free_shape(shape);
}

/* ---- choosing ---- */

/* Counts the NUMA nodes of the chosen GPUs. */
static void count_nodes(const struct ath_kube_shape *shape, size_t count,
                        struct ath_kube_choice *choice)
{
    choice->knows_numa = true;
    choice->health = ATH_GPU_SCORE_FULL;
    for (size_t i = 0; i < count; i++) {
        size_t gpu = choice->ring[i];
        int score = shape->machine.gpus[gpu].health.score;
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && shape->numa_nodes[choice->ring[j]] != shape->numa_nodes[gpu];
        choice->numa_nodes += is_new;
        choice->knows_numa = choice->knows_numa && shape->numa_nodes[gpu] != ATH_UNKNOWN;
        if (score >= 0 && score < choice->health)
            choice->health = score;
    }
}

static void choose(const struct ath_kube_shape *shape, uint64_t among, size_t count,
                   enum ath_place_policy policy, struct ath_kube_choice *out)
{
    bool is_free[ATH_KUBE_GPUS_MAX];
    const struct ath_place_request request = {
        .size = count, .group_count = 1, .policy = policy, .is_free = is_free
    };
    struct ath_place_answer answer = { 0 };

    for (size_t i = 0; i < shape->machine.gpu_count; i++)
        is_free[i] = among >> i & 1;
    if (ath_place_choose(&shape->machine, shape->bandwidths, &request, &answer, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        out->gpus |= UINT64_C(1) << answer.best.gpus[i];
        out->ring[i] = (uint8_t)answer.best.rings[i];
    }
    out->ring_value = answer.best.values[0];
    ath_place_answer_free(&answer);
    count_nodes(shape, count, out);
}

const struct ath_kube_choice *ath_kube_shape_choose(struct ath_kube_shape *shape, uint64_t among,
                                                    size_t count, enum ath_place_policy policy)
{
    uint64_t key = among ^ (uint64_t)count << 56 ^ (uint64_t)policy << 48;

    for (struct ath_map_entry **at = ath_map_at(&shape->choices, key); *at;
         at = ath_map_same(&(*at)->next, key)) {
        const struct entry *entry = (const struct entry *)*at;
        if (entry->among == among && entry->count == count && entry->policy == policy)
            return &entry->choice;
    }
    if (shape->choice_count >= CHOICES_MAX)
        forget(shape);
    struct entry *entry = ath_xalloc(sizeof *entry);
    entry->among = among;
    entry->count = count;
    entry->policy = policy;
    choose(shape, among, count, policy, &entry->choice);
    ath_map_add(&shape->choices, &entry->link, key);
    shape->choice_count++;
    return &entry->choice;
}
