/*
 * The place of GPUs in a PCI tree that only NVML tells: that of a server, whose sysfs is not here.
 * Private to numa.
 *
 * NVML says of two GPUs which level of the tree is their nearest common ancestor. A level is a byte
 * here, ATH_NVML_LEVEL_UNKNOWN if the driver does not tell. The levels of all pairs are a matrix.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "numa/nvml_api.h"

enum { ATH_NVML_LEVEL_UNKNOWN = 255 };

/* Asks for the levels between one GPU and all others, and returns its NUMA node, or ATH_UNKNOWN.
 * devices has NULL for a GPU that NVML does not know. */
int nvml_ask_place(const struct nvml *nvml, const nvml_device *devices, size_t count, size_t index,
                   uint8_t *out_levels);

/*
 * Returns a place for struct ath_gpu that has the distances which the levels say. Its names are not
 * those of real bridges. Returns NULL if no level is known. The caller frees it.
 */
char *nvml_place(const uint8_t *levels, size_t count, size_t index);
