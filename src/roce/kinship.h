/* How a network link relates to other links and to the hardware below. Private to roce. */
#pragma once
#include <stdbool.h>

#include "base/root.h"

/* Returns the number N in a path through mlx5_core.sf.N, or ATH_UNKNOWN. */
int ath_subfunction_of_path(const char *path);

/*
 * Interprets phys_port_name. "p0" is an uplink, the port of the card itself. "pf0vf3" is a
 * representor: the end, on the card's switch, of the function of a guest or container. Both return
 * false for NULL.
 */
bool ath_port_name_is_uplink(const char *name);
bool ath_port_name_is_representor(const char *name);

/* Reads the phys_port_name of a link and interprets it. Returns false if there is no such link. */
bool ath_link_is_representor(const struct ath_root *root, const char *link);

/* Returns the name of the outermost bond, bridge or team that contains the link and holds its
 * addresses, or NULL. The caller frees the name. */
char *ath_link_master(const struct ath_root *root, const char *link);

enum ath_link_relation {
    ATH_LINK_STRANGER,
    ATH_LINK_VLAN, /* a VLAN on the link, or on a bond that contains the link */
    ATH_LINK_OWN,  /* the link itself, or a bond, bridge or team that contains the link */
};

/* Says how `upper` relates to `link`, which decides whether the addresses of `upper` are addresses
 * of `link`. A macvlan counts as a stranger: it has its own hardware address, and often its own
 * network namespace. */
enum ath_link_relation ath_link_relation(const struct ath_root *root, const char *upper,
                                         const char *link);
