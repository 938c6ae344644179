/* The measured copies of a machine beside the figures that its links should reach. Pure
 * computation. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "numa/machine.h"

enum {
    ATH_SLOW_FACTOR = 2
}; /* measured copies are slow if their links can carry more than twice */

struct ath_slow_pair {
    size_t a, b;
    int64_t measured_bytes_per_s, expected_bytes_per_s;
};

/* Finds the pair of GPUs whose measured copies lag most behind what the driver and the tables say
 * of their links. Returns false if no pair's copies are slow, or nothing is known to compare. */
bool ath_measured_slowest(const struct ath_machine *machine, struct ath_slow_pair *out);

/* Returns the least time in which the best ring of all GPUs that can be used does an all-reduce:
 * with the measured figures, or without them. ATH_UNKNOWN if there is no ring, or a pair of the
 * ring has no figure. */
int64_t ath_measured_all_reduce_ns(const struct ath_machine *machine, bool is_measured,
                                   uint64_t size_bytes);
