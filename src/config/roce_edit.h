/*
 * RDMA cards and devices in a document: who takes a card into use, whose container gets a device.
 *
 * The menus and the commands `roce add`, `remove` and `bind` call these. A card shows several PCI
 * functions (an AC922's ConnectX-5 four of them, on two NUMA nodes) and goes by the lowest one; any
 * of them names it, and so do its RDMA and network devices, because people think in these. Changes
 * are made in memory, as those of edit.h; texts are translated.
 */
#pragma once
#include "config/document.h"
#include "numa/machine.h"

/* A card, and the port that its name was found at; points into the machine. */
struct ath_roce_card {
    const char *pci; /* of the card's lowest function */
    const struct ath_nic *port;
};

/*
 * The card that a name means: the PCI address of any of its functions (in any spelling), an RDMA
 * device or a port of it ("mlx5_0:1"), a network device. Returns 0, or a negative errno with err:
 * "not-found" (with what may have been meant), "no-rdma" for a card without an RDMA device,
 * "not-supported" for a device that is on no card. Of a topology file that tells no RDMA devices
 * every card will do.
 */
int ath_roce_card_find(const struct ath_machine *machine, const char *name,
                       struct ath_roce_card *out, struct ath_err *err);

/* False for a topology file without any RDMA device: its machine may have some. A captured root
 * tells. */
bool ath_roce_is_told(const struct ath_machine *machine);

/* True for a port of the card. */
bool ath_roce_card_has(const char *card, const struct ath_nic *nic);

/* The NUMA nodes that the card's functions are on; *out is overwritten, the caller frees it. */
void ath_roce_card_nodes(const struct ath_machine *machine, const char *card,
                         struct ath_idset *out);

/* The ids of the entries that are on one of these nodes; likewise. */
void ath_roce_card_near(const struct ath_document *document, const struct ath_machine *machine,
                        const char *card, struct ath_idset *out);

/* "[0, 1]": ids as the value of the card's "numa". The caller frees it. */
char *ath_roce_ids_value(const struct ath_idset *ids);

/* The card in the document, which may name it by any of its functions; NULL where it is not there.
 * machine NULL: by this very address. */
struct ath_document_card *ath_roce_card_in(const struct ath_document *document,
                                           const struct ath_machine *machine, const char *card);

/*
 * Takes a card into use for entries, or changes for whom it is. description: NULL keeps what is
 * there, and gives a new card its model's name; "" takes it away. What is so already stays byte for
 * byte. Returns 0, or a negative errno with err, as ath_document_append().
 */
int ath_roce_card_add(struct ath_document *document, const struct ath_machine *machine,
                      const char *card, const struct ath_idset *entries, const char *description,
                      struct ath_err *err);

/* Takes the card out, under whichever of its addresses it is there; none is no error. */
int ath_roce_card_remove(struct ath_document *document, const struct ath_machine *machine,
                         const char *card, struct ath_err *err);

/*
 * The RDMA device that a name means: itself, or that of a port ("mlx5_0:1"), of a PCI function or
 * of a network device. NULL with err: "no-rdma", or "not-found" with what may have been meant. The
 * name belongs to the machine. Devices that are no port of a card (of virtual functions, soft RoCE
 * on a virtual link) count, too; of a topology file that tells no RDMA devices the name itself is
 * returned.
 */
const char *ath_roce_device_find(const struct ath_machine *machine, const char *name,
                                 struct ath_err *err);

bool ath_roce_is_bound(const struct ath_document_numa *entry, const char *device);

/* The value of the entry's "rdma_devices" with the device or without it: "[mlx5_0, mlx5_1]"; NULL
 * with err where a name in it cannot be told from two. The caller frees it. */
char *ath_roce_bound_value(const struct ath_document_numa *entry, const char *device, bool is_bound,
                           struct ath_err *err);

/* Binds a device to the container of an entry, or takes it back. What is so already stays byte for
 * byte. Returns 0, or a negative errno with err, as ath_document_set(). */
int ath_roce_bind(struct ath_document *document, int id, const char *device, bool is_bound,
                  struct ath_err *err);

/* The devices that are nearer to a NUMA node than this one, the nearest alone; none where it is
 * among the nearest, or where its own node is not known. The caller frees *out. */
void ath_roce_nearer(const struct ath_machine *machine, const char *device, int node,
                     struct ath_texts *out);

/* A sentence about a device that is not the nearest one for an entry, naming those that are; NULL
 * where there are none. The caller frees it. */
char *ath_roce_far_text(const struct ath_machine *machine, const struct ath_document_numa *entry,
                        const char *device);
