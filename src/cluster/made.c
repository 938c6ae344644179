/* Machines made from counts. */
#include "config.h"

#include "cluster/made.h"

#include "base/alloc.h"
#include "base/unknown.h"

static void add_gpu(struct ath_machine *machine, const struct ath_made_machine *counts, size_t i)
{
    const struct ath_pci key = ath_pci_numbered((uint32_t)i);
    struct ath_gpu *gpu = ath_machine_add_gpu(machine, &key);

    gpu->vendor_id = ATH_VENDOR_NVIDIA;
    gpu->model = ath_xstrdup(counts->model);
    gpu->numa_node = (int)(i * counts->numa_nodes / counts->gpus);
    gpu->has_nvlinks = counts->nvlinks != ATH_UNKNOWN;
    if (counts->nvlinks <= 0)
        return;
    struct ath_nvlink *link = ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link);
    *link = (struct ath_nvlink){ .kind = ATH_PEER_SWITCH,
                                 .count = counts->nvlinks,
                                 .speed_mbps = ATH_UNKNOWN };
}

void ath_cluster_make_machine(const struct ath_made_machine *counts, struct ath_machine *out)
{
    *out = (struct ath_machine){ .profile = "generic", .source = ATH_SOURCE_XML, .is_text = true };
    out->hostname = ath_xstrdup(counts->hostname);
    for (size_t i = 0; i < counts->numa_nodes; i++)
        ath_machine_add_node(out, (int)i)->is_online = true;
    for (size_t i = 0; i < counts->gpus; i++)
        add_gpu(out, counts, i);
    ath_machine_finish(out);
}
