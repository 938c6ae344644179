/* Counting the links between two GPUs. */
#include "config.h"

#include "numa/gpu_links.h"

#include "base/alloc.h"

static const struct ath_nvlink *link_to(const struct ath_gpu *gpu, enum ath_peer_kind kind,
                                        const struct ath_nvlink *peer)
{
    for (size_t i = 0; i < gpu->nvlink_count; i++) {
        const struct ath_nvlink *link = &gpu->nvlinks[i];
        if (link->kind == kind && link->has_peer && ath_pci_equals(&link->peer, &peer->peer))
            return link;
    }
    return NULL;
}

/* Counts the links to switches without an address. NVML names no switch of NVLink 5 (B200, GB200)
 * and none in a virtual machine: NCCL writes "fffffff:ff:ff.0". */
static int hidden_links(const struct ath_gpu *gpu)
{
    int count = 0;

    for (size_t i = 0; i < gpu->nvlink_count; i++) {
        const struct ath_nvlink *link = &gpu->nvlinks[i];
        if (link->kind != ATH_PEER_SWITCH || link->has_peer)
            continue;
        if (link->count < 0)
            return ATH_UNKNOWN;
        count += link->count;
    }
    return count;
}

/*
 * Counts links to common switches, for sources that list only the switches as peers. Switches
 * without an address are one fabric, as for NCCL (topo.cc, ncclTopoAddNvLinks) and nvidia-smi.
 */
static int switched_links(const struct ath_gpu *a, const struct ath_gpu *b)
{
    int from_a = hidden_links(a), from_b = hidden_links(b);
    int count = from_a < from_b ? from_a : from_b; /* ATH_UNKNOWN is the least */

    if (!from_a || !from_b)
        count = 0;
    if (count < 0)
        return ATH_UNKNOWN;

    for (size_t i = 0; i < a->nvlink_count; i++) {
        const struct ath_nvlink *link = &a->nvlinks[i];
        if (link->kind != ATH_PEER_SWITCH || !link->has_peer || !link_to(b, ATH_PEER_SWITCH, link))
            continue;
        if (link->count < 0)
            return ATH_UNKNOWN;
        count += link->count;
    }
    return count;
}

bool ath_gpu_has_links(const struct ath_gpu *gpu, enum ath_peer_kind kind)
{
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        if (gpu->nvlinks[i].kind == kind)
            return true;
    return false;
}

bool ath_gpu_is_linked_to_processor(const struct ath_gpu *gpu)
{
    return ath_gpu_has_links(gpu, ATH_PEER_CPU) || gpu->memory_node != ATH_UNKNOWN;
}

/* The smaller count of two entries, which may be NULL, whose count is known; else ATH_UNKNOWN. */
static int least_count(const struct ath_nvlink *there, const struct ath_nvlink *back)
{
    int ours = there ? there->count : ATH_UNKNOWN, theirs = back ? back->count : ATH_UNKNOWN;

    if (ours < 0 || theirs < 0)
        return ours < 0 ? theirs : ours;
    return ours < theirs ? ours : theirs;
}

bool ath_gpu_links(const struct ath_machine *machine, size_t a, size_t b, int *out)
{
    const struct ath_gpu *from = &machine->gpus[a], *to = &machine->gpus[b];
    struct ath_nvlink to_b = { .peer = to->pci }, to_a = { .peer = from->pci };
    const struct ath_nvlink *there = link_to(from, ATH_PEER_GPU, &to_b),
                            *back = link_to(to, ATH_PEER_GPU, &to_a);
    bool is_direct = there || back;

    if (!is_direct && !(from->has_nvlinks && to->has_nvlinks))
        return false;
    *out = is_direct ? least_count(there, back) : switched_links(from, to);
    /* Switches of two boards may be connected (DGX-2): the links of a GPU do not show that. */
    return *out || !ath_gpu_has_links(from, ATH_PEER_SWITCH) ||
           !ath_gpu_has_links(to, ATH_PEER_SWITCH);
}

char *ath_gpu_links_word(const struct ath_gpu *gpu, int count)
{
    if (gpu->vendor_id == ATH_VENDOR_AMD)
        return ath_xstrdup("XGMI");
    return count < 0 ? ath_xstrdup("NV?") : ath_xasprintf("NV%d", count);
}
