/* NUMA nodes from sysfs. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/*
 * Adds the machine's NUMA nodes. For a kernel without NUMA, this is node 0 and a warning. For a
 * live machine without /sys, it is node 0 with the facts of /proc and the scheduler. Returns 0, or
 * a negative errno with err ("no-numa").
 */
int ath_nodes_read(const struct ath_root *root, struct ath_machine *machine, struct ath_err *err);

/* Adds warnings about CPUs and memory nodes that are online but not allowed for this process. */
void ath_nodes_check_allowed(const struct ath_root *root, struct ath_machine *machine);
