/* Finds the pair whose measured copies lag most behind its links. */
#include "config.h"

#include "place/measured_links.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "place/choose.h"
#include "place/estimate.h"
#include "place/gpu_pair.h"
#include "place/matrix.h"
#include "place/set.h"

/* The same machine without its measured figures. The copy owns no part of it. */
static struct ath_machine unmeasured(const struct ath_machine *machine)
{
    struct ath_machine copy = *machine;
    copy.measured = NULL;
    return copy;
}

/* Returns whether the first pair lags more behind than the second one. */
static bool is_slower(const struct ath_slow_pair *one, const struct ath_slow_pair *other)
{
    return (double)one->measured_bytes_per_s / (double)one->expected_bytes_per_s <
           (double)other->measured_bytes_per_s / (double)other->expected_bytes_per_s;
}

bool ath_measured_slowest(const struct ath_machine *machine, struct ath_slow_pair *out)
{
    const struct ath_machine expected = unmeasured(machine);
    bool is_found = false;

    for (size_t a = 0; machine->measured && a < machine->gpu_count; a++)
        for (size_t b = a + 1; b < machine->gpu_count; b++) {
            struct ath_gpu_pair now, should;
            ath_gpu_pair_look(machine, a, b, &now);
            ath_gpu_pair_look(&expected, a, b, &should);
            const struct ath_slow_pair pair = { a, b, now.bandwidth_bytes_per_s,
                                                should.bandwidth_bytes_per_s };
            if (now.source != ATH_FIGURE_MEASURED || pair.expected_bytes_per_s <= 0 ||
                pair.measured_bytes_per_s >= pair.expected_bytes_per_s / ATH_SLOW_FACTOR ||
                (is_found && !is_slower(&pair, out)))
                continue;
            *out = pair;
            is_found = true;
        }
    return is_found;
}

int64_t ath_measured_all_reduce_ns(const struct ath_machine *machine, bool is_measured,
                                   uint64_t size_bytes)
{
    const struct ath_machine looked = is_measured ? *machine : unmeasured(machine);
    ath_auto_free bool *is_usable = ath_xalloc(looked.gpu_count * sizeof *is_usable);
    ATH_AUTO(ath_set_choice) ring = { 0 };
    struct ath_estimate_facts facts;
    size_t count = 0;

    if (is_measured && !machine->measured)
        return ATH_UNKNOWN;
    ath_place_usable(&looked, is_usable);
    for (size_t i = 0; i < looked.gpu_count; i++)
        count += is_usable[i];
    if (count < 2)
        return ATH_UNKNOWN;
    ath_auto_free int64_t *bandwidths = ath_place_matrix(&looked);
    const struct ath_set_request request = { .gpu_count = looked.gpu_count,
                                             .bandwidths = bandwidths,
                                             .is_free = is_usable,
                                             .size = count,
                                             .group_count = 1 };
    if (ath_set_best(&request, &ring))
        return ATH_UNKNOWN;
    ath_estimate_look(&looked, ring.rings, count, &facts);
    return ath_estimate_ring(&facts, ATH_ALL_REDUCE, size_bytes).time_ns;
}
