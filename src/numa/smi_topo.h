/*
 * Reads the table of `nvidia-smi topo -m`: what most people have of a machine's NVLinks. A captured
 * root may hold it as nvidia-smi-topo.txt at its top.
 */
#pragma once
#include "base/err.h"
#include "base/root.h"
#include "numa/machine.h"
#include "numa/smi_table.h"

#define ATH_SMI_TOPO_FILE "nvidia-smi-topo.txt"

/*
 * Gives NVIDIA's GPUs the NVLinks of the table. Its GPU0, GPU1, ... are those of the machine by PCI
 * address, as for nvidia-smi, without those that another driver runs. Lines before and behind the
 * table, colours and other rows and columns are skipped. Writes into text. Returns 0, or -EINVAL
 * with err and the machine unchanged.
 */
int ath_smi_topo_parse(char *text, struct ath_machine *machine, struct ath_err *err);

/* Gives GPUs the NVLinks of a table: gpus[i] is its GPU i. */
void ath_smi_topo_link(const struct ath_smi_table *table, struct ath_gpu *const *gpus);

/* Reads the file of a captured root, if there is one. A faulty one is a warning. */
void ath_smi_topo_read(const struct ath_root *root, struct ath_machine *machine);
