/* Why an RDMA port has no GID to use, or a poor one only. */
#pragma once
#include "roce/nic.h"

enum ath_lack {
    ATH_LACK_NOTHING,   /* there is a GID to use */
    ATH_LACK_UNKNOWN,   /* what was read does not tell the GIDs */
    ATH_LACK_INACTIVE,  /* InfiniBand: the port is not active (no cable, no subnet manager) */
    ATH_LACK_LINK_DOWN, /* its link is down */
    ATH_LACK_LINK_AWAY, /* its link is in another network namespace */
    ATH_LACK_ADDRESS,   /* its link has no address */
    ATH_LACK_ROUTABLE,  /* its link has a link-local address alone: good within one network */
    ATH_LACK_COUNT
};

/* Of a port with an RDMA device. The GID to use is nic->best_gid_index, also with the last one. */
enum ath_lack ath_nic_lack(const struct ath_nic *nic);

/* "link-down", "no-address", ...: the stable word; NULL for nothing. */
const char *ath_lack_word(enum ath_lack lack);

/* The reason as a translated clause; NULL for nothing. */
const char *ath_lack_text(enum ath_lack lack);

/* The command that mends it ("ip link set eth0 up"); NULL where there is none. The caller frees it.
 */
char *ath_lack_mend(enum ath_lack lack, const struct ath_nic *nic);
