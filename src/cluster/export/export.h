/*
 * Exports of a cluster, or of one machine, for other programs: Kubernetes, Slurm, Volcano,
 * topograph. Pure computation: the caller writes the files.
 *
 * One table has a row for each export (export.c); each export is one file of this folder.
 */
#pragma once
#include <jansson.h>

#include "cluster/cluster.h"

struct ath_export_request {
    const struct ath_cluster *cluster; /* of one node for a machine alone */
    bool is_machine;                   /* no description of a cluster was given */
    size_t gpus;                       /* pod: how many GPUs */
    const char *image;                 /* pod */
    uint64_t reserved_bytes;           /* kubelet: memory of each NUMA node */
};

/* A file: either JSON, to be written as JSON or YAML, or text. */
struct ath_export_file {
    char *name;
    json_t *value;
    bool is_json; /* value is written as JSON, not as YAML */
    char *text;
};

struct ath_export {
    struct ath_export_file *files;
    size_t count;
};

void ath_export_free(struct ath_export *export);

/* Add a file, and take the value or the text. */
void ath_export_add_value(struct ath_export *export, const char *name, json_t *value);
void ath_export_add_text(struct ath_export *export, const char *name, char *text);

struct ath_export_kind {
    const char *name;    /* NULL ends the table */
    const char *help;    /* N_() */
    bool needs_switches; /* a description with switches */
    bool takes_gpus, takes_reserved;
    /* Makes the files. Returns 0, or a negative errno with err. */
    int (*make)(const struct ath_export_request *request, struct ath_export *out,
                struct ath_err *err);
};

extern const struct ath_export_kind ath_export_kinds[];

/* The names of the kinds, ended by NULL. */
extern const char *const ath_export_words[];

/* Makes an export. Returns 0, or a negative errno with err; *out is then empty. */
int ath_export_make(const struct ath_export_kind *kind, const struct ath_export_request *request,
                    struct ath_export *out, struct ath_err *err);

/* ---- for the exports ---- */

#define ATH_EXPORT_KINDS(X)                                                                        \
    X(labels)                                                                                      \
    X(configmap)                                                                                   \
    X(kubelet)                                                                                     \
    X(pod)                                                                                         \
    X(slurm)                                                                                       \
    X(nrt)                                                                                         \
    X(resourceslice)                                                                               \
    X(hypernode)                                                                                   \
    X(topograph)

#define ATH_EXPORT_DECLARE(name)                                                                   \
    int ath_export_##name(const struct ath_export_request *request, struct ath_export *out,        \
                          struct ath_err *err);
ATH_EXPORT_KINDS(ATH_EXPORT_DECLARE)
#undef ATH_EXPORT_DECLARE

/* Returns a text as the value of a Kubernetes label: letters, digits, '-', '_' and '.', at most 63,
 * a letter or digit at both ends; "" if nothing is left. The caller frees it. */
char *ath_export_label(const char *text);

/* Returns a text as the name of a Kubernetes object: small letters, digits, '-' and '.'. The caller
 * frees it. */
char *ath_export_name(const char *text);

/* Returns an object of Kubernetes: apiVersion, kind, and metadata with the name, as
 * ath_export_name() writes it. */
json_t *ath_export_object(const char *api_version, const char *kind, const char *name);

/* Returns the only item of a list, or a "List" of them. Takes the items. */
json_t *ath_export_list(json_t *items);

/* Returns whether a NUMA node has CPUs or GPUs: another one is only memory. */
bool ath_export_has_place(const struct ath_machine *machine, const struct ath_numa_node *node);

/* Returns how the GPUs of a machine reach each other: "nvswitch", "nvlink", "xgmi", "pcie"; NULL if
 * it is not known. */
const char *ath_export_interconnect(const struct ath_machine *machine);

/* Returns the topology of a machine's GPUs as JSON: gpu_count, numa_nodes, connections. */
json_t *ath_export_topology(const struct ath_machine *machine);
