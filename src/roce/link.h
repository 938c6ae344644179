/*
 * Network links of one network namespace: reading them, and changing those of aitherion
 * (rtnetlink).
 *
 * A link that aitherion makes has the alias "aitherion:NAME" (ifalias). The kernel keeps the alias
 * through renames and moves between namespaces, and `ip link` shows it, so every user sees whose
 * link it is. No file is needed that could be lost or outlive a reboot.
 *
 * Functions take an open netlink socket (netlink.h) and work in the namespace of that socket. A
 * socket is used by one thread at a time. Only the reading functions are for callers outside of
 * roce.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "roce/address.h"
#include "roce/nic.h"

struct ath_netlink;

#define ATH_LINK_ALIAS_PREFIX "aitherion:"

enum { ATH_LINK_NAME_SIZE = 16 }; /* IFNAMSIZ, which counts the NUL */

/* Values of ath_link.type: ARPHRD_ETHER, ARPHRD_INFINIBAND, ARPHRD_LOOPBACK. */
enum { ATH_LINK_ETHERNET = 1, ATH_LINK_INFINIBAND = 32, ATH_LINK_LOOPBACK = 772 };

enum ath_macvlan_mode {
    ATH_MACVLAN_BRIDGE,
    ATH_MACVLAN_PRIVATE,
    ATH_MACVLAN_VEPA,
    ATH_MACVLAN_PASSTHRU,
    ATH_MACVLAN_MODE_COUNT
};

struct ath_link {
    int index;
    char name[ATH_LINK_NAME_SIZE];
    int type;         /* ATH_LINK_ETHERNET... */
    char *kind;       /* "macvlan", "veth", "bridge"; NULL for hardware and lo */
    int parent_index; /* of the link below, or of a veth's other end; ATH_UNKNOWN */
    int parent_netns; /* id of the namespace that parent_index belongs to; ATH_UNKNOWN: this one */
    int master_index; /* of the bridge or bond that contains the link; ATH_UNKNOWN */
    bool is_up;       /* the administrative state (IFF_UP) */
    enum ath_link_state state; /* the operational state */
    int mtu;
    char mac[64];     /* "02:00:00:00:00:01"; "" unknown */
    char *alias;      /* NULL if there is none */
    char *device;     /* bus address of the hardware: "0003:01:00.0"; NULL */
    int macvlan_mode; /* enum ath_macvlan_mode, or ATH_UNKNOWN */
    struct ath_address *addresses;
    size_t address_count;
    struct ath_address
        *routes; /* routes of the main table without a gateway, except the kernel's */
    size_t route_count;
};

struct ath_links {
    struct ath_link *items;
    size_t count;
};

void ath_link_free(struct ath_link *link);
void ath_links_free(struct ath_links *links);
void ath_link_copy(const struct ath_link *link, struct ath_link *out);

/* Reads all links with their addresses and routes, by index. The caller frees *out with
 * ath_links_free(). Returns 0, or a negative errno with err. */
int ath_links_read(struct ath_netlink *netlink, struct ath_links *out, struct ath_err *err);

/* Return NULL if there is no such link. */
const struct ath_link *ath_links_find(const struct ath_links *links, const char *name);
const struct ath_link *ath_links_by_index(const struct ath_links *links, int index);

bool ath_link_is_macvlan(const struct ath_link *link);
bool ath_link_has_alias(const struct ath_link *link, const char *alias);

/* True for a macvlan whose alias begins with "aitherion:". */
bool ath_link_is_ours(const struct ath_link *link);

/* Returns the link's address with the same host address, or NULL. */
const struct ath_address *ath_link_address(const struct ath_link *link,
                                           const struct ath_address *address);

/* False while duplicate address detection runs for an address of the link. A GID made of that
 * address does not work before it ends. */
bool ath_link_is_settled(const struct ath_link *link);

/* True if the kernel accepts the name for a link (dev_valid_name in net/core/dev.c). */
bool ath_link_name_is_valid(const char *name);

/* Returns "bridge", "private", "vepa", "passthru", or "?" for any other number. */
const char *ath_macvlan_mode_word(int mode);

/* Reads one link; the caller frees *out with ath_link_free(). Returns 0, or a negative errno with
 * err: "not-found". */
int ath_link_read(struct ath_netlink *netlink, const char *name, struct ath_link *out,
                  struct ath_err *err);

struct ath_macvlan_new {
    const char *name;
    const char *parent_name; /* for messages */
    int parent_index;        /* in the namespace of the socket */
    enum ath_macvlan_mode mode;
    int mtu;         /* ATH_UNKNOWN: the parent's */
    const char *mac; /* NULL: the kernel chooses one */
    int netns;       /* an open namespace in which the link is created; -1: that of the socket */
};

/* The changes. All return 0, or a negative errno with err, which includes the kernel's own
 * words. */
int ath_link_create_macvlan(struct ath_netlink *netlink, const struct ath_macvlan_new *what,
                            struct ath_err *err);
int ath_link_delete(struct ath_netlink *netlink, const char *name, struct ath_err *err);
int ath_link_set_up(struct ath_netlink *netlink, const char *name, bool is_up, struct ath_err *err);
int ath_link_set_mtu(struct ath_netlink *netlink, const char *name, int mtu, struct ath_err *err);

/* Sets the alias; "" removes it. The kernel accepts no alias while it creates a link
 * (rtnl_create_link), so the alias is set in a second request. */
int ath_link_set_alias(struct ath_netlink *netlink, const char *name, const char *alias,
                       struct ath_err *err);

/* Changes the mode between bridge, private and vepa. The kernel refuses any change from or to
 * passthru (macvlan_changelink_sanity). */
int ath_link_set_macvlan_mode(struct ath_netlink *netlink, const char *name,
                              enum ath_macvlan_mode mode, struct ath_err *err);

/* Moves the link to an open namespace. There the link is down, and has no addresses and routes. */
int ath_link_move(struct ath_netlink *netlink, const char *name, int netns, struct ath_err *err);

int ath_link_add_address(struct ath_netlink *netlink, const char *name,
                         const struct ath_address *address, struct ath_err *err);
int ath_link_remove_address(struct ath_netlink *netlink, const char *name,
                            const struct ath_address *address, struct ath_err *err);

/* Adds or removes a route without a gateway in the main table. */
int ath_link_add_route(struct ath_netlink *netlink, const char *name,
                       const struct ath_address *destination, struct ath_err *err);
int ath_link_remove_route(struct ath_netlink *netlink, const char *name,
                          const struct ath_address *destination, struct ath_err *err);
