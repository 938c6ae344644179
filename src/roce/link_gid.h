/* The GID that the kernel made from an address of a macvlan. */
#pragma once
#include "base/root.h"
#include "roce/address.h"
#include "roce/nic.h"

struct ath_link_gid {
    char device[64];
    int port;
    struct ath_gid gid; /* is_usable: as the host sees it; false if the link is in a container */
};

enum ath_link_gid_state {
    ATH_LINK_GID_NO_DEVICE, /* the parent has no RDMA device */
    ATH_LINK_GID_MISSING,   /* the parent has a device (in *out), but the GID does not exist yet */
    ATH_LINK_GID_FOUND
};

/*
 * Looks for the GID of a child link. The child's address appears in the GID table of the parent's
 * RDMA device, under the child's name, whatever the child's namespace (rdma_roce_rescan_device()
 * and its callers in drivers/infiniband/core/roce_gid_mgmt.c). RoCE v2 is preferred to v1. If
 * address is NULL, any address of the child matches, and routable is preferred to link-local.
 */
enum ath_link_gid_state ath_link_gid_find(const struct ath_root *root, const char *link,
                                          const char *parent, const struct ath_address *address,
                                          struct ath_link_gid *out);
