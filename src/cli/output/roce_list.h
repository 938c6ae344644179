/* Showing RDMA cards: ports, GIDs, and who may use them. */
#pragma once
#include <stdbool.h>

#include "cli/output/output.h"
#include "config/document.h"
#include "numa/machine.h"
#include "roce/rdma_netlink.h"

/* Owns nothing. */
struct ath_roce_list {
    const struct ath_machine *machine;
    const struct ath_document *document; /* NULL where there is none yet */
    const char *file;                    /* of the document, there or not */
    bool is_all;                         /* text: all GIDs and devices, not a handful */
    enum ath_rdma_netns_mode netns_mode; /* unknown for a capture */
    const int *readiness; /* of each nic, enum ath_rdma_readiness or ATH_UNKNOWN; NULL for a
                             capture */
};

extern const struct ath_view ath_roce_list_view; /* of a struct ath_roce_list */

/* What both forms are made of; private to them. */

/* The ports of a card are neighbours in no order: the first nic of each card that is to be shown,
 * in the machine's order. The caller frees *out. */
void ath_roce_list_cards(const struct ath_roce_list *list, size_t **out, size_t *out_count);

/* Whether two nics belong to one card; those without a PCI address are each one of their own. */
bool ath_roce_list_is_same_card(const struct ath_nic *a, const struct ath_nic *b);

/* False for a port without an RDMA device, unless none can be told from what was read. */
bool ath_roce_list_shows(const struct ath_roce_list *list, const struct ath_nic *nic);

/* The ids of the entries that a device is bound to; empty without a document. The caller frees
 * *out, which is overwritten. */
void ath_roce_list_bound(const struct ath_roce_list *list, const char *device,
                         struct ath_idset *out);

/* The card's place in the document; NULL where it has none. */
const struct ath_document_card *ath_roce_list_use(const struct ath_roce_list *list,
                                                  const struct ath_nic *nic);

/* Whether a macvlan of the document is made on the port's link, or on the bond it is part of. */
bool ath_roce_list_carries(const struct ath_nic *nic, const struct ath_document_macvlan *macvlan);

/* Cards and devices that the document has and the machine has not. */
bool ath_roce_list_lacks_card(const struct ath_roce_list *list,
                              const struct ath_document_card *card);
bool ath_roce_list_lacks_device(const struct ath_roce_list *list, const char *device);

/* What discover warns of that is about RDMA: InfiniBand mode, ports without a GID, one subnet
 * twice. */
bool ath_roce_list_is_warning(const struct ath_warning *warning);

json_t *ath_roce_list_to_json(const void *data);
void ath_roce_list_to_text(const struct ath_style *style, FILE *out, const void *data);
