/* Reads quantities by the table of suffixes, rounded up. */
#include "config.h"

#include "kubernetes/quantity.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

enum { DIGITS_MAX = 18, EXPONENT_MAX = 18 };

__extension__ typedef unsigned __int128 wide;

/* A suffix stands for base to the power of `power`. */
static const struct suffix {
    const char *text;
    unsigned int base;
    int power;
} suffixes[] = {
    { "", 10, 0 },     { "n", 10, -9 },   { "u", 10, -6 },   { "m", 10, -3 },
    { "k", 10, 3 },    { "M", 10, 6 },    { "G", 10, 9 },    { "T", 10, 12 },
    { "P", 10, 15 },   { "E", 10, 18 },   { "Ki", 1024, 1 }, { "Mi", 1024, 2 },
    { "Gi", 1024, 3 }, { "Ti", 1024, 4 }, { "Pi", 1024, 5 }, { "Ei", 1024, 6 },
};

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

static wide power_of(unsigned int base, int power)
{
    wide product = 1;
    for (int i = 0; i < power; i++)
        product *= base;
    return product;
}

/* Reads the digits with a point, and sets *fraction to the digits behind it. Returns the text after
 * the number, or NULL if there is no number, or a too long one. */
static const char *read_digits(const char *text, wide *number, int *fraction)
{
    bool has_point = false;
    int digits = 0, significant = 0;

    for (*number = 0, *fraction = 0; is_digit(*text) || (*text == '.' && !has_point); text++) {
        if (*text == '.') {
            has_point = true;
            continue;
        }
        digits++;
        significant += significant || *text != '0';
        *fraction += has_point;
        if (significant > DIGITS_MAX || *fraction > DIGITS_MAX)
            return NULL;
        *number = *number * 10 + (unsigned int)(*text - '0');
    }
    return digits ? text : NULL;
}

/* Reads "e3", "E-3". Returns whether the text is an exponent. */
static bool read_exponent(const char *text, int *out)
{
    if ((*text != 'e' && *text != 'E') || !text[1])
        return false;
    text++;
    bool is_negative = *text == '-';
    text += *text == '-' || *text == '+';
    if (ath_parse_int(text, 0, EXPONENT_MAX, out))
        return false;
    *out = is_negative ? -*out : *out;
    return true;
}

static bool read_suffix(const char *text, unsigned int *base, int *power)
{
    for (size_t i = 0; i < ATH_COUNT(suffixes); i++)
        if (!strcmp(text, suffixes[i].text)) {
            *base = suffixes[i].base;
            *power = suffixes[i].power;
            return true;
        }
    *base = 10;
    return read_exponent(text, power);
}

int ath_kube_quantity_read(const char *text, int64_t *out)
{
    wide number, divisor;
    int fraction, power;
    unsigned int base;

    text += *text == '+';
    text = read_digits(text, &number, &fraction);
    if (!text)
        return -EINVAL;
    if (!read_suffix(text, &base, &power))
        return -EINVAL;
    /* At most 10^18 * 2^60, and at most 10^36. */
    number *= power_of(base, power > 0 ? power : 0);
    divisor = power_of(10, fraction) * power_of(base, power < 0 ? -power : 0);
    number = number / divisor + (number % divisor != 0);
    if (number > INT64_MAX)
        return -ERANGE;
    *out = (int64_t)number;
    return 0;
}
