/*
 * Time and memory of the search for the best set of GPUs (src/place/set.h), as a table in Markdown.
 *
 *     bench/place [RUNS]
 *
 * Each row is one shape of machine and one size of set. Random machines differ in each run.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/alloc.h"
#include "place/set.h"

enum { KIND_SWITCH, KIND_SERVERS, KIND_RACKS, KIND_LEVELS, KIND_RANDOM };

static const char *const kinds[] = {
    [KIND_SWITCH] = "all alike (NVSwitch)",
    [KIND_SERVERS] = "servers of 8",
    [KIND_RACKS] = "servers of 8, racks of 32",
    [KIND_LEVELS] = "each pair one of 5 bandwidths at random",
    [KIND_RANDOM] = "each pair another bandwidth",
};

static const struct row {
    size_t gpus, kind, size;
} rows[] = {
    { 16, KIND_SWITCH, 8 },    { 16, KIND_SERVERS, 8 },    { 16, KIND_SERVERS, 12 },
    { 16, KIND_LEVELS, 8 },    { 16, KIND_RANDOM, 8 },     { 64, KIND_SWITCH, 32 },
    { 64, KIND_SERVERS, 8 },   { 64, KIND_SERVERS, 12 },   { 64, KIND_RACKS, 20 },
    { 64, KIND_LEVELS, 4 },    { 64, KIND_LEVELS, 16 },    { 64, KIND_RANDOM, 8 },
    { 64, KIND_RANDOM, 32 },   { 1024, KIND_SWITCH, 8 },   { 1024, KIND_SWITCH, 512 },
    { 1024, KIND_SERVERS, 8 }, { 1024, KIND_SERVERS, 12 }, { 1024, KIND_RACKS, 64 },
    { 1024, KIND_LEVELS, 4 },  { 1024, KIND_RANDOM, 8 },   { 1024, KIND_RANDOM, 64 },
};

static uint64_t seed;

/* A number below limit (splitmix64). */
static size_t random_below(size_t limit)
{
    uint64_t value = seed += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((value ^ value >> 31) % limit);
}

static int64_t bandwidth(size_t kind, size_t a, size_t b)
{
    static const int64_t levels[] = { ATH_UNKNOWN, 0, 12000000000, 25000000000, 50000000000 };

    switch (kind) {
    case KIND_SWITCH:
        return 450000000000;
    case KIND_SERVERS:
        return a / 8 == b / 8 ? 450000000000 : 50000000000;
    case KIND_RACKS:
        return a / 8 == b / 8 ? 450000000000 : a / 32 == b / 32 ? 50000000000 : 25000000000;
    case KIND_LEVELS:
        return levels[random_below(ATH_COUNT(levels))];
    default:
        return (int64_t)random_below(1000000000000);
    }
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const struct row *row, double *times, size_t runs, size_t exact)
{
    struct rusage usage;

    qsort(times, runs, sizeof *times, compare_times);
    getrusage(RUSAGE_SELF, &usage);
    printf("| %zu | %s | %zu | %.2f ms | %.2f ms | %.1f MiB | %zu of %zu |\n", row->gpus,
           kinds[row->kind], row->size, times[runs / 2], times[runs - 1],
           (double)usage.ru_maxrss / 1024, exact, runs);
    fflush(stdout);
}

static void measure(const struct row *row, size_t runs)
{
    int64_t *bandwidths = ath_xalloc(row->gpus * row->gpus * sizeof *bandwidths);
    double *times = ath_xalloc(runs * sizeof *times);
    size_t exact = 0;

    for (size_t run = 0; run < runs; run++) {
        seed = run;
        for (size_t i = 0; i < row->gpus; i++)
            for (size_t j = 0; j < i; j++)
                bandwidths[i * row->gpus + j] = bandwidths[j * row->gpus + i] =
                    bandwidth(row->kind, i, j);
        const struct ath_set_request request = {
            .gpu_count = row->gpus, .bandwidths = bandwidths, .size = row->size, .group_count = 1
        };
        struct ath_set_choice best = { 0 };
        times[run] = now_ms();
        if (ath_set_best(&request, &best))
            abort();
        times[run] = now_ms() - times[run];
        exact += best.is_exact;
        ath_set_choice_free(&best);
    }
    print_row(row, times, runs, exact);
    free(bandwidths);
    free(times);
}

int main(int argc, char *argv[])
{
    int wanted = argc > 1 ? atoi(argv[1]) : 20; /* NOLINT(cert-err34-c) */
    size_t runs = wanted > 0 ? (size_t)wanted : 1;

    printf("| GPUs | machine | size | median | longest | memory | exact |\n"
           "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        measure(&rows[i], rows[i].gpus < 1024 ? runs : (runs + 3) / 4);
    return 0;
}
