/* Reads a machine: live, from a captured root, or from a topology file. */
#pragma once
#include "base/err.h"
#include "numa/machine.h"

/* The source. If both are NULL, the live machine is read. */
struct ath_machine_source {
    const char *root;     /* a folder with a captured sys/ and proc/ */
    const char *topology; /* a topology XML file of hwloc or NCCL */
    bool without_nvml;    /* leaves out what only NVML knows: NVML may take seconds for each GPU */
};

/*
 * Reads and finishes a machine. Missing or unreadable facts become unknown values or warnings.
 * Returns 0 with *out, which the caller frees with ath_machine_free(), or a negative errno with
 * err: a root without sys/, an XML file that cannot be read, a system without a visible NUMA node.
 */
int ath_machine_discover(const struct ath_machine_source *source, struct ath_machine *out,
                         struct ath_err *err);
