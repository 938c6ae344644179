/* Shows RDMA cards: their ports, GIDs, and the NUMA entries that use them. */
#pragma once
#include <stdbool.h>

#include "cli/output/fields.h"
#include "cli/output/output.h"
#include "config/document.h"
#include "numa/machine.h"
#include "roce/rdma_netlink.h"

/* Owns nothing. */
struct ath_roce_list {
    const struct ath_machine *machine;
    const struct ath_document *document; /* NULL if there is none yet */
    const char *file;                    /* path of the document, even if it does not exist */
    bool is_all;                         /* text: print all GIDs and devices, not just a few */
    enum ath_rdma_netns_mode netns_mode; /* unknown for a capture */
    const int *readiness; /* by index of the nic: enum ath_rdma_readiness or ATH_UNKNOWN; NULL
                             for a capture */
};

extern const struct ath_view ath_roce_list_view; /* of a struct ath_roce_list */

extern const struct ath_field ath_gid_fields[]; /* of a struct ath_gid */

/* ---- shared by JSON and text; private to them ---- */

/*
 * Finds the first nic of each card that is shown, in the machine's order: the ports of a card need
 * not be neighbours there. The caller frees *out.
 */
void ath_roce_list_cards(const struct ath_roce_list *list, size_t **out, size_t *out_count);

/*
 * Returns whether the list shows the port: ports without an RDMA device are left out, unless the
 * source lists no RDMA devices at all.
 */
bool ath_roce_list_shows(const struct ath_roce_list *list, const struct ath_nic *nic);

/*
 * Sets *out to the ids of the entries that a device is bound to; empty without a document. The
 * caller frees *out.
 */
void ath_roce_list_bound(const struct ath_roce_list *list, const char *device,
                         struct ath_idset *out);

/* Returns the nic's card in the document, or NULL if the document does not have the card. */
const struct ath_document_card *ath_roce_list_use(const struct ath_roce_list *list,
                                                  const struct ath_nic *nic);

/* Returns whether the parent of a macvlan is the port's link, or the bond that the link is part
 * of. */
bool ath_roce_list_carries(const struct ath_nic *nic, const struct ath_document_macvlan *macvlan);

/* Returns whether the machine lacks a card, or an RDMA device, of the document. */
bool ath_roce_list_lacks_card(const struct ath_roce_list *list,
                              const struct ath_document_card *card);
bool ath_roce_list_lacks_device(const struct ath_roce_list *list, const char *device);

/*
 * Returns whether a warning of discovery is about RDMA: InfiniBand mode, a port without a usable
 * GID, two ports in one subnet.
 */
bool ath_roce_list_is_warning(const struct ath_warning *warning);

void ath_roce_list_to_text(const struct ath_style *style, FILE *out, const void *data);
