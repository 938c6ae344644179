/* Converts an hwloc topology to our machine model. Private to numa. */
#pragma once
#include "numa/hwloc_import.h"
#include "numa/machine.h"
#include "numa/xml_nics.h"

/* The state of a conversion. */
struct ath_hwloc_walk {
    const struct ath_hwloc *hwloc;
    hwloc_topology_t topology;
    struct ath_machine *machine;
    struct ath_xml_guids guids;
};

/* Fills an empty machine from the topology. */
void ath_hwloc_walk(const struct ath_hwloc *hwloc, hwloc_topology_t topology,
                    struct ath_machine *machine);

/* Warns about CPUs of the machine that the file `name` does not describe. */
void ath_hwloc_check_complete(const struct ath_hwloc *hwloc, hwloc_topology_t topology,
                              const char *name, struct ath_machine *machine);

/* Adds the GPUs and network ports. The nodes must be added before. */
void ath_hwloc_walk_pci(struct ath_hwloc_walk *walk);

/* Adds the NVLinks (xGMI and Xe links). The GPUs must be added before. */
void ath_hwloc_walk_links(struct ath_hwloc_walk *walk);

/* Returns the value of an object's info, or NULL. It belongs to the topology. */
const char *ath_hwloc_info(hwloc_obj_t object, const char *name);

/* Returns the one node with CPUs that an object is near, or ATH_UNKNOWN if there are several. */
int ath_hwloc_near_node(const struct ath_hwloc_walk *walk, hwloc_obj_t object);

/* Returns the PCI address of a PCI function or a PCI bridge. */
struct ath_pci ath_hwloc_pci(const struct hwloc_obj *object);

/* Returns all matrices of distances. The caller frees the array, and releases each matrix with
 * hwloc_distances_release(). */
struct hwloc_distances_s **ath_hwloc_matrices(struct ath_hwloc_walk *walk, unsigned int *out_count);
