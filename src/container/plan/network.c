/*
 * The network of an entry's runtime: its network namespace, its macvlans, its ports, and the RDMA
 * devices, whose use depends on these.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/forms.h"
#include "container/plan/parts.h"
#include "roce/lack.h"

static const char loopback[] = "127.0.0.1", everywhere[] = "0.0.0.0";

static void add_macvlans(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    for (size_t i = 0; i < making->document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &making->document->roce.macvlans.items[i];
        if (macvlan->numa != node->id)
            continue;
        struct ath_plan_macvlan *added =
            ath_push(&node->macvlans, &node->macvlan_count, sizeof *added);
        *added = (struct ath_plan_macvlan){
            .name = ath_xstrdup(macvlan->name),
            .parent = ath_xstrdup(macvlan->parent),
            .mode = macvlan->mode,
            .address = ath_xstrdup(macvlan->address),
            .mtu = macvlan->mtu == ATH_UNSET ? ATH_UNKNOWN : macvlan->mtu,
            .has_host_link = macvlan->has_host_link,
            .host_address = ath_xstrdup(macvlan->host_address),
        };
    }
}

static enum ath_plan_network network_of(const struct ath_plan_making *making,
                                        const struct ath_plan_node *node)
{
    bool has_bridge = making->options->engine.has_bridge;

    if (node->macvlan_count)
        return making->options->is_process ? ATH_PLAN_NAMESPACE : ATH_PLAN_PAUSE;
    if (making->options->is_process)
        return ATH_PLAN_HOST;
    switch (making->document->engine.network) {
    case ATH_NETWORK_BRIDGE:
        return ATH_PLAN_BRIDGE;
    case ATH_NETWORK_HOST:
        return ATH_PLAN_HOST;
    default:
        return has_bridge ? ATH_PLAN_BRIDGE : ATH_PLAN_HOST;
    }
}

/* Returns the place of "engine.network" in the document. */
static size_t place_of_network(const struct ath_document *document)
{
    const struct ath_yaml *engine = ath_yaml_get(&document->tree, "engine");
    const struct ath_yaml *value = ath_yaml_get(engine, "network");
    return value ? value->begin : 0;
}

static void check_network(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    const struct ath_plan_engine *engine = &making->options->engine;

    if (making->options->is_process)
        return;
    if (node->network == ATH_PLAN_BRIDGE && !engine->has_bridge)
        ath_faults_add(making->faults, ATH_FAULT_BRIDGE_MISSING, place_of_network(making->document),
                       _("Docker has no bridge network (it runs with --bridge=none): "
                         "'engine.network' must be auto or host"));
    if (node->network == ATH_PLAN_PAUSE && !engine->has_bridge)
        ath_plan_warn(
            node, ATH_PLAN_W_NO_BRIDGE, NULL, NULL,
            _("Docker has no bridge network: only '%s' and programs on this machine reach "
              "the runtime"),
            node->macvlans[0].name);
    for (size_t i = 0; engine->is_rootless && i < node->macvlan_count; i++)
        ath_plan_warn(node, ATH_PLAN_W_ROOTLESS, node->macvlans[i].name,
                      ath_xstrdup(_("use the system's Docker: unset DOCKER_HOST")),
                      _("'%s' cannot be moved into a container of a rootless Docker"),
                      node->macvlans[i].name);
}

static bool is_macvlan(const struct ath_plan_node *node, const char *link)
{
    for (size_t i = 0; i < node->macvlan_count; i++)
        if (!strcmp(node->macvlans[i].name, link))
            return true;
    return false;
}

/* Returns the host's address for control connections; loopback by default. */
static const char *control_address(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    const char *link = node->control_iface;
    const char *address = ath_plan_facts_address(making->facts, link);

    if (address)
        return address;
    if (link && !is_macvlan(node, link) && !making->facts->knows_addresses)
        ath_plan_warn(node, ATH_PLAN_W_ADDRESS_MISSING, link, NULL,
                      _("the address of '%s' is not known: only this machine reaches the runtime"),
                      link);
    else if (link && !is_macvlan(node, link))
        ath_plan_warn(
            node, ATH_PLAN_W_ADDRESS_MISSING, link,
            ath_xasprintf(_("give it an address: ip address add ADDRESS/PREFIX dev %s"), link),
            _("'%s' has no address: only this machine reaches the runtime"), link);
    return loopback;
}

bool ath_plan_is_published(const struct ath_plan_node *node)
{
    return node->network == ATH_PLAN_BRIDGE || node->is_pause_bridged;
}

void ath_plan_publish(struct ath_plan_node *node, const char *purpose, const char *protocol,
                      const char *address, int port)
{
    struct ath_plan_port *added = ath_push(&node->ports, &node->port_count, sizeof *added);
    *added = (struct ath_plan_port){ purpose, protocol, ath_xstrdup(address), port };
}

static bool is_macvlan_address(const struct ath_plan_node *node, const char *address)
{
    size_t length = strlen(address);
    for (size_t i = 0; i < node->macvlan_count; i++) {
        const char *own = node->macvlans[i].address;
        if (own && !strncmp(own, address, length) && own[length] == '/')
            return true;
    }
    return false;
}

/* An address of the document is the host's, which a container gets by a published port, or that of
 * the entry's macvlan. control: of the control connections, in the host; NULL: none is
 * published. */
static void add_metrics(const struct ath_document_numa *numa, bool is_published,
                        const char *control, struct ath_plan_node *node)
{
    char address[ATH_FORM_ADDRESS_BYTES] = "";
    node->metrics_port = ATH_UNKNOWN;
    if (!numa->metrics || ath_form_listen(numa->metrics, address, &node->metrics_port))
        return;
    bool is_own = *address && (!is_published || is_macvlan_address(node, address));
    node->metrics_address = ath_xstrdup(is_own ? address : node->listen_address);
    if (is_published && !is_own)
        ath_plan_publish(node, "metrics", "tcp", *address ? address : control, node->metrics_port);
}

void ath_plan_add_network(const struct ath_plan_making *making,
                          const struct ath_document_numa *numa, struct ath_plan_node *node)
{
    add_macvlans(making, node);
    node->network = network_of(making, node);
    node->control_iface = ath_xstrdup(numa->control_iface);
    node->control_port = numa->control_port;
    if (node->network == ATH_PLAN_PAUSE) {
        node->pause_name = ath_xasprintf("%s-net", node->name);
        node->is_pause_bridged = making->options->engine.has_bridge;
    }
    check_network(making, node);

    bool is_published = ath_plan_is_published(node);
    bool is_host = node->network == ATH_PLAN_HOST;
    const char *control = is_published || is_host ? control_address(making, node) : NULL;
    node->listen_address = ath_xstrdup(is_host ? control : everywhere);
    if (is_published)
        ath_plan_publish(node, "control", "tcp", control, node->control_port);
    add_metrics(numa, is_published, control, node);
}

/* --- RDMA */

/* Returns the macvlan on the link of an RDMA device, or on the link's bond. */
static const struct ath_plan_macvlan *macvlan_on(const struct ath_plan_node *node,
                                                 const struct ath_nic *nic)
{
    for (size_t i = 0; i < node->macvlan_count; i++) {
        const char *parent = node->macvlans[i].parent;
        if ((nic->netdev && !strcmp(parent, nic->netdev)) ||
            (nic->master && !strcmp(parent, nic->master)))
            return &node->macvlans[i];
    }
    return NULL;
}

static char *macvlan_hint(const struct ath_plan_node *node, const struct ath_nic *nic)
{
    if (!nic->netdev)
        return ath_xstrdup("aitherion configure --set engine.network=host");
    return ath_xasprintf(_("aitherion roce macvlan macvlan%d --parent %s --numa %d, or on the "
                           "host's network: aitherion configure --set engine.network=host"),
                         node->id, nic->netdev, node->id);
}

/* Warns that the port has no GID to use, in the words of `discover`, `roce list` and `health`. A
 * source without GIDs tells nothing. */
static void warn_lack(const struct ath_nic *nic, const struct ath_plan_rdma *rdma,
                      struct ath_plan_node *node)
{
    enum ath_lack lack = ath_nic_lack(nic);

    if (lack != ATH_LACK_UNKNOWN)
        ath_plan_warn(node, ATH_PLAN_W_RDMA_NO_GID, rdma->name, ath_lack_mend(lack, nic),
                      _("'%s' has no GID to use: %s"), rdma->name, ath_lack_text(lack));
}

static void use_own_gid(const struct ath_nic *nic, struct ath_plan_rdma *rdma,
                        struct ath_plan_node *node)
{
    rdma->gid_index = nic->best_gid_index;
    if (nic->best_gid_index == ATH_UNKNOWN)
        warn_lack(nic, rdma, node);
}

/* True for a device that needs no link: Amazon's EFA has GIDs of its own, and its link layer is
 * "Unspecified". A topology file tells no link layer. */
static bool needs_no_link(const struct ath_machine *machine, const struct ath_nic *nic)
{
    return !nic->netdev && nic->link_layer == ATH_LAYER_UNKNOWN &&
           machine->source != ATH_SOURCE_XML;
}

/* A process in its own namespace may use only the GIDs of links in that namespace (kernel commit
 * 03db3a2d81e6; rdma-system(8) about shared mode). */
static void use_macvlan(const struct ath_nic *nic, struct ath_plan_rdma *rdma,
                        struct ath_plan_node *node)
{
    const struct ath_plan_macvlan *macvlan = macvlan_on(node, nic);

    if (!macvlan && nic->netdev)
        ath_plan_warn(node, ATH_PLAN_W_RDMA_NO_LINK, rdma->name, macvlan_hint(node, nic),
                      _("'%s' has no GID to use: its link '%s' has no macvlan in the container's "
                        "network"),
                      rdma->name, nic->netdev);
    else if (!macvlan)
        ath_plan_warn(
            node, ATH_PLAN_W_RDMA_NO_LINK, rdma->name, macvlan_hint(node, nic),
            _("'%s' has no GID to use in the container's network, and no link here that a "
              "macvlan could use"),
            rdma->name);
    if (!macvlan)
        return;
    rdma->link = ath_xstrdup(macvlan->name);
    if (nic->link == ATH_LINK_DOWN || nic->rdma_state == ATH_LINK_DOWN)
        warn_lack(nic, rdma, node);
    if (!macvlan->address)
        ath_plan_warn(
            node, ATH_PLAN_W_RDMA_NO_GID, rdma->name,
            ath_xasprintf("aitherion configure --set roce.macvlans.%s.address=ADDRESS/PREFIX",
                          macvlan->name),
            _("'%s' will have no routable GID: its link '%s' has no address in the document"),
            rdma->name, macvlan->name);
}

static void use_host_link(const struct ath_nic *nic, struct ath_plan_rdma *rdma,
                          struct ath_plan_node *node)
{
    rdma->link = ath_xstrdup(nic->master ? nic->master : nic->netdev);
    use_own_gid(nic, rdma, node);
}

/* A device that is no port of the machine model (soft RoCE, virtual functions) has only a name. */
static void choose_gid(const struct ath_plan_making *making, struct ath_plan_rdma *rdma,
                       struct ath_plan_node *node)
{
    const struct ath_nic *nic = ath_machine_nic_by_rdma(making->machine, rdma->name);

    if (!nic)
        return;
    if (nic->link_layer == ATH_LAYER_INFINIBAND || needs_no_link(making->machine, nic))
        use_own_gid(nic, rdma, node); /* of the port, not of a link */
    else if (node->network == ATH_PLAN_HOST)
        use_host_link(nic, rdma, node);
    else
        use_macvlan(nic, rdma, node);
}

/* ath_document_check() reports a missing device. */
static bool is_there(const struct ath_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->others.rdma_device_count; i++)
        if (!strcmp(machine->others.rdma_devices[i], name))
            return true;
    return ath_machine_nic_by_rdma(machine, name) != NULL;
}

static void add_verbs(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                      size_t index, struct ath_plan_rdma *rdma, struct ath_plan_node *node)
{
    const char *verbs = ath_plan_facts_verbs(making->facts, rdma->name);
    size_t place = ath_plan_place(&numa->item, "rdma_devices", (int)index);

    if (verbs)
        rdma->device = ath_xasprintf("/dev/infiniband/%s", verbs);
    if (rdma->device && ath_plan_facts_may_have(making->facts, rdma->device))
        ath_plan_add_device(node, rdma->device);
    else if (rdma->device)
        ath_faults_add(making->faults, ATH_FAULT_DEVICE_MISSING, place,
                       _("the device node '%s' of '%s' does not exist: modprobe ib_uverbs"),
                       rdma->device, rdma->name);
    else if (making->facts->knows_verbs && is_there(making->machine, rdma->name))
        ath_faults_add(making->faults, ATH_FAULT_DEVICE_MISSING, place,
                       _("'%s' has no device node for programs: modprobe ib_uverbs"), rdma->name);
}

static void check_namespaces(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    if (making->facts->rdma_netns_mode != ATH_RDMA_NETNS_EXCLUSIVE ||
        node->network == ATH_PLAN_HOST)
        return;
    ath_plan_warn(
        node, ATH_PLAN_W_RDMA_EXCLUSIVE, NULL,
        ath_xstrdup(_("while no container runs: rdma system set netns shared; or at boot: "
                      "options ib_core netns_mode=1 in /etc/modprobe.d")),
        _("RDMA devices belong to one network namespace (netns mode exclusive), and are "
          "not visible in the container's"));
}

/* Adds librdmacm's device, which all RDMA devices share. */
static void add_connection_manager(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    static const char path[] = "/dev/infiniband/rdma_cm";

    if (ath_plan_facts_may_have(making->facts, path))
        ath_plan_add_device(node, path);
    else
        ath_plan_warn(node, ATH_PLAN_W_RDMA_CM_MISSING, path, ath_xstrdup("modprobe rdma_ucm"),
                      _("'%s' does not exist: connections with librdmacm will fail"), path);
}

/* Binds the host's RDMA libraries: the provider must match the host's card and kernel
 * (ROCm/container-toolkit issue 140). */
static void add_libraries(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    static const char list[] = "/etc/libibverbs.d";
    const struct ath_libraries *libraries = &making->facts->libraries;

    for (size_t i = 0; i < libraries->count; i++) {
        const struct ath_library *library = &libraries->items[i];
        if (library->use != ATH_LIBRARY_RDMA)
            continue;
        ath_auto_free char *target = ath_xasprintf("%s/%s", ATH_LIBRARY_FOLDER, library->name);
        ath_plan_add_mount(node, library->path, target, true);
    }
    if (libraries->provider_folder)
        ath_plan_add_mount(node, libraries->provider_folder, libraries->provider_folder, true);
    if (libraries->has_provider_list)
        ath_plan_add_mount(node, list, list, true);
    if (libraries->is_known &&
        (!ath_libraries_have(libraries, "libibverbs.so.1") || !libraries->provider_folder))
        ath_plan_warn(node, ATH_PLAN_W_RDMA_LIBRARIES_MISSING, "libibverbs.so.1",
                      ath_xstrdup("apt-get install ibverbs-providers librdmacm1"),
                      _("the RDMA libraries were not found on the host: the runtime will have no "
                        "RDMA"));
}

void ath_plan_add_rdma(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                       struct ath_plan_node *node)
{
    const struct ath_plan_engine *engine = &making->options->engine;
    bool is_limited = !making->options->is_process && (engine->is_rootless || engine->is_limited);

    for (size_t i = 0; i < numa->rdma_devices.count; i++) {
        struct ath_plan_rdma *rdma = ath_push(&node->rdma, &node->rdma_count, sizeof *rdma);
        rdma->name = ath_xstrdup(numa->rdma_devices.items[i]);
        rdma->gid_index = ATH_UNKNOWN;
        add_verbs(making, numa, i, rdma, node);
        choose_gid(making, rdma, node);
    }
    /* Registered memory counts as locked memory; memory pinned by CUDA does too. */
    node->has_memlock = !is_limited && (node->rdma_count || node->gpu_count);
    if (!node->rdma_count)
        return;
    add_connection_manager(making, node);
    check_namespaces(making, node);
    if (!making->options->is_process)
        add_libraries(making, node);
    if (is_limited)
        ath_plan_warn(node, ATH_PLAN_W_MEMLOCK, NULL,
                      ath_xstrdup(_("use a Docker that runs as root, and not in a container")),
                      _("Docker may not raise the limit of locked memory, which RDMA needs"));
}
