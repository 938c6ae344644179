/* Which network port is nearest to a GPU, and why. */
#pragma once
#include "numa/machine.h"

/*
 * Fills machine->pairs: for every GPU every port, ranked NUMA node first and PCI distance second,
 * since on AC922 no port is nearer than NODE. Ports that RDMA can use and that are up come before
 * others that are equally near.
 */
void ath_pairs_rank(struct ath_machine *machine);

/* The pairs of one GPU, nearest first; *out_count of them. */
const struct ath_pair *ath_pairs_of_gpu(const struct ath_machine *machine, size_t gpu,
                                        size_t *out_count);

/* Why a pair is as near as it is, in a translated sentence: "same NUMA node, through two PCIe host
 * bridges". */
const char *ath_pair_reason(const struct ath_pair *pair);

/* The PCI class of two ports or two GPUs of a machine. */
enum ath_pci_class ath_class_of_nics(const struct ath_nic *a, const struct ath_nic *b);
enum ath_pci_class ath_class_of_gpus(const struct ath_gpu *a, const struct ath_gpu *b);
enum ath_pci_class ath_class_of_pair(const struct ath_gpu *gpu, const struct ath_nic *nic);
