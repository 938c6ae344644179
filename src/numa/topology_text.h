/*
 * Reads a machine from the text of `nvidia-smi topo -m`, with those of `numactl -H` and `nvidia-smi
 * -L` in the same file or in others: what most people have of a machine.
 *
 * Only what the texts say becomes known. No device has a PCI address: a GPU's key is its number
 * (ath_pci_numbered()). Classes are those of the table, cell by cell. A network card belongs to the
 * NUMA node of the GPUs to which its class is NODE or nearer.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "numa/machine.h"

/* True if a file looks like one of these texts. */
bool ath_topology_is_text(const char *data, size_t length);

/* Like ath_topology_parse() and ath_topology_read(). paths: one or several files, separated by
 * commas. Errors name the file and the line. */
int ath_topology_parse_text(const char *name, const char *data, size_t length,
                            struct ath_machine *out, struct ath_err *err);
int ath_topology_read_texts(const char *paths, struct ath_machine *out, struct ath_err *err);
