/* Looks at the links, the PCI classes and the measured copies of two GPUs. */
#include "config.h"

#include "place/gpu_pair.h"

#include "base/alloc.h"
#include "base/unknown.h"
#include "numa/gpu_links.h"
#include "numa/pair.h"
#include "place/chip.h"
#include "place/gpu_models.h"
#include "place/link_figures.h"

enum { BYTES_PER_MEGABIT = 1000000 / 8, DISTANCE_OF_NVLINK = 10 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The speed of a GPU's links of one kind: to a peer, or to all peers if it is NULL. Returns
 * ATH_UNKNOWN if a link's speed is not known, and 0 if there is no link. */
static int64_t speed_mbps(const struct ath_gpu *gpu, enum ath_peer_kind kind,
                          const struct ath_pci *peer)
{
    int64_t sum = 0;
    for (size_t i = 0; i < gpu->nvlink_count; i++) {
        const struct ath_nvlink *link = &gpu->nvlinks[i];
        if (link->kind != kind || (peer && (!link->has_peer || !ath_pci_equals(&link->peer, peer))))
            continue;
        if (link->speed_mbps <= 0)
            return ATH_UNKNOWN;
        sum += link->speed_mbps;
    }
    return sum;
}

static void set(struct ath_gpu_pair *pair, int64_t bytes_per_s, enum ath_figure_source source)
{
    bool is_known = bytes_per_s > 0;
    pair->bandwidth_bytes_per_s = is_known ? bytes_per_s : ATH_UNKNOWN;
    pair->source = is_known ? source : ATH_FIGURE_UNKNOWN;
}

/* The links of both GPUs are asked, because a source may name a link at one end only. */
static void look_at_links(const struct ath_gpu *a, const struct ath_gpu *b,
                          struct ath_gpu_pair *pair)
{
    int64_t ab = speed_mbps(a, ATH_PEER_GPU, &b->pci), ba = speed_mbps(b, ATH_PEER_GPU, &a->pci);
    int64_t mbps = ab > 0 && ba > 0 ? smaller(ab, ba) : ab > ba ? ab : ba;
    if (!mbps)
        mbps = smaller(speed_mbps(a, ATH_PEER_SWITCH, NULL), speed_mbps(b, ATH_PEER_SWITCH, NULL));
    int64_t each = smaller(ath_link_nvlink_bytes_per_s(ath_gpu_chip(a)),
                           ath_link_nvlink_bytes_per_s(ath_gpu_chip(b)));
    if (mbps > 0)
        set(pair, mbps * BYTES_PER_MEGABIT, ATH_FIGURE_DRIVER);
    else if (pair->links > 0 && each > 0)
        set(pair, pair->links * each, ATH_FIGURE_TABLE);
}

/* From a GPU to its processor, in Mb/s; ATH_UNKNOWN. */
static int64_t to_processor_mbps(const struct ath_gpu *gpu)
{
    int64_t linked = speed_mbps(gpu, ATH_PEER_CPU, NULL);

    if (ath_gpu_is_linked_to_processor(gpu))
        return linked > 0 ? linked : ATH_UNKNOWN;
    return gpu->pcie_mbps > 0 ? gpu->pcie_mbps : ATH_UNKNOWN;
}

/* Between sockets only the profile of few machines tells what the way can carry. There, NVLinks of
 * unknown speed to the processors are not the narrowest part (link_figures.c). */
static void look_beyond_socket(const struct ath_machine *machine, const struct ath_gpu *a,
                               const struct ath_gpu *b, struct ath_gpu_pair *pair)
{
    const struct ath_gpu *ends[] = { a, b };
    int64_t bytes_per_s = ath_link_socket_bytes_per_s(machine->profile);
    enum ath_figure_source source = ATH_FIGURE_TABLE;

    for (size_t i = 0; i < ATH_COUNT(ends) && bytes_per_s > 0; i++) {
        int64_t mbps = to_processor_mbps(ends[i]);
        if (mbps < 0 && ath_gpu_is_linked_to_processor(ends[i]))
            continue;
        if (mbps < 0 || mbps * BYTES_PER_MEGABIT < bytes_per_s) {
            bytes_per_s = mbps < 0 ? ATH_UNKNOWN : mbps * BYTES_PER_MEGABIT;
            source = ATH_FIGURE_DRIVER;
        }
    }
    set(pair, bytes_per_s, source);
}

/* From GPU to GPU over the host: by the NVLinks to their processors if they have some, else by
 * PCIe. */
static void look_at_host(const struct ath_machine *machine, const struct ath_gpu *a,
                         const struct ath_gpu *b, struct ath_gpu_pair *pair)
{
    int64_t mbps = smaller(to_processor_mbps(a), to_processor_mbps(b));

    if (pair->class == ATH_PCI_SYS)
        look_beyond_socket(machine, a, b, pair);
    else if (pair->class != ATH_PCI_UNKNOWN && mbps > 0)
        set(pair, mbps * BYTES_PER_MEGABIT, ATH_FIGURE_DRIVER);
}

static bool may_have_nvlinks(const struct ath_gpu *gpu)
{
    const struct ath_gpu_model *model = ath_gpu_model_of(gpu);

    return (gpu->vendor_id == ATH_VENDOR_NVIDIA || gpu->vendor_id == ATH_UNKNOWN) &&
           !(model && !model->figures[ATH_GPU_NVLINK]);
}

/* Returns whether there may be links that the source does not tell. */
static bool is_hidden(const struct ath_machine *machine, const struct ath_gpu_pair *pair)
{
    return !pair->knows_links && may_have_nvlinks(&machine->gpus[pair->a]) &&
           may_have_nvlinks(&machine->gpus[pair->b]);
}

/* Sets what sources and tables say. */
static void look_at_way(const struct ath_machine *machine, struct ath_gpu_pair *pair)
{
    bool has_links = pair->knows_links && pair->links;
    int64_t nearest_ns = ath_link_latency_ns(ATH_WAY_NVLINK);

    if (is_hidden(machine, pair))
        return;
    if (has_links)
        look_at_links(&machine->gpus[pair->a], &machine->gpus[pair->b], pair);
    else
        look_at_host(machine, &machine->gpus[pair->a], &machine->gpus[pair->b], pair);
    if (has_links)
        pair->latency_ns = nearest_ns;
    else if (pair->class != ATH_PCI_UNKNOWN)
        pair->latency_ns = ath_link_latency_ns(ATH_WAY_PCI);
    if (pair->latency_ns > 0)
        pair->distance =
            (int)((pair->latency_ns * DISTANCE_OF_NVLINK + nearest_ns / 2) / nearest_ns);
}

/* Sets the measured figures: of the slower direction. The distance stays one of the table, because
 * the latency of a copy has the driver's work in it. */
static void look_at_measured(const struct ath_machine *machine, struct ath_gpu_pair *pair)
{
    size_t count = machine->gpu_count;

    if (!machine->measured)
        return;
    const struct ath_measured *there = &machine->measured[pair->a * count + pair->b],
                              *back = &machine->measured[pair->b * count + pair->a];
    int64_t bytes_per_s = smaller(there->bytes_per_s, back->bytes_per_s);
    if (bytes_per_s <= 0)
        return;
    set(pair, bytes_per_s, ATH_FIGURE_MEASURED);
    if (there->latency_ns > 0 && back->latency_ns > 0)
        pair->latency_ns = (there->latency_ns + back->latency_ns) / 2;
}

void ath_gpu_pair_look(const struct ath_machine *machine, size_t a, size_t b,
                       struct ath_gpu_pair *out)
{
    *out = (struct ath_gpu_pair){
        .a = a,
        .b = b,
        .class = ath_class_of_gpus(&machine->gpus[a], &machine->gpus[b]),
        .bandwidth_bytes_per_s = ATH_UNKNOWN,
        .latency_ns = ATH_UNKNOWN,
        .distance = ATH_UNKNOWN,
    };
    out->knows_links = ath_gpu_links(machine, a, b, &out->links);
    look_at_way(machine, out);
    look_at_measured(machine, out);
}

char *ath_gpu_pair_word(const struct ath_machine *machine, const struct ath_gpu_pair *pair)
{
    if (pair->knows_links && pair->links)
        return ath_gpu_links_word(&machine->gpus[pair->a], pair->links);
    if (is_hidden(machine, pair) || pair->class == ATH_PCI_UNKNOWN)
        return NULL;
    return ath_xstrdup(ath_pci_class_word(pair->class));
}

const char *ath_figure_source_word(enum ath_figure_source source)
{
    static const char *const words[ATH_FIGURE_SOURCE_COUNT] = {
        [ATH_FIGURE_UNKNOWN] = "unknown",
        [ATH_FIGURE_DRIVER] = "driver",
        [ATH_FIGURE_TABLE] = "table",
        [ATH_FIGURE_MEASURED] = "measured",
    };
    return words[source];
}
