/* Makes the marks of chosen GPUs and their ports, and answers which mark a device has. */
#include "config.h"

#include "cli/output/machine/marks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

enum { NAMED_MAX = 8 /* GPUs of a group that are listed by name */ };

void ath_marks_free(struct ath_marks *marks)
{
    if (!marks)
        return;
    free(marks->groups);
    free(marks->next);
    free(marks->ports);
    *marks = (struct ath_marks){ 0 };
}

void ath_marks_make(const struct ath_place_report *report, struct ath_marks *out)
{
    const struct ath_machine *machine = report->machine;

    *out = (struct ath_marks){
        .gpu_count = machine->gpu_count,
        .group_count = report->group_count,
        .groups = ath_xalloc(machine->gpu_count * sizeof *out->groups),
        .next = ath_xalloc(machine->gpu_count * sizeof *out->next),
        .ports = ath_xalloc(machine->nic_count * sizeof *out->ports),
    };
    for (size_t i = 0; i < report->group_count; i++) {
        const struct ath_place_group *group = &report->groups[i];
        for (size_t j = 0; j < group->gpu_count; j++) {
            out->groups[group->gpus[j]] = i + 1;
            out->next[group->ring[j]] = group->ring[(j + 1) % group->gpu_count];
        }
        for (size_t j = 0; j < group->ports.count; j++) {
            const struct ath_nic *nic = group->ports.items[j].nic;
            out->ports[nic - machine->nics] = nic->link != ATH_LINK_DOWN;
        }
    }
}

size_t ath_marks_group(const struct ath_marks *marks, size_t gpu)
{
    return marks ? marks->groups[gpu] : 0;
}

bool ath_marks_has_port(const struct ath_marks *marks, size_t nic)
{
    return marks && marks->ports[nic];
}

size_t ath_marks_ring(const struct ath_marks *marks, size_t a, size_t b)
{
    size_t group = ath_marks_group(marks, a);
    bool is_there =
        group && group == ath_marks_group(marks, b) && (marks->next[a] == b || marks->next[b] == a);
    return is_there ? group : 0;
}

char *ath_marks_word(const struct ath_marks *marks, size_t group)
{
    return marks->group_count == 1 ? ath_xstrdup(_("chosen"))
                                   : ath_xasprintf(_("group %zu"), group);
}

char *ath_marks_words(const struct ath_marks *marks, size_t group)
{
    ath_auto_free char *word = ath_marks_word(marks, group);
    ATH_AUTO(ath_text) names = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < marks->gpu_count; i++) {
        if (marks->groups[i] != group)
            continue;
        count++;
        ath_text_add_part(&names, ", ", "GPU%zu", i);
    }
    if (count > NAMED_MAX)
        return ath_xasprintf(ngettext("%s: %zu GPU", "%s: %zu GPUs", count), word, count);
    return ath_xasprintf("%s: %s", word, names.data ? names.data : "");
}
