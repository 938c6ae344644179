/* Strict numbers, growing text, and guessing at typing errors. */
#include "config.h"

#include "base/text.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"

START_TEST(reads_unsigned_numbers)
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
END_TEST

START_TEST(reads_signed_numbers_within_bounds)
{
    int value = 7;
    ck_assert_int_eq(ath_parse_int("-1", -1, 10, &value), 0);
    ck_assert_int_eq(value, -1);
    ck_assert_int_eq(ath_parse_int("11", 0, 10, &value), -ERANGE);
    ck_assert_int_eq(ath_parse_int("99999999999999999999", INT_MIN, INT_MAX, &value), -ERANGE);
    ck_assert_int_eq(ath_parse_int("--1", -5, 5, &value), -EINVAL);
    ck_assert_int_eq(ath_parse_int("-", -5, 5, &value), -EINVAL);
    ck_assert_int_eq(ath_parse_int("1.5", 0, 5, &value), -EINVAL);
    ck_assert_int_eq(ath_parse_int("99999999999999999999x", 0, 5, &value), -EINVAL);
    ck_assert_int_eq(value, -1);
}
END_TEST

START_TEST(reads_fractions)
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
END_TEST

START_TEST(builds_text)
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
END_TEST

START_TEST(guesses_what_was_meant)
{
    static const char *const words[] = { "discover", "configure", NULL, "init", "help", "version" };
    size_t count = ATH_COUNT(words);
    ck_assert_str_eq(ath_text_nearest("dicsover", words, count), "discover");
    ck_assert_str_eq(ath_text_nearest("disc", words, count), "discover");
    ck_assert_str_eq(ath_text_nearest("hlep", words, count), "help");
    ck_assert_str_eq(ath_text_nearest("inti", words, count), "init");
    ck_assert_ptr_null(ath_text_nearest("banana", words, count));
    ck_assert_ptr_null(ath_text_nearest("", words, count));
    ath_auto_free char *longest = ath_xalloc(10001);
    memset(longest, 'd', 10000);
    ck_assert_ptr_null(ath_text_nearest(longest, words, count));
}
END_TEST

START_TEST(measures_columns)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return;
    ck_assert_uint_eq(ath_text_width("abc"), 3);
    ck_assert_uint_eq(ath_text_width("\xe5\x86\x85\xe5\xad\x98"), 4); /* two wide characters */
    ck_assert_uint_eq(ath_text_width("\xff\xfe"), 2);
}
END_TEST

START_TEST(grows_arrays)
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
END_TEST

int main(void)
{
    TCase *cases = tcase_create("text");
    tcase_add_test(cases, reads_unsigned_numbers);
    tcase_add_test(cases, reads_signed_numbers_within_bounds);
    tcase_add_test(cases, reads_fractions);
    tcase_add_test(cases, builds_text);
    tcase_add_test(cases, guesses_what_was_meant);
    tcase_add_test(cases, measures_columns);
    tcase_add_test(cases, grows_arrays);
    return run_case(cases, "text");
}
