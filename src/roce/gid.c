/*
 * Reading the GIDs of an RDMA port from sysfs.
 *
 * An unused slot has a file, but reading its type fails with EINVAL
 * (drivers/infiniband/core/sysfs.c), so a failed read skips the slot. In a network namespace the
 * used slots may start at any index. The type of an InfiniBand GID also reads "IB/RoCE v1"
 * (drivers/infiniband/core/cache.c, gid_type_str), so the port's link layer decides.
 */
#include "config.h"

#include "roce/gid.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "roce/kinship.h"

#define IPV4_MAPPED "0000:0000:0000:0000:0000:ffff:"

static bool parse_type(const char *text, enum ath_link_layer layer, enum ath_gid_type *out)
{
    static const struct {
        const char *text;
        enum ath_gid_type type;
    } types[] = { { "RoCE v2", ATH_GID_ROCE_V2 },
                  { "IB/RoCE v1", ATH_GID_ROCE_V1 },
                  { "InfiniBand", ATH_GID_IB } };

    for (size_t i = 0; i < ATH_COUNT(types); i++)
        if (!strcmp(text, types[i].text)) {
            *out = layer == ATH_LAYER_INFINIBAND ? ATH_GID_IB : types[i].type;
            return true;
        }
    return false;
}

/* The kernel prints a GID as eight groups of four digits. */
static bool is_address(const char *text)
{
    return strlen(text) == 39 && strspn(text, "0123456789abcdefABCDEF:") == 39;
}

static bool is_zero(const char *address)
{
    return !address[strspn(address, "0:")] || !strcmp(address, IPV4_MAPPED "0000:0000");
}

/* Returns false if the slot is empty, or if its type or address is unknown. */
static bool read_slot(const struct ath_root *root, const char *port, const char *index,
                      enum ath_link_layer layer, struct ath_gid *out)
{
    struct ath_gid gid = { 0 };
    ath_auto_free char *type = ath_root_read(root, "%s/gid_attrs/types/%s", port, index);
    if (!type || !parse_type(type, layer, &gid.type) ||
        ath_parse_int(index, 0, INT_MAX, &gid.index))
        return false;
    ath_auto_free char *address = ath_root_read(root, "%s/gids/%s", port, index);
    if (!address || !is_address(address))
        return false;
    ath_auto_free char *netdev = ath_root_read(root, "%s/gid_attrs/ndevs/%s", port, index);
    bool has_netdev = netdev && *netdev && strlen(netdev) < sizeof gid.netdev;

    if (has_netdev)
        strcpy(gid.netdev, netdev);
    strcpy(gid.address, address);
    gid.is_ipv4_mapped = ath_starts_with(address, IPV4_MAPPED);
    gid.is_usable = !is_zero(address) &&
                    (gid.type == ATH_GID_IB ||
                     (has_netdev && ath_root_exists(root, "sys/class/net/%s", gid.netdev)));
    *out = gid;
    return true;
}

bool ath_gids_read(const struct ath_root *root, const char *device, int port,
                   enum ath_link_layer layer, struct ath_gid **out, size_t *out_count)
{
    ath_auto_free char *port_path = ath_xasprintf("sys/class/infiniband/%s/ports/%d", device, port);
    ath_auto_free char *types_path = ath_xasprintf("%s/gid_attrs/types", port_path);
    char **names;
    size_t name_count;
    struct ath_gid *gids = NULL, gid;
    size_t count = 0;

    ath_root_list(root, types_path, &names, &name_count);
    for (size_t i = 0; i < name_count; i++)
        if (read_slot(root, port_path, names[i], layer, &gid))
            *(struct ath_gid *)ath_push(&gids, &count, sizeof *gids) = gid;
    ath_names_free(names, name_count);
    *out = gids;
    *out_count = count;
    return name_count > 0;
}

static bool is_link_local(const struct ath_gid *gid)
{
    return ath_starts_with(gid->address, "fe80:");
}

/* A higher rank is better. 0 means that the GID does not belong to this link. */
static int rank(const struct ath_gid *gid, enum ath_link_relation relation)
{
    if (relation == ATH_LINK_STRANGER)
        return 0;
    return 16 + 8 * (gid->type == ATH_GID_ROCE_V2) + 4 * !is_link_local(gid) +
           2 * (relation == ATH_LINK_OWN) + gid->is_ipv4_mapped;
}

const struct ath_gid *ath_gid_best(const struct ath_root *root, const struct ath_gid *gids,
                                   size_t count, enum ath_link_layer layer, const char *netdev)
{
    const struct ath_gid *best = NULL;
    const char *last = ""; /* most GIDs of one link follow each other */
    enum ath_link_relation relation = ATH_LINK_STRANGER;
    int best_rank = 0;

    for (size_t i = 0; i < count; i++) {
        if (!gids[i].is_usable)
            continue;
        if (layer == ATH_LAYER_INFINIBAND)
            return &gids[i];
        if (netdev && strcmp(gids[i].netdev, last) != 0) {
            last = gids[i].netdev;
            relation = ath_link_relation(root, last, netdev);
        }
        if (rank(&gids[i], relation) > best_rank) {
            best = &gids[i];
            best_rank = rank(best, relation);
        }
    }
    return best;
}
