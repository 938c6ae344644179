/* Attributes of a launch, clusters among them. These functions take no lock. */
#pragma once
#include "sim/sim.h"

/* Returns the value of a launch attribute, or NULL. */
const CUlaunchAttributeValue *sim_launch_attribute(const CUlaunchConfig *config,
                                                   CUlaunchAttributeID id);
bool sim_has_unknown_attribute(const CUlaunchConfig *config);

/* Returns the blocks of a cluster; 0: there is no such cluster. */
unsigned int sim_cluster_size(const CUlaunchConfig *config);
/* Returns whether the grid consists of whole clusters. */
bool sim_is_of_clusters(const CUlaunchConfig *config);
