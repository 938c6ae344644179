/* Building text, reading numbers strictly, walking UTF-8, and guessing mistyped words. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that grows. A zeroed struct is empty; data is NULL until the first addition. */
struct ath_text {
    char *data;
    size_t length, capacity;
};

void ath_text_free(struct ath_text *text);
void ath_text_add(struct ath_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));
void ath_text_add_bytes(struct ath_text *text, const char *bytes, size_t length);

/* Adds a part of a list, after the separator if text is not empty. Adds nothing for an empty part.
 * */
void ath_text_add_part(struct ath_text *text, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4), nonnull(3)));

/* Returns the text, never NULL, and empties *text. The caller frees the result. */
char *ath_text_take(struct ath_text *text);

/*
 * Reads all of text as a number. No sign or blank may stand before it, and at most one newline
 * after it. base: 10, 16 (with or without 0x) or 0 (0x for hexadecimal, else decimal). Returns 0,
 * or -EINVAL / -ERANGE with *out untouched.
 */
int ath_parse_u64(const char *text, int base, uint64_t *out);

/* The same for a signed decimal number within min..max, and for a finite decimal fraction (with a
 * decimal point in every locale). */
int ath_parse_int(const char *text, int min, int max, int *out);
int ath_parse_double(const char *text, double *out);

/*
 * Reads a size: "65536", "64K", "64KiB", "1M", "1G" (powers of 1024; upper or lower case). Returns
 * 0, or -EINVAL or -ERANGE with *out_bytes unchanged.
 */
int ath_parse_size(const char *text, uint64_t *out_bytes);

/* True if text begins with prefix. */
bool ath_starts_with(const char *text, const char *prefix);

/*
 * Returns the next part of a comma-separated list, without the blanks around it; it may be empty.
 * *rest is the list at first; each call moves it past the part, and to NULL after the last one.
 * Returns a pointer into the list, or NULL when there are no more parts.
 */
const char *ath_text_next_part(const char **rest, size_t *out_length);

/*
 * Returns the candidate nearest to word by edits (insert, delete, replace, swap neighbours), or
 * NULL if none is near enough to be what the user meant. Candidates are count pointers to strings;
 * NULL entries are skipped.
 */
const char *ath_text_nearest(const char *word, const char *const *candidates, size_t count);

/*
 * Returns the bytes of the well-formed UTF-8 character (RFC 3629) at text, which has `left` bytes,
 * and 0 if there is none. *out, which may be NULL, receives the code point, or 0xfffd if there is
 * none.
 */
size_t ath_utf8_decode(const char *text, size_t left, uint32_t *out);

/* True for a byte that continues a character which an earlier byte began. */
bool ath_utf8_is_inside(char byte);

/* Returns the bytes of the byte order mark that some editors put in front of UTF-8: 3 or 0. */
size_t ath_utf8_mark(const char *text, size_t length);

/* Returns the columns of UTF-8 text on a terminal in the current locale; its bytes if it is not
 * valid text. */
size_t ath_text_width(const char *text);

/*
 * Returns how many bytes of text fit into so many columns. The result ends where a line may end: at
 * a blank, after a comma, between the double-width letters of Chinese, but not after an opening
 * bracket. A word longer than a line is returned whole. Blanks at the break are left to the caller.
 */
size_t ath_text_fit(const char *text, size_t columns);

/* Returns how many bytes of text fit into so many columns, whole letters each. */
size_t ath_text_cut(const char *text, size_t columns);

enum { ATH_TEXTS_MAX = 4 };

/* Replaces "{0}" to "{3}" in a text by the given texts; a missing one becomes "?". The caller frees
 * the result. */
char *ath_text_expand(const char *format, const char *const texts[ATH_TEXTS_MAX]);
