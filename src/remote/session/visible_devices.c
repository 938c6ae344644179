/* CUDA_VISIBLE_DEVICES, read and written. */
#include "config.h"

#include "remote/session/visible_devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

static size_t in_order(const struct ath_devices *devices, bool by_pci, size_t out[ATH_DEVICES_MAX])
{
    for (size_t i = 0; i < devices->count; i++) {
        size_t at = i;
        while (by_pci && at && strcmp(devices->items[i].pci, devices->items[out[at - 1]].pci) < 0) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = i;
    }
    return devices->count;
}

/* Returns the place of the device that a word names, or SIZE_MAX if it names none or several. */
static size_t find(const struct ath_devices *devices, const size_t *order, const char *word)
{
    size_t found = SIZE_MAX;
    int number;
    if (!ath_parse_int(word, 0, ATH_DEVICES_MAX, &number))
        return (size_t)number < devices->count ? order[number] : SIZE_MAX;
    if (!ath_starts_with(word, "GPU-"))
        return SIZE_MAX;
    for (size_t i = 0; i < devices->count; i++) {
        if (!ath_starts_with(devices->items[i].uuid, word))
            continue;
        if (found != SIZE_MAX)
            return SIZE_MAX;
        found = i;
    }
    return found;
}

static bool is_in(const size_t *chosen, size_t count, size_t one)
{
    for (size_t i = 0; i < count; i++)
        if (chosen[i] == one)
            return true;
    return false;
}

size_t ath_visible_devices(const struct ath_devices *devices, const char *wanted, bool by_pci,
                           size_t out[ATH_DEVICES_MAX])
{
    size_t order[ATH_DEVICES_MAX], count = 0;
    size_t all = in_order(devices, by_pci, order);
    if (!wanted) {
        memcpy(out, order, all * sizeof *order);
        return all;
    }
    ath_auto_free char *copy = ath_xstrdup(wanted);
    char *rest = copy, *word;
    while ((word = strsep(&rest, ","))) {
        word += strspn(word, " ");
        word[strcspn(word, " ")] = '\0';
        size_t one = find(devices, order, word);
        if (one == SIZE_MAX || is_in(out, count, one))
            break;
        out[count++] = one;
    }
    return count;
}

char *ath_visible_value(const struct ath_devices *devices, const size_t *chosen, size_t count)
{
    ATH_AUTO(ath_text) text = { 0 };
    if (!count)
        return ath_xstrdup("-1");
    for (size_t i = 0; i < count; i++) {
        const char *uuid = devices->items[chosen[i]].uuid;
        if (!*uuid)
            return NULL;
        ath_text_add(&text, "%s%s", i ? "," : "", uuid);
    }
    return ath_steal(&text.data);
}
