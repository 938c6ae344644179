/* GIDs of an RDMA port: the addresses that RDMA connections are made with. */
#pragma once
#include "base/root.h"
#include "roce/nic.h"

/*
 * Reads the used slots of a port's table, by index. *out_count is 0 where there are none; the
 * caller frees *out. Returns whether there is a table at all, used or not: a capture may lack it.
 */
bool ath_gids_read(const struct ath_root *root, const char *device, int port,
                   enum ath_link_layer layer, struct ath_gid **out, size_t *out_count);

/*
 * The GID to use, or NULL where none is usable. For InfiniBand the first. For Ethernet only GIDs of
 * the link `netdev` (or NULL), of a bond or bridge that it is part of, and of VLANs on these count:
 * RoCE v2 before v1, routable before link-local (which a link without any address has, too), the
 * link's own before a VLAN's, IPv4 before IPv6, lower index before higher.
 */
const struct ath_gid *ath_gid_best(const struct ath_root *root, const struct ath_gid *gids,
                                   size_t count, enum ath_link_layer layer, const char *netdev);
