/* How network links stand to each other and to the hardware below them. Private to roce. */
#pragma once
#include <stdbool.h>

#include "base/root.h"

/* The number N in a path through mlx5_core.sf.N, or ATH_UNKNOWN. */
int ath_subfunction_of_path(const char *path);

/*
 * What phys_port_name says: "p0" is the port of the card itself, "pf0vf3" stands on the card's
 * switch for a function of somebody else. Both false for NULL.
 */
bool ath_port_name_is_uplink(const char *name);
bool ath_port_name_is_representor(const char *name);

/* The same for a link that need not be there. */
bool ath_link_is_representor(const struct ath_root *root, const char *link);

/* The outermost bond, bridge or team that a link is part of and that has the addresses, or NULL;
 * the caller frees it. */
char *ath_link_master(const struct ath_root *root, const char *link);

enum ath_link_relation {
    ATH_LINK_STRANGER,
    ATH_LINK_VLAN, /* a VLAN on the link, or on a bond that it is part of */
    ATH_LINK_OWN,  /* the link itself, or a bond, bridge or team that it is part of */
};

/* Whose addresses those of `upper` are, seen from `link`. A macvlan is a stranger: it has hardware
 * addresses, and often a network namespace, of its own. */
enum ath_link_relation ath_link_relation(const struct ath_root *root, const char *upper,
                                         const char *link);
