/* Ranks network ports by their distance to a GPU. */
#pragma once
#include "numa/machine.h"

/*
 * Fills machine->pairs: every port for every GPU, ranked first by NUMA node and then by PCI
 * distance, because on AC922 no port is nearer than NODE. Among ports at the same distance, ports
 * that RDMA can use and that are up come first.
 */
void ath_pairs_rank(struct ath_machine *machine);

/* Returns the *out_count pairs of one GPU, nearest first; NULL and 0 if there are none. They
 * belong to the machine. */
const struct ath_pair *ath_pairs_of_gpu(const struct ath_machine *machine, size_t gpu,
                                        size_t *out_count);

/* Returns a number that is lower the nearer a GPU and a port are. The numbers of all GPUs and ports
 * of a finished machine can be compared. */
unsigned int ath_pair_nearness(const struct ath_machine *machine, const struct ath_gpu *gpu,
                               const struct ath_nic *nic);

/* Returns the reason for a pair's distance as a translated clause: "same NUMA node, through two
 * PCIe host bridges". */
const char *ath_pair_reason(const struct ath_pair *pair);

/* Return the PCI distance class of two ports, of two GPUs, or of a GPU and a port. */
enum ath_pci_class ath_class_of_nics(const struct ath_nic *a, const struct ath_nic *b);
enum ath_pci_class ath_class_of_gpus(const struct ath_gpu *a, const struct ath_gpu *b);
enum ath_pci_class ath_class_of_pair(const struct ath_gpu *gpu, const struct ath_nic *nic);
