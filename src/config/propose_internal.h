/*
 * The parts of a proposed document: what an entry serves, its ports, the cards. Private to config.
 *
 * Each part adds to the document of a struct proposal, and to its notes: lines of comments above
 * the document.
 */
#pragma once
#include "base/text.h"
#include "config/document.h"
#include "config/forms.h"
#include "numa/machine.h"

/* The network ports that an entry uses; they belong to the machine. */
struct proposal_ports {
    const struct ath_nic **data; /* its data interfaces, the best first */
    size_t data_count;
    const struct ath_nic **rdma; /* whose RDMA devices it gets, the nearest first */
    size_t rdma_count;
};

struct proposal {
    const struct ath_machine *machine;
    struct ath_document document;
    struct ath_text notes;        /* "# ..." lines */
    struct proposal_ports *ports; /* by entry */
    size_t port_count;
};

/* Puts a name from the machine into a field only if it is a valid value: a capture may hold
 * anything. */
void ath_proposal_offer(char **field, enum ath_form form, const char *text);

/* ---- propose_gpus.c: GPUs and memory ---- */

/* Returns whether a runtime can run on the node's CPUs. */
bool ath_proposal_serves_cpu(const struct ath_numa_node *node);

/* Returns true if a runtime of the node serves the GPU. If only one node has CPUs, it serves all
 * GPUs, even if the firmware reports node -1. */
bool ath_proposal_is_gpu_of(const struct ath_machine *machine, const struct ath_gpu *gpu, int node);
bool ath_proposal_has_gpus(const struct ath_machine *machine, int node);
bool ath_proposal_any_node_has_gpus(const struct ath_machine *machine);

/* Add the memory of the entry's CPUs, and its GPUs with theirs. */
void ath_proposal_add_memory(struct proposal *proposal, const struct ath_numa_node *node,
                             struct ath_document_numa *entry);
void ath_proposal_add_gpus(struct proposal *proposal, struct ath_document_numa *entry);

/* Notes GPUs and their memory that no entry has. */
void ath_proposal_note_left_out(struct proposal *proposal);

/* ---- propose_ports.c ---- */

/* Adds the data interfaces and the RDMA devices of the next entry. */
void ath_proposal_add_ports(struct proposal *proposal, struct ath_document_numa *entry);

/* Notes that no entry has an RDMA device, if so. */
void ath_proposal_note_no_rdma(struct proposal *proposal);

/* Adds the control interface of all entries, whose data interfaces are known. */
void ath_proposal_add_control(struct proposal *proposal);

/* ---- propose_cards.c ---- */

/* Adds the RDMA cards, with the entries that use them. */
void ath_proposal_add_cards(struct proposal *proposal);
