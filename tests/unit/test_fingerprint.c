/* Fingerprints: every bit, the length and the parts count. */
#include "config.h"

#include "base/fingerprint.h"

#include <stdbool.h>
#include <string.h>

#include "unit.h"

enum { LENGTH = 100 };

static bool are_equal(struct ath_fingerprint_value a, struct ath_fingerprint_value b)
{
    return a.a == b.a || a.b == b.b; /* each half alone must differ */
}

TEST(equal_content_has_equal_fingerprints)
{
    char one[LENGTH], two[LENGTH];
    memset(one, 7, sizeof one);
    memset(two, 7, sizeof two);
    struct ath_fingerprint_value a = ath_fingerprint_of(one, sizeof one);
    struct ath_fingerprint_value b = ath_fingerprint_of(two, sizeof two);
    ck_assert(a.a == b.a && a.b == b.b && a.a != a.b);
}

TEST(each_bit_counts)
{
    unsigned char content[LENGTH] = { 0 };
    struct ath_fingerprint_value before = ath_fingerprint_of(content, sizeof content);
    for (size_t i = 0; i < 8 * sizeof content; i++) {
        content[i / 8] ^= (unsigned char)(1 << i % 8);
        ck_assert_msg(!are_equal(before, ath_fingerprint_of(content, sizeof content)), "bit %zu",
                      i);
        content[i / 8] ^= (unsigned char)(1 << i % 8);
    }
}

TEST(the_length_counts)
{
    static const char zeros[LENGTH];
    for (size_t i = 0; i < sizeof zeros; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(!are_equal(ath_fingerprint_of(zeros, i), ath_fingerprint_of(zeros, j)),
                          "%zu and %zu", i, j);
}

TEST(where_parts_end_counts)
{
    struct ath_fingerprint one = ATH_FINGERPRINT_START, two = ATH_FINGERPRINT_START;
    ath_fingerprint_add(&one, "abc", 3);
    ath_fingerprint_add(&one, "d", 1);
    ath_fingerprint_add(&two, "ab", 2);
    ath_fingerprint_add(&two, "cd", 2);
    ck_assert(!are_equal(ath_fingerprint_end(&one), ath_fingerprint_end(&two)));
}

TEST(the_order_of_words_counts)
{
    uint64_t content[16];
    for (size_t i = 0; i < 16; i++)
        content[i] = i;
    struct ath_fingerprint_value before = ath_fingerprint_of(content, sizeof content);
    for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < i; j++) {
            content[i] = j;
            content[j] = i;
            ck_assert_msg(!are_equal(before, ath_fingerprint_of(content, sizeof content)),
                          "%zu and %zu", i, j);
            content[i] = i;
            content[j] = j;
        }
}
