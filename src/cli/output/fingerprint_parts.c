/* Peers, links and warnings of a GPU, for text and JSON. */
#include "config.h"

#include "cli/output/fingerprint_parts.h"

#include <string.h>

#include "base/unknown.h"

/* With more pairs of GPUs, the peers of each GPU are left out, as `discover` leaves out the
 * pairs. */
enum { PAIRS_MANY = 10000 };

bool ath_fingerprint_shows_peers(const struct ath_machine *machine)
{
    size_t count = machine->gpu_count;
    return !count || count * (count - 1) / 2 <= PAIRS_MANY;
}

void ath_fingerprint_visit_warnings(const struct ath_gpu_fingerprint *fingerprint,
                                    void (*visit)(void *data, const struct ath_warning *warning),
                                    void *data)
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

int64_t ath_fingerprint_peer_index(const struct ath_machine *machine,
                                   const struct ath_nvlink *nvlink)
{
    const struct ath_gpu *peer =
        nvlink && nvlink->has_peer ? ath_machine_gpu(machine, &nvlink->peer) : NULL;
    return peer ? peer - machine->gpus : ATH_UNKNOWN;
}

struct ath_shown_peer ath_fingerprint_peer(const struct ath_machine *machine, size_t gpu,
                                           size_t peer)
{
    struct ath_shown_peer shown = { .index = peer, .pci = machine->gpus[peer].pci };

    ath_gpu_pair_look(machine, gpu, peer, &shown.pair);
    shown.word = ath_gpu_pair_word(machine, &shown.pair);
    if (shown.pair.latency_ns > 0)
        shown.latency_source =
            shown.pair.source == ATH_FIGURE_MEASURED ? ATH_FIGURE_MEASURED : ATH_FIGURE_TABLE;
    return shown;
}
