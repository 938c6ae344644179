/*
 * The best sets of GPUs, beside a brute force that shares nothing with the search: it makes a table
 * of the best ring of every subset, and compares all sets.
 */
#include "config.h"

#include "place/set.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "place/search.h"
#include "unit.h"

enum { GPUS = 16, UNUSED = 2 * ATH_SET_UNKNOWN_FAR };

SECONDS(600);

/* ---- a machine ---- */

struct machine {
    size_t count;
    int64_t bandwidths[GPUS * GPUS];
    bool is_free[GPUS], is_candidate[GPUS];
    int nodes[GPUS];
};

static void link_pair(struct machine *machine, size_t a, size_t b, int64_t bandwidth)
{
    machine->bandwidths[a * machine->count + b] = bandwidth;
    machine->bandwidths[b * machine->count + a] = bandwidth;
}

static int64_t between(const struct machine *machine, size_t a, size_t b)
{
    return machine->bandwidths[a * machine->count + b];
}

/* All GPUs are free candidates of node 0, and all pairs have one bandwidth. */
static void make_machine(struct machine *out, size_t count, int64_t bandwidth)
{
    *out = (struct machine){ .count = count };
    for (size_t i = 0; i < count; i++) {
        out->is_free[i] = out->is_candidate[i] = true;
        for (size_t j = 0; j < i; j++)
            link_pair(out, i, j, bandwidth);
    }
}

static struct ath_set_request request_of(const struct machine *machine, size_t size,
                                         size_t group_count)
{
    return (struct ath_set_request){ .gpu_count = machine->count,
                                     .bandwidths = machine->bandwidths,
                                     .is_free = machine->is_free,
                                     .is_candidate = machine->is_candidate,
                                     .nodes = machine->nodes,
                                     .size = size,
                                     .group_count = group_count };
}

/* ---- brute force ---- */

/* The best ring of each subset, and of paths from the subset's lowest GPU. */
static int64_t rings[1 << GPUS];
static int64_t paths[1 << GPUS][GPUS];

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void extend_paths(const struct machine *machine, uint32_t subset, size_t start, size_t end)
{
    for (size_t next = start + 1; next < machine->count; next++) {
        int64_t slowest = smaller(paths[subset][end], between(machine, end, next));
        if (!(subset >> next & 1) && slowest > paths[subset | 1U << next][next])
            paths[subset | 1U << next][next] = slowest;
    }
}

static void fill_rings(const struct machine *machine)
{
    uint32_t subsets = 1U << machine->count;
    for (uint32_t subset = 1; subset < subsets; subset++)
        for (size_t i = 0; i < machine->count; i++)
            paths[subset][i] = (subset & (subset - 1)) == 0 && subset >> i & 1 ? INT64_MAX : UNUSED;
    for (uint32_t subset = 1; subset < subsets; subset++) {
        size_t start = (size_t)__builtin_ctz(subset);
        rings[subset] = UNUSED;
        for (size_t end = start; end < machine->count; end++) {
            if (paths[subset][end] == UNUSED)
                continue;
            int64_t closed = end == start
                                 ? ATH_UNKNOWN
                                 : smaller(paths[subset][end], between(machine, end, start));
            if (closed > rings[subset])
                rings[subset] = closed;
            extend_paths(machine, subset, start, end);
        }
    }
}

static int64_t sum_of(const struct machine *machine, uint32_t subset)
{
    int64_t sum = 0;
    for (size_t i = 0; i < machine->count; i++)
        for (size_t j = 0; j < i; j++)
            if (subset >> i & 1 && subset >> j & 1)
                sum += between(machine, i, j);
    return sum;
}

static size_t nodes_of(const struct machine *machine, uint32_t subset)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->count; i++) {
        bool is_new = subset >> i & 1;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && !(subset >> j & 1 && machine->nodes[i] == machine->nodes[j]);
        count += is_new;
    }
    return count;
}

struct answer {
    bool is_there;
    uint32_t groups[GPUS];
    int64_t ring, sum, left;
};

struct brute {
    const struct machine *machine;
    const struct ath_set_request *request;
    uint32_t free_gpus, candidates, without;
    uint32_t groups[GPUS];
    struct answer best;
};

/* Lists are compared number by number: the subset with the lowest GPU that only one has is lower.
 */
static bool is_lower(uint32_t a, uint32_t b)
{
    return a >> __builtin_ctz(a ^ b) & 1;
}

static bool is_better(const struct answer *a, const struct answer *b, size_t group_count)
{
    if (!b->is_there || a->ring != b->ring)
        return !b->is_there || a->ring > b->ring;
    if (a->sum != b->sum)
        return a->sum > b->sum;
    if (a->left != b->left)
        return a->left > b->left;
    for (size_t i = 0; i < group_count; i++)
        if (a->groups[i] != b->groups[i])
            return is_lower(a->groups[i], b->groups[i]);
    return false;
}

static void try_groups(struct brute *brute, size_t group, uint32_t taken)
{
    const struct ath_set_request *request = brute->request;
    if (group < request->group_count) {
        for (uint32_t subset = 1; subset < 1U << brute->machine->count; subset++)
            if ((size_t)__builtin_popcount(subset) == request->size && !(subset & taken) &&
                !(subset & ~brute->candidates) &&
                (!group || __builtin_ctz(subset) > __builtin_ctz(brute->groups[group - 1])) &&
                (!request->max_nodes || nodes_of(brute->machine, subset) <= request->max_nodes)) {
                brute->groups[group] = subset;
                try_groups(brute, group + 1, taken | subset);
            }
        return;
    }
    if (brute->without && !(brute->without & ~taken))
        return;
    struct answer answer = { .is_there = true, .ring = INT64_MAX };
    for (size_t i = 0; i < group; i++) {
        answer.groups[i] = brute->groups[i];
        answer.ring = smaller(answer.ring, rings[brute->groups[i]]);
        answer.sum += sum_of(brute->machine, brute->groups[i]);
    }
    answer.left = sum_of(brute->machine, brute->free_gpus & ~taken);
    if (is_better(&answer, &brute->best, group))
        brute->best = answer;
}

/* without: a choice that does not count, as a subset; 0 for none. fill_rings() must be done. */
static struct answer brute_force(const struct machine *machine,
                                 const struct ath_set_request *request, uint32_t without)
{
    struct brute brute = { .machine = machine, .request = request, .without = without };
    for (size_t i = 0; i < machine->count; i++) {
        brute.free_gpus |= (uint32_t)machine->is_free[i] << i;
        brute.candidates |= (uint32_t)(machine->is_free[i] && machine->is_candidate[i]) << i;
    }
    try_groups(&brute, 0, 0);
    return brute.best;
}

static uint32_t subset_of(const size_t *gpus, size_t count)
{
    uint32_t subset = 0;
    for (size_t i = 0; i < count; i++)
        subset |= 1U << gpus[i];
    return subset;
}

static int64_t slowest_of(const struct machine *machine, const size_t *ring, size_t size)
{
    int64_t slowest = size > 1 ? INT64_MAX : ATH_UNKNOWN;
    for (size_t i = 0; i < size && size > 1; i++)
        slowest = smaller(slowest, between(machine, ring[i], ring[(i + 1) % size]));
    return slowest;
}

static void compare(const struct machine *machine, int status, const struct ath_set_choice *found,
                    const struct answer *wanted)
{
    ck_assert_int_eq(status, wanted->is_there ? 0 : -ENOENT);
    if (status)
        return;
    int64_t slowest = INT64_MAX;
    for (size_t i = 0; i < found->group_count; i++) {
        const size_t *gpus = &found->gpus[i * found->size], *ring = &found->rings[i * found->size];
        ck_assert_uint_eq(subset_of(gpus, found->size), wanted->groups[i]);
        ck_assert_uint_eq(subset_of(ring, found->size), wanted->groups[i]);
        slowest = smaller(slowest, slowest_of(machine, ring, found->size));
        for (size_t j = 1; j < found->size; j++)
            ck_assert_uint_lt(gpus[j - 1], gpus[j]);
    }
    ck_assert_int_eq(slowest, wanted->ring);
    ck_assert_int_eq(found->values[0], wanted->ring);
    ck_assert_int_eq(found->values[1], wanted->sum);
    ck_assert_int_eq(found->values[2], wanted->left);
    ck_assert_int_eq(found->ring_bandwidth, wanted->ring < 0 ? ATH_UNKNOWN : wanted->ring);
    ck_assert_int_eq(found->ring_limit, found->ring_bandwidth);
    ck_assert_int_ge(found->sum_bandwidth, wanted->sum + (int64_t)found->unknown_count);
    ck_assert_int_le(found->sum_bandwidth,
                     wanted->sum - ATH_SET_UNKNOWN_FAR * (int64_t)found->unknown_count);
    ck_assert(found->is_exact);
}

/* ---- random machines ---- */

static uint64_t seed;

/* A number below limit (splitmix64). */
static size_t random_below(size_t limit)
{
    uint64_t value = seed += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((value ^ value >> 31) % limit);
}

static const int64_t few[] = { ATH_SET_UNKNOWN_FAR, ATH_SET_UNKNOWN_NEAR, 0,
                               10000000000,         25000000000,          50000000000 };

/* The bandwidths of a random machine: within blocks, between blocks of a pair, and else. */
struct shape {
    size_t kind, block;
    int64_t inner, middle, outer;
};

static int64_t random_bandwidth(const struct shape *shape, size_t a, size_t b)
{
    static const int64_t two[] = { 12000000000, 50000000000 };
    size_t block_a = a / shape->block, block_b = b / shape->block;

    switch (shape->kind) {
    case 0: /* all different */
        return (int64_t)random_below(1000000000);
    case 1:
        return few[random_below(ATH_COUNT(few))];
    case 2: /* many ties, and graphs of every density */
        return two[random_below(2)];
    case 3: /* blocks, some without their link */
        return block_a == block_b && random_below(10) ? 50000000000 : 10000000000;
    case 4: /* blocks that are alike, in pairs that are alike */
        return block_a == block_b           ? shape->inner
               : block_a / 2 == block_b / 2 ? shape->middle
                                            : shape->outer;
    case 5: /* blocks that are alike, and lie between each other */
        return a % shape->block == b % shape->block ? shape->inner : shape->outer;
    default: /* sparse: most pairs have no link of their own */
        return random_below(4) ? 16000000000 : 25000000000 * (1 + (int64_t)random_below(2));
    }
}

static void make_random(struct machine *out, size_t count)
{
    const struct shape shape = { random_below(7), 1 + random_below(5),
                                 few[random_below(ATH_COUNT(few))],
                                 few[random_below(ATH_COUNT(few))],
                                 few[random_below(ATH_COUNT(few))] };
    bool are_all_free = random_below(2), are_all_candidates = random_below(2);

    make_machine(out, count, 0);
    for (size_t i = 0; i < count; i++) {
        out->is_free[i] = are_all_free || random_below(4);
        out->is_candidate[i] = are_all_candidates || random_below(4);
        out->nodes[i] = (int)(i / shape.block);
        for (size_t j = 0; j < i; j++)
            link_pair(out, i, j, random_bandwidth(&shape, i, j));
    }
}

/* The number of random machines: 10000 in `./check all`. */
static int machine_count(int usual)
{
    const char *text = getenv("AITHERION_RANDOM_MACHINES");
    return text ? atoi(text) : usual; /* NOLINT(cert-err34-c) */
}

TEST(is_equal_to_brute_force_on_random_machines)
{
    struct machine machine;
    int count = machine_count(100);

    for (int i = 0; i < count; i++) {
        seed = (uint64_t)i;
        make_random(&machine, 1 + random_below(i % 4 ? 10 : GPUS));
        fill_rings(&machine);
        struct ath_set_request request = request_of(&machine, 1 + random_below(machine.count), 1);
        if (!random_below(3))
            request.max_nodes = 1 + random_below(3);
        struct answer wanted = brute_force(&machine, &request, 0);
        ATH_AUTO(ath_set_choice) best = { 0 }, next = { 0 };
        int status = ath_set_best(&request, &best);
        compare(&machine, status, &best, &wanted);
        if (status)
            continue;
        wanted = brute_force(&machine, &request, subset_of(best.gpus, best.size));
        status = ath_set_next(&request, &best, &next);
        compare(&machine, status, &next, &wanted);
        ck_assert(status || ath_set_compare(&best, &next) < 0);
    }
}

TEST(groups_are_equal_to_brute_force_on_random_machines)
{
    struct machine machine;
    int count = machine_count(100) / 2;

    for (int i = 0; i < count; i++) {
        seed = (uint64_t)i << 32;
        make_random(&machine, 2 + random_below(i % 8 ? 6 : 8));
        fill_rings(&machine);
        size_t groups = 2 + random_below(2);
        struct ath_set_request request =
            request_of(&machine, 1 + random_below(machine.count / groups + 1), groups);
        if (!random_below(3))
            request.max_nodes = 1 + random_below(2);
        struct answer wanted = brute_force(&machine, &request, 0);
        ATH_AUTO(ath_set_choice) best = { 0 };
        compare(&machine, ath_set_best(&request, &best), &best, &wanted);
    }
}

/* ---- machines that exist ---- */

/*
 * NVIDIA's DGX-1 with V100 (system architecture white paper WP-08437-002, figure 4): single and
 * double NVLinks of 25 GB/s, one direction. Other pairs use PCIe.
 */
static void make_dgx1v(struct machine *out, int64_t pcie)
{
    static const size_t links[][3] = {
        { 0, 1, 1 }, { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 2 }, { 1, 2, 2 }, { 1, 3, 1 },
        { 1, 5, 2 }, { 2, 3, 2 }, { 2, 6, 1 }, { 3, 7, 1 }, { 4, 5, 1 }, { 4, 6, 1 },
        { 4, 7, 2 }, { 5, 6, 2 }, { 5, 7, 1 }, { 6, 7, 2 },
    };
    make_machine(out, 8, pcie);
    for (size_t i = 0; i < ATH_COUNT(links); i++)
        link_pair(out, links[i][0], links[i][1], 25000000000 * (int64_t)links[i][2]);
}

/* Expects the best set of `size` of the free GPUs (given as a text of digits). */
static void expect(struct machine *machine, const char *free_gpus, const char *gpus, int64_t ring)
{
    for (size_t i = 0; i < machine->count; i++)
        machine->is_free[i] = strchr(free_gpus, '0' + (char)i) != NULL;
    struct ath_set_request request = request_of(machine, strlen(gpus), 1);
    ATH_AUTO(ath_set_choice) best = { 0 };
    ck_assert_int_eq(ath_set_best(&request, &best), 0);
    for (size_t i = 0; i < best.size; i++)
        ck_assert_uint_eq(best.gpus[i], (size_t)(gpus[i] - '0'));
    ck_assert_int_eq(best.ring_bandwidth, ring);
}

/* Growing a set from GPU 0 gives {0,1}, {1,2,5} and {0,2,6}, whose rings need PCIe. */
TEST(is_right_where_greedy_is_wrong)
{
    struct machine machine;
    make_dgx1v(&machine, 10000000000);
    expect(&machine, "01234567", "03", 50000000000);
    expect(&machine, "124567", "467", 25000000000);
    expect(&machine, "02567", "567", 25000000000);
    make_dgx1v(&machine, ATH_UNKNOWN);
    expect(&machine, "01234567", "03", 50000000000);
    expect(&machine, "124567", "467", 25000000000);
    expect(&machine, "02567", "567", 25000000000);
}

/* Sockets with NVLinks inside, and X-Bus between them. */
LOOP_TEST(never_mixes_the_sockets_of_an_ac922, 0, 16)
{
    struct machine machine;
    make_machine(&machine, 4, 32000000000);
    link_pair(&machine, 0, 1, 75000000000);
    link_pair(&machine, 2, 3, 75000000000);
    for (size_t i = 0; i < 4; i++)
        machine.is_free[i] = (unsigned int)_i >> i & 1;
    struct ath_set_request request = request_of(&machine, 2, 1);
    ATH_AUTO(ath_set_choice) best = { 0 };
    if (ath_set_best(&request, &best))
        return;
    bool has_whole_socket = (_i & 3) == 3 || (_i & 12) == 12;
    ck_assert_int_eq(best.gpus[0] / 2 == best.gpus[1] / 2, has_whole_socket);
}

/* One GPU of a broken pair, rather than one of a whole pair. */
TEST(leaves_whole_what_is_whole)
{
    struct machine machine;
    make_machine(&machine, 4, 32000000000);
    link_pair(&machine, 0, 1, 75000000000);
    link_pair(&machine, 2, 3, 75000000000);
    expect(&machine, "013", "3", ATH_UNKNOWN);
    expect(&machine, "0123", "0", ATH_UNKNOWN);
}

/* Pairs whose GPUs are better linked to others than to each other: the blocks are alike, and each
 * gives one GPU. */
TEST(takes_one_of_each_block)
{
    struct machine machine;
    make_machine(&machine, 8, 50000000000);
    for (size_t i = 0; i < 8; i += 2)
        link_pair(&machine, i, i + 1, 10000000000);
    expect(&machine, "01234567", "024", 50000000000);
    expect(&machine, "01234567", "0246", 50000000000);
    expect(&machine, "01234567", "01246", 50000000000);
    expect(&machine, "1234567", "1246", 50000000000);
}

/* Exchanging blocks that are alike changes nothing, so the search need not try both. A block with a
 * GPU that may not be chosen is like no other. */
TEST(blocks_that_are_alike_stand_for_each_other)
{
    static const uint64_t candidates[] = { 0xff, 0xdf }; /* without GPU 5 */
    static const uint32_t befores[][4] = { { 0, 0, 2, 4 }, { 0, 0, 4, 2 } };
    struct machine machine;

    make_machine(&machine, 8, 50000000000);
    for (size_t i = 0; i < 8; i += 2)
        link_pair(&machine, i, i + 1, 10000000000);
    for (size_t i = 0; i < ATH_COUNT(candidates); i++) {
        ATH_AUTO(ath_search)
        search = { .gpu_count = 8,
                   .words = 1,
                   .size = 3,
                   .group_count = 1,
                   .bandwidths = machine.bandwidths,
                   .nodes = machine.nodes,
                   .candidates = &candidates[i] };
        ath_search_prepare(&search);
        for (size_t block = 0; block < 4; block++) {
            ck_assert_uint_eq(search.twins[2 * block + 1], 2 * block);
            ck_assert_uint_eq(search.before[2 * block], befores[i][block]);
        }
    }
}

/* Nothing is known except the nodes. */
TEST(takes_an_unknown_link_of_one_node_first)
{
    struct machine machine;
    make_machine(&machine, 4, ATH_SET_UNKNOWN_FAR);
    link_pair(&machine, 2, 3, ATH_SET_UNKNOWN_NEAR);
    expect(&machine, "0123", "23", ATH_UNKNOWN);
    expect(&machine, "013", "01", ATH_UNKNOWN);
}

/* A known slow link is taken before an unknown one, and one of no bandwidth too. */
TEST(takes_an_unknown_link_last)
{
    struct machine machine;
    make_machine(&machine, 3, ATH_UNKNOWN);
    link_pair(&machine, 1, 2, 0);
    struct ath_set_request request = request_of(&machine, 2, 1);
    ATH_AUTO(ath_set_choice) best = { 0 }, next = { 0 };
    ck_assert_int_eq(ath_set_best(&request, &best), 0);
    ck_assert_uint_eq(subset_of(best.gpus, 2), 6);
    ck_assert_int_eq(best.ring_bandwidth, 0);
    ck_assert_uint_eq(best.unknown_count, 0);
    ck_assert_int_eq(ath_set_next(&request, &best, &next), 0);
    ck_assert_uint_eq(subset_of(next.gpus, 2), 3);
    ck_assert_int_eq(next.ring_bandwidth, ATH_UNKNOWN);
    ck_assert_uint_eq(next.unknown_count, 1);
}

TEST(refuses_what_cannot_be)
{
    struct machine machine;
    make_machine(&machine, 4, 1);
    struct ath_set_request request = request_of(&machine, 3, 1);
    struct ath_set_choice best = { 0 };

    machine.nodes[2] = machine.nodes[3] = 8;
    request.max_nodes = 1;
    ck_assert_int_eq(ath_set_best(&request, &best), -ENOENT);
    request.max_nodes = 0;
    request.size = 5;
    ck_assert_int_eq(ath_set_best(&request, &best), -ENOENT);
    request.size = SIZE_MAX;
    ck_assert_int_eq(ath_set_best(&request, &best), -ENOENT);
    request.size = 2;
    request.group_count = SIZE_MAX / 2 + 2;
    ck_assert_int_eq(ath_set_best(&request, &best), -ENOENT);
    request.group_count = 0;
    ck_assert_int_eq(ath_set_best(&request, &best), -ENOENT);
    link_pair(&machine, 0, 1, INT64_MAX / 4);
    request.group_count = 1;
    ck_assert_int_eq(ath_set_best(&request, &best), -EOVERFLOW);
    ck_assert_ptr_null(best.gpus);
}

/* ---- large machines ---- */

struct large {
    size_t count, block;
    int64_t *bandwidths;
    struct ath_set_choice best;
};

static void large_free(struct large *large)
{
    free(large->bandwidths);
    ath_set_choice_free(&large->best);
}

/* Servers of `block` GPUs: NVLinks inside, a network between them. kind 1: all pairs differ. */
static void make_large(struct large *out, size_t count, size_t block, bool is_random)
{
    *out = (struct large){ .count = count, .block = block };
    out->bandwidths = ath_xalloc(count * count * sizeof *out->bandwidths);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            int64_t usual = i / block == j / block ? 450000000000 : 50000000000;
            out->bandwidths[i * count + j] = out->bandwidths[j * count + i] =
                is_random ? (int64_t)random_below(1000000000) : usual;
        }
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* Prints the time with AITHERION_TIMES set. */
static void solve_large(struct large *large, size_t size, size_t group_count)
{
    struct ath_set_request request = { .gpu_count = large->count,
                                       .bandwidths = large->bandwidths,
                                       .size = size,
                                       .group_count = group_count };
    int64_t before = now_us();
    ath_set_choice_free(&large->best);
    ck_assert_int_eq(ath_set_best(&request, &large->best), 0);
    if (getenv("AITHERION_TIMES"))
        printf("%4zu GPUs in blocks of %4zu: %zu x %3zu: %8.3f ms, ring %lld of %lld, %s\n",
               large->count, large->block, group_count, size, (double)(now_us() - before) / 1000,
               (long long)large->best.ring_bandwidth, (long long)large->best.ring_limit,
               large->best.is_exact ? "exact" : "bounded");
}

TEST(finds_whole_blocks_of_large_machines)
{
    static const size_t sizes[] = { 2, 3, 4, 8, 12, 16, 20, 64 };
    __attribute__((cleanup(large_free))) struct large large;

    make_large(&large, 64, 8, false);
    for (size_t i = 0; i < ATH_COUNT(sizes); i++) {
        solve_large(&large, sizes[i], 1);
        ck_assert(large.best.is_exact);
        ck_assert_int_eq(large.best.ring_bandwidth, sizes[i] <= 8 ? 450000000000 : 50000000000);
        for (size_t j = 0; j < sizes[i]; j++)
            ck_assert_uint_eq(large.best.gpus[j], j);
    }
    solve_large(&large, 8, 4);
    ck_assert(large.best.is_exact);
    ck_assert_int_eq(large.best.ring_bandwidth, 450000000000);
}

/* A limit of the steps is only for machines of more than ATH_SET_EXACT_GPUS. */
TEST(is_exact_up_to_a_number_of_gpus)
{
    enum { EXACT = ATH_SET_EXACT_GPUS };
    for (size_t count = EXACT; count <= EXACT + 1; count++) {
        __attribute__((cleanup(large_free))) struct large large;
        make_large(&large, count, count, true);
        struct ath_set_request request = { .gpu_count = count,
                                           .bandwidths = large.bandwidths,
                                           .size = 5,
                                           .group_count = 1,
                                           .max_steps = 1 };
        int status = ath_set_best(&request, &large.best);
        ck_assert_int_eq(status, count == EXACT ? 0 : -E2BIG);
        ck_assert(status || large.best.is_exact);
    }
}

/* With or without time enough, the answer is a set with the ring that it names, at each run. */
TEST(is_honest_about_hard_machines)
{
    __attribute__((cleanup(large_free))) struct large large;

    make_large(&large, 64, 64, true);
    for (size_t size = 2; size <= 64; size *= 2) {
        solve_large(&large, size, 1);
        int64_t slowest = INT64_MAX;
        for (size_t i = 0; i < size; i++) {
            size_t a = large.best.rings[i], b = large.best.rings[(i + 1) % size];
            slowest = smaller(slowest, large.bandwidths[a * large.count + b]);
        }
        ck_assert_int_eq(slowest, large.best.ring_bandwidth);
        ck_assert_int_ge(large.best.ring_limit, slowest);
        ck_assert(!large.best.is_exact || large.best.ring_limit == slowest);
    }
}
