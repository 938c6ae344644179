/*
 * Processor time of the scheduler's extender (src/kubernetes/extender.h), as a table in Markdown:
 * filter and prioritize of one pod, from the body of the request to that of the answer. All nodes
 * are offered to both.
 *
 *     bench/kubernetes [NODES] [RUNS]
 *
 * Nodes have eight GPUs on two NUMA nodes; on each a random part of the GPUs is in use. No network
 * is in the times.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "kubernetes/extender.h"

enum { GPUS = 8, NODES = 1000, RUNS = 500 };

static const struct row {
    const char *words, *limits, *annotations;
} rows[] = {
    { "1 GPU", "\"aitherion.io/gpu\":\"1\"", "" },
    { "4 GPUs", "\"aitherion.io/gpu\":\"4\"", "" },
    { "4 GPUs, single-numa", "\"aitherion.io/gpu\":\"4\"",
      "\"aitherion.io/numa-policy\":\"single-numa\"" },
    { "8 GPUs", "\"aitherion.io/gpu\":\"8\"", "" },
    { "20 GiB of a GPU", "\"aitherion.io/gpu-memory\":\"20Gi\"", "" },
    { "100 TFLOPS of a GPU", "\"aitherion.io/gpu-tflops\":\"100\"", "" },
};

static uint64_t seed = 1;

/* A number below limit (splitmix64). */
static size_t random_below(size_t limit)
{
    uint64_t value = seed += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((value ^ value >> 31) % limit);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void take(struct ath_kube_cache *cache, enum ath_kube_kind kind, const char *text)
{
    json_auto_t *json = json_loads(text, 0, NULL);
    if (!json || ath_kube_cache_take(cache, kind, json, NULL))
        abort();
}

static void add_node(struct ath_kube_cache *cache, size_t number)
{
    ATH_AUTO(ath_text) text = { 0 };
    ath_text_add(
        &text, "{\"metadata\":{\"name\":\"node%zu\"},\"status\":{\"phase\":\"Ready\",\"devices\":[",
        number);
    for (int i = 0; i < GPUS; i++)
        ath_text_add(&text,
                     "%s{\"uuid\":\"GPU-%zu-%d\",\"model\":\"NVIDIA A100-SXM4-80GB\",\"memory\":"
                     "\"80Gi\",\"numaNode\":%d,\"healthScore\":100}",
                     i ? "," : "", number, i, i / (GPUS / 2));
    ath_text_add(&text, "],\"links\":[");
    for (int a = 0; a < GPUS; a++)
        for (int b = a + 1; b < GPUS; b++)
            ath_text_add(&text, "%s{\"devices\":[%d,%d],\"bytesPerSecond\":%d000000000}",
                         a || b > 1 ? "," : "", a, b, a / (GPUS / 2) == b / (GPUS / 2) ? 50 : 20);
    ath_text_add(&text, "]}}");
    take(cache, ATH_KUBE_NODES, text.data);
}

static void add_pods(struct ath_kube_cache *cache, size_t node)
{
    for (int i = 0; i < GPUS; i++) {
        if (random_below(2))
            continue;
        ath_auto_free char *text = ath_xasprintf(
            "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"%zu-%d\",\"annotations\":{"
            "\"aitherion.io/"
            "gpus\":\"GPU-%zu-%d\"}},\"spec\":{\"nodeName\":\"node%zu\",\"containers\":"
            "[{\"resources\":{\"limits\":{\"aitherion.io/gpu\":\"1\"}}}]}}",
            node, i, node, i, node);
        take(cache, ATH_KUBE_PODS, text);
    }
}

static char *question(const struct row *row, size_t nodes)
{
    struct ath_text text = { 0 };
    ath_text_add(
        &text,
        "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"new\","
        "\"annotations\":{%s}},\"spec\":{\"containers\":[{\"resources\":{\"limits\":{%s}}}]}},"
        "\"Nodes\":null,\"NodeNames\":[",
        row->annotations, row->limits);
    for (size_t i = 0; i < nodes; i++)
        ath_text_add(&text, "%s\"node%zu\"", i ? "," : "", i);
    ath_text_add(&text, "]}");
    return ath_text_take(&text);
}

static double ask(struct ath_kube_extender *extender, const char *body)
{
    double begin = now_ms();
    for (int verb = ATH_KUBE_FILTER; verb <= ATH_KUBE_PRIORITIZE; verb++) {
        ATH_AUTO(ath_text) answer = { 0 };
        if (ath_kube_extender_answer(extender, (enum ath_kube_verb)verb, body, strlen(body),
                                     &answer) != 200)
            abort();
    }
    return now_ms() - begin;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct ath_kube_extender *extender, const struct row *row, size_t nodes,
                    size_t runs)
{
    ath_auto_free double *times = ath_xalloc(runs * sizeof *times);
    ath_auto_free char *body = question(row, nodes);
    double first = ask(extender, body);

    for (size_t i = 0; i < runs; i++)
        times[i] = ask(extender, body);
    qsort(times, runs, sizeof *times, compare_times);
    printf("| %zu | %s | %.2f ms | %.2f ms | %.2f ms |\n", nodes, row->words, first,
           times[runs / 2], times[runs * 99 / 100]);
}

int main(int argc, char **argv)
{
    size_t nodes = argc > 1 ? strtoul(argv[1], NULL, 10) : NODES;
    size_t runs = argc > 2 ? strtoul(argv[2], NULL, 10) : RUNS;
    struct ath_kube_extender extender = { .cache = ath_kube_cache_make(ath_now_ms, 30000) };
    struct rusage usage;

    if (!nodes || nodes > ATH_KUBE_NODES_MAX || !runs) {
        fprintf(stderr, "usage: bench/kubernetes [NODES] [RUNS]\n");
        return 2;
    }
    for (int kind = 0; kind < ATH_KUBE_KINDS; kind++)
        ath_kube_cache_begin(extender.cache, (enum ath_kube_kind)kind);
    for (size_t i = 0; i < nodes; i++) {
        add_node(extender.cache, i);
        add_pods(extender.cache, i);
    }
    for (int kind = 0; kind < ATH_KUBE_KINDS; kind++)
        ath_kube_cache_end(extender.cache, (enum ath_kube_kind)kind);
    printf("| nodes | the pod asks for | first time | median | 99 of 100 |\n"
           "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        measure(&extender, &rows[i], nodes, runs);
    getrusage(RUSAGE_SELF, &usage);
    printf("\n%ld MiB of memory\n", usage.ru_maxrss / 1024);
    ath_kube_cache_free(extender.cache);
    return 0;
}
