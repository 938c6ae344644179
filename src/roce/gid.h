/* The GIDs of an RDMA port: the addresses that RDMA connections use. */
#pragma once
#include "base/root.h"
#include "roce/nic.h"

/*
 * Reads the used slots of a port's GID table, in the order of their indexes. *out_count is 0 if no
 * slot is used. The caller frees *out. Returns false if the port has no table at all (a capture may
 * lack it), and true otherwise.
 */
bool ath_gids_read(const struct ath_root *root, const char *device, int port,
                   enum ath_link_layer layer, struct ath_gid **out, size_t *out_count);

/*
 * Returns the GID to use, or NULL if none is usable. The result points into gids.
 *
 * For InfiniBand this is the first usable GID. For Ethernet, GIDs count if they belong to the link
 * `netdev` (may be NULL), to a bond or bridge that the link is part of, or to a VLAN on either.
 * RoCE v2 is preferred to v1, routable to link-local (which a link without any address has, too),
 * the link's own GIDs to those of a VLAN, IPv4 to IPv6, and a lower index to a higher one.
 */
const struct ath_gid *ath_gid_best(const struct ath_root *root, const struct ath_gid *gids,
                                   size_t count, enum ath_link_layer layer, const char *netdev);
