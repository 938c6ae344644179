/* Lists of host names with ranges. */
#include "config.h"

#include "cluster/hostlist.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

enum { DIGITS_MAX = 9 };

static const char digits[] = "0123456789";

static int refuse(const char *list, const char *why, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no list of hosts: %s"), list, why);
    return ath_err_hint(err, -EINVAL, _("write it as Slurm does: login,node[1-4,7]"));
}

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", text[i]))
            return false;
    return true;
}

/* A part of a list: prefix, range or none, suffix. */
struct part {
    const char *list; /* the whole, for messages */
    const char *prefix, *range, *suffix;
    size_t prefix_length, range_length, suffix_length;
};

static int add_name(const struct part *part, const char *number, struct ath_texts *out,
                    struct ath_err *err)
{
    if (out->count >= ATH_HOSTLIST_MAX)
        return refuse(part->list, _("more than 65536 names"), err);
    ath_auto_free char *name =
        ath_xasprintf("%.*s%s%.*s", (int)part->prefix_length, part->prefix, number,
                      (int)part->suffix_length, part->suffix ? part->suffix : "");
    if (!*name)
        return refuse(part->list, _("a name is empty"), err);
    ath_texts_add(out, name);
    return 0;
}

/* Reads the number at text, of length digits. Returns false if it is none. */
static bool number_at(const char *text, size_t length, uint64_t *out)
{
    char copy[DIGITS_MAX + 1];
    if (!length || length > DIGITS_MAX)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return !ath_parse_u64(copy, 10, out);
}

/* Adds the names of "3" or "01-04". */
static int add_range(const struct part *part, const char *range, size_t length,
                     struct ath_texts *out, struct ath_err *err)
{
    size_t width = 0;
    uint64_t first, last;

    while (width < length && strchr(digits, range[width]))
        width++;
    bool is_range = width < length && range[width] == '-';
    const char *second = is_range ? range + width + 1 : range;
    size_t second_length = is_range ? length - width - 1 : length;
    if (!number_at(range, width, &first) || !number_at(second, second_length, &last) ||
        last < first)
        return refuse(part->list, _("a range is two numbers, the smaller one first"), err);
    for (uint64_t i = first; i <= last; i++) {
        char number[DIGITS_MAX + 1];
        snprintf(number, sizeof number, "%0*u", (int)width, (unsigned int)i);
        int status = add_name(part, number, out, err);
        if (status)
            return status;
    }
    return 0;
}

static int add_part(const struct part *part, struct ath_texts *out, struct ath_err *err)
{
    if (!is_name(part->prefix, part->prefix_length) ||
        (part->suffix && !is_name(part->suffix, part->suffix_length)))
        return refuse(part->list, _("a name has letters, digits, '.', '_' and '-'"), err);
    if (!part->range)
        return add_name(part, "", out, err);
    for (size_t at = 0; at <= part->range_length;) {
        const char *comma = memchr(part->range + at, ',', part->range_length - at);
        size_t length = comma ? (size_t)(comma - part->range) - at : part->range_length - at;
        int status = add_range(part, part->range + at, length, out, err);
        if (status)
            return status;
        at += length + 1;
    }
    return 0;
}

int ath_hostlist_expand(const char *list, struct ath_texts *out, struct ath_err *err)
{
    for (const char *at = list;;) {
        struct part part = { .list = list, .prefix = at, .prefix_length = strcspn(at, ",[]") };
        at += part.prefix_length;
        if (*at == '[') {
            part.range = at + 1;
            part.range_length = strcspn(part.range, "[]");
            at = part.range + part.range_length;
            if (*at++ != ']')
                return refuse(list, _("a bracket is not closed"), err);
            part.suffix = at;
            part.suffix_length = strcspn(at, ",[]");
            at += part.suffix_length;
        }
        if (*at && *at != ',')
            return refuse(list, _("one pair of brackets in a name"), err);
        int status = add_part(&part, out, err);
        if (status || !*at++)
            return status;
    }
}

/* ---- writing ---- */

/* A name as prefix and number; names without a number at the end have the width 0. */
struct split {
    const char *name;
    size_t prefix_length, width;
    uint64_t number;
};

static struct split split_of(const char *name)
{
    size_t length = strlen(name), width = 0;
    struct split split = { .name = name, .prefix_length = length };

    while (width < length && width < DIGITS_MAX && strchr(digits, name[length - width - 1]))
        width++;
    if (width && number_at(name + length - width, width, &split.number)) {
        split.width = width;
        split.prefix_length = length - width;
    }
    return split;
}

static int compare(const void *a, const void *b)
{
    const struct split *left = a, *right = b;
    size_t length =
        left->prefix_length < right->prefix_length ? left->prefix_length : right->prefix_length;
    int order = strncmp(left->name, right->name, length);

    if (order)
        return order;
    if (left->prefix_length != right->prefix_length)
        return left->prefix_length < right->prefix_length ? -1 : 1;
    if (left->width != right->width)
        return left->width < right->width ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static bool is_group(const struct split *a, const struct split *b)
{
    return a->width && a->width == b->width && a->prefix_length == b->prefix_length &&
           !strncmp(a->name, b->name, a->prefix_length);
}

/* Writes count names that differ in their numbers only. */
static void write_group(const struct split *names, size_t count, struct ath_text *out)
{
    ath_text_add(out, "%s%.*s", out->length ? "," : "", (int)names->prefix_length, names->name);
    if (count == 1) {
        ath_text_add(out, "%s", names->name + names->prefix_length);
        return;
    }
    int width = (int)names->width;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && names[end].number == names[end - 1].number + 1;)
            end++;
        ath_text_add(out, "%s%0*u", i ? "," : "[", width, (unsigned int)names[i].number);
        if (end > i + 1)
            ath_text_add(out, "-%0*u", width, (unsigned int)names[end - 1].number);
    }
    ath_text_add(out, "]");
}

char *ath_hostlist_write(const struct ath_texts *names)
{
    ath_auto_free struct split *splits = ath_xalloc(names->count * sizeof *splits);
    struct ath_text text = { 0 };

    for (size_t i = 0; i < names->count; i++)
        splits[i] = split_of(names->items[i]);
    if (names->count)
        qsort(splits, names->count, sizeof *splits, compare);
    for (size_t i = 0, end; i < names->count; i = end) {
        for (end = i + 1; end < names->count && is_group(&splits[i], &splits[end]);)
            end++;
        write_group(splits + i, end - i, &text);
    }
    return ath_text_take(&text);
}
