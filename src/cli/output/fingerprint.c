/* Fingerprints of GPUs as JSON: figures with sources, links, and the ways to other GPUs. */
#include "config.h"

#include "cli/output/fingerprint_parts.h"

#include <stdlib.h>

#include "cli/output/fields.h"
#include "cli/output/gpu_health.h"
#include "cli/output/words.h"

static const char *link_type(const struct ath_gpu *gpu, const struct ath_nvlink *nvlink)
{
    if (!nvlink)
        return "pcie";
    return gpu->vendor_id == ATH_VENDOR_AMD ? "xgmi" : "nvlink";
}

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
                                    .peer_index =
                                        ath_fingerprint_peer_index(fingerprint->machine, nvlink) };
        if (nvlink) {
            shown.nvlink = *nvlink;
            shown.has_peer = nvlink->has_peer && link->ends == 1;
        }
        json_array_append_new(list, ath_fields_to_json(link_fields, &shown));
    }
    return list;
}

#define AT(member) ATH_AT(struct ath_shown_peer, member)
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

static json_t *make_peers(const void *object)
{
    const struct ath_gpu_fingerprint *fingerprint = object;
    const struct ath_machine *machine = fingerprint->machine;

    if (!ath_fingerprint_shows_peers(machine))
        return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < machine->gpu_count; i++) {
        if (i == fingerprint->index)
            continue;
        struct ath_shown_peer shown = ath_fingerprint_peer(machine, fingerprint->index, i);
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
    ath_fingerprint_visit_warnings(object, add_code, list);
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

const struct ath_view ath_fingerprint_view = {
    .schema = "aitherion.fingerprint/1",
    .title = "Output of `aitherion fingerprint --json`",
    .fields = fields,
    .to_text = ath_fingerprint_to_text,
};
