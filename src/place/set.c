/*
 * The best set is found in two steps.
 *
 * First the best ring: a bisection over the bandwidths that occur, because a ring whose links all
 * have a bandwidth is also one for each smaller bandwidth. Then, among the sets that have such a
 * ring, the one with the best sum and the least harm (search.h).
 */
#include "config.h"

#include "place/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "place/search.h"

/* About half a second of a processor of 2020. */
enum { USUAL_STEPS = 100 * 1000 * 1000 };

/* The free GPUs of a request, in its order. */
struct problem {
    const struct ath_set_request *request;
    size_t count, words, candidate_count;
    size_t *gpus; /* their numbers in the request */
    int64_t *bandwidths;
    int *nodes;
    uint64_t *candidates;
    int64_t *levels; /* the bandwidths between candidates, the largest first */
    size_t level_count;
    struct ath_gpu_ring *ring;
    struct ath_search search;
    size_t *found; /* a choice whose rings have the level that was found last */
    uint64_t step_limit;
};

static void problem_free(struct problem *problem)
{
    free(problem->gpus);
    free(problem->bandwidths);
    free(problem->nodes);
    free(problem->candidates);
    free(problem->levels);
    free(problem->found);
    ath_gpu_ring_free(problem->ring);
    ath_search_free(&problem->search);
}

void ath_set_choice_free(struct ath_set_choice *choice)
{
    if (!choice)
        return;
    free(choice->gpus);
    free(choice->rings);
    *choice = (struct ath_set_choice){ 0 };
}

/* ---- reading the request ---- */

static bool is_set(const bool *flags, size_t gpu)
{
    return !flags || flags[gpu];
}

static size_t total_of(const struct ath_set_request *request)
{
    return request->size * request->group_count;
}

static void copy_bandwidths(struct problem *problem)
{
    const struct ath_set_request *request = problem->request;

    for (size_t i = 0; i < problem->count; i++)
        for (size_t j = 0; j < problem->count; j++) {
            int64_t value =
                request->bandwidths[problem->gpus[i] * request->gpu_count + problem->gpus[j]];
            problem->bandwidths[i * problem->count + j] = i == j ? 0 : value;
        }
}

/* Returns false if sums of all bandwidths, four times each, do not fit into 63 bits. */
static bool fits(const struct problem *problem)
{
    int64_t sum = 0;
    for (size_t i = 0; i < problem->count * problem->count; i++)
        if (problem->bandwidths[i] > 0 &&
            (__builtin_add_overflow(sum, problem->bandwidths[i], &sum) || sum > INT64_MAX / 4))
            return false;
    return true;
}

static int compare_levels(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static void find_levels(struct problem *problem)
{
    size_t count = 0, pairs = problem->candidate_count * problem->candidate_count / 2;
    int64_t last = 0;

    problem->levels = ath_xalloc((pairs + 1) * sizeof *problem->levels);
    for (size_t i = 0; i < problem->count; i++)
        for (size_t j = 0; j < i && ath_mask_has(problem->candidates, i); j++) {
            int64_t value = problem->bandwidths[i * problem->count + j];
            if (ath_mask_has(problem->candidates, j) && (!count || value != last))
                problem->levels[count++] = last = value;
        }
    qsort(problem->levels, count, sizeof *problem->levels, compare_levels);
    for (size_t i = 0; i < count; i++)
        if (!i || problem->levels[i] != problem->levels[i - 1])
            problem->levels[problem->level_count++] = problem->levels[i];
}

static void read_gpus(struct problem *problem)
{
    const struct ath_set_request *request = problem->request;

    problem->gpus = ath_xalloc(request->gpu_count * sizeof *problem->gpus);
    for (size_t i = 0; i < request->gpu_count; i++)
        if (is_set(request->is_free, i))
            problem->gpus[problem->count++] = i;
    problem->words = ath_mask_words(problem->count);
    problem->candidates = ath_xalloc(problem->words * sizeof *problem->candidates);
    problem->nodes = ath_xalloc(problem->count * sizeof *problem->nodes);
    for (size_t i = 0; i < problem->count; i++) {
        if (is_set(request->is_candidate, problem->gpus[i]))
            ath_mask_add(problem->candidates, i);
        if (request->nodes)
            problem->nodes[i] = request->nodes[problem->gpus[i]];
    }
    problem->candidate_count = ath_mask_count(problem->candidates, problem->words);
}

static int read_request(const struct ath_set_request *request, struct problem *problem)
{
    problem->request = request;
    problem->step_limit = request->max_steps ? request->max_steps : USUAL_STEPS;
    read_gpus(problem);
    if (problem->candidate_count / request->size < request->group_count)
        return -ENOENT;
    if (problem->count <= ATH_SET_EXACT_GPUS)
        problem->step_limit = UINT64_MAX;
    problem->bandwidths = ath_xalloc(problem->count * problem->count * sizeof *problem->bandwidths);
    copy_bandwidths(problem);
    if (!fits(problem))
        return -EOVERFLOW;
    find_levels(problem);
    problem->found = ath_xalloc(total_of(request) * sizeof *problem->found);
    problem->ring = ath_gpu_ring_new(problem->count, request->size);
    problem->search = (struct ath_search){
        .gpu_count = problem->count,
        .words = problem->words,
        .size = request->size,
        .group_count = request->group_count,
        .max_nodes = request->max_nodes,
        .bandwidths = problem->bandwidths,
        .nodes = problem->nodes,
        .candidates = problem->candidates,
        .ring = problem->ring,
    };
    ath_search_prepare(&problem->search);
    return 0;
}

/* ---- the best ring ---- */

/* Links the GPUs whose bandwidth is the level's or larger. */
static void link_level(struct problem *problem, size_t level)
{
    for (size_t i = 0; i < problem->count; i++) {
        uint64_t *links = ath_gpu_ring_links(problem->ring, i);
        memset(links, 0, problem->words * sizeof *links);
        for (size_t j = 0; j < problem->count; j++)
            if (i != j && problem->bandwidths[i * problem->count + j] >= problem->levels[level])
                ath_mask_add(links, j);
    }
}

static int compare_gpus(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Looks for groups with rings of this level, and takes the steps for that. Keeps them in
 * problem->found. */
static enum ath_gpu_ring_answer try_level(struct problem *problem, size_t level, uint64_t *steps)
{
    const struct ath_set_request *request = problem->request;
    struct ath_search *search = &problem->search;

    link_level(problem, level);
    if (request->group_count == 1 && !request->max_nodes) {
        enum ath_gpu_ring_answer answer = ath_gpu_ring_find(problem->ring, problem->candidates,
                                                            request->size, steps, problem->found);
        if (answer == ATH_GPU_RING_FOUND)
            qsort(problem->found, request->size, sizeof *problem->found, compare_gpus);
        return answer;
    }
    search->wants_any = true;
    search->has_best = search->has_given_up = false;
    search->steps = *steps;
    ath_search_run(search);
    *steps = search->steps;
    search->wants_any = false;
    if (!search->has_best)
        return search->has_given_up ? ATH_GPU_RING_UNKNOWN : ATH_GPU_RING_NONE;
    memcpy(problem->found, search->best, total_of(request) * sizeof *problem->found);
    return ATH_GPU_RING_FOUND;
}

/*
 * Finds the best level that has groups. *out_limit is the best one that is not ruled out. Returns
 * 0, -ENOENT, or -E2BIG. Each level gets a part of the steps, so that one hard level does not cost
 * the answer.
 */
static int find_level(struct problem *problem, size_t *out, size_t *out_limit)
{
    enum { PARTS = 40 };
    size_t first = 0, end = problem->level_count, limit = SIZE_MAX;
    int status = -ENOENT;

    while (first < end) {
        /* the last level has all links: with it the answer is known soon */
        size_t level = end == problem->level_count ? end - 1 : first + (end - first - 1) / 2;
        uint64_t steps =
            problem->step_limit == UINT64_MAX ? UINT64_MAX : problem->step_limit / PARTS;
        enum ath_gpu_ring_answer answer = try_level(problem, level, &steps);
        if (answer == ATH_GPU_RING_UNKNOWN && level < limit)
            limit = level;
        if (answer == ATH_GPU_RING_FOUND) {
            status = 0;
            *out = end = level;
        } else if (level + 1 == problem->level_count) {
            return answer == ATH_GPU_RING_UNKNOWN ? -E2BIG : -ENOENT;
        } else {
            first = level + 1;
        }
    }
    *out_limit = limit < *out ? limit : *out;
    return status;
}

/* ---- the result ---- */

/* Adds the bandwidth of a pair to the sum of all and, if it is known, to the sum of known ones. */
static void add_pair(const struct problem *problem, size_t a, size_t b, int64_t *all,
                     int64_t *known, size_t *unknown_count)
{
    int64_t value = problem->bandwidths[a * problem->count + b];
    *all += value;
    if (value < 0)
        (*unknown_count)++;
    else
        *known += value;
}

static void measure(const struct problem *problem, const size_t *gpus, struct ath_set_choice *out)
{
    size_t total = total_of(problem->request), size = problem->request->size;
    ath_auto_free bool *is_taken = ath_xalloc(problem->count * sizeof *is_taken);

    for (size_t i = 0; i < total; i++) {
        is_taken[gpus[i]] = true;
        for (size_t j = i - i % size; j < i; j++)
            add_pair(problem, gpus[i], gpus[j], &out->values[1], &out->sum_bandwidth,
                     &out->unknown_count);
    }
    for (size_t i = 0; i < problem->count; i++)
        for (size_t j = 0; j < i; j++)
            if (!is_taken[i] && !is_taken[j])
                add_pair(problem, i, j, &out->values[2], &out->left_bandwidth,
                         &out->left_unknown_count);
}

/* Writes the groups with the request's numbers, and the best ring of each. */
static void fill_choice(struct problem *problem, const size_t *gpus, struct ath_set_choice *out)
{
    size_t total = total_of(problem->request), size = problem->request->size;
    uint64_t *mask = ath_xalloc(problem->words * sizeof *mask);

    out->size = size;
    out->group_count = problem->request->group_count;
    out->gpus = ath_xalloc(total * sizeof *out->gpus);
    out->rings = ath_xalloc(total * sizeof *out->rings);
    measure(problem, gpus, out);
    for (size_t first = 0; first < total; first += size) {
        uint64_t no_limit = UINT64_MAX;
        memset(mask, 0, problem->words * sizeof *mask);
        for (size_t i = 0; i < size; i++)
            ath_mask_add(mask, gpus[first + i]);
        ath_gpu_ring_find(problem->ring, mask, size, &no_limit, &out->rings[first]);
    }
    for (size_t i = 0; i < total; i++) {
        out->gpus[i] = problem->gpus[gpus[i]];
        out->rings[i] = problem->gpus[out->rings[i]];
    }
    free(mask);
}

static int64_t known_or_not(int64_t bandwidth)
{
    return bandwidth < 0 ? ATH_UNKNOWN : bandwidth;
}

static int find_best(struct problem *problem, struct ath_set_choice *out)
{
    struct ath_search *search = &problem->search;
    size_t level = 0, limit = 0;
    bool has_rings = problem->request->size > 1;
    int status = has_rings ? find_level(problem, &level, &limit) : 0;
    if (status)
        return status;
    search->has_best = search->has_given_up = false;
    search->steps = problem->step_limit;
    if (has_rings) {
        link_level(problem, level);
        ath_search_offer(search, problem->found);
    }
    ath_search_run(search);
    if (!search->has_best)
        return search->has_given_up ? -E2BIG : -ENOENT;
    struct ath_set_choice choice = {
        .values = { has_rings ? problem->levels[level] : ATH_UNKNOWN },
        .ring_limit = has_rings ? known_or_not(problem->levels[limit]) : ATH_UNKNOWN,
        .is_exact = !search->has_given_up && level == limit,
    };
    choice.ring_bandwidth = known_or_not(choice.values[0]);
    fill_choice(problem, search->best, &choice);
    *out = choice;
    return 0;
}

int ath_set_best(const struct ath_set_request *request, struct ath_set_choice *out)
{
    ATH_AUTO(problem) problem = { 0 };
    int status = request->size && request->group_count ? read_request(request, &problem) : -ENOENT;
    return status ? status : find_best(&problem, out);
}

int ath_set_compare(const struct ath_set_choice *a, const struct ath_set_choice *b)
{
    for (size_t i = 0; i < ATH_COUNT(a->values); i++)
        if (a->values[i] != b->values[i])
            return a->values[i] > b->values[i] ? -1 : 1;
    for (size_t i = 0; i < a->size * a->group_count; i++)
        if (a->gpus[i] != b->gpus[i])
            return a->gpus[i] < b->gpus[i] ? -1 : 1;
    return 0;
}

/* ---- the next best choice ---- */

/* Returns whether the request's GPUs a and b can stand for each other: without either of them the
 * next choice has the same value, and lower numbers without b, the higher one. */
static bool are_twins(const struct ath_set_request *request, size_t a, size_t b)
{
    if (request->max_nodes && request->nodes[a] != request->nodes[b])
        return false;
    for (size_t i = 0; i < request->gpu_count; i++)
        if (i != a && i != b && is_set(request->is_free, i) &&
            request->bandwidths[a * request->gpu_count + i] !=
                request->bandwidths[b * request->gpu_count + i])
            return false;
    return true;
}

/* Lists the GPUs of a choice that are worth leaving out: the highest one of each set of twins. */
static size_t list_removals(const struct ath_set_request *request,
                            const struct ath_set_choice *best, size_t *out)
{
    size_t total = total_of(request), count = 0;

    for (size_t i = 0; i < total; i++) {
        bool has_higher = false;
        for (size_t j = 0; j < total && !has_higher; j++)
            has_higher =
                best->gpus[j] > best->gpus[i] && are_twins(request, best->gpus[i], best->gpus[j]);
        if (!has_higher)
            out[count++] = best->gpus[i];
    }
    return count;
}

/* Replaces *best by the best choice without a GPU, if that one is better or *best is empty. Returns
 * 0, or what ath_set_best() returns. */
static int try_without(const struct ath_set_request *request, bool *is_candidate, size_t gpu,
                       struct ath_set_choice *best)
{
    ATH_AUTO(ath_set_choice) other = { 0 };
    bool is_empty = !best->gpus;

    is_candidate[gpu] = false;
    int status = ath_set_best(request, &other);
    is_candidate[gpu] = true;
    if (status)
        return status;
    bool is_exact = other.is_exact && (is_empty || best->is_exact);
    if (is_empty || ath_set_compare(&other, best) < 0) {
        ath_set_choice_free(best);
        *best = other;
        other = (struct ath_set_choice){ 0 };
    }
    best->is_exact = is_exact;
    return 0;
}

int ath_set_next(const struct ath_set_request *request, const struct ath_set_choice *best,
                 struct ath_set_choice *out)
{
    enum { MANY_GPUS = 64, MOST_TRIES = 16 };
    struct ath_set_request without = *request;
    ath_auto_free bool *is_candidate = ath_xalloc(request->gpu_count * sizeof *is_candidate);
    ath_auto_free size_t *removals = ath_xalloc(total_of(request) * sizeof *removals);
    ATH_AUTO(ath_set_choice) next = { 0 };
    size_t count = list_removals(request, best, removals);
    size_t skipped = request->gpu_count > MANY_GPUS && count > MOST_TRIES ? count - MOST_TRIES : 0;
    int status = -ENOENT;

    if (!count)
        return status;
    without.is_candidate = is_candidate;
    without.max_steps = (request->max_steps ? request->max_steps : USUAL_STEPS) / (count - skipped);
    for (size_t gpu = 0; gpu < request->gpu_count; gpu++)
        is_candidate[gpu] = is_set(request->is_candidate, gpu);
    for (size_t i = skipped; i < count; i++) {
        int failed = try_without(&without, is_candidate, removals[i], &next);
        if (!failed || status)
            status = failed;
    }
    if (status)
        return status;
    next.is_exact = next.is_exact && !skipped;
    *out = next;
    next = (struct ath_set_choice){ 0 };
    return 0;
}
