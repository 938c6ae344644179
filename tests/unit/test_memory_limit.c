/* Limits of GPU memory as people write them. */
#include "config.h"

#include "base/memory_limit.h"

#include <locale.h>
#include <stdint.h>

#include "unit.h"

static const struct ath_memory_limit untouched = { .bytes = 7 };

static struct ath_memory_limit parse(const char *text, int *out_status)
{
    struct ath_memory_limit limit = untouched;
    *out_status = ath_memory_limit_parse(text, &limit);
    return limit;
}

TEST(reads_sizes_parts_and_none)
{
    static const struct {
        const char *text;
        int64_t bytes, of_1000; /* the limit, and its bytes of a GPU with 1000 bytes */
    } right[] = {
        { "1", 1, 1 },
        { "4G", INT64_C(4) << 30, INT64_C(4) << 30 },
        { "512MiB", 512 << 20, 512 << 20 },
        { "9223372036854775807", INT64_MAX, INT64_MAX },
        { "25%", 0, 250 },
        { "12.5%", 0, 125 },
        { "0.1%", 0, 1 },
        { "100%", 0, 1000 },
        { "none", 0, ATH_UNKNOWN },
        { "0000000000000000000000000000005%", 0, 50 }, /* 31 digits, the most */
    };
    setlocale(LC_ALL, ""); /* a comma in numbers changes nothing */
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        int status;
        struct ath_memory_limit limit = parse(right[i].text, &status);
        ck_assert_msg(!status, "'%s' was refused", right[i].text);
        ck_assert_int_eq(limit.bytes, right[i].bytes);
        ck_assert_int_eq(ath_memory_limit_bytes(&limit, 1000), right[i].of_1000);
    }
}

TEST(refuses_what_is_no_limit)
{
    static const char *const wrong[] = {
        "",
        "0",
        "0%",
        "100.1%",
        "-1",
        "-5%",
        "%",
        "5%%",
        "nan%",
        "4T",
        "4 G",
        " 4G",
        "None",
        "1e3",
        "5 %",
        "4G%",
        "9223372036854775808",
        "00000000000000000000000000000005%", /* 32 digits, one too many */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int status;
        struct ath_memory_limit limit = parse(wrong[i], &status);
        ck_assert_msg(status < 0, "'%s' was accepted", wrong[i]);
        ck_assert_int_eq(limit.bytes, untouched.bytes);
    }
}

TEST(a_part_of_unknown_memory_is_no_limit)
{
    const struct ath_memory_limit part = { .fraction = 0.5 }, size = { .bytes = 5 }, none = { 0 };
    ck_assert_int_eq(ath_memory_limit_bytes(&part, ATH_UNKNOWN), ATH_UNKNOWN);
    ck_assert_int_eq(ath_memory_limit_bytes(&size, ATH_UNKNOWN), 5);
    ck_assert_int_eq(ath_memory_limit_bytes(&none, 1000), ATH_UNKNOWN);
}

/* The server gets these numbers from a client. */
TEST(strange_numbers_are_no_limit_or_all)
{
    const struct ath_memory_limit negative = { .bytes = -5, .fraction = -0.5 },
                                  large = { .fraction = 7 },
                                  no_number = { .fraction = __builtin_nan("") };
    ck_assert_int_eq(ath_memory_limit_bytes(&negative, 1000), ATH_UNKNOWN);
    ck_assert_int_eq(ath_memory_limit_bytes(&large, 1000), 1000);
    ck_assert_int_eq(ath_memory_limit_bytes(&no_number, 1000), ATH_UNKNOWN);
}
