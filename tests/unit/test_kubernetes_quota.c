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
        { "gpu", ATH_KUBE_AMOUNT_GPUS },          { "aitherion.io/gpu", ATH_KUBE_AMOUNT_GPUS },
        { "vram", ATH_KUBE_AMOUNT_MEMORY },       { "ai.compute/vram", ATH_KUBE_AMOUNT_MEMORY },
        { "gpu-memory", ATH_KUBE_AMOUNT_MEMORY }, { "gpu-share", ATH_KUBE_AMOUNT_SHARE },
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
    struct ath_kube_quota quota = { .name = (char *)"q", .hard = { -1, -1, -1 } };
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

TEST(sums_do_not_overflow)
{
    const struct ath_kube_wish huge = { .gpu_count = 64, .memory_bytes = INT64_MAX / 2 };
    int64_t sums[ATH_KUBE_AMOUNTS] = { 0 };

    for (int i = 0; i < 3; i++)
        ath_kube_amounts_add(&huge, sums);
    ck_assert_int_eq(sums[ATH_KUBE_AMOUNT_GPUS], 192);
    ck_assert_int_eq(sums[ATH_KUBE_AMOUNT_MEMORY], INT64_MAX);
    ck_assert_int_eq(sums[ATH_KUBE_AMOUNT_SHARE], 0);
}
