/*
 * Network cards: each port that the kernel knows, with its link, its RDMA device and its GIDs.
 *
 * One entry is one port, usually one PCI function; a function with two ports (ConnectX-3) has two
 * entries. These are not entries: virtual functions (SR-IOV), which are counted at their physical
 * function; subfunctions; representors on the card's switch; links without hardware (lo, docker0,
 * macvlan children). One exception: in a container that was given a virtual function but not the
 * physical one, the virtual function is an entry. Unknown numbers are ATH_UNKNOWN, unknown texts
 * are NULL; nothing is guessed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pci.h"
#include "base/root.h"
#include "base/unknown.h"

enum ath_link_state { ATH_LINK_UNKNOWN, ATH_LINK_DOWN, ATH_LINK_UP, ATH_LINK_STATE_COUNT };
enum ath_link_layer {
    ATH_LAYER_UNKNOWN,
    ATH_LAYER_ETHERNET,
    ATH_LAYER_INFINIBAND,
    ATH_LINK_LAYER_COUNT
};
enum ath_gid_type { ATH_GID_IB, ATH_GID_ROCE_V1, ATH_GID_ROCE_V2, ATH_GID_TYPE_COUNT };

struct ath_gid {
    int index; /* index in the port's table; tables are sparse, and an index has no meaning for
                  another port */
    enum ath_gid_type type;
    bool is_usable;      /* not all zero, and the link (if any) exists in this namespace */
    bool is_ipv4_mapped; /* ::ffff:a.b.c.d */
    char address[40];    /* as the kernel prints GIDs: eight groups of four digits */
    char netdev[16];     /* the link whose address this is, for example a macvlan child; "" for
                            InfiniBand */
};

struct ath_nic {
    bool has_pci;
    struct ath_pci pci;
    char *place; /* position in the PCI tree, for ath_pci_class_between(); NULL if unknown */
    struct ath_pci_row classes;
    int vendor_id, device_id;
    char *model; /* "ConnectX-5 Ex"; NULL if the ids have no name in our table */
    char *netdev;
    char *master; /* the outermost bond, bridge or team that contains netdev and holds its
                     addresses; or NULL */
    char *driver;
    int numa_node;
    int64_t speed_mbps;
    enum ath_link_state link;
    int mtu;
    char *mac;
    char *rdma_device;              /* "mlx5_0" */
    enum ath_link_state rdma_state; /* of the RDMA port; down if it is not active */
    int port;                       /* port number of the RDMA device, from 1 */
    enum ath_link_layer link_layer;
    char *card; /* the same text for all functions of one card: the card's lowest PCI address */
    int vfs;    /* number of virtual functions that exist now */
    struct ath_gid *gids;
    size_t gid_count;
    int best_gid_index; /* index of the GID to use, chosen by link, type and address; ATH_UNKNOWN if
                           none is usable, as for every port that is down */
    bool has_roce;  /* Ethernet port whose RDMA device speaks RoCE and whose GID table is known */
    char **subnets; /* connected IPv4 subnets of this link or its master: "192.168.100.0/24" */
    size_t subnet_count;
};

/* Names of links and RDMA devices that exist but are not entries: those of virtual functions,
 * subfunctions, bonds, bridges, VLANs, soft RoCE. */
struct ath_nic_others {
    char **links;
    size_t link_count;
    char **rdma_devices;
    size_t rdma_device_count;
};

void ath_nic_others_free(struct ath_nic_others *others);

/* Adds the names of a port that the caller is about to drop. */
void ath_nic_others_add(struct ath_nic_others *others, const struct ath_nic *nic);

/* Frees what a port owns, not the struct itself. */
void ath_nic_free(struct ath_nic *nic);

/* Sets every number to ATH_UNKNOWN and every text to NULL. */
void ath_nic_init(struct ath_nic *nic);

/* Orders ports by PCI address (ports without one last), then port number, then name. Returns <0, 0
 * or >0. */
int ath_nic_compare(const struct ath_nic *a, const struct ath_nic *b);

/*
 * Reads the ports of all network cards below root, in the order of ath_nic_compare(). numa_node is
 * the kernel's value (ATH_UNKNOWN for -1; the caller then derives the node from the CPUs). Returns
 * 0 (a machine without cards is not an error), or a negative errno with err. The caller frees each
 * entry with ath_nic_free(), the array, and *out_others.
 */
int ath_nic_read(const struct ath_root *root, struct ath_nic **out, size_t *out_count,
                 struct ath_nic_others *out_others, struct ath_err *err);

/*
 * Makes `best` the port's GID to use (best may be NULL). A port whose link is down or whose RDMA
 * port is not active has no GID to use: its table may have entries, but no connection works. Both
 * states must be set before.
 */
void ath_nic_take_gid(struct ath_nic *nic, const struct ath_gid *best);

/* Returns the port's GID to use, or NULL. ath_nic_lack() says why there is none. */
const struct ath_gid *ath_nic_gid(const struct ath_nic *nic);

/* Returns whether two ports are on one card. A port without a PCI address is a card of its own. */
bool ath_nic_is_same_card(const struct ath_nic *a, const struct ath_nic *b);

/* True if the port speaks RoCE but has no usable GID, because its link is down or has no address
 * here. */
bool ath_nic_lacks_gid(const struct ath_nic *nic);

/* Return "ethernet", "infiniband"; "up", "down"; "RoCE v2", "RoCE v1", "InfiniBand". NULL for
 * unknown. */
const char *ath_link_layer_word(enum ath_link_layer layer);
const char *ath_link_state_word(enum ath_link_state state);
const char *ath_gid_type_word(enum ath_gid_type type);
