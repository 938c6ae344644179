/* Text building, strict numbers, UTF-8, edit distance. */
#include "config.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/cleanup.h"

void ath_text_free(struct ath_text *text)
{
    if (!text)
        return;
    free(text->data);
    *text = (struct ath_text){ 0 };
}

/* Makes room for `more` bytes and the closing NUL. Doubles the capacity, so that many small
 * additions stay cheap. */
static void reserve(struct ath_text *text, size_t more)
{
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return;
    text->capacity = needed < 64 ? 64 : needed * 2;
    text->data = ath_xrealloc(text->data, text->capacity);
}

void ath_text_add_bytes(struct ath_text *text, const char *bytes, size_t length)
{
    reserve(text, length);
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void ath_text_add(struct ath_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0) {
        reserve(text, (size_t)length);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void ath_text_add_part(struct ath_text *text, const char *separator, const char *format, ...)
{
    ath_auto_free char *part = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&part, format, args) < 0)
        part = NULL;
    va_end(args);
    if (part && *part)
        ath_text_add(text, "%s%s", text->length ? separator : "", part);
}

char *ath_text_take(struct ath_text *text)
{
    char *data = text->data ? text->data : ath_xstrdup("");
    *text = (struct ath_text){ 0 };
    return data;
}

/* A number's text must start with a digit, and only one newline may follow it. */
static bool starts_number(const char *text)
{
    return isxdigit((unsigned char)*text);
}

static bool is_end(const char *text)
{
    return !*text || (text[0] == '\n' && !text[1]);
}

int ath_parse_u64(const char *text, int base, uint64_t *out)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!starts_number(text) || (is_hex && base == 10))
        return -EINVAL;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base ? base : is_hex ? 16 : 10);
    if (errno == ERANGE)
        return -ERANGE;
    if (end == text || !is_end(end))
        return -EINVAL;
    *out = value;
    return 0;
}

int ath_parse_int(const char *text, int min, int max, int *out)
{
    const char *digits = text + (*text == '-');
    if (!isdigit((unsigned char)*digits))
        return -EINVAL;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (!is_end(end))
        return -EINVAL;
    if (errno == ERANGE || value < min || value > max)
        return -ERANGE;
    *out = (int)value;
    return 0;
}

int ath_parse_double(const char *text, double *out)
{
    const char *digits = text + (*text == '-');
    if (!isdigit((unsigned char)*digits) ||
        (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')))
        return -EINVAL;
    /* strtod() follows the locale's decimal point; documents and flags always use a point. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    char *end;
    double value = plain ? strtod_l(text, &end, plain) : strtod(text, &end);
    if (plain)
        freelocale(plain);
    if (!is_end(end))
        return -EINVAL;
    if (!isfinite(value))
        return -ERANGE;
    *out = value;
    return 0;
}

int ath_parse_size(const char *text, uint64_t *out_bytes)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = { { "", 0 },     { "B", 0 },   { "K", 10 },  { "KB", 10 },
                  { "KiB", 10 }, { "M", 20 },  { "MB", 20 }, { "MiB", 20 },
                  { "G", 30 },   { "GB", 30 }, { "GiB", 30 } };
    size_t digits = strspn(text, "0123456789");
    char number[24];
    uint64_t value;

    if (!digits)
        return -EINVAL;
    if (digits >= sizeof number)
        return -ERANGE;
    memcpy(number, text, digits);
    number[digits] = '\0';
    int status = ath_parse_u64(number, 10, &value);
    if (status)
        return status;
    for (size_t i = 0; i < ATH_COUNT(units); i++)
        if (!strcasecmp(text + digits, units[i].suffix)) {
            if (value > UINT64_MAX >> units[i].shift)
                return -ERANGE;
            *out_bytes = value << units[i].shift;
            return 0;
        }
    return -EINVAL;
}

bool ath_starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

const char *ath_text_next_part(const char **rest, size_t *out_length)
{
    static const char blanks[] = " \t";
    const char *part = *rest;
    if (!part)
        return NULL;
    size_t length = strcspn(part, ",");
    *rest = part[length] ? part + length + 1 : NULL;
    for (; length && strchr(blanks, *part); length--)
        part++;
    while (length && strchr(blanks, part[length - 1]))
        length--;
    *out_length = length;
    return part;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment distance (Damerau-Levenshtein without edits inside a swap). */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows = strlen(a) + 1, columns = strlen(b) + 1;
    ath_auto_free size_t *cells = ath_xalloc(3 * columns * sizeof *cells);
    size_t *before = cells, *previous = cells + columns, *current = cells + 2 * columns;

    for (size_t j = 0; j < columns; j++)
        current[j] = j;
    for (size_t i = 1; i < rows; i++) {
        size_t *free_row = before;
        before = previous;
        previous = current;
        current = free_row;
        current[0] = i;
        for (size_t j = 1; j < columns; j++) {
            size_t replaced = previous[j - 1] + (a[i - 1] != b[j - 1]);
            current[j] = smallest(previous[j] + 1, current[j - 1] + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < current[j])
                current[j] = before[j - 2] + 1;
        }
    }
    return current[columns - 1];
}

/* The first letter is seldom mistyped: a short word with another one is another word ("top", not
 * "stop"), unless its first two letters are swapped. */
static bool is_other_word(const char *word, size_t length, const char *candidate)
{
    bool is_swapped = length > 1 && word[0] == candidate[1] && word[1] == candidate[0];
    return length <= 4 && word[0] != candidate[0] && !is_swapped;
}

const char *ath_text_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word),
           best_distance = (length < 3 ? 1 : length / 3) + 1; /* a third of the letters wrong */
    const char *best = NULL;

    if (length > 64)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!candidates[i] || is_other_word(word, length, candidates[i]))
            continue;
        size_t distance = edit_distance(word, candidates[i]);
        if (length > 2 && ath_starts_with(candidates[i], word))
            distance = 1; /* word is the beginning of the candidate */
        if (distance < best_distance && distance < length) {
            best_distance = distance;
            best = candidates[i];
        }
    }
    return best;
}

bool ath_utf8_is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Returns how many bytes a character has, from its first byte; 0 for a byte that cannot begin one.
 * */
static size_t utf8_length(unsigned char first)
{
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

size_t ath_utf8_decode(const char *text, size_t left, uint32_t *out)
{
    static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    uint32_t unused;
    if (!out)
        out = &unused;
    *out = 0xfffd;
    size_t length = left ? utf8_length((unsigned char)*text) : 0;
    if (!length || length > left)
        return 0;

    uint32_t point = (unsigned char)*text & first_bits[length];
    for (size_t i = 1; i < length; i++) {
        if (!ath_utf8_is_inside(text[i]))
            return 0;
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    }
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    if (point < least[length] || point > 0x10ffff || is_surrogate)
        return 0;
    *out = point;
    return length;
}

size_t ath_utf8_mark(const char *text, size_t length)
{
    return length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

size_t ath_text_width(const char *text)
{
    size_t length = mbstowcs(NULL, text, 0);
    if (length == (size_t)-1)
        return strlen(text);
    ath_auto_free wchar_t *wide = ath_xalloc((length + 1) * sizeof *wide);
    mbstowcs(wide, text, length + 1);
    int width = wcswidth(wide, length);
    return width < 0 ? length : (size_t)width;
}

/* Measures one character: returns its bytes, sets its columns and its wide form. A byte that is not
 * valid text counts as one character of one column. */
static size_t measure(const char *text, size_t *out_columns, wchar_t *out_wide)
{
    mbstate_t state = { 0 };
    wchar_t wide = L'?';
    size_t rest = strnlen(text, MB_LEN_MAX);
    size_t length = mbrtowc(&wide, text, rest, &state);
    if (length == 0 || length > rest) {
        length = 1;
        wide = L'?';
    }
    int columns = wcwidth(wide);
    *out_columns = columns < 0 ? 1 : (size_t)columns;
    *out_wide = wide;
    return length;
}

static bool may_begin_line(wchar_t wide)
{
    return !wcschr(L"，。、；：！？）》」』】”’·,.;:!?)", wide);
}

static bool may_end_line(wchar_t wide)
{
    return !wcschr(L"（《「『【“‘(", wide);
}

size_t ath_text_fit(const char *text, size_t columns)
{
    size_t used = 0, at = 0, last_break = 0, wide_before = 0;
    wchar_t before = L' ';

    while (text[at]) {
        size_t width;
        wchar_t wide;
        size_t length = measure(text + at, &width, &wide);
        /* Lists of ids ("0,2,4") have no blanks and may be longer than any line. */
        bool is_break =
            text[at] == ' ' || (at && text[at - 1] == ',') ||
            ((width == 2 || wide_before) && may_begin_line(wide) && may_end_line(before));
        if (at && is_break)
            last_break = at;
        if (used + width > columns && last_break)
            return last_break;
        used += width;
        at += length;
        wide_before = width == 2;
        before = wide;
    }
    return at;
}

size_t ath_text_cut(const char *text, size_t columns)
{
    size_t at = 0, width;
    wchar_t wide;

    for (size_t used = 0, length; text[at]; at += length) {
        length = measure(text + at, &width, &wide);
        used += width;
        if (used > columns)
            break;
    }
    return at;
}

char *ath_text_expand(const char *format, const char *const texts[ATH_TEXTS_MAX])
{
    struct ath_text text = { 0 };

    for (const char *at = format; *at;) {
        int plain = (int)strcspn(at, "{");
        ath_text_add(&text, "%.*s", plain, at);
        at += plain;
        if (at[0] == '{' && at[1] >= '0' && at[1] < '0' + ATH_TEXTS_MAX && at[2] == '}') {
            const char *value = texts[at[1] - '0'];
            ath_text_add(&text, "%s", value ? value : "?");
            at += 3;
        } else if (*at) {
            ath_text_add(&text, "%c", *at++);
        }
    }
    return ath_text_take(&text);
}
