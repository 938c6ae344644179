/* The GID that an address of a link has become. */
#pragma once
#include "base/root.h"
#include "roce/address.h"
#include "roce/nic.h"

struct ath_link_gid {
    char device[64];
    int port;
    struct ath_gid gid; /* is_usable as seen from the host, where the link need not be */
};

enum ath_link_gid_state {
    ATH_LINK_GID_NO_DEVICE, /* the parent has no RDMA device */
    ATH_LINK_GID_MISSING,   /* it has one (*out says which), and not this GID, or not yet */
    ATH_LINK_GID_FOUND
};

/*
 * Looks for the GID of a child link: its address shows up in the table of its parent's RDMA device,
 * under the child's name, in whatever namespace the child is (rdma_roce_rescan_device() and
 * friends in drivers/infiniband/core/roce_gid_mgmt.c). RoCE v2 before v1. address NULL: any of the
 * child's, routable before link-local.
 */
enum ath_link_gid_state ath_link_gid_find(const struct ath_root *root, const char *link,
                                          const char *parent, const struct ath_address *address,
                                          struct ath_link_gid *out);
