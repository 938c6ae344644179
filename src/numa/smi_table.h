/*
 * The table of `nvidia-smi topo -m`, and the legend of network cards below it: read line by line,
 * without a machine. No I/O.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/idset.h"

/* The columns behind the table, of one GPU; sets are empty if it is not known. */
struct ath_smi_affinity {
    struct ath_idset cpus, nodes;
    int memory_node; /* "GPU NUMA ID"; ATH_UNKNOWN */
};

/* Devices by their columns: the GPUs first, then the network cards. A zeroed struct is a table
 * whose head has not come yet. */
struct ath_smi_table {
    size_t gpu_count, count; /* of GPUs, of all devices */
    int head_line;           /* number of the line that names the columns */
    char **names;            /* "GPU0", "NIC0", "mlx5_0" */
    char **devices;          /* from the legend of the cards: "mlx5_0"; NULL if it has no entry */
    bool *has_row;
    uint8_t *classes;                    /* count x count: enum ath_pci_class */
    int *links;                          /* gpu_count x gpu_count: NVLinks */
    struct ath_smi_affinity *affinities; /* of the GPUs */
    int starts[3];                       /* where the heads of the last columns begin; -1: none */
};

void ath_smi_table_free(struct ath_smi_table *table);

/* Takes colours (ECMA-48, "ESC [ 4 m") and carriage returns out of a text, and makes the blanks of
 * web pages plain ones. */
void ath_smi_clean(char *text);

/*
 * Takes a line of a cleaned text. Returns true if the line belongs to the table, which then has
 * written into it. Lines before and behind the table are left alone. On a fault *status is -EINVAL
 * with err.
 */
bool ath_smi_table_add(struct ath_smi_table *table, char *line, int number, int *status,
                       struct ath_err *err);

/* Returns 0 if the table came with all rows of its GPUs, and those of the cards if
 * `with_cards`; else -EINVAL with err. */
int ath_smi_table_check(const struct ath_smi_table *table, bool with_cards, struct ath_err *err);

/* Returns the NVLinks of a GPU to all GPUs. */
const int *ath_smi_table_links(const struct ath_smi_table *table, size_t gpu);
