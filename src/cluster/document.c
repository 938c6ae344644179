/* The table of the keys of cluster.yaml. */
#include "config.h"

#include "cluster/document.h"

#include "base/i18n.h"

enum { GPUS_MAX = 64, NVLINKS_MAX = 64, NUMA_NODES_MAX = 64 };

static const char *const schemas[] = { ATH_CLUSTER_SCHEMA, NULL };

#define FIELD(type, member) .offset = offsetof(struct type, member)

/* The link upwards of a switch or a node. */
#define LINK_KEYS(type)                                                                            \
    { .name = "bandwidth_gbps",                                                                    \
      .kind = ATH_VALUE_NUMBER,                                                                    \
      FIELD(type, bandwidth_gbps),                                                                 \
      .max = 1e6,                                                                                  \
      .is_min_excluded = true,                                                                     \
      .otherwise = N_("not known"),                                                                \
      .help = N_("bandwidth of its link upwards in one direction, in 10^9 bit/s") },               \
    {                                                                                              \
        .name = "latency_us", .kind = ATH_VALUE_NUMBER, FIELD(type, latency_us), .max = 1e9,       \
        .is_min_excluded = true, .otherwise = N_("not known"),                                     \
        .help = N_("latency of its link upwards, in microseconds")                                 \
    }

static const struct ath_schema switch_keys[] = {
    { .name = "name",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document_switch, name),
      .form = ATH_FORM_NAME,
      .is_required = true,
      .help = N_("name of the switch") },
    { .name = "above",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document_switch, above),
      .form = ATH_FORM_NAME,
      .otherwise = N_("none"),
      .help = N_("the switch that it is connected to upwards") },
    LINK_KEYS(ath_cluster_document_switch),
    { 0 },
};

static const struct ath_schema node_keys[] = {
    { .name = "names",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document_node, names),
      .form = ATH_FORM_LINE,
      .is_required = true,
      .help = N_("names of equal nodes: node1, or node[1-4,7]") },
    { .name = "rack",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document_node, rack),
      .form = ATH_FORM_NAME,
      .otherwise = N_("not known"),
      .help = N_("the rack of these nodes") },
    { .name = "switch",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document_node, leaf),
      .form = ATH_FORM_NAME,
      .otherwise = N_("none, or the only one"),
      .help = N_("the switch that these nodes are connected to") },
    LINK_KEYS(ath_cluster_document_node),
    { .name = "runtime",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document_node, runtime),
      .form = ATH_FORM_LINE,
      .otherwise = N_("the node's name with port 50051"),
      .help = N_("the addresses of these nodes' runtimes, in the order of the names: "
                 "10.0.0.1:50051, or 10.0.0.[1-4]:50051") },
    { .name = "machine",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document_node, machine),
      .form = ATH_FORM_LINE,
      .otherwise = N_("made from the counts below"),
      .help = N_("a file with the machine, as --topology takes it: the JSON of 'aitherion discover "
                 "--json'; a path from the folder of this document") },
    { .name = "gpus",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_cluster_document_node, gpus),
      .max = GPUS_MAX,
      .otherwise = N_("none"),
      .help = N_("number of GPUs of each node") },
    { .name = "model",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document_node, model),
      .form = ATH_FORM_LINE,
      .otherwise = N_("not known"),
      .help = N_("model of the GPUs, as nvidia-smi -L names it") },
    { .name = "nvlinks",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_cluster_document_node, nvlinks),
      .max = NVLINKS_MAX,
      .otherwise = N_("not known"),
      .help = N_("NVLinks of each GPU to the NVSwitches of its node; 0: no NVLinks") },
    { .name = "numa_nodes",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_cluster_document_node, numa_nodes),
      .min = 1,
      .max = NUMA_NODES_MAX,
      .fallback = "1",
      .help = N_("NUMA nodes of each node, which have equal parts of the GPUs") },
    { .name = "busy",
      .kind = ATH_VALUE_IDS,
      FIELD(ath_cluster_document_node, busy),
      .max = 1023,
      .otherwise = N_("none"),
      .help = N_("numbers of the GPUs that are in use") },
    { 0 },
};

static const struct ath_schema root_keys[] = {
    { .name = "schema",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_cluster_document, schema),
      .choices = schemas,
      .is_required = true,
      .help = N_("version of the document's form") },
    { .name = "name",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document, name),
      .form = ATH_FORM_NAME,
      .otherwise = N_("none"),
      .help = N_("name of the cluster") },
    { .name = "slurm_topology",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_cluster_document, slurm_topology),
      .form = ATH_FORM_LINE,
      .otherwise = N_("none"),
      .help = N_("Slurm's topology.conf, which names the switches of the nodes below; a path from "
                 "the folder of this document") },
    { .name = "switches",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_cluster_document, switches),
      .title = N_("A switch"),
      .help = N_("the switches"),
      .name_key = "name",
      .keys = switch_keys,
      .item_size = sizeof(struct ath_cluster_document_switch) },
    { .name = "nodes",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_cluster_document, nodes),
      .title = N_("Equal nodes"),
      .help = N_("the nodes"),
      .name_key = "names",
      .keys = node_keys,
      .item_size = sizeof(struct ath_cluster_document_node) },
    { 0 },
};

static const struct ath_schema root = { .kind = ATH_VALUE_MAPPING, .keys = root_keys };

const struct ath_schema *ath_cluster_schema(void)
{
    return &root;
}
