/* The keys of a cluster's document, `cluster.yaml`, as a table and as structs. */
#pragma once
#include "config/document.h"
#include "config/schema.h"

#define ATH_CLUSTER_SCHEMA "aitherion.cluster/1"

/* A number that was not given is 0; an integer is ATH_UNSET. */
struct ath_cluster_document_switch {
    struct ath_document_item item;
    char *name, *above;
    double bandwidth_gbps, latency_us; /* of the link to the switch above */
};

struct ath_cluster_document_node {
    struct ath_document_item item;
    char *names; /* a list of hosts (hostlist.h) */
    char *rack, *leaf;
    double bandwidth_gbps, latency_us; /* of the link to the switch */
    char *runtime;                     /* addresses: HOST:PORT, or a list of hosts with a port */
    char *machine;                     /* a file that --topology takes */
    int gpus;
    char *model;
    int nvlinks, numa_nodes;
    struct ath_idset busy; /* numbers of GPUs */
};

struct ath_cluster_document {
    int schema; /* always 0, the only version */
    char *name;
    char *slurm_topology; /* a file */
    struct {
        struct ath_cluster_document_switch *items;
        size_t count;
    } switches;
    struct {
        struct ath_cluster_document_node *items;
        size_t count;
    } nodes;
};

/* The whole document: a mapping whose fields are in struct ath_cluster_document. */
const struct ath_schema *ath_cluster_schema(void);
