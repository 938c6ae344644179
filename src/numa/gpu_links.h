/* The links (NVLink, xGMI) between two GPUs. */
#pragma once
#include "numa/machine.h"

/*
 * Counts the links between two GPUs: *out is 0 for none, ATH_UNKNOWN if there are links but their
 * number is not known. If the two ends disagree, the smaller count is taken. Returns false if it is
 * not known whether there are links.
 */
bool ath_gpu_links(const struct ath_machine *machine, size_t a, size_t b, int *out);

/* Returns whether the GPU has links to a peer of this kind. */
bool ath_gpu_has_links(const struct ath_gpu *gpu, enum ath_peer_kind kind);

/* Returns whether NVLinks join the GPU to its processor, even if the source does not tell them:
 * then its memory is a NUMA node. */
bool ath_gpu_is_linked_to_processor(const struct ath_gpu *gpu);

/* Links of a GPU to another one in the word of `nvidia-smi topo -m`: "NV3", "NV?", "XGMI". The
 * caller frees it. */
char *ath_gpu_links_word(const struct ath_gpu *gpu, int count);
