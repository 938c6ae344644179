/* The policies, as limits of the search: which GPUs may be chosen, and on how many nodes. */
#include "config.h"

#include "place/choose.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "numa/pair.h"
#include "numa/usable.h"
#include "place/cpus.h"

static const char *const policies[ATH_PLACE_POLICY_COUNT] = {
    [ATH_PLACE_BEST_EFFORT] = "best-effort",
    [ATH_PLACE_RESTRICTED] = "restricted",
    [ATH_PLACE_SINGLE_NUMA] = "single-numa",
    [ATH_PLACE_NONE] = "none",
};

const char *ath_place_policy_word(enum ath_place_policy policy)
{
    return policies[policy];
}

void ath_place_answer_free(struct ath_place_answer *answer)
{
    if (!answer)
        return;
    ath_set_choice_free(&answer->best);
    ath_set_choice_free(&answer->next);
    ath_idset_free(&answer->poor);
}

/* ---- GPUs that can be placed ---- */

static bool is_nvidia(const struct ath_gpu *gpu)
{
    return gpu->vendor_id == ATH_VENDOR_NVIDIA || gpu->vendor_id == ATH_UNKNOWN;
}

void ath_place_usable(const struct ath_machine *machine, bool *is_free)
{
    bool has_nvidia = false;

    for (size_t i = 0; i < machine->gpu_count; i++)
        has_nvidia = has_nvidia || is_nvidia(&machine->gpus[i]);
    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        enum ath_gpu_lack lack = ath_gpu_lack(machine, gpu);
        is_free[i] = has_nvidia
                         ? lack == ATH_GPU_LACKS_NOTHING || lack == ATH_GPU_LACKS_MEMORY_OWNER
                         : gpu->vendor_id == machine->gpus[0].vendor_id;
    }
}

/* ---- NUMA nodes ---- */

/* The machine's nodes that have GPUs, each with its number of GPUs. */
struct node_gpus {
    int node;
    size_t count, free_count;
};

struct node_list {
    struct node_gpus *items;
    size_t count;
};

static void node_list_free(struct node_list *list)
{
    free(list->items);
}

static struct node_gpus *find_node(struct node_list *list, int node)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].node == node)
            return &list->items[i];
    struct node_gpus *added = ath_push(&list->items, &list->count, sizeof *added);
    added->node = node;
    return added;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct node_gpus *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Lists the nodes, those with most GPUs first. */
static struct node_list list_nodes(const struct ath_machine *machine, const bool *is_free)
{
    struct node_list list = { 0 };

    for (size_t i = 0; i < machine->gpu_count; i++) {
        int node = ath_place_node_of(machine, &machine->gpus[i]);
        if (node == ATH_UNKNOWN)
            continue;
        struct node_gpus *entry = find_node(&list, node);
        entry->count++;
        entry->free_count += is_free[i];
    }
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, compare_nodes);
    return list;
}

/* Returns how many nodes have `size` GPUs, free or not; 0 if all have fewer. */
static size_t nodes_needed(const struct node_list *list, size_t size)
{
    size_t gpus = 0;
    for (size_t i = 0; i < list->count; i++) {
        gpus += list->items[i].count;
        if (gpus >= size)
            return i + 1;
    }
    return 0;
}

/* ---- what cannot be done ---- */

static int refuse_number(const struct ath_machine *machine, const struct ath_place_request *request,
                         size_t free_count, struct ath_err *err)
{
    if (!machine->gpu_count) {
        ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("the machine has no GPU to place"));
        return ath_err_hint(err, -EINVAL, "aitherion discover");
    }
    if (request->group_count == 1)
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    _("cannot place %zu GPUs: %zu of the machine's %zu are free"), request->size,
                    free_count, machine->gpu_count);
    else
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    _("cannot place %zu groups of %zu GPUs: %zu of the machine's %zu are free"),
                    request->group_count, request->size, free_count, machine->gpu_count);
    return ath_err_hint(err, -EINVAL,
                        _("ask for fewer GPUs; `aitherion discover` shows which the machine has"));
}

/* Returns "node 0 has 2, node 8 has 1". The caller frees it. */
static char *free_words(const struct node_list *list)
{
    struct ath_text nodes = { 0 };

    for (size_t i = 0; i < list->count; i++)
        ath_text_add_part(&nodes, ", ", _("node %d has %zu"), list->items[i].node,
                          list->items[i].free_count);
    return list->count ? ath_text_take(&nodes) : ath_xstrdup(_("no GPU's node is known"));
}

static int refuse_nodes(const struct ath_place_request *request, const struct node_list *list,
                        size_t max_nodes, struct ath_err *err)
{
    const char *policy = ath_place_policy_word(request->policy);
    ath_auto_free char *nodes = free_words(list);

    if (!max_nodes)
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    _("the policy '%s' needs to know the NUMA nodes of %zu GPUs: %s"), policy,
                    request->size, nodes);
    else if (request->group_count > 1)
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    ngettext("the policy '%s' needs free GPUs for %zu groups of %zu, each on %zu "
                             "NUMA node: %s",
                             "the policy '%s' needs free GPUs for %zu groups of %zu, each on %zu "
                             "NUMA nodes: %s",
                             max_nodes),
                    policy, request->group_count, request->size, max_nodes, nodes);
    else
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    ngettext("the policy '%s' needs %zu free GPUs on %zu NUMA node: %s",
                             "the policy '%s' needs %zu free GPUs on %zu NUMA nodes: %s",
                             max_nodes),
                    policy, request->size, max_nodes, nodes);
    return ath_err_hint(err, -EINVAL, "--policy best-effort");
}

static int refuse_search(int status, struct ath_err *err)
{
    if (status == -EOVERFLOW)
        return ath_err_set(err, status, ATH_E_MISFIT,
                           _("the bandwidths of this machine are too large to add up"));
    ath_err_set(err, status, ATH_E_MISFIT,
                _("the search found no set on so few NUMA nodes in its number of steps"));
    return ath_err_hint(err, status, "--policy best-effort");
}

/* ---- choosing ---- */

struct choosing {
    const struct ath_machine *machine;
    const struct ath_place_request *request;
    struct ath_set_request set;
    bool *is_candidate;
    int *nodes;
    unsigned int *nearness; /* to request->near */
    unsigned int farthest;  /* the largest nearness of a candidate */
    int least_score;        /* the least health score of a candidate */
};

static void choosing_free(struct choosing *choosing)
{
    free(choosing->is_candidate);
    free(choosing->nodes);
    free(choosing->nearness);
}

static struct choosing choosing_of(const struct ath_machine *machine, const int64_t *bandwidths,
                                   const struct ath_place_request *request)
{
    size_t count = machine->gpu_count;
    struct choosing choosing = {
        .machine = machine,
        .request = request,
        .is_candidate = ath_xalloc(count * sizeof *choosing.is_candidate),
        .nodes = ath_xalloc(count * sizeof *choosing.nodes),
        .nearness = ath_xalloc(count * sizeof *choosing.nearness),
    };
    for (size_t i = 0; i < count; i++) {
        choosing.nodes[i] = ath_place_node_of(machine, &machine->gpus[i]);
        if (request->near)
            choosing.nearness[i] = ath_pair_nearness(machine, &machine->gpus[i], request->near);
    }
    choosing.set = (struct ath_set_request){
        .gpu_count = count,
        .bandwidths = bandwidths,
        .is_free = request->is_free,
        .is_candidate = choosing.is_candidate,
        .nodes = choosing.nodes,
        .size = request->size,
        .group_count = request->group_count,
    };
    return choosing;
}

static int score_of(const struct choosing *choosing, size_t gpu)
{
    int score = choosing->machine->gpus[gpu].health.score;
    return score < 0 ? ATH_GPU_SCORE_FULL : score; /* an unknown one avoids nothing */
}

/* True for a free GPU that is well enough to be chosen. */
static bool is_eligible(const struct choosing *choosing, size_t gpu)
{
    return choosing->request->is_free[gpu] && score_of(choosing, gpu) >= choosing->least_score;
}

/* Returns the best score of a free GPU that is not well enough yet, or -1. */
static int next_score(const struct choosing *choosing)
{
    int next = -1;

    for (size_t i = 0; i < choosing->set.gpu_count; i++)
        if (choosing->request->is_free[i] && score_of(choosing, i) < choosing->least_score &&
            score_of(choosing, i) > next)
            next = score_of(choosing, i);
    return next;
}

/* Lets choose among the free GPUs that are not too far from the port. A GPU of an unknown node is
 * none for a policy that counts nodes. Returns their number. */
static size_t take_candidates(struct choosing *choosing)
{
    size_t count = 0;
    for (size_t i = 0; i < choosing->set.gpu_count; i++) {
        choosing->is_candidate[i] = is_eligible(choosing, i) &&
                                    choosing->nearness[i] <= choosing->farthest &&
                                    (!choosing->set.max_nodes || choosing->nodes[i] != ATH_UNKNOWN);
        count += choosing->is_candidate[i];
    }
    return count;
}

/* Returns the next distance from the port after `last` at which there is a free GPU, or
 * UINT_MAX. */
static unsigned int next_distance(const struct choosing *choosing, int64_t last)
{
    unsigned int next = UINT_MAX;
    for (size_t i = 0; i < choosing->set.gpu_count; i++)
        if (is_eligible(choosing, i) && choosing->nearness[i] > last &&
            choosing->nearness[i] < next)
            next = choosing->nearness[i];
    return next;
}

/* Searches among ever farther GPUs until there is a choice. */
static int search(struct choosing *choosing, struct ath_place_answer *answer)
{
    int status = -ENOENT;

    for (int64_t last = -1; status == -ENOENT;) {
        unsigned int distance = next_distance(choosing, last);
        if (distance == UINT_MAX)
            break;
        last = choosing->farthest = distance;
        answer->candidate_count = take_candidates(choosing);
        status = ath_set_best(&choosing->set, &answer->best);
    }
    return status;
}

/* Returns the most NUMA nodes that a group of the choice has; an unknown node counts as one. */
static size_t most_nodes(const struct choosing *choosing, const struct ath_set_choice *choice)
{
    size_t most = 0;

    for (size_t first = 0; first < choice->size * choice->group_count; first += choice->size) {
        size_t count = 0;
        for (size_t i = first; i < first + choice->size; i++) {
            bool is_new = true;
            for (size_t j = first; j < i; j++)
                is_new =
                    is_new && choosing->nodes[choice->gpus[j]] != choosing->nodes[choice->gpus[i]];
            count += is_new;
        }
        most = count > most ? count : most;
    }
    return most;
}

static bool are_equal(const struct ath_set_choice *a, const struct ath_set_choice *b)
{
    return !memcmp(a->values, b->values, sizeof a->values);
}

/* Replaces the best choice by an equal one on fewer NUMA nodes, if there is one. */
static void narrow(struct choosing *choosing, struct ath_place_answer *answer)
{
    size_t most = most_nodes(choosing, &answer->best), limit = choosing->set.max_nodes;
    bool is_found = false;

    for (size_t nodes = 1; nodes < most && !is_found; nodes++) {
        ATH_AUTO(ath_set_choice) other = { 0 };
        choosing->set.max_nodes = nodes;
        take_candidates(choosing);
        is_found = !ath_set_best(&choosing->set, &other) && are_equal(&other, &answer->best);
        if (!is_found)
            continue;
        other.is_exact = other.is_exact && answer->best.is_exact;
        ath_set_choice_free(&answer->best);
        answer->best = other;
        other = (struct ath_set_choice){ 0 };
    }
    choosing->set.max_nodes = limit;
    take_candidates(choosing);
}

static int search_both(struct choosing *choosing, struct ath_place_answer *answer)
{
    int status = search(choosing, answer);
    if (status)
        return status;
    narrow(choosing, answer);
    answer->has_next = !ath_set_next(&choosing->set, &answer->best, &answer->next);
    return 0;
}

/* Takes the lowest free GPUs: the search is left nothing to choose. */
static int take_first(struct choosing *choosing, struct ath_place_answer *answer)
{
    const struct ath_place_request *request = choosing->request;
    size_t wanted = request->size * request->group_count;

    for (size_t i = 0; i < choosing->set.gpu_count; i++) {
        choosing->is_candidate[i] = is_eligible(choosing, i) && answer->candidate_count < wanted;
        answer->candidate_count += choosing->is_candidate[i];
    }
    return ath_set_best(&choosing->set, &answer->best);
}

/* Chooses by the policy, among GPUs of ever lower health scores until there is a choice. */
static int choose(struct choosing *choosing, struct ath_place_answer *answer)
{
    int status = -ENOENT;

    for (int score = ATH_GPU_SCORE_POOR; status == -ENOENT && score >= 0;
         score = next_score(choosing)) {
        choosing->least_score = score;
        answer->candidate_count = 0;
        status = choosing->request->policy == ATH_PLACE_NONE ? take_first(choosing, answer)
                                                             : search_both(choosing, answer);
    }
    return status;
}

int ath_place_choose(const struct ath_machine *machine, const int64_t *bandwidths,
                     const struct ath_place_request *request, struct ath_place_answer *out,
                     struct ath_err *err)
{
    ATH_AUTO(choosing) choosing = choosing_of(machine, bandwidths, request);
    ATH_AUTO(node_list) nodes = list_nodes(machine, request->is_free);
    ATH_AUTO(ath_place_answer) answer = { 0 };

    for (size_t i = 0; i < machine->gpu_count; i++) {
        answer.free_count += request->is_free[i];
        if (request->is_free[i] && score_of(&choosing, i) < ATH_GPU_SCORE_POOR)
            ath_idset_add(&answer.poor, (int)i, (int)i);
    }
    if (answer.free_count / request->size < request->group_count)
        return refuse_number(machine, request, answer.free_count, err);
    if (request->policy == ATH_PLACE_SINGLE_NUMA)
        answer.max_nodes = 1;
    if (request->policy == ATH_PLACE_RESTRICTED)
        answer.max_nodes = nodes_needed(&nodes, request->size);
    bool has_no_node = request->policy == ATH_PLACE_RESTRICTED && !answer.max_nodes;
    choosing.set.max_nodes = answer.max_nodes;
    int status = has_no_node ? -ENOENT : choose(&choosing, &answer);
    if (status == -ENOENT)
        return refuse_nodes(request, &nodes, answer.max_nodes, err);
    if (status)
        return refuse_search(status, err);
    *out = answer;
    answer = (struct ath_place_answer){ 0 };
    return 0;
}
