/* Checks the GPUs of a node for a pod, and computes the score by the table of weights. */
#include "config.h"

#include "kubernetes/judge.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/unknown.h"

enum { PERMILLE = 1000, SCORE_MAX = 10 };

/* In percent; together 100. */
enum { TOPOLOGY = 40, NUMA = 30, FIT = 20, PREFERENCE = 10 };

/* ---- one GPU ---- */

/* wanted: NULL for any model; row: the same in the table, or NULL. */
static bool is_model(const struct ath_kube_node *node, size_t gpu, const char *wanted,
                     const struct ath_gpu_model *row)
{
    const char *model = node->machine.gpus[gpu].model;
    if (!wanted || (row && row == node->models[gpu]))
        return true;
    return model && !strcasecmp(model, wanted);
}

/* The part of one GPU that a wish takes. */
struct part {
    int64_t memory_bytes; /* a part whose memory is not known takes none */
    int share_percent;    /* more than 100: the GPU cannot give it */
};

static struct part part_of(const struct ath_kube_wish *wish, const struct ath_kube_node *node,
                           size_t gpu)
{
    int64_t bytes = node->machine.gpus[gpu].memory_total_bytes;
    int share = ath_kube_wish_share(wish, node->models[gpu]);

    if (wish->memory_bytes || bytes < 0)
        return (struct part){ wish->memory_bytes, share };
    return (struct part){ bytes / 100 * share + bytes % 100 * share / 100, share };
}

void ath_kube_use_add(struct ath_kube_use *use, const struct ath_kube_wish *wish,
                      const struct ath_kube_node *node, size_t gpu)
{
    const struct part part = part_of(wish, node, gpu);

    use->pod_count++;
    use->is_whole = use->is_whole || wish->is_whole;
    use->memory_bytes += part.memory_bytes < INT64_MAX - use->memory_bytes ? part.memory_bytes : 0;
    use->share_percent += part.share_percent;
}

/* Returns whether a GPU has room for its part of the wish. */
static bool has_room(const struct ath_kube_node *node, size_t gpu, const struct ath_kube_use *use,
                     const struct ath_kube_wish *wish)
{
    if (wish->is_whole)
        return !use->pod_count;
    const struct part part = part_of(wish, node, gpu);
    if (use->is_whole || part.share_percent > 100 - use->share_percent)
        return false;
    return !part.memory_bytes ||
           part.memory_bytes <= node->machine.gpus[gpu].memory_total_bytes - use->memory_bytes;
}

/* Returns the part of a GPU that no pod has, in thousandths: the scarcer one of memory and time. */
static int left_of(const struct ath_gpu *gpu, const struct ath_kube_use *use)
{
    int of_time = (100 - use->share_percent) * 10, of_memory = PERMILLE;

    if (use->is_whole)
        return 0;
    if (gpu->memory_total_bytes > 0) {
        int64_t left = gpu->memory_total_bytes - use->memory_bytes;
        of_memory = left > 0 ? (int)((double)left * PERMILLE / (double)gpu->memory_total_bytes) : 0;
    }
    int less = of_time < of_memory ? of_time : of_memory;
    return less > 0 ? less : 0;
}

/* ---- sets of GPUs ---- */

struct question {
    const struct ath_kube_node *node;
    struct ath_kube_shape *shape;
    const struct ath_kube_use *uses;
    const struct ath_kube_wish *wish;
    uint64_t possible; /* GPUs that would do if the node were empty */
    uint64_t free;     /* those that have room now */
};

static void find_gpus(struct question *question)
{
    static const struct ath_kube_use none;
    const struct ath_machine *machine = &question->node->machine;

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        uint64_t bit = UINT64_C(1) << i;
        if (!gpu->health.score ||
            !is_model(question->node, i, question->wish->model, question->wish->model_row) ||
            !has_room(question->node, i, &none, question->wish))
            continue;
        question->possible |= bit;
        if (has_room(question->node, i, &question->uses[i], question->wish))
            question->free |= bit;
    }
}

/* Returns whether a GPU is better for a part than the best one until now: healthy ones first, then
 * the fullest one. */
static bool is_better(const struct question *question, size_t gpu, size_t best)
{
    const struct ath_machine *machine = &question->node->machine;
    int score = machine->gpus[gpu].health.score, best_score = machine->gpus[best].health.score;
    bool is_poor = score >= 0 && score < ATH_GPU_SCORE_POOR;
    bool is_best_poor = best_score >= 0 && best_score < ATH_GPU_SCORE_POOR;

    if (is_poor != is_best_poor)
        return is_best_poor;
    if (is_poor && score != best_score)
        return score > best_score;
    return left_of(&machine->gpus[gpu], &question->uses[gpu]) <
           left_of(&machine->gpus[best], &question->uses[best]);
}

/* A part of one GPU goes to the GPU that is used most, so that others stay whole. */
static uint64_t fullest(const struct question *question)
{
    size_t count = question->node->machine.gpu_count, best = count;

    for (size_t i = 0; i < count; i++)
        if (question->free >> i & 1 && (best == count || is_better(question, i, best)))
            best = i;
    return UINT64_C(1) << best;
}

static const struct ath_kube_choice *choose(const struct question *question)
{
    const struct ath_kube_wish *wish = question->wish;
    bool is_one_part = !wish->is_whole && wish->gpu_count == 1;
    return ath_kube_shape_choose(question->shape, is_one_part ? fullest(question) : question->free,
                                 wish->gpu_count, wish->policy);
}

/* ---- the verdict ---- */

/* Returns the part of the node's GPUs that is used when the pod runs, in thousandths. */
static int fit_of(const struct question *question, uint64_t gpus)
{
    const struct ath_machine *machine = &question->node->machine;
    int left = 0;

    for (size_t i = 0; i < machine->gpu_count; i++) {
        struct ath_kube_use use = question->uses[i];
        if (gpus >> i & 1)
            ath_kube_use_add(&use, question->wish, question->node, i);
        left += left_of(&machine->gpus[i], &use);
    }
    return PERMILLE - left / (int)machine->gpu_count;
}

static int preference_of(const struct question *question, uint64_t gpus)
{
    const struct ath_kube_wish *wish = question->wish;
    size_t liked = 0;

    for (size_t i = 0; i < question->node->machine.gpu_count; i++)
        liked += gpus >> i & 1 &&
                 is_model(question->node, i, wish->preferred_model, wish->preferred_row);
    return (int)(liked * PERMILLE / wish->gpu_count);
}

static void accept(const struct question *question, const struct ath_kube_choice *choice,
                   struct ath_kube_verdict *out)
{
    out->fits = true;
    out->gpus = choice->gpus;
    out->gpu_count = question->wish->gpu_count;
    memcpy(out->ring, choice->ring, sizeof out->ring);
    out->ring_value = choice->ring_value;
    out->numa_permille = choice->knows_numa ? PERMILLE / (int)choice->numa_nodes : 0;
    out->fit_permille = fit_of(question, choice->gpus);
    out->preference_permille = preference_of(question, choice->gpus);
    out->health_percent = choice->health;
}

/* Adds "a GPU", "3 GPUs", "a GPU with 16384 MiB", "2 GPUs of model 'H100'". */
static void add_wish(const struct ath_kube_wish *wish, struct ath_text *why)
{
    if (wish->gpu_count == 1)
        ath_text_add(why, "a GPU");
    else
        ath_text_add(why, "%zu GPUs", wish->gpu_count);
    if (wish->model)
        ath_text_add(why, " of model '%.64s'", wish->model);
    if (wish->memory_bytes)
        ath_text_add(why, " with %" PRId64 " MiB%s",
                     wish->memory_bytes / (1 << 20) + (wish->memory_bytes % (1 << 20) != 0),
                     wish->gpu_count == 1 ? "" : " each");
    if (wish->share_percent)
        ath_text_add(why, " %s %d %% of the time", wish->memory_bytes ? "and" : "with",
                     wish->share_percent);
    if (wish->tflops)
        ath_text_add(why, " %s %" PRId64 " TFLOPS (FP16)%s", wish->memory_bytes ? "and" : "with",
                     wish->tflops, wish->gpu_count == 1 ? "" : " each");
}

/* Names a model whose throughput is needed and not known, if there is one. */
static void add_unknown(const struct question *question, struct ath_text *why)
{
    const struct ath_kube_node *node = question->node;

    for (size_t i = 0; question->wish->tflops && i < node->machine.gpu_count; i++) {
        const char *model = node->machine.gpus[i].model;
        if (node->models[i] && node->models[i]->figures[ATH_GPU_FP16] >= 0)
            continue;
        ath_text_add(why, "; the throughput of the model '%.64s' is not known", model ? model : "");
        return;
    }
}

/* Refuses a node that has too few GPUs, or none that the policy allows. */
static void refuse(const struct question *question, struct ath_kube_verdict *out,
                   struct ath_text *why)
{
    const struct ath_kube_wish *wish = question->wish;
    size_t possible = ath_kube_mask_count(question->possible);
    size_t free_count = ath_kube_mask_count(question->free);
    bool is_too_few = free_count < wish->gpu_count;

    out->is_hopeless =
        possible < wish->gpu_count ||
        !ath_kube_shape_choose(question->shape, question->possible, wish->gpu_count, wish->policy)
             ->gpus;
    if (!why)
        return;
    ath_text_add(why, "the pod wants ");
    add_wish(wish, why);
    if (possible < wish->gpu_count) {
        ath_text_add(why, ", and %zu of the node's %zu GPUs can be used for that", possible,
                     question->node->machine.gpu_count);
        add_unknown(question, why);
    } else if (is_too_few)
        ath_text_add(why, ", and %zu of %zu have room now", free_count, possible);
    else if (out->is_hopeless)
        ath_text_add(why, ", and the NUMA nodes do not allow that with the policy '%s'",
                     ath_place_policy_word(wish->policy));
    else
        ath_text_add(why,
                     ", and the %zu that have room now are on too many NUMA nodes for the policy "
                     "'%s'",
                     free_count, ath_place_policy_word(wish->policy));
}

void ath_kube_judge(const struct ath_kube_node *node, struct ath_kube_shape *shape,
                    const struct ath_kube_use *uses, const struct ath_kube_wish *wish,
                    struct ath_kube_verdict *out, struct ath_text *why)
{
    struct question question = { .node = node, .shape = shape, .uses = uses, .wish = wish };

    *out = (struct ath_kube_verdict){ 0 };
    if (!node->is_ready) {
        out->is_hopeless = true;
        if (why)
            ath_text_add(why, "the ComputeNode is not Ready");
        return;
    }
    find_gpus(&question);
    const struct ath_kube_choice *choice =
        ath_kube_mask_count(question.free) < wish->gpu_count ? NULL : choose(&question);
    if (choice && choice->gpus)
        accept(&question, choice, out);
    else
        refuse(&question, out, why);
}

/* ---- the score ---- */

static int topology_permille(int64_t ring_value, int64_t best_ring)
{
    if (ring_value >= best_ring)
        return PERMILLE;
    return ring_value > 0 ? (int)((double)ring_value * PERMILLE / (double)best_ring) : 0;
}

int ath_kube_score(const struct ath_kube_verdict *verdict, int64_t best_ring)
{
    int64_t sum = TOPOLOGY * topology_permille(verdict->ring_value, best_ring) +
                  NUMA * verdict->numa_permille + FIT * verdict->fit_permille +
                  PREFERENCE * verdict->preference_permille;
    const int64_t whole = INT64_C(100) * PERMILLE * 100; /* of percent, thousandths and health */
    return (int)((sum * verdict->health_percent * SCORE_MAX + whole / 2) / whole);
}
