/* Attributes of a launch, clusters among them. */
#include "config.h"

#include "sim/launch_attribute.h"

const CUlaunchAttributeValue *sim_launch_attribute(const CUlaunchConfig *config,
                                                   CUlaunchAttributeID id)
{
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == id)
            return &config->attrs[i].value;
    return NULL;
}

unsigned int sim_cluster_size(const CUlaunchConfig *config)
{
    const CUlaunchAttributeValue *asked =
        sim_launch_attribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    if (!asked)
        return 1;
    unsigned int x = asked->clusterDim.x, y = asked->clusterDim.y, z = asked->clusterDim.z;
    if (!x || !y || !z || x > 16 || y > 16 || z > 16 || x * y * z > 16)
        return 0;
    return x * y * z;
}

bool sim_is_of_clusters(const CUlaunchConfig *config)
{
    const CUlaunchAttributeValue *asked =
        sim_launch_attribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    return !asked ||
           (sim_cluster_size(config) && !(config->gridDimX % asked->clusterDim.x) &&
            !(config->gridDimY % asked->clusterDim.y) && !(config->gridDimZ % asked->clusterDim.z));
}

bool sim_has_unknown_attribute(const CUlaunchConfig *config)
{
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id >= CU_LAUNCH_ATTRIBUTE_MAX)
            return true;
    return false;
}
