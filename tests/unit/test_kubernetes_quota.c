/* ComputeQuotas: their forms, their faults, and sums at their ends. */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "kubernetes/quota.h"
#include "unit.h"

static int read_spec(const char *spec, struct ath_kube_quota *out)
{
    ath_auto_free char *text =
        ath_xasprintf("{\"metadata\":{\"namespace\":\"s\",\"name\":\"q\"},\"spec\":%s}", spec);
    json_auto_t *json = json_loads(text, 0, NULL);
    struct ath_err err = { 0 };
    ck_assert_msg(json != NULL, "%s", text);
    return ath_kube_quota_read(json, out, &err);
}

TEST(amounts_have_several_names)
{
    static const struct {
        const char *name;
        enum ath_kube_amount amount;
    } rows[] = {
        { "gpu", ATH_KUBE_AMOUNT_GPUS },
        { "aitherion.io/gpu", ATH_KUBE_AMOUNT_GPUS },
        { "vram", ATH_KUBE_AMOUNT_MEMORY },
        { "ai.compute/vram", ATH_KUBE_AMOUNT_MEMORY },
        { "gpu-memory", ATH_KUBE_AMOUNT_MEMORY },
        { "gpu-share", ATH_KUBE_AMOUNT_SHARE },
        { "gpu-tflops", ATH_KUBE_AMOUNT_TFLOPS },
        { "tflops-fp16", ATH_KUBE_AMOUNT_TFLOPS },
        { "aitherion.io/gpu-tflops", ATH_KUBE_AMOUNT_TFLOPS },
        { "ai.compute/tflops-fp16", ATH_KUBE_AMOUNT_TFLOPS },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ATH_AUTO(ath_kube_quota) quota = { 0 };
        ath_auto_free char *spec = ath_xasprintf("{\"hard\":{\"%s\":\"2k\"}}", rows[i].name);
        ck_assert_int_eq(read_spec(spec, &quota), 0);
        ck_assert_ptr_null(quota.fault);
        for (int n = 0; n < ATH_KUBE_AMOUNTS; n++)
            ck_assert_int_eq(quota.hard[n], n == (int)rows[i].amount ? 2000 : -1);
    }
}

TEST(faults_are_found)
{
    static const char *const specs[] = {
        "null",
        "{}",
        "{\"hard\":[]}",
        "{\"hard\":{}}",
        "{\"hard\":{\"gpu\":-1}}",
        "{\"hard\":{\"gpu\":1.5}}",
        "{\"hard\":{\"gpu\":\"x\"}}",
        "{\"hard\":{\"gpu\":null}}",
        "{\"hard\":{\"gpus\":1}}",
        "{\"hard\":{\"gpu\":1,\"aitherion.io/gpu\":2}}",
        "{\"hard\":{\"gpu\":1},\"scopes\":{}}",
        "{\"hard\":{\"gpu\":1},\"scopes\":[{}]}",
        "{\"hard\":{\"gpu\":1},\"scopes\":[{\"priority\":\"a\",\"other\":\"b\"}]}",
        "{\"hard\":{\"gpu\":1},\"selector\":{}}",
        "{\"hard\":{\"gpu\":1},\"selector\":{\"matchLabels\":{\"a\":1}}}",
        "{\"hard\":{\"gpu\":1},\"selector\":{\"matchLabels\":{},\"matchExpressions\":[]}}",
    };
    for (size_t i = 0; i < ATH_COUNT(specs); i++) {
        ATH_AUTO(ath_kube_quota) quota = { 0 };
        const struct ath_kube_wish wish = { .gpu_count = 1, .is_whole = true };
        const int64_t used[ATH_KUBE_AMOUNTS] = { 0 };
        const struct ath_kube_claim claim = { .space = (char *)"s" };
        ck_assert_int_eq(read_spec(specs[i], &quota), 0);
        ck_assert_msg(quota.fault != NULL, "%s", specs[i]);
        ck_assert(ath_kube_quota_concerns(&quota, &claim));
        ath_auto_free char *why = ath_kube_quota_refusal(&quota, &wish, used);
        ck_assert_ptr_nonnull(why);
    }
}

TEST(a_quota_has_a_name_and_a_namespace)
{
    ATH_AUTO(ath_kube_quota) quota = { 0 };
    struct ath_err err = { 0 };
    json_auto_t *json = json_loads("{\"metadata\":{\"name\":\"q\"},\"spec\":{}}", 0, NULL);
    ck_assert_int_eq(ath_kube_quota_read(json, &quota, &err), -EBADMSG);
    ck_assert_int_eq(ath_kube_quota_read(NULL, &quota, &err), -EBADMSG);
}

/* Returns whether a quota of an amount allows a wish beside what is used. */
static bool allows(enum ath_kube_amount amount, int64_t hard, int64_t used,
                   const struct ath_kube_wish *wish)
{
    struct ath_kube_quota quota = { .name = (char *)"q", .hard = { -1, -1, -1, -1 } };
    int64_t sums[ATH_KUBE_AMOUNTS] = { 0 };
    quota.hard[amount] = hard;
    sums[amount] = used;
    ath_auto_free char *why = ath_kube_quota_refusal(&quota, wish, sums);
    return !why;
}

TEST(limits_are_exact)
{
    const struct ath_kube_wish whole = { .gpu_count = 2, .is_whole = true };
    const struct ath_kube_wish part = { .gpu_count = 2, .memory_bytes = 10, .share_percent = 25 };
    const struct ath_kube_wish huge = { .gpu_count = 64, .memory_bytes = INT64_MAX / 2 };

    ck_assert(allows(ATH_KUBE_AMOUNT_GPUS, 5, 3, &whole));
    ck_assert(!allows(ATH_KUBE_AMOUNT_GPUS, 5, 4, &whole));
    ck_assert(allows(ATH_KUBE_AMOUNT_SHARE, 200, 0, &whole));
    ck_assert(!allows(ATH_KUBE_AMOUNT_SHARE, 199, 0, &whole));
    ck_assert(allows(ATH_KUBE_AMOUNT_SHARE, 50, 0, &part));
    ck_assert(!allows(ATH_KUBE_AMOUNT_SHARE, 50, 1, &part));
    ck_assert(allows(ATH_KUBE_AMOUNT_MEMORY, 20, 0, &part));
    ck_assert(!allows(ATH_KUBE_AMOUNT_MEMORY, 20, 1, &part));
    ck_assert(!allows(ATH_KUBE_AMOUNT_MEMORY, INT64_MAX, 0, &whole)); /* not stated */
    ck_assert(!allows(ATH_KUBE_AMOUNT_SHARE, 100, 0, &huge));
    ck_assert(!allows(ATH_KUBE_AMOUNT_MEMORY, 1000, INT64_MAX, &part));
    ck_assert(!allows(ATH_KUBE_AMOUNT_MEMORY, 1000, 0, &huge));
}

/* An A100 has 312 TFLOPS, a V100 of SXM2 has 125. */
TEST(time_and_throughput_follow_from_the_model)
{
    const struct ath_gpu_model *a100 = ath_gpu_model_named("a100-sxm4-80gb");
    const struct ath_gpu_model *v100 = ath_gpu_model_named("v100-sxm2-32gb");
    const struct ath_gpu_model *ascend = ath_gpu_model_named("ascend-910b");
    const struct {
        struct ath_kube_wish wish;
        int64_t tflops, share; /* -1: not stated */
    } rows[] = {
        { { .gpu_count = 2, .tflops = 100 }, 200, -1 },
        { { .gpu_count = 2, .tflops = 156, .model_row = a100 }, 312, 100 },
        { { .gpu_count = 2, .tflops = 156, .model_row = v100 }, 312, -1 }, /* it cannot give it */
        { { .gpu_count = 2, .is_whole = true }, -1, 200 },
        { { .gpu_count = 2, .is_whole = true, .model_row = a100 }, 624, 200 },
        { { .gpu_count = 1, .share_percent = 50, .model_row = v100 }, 63, 50 }, /* 62.5 */
        { { .gpu_count = 1, .share_percent = 50 }, -1, 50 },
        { { .gpu_count = 1, .memory_bytes = 1, .model_row = a100 }, -1, -1 },
        { { .gpu_count = 1, .is_whole = true, .model_row = ascend }, -1, 100 },
    };

    ck_assert(a100 && v100 && ascend);
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        const struct ath_kube_wish *wish = &rows[i].wish;
        const struct {
            enum ath_kube_amount amount;
            int64_t value;
        } both[] = { { ATH_KUBE_AMOUNT_TFLOPS, rows[i].tflops },
                     { ATH_KUBE_AMOUNT_SHARE, rows[i].share } };
        for (size_t k = 0; k < ATH_COUNT(both); k++) {
            int64_t value = both[k].value;
            ck_assert_msg(allows(both[k].amount, value < 0 ? INT64_MAX : value, 0, wish) ==
                              (value >= 0),
                          "row %zu, amount %zu", i, k);
            if (value > 0)
                ck_assert_msg(!allows(both[k].amount, value - 1, 0, wish), "row %zu, amount %zu", i,
                              k);
        }
    }
}

TEST(sums_do_not_overflow)
{
    const struct ath_kube_wish huge = { .gpu_count = 64,
                                        .memory_bytes = INT64_MAX / 2,
                                        .tflops = INT64_MAX / 2 };
    int64_t sums[ATH_KUBE_AMOUNTS] = { 0 };

    for (int i = 0; i < 3; i++)
        ath_kube_amounts_add(&huge, sums);
    ck_assert_int_eq(sums[ATH_KUBE_AMOUNT_GPUS], 192);
    ck_assert_int_eq(sums[ATH_KUBE_AMOUNT_MEMORY], INT64_MAX);
    ck_assert_int_eq(sums[ATH_KUBE_AMOUNT_SHARE], 0);
    ck_assert_int_eq(sums[ATH_KUBE_AMOUNT_TFLOPS], INT64_MAX);
}
