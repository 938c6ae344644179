/* Creating, changing and deleting links, addresses and routes (rtnetlink(7), ip-link(8)). */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "roce/link.h"
#include "roce/link_internal.h"
#include "roce/netlink.h"

static void begin_link(struct ath_message *message, struct ath_netlink *netlink, int type,
                       int flags, int index)
{
    struct ifinfomsg header = { .ifi_family = AF_UNSPEC, .ifi_index = index };
    ath_message_begin(message, netlink, type, flags, &header, sizeof header);
}

/* Returns the index of a link. Each change looks the index up first, so it reaches only the link
 * that has the name at that moment. (The kernel takes an index, users give names.) */
static int find_index(struct ath_netlink *netlink, const char *name, int *out, struct ath_err *err)
{
    struct ath_message message;
    ATH_AUTO(ath_replies) replies = { 0 };
    begin_link(&message, netlink, RTM_GETLINK, 0, 0);
    ath_message_put_text(&message, IFLA_IFNAME, name);
    int status =
        ath_netlink_talk(&message, &replies, err, _("cannot find the network link '%s'"), name);
    if (status)
        return status;
    for (size_t i = 0; i < replies.count; i++)
        if (ath_message_is(replies.items[i], RTM_NEWLINK, sizeof(struct ifinfomsg))) {
            *out = ((const struct ifinfomsg *)ath_message_payload(replies.items[i]))->ifi_index;
            return 0;
        }
    return ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND, _("there is no network link '%s'"), name);
}

/* Begins a request that changes an existing link; the caller adds attributes. */
static int begin_change(struct ath_message *message, struct ath_netlink *netlink, int type,
                        const char *name, struct ath_err *err)
{
    int index = 0, status = find_index(netlink, name, &index, err);
    if (!status)
        begin_link(message, netlink, type, 0, index);
    return status;
}

static void put_macvlan(struct ath_message *message, enum ath_macvlan_mode mode)
{
    struct nlattr *info = ath_message_nest(message, IFLA_LINKINFO);
    ath_message_put_text(message, IFLA_INFO_KIND, "macvlan");
    struct nlattr *data = ath_message_nest(message, IFLA_INFO_DATA);
    ath_message_put_u32(message, IFLA_MACVLAN_MODE, ath_macvlan_mode_to_kernel((int)mode));
    ath_message_nest_end(message, data);
    ath_message_nest_end(message, info);
}

static void put_mac(struct ath_message *message, const char *text)
{
    unsigned char bytes[6] = { 0 };
    for (size_t i = 0; i < sizeof bytes && strlen(text) == 3 * sizeof bytes - 1; i++)
        bytes[i] = (unsigned char)strtoul(text + 3 * i, NULL, 16);
    ath_message_put(message, IFLA_ADDRESS, bytes, sizeof bytes);
}

int ath_link_create_macvlan(struct ath_netlink *netlink, const struct ath_macvlan_new *what,
                            struct ath_err *err)
{
    struct ath_message message;
    begin_link(&message, netlink, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
    ath_message_put_text(&message, IFLA_IFNAME, what->name);
    ath_message_put_u32(&message, IFLA_LINK, (uint32_t)what->parent_index);
    if (what->mtu != ATH_UNKNOWN)
        ath_message_put_u32(&message, IFLA_MTU, (uint32_t)what->mtu);
    if (what->mac)
        put_mac(&message, what->mac);
    if (what->netns >= 0)
        ath_message_put_u32(&message, IFLA_NET_NS_FD, (uint32_t)what->netns);
    put_macvlan(&message, what->mode);

    int status = ath_netlink_talk(&message, NULL, err, _("cannot create macvlan '%s' on '%s'"),
                                  what->name, what->parent_name);
    if (status == -EOPNOTSUPP) /* the kernel has no macvlan driver, not even as a module */
        return ath_err_hint(err, status, "modprobe macvlan");
    return status;
}

int ath_link_delete(struct ath_netlink *netlink, const char *name, struct ath_err *err)
{
    struct ath_message message;
    int status = begin_change(&message, netlink, RTM_DELLINK, name, err);
    return status ? status
                  : ath_netlink_talk(&message, NULL, err, _("cannot delete link '%s'"), name);
}

int ath_link_set_up(struct ath_netlink *netlink, const char *name, bool is_up, struct ath_err *err)
{
    struct ath_message message;
    struct ifinfomsg header = { .ifi_flags = is_up ? IFF_UP : 0, .ifi_change = IFF_UP };
    int status = find_index(netlink, name, &header.ifi_index, err);
    if (status)
        return status;
    ath_message_begin(&message, netlink, RTM_NEWLINK, 0, &header, sizeof header);
    return ath_netlink_talk(
        &message, NULL, err,
        is_up ? _("cannot bring link '%s' up") : _("cannot take link '%s' down"), name);
}

int ath_link_set_mtu(struct ath_netlink *netlink, const char *name, int mtu, struct ath_err *err)
{
    struct ath_message message;
    int status = begin_change(&message, netlink, RTM_NEWLINK, name, err);
    if (status)
        return status;
    ath_message_put_u32(&message, IFLA_MTU, (uint32_t)mtu);
    return ath_netlink_talk(&message, NULL, err, _("cannot set the MTU of link '%s' to %d"), name,
                            mtu);
}

int ath_link_set_alias(struct ath_netlink *netlink, const char *name, const char *alias,
                       struct ath_err *err)
{
    struct ath_message message;
    int status = begin_change(&message, netlink, RTM_NEWLINK, name, err);
    if (status)
        return status;
    /* Without the NUL: the kernel would count it as a character (dev_set_alias). */
    ath_message_put(&message, IFLA_IFALIAS, alias, strlen(alias));
    return ath_netlink_talk(&message, NULL, err, _("cannot give link '%s' the alias '%s'"), name,
                            alias);
}

int ath_link_set_macvlan_mode(struct ath_netlink *netlink, const char *name,
                              enum ath_macvlan_mode mode, struct ath_err *err)
{
    struct ath_message message;
    int status = begin_change(&message, netlink, RTM_NEWLINK, name, err);
    if (status)
        return status;
    put_macvlan(&message, mode);
    return ath_netlink_talk(&message, NULL, err, _("cannot set macvlan '%s' to mode %s"), name,
                            ath_macvlan_mode_word((int)mode));
}

int ath_link_move(struct ath_netlink *netlink, const char *name, int netns, struct ath_err *err)
{
    struct ath_message message;
    int status = begin_change(&message, netlink, RTM_NEWLINK, name, err);
    if (status)
        return status;
    ath_message_put_u32(&message, IFLA_NET_NS_FD, (uint32_t)netns);
    return ath_netlink_talk(&message, NULL, err,
                            _("cannot move link '%s' to another network namespace"), name);
}

static int change_address(struct ath_netlink *netlink, int type, const char *name,
                          const struct ath_address *address, struct ath_err *err)
{
    struct ath_message message;
    struct ifaddrmsg header = { .ifa_family = (unsigned char)address->family,
                                .ifa_prefixlen = (unsigned char)address->prefix };
    size_t size = (size_t)ath_address_size(address);
    bool is_new = type == RTM_NEWADDR;
    int index = 0, status = find_index(netlink, name, &index, err);
    if (status)
        return status;

    header.ifa_index = (unsigned)index;
    ath_message_begin(&message, netlink, type, is_new ? NLM_F_CREATE | NLM_F_EXCL : 0, &header,
                      sizeof header);
    ath_message_put(&message, IFA_LOCAL, address->bytes, size);
    ath_message_put(&message, IFA_ADDRESS, address->bytes, size);
    ath_auto_free char *text = ath_address_format(address);
    return ath_netlink_talk(&message, NULL, err,
                            is_new ? _("cannot give address '%s' to link '%s'")
                                   : _("cannot take address '%s' from link '%s'"),
                            text, name);
}

int ath_link_add_address(struct ath_netlink *netlink, const char *name,
                         const struct ath_address *address, struct ath_err *err)
{
    return change_address(netlink, RTM_NEWADDR, name, address, err);
}

int ath_link_remove_address(struct ath_netlink *netlink, const char *name,
                            const struct ath_address *address, struct ath_err *err)
{
    return change_address(netlink, RTM_DELADDR, name, address, err);
}

static int change_route(struct ath_netlink *netlink, int type, const char *name,
                        const struct ath_address *destination, struct ath_err *err)
{
    struct ath_message message;
    bool is_new = type == RTM_NEWROUTE;
    struct rtmsg header = { .rtm_family = (unsigned char)destination->family,
                            .rtm_dst_len = (unsigned char)destination->prefix,
                            .rtm_table = RT_TABLE_MAIN,
                            .rtm_protocol = is_new ? RTPROT_STATIC : RTPROT_UNSPEC,
                            .rtm_scope = is_new ? RT_SCOPE_LINK : RT_SCOPE_NOWHERE,
                            .rtm_type = is_new ? RTN_UNICAST : RTN_UNSPEC };
    int index = 0, status = find_index(netlink, name, &index, err);
    if (status)
        return status;

    ath_message_begin(&message, netlink, type, is_new ? NLM_F_CREATE | NLM_F_EXCL : 0, &header,
                      sizeof header);
    ath_message_put(&message, RTA_DST, destination->bytes, (size_t)ath_address_size(destination));
    ath_message_put_u32(&message, RTA_OIF, (uint32_t)index);
    ath_auto_free char *text = ath_address_format(destination);
    return ath_netlink_talk(&message, NULL, err,
                            is_new ? _("cannot route '%s' through link '%s'")
                                   : _("cannot remove the route to '%s' through link '%s'"),
                            text, name);
}

int ath_link_add_route(struct ath_netlink *netlink, const char *name,
                       const struct ath_address *destination, struct ath_err *err)
{
    return change_route(netlink, RTM_NEWROUTE, name, destination, err);
}

int ath_link_remove_route(struct ath_netlink *netlink, const char *name,
                          const struct ath_address *destination, struct ath_err *err)
{
    return change_route(netlink, RTM_DELROUTE, name, destination, err);
}
