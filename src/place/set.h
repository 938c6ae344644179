/*
 * The best sets of GPUs, found by an exact search. Pure computation: no machine, no I/O.
 *
 * A choice is one or more groups of `size` GPUs each; no GPU is in two groups. Choices are
 * compared by these values, the first that differs decides:
 *
 *   1. ring_bandwidth   larger is better. A group's value is the slowest link of the best ring
 *                       through all its GPUs. Two GPUs: the pair's bandwidth. One GPU has no ring,
 *                       and all single GPUs are equal. Several groups: the value of the worst.
 *   2. sum_bandwidth    larger is better: the sum over all pairs within the groups.
 *   3. left_bandwidth   larger is better: the sum over all pairs of GPUs that stay free. So a
 *                       choice does the least harm to later ones.
 *   4. the GPUs         lower is better: the lists are compared number by number. Each group is
 *                       sorted, and so are the groups by their first GPU.
 *
 * A bandwidth is the bytes per second of a pair in one direction. An unknown bandwidth is a
 * negative number, so that it counts less than every known one, 0 too; in a sum it takes away 1 to
 * 106 bytes per second. The unknown bandwidth of a pair on one NUMA node counts more than that of
 * others, that of NVLinks more than both, and that of two machines counts least.
 *
 * Up to ATH_SET_EXACT_GPUS free GPUs the answer is always exact. For more of them, the search
 * stops after a number of steps that does not depend on the machine's speed; is_exact and
 * ring_limit then say what is known.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/unknown.h"

enum { ATH_SET_EXACT_GPUS = 20 };

enum {
    ATH_SET_UNKNOWN_LINKS = -100, /* plus the number of NVLinks, up to 99 */
    ATH_SET_UNKNOWN_NEAR = -104,  /* of GPUs on one NUMA node */
    ATH_SET_UNKNOWN_FAR = -105,   /* of GPUs that are not known to be on one node */
    ATH_SET_UNKNOWN_APART = -106, /* of GPUs on two machines */
};

struct ath_set_request {
    size_t gpu_count;
    const int64_t *bandwidths; /* gpu_count x gpu_count, symmetric; the diagonal is not read */
    const bool *is_free;       /* for each GPU: nothing uses it; NULL: all are free */
    const bool *is_candidate;  /* for each GPU: may be chosen, if it is free; NULL: all may */
    const int *nodes;          /* for each GPU: its NUMA node. Needed with max_nodes only */
    size_t size, group_count;  /* at least 1 each */
    size_t max_nodes;          /* a group may have GPUs of so many nodes; 0: of any number */
    uint64_t max_steps;        /* 0: the usual number */
};

/* Owns its arrays; ath_set_choice_free() frees them. */
struct ath_set_choice {
    size_t *gpus;  /* group by group, `size` entries each, in ascending order */
    size_t *rings; /* the same groups, each in the order of its best ring */
    size_t size, group_count;
    int64_t values[3];         /* the three values above, to be compared */
    int64_t ring_bandwidth;    /* ATH_UNKNOWN if unknown, and for single GPUs */
    int64_t sum_bandwidth;     /* of the known pairs */
    int64_t left_bandwidth;    /* of the known pairs */
    size_t unknown_count;      /* pairs within the groups whose bandwidth is unknown */
    size_t left_unknown_count; /* pairs of free GPUs whose bandwidth is unknown */
    bool is_exact;             /* no choice is better */
    int64_t ring_limit;        /* no choice has a ring_bandwidth above this one */
};

void ath_set_choice_free(struct ath_set_choice *choice);

/*
 * Finds the best choice. Returns 0; -ENOENT if there is none: too few free candidates, or none
 * within max_nodes; -E2BIG if the search took too many steps before it had any choice, which needs
 * max_nodes; -EOVERFLOW if the sum of all bandwidths is beyond 63 bits. *out is then untouched.
 */
int ath_set_best(const struct ath_set_request *request, struct ath_set_choice *out);

/*
 * Finds the next best choice: the best one that leaves out at least one GPU of `best`, which
 * ath_set_best() has made of the same request. Its steps are divided among the GPUs that could be
 * left out, of which it tries at most 16 on machines of more than 64 GPUs. Returns the same as
 * ath_set_best().
 */
int ath_set_next(const struct ath_set_request *request, const struct ath_set_choice *best,
                 struct ath_set_choice *out);

/* Compares two choices of the same request: below 0 if a is better, above 0 if b is. */
int ath_set_compare(const struct ath_set_choice *a, const struct ath_set_choice *b);
