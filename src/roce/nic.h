/*
 * Network cards: each port that the kernel knows, with its link, its RDMA device and its GIDs.
 *
 * One entry is one port: usually a PCI function; two entries for a function with two ports
 * (ConnectX-3). Virtual functions (SR-IOV) are not entries, they are counted at their physical
 * function; neither are subfunctions, nor the ports that stand for both on the card's switch. In a
 * container that was given a virtual function and not the physical one, it is an entry. Links
 * without hardware (lo, docker0, macvlan children) are no entries either. Unknown numbers are
 * ATH_UNKNOWN, unknown texts NULL: never a guess.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pci.h"
#include "base/root.h"
#include "base/unknown.h"

enum ath_link_state { ATH_LINK_UNKNOWN, ATH_LINK_DOWN, ATH_LINK_UP };
enum ath_link_layer { ATH_LAYER_UNKNOWN, ATH_LAYER_ETHERNET, ATH_LAYER_INFINIBAND };
enum ath_gid_type { ATH_GID_IB, ATH_GID_ROCE_V1, ATH_GID_ROCE_V2 };

struct ath_gid {
    int index; /* in the port's table; tables are sparse, an index means nothing elsewhere */
    enum ath_gid_type type;
    bool is_usable;      /* not all zero, and its link (if any) is there */
    bool is_ipv4_mapped; /* ::ffff:a.b.c.d */
    char address[40];    /* as the kernel prints it, eight groups of four digits */
    char netdev[16]; /* the link that carries it; a macvlan child's name for a child's address; ""
                        for InfiniBand */
};

struct ath_nic {
    bool has_pci;
    struct ath_pci pci;
    char *place; /* in the PCI tree, as ath_pci_class_between() takes it; NULL unknown */
    int vendor_id, device_id;
    char *model; /* "ConnectX-5 Ex"; NULL for ids that we have no name for */
    char *netdev;
    char *master; /* the outermost bond, bridge or team that netdev is part of: it has the
                     addresses; or NULL */
    char *driver;
    int numa_node;
    int64_t speed_mbps;
    enum ath_link_state link;
    int mtu;
    char *mac;
    char *rdma_device; /* "mlx5_0" */
    int port;          /* of the RDMA device, from 1 */
    enum ath_link_layer link_layer;
    char *card; /* the same text for all functions of one card: the card's lowest PCI address */
    int vfs;    /* virtual functions that exist now */
    struct ath_gid *gids;
    size_t gid_count;
    int best_gid_index; /* the GID to use, by link, type and address; ATH_UNKNOWN where none is
                           usable */
    bool has_roce;      /* Ethernet, its RDMA device speaks RoCE, and the table of GIDs is known */
    char **subnets; /* IPv4 subnets that the kernel routes straight to this link or to its master:
                       "192.168.100.0/24" */
    size_t subnet_count;
};

/* Names of links and RDMA devices that exist but are no entries: of virtual functions,
 * subfunctions, bonds, bridges, VLANs, soft RoCE. */
struct ath_nic_others {
    char **links;
    size_t link_count;
    char **rdma_devices;
    size_t rdma_device_count;
};

void ath_nic_others_free(struct ath_nic_others *others);

/* Adds the names of a card that is about to be left out. */
void ath_nic_others_add(struct ath_nic_others *others, const struct ath_nic *nic);

/* Releases what a card holds. */
void ath_nic_free(struct ath_nic *nic);

/* A nic whose every number is unknown, ready to be filled. */
void ath_nic_init(struct ath_nic *nic);

/* The order of ports: by PCI address (those without one last), then port, then name; <0, 0, >0. */
int ath_nic_compare(const struct ath_nic *a, const struct ath_nic *b);

/*
 * Reads the ports of all network cards below root, sorted by PCI address, then port, then name;
 * numa_node as the kernel says it (ATH_UNKNOWN for -1; the caller derives it from CPUs then).
 * Returns 0 (a machine without cards is no error), or a negative errno with err. The caller frees
 * each and the array, and *out_others.
 */
int ath_nic_read(const struct ath_root *root, struct ath_nic **out, size_t *out_count,
                 struct ath_nic_others *out_others, struct ath_err *err);

/* True for a port that RoCE could use if only its link had an address here. */
bool ath_nic_lacks_gid(const struct ath_nic *nic);

/* "ethernet", "infiniband"; "up", "down"; "RoCE v2", "RoCE v1", "InfiniBand". NULL for unknown. */
const char *ath_link_layer_word(enum ath_link_layer layer);
const char *ath_link_state_word(enum ath_link_state state);
const char *ath_gid_type_word(enum ath_gid_type type);
