/* The reason why an RDMA port has no usable GID, or only a link-local one. */
#pragma once
#include "roce/nic.h"

enum ath_lack {
    ATH_LACK_NOTHING,   /* the port has a usable, routable GID */
    ATH_LACK_UNKNOWN,   /* the source (a capture, a topology file) has no GIDs */
    ATH_LACK_NO_SUBNET, /* InfiniBand: the port is not active (no cable, no subnet manager) */
    ATH_LACK_INACTIVE,  /* Ethernet: the link is up, but the RDMA port is not active */
    ATH_LACK_LINK_DOWN, /* the link is down */
    ATH_LACK_LINK_AWAY, /* the link is in another network namespace */
    ATH_LACK_ADDRESS,   /* the link has no address */
    ATH_LACK_ROUTABLE,  /* the link has only a link-local address, usable within one network */
    ATH_LACK_COUNT
};

/* Returns the reason for a port with an RDMA device. For ATH_LACK_ROUTABLE, nic->best_gid_index
 * still names the link-local GID. */
enum ath_lack ath_nic_lack(const struct ath_nic *nic);

/* Returns the stable word ("link-down", "no-address", ...), or NULL for ATH_LACK_NOTHING. */
const char *ath_lack_word(enum ath_lack lack);

/* Returns the reason as a translated clause, or NULL for ATH_LACK_NOTHING. */
const char *ath_lack_text(enum ath_lack lack);

/* Returns the command that removes the cause ("ip link set eth0 up"), or NULL if there is none.
 * The caller frees the text. */
char *ath_lack_mend(enum ath_lack lack, const struct ath_nic *nic);
