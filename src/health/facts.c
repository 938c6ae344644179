/*
 * Reads the facts that health checks.
 *
 * Locked memory: ib_umem_get() (drivers/infiniband/core/umem.c) does not count memory that a
 * process with CAP_IPC_LOCK pins, so root has no limit.
 */
#include "config.h"

#include "health/facts.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "roce/gid.h"
#include "roce/macvlan.h"

enum { CAP_IPC_LOCK = 14, CAP_SYS_PTRACE = 19, CAP_SYS_ADMIN = 21 }; /* from linux/capability.h */

void ath_health_facts_free(struct ath_health_facts *facts)
{
    if (!facts)
        return;
    ath_netstate_free(&facts->net);
    ath_links_free(&facts->links);
    ath_health_runtimes_free(&facts->runtimes);
    for (size_t i = 0; i < facts->port_count; i++) {
        free(facts->ports[i].device);
        free(facts->ports[i].netdev);
    }
    free(facts->ports);
    *facts = (struct ath_health_facts){ 0 };
}

/* ---- rights and limits ---- */

/* Returns the process's effective capabilities, one bit each; 0 if they cannot be read. */
static uint64_t capabilities(const struct ath_root *root)
{
    static const char key[] = "CapEff:";
    ath_auto_free char *text = ath_root_read(root, "proc/self/status");
    const char *line = text ? strstr(text, key) : NULL;
    return line ? strtoull(line + strlen(key), NULL, 16) : 0;
}

static bool is_capable(uint64_t set, int capability)
{
    return set >> capability & 1;
}

static void read_memlock(uint64_t set, struct ath_health_facts *facts)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit))
        return;
    facts->has_memlock = true;
    facts->memlock_bytes = limit.rlim_max == RLIM_INFINITY || is_capable(set, CAP_IPC_LOCK)
                               ? INT64_MAX
                               : (int64_t)limit.rlim_max;
}

/* ---- links ---- */

static enum ath_link_state read_state(const struct ath_root *root, const char *name, bool is_up)
{
    ath_auto_free char *text = ath_root_read(root, "sys/class/net/%s/operstate", name);
    if (!text)
        return ATH_LINK_UNKNOWN;
    if (strcmp(text, "unknown") != 0) /* of a driver that reports no state: lo, virtual links */
        return !strcmp(text, "up") ? ATH_LINK_UP : ATH_LINK_DOWN;
    return is_up ? ATH_LINK_UNKNOWN : ATH_LINK_DOWN;
}

static void read_link(const struct ath_root *root, const char *name, struct ath_links *links)
{
    if (strlen(name) >= ATH_LINK_NAME_SIZE || !ath_root_exists(root, "sys/class/net/%s/mtu", name))
        return; /* bonding_masters is a file among the links */
    struct ath_link *link = ath_push(&links->items, &links->count, sizeof *link);
    snprintf(link->name, sizeof link->name, "%s", name);
    link->index = (int)ath_root_read_number(root, ATH_UNKNOWN, "sys/class/net/%s/ifindex", name);
    link->type = (int)ath_root_read_number(root, ATH_UNKNOWN, "sys/class/net/%s/type", name);
    link->mtu = (int)ath_root_read_number(root, ATH_UNKNOWN, "sys/class/net/%s/mtu", name);
    link->is_up = ath_root_read_number(root, IFF_UP, "sys/class/net/%s/flags", name) & IFF_UP;
    link->state = read_state(root, name, link->is_up);
    link->parent_index = link->parent_netns = link->master_index = ATH_UNKNOWN;
    link->macvlan_mode = ATH_UNKNOWN;
}

static void read_links(const struct ath_root *root, struct ath_health_facts *facts)
{
    char **names;
    size_t count;
    facts->has_links = !ath_root_list(root, "sys/class/net", &names, &count);
    for (size_t i = 0; i < count; i++)
        read_link(root, names[i], &facts->links);
    ath_names_free(names, count);
}

static void read_net(const struct ath_root *root, uint64_t set, struct ath_health_facts *facts)
{
    if (!facts->is_live)
        ath_err_set(&facts->net_err, -ENODATA, ATH_E_UNSUPPORTED, "%s",
                    _("a capture does not hold the links of network namespaces"));
    else
        facts->has_net = !ath_netstate_look(&facts->net, &facts->net_err);
    facts->sees_all_namespaces =
        facts->has_net && is_capable(set, CAP_SYS_ADMIN) && is_capable(set, CAP_SYS_PTRACE);
    if (!facts->has_net && root)
        read_links(root, facts);
}

/* ---- RDMA ports ---- */

static const struct ath_nic *nic_of(const struct ath_machine *machine, const char *device, int port)
{
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        if (nic->rdma_device && !strcmp(nic->rdma_device, device) && nic->port == port)
            return nic;
    }
    return NULL;
}

static struct ath_health_port *add_port(struct ath_health_facts *facts, const char *device,
                                        int number)
{
    struct ath_health_port *port = ath_push(&facts->ports, &facts->port_count, sizeof *port);
    port->device = ath_xstrdup(device);
    port->port = number;
    return port;
}

static void fill_from_nic(const struct ath_nic *nic, struct ath_health_port *port)
{
    const struct ath_gid *gid = ath_nic_gid(nic);

    port->link_layer = nic->link_layer;
    port->netdev = ath_xstrdup(nic->netdev);
    port->lack = ath_nic_lack(nic);
    port->has_gid = gid;
    if (gid)
        port->gid = *gid;
}

/* Returns the state of a port whose link has this state: the port is active if the link is up. */
static enum ath_rdma_port_state state_of_link(enum ath_link_state link)
{
    static const enum ath_rdma_port_state states[] = { [ATH_LINK_UNKNOWN] = ATH_RDMA_PORT_UNKNOWN,
                                                       [ATH_LINK_DOWN] = ATH_RDMA_PORT_DOWN,
                                                       [ATH_LINK_UP] = ATH_RDMA_PORT_ACTIVE };
    return states[link];
}

/* Fills a port that belongs to no card: soft RoCE, which names its link itself, or a virtual
 * function. */
static void fill_from_root(const struct ath_root *root, const char *netdev,
                           struct ath_health_port *port)
{
    ath_auto_free char *layer = ath_root_read(root, "sys/class/infiniband/%s/ports/%d/link_layer",
                                              port->device, port->port);
    ath_auto_free char *parent =
        ath_root_read(root, "sys/class/infiniband/%s/parent", port->device);
    const char *name = parent && *parent ? parent : netdev;
    struct ath_nic nic;

    ath_nic_init(&nic);
    if (layer)
        nic.link_layer = !strcmp(layer, "InfiniBand") ? ATH_LAYER_INFINIBAND : ATH_LAYER_ETHERNET;
    nic.netdev = *name ? ath_xstrdup(name) : NULL;
    nic.rdma_device = ath_xstrdup(port->device);
    if (port->state == ATH_RDMA_PORT_DOWN)
        nic.rdma_state = ATH_LINK_DOWN;
    bool has_table =
        ath_gids_read(root, port->device, port->port, nic.link_layer, &nic.gids, &nic.gid_count);
    nic.has_roce = has_table && nic.link_layer == ATH_LAYER_ETHERNET;
    ath_nic_take_gid(&nic, ath_gid_best(root, nic.gids, nic.gid_count, nic.link_layer, nic.netdev));
    fill_from_nic(&nic, port);
    ath_nic_free(&nic);
}

static void read_ports(const struct ath_root *root, struct ath_health_facts *facts)
{
    ATH_AUTO(ath_nldevs) devices = { 0 };

    facts->has_ports =
        !ath_nldevs_read(root, &devices, NULL) && ath_machine_knows_rdma(facts->machine);
    for (size_t i = 0; i < devices.count; i++)
        for (size_t j = 0; j < devices.items[i].port_count; j++) {
            const struct ath_nldev *device = &devices.items[i];
            const struct ath_nldev_port *known = &device->ports[j];
            struct ath_health_port *port = add_port(facts, device->name, known->number);
            const struct ath_nic *nic = nic_of(facts->machine, device->name, known->number);
            port->state = known->state;
            if (nic)
                fill_from_nic(nic, port);
            else
                fill_from_root(root, known->netdev, port);
        }
}

/* Takes the ports of the machine's model: an XML file has no other data about RDMA devices. */
static void take_ports(const struct ath_machine *machine, struct ath_health_facts *facts)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device) {
            const struct ath_nic *nic = &machine->nics[i];
            struct ath_health_port *port = add_port(facts, nic->rdma_device, nic->port);
            port->state = state_of_link(nic->link);
            fill_from_nic(nic, port);
            facts->has_ports = true;
        }
}

/* ---- all facts ---- */

void ath_health_facts_read(const struct ath_root *root, const struct ath_machine *machine,
                           struct ath_health_facts *out)
{
    struct ath_health_facts facts = { .machine = machine };
    facts.is_live = machine->source == ATH_SOURCE_LIVE;
    uint64_t set = root && facts.is_live ? capabilities(root) : 0;

    read_net(root, set, &facts);
    if (facts.is_live)
        read_memlock(set, &facts);
    if (root) {
        read_ports(root, &facts);
        facts.netns_mode = ath_rdma_netns_mode_read(root);
    } else
        take_ports(machine, &facts);
    *out = facts;
}

void ath_health_facts_load(struct ath_health_facts *facts, const char *path,
                           struct ath_document *document, struct ath_faults *faults)
{
    int status = ath_document_load(path, document, faults, &facts->document_err);
    facts->document_path = path;
    facts->document = status ? NULL : document;
    facts->document_faults = status && faults->count ? faults : NULL;
}

/* ---- one link ---- */

const struct ath_links *ath_health_host_links(const struct ath_health_facts *facts)
{
    return facts->has_net && facts->net.count ? &facts->net.places[0].links : &facts->links;
}

static bool has_own_address(const struct ath_link *link)
{
    for (size_t i = 0; link && i < link->address_count; i++)
        if (!link->addresses[i].is_link_local)
            return true;
    return false;
}

/* Finds an address in a capture: from subnets that are routed to the link, and from addresses that
 * became GIDs. A link without either may still have an address (IPv6, a host route). */
static enum ath_health_presence captured_address(const struct ath_nic *nic)
{
    if (!nic)
        return ATH_PRESENCE_UNKNOWN;
    if (nic->subnet_count)
        return ATH_PRESENCE_THERE;
    for (size_t i = 0; nic->netdev && i < nic->gid_count; i++)
        if (nic->gids[i].is_usable && nic->gids[i].is_ipv4_mapped &&
            !strcmp(nic->gids[i].netdev, nic->netdev))
            return ATH_PRESENCE_THERE;
    return ATH_PRESENCE_UNKNOWN;
}

static enum ath_health_presence address_of(const struct ath_health_facts *facts,
                                           const struct ath_health_link *link)
{
    if (!facts->has_net)
        return captured_address(link->nic);
    const struct ath_link *master =
        link->link ? ath_links_by_index(ath_health_host_links(facts), link->link->master_index)
                   : NULL;
    return has_own_address(link->link) || has_own_address(master) ? ATH_PRESENCE_THERE
                                                                  : ATH_PRESENCE_MISSING;
}

/* Finds a link without the kernel's list, in the machine model, which may know no links at all. */
static enum ath_health_presence presence_in_model(const struct ath_machine *machine,
                                                  const char *name)
{
    bool knows_some = machine->others.link_count > 0;

    if (ath_machine_nic_by_netdev(machine, name))
        return ATH_PRESENCE_THERE;
    for (size_t i = 0; i < machine->others.link_count; i++)
        if (!strcmp(machine->others.links[i], name))
            return ATH_PRESENCE_THERE;
    for (size_t i = 0; i < machine->nic_count; i++)
        knows_some |= machine->nics[i].netdev != NULL;
    return knows_some ? ATH_PRESENCE_MISSING : ATH_PRESENCE_UNKNOWN;
}

static void take_nic(const struct ath_nic *nic, struct ath_health_link *out)
{
    out->nic = nic;
    if (!nic)
        return;
    out->state = nic->link;
    out->link_layer = nic->link_layer;
    out->mtu = nic->mtu;
}

static void take_link(const struct ath_link *link, struct ath_health_link *out)
{
    out->link = link;
    if (!link)
        return;
    if (link->state != ATH_LINK_UNKNOWN)
        out->state = link->state;
    if (link->mtu > 0)
        out->mtu = link->mtu;
    if (link->type == ATH_LINK_INFINIBAND)
        out->link_layer = ATH_LAYER_INFINIBAND;
    else if (link->type == ATH_LINK_ETHERNET)
        out->link_layer = ATH_LAYER_ETHERNET;
}

void ath_health_link(const struct ath_health_facts *facts, const char *name,
                     struct ath_health_link *out)
{
    const struct ath_links *links = ath_health_host_links(facts);
    struct ath_health_link link = { .mtu = ATH_UNKNOWN };

    take_nic(ath_machine_nic_by_netdev(facts->machine, name), &link);
    take_link(ath_links_find(links, name), &link);
    if (link.link)
        link.presence = ATH_PRESENCE_THERE;
    else if (facts->has_net)
        link.presence = ATH_PRESENCE_MISSING;
    else
        link.presence = presence_in_model(facts->machine, name);
    if (link.presence == ATH_PRESENCE_THERE)
        link.address = address_of(facts, &link);
    *out = link;
}

void ath_health_wanted(const struct ath_document_macvlan *macvlan, struct ath_macvlan_wanted *out)
{
    *out = (struct ath_macvlan_wanted){ .name = macvlan->name,
                                        .parent = macvlan->parent,
                                        .mode = (enum ath_macvlan_mode)macvlan->mode,
                                        .address = macvlan->address,
                                        .mtu = macvlan->mtu,
                                        .wants_companion = macvlan->has_host_link,
                                        .companion_address = macvlan->host_address };
}
