/* Reading links, their addresses and routes (rtnetlink(7), linux/if_link.h, linux/if_addr.h). */
#include "config.h"

#include "roce/link.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "roce/link_internal.h"
#include "roce/netlink.h"

enum {
    PARENT_DEV_NAME = 56, /* IFLA_PARENT_DEV_NAME, since Linux 5.14; older headers lack the name */
    OPERSTATE_UP = 6,     /* IF_OPER_UP of linux/if.h, which conflicts with net/if.h */
    FLAG_LOWER_UP = 0x10000,  /* IFF_LOWER_UP of linux/if.h */
    ADDRESS_FLAGS = IFA_FLAGS /* the last address attribute that is read */
};

static const struct {
    const char *word;
    uint32_t number;
} modes[] = {
    [ATH_MACVLAN_BRIDGE] = { "bridge", MACVLAN_MODE_BRIDGE },
    [ATH_MACVLAN_PRIVATE] = { "private", MACVLAN_MODE_PRIVATE },
    [ATH_MACVLAN_VEPA] = { "vepa", MACVLAN_MODE_VEPA },
    [ATH_MACVLAN_PASSTHRU] = { "passthru", MACVLAN_MODE_PASSTHRU },
};

const char *ath_macvlan_mode_word(int mode)
{
    return mode >= 0 && (size_t)mode < ATH_COUNT(modes) ? modes[mode].word : "?";
}

uint32_t ath_macvlan_mode_to_kernel(int mode)
{
    return mode >= 0 && (size_t)mode < ATH_COUNT(modes) ? modes[mode].number : 0;
}

int ath_macvlan_mode_from_kernel(uint32_t number)
{
    for (size_t i = 0; i < ATH_COUNT(modes); i++)
        if (modes[i].number == number)
            return (int)i;
    return ATH_UNKNOWN;
}

void ath_link_free(struct ath_link *link)
{
    if (!link)
        return;
    free(link->kind);
    free(link->alias);
    free(link->device);
    free(link->addresses);
    free(link->routes);
    *link = (struct ath_link){ 0 };
}

void ath_links_free(struct ath_links *links)
{
    if (!links)
        return;
    for (size_t i = 0; i < links->count; i++)
        ath_link_free(&links->items[i]);
    free(links->items);
    *links = (struct ath_links){ 0 };
}

static struct ath_address *copy_addresses(const struct ath_address *addresses, size_t count)
{
    struct ath_address *copy = count ? ath_xalloc(count * sizeof *copy) : NULL;
    if (count)
        memcpy(copy, addresses, count * sizeof *copy);
    return copy;
}

void ath_link_copy(const struct ath_link *link, struct ath_link *out)
{
    *out = *link;
    out->kind = ath_xstrdup(link->kind);
    out->alias = ath_xstrdup(link->alias);
    out->device = ath_xstrdup(link->device);
    out->addresses = copy_addresses(link->addresses, link->address_count);
    out->routes = copy_addresses(link->routes, link->route_count);
}

const struct ath_link *ath_links_find(const struct ath_links *links, const char *name)
{
    for (size_t i = 0; i < links->count; i++)
        if (!strcmp(links->items[i].name, name))
            return &links->items[i];
    return NULL;
}

const struct ath_link *ath_links_by_index(const struct ath_links *links, int index)
{
    for (size_t i = 0; i < links->count; i++)
        if (links->items[i].index == index)
            return &links->items[i];
    return NULL;
}

bool ath_link_is_macvlan(const struct ath_link *link)
{
    return link->kind && !strcmp(link->kind, "macvlan");
}

bool ath_link_has_alias(const struct ath_link *link, const char *alias)
{
    return link->alias && !strcmp(link->alias, alias);
}

bool ath_link_is_ours(const struct ath_link *link)
{
    return ath_link_is_macvlan(link) && link->alias &&
           ath_starts_with(link->alias, ATH_LINK_ALIAS_PREFIX);
}

const struct ath_address *ath_link_address(const struct ath_link *link,
                                           const struct ath_address *address)
{
    for (size_t i = 0; i < link->address_count; i++)
        if (ath_address_is_same_host(&link->addresses[i], address))
            return &link->addresses[i];
    return NULL;
}

bool ath_link_is_settled(const struct ath_link *link)
{
    for (size_t i = 0; i < link->address_count; i++)
        if (link->addresses[i].is_tentative && !link->addresses[i].is_duplicate)
            return false;
    return true;
}

bool ath_link_name_is_valid(const char *name)
{
    if (!*name || strlen(name) >= ATH_LINK_NAME_SIZE || !strcmp(name, ".") || !strcmp(name, ".."))
        return false;
    for (const char *at = name; *at; at++)
        if (*at == '/' || *at == ':' || isspace((unsigned char)*at) || iscntrl((unsigned char)*at))
            return false;
    return true;
}

static void read_info(const struct nlattr *info, struct ath_link *link)
{
    const struct nlattr *table[IFLA_INFO_DATA + 1], *data[IFLA_MACVLAN_MODE + 1];
    ath_attributes_nested(info, IFLA_INFO_DATA, table);
    link->kind = ath_attribute_text(table[IFLA_INFO_KIND]);
    if (!ath_link_is_macvlan(link))
        return;
    ath_attributes_nested(table[IFLA_INFO_DATA], IFLA_MACVLAN_MODE, data);
    link->macvlan_mode =
        ath_macvlan_mode_from_kernel(ath_attribute_u32(data[IFLA_MACVLAN_MODE], 0));
}

static enum ath_link_state read_state(unsigned flags, const struct nlattr *operstate)
{
    uint8_t state = ath_attribute_u8(operstate, 0);
    if (state)
        return state == OPERSTATE_UP ? ATH_LINK_UP : ATH_LINK_DOWN;
    /* The driver does not report a state (lo): the carrier decides. */
    return flags & IFF_UP && flags & FLAG_LOWER_UP ? ATH_LINK_UP : ATH_LINK_DOWN;
}

static void format_mac(const struct nlattr *address, char *out, size_t size)
{
    const unsigned char *bytes = ath_attribute_data(address);
    size_t length = ath_attribute_length(address);
    out[0] = '\0';
    for (size_t i = 0; i < length && 3 * i + 3 <= size; i++)
        snprintf(out + (i ? 3 * i - 1 : 0), 4, i ? ":%02x" : "%02x", bytes[i]);
}

static int read_index(const struct nlattr *attribute)
{
    int index = (int)ath_attribute_u32(attribute, 0);
    return index > 0 ? index : ATH_UNKNOWN;
}

static void read_link(const struct nlmsghdr *message, struct ath_link *link)
{
    const struct nlattr *table[PARENT_DEV_NAME + 1];
    const struct ifinfomsg *header = ath_message_payload(message);
    ath_attributes(message, sizeof *header, PARENT_DEV_NAME, table);

    link->index = header->ifi_index;
    link->type = header->ifi_type;
    link->is_up = header->ifi_flags & IFF_UP;
    link->state = read_state(header->ifi_flags, table[IFLA_OPERSTATE]);
    snprintf(link->name, sizeof link->name, "%.*s", (int)ath_attribute_length(table[IFLA_IFNAME]),
             table[IFLA_IFNAME] ? (const char *)ath_attribute_data(table[IFLA_IFNAME]) : "");
    link->mtu = (int)ath_attribute_u32(table[IFLA_MTU], 0);
    format_mac(table[IFLA_ADDRESS], link->mac, sizeof link->mac);
    link->parent_netns = table[IFLA_LINK_NETNSID]
                             ? (int)ath_attribute_u32(table[IFLA_LINK_NETNSID], 0)
                             : ATH_UNKNOWN;
    link->parent_index = read_index(table[IFLA_LINK]);
    if (link->parent_index == link->index && link->parent_netns == ATH_UNKNOWN)
        link->parent_index = ATH_UNKNOWN;
    link->master_index = read_index(table[IFLA_MASTER]);
    link->alias = ath_attribute_text(table[IFLA_IFALIAS]);
    link->device = ath_attribute_text(table[PARENT_DEV_NAME]);
    link->macvlan_mode = ATH_UNKNOWN;
    read_info(table[IFLA_LINKINFO], link);
}

/* Returns false if the family is unknown, or the length does not fit the family. */
static bool read_bytes(int family, const struct nlattr *attribute, struct ath_address *out)
{
    size_t length = ath_attribute_length(attribute);
    if ((family != AF_INET || length != 4) && (family != AF_INET6 || length != 16))
        return false;
    out->family = family;
    memcpy(out->bytes, ath_attribute_data(attribute), length);
    return true;
}

static struct ath_link *writable(struct ath_links *links, int index)
{
    for (size_t i = 0; i < links->count; i++)
        if (links->items[i].index == index)
            return &links->items[i];
    return NULL;
}

static void read_address(const struct nlmsghdr *message, struct ath_links *links)
{
    const struct nlattr *table[ADDRESS_FLAGS + 1];
    const struct ifaddrmsg *header = ath_message_payload(message);
    struct ath_address address = { .prefix = header->ifa_prefixlen };
    struct ath_link *link = writable(links, (int)header->ifa_index);
    ath_attributes(message, sizeof *header, ADDRESS_FLAGS, table);

    /* On a point-to-point link, IFA_ADDRESS is the peer's address. IFA_LOCAL is always the link's
     * own. */
    const struct nlattr *own = table[IFA_LOCAL] ? table[IFA_LOCAL] : table[IFA_ADDRESS];
    if (!link || !read_bytes(header->ifa_family, own, &address))
        return;
    uint32_t flags = ath_attribute_u32(table[IFA_FLAGS], header->ifa_flags);
    address.is_tentative = flags & IFA_F_TENTATIVE;
    address.is_duplicate = flags & IFA_F_DADFAILED;
    address.is_permanent = flags & IFA_F_PERMANENT;
    address.is_link_local = header->ifa_scope == RT_SCOPE_LINK;
    *(struct ath_address *)ath_push(&link->addresses, &link->address_count, sizeof address) =
        address;
}

/* Routes of the kernel are skipped: they come and go with the addresses. */
static void read_route(const struct nlmsghdr *message, struct ath_links *links)
{
    const struct nlattr *table[RTA_TABLE + 1];
    const struct rtmsg *header = ath_message_payload(message);
    struct ath_address destination = { .prefix = header->rtm_dst_len };
    ath_attributes(message, sizeof *header, RTA_TABLE, table);
    struct ath_link *link = writable(links, (int)ath_attribute_u32(table[RTA_OIF], 0));

    if (!link || header->rtm_type != RTN_UNICAST || header->rtm_protocol == RTPROT_KERNEL ||
        table[RTA_GATEWAY] || ath_attribute_u32(table[RTA_TABLE], 0) != RT_TABLE_MAIN ||
        !read_bytes(header->rtm_family, table[RTA_DST], &destination))
        return;
    *(struct ath_address *)ath_push(&link->routes, &link->route_count, sizeof destination) =
        destination;
}

static int list(struct ath_netlink *netlink, int type, const void *header, size_t size,
                struct ath_replies *out, struct ath_err *err)
{
    struct ath_message message;
    ath_message_begin(&message, netlink, type, NLM_F_DUMP, header, size);
    return ath_netlink_talk(&message, out, err, "%s", _("cannot list the network links"));
}

static int read_all(struct ath_netlink *netlink, struct ath_links *links, struct ath_err *err)
{
    ATH_AUTO(ath_replies) found = { 0 }, addresses = { 0 }, routes = { 0 };
    int status =
        list(netlink, RTM_GETLINK, &(struct ifinfomsg){ 0 }, sizeof(struct ifinfomsg), &found, err);
    if (!status)
        status = list(netlink, RTM_GETADDR, &(struct ifaddrmsg){ 0 }, sizeof(struct ifaddrmsg),
                      &addresses, err);
    if (!status)
        status =
            list(netlink, RTM_GETROUTE, &(struct rtmsg){ 0 }, sizeof(struct rtmsg), &routes, err);
    if (status)
        return status;

    for (size_t i = 0; i < found.count; i++)
        if (ath_message_is(found.items[i], RTM_NEWLINK, sizeof(struct ifinfomsg)))
            read_link(found.items[i], ath_push(&links->items, &links->count, sizeof *links->items));
    for (size_t i = 0; i < addresses.count; i++)
        if (ath_message_is(addresses.items[i], RTM_NEWADDR, sizeof(struct ifaddrmsg)))
            read_address(addresses.items[i], links);
    for (size_t i = 0; i < routes.count; i++)
        if (ath_message_is(routes.items[i], RTM_NEWROUTE, sizeof(struct rtmsg)))
            read_route(routes.items[i], links);
    return 0;
}

int ath_links_read(struct ath_netlink *netlink, struct ath_links *out, struct ath_err *err)
{
    *out = (struct ath_links){ 0 };
    int status = read_all(netlink, out, err);
    if (status)
        ath_links_free(out);
    return status;
}

int ath_link_read(struct ath_netlink *netlink, const char *name, struct ath_link *out,
                  struct ath_err *err)
{
    ATH_AUTO(ath_links) links = { 0 };
    int status = ath_links_read(netlink, &links, err);
    if (status)
        return status;
    const struct ath_link *link = ath_links_find(&links, name);
    if (!link)
        return ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND, _("there is no network link '%s'"), name);
    ath_link_copy(link, out);
    return 0;
}
