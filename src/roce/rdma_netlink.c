/*
 * RDMA devices over netlink (drivers/infiniband/core/nldev.c; rdma-dev(8), rdma-link(8),
 * rdma-system(8)). Reading needs no rights. The module ib_core provides the bus.
 */
#include "config.h"

#include "roce/rdma_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"
#include "roce/netlink.h"
#include "roce/netns.h"

enum {
    PORT_ACTIVE = 4, /* IB_PORT_ACTIVE; 0 is "no change", and 1 to 3 and 5 are not usable */
    ATTRIBUTE_MAX = RDMA_NLDEV_SYS_ATTR_NETNS_MODE,
    WAIT_STEP_MS = 100,
};

const char *ath_rdma_netns_mode_word(enum ath_rdma_netns_mode mode)
{
    static const char *const words[] = { [ATH_RDMA_NETNS_UNKNOWN] = NULL,
                                         [ATH_RDMA_NETNS_SHARED] = "shared",
                                         [ATH_RDMA_NETNS_EXCLUSIVE] = "exclusive" };
    return words[mode];
}

static int ask(struct ath_netlink *netlink, int command, int flags, int device,
               struct ath_replies *out, struct ath_err *err)
{
    struct ath_message message;
    ath_message_begin(&message, netlink, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), flags, NULL, 0);
    if (device >= 0)
        ath_message_put_u32(&message, RDMA_NLDEV_ATTR_DEV_INDEX, (uint32_t)device);
    return ath_netlink_talk(&message, out, err, "%s", _("cannot list the RDMA devices"));
}

static int mode_by_netlink(enum ath_rdma_netns_mode *out)
{
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    ATH_AUTO(ath_replies) replies = { 0 };
    const struct nlattr *table[ATTRIBUTE_MAX + 1];
    int status = ath_netlink_open(NETLINK_RDMA, &netlink, NULL);
    if (!status)
        status = ask(netlink, RDMA_NLDEV_CMD_SYS_GET, 0, -1, &replies, NULL);
    if (status)
        return status;
    if (!replies.count)
        return -ENODATA;
    ath_attributes(replies.items[0], 0, ATTRIBUTE_MAX, table);
    if (!table[RDMA_NLDEV_SYS_ATTR_NETNS_MODE])
        return -ENODATA;
    *out = ath_attribute_u8(table[RDMA_NLDEV_SYS_ATTR_NETNS_MODE], 0) ? ATH_RDMA_NETNS_SHARED
                                                                      : ATH_RDMA_NETNS_EXCLUSIVE;
    return 0;
}

enum ath_rdma_netns_mode ath_rdma_netns_mode_read(const struct ath_root *root)
{
    enum ath_rdma_netns_mode mode;
    if (root->is_live && !mode_by_netlink(&mode))
        return mode;
    ath_auto_free char *text = ath_root_read(root, "sys/module/ib_core/parameters/netns_mode");
    if (!text)
        return ATH_RDMA_NETNS_UNKNOWN;
    return *text == 'Y' || *text == '1' ? ATH_RDMA_NETNS_SHARED : ATH_RDMA_NETNS_EXCLUSIVE;
}

void ath_nldevs_free(struct ath_nldevs *devices)
{
    if (!devices)
        return;
    for (size_t i = 0; i < devices->count; i++)
        free(devices->items[i].ports);
    free(devices->items);
    *devices = (struct ath_nldevs){ 0 };
}

static struct ath_nldev_port *add_port(struct ath_nldev *device, int number)
{
    struct ath_nldev_port *port = ath_push(&device->ports, &device->port_count, sizeof *port);
    port->number = number;
    port->netdev_index = ATH_UNKNOWN;
    return port;
}

static enum ath_rdma_port_state state_of(int number)
{
    return number == ATH_UNKNOWN   ? ATH_RDMA_PORT_UNKNOWN
           : number == PORT_ACTIVE ? ATH_RDMA_PORT_ACTIVE
                                   : ATH_RDMA_PORT_DOWN;
}

static void copy_text(const struct nlattr *attribute, char *out, size_t size)
{
    ath_auto_free char *text = ath_attribute_text(attribute);
    snprintf(out, size, "%s", text ? text : "");
}

static int read_ports(struct ath_netlink *netlink, struct ath_nldev *device, struct ath_err *err)
{
    ATH_AUTO(ath_replies) replies = { 0 };
    int status = ask(netlink, RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, device->index, &replies, err);
    for (size_t i = 0; i < replies.count && !status; i++) {
        const struct nlattr *table[ATTRIBUTE_MAX + 1];
        ath_attributes(replies.items[i], 0, ATTRIBUTE_MAX, table);
        struct ath_nldev_port *port =
            add_port(device, (int)ath_attribute_u32(table[RDMA_NLDEV_ATTR_PORT_INDEX], 0));
        port->state = table[RDMA_NLDEV_ATTR_PORT_STATE]
                          ? state_of(ath_attribute_u8(table[RDMA_NLDEV_ATTR_PORT_STATE], 0))
                          : ATH_RDMA_PORT_UNKNOWN;
        uint32_t index = ath_attribute_u32(table[RDMA_NLDEV_ATTR_NDEV_INDEX], 0);
        port->netdev_index = index ? (int)index : ATH_UNKNOWN;
        copy_text(table[RDMA_NLDEV_ATTR_NDEV_NAME], port->netdev, sizeof port->netdev);
    }
    return status;
}

static int by_netlink(struct ath_nldevs *devices, struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    ATH_AUTO(ath_replies) replies = { 0 };
    int status = ath_netlink_open(NETLINK_RDMA, &netlink, err);
    if (!status)
        status = ask(netlink, RDMA_NLDEV_CMD_GET, NLM_F_DUMP, -1, &replies, err);
    for (size_t i = 0; i < replies.count && !status; i++) {
        const struct nlattr *table[ATTRIBUTE_MAX + 1];
        ath_attributes(replies.items[i], 0, ATTRIBUTE_MAX, table);
        struct ath_nldev *device = ath_push(&devices->items, &devices->count, sizeof *device);
        device->index = (int)ath_attribute_u32(table[RDMA_NLDEV_ATTR_DEV_INDEX], 0);
        copy_text(table[RDMA_NLDEV_ATTR_DEV_NAME], device->name, sizeof device->name);
        status = read_ports(netlink, device, err);
    }
    return status;
}

/* Returns 4 for "4: ACTIVE", and ATH_UNKNOWN for NULL. */
static int leading_number(const char *text)
{
    return text ? (int)strtol(text, NULL, 10) : ATH_UNKNOWN;
}

/* The first slot of the GID table names the port's own link. */
static void read_port_below(const struct ath_root *root, const char *device, const char *number,
                            struct ath_nldev_port *port)
{
    ath_auto_free char *state =
        ath_root_read(root, "sys/class/infiniband/%s/ports/%s/state", device, number);
    ath_auto_free char *netdev =
        ath_root_read(root, "sys/class/infiniband/%s/ports/%s/gid_attrs/ndevs/0", device, number);
    port->state = state_of(leading_number(state));
    if (netdev && strlen(netdev) < sizeof port->netdev)
        strcpy(port->netdev, netdev);
    if (root->is_live && *port->netdev && if_nametoindex(port->netdev))
        port->netdev_index = (int)if_nametoindex(port->netdev);
}

static void by_sysfs(const struct ath_root *root, struct ath_nldevs *devices)
{
    char **names, **ports;
    size_t count, port_count;
    ath_root_list(root, "sys/class/infiniband", &names, &count);
    for (size_t i = 0; i < count; i++) {
        struct ath_nldev *device = ath_push(&devices->items, &devices->count, sizeof *device);
        ath_auto_free char *folder = ath_xasprintf("sys/class/infiniband/%s/ports", names[i]);
        device->index = ATH_UNKNOWN;
        snprintf(device->name, sizeof device->name, "%s", names[i]);
        ath_root_list(root, folder, &ports, &port_count);
        for (size_t j = 0; j < port_count; j++)
            read_port_below(root, names[i], ports[j], add_port(device, leading_number(ports[j])));
        ath_names_free(ports, port_count);
    }
    ath_names_free(names, count);
}

static int compare_devices(const void *a, const void *b)
{
    return strcmp(((const struct ath_nldev *)a)->name, ((const struct ath_nldev *)b)->name);
}

int ath_nldevs_read(const struct ath_root *root, struct ath_nldevs *out, struct ath_err *err)
{
    ATH_AUTO(ath_nldevs) devices = { 0 };
    if (!root->is_live || by_netlink(&devices, err)) {
        ath_nldevs_free(&devices);
        by_sysfs(root, &devices);
    }
    if (devices.count)
        qsort(devices.items, devices.count, sizeof *devices.items, compare_devices);
    *out = devices;
    devices = (struct ath_nldevs){ 0 };
    return 0;
}

const struct ath_nldev_port *ath_nldevs_port(const struct ath_nldevs *devices, const char *name,
                                             int port)
{
    for (size_t i = 0; i < devices->count; i++)
        for (size_t j = 0; j < devices->items[i].port_count; j++)
            if (!strcmp(devices->items[i].name, name) && devices->items[i].ports[j].number == port)
                return &devices->items[i].ports[j];
    return NULL;
}

const char *ath_rdma_readiness_word(enum ath_rdma_readiness readiness)
{
    static const char *const words[] = {
        [ATH_RDMA_READY] = "ready",           [ATH_RDMA_NOT_THERE] = "not-there",
        [ATH_RDMA_NOT_ACTIVE] = "not-active", [ATH_RDMA_NO_LINK] = "no-link",
        [ATH_RDMA_LINK_DOWN] = "link-down",   [ATH_RDMA_TENTATIVE] = "tentative",
    };
    return words[readiness];
}

const char *ath_rdma_readiness_text(enum ath_rdma_readiness readiness)
{
    static const char *const texts[] = {
        [ATH_RDMA_READY] = N_("ready"),
        [ATH_RDMA_NOT_THERE] = N_("there is no such port"),
        [ATH_RDMA_NOT_ACTIVE] = N_("the port is not active"),
        [ATH_RDMA_NO_LINK] = N_("its network link is not in this namespace"),
        [ATH_RDMA_LINK_DOWN] = N_("its network link is down"),
        [ATH_RDMA_TENTATIVE] = N_("duplicate address detection is still running"),
    };
    return _(texts[readiness]);
}

enum ath_rdma_readiness ath_rdma_readiness_of(const struct ath_nldev_port *port,
                                              const struct ath_link *link, bool is_ethernet)
{
    if (!port)
        return ATH_RDMA_NOT_THERE;
    if (port->state != ATH_RDMA_PORT_ACTIVE)
        return ATH_RDMA_NOT_ACTIVE;
    if (!is_ethernet)
        return ATH_RDMA_READY;
    if (!link)
        return ATH_RDMA_NO_LINK;
    if (link->state != ATH_LINK_UP)
        return ATH_RDMA_LINK_DOWN;
    return ath_link_is_settled(link) ? ATH_RDMA_READY : ATH_RDMA_TENTATIVE;
}

struct waiting {
    struct ath_root root;
    const char *device, *netns_path, *link;
    int port;
};

static int read_links(const char *netns_path, struct ath_links *out, struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    int status = ath_netns_netlink(netns_path, NETLINK_ROUTE, &netlink, err);
    return status ? status : ath_links_read(netlink, out, err);
}

static int look_at_port(const struct waiting *waiting, enum ath_rdma_readiness *out,
                        struct ath_err *err)
{
    ATH_AUTO(ath_nldevs) devices = { 0 };
    ATH_AUTO(ath_links) links = { 0 };
    int status = ath_nldevs_read(&waiting->root, &devices, err);
    if (!status)
        status = read_links(NULL, &links, err);
    if (status)
        return status;
    ath_auto_free char *layer =
        ath_root_read(&waiting->root, "sys/class/infiniband/%s/ports/%d/link_layer",
                      waiting->device, waiting->port);
    const struct ath_nldev_port *port = ath_nldevs_port(&devices, waiting->device, waiting->port);
    const struct ath_link *link = port ? ath_links_find(&links, port->netdev) : NULL;
    *out = ath_rdma_readiness_of(port, link, !layer || strcmp(layer, "InfiniBand"));
    return 0;
}

static int look_at_link(const struct waiting *waiting, enum ath_rdma_readiness *out,
                        struct ath_err *err)
{
    ATH_AUTO(ath_links) links = { 0 };
    const struct ath_nldev_port active = { .state = ATH_RDMA_PORT_ACTIVE };
    int status = read_links(waiting->netns_path, &links, err);
    if (!status)
        *out = ath_rdma_readiness_of(&active, ath_links_find(&links, waiting->link), true);
    return status;
}

/* Polls until the object is ready. An object that does not exist is not waited for. */
static int wait_for(const struct waiting *waiting,
                    int (*look)(const struct waiting *, enum ath_rdma_readiness *,
                                struct ath_err *),
                    const char *object, int timeout_ms, struct ath_err *err)
{
    enum ath_rdma_readiness readiness = ATH_RDMA_NOT_THERE;
    for (uint64_t end = ath_now_ms() + (uint64_t)timeout_ms;;) {
        int status = look(waiting, &readiness, err);
        if (status || readiness == ATH_RDMA_READY)
            return status;
        if (readiness == ATH_RDMA_NOT_THERE || ath_now_ms() >= end)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = WAIT_STEP_MS * 1000000L }, NULL);
    }
    return ath_err_set(err, -ETIMEDOUT, ATH_E_RDMA_NOT_READY, _("'%s' is not ready: %s"), object,
                       ath_rdma_readiness_text(readiness));
}

int ath_rdma_wait(const char *device, int port, int timeout_ms, struct ath_err *err)
{
    struct waiting waiting = { .root = { .fd = -1 }, .device = device, .port = port };
    ath_auto_free char *object = ath_xasprintf("%s/%d", device, port);
    int status = ath_root_open("/", &waiting.root, err);
    if (status)
        return status;
    status = wait_for(&waiting, look_at_port, object, timeout_ms, err);
    ath_root_free(&waiting.root);
    return status;
}

int ath_link_wait(const char *netns_path, const char *name, int timeout_ms, struct ath_err *err)
{
    struct waiting waiting = { .netns_path = netns_path, .link = name };
    return wait_for(&waiting, look_at_link, name, timeout_ms, err);
}
