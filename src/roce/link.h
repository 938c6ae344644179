/*
 * Network links of one network namespace: reading them, and changing ours (rtnetlink).
 *
 * What aitherion makes bears the alias "aitherion:NAME" (ifalias): the kernel keeps it with the
 * link through renaming and moves between namespaces, `ip link` shows it, it needs no file of ours
 * that could be lost or outlive a reboot, and whoever reads it knows whose link it is.
 *
 * Functions take an open netlink socket (netlink.h), whose namespace is the one they work in.
 * Private to roce, but for what is read.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "roce/address.h"
#include "roce/nic.h"

struct ath_netlink;

#define ATH_LINK_ALIAS_PREFIX "aitherion:"

enum { ATH_LINK_NAME_SIZE = 16 }; /* IFNAMSIZ, its NUL included */

/* What ath_link.type says of a link: ARPHRD_ETHER, ARPHRD_INFINIBAND, ARPHRD_LOOPBACK. */
enum { ATH_LINK_ETHERNET = 1, ATH_LINK_INFINIBAND = 32, ATH_LINK_LOOPBACK = 772 };

enum ath_macvlan_mode {
    ATH_MACVLAN_BRIDGE,
    ATH_MACVLAN_PRIVATE,
    ATH_MACVLAN_VEPA,
    ATH_MACVLAN_PASSTHRU
};

struct ath_link {
    int index;
    char name[ATH_LINK_NAME_SIZE];
    int type;         /* ATH_LINK_ETHERNET... */
    char *kind;       /* "macvlan", "veth", "bridge"; NULL for hardware and lo */
    int parent_index; /* of the link below it (a veth's other end); ATH_UNKNOWN */
    int parent_netns; /* the id of the namespace that parent_index is of; ATH_UNKNOWN: this one */
    int master_index; /* of the bridge or bond that it is part of; ATH_UNKNOWN */
    bool is_up;       /* as somebody set it */
    enum ath_link_state state; /* as it is */
    int mtu;
    char mac[64];     /* "02:00:00:00:00:01"; "" unknown */
    char *alias;      /* NULL without */
    char *device;     /* of the hardware, on its bus: "0003:01:00.0"; NULL */
    int macvlan_mode; /* enum ath_macvlan_mode, or ATH_UNKNOWN */
    struct ath_address *addresses;
    size_t address_count;
    struct ath_address *routes; /* somebody's own routes straight to it, host routes among them */
    size_t route_count;
};

struct ath_links {
    struct ath_link *items;
    size_t count;
};

void ath_link_free(struct ath_link *link);
void ath_links_free(struct ath_links *links);
void ath_link_copy(const struct ath_link *link, struct ath_link *out);

/* All links with addresses and routes, by index. Returns 0, or a negative errno with err. */
int ath_links_read(struct ath_netlink *netlink, struct ath_links *out, struct ath_err *err);

/* NULL where there is none. */
const struct ath_link *ath_links_find(const struct ath_links *links, const char *name);
const struct ath_link *ath_links_by_index(const struct ath_links *links, int index);

bool ath_link_is_macvlan(const struct ath_link *link);
bool ath_link_has_alias(const struct ath_link *link, const char *alias);

/* A link that we made: a macvlan with our alias. */
bool ath_link_is_ours(const struct ath_link *link);

/* The link's address of the same host, or NULL. */
const struct ath_address *ath_link_address(const struct ath_link *link,
                                           const struct ath_address *address);

/* False while duplicate address detection still runs for one of its addresses: the GIDs made of
 * them do not work before. */
bool ath_link_is_settled(const struct ath_link *link);

/* What the kernel takes as the name of a link (dev_valid_name in net/core/dev.c). */
bool ath_link_name_is_valid(const char *name);

/* "bridge", "private", "vepa", "passthru"; "?" for others. */
const char *ath_macvlan_mode_word(int mode);

/* One link alone. Returns 0, or a negative errno with err: "not-found". */
int ath_link_read(struct ath_netlink *netlink, const char *name, struct ath_link *out,
                  struct ath_err *err);

struct ath_macvlan_new {
    const char *name;
    const char *parent_name; /* for messages */
    int parent_index;        /* in the socket's namespace */
    enum ath_macvlan_mode mode;
    int mtu;         /* ATH_UNKNOWN: the parent's */
    const char *mac; /* NULL: the kernel picks one */
    int netns;       /* an open namespace that it is made in at once; -1: the socket's */
};

/* The changes. All return 0, or a negative errno with err, the kernel's own words included. */
int ath_link_create_macvlan(struct ath_netlink *netlink, const struct ath_macvlan_new *what,
                            struct ath_err *err);
int ath_link_delete(struct ath_netlink *netlink, const char *name, struct ath_err *err);
int ath_link_set_up(struct ath_netlink *netlink, const char *name, bool is_up, struct ath_err *err);
int ath_link_set_mtu(struct ath_netlink *netlink, const char *name, int mtu, struct ath_err *err);

/* The kernel takes no alias while it makes a link (rtnl_create_link): it is set afterwards. ""
 * takes it away. */
int ath_link_set_alias(struct ath_netlink *netlink, const char *name, const char *alias,
                       struct ath_err *err);

/* Between bridge, private and vepa; from and to passthru the kernel refuses
 * (macvlan_changelink_sanity). */
int ath_link_set_macvlan_mode(struct ath_netlink *netlink, const char *name,
                              enum ath_macvlan_mode mode, struct ath_err *err);

/* Into an open namespace; the link loses its addresses and routes and is down there. */
int ath_link_move(struct ath_netlink *netlink, const char *name, int netns, struct ath_err *err);

int ath_link_add_address(struct ath_netlink *netlink, const char *name,
                         const struct ath_address *address, struct ath_err *err);
int ath_link_remove_address(struct ath_netlink *netlink, const char *name,
                            const struct ath_address *address, struct ath_err *err);

/* A route in the main table straight out of the link, without a gateway. */
int ath_link_add_route(struct ath_netlink *netlink, const char *name,
                       const struct ath_address *destination, struct ath_err *err);
int ath_link_remove_route(struct ath_netlink *netlink, const char *name,
                          const struct ath_address *destination, struct ath_err *err);
