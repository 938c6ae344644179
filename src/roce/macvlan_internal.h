/* Between macvlan.c, which plans, macvlan_check.c, which refuses, and macvlan_apply.c. */
#pragma once
#include "roce/macvlan.h"

/* A wanted macvlan whose texts were read, with what the kernel has of it. */
struct ath_macvlan_request {
    const struct ath_macvlan_wanted *wanted;
    const struct ath_netstate *present;
    const struct ath_link *parent;
    bool has_address, has_companion_address;
    struct ath_address address, companion_address;
    int mtu;
    char *companion; /* its name */
};

void ath_macvlan_request_free(struct ath_macvlan_request *request);

/* Looks everything up, and refuses what cannot be. Returns 0 or a negative errno with err. */
int ath_macvlan_check(const struct ath_macvlan_wanted *wanted, const struct ath_netstate *present,
                      struct ath_macvlan_request *out, struct ath_err *err);

/* Where a link of ours is: by its alias anywhere, or by its name in NAME's own namespace, where a
 * link that was not labelled any more can be. */
struct ath_macvlan_found {
    const struct ath_netstate_place *place; /* NULL: nowhere */
    const struct ath_link *link;
};
struct ath_macvlan_found ath_macvlan_find(const struct ath_netstate *present, const char *name,
                                          const char *link, const char *alias);

/* True for a macvlan child of the host's link `parent`, wherever the child is. */
bool ath_macvlan_is_child(const struct ath_netstate_place *place, const struct ath_link *link,
                          const struct ath_link *parent);

/* "aitherion:NAME:host"; the caller frees it. */
char *ath_macvlan_companion_alias(const char *name);
