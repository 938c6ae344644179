/* Fills the matrix, and makes bandwidths that are nearly equal the same. */
#include "config.h"

#include "place/matrix.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "numa/gpu_links.h"
#include "place/gpu_pair.h"
#include "place/set.h"

enum { LINKS_MAX = 99 };

/* Ways over one node of which only the class is known: between links and "near". */
static const int64_t by_class[ATH_PCI_CLASS_COUNT] = {
    [ATH_PCI_PIX] = ATH_SET_UNKNOWN_LINKS,
    [ATH_PCI_PXB] = ATH_SET_UNKNOWN_LINKS - 1,
    [ATH_PCI_PHB] = ATH_SET_UNKNOWN_LINKS - 2,
    [ATH_PCI_NODE] = ATH_SET_UNKNOWN_LINKS - 3,
};

static int64_t bandwidth(const struct ath_machine *machine, size_t from, size_t to)
{
    const struct ath_gpu *a = &machine->gpus[from], *b = &machine->gpus[to];
    struct ath_gpu_pair pair;

    ath_gpu_pair_look(machine, from, to, &pair);
    if (pair.bandwidth_bytes_per_s > 0)
        return pair.bandwidth_bytes_per_s;
    if (pair.knows_links && pair.links > 0)
        return ATH_SET_UNKNOWN_LINKS + (pair.links < LINKS_MAX ? pair.links : LINKS_MAX);
    if (pair.knows_links && !pair.links && by_class[pair.class])
        return by_class[pair.class];
    if (ath_gpu_has_links(a, ATH_PEER_SWITCH) && ath_gpu_has_links(b, ATH_PEER_SWITCH))
        return ATH_SET_UNKNOWN_NEAR; /* nearer than any way over the host */
    return a->numa_node != ATH_UNKNOWN && a->numa_node == b->numa_node ? ATH_SET_UNKNOWN_NEAR
                                                                       : ATH_SET_UNKNOWN_FAR;
}

static int compare_bandwidths(const void *a, const void *b)
{
    int64_t x = **(int64_t *const *)a, y = **(int64_t *const *)b;
    return (x > y) - (x < y);
}

/* Measured bandwidths of equal links differ a little, which must not decide: of values that differ
 * by less than 5 % from the lowest of them, all become the lowest. */
static void level(int64_t *matrix, size_t count)
{
    ath_auto_free int64_t **sorted = ath_xalloc(count * count * sizeof(int64_t *));
    size_t known = 0;

    for (size_t i = 0; i < count * count; i++)
        if (matrix[i] > 0)
            sorted[known++] = &matrix[i];
    qsort(sorted, known, sizeof *sorted, compare_bandwidths);
    for (size_t i = 0, first = 0; i < known; i++) {
        if (*sorted[i] >= *sorted[first] + *sorted[first] / 20)
            first = i;
        *sorted[i] = *sorted[first];
    }
}

int64_t *ath_place_matrix(const struct ath_machine *machine)
{
    size_t count = machine->gpu_count;
    int64_t *matrix = ath_xalloc(count * count * sizeof *matrix);

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            matrix[i * count + j] = matrix[j * count + i] = bandwidth(machine, j, i);
    if (machine->measured)
        level(matrix, count);
    return matrix;
}
