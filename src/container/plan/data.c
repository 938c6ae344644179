/*
 * The data addresses of an entry's runtime: where it listens for large copies, and the addresses
 * that programs get.
 *
 * On the host's network the runtime listens at the addresses of the data interfaces. In a network
 * of its own it listens everywhere, and programs get the addresses of its macvlans and of the
 * host's interfaces, on which the port is published. A runtime that takes UDP takes it at the same
 * addresses and ports, or else at those of the calls.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "container/plan/parts.h"

static const char everywhere[] = "0.0.0.0";

/* Returns the macvlan of a data interface: the interface itself, or one on it that has an address.
 * NULL: neither. */
static const struct ath_plan_macvlan *macvlan_of(const struct ath_plan_node *node, const char *link)
{
    const struct ath_plan_macvlan *above = NULL;

    for (size_t i = 0; i < node->macvlan_count; i++) {
        const struct ath_plan_macvlan *macvlan = &node->macvlans[i];
        if (!strcmp(macvlan->name, link))
            return macvlan;
        if (!above && macvlan->address && !strcmp(macvlan->parent, link))
            above = macvlan;
    }
    return above;
}

/* Adds an endpoint that the list does not have. Returns false if the list has it. */
static bool add_endpoint(struct ath_texts *list, const char *address, int port)
{
    ath_auto_free char *text = ath_plan_endpoint(address, port);

    if (ath_texts_has(list, text))
        return false;
    ath_texts_add(list, text);
    return true;
}

static void add_macvlan(const struct ath_plan_macvlan *macvlan, int port,
                        struct ath_plan_node *node)
{
    if (!macvlan->address) {
        ath_plan_warn(
            node, ATH_PLAN_W_DATA_ADDRESS_MISSING, macvlan->name,
            ath_xasprintf("aitherion configure --set roce.macvlans.%s.address=ADDRESS/PREFIX",
                          macvlan->name),
            _("'%s' has no address in the document: no large copies go by it"), macvlan->name);
        return;
    }
    ath_auto_free char *address =
        ath_xasprintf("%.*s", (int)strcspn(macvlan->address, "/"), macvlan->address);
    add_endpoint(&node->data_addresses, address, port);
    add_endpoint(&node->data_listen, strchr(address, ':') ? address : everywhere, port);
}

static void warn_not_inside(const char *link, struct ath_plan_node *node)
{
    ath_plan_warn(
        node, ATH_PLAN_W_DATA_ADDRESS_MISSING, link,
        ath_xasprintf("aitherion configure %d --data-iface %s", node->id, node->macvlans[0].name),
        _("'%s' is not in the runtime's network: no large copies go by it"), link);
}

static void warn_no_address(const struct ath_plan_making *making, const char *link,
                            struct ath_plan_node *node)
{
    if (making->facts->knows_addresses)
        ath_plan_warn(
            node, ATH_PLAN_W_DATA_ADDRESS_MISSING, link,
            ath_xasprintf(_("give it an address: ip address add ADDRESS/PREFIX dev %s"), link),
            _("'%s' has no address: no large copies go by it"), link);
    else
        ath_plan_warn(node, ATH_PLAN_W_DATA_ADDRESS_MISSING, link, NULL,
                      _("the address of '%s' is not known: no large copies go by it"), link);
}

/* Adds the address that an interface has on the host. */
static void add_host_link(const struct ath_plan_making *making, const char *link, int port,
                          struct ath_plan_node *node)
{
    const char *address = ath_plan_facts_address(making->facts, link);
    bool is_host = node->network == ATH_PLAN_HOST;

    if (!is_host && !ath_plan_is_published(node)) {
        warn_not_inside(link, node);
        return;
    }
    if (!address) {
        warn_no_address(making, link, node);
        return;
    }
    if (!add_endpoint(&node->data_addresses, address, port))
        return;
    add_endpoint(&node->data_listen, is_host ? address : everywhere, port);
    if (!is_host)
        ath_plan_publish(node, "data", "tcp", address, port);
}

/* UDP comes to the ports of large copies, or else to those of the calls. */
static void publish_udp(struct ath_plan_node *node)
{
    const char *purpose = node->data_port == ATH_UNKNOWN ? "control" : "data";

    for (size_t i = 0, count = node->port_count; i < count; i++) {
        const struct ath_plan_port port = node->ports[i];
        if (!strcmp(port.purpose, purpose))
            ath_plan_publish(node, "data", "udp", port.host_address, port.port);
    }
}

void ath_plan_add_data(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                       struct ath_plan_node *node)
{
    for (size_t i = 0; i < numa->data_iface.count; i++) {
        const char *link = numa->data_iface.items[i];
        const struct ath_plan_macvlan *macvlan = macvlan_of(node, link);
        ath_texts_add(&node->data_iface, link);
        if (macvlan)
            add_macvlan(macvlan, numa->data_port, node);
        else
            add_host_link(making, link, numa->data_port, node);
    }
    node->data_port = node->data_addresses.count ? numa->data_port : ATH_UNKNOWN;
    node->takes_udp = making->document->udp == ATH_SWITCH_ON;
    if (node->takes_udp)
        publish_udp(node);
}
