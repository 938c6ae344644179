/* Shared by macvlan.c (names and states), macvlan_check.c (refuses), macvlan_plan.c (plans) and
 * macvlan_apply.c (runs). */
#pragma once
#include "roce/macvlan.h"

/* A wanted macvlan with its texts parsed and its links looked up. Pointers belong to the caller's
 * `wanted` and `present`, except the companion's name. */
struct ath_macvlan_request {
    const struct ath_macvlan_wanted *wanted;
    const struct ath_netstate *present;
    const struct ath_link *parent;
    bool has_address, has_companion_address;
    struct ath_address address, companion_address;
    int mtu;
    char *companion; /* name of the companion; owned */
};

void ath_macvlan_request_free(struct ath_macvlan_request *request);

/* Looks up what the plan needs, and refuses what the kernel cannot do. Returns 0 with *out for the
 * caller to free, or a negative errno with err. */
int ath_macvlan_check(const struct ath_macvlan_wanted *wanted, const struct ath_netstate *present,
                      struct ath_macvlan_request *out, struct ath_err *err);

/* A link of aitherion and its namespace. ath_macvlan_find() looks for the alias in every namespace
 * (unless alias is NULL), then for the name in NAME's own namespace: a link there that has no
 * alias yet is ours, too. */
struct ath_macvlan_found {
    const struct ath_netstate_place *place; /* NULL if the link does not exist */
    const struct ath_link *link;
};
struct ath_macvlan_found ath_macvlan_find(const struct ath_netstate *present, const char *name,
                                          const char *link, const char *alias);

/* Returns the macvlan's own namespace, or NULL if there is none or if aitherion did not make it. */
const struct ath_netstate_place *ath_macvlan_own_place(const struct ath_netstate *present,
                                                       const char *name);

/* True for a macvlan on the host's link `parent`, in whatever namespace the macvlan is. */
bool ath_macvlan_is_child(const struct ath_netstate_place *place, const struct ath_link *link,
                          const struct ath_link *parent);

/* Returns "aitherion:NAME:host". The caller frees the text. */
char *ath_macvlan_companion_alias(const char *name);
