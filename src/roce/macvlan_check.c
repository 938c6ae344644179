/*
 * Looks for everything that would keep a macvlan from being created, before anything is changed.
 *
 * The kernel refuses some of this itself, mostly without a message (macvlan_common_newlink in
 * drivers/net/macvlan.c): a parent that is not an Ethernet link or that is part of a bridge, a
 * second child beside one in passthru mode, an MTU above the parent's. A macvlan on a macvlan is
 * created silently on the lower one's parent.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/pci.h"
#include "roce/macvlan_internal.h"
#include "roce/netns.h"

enum { MTU_MIN = 68 }; /* ETH_MIN_MTU */

void ath_macvlan_request_free(struct ath_macvlan_request *request)
{
    if (!request)
        return;
    free(request->companion);
    *request = (struct ath_macvlan_request){ 0 };
}

int ath_macvlan_hint_layer(const char *device, int status, struct ath_err *err)
{
    /* Each function of a card has one port. Function 0 has LINK_TYPE_P1, function 1 LINK_TYPE_P2.
     * The value 2 means Ethernet. */
    struct ath_pci pci;
    bool has_pci = device && ath_pci_of_path(device, &pci);
    return ath_err_hint(err, status, "mlxconfig -d %s set LINK_TYPE_P%d=2",
                        has_pci ? device : "PCI", has_pci ? pci.function + 1 : 1);
}

static int refuse_layer(const struct ath_link *parent, struct ath_err *err)
{
    if (parent->type != ATH_LINK_INFINIBAND) {
        ath_err_set(err, -EINVAL, ATH_E_LINK_NOT_ETHERNET,
                    _("cannot create a macvlan on '%s': it is not an Ethernet link"), parent->name);
        return ath_err_hint(err, -EINVAL, "aitherion roce list");
    }
    ath_err_set(err, -EINVAL, ATH_E_LINK_NOT_ETHERNET,
                _("cannot create a macvlan on '%s': the port is in InfiniBand mode"), parent->name);
    return ath_macvlan_hint_layer(parent->device, -EINVAL, err);
}

static int refuse_parent(const struct ath_link *parent, int status, struct ath_err *err,
                         const char *why, const char *object)
{
    ath_err_set(err, status, ATH_E_PARENT_UNSUITABLE, _("cannot create a macvlan on '%s': "),
                parent->name);
    return ath_err_append(err, status, why, object);
}

bool ath_macvlan_is_child(const struct ath_netstate_place *place, const struct ath_link *link,
                          const struct ath_link *parent)
{
    bool is_here = ath_netstate_is_host(place) && link->parent_netns == ATH_UNKNOWN;
    bool is_away = !ath_netstate_is_host(place) && link->parent_netns != ATH_UNKNOWN;
    return ath_link_is_macvlan(link) && link->parent_index == parent->index && (is_here || is_away);
}

static bool is_of(const struct ath_link *link, const char *name)
{
    ath_auto_free char *alias = ath_macvlan_alias(name);
    ath_auto_free char *companion = ath_macvlan_companion_alias(name);
    return ath_link_has_alias(link, alias) || ath_link_has_alias(link, companion);
}

/* Passthru mode allows no other macvlan on the parent. */
static int check_siblings(const struct ath_macvlan_request *request, struct ath_err *err)
{
    const struct ath_macvlan_wanted *wanted = request->wanted;
    struct ath_macvlan_found own =
        ath_macvlan_find(request->present, wanted->name, wanted->name, NULL);
    for (size_t i = 0; i < request->present->count; i++) {
        const struct ath_netstate_place *place = &request->present->places[i];
        for (size_t j = 0; j < place->links.count; j++) {
            const struct ath_link *link = &place->links.items[j];
            if (link == own.link || is_of(link, wanted->name) ||
                !ath_macvlan_is_child(place, link, request->parent))
                continue;
            if (link->macvlan_mode == ATH_MACVLAN_PASSTHRU)
                return refuse_parent(
                    request->parent, -EBUSY, err,
                    _("its macvlan '%s' is in passthru mode, which allows no other macvlan"),
                    link->name);
            if (wanted->mode == ATH_MACVLAN_PASSTHRU)
                return refuse_parent(
                    request->parent, -EBUSY, err,
                    _("passthru mode allows no other macvlan, and the link has '%s'"), link->name);
        }
    }
    return 0;
}

static int check_parent(const struct ath_macvlan_request *request, struct ath_err *err)
{
    const struct ath_link *parent = request->parent;
    const struct ath_links *host = &request->present->places[0].links;
    if (parent->type != ATH_LINK_ETHERNET)
        return refuse_layer(parent, err);
    if (ath_link_is_macvlan(parent)) {
        const struct ath_link *lower = ath_links_by_index(host, parent->parent_index);
        refuse_parent(parent, -EINVAL, err, _("it is a macvlan itself%s"), "");
        return lower ? ath_err_hint(err, -EINVAL, _("use its parent '%s'"), lower->name) : -EINVAL;
    }
    const struct ath_link *master = ath_links_by_index(host, parent->master_index);
    if (master) {
        refuse_parent(parent, -EBUSY, err, _("it is part of '%s'"), master->name);
        return ath_err_hint(err, -EBUSY, _("use '%s' as the parent"), master->name);
    }
    return check_siblings(request, err);
}

static int check_mtu(const struct ath_macvlan_request *request, struct ath_err *err)
{
    int mtu = request->wanted->mtu, max = request->parent->mtu;
    if (mtu == ATH_UNKNOWN || (mtu >= MTU_MIN && mtu <= max))
        return 0;
    if (mtu < MTU_MIN)
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                           _("the MTU '%d' is below the minimum, %d"), mtu, MTU_MIN);
    ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                _("the MTU '%d' is above the MTU of the parent '%s', %d"), mtu,
                request->parent->name, max);
    return ath_err_hint(err, -EINVAL, "ip link set %s mtu %d", request->parent->name, mtu);
}

static const char *label(const struct ath_netstate_place *place)
{
    return place->name ? place->name : place->path ? place->path : _("host");
}

static int check_fit(const struct ath_address *address, const char *text, struct ath_err *err)
{
    const char *why = ath_address_unfit(address);
    if (!why)
        return 0;
    return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                       _("no link can have the address '%s': %s"), text, why);
}

/* Looks for the address on the host, in namespaces of aitherion, and on links of aitherion in
 * other namespaces, except on the macvlan itself. */
static int check_address(const struct ath_macvlan_request *request,
                         const struct ath_address *address, struct ath_err *err)
{
    const char *name = request->wanted->name;
    struct ath_macvlan_found own = ath_macvlan_find(request->present, name, name, NULL);

    for (size_t i = 0; i < request->present->count; i++) {
        const struct ath_netstate_place *place = &request->present->places[i];
        bool counts = ath_netstate_is_host(place) || ath_netstate_is_ours(place);
        for (size_t j = 0; j < place->links.count; j++) {
            const struct ath_link *link = &place->links.items[j];
            if (link == own.link || is_of(link, name) || (!counts && !ath_link_is_ours(link)) ||
                !ath_link_address(link, address))
                continue;
            ath_auto_free char *text = ath_address_format(address);
            ath_err_set(err, -EADDRINUSE, ATH_E_ADDRESS_IN_USE,
                        _("the address '%s' is in use: link '%s' has it (%s)"), text, link->name,
                        label(place));
            return ath_err_hint(err, -EADDRINUSE, _("give '%s' another address"), name);
        }
    }
    return 0;
}

static int check_addresses(struct ath_macvlan_request *request, struct ath_err *err)
{
    const struct ath_macvlan_wanted *wanted = request->wanted;
    int status = 0;
    request->has_address = wanted->address;
    request->has_companion_address = wanted->wants_companion && wanted->companion_address;
    if (request->has_address)
        status = ath_address_parse(wanted->address, &request->address, err);
    if (!status && request->has_address)
        status = check_fit(&request->address, wanted->address, err);
    if (!status && request->has_address)
        status = check_address(request, &request->address, err);
    if (!status && request->has_companion_address)
        status = ath_address_parse(wanted->companion_address, &request->companion_address, err);
    if (!status && request->has_companion_address)
        status = check_fit(&request->companion_address, wanted->companion_address, err);
    if (!status && request->has_companion_address)
        status = check_address(request, &request->companion_address, err);
    if (!status && request->has_companion_address && request->has_address &&
        ath_address_is_same_host(&request->address, &request->companion_address))
        return ath_err_set(err, -EADDRINUSE, ATH_E_ADDRESS_IN_USE,
                           _("'%s' and its companion on the host cannot both have '%s'"),
                           wanted->name, wanted->address);
    return status;
}

/* True if the host has an address in the macvlan's own subnet. Without one, the macvlan has no
 * route back to the host. */
static bool host_is_within(const struct ath_macvlan_request *request,
                           const struct ath_address *network)
{
    const struct ath_links *host = &request->present->places[0].links;
    for (size_t i = 0; i < host->count; i++)
        for (size_t j = 0; j < host->items[i].address_count; j++)
            if (ath_address_is_within(&host->items[i].addresses[j], network))
                return true;
    return false;
}

static int check_companion(const struct ath_macvlan_request *request, struct ath_err *err)
{
    const struct ath_macvlan_wanted *wanted = request->wanted;
    if (!wanted->wants_companion)
        return 0;
    if (wanted->mode != ATH_MACVLAN_BRIDGE)
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                           _("the companion of '%s' works only in mode bridge, not in mode %s"),
                           wanted->name, ath_macvlan_mode_word((int)wanted->mode));
    if (!request->has_address)
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                           _("'%s' needs an address to have a companion on the host"),
                           wanted->name);
    /* A link answers IPv6 neighbour requests only for its own addresses. */
    if (strchr(wanted->address, ':') && !request->has_companion_address)
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                           _("for IPv6 the companion of '%s' needs an address of its own"),
                           wanted->name);
    if (!request->has_companion_address && !host_is_within(request, &request->address))
        return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                           _("the companion of '%s' needs an address of its own: the host has none "
                             "in the network of '%s'"),
                           wanted->name, wanted->address);
    return 0;
}

static int refuse_taken(const struct ath_netstate_place *place, const char *name,
                        struct ath_err *err)
{
    ath_err_set(err, -EEXIST, ATH_E_FOREIGN,
                _("the link '%s' exists already (%s), and aitherion did not make it"), name,
                label(place));
    return ath_err_hint(err, -EEXIST, _("choose another name"));
}

/* A foreign namespace of this name would be deleted together with the macvlan. */
static int check_namespace(const struct ath_macvlan_request *request, struct ath_err *err)
{
    ath_auto_free char *netns = ath_netns_name_of(request->wanted->name);
    const struct ath_netstate_place *own = ath_netstate_named(request->present, netns);
    if (!own || ath_netstate_is_ours(own))
        return 0;
    ath_err_set(err, -EEXIST, ATH_E_FOREIGN,
                _("the network namespace '%s' exists already, and aitherion did not make it"),
                netns);
    return ath_err_hint(err, -EEXIST, _("choose another name"));
}

/* The name must be free on the host (GIDs name links, not namespaces), in the macvlan's own
 * namespace and in the wanted namespace. */
static int check_name(const struct ath_macvlan_request *request, const char *name,
                      const char *alias, struct ath_err *err)
{
    const struct ath_macvlan_wanted *wanted = request->wanted;
    ath_auto_free char *netns = ath_netns_name_of(wanted->name);
    struct ath_macvlan_found own = ath_macvlan_find(request->present, wanted->name, name, alias);
    const struct ath_netstate_place *places[] = {
        &request->present->places[0], ath_netstate_named(request->present, netns),
        wanted->netns_path ? ath_netstate_at(request->present, wanted->netns_path) : NULL
    };

    for (size_t i = 0; i < ATH_COUNT(places); i++) {
        const struct ath_link *link = places[i] ? ath_links_find(&places[i]->links, name) : NULL;
        if (link && link != own.link)
            return refuse_taken(places[i], name, err);
    }
    return 0;
}

static int check_names(const struct ath_macvlan_request *request, struct ath_err *err)
{
    const char *name = request->wanted->name;
    ath_auto_free char *alias = ath_macvlan_alias(name);
    ath_auto_free char *companion = ath_macvlan_companion_alias(name);
    int status = check_name(request, name, alias, err);
    if (!status && request->wanted->wants_companion)
        status = check_name(request, request->companion, companion, err);
    return status;
}

static int check_all(struct ath_macvlan_request *request, struct ath_err *err)
{
    const char *name = request->wanted->name, *parent = request->wanted->parent;
    if (!ath_link_name_is_valid(name)) {
        ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                    _("'%s' is not a valid name for a network link"), name);
        return ath_err_hint(err, -EINVAL, _("use 1 to 15 characters, without spaces, '/' and ':'"));
    }
    request->parent = ath_links_find(&request->present->places[0].links, parent);
    if (!request->parent) {
        ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND,
                    _("cannot create macvlan '%s': there is no link '%s'"), name, parent);
        return ath_err_hint(err, -ENODEV, "aitherion roce list");
    }
    request->mtu =
        request->wanted->mtu == ATH_UNKNOWN ? request->parent->mtu : request->wanted->mtu;
    request->companion = ath_macvlan_companion_name(name);

    int status = check_parent(request, err);
    if (!status)
        status = check_mtu(request, err);
    if (!status)
        status = check_addresses(request, err);
    if (!status)
        status = check_companion(request, err);
    if (!status)
        status = check_namespace(request, err);
    return status ? status : check_names(request, err);
}

int ath_macvlan_check(const struct ath_macvlan_wanted *wanted, const struct ath_netstate *present,
                      struct ath_macvlan_request *out, struct ath_err *err)
{
    ATH_AUTO(ath_macvlan_request) request = { .wanted = wanted, .present = present };
    int status = check_all(&request, err);
    if (status)
        return status;
    *out = request;
    request = (struct ath_macvlan_request){ 0 };
    return 0;
}
