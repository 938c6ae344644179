/* Shared by check.c, check_numa.c (nodes, memory, GPUs), check_shares.c (identities) and
 * check_roce.c (cards, macvlans). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "config/document.h"
#include "numa/machine.h"

/* A document and a machine to compare. Pointers belong to the caller of check.h's functions. */
struct ath_check {
    const struct ath_document *document;
    const struct ath_machine *machine;
    struct ath_faults *faults;
    bool knows_pci;      /* the source lists PCI devices */
    bool knows_netdevs;  /* the source lists network ports */
    bool knows_rdma;     /* the source lists RDMA devices */
    bool knows_memories; /* the source lists NUMA nodes without CPUs too */
};

/* Return the offset of a value in the file; if the file does not give the value, that of its item.
 * The second takes the n-th entry of a list of texts, the third a number in a list of ids. */
size_t ath_check_place(const struct ath_document_item *item, const char *key);
size_t ath_check_place_of_entry(const struct ath_document_item *item, const char *key,
                                size_t index);
size_t ath_check_place_of_id(const struct ath_document_item *item, const char *key, int id);

bool ath_check_has_name(char *const *names, size_t count, const char *name);

/* The functions below add a fault for each value that does not fit. */

/* link: a link that the document names at this place; NULL is no fault. */
void ath_check_link(const struct ath_check *check, size_t place, const char *link);

void ath_check_node(const struct ath_check *check, const struct ath_document_numa *numa);
void ath_check_memory(const struct ath_check *check, const struct ath_document_numa *numa);
void ath_check_gpus(const struct ath_check *check, const struct ath_document_numa *numa);
/* Entries may share a GPU, but must not promise more memory than it has. The fault is reported at
 * every entry of the GPU except the first. */
void ath_check_gpus_shared(const struct ath_check *check);

/* The shares of identities that may use a GPU must not add up to more than its time. The fault is
 * reported once for the document, at the share that goes beyond. */
void ath_check_shares(const struct ath_check *check);

void ath_check_card(const struct ath_check *check, const struct ath_document_card *card);
void ath_check_macvlan(const struct ath_check *check, const struct ath_document_macvlan *macvlan);
/* Checks macvlans for faults that do not depend on the machine. */
void ath_check_macvlans_alone(const struct ath_check *check);
