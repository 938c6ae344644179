/* Counters for each function; they only grow. */
#include "config.h"

#include "cuda/client/call_summary.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct counted {
    atomic_ullong sent, answered, round_trips, bytes_out, bytes_in, waited_ns;
    atomic_ullong not_kept[ATH_CUDA_NOT_KEPT_REASONS];
};

static const char *const reasons[ATH_CUDA_NOT_KEPT_REASONS] = {
    [ATH_CUDA_NOT_KEPT_CONTEXT] = "the current context is no primary one",
    [ATH_CUDA_NOT_KEPT_HANDLE] = "a handle in the question differs from run to run",
    [ATH_CUDA_NOT_KEPT_SETTINGS] = "some settings of the kernel are not known",
    [ATH_CUDA_NOT_KEPT_CHANGED] = "an earlier call changes such answers",
    [ATH_CUDA_NOT_KEPT_FAILED] = "the driver returned an error",
};

static struct counted counts[ATH_CUDA_METHOD_COUNT];

/* All calls that were sent; they have the numbers from 1 on. And those that were sent before the
 * last wait ended. */
static atomic_ullong all_sent, on_the_way;

bool ath_cuda_call_summary_is_wanted(void)
{
    static atomic_int known; /* 0: not looked up yet, 1: no, 2: yes */
    int now = atomic_load_explicit(&known, memory_order_relaxed);
    if (!now) {
        const char *word = getenv("AITHERION_CUDA_LOG");
        now = word && !strcmp(word, "summary") ? 2 : 1;
        known = now;
    }
    return now == 2;
}

void ath_cuda_call_summary_sent(enum ath_cuda_method method, size_t bytes)
{
    all_sent++;
    counts[method].sent++;
    counts[method].bytes_out += bytes;
}

bool ath_cuda_call_summary_waits(uint64_t number)
{
    return number > on_the_way;
}

void ath_cuda_call_summary_answered(enum ath_cuda_method method, size_t bytes, uint64_t waited_ns,
                                    bool is_round_trip)
{
    on_the_way = all_sent;
    counts[method].answered++;
    counts[method].round_trips += is_round_trip;
    counts[method].bytes_in += bytes;
    counts[method].waited_ns += waited_ns;
}

void ath_cuda_call_summary_not_kept(enum ath_cuda_method method, enum ath_cuda_not_kept why)
{
    counts[method].not_kept[why]++;
}

static int compare_waits(const void *left, const void *right)
{
    const struct counted *a = &counts[*(const int *)left], *b = &counts[*(const int *)right];
    if (a->waited_ns != b->waited_ns)
        return a->waited_ns < b->waited_ns ? 1 : -1;
    return a->sent < b->sent ? 1 : a->sent > b->sent ? -1 : 0;
}

static void print_counts(const char *name, const struct counted *of)
{
    fprintf(stderr,
            "aitherion[%d]: %9llu calls %9llu answers %6llu round trips %12llu bytes out %12llu in "
            "%9.3f ms  %s\n",
            (int)getpid(), of->sent, of->answered, of->round_trips, of->bytes_out, of->bytes_in,
            (double)of->waited_ns / 1e6, name);
}

static void add_counts(struct counted *to, const struct counted *from)
{
    to->sent += from->sent;
    to->answered += from->answered;
    to->round_trips += from->round_trips;
    to->bytes_out += from->bytes_out;
    to->bytes_in += from->bytes_in;
    to->waited_ns += from->waited_ns;
}

static void print_not_kept(int method)
{
    for (size_t i = 0; i < ATH_CUDA_NOT_KEPT_REASONS; i++)
        if (counts[method].not_kept[i])
            fprintf(stderr,
                    "aitherion[%d]: %9llu answers are not kept for the next start: %s: %s\n",
                    (int)getpid(), counts[method].not_kept[i], ath_cuda_methods[method].name,
                    reasons[i]);
}

__attribute__((destructor)) static void print_all(void)
{
    static int order[ATH_CUDA_METHOD_COUNT];
    static struct counted total;
    size_t used = 0;
    if (!ath_cuda_call_summary_is_wanted())
        return;
    for (int i = 0; i < ATH_CUDA_METHOD_COUNT; i++)
        if (counts[i].sent)
            order[used++] = i;
    qsort(order, used, sizeof *order, compare_waits);
    for (size_t i = 0; i < used; i++) {
        add_counts(&total, &counts[order[i]]);
        print_counts(ath_cuda_methods[order[i]].name, &counts[order[i]]);
    }
    if (used)
        print_counts("altogether", &total);
    for (size_t i = 0; i < used; i++)
        print_not_kept(order[i]);
}
