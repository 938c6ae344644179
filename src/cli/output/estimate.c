/* The time of a collective operation: the least of a ring, and NCCL's. */
#include "config.h"

#include "cli/output/estimate.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/words.h"

/* ---- words ---- */

const char *ath_nccl_lack_words(enum ath_nccl_lack lack)
{
    static const char *const words[ATH_NCCL_LACK_COUNT] = {
        [ATH_NCCL_ONE_GPU] = N_("one GPU alone has no partner: the operation moves nothing"),
        [ATH_NCCL_NO_BANDWIDTH] = N_("the bandwidth of a pair of the ring is not known, so no time "
                                     "can be computed"),
        [ATH_NCCL_NO_LINKS] = N_("what NCCL counts for a pair of the ring is not known, so only "
                                 "the bound of the ring can be computed"),
        [ATH_NCCL_NO_CAPABILITY] = N_("the compute capability of a GPU is not known, or NCCL 2.22 "
                                      "does not know it: only the bound of the ring can be "
                                      "computed"),
        [ATH_NCCL_NOT_NVIDIA] = N_("NCCL runs on GPUs of NVIDIA only, and its model is not that of "
                                   "others' libraries"),
    };
    return words[lack] ? _(words[lack]) : NULL;
}

static void add(struct ath_texts *notes, const char *text)
{
    *(char **)ath_push(&notes->items, &notes->count, sizeof *notes->items) = ath_xstrdup(text);
}

/* Returns what limits the figures, in words. The caller frees it with notes_free(). */
static struct ath_texts notes_of(const struct ath_estimate_report *report)
{
    const struct ath_estimate_facts *facts = &report->facts;
    struct ath_texts notes = { 0 };

    if (facts->lack)
        add(&notes, ath_nccl_lack_words(facts->lack));
    if (!report->is_exact)
        add(&notes, _("the search for the ring ended after its number of steps: a better one may "
                      "exist"));
    if (facts->has_chords)
        add(&notes, _("NVLinks beside this ring can carry further rings: NCCL may be quicker than "
                      "both figures"));
    if (facts->may_sum)
        add(&notes, _("NVSwitches of this generation can add up themselves (NVLS): NCCL may be "
                      "quicker than both figures"));
    return notes;
}

static void notes_free(struct ath_texts *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i]);
    free(notes->items);
}

static size_t next_of(const struct ath_estimate_report *report, size_t position)
{
    return report->ring[position + 1 < report->facts.gpu_count ? position + 1 : 0];
}

/* ---- JSON ---- */

static json_t *make_ring(const void *object)
{
    const struct ath_estimate_report *report = object;
    json_t *list = json_array();
    for (size_t i = 0; i < report->facts.gpu_count; i++)
        json_array_append_new(list, json_integer((json_int_t)report->ring[i]));
    return list;
}

static const void *find_pair(const void *object)
{
    return ((const struct ath_estimate_report *)object)->facts.gpu_count > 1 ? object : NULL;
}

static json_t *make_class(const void *object)
{
    const struct ath_estimate_report *report = object;
    ath_auto_free char *word = ath_gpu_pair_word(report->machine, &report->slowest);
    return word ? json_string(word) : json_null();
}

static const void *find_bound(const void *object)
{
    const struct ath_estimate_report *report = object;
    return report->bound.time_ns < 0 ? NULL : &report->bound;
}

static const void *find_nccl(const void *object)
{
    const struct ath_estimate_report *report = object;
    return report->nccl.estimate.time_ns < 0 ? NULL : &report->nccl;
}

static json_t *make_notes(const void *object)
{
    struct ath_texts notes = notes_of(object);
    json_t *list = json_array();
    for (size_t i = 0; i < notes.count; i++)
        json_array_append_new(list, json_string(notes.items[i]));
    notes_free(&notes);
    return list;
}

ATH_FIELD_WORD(collective_word, enum ath_collective, ath_collective_word)
ATH_FIELD_WORD(algorithm_word, enum ath_nccl_algorithm, ath_nccl_algorithm_word)
ATH_FIELD_WORD(protocol_word, enum ath_nccl_protocol, ath_nccl_protocol_word)

#define AT(member) ATH_AT(struct ath_estimate_report, member)
static const struct ath_field pair_fields[] = {
    ATH_FIELD("a", AT(slowest.a), .help = "number of a GPU"),
    ATH_FIELD("b", AT(slowest.b), .help = "number of the other one"),
    ATH_FIELD("class", ATH_OF(ATH_FIELD_TEXT),
              .help = "as in `nvidia-smi topo -m`; null if it is not known", .is_nullable = true,
              .make = make_class),
    ATH_FIELD("bandwidth_bytes_per_s", AT(slowest.bandwidth_bytes_per_s),
              .help = "in one direction; null if it is not known", .is_nullable = true),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_estimate, member)
#define ESTIMATE_FIELDS                                                                            \
    ATH_FIELD("time_ns", AT(time_ns)),                                                             \
        ATH_FIELD("algorithm_bytes_per_s", AT(algorithm_bytes_per_s),                              \
                  .help = "size divided by time; null if the time is 0", .is_nullable = true),     \
        ATH_FIELD("bus_bytes_per_s", AT(bus_bytes_per_s),                                          \
                  .help = "what each link carries, as nccl-tests counts it; null if the time "     \
                          "is 0",                                                                  \
                  .is_nullable = true)
const struct ath_field ath_estimate_fields[] = { ESTIMATE_FIELDS, { .name = NULL } };
/* The estimate is the first member of a struct ath_nccl_estimate. */
const struct ath_field ath_nccl_estimate_fields[] = {
    ESTIMATE_FIELDS,
    ATH_FIELD("algorithm", ATH_AT(struct ath_nccl_estimate, algorithm), .word = algorithm_word,
              .word_count = ATH_NCCL_ALGORITHM_COUNT),
    ATH_FIELD("protocol", ATH_AT(struct ath_nccl_estimate, protocol), .word = protocol_word,
              .word_count = ATH_NCCL_PROTOCOL_COUNT),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_estimate_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("operation", AT(collective), .word = collective_word,
              .word_count = ATH_COLLECTIVE_COUNT),
    ATH_FIELD("size_bytes", AT(size_bytes),
              .help = "of the whole buffer, which all-gather ends with and reduce-scatter begins "
                      "with"),
    ATH_FIELD("ring", ATH_LIST_OF(ATH_FIELD_INT), .help = "the GPUs in the order of the best ring",
              .make = make_ring),
    ATH_FIELD("slowest", ATH_OF(ATH_FIELD_OBJECT),
              .help = "the pair of the ring that bounds it; null for one GPU", .is_nullable = true,
              .fields = pair_fields, .find = find_pair),
    ATH_FIELD("ring_bound", ATH_OF(ATH_FIELD_OBJECT),
              .help = "the least time of one ring, without latency; null if it is not known",
              .is_nullable = true, .fields = ath_estimate_fields, .find = find_bound),
    ATH_FIELD("nccl", ATH_OF(ATH_FIELD_OBJECT),
              .help = "what NCCL's own model says; null if it is not known", .is_nullable = true,
              .fields = ath_nccl_estimate_fields, .find = find_nccl),
    ATH_FIELD("notes", ATH_LIST_OF(ATH_FIELD_TEXT), .help = "what limits the figures, in words",
              .make = make_notes),
    { .name = NULL },
};
#undef AT

/* ---- text ---- */

enum { LABEL_COLUMNS = 11 };

static void print_ring(const struct ath_style *style, FILE *out,
                       const struct ath_estimate_report *report)
{
    const struct ath_estimate_facts *facts = &report->facts;
    ATH_AUTO(ath_text) ring = { 0 };

    for (size_t i = 0; i < facts->gpu_count; i++)
        ath_text_add_part(&ring, " - ", "GPU%zu", report->ring[i]);
    ath_style_print_row(style, out, LABEL_COLUMNS, facts->gpu_count == 1 ? _("GPU") : _("Ring"),
                        ring.data);
    if (facts->gpu_count == 1)
        return;
    ath_auto_free char *class = ath_gpu_pair_word(report->machine, &report->slowest);
    ath_auto_free char *bandwidth = ath_words_bandwidth(facts->ring_bytes_per_s);
    ath_auto_free char *text =
        ath_xasprintf("GPU%zu-GPU%zu (%s): %s", report->ring[facts->slowest],
                      next_of(report, facts->slowest), class ? class : "?", bandwidth);
    ath_style_print_row(style, out, LABEL_COLUMNS, _("Slowest"), text);
}

void ath_estimate_print(const struct ath_style *style, FILE *out, const char *label,
                        const struct ath_estimate *estimate, const char *how)
{
    ath_auto_free char *time = ath_words_time(estimate->time_ns);
    ath_auto_free char *own = ath_words_bandwidth(estimate->algorithm_bytes_per_s);
    ath_auto_free char *bus = ath_words_bandwidth(estimate->bus_bytes_per_s);
    ATH_AUTO(ath_text) text = { 0 };

    ath_text_add(&text, "%s", time);
    if (estimate->algorithm_bytes_per_s >= 0)
        ath_text_add(&text, _("; %s of the buffer, %s on each link"), own, bus);
    if (how)
        ath_text_add(&text, "; %s", how);
    ath_style_print_row(style, out, LABEL_COLUMNS, label, text.data);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_estimate_report *report = data;
    const struct ath_nccl_estimate *nccl = &report->nccl;
    ath_auto_free char *how =
        ath_xasprintf(_("algorithm %s, protocol %s"), ath_nccl_algorithm_word(nccl->algorithm),
                      ath_nccl_protocol_word(nccl->protocol));
    struct ath_texts notes = notes_of(report);

    print_ring(style, out, report);
    ath_estimate_print(style, out, report->facts.gpu_count == 1 ? _("Time") : _("Ring bound"),
                       &report->bound, NULL);
    if (report->facts.gpu_count > 1)
        ath_estimate_print(style, out, "NCCL", &nccl->estimate,
                           nccl->estimate.time_ns < 0 ? NULL : how);
    for (size_t i = 0; i < notes.count; i++)
        ath_style_print_row(style, out, LABEL_COLUMNS, i ? "" : _("Note"), notes.items[i]);
    notes_free(&notes);
}

const struct ath_view ath_estimate_view = {
    .schema = "aitherion.estimate/1",
    .title = "Output of `aitherion estimate --json`",
    .fields = fields,
    .to_text = to_text,
};
