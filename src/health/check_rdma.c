/*
 * Checks of RDMA: the devices that the document gives to containers, and the limits of the machine.
 *
 * Netns mode: rdma-system(8). Zero GIDs are the usual cause of "Failed to modify QP to RTR"
 * (NVIDIA/nccl#551, linux-rdma/perftest#306).
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "health/check.h"

/* A device of an entry. */
struct bound {
    const struct ath_document_numa *entry;
    const char *device;
};

/* Looks at one device. Returns false if it could not look; another check reports the reason. */
typedef bool look_function(struct ath_health *health, const struct bound *bound);

/* Looks at all devices. Returns true if there are any and all of them could be looked at. */
static bool each_bound(struct ath_health *health, look_function *look)
{
    const struct ath_document *document = health->facts->document;
    bool is_any = false, is_all = true;

    for (size_t i = 0; document && i < document->numa.count; i++)
        for (size_t j = 0; j < document->numa.items[i].rdma_devices.count; j++) {
            const struct ath_document_numa *entry = &document->numa.items[i];
            is_all &= look(health, &(struct bound){ entry, entry->rdma_devices.items[j] });
            is_any = true;
        }
    return is_any && is_all;
}

static bool has_bound(const struct ath_document *document)
{
    for (size_t i = 0; document && i < document->numa.count; i++)
        if (document->numa.items[i].rdma_devices.count)
            return true;
    return false;
}

bool ath_health_is_bound(const struct ath_health_facts *facts, const char *device)
{
    const struct ath_document *document = facts->document;

    for (size_t i = 0; document && i < document->numa.count; i++)
        for (size_t j = 0; j < document->numa.items[i].rdma_devices.count; j++)
            if (!strcmp(document->numa.items[i].rdma_devices.items[j], device))
                return true;
    return false;
}

/* Returns the next port of a device after `after` (NULL: the first), or NULL. */
static const struct ath_health_port *next_port(const struct ath_health_facts *facts,
                                               const char *device,
                                               const struct ath_health_port *after)
{
    const struct ath_health_port *port = after ? after + 1 : facts->ports;

    for (; port && port < facts->ports + facts->port_count; port++)
        if (!strcmp(port->device, device))
            return port;
    return NULL;
}

/* ---- devices that are missing ---- */

static bool look_missing(struct ath_health *health, const struct bound *bound)
{
    if (health->facts->has_ports && !next_port(health->facts, bound->device, NULL))
        ath_health_hint(
            ath_health_wrong(health, bound->device,
                             _("there is no RDMA device '%s', which is given to NUMA%d"),
                             bound->device, bound->entry->id),
            _("aitherion roce list shows the devices; load the driver (modprobe mlx5_ib), or: "
              "aitherion roce bind %s %d --unbind"),
            bound->device, bound->entry->id);
    return true;
}

bool ath_health_check_rdma_missing(struct ath_health *health)
{
    bool is_any = each_bound(health, look_missing);

    if (is_any && !health->facts->has_ports)
        ath_health_unsure(health, NULL,
                          health->facts->is_live
                              ? _("could not tell whether the document's RDMA devices exist: the "
                                  "kernel's list of them cannot be read")
                              : _("could not tell whether the document's RDMA devices exist: the "
                                  "capture holds no RDMA devices"));
    return is_any;
}

/* ---- ports that are not active ---- */

/* Returns the best of the device's ports: one port that works is enough. */
static const struct ath_health_port *best_port(const struct ath_health_facts *facts,
                                               const char *device)
{
    const struct ath_health_port *best = NULL;

    for (const struct ath_health_port *port = NULL; (port = next_port(facts, device, port));)
        if (!best || port->state > best->state ||
            (port->state == best->state && port->has_gid && !best->has_gid))
            best = port;
    return best;
}

static bool look_down(struct ath_health *health, const struct bound *bound)
{
    const struct ath_health_port *port = best_port(health->facts, bound->device);

    if (!port || port->state == ATH_RDMA_PORT_ACTIVE)
        return port;
    if (port->state == ATH_RDMA_PORT_UNKNOWN) {
        ath_health_unsure(
            health, bound->device,
            _("could not tell whether a port of RDMA device '%s' is active: its state cannot be "
              "read"),
            bound->device);
        return true;
    }
    struct ath_health_finding *finding = ath_health_wrong(
        health, bound->device, _("no port of RDMA device '%s', given to NUMA%d, is active"),
        bound->device, bound->entry->id);
    if (port->link_layer == ATH_LAYER_INFINIBAND)
        ath_health_hint(finding, _("look at its cable and the subnet manager: ibstat %s"),
                        bound->device);
    else if (port->lack == ATH_LACK_INACTIVE)
        ath_health_hint(finding, "rdma link show %s", bound->device);
    else if (port->netdev)
        ath_health_hint(finding, _("ip link set %s up, and look at its cable: ethtool %s"),
                        port->netdev, port->netdev);
    return true;
}

bool ath_health_check_rdma_port_down(struct ath_health *health)
{
    return each_bound(health, look_down);
}

/* ---- GIDs ---- */

static bool look_gid(struct ath_health *health, const struct bound *bound)
{
    const struct ath_health_port *port = best_port(health->facts, bound->device);

    if (!port || port->state == ATH_RDMA_PORT_DOWN)
        return false;
    if (port->has_gid)
        return true;
    if (port->lack == ATH_LACK_UNKNOWN) {
        ath_health_unsure(
            health, bound->device,
            _("could not tell which GID of RDMA device '%s' can be used: its GIDs cannot be read"),
            bound->device);
        return true;
    }
    struct ath_health_finding *finding = ath_health_wrong(
        health, bound->device,
        _("RDMA device '%s', given to NUMA%d, has no GID to use: %s; connections would fail "
          "(\"Failed to modify QP to RTR\")"),
        bound->device, bound->entry->id, ath_lack_text(port->lack));
    if (port->link_layer == ATH_LAYER_INFINIBAND)
        ath_health_hint(finding, _("look at the subnet manager: ibstat %s"), bound->device);
    else if (port->netdev && port->lack == ATH_LACK_LINK_DOWN)
        ath_health_hint(finding, "ip link set %s up", port->netdev);
    else if (port->netdev)
        ath_health_hint(finding,
                        _("give its link an address: ip address add ADDRESS/PREFIX dev "
                          "%s"),
                        port->netdev);
    else
        ath_health_hint(
            finding,
            _("its link is in another network namespace: move it back, or check it there"));
    return true;
}

bool ath_health_check_rdma_gid(struct ath_health *health)
{
    return each_bound(health, look_gid);
}

/* ---- ports that are not ready ---- */

static bool look_ready(struct ath_health *health, const struct bound *bound)
{
    const struct ath_health_port *port = best_port(health->facts, bound->device);
    const struct ath_link *link =
        port && port->netdev ? ath_links_find(ath_health_host_links(health->facts), port->netdev)
                             : NULL;

    if (link && port->state == ATH_RDMA_PORT_ACTIVE && !ath_link_is_settled(link))
        ath_health_hint(
            ath_health_wrong(health, bound->device,
                             _("RDMA device '%s' reports that it is active, but duplicate address "
                               "detection still runs on '%s': its GIDs do not work yet"),
                             bound->device, link->name),
            _("wait two seconds and check again"));
    return link && port->state == ATH_RDMA_PORT_ACTIVE;
}

/* The state lasts a second or two, so a capture cannot tell it. */
bool ath_health_check_rdma_ready(struct ath_health *health)
{
    return health->facts->has_net && each_bound(health, look_ready);
}

/* ---- the machine's mode and limits ---- */

bool ath_health_check_rdma_netns(struct ath_health *health)
{
    const struct ath_health_facts *facts = health->facts;
    const char *mend = _("with no container running: rdma system set netns shared; to keep it: "
                         "echo 'options ib_core netns_mode=1' > /etc/modprobe.d/ib_core.conf");

    if (!facts->port_count)
        return false;
    if (facts->netns_mode == ATH_RDMA_NETNS_SHARED)
        return true;
    if (facts->netns_mode == ATH_RDMA_NETNS_UNKNOWN) {
        ath_health_unsure(health, NULL,
                          facts->is_live ? _("could not tell whether RDMA devices are shared "
                                             "between network namespaces: the "
                                             "kernel does not say")
                                         : _("could not tell whether RDMA devices are shared "
                                             "between network namespaces: the "
                                             "capture does not hold it"));
        return true;
    }
    ath_health_hint(
        has_bound(health->facts->document)
            ? ath_health_wrong(
                  health, NULL,
                  _("RDMA devices are in exclusive mode: each is visible in one network namespace "
                    "only, so containers with their own namespace do not get their devices"))
            : ath_health_warn(health, NULL,
                              _("RDMA devices are in exclusive mode: containers with their own "
                                "network namespace could not use them")),
        "%s", mend);
    return true;
}

bool ath_health_check_memlock(struct ath_health *health)
{
    const struct ath_health_facts *facts = health->facts;

    if (!facts->port_count || !facts->has_memlock)
        return false;
    if (facts->memlock_bytes != INT64_MAX)
        ath_health_hint(
            ath_health_wrong(
                health, NULL,
                _("at most %" PRId64 " KiB may be locked in memory by this user's "
                  "processes; RDMA locks all memory that it transfers (\"Cannot allocate "
                  "memory\")"),
                facts->memlock_bytes / 1024),
            _("echo '* - memlock unlimited' > /etc/security/limits.d/memlock.conf, and log in "
              "again; in a container: --ulimit memlock=-1"));
    return true;
}
