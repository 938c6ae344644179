/* Machines made by hand, for tests of the output. Each is finished; the caller frees it with
 * ath_machine_free(). */
#pragma once
#include "numa/machine.h"

/*
 * The AC922 of Princeton's and milanpro's `nvidia-smi topo -m` captures: nodes 0 and 8, GPU memory
 * on nodes 252 to 255, one ConnectX-5 that both sockets reach, and a second card on node 8.
 */
void made_ac922(struct ath_machine *out);

/* The same with three GPUs per socket and known links, like the 8335-GTW. */
void made_ac922_six(struct ath_machine *out);

/* 16 GPUs on 2 nodes behind NVSwitches. */
void made_dgx2(struct ath_machine *out);

/* 8 GPUs on 2 nodes; each has 18 links to switches without an address, but the last has none. */
void made_b200(struct ath_machine *out);

/* 8 GPUs on 2 nodes, linked as a hybrid cube mesh. */
void made_dgx1(struct ath_machine *out);

/* 8 GPUs, each with a port behind its own PCIe switch. */
void made_azure(struct ath_machine *out);

/* One node, no GPU, one port that RDMA cannot use. */
void made_laptop(struct ath_machine *out);

/* 8 CPU nodes with a GPU each, fully linked, and a port on one of them. */
void made_eight(struct ath_machine *out);

/* Two CPU nodes, two memory-only nodes, and a GPU whose node is unknown. */
void made_memory_only(struct ath_machine *out);

/* Names that could break terminals, JSON, YAML, XML and DOT. */
void made_hostile(struct ath_machine *out);

/* Many nodes with only CPUs and memory, and all distances. */
void made_large(struct ath_machine *out, int nodes);
