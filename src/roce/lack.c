/*
 * Why a port has no usable GID. RoCE GIDs are made of the link's addresses (IPv4-mapped, or IPv6
 * unchanged). A link that is up also has a link-local address, unless IPv6 or its address
 * generation is turned off.
 */
#include "config.h"

#include "roce/lack.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/text.h"

static const struct {
    const char *word, *text;
} lacks[ATH_LACK_COUNT] = {
    [ATH_LACK_UNKNOWN] = { "not-known", N_("its GIDs are not known") },
    [ATH_LACK_NO_SUBNET] = { "inactive",
                             N_("the port is not active: no cable, or no subnet manager") },
    [ATH_LACK_INACTIVE] = { "rdma-inactive", N_("the RDMA port is not active") },
    [ATH_LACK_LINK_DOWN] = { "link-down", N_("its link is down") },
    [ATH_LACK_LINK_AWAY] = { "link-away", N_("its link is in another network namespace") },
    [ATH_LACK_ADDRESS] = { "no-address", N_("its link has no address") },
    [ATH_LACK_ROUTABLE] = { "link-local", N_("link-local: works only within its own network") },
};

enum ath_lack ath_nic_lack(const struct ath_nic *nic)
{
    const struct ath_gid *best = ath_nic_gid(nic);
    bool is_infiniband = nic->link_layer == ATH_LAYER_INFINIBAND;

    if (nic->link == ATH_LINK_DOWN && !is_infiniband)
        return ATH_LACK_LINK_DOWN;
    if (nic->link == ATH_LINK_DOWN || nic->rdma_state == ATH_LINK_DOWN)
        return is_infiniband ? ATH_LACK_NO_SUBNET : ATH_LACK_INACTIVE;
    if (is_infiniband)
        return best ? ATH_LACK_NOTHING : ATH_LACK_UNKNOWN;
    if (!nic->has_roce && !nic->gid_count)
        return ATH_LACK_UNKNOWN;
    if (best)
        return ath_starts_with(best->address, "fe80:") ? ATH_LACK_ROUTABLE : ATH_LACK_NOTHING;
    return nic->netdev ? ATH_LACK_ADDRESS : ATH_LACK_LINK_AWAY;
}

const char *ath_lack_word(enum ath_lack lack)
{
    return lacks[lack].word;
}

const char *ath_lack_text(enum ath_lack lack)
{
    return lacks[lack].text ? _(lacks[lack].text) : NULL;
}

char *ath_lack_mend(enum ath_lack lack, const struct ath_nic *nic)
{
    const char *link = nic->master ? nic->master : nic->netdev;

    if (lack == ATH_LACK_NO_SUBNET)
        return ath_xasprintf("ibstat %s", nic->rdma_device);
    if (lack == ATH_LACK_INACTIVE)
        return ath_xasprintf("rdma link show %s", nic->rdma_device);
    if (link && lack == ATH_LACK_LINK_DOWN)
        return ath_xasprintf(_("ip link set %s up, and look at its cable: ethtool %s"), link, link);
    if (link && (lack == ATH_LACK_ADDRESS || lack == ATH_LACK_ROUTABLE))
        return ath_xasprintf("ip address add ADDRESS/PREFIX dev %s", link);
    return NULL;
}
