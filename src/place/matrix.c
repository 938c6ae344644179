/* Bandwidths from the facts of the machine itself: no table of models is asked. */
#include "config.h"

#include "place/matrix.h"

#include "base/alloc.h"
#include "numa/pair.h"
#include "place/set.h"

enum { BYTES_PER_MEGABIT = 1000000 / 8 };

/* Returns the bandwidth of the NVLinks from one GPU to another, in Mb/s; 0 if there are none. */
static int64_t linked_mbps(const struct ath_gpu *from, const struct ath_gpu *to)
{
    int64_t sum = 0;

    for (size_t i = 0; i < from->nvlink_count; i++) {
        const struct ath_nvlink *link = &from->nvlinks[i];
        if (link->kind == ATH_PEER_GPU && link->has_peer && link->speed_mbps > 0 &&
            ath_pci_equals(&link->peer, &to->pci))
            sum += link->speed_mbps;
    }
    return sum;
}

static int64_t switched_mbps(const struct ath_gpu *gpu)
{
    int64_t sum = 0;
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        if (gpu->nvlinks[i].kind == ATH_PEER_SWITCH && gpu->nvlinks[i].speed_mbps > 0)
            sum += gpu->nvlinks[i].speed_mbps;
    return sum;
}

static bool has_switch(const struct ath_gpu *gpu)
{
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        if (gpu->nvlinks[i].kind == ATH_PEER_SWITCH)
            return true;
    return false;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The links of both GPUs are asked, because a source may name a link at one end only. */
static int64_t bandwidth(const struct ath_gpu *a, const struct ath_gpu *b)
{
    int64_t ab = linked_mbps(a, b), ba = linked_mbps(b, a);
    int64_t switched = smaller(switched_mbps(a), switched_mbps(b));
    enum ath_pci_class class = ath_class_of_gpus(a, b);

    if (ab || ba)
        return (ab && ba ? smaller(ab, ba) : ab + ba) * BYTES_PER_MEGABIT;
    if (switched)
        return switched * BYTES_PER_MEGABIT;
    if (has_switch(a) && has_switch(b))
        return ATH_SET_UNKNOWN_NEAR; /* nearer than any path over the host */
    if (class == ATH_PCI_UNKNOWN || class == ATH_PCI_SYS || a->pcie_mbps <= 0 || b->pcie_mbps <= 0)
        return a->numa_node != ATH_UNKNOWN && a->numa_node == b->numa_node ? ATH_SET_UNKNOWN_NEAR
                                                                           : ATH_SET_UNKNOWN_FAR;
    return smaller(a->pcie_mbps, b->pcie_mbps) * BYTES_PER_MEGABIT;
}

int64_t *ath_place_matrix(const struct ath_machine *machine)
{
    size_t count = machine->gpu_count;
    int64_t *matrix = ath_xalloc(count * count * sizeof *matrix);

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (i != j)
                matrix[i * count + j] = bandwidth(&machine->gpus[i], &machine->gpus[j]);
    return matrix;
}
