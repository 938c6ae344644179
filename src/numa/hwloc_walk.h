/* From an hwloc topology to our model. */
#pragma once
#include "numa/hwloc_import.h"
#include "numa/machine.h"
#include "numa/xml_nics.h"

/* What a walk over a topology carries with it. */
struct ath_hwloc_walk {
    const struct ath_hwloc *hwloc;
    hwloc_topology_t topology;
    struct ath_machine *machine;
    struct ath_xml_guids guids;
};

/* Fills an empty machine with what the topology tells. */
void ath_hwloc_walk(const struct ath_hwloc *hwloc, hwloc_topology_t topology,
                    struct ath_machine *machine);

/* The GPUs and network ports; the nodes must be there already. */
void ath_hwloc_walk_pci(struct ath_hwloc_walk *walk);

/* The NVLinks (xGMI and Xe links) of GPUs that are there already. */
void ath_hwloc_walk_links(struct ath_hwloc_walk *walk);

/* An object's info, or NULL. */
const char *ath_hwloc_info(hwloc_obj_t object, const char *name);

/* The one node with CPUs that an object is near to; ATH_UNKNOWN where there are several. */
int ath_hwloc_near_node(const struct ath_hwloc_walk *walk, hwloc_obj_t object);

/* The PCI address of a PCI function or a PCI bridge. */
struct ath_pci ath_hwloc_pci(const struct hwloc_obj *object);

/* All matrices of distances, in an array that the caller frees, each of them released with
 * hwloc_distances_release(). */
struct hwloc_distances_s **ath_hwloc_matrices(struct ath_hwloc_walk *walk, unsigned int *out_count);
