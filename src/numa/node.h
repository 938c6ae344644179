/* NUMA nodes from sysfs. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/*
 * Adds the machine's NUMA nodes. A kernel without NUMA gives one node 0 and a warning; a live
 * machine without /sys one as /proc and the scheduler tell. Returns 0, or a negative errno with err
 * ("no-numa").
 */
int ath_nodes_read(const struct ath_root *root, struct ath_machine *machine, struct ath_err *err);

/* Warns of CPUs and memory nodes that are online but not allowed to this process. */
void ath_nodes_check_allowed(const struct ath_root *root, struct ath_machine *machine);
