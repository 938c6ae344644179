/* Finds the GPUs of a machine that a user's words name. */
#include "config.h"

#include "cli/gpu_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

/* Returns whether a word names a GPU: 2, GPU2, 0004:04:00.0, or the beginning of its UUID. */
static bool is_gpu_named(const struct ath_machine *machine, size_t index, const char *word)
{
    const struct ath_gpu *gpu = &machine->gpus[index];
    const char *digits = strncasecmp(word, "GPU", 3) ? word : word + 3;
    struct ath_pci pci;
    uint64_t number;

    if (!ath_parse_u64(digits, 10, &number))
        return number == index;
    if (!ath_pci_parse(word, &pci))
        return ath_pci_equals(&pci, &gpu->pci);
    return gpu->uuid && strlen(word) > strlen("GPU-") && ath_starts_with(gpu->uuid, word);
}

static int find_gpu(const struct ath_machine *machine, const char *option, const char *word,
                    size_t *out, struct ath_err *err)
{
    size_t found = 0, matches = 0;

    for (size_t i = 0; i < machine->gpu_count; i++)
        if (is_gpu_named(machine, i, word)) {
            found = i;
            matches++;
        }
    if (matches == 1) {
        *out = found;
        return 0;
    }
    if (matches)
        ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("'%s' of %s begins the UUIDs of %zu GPUs"), word,
                    option, matches);
    else if (!machine->gpu_count)
        ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("the machine has no GPU '%s' of %s: it has none"),
                    word, option);
    else
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    _("the machine has no GPU '%s' of %s: it has GPU0 to GPU%zu"), word, option,
                    machine->gpu_count - 1);
    return ath_err_hint(err, -EINVAL,
                        _("name a GPU by its number, PCI address or UUID: aitherion discover"));
}

int ath_gpu_names_read(const struct ath_machine *machine, const char *option, const char *list,
                       bool *out, struct ath_err *err)
{
    const char *rest = list, *part;
    size_t length, index = 0;

    while ((part = ath_text_next_part(&rest, &length))) {
        ath_auto_free char *word = ath_xasprintf("%.*s", (int)length, part);
        if (!*word) {
            ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' of %s has an empty entry"), list,
                        option);
            return ath_err_hint(err, -EINVAL, _("separate GPUs by single commas: 0,1"));
        }
        int status = find_gpu(machine, option, word, &index, err);
        if (status)
            return status;
        out[index] = true;
    }
    return 0;
}
