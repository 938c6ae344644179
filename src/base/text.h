/* Building text, reading numbers strictly, walking UTF-8, and guessing what somebody meant to type.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that grows. All zero is empty; data is NULL until the first addition. */
struct ath_text {
    char *data;
    size_t length, capacity;
};

void ath_text_free(struct ath_text *text);
void ath_text_add(struct ath_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));
void ath_text_add_bytes(struct ath_text *text, const char *bytes, size_t length);

/* Adds a part of a list: behind the separator where text holds one already; nothing for an empty
 * part. */
void ath_text_add_part(struct ath_text *text, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4), nonnull(3)));

/* The text itself, never NULL; *text is empty afterwards and the caller frees what it got. */
char *ath_text_take(struct ath_text *text);

/*
 * The whole of text as a number: no sign or blank before it, nothing behind it but one newline.
 * base 10, 16 (with or without 0x) or 0 (0x for hexadecimal, else decimal).
 * Returns 0, or -EINVAL / -ERANGE with *out untouched.
 */
int ath_parse_u64(const char *text, int base, uint64_t *out);

/* The same for a signed decimal number within min..max, and for a finite decimal fraction (always
 * with a point). */
int ath_parse_int(const char *text, int min, int max, int *out);
int ath_parse_double(const char *text, double *out);

/* True where text begins with prefix. */
bool ath_starts_with(const char *text, const char *prefix);

/*
 * The next part of a list with commas, without the blanks around it; it may be empty. *rest, at
 * first the list, goes behind it, and is NULL after the last. Returns where the part begins within
 * the list, NULL when there is none.
 */
const char *ath_text_next_part(const char **rest, size_t *out_length);

/*
 * The candidate nearest to word by edits (insert, delete, replace, swap neighbours), or NULL where
 * none is near enough to be what was meant. Candidates are count pointers to strings; NULL entries
 * are passed over.
 */
const char *ath_text_nearest(const char *word, const char *const *candidates, size_t count);

/*
 * Bytes of the well-formed UTF-8 character (RFC 3629) at text, of which `left` bytes are there; 0
 * where there is none. Its code point goes to *out, which may be NULL; 0xfffd where there is none.
 */
size_t ath_utf8_decode(const char *text, size_t left, uint32_t *out);

/* Whether a byte goes on a character that an earlier one began. */
bool ath_utf8_is_inside(char byte);

/* Bytes of the byte order mark that some editors put in front of UTF-8: 3 or 0. */
size_t ath_utf8_mark(const char *text, size_t length);

/* Columns that UTF-8 text takes on a terminal in the current locale (bytes where it is not valid
 * text). */
size_t ath_text_width(const char *text);

/*
 * How many bytes of text fit into so many columns, ending where a line may end: at a blank, behind
 * a comma, between the double-width letters of Chinese. All of a word that fits nowhere. The blanks
 * at the break are left to the caller.
 */
size_t ath_text_fit(const char *text, size_t columns);
