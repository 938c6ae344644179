/* The output of `aitherion cluster measure`: fields for JSON, and the text. */
#include "config.h"

#include "cli/output/cluster_measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "cli/output/fields.h"
#include "cli/output/table.h"
#include "cli/output/words.h"
#include "config/schema.h"

enum { BYTES_OF_MEGABIT = 125000, MATRIX_NODES_MAX = 16 };

/* ---- JSON ---- */

#define AT(member) ATH_AT(struct ath_shown_pair, member)
static const struct ath_field pair_fields[] = {
    ATH_FIELD("from", AT(from), .help = "the node that measured"),
    ATH_FIELD("to", AT(to)),
    ATH_FIELD("address", AT(address),
              .help = "of the runtime that answered; null for a pair from a file",
              .is_nullable = true),
    ATH_FIELD("hops", AT(hops), .help = "switches between the nodes; 0 if there is no way"),
    ATH_FIELD("to_bytes_per_s", AT(to_bytes_per_s),
              .help = "bandwidth to the other node; null if not measured", .is_nullable = true),
    ATH_FIELD("from_bytes_per_s", AT(from_bytes_per_s),
              .help = "bandwidth from the other node; null if not measured", .is_nullable = true),
    ATH_FIELD("round_trip_ns", AT(round_trip_ns),
              .help = "the least time of a message and its answer; null if not measured",
              .is_nullable = true),
    ATH_FIELD("error", AT(error), .help = "why the pair was not measured; null if it was",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_cluster_measure_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("file", AT(file), .help = "where the figures of all pairs are kept"),
    ATH_FIELD("pairs", ATH_AT_LIST(struct ath_cluster_measure_report, pairs, pair_count),
              .help = "the pairs of this run, or of the files that were merged",
              .fields = pair_fields),
    { .name = NULL },
};
#undef AT

/* ---- text ---- */

static void set(struct ath_table_cell *cell, enum ath_role role, char *text)
{
    cell->role = role;
    cell->text = text;
}

static char *speed(int64_t bytes_per_s)
{
    return bytes_per_s < 0 ? NULL : ath_words_speed(bytes_per_s / BYTES_OF_MEGABIT);
}

static void print_pairs(const struct ath_style *style, FILE *out,
                        const struct ath_cluster_measure_report *report)
{
    static const char *const titles[] = { N_("From"),  N_("To"),   N_("Switches"),
                                          N_("To it"), N_("Back"), N_("Round trip") };
    struct ath_table table = { .titles = titles, .column_count = ATH_COUNT(titles) };

    for (size_t i = 0; i < report->pair_count; i++) {
        const struct ath_shown_pair *pair = &report->pairs[i];
        struct ath_table_cell *cells = ath_table_add_row(&table);
        set(&cells[0], ATH_ROLE_NAME, ath_xstrdup(pair->from));
        set(&cells[1], ATH_ROLE_NAME, ath_xstrdup(pair->to));
        set(&cells[2], ATH_ROLE_PLAIN, pair->hops ? ath_xasprintf("%zu", pair->hops) : NULL);
        if (pair->error) {
            set(&cells[3], ATH_ROLE_BAD, ath_xstrdup(_("failed")));
            continue;
        }
        set(&cells[3], ATH_ROLE_PLAIN, speed(pair->to_bytes_per_s));
        set(&cells[4], ATH_ROLE_PLAIN, speed(pair->from_bytes_per_s));
        set(&cells[5], ATH_ROLE_PLAIN,
            pair->round_trip_ns < 0 ? NULL : ath_words_time(pair->round_trip_ns));
    }
    ath_table_print(&table, style, out);
    ath_table_free(&table);
}

/* The names of the nodes that a matrix shows. They are not owned. */
struct names {
    const char *items[MATRIX_NODES_MAX];
    size_t count;
};

/* Returns the place of a name, which is added if it is new, or MATRIX_NODES_MAX if there are too
 * many. */
static size_t place_of(struct names *names, const char *name)
{
    size_t i = 0;
    while (i < names->count && strcmp(names->items[i], name) != 0)
        i++;
    if (i == names->count && i < MATRIX_NODES_MAX)
        names->items[names->count++] = name;
    return i;
}

/* Prints the bandwidths between all nodes of the file, if several nodes have measured, and the
 * matrix is not too wide. */
static void print_matrix(const struct ath_style *style, FILE *out,
                         const struct ath_cluster_pairs *kept)
{
    int64_t speeds[MATRIX_NODES_MAX][MATRIX_NODES_MAX];
    const char *titles[MATRIX_NODES_MAX + 1] = { N_("Gb/s") };
    struct names names = { 0 };
    bool has_speeds = false;
    size_t rows = 0;

    for (size_t i = 0; i < MATRIX_NODES_MAX; i++)
        for (size_t j = 0; j < MATRIX_NODES_MAX; j++)
            speeds[i][j] = ATH_UNKNOWN;
    for (size_t i = 0; i < kept->count; i++) {
        const struct ath_cluster_pair *pair = &kept->items[i];
        size_t from = place_of(&names, pair->from), to = place_of(&names, pair->to);
        if (from == MATRIX_NODES_MAX || to == MATRIX_NODES_MAX)
            return;
        rows += !i || strcmp(pair->from, pair[-1].from) != 0;
        has_speeds |= pair->to_bytes_per_s > 0 || pair->from_bytes_per_s > 0;
        /* Each direction has two figures if both nodes have measured: the greater one counts. */
        if (speeds[from][to] < pair->to_bytes_per_s)
            speeds[from][to] = pair->to_bytes_per_s;
        if (speeds[to][from] < pair->from_bytes_per_s)
            speeds[to][from] = pair->from_bytes_per_s;
    }
    if (rows < 2 || !has_speeds)
        return;
    struct ath_table table = { .titles = titles, .column_count = names.count + 1 };
    for (size_t i = 0; i < names.count; i++) {
        struct ath_table_cell *cells = ath_table_add_row(&table);
        titles[i + 1] = names.items[i];
        set(&cells[0], ATH_ROLE_NAME, ath_xstrdup(names.items[i]));
        for (size_t j = 0; j < names.count; j++)
            if (speeds[i][j] >= 0)
                set(&cells[j + 1], ATH_ROLE_PLAIN,
                    ath_xasprintf("%.1f", (double)speeds[i][j] * 8 / 1e9));
    }
    fprintf(out, "\n%s%s%s\n", ath_style_on(style, ATH_ROLE_HEADING), _("from row to column"),
            ath_style_off(style, ATH_ROLE_HEADING));
    ath_table_print(&table, style, out);
    ath_table_free(&table);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_cluster_measure_report *report = data;

    print_pairs(style, out, report);
    print_matrix(style, out, report->kept);
}

const struct ath_view ath_cluster_measure_view = {
    .schema = "aitherion.cluster-measure/1",
    .title = "Output of `aitherion cluster measure --json`",
    .fields = fields,
    .to_text = to_text,
};
