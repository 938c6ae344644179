/* GIDs of an RDMA port: the addresses that RDMA connections are made with. */
#pragma once
#include "base/root.h"
#include "roce/nic.h"

/*
 * Reads the used slots of a port's table, by index. *out_count is 0 where there are none; the
 * caller frees *out.
 */
void ath_gids_read(const struct ath_root *root, const char *device, int port,
                   enum ath_link_layer layer, struct ath_gid **out, size_t *out_count);

/*
 * The GID to use, or NULL where none is usable. For Ethernet only GIDs of the link `netdev` or of
 * the bond `master` that it is part of count (either may be NULL): RoCE v2 before v1, IPv4 before
 * IPv6, routable before link-local, lower index before higher. For InfiniBand the first.
 */
const struct ath_gid *ath_gid_best(const struct ath_gid *gids, size_t count,
                                   enum ath_link_layer layer, const char *netdev,
                                   const char *master);
