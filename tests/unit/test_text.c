/* Strict numbers, growing text, and guesses at mistyped words. */
#include "config.h"

#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

TEST(reads_sizes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } right[] = { { "1", 1 },
                  { "65536", 65536 },
                  { "64K", 65536 },
                  { "64k", 65536 },
                  { "64KiB", 65536 },
                  { "1M", 1 << 20 },
                  { "2MB", 2 << 20 },
                  { "1G", 1 << 30 },
                  { "0", 0 },
                  { "17B", 17 },
                  { "16777215GiB", 16777215ull << 30 } };
    static const char *const wrong[] = { "",
                                         "K",
                                         "-1",
                                         "1.5K",
                                         "64 K",
                                         "64KK",
                                         "0x10",
                                         "1T",
                                         "K64",
                                         " 64",
                                         "64K ",
                                         "1e3",
                                         "18446744073709551615K",
                                         "99999999999999999999999999999" };
    uint64_t bytes;

    for (size_t i = 0; i < ATH_COUNT(right); i++) {
        ck_assert_int_eq(ath_parse_size(right[i].text, &bytes), 0);
        ck_assert_uint_eq(bytes, right[i].bytes);
    }
    for (size_t i = 0; i < ATH_COUNT(wrong); i++) {
        bytes = 7;
        ck_assert_msg(ath_parse_size(wrong[i], &bytes) < 0, "'%s' was accepted", wrong[i]);
        ck_assert_uint_eq(bytes, 7);
    }
}

TEST(reads_unsigned_numbers)
{
    static const struct {
        const char *text;
        int base;
        int status;
        uint64_t expected;
    } rows[] = {
        { "0", 10, 0, 0 },
        { "18446744073709551615", 10, 0, UINT64_MAX },
        { "18446744073709551616", 10, -ERANGE, 7 },
        { "42\n", 10, 0, 42 },
        { "42\n\n", 10, -EINVAL, 7 },
        { "", 10, -EINVAL, 7 },
        { "-1", 10, -EINVAL, 7 },
        { "+1", 10, -EINVAL, 7 },
        { " 1", 10, -EINVAL, 7 },
        { "1 ", 10, -EINVAL, 7 },
        { "0x10", 10, -EINVAL, 7 },
        { "a", 10, -EINVAL, 7 },
        { "3f0000000", 16, 0, 0x3f0000000 },
        { "0xFf", 16, 0, 255 },
        { "0x", 16, -EINVAL, 7 },
        { "0x030200", 0, 0, 0x30200 },
        { "010", 0, 0, 10 },
        { "f", 0, -EINVAL, 7 },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        uint64_t value = 7;
        int status = ath_parse_u64(rows[i].text, rows[i].base, &value);
        ck_assert_msg(status == rows[i].status, "'%s' gave %d", rows[i].text, status);
        ck_assert_uint_eq(value, rows[i].expected);
    }
}

TEST(reads_signed_numbers_within_bounds)
{
    int value = 7;
    ck_assert_int_eq(ath_parse_int("-1", -1, 10, &value), 0);
    ck_assert_int_eq(value, -1);
    ck_assert_int_eq(ath_parse_int("-2", -1, 10, &value), -ERANGE);
    ck_assert_int_eq(ath_parse_int("11", 0, 10, &value), -ERANGE);
    ck_assert_int_eq(ath_parse_int("99999999999999999999", INT_MIN, INT_MAX, &value), -ERANGE);
    ck_assert_int_eq(ath_parse_int("--1", -5, 5, &value), -EINVAL);
    ck_assert_int_eq(ath_parse_int("-", -5, 5, &value), -EINVAL);
    ck_assert_int_eq(ath_parse_int("1.5", 0, 5, &value), -EINVAL);
    ck_assert_int_eq(ath_parse_int("99999999999999999999x", 0, 5, &value), -EINVAL);
    ck_assert_int_eq(value, -1);
    ck_assert_int_eq(ath_parse_int("10", 0, 10, &value), 0);
    ck_assert_int_eq(value, 10);
    ck_assert_int_eq(ath_parse_int("-2147483648", INT_MIN, INT_MAX, &value), 0);
    ck_assert_int_eq(value, INT_MIN);
    ck_assert_int_eq(ath_parse_int("2147483647", INT_MIN, INT_MAX, &value), 0);
    ck_assert_int_eq(value, INT_MAX);
    ck_assert_int_eq(ath_parse_int("2147483648", INT_MIN, INT_MAX, &value), -ERANGE);
}

TEST(reads_fractions)
{
    double value = 7;
    ck_assert_int_eq(ath_parse_double("2.5", &value), 0);
    ck_assert_double_eq(value, 2.5);
    ck_assert_int_eq(ath_parse_double("-0.5\n", &value), 0);
    ck_assert_double_eq(value, -0.5);
    static const char *const bad[] = {
        "", "nan", "inf", "0x1p3", "1,5", "1e999", ".5", "8.0 GT/s"
    };
    for (size_t i = 0; i < ATH_COUNT(bad); i++)
        ck_assert_msg(ath_parse_double(bad[i], &value) < 0, "'%s' was taken", bad[i]);
    ck_assert_double_eq(value, -0.5);
}

TEST(builds_text)
{
    struct ath_text text = { 0 };
    for (int i = 0; i < 1000; i++)
        ath_text_add(&text, "%d,", i % 10);
    ath_text_add_bytes(&text, "a\0b", 3);
    ck_assert_uint_eq(text.length, 2003);
    ath_auto_free char *data = ath_text_take(&text);
    ck_assert_int_eq(memcmp(data + 1998, "9,a\0b", 6), 0);
    ck_assert_ptr_null(text.data);
    ath_auto_free char *empty = ath_text_take(&text);
    ck_assert_str_eq(empty, "");
}

TEST(adds_parts)
{
    ATH_AUTO(ath_text) text = { 0 };

    ath_text_add_part(&text, " · ", "%s", "");
    ath_text_add_part(&text, " · ", "%s", "first");
    ath_text_add_part(&text, " · ", "%s", "");
    ck_assert_str_eq(text.data, "first");
    ath_text_add_part(&text, " · ", "%d", 2);
    ck_assert_str_eq(text.data, "first · 2");
}

static const struct {
    const char *text;
    size_t length;
    uint32_t point;
} characters[] = {
    { "a", 1, 'a' },
    { "\xc2\x80", 2, 0x80 },
    { "\xdf\xbf", 2, 0x7ff },
    { "\xe0\xa0\x80", 3, 0x800 },
    { "\xed\x9f\xbf", 3, 0xd7ff },
    { "\xee\x80\x80", 3, 0xe000 },
    { "\xf0\x90\x80\x80", 4, 0x10000 },
    { "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
    { "\x80", 0, 0xfffd },     /* continues a character that was not begun */
    { "\xc1\xbf", 0, 0xfffd }, /* longer than necessary */
    { "\xe0\x9f\xbf", 0, 0xfffd },
    { "\xf0\x8f\xbf\xbf", 0, 0xfffd },
    { "\xed\xa0\x80", 0, 0xfffd },     /* a surrogate */
    { "\xf4\x90\x80\x80", 0, 0xfffd }, /* beyond Unicode */
    { "\xf5\x80\x80\x80", 0, 0xfffd },
    { "\xe2\x82x", 0, 0xfffd }, /* cut off */
    { "\xff", 0, 0xfffd },
};

TEST(splits_lists)
{
    static const char *const lists[][2] = {
        { "", "()" },           { "a", "(a)" },
        { "a,b", "(a)(b)" },    { " a , b\t,c d ", "(a)(b)(c d)" },
        { "a,", "(a)()" },      { ",a", "()(a)" },
        { " , \t,", "()()()" },
    };
    size_t length;
    for (size_t i = 0; i < ATH_COUNT(lists); i++) {
        struct ath_text found = { 0 };
        const char *rest = lists[i][0];
        for (const char *part; (part = ath_text_next_part(&rest, &length));)
            ath_text_add(&found, "(%.*s)", (int)length, part);
        ath_auto_free char *text = ath_text_take(&found);
        ck_assert_str_eq(text, lists[i][1]);
    }
}

LOOP_TEST(decodes_utf8, 0, ATH_COUNT(characters))
{
    uint32_t point = 0;
    size_t length = strlen(characters[_i].text);

    ck_assert_uint_eq(ath_utf8_decode(characters[_i].text, length, &point), characters[_i].length);
    ck_assert_uint_eq(point, characters[_i].point);
    ck_assert_uint_eq(ath_utf8_decode(characters[_i].text, length, NULL), characters[_i].length);
    /* bytes after the given length are not read */
    ck_assert_uint_eq(
        ath_utf8_decode(characters[_i].text, characters[_i].length ? length - 1 : 0, &point), 0);
}

TEST(finds_the_byte_order_mark)
{
    ck_assert_uint_eq(ath_utf8_mark("\xef\xbb\xbfx", 4), 3);
    ck_assert_uint_eq(ath_utf8_mark("\xef\xbb\xbf", 2), 0);
    ck_assert_uint_eq(ath_utf8_mark("x", 1), 0);
    ck_assert(ath_utf8_is_inside('\xbf'));
    ck_assert(!ath_utf8_is_inside('\xc2'));
    ck_assert(!ath_utf8_is_inside('a'));
}

TEST(guesses_mistyped_words)
{
    static const char *const words[] = { "discover", "configure", NULL, "init", "help", "version" };
    size_t count = ATH_COUNT(words);
    ck_assert_str_eq(ath_text_nearest("dicsover", words, count), "discover");
    ck_assert_str_eq(ath_text_nearest("disc", words, count), "discover");
    ck_assert_str_eq(ath_text_nearest("hlep", words, count), "help");
    ck_assert_str_eq(ath_text_nearest("inti", words, count), "init");
    ck_assert_str_eq(ath_text_nearest("ehlp", words, count), "help");
    ck_assert_str_eq(ath_text_nearest("onfigure", words, count), "configure");
    ck_assert_str_eq(ath_text_nearest("comfigura", words, count), "configure");
    ck_assert_ptr_null(ath_text_nearest("comfagora", words, count)); /* four letters of nine */
    ck_assert_ptr_null(ath_text_nearest("elp", words, count));       /* another first letter */
    ck_assert_ptr_null(ath_text_nearest("hemd", words, count));      /* half of the letters */
    ck_assert_ptr_null(ath_text_nearest("banana", words, count));
    ck_assert_ptr_null(ath_text_nearest("", words, count));
    ath_auto_free char *longest = ath_xalloc(10001);
    memset(longest, 'd', 10000);
    ck_assert_ptr_null(ath_text_nearest(longest, words, count));
}

TEST(measures_columns)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return;
    ck_assert_uint_eq(ath_text_width("abc"), 3);
    ck_assert_uint_eq(ath_text_width("\xe5\x86\x85\xe5\xad\x98"), 4); /* two wide characters */
    ck_assert_uint_eq(ath_text_width("\xff\xfe"), 2);
}

TEST(cuts_by_columns)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return;
    ck_assert_uint_eq(ath_text_cut("abc", 0), 0);
    ck_assert_uint_eq(ath_text_cut("abc", 2), 2);
    ck_assert_uint_eq(ath_text_cut("abc", 3), 3);
    ck_assert_uint_eq(ath_text_cut("abc", 9), 3);
    ck_assert_uint_eq(ath_text_cut("\xe5\x86\x85\xe5\xad\x98", 3), 3); /* no half of a letter */
    ck_assert_uint_eq(ath_text_cut("\xe5\x86\x85\xe5\xad\x98", 4), 6);
    ck_assert_uint_eq(ath_text_cut("\xff\xfe", 1), 1);
    setlocale(LC_CTYPE, "C");
}

TEST(grows_arrays)
{
    int *numbers = NULL;
    size_t count = 0;
    for (int i = 0; i < 1000; i++) {
        int *number = ath_push(&numbers, &count, sizeof *numbers);
        ck_assert_int_eq(*number, 0);
        *number = i;
    }
    ck_assert_uint_eq(count, 1000);
    ck_assert_int_eq(numbers[999], 999);
    free(numbers);
}
