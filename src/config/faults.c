/* Collects, places and names faults. */
#include "config.h"

#include "config/faults.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/text.h"
#include "config/yaml.h"

static const struct {
    const char *word;
    const char *meaning;
} codes[ATH_FAULT_COUNT] = {
#define X(name, word, meaning) [ATH_FAULT_##name] = { word, meaning },
    ATH_FAULT_TABLE(X)
#undef X
};

const char *ath_fault_word(enum ath_fault_code code)
{
    return code < ATH_FAULT_COUNT ? codes[code].word : NULL;
}

const char *ath_fault_meaning(enum ath_fault_code code)
{
    return code < ATH_FAULT_COUNT ? codes[code].meaning : NULL;
}

void ath_faults_free(struct ath_faults *faults)
{
    if (!faults)
        return;
    for (size_t i = 0; i < faults->count; i++) {
        free(faults->items[i].file);
        free(faults->items[i].message);
    }
    free(faults->items);
    *faults = (struct ath_faults){ 0 };
}

/* Shortens a message: a value in it may be as long as the file. */
static void shorten(char *message)
{
    enum { BYTES_MAX = 400 };
    size_t end = BYTES_MAX;

    if (strnlen(message, BYTES_MAX + 4) <= BYTES_MAX + 3)
        return;
    while (ath_utf8_is_inside(message[end]))
        end--;
    strcpy(message + end, "...");
}

void ath_faults_add(struct ath_faults *faults, enum ath_fault_code code, size_t offset,
                    const char *format, ...)
{
    if (faults->count >= ATH_FAULTS_MAX) {
        faults->left_out++;
        return;
    }
    va_list args;
    va_start(args, format);
    char *message = NULL;
    if (vasprintf(&message, format, args) < 0)
        message = ath_xstrdup(ath_fault_word(code));
    va_end(args);
    shorten(message);

    struct ath_fault *fault = ath_push(&faults->items, &faults->count, sizeof *fault);
    *fault =
        (struct ath_fault){ .code = ath_fault_word(code), .offset = offset, .message = message };
}

/* Orders by place; faults at one place keep the order of their discovery. */
static int compare(const void *a, const void *b)
{
    const struct ath_fault *left = a, *right = b;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return left->line - right->line;
}

/* Moves on by one byte. Lines end as editors see them: LF, CR LF, or CR alone. */
static void step(const char *text, size_t length, size_t at, int *line, int *column)
{
    char c = text[at];
    bool is_break = c == '\n' || (c == '\r' && !(at + 1 < length && text[at + 1] == '\n'));

    if (is_break) {
        ++*line;
        *column = 1;
    } else if (!ath_utf8_is_inside(c)) {
        ++*column;
    }
}

void ath_faults_place(struct ath_faults *faults, const char *file, const char *text, size_t length)
{
    for (size_t i = 0; i < faults->count; i++)
        faults->items[i].line = (int)i; /* makes the sort stable */
    if (faults->count)
        qsort(faults->items, faults->count, sizeof *faults->items, compare);

    int line = 1, column = 1;
    size_t at = ath_utf8_mark(text, length); /* the mark takes no column */
    for (size_t i = 0; i < faults->count; i++) {
        struct ath_fault *fault = &faults->items[i];
        for (; at < fault->offset && at < length; at++)
            step(text, length, at, &line, &column);
        fault->line = line;
        fault->column = column;
        free(fault->file);
        fault->file = ath_xstrdup(file);
    }
}

/* ---- faults that a change has added ---- */

static bool is_within(const struct ath_fault *fault, const struct ath_yaml *part)
{
    return part && fault->offset >= part->begin && fault->offset < part->end;
}

static bool has_fault(const struct ath_faults *faults, const struct ath_yaml *part,
                      const struct ath_fault *wanted)
{
    for (size_t i = 0; i < faults->count; i++)
        if (is_within(&faults->items[i], part) && !strcmp(faults->items[i].code, wanted->code) &&
            !strcmp(faults->items[i].message, wanted->message))
            return true;
    return false;
}

void ath_faults_take_new(const struct ath_faults *old, const struct ath_yaml *old_part,
                         struct ath_faults *all, const struct ath_yaml *part,
                         struct ath_faults *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        bool is_new = is_within(&all->items[i], part) && !has_fault(old, old_part, &all->items[i]);
        struct ath_fault *to =
            is_new ? ath_push(&out->items, &out->count, sizeof *to) : &all->items[kept++];
        *to = all->items[i];
    }
    all->count = kept;
}
