/* Sets of CPU and NUMA node ids as sorted ranges. */
#include "config.h"

#include "base/idset.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

void ath_idset_free(struct ath_idset *set)
{
    if (!set)
        return;
    free(set->ranges);
    *set = (struct ath_idset){ 0 };
}

/* Returns the index of the first range that ends at or after id - 1, that is, could touch id. */
static size_t find_touching(const struct ath_idset *set, int id)
{
    size_t low = 0, high = set->range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (set->ranges[middle].last < id - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ath_idset_add(struct ath_idset *set, int first, int last)
{
    if (first < 0 || last < first || last > ATH_ID_MAX)
        return;

    size_t start = find_touching(set, first), end = start;
    while (end < set->range_count && set->ranges[end].first <= last + 1)
        end++;
    if (start == end) {
        ath_push(&set->ranges, &set->range_count, sizeof *set->ranges);
        memmove(set->ranges + start + 1, set->ranges + start,
                (set->range_count - 1 - start) * sizeof *set->ranges);
        set->ranges[start] = (struct ath_range){ first, last };
        return;
    }

    struct ath_range *merged = &set->ranges[start];
    if (first < merged->first)
        merged->first = first;
    merged->last = set->ranges[end - 1].last > last ? set->ranges[end - 1].last : last;
    memmove(merged + 1, set->ranges + end, (set->range_count - end) * sizeof *set->ranges);
    set->range_count -= end - start - 1;
}

/* Reads a decimal id and moves *text past it. Returns -1 if there is no id or it is too large. */
static int read_id(const char **text)
{
    if (**text < '0' || **text > '9')
        return -1;
    char *end;
    errno = 0;
    unsigned long value = strtoul(*text, &end, 10);
    if (errno || value > ATH_ID_MAX)
        return -1;
    *text = end;
    return (int)value;
}

/* Twice the worst case of CONFIG_NR_CPUS=8192. A longer list is hostile, and slow to sort in. */
enum { RANGES_MAX = 8192 };

int ath_idset_parse_list(const char *text, struct ath_idset *out)
{
    ATH_AUTO(ath_idset) set = { 0 };

    text += strspn(text, " \t\n");
    while (*text) {
        int first = read_id(&text), last = first;
        if (first >= 0 && *text == '-') {
            text++;
            last = read_id(&text);
        }
        if (first < 0 || last < first || set.range_count > RANGES_MAX)
            return -EINVAL;
        ath_idset_add(&set, first, last);
        if (*text == ',')
            text++;
        else if (text[strspn(text, " \t\n")])
            return -EINVAL;
        else
            break;
    }
    *out = set;
    set = (struct ath_idset){ 0 };
    return 0;
}

/* Adds the bits of a 32-bit word whose lowest bit is id `base`. */
static void add_word(struct ath_idset *set, uint32_t word, int base)
{
    for (int bit = 0; bit < 32; bit++) {
        if (!(word & (UINT32_C(1) << bit)))
            continue;
        int first = bit;
        while (bit + 1 < 32 && (word & (UINT32_C(1) << (bit + 1))))
            bit++;
        ath_idset_add(set, base + first, base + bit);
    }
}

int ath_idset_parse_mask(const char *text, struct ath_idset *out)
{
    ATH_AUTO(ath_idset) set = { 0 };
    ath_auto_free char *copy = ath_xstrdup(text);
    size_t length = strlen(copy);

    while (length && strchr(" \t\n", copy[length - 1]))
        copy[--length] = '\0';
    if (!length)
        return -EINVAL;
    for (int base = 0; base <= ATH_ID_MAX; base += 32) {
        char *comma = memrchr(copy, ',', length);
        const char *word = comma ? comma + 1 : copy;
        uint64_t bits = 0;
        if (!strncmp(word, "0x", 2))
            word += 2;
        if (*word && (ath_parse_u64(word, 16, &bits) || bits > UINT32_MAX))
            return -EINVAL;
        add_word(&set, (uint32_t)bits, base);
        if (!comma) {
            *out = set;
            set = (struct ath_idset){ 0 };
            return 0;
        }
        *comma = '\0';
        length = (size_t)(comma - copy);
    }
    return -EINVAL;
}

char *ath_idset_format(const struct ath_idset *set)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < set->range_count; i++) {
        const struct ath_range *range = &set->ranges[i];
        ath_text_add(&text, range->first == range->last ? "%s%d" : "%s%d-%d", i ? "," : "",
                     range->first, range->last);
    }
    return ath_text_take(&text);
}

void ath_idset_copy(const struct ath_idset *set, struct ath_idset *out)
{
    struct ath_idset copy = { 0 };
    for (size_t i = 0; i < set->range_count; i++)
        ath_idset_add(&copy, set->ranges[i].first, set->ranges[i].last);
    *out = copy;
}

bool ath_idset_has(const struct ath_idset *set, int id)
{
    return ath_idset_next(set, id - 1) == id;
}

bool ath_idset_equals(const struct ath_idset *a, const struct ath_idset *b)
{
    return a->range_count == b->range_count &&
           (!a->range_count || !memcmp(a->ranges, b->ranges, a->range_count * sizeof *a->ranges));
}

size_t ath_idset_count(const struct ath_idset *set)
{
    size_t count = 0;
    for (size_t i = 0; i < set->range_count; i++)
        count += (size_t)(set->ranges[i].last - set->ranges[i].first) + 1;
    return count;
}

void ath_idset_intersect(const struct ath_idset *a, const struct ath_idset *b,
                         struct ath_idset *out)
{
    struct ath_idset both = { 0 };

    for (size_t i = 0, j = 0; i < a->range_count && j < b->range_count;) {
        const struct ath_range *x = &a->ranges[i], *y = &b->ranges[j];
        int first = x->first > y->first ? x->first : y->first;
        int last = x->last < y->last ? x->last : y->last;
        if (first <= last)
            ath_idset_add(&both, first, last);
        if (x->last < y->last)
            i++;
        else
            j++;
    }
    *out = both;
}

void ath_idset_subtract(const struct ath_idset *a, const struct ath_idset *b, struct ath_idset *out)
{
    struct ath_idset left = { 0 };

    for (size_t i = 0, j = 0; i < a->range_count; i++) {
        int first = a->ranges[i].first, last = a->ranges[i].last;
        while (j < b->range_count && b->ranges[j].last < first)
            j++;
        for (size_t k = j; k < b->range_count && b->ranges[k].first <= last; k++) {
            ath_idset_add(&left, first, b->ranges[k].first - 1);
            first = b->ranges[k].last + 1;
        }
        ath_idset_add(&left, first, last);
    }
    *out = left;
}

int ath_idset_next(const struct ath_idset *set, int after)
{
    size_t i = find_touching(set, after + 1);
    for (; i < set->range_count; i++) {
        if (set->ranges[i].last <= after)
            continue;
        return set->ranges[i].first > after ? set->ranges[i].first : after + 1;
    }
    return -1;
}
