/*
 * RDMA cards and devices in a document: which entries use a card, and which container gets a
 * device.
 *
 * The menus and the commands `roce add`, `remove` and `bind` call these functions. A card shows
 * several PCI functions (an AC922's ConnectX-5 has four, on two NUMA nodes). The document names it
 * by the lowest one; users may name it by any function, or by its RDMA and network devices. Changes
 * are made in memory, as in edit.h. Texts are translated.
 */
#pragma once
#include "config/document.h"
#include "numa/machine.h"

/* A card, and the port by which the name found it. Pointers belong to the machine. */
struct ath_roce_card {
    const char *pci; /* of the card's lowest function */
    const struct ath_nic *port;
};

/*
 * Finds a card by name: the PCI address of any of its functions (in any spelling), an RDMA device
 * or its port ("mlx5_0:1"), a network device. Returns 0, or a negative errno with err: "not-found"
 * (the hint suggests a similar name), "no-rdma" for a card without an RDMA device, "not-supported"
 * for a device that belongs to no card. If a topology file lists no RDMA devices, every card is
 * accepted.
 */
int ath_roce_card_find(const struct ath_machine *machine, const char *name,
                       struct ath_roce_card *out, struct ath_err *err);

/* False for a topology file that lists no RDMA device: its machine may have some. True for a
 * captured root. */
bool ath_roce_is_told(const struct ath_machine *machine);

/* True for a port of the card. */
bool ath_roce_card_has(const char *card, const struct ath_nic *nic);

/* Writes the NUMA nodes of the card's functions to *out, which is overwritten; the caller frees
 * it. */
void ath_roce_card_nodes(const struct ath_machine *machine, const char *card,
                         struct ath_idset *out);

/* Writes the ids of the entries on one of the card's nodes to *out, which is overwritten; the
 * caller frees it. */
void ath_roce_card_near(const struct ath_document *document, const struct ath_machine *machine,
                        const char *card, struct ath_idset *out);

/* Returns ids as a value of the card's "numa": "[0, 1]". The caller frees it. */
char *ath_roce_ids_value(const struct ath_idset *ids);

/* Returns the card's entry in the document, which may name it by any of its functions, or NULL if
 * it has none. machine may be NULL: then only this very address counts. */
struct ath_document_card *ath_roce_card_in(const struct ath_document *document,
                                           const struct ath_machine *machine, const char *card);

/*
 * Takes a card into use for entries, or changes its entries. description: NULL keeps the present
 * one and gives a new card its model's name; "" removes it. Values that need no change stay, byte
 * for byte. Returns 0, or a negative errno with err, as ath_document_append().
 */
int ath_roce_card_add(struct ath_document *document, const struct ath_machine *machine,
                      const char *card, const struct ath_idset *entries, const char *description,
                      struct ath_err *err);

/* Removes the card, under whichever of its addresses the document has it. A card that is not there
 * is no error. */
int ath_roce_card_remove(struct ath_document *document, const struct ath_machine *machine,
                         const char *card, struct ath_err *err);

/*
 * Returns the RDMA device of a name: the device itself, or that of a port ("mlx5_0:1"), a PCI
 * function or a network device. Devices that are not a card's port (of virtual functions, soft RoCE
 * on a virtual link) count too. If a topology file lists no RDMA devices, the name itself is
 * returned. The result belongs to the machine. Returns NULL with err: "no-rdma", or "not-found"
 * with a similar name.
 */
const char *ath_roce_device_find(const struct ath_machine *machine, const char *name,
                                 struct ath_err *err);

bool ath_roce_is_bound(const struct ath_document_numa *entry, const char *device);

/* Returns the value of the entry's "rdma_devices" with or without the device: "[mlx5_0, mlx5_1]".
 * Returns NULL with err if a device's name holds a comma. The caller frees it. */
char *ath_roce_bound_value(const struct ath_document_numa *entry, const char *device, bool is_bound,
                           struct ath_err *err);

/* Binds a device to the container of an entry, or removes it there. Values that need no change
 * stay, byte for byte. Returns 0, or a negative errno with err, as ath_document_set(). */
int ath_roce_bind(struct ath_document *document, int id, const char *device, bool is_bound,
                  struct ath_err *err);

/* Lists the devices nearest to a NUMA node if they are nearer than this one. *out is empty if this
 * device is among the nearest, or if its node is not known. The caller frees *out. */
void ath_roce_nearer(const struct ath_machine *machine, const char *device, int node,
                     struct ath_texts *out);

/* Returns a sentence that says that a device is not the nearest one for an entry and names the
 * nearest ones; NULL if it is the nearest. The caller frees it. */
char *ath_roce_far_text(const struct ath_machine *machine, const struct ath_document_numa *entry,
                        const char *device);
