/* Fingerprints of GPUs: their figures with sources, their links, and the ways to other GPUs. */
#include "config.h"

#include "cli/output/fingerprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/gpu_figures.h"
#include "cli/output/gpu_health.h"
#include "cli/output/words.h"

/* With more pairs of GPUs, the peers of each GPU are left out, as `discover` leaves out the pairs.
 */
enum { PAIRS_MANY = 10000 };

static bool shows_peers(const struct ath_machine *machine)
{
    size_t count = machine->gpu_count;
    return !count || count * (count - 1) / 2 <= PAIRS_MANY;
}

static const char *link_type(const struct ath_gpu *gpu, const struct ath_nvlink *nvlink)
{
    if (!nvlink)
        return "pcie";
    return gpu->vendor_id == ATH_VENDOR_AMD ? "xgmi" : "nvlink";
}

/* Calls visit for each warning about the GPU. */
static void visit_warnings(const struct ath_gpu_fingerprint *fingerprint,
                           void (*visit)(void *data, const struct ath_warning *warning), void *data)
{
    const struct ath_machine *machine = fingerprint->machine;
    char address[ATH_PCI_TEXT];

    ath_pci_format(&fingerprint->gpu->pci, address);
    for (size_t i = 0; i < machine->warning_count; i++) {
        const char *object = machine->warnings[i].object;
        if (object && !strcmp(object, address))
            visit(data, &machine->warnings[i]);
    }
}

/* ---- JSON ---- */

ATH_FIELD_WORD(source_word, enum ath_figure_source, ath_figure_source_word)

struct shown_link {
    struct ath_gpu_link link;
    struct ath_nvlink nvlink;
    const char *type, *peer_kind;
    bool has_peer; /* one, whose address is known */
    int64_t peer_index;
};

static const char *peer_kind_word(const struct ath_nvlink *nvlink)
{
    static const char *const words[ATH_PEER_KIND_COUNT] = {
        [ATH_PEER_GPU] = "gpu", [ATH_PEER_CPU] = "cpu", [ATH_PEER_SWITCH] = "switch"
    };
    return nvlink ? words[nvlink->kind] : NULL;
}

/* Returns the number of the GPU at the other end, or ATH_UNKNOWN. */
static int64_t peer_index(const struct ath_machine *machine, const struct ath_nvlink *nvlink)
{
    const struct ath_gpu *peer =
        nvlink && nvlink->has_peer ? ath_machine_gpu(machine, &nvlink->peer) : NULL;
    return peer ? peer - machine->gpus : ATH_UNKNOWN;
}

static const char *const link_types[] = { "nvlink", "xgmi", "pcie", NULL };
static const char *const peer_kinds[] = { "gpu", "cpu", "switch", NULL };

#define SOURCE(name, place)                                                                        \
    ATH_FIELD(name, place, .word = source_word, .word_count = ATH_FIGURE_SOURCE_COUNT)
#define FIGURE(name, place, ...)                                                                   \
    ATH_FIELD(name, place, .is_nullable = true, .rules = ATH_AT_LEAST_0, __VA_ARGS__)

#define AT(member) ATH_AT(struct shown_link, member)
static const struct ath_field link_fields[] = {
    ATH_FIELD("type", AT(type), .words = link_types),
    ATH_FIELD("peer_kind", AT(peer_kind),
              .help = "the other end of NVLinks and xGMI links; null for PCIe", .is_nullable = true,
              .words = peer_kinds),
    ATH_FIELD("peer", AT(nvlink.peer),
              .help = "PCI address of the other end; null for PCIe, and for several switches",
              .known = ATH_KNOWN(struct shown_link, has_peer)),
    FIGURE("peer_index", AT(peer_index),
           .help = "number of the GPU at the other end; null if it is none of this machine"),
    FIGURE("count", AT(link.count), .help = "number of parallel links, of lanes for PCIe"),
    FIGURE("bandwidth_bytes_per_s", AT(link.bandwidth_bytes_per_s.value),
           .help = "of all of them together, in one direction"),
    SOURCE("bandwidth_source", AT(link.bandwidth_bytes_per_s.source)),
    FIGURE("latency_ns", AT(link.latency_ns.value), .help = "of a small message from GPU to GPU"),
    SOURCE("latency_source", AT(link.latency_ns.source)),
    { .name = NULL },
};
#undef AT

static json_t *make_links(const void *object)
{
    const struct ath_gpu_fingerprint *fingerprint = object;
    json_t *list = json_array();

    for (size_t i = 0; i < fingerprint->link_count; i++) {
        const struct ath_gpu_link *link = &fingerprint->links[i];
        const struct ath_nvlink *nvlink = link->nvlink;
        struct shown_link shown = { .link = *link,
                                    .type = link_type(fingerprint->gpu, nvlink),
                                    .peer_kind = peer_kind_word(nvlink),
                                    .peer_index = peer_index(fingerprint->machine, nvlink) };
        if (nvlink) {
            shown.nvlink = *nvlink;
            shown.has_peer = nvlink->has_peer && link->ends == 1;
        }
        json_array_append_new(list, ath_fields_to_json(link_fields, &shown));
    }
    return list;
}

struct shown_peer {
    struct ath_gpu_pair pair;
    size_t index;
    struct ath_pci pci;
    char *word;
    enum ath_figure_source latency_source;
};

#define AT(member) ATH_AT(struct shown_peer, member)
static const struct ath_field peer_fields[] = {
    ATH_FIELD("index", AT(index), .help = "number of the other GPU"),
    ATH_FIELD("pci", AT(pci), .is_nullable = true),
    ATH_FIELD("class", AT(word), .help = "distance, in the words of `nvidia-smi topo -m`",
              .is_nullable = true),
    FIGURE("bandwidth_bytes_per_s", AT(pair.bandwidth_bytes_per_s),
           .help = "of the narrowest part of the way, in one direction"),
    SOURCE("bandwidth_source", AT(pair.source)),
    FIGURE("latency_ns", AT(pair.latency_ns), .help = "of a small message"),
    SOURCE("latency_source", AT(latency_source)),
    FIGURE("distance", AT(pair.distance), .help = "by latency: 10 is a direct NVLink"),
    { .name = NULL },
};
#undef AT

/* word is owned by the caller. */
static struct shown_peer look_at_peer(const struct ath_machine *machine, size_t gpu, size_t peer)
{
    struct shown_peer shown = { .index = peer, .pci = machine->gpus[peer].pci };

    ath_gpu_pair_look(machine, gpu, peer, &shown.pair);
    shown.word = ath_gpu_pair_word(machine, &shown.pair);
    if (shown.pair.latency_ns > 0)
        shown.latency_source =
            shown.pair.source == ATH_FIGURE_MEASURED ? ATH_FIGURE_MEASURED : ATH_FIGURE_TABLE;
    return shown;
}

static json_t *make_peers(const void *object)
{
    const struct ath_gpu_fingerprint *fingerprint = object;
    const struct ath_machine *machine = fingerprint->machine;

    if (!shows_peers(machine))
        return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < machine->gpu_count; i++) {
        if (i == fingerprint->index)
            continue;
        struct shown_peer shown = look_at_peer(machine, fingerprint->index, i);
        json_array_append_new(list, ath_fields_to_json(peer_fields, &shown));
        free(shown.word);
    }
    return list;
}

static void add_code(void *data, const struct ath_warning *warning)
{
    json_array_append_new(data, json_string(warning->code));
}

static json_t *make_warnings(const void *object)
{
    json_t *list = json_array();
    visit_warnings(object, add_code, list);
    return list;
}

#define AT(figure) ATH_AT_AS(ATH_FIELD_INT64, struct ath_gpu_fingerprint, figures[figure].value)
#define THROUGHPUT_HELP(format) "dense " format ", in 10^9 operations per second"
#define FIGURES(ROW)                                                                               \
    ROW("memory_total_bytes", ATH_GPU_MEMORY, "memory of the GPU")                                 \
    ROW("memory_bandwidth_bytes_per_s", ATH_GPU_MEMORY_BANDWIDTH, "bandwidth of that memory")      \
    ROW("fp64_gflops", ATH_GPU_FP64, THROUGHPUT_HELP("FP64 of the ordinary cores"))                \
    ROW("fp32_gflops", ATH_GPU_FP32, THROUGHPUT_HELP("FP32 of the ordinary cores"))                \
    ROW("tf32_gflops", ATH_GPU_TF32, THROUGHPUT_HELP("TF32 of the tensor cores"))                  \
    ROW("fp16_gflops", ATH_GPU_FP16,                                                               \
        THROUGHPUT_HELP("FP16 of the tensor cores, or of the ordinary cores if there are none"))   \
    ROW("bf16_gflops", ATH_GPU_BF16, THROUGHPUT_HELP("BF16 of the tensor cores"))                  \
    ROW("fp8_gflops", ATH_GPU_FP8, THROUGHPUT_HELP("FP8 of the tensor cores"))                     \
    ROW("fp4_gflops", ATH_GPU_FP4, THROUGHPUT_HELP("FP4 of the tensor cores"))                     \
    ROW("tensor_cores", ATH_GPU_TENSOR_CORES, "number of tensor cores")                            \
    ROW("nvlink_bytes_per_s", ATH_GPU_NVLINK,                                                      \
        "all NVLinks that the model can have together, in one direction")

#define SOURCE_ROW(name, figure, help_text)                                                        \
    ATH_FIELD(name, ATH_AT_AS(ATH_FIELD_INT, struct ath_gpu_fingerprint, figures[figure].source),  \
              .word = source_word, .word_count = ATH_FIGURE_SOURCE_COUNT),
static const struct ath_field source_fields[] = {
    FIGURES(SOURCE_ROW)
        SOURCE("memory_free_bytes", ATH_AT(struct ath_gpu_fingerprint, memory_free_bytes.source)),
    { .name = NULL },
};
#undef SOURCE_ROW

static const void *find_gpu(const void *object)
{
    return ((const struct ath_gpu_fingerprint *)object)->gpu;
}

static const void *find_model(const void *object)
{
    return ((const struct ath_gpu_fingerprint *)object)->model;
}

#define OF_GPU(member) ATH_AT(struct ath_gpu, member)
#define FIGURE_ROW(name, figure, help_text) FIGURE(name, AT(figure), .help = help_text),
static const struct ath_field gpu_fields[] = {
    ATH_FIELD("index", ATH_AT(struct ath_gpu_fingerprint, index),
              .help = "number in the output of discover"),
    ATH_FIELD("pci", OF_GPU(pci),
              .help = "null if the source does not tell it, as `nvidia-smi topo -m`",
              .is_nullable = true, .find = find_gpu),
    ATH_FIELD("uuid", OF_GPU(uuid), .is_nullable = true, .find = find_gpu),
    ATH_FIELD("vendor", OF_GPU(vendor_id), .is_nullable = true, .word = ath_words_vendor,
              .find = find_gpu),
    ATH_FIELD("model", OF_GPU(model), .help = "product name", .is_nullable = true,
              .find = find_gpu),
    ATH_FIELD("table_model", ATH_AT(struct ath_gpu_model, name),
              .help = "its row in the table of models; null if the table lacks it",
              .is_nullable = true, .find = find_model),
    ATH_FIELD("table_source", ATH_AT(struct ath_gpu_model, source),
              .help = "the document that the row is from", .is_nullable = true, .find = find_model),
    ATH_FIELD("numa_node", OF_GPU(numa_node), .is_nullable = true, .find = find_gpu),
    ATH_FIELD("memory_node", OF_GPU(memory_node),
              .help = "NUMA node that is the GPU's memory; null for most GPUs", .is_nullable = true,
              .find = find_gpu),
    FIGURES(FIGURE_ROW)
        FIGURE("memory_free_bytes", ATH_AT(struct ath_gpu_fingerprint, memory_free_bytes.value)),
    ATH_FIELD("sources", ATH_OF(ATH_FIELD_OBJECT), .help = "what says each figure",
              .fields = source_fields),
    ATH_FIELD("links", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "links of the GPU itself: NVLinks or xGMI links by their other end, and PCIe",
              .fields = link_fields, .make = make_links),
    ATH_FIELD("peers", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "the ways to the machine's other GPUs; null with more than 10,000 pairs",
              .is_nullable = true, .fields = peer_fields, .make = make_peers),
    ATH_FIELD("health", ATH_OF(ATH_FIELD_OBJECT), .help = ATH_GPU_HEALTH_HELP, .find = find_gpu,
              .fields = ath_gpu_health_fields),
    ATH_FIELD("warnings", ATH_LIST_OF(ATH_FIELD_TEXT),
              .help = "codes of the warnings that discover has about the GPU",
              .make = make_warnings),
    { .name = NULL },
};
#undef FIGURE_ROW
#undef OF_GPU
#undef AT

static const struct ath_field fields[] = {
    ATH_FIELD("gpus", ATH_AT_LIST(struct ath_fingerprint_report, gpus, count),
              .help = "by PCI address. A figure is null if it is not known, and 0 if the GPU has "
                      "none of it",
              .fields = gpu_fields),
    { .name = NULL },
};

/* ---- text ---- */

enum { LABEL_COLUMNS = 12 };

static void print_row(const struct ath_style *style, FILE *out, const char *label, const char *text)
{
    if (text)
        ath_style_print_row(style, out, LABEL_COLUMNS, label, text);
}

/* Adds "900 GB/s (table)", or nothing for an unknown amount. */
static void add_amount(struct ath_text *text, enum ath_gpu_figure figure,
                       const struct ath_sourced *amount, const char *format)
{
    ath_auto_free char *words = ath_gpu_figure_amount(figure, amount->value);
    ath_auto_free char *named = ath_xasprintf(format, words);

    if (amount->value >= 0)
        ath_text_add_part(text, _(", "), "%s (%s)", named, ath_figure_source_word(amount->source));
}

static void print_memory(const struct ath_style *style, FILE *out,
                         const struct ath_gpu_fingerprint *fingerprint)
{
    ATH_AUTO(ath_text) text = { 0 };

    add_amount(&text, ATH_GPU_MEMORY, &fingerprint->figures[ATH_GPU_MEMORY], "%s");
    add_amount(&text, ATH_GPU_MEMORY, &fingerprint->memory_free_bytes, _("%s free"));
    add_amount(&text, ATH_GPU_MEMORY_BANDWIDTH, &fingerprint->figures[ATH_GPU_MEMORY_BANDWIDTH],
               "%s");
    print_row(style, out, _("Memory"), text.length ? text.data : _("not known"));
}

/* The formats whose throughput is known, those that the GPU lacks, and those that are not known. */
static void print_throughputs(const struct ath_style *style, FILE *out,
                              const struct ath_gpu_fingerprint *fingerprint)
{
    ATH_AUTO(ath_text) known = { 0 };
    ATH_AUTO(ath_text) none = { 0 };
    ATH_AUTO(ath_text) unknown = { 0 };
    const char *source = ath_figure_source_word(fingerprint->figures[ATH_GPU_FP16].source);

    for (int i = ATH_GPU_FP64; i <= ATH_GPU_FP4; i++) {
        const struct ath_sourced *figure = &fingerprint->figures[i];
        const char *format = ath_gpu_format_word((enum ath_gpu_figure)i);
        if (figure->value > 0) {
            ath_text_add_part(&known, _(", "), "%s %.10g", format, (double)figure->value / 1e3);
            source = ath_figure_source_word(figure->source);
        } else {
            ath_text_add_part(figure->value ? &unknown : &none, _(", "), "%s", format);
        }
    }
    ATH_AUTO(ath_text) text = { 0 };
    if (known.length)
        ath_text_add(&text, "%s TFLOPS (%s)", known.data, source);
    if (none.length)
        ath_text_add_part(&text, "; ", _("none: %s"), none.data);
    if (unknown.length)
        ath_text_add_part(&text, "; ", _("not known: %s"), unknown.data);
    print_row(style, out, _("Throughput"), fingerprint->model ? text.data : _("not known"));
}

static void print_figure(const struct ath_style *style, FILE *out, const char *label,
                         enum ath_gpu_figure figure, const struct ath_sourced *amount)
{
    ATH_AUTO(ath_text) text = { 0 };
    if (!amount->value)
        ath_text_add(&text, _("none (%s)"), ath_figure_source_word(amount->source));
    else
        add_amount(&text, figure, amount, "%s");
    print_row(style, out, label, text.length ? text.data : _("not known"));
}

/* Adds "75 GB/s (driver), 0.6 us (table)". */
static void add_way(struct ath_text *text, const struct ath_sourced *bandwidth,
                    const struct ath_sourced *latency)
{
    ath_auto_free char *words = ath_words_bandwidth(bandwidth->value);

    if (bandwidth->value < 0)
        ath_text_add(text, ", %s", _("bandwidth not known"));
    else
        ath_text_add(text, ", %s (%s)", words, ath_figure_source_word(bandwidth->source));
    if (latency->value >= 0)
        ath_text_add(text, ", %.1f us (%s)", (double)latency->value / 1e3,
                     ath_figure_source_word(latency->source));
}

/* The other end of NVLinks. The caller frees it. */
static char *link_end_words(const struct ath_machine *machine, const struct ath_gpu_link *link)
{
    const struct ath_nvlink *nvlink = link->nvlink;
    int64_t peer = peer_index(machine, nvlink);

    if (nvlink->kind == ATH_PEER_SWITCH)
        return link->ends == 1
                   ? ath_xstrdup(_("switches"))
                   : ath_xasprintf(ngettext("%zu switch", "%zu switches", link->ends), link->ends);
    if (nvlink->kind == ATH_PEER_CPU)
        return ath_xstrdup(_("CPU"));
    return peer >= 0 ? ath_xasprintf("GPU%zu", (size_t)peer) : ath_xstrdup(_("another GPU"));
}

static void print_links(const struct ath_style *style, FILE *out,
                        const struct ath_gpu_fingerprint *fingerprint)
{
    const struct ath_gpu *gpu = fingerprint->gpu;
    const char *times = ath_style_glyph(style, ATH_GLYPH_TIMES);

    for (size_t i = 0; i < fingerprint->link_count; i++) {
        const struct ath_gpu_link *link = &fingerprint->links[i];
        ATH_AUTO(ath_text) text = { 0 };
        if (link->nvlink) {
            ath_auto_free char *end = link_end_words(fingerprint->machine, link);
            ath_text_add(&text, _("%s to %s"), gpu->vendor_id == ATH_VENDOR_AMD ? "xGMI" : "NVLink",
                         end);
        } else {
            ath_text_add(&text, "PCIe");
        }
        if (link->count >= 0)
            ath_text_add(&text, " %s%d", times, link->count);
        add_way(&text, &link->bandwidth_bytes_per_s, &link->latency_ns);
        print_row(style, out, i ? "" : _("Links"), text.data);
    }
    if (!gpu->has_nvlinks && gpu->vendor_id == ATH_VENDOR_NVIDIA &&
        fingerprint->figures[ATH_GPU_NVLINK].value)
        print_row(style, out, fingerprint->link_count ? "" : _("Links"),
                  _("NVLinks are not known"));
}

/* Peers that are reached in the same way. */
struct peer_group {
    char *way;
    struct ath_idset gpus;
};

static char *peer_words(const struct shown_peer *peer)
{
    struct ath_text text = { 0 };

    ath_text_add(&text, "%s", peer->word ? peer->word : "?");
    add_way(&text, &(struct ath_sourced){ peer->pair.bandwidth_bytes_per_s, peer->pair.source },
            &(struct ath_sourced){ peer->pair.latency_ns, peer->latency_source });
    return ath_text_take(&text);
}

static void add_peer(struct peer_group **groups, size_t *count, size_t gpu, char *way)
{
    size_t at = 0;

    while (at < *count && strcmp((*groups)[at].way, way) != 0)
        at++;
    if (at == *count)
        *(struct peer_group *)ath_push(groups, count, sizeof **groups) =
            (struct peer_group){ .way = way };
    else
        free(way);
    ath_idset_add(&(*groups)[at].gpus, (int)gpu, (int)gpu);
}

static void print_peers(const struct ath_style *style, FILE *out,
                        const struct ath_gpu_fingerprint *fingerprint)
{
    const struct ath_machine *machine = fingerprint->machine;
    struct peer_group *groups = NULL;
    size_t count = 0;

    for (size_t i = 0; i < machine->gpu_count && shows_peers(machine); i++) {
        if (i == fingerprint->index)
            continue;
        struct shown_peer peer = look_at_peer(machine, fingerprint->index, i);
        add_peer(&groups, &count, i, peer_words(&peer));
        free(peer.word);
    }
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *names = ath_words_gpus(&groups[i].gpus);
        ath_auto_free char *text = ath_xasprintf("%s: %s", names, groups[i].way);
        print_row(style, out, i ? "" : _("Peers"), text);
        free(groups[i].way);
        ath_idset_free(&groups[i].gpus);
    }
    free(groups);
}

struct warning_printer {
    const struct ath_style *style;
    FILE *out;
    bool has_printed;
};

static void print_warning(void *data, const struct ath_warning *warning)
{
    struct warning_printer *printer = data;
    ath_auto_free char *text = ath_xasprintf("%s: %s", warning->code, warning->message);

    print_row(printer->style, printer->out, printer->has_printed ? "" : _("Warning"), text);
    printer->has_printed = true;
}

static void print_place(const struct ath_style *style, FILE *out, const struct ath_gpu *gpu)
{
    ATH_AUTO(ath_text) text = { 0 };

    if (gpu->numa_node >= 0)
        ath_text_add(&text, "%d", gpu->numa_node);
    else
        ath_text_add(&text, "%s", _("not known"));
    if (gpu->memory_node >= 0)
        ath_text_add(&text, _("; its memory is NUMA node %d"), gpu->memory_node);
    print_row(style, out, _("NUMA node"), text.data);
}

static void print_health(const struct ath_style *style, FILE *out, const struct ath_gpu *gpu)
{
    ath_auto_free char *text = ath_gpu_health_words(gpu);

    if (gpu->vendor_id == ATH_VENDOR_NVIDIA)
        print_row(style, out, _("Health"), text);
}

static void print_gpu(const struct ath_style *style, FILE *out,
                      const struct ath_gpu_fingerprint *fingerprint)
{
    const struct ath_gpu *gpu = fingerprint->gpu;
    const struct ath_gpu_model *model = fingerprint->model;
    char address[ATH_PCI_TEXT];
    ath_auto_free char *name = ath_xasprintf("GPU%zu", fingerprint->index);
    ath_auto_free char *device = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
    bool has_pci = ath_pci_is_address(&gpu->pci);
    ath_auto_free char *head =
        ath_xasprintf("%s%s%s", has_pci ? ath_pci_format(&gpu->pci, address) : "",
                      has_pci ? "  " : "", *device ? device : "?");
    ath_auto_free char *row =
        model && model->source ? ath_xasprintf("%s (%s)", model->name, model->source)
                               : ath_xstrdup(model ? model->name : _("not in the table of models"));
    struct warning_printer printer = { style, out, false };

    ath_style_print(style, out,
                    &(struct ath_paragraph){ .label = name,
                                             .label_role = ATH_ROLE_NAME,
                                             .label_columns = LABEL_COLUMNS + 2,
                                             .text = head });
    print_row(style, out, _("Model"), row);
    print_place(style, out, gpu);
    print_memory(style, out, fingerprint);
    print_throughputs(style, out, fingerprint);
    print_figure(style, out, _("Tensor cores"), ATH_GPU_TENSOR_CORES,
                 &fingerprint->figures[ATH_GPU_TENSOR_CORES]);
    print_links(style, out, fingerprint);
    print_peers(style, out, fingerprint);
    print_health(style, out, gpu);
    visit_warnings(fingerprint, print_warning, &printer);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_fingerprint_report *report = data;

    for (size_t i = 0; i < report->count; i++)
        print_gpu(style, out, &report->gpus[i]);
    if (!report->count)
        fprintf(out, "%s\n", _("The machine has no GPU that can be seen."));
}

const struct ath_view ath_fingerprint_view = {
    .schema = "aitherion.fingerprint/1",
    .title = "Output of `aitherion fingerprint --json`",
    .fields = fields,
    .to_text = to_text,
};
