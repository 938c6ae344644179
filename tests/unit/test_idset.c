/* Sets of ids: the kernel's list and mask formats, and sets as sparse as an AC922's nodes. */
#include "config.h"

#include "base/idset.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

static void expect_list(const char *text, const char *expected)
{
    ATH_AUTO(ath_idset) set = { 0 };
    ck_assert_int_eq(ath_idset_parse_list(text, &set), 0);
    ath_auto_free char *got = ath_idset_format(&set);
    ck_assert_str_eq(got, expected);
}

static void expect_mask(const char *text, const char *expected)
{
    ATH_AUTO(ath_idset) set = { 0 };
    ck_assert_int_eq(ath_idset_parse_mask(text, &set), 0);
    ath_auto_free char *got = ath_idset_format(&set);
    ck_assert_str_eq(got, expected);
}

TEST(reads_lists)
{
    expect_list("0-87", "0-87");
    expect_list("0,8,250-255\n", "0,8,250-255");
    expect_list("", "");
    expect_list(" \n", "");
    expect_list("8,0", "0,8");
    expect_list("0-3,4-7", "0-7");
    expect_list("5,1-9,3", "1-9");
    expect_list("0-16777216", "0-16777216");
}

TEST(refuses_invalid_lists)
{
    static const char *const bad[] = { "a",    "-1",       "3-1", "1-",
                                       "1,,2", "1 2",      "0x1", "1-2-3",
                                       ",",    "16777217", "1;2", "99999999999999999999" };
    for (size_t i = 0; i < ATH_COUNT(bad); i++) {
        struct ath_idset set = { 0 };
        ck_assert_msg(ath_idset_parse_list(bad[i], &set) < 0, "'%s' was accepted", bad[i]);
        ck_assert_ptr_null(set.ranges);
    }
}

/* A hostile capture must not keep aitherion sorting for minutes. */
TEST(refuses_too_many_ranges)
{
    size_t size = 1 << 20, length = 0;
    ath_auto_free char *text = ath_xalloc(size);
    struct ath_idset set = { 0 };

    for (int id = 150000; id > 0 && length + 16 < size; id -= 2)
        length += (size_t)snprintf(text + length, 16, "%d,", id);
    ck_assert_int_lt(ath_idset_parse_list(text, &set), 0);
}

TEST(reads_masks)
{
    expect_mask("0000,00000000,000000ff,ff000000,00000000,00000000", "88-103");
    expect_mask("f", "0-3");
    expect_mask("00000001,00000000\n", "32");
    expect_mask("0x00000003,,0x80000000", "31,64-65");
    expect_mask("0", "");
}

TEST(refuses_invalid_masks)
{
    static const char *const bad[] = { "", "g", "100000000", "1,-1" };
    for (size_t i = 0; i < ATH_COUNT(bad); i++) {
        struct ath_idset set = { 0 };
        ck_assert_msg(ath_idset_parse_mask(bad[i], &set) < 0, "'%s' was accepted", bad[i]);
    }
}

/* Parsing once took quadratic time, minutes for a megabyte of words. */
TEST(reads_a_long_mask_quickly)
{
    size_t words = 200000;
    ath_auto_free char *text = ath_xalloc(words * 2 + 2);
    ATH_AUTO(ath_idset) set = { 0 };

    for (size_t i = 0; i < words; i++)
        memcpy(text + 2 * i, "0,", 2);
    text[2 * words] = '1';
    ck_assert_int_eq(ath_idset_parse_mask(text, &set), 0);
    ck_assert(ath_idset_has(&set, 0));
    ck_assert_uint_eq(ath_idset_count(&set), 1);
}

TEST(adds_in_any_order)
{
    ATH_AUTO(ath_idset) set = { 0 };
    static const int ids[] = { 255, 0, 8, 252, 254, 253, 9, 1, 0 };

    for (size_t i = 0; i < ATH_COUNT(ids); i++)
        ath_idset_add(&set, ids[i], ids[i]);
    ath_idset_add(&set, -1, 3);
    ath_idset_add(&set, 7, 3);
    ath_auto_free char *text = ath_idset_format(&set);
    ck_assert_str_eq(text, "0-1,8-9,252-255");
    ck_assert_uint_eq(ath_idset_count(&set), 8);
    ath_idset_add(&set, 2, 251);
    ck_assert_uint_eq(set.range_count, 1);
}

TEST(iterates_and_finds)
{
    ATH_AUTO(ath_idset) set = { 0 };
    ck_assert_int_eq(ath_idset_next(&set, -1), -1);
    ck_assert_int_eq(ath_idset_parse_list("0,8,250-251", &set), 0);
    static const int expected[] = { 0, 8, 250, 251, -1 };
    int id = -1;
    for (size_t i = 0; i < ATH_COUNT(expected); i++) {
        id = ath_idset_next(&set, id);
        ck_assert_int_eq(id, expected[i]);
    }
    ck_assert(ath_idset_has(&set, 250));
    ck_assert(!ath_idset_has(&set, 249));
    ck_assert(!ath_idset_has(&set, 252));
}

TEST(intersects_and_subtracts)
{
    static const struct {
        const char *a, *b, *both, *left;
    } rows[] = {
        { "0-87", "0-15,88-103", "0-15", "16-87" },
        { "0-9", "2,4-5", "2,4-5", "0-1,3,6-9" },
        { "0-3,8-11", "2-9", "2-3,8-9", "0-1,10-11" },
        { "", "1", "", "" },
        { "5", "", "", "5" },
        { "1-3", "1-3", "1-3", "" },
        { "4-5,7", "0-20", "4-5,7", "" },
        { "3-9", "1-3", "3", "4-9" }, /* the one's last id is the other's first */
        { "3-9", "0-1,3", "3", "4-9" },
        { "0-3", "3-9", "3", "0-2" },
        { "0-3,5-9", "3-5", "3,5", "0-2,6-9" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ATH_AUTO(ath_idset) a = { 0 }, b = { 0 }, both = { 0 }, left = { 0 };
        ck_assert_int_eq(ath_idset_parse_list(rows[i].a, &a), 0);
        ck_assert_int_eq(ath_idset_parse_list(rows[i].b, &b), 0);
        ath_idset_intersect(&a, &b, &both);
        ath_idset_subtract(&a, &b, &left);
        ath_auto_free char *both_text = ath_idset_format(&both);
        ath_auto_free char *left_text = ath_idset_format(&left);
        ck_assert_str_eq(both_text, rows[i].both);
        ck_assert_str_eq(left_text, rows[i].left);
    }
}

TEST(copies_and_compares)
{
    ATH_AUTO(ath_idset) a = { 0 }, b = { 0 }, empty = { 0 };
    ath_idset_add(&a, 3, 9);
    ath_idset_copy(&a, &b);
    ck_assert(ath_idset_equals(&a, &b));
    ath_idset_add(&b, 11, 11);
    ck_assert(!ath_idset_equals(&a, &b));
    ck_assert(!ath_idset_equals(&a, &empty));
    ck_assert(ath_idset_equals(&empty, &empty));
}
