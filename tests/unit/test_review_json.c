/* The memory for JSON of requests is bounded, and all of it comes back. */
#include "config.h"

#include "kubernetes/review_json.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "unit.h"

SECONDS(60);

static int read_text(const char *text, struct ath_kube_json *out)
{
    return ath_kube_json_read(text, strlen(text), out);
}

static void limit(void)
{
    ath_kube_json_limit();
}

FIXTURE(limit, NULL);

/* Each reading takes the same, however many came before it in the thread and failed. */
TEST(takes_the_same_for_the_same)
{
    size_t first = 0;

    for (int i = 0; i < 8; i++) {
        struct ath_kube_json json = { 0 }, wrong = { 0 };
        ck_assert_int_eq(read_text("{\"a\":[1,2]}", &json), 0);
        ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(json.value, "a"), 1)),
                         2);
        ck_assert_uint_gt(json.taken, 0);
        first = first ? first : json.taken;
        ck_assert_uint_eq(json.taken, first);
        ck_assert_int_eq(read_text("{\"a\":[1,2", &wrong), -EBADMSG);
        ck_assert_ptr_null(wrong.value);
        ck_assert_uint_eq(wrong.taken, first);
        ath_kube_json_free(&wrong);
        ath_kube_json_free(&json);
        ck_assert_ptr_null(json.value);
        ck_assert_uint_eq(json.taken, 0);
    }
}

/* "[[],[],...]", of which each of 3 bytes needs many. */
static char *large_text(size_t count)
{
    char *text = ath_xalloc(3 * count + 2);

    text[0] = '[';
    for (size_t i = 0; i < count; i++)
        memcpy(text + 1 + 3 * i, "[],", 3);
    text[3 * count] = ']';
    return text;
}

/* The requests that are read at once take no more than the bound, and its memory can be taken again
 * and again. */
TEST(refuses_what_is_too_much_until_memory_comes_back)
{
    enum { MOST = 64, ROUNDS = 3 };
    const size_t bound = 256 << 20;
    ath_auto_free char *text = large_text(100000);
    size_t counts[ROUNDS] = { 0 };

    for (int round = 0; round < ROUNDS; round++) {
        struct ath_kube_json json[MOST] = { 0 }, small = { 0 };
        size_t taken = 0;
        int status = 0;
        while (counts[round] < MOST && !(status = read_text(text, &json[counts[round]])))
            taken += json[counts[round]++].taken;
        ck_assert_int_eq(status, -EAGAIN);
        ck_assert_ptr_null(json[counts[round]].value);
        ck_assert_uint_le(taken, bound);
        ck_assert_uint_gt(taken + 2 * json[0].taken, bound);
        ck_assert_uint_eq(counts[round], counts[0]);
        for (size_t i = 0; i <= counts[round]; i++)
            ath_kube_json_free(&json[i]);
        ck_assert_int_eq(read_text("{}", &small), 0);
        ath_kube_json_free(&small);
    }
}
