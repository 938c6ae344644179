/* The reasons for a choice of GPUs, in words. */
#include "config.h"

#include "cli/output/place_words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/words.h"

static void add_line(struct ath_texts *lines, char *line)
{
    *(char **)ath_push(&lines->items, &lines->count, sizeof *lines->items) = line;
}

static void add_limits(const struct ath_place_report *report, struct ath_texts *lines)
{
    const struct ath_place_answer *answer = report->answer;

    if (report->policy == ATH_PLACE_NONE)
        add_line(lines, ath_xstrdup(_("the policy 'none' takes the first free GPUs")));
    if (answer->max_nodes)
        add_line(lines, ath_xasprintf(ngettext("the policy '%s' allows GPUs of %zu NUMA node",
                                               "the policy '%s' allows GPUs of %zu NUMA nodes",
                                               answer->max_nodes),
                                      ath_place_policy_word(report->policy), answer->max_nodes));
    if (report->near)
        add_line(lines, ath_xasprintf(_("%zu of %zu free GPUs are as near to '%s' as their number "
                                        "allows"),
                                      answer->candidate_count, answer->free_count, report->near));
}

static bool is_chosen(const struct ath_set_choice *choice, size_t gpu)
{
    for (size_t i = 0; i < choice->size * choice->group_count; i++)
        if (choice->gpus[i] == gpu)
            return true;
    return false;
}

/* Names the GPUs whose health score is poor. */
static void add_health(const struct ath_place_report *report, struct ath_texts *lines)
{
    const struct ath_idset *poor = &report->answer->poor;

    for (int gpu = ath_idset_next(poor, -1); gpu >= 0; gpu = ath_idset_next(poor, gpu)) {
        int score = report->groups[0].machine->gpus[gpu].health.score;
        const char *format =
            is_chosen(&report->answer->best, (size_t)gpu)
                ? _("GPU%d is chosen with a health score of %d of 100, because too "
                    "few others are free or fit")
                : _("GPU%d is avoided, because its health score is %d of 100");
        add_line(lines, ath_xasprintf(format, gpu, score));
    }
}

struct ath_gpu_pair ath_place_slowest_link(const struct ath_place_group *group)
{
    struct ath_gpu_pair pair;
    ath_gpu_pair_look(group->machine, group->ring[group->slowest],
                      group->ring[(group->slowest + 1) % group->gpu_count], &pair);
    return pair;
}

/* Returns " (NV2)", or "" if it is not known. The caller frees it. */
static char *way_words(const struct ath_machine *machine, const struct ath_gpu_pair *pair)
{
    ath_auto_free char *word = ath_gpu_pair_word(machine, pair);
    return word ? ath_xasprintf(" (%s)", word) : ath_xstrdup("");
}

static void add_ring(const struct ath_place_group *group, struct ath_texts *lines)
{
    if (group->gpu_count == 1)
        return;
    struct ath_gpu_pair pair = ath_place_slowest_link(group);
    ath_auto_free char *gpus = ath_words_gpu_list(group->gpus, group->gpu_count);
    ath_auto_free char *bandwidth = ath_words_bandwidth(group->ring_bandwidth);
    ath_auto_free char *way = way_words(group->machine, &pair);

    if (group->ring_bandwidth < 0)
        add_line(lines, ath_xasprintf(_("each ring through %s has a link of unknown bandwidth, as "
                                        "GPU%zu-GPU%zu%s; unknown counts less than any known one"),
                                      gpus, pair.a, pair.b, way));
    else
        add_line(lines,
                 ath_xasprintf(_("the best ring through %s has %s at its slowest link, GPU%zu-"
                                 "GPU%zu%s"),
                               gpus, bandwidth, pair.a, pair.b, way));
}

/* The sums over the chosen pairs, and over those that stay free. */
static void add_sums(const struct ath_place_report *report, struct ath_texts *lines)
{
    const struct ath_set_choice *best = &report->answer->best;
    size_t pairs = best->group_count * best->size * (best->size - 1) / 2;
    ath_auto_free char *sum = ath_words_bandwidth(best->sum_bandwidth);
    ath_auto_free char *left = ath_words_bandwidth(best->left_bandwidth);

    if (best->unknown_count && best->unknown_count < pairs)
        add_line(lines,
                 ath_xasprintf(ngettext("the chosen pairs have %s together, without %zu pair of "
                                        "unknown bandwidth",
                                        "the chosen pairs have %s together, without %zu "
                                        "pairs of unknown bandwidth",
                                        best->unknown_count),
                               sum, best->unknown_count));
    else if (!best->unknown_count && pairs)
        add_line(lines, ath_xasprintf(ngettext("its pairs have %s together",
                                               "the pairs within the groups have %s together",
                                               best->group_count),
                                      sum));
    if (best->left_bandwidth)
        add_line(lines,
                 ath_xasprintf(_("the pairs of GPUs that stay free keep %s together"), left));
}

/* Adds a line that says whether the search was exact. */
static void add_search(const struct ath_place_report *report, struct ath_texts *lines)
{
    const struct ath_set_choice *best = &report->answer->best;
    ath_auto_free char *limit = ath_words_bandwidth(best->ring_limit);

    if (report->policy == ATH_PLACE_NONE)
        return;
    if (best->is_exact)
        add_line(lines, ath_xstrdup(_("no other choice is better: the search was exact")));
    else
        add_line(lines, ath_xasprintf(_("the search ended after its number of steps; a better "
                                        "choice may exist, with at most %s at the slowest link"),
                                      limit));
}

static void add_binding(const struct ath_place_group *group, struct ath_texts *lines)
{
    ath_auto_free char *others = ath_idset_format(&group->cpus.others);

    if (*others && ath_idset_count(&group->nodes))
        add_line(lines, ath_xasprintf(_("the GPUs' own NUMA nodes have too few CPUs: some are of "
                                        "node %s"),
                                      others));
    if (*others && !ath_idset_count(&group->nodes))
        add_line(lines, ath_xstrdup(_("the NUMA node of these GPUs is not known")));
    if (!group->word_count)
        add_line(lines, ath_xstrdup(_("no CPU of these GPUs' nodes is known")));
    else if (!group->cpus.knows_cores)
        add_line(lines, ath_xstrdup(_("which CPUs are threads of one core is not known: CPUs are "
                                      "taken in their order")));
    if (!group->has_uuids && group->variables[0].name &&
        !strcmp(group->variables[0].name, "CUDA_DEVICE_ORDER"))
        add_line(lines, ath_xstrdup(_("the UUIDs of the GPUs are not known: CUDA numbers them in "
                                      "the order of the PCI bus")));
}

struct ath_texts ath_place_reasons(const struct ath_place_report *report)
{
    struct ath_texts lines = { 0 };

    add_limits(report, &lines);
    add_health(report, &lines);
    for (size_t i = 0; i < report->group_count; i++)
        add_ring(&report->groups[i], &lines);
    add_sums(report, &lines);
    add_search(report, &lines);
    for (size_t i = 0; i < report->group_count; i++)
        add_binding(&report->groups[i], &lines);
    return lines;
}
