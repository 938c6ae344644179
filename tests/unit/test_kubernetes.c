/* The scheduler's extender: quantities, pods, ComputeNodes, scores by hand, reservations, watches
 * and the scheduler's requests, with bodies as Kubernetes 1.34 sends them. */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "kubernetes/bind.h"
#include "kubernetes/cache.h"
#include "kubernetes/compute_node.h"
#include "kubernetes/extender.h"
#include "kubernetes/figures.h"
#include "kubernetes/judge.h"
#include "kubernetes/pod.h"
#include "kubernetes/quantity.h"
#include "kubernetes/shape.h"
#include "kubernetes/watch.h"
#include "unit.h"

static json_t *json_of(const char *text)
{
    json_error_t fault;
    json_t *json = json_loads(text, JSON_ALLOW_NUL, &fault);
    ck_assert_msg(json != NULL, "%s: %s", fault.text, text);
    return json;
}

/* ---- quantities ---- */

TEST(quantities_are_read)
{
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        { "0", 0 },
        { "4", 4 },
        { "+4", 4 },
        { "16Gi", INT64_C(16) << 30 },
        { "1.5k", 1500 },
        { "500m", 1 },
        { "1000m", 1 },
        { "1001m", 2 },
        { "1e3", 1000 },
        { "1E3", 1000 },
        { "1E", INT64_C(1000000000000000000) },
        { "2e-1", 1 },
        { "0.5Ki", 512 },
        { ".5M", 500000 },
        { "7Ei", INT64_C(7) << 60 },
        { "1n", 1 },
        { "3u", 1 },
        { "5.", 5 },
        { "000000000000000000000000012", 12 },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        int64_t value = -1;
        ck_assert_msg(!ath_kube_quantity_read(rows[i].text, &value), "%s", rows[i].text);
        ck_assert_msg(value == rows[i].value, "%s: %lld", rows[i].text, (long long)value);
    }
}

TEST(wrong_quantities_are_refused)
{
    static const char *const texts[] = { "",     ".",     "-1",    "Gi",
                                         "1gi",  "1 Gi",  "1.2.3", "1e",
                                         "1e+",  "1e-",   "++1",   "1e999",
                                         "8Ei",  "10E",   "1KiB",  "9223372036854775807",
                                         "0x10", "1e1e1", "nan" };
    for (size_t i = 0; i < ATH_COUNT(texts); i++) {
        int64_t value = 42;
        ck_assert_msg(ath_kube_quantity_read(texts[i], &value) < 0, "%s", texts[i]);
        ck_assert_int_eq(value, 42);
    }
}

/* ---- pods ---- */

/* Returns a pod; limits: of its only container; more: further members of metadata. */
static json_t *pod_json(const char *uid, const char *limits, const char *annotations,
                        const char *node)
{
    ath_auto_free char *text =
        ath_xasprintf("{\"metadata\":{\"name\":\"pod-%s\",\"namespace\":\"default\",\"uid\":\"%s\","
                      "\"resourceVersion\":\"7\",\"annotations\":{%s}},\"spec\":{%s%s%"
                      "s\"containers\":[{\"name\":\"c\","
                      "\"resources\":{\"limits\":{%s}}}]},\"status\":{\"phase\":\"Pending\"}}",
                      uid, uid, annotations, node ? "\"nodeName\":\"" : "", node ? node : "",
                      node ? "\"," : "", limits);
    return json_of(text);
}

static int read_pod(json_t *json, struct ath_kube_pod *out)
{
    struct ath_err err = { 0 };
    int status = ath_kube_pod_read(json, out, &err);
    ck_assert_msg(!status == !err.code, "%s", err.message);
    json_decref(json);
    return status;
}

TEST(a_pod_asks_for_whole_gpus)
{
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    ck_assert_int_eq(read_pod(pod_json("1", "\"aitherion.io/gpu\":\"4\"",
                                       "\"aitherion.io/numa-policy\":\"single-numa\","
                                       "\"aitherion.io/gpu-model\":\"a100-sxm4-80gb\"",
                                       NULL),
                              &pod),
                     0);
    ck_assert_str_eq(pod.name, "pod-1");
    ck_assert_str_eq(pod.space, "default");
    ck_assert_str_eq(pod.uid, "1");
    ck_assert_ptr_null(pod.node);
    ck_assert_uint_eq(pod.wish.gpu_count, 4);
    ck_assert(pod.wish.is_whole);
    ck_assert_int_eq(pod.wish.policy, ATH_PLACE_SINGLE_NUMA);
    ck_assert_ptr_nonnull(pod.wish.model_row);
    ck_assert_ptr_null(pod.wish.preferred_model);
}

/* A resource of ours that is not known is not one that is asked for. */
TEST(resources_are_known_by_name)
{
    static const struct {
        const char *container;
        bool does_ask;
        const char *unknown;
    } rows[] = {
        { "{}", false, NULL },
        { "{\"resources\":{\"limits\":{\"cpu\":1,\"nvidia.com/gpu\":1}}}", false, NULL },
        { "{\"resources\":{\"requests\":{\"aitherion.io/gpu\":1}}}", true, NULL },
        { "{\"resources\":{\"limits\":{\"ai.compute/vram\":1}}}", true, NULL },
        { "{\"resources\":{\"limits\":{\"aitherion.io/gpus\":1}}}", false, "aitherion.io/gpus" },
        { "{\"resources\":{\"limits\":{\"aitherion.io/gpu\":1},\"requests\":{\"ai.compute/x\":1}}}",
          true, "ai.compute/x" },
    };

    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        json_auto_t *container = json_loads(rows[i].container, 0, NULL);
        const char *unknown = ath_kube_unknown_resource(container);
        ck_assert_ptr_nonnull(container);
        ck_assert_int_eq(ath_kube_asks_for_gpus(container), rows[i].does_ask);
        ck_assert_msg(rows[i].unknown ? unknown && !strcmp(unknown, rows[i].unknown) : !unknown,
                      "row %zu: %s", i, unknown ? unknown : "none");
    }
}

TEST(memory_and_share_are_those_of_all_gpus)
{
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    ck_assert_int_eq(read_pod(pod_json("1",
                                       "\"aitherion.io/gpu\":3,\"aitherion.io/gpu-memory\":\"10\","
                                       "\"aitherion.io/gpu-share\":\"100\"",
                                       "", NULL),
                              &pod),
                     0);
    ck_assert_uint_eq(pod.wish.gpu_count, 3);
    ck_assert(!pod.wish.is_whole);
    ck_assert_int_eq(pod.wish.memory_bytes, 4);
    ck_assert_int_eq(pod.wish.share_percent, 34);
    ck_assert_int_eq(pod.wish.policy, ATH_PLACE_BEST_EFFORT);
}

TEST(throughput_is_a_part_of_a_gpu_of_each_model)
{
    static const struct {
        const char *limits, *model;
        size_t count;
        int share;
    } rows[] = {
        { "\"aitherion.io/gpu-tflops\":\"156\"", "a100-sxm4-80gb", 1, 50 },
        { "\"ai.compute/tflops-fp16\":\"100\"", "NVIDIA A100-SXM4-80GB", 1, 32 },
        { "\"ai.compute/tflops-fp16\":\"100\"", "NVIDIA H100 80GB HBM3", 1, 10 },
        { "\"ai.compute/tflops-fp16\":\"100\"", "Tesla V100-SXM2-32GB", 1, 80 },
        { "\"ai.compute/tflops-fp16\":\"100\"", "Tesla T4", 1, 101 },
        { "\"ai.compute/tflops-fp16\":\"312\"", "A100 SXM4 80GB", 1, 100 },
        { "\"ai.compute/tflops-fp16\":\"313\"", "A100 SXM4 80GB", 1, 100 }, /* rounded */
        { "\"ai.compute/tflops-fp16\":\"314\"", "A100 SXM4 80GB", 1, 101 },
        { "\"ai.compute/tflops-fp16\":\"1\"", "A100 SXM4 80GB", 1, 1 }, /* at least one percent */
        { "\"ai.compute/tflops-fp16\":\"990\"", "H100 SXM5 80GB", 1, 100 },
        { "\"aitherion.io/gpu\":\"4\",\"aitherion.io/gpu-tflops\":\"624\"", "A100 SXM4 80GB", 4,
          50 },
        { "\"aitherion.io/gpu-tflops\":\"3E\"", "A100 SXM4 80GB", 1, 101 },
        { "\"aitherion.io/gpu-tflops\":\"1\"", "Ascend 910B", 1, 101 }, /* not known */
        { "\"aitherion.io/gpu-tflops\":\"1\"", "Another GPU", 1, 101 },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ATH_AUTO(ath_kube_pod) pod = { 0 };
        ck_assert_int_eq(read_pod(pod_json("1", rows[i].limits, "", NULL), &pod), 0);
        ck_assert(!pod.wish.is_whole);
        ck_assert_uint_eq(pod.wish.gpu_count, rows[i].count);
        int share = ath_kube_wish_share(&pod.wish, ath_gpu_model_named(rows[i].model));
        ck_assert_msg(share == rows[i].share, "%zu: %d", i, share);
    }
}

TEST(the_name_of_seed_003_is_an_alias)
{
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    ck_assert_int_eq(read_pod(pod_json("1", "\"ai.compute/vram\":\"16Gi\"", "", NULL), &pod), 0);
    ck_assert_uint_eq(pod.wish.gpu_count, 1);
    ck_assert_int_eq(pod.wish.memory_bytes, INT64_C(16) << 30);
}

TEST(containers_run_together_and_init_containers_do_not)
{
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    json_t *json = json_of(
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"c\"},\"spec\":{"
        "\"initContainers\":["
        "{\"resources\":{\"limits\":{\"aitherion.io/gpu\":\"3\"}}},"
        "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"aitherion.io/gpu\":\"1\"}}},"
        "{\"resources\":{\"limits\":{\"aitherion.io/gpu\":\"4\"}}}],"
        "\"containers\":[{\"resources\":{\"limits\":{\"aitherion.io/gpu\":\"1\"}}},"
        "{\"resources\":{\"limits\":{\"aitherion.io/gpu\":\"2\"}}},{}]}}");
    ck_assert_int_eq(read_pod(json, &pod), 0);
    /* Sidecar 1 and init 4 together; the containers with the sidecar are 4. */
    ck_assert_uint_eq(pod.wish.gpu_count, 5);
}

TEST(a_pod_with_gpus_and_a_node)
{
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    ck_assert_int_eq(read_pod(pod_json("1", "\"aitherion.io/gpu\":\"2\"",
                                       "\"aitherion.io/gpus\":\"GPU-b,GPU-a\"", "node1"),
                              &pod),
                     0);
    ck_assert_str_eq(pod.node, "node1");
    ck_assert_uint_eq(pod.gpus.count, 2);
    ck_assert_str_eq(pod.gpus.items[0], "GPU-b");
    ck_assert_str_eq(pod.gpus.items[1], "GPU-a");
}

TEST(wrong_requests_are_refused)
{
    static const char *const limits[] = {
        "\"aitherion.io/gpu\":\"65\"",
        "\"aitherion.io/gpu\":\"-1\"",
        "\"aitherion.io/gpu\":-1",
        "\"aitherion.io/gpu\":1.5",
        "\"aitherion.io/gpu\":{}",
        "\"aitherion.io/gpu\":\"1\\u0000\"",
        "\"aitherion.io/gpu\":\"\"",
        "\"aitherion.io/gpu-share\":\"101\"",
        "\"aitherion.io/gpu-memory\":\"8Ei\"",
        "\"aitherion.io/gpu-memory\":\"3Ei\",\"ai.compute/vram\":\"3Ei\"",
        "\"aitherion.io/gpu-share\":\"50\",\"aitherion.io/gpu-tflops\":\"1\"",
    };
    for (size_t i = 0; i < ATH_COUNT(limits); i++) {
        ATH_AUTO(ath_kube_pod) pod = { 0 };
        ck_assert_msg(read_pod(pod_json("1", limits[i], "", NULL), &pod) == -EINVAL, "%s",
                      limits[i]);
        ck_assert_uint_eq(pod.wish.gpu_count, 0);
        ck_assert_str_eq(pod.uid, "1");
    }
}

TEST(a_wrong_annotation_leaves_the_counts)
{
    ATH_AUTO(ath_kube_pod) pod = { 0 };
    ck_assert_int_eq(read_pod(pod_json("1", "\"aitherion.io/gpu\":\"2\"",
                                       "\"aitherion.io/numa-policy\":\"both\"", NULL),
                              &pod),
                     -EINVAL);
    ck_assert_uint_eq(pod.wish.gpu_count, 2);
    ck_assert_int_eq(pod.wish.policy, ATH_PLACE_BEST_EFFORT);
}

TEST(what_is_no_pod_is_refused)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "{\"metadata\":[],\"spec\":{}}",
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"},\"spec\":{}}",
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"c\"}}",
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"c\\u0000d\"},\"spec\":{}}",
        "{\"metadata\":{\"name\":7,\"namespace\":\"b\",\"uid\":\"c\"},\"spec\":{}}",
    };
    for (size_t i = 0; i < ATH_COUNT(texts); i++) {
        ATH_AUTO(ath_kube_pod) pod = { 0 };
        ck_assert_msg(read_pod(json_of(texts[i]), &pod) == -EBADMSG, "%s", texts[i]);
    }
}

/* ---- ComputeNodes ---- */

/* Returns a node of GPUs "NAME-0" and so on, the first half on NUMA node 0, the others on 8.
 * near_gbs: links inside a NUMA node in GB/s; far_gbs: between; 0: none is known. */
static json_t *node_json(const char *name, size_t gpus, int near_gbs, int far_gbs, int health)
{
    ATH_AUTO(ath_text) text = { 0 };
    ath_text_add(&text,
                 "{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"5\"},\"status\":{\"phase\":"
                 "\"Ready\",\"runtime\":\"10.0.0.1:50051\",\"numaNodes\":[0,8],\"devices\":[",
                 name);
    for (size_t i = 0; i < gpus; i++)
        ath_text_add(&text,
                     "%s{\"uuid\":\"%s-%zu\",\"model\":\"NVIDIA A100-SXM4-80GB\",\"memory\":"
                     "\"80Gi\",\"numaNode\":%d,\"healthScore\":%d}",
                     i ? "," : "", name, i, i < (gpus + 1) / 2 ? 0 : 8, health);
    ath_text_add(&text, "],\"links\":[");
    bool is_first = true;
    for (size_t a = 0; a < gpus; a++)
        for (size_t b = a + 1; b < gpus; b++) {
            int speed = (a < (gpus + 1) / 2) == (b < (gpus + 1) / 2) ? near_gbs : far_gbs;
            if (!speed)
                continue;
            ath_text_add(&text, "%s{\"devices\":[%zu,%zu],\"bytesPerSecond\":%d000000000}",
                         is_first ? "" : ",", a, b, speed);
            is_first = false;
        }
    ath_text_add(&text, "]}}");
    return json_of(text.data);
}

TEST(a_compute_node_is_read)
{
    ATH_AUTO(ath_kube_node) node = { 0 };
    json_auto_t *json = node_json("n1", 4, 300, 32, 97);
    ck_assert_int_eq(ath_kube_node_read(json, &node, NULL), 0);
    ck_assert_str_eq(node.name, "n1");
    ck_assert_str_eq(node.runtime, "10.0.0.1:50051");
    ck_assert(node.is_ready);
    ck_assert_uint_eq(node.machine.gpu_count, 4);
    ck_assert_str_eq(node.machine.gpus[3].uuid, "n1-3");
    ck_assert_int_eq(node.machine.gpus[3].numa_node, 8);
    ck_assert_int_eq(node.machine.gpus[3].health.score, 97);
    ck_assert_int_eq(node.machine.gpus[3].memory_total_bytes, INT64_C(80) << 30);
    ck_assert_int_eq(node.bandwidths[0 * 4 + 1], INT64_C(300000000000));
    ck_assert_int_eq(node.bandwidths[3 * 4 + 1], INT64_C(32000000000));
    ck_assert_ptr_nonnull(node.models[0]);
}

TEST(unknown_links_are_near_or_far)
{
    ATH_AUTO(ath_kube_node) node = { 0 };
    json_auto_t *json = node_json("n1", 4, 0, 0, 100);
    ck_assert_int_eq(ath_kube_node_read(json, &node, NULL), 0);
    ck_assert_int_eq(node.bandwidths[0 * 4 + 1], ATH_SET_UNKNOWN_NEAR);
    ck_assert_int_eq(node.bandwidths[0 * 4 + 2], ATH_SET_UNKNOWN_FAR);
}

TEST(wrong_compute_nodes_are_refused)
{
#define NODE(status) "{\"metadata\":{\"name\":\"n\"},\"status\":{" status "}}"
    static const char *const texts[] = {
        "{}",
        "{\"metadata\":{\"name\":\"\"}}",
        NODE("\"devices\":[{}]"),
        NODE("\"devices\":[7]"),
        NODE("\"devices\":[{\"uuid\":\"a,b\"}]"),
        NODE("\"devices\":[{\"uuid\":\"a\"},{\"uuid\":\"a\"}]"),
        NODE("\"devices\":[{\"uuid\":\"a\",\"memory\":\"80Gib\"}]"),
        NODE("\"devices\":[{\"uuid\":\"a\"},{\"uuid\":\"b\"}],\"links\":[{\"devices\":[0,2],"
             "\"bytesPerSecond\":1}]"),
        NODE("\"devices\":[{\"uuid\":\"a\"},{\"uuid\":\"b\"}],\"links\":[{\"devices\":[0,0],"
             "\"bytesPerSecond\":1}]"),
        NODE("\"devices\":[{\"uuid\":\"a\"},{\"uuid\":\"b\"}],\"links\":[{\"devices\":[-1,0],"
             "\"bytesPerSecond\":1}]"),
        NODE("\"devices\":[{\"uuid\":\"a\"},{\"uuid\":\"b\"}],\"links\":[{\"devices\":[0,1],"
             "\"bytesPerSecond\":-1}]"),
        NODE("\"devices\":[{\"uuid\":\"a\"},{\"uuid\":\"b\"}],\"links\":[{\"devices\":[0,1],"
             "\"bytesPerSecond\":9223372036854775807}]"),
        NODE("\"numaNodes\":[-1]"),
    };
#undef NODE
    for (size_t i = 0; i < ATH_COUNT(texts); i++) {
        struct ath_kube_node node;
        struct ath_err err = { 0 };
        json_auto_t *json = json_of(texts[i]);
        ck_assert_msg(ath_kube_node_read(json, &node, &err) == -EBADMSG, "%s", texts[i]);
        ck_assert_int_eq(err.code, ATH_E_PEER_PROTOCOL);
    }
}

TEST(a_node_has_64_gpus_at_most)
{
    struct ath_kube_node node;
    json_auto_t *most = node_json("n1", 64, 0, 0, 100), *more = node_json("n1", 65, 0, 0, 100);
    ck_assert_int_eq(ath_kube_node_read(most, &node, NULL), 0);
    ath_kube_node_free(&node);
    ck_assert_int_eq(ath_kube_node_read(more, &node, NULL), -EBADMSG);
}

/* ---- verdicts and scores ---- */

static struct ath_kube_shapes shapes;
static struct ath_kube_cache *cache;
static uint64_t clock_ms;

static uint64_t now(void)
{
    return clock_ms;
}

static void setup(void)
{
    clock_ms = 1000;
    cache = ath_kube_cache_make(now, 30000);
}

static void teardown(void)
{
    ath_kube_cache_free(cache);
    ath_kube_shapes_free(&shapes);
}

FIXTURE(setup, teardown);

struct judged {
    struct ath_kube_node node;
    struct ath_kube_shape *shape;
    struct ath_kube_use uses[ATH_KUBE_GPUS_MAX];
};

static void make_judged(json_t *json, struct judged *out)
{
    *out = (struct judged){ 0 };
    ck_assert_int_eq(ath_kube_node_read(json, &out->node, NULL), 0);
    out->shape = ath_kube_shape_join(&shapes, &out->node);
    json_decref(json);
}

static struct ath_kube_verdict verdict_on(struct judged *on, const struct ath_kube_wish *wish,
                                          const char *expected_why)
{
    struct ath_kube_verdict verdict;
    ATH_AUTO(ath_text) why = { 0 };
    ath_kube_judge(&on->node, on->shape, on->uses, wish, &verdict, &why);
    if (expected_why)
        ck_assert_str_eq(why.data, expected_why);
    else
        ck_assert_uint_eq(why.length, 0);
    return verdict;
}

TEST(scores_are_those_of_a_calculation_by_hand)
{
    const struct ath_kube_wish wish = { .gpu_count = 2, .is_whole = true };
    struct judged fast, slow;
    make_judged(node_json("fast", 8, 300, 100, 100), &fast);
    make_judged(node_json("slow", 8, 150, 100, 100), &slow);
    struct ath_kube_verdict a = verdict_on(&fast, &wish, NULL), b = verdict_on(&slow, &wish, NULL);
    ck_assert_int_eq(a.ring_value, INT64_C(300000000000));
    ck_assert_uint_eq(a.gpus, 3);
    ck_assert_int_eq(a.numa_permille, 1000);
    ck_assert_int_eq(a.fit_permille, 250); /* 2 of 8 */
    ck_assert_int_eq(a.preference_permille, 1000);
    /* 40 x 1 + 30 x 1 + 20 x 0.25 + 10 x 1 = 85, and 40 x 0.5 instead: 65. */
    ck_assert_int_eq(ath_kube_score(&a, a.ring_value), 9);
    ck_assert_int_eq(ath_kube_score(&b, a.ring_value), 7);
    /* 85 x 0.58 = 49.3, 85 x 0.53 = 45.05, 85 x 0.52 = 44.2 */
    a.health_percent = 58;
    ck_assert_int_eq(ath_kube_score(&a, a.ring_value), 5);
    a.health_percent = 53;
    ck_assert_int_eq(ath_kube_score(&a, a.ring_value), 5);
    a.health_percent = 52;
    ck_assert_int_eq(ath_kube_score(&a, a.ring_value), 4);
    ath_kube_node_free(&fast.node);
    ath_kube_node_free(&slow.node);
}

TEST(gpus_on_two_numa_nodes_get_half_of_the_points)
{
    const struct ath_kube_wish wish = { .gpu_count = 6, .is_whole = true };
    struct judged on;
    make_judged(node_json("n", 8, 300, 100, 100), &on);
    struct ath_kube_verdict verdict = verdict_on(&on, &wish, NULL);
    ck_assert_int_eq(verdict.numa_permille, 500);
    ck_assert_int_eq(verdict.fit_permille, 750);
    ck_assert_int_eq(verdict.ring_value, INT64_C(100000000000));
    /* 40 + 15 + 15 + 10 = 80 */
    ck_assert_int_eq(ath_kube_score(&verdict, verdict.ring_value), 8);
    ath_kube_node_free(&on.node);
}

TEST(the_numa_policy_refuses)
{
    struct ath_kube_wish wish = { .gpu_count = 3,
                                  .is_whole = true,
                                  .policy = ATH_PLACE_SINGLE_NUMA };
    struct judged on;
    make_judged(node_json("n", 8, 300, 100, 100), &on);
    on.uses[0].pod_count = on.uses[1].pod_count = on.uses[4].pod_count = on.uses[5].pod_count = 1;
    struct ath_kube_verdict verdict =
        verdict_on(&on, &wish,
                   "the pod wants 3 GPUs, and the 4 that have room now are on too many NUMA nodes "
                   "for the policy 'single-numa'");
    ck_assert(!verdict.fits && !verdict.is_hopeless);
    wish.policy = ATH_PLACE_RESTRICTED;
    verdict = verdict_on(&on, &wish,
                         "the pod wants 3 GPUs, and the 4 that have room now are on too many NUMA "
                         "nodes for the policy 'restricted'");
    wish.policy = ATH_PLACE_BEST_EFFORT;
    ck_assert(verdict_on(&on, &wish, NULL).fits);
    wish.policy = ATH_PLACE_NONE;
    verdict = verdict_on(&on, &wish, NULL);
    ck_assert_uint_eq(verdict.gpus, 1 << 2 | 1 << 3 | 1 << 6);
    wish.policy = ATH_PLACE_SINGLE_NUMA;
    wish.gpu_count = 5;
    memset(on.uses, 0, sizeof on.uses);
    verdict = verdict_on(&on, &wish,
                         "the pod wants 5 GPUs, and the NUMA nodes do not allow that with the "
                         "policy 'single-numa'");
    ck_assert(!verdict.fits && verdict.is_hopeless);
    ath_kube_node_free(&on.node);
}

TEST(reasons_tell_what_is_missing)
{
    struct ath_kube_wish wish = { .gpu_count = 9, .is_whole = true };
    struct judged on;
    make_judged(node_json("n", 8, 300, 100, 100), &on);
    struct ath_kube_verdict verdict = verdict_on(
        &on, &wish, "the pod wants 9 GPUs, and 8 of the node's 8 GPUs can be used for that");
    ck_assert(verdict.is_hopeless);
    wish.gpu_count = 8;
    on.uses[3].pod_count = 1;
    verdict = verdict_on(&on, &wish, "the pod wants 8 GPUs, and 7 of 8 have room now");
    ck_assert(!verdict.is_hopeless);
    wish = (struct ath_kube_wish){ .gpu_count = 1,
                                   .memory_bytes = (INT64_C(80) << 30) + 1,
                                   .share_percent = 50 };
    verdict = verdict_on(&on, &wish,
                         "the pod wants a GPU with 81921 MiB and 50 % of the time, and 0 of the "
                         "node's 8 GPUs can be used for that");
    ck_assert(verdict.is_hopeless);
    char model[] = "H100";
    wish = (struct ath_kube_wish){ .gpu_count = 1, .is_whole = true, .model = model };
    verdict = verdict_on(
        &on, &wish,
        "the pod wants a GPU of model 'H100', and 0 of the node's 8 GPUs can be used for that");
    ck_assert(verdict.is_hopeless);
    on.node.is_ready = false;
    verdict = verdict_on(&on, &wish, "the ComputeNode is not Ready");
    ck_assert(verdict.is_hopeless && !verdict.fits);
    ath_kube_node_free(&on.node);
}

TEST(a_part_goes_to_the_fullest_gpu_with_room)
{
    const struct ath_kube_wish wish = { .gpu_count = 1, .memory_bytes = INT64_C(20) << 30 };
    struct judged on;
    make_judged(node_json("n", 4, 300, 100, 100), &on);
    on.uses[1] = (struct ath_kube_use){ .pod_count = 1, .memory_bytes = INT64_C(60) << 30 };
    on.uses[2] = (struct ath_kube_use){ .pod_count = 1, .memory_bytes = (INT64_C(60) << 30) + 1 };
    on.uses[3] = (struct ath_kube_use){ .pod_count = 1, .is_whole = true };
    struct ath_kube_verdict verdict = verdict_on(&on, &wish, NULL);
    ck_assert_uint_eq(verdict.gpus, 1 << 1);
    /* Left: 1000 of GPU 0, 0 of GPU 1, 249 of GPU 2, 0 of GPU 3: 1249 / 4. */
    ck_assert_int_eq(verdict.fit_permille, 1000 - 312);
    ath_kube_node_free(&on.node);
}

/* 156 TFLOPS are half of an A100, with half of its memory. */
TEST(throughput_takes_time_and_memory)
{
    struct ath_kube_wish wish = { .gpu_count = 1, .tflops = 156 };
    struct judged on;
    make_judged(node_json("n", 2, 300, 100, 100), &on);
    ck_assert(verdict_on(&on, &wish, NULL).fits);
    ath_kube_use_add(&on.uses[0], &wish, &on.node, 0);
    ck_assert_int_eq(on.uses[0].share_percent, 50);
    ck_assert_int_eq(on.uses[0].memory_bytes, INT64_C(40) << 30);
    ck_assert_uint_eq(verdict_on(&on, &wish, NULL).gpus, 1 << 0); /* the fuller one */
    on.uses[0].share_percent = 51;
    ck_assert_uint_eq(verdict_on(&on, &wish, NULL).gpus, 1 << 1);
    on.uses[1].share_percent = 51;
    ck_assert(!verdict_on(&on, &wish,
                          "the pod wants a GPU with 156 TFLOPS (FP16), and 0 of 2 have room now")
                   .is_hopeless);
    wish = (struct ath_kube_wish){ .gpu_count = 2, .tflops = 400, .memory_bytes = 1 << 20 };
    ck_assert(verdict_on(&on, &wish,
                         "the pod wants 2 GPUs with 1 MiB each and 400 TFLOPS (FP16) each, and 0 "
                         "of the node's 2 GPUs can be used for that")
                  .is_hopeless);
    on.node.models[1] = NULL;
    wish = (struct ath_kube_wish){ .gpu_count = 2, .tflops = 1 };
    ck_assert(verdict_on(&on, &wish,
                         "the pod wants 2 GPUs with 1 TFLOPS (FP16) each, and 1 of the node's 2 "
                         "GPUs can be used for that; the throughput of the model "
                         "'NVIDIA A100-SXM4-80GB' is not known")
                  .is_hopeless);
    ath_kube_node_free(&on.node);
}

TEST(a_dead_gpu_is_never_chosen_and_a_poor_one_last)
{
    const struct ath_kube_wish part = { .gpu_count = 1, .share_percent = 10 };
    struct ath_kube_wish wish = { .gpu_count = 2, .is_whole = true };
    struct judged on;
    json_t *json = node_json("n", 4, 300, 100, 100);
    json_t *devices = json_object_get(json_object_get(json, "status"), "devices");
    json_object_set_new(json_array_get(devices, 0), "healthScore", json_integer(0));
    json_object_set_new(json_array_get(devices, 1), "healthScore", json_integer(40));
    make_judged(json, &on);
    ck_assert_uint_eq(verdict_on(&on, &wish, NULL).gpus, 1 << 2 | 1 << 3);
    on.uses[1].pod_count = 1;
    on.uses[1].share_percent = 50;
    ck_assert_uint_eq(verdict_on(&on, &part, NULL).gpus, 1 << 2);
    on.uses[1] = (struct ath_kube_use){ 0 };
    wish.gpu_count = 3;
    struct ath_kube_verdict verdict = verdict_on(&on, &wish, NULL);
    ck_assert_uint_eq(verdict.gpus, 1 << 1 | 1 << 2 | 1 << 3);
    ck_assert_int_eq(verdict.health_percent, 40);
    wish.gpu_count = 4;
    ck_assert(verdict_on(&on, &wish,
                         "the pod wants 4 GPUs, and 3 of the node's 4 GPUs can be used for that")
                  .is_hopeless);
    ath_kube_node_free(&on.node);
}

TEST(equal_nodes_share_a_shape)
{
    struct judged a, b, c;
    make_judged(node_json("a", 8, 300, 100, 100), &a);
    make_judged(node_json("b", 8, 300, 100, 100), &b);
    make_judged(node_json("c", 8, 300, 101, 100), &c);
    ck_assert_ptr_eq(a.shape, b.shape);
    ck_assert_ptr_ne(a.shape, c.shape);
    ath_kube_shape_leave(&shapes, a.shape);
    ck_assert_uint_eq(shapes.count, 2);
    ath_kube_shape_leave(&shapes, b.shape);
    ck_assert_uint_eq(shapes.count, 1);
    ath_kube_node_free(&a.node);
    ath_kube_node_free(&b.node);
    ath_kube_node_free(&c.node);
}

/* ---- the cache ---- */

static void put(enum ath_kube_kind kind, json_t *object)
{
    ck_assert_int_eq(ath_kube_cache_take(cache, kind, object, NULL), 0);
    json_decref(object);
}

static void put_whole_pod(const char *uid, const char *gpus, const char *count, const char *node)
{
    ath_auto_free char *limits = ath_xasprintf("\"aitherion.io/gpu\":\"%s\"", count);
    ath_auto_free char *annotation =
        gpus ? ath_xasprintf("\"aitherion.io/gpus\":\"%s\"", gpus) : ath_xstrdup("");
    put(ATH_KUBE_PODS, pod_json(uid, limits, annotation, node));
}

static int reserve(const char *uid, const char *node, const char *expected)
{
    ATH_AUTO(ath_kube_place) place = { 0 };
    int status = ath_kube_cache_reserve(cache, uid, node, &place, NULL);
    if (status)
        return status;
    ath_auto_free char *gpus = ath_texts_join(&place.gpus);
    ck_assert_str_eq(gpus, expected);
    return 0;
}

static size_t used(void)
{
    struct ath_kube_cache_counts counts;
    ath_kube_cache_count(cache, &counts);
    return counts.gpus_used;
}

TEST(gpus_are_reserved_until_the_pod_is_deleted)
{
    json_auto_t *pod = pod_json("1", "\"aitherion.io/gpu\":\"1\"", "", NULL);
    put(ATH_KUBE_NODES, node_json("n", 2, 300, 100, 100));
    put_whole_pod("1", NULL, "1", NULL);
    put_whole_pod("2", NULL, "2", NULL);
    ck_assert_int_eq(reserve("1", "n", "n-0"), 0);
    ck_assert_int_eq(reserve("2", "n", ""), -EBUSY);
    ath_kube_cache_confirm(cache, "1");
    clock_ms += 60000;
    ck_assert_uint_eq(used(), 1);
    put_whole_pod("1", "n-0", "1", "n");
    ck_assert_uint_eq(used(), 1);
    ath_kube_cache_drop(cache, ATH_KUBE_PODS, pod);
    ck_assert_uint_eq(used(), 0);
    ck_assert_int_eq(reserve("2", "n", "n-0, n-1"), 0);
}

static void begin_and_end(enum ath_kube_kind kind)
{
    ath_kube_cache_begin(cache, kind);
    ath_kube_cache_end(cache, kind);
}

/* A list of pods that shows pod "1" without a node. */
static void list_unbound(void)
{
    ath_kube_cache_begin(cache, ATH_KUBE_PODS);
    put_whole_pod("1", NULL, "1", NULL);
    ath_kube_cache_end(cache, ATH_KUBE_PODS);
}

TEST(a_reservation_lasts_as_long_as_its_call)
{
    put(ATH_KUBE_NODES, node_json("n", 1, 0, 0, 100));
    put_whole_pod("1", NULL, "1", NULL);
    put_whole_pod("2", NULL, "1", NULL);
    ck_assert_int_eq(reserve("1", "n", "n-0"), 0);
    clock_ms += 1000000;
    list_unbound();
    begin_and_end(ATH_KUBE_PODS);
    ck_assert_int_eq(reserve("1", "n", ""), -EBUSY);
    ck_assert(!ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    struct ath_kube_cache_counts counts;
    ath_kube_cache_count(cache, &counts);
    ck_assert_uint_eq(counts.pods_reserved, 1);
}

TEST(a_pod_whose_answer_was_lost_keeps_its_gpus_until_a_late_list_shows_it_unbound)
{
    put(ATH_KUBE_NODES, node_json("n", 1, 0, 0, 100));
    put_whole_pod("1", NULL, "1", NULL);
    ck_assert_int_eq(reserve("1", "n", "n-0"), 0);
    ath_kube_cache_doubt(cache, "1");
    clock_ms += 29999;
    list_unbound();
    put_whole_pod("1", NULL, "1", NULL);
    ck_assert_uint_eq(used(), 1);
    ck_assert(!ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    clock_ms += 29999;
    ck_assert(!ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    clock_ms += 1; /* 30 s after the last list, too */
    ck_assert(ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    ck_assert(!ath_kube_cache_wants_list(cache, ATH_KUBE_NODES));
    ck_assert_uint_eq(used(), 1);
    list_unbound();
    ck_assert_uint_eq(used(), 0);
    ck_assert(!ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
}

TEST(a_pod_whose_answer_was_lost_goes_to_the_same_gpus_again)
{
    put(ATH_KUBE_NODES, node_json("n", 2, 300, 100, 100));
    put(ATH_KUBE_NODES, node_json("m", 2, 300, 100, 100));
    put_whole_pod("0", NULL, "1", NULL);
    put_whole_pod("1", NULL, "1", NULL);
    ck_assert_int_eq(reserve("0", "n", "n-0"), 0);
    ck_assert_int_eq(reserve("1", "n", "n-1"), 0);
    ath_kube_cache_doubt(cache, "1");
    ath_kube_cache_release(cache, "0");
    ck_assert_int_eq(reserve("1", "m", ""), -EBUSY);
    ck_assert_int_eq(reserve("1", "n", "n-1"), 0);
    ath_kube_cache_release(cache, "1"); /* the first binding may have been made all the same */
    ck_assert_uint_eq(used(), 1);
    ck_assert_int_eq(reserve("1", "n", "n-1"), 0);
    ath_kube_cache_confirm(cache, "1");
    ath_kube_cache_doubt(cache, "1");
    ck_assert_int_eq(reserve("1", "n", ""), -EBUSY);
    ck_assert_uint_eq(used(), 1);
}

TEST(a_pod_with_throughput_is_bound_again_only_if_its_share_is_known)
{
    ATH_AUTO(ath_kube_place) first = { 0 }, second = { 0 };
    struct ath_err err = { 0 };
    json_t *other = node_json("n", 1, 0, 0, 100);
    json_t *device =
        json_array_get(json_object_get(json_object_get(other, "status"), "devices"), 0);

    put(ATH_KUBE_NODES, node_json("n", 1, 0, 0, 100));
    put(ATH_KUBE_PODS, pod_json("1", "\"aitherion.io/gpu-tflops\":\"156\"", "", NULL));
    ck_assert_int_eq(ath_kube_cache_reserve(cache, "1", "n", &first, &err), 0);
    ck_assert_int_eq(first.wish.share_percent, 50);
    ath_kube_cache_doubt(cache, "1");
    json_object_set_new(device, "model", json_string("Another GPU"));
    put(ATH_KUBE_NODES, other);
    ck_assert_int_eq(ath_kube_cache_reserve(cache, "1", "n", &second, &err), -EBUSY);
    ck_assert_str_eq(err.message, "the throughput of the pod's GPUs is not known any more");
    put(ATH_KUBE_NODES, node_json("n", 1, 0, 0, 100));
    ck_assert_int_eq(ath_kube_cache_reserve(cache, "1", "n", &second, &err), 0);
    ck_assert_int_eq(second.wish.share_percent, 50);
}

TEST(a_pod_whose_answer_was_lost_gets_gpus_of_the_same_other_node_again)
{
    ATH_AUTO(ath_kube_place) place = { 0 };

    put(ATH_KUBE_NODES, node_json("n", 1, 300, 100, 100));
    put(ATH_KUBE_NODES, node_json("m", 1, 300, 100, 100));
    put(ATH_KUBE_PODS, pod_json("0", "\"aitherion.io/gpu\":\"1\"",
                                "\"aitherion.io/gpu-location\":\"any-node\"", NULL));
    ck_assert_int_eq(reserve("0", "host", "m-0"), 0);
    ath_kube_cache_doubt(cache, "0");
    ck_assert_int_eq(reserve("0", "m", ""), -EBUSY); /* the node of the GPUs, not of the pod */
    ck_assert_int_eq(reserve("0", "other", ""), -EBUSY);
    ck_assert_int_eq(ath_kube_cache_reserve(cache, "0", "host", &place, NULL), 0);
    ck_assert_str_eq(place.gpu_node, "m");
    ck_assert_str_eq(place.gpus.items[0], "m-0");
    ck_assert_uint_eq(used(), 1);
}

TEST(a_list_can_be_asked_for)
{
    begin_and_end(ATH_KUBE_PODS);
    ck_assert(!ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    ath_kube_cache_begin(cache, ATH_KUBE_PODS);
    uint64_t number = ath_kube_cache_want_list(cache, ATH_KUBE_PODS);
    ath_kube_cache_end(cache, ATH_KUBE_PODS); /* it had begun before */
    ck_assert(!ath_kube_cache_has_list(cache, ATH_KUBE_PODS, number));
    ck_assert(ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    ath_kube_cache_begin(cache, ATH_KUBE_PODS);
    ck_assert(!ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    ck_assert(!ath_kube_cache_has_list(cache, ATH_KUBE_PODS, number));
    ath_kube_cache_end(cache, ATH_KUBE_PODS);
    ck_assert(ath_kube_cache_has_list(cache, ATH_KUBE_PODS, number));
}

TEST(a_refused_binding_frees_the_gpus)
{
    put(ATH_KUBE_NODES, node_json("n", 1, 0, 0, 100));
    put_whole_pod("1", NULL, "1", NULL);
    ck_assert_int_eq(reserve("1", "n", "n-0"), 0);
    ath_kube_cache_release(cache, "1");
    ck_assert_uint_eq(used(), 0);
    ck_assert_int_eq(reserve("1", "n", "n-0"), 0);
    ath_kube_cache_confirm(cache, "1");
    ath_kube_cache_release(cache, "1");
    ck_assert_uint_eq(used(), 1);
}

TEST(pods_of_an_earlier_process_keep_their_gpus)
{
    put_whole_pod("1", "n-1", "1", "n"); /* before its node is known */
    put(ATH_KUBE_NODES, node_json("n", 2, 300, 100, 100));
    put_whole_pod("2", NULL, "1", NULL);
    ck_assert_int_eq(reserve("2", "n", "n-0"), 0);
}

TEST(an_old_event_does_not_free_a_bound_pod)
{
    put(ATH_KUBE_NODES, node_json("n", 1, 0, 0, 100));
    put_whole_pod("1", NULL, "1", NULL);
    ck_assert_int_eq(reserve("1", "n", "n-0"), 0);
    ath_kube_cache_confirm(cache, "1");
    put_whole_pod("1", NULL, "1", NULL);
    ck_assert_uint_eq(used(), 1);
}

TEST(a_list_drops_what_it_lacks)
{
    put(ATH_KUBE_NODES, node_json("n", 4, 300, 100, 100));
    put(ATH_KUBE_NODES, node_json("old", 1, 0, 0, 100));
    put_whole_pod("gone", "n-3", "1", "n");
    put_whole_pod("stays", "n-2", "1", "n");
    put_whole_pod("reserved", NULL, "1", NULL);
    put_whole_pod("bound", NULL, "1", NULL);
    ck_assert_int_eq(reserve("reserved", "n", "n-0"), 0);
    clock_ms += 10;
    ath_kube_cache_begin(cache, ATH_KUBE_PODS);
    ck_assert_int_eq(reserve("bound", "n", "n-1"), 0);
    ath_kube_cache_confirm(cache, "bound");
    put_whole_pod("stays", "n-2", "1", "n");
    ath_kube_cache_end(cache, ATH_KUBE_PODS);
    ck_assert_uint_eq(used(), 3);
    ath_kube_cache_begin(cache, ATH_KUBE_NODES);
    put(ATH_KUBE_NODES, node_json("n", 4, 300, 100, 100));
    ath_kube_cache_end(cache, ATH_KUBE_NODES);
    struct ath_kube_cache_counts counts;
    ath_kube_cache_count(cache, &counts);
    ck_assert_uint_eq(counts.nodes, 1);
    ck_assert_uint_eq(counts.gpus_used, 3);
    begin_and_end(ATH_KUBE_QUOTAS);
    ck_assert(ath_kube_cache_is_ready(cache));
}

TEST(shared_gpus_are_filled_up)
{
    put(ATH_KUBE_NODES, node_json("n", 2, 300, 100, 100));
    for (int i = 0; i < 8; i++) {
        ath_auto_free char *uid = ath_xasprintf("p%d", i);
        put(ATH_KUBE_PODS, pod_json(uid, "\"aitherion.io/gpu-memory\":\"20Gi\"", "", NULL));
        ck_assert_int_eq(reserve(uid, "n", i < 4 ? "n-0" : "n-1"), 0);
    }
    put(ATH_KUBE_PODS, pod_json("last", "\"aitherion.io/gpu-memory\":\"1\"", "", NULL));
    ck_assert_int_eq(reserve("last", "n", ""), -EBUSY);
}

/* ---- a fake API server ---- */

/* An answer, in order. */
struct recorded {
    const char *path; /* how the request's path begins; NULL: any */
    long status;      /* 0: the connection breaks */
    const char *body; /* of a watch: its lines */
    int retry_after_s;
};

static struct {
    const struct recorded *answers;
    size_t count, at;
    uint64_t passing_ms; /* that each call takes */
    void (*meanwhile)(void);
    char *body; /* of the last request with one */
    char *path;
} fake;

static int answer(void *self, const struct ath_kube_call *call, struct ath_kube_reply *out,
                  struct ath_err *err)
{
    (void)self;
    ck_assert_msg(fake.at < fake.count, "no answer is left for %s", call->path);
    const struct recorded *recorded = &fake.answers[fake.at++];
    if (recorded->path)
        ck_assert_msg(ath_starts_with(call->path, recorded->path), "%s, not %s", call->path,
                      recorded->path);
    free(fake.path);
    fake.path = ath_xstrdup(call->path);
    clock_ms += fake.passing_ms;
    if (fake.meanwhile)
        fake.meanwhile();
    if (call->body) {
        free(fake.body);
        fake.body = ath_xstrdup(call->body);
    }
    if (!recorded->status)
        return ath_err_set(err, -EIO, ATH_E_PEER_UNREACHABLE, "no connection");
    out->status = recorded->status;
    out->retry_after_s = recorded->retry_after_s;
    if (!call->on_line || recorded->status != 200) {
        ath_text_add(&out->body, "%s", recorded->body ? recorded->body : "");
        return 0;
    }
    for (const char *line = recorded->body ? recorded->body : ""; *line;) {
        size_t length = strcspn(line, "\n");
        if (call->on_line(call->context, line, length))
            return 0;
        line += length + (line[length] == '\n');
    }
    return 0;
}

#define SAYS(path, status, body) SAYS_LATER(path, status, body, 0)
#define SAYS_LATER(path, status, body, retry_after_s)                                              \
    {                                                                                              \
        path, status, body, retry_after_s                                                          \
    }

static const struct ath_kube_api api = { .call = answer };

#define ANSWERS(...)                                                                               \
    fake.answers = (const struct recorded[]){ __VA_ARGS__ };                                       \
    fake.count = sizeof((const struct recorded[]){ __VA_ARGS__ }) / sizeof(struct recorded);       \
    fake.at = 0

static struct ath_kube_watch watch_of(enum ath_kube_kind kind)
{
    return (struct ath_kube_watch){ .api = &api, .path = "/list", .cache = cache, .kind = kind };
}

#define NODE_JSON(name, version)                                                                   \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version                          \
    "\"},\"status\":{\"phase\":\"Ready\",\"devices\":[{\"uuid\":\"" name "-0\"}]}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

#define EMPTY(version)                                                                             \
    SAYS("/list?limit", 200, "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[]}")

static size_t node_count(void)
{
    struct ath_kube_cache_counts counts;
    ath_kube_cache_count(cache, &counts);
    return counts.nodes;
}

TEST(a_list_comes_in_pages_and_then_a_watch)
{
    struct ath_kube_watch watch = watch_of(ATH_KUBE_NODES);
    struct ath_err err;
    ANSWERS(
        SAYS("/list?limit=500", 200,
             "{\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"a+b/"
             "=\"},\"items\":[" NODE_JSON("n1", "3") "]}"),
        SAYS("/list?limit=500&continue=a%2Bb%2F%3D", 200,
             "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" NODE_JSON("n2", "4") "]}"),
        SAYS("/list?watch=1&timeoutSeconds=240&allowWatchBookmarks=true&resourceVersion=10", 200,
             EVENT("ADDED", NODE_JSON("n3", "11")) EVENT("MODIFIED", NODE_JSON("n3", "12"))
                 EVENT("DELETED", NODE_JSON("n1", "13"))
                     EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"20\"}}")),
        SAYS("/list?watch=1&timeoutSeconds=240&allowWatchBookmarks=true&resourceVersion=20", 200,
             ""));
    ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 0);
    ck_assert_uint_eq(node_count(), 2);
    ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 0);
    ck_assert_uint_eq(node_count(), 2);
    ck_assert_uint_eq(watch.events, 4);
    ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 100);
    ck_assert_int_eq(err.code, ATH_E_NONE);
    ath_kube_watch_free(&watch);
}

TEST(a_version_that_is_gone_begins_a_list)
{
    struct ath_kube_watch watch = watch_of(ATH_KUBE_NODES);
    struct ath_err err;
    ANSWERS(EMPTY("1"),
            SAYS("/list?watch", 200,
                 EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410,\"message\":\"too old\"}")),
            EMPTY("5"), SAYS("/list?watch", 410, "{\"message\":\"too old\"}"), EMPTY("9"),
            SAYS("/list?watch=1&timeoutSeconds=240&allowWatchBookmarks=true&resourceVersion=9", 200,
                 EVENT("ADDED", NODE_JSON("n", "10"))));
    for (int i = 0; i < 6; i++) {
        unsigned int wait_ms = ath_kube_watch_step(&watch, &err);
        ck_assert_uint_eq(wait_ms, i == 1 || i == 3 ? 100 : 0);
        ck_assert_int_eq(err.code != ATH_E_NONE, i == 1 || i == 3);
    }
    ck_assert_uint_eq(node_count(), 1);
    ck_assert_uint_eq(watch.lists, 3);
    ath_kube_watch_free(&watch);
}

TEST(failures_wait_ever_longer_and_garbage_is_a_failure)
{
    static const unsigned int waits_ms[] = { 100,  200,   400,   800,   1600, 3200,
                                             6400, 12800, 25600, 30000, 30000 };
    struct ath_kube_watch watch = watch_of(ATH_KUBE_NODES);
    struct ath_err err;
    ANSWERS(SAYS(NULL, 0, NULL), SAYS(NULL, 500, "oops"), SAYS(NULL, 200, "no json"),
            SAYS(NULL, 200, "{}"),
            SAYS(NULL, 200, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":7}"),
            SAYS(NULL, 200, ""), SAYS(NULL, 403, "{\"message\":\"forbidden\"}"),
            SAYS(NULL, 404, NULL), SAYS(NULL, 200, "{\"metadata\":{},\"items\":[]}"),
            SAYS(NULL, 302, NULL), SAYS(NULL, 0, NULL), SAYS_LATER(NULL, 429, NULL, 60), EMPTY("1"),
            SAYS(NULL, 503, NULL));
    for (size_t i = 0; i < ATH_COUNT(waits_ms); i++) {
        ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), waits_ms[i]);
        ck_assert_int_ne(err.code, ATH_E_NONE);
    }
    ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 30000);
    ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 0);
    ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 100);
    ath_kube_watch_free(&watch);
}

TEST(retry_after_is_obeyed)
{
    struct ath_kube_watch watch = watch_of(ATH_KUBE_NODES);
    struct ath_err err;
    ANSWERS(SAYS_LATER(NULL, 429, NULL, 3), SAYS_LATER(NULL, 429, NULL, 1));
    ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 3000);
    ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 1000);
}

TEST(garbage_in_a_watch_keeps_the_version_until_the_fifth_failure)
{
    static const char *const lines[] = { "no json\n", "{}\n", "[]\n",
                                         EVENT("FLYING", NODE_JSON("n", "7")),
                                         EVENT("ADDED", "7") };
    struct ath_err err;
    for (size_t i = 0; i < ATH_COUNT(lines); i++) {
        struct ath_kube_watch watch = watch_of(ATH_KUBE_NODES);
        ANSWERS(EMPTY("4"), SAYS("/list?watch", 200, lines[i]), SAYS("/list?watch", 200, lines[i]),
                SAYS("/list?watch", 200, lines[i]), SAYS("/list?watch", 200, lines[i]),
                SAYS("/list?watch", 200, lines[i]), EMPTY("8"));
        for (size_t step = 0; step < fake.count; step++) {
            ck_assert_msg((watch.version == NULL) == (step == 0 || step == 6), "%s", lines[i]);
            ath_kube_watch_step(&watch, &err);
        }
        ck_assert_str_eq(watch.version, "8");
        ath_kube_watch_free(&watch);
    }
}

TEST(a_server_without_bookmarks_is_asked_without_them)
{
    struct ath_kube_watch watch = watch_of(ATH_KUBE_NODES);
    struct ath_err err;
    ANSWERS(EMPTY("1"),
            SAYS("/list?watch", 500, "{\"message\":\"RequestWatchProgress is disabled\"}"),
            SAYS("/list?watch=1&timeoutSeconds=240&resourceVersion=1", 200,
                 EVENT("ADDED", NODE_JSON("n", "2"))));
    for (int i = 0; i < 3; i++)
        ath_kube_watch_step(&watch, &err);
    ck_assert_uint_eq(node_count(), 1);
    ath_kube_watch_free(&watch);
}

TEST(a_faulty_object_does_not_end_a_watch)
{
    struct ath_kube_watch watch = watch_of(ATH_KUBE_NODES);
    struct ath_err err;
    ANSWERS(EMPTY("1"),
            SAYS("/list?watch", 200,
                 EVENT("ADDED", "{\"metadata\":{\"name\":\"bad\",\"resourceVersion\":\"2\"},"
                                "\"status\":{\"devices\":[{}]}}")
                     EVENT("ADDED", NODE_JSON("good", "3"))));
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(ath_kube_watch_step(&watch, &err), 0);
    ck_assert_uint_eq(watch.faults, 1);
    ck_assert_uint_eq(node_count(), 1);
    ath_kube_watch_free(&watch);
}

/* ---- the scheduler's requests ---- */

static struct ath_kube_extender extender;

static void make_ready(void)
{
    extender = (struct ath_kube_extender){ .cache = cache, .api = &api };
    for (int kind = 0; kind < ATH_KUBE_KINDS; kind++)
        begin_and_end((enum ath_kube_kind)kind);
}

/* Returns the answer as JSON; NULL if the status of HTTP is not 200. */
static json_t *ask(enum ath_kube_verb verb, const char *body, unsigned int status)
{
    ATH_AUTO(ath_text) text = { 0 };
    ck_assert_uint_eq(ath_kube_extender_answer(&extender, verb, body, strlen(body), &text), status);
    return status == 200 ? json_of(text.data) : NULL;
}

static char *question(json_t *pod, const char *names)
{
    ath_auto_free char *text = json_dumps(pod, JSON_COMPACT);
    json_decref(pod);
    return ath_xasprintf("{\"Pod\":%s,\"Nodes\":null,\"NodeNames\":%s}", text, names);
}

static void check_json(json_t *value, const char *expected)
{
    ath_auto_free char *text = json_dumps(value, JSON_COMPACT);
    ck_assert_str_eq(text, expected);
    json_decref(value);
}

TEST(filter_answers_as_the_scheduler_reads_it)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n1", 8, 300, 100, 100));
    put(ATH_KUBE_NODES, node_json("n2", 2, 300, 100, 100));
    put(ATH_KUBE_NODES, node_json("n3", 4, 300, 100, 100));
    put_whole_pod("other", "n3-0", "1", "n3");
    ath_auto_free char *body = question(pod_json("1", "\"aitherion.io/gpu\":\"4\"", "", NULL),
                                        "[\"n1\",\"n2\",\"n3\",\"n4\"]");
    /* Kubernetes before 1.21 reads FailedNodes only. */
    check_json(ask(ATH_KUBE_FILTER, body, 200),
               "{\"Nodes\":null,\"NodeNames\":[\"n1\"],\"FailedNodes\":{\"n2\":\"the pod wants 4 "
               "GPUs, and 2 of the node's 2 GPUs can be used for that\",\"n3\":\"the pod wants 4 "
               "GPUs, and 3 of 4 have room now\",\"n4\":\"there is no ComputeNode: aitherion's "
               "agent does not run on the node\"},\"FailedAndUnresolvableNodes\":{\"n2\":\"the pod "
               "wants 4 GPUs, and 2 of the node's 2 GPUs can be used for that\",\"n4\":\"there is "
               "no ComputeNode: aitherion's agent does not run on the node\"},\"Error\":\"\"}");
    ck_assert_uint_eq(extender.figures.refusals[ATH_KUBE_REFUSED_BUSY], 1);
    ck_assert_uint_eq(extender.figures.refusals[ATH_KUBE_REFUSED_HOPELESS], 2);
}

TEST(a_pod_without_gpus_passes_everywhere)
{
    make_ready();
    ath_auto_free char *body = question(pod_json("1", "", "", NULL), "[\"n1\"]");
    check_json(ask(ATH_KUBE_FILTER, body, 200),
               "{\"Nodes\":null,\"NodeNames\":[\"n1\"],\"FailedNodes\":{},"
               "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
    check_json(ask(ATH_KUBE_PRIORITIZE, body, 200), "[{\"Host\":\"n1\",\"Score\":0}]");
}

TEST(a_faulty_request_of_a_pod_names_its_fault)
{
    make_ready();
    ath_auto_free char *body =
        question(pod_json("1", "\"aitherion.io/gpu\":\"x\"", "", NULL), "[\"n1\"]");
    check_json(ask(ATH_KUBE_FILTER, body, 200),
               "{\"Nodes\":null,\"NodeNames\":[],\"FailedNodes\":{\"n1\":\"'aitherion.io/gpu' is "
               "no quantity\"},"
               "\"FailedAndUnresolvableNodes\":{\"n1\":\"'aitherion.io/gpu' is no quantity\"},"
               "\"Error\":\"\"}");
}

TEST(prioritize_answers_a_bare_list)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n1", 8, 300, 100, 100));
    put(ATH_KUBE_NODES, node_json("n2", 8, 150, 100, 100));
    ath_auto_free char *body =
        question(pod_json("1", "\"aitherion.io/gpu\":\"2\"", "", NULL), "[\"n1\",\"n2\",\"n9\"]");
    check_json(ask(ATH_KUBE_PRIORITIZE, body, 200),
               "[{\"Host\":\"n1\",\"Score\":9},{\"Host\":\"n2\",\"Score\":7},{\"Host\":\"n9\","
               "\"Score\":0}]");
}

TEST(names_come_back_as_they_came)
{
    make_ready();
    ath_auto_free char *body = question(pod_json("1", "\"aitherion.io/gpu\":\"2\"", "", NULL),
                                        "[\"a\\\"b\\\\c\\n\",\"\\u00e9\"]");
    check_json(ask(ATH_KUBE_PRIORITIZE, body, 200),
               "[{\"Host\":\"a\\\"b\\\\c\\n\",\"Score\":0},{\"Host\":\"\xc3\xa9\",\"Score\":0}]");
}

TEST(the_preferred_model_decides_between_equal_nodes)
{
    make_ready();
    json_t *other = node_json("n2", 8, 300, 100, 100);
    json_t *devices = json_object_get(json_object_get(other, "status"), "devices");
    for (size_t i = 0; i < json_array_size(devices); i++)
        json_object_set_new(json_array_get(devices, i), "model",
                            json_string("Tesla V100-SXM2-32GB"));
    put(ATH_KUBE_NODES, node_json("n1", 8, 300, 100, 100));
    put(ATH_KUBE_NODES, other);
    ath_auto_free char *body =
        question(pod_json("1", "\"aitherion.io/gpu\":\"2\"",
                          "\"aitherion.io/preferred-model\":\"v100-sxm2-32gb\"", NULL),
                 "[\"n1\",\"n2\"]");
    /* 40 + 30 + 5 + 0 = 75 */
    check_json(ask(ATH_KUBE_PRIORITIZE, body, 200),
               "[{\"Host\":\"n1\",\"Score\":8},{\"Host\":\"n2\",\"Score\":9}]");
}

#define BIND "{\"PodName\":\"pod-1\",\"PodNamespace\":\"default\",\"PodUID\":\"1\",\"Node\":\"n1\"}"

TEST(bind_sends_the_gpus_with_the_binding)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n1", 8, 300, 100, 100));
    put(ATH_KUBE_PODS,
        pod_json("1", "\"aitherion.io/gpu\":\"2\",\"aitherion.io/gpu-memory\":\"2Gi\"", "", NULL));
    ANSWERS(SAYS("/api/v1/namespaces/default/pods/pod-1/binding", 201, "{}"));
    check_json(ask(ATH_KUBE_BIND, BIND, 200), "{\"Error\":\"\"}");
    ck_assert_str_eq(
        fake.body,
        "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"pod-1\","
        "\"namespace\":\"default\",\"uid\":\"1\",\"annotations\":{\"aitherion.io/gpus\":"
        "\"n1-0,n1-1\",\"aitherion.io/numa-nodes\":\"0\",\"aitherion.io/runtime\":"
        "\"10.0.0.1:50051\",\"aitherion.io/memory-of-each-gpu\":\"1073741824\"}},\"target\":{"
        "\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\"}}");
    ck_assert_uint_eq(used(), 2);
    clock_ms += 60000;
    ck_assert_uint_eq(used(), 2);
}

TEST(bind_asks_for_a_pod_that_it_does_not_know)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n1", 8, 300, 100, 100));
    json_auto_t *pod = pod_json("1", "\"aitherion.io/gpu\":\"1\"", "", NULL);
    ath_auto_free char *text = json_dumps(pod, JSON_COMPACT);
    ANSWERS(SAYS("/api/v1/namespaces/default/pods/pod-1", 200, text),
            SAYS("/api/v1/namespaces/default/pods/pod-1/binding", 201, NULL));
    check_json(ask(ATH_KUBE_BIND, BIND, 200), "{\"Error\":\"\"}");
    ck_assert_uint_eq(used(), 1);
}

TEST(bind_of_a_pod_without_gpus_is_a_plain_binding)
{
    make_ready();
    json_auto_t *pod = pod_json("1", "", "", NULL);
    ath_auto_free char *text = json_dumps(pod, JSON_COMPACT);
    ANSWERS(SAYS(NULL, 200, text),
            SAYS("/api/v1/namespaces/default/pods/pod-1/binding", 201, NULL));
    check_json(ask(ATH_KUBE_BIND, BIND, 200), "{\"Error\":\"\"}");
    ck_assert_ptr_null(strstr(fake.body, "aitherion.io"));
}

TEST(bind_does_not_take_a_pod_of_the_same_name)
{
    make_ready();
    json_auto_t *pod = pod_json("1", "\"aitherion.io/gpu\":\"1\"", "", NULL);
    json_object_set_new(json_object_get(pod, "metadata"), "uid", json_string("2"));
    ath_auto_free char *text = json_dumps(pod, JSON_COMPACT);
    ANSWERS(SAYS(NULL, 200, text));
    check_json(ask(ATH_KUBE_BIND, BIND, 200),
               "{\"Error\":\"the pod 'pod-1' is another one than the scheduler's\"}");
}

TEST(a_binding_that_is_refused_frees_and_one_that_is_lost_is_looked_for)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n1", 1, 0, 0, 100));
    put_whole_pod("1", NULL, "1", NULL);
    ANSWERS(SAYS(NULL, 409, "{\"message\":\"already assigned\"}"));
    check_json(
        ask(ATH_KUBE_BIND, BIND, 200),
        "{\"Error\":\"the API server does not bind the pod 'pod-1' to the node 'n1': already "
        "assigned\"}");
    ck_assert_uint_eq(used(), 0);
    ANSWERS(SAYS(NULL, 0, NULL));
    check_json(ask(ATH_KUBE_BIND, BIND, 200), "{\"Error\":\"no connection\"}");
    ck_assert_uint_eq(used(), 1);
    clock_ms += 30000;
    list_unbound();
    ck_assert_uint_eq(used(), 0);
    ANSWERS(SAYS(NULL, 500, "\xff\xfe"));
    check_json(ask(ATH_KUBE_BIND, BIND, 200),
               "{\"Error\":\"the API server does not bind the pod 'pod-1' to the node 'n1': HTTP "
               "500\"}");
    ck_assert_uint_eq(used(), 1);
}

TEST(a_busy_server_is_asked_three_times)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n1", 1, 0, 0, 100));
    put_whole_pod("1", NULL, "1", NULL);
    ANSWERS(SAYS(NULL, 429, NULL), SAYS(NULL, 503, NULL), SAYS(NULL, 201, NULL));
    check_json(ask(ATH_KUBE_BIND, BIND, 200), "{\"Error\":\"\"}");
    ck_assert_uint_eq(used(), 1);
    put_whole_pod("2", NULL, "1", NULL);
    check_json(ask(ATH_KUBE_BIND,
                   "{\"PodName\":\"p\",\"PodNamespace\":\"d\",\"PodUID\":\"2\",\"Node\":\"n1\"}",
                   200),
               "{\"Error\":\"the node 'n1' does not fit any more: the pod wants a GPU, and 0 of 1 "
               "have room now\"}");
}

TEST(a_pod_that_may_be_bound_fits_only_there)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n1", 1, 0, 0, 100));
    put(ATH_KUBE_NODES, node_json("n2", 1, 0, 0, 100));
    put_whole_pod("1", NULL, "1", NULL);
    ck_assert_int_eq(reserve("1", "n1", "n1-0"), 0);
    ath_kube_cache_doubt(cache, "1");
    ath_auto_free char *body =
        question(pod_json("1", "\"aitherion.io/gpu\":\"1\"", "", NULL), "[\"n1\",\"n2\"]");
    check_json(ask(ATH_KUBE_FILTER, body, 200),
               "{\"Nodes\":null,\"NodeNames\":[\"n1\"],\"FailedNodes\":{\"n2\":\"a binding of "
               "the pod to the node 'n1' may be on its way\"},"
               "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
}

/* ---- the lease ---- */

static struct ath_kube_lease lease;

static void make_lease(void)
{
    make_ready();
    lease = (struct ath_kube_lease){
        .api = &api, .cache = cache, .space = "s", .name = "l", .identity = "me", .clock = now
    };
    ath_kube_lease_begin(&lease);
    extender.lease = &lease;
}

static unsigned int step_lease(void)
{
    struct ath_err err;
    return ath_kube_lease_step(&lease, &err);
}

/* Whether a call of so many milliseconds may be sent now. */
static bool may_call(int call_ms)
{
    struct ath_err err;
    int status = ath_kube_lease_enter(&lease, call_ms, 0, &err);
    if (!status)
        ath_kube_lease_leave(&lease);
    return !status;
}

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/s/leases"
#define LEASE_OF(version, holder)                                                                  \
    "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"spec\":{" holder                        \
    "\"leaseDurationSeconds\":15,\"leaseTransitions\":7}}"
#define HOLDER(name) "\"holderIdentity\":\"" name "\","

static void take_lease(void)
{
    ANSWERS(SAYS(LEASE "/l", 404, NULL), SAYS(LEASE, 201, LEASE_OF("1", HOLDER("me"))));
    ath_kube_lease_want(&lease);
    ck_assert_uint_eq(step_lease(), ATH_KUBE_LEASE_MS / 3);
    ck_assert_uint_eq(fake.at, 2);
}

TEST(the_lease_is_taken_when_a_request_comes_and_after_a_list)
{
    make_lease();
    ANSWERS(SAYS(LEASE "/l", 404, NULL));
    ck_assert_uint_eq(step_lease(), ATH_KUBE_LEASE_MS / 3);
    ck_assert_uint_eq(fake.at, 1);
    ck_assert(!ath_kube_lease_is_held(&lease));
    take_lease();
    json_auto_t *body = json_of(fake.body);
    const json_t *spec = json_object_get(body, "spec");
    ck_assert_str_eq(json_string_value(json_object_get(spec, "holderIdentity")), "me");
    ck_assert_int_eq(json_integer_value(json_object_get(spec, "leaseDurationSeconds")), 15);
    ck_assert_uint_eq(json_string_length(json_object_get(spec, "renewTime")), 27);
    ck_assert_ptr_null(json_object_get(json_object_get(body, "metadata"), "resourceVersion"));
    ck_assert(ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    ck_assert(!may_call(0));
    begin_and_end(ATH_KUBE_PODS);
    ck_assert(may_call(0));
    ck_assert(ath_kube_lease_is_held(&lease));
    ath_kube_lease_free(&lease);
}

static void want_lease(void)
{
    ath_kube_lease_want(&lease);
}

TEST(a_request_that_comes_during_a_step_is_not_forgotten)
{
    make_lease();
    fake.meanwhile = want_lease;
    ANSWERS(SAYS(LEASE "/l", 404, NULL));
    unsigned int wait_ms = step_lease();
    fake.meanwhile = NULL;
    uint64_t begin_ms = ath_now_ms();
    ath_kube_lease_await(&lease, wait_ms * 1000);
    ck_assert_uint_lt(ath_now_ms() - begin_ms, (uint64_t)wait_ms * 1000);
    take_lease();
    ath_kube_lease_free(&lease);
}

TEST(a_call_must_end_before_another_extender_may_take_the_lease)
{
    make_lease();
    take_lease();
    begin_and_end(ATH_KUBE_PODS);
    clock_ms += ATH_KUBE_LEASE_MS - ATH_KUBE_LEASE_MARGIN_MS - 3000;
    ck_assert(may_call(3000));
    ck_assert(!may_call(3001));
    clock_ms += 1;
    ck_assert(!may_call(3000));
    clock_ms += 3000 + ATH_KUBE_LEASE_MARGIN_MS - 2;
    ck_assert(ath_kube_lease_is_held(&lease));
    clock_ms += 1;
    ck_assert(!ath_kube_lease_is_held(&lease));
    ath_kube_lease_free(&lease);
}

TEST(a_lease_of_another_is_taken_when_it_was_not_renewed_for_its_time)
{
    static const char one[] = LEASE_OF("5", HOLDER("other")),
                      two[] = LEASE_OF("6", HOLDER("other"));
    struct ath_err err;

    make_lease();
    ANSWERS(SAYS(NULL, 200, one), SAYS(NULL, 200, one), SAYS(NULL, 200, two), SAYS(NULL, 200, two),
            SAYS(NULL, 200, two), SAYS(LEASE "/l", 200, LEASE_OF("8", HOLDER("me"))));
    step_lease(); /* also before a request comes */
    ath_kube_lease_want(&lease);
    ck_assert_uint_eq(step_lease(), 1000);
    ck_assert_int_eq(ath_kube_lease_enter(&lease, 0, 0, &err), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.message, "the extender 'other' holds it"));
    clock_ms += ATH_KUBE_LEASE_MS;
    ath_kube_lease_want(&lease);
    step_lease(); /* renewed meanwhile */
    clock_ms += ATH_KUBE_LEASE_MS - 1;
    ath_kube_lease_want(&lease);
    step_lease();
    ck_assert_uint_eq(fake.at, 4);
    clock_ms += 1;
    step_lease();
    ck_assert_uint_eq(fake.at, 6);
    ck_assert_ptr_nonnull(strstr(fake.body, "\"resourceVersion\":\"6\""));
    ck_assert_ptr_nonnull(strstr(fake.body, "\"leaseTransitions\":8"));
    ck_assert(ath_kube_lease_is_held(&lease));
    ck_assert(!may_call(0));
    ath_kube_lease_free(&lease);
}

TEST(a_lease_is_renewed_and_lost_if_another_was_quicker)
{
    make_lease();
    take_lease();
    begin_and_end(ATH_KUBE_PODS);
    ANSWERS(SAYS(LEASE "/l", 200, LEASE_OF("2", HOLDER("me"))), SAYS(NULL, 0, NULL),
            SAYS(NULL, 409, NULL));
    clock_ms += 5000;
    step_lease();
    clock_ms += ATH_KUBE_LEASE_MS - ATH_KUBE_LEASE_MARGIN_MS;
    ath_kube_lease_want(&lease);
    ck_assert(may_call(0));
    ck_assert_uint_eq(step_lease(), 1000); /* the server does not answer */
    ck_assert(may_call(0));
    step_lease();
    ck_assert(!may_call(0));
    ck_assert(!ath_kube_lease_is_held(&lease));
    ath_kube_lease_free(&lease);
}

TEST(a_lease_is_given_back_when_requests_cease)
{
    struct ath_err err;

    make_lease();
    take_lease();
    begin_and_end(ATH_KUBE_PODS);
    ck_assert_int_eq(ath_kube_lease_enter(&lease, 0, 0, &err), 0);
    clock_ms += ATH_KUBE_LEASE_IDLE_MS;
    ANSWERS(SAYS(LEASE "/l", 200, LEASE_OF("2", HOLDER("me"))));
    step_lease(); /* a binding is on its way: renewed */
    ck_assert(ath_kube_lease_is_held(&lease));
    ath_kube_lease_leave(&lease);
    ANSWERS(SAYS(LEASE "/l", 200, LEASE_OF("3", "")));
    step_lease();
    ck_assert_uint_eq(fake.at, 1);
    ck_assert_ptr_null(strstr(fake.body, "holderIdentity"));
    ck_assert(!may_call(0));
    /* No other process has held the lease since, so no list is needed. */
    ANSWERS(SAYS(LEASE "/l", 200, LEASE_OF("3", "")),
            SAYS(LEASE "/l", 200, LEASE_OF("4", HOLDER("me"))));
    ath_kube_lease_want(&lease);
    step_lease();
    ck_assert(may_call(0));
    ath_kube_lease_end(&lease, 0);
    ck_assert(!may_call(0));
    ANSWERS(SAYS(LEASE "/l", 200, LEASE_OF("5", "")));
    step_lease();
    ck_assert_uint_eq(fake.at, 1);
    ath_kube_lease_free(&lease);
}

TEST(a_process_takes_the_lease_of_its_identity_after_a_second)
{
    make_lease();
    ath_kube_lease_want(&lease);
    ANSWERS(
        SAYS(NULL, 200, LEASE_OF("5", HOLDER("me"))), SAYS(NULL, 200, LEASE_OF("5", HOLDER("me"))),
        SAYS(NULL, 200, LEASE_OF("5", HOLDER("me"))), SAYS(NULL, 200, LEASE_OF("6", HOLDER("me"))));
    step_lease();
    clock_ms += 999;
    step_lease();
    ck_assert(!ath_kube_lease_is_held(&lease));
    clock_ms += 1;
    step_lease();
    ck_assert(ath_kube_lease_is_held(&lease));
    ck_assert(ath_kube_cache_wants_list(cache, ATH_KUBE_PODS));
    ath_kube_lease_free(&lease);
}

TEST(faults_of_the_lease_are_reasons_of_refused_bindings)
{
    make_lease();
    ath_kube_lease_want(&lease);
    ANSWERS(SAYS(NULL, 403, "{\"message\":\"forbidden\"}"), SAYS(NULL, 200, "{}"),
            SAYS(NULL, 200, "garbage"), SAYS(NULL, 0, NULL));
    struct ath_err err;
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(ath_kube_lease_step(&lease, &err), 1000);
        ck_assert_int_ne(err.code, ATH_E_NONE);
        ck_assert_int_eq(ath_kube_lease_enter(&lease, 0, 0, &err), -EBUSY);
        if (!i)
            ck_assert_str_eq(err.message,
                             "this extender may not bind pods now, as it does not hold "
                             "the Lease 'l' in the namespace 's': the API server "
                             "refuses the Lease 'l' in the namespace 's': forbidden");
    }
    ath_kube_lease_free(&lease);
}

TEST(no_binding_is_sent_when_the_lease_ends_between_two_tries)
{
    make_lease();
    put(ATH_KUBE_NODES, node_json("n1", 1, 0, 0, 100));
    put_whole_pod("1", NULL, "1", NULL);
    take_lease();
    ath_kube_cache_begin(cache, ATH_KUBE_PODS);
    put_whole_pod("1", NULL, "1", NULL);
    ath_kube_cache_end(cache, ATH_KUBE_PODS);
    fake.passing_ms = ATH_KUBE_LEASE_MS;
    ANSWERS(SAYS(NULL, 429, NULL));
    json_auto_t *answer = ask(ATH_KUBE_BIND, BIND, 200);
    fake.passing_ms = 0;
    ck_assert_ptr_nonnull(
        strstr(json_string_value(json_object_get(answer, "Error")), "may not bind pods now"));
    ck_assert_uint_eq(fake.at, 1);
    ck_assert_uint_eq(used(), 0);
    ath_kube_lease_free(&lease);
}

TEST(an_identity_names_the_address_and_is_the_same_again)
{
    ath_auto_free char *one = ath_kube_lease_identity("127.0.0.1:1"),
                       *same = ath_kube_lease_identity("127.0.0.1:1"),
                       *other = ath_kube_lease_identity("127.0.0.1:2");
    ck_assert_str_eq(one, same);
    ck_assert_str_ne(one, other);
    ck_assert_ptr_nonnull(strstr(one, "net:["));
    ck_assert_uint_gt(strlen(strrchr(one, '_')), 30);
}

/* ---- preemption ---- */

static void put_guest(const char *uid, const char *gpu, int priority)
{
    ath_auto_free char *annotation = ath_xasprintf("\"aitherion.io/gpus\":\"%s\"", gpu);
    json_t *pod = pod_json(uid, "\"aitherion.io/gpu\":\"1\"", annotation, "n");
    json_object_set_new(json_object_get(pod, "spec"), "priority", json_integer(priority));
    put(ATH_KUBE_PODS, pod);
}

/* The pod of a request for GPUs, with priority 10. */
static char *preemption(const char *gpus, const char *victims)
{
    ath_auto_free char *limits = ath_xasprintf("\"aitherion.io/gpu\":\"%s\"", gpus);
    json_auto_t *pod = pod_json("new", *gpus == '0' ? "" : limits, "", NULL);
    json_object_set_new(json_object_get(pod, "spec"), "priority", json_integer(10));
    ath_auto_free char *text = json_dumps(pod, JSON_COMPACT);
    return ath_xasprintf("{\"Pod\":%s,\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":%s}",
                         text, victims);
}

static void check_preemption(const char *gpus, const char *victims, const char *expected)
{
    ath_auto_free char *body = preemption(gpus, victims);
    ath_auto_free char *whole = ath_xasprintf("{\"NodeNameToMetaVictims\":%s}", expected);
    check_json(ask(ATH_KUBE_PREEMPT, body, 200), whole);
}

#define VICTIMS(...) "{\"Pods\":[" __VA_ARGS__ "],\"NumPDBViolations\":1}"
#define UID(uid) "{\"UID\":\"" uid "\"}"

TEST(preemption_keeps_the_nodes_where_the_pod_then_fits)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n", 3, 300, 100, 100));
    put_guest("low", "n-0", 1);
    put_guest("old", "n-1", 5);
    clock_ms++;
    put_guest("late", "n-2", 5);
    check_preemption("1", "{\"n\":" VICTIMS() ",\"none\":" VICTIMS() "}",
                     "{\"n\":" VICTIMS(UID("low")) "}");
    check_preemption("1", "{\"n\":" VICTIMS(UID("old") "," UID("other")) "}",
                     "{\"n\":" VICTIMS(UID("old") "," UID("other")) "}");
    check_preemption("2", "{\"n\":" VICTIMS() "}",
                     "{\"n\":" VICTIMS(UID("late") "," UID("low")) "}");
    check_preemption("3", "{\"n\":" VICTIMS() "}",
                     "{\"n\":" VICTIMS(UID("old") "," UID("late") "," UID("low")) "}");
    check_preemption("4", "{\"n\":" VICTIMS(UID("low")) "}", "{}");
    check_preemption("0", "{\"n\":" VICTIMS(UID("x")) "}", "{\"n\":" VICTIMS(UID("x")) "}");
    put_guest("old", "n-1", 10); /* as high as the pod itself */
    check_preemption("3", "{\"n\":" VICTIMS() "}", "{}");
}

TEST(preemption_spares_pods_that_need_not_go)
{
    make_ready();
    put(ATH_KUBE_NODES, node_json("n", 4, 300, 100, 100)); /* NUMA nodes of GPUs: 0 0 8 8 */
    put_guest("a", "n-2", 1);
    put_guest("b", "n-0", 2);
    put_guest("c", "n-1", 3);
    ath_auto_free char *body = NULL;
    json_auto_t *pod = pod_json("new", "\"aitherion.io/gpu\":\"2\"",
                                "\"aitherion.io/numa-policy\":\"single-numa\"", NULL);
    json_object_set_new(json_object_get(pod, "spec"), "priority", json_integer(10));
    ath_auto_free char *text = json_dumps(pod, JSON_COMPACT);
    body = ath_xasprintf("{\"Pod\":%s,\"NodeNameToMetaVictims\":{\"n\":" VICTIMS() "}}", text);
    check_json(ask(ATH_KUBE_PREEMPT, body, 200),
               "{\"NodeNameToMetaVictims\":{\"n\":" VICTIMS(UID("a")) "}}");
    put_guest("d", "n-3", 20);
    check_json(ask(ATH_KUBE_PREEMPT, body, 200),
               "{\"NodeNameToMetaVictims\":{\"n\":" VICTIMS(UID("c") "," UID("b")) "}}");
}

TEST(preemption_refuses_requests_with_faults)
{
    static const char *const victims[] = { "null",
                                           "[]",
                                           "{\"n\":7}",
                                           "{\"n\":{\"Pods\":{}}}",
                                           "{\"n\":{\"Pods\":[{}]}}",
                                           "{\"n\":{\"Pods\":[{\"UID\":\"\"}]}}" };
    make_ready();
    for (size_t i = 0; i < ATH_COUNT(victims); i++) {
        ath_auto_free char *body = preemption("1", victims[i]);
        ask(ATH_KUBE_PREEMPT, body, 400);
    }
    ATH_AUTO(ath_text) text = { 0 };
    static const char whole[] = "{\"NodeNameToVictims\":{\"n\":{\"Pods\":[]}}}";
    ck_assert_uint_eq(
        ath_kube_extender_answer(&extender, ATH_KUBE_PREEMPT, whole, strlen(whole), &text), 400);
    ck_assert_ptr_nonnull(strstr(text.data, "nodeCacheCapable"));
}

TEST(hostile_requests_are_refused)
{
#define POD "\"Pod\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"c\"},\"spec\":{}}"
    static const char *const bodies[] = {
        "",
        "[]",
        "7",
        "{",
        "{}",
        "{\"Pod\":{}}",
        "{" POD ",\"NodeNames\":[7]}",
        "{" POD ",\"NodeNames\":[\"a\\u0000b\"]}",
        "{" POD ",\"Nodes\":{\"items\":[]},\"NodeNames\":null}",
        "{\"PodName\":\"../x\",\"PodNamespace\":\"d\",\"PodUID\":\"1\",\"Node\":\"n1\"}",
        "{\"PodName\":\"a\",\"PodNamespace\":\"d/x\",\"PodUID\":\"1\",\"Node\":\"n1\"}",
        "{\"PodName\":\"a\",\"PodNamespace\":\"d\",\"PodUID\":\"1\",\"Node\":\"..\"}",
        "{\"PodName\":\"a\",\"PodNamespace\":\"d\",\"Node\":\"n\"}",
    };
    make_ready();
    ANSWERS(SAYS(NULL, 500, NULL));
    for (size_t i = 0; i < ATH_COUNT(bodies); i++)
        for (int verb = 0; verb < ATH_KUBE_VERBS; verb++) {
            ATH_AUTO(ath_text) text = { 0 };
            ck_assert_msg(ath_kube_extender_answer(&extender, (enum ath_kube_verb)verb, bodies[i],
                                                   strlen(bodies[i]), &text) == 400,
                          "%s", bodies[i]);
        }
    ck_assert_uint_eq(fake.at, 0);
    ath_auto_free char *deep = ath_xalloc(100001);
    memset(deep, '[', 100000);
    ask(ATH_KUBE_FILTER, deep, 400);
}

TEST(no_request_is_answered_before_the_lists_have_come)
{
    extender = (struct ath_kube_extender){ .cache = cache, .api = &api };
    ask(ATH_KUBE_FILTER, "{}", 503);
    ath_kube_cache_begin(cache, ATH_KUBE_NODES);
    ath_kube_cache_end(cache, ATH_KUBE_NODES);
    ask(ATH_KUBE_FILTER, "{}", 503);
}

/* ---- figures ---- */

/* A bucket has the requests up to its limit; the last one has all that are longer. */
TEST(times_go_to_their_buckets)
{
    static const struct {
        uint64_t ns;
        size_t bucket;
    } rows[] = { { 0, 0 },           { 250000, 0 },      { 250001, 1 },
                 { 500001, 2 },      { 1000000, 2 },     { 500000000, 10 },
                 { 1000000000, 11 }, { 1000000001, 12 }, { UINT32_MAX, 12 } };
    uint64_t sum_ns = 0;
    struct ath_kube_figures figures = { 0 };

    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        uint64_t before = figures.verbs[ATH_KUBE_FILTER].buckets[rows[i].bucket];
        ath_kube_figures_time(&figures, ATH_KUBE_FILTER, rows[i].ns);
        sum_ns += rows[i].ns;
        ck_assert_uint_eq(figures.verbs[ATH_KUBE_FILTER].buckets[rows[i].bucket], before + 1);
        ck_assert_uint_eq(figures.verbs[ATH_KUBE_FILTER].sum_ns, sum_ns);
    }
}
