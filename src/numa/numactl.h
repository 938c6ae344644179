/*
 * The text of `numactl -H` (--hardware): NUMA nodes with their CPUs, memory and distances, read
 * line by line. No I/O.
 */
#pragma once
#include "base/err.h"
#include "numa/machine.h"

/* A zeroed struct has read nothing. */
struct ath_numactl {
    struct ath_machine *machine; /* gets the nodes */
    bool has_begun;              /* the line "available: 2 nodes (0-1)" came */
    int begin_line;
    struct ath_idset available; /* the nodes that this line names */
    struct ath_idset with_cpus; /* those that have a line of CPUs, which may be empty */
    bool is_in_distances;
    int *columns; /* nodes of the table of distances, in its order */
    size_t column_count;
};

void ath_numactl_free(struct ath_numactl *numactl);

/*
 * Takes a line, without carriage return and colours. Returns true if it belongs to numactl. On a
 * fault *status is -EINVAL with err.
 */
bool ath_numactl_add(struct ath_numactl *numactl, const char *line, int number, int *status,
                     struct ath_err *err);

/* Returns 0 if no line is missing, or nothing was read; else -EINVAL with err. */
int ath_numactl_check(const struct ath_numactl *numactl, struct ath_err *err);
