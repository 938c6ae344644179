/* Fingerprints of GPUs as text. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fingerprint_parts.h"
#include "cli/output/gpu_figures.h"
#include "cli/output/gpu_health.h"
#include "cli/output/words.h"

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
    int64_t peer = ath_fingerprint_peer_index(machine, nvlink);

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

static char *peer_words(const struct ath_shown_peer *peer)
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

    for (size_t i = 0; i < machine->gpu_count && ath_fingerprint_shows_peers(machine); i++) {
        if (i == fingerprint->index)
            continue;
        struct ath_shown_peer peer = ath_fingerprint_peer(machine, fingerprint->index, i);
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
    ath_fingerprint_visit_warnings(fingerprint, print_warning, &printer);
}

void ath_fingerprint_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_fingerprint_report *report = data;

    for (size_t i = 0; i < report->count; i++)
        print_gpu(style, out, &report->gpus[i]);
    if (!report->count)
        fprintf(out, "%s\n", _("The machine has no GPU that can be seen."));
}
