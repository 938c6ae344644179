#include "config.h"

#include "place/matrix.h"

#include "base/alloc.h"
#include "place/gpu_pair.h"
#include "place/set.h"

/* A GPU behind switches is nearer to the others there than any way over the host. */
static bool has_switch(const struct ath_gpu *gpu)
{
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        if (gpu->nvlinks[i].kind == ATH_PEER_SWITCH)
            return true;
    return false;
}

static int64_t bandwidth(const struct ath_machine *machine, size_t from, size_t to)
{
    const struct ath_gpu *a = &machine->gpus[from], *b = &machine->gpus[to];
    struct ath_gpu_pair pair;

    ath_gpu_pair_look(machine, from, to, &pair);
    if (pair.bandwidth_bytes_per_s > 0)
        return pair.bandwidth_bytes_per_s;
    if (has_switch(a) && has_switch(b))
        return ATH_SET_UNKNOWN_NEAR;
    return a->numa_node != ATH_UNKNOWN && a->numa_node == b->numa_node ? ATH_SET_UNKNOWN_NEAR
                                                                       : ATH_SET_UNKNOWN_FAR;
}

int64_t *ath_place_matrix(const struct ath_machine *machine)
{
    size_t count = machine->gpu_count;
    int64_t *matrix = ath_xalloc(count * count * sizeof *matrix);

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            matrix[i * count + j] = matrix[j * count + i] = bandwidth(machine, j, i);
    return matrix;
}
